/* Timelines of traces made by hand, line by line; tests/checks/timeline.py has the readers' rules.
 */
#include "tests/report/export/drawn.h"

Test(export_chrome, a_launch_and_its_kernel_are_slices_with_an_arrow_between)
{
	struct tb *b = tb_new();
	struct timeline t;

	tb_push(b, -2000, "step");
	tb_launch(b, 500, "k", 1000, 1234567);
	tb_pop(b, 4000);
	t = draw(b);
	/* times are microseconds since the first moment, to the nanosecond */
	LINE(&t, "\"cat\": \"kernel\"",
	     "{\"ph\": \"X\",\"pid\": 16777216,\"tid\": 0,\"ts\": 3.000,\"dur\": "
	     "1234.567,\"name\": "
	     "\"k\",\"cat\": \"kernel\",\"args\": {\"External id\": 0,\"device\": 0,\"context\": "
	     "0,\"stream\": "
	     "0,\"correlation\": 1,\"shared memory\": 0,\"static shared memory (bytes)\": "
	     "0,\"dynamic shared memory (bytes)\": 0,\"grid\": [1,0,0],\"block\": [32,0,0]}}");
	LINE(&t, "\"cat\": \"cuda_runtime\"",
	     "{\"ph\": \"X\",\"pid\": 100,\"tid\": 1001,\"ts\": 2.500,\"dur\": 0.001,\"name\": "
	     "\"cudaLaunchKernel\",\"cat\": \"cuda_runtime\",\"args\": {\"External id\": "
	     "0,\"correlation\": 1}}");
	LINE(&t, "{\"ph\": \"s\"",
	     "{\"ph\": \"s\",\"pid\": 100,\"tid\": 1001,\"ts\": 2.500,\"name\": \"ac2g\",\"cat\": "
	     "\"ac2g\",\"id\": 1}");
	LINE(&t, "{\"ph\": \"f\"",
	     "{\"ph\": \"f\",\"pid\": 16777216,\"tid\": 0,\"ts\": 3.000,\"name\": "
	     "\"ac2g\",\"cat\": "
	     "\"ac2g\",\"id\": 1,\"bp\": \"e\"}");
	LINE(&t, "\"user_annotation\"",
	     "{\"ph\": \"X\",\"pid\": 100,\"tid\": 1001,\"ts\": 0.000,\"dur\": 6.000,\"name\": "
	     "\"ProfilerStep#0\",\"cat\": \"user_annotation\",\"args\": {}}");
	LINE(&t, "device 0",
	     "{\"ph\": \"M\",\"pid\": 16777216,\"tid\": 0,\"ts\": 0.000,\"name\": "
	     "\"process_name\",\"args\": {\"name\": \"device 0: Test GPU\"}}");
	free(t.text);
}

Test(export_chrome, an_id_used_twice_leads_to_the_call_that_began_last_before_the_work)
{
	struct tb *b = tb_new();
	struct timeline t;

	tb_call(b, 100, 1, 7);
	tb_kernel(b, &(struct tb_kernel){"first", 200, 10, 7, 0, 100, 0});
	tb_call(b, 1000, 1, 7);
	tb_kernel(b, &(struct tb_kernel){"second", 1200, 10, 7, 0, 100, 0});
	tb_kernel(b, &(struct tb_kernel){"of no call", 1300, 10, 8, 0, 100, 0});
	t = draw(b);
	cr_assert(strstr(line_with(&t, "\"id\": 7}"), "\"ts\": 0.100,") != NULL);
	cr_assert(strstr(line_with(&t, "\"id\": 7,\"bp\""), "\"ts\": 0.200,") != NULL);
	cr_assert(strstr(line_with(&t, "\"id\": 4503599627370497}"), "\"ts\": 1.000,") != NULL);
	cr_assert(strstr(line_with(&t, "\"id\": 4503599627370497,\"bp\""), "\"ts\": 1.200,") !=
	          NULL);
	cr_assert(eq(sz, count(&t, "ac2g\",\"id\""), 4));
	free(t.text);
}

