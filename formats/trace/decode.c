/*
 * What an open trace holds: its blocks, decoded one by one, or all rows of a
 * kind.
 */
#include <stdlib.h>

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
		int source = ws_thread_rows_source(view, out->info.kind, p), present;
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
		WS_FORWARD(ws_thread_rows_decode(r->thread_rows, view, r->decoder, out->info.kind,
		                                 p, column->v, &present, err));
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

/* The block's column with the values of a kind's column, or -1. */
static int find_source(const struct ws_block_view *view, const struct ws_kind_def *def,
                       unsigned position)
{
	if (view->def != def)
		return ws_thread_rows_source(view, def->id, position);
	for (unsigned c = 0; c < view->header.ncolumns; c++)
		if (view->columns[c].position == (int)position)
			return (int)c;
	return -1;
}

/* Add up rows, memory and stored bytes of the blocks of a kind; columns get present. */
static enum ws_status plan_load(const struct ws_trace_reader *r, struct ws_column_data *t,
                                struct ws_column *columns, uint64_t blob_bytes[WS_MAX_COLUMNS],
                                struct ws_err *err)
{
	for (size_t i = 0; i < r->nparts; i++) {
		struct ws_block_view view;

		if (r->parts[i].info.kind != t->def->id)
			continue;
		WS_FORWARD(ws_trace_reader_view(r, r->parts[i].stored, &view, err));
		t->rows += r->parts[i].info.rows;
		for (unsigned p = 0; p < t->def->ncolumns; p++) {
			int c = find_source(&view, t->def, p);

			if (c < 0)
				continue;
			WS_FORWARD(ws_block_column_check(&view, (unsigned)c, err));
			columns[p].encoding = view.columns[c].entry.encoding;
			columns[p].stored_bytes += view.columns[c].entry.stored_size;
			columns[p].present = 1;
			if (columns[p].type == WS_TYPE_BLOB)
				blob_bytes[p] += rounded(view.columns[c].entry.encoded_size);
		}
	}
	return WS_OK;
}

/* A column of one part to its place. */
static enum ws_status load_column(const struct ws_trace_reader *r, const struct ws_block_view *view,
                                  unsigned c, uint64_t row, struct ws_column *column,
                                  uint8_t **blob_pos, struct ws_err *err)
{
	if (column->type != WS_TYPE_BLOB)
		return ws_block_column_decode(view, c, r->decoder, column->v + row, err);
	WS_FORWARD(
	        ws_block_column_decode_blobs(view, c, r->decoder, *blob_pos, column->b + row, err));
	*blob_pos += rounded(view->columns[c].entry.encoded_size);
	return WS_OK;
}

static void clear_rows(struct ws_column *column, uint64_t row, uint32_t n)
{
	if (column->type == WS_TYPE_BLOB)
		memset(column->b + row, 0, n * sizeof(*column->b));
	else
		memset(column->v + row, 0, n * sizeof(*column->v));
}

/* Rows of one part to their place; columns it lacks give 0. */
static enum ws_status load_part(const struct ws_trace_reader *r, const struct ws_reader_part *part,
                                const struct ws_kind_def *def, uint64_t row,
                                struct ws_column *columns, uint8_t *blob_pos[WS_MAX_COLUMNS],
                                struct ws_err *err)
{
	struct ws_block_view view;
	int present;

	WS_FORWARD(ws_trace_reader_view(r, part->stored, &view, err));
	if (view.def != def)
		WS_FORWARD(ws_thread_rows_find(r->thread_rows, &view, r->decoder, def->id, err));
	for (unsigned p = 0; p < def->ncolumns; p++) {
		int c = find_source(&view, def, p);

		if (c < 0 && columns[p].present)
			clear_rows(&columns[p], row, part->info.rows);
		if (c < 0)
			continue;
		if (view.def != def)
			WS_FORWARD(ws_thread_rows_decode(r->thread_rows, &view, r->decoder, def->id,
			                                 p, columns[p].v + row, &present, err));
		else
			WS_FORWARD(load_column(r, &view, (unsigned)c, row, &columns[p],
			                       &blob_pos[p], err));
	}
	ws_walk_let_go(&r->walk, part->stored);
	return WS_OK;
}

/* One allocation for all columns; blob_pos says where BLOB bytes go. */
static void allocate_table(struct ws_column_data *t, const struct ws_column *columns,
                           const uint64_t *blob_bytes, uint8_t **blob_pos)
{
	const unsigned n = t->def->ncolumns;
	struct arena a = {.size = rounded(n * sizeof(*columns))};

	for (unsigned c = 0; c < n; c++)
		if (columns[c].present)
			a.size += column_memory(columns[c].type, t->rows, blob_bytes[c]);
	a.base = ws_xmalloc(a.size);
	t->arena = a.base;
	t->columns = arena_take(&a, n * sizeof(*columns));
	memcpy(t->columns, columns, n * sizeof(*columns));
	for (unsigned c = 0; c < n; c++) {
		struct ws_column *column = &t->columns[c];

		if (!column->present)
			continue;
		if (column->type != WS_TYPE_BLOB) {
			column->v = arena_take(&a, t->rows * sizeof(*column->v));
			continue;
		}
		column->b = arena_take(&a, t->rows * sizeof(*column->b));
		blob_pos[c] = arena_take(&a, blob_bytes[c]);
	}
}

enum ws_status ws_trace_reader_load(const struct ws_trace_reader *r, enum ws_kind kind,
                                    struct ws_column_data *out, struct ws_err *err)
{
	struct ws_column columns[WS_MAX_COLUMNS] = {0};
	uint64_t blob_bytes[WS_MAX_COLUMNS] = {0};
	uint8_t *blob_pos[WS_MAX_COLUMNS] = {0};
	enum ws_status status;
	uint64_t row = 0;

	memset(out, 0, sizeof(*out));
	out->def = ws_schema_kind(kind);
	WS_FAIL_IF(!out->def, err, BUG, "there is no record kind %u", (unsigned)kind);
	for (unsigned c = 0; c < out->def->ncolumns; c++) {
		columns[c].id = out->def->columns[c].id;
		columns[c].type = out->def->columns[c].type;
	}
	status = plan_load(r, out, columns, blob_bytes, err);
	if (status == WS_OK)
		allocate_table(out, columns, blob_bytes, blob_pos);
	for (size_t i = 0; status == WS_OK && i < r->nparts; i++) {
		if (r->parts[i].info.kind != kind)
			continue;
		status = load_part(r, &r->parts[i], out->def, row, out->columns, blob_pos, err);
		row += r->parts[i].info.rows;
	}
	if (status != WS_OK)
		ws_column_data_release(out);
	return status;
}

void ws_column_data_release(struct ws_column_data *t)
{
	free(t->arena);
	memset(t, 0, sizeof(*t));
}
