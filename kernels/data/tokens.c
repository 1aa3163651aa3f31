#include "kernels/data/tokens.h"

#include <stdio.h>

#define FREQUENT_TOKENS 97 /* that the rule of the language is about, at most */

/* The token after `token`, number t of its sequence. frequent: tokens that the rule is about. */
static int64_t next_token(const struct ws_rng *stream, int64_t t, int64_t token, int64_t frequent,
                          int64_t vocab)
{
	uint64_t bits = ws_rng_bits(stream, (uint64_t)t + 1);

	return bits % 4 ? (5 * token + 17) % frequent : (int64_t)((bits >> 2) % (uint64_t)vocab);
}

void ws_data_tokens(uint64_t seed, int64_t step, const struct ws_token_batch *batch, int32_t *x,
                    int32_t *y)
{
	int64_t frequent = batch->vocab < FREQUENT_TOKENS ? batch->vocab : FREQUENT_TOKENS;

	for (int64_t b = 0; b < batch->n; b++) {
		struct ws_rng rng;
		char name[64];
		int64_t token;

		snprintf(name, sizeof(name), "tokens %lld %lld", (long long)step, (long long)b);
		rng = ws_rng_stream(seed, name);
		token = (int64_t)(ws_rng_bits(&rng, 0) % (uint64_t)frequent);
		for (int64_t t = 0; t < batch->context; t++) {
			x[b * batch->context + t] = (int32_t)token;
			token = next_token(&rng, t, token, frequent, batch->vocab);
			y[b * batch->context + t] = (int32_t)token;
		}
	}
}
