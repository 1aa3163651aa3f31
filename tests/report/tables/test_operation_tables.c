#include "tests/report/tables/foreign.h"
#include "tests/report/random_traces.h"

/* --- operations ---------------------------------------------------------------------------- */

Test(operation_tables, operations_by_hand)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	add_op(b, 1, (struct op){.name = "outer", .start_ns = 0, .dur_ns = 100, .flops = 10});
	add_op(b, 1, (struct op){.name = "inner", .start_ns = 10, .dur_ns = 50, .flops = 7});
	/* the same operation seen twice */
	add_op(b, 1, (struct op){.name = "inner", .start_ns = 11, .dur_ns = 40, .flops = 7});
	launch(b, 20, "k", 200, 30, 1);
	launch(b, 70, "k", 300, 5, 1);
	launch(b, 500, "k", 600, 2, 1);
	j = tb_joined(b);
	t = tb_table(j, "ops", NULL);
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
	free_all(t, j, b);
}

/* PyTorch's own tables list its steps and annotations among the operations, in one tree. */
Test(operation_tables, annotations_and_operations_nest_in_each_other)
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
	struct joined *j;
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
	j = tb_joined(b);
	t = tb_table(j, "ops", NULL);
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
	free_all(t, j, b);
}

Test(operation_tables, a_link_names_the_operation_where_time_does_not)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	add_op(b, 1, (struct op){.name = "by link", .start_ns = 0, .dur_ns = 10, .external_id = 9});
	add_op(b, 1, (struct op){.name = "by time", .start_ns = 20, .dur_ns = 10});
	launch(b, 22, "k", 100, 30, 1);
	tb_add(b, WS_KIND_EXTERNAL_LINK, &(struct ws_row_external_link){100, 5000 + ids, 3, 9});
	j = tb_joined(b);
	t = tb_table(j, "ops", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "name", "by link"), "cuda_ns"), 30));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "name", "by time"), "cuda_ns"), 0));
	free_all(t, j, b);
}

/* Autograd's thread has no ranges: what it launches belongs where the forward operation was. */
Test(operation_tables, backward_kernels_inherit_the_range_of_their_forward)
{
	struct tb *b = tb_new();
	struct joined *j;
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
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "layer 3"), "inclusive_ns"), 12));
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "path", "(in no range)"), "exclusive_ns"), 3));
	ws_table_free(t);
	filter.nvtx = "layer 3";
	t = tb_table(j, "kernel-summary", &filter);
	cr_assert(eq(sz, t->nrows, 1));
	cr_expect_str_eq(tb_str(t, 0, "direction"), "backward");
	cr_expect_str_eq(tb_str(t, 0, "class_by_range"), "gemm");
	free_all(t, j, b);
}

/* Modules are ranges of a domain of their own; functions of Python are none. */
Test(operation_tables, modules_hold_what_they_and_their_backward_launch)
{
	struct tb *b = tb_new();
	struct joined *j;
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
	j = tb_joined(b);
	t = tb_table(j, "ranges", NULL);
	cr_assert(eq(sz, t->nrows, 5), "three modules and the two rows in brackets");
	row = tb_find(t, 0, "path", "Net_0");
	cr_expect_str_eq(tb_str(t, row, "domain"), "pytorch.module");
	cr_expect(eq(i64, tb_int(t, row, "inclusive_ns"), 23));
	row = tb_find(t, 0, "path", "Net_0/Linear_0");
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 16));
	row = tb_find(t, 0, "path", "Net_0/Linear_1");
	cr_expect(eq(i64, tb_int(t, row, "exclusive_ns"), 7));
	free_all(t, j, b);
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

Test(operation_tables, links_tell_the_phases_and_they_add_up_to_the_step)
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
	struct joined *j;
	struct ws_table *t;

	add_linked_step(b);
	link_flow(b, 100, 1, 600, 2);
	link_flow(b, 250, 1, 400, 2);
	j = tb_joined(b);
	t = tb_table(j, "steps", NULL);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		cr_expect(eq(i64, tb_int(t, 0, expected[i].column), expected[i].ns), "%s",
		          expected[i].column);
	free_all(t, j, b);
}

