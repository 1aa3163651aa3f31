/*
 * Many numbers of which most fit into 32 bits, as times in ns up to 4 s do, for exact statistics.
 * Memory grows with the number of different values, not with that of all: many values that are
 * mostly equal are kept as pairs, a value and how often it occurred.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "report/base/stat.h"

/* Starts as all zeros; free with ws_values_free. Each path and call has one, so it is small. */
struct ws_values {
	/* first npairs pairs (struct ws_counted_value), by value, then single values as they came
	 */
	uint32_t *word;
	uint32_t npairs;
	uint32_t n, capacity; /* words in use, and words that there is room for */
	struct ws_wide_values {
		size_t n, capacity;
		int64_t v[];
	} * wide; /* values that do not fit; NULL: there is none */
};

/* Room for one more. */
void ws_values_make_room(struct ws_values *v);
void ws_values_add_wide(struct ws_values *v, int64_t value);

static inline void ws_values_add(struct ws_values *v, int64_t value)
{
	if (value < 0 || value > UINT32_MAX) {
		ws_values_add_wide(v, value);
		return;
	}
	if (v->n == v->capacity)
		ws_values_make_room(v);
	v->word[v->n++] = (uint32_t)value;
}

uint64_t ws_values_count(const struct ws_values *v);

/* Statistics of several of them as of one. */
void ws_values_stat(const struct ws_values *const *values, size_t n, struct ws_stat *out);
static inline void ws_values_stat_of(const struct ws_values *values, struct ws_stat *out)
{
	ws_values_stat(&values, 1, out);
}

void ws_values_free(struct ws_values *v);
