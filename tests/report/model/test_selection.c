/* What each filter keeps: small traces, worked out by hand. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "report/analysis/filter.h"
#include "tests/support/trace_builder.h"

static struct ws_filter all(void)
{
	return (struct ws_filter)WS_FILTER_ALL;
}

/* Names of the kernels that pass, in order of their start, as one text. */
static void expect_kept(struct joined *j, const struct ws_filter *f, const char *names)
{
	struct ws_selection sel;
	struct ws_err err;
	char kept[64] = "";
	size_t n = 0;

	cr_assert(eq(int, ws_select_rows(j->m, &j->rows, f, &sel, &err), WS_OK), "%s", err.text);
	for (size_t k = 0; k < j->rows.nkernels; k++) {
		const uint32_t config = ws_joined_rows_kernel(&j->rows, k)->kind->config;

		if (sel.kernel[k] && n + 1 < sizeof(kept))
			kept[n++] = *(const char *)j->m->texts[j->m->configs[config].name].ptr;
	}
	cr_expect_str_eq(kept, names, "%s: kept '%s', not '%s'", sel.words, kept, names);
	cr_expect(eq(int, sel.nothing, *names == 0));
	ws_selection_release(&sel);
}

static void expect_nvtx(struct joined *j, const char *pattern, const char *names)
{
	struct ws_filter f = all();

	f.nvtx = pattern;
	expect_kept(j, &f, names);
}

Test(selection, instances_are_numbered_by_begin_over_all_threads)
{
	struct tb *b = tb_new();
	struct joined *j;

	tb_thread(b, 2, 100);
	tb_push(b, 10, "layer");
	tb_launch(b, 11, "b", 110, 1);
	tb_push(b, 12, "layer"); /* inside another: part of it, no instance of its own */
	tb_launch(b, 13, "c", 120, 1);
	tb_pop(b, 14);
	tb_pop(b, 15);
	tb_push(b, 20, "layer");
	tb_launch(b, 21, "d", 130, 1);
	tb_pop(b, 25);
	tb_on_thread(b, 2);
	tb_push(b, 5, "layer");
	tb_launch(b, 6, "a", 100, 1);
	tb_pop(b, 8);
	tb_push(b, 50, "tag #7");
	tb_launch(b, 51, "e", 140, 1);
	tb_pop(b, 55);
	j = tb_joined(b);
	expect_nvtx(j, "layer", "abcd");
	expect_nvtx(j, "layer#0", "a");
	expect_nvtx(j, "layer#1", "bc");
	expect_nvtx(j, "layer#1..2", "bcd");
	expect_nvtx(j, "layer#2..9", "d");
	expect_nvtx(j, "layer#3", "");
	expect_nvtx(j, "layer/layer", "c");
	expect_nvtx(j, "tag #7", "e");
	expect_nvtx(j, "tag #*", "e");
	expect_nvtx(j, "layer#2..1", "");
	expect_nvtx(j, "layer#", "");
	joined_free(j);
	tb_free(b);
}

/* By launch is the rule; by time is another question. */
Test(selection, by_gpu_time_keeps_what_runs_while_a_range_is_open)
{
	struct tb *b = tb_new();
	struct ws_filter f = all();
	struct joined *j;

	tb_launch(b, 1, "a", 5, 10); /* runs into the range */
	tb_push(b, 10, "forward");
	tb_launch(b, 11, "b", 12, 3); /* in it */
	tb_launch(b, 12, "c", 20, 5); /* launched in it, runs when it is over */
	tb_pop(b, 20);
	j = tb_joined(b);
	f.nvtx = "forward";
	expect_kept(j, &f, "bc");
	f.by_gpu_time = 1;
	expect_kept(j, &f, "ab");
	joined_free(j);
	tb_free(b);
}

Test(selection, time_counts_from_the_first_record_and_keeps_what_overlaps)
{
	struct tb *b = tb_new();
	struct ws_filter f = all();
	struct joined *j;

	tb_launch(b, 1000, "a", 1010, 10);
	tb_launch(b, 1001, "b", 1030, 10);
	tb_launch(b, 1002, "c", 1050, 10);
	j = tb_joined(b);
	f.has_time = 1;
	f.time_first_ns = 20; /* a has just ended */
	f.time_end_ns = 50;   /* c only begins */
	expect_kept(j, &f, "b");
	f.time_first_ns = 19;
	f.time_end_ns = 51;
	expect_kept(j, &f, "abc");
	f.time_first_ns = 1000;
	f.time_end_ns = INT64_MAX;
	expect_kept(j, &f, "");
	joined_free(j);
	tb_free(b);
}

