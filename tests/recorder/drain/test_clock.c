/* CUPTI's times on the trace's clock, through steps of the clock that CUPTI uses. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/recorder/cupti_by_hand.h"

TestSuite(clock, .init = cupti_start, .fini = by_hand_stop, .timeout = 600);

#define S INT64_C(1000000000)

/* The clock is ahead by apart_ns, read so from … until, ns after BASE. */
static void put_clock(int64_t apart_ns, int64_t from_ns, int64_t until_ns)
{
	uint32_t n = atomic_load(&seg->gpu.nclocks);

	seg->gpu.clocks[n].apart_ns = apart_ns;
	seg->gpu.clocks[n].from_ns = BASE + from_ns;
	atomic_store(&seg->gpu.clocks[n].until_ns, BASE + until_ns);
	atomic_store(&seg->gpu.nclocks, n + 1);
}

/* A kernel whose begin and end CUPTI told by clocks that were so far ahead. */
static void put_work(uint32_t correlation, int64_t start, int64_t apart, int64_t end,
                     int64_t apart_at_end)
{
	uint8_t *r = put_kernel(correlation, 0);

	PUT(r, kernel, start, BASE + start + apart);
	PUT(r, kernel, end, BASE + end + apart_at_end);
}

/* The slot in hand was filled between these. */
static void finish_between(int64_t taken_ns, int64_t done_ns)
{
	struct ws_slot *s = ws_seg_slot(seg, (uint32_t)slot);

	finish_slot();
	s->taken_ns = BASE + taken_ns;
	s->done_ns = BASE + done_ns;
}

static void check(const struct probe *p, uint64_t row, int64_t start, int64_t end)
{
	cr_assert_lt(row, ROWS(p, kernel));
	cr_expect_eq((int64_t)CELL(p, kernel, start_ns, row), start, "row %d: %lld", (int)row,
	             (long long)CELL(p, kernel, start_ns, row));
	cr_expect_eq((int64_t)CELL(p, kernel, dur_ns, row), end - start, "row %d: %lld", (int)row,
	             (long long)CELL(p, kernel, dur_ns, row));
}

Test(clock, a_clock_that_is_ahead_is_brought_onto_the_traces)
{
	struct probe p;

	put_clock(5 * S, 0, 9 * S);
	put_work(1, 100, 5 * S, 150, 5 * S);
	finish_slot();
	p = by_hand_finish();
	check(&p, 0, 100, 150);
	cr_expect_eq(lost(WS_DROPPED_time_uncertain), 0);
	probe_close(&p);
}

