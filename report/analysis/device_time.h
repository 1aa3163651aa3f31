/*
 * When devices and threads did what: step windows that hold the device work of their step.
 */
#pragma once

#include <stdbool.h>

#include "report/analysis/costs.h"
#include "report/analysis/filter.h"
#include "report/base/spans.h"
#include "report/model/model.h"

/* A step's time: from its begin, or the end of the device work of the step before, to its end or
 * the end of the device work that it launched. */
struct ws_time_window {
	int64_t start_ns, end_ns;
	uint32_t step;        /* WS_NONE: the whole trace, which has no steps */
	uint64_t device_work; /* kernels, copies and fills launched in it */
};

struct ws_windows {
	struct ws_time_window *window;
	size_t n;
	/* Begin of the first, or the end of device work without a launch record in its first tenth:
	 * PyTorch's TensorBoard plugin takes that for work of an earlier step, and begins behind it
	 * what it divides by. */
	int64_t gpu_begin_ns;
};

/*
 * The windows of the selected measured steps, ascending and disjoint. A trace without finished steps
 * has one window, from its first device work to its last, or all of it where that was asked for.
 * They live as long as sel. Source: definitions of PyTorch's TensorBoard plugin.
 */
const struct ws_windows *ws_windows(const struct ws_model *m, const struct ws_selection *sel);

/* The window of median length: of two the shorter one, of those as long the last, as a trace begins
 * with what happens once. There is one. */
const struct ws_time_window *ws_windows_median(const struct ws_windows *w);

/* Times of ranges become what their windows were if they were the steps: sorted, in place. */
void ws_windows_with_work(const struct ws_model *m, const struct ws_selection *sel,
                          struct ws_time_window *windows, size_t n);

/* Is the report about all of a trace that has steps? */
static inline bool ws_is_of_all(const struct ws_selection *sel)
{
	return sel->scope == WS_SCOPE_ALL && sel->measured && !sel->has_steps;
}
/* Of such a report one window, else the same. */
const struct ws_windows *ws_windows_in_scope(const struct ws_model *m,
                                             const struct ws_selection *sel);

/* From the first device work that passes the filters to the end of the last; all of the trace where
 * there is none. */
void ws_device_work_span(const struct ws_model *m, const struct ws_selection *sel,
                         int64_t *start_ns, int64_t *end_ns);

/* The same of the warm-up steps, whatever is selected. */
const struct ws_windows *ws_warm_up_windows(const struct ws_model *m,
                                            const struct ws_selection *sel);

/* Is a range of this name a collective operation of a backend of PyTorch? */
bool ws_name_is_collective(struct ws_bytes name);

/*
 * MFU and HFU: how much of what the devices could compute a step was used. Matrix products,
 * convolutions and fused attention are held against the dense peak of the dtype that each ran in.
 * Definitions: docs/dev/statistics.md.
 */

/* Products that do not tell their FLOPs may take this share of the GPU time of all of them. */
#define WS_UTILIZATION_UNTOLD_PERCENT 1

/* Times that the products of selected steps need at the peak. NaN = not known. */
struct ws_utilization {
	double *model_ns, *ran_ns;       /* of each step: as the model is written; all that ran */
	double model_sum_ns, ran_sum_ns; /* of all selected steps */
	double flops;                    /* that ran in them; known without peaks, too */
	/* time of each step, of its window (device_time.h), -1: it has none; and the sum of those
	 * selected */
	const int64_t *step_ns;
	int64_t step_sum_ns;
	int64_t product_ns; /* GPU time of the products, summed over devices */
	uint64_t devices;   /* that ran them */
	char obstacle[200]; /* nothing is known; empty = it is */
	char basis[240];    /* the denominator and its source */
};

/*
 * Found once a selection: it lives as long as that. Model FLOPs: of what ran neither in backward
 * nor in the optimizer, three times where there is a backward, so nothing that is computed again
 * counts.
 */
const struct ws_utilization *ws_utilization_find(const struct ws_model *m,
                                                 const struct ws_selection *sel);

/* A share of a peak that cannot be: an error of what the report knows, and never clipped. */
#define WS_OVER_PEAK "over 100 %: the FLOPs, the bytes or the peak are wrong"
/* That text, or NULL: percent may be. NaN may. */
const char *ws_over_peak(double percent);

/* One line of what is missing; meaning is static text. */
struct ws_missing {
	const char *source;
	struct ws_bytes cause;
	uint64_t count;
	bool is_unknown; /* nobody counted to the end, and so far there was none */
	const char *meaning;
};
/* Everything that can be missing from this trace, zeros and what is not known too. Calls fn for
 * each. */
void ws_missing_each(const struct ws_model *m,
                     void (*fn)(void *ctx, const struct ws_missing *missing), void *ctx);
