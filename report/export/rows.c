#include "report/export/rows.h"

#include <stdbool.h>
#include <stdlib.h>

#include "formats/base/utf8.h"

#define MAX_COLUMNS 64

/* --- rows --- */

void ws_export_progress_begin(struct ws_export_progress *p, const struct ws_trace_reader *r,
                              const struct ws_export_opts *opts)
{
	*p = (struct ws_export_progress){.opts = opts};
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++)
		p->total += ws_trace_reader_block(r, i)->rows;
}

void ws_export_progress_tell(struct ws_export_progress *p, uint64_t rows)
{
	p->done += rows;
	if (p->opts->progress)
		p->opts->progress(p->opts->progress_ctx, p->done, p->total);
}

/* Row `i` of columns that lie at place[c] of the row struct; -1: nowhere. */
static void fill(const struct ws_column *columns, size_t ncolumns, const ptrdiff_t *place, size_t i,
                 void *row)
{
	for (size_t c = 0; c < ncolumns; c++) {
		uint8_t *to = (uint8_t *)row + place[c];

		if (place[c] < 0)
			continue;
		if (columns[c].type == WS_TYPE_BLOB)
			memcpy(to, &columns[c].b[i], sizeof(struct ws_bytes));
		else
			memcpy(to, &columns[c].v[i], sizeof(uint64_t));
	}
}

/* Where the columns go. All members of a row struct are 8 bytes or a struct ws_bytes. */
static void find_places(const struct ws_kind_def *def, const struct ws_column *columns,
                        size_t ncolumns, ptrdiff_t *place)
{
	for (size_t c = 0; c < ncolumns; c++) {
		int at = ws_schema_column(def, columns[c].id);

		place[c] = -1;
		if (at >= 0 && columns[c].present && columns[c].type == def->columns[at].type)
			place[c] = (ptrdiff_t)def->columns[at].row_offset;
	}
}

static enum ws_status each_of_block(const struct ws_block *block, const struct ws_kind_def *def,
                                    void *row, ws_export_row_fn fn, void *ctx, struct ws_err *err)
{
	ptrdiff_t *place = calloc(block->ncolumns ? block->ncolumns : 1, sizeof(*place));
	enum ws_status status = WS_OK;

	WS_FAIL_IF(!place, err, NO_MEMORY, "out of memory");
	find_places(def, block->columns, block->ncolumns, place);
	for (size_t i = 0; i < block->info.rows && status == WS_OK; i++) {
		fill(block->columns, block->ncolumns, place, i, row);
		status = fn(ctx, row, err);
	}
	free(place);
	return status;
}

enum ws_status ws_export_each(const struct ws_trace_reader *r, enum ws_kind kind,
                              struct ws_export_progress *p, ws_export_row_fn fn, void *ctx,
                              struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	enum ws_status status = WS_OK;
	void *row = calloc(1, def->row_size);

	WS_FAIL_IF(!row, err, NO_MEMORY, "out of memory");
	for (size_t i = 0; i < ws_trace_reader_block_count(r) && status == WS_OK; i++) {
		struct ws_block block;

		if (ws_trace_reader_block(r, i)->kind != kind)
			continue;
		status = ws_trace_reader_decode(r, i, &block, err);
		if (status != WS_OK)
			break;
		memset(row, 0, def->row_size);
		status = each_of_block(&block, def, row, fn, ctx, err);
		if (p)
			ws_export_progress_tell(p, block.info.rows);
		ws_block_release(&block);
	}
	free(row);
	return status;
}

/* --- rows in memory --- */

static enum ws_status keep_row(void *ctx, const void *row, struct ws_err *err)
{
	struct ws_export_dict *d = ctx;

	return ws_spill_put(d->room, d->row_size, d->n++, row, err);
}

