/* Rows of a record kind in memory, found by id; names of devices, contexts and streams. */
#include "report/records/records.h"

/* --- rows ------------------------------------------------------------------------------------ */

/* Storage for a row of any kind: its columns one after another. */
union row {
#define K(NAME, name, id, class, meaning) struct ws_row_##name name;
	WS_KIND_LIST(K)
#undef K
};

/* keeper: the arena or table that BLOBs are copied to. NULL: BLOBs are not copied. */
static enum ws_status each_row(const struct ws_trace_reader *r, const struct ws_kind_def *def,
                               ws_record_fn fn, void *ctx, struct ws_records *keeper,
                               struct ws_err *err)
{
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++) {
		/* by position; NULL: not in the block */
		const struct ws_column *columns[sizeof(union row) / sizeof(uint64_t)] = {0};
		struct ws_block b;
		union row row;

		if (ws_trace_reader_block(r, i)->kind != def->id)
			continue;
		WS_FORWARD(ws_trace_reader_decode(r, i, &b, err));
		memset(&row, 0, sizeof(row));
		for (unsigned c = 0; c < b.ncolumns; c++) {
			const int at = ws_schema_column(def, b.columns[c].id);

			if (at >= 0 && b.columns[c].present)
				columns[at] = &b.columns[c];
		}
		for (uint64_t k = 0; k < b.info.rows; k++) {
			for (unsigned c = 0; c < def->ncolumns; c++) {
				uint8_t *to = (uint8_t *)&row + def->columns[c].row_offset;

				if (columns[c] && columns[c]->b)
					memcpy(to, &columns[c]->b[k], sizeof(*columns[c]->b));
				else if (columns[c])
					memcpy(to, &columns[c]->v[k], sizeof(*columns[c]->v));
			}
			fn(ctx, &row);
		}
		if (keeper && ws_kind_has_blobs(def)) {
			WS_GROW(keeper->blocks, keeper->nblocks + 1, keeper->capacity);
			keeper->blocks[keeper->nblocks++] = b;
		} else {
			ws_block_release(&b);
		}
	}
	return WS_OK;
}

enum ws_status ws_records_each(const struct ws_trace_reader *r, enum ws_kind kind, ws_record_fn fn,
                               void *ctx, struct ws_err *err)
{
	return each_row(r, ws_schema_kind(kind), fn, ctx, NULL, err);
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
	WS_FORWARD(each_row(r, def, keep_row, d, d, err));
	ws_spill_flush(d->room);
	d->rows = d->room->data; /* which may have moved as it grew */
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
	for (size_t i = 0; i < d->nblocks; i++)
		ws_block_release(&d->blocks[i]);
	free(d->blocks);
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

/* --- names of devices, contexts and streams -------------------------------------------------- */

struct key {
	uint64_t type; /* enum ws_resource_type */
	uint64_t pid;  /* 0 for devices, which belong to the machine */
	uint64_t number;
};

enum ws_status ws_resources_load(struct ws_resources *s, const struct ws_trace_reader *r,
                                 struct ws_err *err)
{
	WS_FORWARD(ws_records_load(&s->rows, r, WS_KIND_RESOURCE, err));
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct ws_row_resource *row = ws_records_row(&s->rows, i);
		struct key key = {row->type, row->pid, (uint64_t)row->number};

		if (row->type == WS_RESOURCE_CUDA_DEVICE)
			key = (struct key){row->type, 0, row->device};
		else if (row->type != WS_RESOURCE_CUDA_CONTEXT &&
		         row->type != WS_RESOURCE_CUDA_STREAM)
			continue;
		if ((int64_t)key.number < 0)
			continue;
		uint64_t place = ws_strtab_add(&s->keys, &key, sizeof(key));
		WS_GROW(s->names, place, s->capacity);
		s->n = s->keys.used;
		s->names[place - 1] = row->name;
	}
	return WS_OK;
}

void ws_resources_free(struct ws_resources *s)
{
	ws_records_free(&s->rows);
	ws_strtab_free(&s->keys);
	free(s->names);
	*s = (struct ws_resources){0};
}

static uint64_t find_resource(const struct ws_resources *s, uint64_t type, uint64_t pid,
                              uint64_t number)
{
	const struct key key = {type, pid, number};
	uint64_t place = s->n ? ws_strtab_find(&s->keys, &key, sizeof(key)) : 0;

	return place ? s->names[place - 1] : 0;
}

uint64_t ws_resources_device(const struct ws_resources *s, uint64_t device)
{
	return find_resource(s, WS_RESOURCE_CUDA_DEVICE, 0, device);
}

uint64_t ws_resources_context(const struct ws_resources *s, uint64_t pid, uint64_t context)
{
	return find_resource(s, WS_RESOURCE_CUDA_CONTEXT, pid, context);
}

uint64_t ws_resources_stream(const struct ws_resources *s, uint64_t pid, uint64_t stream)
{
	return find_resource(s, WS_RESOURCE_CUDA_STREAM, pid, stream);
}