Test(selection, process_device_and_names_are_kept_as_asked)
{
	struct tb *b = tb_new();
	struct ws_filter f = all();
	struct joined *j;
	struct ws_table *t;

	tb_launch(b, 1, "alpha", 10, 1);
	tb_kernel(b, &(struct tb_kernel){"beta", 20, 1, 77, 0, 200, 0});
	tb_kernel(b, &(struct tb_kernel){"gamma", 30, 1, 78, 3, 100, 0});
	tb_call(b, 2, 1, 900); /* launches nothing */
	j = tb_joined(b);
	f.has_process = 1;
	f.process = 200;
	expect_kept(j, &f, "b");
	f = all();
	f.device = 3;
	expect_kept(j, &f, "g");
	f = all();
	f.kernel = "^(al|ga)";
	expect_kept(j, &f, "ag");
	/* of the calls only those that launched what is kept */
	t = tb_table(j, "api-summary", &f);
	cr_expect(eq(i64, tb_int(t, 0, "calls"), 1));
	cr_expect(tb_notes_say(t, "kernels whose name matches \"^(al|ga)\""));
	ws_table_free(t);
	f = all();
	f.has_stream = 1;
	f.stream = 5;
	expect_kept(j, &f, "");
	joined_free(j);
	tb_free(b);
}

Test(selection, a_wrong_expression_is_refused)
{
	struct tb *b = tb_new();
	struct joined *j = tb_joined(b);
	struct ws_filter f = all();
	struct ws_selection sel;
	struct ws_err err;

	f.kernel = "a(";
	cr_expect(eq(int, ws_select_rows(j->m, &j->rows, &f, &sel, &err), WS_USAGE));
	ws_selection_release(&sel);
	joined_free(j);
	tb_free(b);
}

static enum ws_status check(struct joined *j, const struct ws_filter *f, const char *step,
                            struct ws_err *err)
{
	struct ws_selection sel;
	enum ws_status status;

	cr_assert(eq(int, ws_select_rows(j->m, &j->rows, f, &sel, err), WS_OK));
	status = ws_filter_check(j->m, &sel, f, step, err);
	ws_selection_release(&sel);
	return status;
}

static void expect_refused(struct joined *j, const struct ws_filter *f, const char *why)
{
	struct ws_err err = {0};

	cr_expect(eq(int, check(j, f, NULL, &err), WS_USAGE));
	cr_expect(strstr(err.text, why) != NULL, "%s", err.text);
}

Test(selection, nothing_passes_with_the_nearest_names)
{
	struct tb *b = tb_new();
	struct ws_filter f = all();
	struct joined *j;
	struct ws_err err;

	tb_push(b, 0, "setup");
	tb_launch(b, 1, "init_kernel", 5, 1);
	tb_pop(b, 9);
	tb_push(b, 10, "step");
	tb_push(b, 11, "forward");
	tb_launch(b, 12, "gemm_kernel", 20, 10);
	tb_pop(b, 14);
	tb_pop(b, 15);
	tb_add(b, WS_KIND_MEMORY, &(struct ws_row_memory){.time_ns = 16, .pid = 100});
	j = tb_joined(b);
	cr_expect(eq(int, check(j, &f, NULL, &err), WS_OK));
	cr_expect(eq(int, check(j, &f, "step", &err), WS_OK));
	f.has_stream = 1;
	f.stream = 999;
	expect_refused(j, &f, "nothing passes the filter: stream 999");
	f = all();
	f.nvtx = "step/forwrad";
	expect_refused(j, &f, "unknown range forwrad (did you mean forward?)");
	f = all();
	f.kernel = "gem_kernel";
	expect_refused(j, &f, "unknown kernel gem_kernel (did you mean gemm_kernel?)");
	f = all();
	f.device = 3;
	expect_refused(j, &f, "no device 3; it has: 0");
	f = all();
	f.scope = WS_SCOPE_STEPS;
	f.nvtx = "setup";
	expect_refused(j, &f, "--scope all looks at the whole trace");
	f = all();
	f.scope = WS_SCOPE_WARM_UP;
	expect_refused(j, &f, "the warm-up");
	joined_free(j);
	tb_free(b);
}
