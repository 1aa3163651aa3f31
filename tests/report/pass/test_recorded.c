/* Events become ranges one by one, in a file where they are many; in any order, by sorting. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/pass/pass.h"
#include "tests/support/peak_memory.h"
#include "tests/support/trace_builder.h"

static struct ws_recorded_ranges load(struct tb *b)
{
	struct ws_recorded_ranges ranges;
	struct ws_trace_reader *r;
	struct ws_bytes bytes;
	struct ws_model *m;
	struct ws_err err;

	bytes = ws_trace_writer_mem(tb_writer(b));
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	cr_assert(eq(int, ws_recorded_ranges_read(&ranges, r, &m, &err), WS_OK), "%s", err.text);
	ws_model_free(m);
	ws_trace_reader_free(r);
	return ranges;
}

static void expect(struct ws_recorded_ranges *ranges, size_t i, uint64_t thread, int64_t start_ns,
                   int64_t end_ns)
{
	const struct ws_recorded_range *r = ws_recorded_range(&ranges->ranges, i);

	cr_assert(eq(u64, ranges->events[r->begin].thread, thread));
	cr_assert(eq(i64, r->start_ns, start_ns));
	cr_assert(eq(i64, r->end_ns, end_ns));
}

#define MANY 400000 /* ranges: 13 MB of them */

Test(recorded, many_ranges_inside_one_lie_in_a_file)
{
	struct tb *b = tb_new();
	struct ws_recorded_ranges ranges;
	long before;

	tb_push(b, 5, "all");
	for (int64_t i = 0; i < MANY; i++) {
		tb_push(b, 10 * i + 10, "one");
		tb_pop(b, 10 * i + 15);
	}
	tb_pop(b, 10 * MANY + 20);
	cr_assert(eq(int, ws_trace_writer_close(tb_writer(b), NULL), WS_OK));
	begin_peak_memory();
	before = peak_memory_kib();
	ranges = load(b);
	cr_assert(eq(sz, ranges.nranges, MANY + 1));
	cr_assert(eq(int, ranges.ranges.is_file, 1));
	expect(&ranges, 0, 1, 5, 10 * MANY + 20);
	for (int64_t i = 0; i < MANY; i++)
		expect(&ranges, (size_t)i + 1, 1, 10 * i + 10, 10 * i + 15);
	cr_expect(lt(long, peak_memory_kib() - before, 24 * 1024));
	ws_recorded_ranges_free(&ranges);
	tb_free(b);
}

/* Two threads take turns; one range goes from one to the other; a mark, an end without a begin. */
static struct tb *two_threads(int late)
{
	struct tb *b = tb_new();

	tb_thread(b, 2, 100);
	for (int64_t i = 0; i < MANY / 4; i++) {
		tb_on_thread(b, 2);
		tb_push(b, 10 * i + 1, "two");
		tb_on_thread(b, 1);
		tb_push(b, 10 * i + 2, "one");
		tb_pop(b, 10 * i + 4);
		tb_on_thread(b, 2);
		tb_pop(b, 10 * i + 5);
	}
	tb_start(b, 10 * MANY, "crossing", 7);
	tb_mark(b, 10 * MANY + 1, "here");
	tb_on_thread(b, 1);
	tb_end(b, 10 * MANY + 2, 7);
	tb_mark(b, 10 * MANY + 3, "there");
	tb_pop(b, 10 * MANY + 4);
	tb_push(b, 10 * MANY + 5, "never ended");
	if (late) { /* happened before all of this */
		tb_push(b, -2, "late");
		tb_pop(b, -1);
	}
	cr_assert(eq(int, ws_trace_writer_close(tb_writer(b), NULL), WS_OK));
	return b;
}

static void expect_two_threads(struct ws_recorded_ranges *ranges, int late)
{
	const size_t each = MANY / 4, first = (size_t)late;
	const struct ws_recorded_event *event = ranges->events;
	struct ws_recorded_range r;

	cr_assert(eq(sz, ranges->nranges, 2 * each + 2 + first));
	if (late)
		expect(ranges, 0, 1, -2, -1);
	for (size_t i = 0; i < each; i++) {
		expect(ranges, first + i, 1, 10 * (int64_t)i + 2, 10 * (int64_t)i + 4);
		expect(ranges, first + each + 1 + i, 2, 10 * (int64_t)i + 1, 10 * (int64_t)i + 5);
	}
	expect(ranges, first + each, 1, 10 * MANY + 5, 10 * MANY + 5);
	r = *ws_recorded_range(&ranges->ranges, first + each);
	cr_assert(eq(u32, r.end, WS_NONE));
	expect(ranges, first + 2 * each + 1, 2, 10 * MANY, 10 * MANY + 2);
	r = *ws_recorded_range(&ranges->ranges, first + 2 * each + 1);
	cr_assert(eq(u64, event[r.begin].type, WS_NVTX_START));
	cr_assert(eq(u64, r.id, 7));
	cr_assert(eq(u64, event[r.end].thread, 1));
	cr_assert(eq(sz, ranges->nmarks, 2));
	cr_assert(eq(u64, event[ws_recorded_range(&ranges->marks, 0)->begin].thread, 1));
	cr_assert(eq(u64, event[ws_recorded_range(&ranges->marks, 1)->begin].thread, 2));
	cr_assert(eq(u64, ranges->dangling, 1));
}

Test(recorded, ranges_of_several_threads_stand_by_thread)
{
	struct tb *b = two_threads(0);
	struct ws_recorded_ranges ranges = load(b);

	expect_two_threads(&ranges, 0);
	ws_recorded_ranges_free(&ranges);
	tb_free(b);
}

Test(recorded, ranges_that_come_late_are_sorted_in)
{
	struct tb *b = two_threads(1);
	struct ws_recorded_ranges ranges = load(b);

	expect_two_threads(&ranges, 1);
	ws_recorded_ranges_free(&ranges);
	tb_free(b);
}
