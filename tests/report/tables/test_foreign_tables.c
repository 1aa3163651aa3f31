/*
 * Tables of what profilers of frameworks record: steps by time, operations,
 * links to backward, allocations. Small and worked out by hand.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "report/model/model.h"
#include "tests/support/trace_builder.h"

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

/* --- what a trace is made of ---------------------------------------------------------------- */

struct op {
	const char *name;
	enum { OTHER, GEMM, CONV, ATTENTION, SOFTMAX, SCALE } kind;
	int backward;
	int64_t start_ns, dur_ns;
	uint64_t external_id, flops, bytes, batch, m, n, k;
	int no_cost;
};

static uint64_t ids = 1000; /* the writer counts its own from 1 */

static void add_op(struct tb *b, uint64_t thread, struct op op)
{
	uint64_t id = ++ids;

	tb_add(b, WS_KIND_OP_CONFIG,
	       &(struct ws_row_op_config){.id = id,
	                                  .name = tb_text(b, op.name),
	                                  .dims = tb_text(b, "[[1]]"),
	                                  .kind = op.kind,
	                                  .direction = op.backward ? 2 : 0,
	                                  .dtype = 1,
	                                  .batch = op.batch,
	                                  .m = op.m,
	                                  .n = op.n,
	                                  .k = op.k,
	                                  .cost = op.no_cost ? 0 : 2,
	                                  .flops = op.flops,
	                                  .bytes_read = op.bytes});
	tb_add(b, WS_KIND_CPU_OP,
	       &(struct ws_row_cpu_op){.start_ns = op.start_ns,
	                               .dur_ns = op.dur_ns,
	                               .thread = thread,
	                               .config = id,
	                               .external_id = op.external_id,
	                               .sequence = -1});
}

static void link_flow(struct tb *b, int64_t from_ns, uint64_t from, int64_t to_ns, uint64_t to)
{
	tb_add(b, WS_KIND_FLOW, &(struct ws_row_flow){from_ns, from, to_ns, to, 0});
}

static void attr(struct tb *b, const char *name, int64_t value)
{
	tb_add(b, WS_KIND_DEVICE_ATTR, &(struct ws_row_device_attr){0, tb_text(b, name), value});
}

/* A kernel of `blocks` blocks of 32 threads, its call 1 ns long on the thread set. */
static void launch(struct tb *b, int64_t call_ns, const char *name, int64_t start_ns,
                   int64_t dur_ns, uint64_t blocks)
{
	struct ws_row_launch_config config = {.id = ++ids,
	                                      .name = tb_text(b, name),
	                                      .pid = 100,
	                                      .grid_x = blocks,
	                                      .grid_y = 1,
	                                      .grid_z = 1,
	                                      .block_x = 32,
	                                      .block_y = 1,
	                                      .block_z = 1,
	                                      .registers = 16,
	                                      .shared_static_bytes = 100,
	                                      .shared_dynamic_bytes = 28};
	uint64_t correlation = 5000 + ids;

	tb_add(b, WS_KIND_LAUNCH_CONFIG, &config);
	tb_call(b, call_ns, 1, correlation);
	tb_add(b, WS_KIND_KERNEL,
	       &(struct ws_row_kernel){.start_ns = start_ns,
	                               .dur_ns = dur_ns,
	                               .correlation = correlation,
	                               .config = config.id});
}

static void free_all(struct ws_table *t, struct ws_model *m, struct tb *b)
{
	ws_table_free(t);
	ws_model_free(m);
	tb_free(b);
}

/* --- execution, gpu -------------------------------------------------------------------------- */

/* Each moment counts for the first role: kernel, copy, fill, communication, runtime, loader, CPU.
 */
Test(foreign_tables, execution_gives_each_moment_to_one_role)
{
	struct tb *b = tb_new();
	struct ws_model *m;
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
	m = tb_model(b);
	t = tb_table(m, "execution", NULL);
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
	cr_expect(eq(sz, t->nanswers, 1));
	cr_expect_str_eq(t->notes[0], "Of an average step: kernels 27.3 %, communication 18.2 %, "
	                              "runtime 1.8 %, data loading 18.2 %, other CPU work 16.4 %, "
	                              "none of these 18.2 %; any device was busy 45.5 %.");
	free_all(t, m, b);
}

