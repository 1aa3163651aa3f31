#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "tests/support/trace_builder.h"

static size_t find_item(const struct ws_table *t, const char *section, const char *item)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "section"), section) &&
		    !strcmp(tb_str(t, row, "item"), item))
			return row;
	cr_fatal("no row %s, %s", section, item);
}

Test(summary, only_what_is_missing_is_named)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t, *losses;
	size_t over_0 = 0;

	tb_loss(b, "dropped_records", 0);
	tb_loss(b, "ring_full", 2);
	tb_loss(b, "dropped_records", 0);
	tb_loss(b, "ring_full", 5);
	tb_pop(b, 0);
	tb_end(b, 1, 44);
	tb_push(b, 2, "open");
	j = tb_joined_unclosed(b);
	t = tb_table(j, "summary", NULL);
	losses = tb_table(j, "losses", NULL);
	cr_expect(eq(i64, tb_int(t, find_item(t, "What is missing", "ring_full"), "count"), 5));
	cr_expect(eq(sz, tb_count(t, "item", "dropped_records"), 0), "0 is in `losses`");
	cr_expect(eq(i64,
	             tb_int(t, find_item(t, "What is missing", "pops without a push"), "count"),
	             1));
	cr_expect(eq(i64,
	             tb_int(t, find_item(t, "What is missing", "range ends without a start"),
	                    "count"),
	             1));
	cr_expect(eq(i64,
	             tb_int(t, find_item(t, "What is missing", "ranges open at the end"), "count"),
	             1));
	cr_expect(eq(i64, tb_int(t, find_item(t, "What is missing", "trace not closed"), "count"),
	             1));
	cr_expect(
	        eq(i64,
	           tb_int(t, find_item(t, "What is missing", "processes whose end is not recorded"),
	                  "count"),
	           1));
	cr_expect(tb_notes_say(t, "The trace was not closed"));

	/* the table `losses` has the same counts, and those that are 0 */
	for (size_t row = 0; row < losses->nrows; row++)
		over_0 += !tb_is_empty(losses, row, "count") && tb_int(losses, row, "count") > 0;
	cr_expect(eq(sz, over_0, tb_count(t, "section", "What is missing")));
	cr_expect_str_eq(tb_str(losses, 0, "cause"), "dropped_records");
	cr_expect(tb_is_empty(losses, 0, "count"), "not counted to the end is not 0");
	ws_table_free(t);
	ws_table_free(losses);
	joined_free(j);
	tb_free(b);
}

/* The order in which a reviewer asks. */
Test(summary, sections_stand_in_the_order_of_the_questions)
{
	static const char *const order[] = {
	        "What ran",          "How long a step takes", "Where the time goes",
	        "GPU time by phase", "GPU time by class",     "Top kernels",
	        "What to do",        "What is missing",       "Workload",
	        "Provenance",
	};
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row = 0;

	tb_mark(b, 0, "workload.model=transformer-tiny");
	tb_launch(b, 10, "k", 20, 5);
	j = tb_joined(b);
	t = tb_table(j, "summary", NULL);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		size_t found = tb_find(t, 0, "section", order[i]);

		cr_expect(found >= row, "%s", order[i]);
		row = found;
	}
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(summary, times_of_the_cpu_reference_are_called_so_in_every_table)
{
	struct tb *b = tb_new();
	struct ws_report *report;
	struct joined *j;
	struct ws_err err;

	tb_device(b, 3, WS_DEVICE_CPU_REFERENCE, "CPU reference");
	tb_kernel(b, &(struct tb_kernel){"k", 0, 10, 0, 3, 100, 0});
	j = tb_joined(b);
	cr_assert(eq(int, all_tables(j->m, &j->rows, NULL, &report, &err), WS_OK));
	for (size_t i = 0; i < report->ntables; i++)
		cr_expect(tb_notes_say(report->tables[i], "All kernels ran on the CPU reference"),
		          "%s", report->tables[i]->def->name);
	ws_report_free(report);
	joined_free(j);
	tb_free(b);
}

/* --- payloads of any program ---------------------------------------------------------------------
 */

