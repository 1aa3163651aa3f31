/*
 * The emulated GPU itself: what it runs, and what it must not let pass.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_host/emulation.h"
#include "tests/cuda_host/samples.h"

/* Run a sample in one order of threads and blocks. */
static enum ws_status run(enum ws_host_order order, enum ws_sample sample, void *data, int at,
                          struct ws_err *err)
{
	struct ws_host_device device = {.threads = order, .blocks = order, .seed = 5};

	ws_host_set_device(&device);
	return ws_sample(sample, data, at, err);
}

#define EACH_ORDER(order) (enum ws_host_order order = 0; order < WS_HOST_ORDER_COUNT; order++)

static void expect_ok(enum ws_host_order order, enum ws_sample sample, void *data, int at)
{
	struct ws_err err = {0};

	cr_assert_eq(run(order, sample, data, at, &err), WS_OK, "%s", err.text);
}

/* The failure of a sample, in each order, says these words. */
static void expect_failure(enum ws_sample sample, enum ws_status status, const char *words)
{
	for
		EACH_ORDER(order)
		{
			float x[SAMPLE_THREADS] = {0};
			struct ws_err err = {0};

			cr_assert_eq(run(order, sample, x, 0, &err), status, "%s", err.text);
			cr_assert(strstr(err.text, words), "'%s' lacks '%s'", err.text, words);
			/* and the next kernel runs as ever */
			expect_ok(order, WS_SAMPLE_BLOCK_SUM, x, 0);
		}
}

Test(emulation, every_thread_of_every_block_runs_once_and_knows_where_it_is)
{
	for
		EACH_ORDER(order)
		{
			unsigned *at = malloc(sizeof(unsigned) * 6 * 12 * 24), *next = at;

			expect_ok(order, WS_SAMPLE_WHERE, at, 0);
			for (unsigned block = 0; block < 12; block++) {
				for (unsigned thread = 0; thread < 24; thread++, next += 6) {
					cr_assert_eq(next[0], block % 3);
					cr_assert_eq(next[1], block / 3 % 2);
					cr_assert_eq(next[2], block / 6);
					cr_assert_eq(next[3], thread % 4);
					cr_assert_eq(next[4], thread / 4 % 3);
					cr_assert_eq(next[5], thread / 12);
				}
			}
			free(at);
		}
}

Test(emulation, a_barrier_makes_the_order_of_threads_irrelevant)
{
	for
		EACH_ORDER(order)
		{
			float x[SAMPLE_THREADS];

			for (int i = 0; i < SAMPLE_THREADS; i++)
				x[i] = (float)i;
			expect_ok(order, WS_SAMPLE_REVERSE, x, 0);
			for (int i = 0; i < SAMPLE_THREADS; i++)
				cr_assert_eq(x[i], (float)(SAMPLE_THREADS - 1 - i));
		}
}

Test(emulation, a_missing_barrier_yields_what_shared_memory_held_before)
{
	for
		EACH_ORDER(order)
		{
			float x[SAMPLE_THREADS] = {0};
			int unset = 0;

			expect_ok(order, WS_SAMPLE_NO_BARRIER, x, 0);
			for (int i = 0; i < SAMPLE_THREADS; i++)
				unset += isnan(x[i]) != 0;
			cr_assert_gt(unset, 0);
		}
}

Test(emulation, shuffles_and_votes_are_those_of_each_warp)
{
	for
		EACH_ORDER(order)
		{
			struct {
				float x[64];
				unsigned votes[64];
			} at;

			for (int i = 0; i < 64; i++)
				at.x[i] = (float)(i % 32 % 7 + i / 32);
			expect_ok(order, WS_SAMPLE_WARP, &at, 0);
			for (int i = 0; i < 64; i++) {
				float value[32], sum = 0, most = 0, expected;
				int lane = i % 32;
				unsigned votes = 0;

				for (int j = 0; j < 32; j++) {
					value[j] = (float)(j % 7 + i / 32);
					sum += value[j];
					most = fmaxf(most, value[j]);
					votes |= (unsigned)(value[j] > 3.5f) << j;
				}
				expected = value[lane + 3 < 32 ? lane + 3 : lane] + 100 * value[0] +
				           10000 * value[lane ? lane - 1 : 0] +
				           1e6f * value[lane ^ 1] + sum + most;
				cr_assert_float_eq(at.x[i], expected, 1, "%d: %g, not %g", i,
				                   (double)at.x[i], (double)expected);
				cr_assert_eq(at.votes[i], votes);
			}
		}
}

Test(emulation, a_block_sum_reaches_every_thread)
{
	for
		EACH_ORDER(order)
		{
			float x[SAMPLE_THREADS];

			for (int i = 0; i < SAMPLE_THREADS; i++)
				x[i] = (float)i;
			expect_ok(order, WS_SAMPLE_BLOCK_SUM, x, 0);
			for (int i = 0; i < SAMPLE_THREADS; i++)
				cr_assert_eq(x[i], SAMPLE_THREADS * (SAMPLE_THREADS - 1) / 2);
		}
}

Test(emulation, shared_memory_starts_unset_in_every_block)
{
	for
		EACH_ORDER(order)
		{
			unsigned words[6] = {0};

			expect_ok(order, WS_SAMPLE_UNSET, words, 0);
			for (int i = 0; i < 6; i++)
				cr_assert_eq(words[i], 0xffffffffu);
		}
}