Test(foreign_tables, a_device_that_is_always_busy_leaves_nothing_to_other_roles)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;

	tb_push(b, 0, "step");
	launch(b, 0, "k", 1, 99, 1);
	launch(b, 10, "k", 50, 70, 1);
	tb_pop(b, 100);
	m = tb_model(b);
	t = tb_table(m, "execution", NULL);
	NEAR(tb_real(t, 0, "total_us"), 0.120);
	NEAR(tb_real(t, 0, "kernel_us"), 0.119);
	NEAR(tb_real(t, 0, "runtime_us"), 0.001);
	cr_expect(eq(dbl, tb_real(t, 0, "cpu_us"), 0));
	free_all(t, m, b);
}

/* The case of the TensorBoard plugin's own tests: (40 + 20) of 120, and so on. */
Test(foreign_tables, gpu_utilization_and_sm_efficiency_by_hand)
{
	struct tb *b = tb_new();
	struct ws_model *m;
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
	m = tb_model(b);
	t = tb_table(m, "gpu", NULL);
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
	free_all(t, m, b);
}

Test(foreign_tables, without_limits_of_the_device_occupancy_is_unknown_not_0)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;

	launch(b, 0, "k", 10, 10, 4);
	m = tb_model(b);
	t = tb_table(m, "gpu", NULL);
	cr_expect(tb_is_empty(t, 0, "sm_efficiency"));
	cr_expect(tb_is_empty(t, 0, "occupancy"));
	cr_expect(tb_notes_say(t, "1 kernels have no occupancy estimate"));
	ws_table_free(t);
	t = tb_table(m, "kernel-summary", NULL);
	cr_expect(tb_is_empty(t, 0, "blocks_per_sm"));
	cr_expect(eq(i64, tb_int(t, 0, "registers"), 16));
	cr_expect(eq(i64, tb_int(t, 0, "shared_bytes"), 128));
	free_all(t, m, b);
}

/* The last step was cut off, so it would drag the mean down. */
Test(foreign_tables, a_last_step_without_its_device_work_is_left_out_and_said)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;

	for (int s = 0; s < 3; s++) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", s);
		tb_push(b, s * 100, name);
		for (int k = 0; k < (s == 2 ? 3 : 5); k++)
			launch(b, s * 100 + k * 10, "k", s * 100 + k * 10 + 2, 5, 1);
		tb_pop(b, s * 100 + 100);
	}
	m = tb_model(b);
	t = tb_table(m, "execution", NULL);
	cr_expect(eq(sz, t->nrows, 3), "two steps and their average");
	cr_expect(tb_notes_say(t, "1 steps at the end are left out"));
	free_all(t, m, b);
}

/* --- operations ---------------------------------------------------------------------------- */

Test(foreign_tables, operations_by_hand)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;
	size_t row;

	add_op(b, 1, (struct op){.name = "outer", .start_ns = 0, .dur_ns = 100, .flops = 10});
	add_op(b, 1, (struct op){.name = "inner", .start_ns = 10, .dur_ns = 50, .flops = 7});
	/* the same operation seen twice */
	add_op(b, 1, (struct op){.name = "inner", .start_ns = 11, .dur_ns = 40, .flops = 7});
	launch(b, 20, "k", 200, 30, 1);
	launch(b, 70, "k", 300, 5, 1);
	launch(b, 500, "k", 600, 2, 1);
	m = tb_model(b);
	t = tb_table(m, "ops", NULL);
	row = tb_find(t, 0, "name", "outer");
	cr_expect(eq(i64, tb_int(t, row, "self_cpu_ns"), 100 - 50 - 1));
	cr_expect(eq(i64, tb_int(t, row, "cpu_ns"), 100));
	cr_expect(eq(i64, tb_int(t, row, "self_cuda_ns"), 5));
	cr_expect(eq(i64, tb_int(t, row, "cuda_ns"), 35));
	cr_expect(eq(i64, tb_int(t, row, "flops"), 10));
	row = tb_find(t, 0, "name", "inner");
	cr_expect(eq(i64, tb_int(t, row, "calls"), 1));
	cr_expect(eq(i64, tb_int(t, row, "self_cpu_ns"), 49));
	cr_expect(eq(i64, tb_int(t, row, "cpu_ns"), 50));
	cr_expect(eq(i64, tb_int(t, row, "cuda_ns"), 30));
	cr_expect(eq(i64, tb_int(t, row, "flops"), 7));
	row = tb_find(t, 0, "name", "cudaLaunchKernel");
	cr_expect(eq(i64, tb_int(t, row, "self_cpu_ns"), 3));
	row = tb_find(t, 0, "name", "(in no operation)");
	cr_expect(eq(i64, tb_int(t, row, "self_cuda_ns"), 2));
	free_all(t, m, b);
}

