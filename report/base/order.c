#include "report/base/names.h"
#include "report/base/order.h"
#include "report/base/spans.h"

struct item {
	uint64_t key;
	uint32_t row;
};

int ws_by_time(const void *pa, const void *pb)
{
	const int64_t *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

void ws_order_identity(uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
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
		/* flipping the sign bit makes signed order equal to unsigned order */
		items[i].key = (uint64_t)key[order[i]] ^ (uint64_t)1 << 63;
		items[i].row = order[i];
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		/* one stable counting pass over a byte, unless all keys agree in it */
		size_t at[256] = {0}, sum = 0;
		struct item *from = items;

		for (i = 0; i < n; i++)
			at[from[i].key >> shift & 0xff]++;
		if (at[from[0].key >> shift & 0xff] == n)
			continue;
		for (size_t b = 0; b < 256; b++) {
			size_t count = at[b];

			at[b] = sum;
			sum += count;
		}
		for (i = 0; i < n; i++)
			spare[at[from[i].key >> shift & 0xff]++] = from[i];
		items = spare;
		spare = from;
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
	WS_NEW(arena, out->order, n);
	WS_NEW(arena, out->first, nkeys + 2);
	/* shifted by one, so that filling a key's rows advances its begin to the right place */
	uint32_t *first = out->first + 1;
	for (size_t i = 0; i < n; i++)
		if (key[i] != WS_NONE)
			first[key[i] + 1]++;
	for (size_t k = 1; k <= nkeys; k++)
		first[k] += first[k - 1];
	for (uint32_t i = 0; i < n; i++)
		if (key[i] != WS_NONE)
			out->order[first[key[i]]++] = i;
}

/* --- spans --- */

void ws_spans_open(struct ws_spans *s, size_t most)
{
	ws_spill_open(&s->file, most * sizeof(*s->span));
	s->span = s->file.data;
	s->capacity = most;
}

void ws_spans_add(struct ws_spans *s, int64_t start_ns, int64_t end_ns)
{
	const struct ws_span span = {start_ns, end_ns};

	if (end_ns <= start_ns)
		return;
	s->is_mixed |= s->n && start_ns <= s->last.end_ns;
	s->last = span;
	if (s->file.data) {
		ws_spill_put(&s->file, sizeof(span), s->n++, &span);
		return;
	}
	WS_GROW(s->span, s->n + 1, s->capacity);
	s->span[s->n++] = span;
}

void ws_spans_cover(struct ws_spans *s, int64_t start_ns, int64_t end_ns)
{
	if (!s->n || start_ns < s->last.start_ns || start_ns > s->last.end_ns) {
		ws_spans_add(s, start_ns, end_ns);
		return;
	}
	if (end_ns <= s->last.end_ns)
		return;
	struct ws_span *last =
	        s->file.data ? ws_spill_row(&s->file, sizeof(*last), s->n - 1) : &s->span[s->n - 1];
	last->end_ns = s->last.end_ns = end_ns;
}

static int by_start(const void *pa, const void *pb)
{
	const struct ws_span *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static int by_start_in_file(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	return by_start(a, b);
}

void ws_spans_sort(struct ws_spans *s)
{
	if (s->file.data && s->is_mixed)
		ws_spill_sort(&s->file, sizeof(*s->span), s->n, by_start_in_file, NULL);
	else if (s->file.data)
		ws_spill_flush(&s->file);
	else if (s->is_mixed)
		ws_sort(s->span, s->n, sizeof(*s->span), by_start);
	if (s->file.data)
		s->span = s->file.data;
}

void ws_spans_merge(struct ws_spans *s)
{
	size_t n = 0;

	ws_spans_sort(s);
	if (!s->is_mixed)
		return;
	for (size_t i = 0; i < s->n; i++) {
		ws_spill_used(&s->file, sizeof(*s->span));
		if (n && s->span[i].start_ns <= s->span[n - 1].end_ns) {
			if (s->span[i].end_ns > s->span[n - 1].end_ns)
				s->span[n - 1].end_ns = s->span[i].end_ns;
		} else {
			s->span[n++] = s->span[i];
		}
	}
	s->n = n;
	s->last = s->span[n - 1];
	s->is_mixed = false;
}

int64_t ws_spans_inside(const struct ws_spans *s, int64_t start_ns, int64_t end_ns)
{
	int64_t ns = 0;
	size_t i;

	WS_COUNT_FIRST(i, s->n, s->span[i].end_ns <= start_ns);
	for (; i < s->n && s->span[i].start_ns < end_ns; i++)
		ns += ws_span_overlap(s->span[i].start_ns, s->span[i].end_ns, start_ns, end_ns);
	return ns;
}

void ws_spans_release(struct ws_spans *s)
{
	if (s->file.data)
		ws_spill_close(&s->file);
	else
		free(s->span);
	*s = (struct ws_spans){0};
}
