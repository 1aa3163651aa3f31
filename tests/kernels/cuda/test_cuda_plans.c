/*
 * The real cuDNN has a plan for each convolution of each image model, at its full size, for a GPU
 * that is described to it; and which version that is. tests/gpu/cudnn_versions.py runs this with
 * other versions that NVIDIA has published.
 */
#include <stdio.h>

#include "formats/base/memory.h"
#include "kernels/cuda/cuda.h"
#include "kernels/run/step.h"
#include "tests/kernels/cuda/described_gpu.h"
#include "tests/support/kernels_run.h"
#include "tests/support/precision_named.h"

/* Ops that were asked about: those that are alike have one plan. */
struct asked {
	struct ws_step **steps; /* they own the ops */
	struct ws_cuda_plan *plans;
	size_t nsteps, steps_capacity, nplans, plans_capacity;
	int without;
	char first[256]; /* the first without a plan */
};

static void ask(struct asked *a, const struct ws_dnn_target *target, const struct ws_op *op)
{
	const struct ws_cuda known = {.plans = a->plans, .plan_count = (int)a->nplans};
	const struct ws_dnn_rules rules = {
	        .strict_fp32 = op->in[0]->dtype == WS_DTYPE_F32 && !op->tf32,
	        .workspace_bytes = WS_CUDA_DNN_WORKSPACE_BYTES,
	};
	struct ws_cuda_conv_operation operation;
	cudnnBackendDescriptor_t plan = NULL;
	struct ws_err problem = {0};
	char name[64];
	int count = 0;

	if (ws_cuda_plan_of(&known, op))
		return;
	WS_GROW(a->plans, a->nplans + 1, a->plans_capacity);
	a->plans[a->nplans++] = (struct ws_cuda_plan){.op = op};
	KERNELS_OK(ws_cuda_conv_operation_open(op, &operation, err));
	if ((ws_dnn_plans(target, &rules, &operation.operation, 1, 1, &plan, &count, &problem) !=
	             WS_OK ||
	     count == 0) &&
	    a->without++ == 0)
		snprintf(a->first, sizeof(a->first), "%s of %s",
		         ws_op_kernel_name(op, name, sizeof(name)), op->message);
	ws_cuda_conv_operation_close(&operation);
	if (plan)
		ws_dnn_destroy(&plan);
}

/* Precisions whose convolutions have other operands; layouts are told apart by the op. */
static void ask_model(struct asked *a, const struct ws_dnn_target *target,
                      const struct ws_network *model)
{
	static const char *const precisions[] = {"fp32", "tf32", "bf16", "fp16"};

	for (int i = 0; i < 8; i++) {
		struct ws_step_options options = {
		        .model = model,
		        .precision = precision_named(precisions[i / 2]),
		        .phase = WS_STEP_FULL,
		        .batch = 2,
		        .image = {.layout = (enum ws_layout)(i % 2)},
		        .optimizer = ws_optimizer_defaults(WS_OPTIMIZER_SGD),
		};
		const struct ws_graph *graph;

		WS_GROW(a->steps, a->nsteps + 1, a->steps_capacity);
		KERNELS_OK(ws_step_build(&options, &a->steps[a->nsteps], err));
		graph = a->steps[a->nsteps++]->graph;
		for (int o = 0; o < graph->op_count; o++)
			if (ws_cuda_is_conv(graph->ops[o]))
				ask(a, target, graph->ops[o]);
	}
}

Test(cuda_plans, there_is_one_for_each_convolution_of_each_model)
{
	struct ws_dnn_target target;
	struct asked a = {0};

	fprintf(stderr, "cuDNN %zu\n", cudnnGetVersion());
	target = described_gpu();
	for (int m = 0; ws_network_at(m); m++)
		if (ws_network_at(m)->image)
			ask_model(&a, &target, ws_network_at(m));
	fprintf(stderr, "convolutions %zu, without a plan %d%s%s\n", a.nplans, a.without,
	        a.without ? ", first " : "", a.first);
	cr_expect_eq(a.without, 0);
	cr_expect_gt(a.nplans, 500);
	ws_dnn_destroy(&target.properties);
	while (a.nsteps)
		ws_step_close(a.steps[--a.nsteps]);
	free(a.steps);
	free(a.plans);
}

/* cuDNN's functions for whole ops count elements in 31 bits. */
Test(cuda_plans, an_op_of_more_elements_than_cudnn_takes_names_the_cure)
{
	for (int excess = 0; excess < 2; excess++) {
		struct ws_graph *graph = ws_graph_create(precision_named("fp32"));
		int64_t rows = ((int64_t)1 << 21) - 1 + excess;
		struct ws_tensor *x = ws_graph_tensor(graph, "x", WS_ROLE_INPUT, WS_DTYPE_F32,
		                                      WS_SHAPE(rows, 1024));
		const char *problem;

		ws_graph_phase(graph, WSNVTX_PHASE_forward);
		ws_op_log_softmax(graph, x);
		KERNELS_OK(ws_graph_check(graph, err));
		problem = ws_cuda_op_problem(graph->ops[0]);
		cr_expect_eq(problem != NULL, excess);
		cr_expect(!problem || strstr(problem, "--batch"));
		ws_graph_destroy(graph);
	}
}
