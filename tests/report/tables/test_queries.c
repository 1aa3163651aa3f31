/* Every query of tables.def is one that SQLite understands; columns without one are C's. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/diff/diff.h"
#include "report/ranks/ranks.h"
#include "report/sweep/sweep.h"
#include "report/tables/tables.h"

static const struct ws_table_query *const queries[] = {
#define T(id, ...) &ws_sql_##id,
        WS_ALL_TABLES(T)
#undef T
};
#define NQUERIES (sizeof(queries) / sizeof(*queries))

Test(queries, each_is_prepared_as_a_whole_and_for_each_column_alone)
{
	size_t prepared = 0;

	for (size_t i = 0; i < NQUERIES; i++) {
		const struct ws_table_query *of = queries[i];
		uint8_t wanted[100] = {0};
		struct ws_query *q;
		struct ws_err err;

		if (!*of->from)
			continue;
		cr_assert(eq(int, ws_query_open(&q, &err), WS_OK));
		ws_relations_add(q, NULL);
		ws_ranks_relations(q, NULL);
		ws_diff_relations(q, NULL);
		ws_sweep_relations(q, NULL);
		ws_replay_relations_add(q, NULL);
		cr_expect(eq(int, ws_query_check_table(q, of, NULL, &err), WS_OK), "%s: %s",
		          of->def->name, err.text);
		for (size_t c = 0; c < of->def->ncolumns; c++) {
			wanted[c] = 1;
			cr_expect(eq(int, ws_query_check_table(q, of, wanted, &err), WS_OK),
			          "%s, column %s: %s", of->def->name, of->def->columns[c].id,
			          err.text);
			wanted[c] = 0;
			prepared++;
		}
		ws_query_close(q);
	}
	cr_assert(gt(sz, prepared, 50));
}
