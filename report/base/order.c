#include "report/base/order.h"

#include <stdlib.h>
#include <string.h>

struct item {
	uint64_t key;
	uint32_t row;
};

void ws_order_identity(uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
}

/* One stable counting pass over byte `shift / 8`; 0 when all keys agree in it. */
static int radix_pass(const struct item *from, struct item *to, size_t n, unsigned shift)
{
	size_t at[256] = {0};
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i].key >> shift & 0xff]++;
	if (at[from[0].key >> shift & 0xff] == n)
		return 0;
	for (size_t b = 0; b < 256; b++) {
		size_t count = at[b];

		at[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].key >> shift & 0xff]++] = from[i];
	return 1;
}

enum ws_status ws_order_by(uint32_t *order, const int64_t *key, size_t n, struct ws_err *err)
{
	struct item *items = NULL, *spare = NULL;
	enum ws_status status = WS_OK;
	size_t i;

	for (i = 1; i < n && key[order[i - 1]] <= key[order[i]]; i++)
		;
	if (i >= n)
		return WS_OK;

	items = calloc(n, sizeof(*items));
	spare = calloc(n, sizeof(*spare));
	if (!items || !spare) {
		status = WS_FAIL(err, NO_MEMORY, "no memory to sort %zu rows", n);
		goto out;
	}
	for (i = 0; i < n; i++) {
		/* the flipped sign bit makes signed order that of unsigned numbers */
		items[i].key = (uint64_t)key[order[i]] ^ (uint64_t)1 << 63;
		items[i].row = order[i];
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if (radix_pass(items, spare, n, shift)) {
			struct item *t = items;

			items = spare;
			spare = t;
		}
	}
	for (i = 0; i < n; i++)
		order[i] = items[i].row;
out:
	free(items);
	free(spare);
	return status;
}

enum ws_status ws_order_by_u32(uint32_t *order, const uint32_t *key, size_t n, size_t rows,
                               struct ws_err *err)
{
	int64_t *wide = calloc(rows ? rows : 1, sizeof(*wide));
	enum ws_status status;

	if (!wide)
		return WS_FAIL(err, NO_MEMORY, "no memory to sort %zu rows", rows);
	for (size_t i = 0; i < rows; i++)
		wide[i] = key[i];
	status = ws_order_by(order, wide, n, err);
	free(wide);
	return status;
}

/* splitmix64's mixer: neighbouring ids must not share slots. Source: S. Vigna, public domain. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t slot_of(const struct ws_idmap *m, uint64_t key)
{
	size_t i = mix(key) & (m->slots - 1);

	while (m->values[i] != WS_NONE && m->keys[i] != key)
		i = (i + 1) & (m->slots - 1);
	return i;
}

uint32_t ws_idmap_get(const struct ws_idmap *m, uint64_t key)
{
	return m->slots ? m->values[slot_of(m, key)] : WS_NONE;
}

static enum ws_status grow(struct ws_idmap *m, struct ws_err *err)
{
	struct ws_idmap bigger = {.slots = m->slots ? m->slots * 2 : 64};

	bigger.keys = calloc(bigger.slots, sizeof(*bigger.keys));
	bigger.values = calloc(bigger.slots, sizeof(*bigger.values));
	if (!bigger.keys || !bigger.values) {
		ws_idmap_free(&bigger);
		return WS_FAIL(err, NO_MEMORY, "no memory for a map of %zu ids", m->used);
	}
	memset(bigger.values, 0xff, bigger.slots * sizeof(*bigger.values));
	for (size_t i = 0; i < m->slots; i++) {
		size_t at;

		if (m->values[i] == WS_NONE)
			continue;
		at = slot_of(&bigger, m->keys[i]);
		bigger.keys[at] = m->keys[i];
		bigger.values[at] = m->values[i];
	}
	bigger.used = m->used;
	ws_idmap_free(m);
	*m = bigger;
	return WS_OK;
}

enum ws_status ws_idmap_put(struct ws_idmap *m, uint64_t key, uint32_t value, struct ws_err *err)
{
	size_t at;

	/* at most half full: probes stay short */
	if (m->used * 2 >= m->slots)
		WS_FORWARD(grow(m, err));
	at = slot_of(m, key);
	if (m->values[at] == WS_NONE)
		m->used++;
	m->keys[at] = key;
	m->values[at] = value;
	return WS_OK;
}

void ws_idmap_free(struct ws_idmap *m)
{
	free(m->keys);
	free(m->values);
	*m = (struct ws_idmap){0};
}
