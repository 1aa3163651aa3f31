#include "kernels/data.h"

#include <stdio.h>

#include "kernels/rng.h"

#define FREQUENT_TOKENS 97

void ws_data_tokens(uint64_t seed, int64_t step, int64_t batch, int64_t context, int64_t vocab,
                    int32_t *x, int32_t *y)
{
	int64_t frequent = vocab < FREQUENT_TOKENS ? vocab : FREQUENT_TOKENS;

	for (int64_t b = 0; b < batch; b++) {
		char name[64];
		struct ws_rng rng;
		int64_t token;

		snprintf(name, sizeof(name), "tokens %lld %lld", (long long)step, (long long)b);
		rng = ws_rng_stream(seed, name);
		token = (int64_t)(ws_rng_bits(&rng, 0) % (uint64_t)frequent);
		for (int64_t t = 0; t < context; t++) {
			uint64_t bits = ws_rng_bits(&rng, (uint64_t)t + 1);

			x[b * context + t] = (int32_t)token;
			if (bits % 4)
				token = (5 * token + 17) % frequent;
			else
				token = (int64_t)((bits >> 2) % (uint64_t)vocab);
			y[b * context + t] = (int32_t)token;
		}
	}
}