/* PyTorch's own tables list its steps and annotations among the operations, in one tree. */
Test(foreign_tables, annotations_and_operations_nest_in_each_other)
{
	static const struct {
		const char *name;
		int64_t calls, self_cpu_ns, cpu_ns, self_cuda_ns, cuda_ns;
	} rows[] = {
	        {"ProfilerStep*", 2, 400 - 30 - 70 - 1, 400, 7, 41},
	        {"data", 1, 25, 30, 0, 0},
	        {"select", 1, 5, 5, 0, 0},
	        {"A", 1, 70 - 20, 70, 4, 34},
	        {"annotation", 1, 20 - 10 - 1, 20, 0, 30},
	        {"B", 1, 10 - 1, 10, 30, 30},
	};
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;
	int64_t sum = 0;

	tb_push(b, 0, "ProfilerStep#5");
	tb_push(b, 10, "data");
	add_op(b, 1, (struct op){.name = "select", .start_ns = 15, .dur_ns = 5});
	tb_pop(b, 40);
	tb_in_domain(b, "pytorch.module");
	tb_push(b, 45, "a module is no row");
	tb_in_domain(b, "");
	add_op(b, 1, (struct op){.name = "A", .start_ns = 50, .dur_ns = 70});
	tb_push(b, 60, "annotation");
	add_op(b, 1, (struct op){.name = "B", .start_ns = 65, .dur_ns = 10});
	launch(b, 70, "k", 200, 30, 1);
	launch(b, 77, "k", 240, 4, 1);
	tb_pop(b, 80);
	tb_in_domain(b, "pytorch.module");
	tb_pop(b, 130);
	tb_in_domain(b, "");
	launch(b, 150, "k", 250, 7, 1);
	tb_pop(b, 200);
	tb_push(b, 300, "ProfilerStep#6");
	tb_pop(b, 500);
	m = tb_model(b);
	t = tb_table(m, "ops", NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t row = tb_find(t, 0, "name", rows[i].name);

		cr_expect(eq(i64, tb_int(t, row, "calls"), rows[i].calls), "%s", rows[i].name);
		cr_expect(eq(i64, tb_int(t, row, "self_cpu_ns"), rows[i].self_cpu_ns), "%s",
		          rows[i].name);
		cr_expect(eq(i64, tb_int(t, row, "cpu_ns"), rows[i].cpu_ns), "%s", rows[i].name);
		cr_expect(eq(i64, tb_int(t, row, "self_cuda_ns"), rows[i].self_cuda_ns), "%s",
		          rows[i].name);
		cr_expect(eq(i64, tb_int(t, row, "cuda_ns"), rows[i].cuda_ns), "%s", rows[i].name);
	}
	cr_assert(eq(sz, t->nrows, 7), "these and the calls");
	for (size_t row = 0; row < t->nrows; row++)
		sum += tb_int(t, row, "self_cpu_ns");
	cr_expect(eq(i64, sum, 400), "each moment of the steps belongs to one row");
	free_all(t, m, b);
}

Test(foreign_tables, a_link_names_the_operation_where_time_does_not)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;

	add_op(b, 1, (struct op){.name = "by link", .start_ns = 0, .dur_ns = 10, .external_id = 9});
	add_op(b, 1, (struct op){.name = "by time", .start_ns = 20, .dur_ns = 10});
	launch(b, 22, "k", 100, 30, 1);
	tb_add(b, WS_KIND_EXTERNAL_LINK, &(struct ws_row_external_link){100, 5000 + ids, 3, 9});
	m = tb_model(b);
	t = tb_table(m, "ops", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "name", "by link"), "cuda_ns"), 30));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "name", "by time"), "cuda_ns"), 0));
	free_all(t, m, b);
}

