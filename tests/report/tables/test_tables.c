#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/kernel_info/demangle.h"
#include "report/tables/tables.h"
#include "tests/support/totals.h"
#include "tests/support/trace_builder.h"
#include "tests/report/demangles.h"

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

/* --- the table of tables ---------------------------------------------------------------------- */

/* The contract for programs that read CSV: each header begins so. */
Test(tables, headers_begin_as_the_contract_says)
{
	static const struct {
		const char *table, *header;
	} contract[] = {
	        {"kernel-summary", "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),"
	                           "Max (ns),StdDev (ns),Name"},
	        {"ranges", "Path,Domain,Style,Instances,Range Time (ns),Projected Time (ns),"
	                   "GPU Busy (ns),GPU Time Inclusive (ns),GPU Time Exclusive (ns),"
	                   "GPU Ops Inclusive,GPU Ops Exclusive"},
	        {"range-kernels", "Path,Domain,Style,Instances,Kernel Instances,Total Time (ns),"
	                          "Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"},
	        {"softmax-matmul", "Scope,Phase,Part,Kernels,GPU Time (ns),FLOPs,Bytes,FLOP/byte,"
	                           "TFLOP/s,GB/s,Bound"},
	        {"steps", "Step,Warm-up,Forward (ns),Loss (ns),Backward (ns),Optimizer (ns),"
	                  "Remainder (ns),Total (ns)"},
	        {"api-summary", "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),"
	                        "Max (ns),StdDev (ns),Name"},
	        {"memory-time", "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),"
	                        "Max (ns),StdDev (ns),Operation"},
	        {"memory-size", "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),"
	                        "Operation"},
	        {"execution", "Step,Kernel (us),Memcpy (us),Memset (us),Communication (us),"
	                      "Runtime (us),DataLoader (us),CPU Exec (us),Other (us),Total (us)"},
	        {"gpu", "Device,Name,Memory (GB),Compute Capability,GPU Utilization (%),"
	                "Est. SM Efficiency (%),Est. Achieved Occupancy (%),"
	                "Est. Achieved Occupancy opt-in (%),Tensor Core Time (%)"},
	        {"classes", "Class,Kernels,GPU Time (ns),Share (%),Tensor Core Time (ns)"},
	        {"ops", "Name,Calls,Self CPU (ns),CPU Total (ns),Self CUDA (ns),CUDA Total (ns),"
	                "FLOPs"},
	};

	for (size_t i = 0; i < sizeof(contract) / sizeof(*contract); i++) {
		const struct ws_table_def *def = ws_table_def_by_name(contract[i].table);
		const char *at = contract[i].header;

		cr_assert(def != NULL);
		for (size_t c = 0; *at; c++) {
			size_t len = strcspn(at, ",");

			cr_assert(c < def->ncolumns);
			cr_expect(strlen(def->columns[c].title) == len &&
			                  !strncmp(def->columns[c].title, at, len),
			          "%s: '%s' is not '%.*s'", def->name, def->columns[c].title,
			          (int)len, at);
			at += len + (at[len] == ',');
		}
	}
}

static void check_def(const struct ws_table_def *def)
{
	cr_expect(strlen(def->sheet) <= 31, "%s", def->sheet);
	for (const char *p = def->sheet; *p; p++)
		cr_expect(ne(int, isprint((unsigned char)*p), 0));
	cr_expect(eq(sz, strcspn(def->sheet, "[]:*?/\\'"), strlen(def->sheet)));
	cr_expect(def->ncolumns > 0);
	for (size_t i = 0; i < def->ncolumns; i++) {
		const struct ws_table_column *c = &def->columns[i];

		cr_expect(strlen(c->definition) > 3, "%s.%s", def->name, c->id);
		cr_expect(c->type == WS_CELL_TEXT || c->type == WS_CELL_INT ||
		          c->type == WS_CELL_REAL);
		cr_expect(eq(int, ws_table_column_index(def, c->id), (int)i));
		for (size_t k = 0; k < i; k++)
			cr_expect(strcmp(def->columns[k].title, c->title) != 0, "%s twice in %s",
			          c->title, def->name);
	}
}

