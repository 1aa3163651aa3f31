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

/* Tokens that the rule of the language is about, at most. */
#define WS_FREQUENT_TOKENS 97

/* The streams [n] of the sequences of batch number `step`. */
void ws_data_token_streams(uint64_t seed, int64_t step, int64_t n, struct ws_rng *streams);

/*
 * A language: x[i] and its successor y[i], both [n, context], in 0 … vocab - 1. Three
 * successors in four follow a fixed rule over at most 97 frequent tokens; the fourth is any token.
 */
void ws_data_tokens(const struct ws_token_batch *batch, const struct ws_rng *streams, int32_t *x,
                    int32_t *y);

/* What follows a token by the rule. */
static inline WS_HOST_DEVICE int64_t ws_data_rule(int64_t token, int64_t frequent)
{
	return (5 * token + 17) % frequent;
}

/* The token after `token`, number t of its sequence. frequent: tokens that the rule is about. */
static inline WS_HOST_DEVICE int64_t ws_data_next_token(const struct ws_rng *stream, int64_t t,
                                                        int64_t token, int64_t frequent,
                                                        int64_t vocab)
{
	uint64_t bits = ws_rng_bits(stream, (uint64_t)t + 1);

	return bits % 4 ? ws_data_rule(token, frequent) : (int64_t)((bits >> 2) % (uint64_t)vocab);
}

/*
 * Token number t of a sequence by itself, the same as step by step: the last one that follows no
 * rule, three back on average, and the rule from there.
 */
static inline WS_HOST_DEVICE int64_t ws_data_token(const struct ws_rng *stream, int64_t t,
                                                   int64_t frequent, int64_t vocab)
{
	int64_t at = t, token;

	while (at > 0 && ws_rng_bits(stream, (uint64_t)at) % 4)
		at--;
	token = at ? ws_data_next_token(stream, at - 1, 0, frequent, vocab)
	           : (int64_t)(ws_rng_bits(stream, 0) % (uint64_t)frequent);
	for (; at < t; at++)
		token = ws_data_rule(token, frequent);
	return token;
}
