/*
 * What a pass says of times and sums that cannot be, and of blocks that are not what their headers
 * say.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "report/tables/report.h"
#include "tests/support/trace_builder.h"
#include "tests/support/trace_sample.h"

#define FAR_NS (((int64_t)1 << 61) + 1)

/* One table of the trace; what goes wrong is in *err. */
static enum ws_status read_table(const char *name, const void *data, size_t size,
                                 struct ws_err *err)
{
	const struct ws_table_def *def = ws_table_def_by_name(name);
	const struct ws_filter all = WS_FILTER_ALL;
	struct ws_trace_reader *r = NULL;
	struct ws_report *report = NULL;
	enum ws_status status;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, data, size, err), WS_OK), "%s", err->text);
	status = ws_report_stream(r, "", NULL, &all, &def, 1, NULL, &report, err);
	ws_report_free(report);
	ws_trace_reader_free(r);
	return status;
}

/* Whatever table is asked for, it says that. */
static void is_told(struct tb *b, const char *text)
{
	const struct ws_bytes bytes = tb_close(b);
	struct ws_err err;

	cr_expect(eq(int, read_table("ranges", bytes.ptr, bytes.len, &err), WS_CORRUPT));
	cr_expect_str_eq(err.text, text);
	cr_expect(eq(int, read_table("kernel-trace", bytes.ptr, bytes.len, &err), WS_CORRUPT));
	cr_expect_str_eq(err.text, text);
	if (strstr(text, "kernels'")) { /* without a join, too */
		cr_expect(eq(int, read_table("kernel-launches", bytes.ptr, bytes.len, &err),
		             WS_CORRUPT));
		cr_expect_str_eq(err.text, text);
	}
	tb_free(b);
}

static void kernel(struct tb *b, int64_t start_ns, int64_t dur_ns, uint64_t flags)
{
	tb_kernel(b, &(struct tb_kernel){"k", start_ns, dur_ns, 0, 0, 100, flags});
}

static void kernel_of(struct tb *b, int64_t start_ns, uint64_t correlation)
{
	tb_kernel(b, &(struct tb_kernel){"k", start_ns, 1, correlation, 0, 100, 0});
}

Test(pass_damage, times_out_of_bounds_are_told)
{
	struct tb *b = tb_new();

	kernel(b, FAR_NS, 5, 0);
	is_told(b, "time of kernel 0 is out of bounds: 2305843009213693953 ns, for 5 ns");
	b = tb_new();
	kernel(b, 1, 1, 0);
	cr_assert(eq(int, ws_trace_writer_flush(tb_writer(b), NULL), WS_OK));
	kernel(b, 5, FAR_NS, 0);
	is_told(b, "time of kernel 1 is out of bounds: 5 ns, for 2305843009213693953 ns");
	b = tb_new();
	tb_call(b, 1, 1, 0);
	tb_call(b, -FAR_NS, 1, 0);
	is_told(b, "time of API call 1 is out of bounds: -2305843009213693953 ns, for 1 ns");
	b = tb_new();
	tb_call(b, 1, FAR_NS, 0);
	is_told(b, "time of API call 0 is out of bounds: 1 ns, for 2305843009213693953 ns");
}

Test(pass_damage, events_out_of_bounds_are_told)
{
	struct tb *b = tb_new();

	tb_push(b, 1, "a");
	tb_pop(b, FAR_NS);
	is_told(b, "time of NVTX event 1 is out of bounds: 2305843009213693953 ns, for 0 ns");
	b = tb_new();
	tb_mark(b, FAR_NS, "a");
	is_told(b, "time of NVTX event 0 is out of bounds: 2305843009213693953 ns, for 0 ns");
	/* among calls, in one block of both */
	b = tb_new();
	for (int64_t i = 0; i < 100; i++) {
		tb_push(b, 10 * i, "a");
		tb_call(b, i ? 10 * i + 1 : FAR_NS - 2, 5, 0); /* the first may end so */
		tb_pop(b, i < 99 ? 10 * i + 5 : FAR_NS);
	}
	is_told(b, "time of NVTX event 199 is out of bounds: 2305843009213693953 ns, for 0 ns");
}

/* In bounds a call may end out of them; and what has no time has none that is wrong. */
Test(pass_damage, what_only_looks_out_of_bounds_is_read)
{
	struct tb *b = tb_new();
	struct ws_bytes bytes;
	struct ws_err err;

	tb_push(b, 1, "a");
	tb_call(b, FAR_NS - 2, 5, 0);
	tb_pop(b, 50);
	kernel(b, FAR_NS, FAR_NS, WS_KERNEL_NO_TIME);
	bytes = tb_close(b);
	cr_expect(eq(int, read_table("ranges", bytes.ptr, bytes.len, &err), WS_OK), "%s", err.text);
	cr_expect(eq(int, read_table("kernel-trace", bytes.ptr, bytes.len, &err), WS_OK), "%s",
	          err.text);
	tb_free(b);
}

