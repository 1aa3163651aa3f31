/*
 * Two helpers for joining big tables: a stable sort of row numbers, and a map
 * from 64-bit ids to row numbers.
 */
#ifndef WS_REPORT_BASE_ORDER_H
#define WS_REPORT_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/* No row, no range, no node: an absent 32-bit index. */
#define WS_NONE UINT32_MAX

/* order[i] = i */
void ws_order_identity(uint32_t *order, size_t n);

/*
 * Reorder order[0..n) so that key[order[i]] ascends (signed). Stable: calling
 * it with the least significant key first sorts by several keys. O(n), and
 * one look where the order is right already.
 */
enum ws_status ws_order_by(uint32_t *order, const int64_t *key, size_t n, struct ws_err *err);

/* The same by 32-bit keys, of which there are `rows`: order may hold some of the rows only. */
enum ws_status ws_order_by_u32(uint32_t *order, const uint32_t *key, size_t n, size_t rows,
                               struct ws_err *err);

/* Starts as all zeros; free with ws_idmap_free. */
struct ws_idmap {
	uint64_t *keys;
	uint32_t *values; /* WS_NONE: a free slot */
	size_t slots;     /* a power of two, or 0 */
	size_t used;
};
/* WS_NONE when the key is absent. */
uint32_t ws_idmap_get(const struct ws_idmap *m, uint64_t key);
/* Add or replace; value must not be WS_NONE. */
enum ws_status ws_idmap_put(struct ws_idmap *m, uint64_t key, uint32_t value, struct ws_err *err);
void ws_idmap_free(struct ws_idmap *m);

#endif
