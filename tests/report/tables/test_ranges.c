#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "report/tables/tables.h"
#include "tests/support/trace_builder.h"

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

Test(ranges, ranges_by_hand)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	/*
	 * outer 0..100 launches o (20 ns), inner 10..40 launches i twice (30 ns
	 * each, overlapping by 10), inner again 50..60 launches nothing
	 */
	tb_push(b, 0, "outer");
	tb_launch(b, 5, "o", 100, 20);
	tb_push(b, 10, "inner");
	tb_launch(b, 15, "i", 200, 30);
	tb_launch(b, 20, "i", 220, 30);
	tb_pop(b, 40);
	tb_push(b, 50, "inner");
	tb_pop(b, 60);
	tb_pop(b, 100);
	tb_launch(b, 150, "lost", 300, 7);
	tb_kernel(b, &(struct tb_kernel){"orphan", 400, 3, 0, 0, 100, 0});
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_assert(eq(sz, t->nrows, 4));

	row = tb_find(t, 0, "path", "outer");
	cr_expect(eq(sz, row, 0));
	cr_expect_str_eq(tb_str(t, row, "style"), "PushPop");
	cr_expect(eq(i64, tb_int(t, row, "instances"), 1));
	cr_expect(eq(i64, tb_int(t, row, "range_ns"), 100));
	cr_expect(eq(i64, tb_int(t, row, "projected_ns"), 150), "100 to 250");
	cr_expect(eq(i64, tb_int(t, row, "busy_ns"), 70), "100-120 and 200-250");
	cr_expect(eq(i64, tb_int(t, row, "inclusive_ns"), 80));
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 20));
	cr_expect(eq(i64, tb_int(t, row, "ops_inclusive"), 3));
	cr_expect(eq(i64, tb_int(t, row, "ops_exclusive"), 1));
	NEAR(tb_real(t, row, "share"), 100.0 * 80 / 90);

	row = tb_find(t, 0, "path", "outer/inner");
	cr_expect(eq(i64, tb_int(t, row, "instances"), 2));
	cr_expect(eq(i64, tb_int(t, row, "range_ns"), 40));
	cr_expect(eq(i64, tb_int(t, row, "projected_ns"), 50),
	          "200 to 250; the second launched nothing");
	cr_expect(eq(i64, tb_int(t, row, "inclusive_ns"), 60));
	NEAR(tb_real(t, row, "avg_ns"), 20.0);
	NEAR(tb_real(t, row, "med_ns"), 20.0);
	NEAR(tb_real(t, row, "std_ns"), sqrt(200.0));

	row = tb_find(t, 0, "path", "(in no range)");
	cr_expect(eq(i64, tb_int(t, row, "inclusive_ns"), 7));
	cr_expect(tb_is_empty(t, row, "instances"));
	row = tb_find(t, 0, "path", "(no launch record)");
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 3));
	cr_expect(eq(i64, t->totals[WS_TC_ranges_exclusive_ns].i, 90));
	cr_expect(eq(i64, t->totals[WS_TC_ranges_ops_exclusive].i, 5));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

static void push_layer(struct tb *b, uint64_t at, const char *name, uint64_t kernel_at,
                       uint64_t dur_ns)
{
	tb_push(b, at, name);
	tb_push(b, at + 1, "conv2d 1");
	tb_launch(b, at + 2, "k", kernel_at, dur_ns);
	tb_pop(b, at + 5);
	tb_pop(b, at + 6);
}

