/*
 * The blocks of some kinds one after the other, by the time of their first row, as
 * ws_block_reader_read has them: API calls and NVTX events that were stored as one block come as
 * one, and types of thread_event with them. The next is decoded ahead, by a second thread where the
 * machine has one to spare.
 */
#pragma once

#include "formats/trace/block_reader.h"

struct ws_feed;

/* columns[kind] of the kinds wanted, 0 of the others. r must outlive it. */
void ws_feed_open(struct ws_feed **out, const struct ws_trace_reader *r,
                  const ws_column_set columns[WS_KIND_END]);
void ws_feed_close(struct ws_feed *f); /* NULL is legal */

/*
 * The next block, NULL behind the last; borrowed until the next call.
 * No later block has a row before *until_ns (INT64_MAX behind the
 * last), if the file's headers are right.
 */
enum ws_status ws_feed_next(struct ws_feed *f, const struct ws_block_rows **rows, int64_t *until_ns,
                            struct ws_err *err);

/* Each block to take(ctx), as ws_feed_next has it, with its number in the file. The first that
 * fails ends it. */
typedef enum ws_status (*ws_feed_fn)(void *ctx, const struct ws_block_rows *rows, uint32_t block,
                                     int64_t until_ns, struct ws_err *err);
enum ws_status ws_feed_each(const struct ws_trace_reader *r,
                            const ws_column_set columns[WS_KIND_END], ws_feed_fn take, void *ctx,
                            struct ws_err *err);
