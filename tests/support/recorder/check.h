/* For programs without Criterion: what does not hold is told and counted. */
#pragma once

#include <stdio.h>

static int failures;

#define CHECK(cond)                                                                          \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			failures++;                                                          \
		}                                                                            \
	} while (0)
