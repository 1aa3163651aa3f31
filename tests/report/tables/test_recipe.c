/* CONTRIBUTING's recipes: a column is a line, a table its line and its columns; nothing else. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/analysis/digest.h"
#include "report/tables/tables.h"
#include "tests/support/joined.h"
#include "tests/support/paths.h"

#define RECIPE_TABLES(T)                                                            \
	T(recipe, "recipe", "Kernels by Device", "By Device", "One row per device", \
	  "FROM cell GROUP BY device ORDER BY device")
#define WS_TCOLS_recipe(C)                                                          \
	C(recipe, device, "Device", "", INT, PLAIN, NAME, "Number of the device.")  \
	C(recipe, total_ns, "Total (ns)", "ns", INT, TIME_NS, ANSWER, "GPU time.",  \
	  "sum(total_ns)", "sum(total_ns)")                                         \
	C(recipe, med_ns, "Med (ns)", "ns", REAL, TIME_NS, DETAIL, "Exact median.", \
	  "median_of(times)")
RECIPE_TABLES(WS_TABLE_MADE)

Test(recipe, a_table_is_its_line_and_its_columns)
{
	struct ws_selection sel = {0};
	struct ws_digest d = {0};
	struct joined *j;
	struct ws_err err;
	struct ws_query *q;

	cr_assert(eq(int, joined_open(&j, WS_FIXTURES "/imports/alexnet-a100.json.gz", &err),
	             WS_OK),
	          "%s", err.text);
	/* what its columns read says which parts of a digest are made */
	cr_assert(eq(int, ws_query_open(&q, &err), WS_OK));
	ws_relations_add(q, NULL);
	cr_assert(eq(int, ws_query_check_table(q, &ws_sql_recipe, NULL, &err), WS_OK), "%s",
	          err.text);
	cr_assert(eq(u32, ws_relations_parts(q), WS_DIGEST_KERNELS));
	ws_query_close(q);

	ws_select_rows(j->m, &j->rows, NULL, &sel);
	ws_digest_of_rows(&d, j->m, &sel, WS_DIGEST_KERNELS);
	const struct ws_table_context tab = {.m = j->m, .sel = &sel, .digest = &d};
	struct ws_relations relations = {.tab = &tab};
	struct ws_table *t = ws_table_new(&ws_def_recipe);

	cr_assert(eq(int, ws_query_open(&q, &err), WS_OK));
	ws_relations_add(q, &relations);
	cr_assert(eq(int, ws_query_table(q, t, &ws_sql_recipe, NULL, &err), WS_OK), "%s", err.text);
	cr_assert(eq(sz, t->nrows, 1));
	cr_assert(eq(i64, t->cells[1].i, sel.gpu_ns));
	cr_assert(eq(i64, t->totals[1].i, sel.gpu_ns));
	cr_assert(gt(dbl, t->cells[2].r, 0));
	ws_query_close(q);
	ws_relations_release(&relations);
	ws_table_free(t);
	ws_digest_release(&d);
	ws_selection_release(&sel);
	joined_free(j);
}
