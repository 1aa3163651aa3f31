/*
 * Synthetic training data: made from the seed, learnable, never all zeros
 * (a GPU computes faster on zeros, so they would falsify the timing).
 */
#ifndef WS_KERNELS_DATA_H
#define WS_KERNELS_DATA_H

#include <stdint.h>

#include "kernels/rng.h"

/* A batch of token sequences of a vocabulary. */
struct ws_token_draw {
	int64_t batch, context, vocab;
};

/* Tokens that the rule of the language is about, at most. */
#define WS_FREQUENT_TOKENS 97

/* The streams [batch] of the sequences of batch number `step`. */
void ws_data_token_streams(uint64_t seed, int64_t step, int64_t batch, struct ws_rng *streams);

/*
 * A language: x[i] and its successor y[i], both [batch, context], in 0 … vocab - 1. Three
 * successors in four follow a fixed rule over at most 97 frequent tokens; the fourth is any token.
 */
void ws_data_tokens(const struct ws_token_draw *draw, const struct ws_rng *streams, int32_t *x,
                    int32_t *y);

#endif
