/*
 * What other tools for GPU traces get wrong, as their users report it: each
 * is a test here. Those that are not in this file:
 *   no cost of softmax, gelu, cat; reductions over the wrong axes  test_op_cost.c
 *   totals that parts do not add up to; a class that differs from sheet to sheet
 *                                                          totals.c, of all fixtures
 *   work unmatched where the dtype or the number of steps differs  test_diff.c
 *   differences within noise shown as findings                     test_diff.c
 *   sizes of 2^20 called MB                             test_table.c, foreign_tables
 *   no peaks of NVIDIA's devices                             test_device_peaks.c
 *   overlapping work added up as busy time                   test_foreign_tables.c
 *   idle time without a cause                                test_foreign_tables.c
 *   ranges of one name inside each other mixed up                    test_ranges.c
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "report/analysis.h"
#include "totals.h"
#include "trace_builder.h"

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

static const struct ws_table *table_of(const struct ws_report *report, const char *name)
{
	for (size_t i = 0; i < report->ntables; i++)
		if (!strcmp(report->tables[i]->def->name, name))
			return report->tables[i];
	cr_fatal("no table %s", name);
}

static int64_t sum(const struct ws_table *t, const char *column)
{
	int64_t total = 0;

	for (size_t row = 0; row < t->nrows; row++)
		total += tb_is_empty(t, row, column) ? 0 : tb_int(t, row, column);
	return total;
}

/* Elsewhere they vanish from one sheet and make the shares of another add up to 130 %. */
Test(peers, a_kernel_without_a_call_is_on_every_sheet)
{
	static const char *const exclusive[][2] = {{"kernel-summary", "total_ns"},
	                                           {"kernel-launches", "total_ns"},
	                                           {"classes", "gpu_ns"},
	                                           {"ranges", "exclusive_ns"},
	                                           {"range-kernels", "total_ns"},
	                                           {"ops", "self_cuda_ns"},
	                                           {"gpu", "kernel_ns"}};
	struct tb *b = tb_new();
	struct ws_report *report;
	const struct ws_table *t;
	struct ws_table *trace;
	struct ws_model *m;
	struct ws_err err;

	tb_push(b, 0, "forward");
	tb_launch(b, 10, "sgemm", 100, 70);
	tb_pop(b, 20);
	tb_kernel(b, &(struct tb_kernel){"orphan", 200, 30, 0, 0, 100, 0});
	m = tb_model(b);
	cr_assert(eq(int, ws_report_make(m, NULL, &report, &err), WS_OK), "%s", err.text);
	totals_check(report);
	for (size_t i = 0; i < sizeof(exclusive) / sizeof(*exclusive); i++)
		cr_expect(eq(i64, sum(table_of(report, exclusive[i][0]), exclusive[i][1]), 100),
		          "%s", exclusive[i][0]);
	t = table_of(report, "kernel-summary");
	NEAR(tb_real(t, tb_find(t, 0, "name", "orphan"), "time_percent"), 30.0);
	t = table_of(report, "ranges");
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "(no launch record)"), "exclusive_ns"),
	             30));
	t = table_of(report, "losses");
	cr_expect(eq(i64,
	             tb_int(t, tb_find(t, 0, "cause", "kernels without a launch record"), "count"),
	             1));
	trace = tb_table(m, "kernel-trace", NULL);
	cr_expect(eq(sz, tb_count(trace, "name", "orphan"), 1));
	ws_table_free(trace);
	ws_report_free(report);
	ws_model_free(m);
	tb_free(b);
}

static struct ws_report *diff(struct ws_model *a, struct ws_model *b, struct ws_diff_result *result)
{
	struct ws_diff_opts opts = {-1};
	struct ws_report *report;
	struct ws_err err;

	cr_assert(eq(int, ws_diff_make(a, b, &opts, &report, result, &err), WS_OK), "%s", err.text);
	return report;
}

/* One kernel in two ranges of one path, on two devices: four rows with one name. */
static struct tb *of_one_name(int64_t dur_ns)
{
	struct tb *b = tb_new();
	uint64_t correlation = 1000;

