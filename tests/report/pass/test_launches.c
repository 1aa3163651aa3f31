/*
 * Calls that wait for their kernels, and which ids are used for what.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "report/pass/launches.h"

static uint32_t seed;

static uint32_t pick(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

#define IDS 300

/* Put, find and take at random beside an array that does the same; the table grows and has holes.
 */
static void compare_with_array(uint64_t stride, uint32_t processes)
{
	static uint8_t here[2][IDS];
	struct ws_launches_waiting w = {0};
	struct ws_err err;
	size_t n = 0;

	memset(here, 0, sizeof(here));
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t process = pick(processes), id = pick(IDS);
		uint64_t correlation = 7 + id * stride;
		struct ws_launch_waiting *slot = ws_launches_find(&w, process, correlation);

		cr_assert(eq(int, slot != NULL, here[process][id]), "round %u", i);
		if (!slot) {
			cr_assert(eq(int, ws_launches_put(&w, process, correlation, &slot, &err),
			             WS_OK));
			slot->range = id;
			slot->stays = id % 2;
			n++;
		} else {
			cr_assert(eq(u32, slot->range, id));
			cr_assert(eq(int, slot->stays, id % 2));
			ws_launches_take(&w, slot);
			n--;
		}
		here[process][id] ^= 1;
		cr_assert(eq(sz, w.n, n));
	}
	ws_launches_free(&w);
}

Test(launches, waiting_calls_are_found_until_they_are_taken)
{
	seed = 1;
	compare_with_array(1, 1); /* each has a slot of its own */
	compare_with_array(1, 2);
	compare_with_array((uint64_t)1 << 33, 2);
}

Test(launches, ids_tell_who_uses_them)
{
	struct ws_launch_ids ids = {0};
	struct ws_err err;
	const uint64_t far = (uint64_t)1 << 40;

	for (int i = 0; i < 3; i++)
		cr_assert(eq(int, ws_launch_ids_note(&ids, 0, 5, WS_LAUNCH_ONCE, &err), WS_OK));
	cr_assert(eq(int, ws_launch_ids_note(&ids, 0, 7, WS_LAUNCH_ONCE, &err), WS_OK));
	cr_assert(eq(int, ws_launch_ids_note(&ids, 0, 6, WS_LAUNCH_AGAIN, &err), WS_OK));
	cr_assert(eq(int, ws_launch_ids_note(&ids, 0, far, WS_LAUNCH_AGAIN, &err), WS_OK));
	cr_assert(eq(int, ws_launch_ids_note(&ids, 0, far, WS_LAUNCH_ONCE, &err), WS_OK));
	cr_assert(eq(int, ws_launch_ids_note(&ids, 9, 5, WS_LAUNCH_ONCE, &err), WS_OK));

	cr_expect(eq(u32, ws_launch_ids_get(&ids, 0, 5), WS_LAUNCH_ONCE | WS_LAUNCH_AGAIN));
	cr_expect(eq(u32, ws_launch_ids_get(&ids, 0, 6), WS_LAUNCH_AGAIN));
	cr_expect(eq(u32, ws_launch_ids_get(&ids, 0, 7), WS_LAUNCH_ONCE));
	cr_expect(eq(u32, ws_launch_ids_get(&ids, 0, far), WS_LAUNCH_ONCE | WS_LAUNCH_AGAIN));
	cr_expect(eq(u32, ws_launch_ids_get(&ids, 0, far + 1), 0));
	cr_expect(eq(u32, ws_launch_ids_get(&ids, 9, 5), WS_LAUNCH_ONCE));
	cr_expect(eq(u32, ws_launch_ids_get(&ids, 9, 4), 0));
	cr_expect(eq(u32, ws_launch_ids_get(&ids, 8, 5), 0));
	ws_launch_ids_free(&ids);
}

/* A trace made to hurt has its ids far apart. */
Test(launches, scattered_ids_have_a_limit)
{
	struct ws_launch_ids ids = {0};
	struct ws_err err;
	enum ws_status status = WS_OK;
	uint64_t n = 0;

	while (status == WS_OK && n < 2 * WS_LAUNCH_MAX_PAGES)
		status = ws_launch_ids_note(&ids, 0, n++ << 20, WS_LAUNCH_ONCE, &err);
	cr_expect(eq(int, status, WS_NO_MEMORY));
	cr_expect(eq(u64, n, WS_LAUNCH_MAX_PAGES + 1));
	ws_launch_ids_free(&ids);
}
