/* Opening a trace as a model, and which part of it a report is about. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/* What is said of a trace besides its rows: texts, configurations, paths, steps. */
struct ws_model;

/* Data of the user's; all zeros is none. Only read while the model is opened. */
struct ws_model_opts {
	const char *rules; /* rows in the form of class_rules.txt, they stand before those */
	size_t rules_len;
	const char *peaks; /* the same for device_peaks.txt */
	size_t peaks_len;
	/* ranges that are steps: a pattern (* and ?) of their name, or of their path; NULL: `step`
	 * and PyTorch's ProfilerStep#N */
	const char *step;
	bool step_is_auto;       /* `step` was chosen by the program, which says so */
	const char *device_name; /* of devices whose name the trace lacks; NULL: none */
	double softmax_flops;    /* of an element, in softmax-matmul; 0 = WS_SOFTMAX_FLOPS */
};
/* How Warpsheet counts a softmax: max, subtract, exp, sum, divide. */
#define WS_SOFTMAX_FLOPS 5.0
struct ws_trace_reader;
void ws_model_free(struct ws_model *m); /* NULL is legal */

/* Parts of a run: X(NAME, "name"). All but the first are disjoint and add up to it. */
#define WS_SCOPE_LIST(X)                                                                  \
	X(ALL, "all")                                                                     \
	X(STEPS, "steps")     /* measured steps that finished */                          \
	X(WARM_UP, "warm-up") /* steps in a range `warm-up`, and what else lies in one */ \
	X(SETUP, "setup")     /* a range `setup` */                                       \
	X(OUTSIDE, "outside") /* the rest: before, between and after, steps cut off at the end */
enum ws_scope {
#define X(NAME, name) WS_SCOPE_##NAME,
	WS_SCOPE_LIST(X)
#undef X
	        WS_SCOPES,
};
const char *ws_scope_name(enum ws_scope scope);

struct ws_filter {
	/* STEPS of a trace without measured steps is ALL */
	enum ws_scope scope;
	/* keep what was launched in a range whose path matches; NULL = all.
	 * [domain:]path[#n|#a..b]: * and ? as in shell patterns, e.g. "step/forward*"; #n keeps
	 * the n-th such range by begin, from 0 */
	const char *nvtx;
	/* measured steps first..last by their number; warm-up is not a step; -1 = open end */
	int64_t step_first, step_last;
	int64_t device; /* -1 = all */
	/* what follows filters only where its has_ is set, or the pointer is not NULL */
	int has_stream, has_process, has_time;
	uint64_t stream, process; /* process: pid */
	const char *kernel;       /* POSIX extended regular expression, in the demangled name */
	/* what overlaps [first, end), ns from the first record of the trace */
	int64_t time_first_ns, time_end_ns;
	/* nvtx: what overlaps the ranges in time, wherever it was launched, not what was launched
	 * in them */
	bool by_gpu_time;
	/* no filter: a page draws a timeline, of this measured step; -1 = the median one */
	bool has_timeline;
	int64_t timeline;
	/* no filter: changes whose effect a report tells, see replay/whatif.h */
	const char *const *whatif;
	size_t nwhatif;
};
#define WS_FILTER_ALL                                                                  \
	{                                                                              \
		.scope = WS_SCOPE_ALL, .step_first = -1, .step_last = -1, .device = -1 \
	}
