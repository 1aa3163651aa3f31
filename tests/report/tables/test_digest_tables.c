/*
 * The tables that are views of a digest are the same as simple loops over all
 * rows make them: of sums and of rows of a pass, and of loaded rows, with filters;
 * on fixtures, imported traces and random ones.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/import/import.h"
#include "tests/report/tables/oracle/compare.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

/* --- files ------------------------------------------------------------------------------- */

static unsigned compare_file(const char *path, unsigned *filtered)
{
	const struct ws_filter filters[] = {
	        WS_FILTER_ALL,
	        {.nvtx = "*step*", .step_first = -1, .step_last = -1, .device = -1},
	        {.step_first = 1, .step_last = 2, .device = -1},
	        {.scope = WS_SCOPE_STEPS, .step_first = -1, .step_last = -1, .device = -1},
	        {.scope = WS_SCOPE_WARM_UP, .step_first = -1, .step_last = -1, .device = -1},
	        {.scope = WS_SCOPE_SETUP, .step_first = -1, .step_last = -1, .device = -1},
	        {.scope = WS_SCOPE_OUTSIDE, .step_first = -1, .step_last = -1, .device = -1},
	        {.step_first = -1, .step_last = -1, .device = -1, .kernel = "gemm|elementwise"},
	        {.step_first = -1,
	         .step_last = -1,
	         .device = -1,
	         .has_time = 1,
	         .time_first_ns = 100000,
	         .time_end_ns = 900000},
	};
	static struct ws_import_stats stats;
	char imported[] = "/tmp/ws-digest-XXXXXX";
	struct ws_trace_reader *r = NULL;
	struct loaded *l = NULL;
	const struct ws_importer *importer;
	struct ws_err err;
	unsigned made, of_scopes = 0;

	cr_assert(eq(int, ws_import_find(path, &importer, &err), WS_OK), "%s", err.text);
	if (importer) {
		int fd = mkstemp(imported);

		cr_assert(fd >= 0);
		close(fd);
		cr_assert(eq(int, ws_import_file(path, imported, NULL, &stats, &err), WS_OK));
		cr_assert(eq(int, ws_trace_reader_open(&r, imported, &err), WS_OK));
		unlink(imported);
	} else {
		cr_assert(eq(int, ws_trace_reader_open(&r, path, &err), WS_OK), "%s", err.text);
	}
	cr_assert(eq(int, loaded_open_reader(&l, r, path, NULL, &err), WS_OK), "%s", err.text);
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		oracle_compare_loaded(l, &filters[i], path);
	made = oracle_compare_streamed(r, l, path, &of_scopes);
	oracle_compare_tables(r, l, path);
	oracle_compare_runs(r, l, path);
	for (unsigned i = 0; i < 24; i++)
		*filtered += oracle_compare_filtered(r, l, i, path);
	oracle_compare_joined(r, l, path);
	loaded_free(l);
	ws_trace_reader_free(r);
	return made;
}

