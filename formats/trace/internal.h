/*
 * What reader, writer and check share beyond the public headers:
 * opening a file with a damaged header, the index, going on with a file that
 * is not understood in full.
 */
#pragma once

#include "formats/base/sink.h"
#include "formats/codec/block.h"
#include "formats/trace/walk.h"
#include "formats/trace/writer.h"

/*
 * As ws_trace_reader_open_mem, but go on when the file header is damaged; the
 * summary then says 0 for what it holds. fn (may be NULL) hears of damaged
 * stretches.
 */
enum ws_status ws_trace_reader_open_damaged(struct ws_trace_reader **out, const void *data,
                                            size_t size, ws_finding_fn fn, void *ctx,
                                            struct ws_err *err);
const struct ws_walk *ws_trace_reader_walk(const struct ws_trace_reader *r);
/* Open the view of block i. CORRUPT as ws_block_view_open. */
enum ws_status ws_trace_reader_view(const struct ws_trace_reader *r, size_t i,
                                    struct ws_block_view *view, struct ws_err *err);
/* The stored block that holds the rows of block i: blocks of two kinds are listed as two. */
size_t ws_trace_reader_stored(const struct ws_trace_reader *r, size_t i);

/* Decode block i of the walk as it is stored: thread_event blocks, too. As ws_trace_reader_decode.
 */
enum ws_status ws_trace_reader_decode_stored(const struct ws_trace_reader *r, size_t i,
                                             struct ws_block *out, struct ws_err *err);

/*
 * Compare index and trailer with the blocks found. fn (may be NULL) hears of
 * each difference, as DAMAGE. *right is 1 when both are present and right;
 * that the index lists a block which was damaged since leaves it right.
 */
void ws_trace_index_verify(const struct ws_trace_reader *r, ws_finding_fn fn, void *ctx,
                           int *right);