/* Autograd's thread has no ranges: what it launches belongs where the forward operation was. */
Test(foreign_tables, backward_kernels_inherit_the_range_of_their_forward)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;
	struct ws_filter filter = WS_FILTER_ALL;

	tb_thread(b, 2, 100);
	tb_push(b, 0, "layer 3");
	add_op(b, 1, (struct op){.name = "aten::mm", .kind = GEMM, .start_ns = 10, .dur_ns = 20});
	launch(b, 15, "k", 20, 5, 1);
	tb_pop(b, 50);
	add_op(b, 2,
	       (struct op){.name = "MmBackward0", .start_ns = 100, .dur_ns = 50, .no_cost = 1});
	add_op(b, 2, (struct op){.name = "aten::mm", .kind = GEMM, .start_ns = 110, .dur_ns = 20});
	tb_on_thread(b, 2);
	launch(b, 115, "k", 120, 7, 1);
	launch(b, 190, "stray", 200, 3, 1);
	link_flow(b, 10, 1, 100, 2);
	m = tb_model(b);
	t = tb_table(m, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "layer 3"), "inclusive_ns"), 12));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "(in no range)"), "exclusive_ns"), 3));
	ws_table_free(t);
	filter.nvtx = "layer 3";
	t = tb_table(m, "kernel-summary", &filter);
	cr_assert(eq(sz, t->nrows, 1));
	cr_expect_str_eq(tb_str(t, 0, "direction"), "backward");
	cr_expect_str_eq(tb_str(t, 0, "class_by_range"), "gemm");
	free_all(t, m, b);
}

/* Modules are ranges of a domain of their own; functions of Python are none. */
Test(foreign_tables, modules_hold_what_they_and_their_backward_launch)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;
	const struct ws_row_python_call calls[] = {
	        {0, 100, 1, tb_text(b, "nn.Module: Net_0"), 1, 0, 0},
	        {10, 30, 1, tb_text(b, "nn.Module: Linear_0"), 2, 1, 1},
	        {40, 30, 1, tb_text(b, "nn.Module: Linear_1"), 3, 1, 2},
	        {15, 20, 1, tb_text(b, "file.py(3): helper"), 4, 2, -1},
	};
	size_t row;

	for (size_t i = 0; i < 4; i++)
		tb_add(b, WS_KIND_PYTHON_CALL, &calls[i]);
	tb_thread(b, 2, 100);
	add_op(b, 1, (struct op){.name = "aten::mm", .start_ns = 20, .dur_ns = 10});
	launch(b, 22, "k", 200, 5, 1);
	launch(b, 45, "k", 210, 7, 1);
	add_op(b, 2, (struct op){.name = "MmBackward0", .start_ns = 300, .dur_ns = 10});
	tb_on_thread(b, 2);
	launch(b, 302, "k", 400, 11, 1);
	link_flow(b, 20, 1, 300, 2);
	m = tb_model(b);
	t = tb_table(m, "ranges", NULL);
	cr_assert(eq(sz, t->nrows, 5), "three modules and the two rows in brackets");
	row = tb_find(t, 0, "path", "Net_0");
	cr_expect_str_eq(tb_str(t, row, "domain"), "pytorch.module");
	cr_expect(eq(i64, tb_int(t, row, "inclusive_ns"), 23));
	row = tb_find(t, 0, "path", "Net_0/Linear_0");
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 16));
	row = tb_find(t, 0, "path", "Net_0/Linear_1");
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 7));
	free_all(t, m, b);
}

/* --- phases by links -------------------------------------------------------------------------- */

static void add_plain(struct tb *b, uint64_t thread, const char *name, int64_t from, int64_t to)
{
	add_op(b, thread,
	       (struct op){.name = name, .start_ns = from, .dur_ns = to - from, .no_cost = 1});
}

/*
 * ProfilerStep#7 in [0, 1000]: forward 100..300 with an operation that has no link in it, loss
 * 320..360, backward 400..700 on thread 2 in two pieces, between which the program goes on,
 * optimizer 800..900.
 */
