/*
 * Rows that wait for their time, in order of it.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/bytes.h"
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
		void *grown = reallocarray(r->rows, want ? want : 1, r->row_size);

		if (!grown)
			return NULL;
		r->rows = grown;
		r->capacity = want;
	}
	return r->rows + r->n * r->row_size;
}

static int64_t time_of(const struct ws_pass_rows *r, const uint8_t *row)
{
	return (int64_t)ws_load_u64(row + r->time_offset);
}

void ws_pass_rows_filled(struct ws_pass_rows *r, size_t n)
{
	const uint8_t *row = r->rows + (r->n ? r->n - 1 : 0) * r->row_size;
	const uint8_t *end;

	r->n += n;
	end = r->rows + r->n * r->row_size;
	for (; row + r->row_size < end; row += r->row_size) {
		int64_t here = time_of(r, row), next = time_of(r, row + r->row_size);

		if (next < here || (next == here && ws_load_u64(row + r->row_size + r->at_offset) <
		                                            ws_load_u64(row + r->at_offset))) {
			r->unsorted = 1;
			return;
		}
	}
}

/* By time, what happened at one time by its place in the file. */
enum ws_status ws_pass_rows_sort(struct ws_pass_rows *r, struct ws_err *err)
{
	size_t n = r->n - r->first;
	uint8_t *from = r->rows + r->first * r->row_size, *sorted;
	uint32_t *order;
	int64_t *key;
	enum ws_status status = WS_OK;

	if (!r->unsorted)
		return WS_OK;
	order = calloc(n, sizeof(*order));
	key = calloc(n, sizeof(*key));
	sorted = malloc(r->capacity * r->row_size);
	if (!order || !key || !sorted)
		status = WS_FAIL(err, NO_MEMORY, "no memory to sort %zu rows", n);
	if (status == WS_OK) {
		ws_order_identity(order, n);
		for (size_t i = 0; i < n; i++)
			key[i] = (int64_t)ws_load_u64(from + i * r->row_size + r->at_offset);
		status = ws_order_by(order, key, n, err);
	}
	if (status == WS_OK) {
		for (size_t i = 0; i < n; i++)
			key[i] = time_of(r, from + i * r->row_size);
		status = ws_order_by(order, key, n, err);
	}
	if (status == WS_OK) {
		for (size_t i = 0; i < n; i++)
			memcpy(sorted + i * r->row_size, from + order[i] * r->row_size,
			       r->row_size);
		free(r->rows);
		r->rows = sorted;
		r->first = 0;
		r->n = n;
		r->unsorted = 0;
		sorted = NULL;
	}
	free(sorted);
	free(order);
	free(key);
	return status;
}