Test(export_chrome, kernels_of_a_stream_that_overlap_are_side_by_side)
{
	struct tb *b = tb_new();
	struct timeline t;

	tb_launch(b, 0, "first", 100, 100);
	tb_launch(b, 10, "inside", 120, 10);
	tb_launch(b, 20, "after", 200, 10);
	t = draw(b);
	cr_assert(strstr(line_with(&t, "\"name\": \"first\""), "\"tid\": 0,") != NULL);
	cr_assert(strstr(line_with(&t, "\"name\": \"inside\""), "\"tid\": 8388608,") != NULL);
	cr_assert(strstr(line_with(&t, "\"name\": \"after\""), "\"tid\": 0,") != NULL,
	          "one begins where the other ends");
	cr_assert(strstr(line_with(&t, "process 100) (2)"), "\"tid\": 8388608,") != NULL);
	free(t.text);
}

Test(export_chrome, ranges_of_two_domains_that_cross_are_on_two_lanes)
{
	struct tb *b = tb_new();
	struct timeline t;

	tb_push(b, 0, "a");
	tb_in_domain(b, "lib");
	tb_push(b, 10, "b");
	tb_in_domain(b, "");
	tb_pop(b, 20);
	tb_in_domain(b, "lib");
	tb_pop(b, 30);
	tb_push(b, 40, "never ended");
	tb_call(b, 50, 10, 5);
	t = draw(b);
	cr_assert(strstr(line_with(&t, "\"name\": \"a\""), "\"tid\": 1001,") != NULL);
	cr_assert(strstr(line_with(&t, "\"name\": \"b\""), "\"tid\": 8388608,") != NULL);
	LINE(&t, "\"name\": \"never ended\"",
	     "{\"ph\": \"X\",\"pid\": 100,\"tid\": 1001,\"ts\": 0.040,\"dur\": 0.020,\"name\": "
	     "\"never ended\",\"cat\": \"user_annotation\",\"args\": {\"domain\": \"lib\",\"never "
	     "ended\": true}}");
	cr_assert(eq(sz, count(&t, "{\"ph\": \"s\""), 0), "a call that launched nothing");
	free(t.text);
}

Test(export_chrome, each_kernel_of_a_launch_has_an_arrow_and_one_without_a_call_none)
{
	struct tb *b = tb_new();
	const struct tb_kernel one = {"n1", 100, 5, 9, 0, 100, 0},
	                       two = {"n2", 110, 5, 9, 0, 100, 0};
	const struct tb_kernel lost = {"lost", 120, 5, 77, 0, 100, 0};
	const struct tb_kernel timeless = {"timeless", 0, 0, 9, 0, 100, WS_KERNEL_NO_TIME};
	struct timeline t;

	tb_call(b, 0, 10, 9);
	tb_kernel(b, &one);
	tb_kernel(b, &two);
	tb_kernel(b, &lost);
	tb_kernel(b, &timeless);
	t = draw(b);
	cr_assert(eq(sz, count(&t, "{\"ph\": \"s\""), 2));
	cr_assert(eq(sz, count(&t, "{\"ph\": \"f\""), 2));
	cr_assert(eq(sz, count(&t, "timeless"), 0));
	cr_assert(eq(u64, t.stats.without_time, 1));
	free(t.text);
}

Test(export_chrome, hostile_names_are_strict_json)
{
	static const char name[] = "a\0\x01\n\"\\\xff\xed\xa0\x80</script>\x7f";
	struct tb *b = tb_new();
	struct timeline t;

	tb_push_bytes(b, 0, name, sizeof(name) - 1);
	tb_pop(b, 10);
	t = draw(b);
	cr_assert(
	        strstr(line_with(&t, "user_annotation"),
	               "\"name\": \"a\\u0000\\u0001\\n\\\"\\\\\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	               "\xef\xbf\xbd</script>\\u007f\"") != NULL);
	free(t.text);
}

