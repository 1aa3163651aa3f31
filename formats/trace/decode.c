/*
 * What an open trace holds: its blocks, decoded one by one, or all rows of a
 * kind.
 */
#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "formats/trace/reader_private.h"

/* --- what there is --- */

const struct ws_trace_summary *ws_trace_reader_summary(const struct ws_trace_reader *r)
{
	return &r->summary;
}

const struct ws_walk *ws_trace_reader_walk(const struct ws_trace_reader *r)
{
	return &r->walk;
}

size_t ws_trace_reader_block_count(const struct ws_trace_reader *r)
{
	return r->nparts;
}

const struct ws_block_info *ws_trace_reader_block(const struct ws_trace_reader *r, size_t i)
{
	return i < r->nparts ? &r->parts[i].info : NULL;
}

uint64_t ws_trace_reader_count(const struct ws_trace_reader *r, enum ws_kind kind)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < r->nparts; i++)
		if (r->parts[i].info.kind == kind)
			rows += r->parts[i].info.rows;
	return rows;
}

/* --- decoding one block --- */

/* Fixed-size pieces cut one after the other from one allocation. */
struct arena {
	uint8_t *base;
	size_t used, size;
};

static void *arena_take(struct arena *a, size_t size)
{
	void *p = a->base + a->used;

	a->used += (size + 7) & ~(size_t)7;
	return p;
}

static size_t rounded(uint64_t size)
{
	return ((size_t)size + 7) & ~(size_t)7;
}

/* Memory of n decoded rows of a column whose BLOBs, if it is one of them, have blob_bytes. */
static size_t column_memory(uint8_t type, uint64_t n, uint64_t blob_bytes)
{
	if (type != WS_TYPE_BLOB)
		return rounded(n * sizeof(uint64_t));
	return rounded(n * sizeof(struct ws_bytes)) + rounded(blob_bytes);
}

size_t ws_trace_reader_stored(const struct ws_trace_reader *r, size_t i)
{
	return r->parts[i].stored;
}

enum ws_status ws_trace_reader_view(const struct ws_trace_reader *r, size_t i,
                                    struct ws_block_view *view, struct ws_err *err)
{
	struct ws_block_header header;

	ws_walk_block_header(&r->walk, i, &header);
	return ws_block_view_open(view, &header, ws_walk_block_body(&r->walk, i),
	                          r->walk.blocks[i].offset, err);
}

/*
 * Which columns can be decoded. A column unknown to this program may be too
 * new in any way; a known one is needed. Adds up the memory.
 */
static enum ws_status plan_block(const struct ws_block_view *view, uint8_t readable[WS_MAX_COLUMNS],
                                 size_t *memory, struct ws_err *err)
{
	*memory = rounded(view->header.ncolumns * sizeof(struct ws_column));
	for (unsigned i = 0; i < view->header.ncolumns; i++) {
		const struct ws_block_column *c = &view->columns[i];
		enum ws_status status = ws_block_column_check(view, i, err);

		readable[i] = status == WS_OK;
		if (status == WS_OK)
			*memory += column_memory(c->entry.type, view->header.rows,
			                         c->entry.encoded_size);
		else if (status != WS_TOO_NEW || c->position >= 0)
			return status;
	}
	return WS_OK;
}

static enum ws_status decode_column(const struct ws_trace_reader *r,
                                    const struct ws_block_view *view, unsigned i, struct arena *a,
                                    struct ws_column *out, struct ws_err *err)
{
	const struct ws_dir_entry *e = &view->columns[i].entry;
	uint8_t *bytes;

	out->present = 1;
	if (e->type != WS_TYPE_BLOB) {
		out->v = arena_take(a, view->header.rows * sizeof(*out->v));
		return ws_block_column_decode(view, i, r->decoder, out->v, err);
	}
	out->b = arena_take(a, view->header.rows * sizeof(*out->b));
	bytes = arena_take(a, view->columns[i].entry.encoded_size);
	return ws_block_column_decode_blobs(view, i, r->decoder, bytes, out->b, err);
}

enum ws_status ws_trace_reader_decode_stored(const struct ws_trace_reader *r, size_t i,
                                             struct ws_block *out, struct ws_err *err)
{
	uint8_t readable[WS_MAX_COLUMNS];
	struct ws_block_view view;
	struct arena a = {0};
	enum ws_status status = WS_OK;

	memset(out, 0, sizeof(*out));
	WS_FORWARD(ws_trace_reader_view(r, i, &view, err));
	WS_FORWARD(plan_block(&view, readable, &a.size, err));
	a.base = ws_xmalloc(a.size);

	out->info = r->walk.blocks[i];
	out->ncolumns = view.header.ncolumns;
	out->arena = a.base;
	out->columns = arena_take(&a, out->ncolumns * sizeof(*out->columns));
	memset(out->columns, 0, out->ncolumns * sizeof(*out->columns));
	for (unsigned c = 0; status == WS_OK && c < out->ncolumns; c++) {
		struct ws_column *column = &out->columns[c];

		column->id = view.columns[c].entry.column;
		column->type = view.columns[c].entry.type;
		column->encoding = view.columns[c].entry.encoding;
		column->stored_bytes = view.columns[c].entry.stored_size;
		if (readable[c])
			status = decode_column(r, &view, c, &a, column, err);
	}
	ws_walk_let_go(&r->walk, i);
	if (status != WS_OK)
		ws_block_release(out);
	return status;
}

