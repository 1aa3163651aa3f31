/*
 * Ranges that may be steps, of a trace in which none is called so; and how often its kernels
 * repeat. docs/reference/tables.md, Steps.
 */
#pragma once

#include "report/base/spans.h"
#include "report/joined/rows.h"

#define WS_STEP_CANDIDATES 3
struct ws_step_candidate {
	char *pattern; /* for --step: the name with * for its numbers */
	uint64_t count;       /* of the steps that --step makes of it */
	struct ws_span *span; /* of each, on its thread */
	double mean_ns;       /* of their windows: see ws_step_candidates */
	int64_t gpu_ns;       /* of kernels launched in such ranges, without warm-up */
	double percent;       /* of the GPU time of all kernels but those of warm-up */
};

struct ws_step_candidates {
	struct ws_step_candidate best[WS_STEP_CANDIDATES]; /* the first is what `auto` takes */
	size_t n;
	/* without candidates: at least 90 % of the kernels are those of `period` kernels earlier */
	uint64_t period, times; /* 0: they do not repeat so */
};

/* Patterns are texts of the arena. */
void ws_step_candidates_find(const struct ws_model *m, struct ws_joined_rows *rows,
                             struct ws_arena *arena, struct ws_step_candidates *out);
