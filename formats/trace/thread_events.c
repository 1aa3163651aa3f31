#include "formats/trace/thread_events.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* position in api or nvtx -> position in thread_event */
static const uint8_t of_api[WS_NCOLS_api] = {
        [WS_COL_api_start_ns] = WS_COL_thread_event_time_ns,
        [WS_COL_api_dur_ns] = WS_COL_thread_event_dur_ns,
        [WS_COL_api_thread] = WS_COL_thread_event_thread,
        [WS_COL_api_name] = WS_COL_thread_event_name,
        [WS_COL_api_correlation] = WS_COL_thread_event_correlation,
        [WS_COL_api_result] = WS_COL_thread_event_result,
};
static const uint8_t of_nvtx[WS_NCOLS_nvtx] = {
        [WS_COL_nvtx_time_ns] = WS_COL_thread_event_time_ns,
        [WS_COL_nvtx_thread] = WS_COL_thread_event_thread,
        [WS_COL_nvtx_type] = WS_COL_thread_event_type,
        [WS_COL_nvtx_domain] = WS_COL_thread_event_domain,
        [WS_COL_nvtx_name] = WS_COL_thread_event_name,
        [WS_COL_nvtx_range] = WS_COL_thread_event_range,
        [WS_COL_nvtx_category] = WS_COL_thread_event_category,
        [WS_COL_nvtx_color] = WS_COL_thread_event_color,
        [WS_COL_nvtx_payload] = WS_COL_thread_event_payload,
};

unsigned ws_thread_events_column(enum ws_kind kind, unsigned position)
{
	return kind == WS_KIND_API ? of_api[position] : of_nvtx[position];
}

/* --- writing --- */

/* The place of each row among both kinds: each keeps its order, the earlier head comes first. */
static void find_places(struct ws_thread_places *p, const struct ws_row_buf *api,
                        const struct ws_row_buf *nvtx)
{
	const uint64_t *calls = api->columns[WS_COL_api_start_ns].v;
	const uint64_t *events = nvtx->columns[WS_COL_nvtx_time_ns].v;
	uint32_t a = 0, e = 0;

	while (a < api->rows && e < nvtx->rows) {
		int event_first = (int64_t)events[e] <= (int64_t)calls[a];

		p->api[a] = p->nvtx[e] = a + e;
		e += (uint32_t)event_first;
		a += (uint32_t)!event_first;
	}
	for (; a < api->rows; a++)
		p->api[a] = a + e;
	for (; e < nvtx->rows; e++)
		p->nvtx[e] = a + e;
}

/* The rows' values; where both kinds have the column not all are zero, so none is left out. */
static void place_rows(const struct ws_row_buf *from, const uint8_t *column, const uint32_t *place,
                       const uint8_t *kinds, struct ws_row_buf *out)
{
	for (unsigned c = 0; c < from->def->ncolumns; c++) {
		const uint64_t *v = from->columns[c].v;
		uint64_t *to = out->columns[column[c]].v;
		int is_zero = kinds[column[c]] < 2 && !v[0] &&
		              !memcmp(v, v + 1, (from->rows - 1) * sizeof(*v));

		if (is_zero)
			continue;
#pragma GCC unroll 8
		for (uint32_t i = 0; i < from->rows; i++)
			to[place[i]] = v[i];
	}
}

/* How many of the two kinds have each column; zeros where not both do. */
static void clear_columns(struct ws_row_buf *out, uint32_t n, uint8_t *kinds)
{
	for (unsigned c = 0; c < WS_NCOLS_api; c++)
		kinds[of_api[c]]++;
	for (unsigned c = 0; c < WS_NCOLS_nvtx; c++)
		kinds[of_nvtx[c]]++;
	for (unsigned c = 0; c < out->def->ncolumns; c++)
		if (kinds[c] < 2)
			memset(out->columns[c].v, 0, n * sizeof(*out->columns[c].v));
}

enum ws_status ws_thread_events_merge(struct ws_thread_places *p, const struct ws_row_buf *api,
                                      const struct ws_row_buf *nvtx, struct ws_row_buf *out,
                                      struct ws_err *err)
{
	const uint32_t n = api->rows + nvtx->rows;
	uint8_t kinds[WS_NCOLS_thread_event] = {0};
	uint64_t *type;

