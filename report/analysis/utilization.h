/*
 * MFU and HFU: how much of what the devices could compute a step was used. Matrix products,
 * convolutions and fused attention are held against the dense peak of the dtype that each ran in.
 * Definitions: docs/dev/statistics.md.
 */
#pragma once

#include "report/analysis/costs.h"

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
