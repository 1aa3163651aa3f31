/*
 * Tables of what profilers of frameworks record: steps by time, operations,
 * links to backward, allocations. Small and worked out by hand.
 */
#include "tests/report/tables/foreign.h"

/* --- execution, gpu -------------------------------------------------------------------------- */

/* Each moment counts for the first role: kernel, copy, fill, communication, runtime, loader, CPU.
 */
Test(foreign_tables, execution_gives_each_moment_to_one_role)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_in_domain(b, "pytorch");
	tb_push(b, 1000, "ProfilerStep#7");
	tb_push(b, 1010, "enumerate(DataLoader)#x.__next__");
	tb_pop(b, 1030);
	add_op(b, 1, (struct op){.name = "aten::mm", .start_ns = 1040, .dur_ns = 40, .no_cost = 1});
	launch(b, 1045, "k", 1060, 30, 1);
	launch(b, 1046, "ncclDevKernel_AllReduce", 1080, 30, 1);
	tb_pop(b, 1100);
	/* its device work lasts until 1,110, so the step does */
	j = tb_joined(b);
	t = tb_table(j, "execution", NULL);
	cr_assert(eq(sz, t->nrows, 2));
	cr_expect_str_eq(tb_str(t, 0, "step"), "7");
	cr_expect_str_eq(tb_str(t, 1, "step"), "Average");
	for (size_t row = 0; row < 2; row++) {
		NEAR(tb_real(t, row, "total_us"), 0.110);
		NEAR(tb_real(t, row, "kernel_us"), 0.030);
		NEAR(tb_real(t, row, "comm_us"), 0.020);
		NEAR(tb_real(t, row, "runtime_us"), 0.002);
		NEAR(tb_real(t, row, "data_loader_us"), 0.020);
		NEAR(tb_real(t, row, "cpu_us"), 0.018);
		NEAR(tb_real(t, row, "other_us"), 0.020);
		NEAR(tb_real(t, row, "busy_us"), 0.050);
		NEAR(tb_real(t, row, "idle_us"), 0.060);
		NEAR(tb_real(t, row, "start_us"), 0.060);
	}
	cr_expect(eq(sz, t->nheadline_notes, 1));
	cr_expect_str_eq(t->notes[0], "Of an average step: kernels 27.3 %, communication 18.2 %, "
	                              "runtime 1.8 %, data loading 18.2 %, other CPU work 16.4 %, "
	                              "none of these 18.2 %; any device was busy 45.5 %.");
	free_all(t, j, b);
}

Test(foreign_tables, a_device_that_is_always_busy_leaves_nothing_to_other_roles)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_push(b, 0, "step");
	launch(b, 0, "k", 1, 99, 1);
	launch(b, 10, "k", 50, 70, 1);
	tb_pop(b, 100);
	j = tb_joined(b);
	t = tb_table(j, "execution", NULL);
	NEAR(tb_real(t, 0, "total_us"), 0.120);
	NEAR(tb_real(t, 0, "kernel_us"), 0.119);
	NEAR(tb_real(t, 0, "runtime_us"), 0.001);
	cr_expect(eq(dbl, tb_real(t, 0, "cpu_us"), 0));
	free_all(t, j, b);
}

