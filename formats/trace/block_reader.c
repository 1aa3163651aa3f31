#include "formats/trace/block_reader.h"

#include <stdbool.h>
#include <stdlib.h>

#include "formats/codec/block.h"
#include "formats/trace/internal.h"
#include "formats/trace/thread_events.h"

struct ws_block_reader {
	const struct ws_trace_reader *r;
	struct ws_block_decoder decoder;
	struct ws_thread_rows *thread_rows; /* megabytes: with the first block of two kinds */
	struct ws_block_view view;
};

enum ws_status ws_block_reader_new(struct ws_block_reader **out, const struct ws_trace_reader *r,
                                   struct ws_err *err)
{
	struct ws_block_reader *b = calloc(1, sizeof(*b));
	enum ws_status status;

	*out = NULL;
	WS_FAIL_IF(!b, err, NO_MEMORY, "out of memory for a reader of blocks");
	b->r = r;
	status = ws_block_decoder_init(&b->decoder, err);
	if (status == WS_OK)
		*out = b;
	else
		free(b);
	return status;
}

void ws_block_reader_free(struct ws_block_reader *b)
{
	if (!b)
		return;
	ws_block_decoder_free(&b->decoder);
	free(b->thread_rows);
	free(b);
}

static enum ws_status reserve(struct ws_block_rows *rows, size_t values, struct ws_err *err)
{
	if (values <= rows->capacity)
		return WS_OK;
	free(rows->memory);
	rows->capacity = 0;
	rows->memory = malloc(values * sizeof(*rows->memory));
	WS_FAIL_IF(!rows->memory, err, NO_MEMORY, "out of memory for a block of %zu values",
	           values);
	rows->capacity = values;
	return WS_OK;
}

/* One column of the kind that the rows are of: from a block of its own, or from one of two kinds.
 */
static enum ws_status read_column(struct ws_block_reader *b, enum ws_kind kind, unsigned position,
                                  uint64_t *v, int *present, struct ws_err *err)
{
	const struct ws_block_view *view = &b->view;

	if (view->header.kind != (unsigned)kind)
		return ws_thread_rows_decode(b->thread_rows, view, &b->decoder, kind, position, v,
		                             present, err);
	*present = 0;
	for (unsigned c = 0; c < view->header.ncolumns && !*present; c++) {
		*present = view->columns[c].position == (int)position;
		if (*present)
			WS_FORWARD(ws_block_column_decode(view, c, &b->decoder, v, err));
	}
	return WS_OK;
}

enum ws_status ws_block_reader_read(struct ws_block_reader *b, size_t i, ws_column_set columns,
                                    struct ws_block_rows *out, struct ws_err *err)
{
	const struct ws_block_info *info = ws_trace_reader_block(b->r, i);
	const struct ws_kind_def *def = ws_schema_kind(info->kind);
	size_t rows = info->rows, used = 0;

	WS_FAIL_IF(!def || def->ncolumns > 64, err, BUG,
	           "blocks of kind %u are not read by columns", (unsigned)info->kind);
	columns &= ~(ws_column_set)0 >> (64 - def->ncolumns); /* all may be asked for */
	WS_FORWARD(ws_trace_reader_view(b->r, ws_trace_reader_stored(b->r, i), &b->view, err));
	if (b->view.header.kind != info->kind) {
		if (!b->thread_rows)
			b->thread_rows = ws_thread_rows_new();
		WS_FAIL_IF(!b->thread_rows, err, NO_MEMORY, "out of memory for a reader of blocks");
		WS_FORWARD(ws_thread_rows_find(b->thread_rows, &b->view, &b->decoder, info->kind,
		                               err));
	}
	out->info = *info;
	WS_FORWARD(reserve(out, rows * (size_t)__builtin_popcountll(columns), err));
	memset(out->v, 0, sizeof(out->v));
	for (; columns; columns &= columns - 1) {
		int at = __builtin_ctzll(columns), present;

		WS_FAIL_IF(def->columns[at].type == WS_TYPE_BLOB, err, BUG,
		           "column %s is no number", def->columns[at].name);
		out->v[at] = out->memory + used++ * rows;
		WS_FORWARD(read_column(b, info->kind, (unsigned)at, out->v[at], &present, err));
		if (!present)
			memset(out->v[at], 0, rows * sizeof(*out->v[at]));
	}
	ws_walk_let_go(ws_trace_reader_walk(b->r), ws_trace_reader_stored(b->r, i));
	return WS_OK;
}

void ws_block_rows_release(struct ws_block_rows *rows)
{
	free(rows->memory);
	*rows = (struct ws_block_rows){0};
}

bool ws_trace_reader_has_column(const struct ws_trace_reader *r, enum ws_kind kind, int column)
{
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++) {
		struct ws_block_view view;
		int is_kind = ws_trace_reader_block(r, i)->kind == kind;

		if (!is_kind ||
		    ws_trace_reader_view(r, ws_trace_reader_stored(r, i), &view, NULL) != WS_OK)
			continue;
		if (view.header.kind != (unsigned)kind &&
		    ws_thread_rows_source(&view, kind, (unsigned)column) >= 0)
			return 1;
		for (unsigned c = 0; c < view.header.ncolumns && view.header.kind == (unsigned)kind;
		     c++)
			if (view.columns[c].position == column)
				return 1;
	}
	return 0;
}