enum ws_status ws_export_rows_load(struct ws_export_dict *d, const struct ws_trace_reader *r,
                                   enum ws_kind kind, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	const size_t n = (size_t)ws_trace_reader_count(r, kind);
	ptrdiff_t place[MAX_COLUMNS];

	*d = (struct ws_export_dict){.row_size = def->row_size};
	WS_FAIL_IF(def->ncolumns > MAX_COLUMNS, err, BUG, "kind %s has too many columns",
	           def->name);
	d->room = calloc(1, sizeof(*d->room));
	WS_FAIL_IF(!d->room, err, NO_MEMORY, "out of memory for %s rows", def->name);
	WS_FORWARD(ws_spill_open(d->room, n * def->row_size, err));
	d->rows = d->room->data;
	/* a block at a time is in memory twice, not all; BLOBs need their columns */
	if (!ws_kind_has_blobs(def)) {
		WS_FORWARD(ws_export_each(r, kind, NULL, keep_row, d, err));
		ws_spill_flush(d->room);
		return WS_OK;
	}
	WS_FORWARD(ws_trace_reader_load(r, kind, &d->table, err));
	d->n = (size_t)d->table.rows;
	find_places(def, d->table.columns, def->ncolumns, place);
	WS_FORWARD(ws_spill_reserve(d->room, d->n * d->row_size, err));
	for (size_t i = 0; i < d->n; i++)
		fill(d->table.columns, def->ncolumns, place, i,
		     (uint8_t *)d->rows + i * d->row_size);
	return WS_OK;
}

enum ws_status ws_export_dict_load(struct ws_export_dict *d, const struct ws_trace_reader *r,
                                   enum ws_kind kind, struct ws_err *err)
{
	size_t id_offset = ws_schema_kind(kind)->columns[0].row_offset;

	WS_FORWARD(ws_export_rows_load(d, r, kind, err));
	for (size_t i = 0; i < d->n; i++) {
		const uint8_t *row = (const uint8_t *)d->rows + i * d->row_size;

		WS_FORWARD(ws_map_put(&d->places, ws_load_u64(row + id_offset), i, err));
	}
	return WS_OK;
}

void ws_export_dict_free(struct ws_export_dict *d)
{
	ws_column_data_release(&d->table);
	ws_map_free(&d->places);
	if (d->room)
		ws_spill_close(d->room);
	free(d->room);
	*d = (struct ws_export_dict){0};
}

const void *ws_export_dict_find(const struct ws_export_dict *d, uint64_t id)
{
	const uint64_t *place = ws_map_get(&d->places, id);

	return place ? (const uint8_t *)d->rows + *place * d->row_size : NULL;
}

struct ws_bytes ws_export_text(const struct ws_export_dict *strings, uint64_t id)
{
	const struct ws_row_string *row = id ? ws_export_dict_find(strings, id) : NULL;

	return row && row->text.ptr ? row->text : (struct ws_bytes){"", 0};
}

/* --- texts --- */

static bool is_readable(const char *p, size_t len)
{
	uint32_t code;

	for (size_t pos = 0; pos < len;) {
		unsigned n = 1;

		if ((unsigned char)p[pos] >= 0x80) {
			n = ws_utf8_get(p + pos, len - pos, &code);
			if (code == WS_UTF8_REPLACEMENT)
				return 0;
		} else if (!p[pos]) {
			return 0;
		}
		pos += n;
	}
	return 1;
}

enum ws_status ws_export_readable(struct ws_buf *room, struct ws_bytes text, struct ws_bytes *out,
                                  struct ws_err *err)
{
	const char *p = text.ptr;

	*out = text;
	if (!text.len || is_readable(p, text.len))
		return WS_OK;
	room->len = 0;
	for (size_t pos = 0; pos < text.len;) {
		char utf8[WS_UTF8_MAX_BYTES];
		uint32_t code;

		pos += ws_utf8_get(p + pos, text.len - pos, &code);
		WS_FORWARD(ws_buf_put(room, utf8,
		                      ws_utf8_put(code ? code : WS_UTF8_REPLACEMENT, utf8), err));
	}
	*out = (struct ws_bytes){room->data, room->len};
	return WS_OK;
}