/* Fill out with the rows of a kind in a thread_event block; it has room for them. */
static enum ws_status decode_part(const struct ws_trace_reader *r, const struct ws_block_view *view,
                                  struct arena *a, struct ws_block *out, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(out->info.kind);

	WS_FORWARD(ws_thread_rows_find(r->thread_rows, view, r->decoder, out->info.kind, err));
	for (unsigned p = 0; p < def->ncolumns; p++) {
		const int source = ws_thread_rows_source(view, out->info.kind, p);
		struct ws_column *column = &out->columns[out->ncolumns];

		if (source < 0)
			continue;
		out->ncolumns++;
		*column = (struct ws_column){
		        .id = def->columns[p].id,
		        .type = def->columns[p].type,
		        .encoding = view->columns[source].entry.encoding,
		        .stored_bytes = view->columns[source].entry.stored_size,
		        .v = arena_take(a, out->info.rows * sizeof(*column->v)),
		};
		WS_FORWARD(ws_thread_rows_decode(r->thread_rows, view, r->decoder, (unsigned)source,
		                                 column->v, err));
		column->present = 1;
	}
	return WS_OK;
}

enum ws_status ws_trace_reader_decode(const struct ws_trace_reader *r, size_t i,
                                      struct ws_block *out, struct ws_err *err)
{
	const struct ws_reader_part *part = &r->parts[i];
	const struct ws_kind_def *def = ws_schema_kind(part->info.kind);
	struct ws_block_view view;
	struct arena a = {0};
	enum ws_status status;

	if (!ws_reader_holds_two_kinds(&r->walk.blocks[part->stored]))
		return ws_trace_reader_decode_stored(r, part->stored, out, err);
	memset(out, 0, sizeof(*out));
	WS_FORWARD(ws_trace_reader_view(r, part->stored, &view, err));
	a.size = def->ncolumns *
	         (rounded(sizeof(*out->columns)) + rounded(part->info.rows * sizeof(uint64_t)));
	a.base = ws_xmalloc(a.size);
	out->info = part->info;
	out->arena = a.base;
	out->columns = arena_take(&a, def->ncolumns * sizeof(*out->columns));
	status = decode_part(r, &view, &a, out, err);
	ws_walk_let_go(&r->walk, part->stored);
	if (status != WS_OK)
		ws_block_release(out);
	return status;
}

void ws_block_release(struct ws_block *block)
{
	free(block->arena);
	memset(block, 0, sizeof(*block));
}

/* --- loading all rows of a kind --- */

/* The rows of a decoded block behind those that are there; columns it lacks stay 0. */
static void take_block(struct ws_column_data *t, const struct ws_block *block, uint64_t all_rows)
{
	for (unsigned c = 0; c < block->ncolumns; c++) {
		const struct ws_column *from = &block->columns[c];
		const int position = ws_schema_column(t->def, from->id);
		struct ws_column *to = &t->columns[position < 0 ? 0 : position];

		if (position < 0 || !from->present)
			continue;
		if (from->b) {
			to->b = to->b ? to->b : ws_xarray(all_rows, sizeof(*to->b));
			memcpy(to->b + t->rows, from->b, block->info.rows * sizeof(*to->b));
		} else {
			to->v = to->v ? to->v : ws_xarray(all_rows, sizeof(*to->v));
			memcpy(to->v + t->rows, from->v, block->info.rows * sizeof(*to->v));
		}
		to->encoding = from->encoding;
		to->stored_bytes += from->stored_bytes;
		to->present = 1;
	}
	t->rows += block->info.rows;
}

enum ws_status ws_trace_reader_load(const struct ws_trace_reader *r, enum ws_kind kind,
                                    struct ws_column_data *out, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	const uint64_t rows = ws_trace_reader_count(r, kind);
	enum ws_status status = WS_OK;

	*out = (struct ws_column_data){.def = def};
	out->columns = ws_xarray(def->ncolumns, sizeof(*out->columns));
	for (unsigned c = 0; c < def->ncolumns; c++) {
		out->columns[c].id = def->columns[c].id;
		out->columns[c].type = def->columns[c].type;
	}
	for (size_t i = 0; status == WS_OK && i < r->nparts; i++) {
		struct ws_block block;

		if (r->parts[i].info.kind != kind)
			continue;
		status = ws_trace_reader_decode(r, i, &block, err);
		if (status != WS_OK)
			break;
		take_block(out, &block, rows);
		if (!ws_kind_has_blobs(def)) {
			ws_block_release(&block);
			continue;
		}
		WS_GROW(out->arenas, out->narenas + 1, out->capacity);
		out->arenas[out->narenas++] = block.arena; /* has the bytes */
	}
	if (status != WS_OK)
		ws_column_data_release(out);
	return status;
}

void ws_column_data_release(struct ws_column_data *t)
{
	for (unsigned c = 0; t->columns && c < t->def->ncolumns; c++) {
		free(t->columns[c].v);
		free(t->columns[c].b);
	}
	for (size_t i = 0; i < t->narenas; i++)
		free(t->arenas[i]);
	free(t->columns);
	free(t->arenas);
	*t = (struct ws_column_data){0};
}
