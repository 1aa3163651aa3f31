/*
 * Helpers for joining big tables: stable sorts of row numbers, and a map
 * from 64-bit ids to row numbers.
 */
#pragma once

#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/schema/schema.h"

/* No row, no range, no node: an absent 32-bit index. */
#define WS_NONE UINT32_MAX

/* Compares int64_t, for ws_sort. */
int ws_by_time(const void *pa, const void *pb);

/* order[i] = i */
void ws_order_identity(uint32_t *order, size_t n);

/*
 * Reorders order[0..n) so that key[order[i]] ascends (signed). Stable, so calls with the least
 * significant key first sort by several keys. O(n); one scan if the order is right already.
 */
void ws_order_by(uint32_t *order, const int64_t *key, size_t n);

/* Rows grouped by keys below nkeys; rows with key WS_NONE are left out. Rows of key k are
 * order[first[k]] to order[first[k + 1] - 1], in their original order. */
struct ws_rows_by_key {
	uint32_t *order, *first;
};
void ws_order_by_key(struct ws_rows_by_key *out, struct ws_arena *arena, const uint32_t *key,
                     size_t n, size_t nkeys);

/* < 0, 0 or > 0, for functions that compare. */
static inline int ws_order_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/*
 * Number of the n items before the searched one: is_before(ctx, i) is true for exactly these.
 * Searches outwards from `at`, the last result, with doubling steps, then by bisection between the
 * last two.
 */
static inline size_t ws_count_before(size_t n, size_t at, bool (*is_before)(void *ctx, size_t i),
                                     void *ctx)
{
	size_t lo = 0, hi = n, step;

	if (at < n && is_before(ctx, at)) {
		lo = at + 1;
		for (step = 1; at + step < n && is_before(ctx, at + step); step *= 2)
			lo = at + step + 1;
		hi = at + step < n ? at + step : n;
	} else if (at && !is_before(ctx, at - 1)) {
		hi = at - 1;
		for (step = 2; step <= at && !is_before(ctx, at - step); step *= 2)
			hi = at - step;
		lo = step <= at ? at - step + 1 : 0;
	} else {
		return at;
	}
	WS_COUNT_FIRST(step, hi - lo, is_before(ctx, lo + step));
	return lo + step;
}

/*
 * Sort key of a row of a table: ascending numbers, then texts by bytes, then further tie-breakers,
 * finally the number of the row. Unused parts are zero.
 */
struct ws_row_key {
	int64_t number[4];
	struct ws_bytes text[3];
	uint64_t tie[6];
	uint32_t row;
};
void ws_row_keys_sort(struct ws_row_key *keys, size_t n);
/* For number[]: descending order. */
#define WS_DESCENDING(number) (~(int64_t)(number))
/* From ids to rows. All zero is an empty map. Free with ws_idmap_free. */
struct ws_idmap {
	struct ws_map map;
};

/* WS_NONE when the key is absent. */
static inline uint32_t ws_idmap_get(const struct ws_idmap *m, uint64_t key)
{
	const uint64_t *row = ws_map_get(&m->map, key);

	return row ? (uint32_t)*row : WS_NONE;
}

/* Add or replace. */
static inline void ws_idmap_put(struct ws_idmap *m, uint64_t key, uint32_t value)
{
	ws_map_put(&m->map, key, value);
}

static inline void ws_idmap_free(struct ws_idmap *m)
{
	ws_map_free(&m->map);
}