Test(pass_damage, sums_that_overflow_are_told)
{
	static const char text[] = "the kernels' times add up to over 2^63 ns";
	struct tb *b = tb_new();

	for (int i = 0; i < 4; i++)
		kernel(b, i, FAR_NS - 1, 0);
	is_told(b, text);
	b = tb_new();
	for (int i = 0; i < 2; i++)
		tb_push(b, 1 - FAR_NS, "a");
	for (int i = 0; i < 2; i++)
		tb_pop(b, FAR_NS - 1);
	is_told(b, "the ranges' times add up to over 2^63 ns");
}

/* Tables that need no join read when kernels began, but not when calls did. */
Test(pass_damage, durations_out_of_bounds_are_told_without_a_join)
{
	struct tb *b = tb_new();
	struct ws_bytes bytes;
	struct ws_err err;

	kernel(b, 1, FAR_NS, 0);
	bytes = tb_close(b);
	cr_expect(eq(int, read_table("kernel-launches", bytes.ptr, bytes.len, &err), WS_CORRUPT));
	cr_expect_str_eq(err.text,
	                 "time of kernel 0 is out of bounds: 1 ns, for 2305843009213693953 ns");
	tb_free(b);
	b = tb_new();
	tb_call(b, 1, FAR_NS, 0);
	bytes = tb_close(b);
	cr_expect(eq(int, read_table("api-summary", bytes.ptr, bytes.len, &err), WS_CORRUPT));
	cr_expect_str_eq(err.text,
	                 "time of API call 0 is out of bounds: it takes 2305843009213693953 ns");
	tb_free(b);
}

/* --- headers ------------------------------------------------------------------------------- */

/* What is said of a trace where this field of the header of the n-th block of a kind was changed;
 * `warpsheet check` says it, too. */
static void header_is_wrong(struct ws_sample *s, enum ws_kind kind, unsigned n, unsigned field,
                            unsigned width, uint64_t value, const char *text)
{
	const size_t offset = ws_sample_block(s, kind, n);
	char expected[256];
	struct ws_err err;

	ws_sample_poke(s, offset + field, width, value);
	ws_sample_seal_block(s, offset);
	snprintf(expected, sizeof(expected), "%s block at offset %zu: %s",
	         ws_schema_kind(kind)->name, offset, text);
	cr_expect(eq(int, read_table("ranges", s->data, s->size, &err), WS_CORRUPT));
	cr_expect_str_eq(err.text, expected);
	ws_sample_free(s);
}

static struct ws_sample bytes_of(struct tb *b)
{
	const struct ws_bytes bytes = tb_close(b);
	struct ws_sample s = {malloc(bytes.len), bytes.len};

	cr_assert(s.data != NULL);
	memcpy(s.data, bytes.ptr, bytes.len);
	tb_free(b);
	return s;
}

static struct ws_sample trace_of_calls(int64_t n)
{
	struct tb *b = tb_new();

	for (int64_t i = 0; i < n; i++) {
		tb_push(b, 10 * i + 3, "a");
		tb_launch(b, 10 * i + 4, "k", 10 * i + 6, 2);
		tb_pop(b, 10 * i + 9);
	}
	return bytes_of(b);
}

enum { API_ROWS = 12, TIME_MIN = 24 }; /* offsets in a block's header */

Test(pass_damage, rows_before_the_time_of_their_block_are_told)
{
	struct ws_sample s = trace_of_calls(2);
	struct tb *b = tb_new();

	header_is_wrong(&s, WS_KIND_KERNEL, 0, TIME_MIN, 8, 7,
	                "its header says times 7 to 16 ns, its rows have 6 to 16");
	kernel(b, 3, 0, WS_KERNEL_NO_TIME);
	kernel(b, 9, 1, 0);
	s = bytes_of(b);
	header_is_wrong(&s, WS_KIND_KERNEL, 0, TIME_MIN, 8, 4,
	                "its header says times 4 to 9 ns, its rows have 3 to 9");
	s = trace_of_calls(2);
	header_is_wrong(&s, WS_KIND_THREAD_EVENT, 0, TIME_MIN, 8, 4,
	                "its header says times 4 to 19 ns, its rows have 3 to 19");
	s = trace_of_calls(100);
	header_is_wrong(&s, WS_KIND_THREAD_EVENT, 0, TIME_MIN, 8, 5,
	                "its header says times 5 to 999 ns, its rows have 3 to 999");
}

