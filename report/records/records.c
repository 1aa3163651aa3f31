#include "report/records/records.h"

#include <stdlib.h>

#include "formats/base/bytes.h"
#include "formats/base/xalloc.h"
#include "formats/trace/block_reader.h"

/* Room for a row of any kind: its columns one behind the other. */
union row {
#define K(NAME, name, id, class, meaning) struct ws_row_##name name;
	WS_KIND_LIST(K)
#undef K
};

/* Of kinds with BLOBs, which are few, all columns are in memory. */
static void each_of_table(const struct ws_column_data *t, ws_record_fn fn, void *ctx)
{
	union row row;

	memset(&row, 0, sizeof(row));
	for (uint64_t i = 0; i < t->rows; i++) {
		for (unsigned c = 0; c < t->def->ncolumns; c++) {
			const struct ws_column *column = &t->columns[c];
			uint8_t *to = (uint8_t *)&row + t->def->columns[c].row_offset;

			if (column->present && column->type == WS_TYPE_BLOB)
				memcpy(to, &column->b[i], sizeof(*column->b));
			else if (column->present)
				memcpy(to, &column->v[i], sizeof(*column->v));
		}
		fn(ctx, &row);
	}
}

/* Of the others, of which there may be millions, a block is. */
static enum ws_status each_of_blocks(const struct ws_trace_reader *r, const struct ws_kind_def *def,
                                     ws_record_fn fn, void *ctx, struct ws_err *err)
{
	struct ws_block_rows b = {0};
	struct ws_block_reader *reader;
	enum ws_status status = WS_OK;
	union row row;

	ws_block_reader_new(&reader, r);
	for (size_t i = 0; i < ws_trace_reader_block_count(r) && status == WS_OK; i++) {
		if (ws_trace_reader_block(r, i)->kind != def->id)
			continue;
		status = ws_block_reader_read(reader, i, ~(ws_column_set)0, &b, err);
		for (size_t at = 0; status == WS_OK && at < b.info.rows; at++) {
			for (unsigned c = 0; c < def->ncolumns; c++)
				ws_store_u64((uint64_t *)&row + c, b.v[c][at]);
			fn(ctx, &row);
		}
	}
	ws_block_rows_release(&b);
	ws_block_reader_free(reader);
	return status;
}

enum ws_status ws_records_each(const struct ws_trace_reader *r, enum ws_kind kind, ws_record_fn fn,
                               void *ctx, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	struct ws_column_data t;

	if (!ws_kind_has_blobs(def))
		return each_of_blocks(r, def, fn, ctx, err);
	WS_FORWARD(ws_trace_reader_load(r, kind, &t, err));
	each_of_table(&t, fn, ctx);
	ws_column_data_release(&t);
	return WS_OK;
}

static void keep_row(void *ctx, const void *row)
{
	struct ws_records *d = ctx;

	ws_spill_put(d->room, d->row_size, d->n++, row);
}

enum ws_status ws_records_load(struct ws_records *d, const struct ws_trace_reader *r,
                               enum ws_kind kind, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	*d = (struct ws_records){.row_size = def->row_size};
	d->room = ws_xarray(1, sizeof(*d->room));
	ws_spill_open(d->room, ws_trace_reader_count(r, kind) * d->row_size);
	d->rows = d->room->data;
	if (ws_kind_has_blobs(def)) {
		WS_FORWARD(ws_trace_reader_load(r, kind, &d->table, err));
		each_of_table(&d->table, keep_row, d);
	} else {
		WS_FORWARD(each_of_blocks(r, def, keep_row, d, err));
	}
	ws_spill_flush(d->room);
	return WS_OK;
}

enum ws_status ws_records_load_by(struct ws_records *d, const struct ws_trace_reader *r,
                                  enum ws_kind kind, unsigned column, struct ws_err *err)
{
	const size_t offset = ws_schema_kind(kind)->columns[column].row_offset;

	WS_FORWARD(ws_records_load(d, r, kind, err));
	for (size_t i = 0; i < d->n; i++) {
		const uint8_t *row = (const uint8_t *)d->rows + i * d->row_size;

		ws_map_put(&d->places, ws_load_u64(row + offset), i);
	}
	return WS_OK;
}

void ws_records_free(struct ws_records *d)
{
	ws_column_data_release(&d->table);
	ws_map_free(&d->places);
	if (d->room)
		ws_spill_close(d->room);
	free(d->room);
	*d = (struct ws_records){0};
}

const void *ws_records_find(const struct ws_records *d, uint64_t id)
{
	const uint64_t *place = ws_map_get(&d->places, id);

	return place ? (const uint8_t *)d->rows + *place * d->row_size : NULL;
}

struct ws_bytes ws_records_text(const struct ws_records *strings, uint64_t id)
{
	const struct ws_row_string *row = id ? ws_records_find(strings, id) : NULL;

	return row && row->text.ptr ? row->text : (struct ws_bytes){"", 0};
}
