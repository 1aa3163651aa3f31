/*
 * The rules of the advice about launches, steps and convolutions, and the table: a trace that
 * fires a rule, with numbers worked out by hand, and one beside it that must not.
 */
#include <stdlib.h>

#include "tests/report/advice/advice_traces.h"
#include "tests/report/advice/judged_traces.h"
#include "tests/support/doc_section.h"

/* --- A1, A16 to A20: docs/idle.md; the causes themselves are tested in test_idle.c ------------ */

/* `steps` steps of 100 us with ten kernels each, `dur_us` long, each launched as it begins. */
static struct tb *ten_kernels_a_step(int64_t dur_us)
{
	struct tb *b = h100();

	for (int64_t s = 0; s < 2; s++) {
		tb_push(b, s * 100 * US, "step");
		for (int64_t i = 0; i < 10; i++)
			kernel(b, s * 100 + 10 * i, "k", s * 100 + 10 * i, dur_us);
		tb_pop(b, (s * 100 + 100) * US);
	}
	return b;
}

Test(advice, a1_fires_when_the_gpu_waits_for_launches)
{
	struct tb *b = ten_kernels_a_step(4);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A1");

	cr_expect_str_eq(tb_str(t, row, "severity"), "strong");
	cr_expect_str_eq(tb_str(t, row, "scope"), "whole run");
	/* 19 gaps of 6 us: the one behind the last kernel ends no launch */
	cr_expect_str_eq(
	        tb_str(t, row, "evidence"),
	        "waiting for launches: 57.0 % of the time, 0.057 ms a step, in 9.5 gaps of "
	        "6.0 us on average, the longest 6.0 us");
	NEAR(tb_real(t, row, "gain_ns"), 57000);
	NEAR(tb_real(t, row, "gain_percent"), 57);
	free_all(t, b);
}

Test(advice, a1_is_quiet_when_the_gpu_is_busy)
{
	struct tb *b = ten_kernels_a_step(9);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A1"));
	free_all(t, b);
}

/* 1 ms of one long kernel, then a range of 100 us with ten kernels of 2 us, each launched when
 * it begins, or all of them long before. */
static struct tb *busy_run_with_a_slow_part(int launched_early)
{
	struct tb *b = h100();

	tb_push(b, 0, "step");
	tb_push(b, 0, "forward");
	kernel(b, 1, "long", 10, 1000);
	tb_pop(b, 2 * US);
	tb_push(b, 3 * US, "optimizer");
	for (int64_t i = 0; i < 10; i++)
		kernel(b, launched_early ? 3 + i : 1010 + 10 * i, "short", 1010 + 10 * i, 2);
	tb_pop(b, 1108 * US);
	tb_pop(b, 1110 * US);
	return b;
}

Test(advice, a1_names_the_range_that_waits_in_a_run_that_does_not)
{
	struct tb *b = busy_run_with_a_slow_part(0);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A1");

	cr_expect(eq(sz, fired(t, "A1"), 1));
	cr_expect_str_eq(tb_str(t, row, "scope"), "step/optimizer");
	/* nine gaps of 8 us between ten kernels */
	NEAR(tb_real(t, row, "gain_ns"), 72000);
	free_all(t, b);
}

Test(advice, a1_is_quiet_when_what_is_next_was_queued_long_before)
{
	struct tb *b = busy_run_with_a_slow_part(1);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A1"));
	free_all(t, b);
}

Test(advice, launch_bound_paths_tell_a_diff_where_dtypes_do_not_show)
{
	struct tb *b = busy_run_with_a_slow_part(0);
	struct ws_table *t = advice_of(b);
	struct ws_selection sel;
	const struct ws_idle *idle;
	size_t bound = 0;

	cr_assert(eq(int, ws_select_rows(joined->m, &joined->rows, NULL, &sel, NULL), WS_OK));
	cr_assert(eq(int, ws_idle_find(joined->m, &sel, &idle, NULL), WS_OK));
	for (uint32_t p = 0; p < joined->m->ranges.npaths; p++) {
		int is_optimizer = joined->m->ranges.paths[p].name == WS_TEXT_OPTIMIZER;

		cr_expect(eq(int, ws_path_is_launch_bound(idle, p), is_optimizer));
		if (!is_optimizer)
			continue;
		bound++;
		cr_expect(eq(i64, idle->path_kernel_ns[p], 20000));
		cr_expect(eq(i64, idle->path_launch_ns[p], 72000));
	}
	cr_expect(eq(sz, bound, 1));
	ws_selection_release(&sel);
	free_all(t, b);
}

