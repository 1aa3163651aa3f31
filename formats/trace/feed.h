/*
 * The blocks of some kinds one after the other, decoded ahead by a second
 * thread where the machine has one to spare, and made into what the caller
 * wants of them. What comes out does not depend on that.
 */
#pragma once

#include "formats/trace/block_reader.h"

struct ws_feed;

enum ws_feed_order {
	WS_FEED_BY_FILE, /* as they stand there */
	WS_FEED_BY_TIME, /* by the time of their first row */
	/* the same, as ws_block_reader_read_stored has them: API calls and NVTX events that were
	 * stored as one block come as one, and types of thread_event with them */
	WS_FEED_AS_STORED,
};

#define WS_FEED_SLOTS 3

/*
 * What is made of each block ahead of the caller: by one thread or the other,
 * but of one block at a time, in their order. slot: below WS_FEED_SLOTS; what
 * was made there is the caller's from when the block comes until the next
 * call; the rows themselves are gone by then. Behind a block of which it
 * failed, none is made.
 */
struct ws_feed_stage {
	void *ctx;
	enum ws_status (*make)(void *ctx, const struct ws_block_rows *rows, uint32_t block,
	                       unsigned slot, struct ws_err *err);
	/* What the caller puts aside, its n-th, one after the other; NULL = nothing. */
	void (*aside)(void *ctx, size_t n);
};

/* columns[kind] of the kinds wanted, 0 of the others. r must outlive it. stage: NULL = none. */
enum ws_status ws_feed_open(struct ws_feed **out, const struct ws_trace_reader *r,
                            const ws_column_set columns[WS_KIND_END], enum ws_feed_order order,
                            const struct ws_feed_stage *stage, struct ws_err *err);
void ws_feed_close(struct ws_feed *f); /* NULL is legal */

/*
 * The next block, NULL behind the last; borrowed until the next call. By
 * time, no later block has a row before *until_ns (INT64_MAX behind the
 * last), if the file's headers are right.
 */
enum ws_status ws_feed_next(struct ws_feed *f, const struct ws_block_rows **rows, int64_t *until_ns,
                            struct ws_err *err);

/* Number in the file of the block that came last; its slot. */
size_t ws_feed_block(const struct ws_feed *f);
unsigned ws_feed_slot(const struct ws_feed *f);

/* So many were put aside so far. A thread with nothing else to do does them; returns when no more
 * than `waiting` are not done. */
void ws_feed_put_aside(struct ws_feed *f, size_t n, size_t waiting);
