/*
 * Synthetic training data: made from the seed, learnable, never all zeros
 * (a GPU computes faster on zeros, so they would falsify the timing).
 */
#pragma once

#include <stdint.h>

#include "kernels/base/rng.h"

/* n sequences of context tokens with ids below vocab; all at least 1. */
struct ws_token_batch {
	int64_t n, context, vocab;
};

/*
 * Batch number `step` of a language: x[i] and its successor y[i], both [n, context], in 0 …
 * vocab - 1. Three successors in four follow a fixed rule over at most 97 frequent tokens; the
 * fourth is any token.
 */
void ws_data_tokens(uint64_t seed, int64_t step, const struct ws_token_batch *batch, int32_t *x,
                    int32_t *y);
