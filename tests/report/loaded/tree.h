/*
 * From NVTX events to a tree of ranges.
 *
 * - push and pop pair up per thread and domain, start and end by the id of
 *   the range within its process, whichever thread ends it.
 * - A range lies on the thread that began it. Range A contains range B when
 *   both lie on one thread and B begins and ends within A; equal times are
 *   told apart by the order of the events, so two ranges with the same begin
 *   and end still have a clear inside and outside.
 * - The parent of a range is the range that contains it and began last, over
 *   all domains. Ranges of one domain nest; ranges of several domains, and
 *   start/end ranges, may cross: then neither contains the other.
 * - A range that never ended ends where the caller says that the trace ends.
 */
#pragma once

#include "report/model/model.h"

/* One entry an event, in the order recorded; names and domains as indexes of a text pool. */
struct loaded_events {
	size_t n;
	const int64_t *time_ns;
	const uint32_t *thread; /* 0 .. nthreads - 1 */
	const uint8_t *type;    /* enum ws_nvtx_type; others are ignored */
	const uint32_t *domain;
	const uint32_t *name;     /* of push and start */
	const uint32_t *steady;   /* name -> what of it stays from call to call; NULL = all of it */
	const uint64_t *range_id; /* of start and end */
	const uint32_t *payload;  /* any number; goes to the range */
	const uint32_t *process_of; /* process of each thread */
	uint32_t nthreads;
	int64_t end_ns; /* where open ranges end; no event is later */
};

enum {
	LOADED_START_END = WS_RANGE_START_END, /* else push/pop */
	LOADED_OPEN = 1u << 1,                 /* never ended */
	LOADED_CROSS_THREAD = 1u << 2,         /* ended on another thread */
};

/* Ranges sorted by thread, then begin: parents stand before their children. */
struct loaded_ranges {
	size_t n;
	int64_t *start_ns, *end_ns;
	uint32_t *thread;
	uint32_t *name;     /* what stays of it from call to call: see ws_name_steady */
	uint32_t *recorded; /* the name as recorded, with what tells this call from others */
	uint32_t *parent;   /* WS_NONE for an outermost range */
	uint32_t *depth;    /* 0 for an outermost range */
	uint32_t *path;     /* index into paths */
	uint32_t *payload;
	uint8_t *flags;

	size_t nthreads;
	uint32_t *thread_first; /* nthreads + 1: the ranges of thread t are [first[t], first[t + 1])
	                         */
	uint8_t *thread_crosses; /* some ranges of the thread cross each other */

	struct ws_path *paths;
	size_t npaths;
	struct ws_arena arena; /* of all arrays but paths */

	uint64_t unmatched_pops, unmatched_ends; /* ends without a begin */
	uint64_t open, cross_thread;             /* ranges with these flags */
	uint64_t folded;                         /* ranges deeper than WS_RANGE_MAX_DEPTH */
};

/* Free with loaded_ranges_release, also after a failure. */
enum ws_status loaded_ranges_build(struct loaded_ranges *out, const struct loaded_events *events,
                                   struct ws_err *err);
void loaded_ranges_release(struct loaded_ranges *r);