Test(operation_tables, a_step_takes_as_long_in_every_table)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	double mean;

	add_linked_step(b); /* its last kernel ends at 1264, the range at 1000 */
	j = tb_joined(b);
	t = tb_table(j, "execution", NULL);
	cr_expect(eq(dbl, tb_real(t, tb_find(t, 0, "step", "Average"), "total_us"), 1.264));
	ws_table_free(t);
	t = tb_table(j, "summary", NULL);
	mean = tb_real(t, tb_find(t, 0, "item", "step"), "time_ns");
	cr_expect(eq(dbl, mean, 1264.0));
	mean = tb_real(t, tb_find(t, 0, "item", "step on the host, mean"), "time_ns");
	cr_expect(eq(dbl, mean, 1000.0), "to which the phases add up");
	ws_table_free(t);
	t = tb_table(j, "steps", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "total_ns"), 1264));
	ws_table_free(t);
	t = tb_table(j, "step-statistics", NULL);
	cr_expect(eq(dbl, tb_real(t, tb_find(t, 0, "phase", "total"), "mean_ns"), 1264.0));
	cr_expect(eq(dbl, tb_real(t, tb_find(t, 0, "phase", "host"), "mean_ns"), 1000.0));
	free_all(t, j, b);
}

Test(operation_tables, phases_that_nothing_tells_are_empty)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	add_linked_step(b); /* and no links */
	j = tb_joined(b);
	t = tb_table(j, "steps", NULL);
	cr_expect(tb_is_empty(t, 0, "forward_ns"));
	cr_expect(tb_is_empty(t, 0, "backward_ns"));
	cr_expect(tb_is_empty(t, 0, "gpu_backward_ns"));
	cr_expect(eq(i64, tb_int(t, 0, "optimizer_ns"), 100));
	ws_table_free(t);
	t = tb_table(j, "step-split", NULL);
	cr_expect(tb_is_empty(t, tb_find(t, 0, "part", "eval"), "time_ns"));
	cr_expect(tb_is_empty(t, tb_find(t, 0, "part", "backprop"), "time_ns"),
	          "an optimizer alone is none");
	cr_expect(eq(i64, tb_int(t, tb_find(t, 0, "part", "remainder"), "time_ns"), 1000));
	free_all(t, j, b);
}

Test(operation_tables, numbers_of_autograd_link_where_there_are_no_flows)
{
	struct tb *b = tb_new();
	struct joined *j;
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
	j = tb_joined(b);
	t = tb_table(j, "steps", NULL);
	cr_expect(eq(i64, tb_int(t, 0, "forward_ns"), 50));
	cr_expect(eq(i64, tb_int(t, 0, "backward_ns"), 20));
	cr_expect(eq(i64, tb_int(t, 0, "remainder_ns"), 30));
	free_all(t, j, b);
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
static uint32_t naive_innermost(const struct ws_op_tree *r, uint32_t thread, int64_t start_ns,
                                int64_t end_ns, uint32_t but)
{
	uint32_t found = WS_NONE;

	for (uint32_t i = 0; i < r->n && i < but; i++)
		if (r->thread[i] == thread && r->start_ns[i] <= start_ns && r->end_ns[i] >= end_ns)
			found = i;
	return found;
}

/* Operations that nest, touch and cross; calls anywhere; links from thread to thread. */
Test(operation_tables, operations_nest_and_take_calls_as_the_slow_way_says)
{
	for (unsigned round = 0; round < RANDOM_TRACES(2000); round++) {
		struct tb *b = tb_new();
		struct joined *j;
		const struct ws_op_tree *r;

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
		j = tb_joined(b);
		r = &j->m->cpu_ops.tree;
		for (uint32_t i = 0; i < r->n; i++) {
			if (i && r->thread[i - 1] == r->thread[i])
				cr_assert(r->start_ns[i - 1] <= r->start_ns[i]);
			cr_assert(eq(u32, r->parent[i],
			             naive_innermost(r, r->thread[i], r->start_ns[i], r->end_ns[i],
			                             i)),
			          "round %u, operation %u", round, i);
		}
		for (uint32_t i = 0; i < j->rows.ncalls; i++) {
			const struct ws_joined_call *call = ws_joined_rows_call(&j->rows, i);

			cr_assert(eq(u32, call->cpu_op,
			             naive_innermost(r, call->thread, call->start_ns,
			                             call->start_ns + call->dur_ns, WS_NONE)),
			          "round %u, call %u", round, i);
		}
		joined_free(j);
		tb_free(b);
	}
}
