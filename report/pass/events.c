/* Events alone, in order of time. */
#include <stdlib.h>

#include "report/pass/private.h"

struct events {
	struct ws_pass *p;
	struct ws_pass_rows rows; /* that wait */
	ws_pass_event_fn fn;
	void *ctx;
};

/* Those before until_ns. */
static enum ws_status tell_events(struct events *e, int64_t until_ns, struct ws_err *err)
{
	struct ws_pass_rows *rows = &e->rows;

	if (e->p->framework.is_present)
		ws_pass_take_framework(e->p, until_ns, rows);
	ws_pass_rows_sort(rows);
	for (; rows->first < rows->n; rows->first++) {
		const struct ws_pass_row *row = (struct ws_pass_row *)rows->rows + rows->first;

		if (row->time_ns >= until_ns && until_ns != INT64_MAX)
			return WS_OK;
		WS_FORWARD(e->fn(e->ctx, row, err));
	}
	return WS_OK;
}

static enum ws_status take_events(void *events, const struct ws_block_rows *b, uint32_t block,
                                  int64_t until_ns, struct ws_err *err)
{
	struct events *e = events;

	WS_FORWARD(ws_pass_take_events(e->p, b, block, &e->rows, err));
	return tell_events(e, until_ns, err);
}

enum ws_status ws_pass_each_event(struct ws_pass *p, ws_pass_event_fn fn, void *ctx,
                                  struct ws_err *err)
{
	const ws_column_set more = WS_COLUMN(nvtx, category) | WS_COLUMN(nvtx, color);
	const ws_column_set columns[WS_KIND_END] = {[WS_KIND_NVTX] = WS_PASS_EVENT_COLUMNS |
	                                                             (p->recorded ? more : 0)};
	struct events e = {p, {.row_size = sizeof(struct ws_pass_row)}, fn, ctx};
	enum ws_status status = ws_feed_each(p->l.r, columns, take_events, &e, err);

	WS_THEN(status,
	        tell_events(&e, INT64_MAX, err)); /* a framework's, where there is no block */
	free(e.rows.rows);
	p->framework.next_event = p->framework.next_op = 0;
	return status;
}
