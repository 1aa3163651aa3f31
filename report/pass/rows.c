/*
 * Rows that wait for their time, in order of it.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/bytes.h"
#include "formats/base/xalloc.h"
#include "report/pass/private.h"

void *ws_pass_rows_reserve(struct ws_pass_rows *r, size_t n)
{
	if (r->first) {
		memmove(r->rows, r->rows + r->first * r->row_size, (r->n - r->first) * r->row_size);
		r->n -= r->first;
		r->first = 0;
	}
	if (r->n + n > r->capacity) {
		/* what waits is little: no doubling */
		size_t want = r->n + n + r->n / 2;

		r->rows = ws_xreallocarray(r->rows, want, r->row_size);
		r->capacity = want;
	}
	return r->rows + r->n * r->row_size;
}

/* So many that wait are put in front of those that come without another thought. */
#define IN_FRONT 1024u

void *ws_pass_rows_begin(struct ws_pass_rows *r, size_t row_size, size_t n)
{
	uint8_t *rows;

	r->capacity = r->row_size ? r->capacity * r->row_size / row_size : 0;
	r->row_size = row_size;
	r->first = r->n = 0;
	r->unsorted = 0;
	rows = ws_pass_rows_reserve(r, n + IN_FRONT);
	r->first = r->n = IN_FRONT;
	return rows + IN_FRONT * row_size;
}

static inline struct ws_pass_when time_of_row(const uint8_t *row)
{
	return (struct ws_pass_when){(int64_t)ws_load_u64(row), ws_load_u64(row + sizeof(int64_t))};
}

void ws_pass_rows_filled(struct ws_pass_rows *r, size_t n, bool unsorted)
{
	const uint8_t *row = r->rows + r->n * r->row_size;

	r->unsorted |=
	        unsorted || (r->n > r->first && n &&
	                     ws_pass_is_before(time_of_row(row), time_of_row(row - r->row_size)));
	r->n += n;
}

/* Put rows that stand a little too late in their places; false when that is not done with few
 * moves. */
static bool sort_nearly_sorted(struct ws_pass_rows *r)
{
	const size_t size = r->row_size;
	uint8_t *first = r->rows + r->first * size, *end = r->rows + r->n * size;
	uint8_t late[WS_PASS_ROW_MAX_BYTES];
	size_t moves = 16 * (r->n - r->first);

	for (uint8_t *row = first + size; row < end; row += size) {
		struct ws_pass_when when = time_of_row(row);
		uint8_t *to = row;

		while (to > first && moves && ws_pass_is_before(when, time_of_row(to - size))) {
			to -= size;
			moves--;
		}
		if (!moves)
			return false;
		if (to == row)
			continue;
		memcpy(late, row, size);
		memmove(to + size, to, (size_t)(row - to));
		memcpy(to, late, size);
	}
	return true;
}

void ws_pass_rows_sort(struct ws_pass_rows *r)
{
	size_t n = r->n - r->first;
	uint8_t *from, *sorted;
	uint32_t *order;
	int64_t *key;

	if (!r->unsorted) /* there may be no row at all */
		return;
	from = r->rows + r->first * r->row_size;
	if (sort_nearly_sorted(r)) {
		r->unsorted = 0;
		return;
	}
	order = ws_xarray(n, sizeof(*order));
	key = ws_xarray(n, sizeof(*key));
	sorted = ws_xmalloc(r->capacity * r->row_size);
	ws_order_identity(order, n);
	for (size_t i = 0; i < n; i++)
		key[i] = (int64_t)time_of_row(from + i * r->row_size).position;
	ws_order_by(order, key, n);
	for (size_t i = 0; i < n; i++)
		key[i] = time_of_row(from + i * r->row_size).time_ns;
	ws_order_by(order, key, n);
	for (size_t i = 0; i < n; i++)
		memcpy(sorted + i * r->row_size, from + order[i] * r->row_size, r->row_size);
	free(r->rows);
	r->rows = sorted;
	r->first = 0;
	r->n = n;
	r->unsorted = 0;
	free(order);
	free(key);
}

/* Both are in order: those of `waiting`, which are few, stand in front of `more` until those that
 * are less stand in front of them. */
static void merge_in_front(const struct ws_pass_rows *waiting, struct ws_pass_rows *more)
{
	const size_t size = more->row_size, n = waiting->n - waiting->first;
	const uint8_t *a = waiting->rows + waiting->first * size, *a_end = a + n * size;
	const uint8_t *b = more->rows + more->first * size, *b_end = more->rows + more->n * size;
	uint8_t *to = more->rows + (more->first - n) * size;

	for (; a < a_end; to += size) {
		const bool later = b < b_end && ws_pass_is_before(time_of_row(b), time_of_row(a));

		memcpy(to, later ? b : a, size);
		*(later ? &b : &a) += size;
	}
	more->first -= n;
}

/* … and `more` goes behind `waiting`, from its last one on. */
static void merge_behind(struct ws_pass_rows *waiting, const struct ws_pass_rows *more)
{
	const size_t size = more->row_size;
	const uint8_t *a = waiting->rows + waiting->first * size;
	const uint8_t *a_end = waiting->rows + waiting->n * size;
	const uint8_t *b = more->rows + more->first * size, *b_end = more->rows + more->n * size;
	uint8_t *to = waiting->rows + (waiting->n + more->n - more->first) * size;

	while (b < b_end) {
		const bool later = a < a_end && ws_pass_is_before(time_of_row(b_end - size),
		                                                  time_of_row(a_end - size));

		to -= size;
		*(later ? &a_end : &b_end) -= size;
		memcpy(to, later ? a_end : b_end, size);
	}
	waiting->n += more->n - more->first;
}

void ws_pass_rows_merge(struct ws_pass_rows *waiting, struct ws_pass_rows *more)
{
	struct ws_pass_rows was;

	ws_pass_rows_sort(waiting);
	was = *waiting;
	if (waiting->n - waiting->first > more->first) {
		ws_pass_rows_reserve(waiting, more->n - more->first);
		merge_behind(waiting, more);
		return;
	}
	if (waiting->first < waiting->n) /* else there may be no room of theirs */
		merge_in_front(waiting, more);
	*waiting = *more;
	*more = was;
}
