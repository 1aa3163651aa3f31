#include "kernels/base/rng.h"

struct ws_rng ws_rng_stream(uint64_t seed, const char *name)
{
	struct ws_rng rng = {ws_rng_mix(seed + WS_RNG_GOLDEN)};

	for (; *name; name++)
		rng.key = ws_rng_mix((rng.key ^ (unsigned char)*name) + WS_RNG_GOLDEN);
	return rng;
}
