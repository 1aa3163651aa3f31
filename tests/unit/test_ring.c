/* The ring: order, wrap-around, fullness, and two threads at once. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "recorder/ring.h"

#define SIZE 4096u

static struct ws_ring ring;
static uint8_t bytes[SIZE];

/* Append len bytes of value; 0 when the ring is full. */
static int append(const void *value, uint32_t len, uint64_t keep)
{
	uint64_t pos = ws_ring_claim(&ring, SIZE, len, keep);

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
	uint64_t pos = ws_ring_claim(&ring, SIZE, 8, 0);

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

/* --- two threads ---------------------------------------------------------------- */

#define RECORDS 200000u

/* Records of 8 to 120 bytes: length, number, then bytes made from the number. */
static uint32_t record_length(uint32_t number)
{
	return 8 + number * 2654435761u % 113;
}

static void *produce(void *arg)
{
	uint8_t rec[128];

	(void)arg;
	for (uint32_t n = 0; n < RECORDS; n++) {
		uint32_t len = record_length(n);

		memcpy(rec, &len, 4);
		memcpy(rec + 4, &n, 4);
		memset(rec + 8, (int)(n & 0xFF), len - 8);
		while (!append(rec, len, 0))
			sched_yield();
	}
	return NULL;
}

Test(ring, a_thread_reads_whole_records_in_order_while_another_writes, .timeout = 60)
{
	uint64_t tail = 0, bad = 0;
	pthread_t producer;
	uint32_t next = 0;

	cr_assert_eq(pthread_create(&producer, NULL, produce, NULL), 0);
	while (next < RECORDS) {
		uint64_t head = ws_ring_head(&ring);

		if (head == tail)
			sched_yield();
		while (tail < head) {
			uint32_t len, number;
			uint8_t rec[128];

			ws_ring_get(bytes, SIZE, tail, &len, 4);
			cr_assert_leq(len, sizeof(rec));
			ws_ring_get(bytes, SIZE, tail, rec, len);
			memcpy(&number, rec + 4, 4);
			bad += number != next || len != record_length(next);
			for (uint32_t i = 8; i < len; i++)
				bad += rec[i] != (next & 0xFF);
			tail += len;
			next++;
		}
		ws_ring_release(&ring, tail);
	}
	pthread_join(producer, NULL);
	cr_expect_eq(bad, 0);
	cr_expect_eq(ws_ring_head(&ring), tail);
}
