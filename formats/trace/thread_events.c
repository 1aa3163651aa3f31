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

/* One of the two kinds on its way. */
struct source {
	const struct ws_row_buf *rows;
	const uint8_t *column; /* of both, by column */
	const uint32_t *place; /* among both, by row */
	uint32_t nplaced;      /* rows that have been placed */
	uint32_t varied;       /* columns that are not zero from end to end */
};

static struct source source_of(const struct ws_row_buf *rows, const uint8_t *column,
                               const uint32_t *place)
{
	struct source s = {.rows = rows, .column = column, .place = place};

	for (unsigned c = 0; c < rows->def->ncolumns; c++) {
		const uint64_t *v = rows->columns[c].v;

		if (rows->rows && (v[0] || memcmp(v, v + 1, (rows->rows - 1) * sizeof(*v)) != 0))
			s.varied |= 1u << c;
	}
	return s;
}

/* The rows whose places lie before end; of a column that is zero only where others write it, too.
 */
static void place_rows(struct source *s, uint32_t shared, uint32_t end, struct ws_row_buf *out)
{
	const uint32_t from = s->nplaced;

	WS_COUNT_FIRST(s->nplaced, s->rows->rows, s->place[s->nplaced] < end);
	for (unsigned c = 0; c < s->rows->def->ncolumns; c++) {
		const uint64_t *v = s->rows->columns[c].v;
		uint64_t *to = out->columns[s->column[c]].v;

		if (!(s->varied >> c & 1) && !(shared >> s->column[c] & 1))
			continue;
#pragma GCC unroll 8
		for (uint32_t i = from; i < s->nplaced; i++)
			to[s->place[i]] = v[i];
	}
}

/* Columns of both that this one's values come into. */
static uint32_t placed_columns(const struct source *s)
{
	uint32_t set = 0;

	for (unsigned c = 0; c < s->rows->def->ncolumns; c++)
		if (s->varied >> c & 1)
			set |= 1u << s->column[c];
	return set;
}

/* Columns that no row writes are zero, and mostly were in the block before. */
static void clear_columns(struct ws_thread_places *p, uint32_t written, uint32_t n,
                          struct ws_row_buf *out)
{
	for (unsigned c = 0; c < out->def->ncolumns; c++) {
		if (written >> c & 1) {
			p->zeros[c] = 0;
		} else if (p->zeros[c] < n) {
			memset(out->columns[c].v, 0, n * sizeof(*out->columns[c].v));
			p->zeros[c] = n;
		}
	}
}

/* Rows are placed so many at once, column by column, that they are in the nearest caches meanwhile.
 */
#define AT_ONCE 1024u

void ws_thread_events_merge(struct ws_thread_places *p, const struct ws_row_buf *api,
                            const struct ws_row_buf *nvtx, struct ws_row_buf *out)
{
	const uint32_t n = api->rows + nvtx->rows, type = 1u << WS_COL_thread_event_type;
	struct source calls = source_of(api, of_api, p->api);
	struct source events = source_of(nvtx, of_nvtx, p->nvtx);
	uint32_t shared = type, written;

	for (unsigned a = 0; a < WS_NCOLS_api; a++)
		for (unsigned e = 0; e < WS_NCOLS_nvtx; e++)
			if (of_api[a] == of_nvtx[e])
				shared |= 1u << of_api[a];
	ws_row_buf_reserve(out, n);
	find_places(p, api, nvtx);
	written = shared | placed_columns(&calls) | placed_columns(&events);
	clear_columns(p, written, n, out);
	for (uint32_t begin = 0; begin < n; begin += AT_ONCE) {
		const uint32_t rows = n - begin < AT_ONCE ? n - begin : AT_ONCE,
		               from = calls.nplaced;

		for (unsigned c = 0; c < out->def->ncolumns; c++)
			if ((written & ~shared) >> c & 1)
				memset(out->columns[c].v + begin, 0,
				       rows * sizeof(*out->columns[c].v));
		place_rows(&calls, shared, begin + rows, out);
		place_rows(&events, shared, begin + rows, out);
		for (uint32_t i = from; i < calls.nplaced; i++)
			out->columns[WS_COL_thread_event_type].v[p->api[i]] = WS_THREAD_EVENT_API;
	}
	out->rows = n;
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
	struct ws_thread_rows *t = ws_xmalloc(sizeof(*t));

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
