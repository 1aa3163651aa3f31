#include "formats/trace/block_reader.h"

#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "formats/trace/internal.h"
#include "formats/trace/thread_events.h"

struct ws_block_reader {
	const struct ws_trace_reader *r;
	struct ws_block_decoder decoder;
	struct ws_block_view view;
};

void ws_block_reader_new(struct ws_block_reader **out, const struct ws_trace_reader *r)
{
	struct ws_block_reader *b = ws_xarray(1, sizeof(*b));

	*out = NULL;
	b->r = r;
	ws_block_decoder_init(&b->decoder);
	*out = b;
}

void ws_block_reader_free(struct ws_block_reader *b)
{
	if (!b)
		return;
	ws_block_decoder_free(&b->decoder);
	free(b);
}

/* For other values than it has, and no more: blocks are of one size. */
static void have_room(struct ws_block_rows *out, size_t values)
{
	if (values > out->capacity)
		ws_block_rows_release(out);
	WS_GROW(out->memory, values, out->capacity);
}

/* The columns that a kind has, of those asked for, which may be all. */
static enum ws_status check_columns(unsigned kind, ws_column_set *columns, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	WS_FAIL_IF(!def || def->ncolumns > 64, err, BUG,
	           "blocks of kind %u are not read by columns", kind);
	*columns &= ~(ws_column_set)0 >> (64 - def->ncolumns);
	for (unsigned at = 0; at < def->ncolumns; at++)
		WS_FAIL_IF(*columns >> at & 1 && def->columns[at].type == WS_TYPE_BLOB, err, BUG,
		           "column %s is no number", def->columns[at].name);
	return WS_OK;
}

/* A column as it is stored; zeros where the block lacks it. */
static enum ws_status read_stored_column(struct ws_block_reader *b, unsigned position,
                                         struct ws_block_rows *out, struct ws_err *err)
{
	const struct ws_block_view *view = &b->view;
	const enum ws_type type = view->def->columns[position].type;
	bool by_token = out->token && type != WS_TYPE_TIME && type != WS_TYPE_DUR;
	unsigned c = 0;

	while (c < view->header.ncolumns && view->columns[c].position != (int)position)
		c++;
	if (c < view->header.ncolumns && by_token)
		WS_FORWARD(ws_block_column_decode_stored(view, c, &b->decoder, out->v[position],
		                                         &by_token, err));
	else if (c < view->header.ncolumns)
		WS_FORWARD(ws_block_column_decode(view, c, &b->decoder, out->v[position], err));
	else
		memset(out->v[position], 0,
		       (by_token ? out->ntokens : out->info.rows) * sizeof(*out->v[position]));
	out->by_token |= (ws_column_set)by_token << position;
	return WS_OK;
}

enum ws_status ws_block_reader_read(struct ws_block_reader *b, size_t i, ws_column_set columns,
                                    struct ws_block_rows *out, struct ws_err *err)
{
	const size_t stored = ws_trace_reader_stored(b->r, i);
	const struct ws_tokens *tokens = &b->decoder.tokens;
	size_t rows, values;
	uint16_t *token;

	WS_FORWARD(ws_trace_reader_view(b->r, stored, &b->view, err));
	rows = b->view.header.rows;
	WS_FORWARD(check_columns(b->view.header.kind, &columns, err));
	values = rows * (size_t)__builtin_popcountll(columns);
	/* tokens lie behind the values, four in the place of one */
	have_room(out, values + rows / 4 + 1);
	*out = (struct ws_block_rows){.info = *ws_trace_reader_block(b->r, i),
	                              .memory = out->memory,
	                              .capacity = out->capacity};
	out->info.kind = b->view.header.kind;
	out->info.rows = b->view.header.rows;
	WS_FORWARD(ws_block_tokens(&b->view, &b->decoder, err));
	out->ntokens = tokens->count;
	if (tokens->count) {
		token = (uint16_t *)(out->memory + values);
		memcpy(token, tokens->of_row, rows * sizeof(*token));
		out->token = token;
	}
	for (values = 0; columns; columns &= columns - 1, values += rows) {
		unsigned at = (unsigned)__builtin_ctzll(columns);

		out->v[at] = out->memory + values;
		WS_FORWARD(read_stored_column(b, at, out, err));
	}
	ws_walk_let_go(ws_trace_reader_walk(b->r), stored);
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
