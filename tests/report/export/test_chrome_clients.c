/* What PyTorch's tools (HTA, its TensorBoard plugin, TraceLens) need of a timeline, field by field.
 */
#include "tests/report/export/drawn.h"

static bool has(const struct timeline *t, const char *line, const char *part)
{
	return strstr(line_with(t, line), part) != NULL;
}

Test(chrome_clients, a_range_of_the_gpu_has_no_stream_or_it_would_be_taken_for_a_kernel)
{
	struct tb *b = tb_new();
	struct ws_row_gpu_range r = {.start_ns = 5, .dur_ns = 10, .pid = 100, .stream = 7};
	struct timeline t;

	r.name = tb_text(b, "ProfilerStep#1");
	tb_add(b, WS_KIND_GPU_RANGE, &r);
	tb_launch(b, 0, "k", 5, 5);
	t = draw(b);
	cr_assert(has(&t, "gpu_user_annotation", "\"args\": {\"device\": 0,\"on stream\": 7}"));
	cr_assert(has(&t, "\"cat\": \"kernel\"", "\"stream\": 0"));
	free(t.text);
}

Test(chrome_clients, an_arrow_has_the_correlation_id_where_no_other_process_has_it)
{
	struct tb *b = tb_new();
	struct timeline t;

	tb_call(b, 0, 10, 9);
	tb_kernel(b, &(struct tb_kernel){"a", 100, 5, 9, 0, 100, 0});
	tb_call(b, 20, 10, 12);
	tb_kernel(b, &(struct tb_kernel){"b", 120, 5, 12, 0, 100, 0});
	tb_thread(b, 50, 200);
	tb_on_thread(b, 50);
	tb_call(b, 40, 10, 9);
	tb_kernel(b, &(struct tb_kernel){"c", 140, 5, 9, 0, 200, 0});
	t = draw(b);
	cr_assert(eq(sz, count(&t, "\"ac2g\",\"id\": 9"), 2), "s and f");
	cr_assert(eq(sz, count(&t, "\"ac2g\",\"id\": 12"), 2));
	cr_assert(eq(sz, count(&t, "\"ac2g\",\"id\": 45035996"), 2), "of the second process");
	free(t.text);
}

Test(chrome_clients, a_call_has_the_external_id_of_what_it_launched)
{
	const struct ws_row_external_link link = {.pid = 100,
	                                          .correlation = 1,
	                                          .kind = WS_EXTERNAL_CUSTOM0,
	                                          .external_id = 77};
	struct tb *b = tb_new();
	struct timeline t;

	tb_launch(b, 0, "k", 5, 5);
	tb_launch(b, 20, "other", 25, 5);
	tb_add(b, WS_KIND_EXTERNAL_LINK, &link);
	t = draw(b);
	cr_assert(eq(sz, count(&t, "\"External id\": 77"), 2), "call and kernel");
	cr_assert(has(&t,
	              "\"name\": \"cudaLaunchKernel\",\"cat\": \"cuda_runtime\",\"args\": "
	              "{\"External id\": 77,\"correlation\": 1}",
	              "\"ts\": 0.000"));
	cr_assert(has(&t, "\"args\": {\"External id\": 0,\"correlation\": 2}", "cuda_runtime"),
	          "none of its own");
	free(t.text);
}

