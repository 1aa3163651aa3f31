/*
 * Synthetic training data: made from the seed, learnable, never all zeros
 * (a GPU computes faster on zeros, so they would falsify the timing).
 */
#ifndef WS_KERNELS_DATA_H
#define WS_KERNELS_DATA_H

#include <stdint.h>

/*
 * Batch number `step` of a language: x[i] and its successor y[i], both
 * [batch, context], in 0 … vocab - 1. Three successors in four follow a fixed
 * rule over at most 97 frequent tokens; the fourth is any token.
 */
void ws_data_tokens(uint64_t seed, int64_t step, int64_t batch, int64_t context, int64_t vocab,
                    int32_t *x, int32_t *y);

#endif
