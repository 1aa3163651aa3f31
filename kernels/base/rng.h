/*
 * Random numbers by counter: the n-th number of a stream is a function of
 * (seed, stream, n), so threads can draw in any order, devices draw what the
 * host would, and every dtype gets the same parameters.
 */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define WS_HOST_DEVICE __host__ __device__
#else
#define WS_HOST_DEVICE
#endif

struct ws_rng {
	uint64_t key;
};

#define WS_RNG_GOLDEN 0x9e3779b97f4a7c15 /* 2^64 / golden ratio: SplitMix64's increment */

/* Finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that mixes all bits. */
static inline WS_HOST_DEVICE uint64_t ws_rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* The stream of a name, e.g. of a parameter. */
static inline struct ws_rng ws_rng_stream(uint64_t seed, const char *name)
{
	struct ws_rng rng = {ws_rng_mix(seed + WS_RNG_GOLDEN)};

	for (; *name; name++)
		rng.key = ws_rng_mix((rng.key ^ (unsigned char)*name) + WS_RNG_GOLDEN);
	return rng;
}

/* The n-th 64 random bits. */
static inline WS_HOST_DEVICE uint64_t ws_rng_bits(const struct ws_rng *rng, uint64_t n)
{
	return ws_rng_mix(rng->key + (n + 1) * WS_RNG_GOLDEN);
}

/* The n-th 32 random bits: halves of the 64, the low one first. */
static inline WS_HOST_DEVICE uint32_t ws_rng_half(const struct ws_rng *rng, uint64_t n)
{
	return (uint32_t)(ws_rng_bits(rng, n / 2) >> (n % 2 * 32));
}

/* Of 32 random bits this many values are below a share p < 1 of all, to 2^-32. */
static inline uint32_t ws_rng_below(double p)
{
	double below = p * 0x1p32 + 0.5;

	return below < 0x1p32 ? (uint32_t)below : UINT32_MAX;
}

/* Uniform in [0, 1), 53 bits. */
static inline WS_HOST_DEVICE double ws_rng_uniform(const struct ws_rng *rng, uint64_t n)
{
	return (double)(ws_rng_bits(rng, n) >> 11) * 0x1p-53;
}