static void add_linked_step(struct tb *b)
{
	tb_thread(b, 2, 100);
	tb_push(b, 0, "ProfilerStep#7");
	add_plain(b, 1, "aten::to", 50, 60);
	add_plain(b, 1, "aten::linear", 100, 150);
	add_plain(b, 1, "aten::view", 160, 200);
	launch(b, 170, "view", 1000, 1, 1);
	add_plain(b, 1, "aten::relu", 250, 300);
	launch(b, 260, "relu", 1010, 2, 1);
	add_plain(b, 1, "aten::cross_entropy_loss", 320, 360);
	add_plain(b, 1, "aten::nll_loss_nd", 330, 340);
	launch(b, 335, "loss", 1020, 4, 1);
	add_plain(b, 1, "aten::item", 510, 590);
	launch(b, 520, "item", 1030, 8, 1);
	tb_push(b, 800, "Optimizer.step#SGD.step");
	launch(b, 850, "sgd", 1040, 16, 1);
	tb_pop(b, 900);
	add_plain(b, 2, "ReluBackward0", 400, 500);
	add_plain(b, 2, "LinearBackward0", 600, 640);
	add_plain(b, 2, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 650,
	          700);
	tb_on_thread(b, 2);
	launch(b, 610, "linear", 1100, 32, 1);
	launch(b, 660, "accumulate", 1200, 64, 1);
	tb_on_thread(b, 1);
	tb_pop(b, 1000);
}

Test(foreign_tables, links_tell_the_phases_and_they_add_up_to_the_step)
{
	static const struct {
		const char *column;
		int64_t ns;
	} expected[] = {
	        {"step", 7},
	        {"forward_ns", 200},
	        {"loss_ns", 40},
	        {"backward_ns", 200},
	        {"optimizer_ns", 100},
	        {"remainder_ns", 460},
	        {"host_ns", 1000},
	        {"total_ns", 1264},
	        {"gpu_forward_ns", 3},
	        {"gpu_loss_ns", 4},
	        {"gpu_backward_ns", 96},
	        {"gpu_optimizer_ns", 16},
	        {"gpu_remainder_ns", 8},
	};
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;

	add_linked_step(b);
	link_flow(b, 100, 1, 600, 2);
	link_flow(b, 250, 1, 400, 2);
	m = tb_model(b);
	t = tb_table(m, "steps", NULL);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		cr_expect(eq(i64, tb_int(t, 0, expected[i].column), expected[i].ns), "%s",
		          expected[i].column);
	free_all(t, m, b);
}

Test(foreign_tables, a_step_takes_as_long_in_every_table)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;
	double mean;

	add_linked_step(b); /* its last kernel ends at 1264, the range at 1000 */
	m = tb_model(b);
	t = tb_table(m, "execution", NULL);
	cr_expect(eq(dbl, tb_real(t, tb_find(t, 0, "step", "Average"), "total_us"), 1.264));
	ws_table_free(t);
	t = tb_table(m, "summary", NULL);
	mean = tb_real(t, tb_find(t, 0, "item", "step, mean"), "time_ns");
	cr_expect(eq(dbl, mean, 1264.0));
	mean = tb_real(t, tb_find(t, 0, "item", "step on the host, mean"), "time_ns");
	cr_expect(eq(dbl, mean, 1000.0), "to which the phases add up");
	ws_table_free(t);
	t = tb_table(m, "steps", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 1264));
	ws_table_free(t);
	t = tb_table(m, "step-statistics", NULL);
	cr_expect(eq(dbl, tb_real(t, tb_find(t, 0, "phase", "total"), "mean_ns"), 1264.0));
	cr_expect(eq(dbl, tb_real(t, tb_find(t, 0, "phase", "host"), "mean_ns"), 1000.0));
	free_all(t, m, b);
}

Test(foreign_tables, phases_that_nothing_tells_are_empty)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;

	add_linked_step(b); /* and no links */
	m = tb_model(b);
	t = tb_table(m, "steps", NULL);
	cr_expect(tb_is_empty(t, 0, "forward_ns"));
	cr_expect(tb_is_empty(t, 0, "backward_ns"));
	cr_expect(tb_is_empty(t, 0, "gpu_backward_ns"));
	cr_expect(eq(i64, tb_int(t, 0, "optimizer_ns"), 100));
	ws_table_free(t);
	t = tb_table(m, "step-split", NULL);
	cr_expect(tb_is_empty(t, tb_find(t, 0, "part", "eval"), "time_ns"));
	cr_expect(tb_is_empty(t, tb_find(t, 0, "part", "backprop"), "time_ns"),
	          "an optimizer alone is none");
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "part", "remainder"), "time_ns"), 1000));
	free_all(t, m, b);
}

