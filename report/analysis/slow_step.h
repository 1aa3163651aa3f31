/*
 * The slow step of a trace against its median step: what is longer, and why. Rules:
 * docs/dev/recorder.md, 12.
 */
#pragma once

#include "report/analysis/energy.h"

/* X(NAME, "what a part is") */
#define WS_SLOW_KIND_LIST(X)    \
	X(STEP, "step")         \
	X(USE, "device time")   \
	X(PHASE, "phase")       \
	X(RANGE, "range")       \
	X(CLASS, "op class")    \
	X(KERNEL, "kernel")     \
	X(COPY, "copy or fill") \
	X(CALL, "API call")     \
	X(OP, "operation")
enum ws_slow_kind {
#define X(NAME, name) WS_SLOW_##NAME,
	WS_SLOW_KIND_LIST(X)
#undef X
	        WS_SLOW_KINDS,
};

/* Where a time belongs: to the slow step, to the median one, to all measured ones but the slow. */
enum ws_slow_side { WS_SLOW_IT, WS_SLOW_MEDIAN, WS_SLOW_OTHERS, WS_SLOW_SIDES };

struct ws_slow_part {
	enum ws_slow_kind kind;
	uint32_t name; /* a use, phase, path, name of copies; else a text */
	double ns[WS_SLOW_SIDES];
	double count[WS_SLOW_SIDES]; /* of what has a count */
};

struct ws_slow_step {
	const char *obstacle; /* a sentence: why no step is compared; NULL: one is */
	const struct ws_time_window *slow, *median;
	size_t nothers; /* other measured steps */
	struct ws_slow_part *part;
	size_t nparts, capacity;
	struct ws_energy energy[2]; /* of the slow step, of the others together */
	const char *cause;          /* "waiting for data: 98 % of the difference, in range load" */
};

/* Computed once per selection, and freed with it. */
const struct ws_slow_step *ws_slow_step(const struct ws_model *m, const struct ws_selection *sel);
/* "Step 12 took 1.55 s, the median step 50.2 ms. The difference is waiting for data …" The
 * obstacle, if there is one. */
const char *ws_slow_step_words(const struct ws_model *m, const struct ws_selection *sel);
/* Clock and power in both, or why they are not known. */
const char *ws_slow_step_clock_words(const struct ws_slow_step *s, struct ws_arena *texts);

extern const struct ws_relation ws_relation_slow_part;
