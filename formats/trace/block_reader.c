#include "formats/trace/block_reader.h"

#include <stdlib.h>

#include "formats/codec/block.h"
#include "formats/trace/internal.h"

struct ws_block_reader {
	const struct ws_trace_reader *r;
	struct ws_zframe_decoder *z;
	struct ws_buf scratch;
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
	status = ws_zframe_decoder_new(&b->z, err);
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
	ws_zframe_decoder_free(b->z);
	ws_buf_free(&b->scratch);
	free(b);
}

static enum ws_status reserve(struct ws_block_rows *rows, size_t values, struct ws_err *err)
{
	if (values <= rows->allocated)
		return WS_OK;
	free(rows->memory);
	rows->allocated = 0;
	rows->memory = malloc(values * sizeof(*rows->memory));
	WS_FAIL_IF(!rows->memory, err, NO_MEMORY, "out of memory for a block of %zu values",
	           values);
	rows->allocated = values;
	return WS_OK;
}

enum ws_status ws_block_reader_read(struct ws_block_reader *b, size_t i, ws_column_set columns,
                                    struct ws_block_rows *out, struct ws_err *err)
{
	struct ws_block_view *view = &b->view;
	ws_column_set missing = columns;
	size_t rows, used = 0;

	WS_FORWARD(ws_trace_reader_view(b->r, i, view, err));
	WS_FAIL_IF(!view->def || view->def->ncolumns > 64, err, BUG,
	           "blocks of kind %u are not read by columns", view->header.kind);
	rows = view->header.rows;
	out->info = *ws_trace_reader_block(b->r, i);
	WS_FORWARD(reserve(out, rows * (size_t)__builtin_popcountll(columns), err));
	memset(out->v, 0, sizeof(out->v));
	for (unsigned c = 0; c < view->header.ncolumns; c++) {
		int at = view->columns[c].position;

		if (at < 0 || !(columns >> at & 1))
			continue;
		WS_FAIL_IF(view->def->columns[at].type == WS_TYPE_BLOB, err, BUG,
		           "column %s is no number", view->def->columns[at].name);
		out->v[at] = out->memory + used++ * rows;
		WS_FORWARD(ws_block_column_decode(view, c, b->z, &b->scratch, out->v[at], err));
		missing &= ~((ws_column_set)1 << at);
	}
	for (; missing; missing &= missing - 1) {
		int at = __builtin_ctzll(missing);

		out->v[at] = out->memory + used++ * rows;
		memset(out->v[at], 0, rows * sizeof(*out->v[at]));
	}
	return WS_OK;
}

void ws_block_rows_release(struct ws_block_rows *rows)
{
	free(rows->memory);
	*rows = (struct ws_block_rows){0};
}

int ws_trace_reader_has_column(const struct ws_trace_reader *r, enum ws_kind kind, int column)
{
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++) {
		struct ws_block_view view;

		if (ws_trace_reader_block(r, i)->kind != kind ||
		    ws_trace_reader_view(r, i, &view, NULL) != WS_OK)
			continue;
		for (unsigned c = 0; c < view.header.ncolumns; c++)
			if (view.columns[c].position == column)
				return 1;
	}
	return 0;
}