/* Set forward by an hour at 2 s: kernels before, across and after it keep their times. */
Test(clock, a_step_forward_moves_nothing)
{
	const int64_t hour = 3600 * S;
	struct probe p;

	put_clock(0, 0, 1 * S);
	put_clock(hour, 3 * S, 9 * S);
	put_work(1, 500, 0, 550, 0);
	put_work(2, 2 * S - 50, 0, 2 * S + 50, hour);
	put_work(3, 2 * S + 100, hour, 2 * S + 110, hour);
	put_work(4, 5 * S, hour, 5 * S + 7, hour);
	finish_between(400, 6 * S);
	p = by_hand_finish();
	check(&p, 0, 500, 550);
	check(&p, 1, 2 * S - 50, 2 * S + 50);
	check(&p, 2, 2 * S + 100, 2 * S + 110);
	check(&p, 3, 5 * S, 5 * S + 7);
	cr_expect_eq(lost(WS_DROPPED_time_uncertain), 0);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

/* A reading is true to some microseconds, and a step may come as many after it. */
Test(clock, what_lies_beside_a_reading_is_no_damage)
{
	const int64_t hour = 3600 * S;
	struct probe p;

	put_clock(0, 0, 2 * S);
	put_clock(hour, 3 * S, 9 * S);
	put_work(1, 2 * S - 9000, hour, 2 * S - 8000, hour);
	put_work(2, 3 * S + 8000, 0, 3 * S + 9000, 0);
	finish_between(400, 6 * S);
	p = by_hand_finish();
	check(&p, 0, 2 * S - 9000, 2 * S - 8000);
	check(&p, 1, 3 * S + 8000, 3 * S + 9000);
	cr_expect_eq(lost(WS_DROPPED_time_uncertain), 0);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

/* Set back: what CUPTI told before and after has the same numbers; the buffers tell them apart. */
Test(clock, a_step_back_moves_nothing_as_the_buffers_tell_when)
{
	const int64_t back = -4 * S;
	struct probe p;

	put_clock(0, 0, 5 * S);
	put_clock(back, 5 * S + 1000, 20 * S);
	put_work(1, 3 * S, 0, 3 * S + 50, 0);
	finish_between(2 * S, 4 * S);
	put_work(2, 7 * S, back, 7 * S + 50, back); /* told as 3 s to 3 s + 50 ns */
	finish_between(6 * S, 8 * S);
	p = by_hand_finish();
	check(&p, 0, 3 * S, 3 * S + 50);
	check(&p, 1, 7 * S, 7 * S + 50);
	cr_expect_eq(lost(WS_DROPPED_time_uncertain), 0);
	probe_close(&p);
}

/* A record that ended long before its buffer was asked for: what it waited for is nobody's word. */
Test(clock, a_record_may_have_ended_at_any_time_before_its_buffer_was_taken)
{
	static const int64_t early_ns[] = {0, 1000, 21000, 1000000, S};
	const int64_t hour = 3600 * S;

	for (size_t i = 0; i < sizeof(early_ns) / sizeof(*early_ns); i++) {
		int64_t end = 5 * S - early_ns[i];
		struct probe p;

		put_clock(0, 0, 1 * S);
		put_clock(hour, 2 * S, 9 * S);
		put_work(1, end - 50, hour, end, hour);
		put_work(2, 5 * S + 1, hour, 5 * S + 7, hour);
		finish_between(5 * S, 6 * S);
		p = by_hand_finish();
		check(&p, 0, end - 50, end);
		check(&p, 1, 5 * S + 1, 5 * S + 7);
		cr_expect_eq(lost(WS_DROPPED_time_uncertain), 0);
		cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
		probe_close(&p);
		by_hand_stop();
		cupti_start();
	}
}

Test(clock, what_a_short_step_leaves_open_is_counted)
{
	struct probe p;

	put_clock(0, 0, 1 * S);
	put_clock(-S / 2, 2 * S, 9 * S);
	put_work(1, 500, 0, 550, 0);                    /* before the step for sure */
	put_work(2, S + S / 4, 0, S + S / 4 + 10, 0);   /* can be half a second later */
	put_work(3, 4 * S, -S / 2, 4 * S + 10, -S / 2); /* after it for sure */
	finish_between(400, 6 * S);
	p = by_hand_finish();
	check(&p, 0, 500, 550);
	check(&p, 2, 4 * S, 4 * S + 10);
	cr_expect_eq(CELL(&p, kernel, dur_ns, 1), 10);
	cr_expect_eq(lost(WS_DROPPED_time_uncertain), 1);
	probe_close(&p);
}

/* Two clocks of one that drifts, the second with another drift: they go on from each other. */
Test(clock, a_clock_that_drifts_is_brought_onto_the_traces_at_every_moment)
{
	struct probe p;

	put_clock(5 * S, 0, 4 * S);
	seg->gpu.clocks[0].drift_ppb = 500000; /* 0.5 ms a second */
	put_clock(5 * S + 2500000, 5 * S, 9 * S);
	seg->gpu.clocks[1].drift_ppb = -100000;
	put_work(1, 2 * S, 5 * S + 1000000, 2 * S + 50, 5 * S + 1000000);
	put_work(2, 7 * S, 5 * S + 2300000, 7 * S + 50, 5 * S + 2300000);
	put_work(3, 4 * S + S / 2, 5 * S + 2250000, 4 * S + S / 2 + 50, 5 * S + 2250000);
	finish_between(S, 9 * S);
	p = by_hand_finish();
	check(&p, 0, 2 * S, 2 * S + 50);
	check(&p, 1, 7 * S, 7 * S + 50);
	/* when between the readings the drift changed nobody knows: it is off by 0.3 ms, and
	 * counted */
	cr_expect_lt(llabs((int64_t)CELL(&p, kernel, start_ns, 2) - (4 * S + S / 2)), 400000);
	cr_expect_eq(lost(WS_DROPPED_time_uncertain), 1);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

Test(clock, a_time_by_no_known_clock_is_damage)
{
	struct probe p;

	put_clock(0, 0, 1 * S);
	put_clock(3600 * S, 2 * S, 9 * S);
	put_work(1, 900 * S, 0, 900 * S + 1, 0);
	finish_between(400, 6 * S);
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 0);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 1);
	probe_close(&p);
}
