/*
 * The window applied to what comes out of a segment: what lies outside of it
 * makes no rows and is counted. NVTX ranges are kept whole when any part of
 * them is inside, so that all that is kept has its true path.
 * docs/dev/recorder.md, "When to record".
 */
#pragma once

#include <stdbool.h>

#include "recorder/shared/record.h"
#include "recorder/drain/window.h"

struct ws_drain;
struct ws_seg_header;

#define WS_FILTER_CALLS 65536 /* of the newest correlation ids is known whether they were kept */

struct ws_held_records {
	struct ws_held_record *records;
	size_t n, size;
};

struct ws_capture_filter {
	bool is_active;  /* 0: everything is kept */
	int64_t stop_ns; /* nothing after it is kept, 0: no such time */
	struct ws_capture_window window;
	uint64_t nexcluded; /* records left out, not yet added to the segment's counter */
	/* start records of ranges that are open and were outside so far; pushes: by thread */
	struct ws_held_records starts;

	uint64_t *inside_calls, *outside_calls; /* by correlation id */
};

void ws_filter_init(struct ws_capture_filter *f, const struct ws_seg_header *seg);
void ws_filter_release(struct ws_drain *d); /* what its threads hold, too */

/* To be called before a pass: how far the window goes by now. */
void ws_filter_look(struct ws_drain *d);
/* A range of the window began or ended, by the collector's definition. */
void ws_filter_range(struct ws_drain *d, const struct ws_def_window *range);

/* A record of a ring: to rows, now or later, or not. 0 when it makes no sense. */
bool ws_filter_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size);
/* Keep an API call that begins at this time of rows? correlation: its id, 0 = none. */
int ws_filter_keeps_call(struct ws_drain *d, uint64_t correlation, int64_t start_ns);
/*
 * Keep work with this correlation id? It belongs to the window when the call
 * that launched it does, though it may run later; by its own time when that
 * call is not known.
 */
int ws_filter_keeps_work(struct ws_drain *d, uint64_t correlation, int64_t start_ns,
                         int64_t dur_ns);

/* Nothing comes any more: decide about all that is held. */
void ws_filter_finish(struct ws_drain *d);
/* Add what was counted so far to the segment's counter; to be called with each commit. */
void ws_filter_commit(struct ws_drain *d);
