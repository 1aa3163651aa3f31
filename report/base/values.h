/*
 * Many numbers of which most fit into 32 bits: times in ns up to 4 s. Once
 * there are very many, what came before is kept in order, each value once
 * with how often it came, as a step from the one before: a byte or two. So
 * memory follows the number of different values, not the length of a trace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/stat.h"

/* What few of them have. */
struct ws_values_rest {
	int64_t *wide; /* values that do not fit */
	size_t nwide, wide_capacity;
	/* Narrow ones that came before, ascending, as varints: twice the step from the value
	 * before, 0 at first, and 1 more where it came more than once; then how often, less 2. */
	uint8_t *packed;
	size_t packed_bytes, nruns, in_runs; /* nruns: different values, in_runs: all */
};

/* Starts as all zeros; free with ws_values_free. There is one a path and call: it is kept small. */
struct ws_values {
	uint32_t *narrow; /* as they came, after what is packed */
	uint32_t n, capacity;
	struct ws_values_rest *rest; /* NULL: none has them */
};

/* What is not packed takes so much at first; from then on a long group is packed, and grows no
 * more.
 */
#define WS_VALUES_UNPACKED_BYTES ((size_t)16 << 20)

/* Room for one more, by growing or by packing; false without memory. */
bool ws_values_make_room(struct ws_values *v, size_t *bytes);
bool ws_values_add_wide(struct ws_values *v, int64_t value);

/* bytes: what all groups of an owner take that are not packed; from 0. False without memory. */
static inline bool ws_values_add(struct ws_values *v, int64_t value, size_t *bytes)
{
	if (value < 0 || value > UINT32_MAX)
		return ws_values_add_wide(v, value);
	if (v->n == v->capacity && !ws_values_make_room(v, bytes))
		return false;
	v->narrow[v->n++] = (uint32_t)value;
	return true;
}

static inline size_t ws_values_count(const struct ws_values *v)
{
	return v->n + (v->rest ? v->rest->nwide + v->rest->in_runs : 0);
}

/*
 * Statistics of several of them as of one. scratch is memory that grows as
 * needed and serves the next call too; it starts as all zeros and is freed
 * with ws_values_scratch_free. False without memory.
 */
struct ws_values_scratch {
	void *memory;
	size_t bytes;
};
bool ws_values_stat(const struct ws_values *const *values, size_t n,
                    struct ws_values_scratch *scratch, struct ws_stat *out);
void ws_values_scratch_free(struct ws_values_scratch *scratch);

void ws_values_free(struct ws_values *v);