Test(chrome_clients, what_a_framework_says_of_a_collective_is_at_its_kernel_and_its_operation)
{
	struct ws_row_collective c = {.time_ns = 105,
	                              .pid = 100,
	                              .correlation = 1,
	                              .group_size = 8,
	                              .in_elements = 5,
	                              .out_elements = 40,
	                              .sequence = 3};
	struct ws_row_op_config config = {.id = 1};
	struct ws_row_cpu_op op = {
	        .start_ns = 90, .dur_ns = 20, .config = 1, .external_id = 6, .sequence = -1};
	struct tb *b = tb_new();
	struct timeline t;

	tb_launch(b, 95, "ncclDevKernel_AllGather", 105, 5);
	op.thread = 1;
	config.name = tb_text(b, "record_param_comms");
	tb_add(b, WS_KIND_OP_CONFIG, &config);
	tb_add(b, WS_KIND_CPU_OP, &op);
	tb_add(b, WS_KIND_CPU_OP, &op); /* the same, once more */
	c.name = tb_text(b, "_allgather_base");
	c.group = tb_text(b, "0");
	c.dtype = tb_text(b, "Float");
	tb_add(b, WS_KIND_COLLECTIVE, &c);
	c.correlation = 0;
	c.external_id = 6;
	c.time_ns = 90;
	tb_add(b, WS_KIND_COLLECTIVE, &c);
	c.external_id = 99;
	tb_add(b, WS_KIND_COLLECTIVE, &c);
	t = draw(b);
#define TOLD                                                                                    \
	"\"Collective name\": \"_allgather_base\",\"In msg nelems\": 5,\"Out msg nelems\": 40," \
	"\"Group size\": 8,\"dtype\": \"Float\",\"Process Group Name\": \"0\",\"Seq\": 3"
	cr_assert(has(&t, "\"cat\": \"kernel\"", TOLD));
	cr_assert(eq(sz, count(&t, "\"cat\": \"cpu_op\",\"args\": {\"External id\": 6," TOLD), 2));
	cr_assert(eq(u64, t.stats.skipped[WS_KIND_COLLECTIVE], 1), "of nothing that is there");
	free(t.text);
}

Test(chrome_clients, memory_of_a_framework_is_told_as_its_profiler_does)
{
	struct ws_row_memory m = {.time_ns = 10,
	                          .pid = 100,
	                          .thread = 1,
	                          .op = WS_MEMORY_OP_FREE,
	                          .memory_kind = WS_MEMORY_DEVICE,
	                          .device = 2,
	                          .address = 4096,
	                          .bytes = 512,
	                          .total_allocated_bytes = 1000,
	                          .total_reserved_bytes = 2000};
	struct tb *b = tb_new();
	struct timeline t;

	tb_launch(b, 0, "k", 5, 5);
	tb_add(b, WS_KIND_MEMORY, &m);
	m.op = WS_MEMORY_OP_OUT_OF_MEMORY;
	tb_add(b, WS_KIND_MEMORY, &m);
	m.thread = 0;
	m.op = WS_MEMORY_OP_ALLOC;
	tb_add(b, WS_KIND_MEMORY, &m);
	t = draw(b);
	cr_assert(
	        has(&t, "\"[memory]\",\"cat\": \"cpu_instant_event\"",
	            "\"args\": {\"Device Type\": 1,\"Device Id\": 2,\"Addr\": 4096,\"Bytes\": -512,"
	            "\"Total Allocated\": 1000,\"Total Reserved\": 2000}"));
	cr_assert(has(&t, "[OutOfMemory]", "\"Bytes\": 512"));
	cr_assert(eq(sz, count(&t, "cpu_instant_event"), 2),
	          "a driver's allocation is no framework's");
	cr_assert(eq(u64, t.stats.skipped[WS_KIND_MEMORY], 0));
	free(t.text);
}

Test(chrome_clients, steps_and_annotated_operations_are_pytorchs)
{
	const struct tb_op gemm = {.op = "gemm", .layer = -1};
	struct tb *b = tb_new();
	struct timeline t;

	tb_push(b, 0, "step");
	tb_push_op(b, 10, "qkv", &gemm);
	tb_launch(b, 20, "k", 40, 5);
	tb_pop(b, 30);
	tb_launch(b, 50, "outside", 60, 5);
	tb_pop(b, 100);
	tb_push(b, 200, "step");
	tb_pop(b, 300);
	tb_push(b, 400, "stepping");
	tb_pop(b, 500);
	t = draw(b);
	cr_assert(has(&t, "\"ProfilerStep#0\"", "user_annotation"));
	cr_assert(has(&t, "\"ProfilerStep#1\"", "\"ts\": 0.200"));
	cr_assert(has(&t, "\"stepping\"", "user_annotation"));
	cr_assert(has(&t, "\"qkv\"", "\"cat\": \"cpu_op\",\"args\": {\"External id\": "));
	cr_assert(eq(sz, count(&t, "\"External id\": 0,"), 2), "a call and a kernel of none");
	cr_assert(eq(sz, count(&t, "\"External id\": "), 5), "operation, its call, its kernel");
	cr_assert(not(has(&t, "\"name\": \"k\"", "\"External id\": 0,")));
	cr_assert(has(&t, "\"name\": \"outside\"", "\"External id\": 0,"));
	free(t.text);
}