	WS_FORWARD(ws_row_buf_reserve(out, n, err));
	find_places(p, api, nvtx);
	clear_columns(out, n, kinds);
	place_rows(api, of_api, p->api, kinds, out);
	place_rows(nvtx, of_nvtx, p->nvtx, kinds, out);
	type = out->columns[WS_COL_thread_event_type].v;
	for (uint32_t i = 0; i < api->rows; i++)
		type[p->api[i]] = WS_THREAD_EVENT_API;
	out->rows = n;
	return WS_OK;
}

/* --- reading --- */

int ws_thread_rows_source(const struct ws_block_view *view, enum ws_kind kind, unsigned position)
{
	unsigned wanted = ws_thread_events_column(kind, position);

	for (unsigned i = 0; i < view->header.ncolumns; i++)
		if (view->columns[i].position == (int)wanted)
			return (int)i;
	return -1;
}

/* All values of column i of the block, which this program knows. */
static enum ws_status keep_column(struct ws_thread_rows *t, const struct ws_block_view *view,
                                  unsigned i, struct ws_block_decoder *d, const uint64_t **v,
                                  struct ws_err *err)
{
	const unsigned position = (unsigned)view->columns[i].position;

	if (t->kept_from != view->columns[0].stored ||
	    t->kept_checksum != view->header.body_checksum)
		memset(t->kept, 0, sizeof(t->kept));
	t->kept_from = view->columns[0].stored;
	t->kept_checksum = view->header.body_checksum;
	*v = t->values[position];
	if (!t->kept[position])
		WS_FORWARD(ws_block_column_decode(view, i, d, t->values[position], err));
	t->kept[position] = 1;
	return WS_OK;
}

struct ws_thread_rows *ws_thread_rows_new(void)
{
	struct ws_thread_rows *t = malloc(sizeof(*t));

	if (t)
		memset(t, 0, offsetof(struct ws_thread_rows, values));
	return t;
}

enum ws_status ws_thread_rows_find(struct ws_thread_rows *t, const struct ws_block_view *view,
                                   struct ws_block_decoder *d, enum ws_kind kind,
                                   struct ws_err *err)
{
	const uint32_t rows = view->header.rows;
	const uint32_t expected =
	        kind == WS_KIND_API ? view->header.api_rows : rows - view->header.api_rows;
	int i = ws_thread_rows_source(view, WS_KIND_NVTX, WS_COL_nvtx_type);
	char label[WS_BLOCK_LABEL_BYTES];
	const uint64_t *type;

	ws_block_label(label, view->header.kind, view->offset);
	WS_FAIL_IF(i < 0, err, CORRUPT, "%s: it has no column type", label);
	WS_FORWARD(keep_column(t, view, (unsigned)i, d, &type, err));
	t->n = 0;
	for (uint32_t k = 0; k < rows; k++) {
		t->row[t->n] = k;
		t->n += (type[k] == WS_THREAD_EVENT_API) == (kind == WS_KIND_API);
	}
	WS_FAIL_IF(t->n != expected, err, CORRUPT,
	           "%s: %" PRIu32 " rows are %s rows, its header says %" PRIu32, label, t->n,
	           ws_schema_kind(kind)->name, expected);
	return WS_OK;
}

enum ws_status ws_thread_rows_decode(struct ws_thread_rows *t, const struct ws_block_view *view,
                                     struct ws_block_decoder *d, enum ws_kind kind,
                                     unsigned position, uint64_t *v, int *present,
                                     struct ws_err *err)
{
	int i = ws_thread_rows_source(view, kind, position);
	const uint64_t *values;
	int done;

	*present = i >= 0;
	if (!*present)
		return WS_OK;
	WS_FORWARD(ws_block_column_decode_some(view, (unsigned)i, d, t->row, t->n, v, &done, err));
	if (done)
		return WS_OK;
	WS_FORWARD(keep_column(t, view, (unsigned)i, d, &values, err));
	for (uint32_t k = 0; k < t->n; k++)
		v[k] = values[t->row[k]];
	return WS_OK;
}
