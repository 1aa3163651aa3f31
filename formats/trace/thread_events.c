#include "formats/trace/thread_events.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"

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

static void put_row(const struct ws_row_buf *from, uint32_t i, const uint8_t *column,
                    struct ws_row_buf *out)
{
	const struct ws_row_column *columns = from->columns;
	struct ws_row_column *to = out->columns;
	const uint32_t at = out->rows++;

	for (unsigned c = 0, n = from->def->ncolumns; c < n; c++)
		to[column[c]].v[at] = columns[c].v[i];
}

/* Each kind keeps its order, the earlier head comes first. */
void ws_thread_events_merge(const struct ws_row_buf *api, const struct ws_row_buf *nvtx,
                            struct ws_row_buf *out)
{
	const uint32_t n = api->rows + nvtx->rows;

	ws_row_buf_reserve(out, n);
	for (unsigned c = 0; c < out->def->ncolumns; c++)
		memset(out->columns[c].v, 0, n * sizeof(*out->columns[c].v));
	for (uint32_t a = 0, e = 0; a + e < n;) {
		if (a == api->rows ||
		    (e < nvtx->rows && (int64_t)nvtx->columns[WS_COL_nvtx_time_ns].v[e] <=
		                               (int64_t)api->columns[WS_COL_api_start_ns].v[a])) {
			put_row(nvtx, e++, of_nvtx, out);
			continue;
		}
		out->columns[WS_COL_thread_event_type].v[out->rows] = WS_THREAD_EVENT_API;
		put_row(api, a++, of_api, out);
	}
}

/* --- reading --- */

int ws_thread_rows_source(const struct ws_block_view *view, enum ws_kind kind, unsigned position)
{
	return ws_block_view_column(view, ws_thread_events_column(kind, position));
}

struct ws_thread_rows *ws_thread_rows_new(void)
{
	return ws_xmalloc(sizeof(struct ws_thread_rows));
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

	ws_block_label(label, view->header.kind, view->offset);
	WS_FAIL_IF(i < 0, err, CORRUPT, "%s: it has no column type", label);
	WS_FORWARD(ws_block_column_decode(view, (unsigned)i, d, t->values, err));
	t->n = 0;
	for (uint32_t k = 0; k < rows; k++) {
		t->row[t->n] = k;
		t->n += (t->values[k] == WS_THREAD_EVENT_API) == (kind == WS_KIND_API);
	}
	WS_FAIL_IF(t->n != expected, err, CORRUPT,
	           "%s: %" PRIu32 " rows are %s rows, its header says %" PRIu32, label, t->n,
	           ws_schema_kind(kind)->name, expected);
	return WS_OK;
}

enum ws_status ws_thread_rows_decode(struct ws_thread_rows *t, const struct ws_block_view *view,
                                     struct ws_block_decoder *d, unsigned source, uint64_t *v,
                                     struct ws_err *err)
{
	WS_FORWARD(ws_block_column_decode(view, source, d, t->values, err));
	for (uint32_t k = 0; k < t->n; k++)
		v[k] = t->values[t->row[k]];
	return WS_OK;
}