/* What others run meanwhile keeps the device busy: the range does not wait for the host. */
Test(advice, a1_counts_all_work_of_the_device_as_busy)
{
	struct tb *b = busy_run_with_a_slow_part(0);
	struct ws_table *t;

	tb_thread(b, 2, 100);
	tb_on_thread(b, 2);
	kernel(b, 0, "another", 1010, 90);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A1"));
	free_all(t, b);
}

Test(advice, each_wait_has_its_rule)
{
	struct tb *b = h100();
	struct ws_table *t;

	tb_push(b, 0, "step");
	kernel(b, 0, "k", 0, 100);
	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){
	               .start_ns = 100 * US, .dur_ns = 300 * US, .device = 1, .pid = 100});
	kernel(b, 10, "ncclDevKernel_AllReduce", 400, 200);
	kernel(b, 1000, "k", 1001, 999);
	tb_push(b, 2100 * US, "enumerate(DataLoader)#It.__next__");
	tb_pop(b, 3990 * US);
	kernel(b, 4000, "k", 4001, 999);
	tb_pop(b, 5000 * US);
	t = advice_of(b);
	NEAR(tb_real(t, tb_find(t, 0, "rule", "A18"), "gain_ns"), 300000);
	NEAR(tb_real(t, tb_find(t, 0, "rule", "A17"), "gain_ns"), 200000);
	NEAR(tb_real(t, tb_find(t, 0, "rule", "A20"), "gain_ns"), 401000);
	NEAR(tb_real(t, tb_find(t, 0, "rule", "A16"), "gain_ns"), 2001000);
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "rule", "A16"), "severity"), "strong");
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "rule", "A20"), "severity"), "weak");
	cr_expect(is_quiet(t, "A19"));
	cr_expect(is_quiet(t, "A1"));
	free_all(t, b);
}

Test(advice, a_busy_device_waits_for_nothing)
{
	struct tb *b = ten_kernels_a_step(10);
	struct ws_table *t = advice_of(b);

	for (int i = WS_RULE_data_loading; i <= WS_RULE_host_work; i++)
		cr_expect(is_quiet(t, ws_rule_defs[i].id), "%s", ws_rule_defs[i].id);
	free_all(t, b);
}

/* --- A2 ------------------------------------------------------------------------------------ */

static struct tb *steps_of(const int64_t *us, size_t n)
{
	struct tb *b = h100();
	int64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		tb_push(b, at * US, "step");
		tb_push(b, at * US, "forward");
		kernel(b, at, "k", at, us[i] - 1);
		tb_pop(b, (at + us[i] - 1) * US);
		at += us[i];
		tb_pop(b, at * US);
	}
	return b;
}

Test(advice, a2_names_the_step_that_stands_out)
{
	static const int64_t us[] = {1000, 100, 100, 100};
	struct tb *b = steps_of(us, 4);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "scope", "step");

	/* the step and its forward */
	cr_expect(eq(sz, fired(t, "A2"), 2));
	cr_expect_str_eq(tb_str(t, row, "evidence"),
	                 "mean 0.325 ms, median 0.100, standard deviation 0.450 over 4 steps, none "
	                 "of warm-up; standing out: step 0 (1.000 ms)");
	NEAR(tb_real(t, row, "gain_ns"), 225000);
	free_all(t, b);
}

/* A phase that was shorter once: the others gain nothing from more warm-up. */
Test(advice, a2_is_quiet_about_a_phase_that_was_short_once)
{
	static const int64_t us[] = {10, 100, 100, 100};
	struct tb *b = steps_of(us, 4);
	struct ws_table *t = advice_of(b);

	cr_expect(eq(sz, fired(t, "A2"), 1), "the step, and not its forward");
	cr_expect(eq(sz, tb_count(t, "scope", "forward"), 0));
	free_all(t, b);
}

Test(advice, a2_is_quiet_about_steady_steps_and_silent_about_two)
{
	static const int64_t us[] = {101, 100, 100, 100};
	struct tb *b = steps_of(us, 4);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A2"));
	free_all(t, b);
	b = steps_of((const int64_t[]){1000, 100}, 2);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A2"));
	free_all(t, b);
}

/* A slow warm-up is what warm-up is for. */
Test(advice, a2_looks_at_measured_steps_only)
{
	struct tb *b = h100();
	struct ws_table *t;

	for (int64_t s = 0; s < 4; s++) {
		int64_t at = s ? 1000 + 100 * s : 0;

		tb_push(b, at * US, s ? "step" : "warm-up");
		kernel(b, at, "k", at, 90);
		tb_pop(b, (at + (s ? 100 : 1000)) * US);
	}
	t = advice_of(b);
	cr_expect(is_quiet(t, "A2"));
	free_all(t, b);
}