Test(ranges, layers_are_rolled_up)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_push(b, 0, "forward");
	push_layer(b, 10, "layer 0", 100, 20);
	push_layer(b, 20, "layer 1", 130, 30);
	push_layer(b, 30, "layer 11", 170, 40);
	push_layer(b, 40, "head 7", 300, 5);
	tb_pop(b, 60);
	tb_launch(b, 70, "k", 400, 5);
	j = tb_joined(b);
	t = tb_table(j, "ranges-rollup", NULL);
	cr_assert(eq(sz, t->nrows, 7), "%zu", t->nrows);
	row = tb_find(t, 0, "path", "forward/layer *");
	cr_expect(eq(sz, row, 1), "in reading order");
	cr_expect(eq(i64, tb_int(t, row, "paths"), 3));
	cr_expect(eq(i64, tb_int(t, row, "instances"), 3));
	cr_expect(eq(i64, tb_int(t, row, "range_ns"), 18));
	cr_expect(eq(i64, tb_int(t, row, "inclusive_ns"), 90));
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 0));
	cr_expect(eq(i64, tb_int(t, row, "ops_inclusive"), 3));
	NEAR(tb_real(t, row, "share"), 90.0);
	row = tb_find(t, 0, "path", "forward/layer */conv2d *");
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 90));
	row = tb_find(t, 0, "path", "forward/head 7");
	cr_expect(eq(i64, tb_int(t, row, "paths"), 1), "a number that no other differs in stays");
	row = tb_find(t, 0, "path", "(in no range)");
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 5));
	cr_expect(tb_is_empty(t, row, "instances"), "unknown is not 0");
	cr_expect(eq(i64, t->totals[WS_TC_ranges_rollup_exclusive_ns].i, 100));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, where_nothing_rolls_up_the_list_is_enough)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	push_layer(b, 10, "layer 0", 100, 20);
	j = tb_joined(b);
	t = tb_table(j, "ranges-rollup", NULL);
	cr_expect(eq(sz, t->nrows, 0));
	cr_expect(tb_notes_say(t, "No two paths differ in a number only"));
	cr_expect_null(t->not_recorded);
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, a_launch_that_straddles_the_end_of_a_range_is_not_in_it)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_push(b, 0, "outer");
	tb_push(b, 10, "inner");
	tb_call(b, 18, 5, 77); /* 18 to 23 */
	tb_kernel(b, &(struct tb_kernel){"k", 30, 4, 77, 0, 100, 0});
	tb_pop(b, 20);
	tb_pop(b, 40);
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "outer"), "exclusive_ns"), 4));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "outer/inner"), "inclusive_ns"), 0));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, ranges_of_one_name_inside_each_other_count_a_kernel_once_a_path)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_push(b, 0, "f");
	tb_push(b, 1, "f");
	tb_push(b, 2, "f");
	tb_launch(b, 3, "k", 10, 5);
	tb_pop(b, 5);
	tb_pop(b, 6);
	tb_launch(b, 7, "k", 20, 6);
	tb_pop(b, 9);
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "f"), "inclusive_ns"), 11));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "f"), "exclusive_ns"), 6));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "f/f"), "inclusive_ns"), 5));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "f/f"), "exclusive_ns"), 0));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "f/f/f"), "exclusive_ns"), 5));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, a_kernel_in_crossing_ranges_is_inclusive_in_each_and_exclusive_in_one)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_push(b, 0, "p");
	tb_start(b, 10, "s", 5);
	tb_launch(b, 12, "k", 50, 8); /* in p 0..20 and in s 10..30 */
	tb_pop(b, 20);
	tb_launch(b, 22, "k", 60, 3); /* in s only */
	tb_end(b, 30, 5);
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "p"), "inclusive_ns"), 8));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "p"), "exclusive_ns"), 0));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "p"), "projected_ns"), 8));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "s"), "inclusive_ns"), 11));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "s"), "exclusive_ns"), 11));
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "path", "s"), "style"), "StartEnd");
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, a_range_ended_elsewhere_holds_what_its_own_thread_launched)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_thread(b, 2, 100);
	tb_start(b, 0, "s", 9);
	tb_launch(b, 5, "k", 50, 8);
	tb_on_thread(b, 2);
	tb_launch(b, 6, "k", 60, 1); /* meanwhile on the other thread */
	tb_end(b, 30, 9);
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "s"), "inclusive_ns"), 8));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "s"), "range_ns"), 30));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "(in no range)"), "inclusive_ns"), 1));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, an_open_range_ends_with_the_last_record_and_is_counted)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_push(b, 10, "open");
	tb_launch(b, 20, "k", 100, 50); /* ends at 150, the last moment of the trace */
	j = tb_joined_unclosed(b);
	t = tb_table(j, "ranges", NULL);
	row = tb_find(t, 0, "path", "open");
	cr_expect(eq(i64, tb_int(t, row, "range_ns"), 140));
	cr_expect(eq(i64, tb_int(t, row, "open"), 1));
	cr_expect(eq(i64, tb_int(t, row, "inclusive_ns"), 50));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, busy_time_adds_devices_and_not_overlaps)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_device(b, 1, WS_DEVICE_CUDA, "Second GPU");
	tb_push(b, 0, "r");
	for (uint64_t i = 0; i < 4; i++) {
		tb_call(b, 1 + (int64_t)i, 1, 500 + i);
		/* two streams at once on device 0, the same again on device 1 */
		tb_kernel(b, &(struct tb_kernel){"k", 100 + 5 * (int64_t)(i % 2), 10, 500 + i,
		                                 i / 2, 100, 0});
	}
	tb_pop(b, 9);
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "inclusive_ns"), 40));
	cr_expect(eq(i64, tb_int(t, 0, "busy_ns"), 30));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, a_group_of_operations_does_not_count_its_parts_twice)
{
	struct tb *b = tb_new();
	struct tb_op whole = {300, 30, 3, "other", "forward", "fp32", 0};
	struct tb_op part = {100, 10, 1, "gemm", "forward", "fp32", 0};
	struct joined *j;
	struct ws_table *t;

	tb_push_op(b, 0, "whole", &whole);
	tb_push_op(b, 1, "part", &part);
	tb_pop(b, 2);
	tb_push_op(b, 3, "part", &part);
	tb_pop(b, 4);
	tb_pop(b, 5);
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "whole"), "flops"), 200));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "whole"), "bytes"), 22));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, flops_too_big_to_add_are_left_out_and_counted)
{
	struct tb *b = tb_new();
	struct tb_op huge = {INT64_MAX, 1, 1, "gemm", "forward", "fp32", 0};
	struct tb_op wrong = {(uint64_t)INT64_MAX + 1, 1, 1, "gemm", "forward", "fp32", 0};
	struct joined *j;
	struct ws_table *t;

	tb_push_op(b, 0, "a", &huge);
	tb_pop(b, 1);
	tb_push_op(b, 2, "b", &huge);
	tb_pop(b, 3);
	tb_push_op(b, 4, "c", &wrong);
	tb_pop(b, 5);
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "a"), "flops"), INT64_MAX));
	cr_expect(tb_is_empty(t, tb_find(t, 0, "path", "b"), "flops"));
	cr_expect(tb_is_empty(t, tb_find(t, 0, "path", "c"), "flops"));
	ws_table_free(t);
	t = tb_table(j, "losses", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "cause", "operations too big to add"), "count"),
	             1));
	cr_expect(eq(i64,
	             tb_int(t, tb_find(t, 0, "cause", "operations with an unreadable payload"),
	                    "count"),
	             1));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, an_nvtx_filter_keeps_what_lies_in_the_range_every_instance)
{
	struct tb *b = tb_new();
	struct ws_filter f = WS_FILTER_ALL;
	struct joined *j;
	struct ws_table *t;

	for (int64_t i = 0; i < 3; i++) {
		tb_push(b, 100 * i, "step");
		tb_launch(b, 100 * i + 1, "other", 1000 + 100 * i, 50);
		tb_push(b, 100 * i + 10, "softmax");
		tb_push(b, 100 * i + 20, "max");
		tb_launch(b, 100 * i + 21, "max", 1050 + 100 * i, 5);
		tb_pop(b, 100 * i + 30);
		tb_pop(b, 100 * i + 40);
		tb_pop(b, 100 * i + 90);
	}
	j = tb_joined(b);
	f.nvtx = "step/soft*";
	t = tb_table(j, "ranges", &f);
	cr_assert(eq(sz, t->nrows, 2), "neither step nor the rows in brackets");
	cr_expect_str_eq(tb_str(t, 0, "path"), "step/softmax");
	cr_expect(eq(i64, tb_int(t, 0, "instances"), 3));
	cr_expect(eq(i64, tb_int(t, 0, "inclusive_ns"), 15));
	NEAR(tb_real(t, 0, "share"), 100.0);
	cr_expect(eq(i64, t->totals[WS_TC_ranges_exclusive_ns].i, 15));
	ws_table_free(t);
	t = tb_table(j, "range-kernels", &f);
	cr_assert(eq(sz, t->nrows, 1));
	cr_expect_str_eq(tb_str(t, 0, "path"), "step/softmax/max");
	cr_expect(eq(i64, tb_int(t, 0, "kernels"), 3));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, hostile_names_stay_what_they_are)
{
	static const char hostile[] = "=cmd|'/C calc'!A0,\"quoted\"\n\xff\xfe\0end/slash";
	struct tb *b = tb_new();
	char *long_name = malloc(5001);
	const struct ws_cell *cell;
	struct joined *j;
	struct ws_table *t;

	memset(long_name, 'x', 5000);
	long_name[5000] = '\0';
	tb_push_bytes(b, 0, hostile, sizeof(hostile) - 1);
	tb_launch(b, 1, long_name, 10, 5);
	tb_pop(b, 3);
	j = tb_joined(b);
	t = tb_table(j, "range-kernels", NULL);
	cell = tb_cell(t, 0, "path");
	/* two slashes are escaped, everything else is as it was */
	cr_assert(eq(sz, cell->text.len, sizeof(hostile) - 1 + 2));
	cr_expect(
	        not(memcmp(cell->text.ptr, "=cmd|'\\/C calc'!A0,\"quoted\"\n\xff\xfe\0end\\/slash",
	                   cell->text.len)));
	cr_expect(eq(sz, tb_cell(t, 0, "name")->text.len, 5000));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
	free(long_name);
}

