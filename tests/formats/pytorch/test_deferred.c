/* Events that are understood at the end of the file only. */
#include "tests/formats/pytorch/import.h"
#include "tests/support/peak_memory.h"

static void assert_sum(const struct ws_imported *i)
{
	cr_assert(eq(u64, i->stats.events, i->stats.kept + ws_import_left_out(&i->stats)));
}

/* --- begins and ends --- */

#define HALF(ph, cat, name, tid, ts, rest)                                                         \
	"{\"ph\":\"" ph "\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid     \
	",\"ts\":" #ts rest "}"
#define END(tid, ts) "{\"ph\":\"E\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts "}"

Test(deferred, a_begin_and_its_end_are_what_one_event_is)
{
	struct ws_imported *pair = imported("{\"traceEvents\":[" HALF(
	        "B", "cpu_op", "aten::mm", 7, 10.5,
	        ",\"args\":{\"Input Dims\":[[2,3],[3,4]],\"Input type\":[\"float\",\"float\"]}")
	                ",{\"ph\":\"E\",\"pid\":1,\"tid\":7,\"ts\":12.75,\"args\":{\"External id\":9,"
	                "\"Input Dims\":[[9,9],[9,9]]}}]}");

	cr_assert(eq(u64, rows(pair, WS_KIND_CPU_OP), 1));
	cr_assert(eq(i64, WS_CELL(pair, CPU_OP, cpu_op, start_ns, 0), 10500));
	cr_assert(eq(i64, WS_CELL(pair, CPU_OP, cpu_op, dur_ns, 0), 2250));
	cr_assert(eq(i64, WS_CELL(pair, CPU_OP, cpu_op, external_id, 0), 9), "of the end");
	cr_assert(eq(i64, WS_CELL(pair, OP_CONFIG, op_config, flops, 0), 2 * 2 * 3 * 4),
	          "where both have it, the begin's counts");
	cr_assert(eq(u64, pair->stats.kept, 2));
	assert_sum(pair);
	ws_imported_free(pair);
}

Test(deferred, they_nest_and_each_row_is_its_own)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" HALF("B", "user_annotation", "outer", 1, 0, "") ","
	        HALF("B", "user_annotation", "inner", 1, 2, "") ","
	        HALF("B", "user_annotation", "other", 2, 3, "") "," END(1, 4) "," END(1, 9) ","
	        END(2, 5) "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 6));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 0), (char *)"outer"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 1), (char *)"inner"));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 2), 4000));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 3), 9000));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 5), 5000), "of thread 2");
	cr_assert(eq(u64, i->stats.kept, 6));
	assert_sum(i);
	ws_imported_free(i);
}

Test(deferred, their_order_is_that_of_time)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" END(1, 9) "," END(1, 4) ","
	        HALF("B", "user_annotation", "inner", 1, 2, "") ","
	        HALF("B", "user_annotation", "outer", 1, 0, "") "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 4));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 0), (char *)"outer"));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 2), 4000));
	ws_imported_free(i);
}

Test(deferred, halves_without_the_other_are_counted_by_reason)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" END(1, 1) "," HALF("B", "cpu_op", "whole", 1, 2, "") ","
	        HALF("B", "cpu_op", "lost its end", 1, 3, "") ","
	        HALF("E", "cpu_op", "whole", 1, 4, "") ","
	        HALF("B", "cpu_op", "open", 1, 5, "") ","
	        HALF("E", "cpu_op", "of another name", 1, 6, "") ","
	        HALF("B", "who knows", "x", 2, 5, "") "," END(2, 6) ","
	        "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"no time\",\"pid\":1,\"tid\":1}]}");

	cr_assert(eq(u64, rows(i, WS_KIND_CPU_OP), 1));
	cr_assert(eq(i64, WS_CELL(i, CPU_OP, cpu_op, dur_ns, 0), 2000));
	cr_assert(eq(u64, ws_imported_skipped(i, "begins of events without an end"), 2));
	cr_assert(eq(u64, ws_imported_skipped(i, "ends of events without a begin"), 2));
	cr_assert(eq(u64, ws_imported_skipped(i, "category 'who knows'"), 1));
	cr_assert(eq(u64, ws_imported_skipped(i, "ends of events that are left out"), 1));
	cr_assert(eq(u64, ws_imported_lost(i, "times"), 1));
	cr_assert(eq(u64, i->stats.events, 9));
	cr_assert(eq(u64, i->stats.kept, 2));
	assert_sum(i);
	ws_imported_free(i);
}

