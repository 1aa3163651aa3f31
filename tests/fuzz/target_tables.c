/* Any bytes as a trace of which every table is made, in one pass and from all its rows. */
#include <stdlib.h>

#include "report/tables/report.h"
#include "tests/fuzz/mutate.h"

static void stream(const struct ws_trace_reader *r)
{
	const struct ws_table_def *const *defs;
	const char *declined = NULL;
	struct ws_report *report = NULL;
	struct ws_err err;
	size_t n;

	defs = ws_table_defs(&n);
	for (int scope = WS_SCOPE_ALL; scope <= WS_SCOPE_WARM_UP; scope++) {
		ws_report_stream(r, "fuzz", NULL, (enum ws_scope)scope, defs, n, NULL, &report,
		                 &declined, &err);
		ws_report_free(report);
		report = NULL;
	}
}

static void load(const struct ws_trace_reader *r)
{
	struct ws_report *report = NULL;
	struct ws_model *model = NULL;
	struct ws_err err;

	if (ws_model_open_reader(&model, r, "fuzz", NULL, &err) == WS_OK)
		ws_report_make(model, NULL, &report, &err);
	ws_report_free(report);
	ws_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ws_trace_reader *r;
	struct ws_err err;

	if (ws_trace_reader_open_mem(&r, data, size, &err) != WS_OK)
		return 0;
	/* a trace of either length is one mutation away */
	if (size / 8 % 4)
		load(r);
	else
		stream(r);
	ws_trace_reader_free(r);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_trace(data, size, max_size, seed, LLVMFuzzerMutate);
}