static unsigned compare_folder(const char *folder, unsigned *filtered)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned made = 0;

	cr_assert(dir != NULL, "%s", folder);
	while ((entry = readdir(dir))) {
		char path[4096];

		if (entry->d_name[0] == '.' || strstr(entry->d_name, ".md"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		made += compare_file(path, filtered);
	}
	closedir(dir);
	return made;
}

Test(digest_tables, of_recorded_traces)
{
	unsigned filtered = 0;

	/* every table of every trace that is whole comes from the pass */
	cr_expect(ge(u32, compare_folder(WS_FIXTURES "/traces", &filtered),
	             4 * (ORACLE_STREAMED + 1)));
	cr_expect(ge(u32, filtered, 45));
}

Test(digest_tables, of_imported_traces)
{
	unsigned filtered = 0;

	/* operations of a framework need rows, and so do filters; other tables do not */
	cr_expect(gt(u32, compare_folder(WS_FIXTURES "/imports", &filtered), 0));
	cr_expect(gt(u32, filtered, 3));
}

/* --- filters ------------------------------------------------------------------------------- */

/* The kernels that the pass keeps of what --nvtx names, by their first letters; NULL: it declines.
 */
static const char *kept_by_pass(struct tb *b, const char *nvtx, char kept[8])
{
	const struct ws_table_def *def = ws_table_def_by_name("kernel-trace");
	struct ws_filter filter = WS_FILTER_ALL;
	const struct ws_bytes bytes = tb_bytes(b);
	struct ws_trace_reader *r = NULL;
	struct ws_report *report = NULL;
	struct ws_err err;
	size_t n = 0;

	filter.nvtx = nvtx;
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	cr_assert(eq(int, ws_report_stream(r, "", NULL, &filter, &def, 1, NULL, &report, &err),
	             WS_OK),
	          "%s", err.text);
	for (; report && n < report->tables[0]->nrows; n++)
		kept[n] =
		        *(const char *)ws_table_cells(report->tables[0], n)[WS_TC_kernel_trace_name]
		                 .text.ptr;
	kept[n] = 0;
	ws_report_free(report);
	ws_trace_reader_free(r);
	return kept;
}

/* A pass numbers ranges as they begin in the file; instances are numbered as a model's. */
Test(digest_tables, instances_that_begin_together_stand_by_thread)
{
	struct tb *b = tb_new();
	char kept[8];

	tb_thread(b, 2, 100);
	tb_on_thread(b, 2);
	tb_push(b, 10, "layer");
	tb_launch(b, 11, "a", 100, 1);
	tb_pop(b, 15);
	ws_trace_writer_flush(tb_writer(b), NULL);
	tb_on_thread(b, 1);
	tb_push(b, 10, "layer");
	tb_push(b, 11, "layer"); /* in another */
	tb_launch(b, 12, "b", 110, 1);
	tb_pop(b, 13);
	tb_pop(b, 15);
	tb_push(b, 20, "layer");
	tb_launch(b, 21, "c", 120, 1);
	tb_pop(b, 25);
	tb_close(b);
	cr_expect_str_eq(kept_by_pass(b, "layer#0", kept), "b");
	cr_expect_str_eq(kept_by_pass(b, "layer#1", kept), "a");
	cr_expect_str_eq(kept_by_pass(b, "layer#1..2", kept), "ac");
	cr_expect_str_eq(kept_by_pass(b, "layer", kept), "abc");
	tb_free(b);
}

/* Paths do not have the numbers of names, rows do. */
Test(digest_tables, names_as_they_were_recorded)
{
	struct tb *b = tb_new();
	char kept[8];

	for (int i = 0; i < 2; i++) {
		tb_push(b, 100 * i + 10, i ? "batch#8" : "batch#7");
		tb_launch(b, 100 * i + 11, i ? "b" : "a", 100 * i + 20, 1);
		tb_pop(b, 100 * i + 15);
	}
	tb_close(b);
	cr_expect_str_eq(kept_by_pass(b, "batch*", kept), "ab");
	cr_expect_str_eq(kept_by_pass(b, "batch#8", kept), "b");
	tb_free(b);
}

/* --- what is read ahead -------------------------------------------------------------------- */

/* Such a trace is read once more ahead. */
static void is_joined(struct tb *b, const char *what)
{
	struct ws_bytes bytes = tb_close(b);
	struct ws_trace_reader *r = NULL;
	unsigned of_scopes = 0;
	struct loaded *l;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, NULL), WS_OK));
	cr_assert(eq(int, loaded_open_reader(&l, r, what, NULL, NULL), WS_OK));
	cr_expect(eq(u32, oracle_compare_streamed(r, l, what, &of_scopes), ORACLE_STREAMED + 1));
	oracle_compare_joined(r, l, what);
	ws_trace_reader_free(r);
	loaded_free(l);
	tb_free(b);
}

/* On thread 2 ranges touch a call, but do not cross. */
Test(digest_tables, crossing_ranges_are_joined)
{
	struct tb *b = tb_new();

	tb_push(b, 10, "a");
	tb_in_domain(b, "other");
	tb_push(b, 20, "b");
	tb_launch(b, 25, "k", 40, 10);
	tb_in_domain(b, "warpsheet");
	tb_launch(b, 30, "k", 60, 10);
	tb_start(b, 32, "c", 1);
	tb_end(b, 34, 1);
	tb_in_domain(b, "");
	tb_pop(b, 50);
	tb_in_domain(b, "other");
	tb_pop(b, 70);
	tb_thread(b, 2, 100);
	tb_on_thread(b, 2);
	tb_push(b, 100, "d");
	tb_push(b, 100, "e");
	tb_pop(b, 120);
	tb_pop(b, 120);
	tb_push(b, 120, "f");
	tb_call(b, 120, 0, 9);
	tb_kernel(b, &(struct tb_kernel){"k", 130, 10, 9, 0, 100, 0});
	tb_pop(b, 130);
	is_joined(b, "ranges that cross");
}