static int64_t number(uint64_t type, const void *bytes, size_t len, int *ok)
{
	int64_t value = -77;

	*ok = ws_payload_number(type, bytes, len, &value);
	return value;
}

Test(summary, payload_numbers_have_the_sizes_and_signs_of_nvtx)
{
	static const uint8_t ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
	int ok;

	cr_expect(eq(i64, number(11, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(12, ones, 8, &ok), 255));
	cr_expect(eq(i64, number(13, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(14, ones, 8, &ok), 65535));
	cr_expect(eq(i64, number(15, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(16, ones, 8, &ok), 4294967295));
	cr_expect(eq(i64, number(17, ones, 8, &ok), -1));
	cr_expect(ok);
	number(18, ones, 8, &ok);
	cr_expect(not(ok), "2^64 - 1 fits into no int64_t");
	number(17, ones, 7, &ok);
	cr_expect(not(ok), "the payload ends inside the number");
	number(20, ones, 8, &ok);
	cr_expect(not(ok), "a double is no whole number");
	number(999, ones, 8, &ok);
	cr_expect(not(ok));
}

Test(summary, a_payload_shorter_than_its_schema_says_nothing_and_is_counted)
{
	struct tb *b = tb_new();
	static const uint8_t shorter[10] = {1, 1, 1};
	struct joined *j;
	struct ws_table *t;
	struct ws_err err;
	uint64_t payload;

	cr_assert(eq(int,
	             ws_trace_writer_intern_payload(tb_writer(b), (uint64_t)1 << 32, shorter,
	                                            sizeof(shorter), &payload, &err),
	             WS_OK));
	tb_add(b, WS_KIND_NVTX,
	       &(struct ws_row_nvtx){.thread = 1, .name = tb_text(b, "cut"), .payload = payload});
	tb_launch(b, 1, "k", 10, 5);
	tb_pop(b, 5);
	j = tb_joined(b);
	t = tb_table(j, "kernel-summary", NULL);
	cr_expect(tb_is_empty(t, 0, "flops"));
	cr_expect_str_eq(tb_str(t, 0, "op_class"), "gemm", "what is whole is read");
	ws_table_free(t);
	t = tb_table(j, "losses", NULL);
	cr_expect(eq(i64,
	             tb_int(t, tb_find(t, 0, "cause", "operations with an unreadable payload"),
	                    "count"),
	             1));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(summary, payloads_of_other_programs_are_found_by_field_names)
{
	struct tb *b = tb_new();
	struct {
		uint32_t pad;
		uint32_t flops;
		uint64_t bytes;
	} other = {9, 1234, 56};
	uint64_t schema = 555, payload;
	struct joined *j;
	struct ws_table *t;
	struct ws_err err;

	tb_add(b, WS_KIND_PAYLOAD_SCHEMA,
	       &(struct ws_row_payload_schema){schema, 0, tb_text(b, "theirs"), 1, sizeof(other)});
	tb_add(b, WS_KIND_PAYLOAD_FIELD,
	       &(struct ws_row_payload_field){schema, 0, tb_text(b, "flops"), 6, 4, 0, 0});
	tb_add(b, WS_KIND_PAYLOAD_FIELD,
	       &(struct ws_row_payload_field){schema, 1, tb_text(b, "bytes"), 18, 8, 0, 0});
	/* an array of that name is no number */
	tb_add(b, WS_KIND_PAYLOAD_FIELD,
	       &(struct ws_row_payload_field){schema, 2, tb_text(b, "layer"), 6, 0, 4, 1 << 4});
	cr_assert(eq(int,
	             ws_trace_writer_intern_payload(tb_writer(b), schema, &other, sizeof(other),
	                                            &payload, &err),
	             WS_OK));
	tb_add(b, WS_KIND_NVTX,
	       &(struct ws_row_nvtx){.thread = 1, .name = tb_text(b, "op"), .payload = payload});
	tb_pop(b, 5);
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "flops"), 1234));
	cr_expect(eq(i64, tb_int(t, 0, "bytes"), 56));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}