/* --- A14, A15 -------------------------------------------------------------------------------- */

static struct tb *conv_run(const char *first, const char *second, const char *others)
{
	struct tb *b = h100();

	for (int64_t s = 0; s < 3; s++) {
		tb_push(b, s * 100 * US, s ? "step" : first);
		kernel(b, s * 100, s ? others : second, s * 100, 90);
		kernel(b, s * 100 + 1, others, s * 100 + 90, 5);
		tb_pop(b, (s * 100 + 100) * US);
	}
	return b;
}

#define CONV_A "void implicit_convolveNd_sgemm<float, 3, 1024>"
#define CONV_B "void cudnn::cnn::wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>"

Test(advice, a14_finds_the_search_in_warm_up_and_minds_it_in_a_measured_step)
{
	struct tb *b = conv_run("warm-up", CONV_A, CONV_B);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A14");

	cr_expect_str_eq(tb_str(t, row, "severity"), "hint");
	cr_expect(says(t, "A14", "1 kernels of convolutions, 0.090 ms, ran in it and in no later"));
	free_all(t, b);
	b = conv_run("step", CONV_A, CONV_B);
	t = advice_of(b);
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "rule", "A14"), "severity"), "strong");
	free_all(t, b);
}

Test(advice, a14_is_quiet_when_all_steps_run_the_same)
{
	struct tb *b = conv_run("warm-up", CONV_B, CONV_B);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A14"));
	free_all(t, b);
	b = conv_run("warm-up", "something else", CONV_B);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A14"));
	free_all(t, b);
}

static struct ws_table *conv_op(struct tb **b, const char *name, uint64_t flops)
{
	struct op op = {.name = name, .kind = CONV, .dtype = FP32, .flops = flops, .bytes = 33500};

	*b = h100();
	/* 100 us: 335 MB or, in fp32 without Tensor Cores, 6.69 GFLOP would be all */
	run_op(*b, 0, op, "conv2d_grouped_direct_kernel<float>", 100);
	return advice_of(*b);
}

Test(advice, a15_hints_at_dense_convolutions)
{
	struct tb *b;
	struct ws_table *t = conv_op(&b, "aten::_conv_depthwise2d", 66900000);

	cr_expect(says(t, "A15", "attains 1.0 % of the FLOP/s and 0.0 % of the bandwidth"));
	free_all(t, b);
	t = conv_op(&b, "aten::_conv_depthwise2d", 6000000000);
	cr_expect(is_quiet(t, "A15"), "nine tenths of the peak");
	free_all(t, b);
	b = h100();
	run_op(b, 0,
	       (struct op){.name = "aten::conv2d",
	                   .kind = CONV,
	                   .dtype = FP32,
	                   .flops = 1000,
	                   .bytes = 1000},
	       CONV_B, 100);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A15"), "a dense one");
	free_all(t, b);
}

/* --- the table ---------------------------------------------------------------------------------
 */

Test(advice, every_rule_fires_is_quiet_or_is_not_judged)
{
	struct tb *b = ten_kernels_a_step(4);
	struct ws_table *t = advice_of(b);

	for (int i = 0; i < WS_RULES; i++) {
		const char *id = ws_rule_defs[i].id;

		cr_expect(eq(int, (fired(t, id) > 0) + is_quiet(t, id) + was_not_judged(t, id), 1),
		          "%s", id);
	}
	free_all(t, b);
}

Test(advice, findings_are_ordered_by_gravity_gain_and_rule)
{
	struct tb *b = h100();
	struct ws_table *t;
	double last = INFINITY;

	run_op(b, 0, softmax(67000000), "softmax", 100);
	run_op(b, 200, mm(512, 10001, 768), NVJET, 100);
	kernel(b, 400, LAYOUT, 400, 30);
	t = advice_of(b);
	cr_assert(t->nrows > 3);
	for (size_t row = 0; row < t->nrows; row++) {
		const char *severity = tb_str(t, row, "severity");
		double gain = tb_is_empty(t, row, "gain_ns") ? -1 : tb_real(t, row, "gain_ns");

		if (row && strcmp(severity, tb_str(t, row - 1, "severity")) != 0) {
			cr_expect(strcmp(severity, "strong") != 0);
			last = INFINITY;
		}
		cr_expect(gain <= last);
		last = gain;
	}
	free_all(t, b);
}