Test(tables, ids_titles_and_sheets_are_unique_and_fit)
{
	size_t n[2];
	const struct ws_table_def *const *defs[] = {ws_table_defs(&n[0]), ws_diff_defs(&n[1])};

	for (int list = 0; list < 2; list++) {
		for (size_t i = 0; i < n[list]; i++) {
			check_def(defs[list][i]);
			for (size_t k = 0; k < i; k++) {
				cr_expect(strcmp(defs[list][i]->name, defs[list][k]->name) != 0);
				cr_expect(strcmp(defs[list][i]->sheet, defs[list][k]->sheet) != 0);
			}
		}
	}
	cr_expect(ws_table_def_by_name("no such table") == NULL);
	cr_expect(ws_table_def_by_name("method") == defs[0][n[0] - 1], "method is the last sheet");
}

static struct ws_table *table_of(const struct ws_report *report, const char *name)
{
	for (size_t i = 0; i < report->ntables; i++)
		if (!strcmp(report->tables[i]->def->name, name))
			return report->tables[i];
	cr_fatal("no table %s", name);
	return NULL;
}

Test(tables, the_trace_of_all_kernels_is_made_only_on_request)
{
	struct tb *b = tb_new();
	struct ws_report *report = NULL;
	struct joined *j;
	struct ws_table *t;
	struct ws_err err;

	tb_push(b, 0, "outer");
	tb_launch(b, 1, "k", 10, 5);
	tb_pop(b, 5);
	tb_launch(b, 6, "k", 20, 7);
	j = tb_joined(b);
	cr_assert(eq(int, all_tables(j->m, &j->rows, NULL, &report, &err), WS_OK));
	for (size_t i = 0; i < report->ntables; i++)
		cr_expect(strcmp(report->tables[i]->def->name, "kernel-trace") != 0);
	ws_report_free(report);
	t = tb_table(j, "kernel-trace", NULL);
	cr_assert(eq(sz, t->nrows, 2));
	cr_expect(eq(i64, tb_int(t, 0, "start_ns"), 10));
	cr_expect(eq(i64, tb_int(t, 1, "dur_ns"), 7));
	cr_expect_str_eq(tb_str(t, 0, "path"), "outer");
	cr_expect_str_eq(tb_str(t, 1, "path"), "(in no range)");
	cr_expect_str_eq(tb_str(t, 1, "name"), "k");
	cr_expect(eq(i64, tb_int(t, 1, "api_start_ns"), 6));
	cr_expect(eq(i64, t->totals[WS_TC_kernel_trace_dur_ns].i, 12));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* --- kernel-summary --------------------------------------------------------------------------- */

Test(tables, kernel_summary_by_hand)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_launch(b, 0, "b", 10, 30);
	tb_launch(b, 2, "a", 40, 10);
	tb_launch(b, 4, "a", 50, 13);
	tb_launch(b, 6, "a", 70, 11);
	tb_launch(b, 8, "a", 90, 26);
	tb_launch(b, 9, "c", 120, 10);
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	cr_assert(eq(sz, t->nrows, 3));

	cr_expect_str_eq(tb_str(t, 0, "name"), "a");
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 60));
	cr_expect(eq(i64, tb_int(t, 0, "instances"), 4));
	NEAR(tb_real(t, 0, "time_percent"), 60.0);
	NEAR(tb_real(t, 0, "avg_ns"), 15.0);
	NEAR(tb_real(t, 0, "med_ns"), 12.0);
	cr_expect(eq(i64, tb_int(t, 0, "min_ns"), 10));
	cr_expect(eq(i64, tb_int(t, 0, "max_ns"), 26));
	/* squares of -5 -2 -4 11 are 166, over 3 */
	NEAR(tb_real(t, 0, "std_ns"), sqrt(166.0 / 3));

	cr_expect_str_eq(tb_str(t, 1, "name"), "b");
	cr_expect(eq(dbl, tb_real(t, 1, "std_ns"), 0),
	          "one sample has the deviation 0, as in nsys");
	cr_expect(eq(i64, t->totals[WS_TC_kernel_summary_total_ns].i, 100));
	cr_expect(eq(i64, t->totals[WS_TC_kernel_summary_instances].i, 6));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(tables, kernel_summary_orders_by_time_then_instances_then_name)
{
	struct tb *b = tb_new();
	static const char *const expected[] = {"long", "once", "b pair", "c pair", "short"};
	struct joined *j;
	struct ws_table *t;

	tb_launch(b, 0, "short", 0, 1);
	tb_launch(b, 0, "c pair", 1, 5);
	tb_launch(b, 0, "c pair", 10, 5);
	tb_launch(b, 0, "b pair", 20, 4);
	tb_launch(b, 0, "b pair", 30, 6);
	tb_launch(b, 0, "once", 40, 10);
	tb_launch(b, 0, "long", 50, 11);
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	cr_assert(eq(sz, t->nrows, 5));
	for (size_t i = 0; i < 5; i++)
		cr_expect_str_eq(tb_str(t, i, "name"), expected[i]);
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(tables, kernels_without_a_time_are_counted_and_in_no_statistic)
{
	struct tb *b = tb_new();
	struct tb_kernel lost = {.name = "a", .pid = 100, .flags = WS_KERNEL_NO_TIME};
	struct joined *j;
	struct ws_table *t;

	tb_launch(b, 0, "a", 10, 30);
	lost.dur_ns = 999; /* whatever the row holds */
	tb_kernel(b, &lost);
	lost.name = "never timed";
	tb_kernel(b, &lost);
	lost.flags = 0;
	lost.dur_ns = -5; /* a time that cannot be */
	tb_kernel(b, &lost);
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	cr_assert(eq(sz, t->nrows, 2));
	cr_expect(eq(i64, tb_int(t, 0, "instances"), 1));
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 30));
	cr_expect(eq(i64, tb_int(t, 0, "without_time"), 1));
	cr_expect_str_eq(tb_str(t, 1, "name"), "never timed", "the last row");
	cr_expect(tb_is_empty(t, 1, "total_ns"), "unknown, not 0");
	cr_expect(tb_is_empty(t, 1, "avg_ns"));
	cr_expect(eq(i64, tb_int(t, 1, "without_time"), 2));
	ws_table_free(t);

	t = tb_table(j, "losses", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "cause", "kernels without a time"), "count"), 3));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(tables, class_direction_and_dtype_are_those_of_the_operation)
{
	struct tb *b = tb_new();
	struct tb_op gemm = {1000, 40, 10, "gemm", "forward", "bf16", 3};
	struct tb_op copy = {0, 8, 8, "copy", "backward", "fp32", 3};
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_push_op(b, 0, "op", &gemm);
	tb_launch(b, 1, "shared", 10, 50);
	tb_pop(b, 3);
	tb_push_op(b, 4, "op", &copy);
	tb_launch(b, 5, "shared", 60, 50);
	tb_pop(b, 7);
	tb_launch(b, 9, "ws_norm_rms_bwd_f32", 200, 5);
	tb_launch(b, 11, "no idea", 210, 5);
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	row = tb_find(t, 0, "name", "shared");
	cr_expect_str_eq(tb_str(t, row, "op_class"), "gemm, copy");
	cr_expect_str_eq(tb_str(t, row, "direction"), "forward, backward");
	cr_expect_str_eq(tb_str(t, row, "dtype"), "bf16, fp32");
	cr_expect(eq(i64, tb_int(t, row, "flops"), 1000));
	NEAR(tb_real(t, row, "tflops"), 1000.0 / 100 / 1000);
	row = tb_find(t, 0, "name", "ws_norm_rms_bwd_f32");
	cr_expect_str_eq(tb_str(t, row, "op_class"), "norm", "by its name");
	cr_expect(tb_is_empty(t, row, "flops"));
	row = tb_find(t, 0, "name", "no idea");
	cr_expect(tb_is_empty(t, row, "op_class"), "unknown is empty");
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(tables, mangled_names_are_shown_as_signatures_and_grouped_by_them)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	if (!demangles())
		cr_skip("built without libiberty");
	tb_launch(b, 0, "_Z3addiPfS_", 10, 30);
	tb_launch(b, 2, "add(int, float*, float*)", 50, 10);
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	cr_assert(eq(sz, t->nrows, 1));
	cr_expect_str_eq(tb_str(t, 0, "name"), "add(int, float*, float*)");
	cr_expect_str_eq(tb_str(t, 0, "short_name"), "add");
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 40));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(tables, flops_of_an_operation_with_several_kernels_are_no_kernels)
{
	struct tb *b = tb_new();
	struct tb_op gemm = {1000, 40, 10, "gemm", "forward", "fp32", -1};
	struct joined *j;
	struct ws_table *t;

	tb_push_op(b, 0, "split", &gemm);
	tb_launch(b, 1, "gemm_part", 10, 50);
	tb_launch(b, 3, "reduce_part", 60, 10);
	tb_pop(b, 5);
	tb_push_op(b, 6, "twice the same", &gemm);
	tb_launch(b, 7, "halves", 100, 20);
	tb_launch(b, 9, "halves", 120, 20);
	tb_pop(b, 11);
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	cr_expect(tb_is_empty(t, tb_find(t, 0, "name", "gemm_part"), "flops"));
	cr_expect(tb_is_empty(t, tb_find(t, 0, "name", "reduce_part"), "flops"));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "name", "halves"), "flops"), 1000));
	ws_table_free(t);

	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "split"), "flops"), 1000),
	          "the range has them all the same");
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(tables, setup_and_warm_up_are_in_the_kernel_summary_and_it_says_so)
{
	struct tb *b = tb_new();
	struct ws_filter steps = WS_FILTER_ALL;
	struct joined *j;
	struct ws_table *t;

	tb_push(b, 0, "setup");
	tb_launch(b, 1, "k", 10, 1);
	tb_pop(b, 5);
	tb_push(b, 6, "warm-up");
	tb_launch(b, 7, "k", 20, 2);
	tb_launch(b, 9, "k", 30, 3);
	tb_pop(b, 12);
	tb_push(b, 13, "step");
	tb_launch(b, 14, "k", 40, 4);
	tb_pop(b, 17);
	tb_push(b, 18, "step");
	tb_launch(b, 19, "k", 50, 5);
	tb_launch(b, 21, "k", 60, 6);
	tb_pop(b, 23);
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "instances"), 6));
	NEAR(tb_real(t, 0, "per_step"), 1.5);
	cr_expect(tb_notes_say(t, "1 kernels (0.000 ms) of set-up, 2 (0.000 ms) of warm-up"));
	ws_table_free(t);

	steps.nvtx = "step";
	t = tb_table(j, "kernel-summary", &steps);
	cr_expect(eq(i64, tb_int(t, 0, "instances"), 3));
	cr_expect(not(tb_notes_say(t, "warm-up")));
	cr_expect(tb_notes_say(t, "Filter: kernels launched in ranges that match \"step\""));
	ws_table_free(t);

	steps = (struct ws_filter){.step_first = 1, .step_last = 1, .device = -1};
	t = tb_table(j, "kernel-summary", &steps);
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 11));
	NEAR(tb_real(t, 0, "time_percent"), 100.0);
	NEAR(tb_real(t, 0, "per_step"), 2.0);
	cr_expect(tb_notes_say(t, "measured steps 1 to 1"));
	ws_table_free(t);

	steps.nvtx = "nowhere";
	t = tb_table(j, "kernel-summary", &steps);
	cr_expect(eq(sz, t->nrows, 0));
	cr_expect(tb_notes_say(t, "No kernel passes the filter"));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(tables, a_device_filter_keeps_one_device)
{
	struct tb *b = tb_new();
	struct ws_filter device = WS_FILTER_ALL;
	struct joined *j;
	struct ws_table *t;

	tb_device(b, 7, WS_DEVICE_CUDA, "Second GPU");
	tb_kernel(b, &(struct tb_kernel){"k", 0, 10, 0, 0, 100, 0});
	tb_kernel(b, &(struct tb_kernel){"k", 0, 90, 0, 7, 100, 0});
	j = tb_joined(b);
	device.device = 7;
	t = tb_table(j, "kernel-summary", &device);
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 90));
	ws_table_free(t);
	device.device = 3;
	t = tb_table(j, "kernel-summary", &device);
	cr_expect(eq(sz, t->nrows, 0));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* --- any trace ---------------------------------------------------------------------------------
 */