Test(chrome_clients, a_wait_for_a_context_says_that_it_has_no_stream)
{
	const struct ws_row_sync wait = {.start_ns = 5,
	                                 .dur_ns = 1,
	                                 .pid = 100,
	                                 .stream = -1,
	                                 .type = WS_SYNC_CONTEXT,
	                                 .event = -1,
	                                 .event_stream = -1};
	struct tb *b = tb_new();
	struct timeline t;

	tb_launch(b, 0, "k", 5, 5);
	tb_add(b, WS_KIND_SYNC, &wait);
	t = draw(b);
	cr_assert(has(&t, "\"cuda_sync\"", "\"stream\": -1"));
	free(t.text);
}

Test(chrome_clients, a_device_without_a_name_has_no_colon)
{
	struct tb *b = tb_new();
	struct timeline t;

	tb_device(b, 1, WS_DEVICE_CUDA, "");
	t = draw(b);
	cr_assert(has(&t, "\"name\": \"device 1\"", "process_name"));
	free(t.text);
}

/* HTA reads baseTimeNanoseconds as microseconds. */
Test(chrome_clients, the_base_is_a_whole_microsecond)
{
	struct tb *b = tb_new();
	struct timeline t;
	const char *base;

	tb_launch(b, 1234, "k", 2345, 5);
	t = draw(b);
	base = strstr(t.text, "\"baseTimeNanoseconds\": ");
	cr_assert(base != NULL);
	cr_assert(eq(i64, strtoll(base + strlen("\"baseTimeNanoseconds\": "), NULL, 10) % 1000, 0));
	cr_assert(has(&t, "\"cat\": \"kernel\"", "\"ts\": 1.345,"), "of 2,345 ns from 1,000");
	free(t.text);
}

/* Names as PyTorch wrote them, which may be mangled; a recorder's are made readable. */
Test(chrome_clients, kernels_of_pytorch_keep_their_names)
{
	for (int imported = 0; imported < 2; imported++) {
		struct tb *b = tb_new();
		struct timeline t;

		if (imported)
			ws_trace_writer_meta(tb_writer(b), "import.source", "PyTorch profiler JSON",
			                     NULL);
		tb_launch(b, 0, "_Z3addPfi", 5, 5);
		t = draw(b);
		cr_assert(has(&t, "\"cat\": \"kernel\"",
		              imported ? "\"name\": \"_Z3addPfi\""
		                       : "\"name\": \"add(float*, int)\""));
		free(t.text);
	}
}

Test(chrome_clients, what_pytorch_has_at_the_top_is_at_the_top)
{
	struct tb *b = tb_new();
	struct timeline t;

	ws_trace_writer_meta(tb_writer(b), "process.rank", "3", NULL);
	ws_trace_writer_meta(tb_writer(b), "distributed.rank", "3", NULL);
	ws_trace_writer_meta(tb_writer(b), "distributed.backend", "nccl", NULL);
	ws_trace_writer_meta(tb_writer(b), "pytorch.record_shapes", "1", NULL);
	tb_launch(b, 0, "k", 5, 5);
	t = draw(b);
	cr_assert(strstr(t.text, "\"distributedInfo\": {\"rank\": 3,\"backend\": \"nccl\"}") !=
	          NULL);
	cr_assert(strstr(t.text, "\"record_shapes\": 1,") != NULL);
	free(t.text);
}
