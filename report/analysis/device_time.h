/*
 * Windows of steps, which include the device work of their step, and sums over them.
 */
#pragma once

#include "report/analysis/costs.h"

/* The window of a step: from its begin, or the end of the previous step's device work if later, to
 * its end, or the end of the device work that it launched if later. */
struct ws_time_window {
	int64_t start_ns, end_ns;
	uint32_t step;        /* WS_NONE: the window is the whole trace, which has no steps */
	uint64_t device_work; /* kernels, copies and fills launched in it */
};

struct ws_windows {
	struct ws_time_window *window;
	size_t n;
	/* Begin of the first window, or the end of device work without a launch record in its first
	 * tenth: PyTorch's TensorBoard plugin assigns such work to an earlier step, and its
	 * denominator begins after it. */
	int64_t gpu_begin_ns;
};

/*
 * The windows of the selected measured steps, ascending and disjoint. A trace without finished
 * steps has one window, from its first device work to its last, or the whole trace with scope ALL;
 * a program that was switched on and off several times has one for each time. Freed with sel.
 * Source: definitions of PyTorch's TensorBoard plugin.
 */
const struct ws_windows *ws_windows(const struct ws_model *m, const struct ws_selection *sel);

/* Time of a span that was not recorded, because a program was silent (record --standby). */
int64_t ws_unrecorded_ns(const struct ws_model *m, int64_t start_ns, int64_t end_ns);

/* The window of median length: the shorter of the two middle ones; of equal ones the last, because
 * start-up is at the begin. There must be a window. */
const struct ws_time_window *ws_windows_median(const struct ws_windows *w);

/* Replaces ranges by the windows that they would have as steps: sorted, in place. */
void ws_windows_with_work(const struct ws_model *m, const struct ws_selection *sel,
                          struct ws_time_window *windows, size_t n);

/* Does the report cover the whole of a trace that has steps? */
static inline bool ws_is_of_all(const struct ws_selection *sel)
{
	return sel->scope == WS_SCOPE_ALL && sel->measured && !sel->has_steps;
}
/* For such a report one window, else the same as ws_windows. */
const struct ws_windows *ws_windows_in_scope(const struct ws_model *m,
                                             const struct ws_selection *sel);

/* Begin and end of all device work that passes the filters; the whole trace if there is none. */
void ws_device_work_span(const struct ws_model *m, const struct ws_selection *sel,
                         int64_t *start_ns, int64_t *end_ns);

/* The windows of warm-up steps, whatever is selected. */
const struct ws_windows *ws_warm_up_windows(const struct ws_model *m,
                                            const struct ws_selection *sel);

/* Is this the name of a collective operation of one of PyTorch's backends? */
bool ws_name_is_collective(struct ws_bytes name);

/*
 * MFU and HFU: the part of the devices' peak that a step uses. Matrix products, convolutions and
 * fused attention are compared with the dense peak of their dtype. Definitions:
 * docs/dev/statistics.md.
 */

/* Largest share of products with unknown FLOPs in the GPU time of all products. */
#define WS_UTILIZATION_UNTOLD_PERCENT 1

/* Times that the products of selected steps need at the peak. NaN = not known. */
struct ws_utilization {
	double *model_ns, *ran_ns; /* per step: FLOPs of the model only; of all executed work */
	double model_sum_ns, ran_sum_ns; /* of all selected steps */
	double flops;                    /* executed in these steps; known without peaks, too */
	/* length of each step's window, -1: none; and the sum over selected steps */
	const int64_t *step_ns;
	int64_t step_sum_ns;
	int64_t product_ns; /* GPU time of the products, summed over devices */
	uint64_t devices;   /* number of devices that ran them */
	char obstacle[200]; /* why MFU and HFU are unknown; empty = they are known */
	char basis[240];    /* the denominator and its source */
};

/*
 * Computed once per selection, and freed with it. Model FLOPs: those of operations outside backward
 * and optimizer, times three if there is a backward, so that recomputation does not count.
 */
const struct ws_utilization *ws_utilization_find(const struct ws_model *m,
                                                 const struct ws_selection *sel);

/* Text for a share of a peak over 100 %, which means that FLOPs, bytes or the peak are wrong. Such
 * shares are never clipped. */
#define WS_OVER_PEAK "over 100 %: the FLOPs, the bytes or the peak are wrong"
/* That text if percent is over 100, else NULL; also NULL for NaN. */
const char *ws_over_peak(double percent);

/* One kind of missing data; meaning is static text. */
struct ws_missing {
	const char *source;
	struct ws_bytes cause;
	uint64_t count;
	bool is_unknown; /* the count is not final, and was 0 so far */
	const char *meaning;
};
/* Are they records whose loss changes a report? */
bool ws_missing_is_of_records(const struct ws_missing *missing);
/* Calls fn for each kind of data that can be missing, including counts that are zero or unknown. */
void ws_missing_each(const struct ws_model *m,
                     void (*fn)(void *ctx, const struct ws_missing *missing), void *ctx);