Test(pass_damage, calls_that_are_not_as_many_as_their_block_says_are_told)
{
	struct ws_sample s = trace_of_calls(100);

	header_is_wrong(&s, WS_KIND_THREAD_EVENT, 0, API_ROWS, 4, 99,
	                "100 rows are api rows, its header says 99");
	s = trace_of_calls(100);
	header_is_wrong(&s, WS_KIND_THREAD_EVENT, 0, API_ROWS, 4, 0,
	                "100 rows are api rows, its header says 0");
}

/* Two of them have one id. */
Test(pass_damage, calls_of_a_wrong_header_that_share_an_id_are_told)
{
	struct tb *b = tb_new();
	struct ws_sample s;

	for (int64_t i = 0; i < 102; i++) {
		tb_push(b, 10 * i, "a");
		tb_call(b, 10 * i + 1, 1, i < 2 ? 1 : (uint64_t)i);
		kernel_of(b, 10 * i + 3, i < 2 ? 1 : (uint64_t)i);
		tb_pop(b, 10 * i + 5);
		if (i == 1)
			cr_assert(eq(int, ws_trace_writer_flush(tb_writer(b), NULL), WS_OK));
	}
	s = bytes_of(b);
	header_is_wrong(&s, WS_KIND_THREAD_EVENT, 1, API_ROWS, 4, 0,
	                "100 rows are api rows, its header says 0");
}

/* Behind ranges that cross a block of 40,000 events and 20,000 calls. */
static struct ws_sample crossing_trace(void)
{
	struct tb *b = tb_new();

	tb_start(b, 0, "a", 1);
	tb_push(b, 1, "b");
	tb_end(b, 2, 1);
	tb_pop(b, 3);
	cr_assert(eq(int, ws_trace_writer_flush(tb_writer(b), NULL), WS_OK));
	for (int64_t i = 1; i <= 20000; i++) {
		tb_push(b, 10 * i, "a");
		tb_launch(b, 10 * i + 1, "k", 10 * i + 3, 2);
		tb_pop(b, 10 * i + 5);
	}
	return bytes_of(b);
}

/* Where ranges cross, so many events are read ahead as headers tell. */
Test(pass_damage, wrong_headers_behind_ranges_that_cross_are_told)
{
	struct ws_sample s = crossing_trace();

	header_is_wrong(&s, WS_KIND_THREAD_EVENT, 1, API_ROWS, 4, 59999,
	                "20000 rows are api rows, its header says 59999");
	s = crossing_trace();
	header_is_wrong(&s, WS_KIND_THREAD_EVENT, 1, TIME_MIN, 8, 11,
	                "its header says times 11 to 200005 ns, its rows have 10 to 200005");
}

/* --- FLOPs --------------------------------------------------------------------------------- */

static int64_t loss_of(struct ws_report *report)
{
	const struct ws_table *t = report->tables[1];

	return tb_int(t, tb_find(t, 0, "cause", "operations too big to add"), "count");
}

/* Those that ended first are counted. */
Test(pass_damage, operations_too_big_to_add_are_left_out_and_counted)
{
	const struct tb_op huge = {INT64_MAX, 1, 1, "gemm", "forward", "fp32", 0};
	const struct ws_table_def *defs[] = {ws_table_def_by_name("ranges"),
	                                     ws_table_def_by_name("losses")};
	const struct ws_filter all = WS_FILTER_ALL;
	struct ws_trace_reader *r = NULL;
	struct ws_report *report = NULL;
	struct tb *b = tb_new();
	struct ws_bytes bytes;
	struct ws_table *t;
	struct ws_err err;

	for (int i = 0; i < 3; i++) {
		tb_push_op(b, 10 * i, i ? "b" : "a", &huge);
		tb_pop(b, 10 * i + 1);
	}
	bytes = tb_close(b);
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	cr_assert(eq(int, ws_report_stream(r, "", NULL, &all, defs, 2, NULL, &report, &err), WS_OK),
	          "%s", err.text);
	cr_assert(report != NULL);
	t = report->tables[0];
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "a"), "flops"), INT64_MAX));
	cr_expect(tb_is_empty(t, tb_find(t, 0, "path", "b"), "flops"));
	cr_expect(eq(i64, loss_of(report), 2));
	ws_report_free(report);
	ws_trace_reader_free(r);
	tb_free(b);
}