/* The case of the TensorBoard plugin's own tests: (40 + 20) of 120, and so on. */
Test(foreign_tables, gpu_utilization_and_sm_efficiency_by_hand)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	attr(b, "compute_capability_major", 7);
	attr(b, "compute_capability_minor", 0);
	attr(b, "sm_count", 10);
	attr(b, "global_memory_bytes", (int64_t)1 << 33);
	tb_push(b, 100, "step");
	launch(b, 101, "k", 120, 10, 5); /* 0.5 blocks an SM, alone for 5 */
	launch(b, 102, "k", 125, 15, 6); /* then 1.1 together, then 0.6 and more */
	launch(b, 103, "k", 130, 10, 3); /* 0.9 together until 140 */
	launch(b, 104, "volta_h884gemm_64x64", 160, 20, 20);
	tb_pop(b, 220);
	j = tb_joined(b);
	t = tb_table(j, "gpu", NULL);
	cr_assert(eq(sz, t->nrows, 1));
	NEAR(tb_real(t, 0, "utilization"), 100.0 * 40 / 120);
	/* 125 to 130: 1.1 counts as 1; 130 to 140: 0.9; 160 to 180: 2 counts as 1 */
	NEAR(tb_real(t, 0, "sm_efficiency"), 100.0 * (0.5 * 5 + 5 + 0.9 * 10 + 20) / 120);
	NEAR(tb_real(t, 0, "tensor"), 100.0 * 20 / 55);
	NEAR(tb_real(t, 0, "memory_gb"), 8.589934592); /* no 8: GB are 10^9 bytes */
	cr_expect_str_eq(tb_str(t, 0, "capability"), "7.0");
	cr_expect(eq(i64, tb_int(t, 0, "busy_ns"), 40));
	cr_expect(eq(i64, tb_int(t, 0, "idle_ns"), 20));
	cr_expect(eq(i64, tb_int(t, 0, "timeline_ns"), 60));
	free_all(t, j, b);
}

Test(foreign_tables, without_limits_of_the_device_occupancy_is_unknown_not_0)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	launch(b, 0, "k", 10, 10, 4);
	j = tb_joined(b);
	t = tb_table(j, "gpu", NULL);
	cr_expect(tb_is_empty(t, 0, "sm_efficiency"));
	cr_expect(tb_is_empty(t, 0, "occupancy"));
	cr_expect(tb_notes_say(t, "1 kernels have no occupancy estimate"));
	ws_table_free(t);
	t = tb_table(j, "kernel-summary", NULL);
	cr_expect(tb_is_empty(t, 0, "blocks_per_sm"));
	cr_expect(eq(i64, tb_int(t, 0, "registers"), 16));
	cr_expect(eq(i64, tb_int(t, 0, "shared_bytes"), 128));
	free_all(t, j, b);
}

/* The last step was cut off, so it would drag the mean down. */
Test(foreign_tables, a_last_step_without_its_device_work_is_left_out_and_said)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	for (int s = 0; s < 3; s++) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", s);
		tb_push(b, s * 100, name);
		for (int k = 0; k < (s == 2 ? 3 : 5); k++)
			launch(b, s * 100 + k * 10, "k", s * 100 + k * 10 + 2, 5, 1);
		tb_pop(b, s * 100 + 100);
	}
	j = tb_joined(b);
	t = tb_table(j, "execution", NULL);
	cr_expect(eq(sz, t->nrows, 3), "two steps and their average");
	cr_expect(tb_notes_say(t, "1 steps at the end are left out"));
	free_all(t, j, b);
}

/* --- costs ------------------------------------------------------------------------------------ */

Test(foreign_tables, of_nested_costs_the_innermost_counts)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	add_op(b, 1, (struct op){.name = "conv2d", .kind = CONV, .dur_ns = 100, .flops = 1000});
	add_op(b, 1,
	       (struct op){.name = "cudnn",
	                   .kind = CONV,
	                   .start_ns = 10,
	                   .dur_ns = 30,
	                   .flops = 1000,
	                   .bytes = 50});
	launch(b, 20, "k", 200, 10, 1);
	/* its small part does not take the whole's place */
	add_op(b, 1,
	       (struct op){.name = "addmm",
	                   .kind = GEMM,
	                   .start_ns = 200,
	                   .dur_ns = 50,
	                   .flops = 500,
	                   .bytes = 25});
	add_op(b, 1, (struct op){.name = "copy", .start_ns = 210, .dur_ns = 10, .bytes = 8});
	launch(b, 215, "k", 300, 4, 1);
	j = tb_joined(b);
	t = tb_table(j, "roofline", NULL);
	cr_expect(eq(sz, tb_count(t, "name", "conv2d"), 0));
	cr_expect(eq(sz, tb_count(t, "name", "copy"), 0));
	row = tb_find(t, 0, "name", "cudnn");
	NEAR(tb_real(t, row, "flops"), 1000.0);
	NEAR(tb_real(t, row, "tflops"), 0.1);
	NEAR(tb_real(t, row, "intensity"), 20.0);
	cr_expect(tb_is_empty(t, row, "bound"), "no peaks, no verdict");
	row = tb_find(t, 0, "name", "addmm");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 4));
	free_all(t, j, b);
}

