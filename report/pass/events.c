/* Events alone, in order of time. */
#include <stdlib.h>

#include "report/pass/private.h"

/* Those before until_ns. */
static enum ws_status tell_events(struct ws_pass *p, struct ws_pass_rows *rows, int64_t until_ns,
                                  ws_pass_event_fn fn, void *ctx, struct ws_err *err)
{
	if (p->framework.is_present)
		ws_pass_take_framework(p, until_ns, rows);
	ws_pass_rows_sort(rows);
	for (; rows->first < rows->n; rows->first++) {
		const struct ws_pass_row *row = (struct ws_pass_row *)rows->rows + rows->first;

		if (row->time_ns >= until_ns && until_ns != INT64_MAX)
			return WS_OK;
		WS_FORWARD(fn(ctx, row, err));
	}
	return WS_OK;
}

enum ws_status ws_pass_each_event(struct ws_pass *p, ws_pass_event_fn fn, void *ctx,
                                  struct ws_err *err)
{
	const ws_column_set more = WS_COLUMN(nvtx, category) | WS_COLUMN(nvtx, color);
	const ws_column_set columns[WS_KIND_END] = {[WS_KIND_NVTX] = WS_PASS_EVENT_COLUMNS |
	                                                             (p->recorded ? more : 0)};
	struct ws_pass_rows rows = {.row_size = sizeof(struct ws_pass_row)};
	const struct ws_block_rows *b = NULL;
	struct ws_feed *feed;
	int64_t until_ns;
	enum ws_status status;

	ws_feed_open(&feed, p->l.r, columns);
	do {
		status = ws_feed_next(feed, &b, &until_ns, err);
		if (status == WS_OK && b)
			status = ws_pass_take_events(p, b, (uint32_t)ws_feed_block(feed), &rows,
			                             err);
		WS_THEN(status, tell_events(p, &rows, until_ns, fn, ctx, err));
	} while (status == WS_OK && b);
	ws_feed_close(feed);
	free(rows.rows);
	p->framework.next_event = p->framework.next_op = 0;
	return status;
}