Test(foreign_tables, numbers_of_autograd_link_where_there_are_no_flows)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;
	static const struct ws_row_cpu_op ops[] = {
	        {.start_ns = 10, .dur_ns = 20, .thread = 1, .sequence = 5},
	        {.start_ns = 40, .dur_ns = 20, .thread = 1, .sequence = 6},
	        {.start_ns = 70, .dur_ns = 10, .thread = 2, .sequence = 6, .forward_thread = 1},
	        {.start_ns = 80, .dur_ns = 10, .thread = 2, .sequence = 5, .forward_thread = 1},
	};

	tb_thread(b, 2, 100);
	tb_push(b, 0, "step");
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		tb_add(b, WS_KIND_CPU_OP, &ops[i]);
	tb_pop(b, 100);
	m = tb_model(b);
	t = tb_table(m, "steps", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "forward_ns"), 50));
	cr_expect(eq(i64, tb_int(t, 0, "backward_ns"), 20));
	cr_expect(eq(i64, tb_int(t, 0, "remainder_ns"), 30));
	free_all(t, m, b);
}

/* --- costs ------------------------------------------------------------------------------------ */

Test(foreign_tables, of_nested_costs_the_innermost_counts)
{
	struct tb *b = tb_new();
	struct ws_model *m;
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
	m = tb_model(b);
	t = tb_table(m, "roofline", NULL);
	cr_expect(eq(sz, tb_count(t, "name", "conv2d"), 0));
	cr_expect(eq(sz, tb_count(t, "name", "copy"), 0));
	row = tb_find(t, 0, "name", "cudnn");
	NEAR(tb_real(t, row, "flops"), 1000.0);
	NEAR(tb_real(t, row, "tflops"), 0.1);
	NEAR(tb_real(t, row, "intensity"), 20.0);
	cr_expect(tb_is_empty(t, row, "bound"), "no peaks, no verdict");
	row = tb_find(t, 0, "name", "addmm");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 4));
	free_all(t, m, b);
}

Test(foreign_tables, measured_peaks_make_a_roof)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;
	size_t row;

	tb_mark(b, 0, "workload.peak.fp32=10");
	tb_mark(b, 0, "workload.peak.memory=1000");
	add_op(b, 1, (struct op){.name = "exp", .dur_ns = 10, .flops = 100, .bytes = 50});
	launch(b, 5, "k", 20, 1, 1);
	m = tb_model(b);
	t = tb_table(m, "roofline", NULL);
	row = tb_find(t, 0, "name", "exp");
	NEAR(tb_real(t, row, "attainable"), 2.0);
	/* 100 FLOP in 1 ns are 0.1 TFLOP/s of 10, 50 GB/s of 1,000 */
	NEAR(tb_real(t, row, "attained"), 5.0);
	cr_expect_str_eq(tb_str(t, row, "bound"), "memory");
	free_all(t, m, b);
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
	struct ws_model *m;
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
	m = tb_model(b);
	t = tb_table(m, "softmax-matmul", NULL);
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
	free_all(t, m, b);
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
	struct ws_model *m;
	struct ws_table *t;
	size_t row;

	tb_push(b, 0, "forward");
	memory(b, 10, WS_MEMORY_OP_ALLOC, 1, 100);
	memory(b, 20, WS_MEMORY_OP_ALLOC, 2, 500);
	tb_pop(b, 30);
	memory(b, 40, WS_MEMORY_OP_FREE, 2, 0); /* CUDA does not say how much */
	memory(b, 50, WS_MEMORY_OP_ALLOC, 3, 200);
	memory(b, 60, WS_MEMORY_OP_OUT_OF_MEMORY, 0, 1 << 30);
	m = tb_model(b);
	t = tb_table(m, "memory", NULL);
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
	free_all(t, m, b);
}

/* --- launch latency --------------------------------------------------------------------------- */

