#include "formats/trace/internal.h"

#include <inttypes.h>

struct verify {
	const struct ws_walk *walk;
	size_t first_index; /* block number of the first index block */
	size_t next;        /* block number that the next index row should describe */
	uint64_t last_offset;
	ws_finding_fn fn;
	void *ctx;
	int right;
};

#define WRONG(v, offset, ...)                                                         \
	do {                                                                          \
		(v)->right = 0;                                                       \
		ws_check_finding_emit((v)->fn, (v)->ctx, WS_FINDING_DAMAGE, (offset), \
		                      __VA_ARGS__);                                   \
	} while (0)

static void report_not_listed(struct verify *v, uint64_t before)
{
	while (v->next < v->first_index && v->walk->blocks[v->next].offset < before) {
		const struct ws_block_info *b = &v->walk->blocks[v->next++];
		char label[WS_BLOCK_LABEL_BYTES];

		WRONG(v, b->offset, "%s: the index does not list it",
		      ws_block_label(label, b->kind, b->offset));
	}
}

static void compare_row(struct verify *v, const struct ws_row_index *row)
{
	char label[WS_BLOCK_LABEL_BYTES];
	const struct ws_block_info *b;

	ws_block_label(label, (unsigned)row->kind, row->offset);
	if (row->offset <= v->last_offset) {
		WRONG(v, row->offset, "the index lists offset %" PRIu64 " after %" PRIu64,
		      row->offset, v->last_offset);
		return;
	}
	v->last_offset = row->offset;
	report_not_listed(v, row->offset);

	b = &v->walk->blocks[v->next];
	if (v->next == v->first_index || b->offset != row->offset) {
		ws_check_finding_emit(v->fn, v->ctx, WS_FINDING_DAMAGE, row->offset,
		                      "%s: the index lists it with %" PRIu64
		                      " rows, but no whole block is there; its rows are lost",
		                      label, row->rows);
		return;
	}
	v->next++;
	if (row->kind != b->kind || row->rows != b->rows)
		WRONG(v, b->offset,
		      "%s: the index lists kind %" PRIu64 " with %" PRIu64
		      " rows, the block has kind %u with %u rows",
		      label, row->kind, row->rows, b->kind, b->rows);
	else if (row->time_min_ns != b->time_min_ns || row->time_max_ns != b->time_max_ns)
		WRONG(v, b->offset, "%s: the index lists another time range than the block has",
		      label);
}

static uint64_t value_of(const struct ws_block *block, int position, uint32_t row)
{
	unsigned id = ws_schema_kind(WS_KIND_INDEX)->columns[position].id;

	for (unsigned c = 0; c < block->ncolumns; c++)
		if (block->columns[c].id == id && block->columns[c].present)
			return block->columns[c].v[row];
	return 0;
}

static void compare_block(struct verify *v, const struct ws_block *block)
{
	for (uint32_t i = 0; i < block->info.rows; i++) {
		struct ws_row_index row = {
		        .offset = value_of(block, WS_COL_index_offset, i),
		        .kind = value_of(block, WS_COL_index_kind, i),
		        .rows = value_of(block, WS_COL_index_rows, i),
		        .time_min_ns = (int64_t)value_of(block, WS_COL_index_time_min_ns, i),
		        .time_max_ns = (int64_t)value_of(block, WS_COL_index_time_max_ns, i),
		};

		compare_row(v, &row);
	}
}

static void compare_all(struct verify *v, const struct ws_trace_reader *r)
{
	for (size_t i = v->first_index; i < v->walk->nblocks; i++) {
		const struct ws_block_info *info = &v->walk->blocks[i];
		struct ws_block block;
		struct ws_err cause;
		enum ws_status status;

		if (info->kind != WS_KIND_INDEX) {
			WRONG(v, info->offset, "a block other than an index follows the index");
			continue;
		}
		status = ws_trace_reader_decode_stored(r, i, &block, &cause);
		if (status != WS_OK) {
			WRONG(v, info->offset, "%s", cause.text);
			continue;
		}
		compare_block(v, &block);
		ws_block_release(&block);
	}
	report_not_listed(v, UINT64_MAX);
}

void ws_trace_index_verify(const struct ws_trace_reader *r, ws_finding_fn fn, void *ctx, int *right)
{
	const struct ws_walk *w = ws_trace_reader_walk(r);
	struct verify v = {.walk = w, .fn = fn, .ctx = ctx, .right = 1};

	*right = 0;
	if (!w->has_trailer)
		return;
	if (w->trailer.file_size != w->size)
		WRONG(&v, w->size - WS_TRAILER_BYTES,
		      "the trailer says that the file has %" PRIu64 " bytes, but it has %zu",
		      w->trailer.file_size, w->size);
	while (v.first_index < w->nblocks &&
	       w->blocks[v.first_index].offset != w->trailer.index_offset)
		v.first_index++;
	if (v.first_index == w->nblocks || w->blocks[v.first_index].kind != WS_KIND_INDEX) {
		WRONG(&v, w->size - WS_TRAILER_BYTES,
		      "the trailer points to offset %" PRIu64 ", where no whole index block is",
		      w->trailer.index_offset);
		return;
	}
	compare_all(&v, r);
	*right = v.right;
}
