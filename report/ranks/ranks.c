#include "report/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/ranks/private.h"
#include "report/tables/report.h"

struct ws_ranks *ws_ranks_new(void)
{
	return calloc(1, sizeof(struct ws_ranks));
}

void ws_ranks_free(struct ws_ranks *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		free(r->ranks[i].steps);
	free(r->ranks);
	free(r->calls);
	free(r->meetings);
	ws_texts_release(&r->texts);
	free(r);
}

static enum ws_status fill(struct ws_ranks *r, struct ws_table *t, struct ws_err *err)
{
	size_t count;
	const struct ws_table_def *const *defs = ws_ranks_defs(&count);

	if (t->def == &ws_def_ranks_verdict)
		ws_ranks_fill_verdict(r, t);
	else if (t->def == &ws_def_ranks)
		ws_ranks_fill_ranks(r, t);
	else if (t->def == &ws_def_rank_steps)
		WS_FORWARD(ws_ranks_fill_steps(r, t, err));
	else if (t->def == &ws_def_collectives)
		WS_FORWARD(ws_ranks_fill_collectives(r, t, err));
	else if (t->def == &ws_def_collective_calls)
		WS_FORWARD(ws_ranks_fill_calls(r, t, err));
	else
		ws_method_fill(t, defs, count);
	return ws_table_done(t, err);
}

enum ws_status ws_ranks_make(struct ws_ranks *r, struct ws_report **out, const char **alarm,
                             struct ws_err *err)
{
	struct ws_report *report = calloc(1, sizeof(*report));
	size_t count;
	const struct ws_table_def *const *defs = ws_ranks_defs(&count);
	char *trace = NULL;
	enum ws_status status = WS_OK;

	*out = NULL;
	if (!report)
		return ws_ranks_no_memory(err);
	report->title = "Warpsheet report of ranks";
	report->filter = strdup("");
	report->tables = calloc(count, sizeof(struct ws_table *));
	report->created_ns = r->n ? r->ranks[0].base_ns : 0;
	if (asprintf(&trace, "%zu ranks", r->n) >= 0)
		report->trace = trace;
	if (!report->filter || !report->tables || !report->trace)
		status = ws_ranks_no_memory(err);
	if (status == WS_OK)
		status = ws_ranks_match(r, err);
	if (status == WS_OK)
		status = ws_ranks_align(r, err);
	for (size_t i = 0; i < count && status == WS_OK; i++) {
		struct ws_table *t = ws_table_new(defs[i]);

		if (!t) {
			status = ws_ranks_no_memory(err);
			break;
		}
		report->tables[report->ntables++] = t;
		status = fill(r, t, err);
	}
	*alarm = *r->alarm ? r->alarm : NULL;
	if (status == WS_OK)
		*out = report;
	else
		ws_report_free(report);
	return status;
}
