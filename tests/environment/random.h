/* Numbers that look random and are the same each time, on every machine. */
#pragma once

#include <math.h>
#include <stdint.h>

/* xorshift64 (Marsaglia): of a state that is not 0. */
static inline uint64_t random_u64(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline uint64_t random_step(uint64_t *state)
{
	return *state = *state * 6364136223846793005u + 1442695040888963407u;
}

/* Below n. */
static inline unsigned random_below(uint64_t *state, unsigned n)
{
	return (unsigned)(random_step(state) >> 33) % n;
}

/* Between 0 and 1. */
static inline double random_uniform(uint64_t *state)
{
	return ((double)(random_step(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double random_normal(uint64_t *state)
{
	return sqrt(-2 * log(random_uniform(state))) * cos(2 * M_PI * random_uniform(state));
}
