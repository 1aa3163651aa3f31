/*
 * Blocks of kind thread_event: api and nvtx rows in one order of time, where
 * each time is a small step from the one before. Writing merges pending rows,
 * reading gives the two kinds back, each in its own order.
 */
#pragma once

#include "formats/codec/block.h"

/* Places of rows among those of both kinds; kept from block to block. All zero at first. */
struct ws_thread_places {
	uint32_t api[WS_MAX_BLOCK_ROWS], nvtx[WS_MAX_BLOCK_ROWS];
	uint32_t zeros[WS_NCOLS_thread_event]; /* of a column of both, the first so many are 0 */
};

/*
 * Put the rows of api and nvtx, one at least and at most WS_MAX_BLOCK_ROWS, into the empty buffer
 * out, which is always the same of p. Both have had room for a row.
 */
void ws_thread_events_merge(struct ws_thread_places *p, const struct ws_row_buf *api,
                            const struct ws_row_buf *nvtx, struct ws_row_buf *out);

/* Position in thread_event of a column of api or nvtx, by its position there. */
unsigned ws_thread_events_column(enum ws_kind kind, unsigned position);

/*
 * Which rows of a thread_event block are rows of a kind. What was decoded of
 * the block is kept, as the rows of the other kind mostly are asked for next.
 * All zero is empty.
 */
struct ws_thread_rows {
	uint32_t n;
	uint32_t row[WS_MAX_BLOCK_ROWS];
	const uint8_t *kept_from; /* the block's first stored column, and its checksum */
	uint64_t kept_checksum;
	uint8_t kept[WS_NCOLS_thread_event];
	uint64_t values[WS_NCOLS_thread_event][WS_MAX_BLOCK_ROWS];
};

/* Without rows. Of the megabytes only what says so is cleared. Free with
 * free. */
struct ws_thread_rows *ws_thread_rows_new(void);
/*
 * Find the rows of kind api or nvtx. CORRUPT when the block has no types or
 * not as many rows of the kind as its header says.
 */
enum ws_status ws_thread_rows_find(struct ws_thread_rows *t, const struct ws_block_view *view,
                                   struct ws_block_decoder *d, enum ws_kind kind,
                                   struct ws_err *err);
/*
 * Decode a column of the kind that the rows were found for: t->n values.
 * *present is 0, and v is not written, when the block lacks it.
 */
enum ws_status ws_thread_rows_decode(struct ws_thread_rows *t, const struct ws_block_view *view,
                                     struct ws_block_decoder *d, enum ws_kind kind,
                                     unsigned position, uint64_t *v, int *present,
                                     struct ws_err *err);
/* The block's column that has these values, or -1. */
int ws_thread_rows_source(const struct ws_block_view *view, enum ws_kind kind, unsigned position);