Test(deferred, what_waits_for_the_end_costs_its_text_and_100_bytes)
{
	static const char half[] = HALF("B", "x", "a", 1, 1, "") ",";
	const size_t copies = 200000, size = copies * (sizeof(half) - 1) + 100;
	char *text = malloc(size), *at = stpcpy(text, "{\"traceEvents\":[");
	struct ws_imported *i;
	long before;

	for (size_t k = 0; k < copies; k++)
		at = stpcpy(at, half);
	at = stpcpy(at, END(1, 2) "]}");
	begin_peak_memory();
	before = peak_memory_kib();
	i = import(text);
	cr_assert(le(i64, peak_memory_kib() - before, (int64_t)(size + 100 * copies) / 1024 + 4096));
	cr_assert(eq(u64, ws_imported_skipped(i, "begins of events without an end"), copies - 1));
	assert_sum(i);
	ws_imported_free(i);
	free(text);
}

/* --- work without correlation ids, as ROCm's profiles have it --- */

#define LAUNCH(ts, args)                                                                       \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipLaunchKernel\",\"pid\":1,\"tid\":2," \
	"\"ts\":" #ts ",\"dur\":1,\"args\":{" args "}}"
#define ON_STREAM(stream, ts, args)                                                            \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":" #stream               \
	",\"ts\":" #ts ",\"dur\":1,\"args\":{" args "}}"
#define ARROW(ph, id, pid, tid, ts)                                                        \
	"{\"ph\":\"" ph "\",\"id\":" #id ",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts  \
	",\"cat\":\"ac2g\",\"name\":\"ac2g\"}"
#define OP(id, ts)                                                                             \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":2,\"ts\":" #ts   \
	",\"dur\":9,\"args\":{\"External id\":" #id "}}"

static int64_t kernel_id(const struct ws_imported *i, uint64_t row)
{
	return WS_CELL(i, KERNEL, kernel, correlation, row);
}

static int64_t call_id(const struct ws_imported *i, uint64_t row)
{
	return WS_CELL(i, API, api, correlation, row);
}

Test(deferred, arrows_tell_the_launch_where_no_correlation_id_does)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" OP(5, 0) ","
	        LAUNCH(1, "\"External id\":5") "," ARROW("s", 118, 1, 2, 1) ","
	        LAUNCH(3, "\"External id\":5") "," ARROW("s", 119, 1, 2, 3) ","
	        ON_STREAM(7, 20, "\"External id\":5,\"correlation\":0") ","
	        ARROW("f", 119, 0, 7, 20) "," ON_STREAM(8, 22, "\"External id\":5") ","
	        ARROW("f", 118, 0, 8, 22) "]}");

	cr_assert(eq(i64, call_id(i, 0), 118));
	cr_assert(eq(i64, call_id(i, 1), 119));
	cr_assert(eq(i64, kernel_id(i, 0), 119));
	cr_assert(eq(i64, kernel_id(i, 1), 118));
	cr_assert(eq(u64, rows(i, WS_KIND_EXTERNAL_LINK), 2));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, external_id, 0), 5));
	cr_assert(ws_imported_warned(i, "without a correlation id: 2. Its launch is found by an "
	                                "arrow: 2, by an External id: 0"));
	cr_assert(eq(u64, ws_imported_skipped(i, "arrows"), 0), "they told something");
	cr_assert(eq(u64, i->stats.kept, 9));
	assert_sum(i);
	ws_imported_free(i);
}

Test(deferred, an_arrow_that_is_ambiguous_tells_nothing)
{
	struct ws_imported *i = imported("{\"traceEvents\":["
	        LAUNCH(1, "") "," ARROW("s", 118, 1, 2, 1) "," ON_STREAM(7, 20, "") ","
	        ARROW("f", 118, 0, 7, 20) "," ARROW("f", 119, 0, 7, 20) "]}");

	cr_assert(eq(i64, kernel_id(i, 0), 0));
	cr_assert(eq(u64, ws_imported_skipped(i, "arrows"), 2));
	assert_sum(i);
	ws_imported_free(i);
}

Test(deferred, calls_and_work_of_one_operation_face_each_other_in_their_order)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" OP(5, 0) ","
	        LAUNCH(1, "\"External id\":5") "," LAUNCH(3, "\"External id\":5") ","
	        ON_STREAM(7, 22, "\"External id\":5") "," ON_STREAM(7, 20, "\"External id\":5") "]}");

	cr_assert(gt(i64, kernel_id(i, 0), 0));
	cr_assert(eq(i64, kernel_id(i, 1), call_id(i, 0)), "the first to run");
	cr_assert(eq(i64, kernel_id(i, 0), call_id(i, 1)));
	cr_assert(eq(u64, rows(i, WS_KIND_EXTERNAL_LINK), 2));
	cr_assert(ws_imported_warned(i, "by an arrow: 0, by an External id: 2"));
	ws_imported_free(i);
}

