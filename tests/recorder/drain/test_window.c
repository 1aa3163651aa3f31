/* When to record: spans and ranges of time, by hand. */
#include <criterion/criterion.h>

#include "recorder/drain/private.h"

static struct ws_capture_window w;

static void release(void)
{
	ws_capture_window_release(&w);
}

TestSuite(window, .fini = release);

Test(window, a_span_keeps_what_touches_it)
{
	ws_capture_window_init(&w, 100, 50, 0);
	cr_expect_not(ws_capture_window_keeps(&w, 10, 99));
	cr_expect(ws_capture_window_keeps(&w, 10, 100), "its last moment is inside");
	cr_expect(ws_capture_window_keeps(&w, 120, 120));
	cr_expect(ws_capture_window_keeps(&w, 10, 1000), "it lies around the span");
	cr_expect(ws_capture_window_keeps(&w, 150, 151));
	cr_expect_not(ws_capture_window_keeps(&w, 151, 160));
}

Test(window, without_a_duration_it_never_ends)
{
	ws_capture_window_init(&w, INT64_MIN, 0, 0);
	cr_expect(ws_capture_window_keeps(&w, INT64_MIN, INT64_MIN));
	cr_expect(ws_capture_window_keeps(&w, INT64_MAX, INT64_MAX));
}

Test(window, a_duration_that_does_not_fit_a_time_is_for_ever)
{
	ws_capture_window_init(&w, INT64_MAX - 10, 20, 0);
	cr_expect(ws_capture_window_keeps(&w, INT64_MAX, INT64_MAX));
	ws_capture_window_init(&w, 0, INT64_MIN, 0);
	cr_expect(ws_capture_window_keeps(&w, INT64_MAX, INT64_MAX));
}

Test(window, before_the_first_range_nothing_is_kept)
{
	ws_capture_window_init(&w, INT64_MIN, 0, 1);
	cr_expect_not(ws_capture_window_keeps(&w, 0, INT64_MAX));
	ws_capture_window_begin_range(&w, 100);
	cr_expect_not(ws_capture_window_keeps(&w, 0, 99));
	cr_expect(ws_capture_window_keeps(&w, 0, 100));
	cr_expect(ws_capture_window_keeps(&w, 5000, 5000), "it has not ended");
}

Test(window, each_of_many_ranges_is_found)
{
	ws_capture_window_init(&w, INT64_MIN, 0, 1);
	for (int64_t i = 0; i < 1000; i++) { /* 10…15, 20…25, … */
		ws_capture_window_begin_range(&w, 10 * (i + 1));
		ws_capture_window_end_range(&w, 10 * (i + 1) + 5);
	}
	cr_expect_eq(w.nranges, 1000);
	for (int64_t i = 0; i < 1000; i++) {
		int64_t begin = 10 * (i + 1);

		cr_expect(ws_capture_window_keeps(&w, begin, begin));
		cr_expect(ws_capture_window_keeps(&w, begin + 5, begin + 5));
		cr_expect_not(ws_capture_window_keeps(&w, begin + 6, begin + 9));
		cr_expect(ws_capture_window_keeps(&w, begin + 6, begin + 10) == (i < 999));
	}
}

Test(window, ranges_that_overlap_are_one)
{
	ws_capture_window_init(&w, INT64_MIN, 0, 1);
	ws_capture_window_begin_range(&w, 10);
	ws_capture_window_begin_range(&w, 20);
	ws_capture_window_end_range(&w, 30);
	cr_expect(ws_capture_window_keeps(&w, 40, 40), "one is still open");
	ws_capture_window_end_range(&w, 50);
	cr_expect_not(ws_capture_window_keeps(&w, 51, 60));
	cr_expect_eq(w.nranges, 1);
	ws_capture_window_begin_range(&w, 49); /* another thread looked at its clock earlier */
	ws_capture_window_end_range(&w, 70);
	cr_expect_eq(w.nranges, 1);
	cr_expect(ws_capture_window_keeps(&w, 60, 60));
}

Test(window, ends_without_a_begin_and_backwards_clocks_do_no_harm)
{
	ws_capture_window_init(&w, INT64_MIN, 0, 1);
	ws_capture_window_end_range(&w, 10);
	cr_expect_not(ws_capture_window_keeps(&w, 0, 100));
	ws_capture_window_begin_range(&w, 100);
	ws_capture_window_end_range(&w, 50);
	cr_expect(ws_capture_window_keeps(&w, 100, 100));
	cr_expect_not(ws_capture_window_keeps(&w, 101, 101));
	ws_capture_window_end_range(&w, 500);
	cr_expect_not(ws_capture_window_keeps(&w, 101, 101));
}

Test(window, ranges_count_inside_the_span_only)
{
	ws_capture_window_init(&w, 100, 100, 1);
	ws_capture_window_begin_range(&w, 50);
	ws_capture_window_end_range(&w, 300);
	cr_expect_not(ws_capture_window_keeps(&w, 60, 99));
	cr_expect(ws_capture_window_keeps(&w, 60, 100));
	cr_expect_not(ws_capture_window_keeps(&w, 201, 250));
}

Test(window, stopping_ends_it_and_never_makes_it_longer)
{
	ws_capture_window_init(&w, 100, 100, 0);
	ws_window_stop(&w, 500);
	cr_expect_not(ws_capture_window_keeps(&w, 201, 201));
	ws_window_stop(&w, 150);
	cr_expect(ws_capture_window_keeps(&w, 150, 160));
	cr_expect_not(ws_capture_window_keeps(&w, 151, 160));
}
