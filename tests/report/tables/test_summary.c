#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "report/tables/tables.h"
#include "tests/support/trace_builder.h"

static size_t find_item(const struct ws_table *t, const char *section, const char *item)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "section"), section) &&
		    !strcmp(tb_str(t, row, "item"), item))
			return row;
	cr_fatal("no row %s, %s", section, item);
}

Test(summary, tells_where_the_trace_comes_from_and_what_ran)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_meta(tb_writer(b), "program.path", "old", &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_meta(tb_writer(b), "host.cpu", "a CPU", &err), WS_OK));
	cr_assert(
	        eq(int, ws_trace_writer_meta(tb_writer(b), "program.path", "/bin/x", &err), WS_OK));
	tb_mark(b, 0, "workload.model=transformer-tiny");
	tb_mark(b, 1, "workload.formula=a=b");
	tb_mark(b, 2, "workload.model=transformer-small");
	tb_mark(b, 3, "workload.=no key");
	tb_mark(b, 4, "workload.no value");
	tb_mark(b, 5, "something else");
	tb_launch(b, 10, "k", 20, 5);
	tb_process_end(b, WS_END_EXITED, 3);
	j = tb_joined(b);
	t = tb_table(j, "summary", NULL);
	cr_expect_str_eq(tb_str(t, 0, "section"), "What ran", "it comes first");
	cr_expect_str_eq(tb_str(t, 0, "text"), "transformer-small");
	cr_expect_str_eq(tb_str(t, find_item(t, "Provenance", "program.path"), "text"), "/bin/x");
	cr_expect(eq(sz, tb_count(t, "item", "program.path"), 1), "the last row of a key holds");
	cr_expect_str_eq(tb_str(t, find_item(t, "Provenance", "trace.recorded"), "text"),
	                 "2023-11-14T22:13:20Z");
	cr_expect_str_eq(tb_str(t, find_item(t, "What ran", "program end"), "text"),
	                 "exited with status 3");
	cr_expect_str_eq(tb_str(t, find_item(t, "What ran", "device 0, kernels"), "text"),
	                 "Test GPU");
	cr_expect_str_eq(tb_str(t, find_item(t, "Workload", "model"), "text"), "transformer-small");
	cr_expect_str_eq(tb_str(t, find_item(t, "Workload", "formula"), "text"), "a=b");
	cr_expect(eq(sz, tb_count(t, "section", "Workload"), 2));
	cr_expect(tb_notes_say(t, "ended with exit status 3"));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(summary, lists_ten_kernels_and_the_rest)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	char name[64];
	size_t row;

	for (int i = 0; i < 13; i++) {
		snprintf(name, sizeof(name), "void ns::k%d<int>(float*)", i);
		tb_launch(b, 10 * i, name, 100 * i, 50 - i);
	}
	j = tb_joined(b);
	t = tb_table(j, "summary", NULL);
	cr_expect(eq(sz, tb_count(t, "section", "Top kernels"), 11));
	row = find_item(t, "Top kernels", "ns::k0");
	cr_expect_str_eq(tb_str(t, row, "text"), "void ns::k0<int>(float*)");
	row = find_item(t, "Top kernels", "(all other kernels)");
	cr_expect(eq(i64, tb_int(t, row, "count"), 3));
	cr_expect(eq(dbl, tb_real(t, row, "time_ns"), 40 + 39 + 38));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(summary, names_of_the_top_kernels_stay_different_and_dtypes_of_no_time_are_left_out)
{
	static const char *const tiles[] = {"128x128", "32x32"};
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	char name[120];
	size_t row;

	for (int i = 0; i < 2; i++) {
		snprintf(
		        name, sizeof(name),
		        "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize%sx8_stage3_ffma_aligna4_"
		        "alignc4_execute_kernel__5x_cublas",
		        tiles[i]);
		tb_launch(b, 10 + i, name, 20000 * (i + 1), 10000);
	}
	tb_launch(b, 13, "volta_sgemm_64x64_nt", 90000, 1);
	j = tb_joined(b);
	t = tb_table(j, "summary", NULL);
	row = tb_find(t, 0, "section", "Top kernels");
	cr_expect(strstr(tb_str(t, row, "item"), "128x128") != NULL, "%s", tb_str(t, row, "item"));
	cr_expect(strstr(tb_str(t, row + 1, "item"), "32x32") != NULL, "%s",
	          tb_str(t, row + 1, "item"));
	cr_expect_str_eq(tb_str(t, find_item(t, "What ran", "dtype of kernels, by GPU time"),
	                        "text"),
	                 "bf16 100.0 %");
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
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

Test(summary, a_whole_trace_says_once_that_nothing_is_missing)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_loss(b, "dropped_records", 0);
	tb_push(b, 0, "all");
	tb_launch(b, 1, "volta_sgemm_128x64_tn", 20, 5);
	tb_pop(b, 40);
	tb_process_end(b, WS_END_EXITED, 0);
	j = tb_joined(b);
	t = tb_table(j, "summary", NULL);
	cr_expect(eq(sz, tb_count(t, "section", "What is missing"), 1));
	cr_expect(strstr(tb_str(t, find_item(t, "What is missing", "missing"), "text"),
	                 "nothing: all ") != NULL);
	ws_table_free(t);
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

Test(summary, a_trace_without_loss_counters_says_that_it_does_not_know)
{
	struct tb *b = tb_new();
	struct joined *j = tb_joined(b);
	struct ws_table *t = tb_table(j, "losses", NULL);

	cr_expect(
	        eq(i64,
	           tb_int(t, tb_find(t, 0, "cause", "recordings without a loss counter"), "count"),
	           1));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* What an importer counts has words in every later report; other profilers record no ends. */
Test(summary, losses_of_an_import_are_explained)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	struct ws_err err;
	size_t row;

	cr_assert(eq(int, ws_trace_writer_meta(tb_writer(b), "import.source", "a profiler", &err),
	             WS_OK));
	tb_add(b, WS_KIND_PROCESS, &(struct ws_row_process){.pid = 100, .image = 1});
	tb_loss(b, "import_merged_ranks", 3);
	j = tb_joined(b);
	t = tb_table(j, "losses", NULL);
	row = tb_find(t, 0, "cause", "import_merged_ranks");
	cr_expect(eq(i64, tb_int(t, row, "count"), 3));
	cr_expect_str_eq(tb_str(t, row, "source"), "import");
	cr_expect(strstr(tb_str(t, row, "meaning"), "several ranks") != NULL);
	row = tb_find(t, 0, "cause", "profiles without a loss counter");
	cr_expect(eq(i64, tb_int(t, row, "count"), 1));
	row = tb_find(t, 0, "cause", "processes whose end is not recorded");
	cr_expect(eq(i64, tb_int(t, row, "count"), 0));
	ws_table_free(t);
	t = tb_table(j, "summary", NULL);
	cr_expect(tb_find(t, 0, "item", "import_merged_ranks") < t->nrows, "on the first page");
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

Test(summary, a_real_gpu_is_not_called_a_reference)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_launch(b, 0, "k", 0, 10);
	j = tb_joined(b);
	t = tb_table(j, "summary", NULL);
	cr_expect(not(tb_notes_say(t, "CPU reference")));
	ws_table_free(t);
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

Test(summary, clocks_are_told_on_the_first_page_and_in_losses)
{
	static const char *const keys[][2] = {{"clock.slew_ppm", "-1.5"},
	                                      {"clock.cupti_apart_ns", "812"},
	                                      {"clock.largest_step_ns", "3600000000000"},
	                                      {"clock.realtime_apart_ns", "3599999999000"}};
	static const char *const tables[] = {"summary", "losses"};

	for (size_t nkeys = 0; nkeys <= 4; nkeys += 2) {
		struct tb *b = tb_new();
		struct joined *j;
		struct ws_err err;

		for (size_t i = 0; i < nkeys; i++)
			ws_trace_writer_meta(tb_writer(b), keys[i][0], keys[i][1], &err);
		j = tb_joined(b);
		for (size_t i = 0; i < 2; i++) {
			struct ws_table *t = tb_table(j, tables[i], NULL);

			/* a trace of before has no such keys */
			cr_expect(eq(int, tb_notes_say(t, "Clocks"), nkeys > 0));
			cr_expect(eq(int, tb_notes_say(t, "counter -1.5 ppm"), nkeys > 0));
			cr_expect(eq(int, tb_notes_say(t, "at most 812 ns"), nkeys > 0));
			cr_expect(eq(int,
			             tb_notes_say(t, "largest step of the real-time clock "
			                             "3600000000000 ns; all its steps "
			                             "3599999999000 ns."),
			             nkeys > 2));
			ws_table_free(t);
		}
		joined_free(j);
		tb_free(b);
	}
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
