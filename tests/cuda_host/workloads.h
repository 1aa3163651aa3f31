/*
 * All that warpsheet-step can be asked to train, in few layers: each model, dtype mode and
 * fusion, with each option that brings other kernels; and the kernels that these need.
 */
#pragma once

#include "kernels/run/step.h"

struct ws_workload {
	struct ws_step_options options;
	char name[96]; /* "resnet18 amp-bf16 full nhwc" */
};

/* The i-th; false after the last. small: sizes at which a step takes no time. */
bool ws_workload_at(int i, bool small, struct ws_workload *workload);

/* Do ops of the graph of any workload need a kernel of that name? Products and convolutions do not
 * count. */
bool ws_workloads_need(const char *kernel);
/* The i-th of these names, sorted; NULL after the last. */
const char *ws_workloads_kernel(int i);

/* Is the op done by a kernel of ours? */
bool ws_is_own_kernel(const struct ws_op *op);
