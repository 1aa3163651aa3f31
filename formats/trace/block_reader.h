/*
 * Some columns of some blocks, without those that nobody asked for. Several
 * block readers may read one trace at once, each on its own thread.
 */
#pragma once

#include <stdbool.h>

#include "formats/trace/reader.h"

/* Which columns: bit WS_COL_<kind>_<column>. Kinds that are read so have at most 64 columns, and
 * only columns of numbers are. */
typedef uint64_t ws_column_set;
#define WS_COLUMN(kind, column) ((ws_column_set)1 << WS_COL_##kind##_##column)

struct ws_block_reader;

/* r must outlive it. Free with ws_block_reader_free. */
void ws_block_reader_new(struct ws_block_reader **out, const struct ws_trace_reader *r);
void ws_block_reader_free(struct ws_block_reader *b); /* NULL is legal */

/* Rows of one block. Starts as all zeros, and keeps its memory from block to block. */
struct ws_block_rows {
	struct ws_block_info info;
	uint64_t *v[64]; /* by position; info.rows values, 0 where the file lacks the column; NULL
	                    where it was not asked for */
	/* as stored: the token of each row, and the columns that have a value a token */
	const uint16_t *token; /* NULL: the block has none */
	uint32_t ntokens;
	ws_column_set by_token;
	uint64_t *memory;
	size_t capacity; /* values */
};
/*
 * The stored block that block i is of, of kind thread_event where it holds two
 * kinds: columns are those of that kind. What is stored once a token is not
 * spread to the rows, but for times and durations. CORRUPT and TOO_NEW as ws_trace_reader_decode,
 * of the columns asked for.
 */
enum ws_status ws_block_reader_read(struct ws_block_reader *b, size_t i, ws_column_set columns,
                                    struct ws_block_rows *out, struct ws_err *err);
/* A value of what was read so. */
static inline uint64_t ws_block_value(const struct ws_block_rows *b, unsigned column, uint32_t row)
{
	return b->v[column][b->by_token >> column & 1 ? b->token[row] : row];
}
void ws_block_rows_release(struct ws_block_rows *rows);

/* Does any block of the kind have the column? */
bool ws_trace_reader_has_column(const struct ws_trace_reader *r, enum ws_kind kind, int column);
