/*
 * The rule of first values: what an element of a tensor is before the first step. The host and
 * devices that draw for themselves follow it through the functions here.
 */
#pragma once

#include "kernels/base/rng_normal.h"
#include "kernels/base/tensor.h"

#define WS_INIT_CUT 3 /* standard deviations that TRUNC_NORMAL keeps within */

/* Number `number` of a stream, by a rule without a table of its own: not ROPE_TABLE. */
static inline WS_HOST_DEVICE double ws_init_draw(const struct ws_init *init,
                                                 const struct ws_rng *rng, uint64_t number)
{
	switch (init->kind) {
	case WS_INIT_TRUNC_NORMAL:
		return init->value * ws_rng_normal(rng, number, WS_INIT_CUT);
	case WS_INIT_NORMAL:
		return init->value * ws_rng_normal(rng, number, HUGE_VAL);
	case WS_INIT_UNIFORM: /* 2 u is exact: contracted or not, the same */
		return init->value * (2 * ws_rng_uniform(rng, number) - 1);
	default:
		return init->value;
	}
}

/* The place of element i of a filter [k, r, s, c] in [k, c, r, s], whose order it is drawn in. */
static inline WS_HOST_DEVICE int64_t ws_init_channels_first(const struct ws_shape *shape, int64_t i)
{
	int64_t channels = shape->dim[3], window = shape->dim[1] * shape->dim[2];
	int64_t k = i / (window * channels), rest = i % (window * channels);

	return (k * channels + rest % channels) * window + rest / channels;
}

/* A tensor's first values on the way. */
struct ws_first_values {
	const struct ws_tensor *t;       /* borrowed */
	struct ws_rng rng[WS_PARTS_MAX]; /* of each part of t */
	int64_t part_count;              /* elements of a part */
};

void ws_first_values(const struct ws_tensor *t, uint64_t seed, struct ws_first_values *values);
/* Element i, before it is rounded to the tensor's dtype. */
double ws_first_value(const struct ws_first_values *values, int64_t i);
