/*
 * Blocks of kind thread_event: api and nvtx rows in one order of time, where
 * each time is a small step from the one before. Writing merges pending rows,
 * reading gives the two kinds back, each in its own order.
 */
#pragma once

#include "formats/codec/block.h"

/*
 * Put the rows of api and nvtx, one at least and at most WS_MAX_BLOCK_ROWS, into the empty buffer
 * out.
 */
void ws_thread_events_merge(const struct ws_row_buf *api, const struct ws_row_buf *nvtx,
                            struct ws_row_buf *out);

/* Position in thread_event of a column of api or nvtx, by its position there. */
unsigned ws_thread_events_column(enum ws_kind kind, unsigned position);

/* Which rows of a thread_event block are rows of a kind, and room for a column of the block. */
struct ws_thread_rows {
	uint32_t n;
	uint32_t row[WS_MAX_BLOCK_ROWS];
	uint64_t values[WS_MAX_BLOCK_ROWS];
};

/* Without rows. Free with free. */
struct ws_thread_rows *ws_thread_rows_new(void);
/*
 * Find the rows of kind api or nvtx. CORRUPT when the block has no types or
 * not as many rows of the kind as its header says.
 */
enum ws_status ws_thread_rows_find(struct ws_thread_rows *t, const struct ws_block_view *view,
                                   struct ws_block_decoder *d, enum ws_kind kind,
                                   struct ws_err *err);
/* The block's column that has these values, or -1. */
int ws_thread_rows_source(const struct ws_block_view *view, enum ws_kind kind, unsigned position);
/* Decode that column: t->n values of the rows that were found. */
enum ws_status ws_thread_rows_decode(struct ws_thread_rows *t, const struct ws_block_view *view,
                                     struct ws_block_decoder *d, unsigned source, uint64_t *v,
                                     struct ws_err *err);