Test(emulation, half_a_warp_can_meet_and_other_lanes_are_no_number)
{
	for
		EACH_ORDER(order)
		{
			float x[32];

			for (int i = 0; i < 32; i++)
				x[i] = (float)i;
			expect_ok(order, WS_SAMPLE_HALF, x, 0);
			for (int i = 0; i < 32; i++) {
				if (i == 3)
					cr_assert(isnan(x[i]));
				else
					cr_assert_eq(x[i], (float)(i ^ 1));
			}
		}
}

Test(emulation, atomics_count_all_threads_and_the_order_shows)
{
	static const int first[] = {[WS_HOST_ASCENDING] = 0, [WS_HOST_DESCENDING] = 95};

	for
		EACH_ORDER(order)
		{
			int data[3] = {0};

			expect_ok(order, WS_SAMPLE_COUNT, data, 0);
			cr_assert_eq(data[0], 96);
			cr_assert_eq(data[1], 31);
			if (order != WS_HOST_SHUFFLED)
				cr_assert_eq(data[2], first[order]);
		}
}

Test(emulation, a_thread_that_left_is_missed_at_the_barrier)
{
	expect_failure(WS_SAMPLE_LEAVE_BEFORE_BARRIER, WS_BUG,
	               "kernel sample_leave_before_barrier, block 0,0,0: thread 0 waits at "
	               "__syncthreads (samples.cu:");
	expect_failure(WS_SAMPLE_LEAVE_BEFORE_BARRIER, WS_BUG, "thread 5 has returned");
}

Test(emulation, threads_at_two_barriers_do_not_meet)
{
	expect_failure(WS_SAMPLE_TWO_BARRIERS, WS_BUG, "kernel sample_two_barriers");
}

Test(emulation, a_lane_that_misses_a_shuffle_is_named)
{
	expect_failure(WS_SAMPLE_MISSING_LANE, WS_BUG, "thread 9 has returned");
	expect_failure(WS_SAMPLE_BARRIER_AND_SHUFFLE, WS_BUG, "waits at a shuffle");
	expect_failure(WS_SAMPLE_FOREIGN_MASK, WS_BUG, "waits at a shuffle");
	expect_failure(WS_SAMPLE_PARTIAL_WARP, WS_BUG, "thread 40 does not exist");
}

Test(emulation, launches_that_cuda_refuses_are_refused)
{
	expect_failure(WS_SAMPLE_EMPTY_GRID, WS_ENVIRONMENT, "a grid of 0 × 1 × 1");
	expect_failure(WS_SAMPLE_TALL_GRID, WS_ENVIRONMENT, "a grid of 1 × 65536 × 1");
	expect_failure(WS_SAMPLE_LARGE_BLOCK, WS_ENVIRONMENT, "blocks of 1056 × 1 × 1");
	expect_failure(WS_SAMPLE_MUCH_SHARED, WS_ENVIRONMENT, "49153 bytes of shared memory");
}

static void count_launch(void *arg, const struct ws_host_launch *launch)
{
	int *count = arg;

	cr_assert_str_eq(launch->kernel, "sample_unset");
	cr_assert_eq(launch->grid.x, 3);
	cr_assert_eq(launch->shared_bytes, 16);
	++*count;
}

Test(emulation, launches_are_seen_by_name)
{
	unsigned words[6];
	int count = 0;

	ws_host_on_launch(count_launch, &count);
	expect_ok(WS_HOST_ASCENDING, WS_SAMPLE_UNSET, words, 0);
	cr_assert_eq(count, 1);
}

/* --- what the sanitizers find: the program ends ---------------------------------------------- */

Test(emulation, the_last_element_of_shared_memory_is_no_overrun)
{
	float x[4] = {3};

	expect_ok(WS_HOST_ASCENDING, WS_SAMPLE_SHARED_OVERRUN, x, 7);
	expect_ok(WS_HOST_ASCENDING, WS_SAMPLE_DYNAMIC_OVERRUN, x, 7);
	expect_ok(WS_HOST_ASCENDING, WS_SAMPLE_DYNAMIC_OVERRUN, x, 0);
}

Test(emulation, static_shared_memory_is_not_overrun, .exit_code = 1)
{
	float x[4] = {3};

	expect_ok(WS_HOST_ASCENDING, WS_SAMPLE_SHARED_OVERRUN, x, 8);
}

Test(emulation, dynamic_shared_memory_is_not_overrun, .exit_code = 1)
{
	float x[4] = {3};

	expect_ok(WS_HOST_ASCENDING, WS_SAMPLE_DYNAMIC_OVERRUN, x, 8);
}

Test(emulation, aligned_packs_are_read)
{
	_Alignas(16) float x[12] = {0, 0, 0, 0, 4, 5, 6, 7};

	expect_ok(WS_HOST_ASCENDING, WS_SAMPLE_PACK, x, 4);
	cr_assert_eq(x[0], 11);
}

Test(emulation, packs_are_not_read_from_the_middle, .exit_code = 1)
{
	_Alignas(16) float x[12] = {0};

	expect_ok(WS_HOST_ASCENDING, WS_SAMPLE_PACK, x, 2);
}
