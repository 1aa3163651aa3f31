#include "kernels/data/tokens.h"

#include <stdio.h>

void ws_data_token_streams(uint64_t seed, int64_t step, int64_t n, struct ws_rng *streams)
{
	for (int64_t b = 0; b < n; b++) {
		char name[64];

		snprintf(name, sizeof(name), "tokens %lld %lld", (long long)step, (long long)b);
		streams[b] = ws_rng_stream(seed, name);
	}
}

void ws_data_tokens(const struct ws_token_batch *batch, const struct ws_rng *streams, int32_t *x,
                    int32_t *y)
{
	int64_t frequent = batch->vocab < WS_FREQUENT_TOKENS ? batch->vocab : WS_FREQUENT_TOKENS;

	for (int64_t b = 0; b < batch->n; b++) {
		const struct ws_rng *rng = &streams[b];
		int64_t token = (int64_t)(ws_rng_bits(rng, 0) % (uint64_t)frequent);

		for (int64_t t = 0; t < batch->context; t++) {
			x[b * batch->context + t] = (int32_t)token;
			token = ws_data_next_token(rng, t, token, frequent, batch->vocab);
			y[b * batch->context + t] = (int32_t)token;
		}
	}
}
