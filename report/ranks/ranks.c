#include "report/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "report/ranks/private.h"
#include "report/tables/report.h"

struct ws_ranks *ws_ranks_new(void)
{
	return ws_xarray(1, sizeof(struct ws_ranks));
}

void ws_ranks_free(struct ws_ranks *r)
{
	if (!r)
		return;
	free(r->ranks);
	free(r->calls);
	free(r->meetings);
	ws_texts_release(&r->texts);
	ws_arena_free(&r->arena);
	free(r);
}

static enum ws_status fill(void *ctx, size_t which, struct ws_table **table, struct ws_err *err)
{
	struct ws_ranks *r = ctx;
	struct ws_table *t = *table;

	(void)which;
	(void)err;
	if (t->def == &ws_def_ranks_verdict)
		ws_ranks_fill_verdict(r, t);
	else if (t->def == &ws_def_ranks)
		ws_ranks_fill_ranks(r, t);
	else if (t->def == &ws_def_rank_steps)
		ws_ranks_fill_steps(r, t);
	else if (t->def == &ws_def_collectives)
		ws_ranks_fill_collectives(r, t);
	else
		ws_ranks_fill_calls(r, t);
	return WS_OK;
}

enum ws_status ws_ranks_make(struct ws_ranks *r, struct ws_report **out, const char **alarm,
                             struct ws_err *err)
{
	struct ws_report_plan plan = {.title = "Warpsheet report of ranks", .fill = fill, .ctx = r};
	char trace[32];

	*out = NULL;
	snprintf(trace, sizeof(trace), "%zu ranks", r->n);
	plan.trace = trace;
	plan.created_ns = r->n ? r->ranks[0].base_ns : 0;
	plan.defs = ws_ranks_defs(&plan.ndefs);
	WS_FORWARD(ws_ranks_match(r, err));
	ws_ranks_align(r);
	WS_FORWARD(ws_report_of_plan(&plan, out, err));
	ws_ranks_answer(r, *out);
	*alarm = *r->alarm ? r->alarm : NULL;
	return WS_OK;
}
