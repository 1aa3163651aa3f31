/* The memory plan against hand-made graphs, and against what a run really allocates. */
#include <criterion/criterion.h>

#include "kernels/exec/exec.h"
#include "kernels/graph/graph.h"
#include "kernels/run/step.h"
#include "tests/support/precision_named.h"

static struct ws_step_options tiny(enum ws_step_phase phase)
{
	return (struct ws_step_options){
	        .model = ws_network_find("transformer-tiny"),
	        .precision = precision_named("fp32"),
	        .phase = phase,
	        .batch = 2,
	        .context = 16,
	        .optimizer = WS_ADAMW_DEFAULT,
	};
}

Test(memory_plan, of_a_chain_is_two_tensors_at_a_time)
{
	struct ws_precision fp32 = *precision_named("fp32");
	struct ws_memory_plan plan;
	struct ws_graph *graph;
	struct ws_tensor *x;

	graph = ws_graph_create(&fp32);
	x = ws_graph_tensor(graph, "x", WS_ROLE_INPUT, WS_DTYPE_F32, WS_SHAPE(25, 10));
	ws_graph_phase(graph, WSNVTX_PHASE_forward);
	for (int i = 0; i < 5; i++)
		x = ws_op_unary(graph, WS_SUB_NEG, x, 0);
	plan = ws_memory_plan(graph);
	cr_assert_eq(plan.by_role_bytes[WS_ROLE_INPUT], 1000);
	cr_assert_eq(plan.peak_bytes, 3000, "the input, an operand and a result, not %llu",
	             (unsigned long long)plan.peak_bytes);
	cr_assert_eq(plan.peak_op, graph->ops[1]);
	ws_graph_destroy(graph);
}

Test(memory_plan, of_parameters_gradients_and_state_are_their_sizes)
{
	struct ws_step_options options = tiny(WS_STEP_FULL);
	struct ws_memory_plan plan;
	struct ws_step *step;
	struct ws_err err;
	uint64_t bytes;

	cr_assert_eq(ws_step_build(&options, &step, &err), WS_OK);
	bytes = 4 * (uint64_t)ws_graph_param_count(step->graph);
	plan = ws_memory_plan(step->graph);
	cr_assert_eq(plan.by_role_bytes[WS_ROLE_PARAM], bytes);
	cr_assert_eq(plan.gradient_bytes, bytes);
	cr_assert_eq(plan.by_role_bytes[WS_ROLE_STATE], 2 * bytes);
	ws_step_close(step);
}

/* A backend on which nothing runs: each op sees where the tensors are that are alive. */
static const struct ws_graph *placed;
static const char *block_end;

static enum ws_status run_apart(struct ws_backend *backend, const struct ws_op *op,
                                struct ws_err *err)
{
	(void)backend;
	(void)op;
	(void)err;
	for (int i = 0; i < placed->tensor_count; i++) {
		const struct ws_tensor *a = placed->tensors[i];

		if (!a->is_alive)
			continue;
		cr_assert_leq((const char *)a->data + a->size_bytes, block_end, "%s", a->name);
		for (int j = 0; j < i; j++) {
			const struct ws_tensor *b = placed->tensors[j];

			if (b->is_alive)
				cr_assert((const char *)a->data + a->size_bytes <=
				                          (const char *)b->data ||
				                  (const char *)b->data + b->size_bytes <=
				                          (const char *)a->data,
				          "%s and %s overlap", a->name, b->name);
		}
	}
	return WS_OK;
}

static void expect_apart(const char *model, const char *precision, enum ws_fusion fusion)
{
	struct ws_step_options options = tiny(WS_STEP_FULL);
	struct ws_backend_ops ops;
	struct ws_backend *backend;
	struct ws_step *step;
	struct ws_pool *pool;
	struct ws_err err;
	double loss;

	options.model = ws_network_find(model);
	options.precision = precision_named(precision);
	options.fusion = fusion;
	cr_assert_eq(ws_pool_create(1, &pool, &err), WS_OK);
	backend = ws_backend_cpu_open(pool, 0);
	ops = *backend->ops;
	ops.run = run_apart;
	backend->ops = &ops;
	cr_assert_eq(ws_step_open(&options, backend, pool, &step, &err), WS_OK, "%s", err.text);
	placed = step->graph;
	block_end = (const char *)placed->tensors[0]->data - placed->tensors[0]->offset +
	            ws_memory_plan(placed).block_bytes;
	cr_assert_eq(ws_step_run(step, "step", 1, &loss, &err), WS_OK);
	ws_step_close(step);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
}

Test(memory_plan, has_places_apart_for_what_is_alive_at_the_same_time)
{
	expect_apart("transformer-tiny", "fp32", WS_FUSION_NONE);
	expect_apart("transformer-tiny", "amp-fp16", WS_FUSION_FULL);
	expect_apart("lenet5", "amp-bf16", WS_FUSION_NONE);
}

Test(memory_plan, is_what_a_step_allocates_at_most)
{
	static const enum ws_step_phase phases[] = {WS_STEP_FORWARD, WS_STEP_FORWARD_BACKWARD,
	                                            WS_STEP_FULL};

	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
		struct ws_step_options options = tiny(phases[i]);
		struct ws_backend *backend;
		struct ws_memory_plan plan;
		struct ws_step *step;
		struct ws_pool *pool;
		struct ws_err err;
		double loss;

		cr_assert_eq(ws_pool_create(1, &pool, &err), WS_OK);
		backend = ws_backend_cpu_open(pool, 0);
		cr_assert_eq(ws_step_open(&options, backend, pool, &step, &err), WS_OK, "%s",
		             err.text);
		plan = ws_memory_plan(step->graph);
		for (uint64_t n = 1; n <= 2; n++)
			cr_assert_eq(ws_step_run(step, "step", n, &loss, &err), WS_OK);
		cr_assert_eq(backend->peak_bytes, plan.peak_bytes, "phase %d: %llu, planned %llu",
		             phases[i], (unsigned long long)backend->peak_bytes,
		             (unsigned long long)plan.peak_bytes);
		ws_step_close(step);
		ws_backend_close(backend);
		ws_pool_destroy(pool);
	}
}

Test(memory_plan, that_does_not_fit_is_refused_before_anything_is_capacity)
{
	struct ws_step_options options = tiny(WS_STEP_FULL);
	struct ws_backend *backend;
	struct ws_step *step;
	struct ws_pool *pool;
	struct ws_err err;

	cr_assert_eq(ws_pool_create(1, &pool, &err), WS_OK);
	backend = ws_backend_cpu_open(pool, 1 << 20);
	cr_assert_eq(ws_step_open(&options, backend, pool, &step, &err), WS_NO_MEMORY);
	cr_assert_not_null(strstr(err.text, "the device has 1048576"), "%s", err.text);
	cr_assert_eq(backend->peak_bytes, 0);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
}
