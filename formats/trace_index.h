/*
 * What the reader, the check and the repair share beyond the public header:
 * opening a file with a damaged header, and the index.
 */
#ifndef WS_FORMATS_TRACE_INDEX_H
#define WS_FORMATS_TRACE_INDEX_H

#include "formats/block.h"
#include "formats/trace_walk.h"

/*
 * As ws_trace_reader_open_mem, but go on when the file header is damaged or
 * too new: *header then says why, and its status is WS_OK otherwise. fn (may
 * be NULL) hears of damaged stretches. Fails only without memory.
 */
enum ws_status ws_trace_reader_open_damaged(struct ws_trace_reader **out, const void *data,
                                            size_t size, ws_finding_fn fn, void *ctx,
                                            struct ws_err *header, struct ws_err *err);
const struct ws_walk *ws_trace_reader_walk(const struct ws_trace_reader *r);
/* Open the view of block i. CORRUPT as ws_block_view_open. */
enum ws_status ws_trace_reader_view(const struct ws_trace_reader *r, size_t i,
                                    struct ws_block_view *view, struct ws_err *err);

/*
 * Compare index and trailer with the blocks found. fn (may be NULL) hears of
 * each difference, as DAMAGE. *right is 1 when both are present and right;
 * that the index lists a block which was damaged since leaves it right.
 * Fails only without memory.
 */
enum ws_status ws_trace_index_verify(const struct ws_trace_reader *r, ws_finding_fn fn, void *ctx,
                                     int *right, struct ws_err *err);

#endif
