/*
 * Random numbers by counter: the n-th number of a stream is a function of
 * (seed, stream, n), so threads can draw in any order and every dtype gets the
 * same parameters.
 */
#ifndef WS_KERNELS_RNG_H
#define WS_KERNELS_RNG_H

#include <stdint.h>

struct ws_rng {
	uint64_t key;
};

/* The stream of a name, e.g. of a parameter. */
struct ws_rng ws_rng_stream(uint64_t seed, const char *name);
/* The n-th 64 random bits. */
uint64_t ws_rng_bits(const struct ws_rng *rng, uint64_t n);
/* Uniform in [0, 1), 53 bits. */
double ws_rng_uniform(const struct ws_rng *rng, uint64_t n);
/* Normal with mean 0, standard deviation 1, drawn again until within ±limit (at least 1). */
double ws_rng_trunc_normal(const struct ws_rng *rng, uint64_t n, double limit);

#endif
