#include "report/base/order.h"

#include "report/base/names.h"

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
static bool radix_pass(const struct item *from, struct item *to, size_t n, unsigned shift)
{
	size_t at[256] = {0};
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i].key >> shift & 0xff]++;
	if (at[from[0].key >> shift & 0xff] == n)
		return false;
	for (size_t b = 0; b < 256; b++) {
		size_t count = at[b];

		at[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].key >> shift & 0xff]++] = from[i];
	return true;
}

void ws_order_by(uint32_t *order, const int64_t *key, size_t n)
{
	struct item *items = NULL, *spare = NULL;
	struct ws_arena temp = {0};
	size_t i;

	for (i = 1; i < n && key[order[i - 1]] <= key[order[i]]; i++)
		;
	if (i >= n)
		return;

	WS_NEW(&temp, items, n);
	WS_NEW(&temp, spare, n);
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
	ws_arena_free(&temp);
}

static int compare_row_keys(const void *pa, const void *pb)
{
	const struct ws_row_key *a = pa, *b = pb;

	for (size_t i = 0; i < sizeof(a->number) / sizeof(*a->number); i++)
		WS_ORDER_BY(a->number[i], b->number[i]);
	for (size_t i = 0; i < sizeof(a->text) / sizeof(*a->text); i++) {
		int c = ws_name_compare(a->text[i], b->text[i]);

		if (c)
			return c;
	}
	for (size_t i = 0; i < sizeof(a->tie) / sizeof(*a->tie); i++)
		WS_ORDER_BY(a->tie[i], b->tie[i]);
	return ws_order_compare(a->row, b->row);
}

void ws_row_keys_sort(struct ws_row_key *keys, size_t n)
{
	ws_sort(keys, n, sizeof(*keys), compare_row_keys);
}

void ws_order_by_key(struct ws_rows_by_key *out, struct ws_arena *arena, const uint32_t *key,
                     size_t n, size_t nkeys)
{
	uint32_t *first;

	WS_NEW(arena, out->order, n);
	WS_NEW(arena, out->first, nkeys + 2);
	/* one place on, so that filling a key's rows moves its begin to where it belongs */
	first = out->first + 1;
	for (size_t i = 0; i < n; i++)
		if (key[i] != WS_NONE)
			first[key[i] + 1]++;
	for (size_t k = 1; k <= nkeys; k++)
		first[k] += first[k - 1];
	for (uint32_t i = 0; i < n; i++)
		if (key[i] != WS_NONE)
			out->order[first[key[i]]++] = i;
}