/* --- range-kernels ------------------------------------------------------------------------------
 */

Test(ranges, range_kernels_count_a_kernel_in_its_innermost_range_only)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_push(b, 0, "a");
	tb_launch(b, 1, "k", 10, 5);
	tb_push(b, 10, "b");
	tb_launch(b, 11, "k", 20, 6);
	tb_launch(b, 13, "big", 30, 60);
	tb_launch(b, 15, "k", 100, 8);
	tb_pop(b, 20);
	tb_pop(b, 30);
	tb_launch(b, 50, "k", 200, 1);
	j = tb_joined(b);
	t = tb_table(j, "range-kernels", NULL);
	cr_assert(eq(sz, t->nrows, 4));
	cr_expect_str_eq(tb_str(t, 0, "path"), "a");
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 5));
	cr_expect_str_eq(tb_str(t, 1, "name"), "big", "in a range the longest first");
	row = 2;
	cr_expect_str_eq(tb_str(t, row, "path"), "a/b");
	cr_expect(eq(i64, tb_int(t, row, "kernels"), 2));
	cr_expect(eq(i64, tb_int(t, row, "total_ns"), 14));
	NEAR(tb_real(t, row, "med_ns"), 7.0);
	NEAR(tb_real(t, row, "std_ns"), sqrt(2.0));
	cr_expect_str_eq(tb_str(t, 3, "path"), "(in no range)");
	cr_expect(tb_is_empty(t, 3, "instances"));
	cr_expect(eq(i64, t->totals[WS_TC_range_kernels_total_ns].i, 80));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* --- names that differ from call to call --- */