Test(foreign_tables, launch_latency_by_hand)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;

	launch(b, 0, "k", 11, 30, 1);    /* call to 1, waits 10, ends at 41 */
	launch(b, 100, "k", 100, 20, 1); /* begins before its call returned: no wait */
	tb_kernel(b, &(struct tb_kernel){"lost", 500, 5, 0, 0, 100, 0});
	m = tb_model(b);
	t = tb_table(m, "launch-latency", NULL);
	cr_assert(eq(sz, t->nrows, 1));
	cr_expect(eq(i64, tb_int(t, 0, "count"), 2));
	cr_expect(eq(i64, tb_int(t, 0, "queued"), 1));
	NEAR(tb_real(t, 0, "total_avg_ns"), (41.0 + 20) / 2);
	NEAR(tb_real(t, 0, "api_avg_ns"), 1.0);
	NEAR(tb_real(t, 0, "queue_avg_ns"), 10.0);
	NEAR(tb_real(t, 0, "kernel_avg_ns"), 25.0);
	cr_expect(tb_notes_say(t, "1 kernels have no record of the call"));
	cr_expect(tb_notes_say(t, "launch-bound"));
	free_all(t, m, b);
}

/* --- classes, launches ------------------------------------------------------------------------ */

Test(foreign_tables, classes_by_operation_and_by_name_add_up_and_show_what_is_unknown)
{
	struct tb *b = tb_new();
	struct ws_model *m;
	struct ws_table *t;
	size_t row;

	add_op(b, 1, (struct op){.name = "aten::_softmax", .kind = SOFTMAX, .dur_ns = 50});
	launch(b, 5, "void elementwise_kernel<float>(int)", 10, 30, 1);
	launch(b, 60, "qwertz", 100, 10, 1);
	m = tb_model(b);
	t = tb_table(m, "classes", NULL);
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

	t = tb_table(m, "kernel-launches", NULL);
	cr_assert(eq(sz, t->nrows, 2));
	cr_expect_str_eq(tb_str(t, 0, "grid"), "   1    1    1");
	cr_expect_str_eq(tb_str(t, 0, "block"), "  32    1    1");
	free_all(t, m, b);
}

/* --- against an obviously right way, O(n^2) --------------------------------------------------- */

static uint64_t seed;
static unsigned roll(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* The operation that contains [start, end] on the thread and began last; of those that began
 * together the shorter, else the later in the tree. `but`: not this one, nor what stands behind it.
 */
static uint32_t naive_innermost(const struct ws_ranges *r, uint32_t thread, int64_t start_ns,
                                int64_t end_ns, uint32_t but)
{
	uint32_t found = WS_NONE;

	for (uint32_t i = 0; i < r->n && i < but; i++)
		if (r->thread[i] == thread && r->start_ns[i] <= start_ns && r->end_ns[i] >= end_ns)
			found = i;
	return found;
}

/* Operations that nest, touch and cross; calls anywhere; links from thread to thread. */
Test(foreign_tables, operations_nest_and_take_calls_as_the_slow_way_says)
{
	for (unsigned round = 0; round < 2000; round++) {
		struct tb *b = tb_new();
		struct ws_model *m;
		const struct ws_ranges *r;

		seed = round;
		ids = 1000;
		tb_thread(b, 2, 100);
		for (unsigned i = roll(40); i; i--)
			add_op(b, 1 + roll(2),
			       (struct op){.name = "op", .start_ns = roll(60), .dur_ns = roll(30)});
		for (unsigned i = roll(20); i; i--) {
			tb_on_thread(b, 1 + roll(2));
			tb_call(b, roll(70), roll(5), ++ids);
		}
		m = tb_model(b);
		r = &m->cpu_ops.tree;
		for (uint32_t i = 0; i < r->n; i++) {
			if (i && r->thread[i - 1] == r->thread[i])
				cr_assert(r->start_ns[i - 1] <= r->start_ns[i]);
			cr_assert(eq(u32, r->parent[i],
			             naive_innermost(r, r->thread[i], r->start_ns[i], r->end_ns[i],
			                             i)),
			          "round %u, operation %u", round, i);
		}
		for (size_t i = 0; i < m->api.n; i++)
			cr_assert(eq(u32, m->api.op[i],
			             naive_innermost(r, m->api.thread[i], m->api.start_ns[i],
			                             m->api.end_ns[i], WS_NONE)),
			          "round %u, call %zu", round, i);
		ws_model_free(m);
		tb_free(b);
	}
}