Test(foreign_tables, measured_peaks_make_a_roof)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_mark(b, 0, "workload.peak.fp32=10");
	tb_mark(b, 0, "workload.peak.memory=1000");
	add_op(b, 1, (struct op){.name = "exp", .dur_ns = 10, .flops = 100, .bytes = 50});
	launch(b, 5, "k", 20, 1, 1);
	j = tb_joined(b);
	t = tb_table(j, "roofline", NULL);
	row = tb_find(t, 0, "name", "exp");
	NEAR(tb_real(t, row, "attainable"), 2.0);
	/* 100 FLOP in 1 ns are 0.1 TFLOP/s of 10, 50 GB/s of 1,000 */
	NEAR(tb_real(t, row, "attained"), 5.0);
	cr_expect_str_eq(tb_str(t, row, "bound"), "memory");
	free_all(t, j, b);
}

/* --- softmax against matmul ------------------------------------------------------------------ */

static void product(struct tb *b, uint64_t thread, int64_t at_ns, uint64_t m, uint64_t n,
                    uint64_t k, int backward)
{
	add_op(b, thread,
	       (struct op){.name = "aten::bmm",
	                   .kind = GEMM,
	                   .start_ns = at_ns,
	                   .dur_ns = 8,
	                   .batch = 2,
	                   .m = m,
	                   .n = n,
	                   .k = k,
	                   .flops = 2 * 2 * m * n * k,
	                   .bytes = 10,
	                   .backward = backward});
	launch(b, at_ns + 1, "gemm", 10000 + at_ns, 5, 1);
}

static void softmax(struct tb *b, uint64_t thread, int64_t at_ns, int backward)
{
	add_op(b, thread,
	       (struct op){.name = "aten::_softmax",
	                   .kind = SOFTMAX,
	                   .start_ns = at_ns,
	                   .dur_ns = 8,
	                   .flops = 5 * 2 * 16 * 16,
	                   .bytes = 10,
	                   .backward = backward});
	launch(b, at_ns + 1, "softmax", 10000 + at_ns, 20, 1);
}

Test(foreign_tables, attention_is_found_by_its_sizes)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_thread(b, 2, 100);
	for (int layer = 0; layer < 2; layer++) {
		product(b, 1, layer * 100, 16, 16, 4, 0);
		add_op(b, 1,
		       (struct op){.name = "aten::div",
		                   .kind = SCALE,
		                   .start_ns = layer * 100 + 10,
		                   .dur_ns = 8,
		                   .flops = 512,
		                   .bytes = 10});
		launch(b, layer * 100 + 11, "div", 10000 + layer * 100 + 10, 3, 1);
		softmax(b, 1, layer * 100 + 20, 0);
		product(b, 1, layer * 100 + 30, 16, 4, 16, 0);
	}
	product(b, 1, 300, 16, 99, 4, 0); /* a product of no attention */
	/* backward of layer 1: dV, dP, softmax, dQ, dK, without links */
	tb_on_thread(b, 2);
	product(b, 2, 400, 16, 4, 16, 1);
	product(b, 2, 410, 16, 16, 4, 1);
	softmax(b, 2, 420, 1);
	product(b, 2, 430, 16, 4, 16, 1);
	product(b, 2, 440, 4, 16, 16, 1);
	j = tb_joined(b);
	t = tb_table(j, "softmax-matmul", NULL);
	cr_expect_str_eq(tb_str(t, 0, "scope"), "all layers");
	row = tb_find(t, tb_find(t, 0, "scope", "layer 0"), "part", "scale and mask");
	NEAR(tb_real(t, row, "gpu_ns"), 3.0);
	row = tb_find(t, row, "part", "whole attention");
	NEAR(tb_real(t, row, "gpu_ns"), 5.0 + 3 + 20 + 5);
	row = tb_find(t, 0, "scope", "all layers");
	cr_expect_str_eq(tb_str(t, row, "part"), "computing attention scores");
	NEAR(tb_real(t, row, "gpu_ns"), 10.0);
	/* 2 x 16 x 16 x 4 x 2 against 5 x 16 x 16 x 2 */
	NEAR(tb_real(t, row, "flop_ratio"), 8.0 / 5);
	NEAR(tb_real(t, row, "time_ratio"), 4.0);
	cr_expect(tb_notes_say(t, "softmax takes 4.00 times the GPU time of computing attention"));
	row = tb_find(t, tb_find(t, 0, "scope", "all layers"), "phase", "backward");
	NEAR(tb_real(t, row, "kernels"), 2.0);
	cr_expect(eq(sz, tb_count(t, "scope", "layer 1"), 10), "forward and backward, 5 rows each");
	free_all(t, j, b);
}