Test(deferred, on_two_streams_the_operation_is_known_and_the_call_is_not)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" OP(5, 0) ","
	        LAUNCH(1, "\"External id\":5") "," LAUNCH(3, "\"External id\":5") ","
	        ON_STREAM(7, 20, "\"External id\":5") "," ON_STREAM(8, 21, "\"External id\":5") "]}");

	cr_assert(eq(i64, call_id(i, 0), 0));
	cr_assert(ne(i64, kernel_id(i, 0), kernel_id(i, 1)));
	cr_assert(eq(u64, rows(i, WS_KIND_EXTERNAL_LINK), 2));
	cr_assert(ws_imported_warned(i, "by an External id: 0"));
	ws_imported_free(i);
}

Test(deferred, where_correlation_ids_are_arrows_and_external_ids_change_nothing)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" OP(5, 0) ","
	        LAUNCH(1, "\"correlation\":7,\"External id\":5") "," ARROW("s", 70, 1, 2, 1) ","
	        ON_STREAM(7, 20, "\"correlation\":7,\"External id\":5") ","
	        ARROW("f", 70, 0, 7, 20) "]}");

	cr_assert(eq(i64, kernel_id(i, 0), 7));
	cr_assert(eq(i64, call_id(i, 0), 7));
	cr_assert(eq(u64, ws_imported_skipped(i, "arrows"), 2));
	cr_assert(not(ws_imported_warned(i, "without a correlation id")));
	assert_sum(i);
	ws_imported_free(i);
}

Test(deferred, work_with_an_id_that_no_call_has_is_counted_and_keeps_its_operation)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" OP(5, 0) ","
	        ON_STREAM(7, 20, "\"correlation\":70,\"External id\":5") ","
	        ON_STREAM(7, 22, "\"correlation\":71,\"External id\":71") ","
	        ON_STREAM(7, 24, "\"correlation\":72") ","
	        ON_STREAM(7, 26, "\"correlation\":9") ","
	        LAUNCH(1, "\"correlation\":9,\"External id\":5") "]}");

	cr_assert(ws_imported_warned(i, "a correlation id that no call has: 3. Its operation is "
	                                "known by an External id: 1"));
	cr_assert(eq(i64, kernel_id(i, 0), 70), "as the file has it");
	cr_assert(eq(u64, rows(i, WS_KIND_EXTERNAL_LINK), 1));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, correlation, 0), 70));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, external_id, 0), 5));
	cr_assert(eq(i64, call_id(i, 0), 9));
	assert_sum(i);
	ws_imported_free(i);
}

Test(deferred, work_before_its_call_has_one)
{
	struct ws_imported *i = imported("{\"traceEvents\":["
	        ON_STREAM(7, 20, "\"correlation\":64") "," LAUNCH(1, "\"correlation\":64") ","
	        LAUNCH(3, "\"correlation\":65") "," ON_STREAM(7, 22, "\"correlation\":65") "]}");

	cr_assert(not(ws_imported_warned(i, "that no call has")));
	ws_imported_free(i);
}

Test(deferred, the_ids_of_an_end_are_those_of_its_begin)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" LAUNCH(1, "\"correlation\":7") ","
	        HALF("B", "kernel", "k", 7, 20, "") ","
	        HALF("E", "kernel", "k", 7, 21, ",\"args\":{\"correlation\":7,\"External id\":5}") ","
	        HALF("B", "kernel", "without an end", 7, 30, "") "]}");

	cr_assert(eq(i64, kernel_id(i, 0), 7));
	cr_assert(not(ws_imported_warned(i, "without a correlation id")));
	assert_sum(i);
	ws_imported_free(i);
}

/* --- files with nothing for a trace --- */

Test(deferred, another_programs_chrome_trace_is_refused_by_what_it_is)
{
	struct ws_imported *i = import("{\"traceEvents\":[{\"ph\":\"B\",\"cat\":\"toplevel\","
	                               "\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1}," END(1, 2) "]}");

	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "another program's Chrome trace (1 records of category "
	                              "'toplevel')") != NULL, "%s", i->err.text);
	assert_sum(i);
	ws_imported_free(i);

	i = import("{\"traceEvents\":[{\"ph\":\"b\",\"cat\":\"net\",\"id\":1,\"name\":\"a\"}]}");
	cr_assert(strstr(i->err.text, "another program's Chrome trace (1 records of phase 'b')") != NULL);
	ws_imported_free(i);

	i = import("{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":"
	           "{\"name\":\"python\"}}]}");
	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "a PyTorch profile without work") != NULL, "%s", i->err.text);
	ws_imported_free(i);
}