Test(export_chrome, memory_is_counted_from_allocations_in_the_order_of_time)
{
	struct ws_row_memory m = {.pid = 100, .memory_kind = WS_MEMORY_DEVICE};
	struct tb *b = tb_new();
	struct timeline t;

	m.time_ns = 20;
	m.op = WS_MEMORY_OP_FREE;
	m.bytes = 100;
	tb_add(b, WS_KIND_MEMORY, &m);
	m.time_ns = 10;
	m.op = WS_MEMORY_OP_ALLOC;
	m.bytes = 300;
	tb_add(b, WS_KIND_MEMORY, &m);
	t = draw(b);
	LINE(&t, "\"bytes\": 300",
	     "{\"ph\": \"C\",\"pid\": 16777216,\"tid\": 0,\"ts\": 0.010,\"name\": \"device memory "
	     "allocated since the begin\",\"args\": {\"bytes\": 300}}");
	LINE(&t, "\"bytes\": 200",
	     "{\"ph\": \"C\",\"pid\": 16777216,\"tid\": 0,\"ts\": 0.020,\"name\": \"device memory "
	     "allocated since the begin\",\"args\": {\"bytes\": 200}}");
	free(t.text);
}

Test(export_chrome, a_fill_of_unknown_size_has_neither_bytes_nor_a_bandwidth)
{
	struct tb *b = tb_new();
	struct timeline t;

	tb_add(b, WS_KIND_MEMSET,
	       &(struct ws_row_memset){.start_ns = 1000, .dur_ns = 500, .pid = 100});
	tb_add(b, WS_KIND_MEMCPY,
	       &(struct ws_row_memcpy){
	               .start_ns = 2000, .dur_ns = 1000, .pid = 100, .kind = 1, .bytes = 4000});
	t = draw(b);
	cr_expect(strstr(line_with(&t, "\"Memset (Unknown)\""), "\"bytes\"") == NULL);
	cr_expect(strstr(line_with(&t, "\"Memset (Unknown)\""), "bandwidth") == NULL);
	cr_expect(strstr(line_with(&t, "\"Memcpy HtoD"), "\"bytes\": 4000") != NULL);
	cr_expect(strstr(line_with(&t, "\"Memcpy HtoD"), "\"memory bandwidth (GB/s)\": 4") != NULL);
	free(t.text);
}

/* An A100: a block of 1024 threads and few registers fills half of an SM's 2048. */
Test(export_chrome, occupancy_of_kernels_that_run_at_once_adds_up)
{
	static const struct {
		const char *name;
		int64_t value;
	} attrs[] = {{"compute_capability_major", 8},
	             {"compute_capability_minor", 0},
	             {"sm_count", 1}};
	struct ws_row_launch_config c = {.pid = 100,
	                                 .context = 1,
	                                 .stream = 7,
	                                 .grid_x = 1,
	                                 .grid_y = 1,
	                                 .grid_z = 1,
	                                 .block_x = 1024,
	                                 .block_y = 1,
	                                 .block_z = 1,
	                                 .registers = 16};
	struct ws_row_kernel k = {.start_ns = 0, .dur_ns = 100};
	struct tb *b = tb_new();
	struct timeline t;

	for (size_t i = 0; i < sizeof(attrs) / sizeof(*attrs); i++) {
		const struct ws_row_device_attr a = {0, tb_text(b, attrs[i].name), attrs[i].value};

		tb_add(b, WS_KIND_DEVICE_ATTR, &a);
	}
	c.name = tb_text(b, "k");
	cr_assert(eq(int, ws_trace_writer_intern_config(tb_writer(b), &c, &k.config, NULL), WS_OK));
	tb_add(b, WS_KIND_KERNEL, &k);
	k.start_ns = 50;
	tb_add(b, WS_KIND_KERNEL, &k);
	t = draw(b);
	cr_assert(eq(sz, count(&t, "\"ph\": \"C\""), 4));
	cr_assert(eq(sz, count(&t, "\"args\": {\"%\": 50.000}"), 2), "%s", t.text);
	cr_assert(eq(sz, count(&t, "\"args\": {\"%\": 100.000}"), 1));
	cr_assert(eq(sz, count(&t, "\"args\": {\"%\": 0.000}"), 1));
	free(t.text);
}

Test(export_chrome, an_empty_trace_is_a_timeline_without_events)
{
	struct timeline t = draw(tb_new());

	cr_assert(eq(sz, count(&t, "\"ph\": \"X\""), 0));
	cr_assert(eq(sz, count(&t, "\"traceEvents\": ["), 1));
	free(t.text);
}