/* PyTorch's attention that stores its scores, around two products of 2 heads of 16 tokens, 4 wide,
 * and a softmax; inputs: of the operation, which say whether it is causal. */
static struct tb *attention_of_torch(const char *inputs)
{
	struct tb *b = tb_new();

	add_op(b, 1,
	       (struct op){.name = "aten::_scaled_dot_product_attention_math",
	                   .kind = 3,
	                   .start_ns = 0,
	                   .dur_ns = 90,
	                   .flops = 2 * 2 * 256 * 8,
	                   .dims = "[[1,2,16,4],[1,2,16,4],[1,2,16,4],[],[],[]]",
	                   .types = "[\"float\",\"float\",\"float\",\"\",\"\",\"\"]",
	                   .inputs = inputs});
	product(b, 1, 10, 16, 16, 4, 0);
	softmax(b, 1, 30, 0);
	product(b, 1, 50, 16, 4, 16, 0);
	product(b, 1, 300, 16, 99, 4, 0); /* of no attention */
	return b;
}

static void needs(const char *inputs, double scores, const char *note)
{
	struct tb *b = attention_of_torch(inputs);
	struct joined *j = tb_joined(b);
	struct ws_table *t = tb_table(j, "softmax-matmul", NULL);
	const double all = 2 * 2 * 256 * 4, other = 2 * 2 * 16 * 99 * 4;

	NEAR(tb_real(t, 0, "flops"), all);
	if (scores > 0) {
		size_t row = tb_find(t, 0, "part", "all matmul kernels");

		NEAR(tb_real(t, 0, "flops_needed"), scores);
		NEAR(tb_real(t, 0, "tflops_needed"), scores / tb_real(t, 0, "gpu_ns") / 1e3);
		NEAR(tb_real(t, row, "flops_needed"), 2 * scores + other);
	} else {
		cr_expect(tb_is_empty(t, 0, "flops_needed"));
		cr_expect(tb_is_empty(t, 0, "tflops_needed"));
	}
	cr_expect(tb_notes_say(t, note), "%s", note);
	free_all(t, j, b);
}

Test(foreign_tables, attention_that_stores_its_scores_needs_what_the_operation_around_it_says)
{
	/* 16 x 17 / 2 of 256 pairs, 2 heads, 2 x 4 FLOPs */
	needs("[\"\",\"\",\"\",\"\",\"0.\",\"True\"]", 2 * 136 * 8, "Attention is causal");
	needs("[\"\",\"\",\"\",\"\",\"0.\",\"False\"]", 2 * 256 * 8, "FLOPs as recorded");
	needs("[\"\",\"\",\"\",\"\",\"0.\",\"\"]", 0, "FLOPs Needed is empty");
}

/* --- memory ---------------------------------------------------------------------------------- */

static void memory(struct tb *b, int64_t time_ns, int op, uint64_t address, uint64_t bytes)
{
	tb_add(b, WS_KIND_MEMORY,
	       &(struct ws_row_memory){.time_ns = time_ns,
	                               .pid = 100,
	                               .thread = 1,
	                               .op = (uint64_t)op,
	                               .memory_kind = WS_MEMORY_DEVICE,
	                               .address = address,
	                               .bytes = bytes});
}

