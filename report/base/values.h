/* Many numbers of which most fit into 32 bits: times in ns up to 4 s. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "report/base/stat.h"

/* Starts as all zeros; free with ws_values_free. There is one a path and call: it is kept small. */
struct ws_values {
	uint32_t *narrow;
	uint32_t n, capacity;
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
	v->narrow[v->n++] = (uint32_t)value;
}

static inline size_t ws_values_count(const struct ws_values *v)
{
	return v->n + (v->wide ? v->wide->n : 0);
}

/* Statistics of several of them as of one. */
void ws_values_stat(const struct ws_values *const *values, size_t n, struct ws_stat *out);
static inline void ws_values_stat_of(const struct ws_values *values, struct ws_stat *out)
{
	ws_values_stat(&values, 1, out);
}

void ws_values_free(struct ws_values *v);
