#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <ctype.h>
#include <string.h>

#include "report/tables/tables.h"

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