/* Two steps of emit_nvtx, each with its own numbers in the names. */
static struct tb *numbered_calls(void)
{
	struct tb *b = tb_new();

	for (int64_t step = 0; step < 2; step++) {
		char name[96];
		int64_t at = 1000 * step;

		snprintf(name, sizeof(name), "ProfilerStep#%d", 7 + (int)step);
		tb_push(b, at, name);
		snprintf(name, sizeof(name),
		         "aten::mm, seq = %d, op_id = %d, sizes = [[2, %d], []]", (int)step,
		         40 + (int)step, (int)step);
		tb_push(b, at + 1, name);
		tb_launch(b, at + 2, step ? "second" : "first", at + 100, 10);
		tb_pop(b, at + 4);
		snprintf(name, sizeof(name), "load <Reader at 0x7f%dab>", (int)step);
		tb_push(b, at + 5, name);
		tb_pop(b, at + 6);
		tb_pop(b, at + 900);
	}
	return b;
}

static size_t kernels_under(struct joined *j, const char *pattern, const char *kernel)
{
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_table *t;
	size_t n;

	filter.nvtx = pattern;
	t = tb_table(j, "kernel-summary", &filter);
	n = tb_count(t, "name", kernel) == 1 ? t->nrows : 0;
	ws_table_free(t);
	return n;
}

Test(ranges, what_differs_from_call_to_call_makes_no_path_and_no_operation_of_its_own)
{
	struct tb *b = numbered_calls();
	struct joined *j = tb_joined(b);
	struct ws_table *t = tb_table(j, "ranges", NULL);

	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "ProfilerStep#*"), "instances"), 2));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "ProfilerStep#*/aten::mm"), "instances"),
	             2));
	cr_expect(eq(i64,
	             tb_int(t, tb_find(t, 0, "path", "ProfilerStep#*/load <Reader at 0x*>"),
	                    "instances"),
	             2));
	cr_expect(eq(sz, t->nrows, 3 + 2), "and kernels in no range, without a launch");
	ws_table_free(t);
	t = tb_table(j, "ops", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "name", "aten::mm"), "calls"), 2));
	ws_table_free(t);
	t = tb_table(j, "steps", NULL);
	cr_expect(eq(sz, t->nrows, 2));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(ranges, a_range_is_still_found_by_the_name_that_was_recorded)
{
	struct tb *b = numbered_calls();
	struct joined *j = tb_joined(b);

	cr_expect(eq(sz, kernels_under(j, "ProfilerStep#8", "second"), 1), "its number");
	cr_expect(eq(sz, kernels_under(j, "ProfilerStep#7/aten::mm*", "first"), 1));
	cr_expect(eq(sz, kernels_under(j, "*op_id = 41*", "second"), 1));
	cr_expect(eq(sz, kernels_under(j, "aten::mm#1", "second"), 1), "the second one");
	cr_expect(eq(sz, kernels_under(j, "aten::mm", "first"), 2));
	cr_expect(eq(i64, j->m->steps[1].number, 8));
	joined_free(j);
	tb_free(b);
}