static uint64_t seed;
static unsigned roll(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* A program that does anything, in any order. */
static struct tb *random_trace(unsigned number)
{
	static const char *const names[] = {"step",
	                                    "forward",
	                                    "computing softmax",
	                                    "scaled dot product attention",
	                                    "layer 1",
	                                    "warm-up",
	                                    "x/y",
	                                    "backward"};
	static const char *const ops[] = {"gemm", "softmax", "scale", "copy"};
	static const char *const directions[] = {"forward", "backward", NULL};
	struct tb *b = tb_new();
	int64_t now = 0;

	seed = number;
	tb_thread(b, 2, 100);
	tb_device(b, 1, WS_DEVICE_CUDA, "Second GPU");
	for (unsigned i = 0; i < 120; i++) {
		struct tb_op op = {roll(1000),
		                   roll(99),
		                   roll(99),
		                   ops[roll(4)],
		                   directions[roll(3)],
		                   "fp32",
		                   (int32_t)roll(3) - 1};

		now += roll(4);
		tb_on_thread(b, 1 + roll(2));
		tb_in_domain(b, roll(3) ? "" : "other");
		switch (roll(9)) {
		case 0:
		case 1:
			tb_push(b, now, names[roll(8)]);
			break;
		case 2:
			tb_push_op(b, now, "op", &op);
			break;
		case 3:
		case 4:
			tb_pop(b, now);
			break;
		case 5:
			tb_start(b, now, names[roll(8)], roll(5));
			break;
		case 6:
			tb_end(b, now, roll(5));
			break;
		default:
			tb_call(b, now, 1 + roll(3), 1000 + i);
			tb_kernel(b, &(struct tb_kernel){roll(2) ? "k" : "other kernel",
			                                 now + roll(50), roll(40),
			                                 roll(9) ? 1000 + i : 0, roll(2), 100,
			                                 roll(9) ? 0 : WS_KERNEL_NO_TIME});
		}
	}
	return b;
}

/* One test over all tables: parts add up to the total that is shown. */
Test(tables, parts_add_up_in_every_table_of_random_traces)
{
	for (unsigned number = 0; number < 300; number++) {
		struct ws_filter filter = WS_FILTER_ALL;
		struct tb *b = random_trace(number);
		struct joined *j = tb_joined(b);
		struct ws_report *report = NULL;
		struct ws_err err;

		if (number % 3 == 1)
			filter.nvtx = "forward";
		if (number % 3 == 2)
			filter.device = 1;
		cr_assert(eq(int, all_tables(j->m, &j->rows, &filter, &report, &err), WS_OK));
		totals_check(report);
		ws_report_free(report);
		joined_free(j);
		tb_free(b);
	}
}

Test(tables, the_same_trace_makes_the_same_report)
{
	for (unsigned number = 0; number < 20; number++) {
		struct tb *b[2] = {random_trace(number), random_trace(number)};
		struct joined *j[2];
		struct ws_report *report[2];
		struct ws_err err;

		for (int i = 0; i < 2; i++) {
			j[i] = tb_joined(b[i]);
			cr_assert(eq(int, all_tables(j[i]->m, &j[i]->rows, NULL, &report[i], &err),
			             WS_OK));
		}
		for (size_t i = 0; i < report[0]->ntables; i++)
			cr_assert(tb_tables_equal(report[0]->tables[i], report[1]->tables[i]), "%s",
			          report[0]->tables[i]->def->name);
		for (int i = 0; i < 2; i++) {
			ws_report_free(report[i]);
			joined_free(j[i]);
			tb_free(b[i]);
		}
	}
}

Test(tables, an_empty_trace_makes_every_table)
{
	struct tb *b = tb_new();
	struct joined *j = tb_joined(b);
	struct ws_report *report = NULL;
	struct ws_err err;

	cr_assert(eq(int, all_tables(j->m, &j->rows, NULL, &report, &err), WS_OK));
	cr_expect_str_eq(report->trace, "test.wtrace");
	cr_expect_str_eq(report->filter, "");
	cr_expect(eq(i64, report->created_ns, 1700000000000000000));
	cr_expect(table_of(report, "summary")->not_recorded != NULL,
	          "the summary says that there is no kernel");
	ws_report_free(report);
	joined_free(j);
	tb_free(b);
}

Test(tables, times_that_cannot_be_added_are_an_error_and_no_number)
{
	struct tb *b = tb_new();
	struct joined *j = NULL;
	struct ws_bytes bytes;
	struct ws_err err;

	for (int i = 0; i < 5; i++)
		tb_kernel(b, &(struct tb_kernel){"k", 0, (int64_t)1 << 61, 0, 0, 100, 0});
	cr_assert(eq(int, ws_trace_writer_close(tb_writer(b), &err), WS_OK));
	bytes = ws_trace_writer_mem(tb_writer(b));
	cr_expect(eq(int, joined_open_mem(&j, bytes.ptr, bytes.len, "t", &err), WS_CORRUPT));
	cr_expect(j == NULL);
	cr_expect(strstr(err.text, "2^63") != NULL, "%s", err.text);
	tb_free(b);
}

Test(tables, a_time_out_of_bounds_names_the_record)
{
	struct tb *b = tb_new();
	struct joined *j = NULL;
	struct ws_bytes bytes;
	struct ws_err err;

	tb_push(b, INT64_MIN, "far away");
	cr_assert(eq(int, ws_trace_writer_close(tb_writer(b), &err), WS_OK));
	bytes = ws_trace_writer_mem(tb_writer(b));
	cr_expect(eq(int, joined_open_mem(&j, bytes.ptr, bytes.len, "t", &err), WS_CORRUPT));
	cr_expect(strstr(err.text, "NVTX event 0") != NULL, "%s", err.text);
	tb_free(b);
}
