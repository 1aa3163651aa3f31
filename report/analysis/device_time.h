/*
 * When devices and threads did what: step windows that hold the device work of their step.
 */
#pragma once

#include <stdbool.h>

#include "report/analysis/filter.h"
#include "report/base/spans.h"

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
