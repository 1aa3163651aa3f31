/*
 * What a trace says that cannot be true. docs/dev/soundness.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/arena.h"

/* X(ID, "law", "what the report does with what breaks it"): the table `soundness`. */
#define WS_LAW_LIST(X)                                                                            \
	X(BEFORE_LAUNCH, "no work begins before its launch",                                      \
	  "The device's clock is off: causes of idle time, gains by replay and launch "           \
	  "latencies are not known. Sums of kernel times are.")                                   \
	X(FAR_AWAY, "no record lies over 1,000 times as far away as the others span",             \
	  "Its time is not believed: it counts, but is in no sum of times and does not make "     \
	  "the run longer. Steps that hold it are in no mean.")                                   \
	X(ONE_AT_A_TIME, "a stream runs one kernel at a time",                                    \
	  "The end of the kernel is not believed: it counts, but is in no sum of times. Steps "   \
	  "that hold it are in no mean.")                                                         \
	X(LAUNCH_HAS_WORK, "a launch, copy or fill before the last recorded one has device work", \
	  "Steps that hold such launches are in no mean. Without steps the causes of idle time "  \
	  "are not known.")                                                                       \
	X(ONCE, "a record stands once", "Equal records count once.")

enum ws_law {
#define X(ID, law, use) WS_LAW_##ID,
	WS_LAW_LIST(X)
#undef X
	        WS_LAWS,
};

struct ws_law_def {
	const char *law, *use;
};
extern const struct ws_law_def ws_law_defs[WS_LAWS];

/* How a law was broken. */
struct ws_broken_law {
	uint64_t kernels, copies, calls; /* that break it; copies: fills, too */
	uint64_t judged;                 /* kernels with a launch, or launches; 0: not counted */
	int64_t most_ns;                 /* by this much at most; 0: no time says it */
	int64_t first_ns;                /* begin of the first */
	uint32_t first;                  /* its name, a text; of a copy: empty */
};

struct ws_soundness {
	struct ws_broken_law broken[WS_LAWS];
	uint64_t captured;    /* launches that were captured into a graph, and so have no work */
	const char *obstacle; /* why causes of idle time are not known; NULL: they are */
	bool clock_is_off;    /* begins of device work cannot be compared with those of calls */
};

static inline uint64_t ws_broken_count(const struct ws_broken_law *broken)
{
	return broken->kernels + broken->copies + broken->calls;
}
bool ws_is_sound(const struct ws_soundness *s);
/* What breaks a law: "20 of 20 kernels", "1 kernel, 2 copies". */
const char *ws_broken_what(struct ws_arena *texts, const struct ws_soundness *s, enum ws_law law);
