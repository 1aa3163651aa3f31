/*
 * Measured steps as samples: the basis of every statement about step times.
 */
#pragma once

#include "report/analysis/filter.h"
#include "report/base/stat.h"

/* GPU time of the kernels launched in a step. */
struct ws_step_gpu {
	uint64_t kernels;
	int64_t total_ns;
	int64_t phase_ns[WS_PHASES];
	struct ws_span phase[WS_PHASES]; /* first start to last end; empty: end before start */
};
#define WS_NO_PHASES                                                                       \
	{                                                                                  \
		WS_SPAN_EMPTY, WS_SPAN_EMPTY, WS_SPAN_EMPTY, WS_SPAN_EMPTY, WS_SPAN_EMPTY, \
		        WS_SPAN_EMPTY                                                      \
	}
_Static_assert(WS_PHASES == 6, "WS_NO_PHASES has one of each");

struct ws_step_times {
	struct ws_step_gpu *gpu; /* one per step of the model */
	uint32_t *measured;      /* steps that are samples, by begin */
	size_t nmeasured;
	int64_t *step_ns; /* length of each step's window; -1: none */
	/* per step and phase: time from the first start to the last end of the phase's kernels, cut
	 * to the step's window; OTHER: the rest of the step's window; -1: unknown */
	int64_t (*window_ns)[WS_PHASES];
	bool has_windows; /* some measured step has windows of phases */
	uint8_t phases;   /* bit p: some measured step has a range of phase p */
	int64_t *scratch;
};
/* Of the selected kernels and steps; lives as long as sel. */
const struct ws_step_times *ws_step_times(const struct ws_model *m, const struct ws_selection *sel);

enum ws_measure {
	WS_MEASURE_STEP, /* windows: of a step with its device work, or of a phase's kernels */
	WS_MEASURE_GPU,  /* time of the kernels launched in them */
	WS_MEASURE_WALL, /* time of the ranges on their thread */
};
const char *ws_measure_name(enum ws_measure measure);

/* WS_PHASES as a phase means the whole step. -1: the step has no such phase. */
int64_t ws_step_time(const struct ws_model *m, const struct ws_step_times *t, uint32_t step,
                     int phase, enum ws_measure measure);
void ws_step_stat(const struct ws_model *m, const struct ws_step_times *t, int phase,
                  enum ws_measure measure, struct ws_stat *out);
/* Does the report have this phase? Always true for the whole step; true for the remainder if there
 * are other phases. */
bool ws_step_phase_present(const struct ws_step_times *t, int phase);

/* Steps that are not measured because they contain other work (enum ws_step_apart): their number,
 * the kind of work, and a sentence such as "2 of 14 steps contain an evaluation"; "" if there are
 * none. */
size_t ws_steps_apart(const struct ws_model *m);
const char *ws_step_apart_name(uint8_t apart);
const char *ws_steps_apart_words(const struct ws_model *m, struct ws_arena *arena);
/* "Steps of 2 threads overlap: 39 of thread 7 (median 2.1 ms), 39 of thread 8 (median 4 ms)";
 * without "overlap" where they do not. "" if one thread makes them all. */
const char *ws_steps_threads_words(const struct ws_model *m, struct ws_arena *arena);
/* Measured steps that were recorded without their operations: their number, and a sentence; "". */
size_t ws_steps_repeating(const struct ws_model *m);
const char *ws_steps_repeat_words(const struct ws_model *m, struct ws_arena *arena);

/* Measured steps that are batches of a server, of one kind: means. */
struct ws_batch_steps {
	const char *kind; /* "prefill", "decode", "mixed" */
	uint64_t steps;
	double ns, requests, tokens; /* tokens: that it computes */
};
#define WS_BATCH_KINDS 3
/* Means for each kind of batch that occurs; returns the number of kinds. */
size_t ws_step_batches(const struct ws_model *m, const struct ws_step_times *t,
                       struct ws_batch_steps out[WS_BATCH_KINDS]);

/* A whole number among the workload's facts, e.g. tokens_per_step; 0 = not known. */
int64_t ws_fact_number(const struct ws_model *m, const char *key);

/* Ranges that may be the steps of a trace without steps, with the times that --step would give. */
const struct ws_step_candidates *ws_step_candidates(const struct ws_model *m,
                                                    const struct ws_selection *sel);
/* "No range is called step. Likely: ", then the command, then number and length of the steps. */
struct ws_steps_hint {
	const char *words, *command, *numbers; /* the last two are "" if there is no command */
};
struct ws_steps_hint ws_steps_hint(struct ws_arena *texts, const struct ws_model *m,
                                   const struct ws_step_candidates *c);
