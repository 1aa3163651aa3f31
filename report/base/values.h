/*
 * Many numbers of which most fit into 32 bits: times in ns up to 4 s.
 */
#ifndef WS_REPORT_BASE_VALUES_H
#define WS_REPORT_BASE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Starts as all zeros; free with ws_values_free. */
struct ws_values {
	uint32_t *narrow;
	int64_t *wide; /* those that do not fit */
	size_t n, allocated, nwide, wide_allocated;
};

/* Room for one more; 0 without memory. */
static inline bool ws_values_grow(struct ws_values *v, int wide)
{
	size_t *allocated = wide ? &v->wide_allocated : &v->allocated;
	/* by half: what is empty at the end counts where there are many small groups */
	size_t want = *allocated < 8 ? 8 : *allocated + *allocated / 2;
	void *grown = wide ? reallocarray(v->wide, want, sizeof(*v->wide))
	                   : reallocarray(v->narrow, want, sizeof(*v->narrow));

	if (!grown)
		return 0;
	*allocated = want;
	if (wide)
		v->wide = grown;
	else
		v->narrow = grown;
	return 1;
}

/* 0 without memory. */
static inline bool ws_values_add(struct ws_values *v, int64_t value)
{
	if (value >= 0 && value <= UINT32_MAX) {
		if (v->n == v->allocated && !ws_values_grow(v, 0))
			return 0;
		v->narrow[v->n++] = (uint32_t)value;
		return 1;
	}
	if (v->nwide == v->wide_allocated && !ws_values_grow(v, 1))
		return 0;
	v->wide[v->nwide++] = value;
	return 1;
}

static inline size_t ws_values_count(const struct ws_values *v)
{
	return v->n + v->nwide;
}

/* All of them to out, in no order that means anything; returns how many. */
static inline size_t ws_values_copy(const struct ws_values *v, int64_t *out)
{
	for (size_t i = 0; i < v->n; i++)
		out[i] = v->narrow[i];
	for (size_t i = 0; i < v->nwide; i++)
		out[v->n + i] = v->wide[i];
	return v->n + v->nwide;
}

static inline void ws_values_free(struct ws_values *v)
{
	free(v->narrow);
	free(v->wide);
	*v = (struct ws_values){0};
}

#endif
