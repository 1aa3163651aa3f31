/*
 * When a step's threads, streams and devices did what, as boxes on lanes. Plain data, made by
 * timeline.c. What is too short for a box of its own stands in a box of many, which counts it:
 * nothing is left out. docs/dev/pages.md
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/base/arena.h"

/* X(NAME, "name") */
#define WS_TIMELINE_LANES(X) \
	X(THREAD, "thread")  \
	X(OPS, "ops")        \
	X(STREAM, "stream") X(COPIES, "copies") X(IDLE, "idle") X(PATH, "path")
enum ws_timeline_kind {
#define X(NAME, name) WS_TIMELINE_##NAME,
	WS_TIMELINE_LANES(X)
#undef X
};

/* Texts are numbers of `text`; 0 = not known. Times are ns as recorded; see shift_ns. */
struct ws_timeline_box {
	int64_t start_ns, dur_ns; /* of many: from the first's start to the last's end */
	int64_t busy_ns;          /* sum of their times */
	uint64_t count;           /* over 1: of many, which have no texts of their own here */
	uint32_t name, class, path, operation, shapes, launch, call;
	int64_t call_ns,
	        call_dur_ns; /* start and time of the call that launched it; -1 = not known */
	uint16_t depth;      /* of a range or operation: 0 = outermost */
	uint8_t colour;      /* enum ws_page_colour */
};

struct ws_timeline_lane {
	enum ws_timeline_kind kind;
	const char *name;            /* "stream 7", "GPU 1 idle": no two lanes have one */
	const char *device;          /* "GPU 1"; "" of a thread and the critical path */
	struct ws_timeline_box *box; /* by start */
	size_t n, capacity;
	uint16_t depths;
};

struct ws_timeline {
	const char *title; /* "step 6, the median of 10 measured steps" */
	int64_t start_ns, end_ns;
	int64_t shortest_ns; /* what is shorter may stand in a box of many; 0 = there are none */
	int64_t shift_ns;    /* the beginning of the trace in the clock of its records */
	struct ws_timeline_lane *lane;
	size_t nlanes, lanes_capacity;
	const char **text; /* [0]: "" */
	size_t ntexts;
	uint64_t kernels, ranges, copies, ops; /* in all boxes; ops: of a framework */
	struct ws_arena arena;
};

void ws_timeline_free(struct ws_timeline *timeline); /* NULL is legal */
