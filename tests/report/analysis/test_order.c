/* The order of the rows of a table. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "formats/base/bytes.h"
#include "report/base/order.h"

static void expect_order(const struct ws_row_key *keys, size_t n, const uint32_t *expected)
{
	struct ws_row_key sorted[16];

	memcpy(sorted, keys, n * sizeof(*keys));
	ws_row_keys_sort(sorted, n);
	for (size_t i = 0; i < n; i++)
		cr_expect(eq(u32, sorted[i].row, expected[i]), "place %zu", i);
}

Test(order, numbers_decide_then_texts_then_ties_then_the_row)
{
	const struct ws_row_key keys[] = {
	        {.number = {1}, .row = 0},
	        {.number = {0, 1}, .text = {ws_bytes_of("a")}, .row = 1},
	        {.number = {0, 0, 0, 1}, .row = 2},
	        {.text = {ws_bytes_of("b")}, .row = 3},
	        {.text = {ws_bytes_of("a"), ws_bytes_of("z")}, .row = 4},
	        {.text = {ws_bytes_of("a"), ws_bytes_of("y")}, .tie = {2}, .row = 5},
	        {.text = {ws_bytes_of("a"), ws_bytes_of("y")}, .tie = {1, 9}, .row = 7},
	        {.text = {ws_bytes_of("a"), ws_bytes_of("y")}, .tie = {1, 9}, .row = 6},
	};

	expect_order(keys, 8, (const uint32_t[]){6, 7, 5, 4, 3, 2, 1, 0});
}

Test(order, descending_numbers_put_the_greatest_first_to_the_ends_of_their_range)
{
	const int64_t numbers[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
	struct ws_row_key keys[5];

	for (uint32_t i = 0; i < 5; i++)
		keys[i] = (struct ws_row_key){.number = {WS_DESCENDING(numbers[i])}, .row = i};
	expect_order(keys, 5, (const uint32_t[]){4, 3, 2, 1, 0});
}

Test(order, real_numbers_keep_their_order)
{
	const double numbers[] = {-1e300, -2.5, -1e-300, 0.0, 1e-300, 0.1, 3, 1e300};

	for (size_t i = 1; i < sizeof(numbers) / sizeof(*numbers); i++)
		cr_expect(lt(i64, ws_order_real(numbers[i - 1]), ws_order_real(numbers[i])), "%g",
		          numbers[i]);
	cr_expect(eq(i64, ws_order_real(-0.0), ws_order_real(0.0)));
}