	tb_device(b, 1, WS_DEVICE_CUDA, "second");
	for (int i = 0; i < 2; i++) {
		tb_push(b, 100 * i, "layer");
		for (uint64_t device = 0; device < 2; device++) {
			int64_t at = 100 * i + 10 * (int64_t)device;

			tb_call(b, at + 1, 1, ++correlation);
			tb_kernel(b, &(struct tb_kernel){"k", at + 5, dur_ns, correlation, device,
			                                 100, 0});
		}
		tb_pop(b, 100 * i + 50);
	}
	return b;
}

/* Elsewhere a join on the name alone multiplies rows, and with them the totals. */
Test(peers, a_diff_joins_rows_of_one_name_once)
{
	struct tb *traces[2] = {of_one_name(5), of_one_name(10)};
	struct ws_model *m[2] = {tb_model(traces[0]), tb_model(traces[1])};
	struct ws_diff_result result;
	struct ws_report *report = diff(m[0], m[1], &result);
	const struct ws_table *t = table_of(report, "diff-ranges");

	cr_assert(eq(sz, t->nrows, 1));
	cr_expect(eq(i64, tb_int(t, 0, "mean_a_ns"), 4 * 5));
	cr_expect(eq(i64, tb_int(t, 0, "mean_b_ns"), 4 * 10));
	NEAR(tb_real(t, 0, "share_a"), 100.0);
	ws_report_free(report);

	/* elsewhere a ratio of 2 is called a speed-up of 2 although it is the time that doubled */
	report = diff(m[0], m[1], &result);
	t = table_of(report, "diff-ranges");
	NEAR(tb_real(t, 0, "ratio"), 2.0);
	NEAR(tb_real(t, 0, "diff_ns"), 20.0);
	cr_expect(strstr(result.verdict, "B takes 2 times as long as A") != NULL, "%s",
	          result.verdict);
	for (size_t i = 0; i < report->ntables; i++) {
		const struct ws_table_def *def = report->tables[i]->def;

		for (size_t c = 0; c < def->ncolumns; c++) {
			cr_expect(strstr(def->columns[c].title, "peed") == NULL, "%s",
			          def->columns[c].title);
			cr_expect(strcmp(def->columns[c].id, "ratio") != 0 ||
			          strcmp(def->columns[c].title, "B / A") == 0);
		}
	}
	ws_report_free(report);
	for (int i = 0; i < 2; i++) {
		ws_model_free(m[i]);
		tb_free(traces[i]);
	}
}

/* Elsewhere a step of one CUDA graph is a quarter idle, for its kernels were not recorded. */
Test(peers, a_graph_traced_as_a_whole_keeps_its_device_busy)
{
	struct tb *b = tb_new();
	struct ws_table *t;
	struct ws_model *m;
	int64_t at;

	for (int step = 0; step < 3; step++) {
		at = 1000 * step;
		tb_push(b, at, "step");
		tb_call(b, at + 1, 1, 50 + (uint64_t)step);
		tb_add(b, WS_KIND_GRAPH_LAUNCH,
		       &(struct ws_row_graph_launch){.start_ns = at + 10,
		                                     .dur_ns = 980,
		                                     .pid = 100,
		                                     .correlation = 50 + (uint64_t)step});
		tb_launch(b, at + 3, "after", at + 991, 4);
		tb_pop(b, at + 1000);
	}
	m = tb_model(b);
	t = tb_table(m, "execution", NULL);
	for (size_t row = 0; row < t->nrows; row++) {
		NEAR(tb_real(t, row, "busy_us"), 0.984);
		NEAR(tb_real(t, row, "idle_us"), 0.016);
	}
	ws_table_free(t);
	t = tb_table(m, "gpu", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "busy_ns"), 3 * 984));
	ws_table_free(t);
	t = tb_table(m, "summary", NULL);
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "item", "launch-bound"), "text"), "no");
	ws_table_free(t);
	t = tb_table(m, "losses", NULL);
	cr_expect(eq(i64,
	             tb_int(t, tb_find(t, 0, "cause", "CUDA graphs traced as a whole"), "count"),
	             3));
	ws_table_free(t);
	ws_model_free(m);
	tb_free(b);
}
