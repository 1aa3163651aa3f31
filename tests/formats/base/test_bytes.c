#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "formats/base/bytes.h"

static struct ws_cursor cursor(const void *p, size_t len)
{
	return (struct ws_cursor){p, (const uint8_t *)p + len};
}

Test(bytes, short_input_is_an_error_and_does_not_move)
{
	const uint8_t mem[] = {1, 2, 3};
	struct ws_cursor c = cursor(mem, sizeof(mem));
	const uint8_t *p;
	struct ws_err err;

	cr_assert(eq(int, ws_cursor_bytes(&c, 4, &p, &err), WS_CORRUPT));
	cr_assert_str_eq(err.text, "cannot read 4 bytes: only 3 left");
	cr_assert(eq(sz, ws_cursor_left(&c), 3));
	cr_assert(eq(int, ws_cursor_bytes(&c, 3, &p, &err), WS_OK));
	cr_assert(p == mem);
}

Test(bytes, varints_have_the_bytes_of_the_leb128_definition)
{
	/* 300 = 0b10_0101100: low seven bits first */
	static const struct {
		uint64_t value;
		uint8_t bytes[10];
		unsigned len;
	} known[] = {
	        {0, {0}, 1},
	        {1, {1}, 1},
	        {127, {0x7f}, 1},
	        {128, {0x80, 1}, 2},
	        {300, {0xac, 2}, 2},
	        {16383, {0xff, 0x7f}, 2},
	        {16384, {0x80, 0x80, 1}, 3},
	        {UINT64_MAX, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 10},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint8_t out[10];
		struct ws_cursor c = cursor(known[i].bytes, known[i].len);
		struct ws_err err;
		uint64_t v;

		cr_assert(eq(sz, (size_t)(ws_varint_put(out, known[i].value) - out), known[i].len));
		cr_assert_arr_eq(out, known[i].bytes, known[i].len);
		cr_assert(eq(uint, ws_varint_size(known[i].value), known[i].len));
		cr_assert(eq(int, ws_cursor_varint(&c, &v, &err), WS_OK));
		cr_assert(eq(u64, v, known[i].value));
	}
}

Test(bytes, varint_size_is_right_on_both_sides_of_each_power_of_two)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t power = (uint64_t)1 << bit;
		uint8_t out[10];

		cr_assert(eq(sz, (size_t)(ws_varint_put(out, power) - out), ws_varint_size(power)));
		cr_assert(eq(sz, (size_t)(ws_varint_put(out, power - 1) - out),
		             ws_varint_size(power - 1)));
	}
}

Test(bytes, a_varint_cut_off_or_over_64_bits_is_an_error_and_does_not_move)
{
	const uint8_t cut[] = {0x80, 0x80};
	const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	const uint8_t too_long[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
	struct ws_err err;
	struct ws_cursor c;
	uint64_t v;

	c = cursor(cut, sizeof(cut));
	cr_assert(eq(int, ws_cursor_varint(&c, &v, &err), WS_CORRUPT));
	cr_assert_str_eq(err.text, "a number is cut off at the end of its data");
	cr_assert(c.pos == cut);
	c = cursor(too_large, sizeof(too_large));
	cr_assert(eq(int, ws_cursor_varint(&c, &v, &err), WS_CORRUPT));
	cr_assert_str_eq(err.text, "a number has more than 64 bits");
	c = cursor(too_long, sizeof(too_long));
	cr_assert(eq(int, ws_cursor_varint(&c, &v, &err), WS_CORRUPT));
	cr_assert(c.pos == too_long);
}

Test(bytes, zigzag_numbers_0_minus1_1_minus2_as_0_1_2_3)
{
	const int64_t values[] = {0, -1, 1, -2, 2};

	for (uint64_t i = 0; i < 5; i++)
		cr_assert(eq(u64, ws_zigzag((uint64_t)values[i]), i));
	cr_assert(eq(u64, ws_zigzag((uint64_t)INT64_MIN), UINT64_MAX));
	cr_assert(eq(u64, ws_zigzag((uint64_t)INT64_MAX), UINT64_MAX - 1));
	cr_assert(eq(u64, ws_unzigzag(ws_zigzag(0x123456789abcdef0u)), 0x123456789abcdef0u));
	cr_assert(eq(u64, ws_unzigzag(UINT64_MAX), (uint64_t)INT64_MIN));
}

Test(bytes, a_buffer_keeps_what_was_put_while_it_grows)
{
	struct ws_buf b = {0};

	for (unsigned i = 0; i < 3000; i++)
		ws_buf_put(&b, &i, sizeof(i));
	cr_assert(eq(sz, b.len, 3000 * sizeof(unsigned)));
	for (unsigned i = 0; i < 3000; i++)
		cr_assert(eq(u32, ws_load_u32(b.data + i * sizeof(i)), i));
	ws_buf_free(&b);
	cr_assert(eq(sz, b.capacity, 0));
}

Test(bytes, a_buffer_of_an_impossible_size_ends_the_program, .exit_code = 5)
{
	struct ws_buf b = {0};

	ws_buf_reserve(&b, SIZE_MAX / 2);
}
