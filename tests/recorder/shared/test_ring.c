/* The ring: order, wrap-around, fullness. Two threads at once: tests/recorder/record/stress.c. */
#include <criterion/criterion.h>

#include "recorder/shared/record.h"

#define SIZE 4096u

static struct ws_ring ring;
static uint8_t bytes[SIZE];

/* Append len bytes of value; 0 when the ring is full. */
static int append(const void *value, uint32_t len, uint64_t keep)
{
	uint64_t pos = ws_ring_claim(&ring, SIZE, SIZE, len, keep);

	if (pos == UINT64_MAX)
		return 0;
	ws_ring_publish(&ring, ws_ring_put(bytes, SIZE, pos, value, len));
	return 1;
}

Test(ring, what_is_put_in_comes_out)
{
	char out[6];

	cr_expect(append("hello", 6, 0));
	cr_expect_eq(ws_ring_head(&ring), 6);
	ws_ring_get(bytes, SIZE, 0, out, 6);
	cr_expect_str_eq(out, "hello");
}

Test(ring, nothing_is_visible_before_it_is_published)
{
	uint64_t pos = ws_ring_claim(&ring, SIZE, SIZE, 8, 0);

	ws_ring_put(bytes, SIZE, pos, "12345678", 8);
	cr_expect_eq(ws_ring_head(&ring), 0);
	ws_ring_publish(&ring, pos + 8);
	cr_expect_eq(ws_ring_head(&ring), 8);
}

Test(ring, a_record_may_wrap_around_the_end)
{
	uint8_t filler[SIZE - 3] = {0};
	char out[8];

	cr_expect(append(filler, sizeof(filler), 0));
	ws_ring_release(&ring, SIZE - 3);
	cr_expect(append("abcdefg", 8, 0));
	cr_expect_eq(memcmp(bytes + SIZE - 3, "abc", 3), 0);
	cr_expect_eq(memcmp(bytes, "defg", 5), 0);
	ws_ring_get(bytes, SIZE, SIZE - 3, out, 8);
	cr_expect_str_eq(out, "abcdefg");
}

Test(ring, it_holds_exactly_its_size)
{
	uint8_t whole[SIZE];

	memset(whole, 7, sizeof(whole));
	cr_expect(!append(whole, SIZE, 1), "a byte more than there is");
	cr_expect(append(whole, SIZE, 0));
	cr_expect(!append("x", 1, 0));
	ws_ring_release(&ring, 1);
	cr_expect(append("x", 1, 0));
	cr_expect(!append("x", 1, 0));
}

Test(ring, room_that_is_kept_can_be_used_only_without_keeping)
{
	uint8_t most[SIZE - 24] = {0};

	cr_expect(append(most, sizeof(most), 24));
	cr_expect(!append("12345678", 8, 24));
	cr_expect(append("123456781234567812345678", 24, 0));
}

Test(ring, positions_beyond_32_bits_work)
{
	const uint64_t far = (UINT64_C(1) << 40) - 4;
	char out[8];

	atomic_store(&ring.head, far);
	atomic_store(&ring.tail, far);
	cr_expect(append("abcdefg", 8, 0));
	cr_expect_eq(ws_ring_head(&ring), far + 8);
	ws_ring_get(bytes, SIZE, far, out, 8);
	cr_expect_str_eq(out, "abcdefg");
}
