/* Places in device memory: never two at once in one place, nothing lost, always the same. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/exec/device_arena.h"

#define A WS_DEVICE_ALIGN

static struct ws_device_arena opened(uint64_t size_bytes)
{
	struct ws_device_arena arena;

	ws_device_arena_open(&arena, size_bytes);
	return arena;
}

static uint64_t take(struct ws_device_arena *arena, uint64_t size_bytes)
{
	uint64_t offset = 1;
	struct ws_err err = {0};

	cr_assert_eq(ws_device_arena_take(arena, size_bytes, &offset, &err), WS_OK, "%s", err.text);
	return offset;
}

static void give(struct ws_device_arena *arena, uint64_t offset, uint64_t size_bytes)
{
	ws_device_arena_give(arena, offset, size_bytes);
}

Test(device_arena, places_are_aligned_and_follow_one_another)
{
	struct ws_device_arena arena = opened(10 * A);

	cr_expect_eq(take(&arena, 1), 0);
	cr_expect_eq(take(&arena, A), A);
	cr_expect_eq(take(&arena, A + 1), 2 * A);
	cr_expect_eq(take(&arena, 1), 4 * A);
	cr_expect_eq(arena.used_bytes, 5 * A);
	cr_expect_eq(arena.high_bytes, 5 * A);
	ws_device_arena_close(&arena);
}

Test(device_arena, the_smallest_gap_that_fits_is_taken)
{
	struct ws_device_arena arena = opened(100 * A);
	uint64_t large = take(&arena, 5 * A), wall1 = take(&arena, A), small = take(&arena, 2 * A);
	uint64_t wall2 = take(&arena, A);

	give(&arena, large, 5 * A);
	give(&arena, small, 2 * A);
	cr_expect_eq(take(&arena, 2 * A), small);
	cr_expect_eq(take(&arena, 3 * A), large);
	cr_expect_eq(take(&arena, 3 * A), wall2 + A, "the rest of the large gap is too small");
	cr_expect_lt(wall1, small);
	ws_device_arena_close(&arena);
}

/* A session that is planned in a block without an end runs in one of just the size that it needs.
 */
static uint64_t take_in_turns(struct ws_device_arena *arena, uint64_t places[3])
{
	uint64_t first = take(arena, 4 * A), wall = take(arena, A), last = take(arena, 3 * A);

	give(arena, first, 4 * A);
	give(arena, last, 3 * A);
	places[0] = take(arena, 2 * A); /* the end of the block would fit more closely */
	places[1] = take(arena, 3 * A);
	places[2] = take(arena, 2 * A);
	cr_expect_eq(wall, 4 * A);
	return arena->high_bytes;
}

Test(device_arena, what_is_planned_without_an_end_fits_into_what_the_plan_says)
{
	struct ws_device_arena plan = opened(UINT64_MAX), block;
	uint64_t planned[3], places[3], size_bytes = take_in_turns(&plan, planned);

	cr_assert_eq(size_bytes, 8 * A);
	block = opened(size_bytes);
	cr_expect_eq(take_in_turns(&block, places), size_bytes);
	cr_expect_arr_eq(places, planned, sizeof(places));
	ws_device_arena_close(&plan);
	ws_device_arena_close(&block);
}

Test(device_arena, neighbouring_gaps_become_one_in_every_order)
{
	static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

	for (int i = 0; i < 6; i++) {
		struct ws_device_arena arena = opened(3 * A);
		uint64_t place[3] = {take(&arena, A), take(&arena, A), take(&arena, A)};

		cr_expect_eq(ws_device_arena_largest(&arena), 0);
		for (int j = 0; j < 3; j++)
			give(&arena, place[orders[i][j]], A);
		cr_expect_eq(arena.gap_count, 1);
		cr_expect_eq(ws_device_arena_largest(&arena), 3 * A);
		cr_expect_eq(arena.used_bytes, 0);
		cr_expect_eq(arena.peak_bytes, 3 * A);
		ws_device_arena_close(&arena);
	}
}

Test(device_arena, what_does_not_fit_is_refused_with_the_bytes_asked_for)
{
	struct ws_device_arena arena = opened(4 * A);
	struct ws_err err = {0};
	uint64_t offset;

	take(&arena, 2 * A);
	cr_expect_eq(ws_device_arena_take(&arena, 3 * A, &offset, &err), WS_NO_MEMORY);
	cr_expect_not_null(strstr(err.text, "768 bytes more than the 512 in use"), "%s", err.text);
	cr_expect_eq(ws_device_arena_take(&arena, UINT64_MAX, &offset, &err), WS_NO_MEMORY);
	cr_expect_eq(take(&arena, 2 * A), 2 * A, "a refusal changes nothing");
	ws_device_arena_close(&arena);
}

/* Random traffic against a map of which unit of memory is taken. */
Test(device_arena, random_requests_never_overlap_and_the_same_ones_get_the_same_places)
{
	enum { UNITS = 200, LIVE = 60, ROUNDS = 20000 };
	struct ws_device_arena arena = opened(UNITS * A), again = opened(UNITS * A);
	struct {
		uint64_t offset, size_bytes;
	} live[LIVE] = {0};
	bool taken[UNITS] = {0};
	int refused = 0;

	srand(7);
	for (int round = 0; round < ROUNDS; round++) {
		int i = rand() % LIVE;
		uint64_t size_bytes = 1 + (uint64_t)rand() % (12 * A), offset, offset2;

		if (live[i].size_bytes) {
			give(&arena, live[i].offset, live[i].size_bytes);
			give(&again, live[i].offset, live[i].size_bytes);
			for (uint64_t u = live[i].offset / A;
			     u < (live[i].offset + live[i].size_bytes + A - 1) / A; u++)
				taken[u] = false;
			live[i].size_bytes = 0;
			continue;
		}
		if (ws_device_arena_take(&arena, size_bytes, &offset, NULL) != WS_OK) {
			cr_assert_neq(ws_device_arena_take(&again, size_bytes, &offset2, NULL),
			              WS_OK);
			refused++;
			continue;
		}
		cr_assert_eq(take(&again, size_bytes), offset);
		live[i].offset = offset;
		live[i].size_bytes = size_bytes;
		for (uint64_t u = offset / A; u < (offset + size_bytes + A - 1) / A; u++) {
			cr_assert_lt(u, UNITS);
			cr_assert_not(taken[u], "two places overlap");
			taken[u] = true;
		}
	}
	cr_expect_gt(refused, 10, "the arena never ran full: the test is too small");
	for (int i = 0; i < LIVE; i++)
		if (live[i].size_bytes)
			give(&arena, live[i].offset, live[i].size_bytes);
	cr_expect_eq(ws_device_arena_largest(&arena), UNITS * A, "all of it is free again");
	ws_device_arena_close(&arena);
	ws_device_arena_close(&again);
}
