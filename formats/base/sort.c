#include "formats/base/memory.h"

#define RUN_ITEMS 8u /* are sorted by insertion */

struct order {
	int (*compare)(const void *a, const void *b, void *ctx);
	void *ctx;
};

static inline bool sorts_before(const struct order *o, const void *a, const void *b)
{
	return o->compare(a, b, o->ctx) < 0;
}

/* size is a constant for most callers, so that copies are a few instructions. */
static inline __attribute__((always_inline)) void merge_sort(char *items, size_t n, size_t size,
                                                             const struct order *o, char *other)
{
	char *from = items, *to = other;

	for (size_t begin = 0; begin < n; begin += RUN_ITEMS) {
		const size_t end = n - begin < RUN_ITEMS ? n : begin + RUN_ITEMS;

		for (size_t i = begin + 1; i < end; i++) {
			size_t at = i;

			while (at > begin &&
			       sorts_before(o, items + i * size, items + (at - 1) * size))
				at--;
			if (at == i)
				continue;
			memcpy(other, items + i * size, size);
			memmove(items + (at + 1) * size, items + at * size, (i - at) * size);
			memcpy(items + at * size, other, size);
		}
	}
	for (size_t run = RUN_ITEMS; run < n; run *= 2) {
		for (size_t begin = 0; begin < n; begin += 2 * run) {
			const size_t middle = n - begin < run ? n : begin + run;
			const size_t end = n - middle < run ? n : middle + run;
			size_t a = begin, b = middle;

			/* recorded data is mostly sorted already */
			if (b == end || !sorts_before(o, from + b * size, from + (b - 1) * size)) {
				memcpy(to + begin * size, from + begin * size,
				       (end - begin) * size);
				continue;
			}
			for (size_t i = begin; i < end; i++) {
				const bool is_b =
				        a == middle || (b < end && sorts_before(o, from + b * size,
				                                                from + a * size));

				memcpy(to + i * size, from + (is_b ? b++ : a++) * size, size);
			}
		}
		char *sorted = to;

		to = from;
		from = sorted;
	}
	if (from != items)
		memcpy(items, from, n * size);
}

void ws_sort_by(void *items, size_t n, size_t size,
                int (*compare)(const void *a, const void *b, void *ctx), void *ctx)
{
	const struct order o = {compare, ctx};
	char *item = items, *other;
	size_t i;

	/* one comparison if the order is already right */
	for (i = 1; i < n && compare(item + (i - 1) * size, item + i * size, ctx) <= 0; i++)
		;
	if (i >= n)
		return;
	other = ws_xreallocarray(NULL, n, size);
	switch (size) {
	case 4:
		merge_sort(items, n, 4, &o, other);
		break;
	case 8:
		merge_sort(items, n, 8, &o, other);
		break;
	case 16:
		merge_sort(items, n, 16, &o, other);
		break;
	case 24:
		merge_sort(items, n, 24, &o, other);
		break;
	default:
		merge_sort(items, n, size, &o, other);
		break;
	}
	free(other);
}

struct plain {
	int (*compare)(const void *a, const void *b);
};

static int compare_plain(const void *a, const void *b, void *ctx)
{
	const struct plain *p = ctx;

	return p->compare(a, b);
}

void ws_sort(void *items, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
	ws_sort_by(items, n, size, compare_plain, &(struct plain){compare});
}