Test(advice, a_rule_shows_five_findings_and_counts_the_others)
{
	struct tb *b = h100();
	struct ws_table *t;

	for (uint64_t i = 0; i < 8; i++)
		run_op(b, (int64_t)(200 * i), mm(512, 10001 + 8 * i, 768), NVJET, 100);
	t = advice_of(b);
	cr_expect(eq(sz, fired(t, "A3"), 5));
	cr_expect(tb_notes_say(t, "A3: 3 more like these"));
	free_all(t, b);
}

Test(advice, times_of_the_cpu_reference_get_no_advice_for_gpus)
{
	struct tb *b = tb_new();
	struct ws_table *t;

	tb_device(b, 7, WS_DEVICE_CPU_REFERENCE, "CPU reference");
	tb_kernel(b, &(struct tb_kernel){"ws_layout_nhwc_fwd_f32", 0, 100, 0, 7, 100, 0});
	t = advice_of(b);
	cr_expect(eq(sz, t->nrows, 0));
	cr_expect(was_not_judged(t, "A9"));
	free_all(t, b);
}

Test(advice, a_trace_without_kernels_says_so)
{
	struct tb *b = tb_new();
	struct ws_table *t = advice_of(b);

	cr_expect(eq(sz, t->nrows, 0));
	cr_expect_not_null(t->not_recorded);
	free_all(t, b);
}

Test(advice, the_first_sheet_has_the_findings_and_how_many_rules_could_be_judged)
{
	struct tb *b = ten_kernels_a_step(4);
	struct ws_table *t;
	size_t row;

	joined = tb_joined(b);
	t = tb_table(joined, "summary", NULL);
	row = tb_find(t, 0, "section", "What to do");
	cr_expect_str_eq(tb_str(t, row, "item"), "Launch-bound: whole run (A1)");
	cr_expect(strstr(tb_str(t, row, "text"), "Gain: at most 57.0 % of a step.") != NULL);
	row = tb_find(t, 0, "item", "findings in all");
	cr_expect(eq(i64, tb_int(t, row, "count"), 1));
	free_all(t, b);
}

/* --- docs/advice.md ------------------------------------------------------------------------------
 */

static void print_rules(FILE *f)
{
	fputs("| rule | looks for | fires when | what to do |\n|---|---|---|---|\n", f);
	for (int i = 0; i < WS_RULES; i++)
		fprintf(f, "| %s | %s | %s. | %s. |\n", ws_rule_defs[i].id, ws_rule_defs[i].title,
		        ws_rule_defs[i].condition, ws_rule_defs[i].says);
}

Test(advice, the_page_has_the_rules_as_they_are)
{
	doc_section_check("advice.md", "rules", print_rules);
}

/* "kineto/x, nsys/y": up to so many files where the rule is in the list; how many there are. */
static size_t print_files(FILE *f, const char *rule, int fires)
{
	enum { MOST = 2 };
	char wanted[8], text[256];
	size_t n = 0;

	snprintf(wanted, sizeof(wanted), " %s ", rule);
#define FILES_OF(list)                                                                           \
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {                              \
		snprintf(text, sizeof(text), " %s ", fires ? list[i].fires : list[i].quiet);     \
		if (strstr(text, wanted) && n++ < MOST)                                          \
			fprintf(f, "%s%.*s", n > 1 ? ", " : "", (int)strcspn(list[i].file, "."), \
			        list[i].file);                                                   \
	}
	FILES_OF(judged_fixtures)
	FILES_OF(judged_local)
	return n;
}

static void print_traces(FILE *f)
{
	fputs("| rule | fires on | is quiet on | by hand |\n|---|---|---|---|\n", f);
	for (size_t i = 0; i < WS_RULES; i++) {
		const struct judged_by_hand *hand = &judged_by_hand[i];

		cr_expect_str_eq(hand->rule, ws_rule_defs[i].id);
		fprintf(f, "| %s | ", hand->rule);
		print_files(f, hand->rule, 1);
		fputs(" | ", f);
		cr_expect(print_files(f, hand->rule, 0) > 0, "%s", hand->rule);
		fprintf(f, " | `%s`", hand->fires);
		if (strcmp(hand->fires, hand->quiet) != 0)
			fprintf(f, ", `%s`", hand->quiet);
		fputs(" |\n", f);
	}
}

Test(advice, each_rule_has_a_trace_where_it_fires_and_one_where_it_does_not)
{
	cr_assert(eq(sz, sizeof(judged_by_hand) / sizeof(*judged_by_hand), WS_RULES));
	doc_section_check("advice.md", "traces", print_traces);
}
