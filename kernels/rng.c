#include "kernels/rng.h"

#include <math.h>

/* Finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that mixes all bits. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

#define GOLDEN 0x9e3779b97f4a7c15 /* 2^64 / golden ratio: SplitMix64's increment */

struct ws_rng ws_rng_stream(uint64_t seed, const char *name)
{
	struct ws_rng rng = {mix(seed + GOLDEN)};

	for (; *name; name++)
		rng.key = mix((rng.key ^ (unsigned char)*name) + GOLDEN);
	return rng;
}

uint64_t ws_rng_bits(const struct ws_rng *rng, uint64_t n)
{
	return mix(rng->key + (n + 1) * GOLDEN);
}

double ws_rng_uniform(const struct ws_rng *rng, uint64_t n)
{
	return (double)(ws_rng_bits(rng, n) >> 11) * 0x1p-53;
}

double ws_rng_trunc_normal(const struct ws_rng *rng, uint64_t n, double limit)
{
	uint64_t bits = ws_rng_bits(rng, n);

	for (;;) {
		/* Box–Muller; u in (0, 1], so that its logarithm is finite */
		float u = (float)((uint32_t)(bits >> 40) + 1) * 0x1p-24f;
		float v = (float)(uint32_t)(bits & 0xffffff) * 0x1p-24f;
		double z = sqrtf(-2 * logf(u)) * cosf(6.2831853f * v);

		if (fabs(z) <= limit)
			return z;
		bits = mix(bits + GOLDEN);
	}
}
