/* The rule of first values: what an element of a tensor is before the first step. */
#pragma once

#include "kernels/base/rng_normal.h"
#include "kernels/base/tensor.h"

#define WS_INIT_CUT 3 /* standard deviations that TRUNC_NORMAL keeps within */

/* A tensor's first values on the way. */
struct ws_first_values {
	const struct ws_tensor *t;       /* borrowed */
	struct ws_rng rng[WS_PARTS_MAX]; /* of each part of t */
	int64_t part_count;              /* elements of a part */
};

void ws_first_values(const struct ws_tensor *t, uint64_t seed, struct ws_first_values *values);
/* Element i, before it is rounded to the tensor's dtype. */
double ws_first_value(const struct ws_first_values *values, int64_t i);
