/* Any bytes as a trace of which every table is made, of sums and of rows. */
#include <stdlib.h>
#include <string.h>

#include "report/tables/tables.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/joined.h"

/* --- the tables ---------------------------------------------------------------------------------
 */

static void stream(const struct ws_trace_reader *r)
{
	const struct ws_table_def *const *defs;
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_report *report = NULL;
	struct ws_err err;
	size_t n;

	defs = ws_table_defs(&n);
	for (int scope = WS_SCOPE_ALL; scope <= WS_SCOPE_WARM_UP; scope++) {
		filter.scope = (enum ws_scope)scope;
		ws_report_stream(r, "fuzz", NULL, &filter, defs, n, NULL, NULL, &report, &err);
		ws_report_free(report);
		report = NULL;
	}
}

static void join(const struct ws_trace_reader *r)
{
	struct ws_report *report = NULL;
	struct joined *j = NULL;
	struct ws_err err;

	if (joined_open_reader(&j, r, "fuzz", NULL, &err) == WS_OK)
		all_tables(j->m, &j->rows, NULL, &report, &err);
	ws_report_free(report);
	joined_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ws_trace_reader *r;
	struct ws_err err;

	if (ws_trace_reader_open_mem(&r, data, size, &err) != WS_OK)
		return 0;
	/* a trace of either length is one mutation away */
	if (size / 8 % 4)
		join(r);
	else
		stream(r);
	ws_trace_reader_free(r);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_trace(data, size, max_size, seed, LLVMFuzzerMutate);
}