Test(foreign_tables, memory_by_hand)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_push(b, 0, "forward");
	memory(b, 10, WS_MEMORY_OP_ALLOC, 1, 100);
	memory(b, 20, WS_MEMORY_OP_ALLOC, 2, 500);
	tb_pop(b, 30);
	memory(b, 40, WS_MEMORY_OP_FREE, 2, 0); /* CUDA does not say how much */
	memory(b, 50, WS_MEMORY_OP_ALLOC, 3, 200);
	memory(b, 60, WS_MEMORY_OP_OUT_OF_MEMORY, 0, 1 << 30);
	j = tb_joined(b);
	t = tb_table(j, "memory", NULL);
	row = tb_find(t, 0, "section", "peak");
	cr_expect(eq(i64, tb_int(t, row, "allocated"), 600));
	cr_expect(eq(i64, tb_int(t, row, "time_ns"), 20));
	cr_expect(eq(i64, tb_int(t, row, "count"), 3));
	row = tb_find(t, 0, "item", "outside phases");
	cr_expect(eq(i64, tb_int(t, row, "allocated"), 300));
	row = tb_find(t, 0, "section", "largest");
	cr_expect(eq(i64, tb_int(t, row, "size"), 500));
	cr_expect_str_eq(tb_str(t, row, "item"), "forward");
	cr_expect(tb_notes_say(t, "1 requests for memory failed"));
	cr_expect(tb_notes_say(t, "summed up"));
	free_all(t, j, b);
}

/* --- launch latency --------------------------------------------------------------------------- */

Test(foreign_tables, launch_latency_by_hand)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	launch(b, 0, "k", 11, 30, 1);    /* call to 1, waits 10, ends at 41 */
	launch(b, 100, "k", 100, 20, 1); /* begins before its call returned: no wait */
	tb_kernel(b, &(struct tb_kernel){"lost", 500, 5, 0, 0, 100, 0});
	j = tb_joined(b);
	t = tb_table(j, "launch-latency", NULL);
	cr_assert(eq(sz, t->nrows, 1));
	cr_expect(eq(i64, tb_int(t, 0, "count"), 2));
	cr_expect(eq(i64, tb_int(t, 0, "queued"), 1));
	NEAR(tb_real(t, 0, "total_avg_ns"), (41.0 + 20) / 2);
	NEAR(tb_real(t, 0, "api_avg_ns"), 1.0);
	NEAR(tb_real(t, 0, "queue_avg_ns"), 10.0);
	NEAR(tb_real(t, 0, "kernel_avg_ns"), 25.0);
	cr_expect(tb_notes_say(t, "1 kernels have no record of the call"));
	cr_expect(tb_notes_say(t, "launch-bound"));
	free_all(t, j, b);
}

/* --- classes, launches ------------------------------------------------------------------------ */

Test(foreign_tables, classes_by_operation_and_by_name_add_up_and_show_what_is_unknown)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	add_op(b, 1, (struct op){.name = "aten::_softmax", .kind = SOFTMAX, .dur_ns = 50});
	launch(b, 5, "void elementwise_kernel<float>(int)", 10, 30, 1);
	launch(b, 60, "qwertz", 100, 10, 1);
	j = tb_joined(b);
	t = tb_table(j, "classes", NULL);
	row = tb_find(t, 0, "class", "softmax");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 30));
	cr_expect(eq(i64, tb_int(t, row, "by_name_ns"), 0));
	row = tb_find(t, 0, "class", "elementwise");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 0));
	cr_expect(eq(i64, tb_int(t, row, "by_name_ns"), 30));
	cr_expect_str_eq(tb_str(t, t->nrows - 1, "class"), "(unclassified)");
	NEAR(tb_real(t, t->nrows - 1, "share"), 25.0);
	cr_expect(tb_notes_say(t, "Unclassified: 25.00 %"));
	ws_table_free(t);

	t = tb_table(j, "kernel-launches", NULL);
	cr_assert(eq(sz, t->nrows, 2));
	cr_expect_str_eq(tb_str(t, 0, "grid"), "   1    1    1");
	cr_expect_str_eq(tb_str(t, 0, "block"), "  32    1    1");
	free_all(t, j, b);
}