Test(digest_tables, ranges_that_end_elsewhere_are_joined)
{
	struct tb *b = tb_new();

	tb_thread(b, 2, 100);
	tb_start(b, 10, "a", 7);
	tb_launch(b, 20, "k", 40, 10);
	tb_on_thread(b, 2);
	tb_end(b, 60, 7);
	is_joined(b, "a range that ends elsewhere");
}

Test(digest_tables, ids_used_twice_are_joined)
{
	struct tb *b = tb_new();

	tb_push(b, 1, "a");
	tb_call(b, 10, 5, 3);
	tb_kernel(b, &(struct tb_kernel){"k", 20, 10, 3, 0, 100, 0});
	tb_pop(b, 35);
	tb_call(b, 40, 5, 3);
	tb_kernel(b, &(struct tb_kernel){"k", 50, 10, 3, 0, 100, 0});
	is_joined(b, "ids used twice");
}

/* Its call, which begins at call_ns, stands in a block that is read when the kernel is done. */
static struct tb *kernel_before_its_call(int64_t call_ns)
{
	struct tb *b = tb_new();

	tb_push(b, 1, "a");
	tb_call(b, 10, 5, 2);
	tb_kernel(b, &(struct tb_kernel){"k", 20, 10, 3, 0, 100, 0});
	cr_assert(eq(int, ws_trace_writer_flush(tb_writer(b), NULL), WS_OK));
	tb_call(b, call_ns, 5, 3);
	tb_pop(b, call_ns + 20);
	return b;
}

/* Clocks that disagree, a little and much. */
Test(digest_tables, kernels_before_their_call_are_joined)
{
	is_joined(kernel_before_its_call(40), "late calls");
	is_joined(kernel_before_its_call(2000000000), "calls that are seconds late");
}

Test(digest_tables, ids_far_apart_are_joined)
{
	struct tb *b = tb_new();

	for (uint64_t i = 0; i <= 5000; i++) {
		const uint64_t id = (i + 1) << 16;
		const int64_t at_ns = 100 * (int64_t)i;

		tb_call(b, at_ns, 5, id);
		tb_kernel(b, &(struct tb_kernel){"k", at_ns + 20, 10, id, 0, 100, 0});
	}
	is_joined(b, "ids far apart");
}

/* More than 16 bits number; the last three use one id. */
Test(digest_tables, launches_of_very_many_processes_are_joined)
{
	const uint64_t n = UINT16_MAX + 3;
	struct tb *b = tb_new();

	for (uint64_t i = 1; i <= n; i++)
		tb_thread(b, 1 + i, 100 + i);
	for (uint64_t i = n - 2; i <= n; i++) {
		tb_on_thread(b, 1 + i);
		tb_push(b, (int64_t)i, "a");
		tb_call(b, (int64_t)i, 5, 7);
		tb_kernel(b, &(struct tb_kernel){"k", (int64_t)i + 20, 10 + (int64_t)(n - i), 7, 0,
		                                 100 + i, 0});
		tb_pop(b, (int64_t)i + 10);
	}
	is_joined(b, "very many processes");
}

/* --- columns ----------------------------------------------------------------------------- */

Test(digest_tables, each_column_alone_is_the_same)
{
	static const char path[] = WS_FIXTURES "/traces/step-bf16.wtrace";
	struct ws_trace_reader *r = NULL;
	struct loaded *l = NULL;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_open(&r, path, &err), WS_OK), "%s", err.text);
	cr_assert(eq(int, loaded_open_reader(&l, r, path, NULL, &err), WS_OK), "%s", err.text);
	for (size_t i = 0; i < ORACLE_STREAMED; i++)
		oracle_compare_columns(r, l, i);
	loaded_free(l);
	ws_trace_reader_free(r);
}
