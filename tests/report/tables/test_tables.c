#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <ctype.h>
#include <string.h>

#include "report/kernel_info/demangle.h"
#include "report/tables/tables.h"
#include "tests/environment/random.h"
#include "tests/support/totals.h"
#include "tests/support/trace_builder.h"
#include "tests/report/demangles.h"

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
	size_t names, answers;

	cr_expect(strlen(def->sheet) <= 31, "%s", def->sheet);
	for (const char *p = def->sheet; *p; p++)
		cr_expect(ne(int, isprint((unsigned char)*p), 0));
	cr_expect(eq(sz, strcspn(def->sheet, "[]:*?/\\'"), strlen(def->sheet)));
	cr_expect(def->ncolumns > 0);
	names = answers = 0;
	for (size_t i = 0; i < def->ncolumns; i++) {
		const struct ws_table_column *c = &def->columns[i];

		names += c->rank == WS_RANK_NAME;
		answers += c->rank == WS_RANK_ANSWER;
		cr_expect(strlen(c->definition) > 3, "%s.%s", def->name, c->id);
		cr_expect(c->type == WS_CELL_TEXT || c->type == WS_CELL_INT ||
		          c->type == WS_CELL_REAL);
		cr_expect(eq(int, ws_table_column_index(def, c->id), (int)i));
		for (size_t k = 0; k < i; k++)
			cr_expect(strcmp(def->columns[k].title, c->title) != 0, "%s twice in %s",
			          c->title, def->name);
	}
	cr_expect(eq(sz, names, 1), "%s: one column names its rows", def->name);
	/* those of a pivot are made of the traces */
	cr_expect(answers > 0 || strncmp(def->name, "sweep-", 6) == 0, "%s has answers", def->name);
}

Test(tables, ids_titles_and_sheets_are_unique_and_fit)
{
	size_t n[5];
	const struct ws_table_def *const *defs[] = {ws_table_defs(&n[0]), ws_diff_defs(&n[1]),
	                                            ws_sweep_defs(&n[2]), ws_aa_defs(&n[3]),
	                                            ws_ranks_defs(&n[4])};

	for (size_t list = 0; list < sizeof(n) / sizeof(*n); list++) {
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

Test(tables, the_trace_of_all_kernels_is_made_only_on_request)
{
	struct tb *b = tb_new();
	struct ws_report *report = NULL;
	struct joined *j;
	struct ws_err err;

	tb_launch(b, 1, "k", 10, 5);
	j = tb_joined(b);
	cr_assert(eq(int, all_tables(j->m, &j->rows, NULL, &report, &err), WS_OK));
	for (size_t i = 0; i < report->ntables; i++)
		cr_expect(strcmp(report->tables[i]->def->name, "kernel-trace") != 0);
	ws_report_free(report);
	joined_free(j);
	tb_free(b);
}

/* --- names --------------------------------------------------------------------------------- */

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

/* --- any trace ---------------------------------------------------------------------------------
 */

static uint64_t seed;
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
		struct tb_op op = {random_below(&seed, 1000),
		                   random_below(&seed, 99),
		                   random_below(&seed, 99),
		                   ops[random_below(&seed, 4)],
		                   directions[random_below(&seed, 3)],
		                   "fp32",
		                   (int32_t)random_below(&seed, 3) - 1};

		now += random_below(&seed, 4);
		tb_on_thread(b, 1 + random_below(&seed, 2));
		tb_in_domain(b, random_below(&seed, 3) ? "" : "other");
		switch (random_below(&seed, 9)) {
		case 0:
		case 1:
			tb_push(b, now, names[random_below(&seed, 8)]);
			break;
		case 2:
			tb_push_op(b, now, "op", &op);
			break;
		case 3:
		case 4:
			tb_pop(b, now);
			break;
		case 5:
			tb_start(b, now, names[random_below(&seed, 8)], random_below(&seed, 5));
			break;
		case 6:
			tb_end(b, now, random_below(&seed, 5));
			break;
		default:
			tb_call(b, now, 1 + random_below(&seed, 3), 1000 + i);
			tb_kernel(b, &(struct tb_kernel){
			                     random_below(&seed, 2) ? "k" : "other kernel",
			                     now + random_below(&seed, 50), random_below(&seed, 40),
			                     random_below(&seed, 9) ? 1000 + i : 0,
			                     random_below(&seed, 2), 100,
			                     random_below(&seed, 9) ? 0 : WS_KERNEL_NO_TIME});
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
	cr_expect(tb_table_of(report, "summary")->not_recorded != NULL,
	          "the summary says that there is no kernel");
	ws_report_free(report);
	joined_free(j);
	tb_free(b);
}

/* "speedup (trace2/trace1)" that means slower: every ratio of ours says what is over what. */
Test(tables, ratios_say_their_direction_and_shares_what_they_are_of)
{
	size_t n;
	const struct ws_table_def *const *diffs = ws_diff_defs(&n);

	for (size_t d = 0; d < n; d++)
		for (size_t c = 0; c < diffs[d]->ncolumns; c++)
			if (diffs[d]->columns[c].display == WS_DISPLAY_RATIO)
				/* itself, or the ends of its interval */
				cr_expect(strcmp(diffs[d]->columns[c].title, "B / A") == 0 ||
				                  strstr(diffs[d]->columns[c].definition, "B / A"),
				          "%s: %s", diffs[d]->name, diffs[d]->columns[c].title);
	diffs = ws_table_defs(&n);
	for (size_t d = 0; d < n; d++)
		for (size_t c = 0; c < diffs[d]->ncolumns; c++) {
			const struct ws_table_column *column = &diffs[d]->columns[c];

			/* an occupancy is no share of a sum */
			if (column->display != WS_DISPLAY_PERCENT ||
			    strstr(column->title, "Occupancy"))
				continue;
			cr_expect(strstr(column->definition, "over ") ||
			                  strstr(column->definition, " of ") ||
			                  strstr(column->definition, "As in") ||
			                  strstr(column->definition, "The same"),
			          "%s, %s: of what?", diffs[d]->name, column->title);
		}
}

/* What a reader of one table looks for first. */
Test(tables, the_parts_of_a_step_are_a_headline)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_push(b, 0, "step");
	tb_launch(b, 1, "k", 10, 5);
	tb_pop(b, 20);
	j = tb_joined(b);
	t = tb_table(j, "execution", NULL);
	cr_expect(eq(sz, t->nheadline_notes, 1));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}
