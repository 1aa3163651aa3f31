#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/base/spill.h"

struct row {
	uint32_t key, number;
};

static uint32_t key_of(const void *ctx, const void *row)
{
	(void)ctx;
	return ((const struct row *)row)->key;
}

/* Rows of three keys in turn: each key's together, in the order in which they came. */
static void partition(size_t n, int in_file)
{
	const struct ws_spill_key key = {3, key_of, NULL};
	struct ws_spill s;

	ws_spill_open(&s, n * sizeof(struct row));
	cr_assert(eq(int, s.is_file, in_file));
	for (uint32_t i = 0; i < n; i++) {
		const struct row row = {(i + 2) % 3, i};

		ws_spill_put(&s, sizeof(row), i, &row);
	}
	for (int again = 0; again < 2; again++) {
		ws_spill_partition(&s, sizeof(struct row), n, &key);
		for (uint32_t i = 0, k = 0; i < n; k++)
			for (uint32_t number = (k + 1) % 3; number < n; number += 3, i++) {
				const struct row *row = ws_spill_row(&s, sizeof(*row), i);

				cr_assert(row->key == k && row->number == number, "row %u", i);
			}
	}
	ws_spill_close(&s);
}

Test(spill, rows_by_key_in_memory)
{
	partition(10, 0);
}

Test(spill, rows_by_key_in_a_file)
{
	partition(WS_SPILL_SMALL_BYTES / sizeof(struct row) + 1000, 1);
}

static int by_key_and_number(const void *a, const void *b, void *ctx)
{
	const struct row *x = a, *y = b;

	(void)ctx;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Keys that repeat and stand anywhere; again when they are in order. */
static void sort(size_t n, int in_file)
{
	struct ws_spill s;

	ws_spill_open(&s, n * sizeof(struct row));
	cr_assert(eq(int, s.is_file, in_file));
	for (uint32_t i = 0; i < n; i++) {
		const struct row row = {i * 2654435761u % 1000, i};

		ws_spill_put(&s, sizeof(row), i, &row);
	}
	for (int again = 0; again < 2; again++) {
		uint64_t numbers = 0;

		ws_spill_sort(&s, sizeof(struct row), n, by_key_and_number, NULL);
		for (size_t i = 0; i < n; i++) {
			const struct row *row = ws_spill_row(&s, sizeof(*row), i);

			numbers += row->number;
			cr_assert(eq(u32, row->key, row->number * 2654435761u % 1000));
			cr_assert(i == 0 || by_key_and_number(row - 1, row, NULL) < 0, "row %zu",
			          i);
		}
		cr_assert(eq(u64, numbers, (uint64_t)n * (n - (n > 0)) / 2));
	}
	ws_spill_close(&s);
}

Test(spill, sorted_in_memory)
{
	sort(0, 0);
	sort(1, 0);
	sort(1000, 0);
	sort(200000, 0); /* runs that are merged */
}

Test(spill, sorted_in_a_file)
{
	sort(WS_SPILL_SMALL_BYTES / sizeof(struct row) + 1000, 1);
}

/* As ranges end: what is inside others first, and some only when all others are there. */
Test(spill, put_in_the_order_in_which_ranges_end)
{
	const uint32_t n = WS_SPILL_SMALL_BYTES / sizeof(struct row) + 1003, outer = 70000;
	struct ws_spill s;

	ws_spill_open(&s, n * sizeof(struct row));
	for (uint32_t first = 0; first < n; first += 7)
		for (uint32_t i = first + 7 < n ? first + 7 : n; i-- > first;) {
			const struct row row = {i, i ^ 5}, *put;

			if (i % outer == 0)
				continue;
			ws_spill_put(&s, sizeof(row), i, &row);
			put = ws_spill_row(&s, sizeof(row), i);
			cr_assert(put->key == i && put->number == (i ^ 5), "row %u", i);
		}
	for (uint32_t i = 0; i < n; i += outer)
		ws_spill_put(&s, sizeof(struct row), i, &(struct row){i, i ^ 5});
	for (uint32_t i = 0; i < n; i++) {
		const struct row *row = ws_spill_row(&s, sizeof(*row), i);

		cr_assert(row->key == i && row->number == (i ^ 5), "row %u", i);
	}
	ws_spill_flush(&s);
	for (uint32_t i = 0; i < n; i++)
		cr_assert(eq(u32, ((struct row *)s.data)[i].number, i ^ 5));
	ws_spill_close(&s);
}

/* Some rows come long after those around them, as a range does that ends late: into the window that
 * is filled, or one that was written. */
Test(spill, what_comes_late_is_what_was_put)
{
	const uint32_t n = WS_SPILL_SMALL_BYTES / sizeof(struct row) * 3, late = 40000;
	struct ws_spill s;

	ws_spill_open(&s, n * sizeof(struct row));
	for (uint32_t i = 0; i < n + late; i++) {
		const struct row now = {i + 1, i}, then = {i - late + 1, i - late};

		if (i < n && i % 100)
			ws_spill_put(&s, sizeof(now), i, &now);
		if (i >= late && (i - late) % 100 == 0)
			ws_spill_put(&s, sizeof(then), i - late, &then);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct row *row = ws_spill_row(&s, sizeof(*row), i);

		cr_assert(row->key == i + 1 && row->number == i, "row %u", i);
	}
	ws_spill_close(&s);
}

/* A range's row and that of the range around it, in turn: both stay at hand, and are not brought
 * anew each time. Rows of ever new parts are. */
Test(spill, a_row_far_away_in_turn_is_not_brought_anew)
{
	const size_t part_rows = WS_SPILL_AROUND_BYTES / sizeof(struct row);
	const size_t n = 2 * WS_SPILL_SMALL_BYTES / sizeof(struct row);
	struct ws_spill s;

	ws_spill_open(&s, n * sizeof(struct row));
	for (uint32_t i = 0; i < n; i++)
		ws_spill_put(&s, sizeof(struct row), i, &(struct row){i, i});
	ws_spill_flush(&s);
	ws_spill_let_go(&s);
	for (uint32_t i = 0; i < 20; i++) {
		struct row *row = ws_spill_row(&s, sizeof(*row), 20 * part_rows + i);

		cr_assert(eq(u32, row->number, (uint32_t)(20 * part_rows + i)));
		row = ws_spill_row(&s, sizeof(*row), 10 * part_rows);
		cr_assert(eq(u32, row->key, (uint32_t)(10 * part_rows) + i));
		row->key++;
	}
	cr_assert(le(sz, s.touched_bytes, 2 * WS_SPILL_AROUND_BYTES));
	for (size_t part = 0; part < 5; part++)
		ws_spill_row(&s, sizeof(struct row), part * part_rows);
	cr_assert(ge(sz, s.touched_bytes, 5 * WS_SPILL_AROUND_BYTES));
	ws_spill_close(&s);
}

#ifdef SPILLS_TO_MEMORY
Test(spill, memory_needs_no_folder)
{
	struct ws_spill s;

	setenv("TMPDIR", "/nonexistent", 1);
	ws_spill_open(&s, 2 * WS_SPILL_SMALL_BYTES);
	ws_spill_close(&s);
}
#else
Test(spill, no_folder_for_the_file_ends_the_program, .exit_code = 4)
{
	struct ws_spill s;

	setenv("TMPDIR", "/nonexistent", 1);
	ws_spill_open(&s, 2 * WS_SPILL_SMALL_BYTES);
}
#endif
