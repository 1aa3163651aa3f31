/*
 * How many random traces a test makes of those that it has. Under the address sanitizer each takes
 * fifteen times as long, as its large blocks are mapped and cleared anew; what it looks for shows
 * in a fifth of them, and results are compared in every other build.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __SANITIZE_ADDRESS__
#define RANDOM_TRACES(all) (((all) + 4) / 5)
#else
#define RANDOM_TRACES(all) (all)
#endif

/* That more than `least` of all traces had something; of a fifth of them that is not asked. */
static inline bool random_traces_had(size_t n, size_t least)
{
	return RANDOM_TRACES(5) < 5 || n > least;
}
