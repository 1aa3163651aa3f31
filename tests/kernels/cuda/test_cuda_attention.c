/*
 * Fused attention as it is described to cuDNN: the real library finds an engine for each graph and
 * compiles its kernels, for a GPU that is described to it and is not needed.
 */
#include "kernels/cuda/cuda.h"
#include "kernels/graph/graph.h"
#include "tests/kernels/cuda/described_gpu.h"
#include "tests/support/kernels_run.h"

struct wanted {
	enum ws_dtype dtype;
	int64_t time, width;
	bool deterministic;
};

static enum ws_status open_plan(enum ws_op_kind kind, struct wanted w, uint64_t *workspace_bytes,
                                struct ws_err *err)
{
	struct ws_dnn_target target = described_gpu();
	struct ws_tensor q = {.dtype = w.dtype};
	struct ws_op op = {.kind = kind,
	                   .in = {&q},
	                   .u.attention = {{4, w.time, 12, w.width}, 0.125}};
	cudnnBackendDescriptor_t plan;
	enum ws_status status;
	int64_t count;

	status = ws_cuda_attention_open(&target, &op, w.deterministic, &plan, err);
	cr_assert_eq(plan != NULL, status == WS_OK);
	if (status == WS_OK)
		cr_assert_eq(cudnnBackendGetAttribute(plan,
		                                      CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
		                                      CUDNN_TYPE_INT64, 1, &count, workspace_bytes),
		             CUDNN_STATUS_SUCCESS);
	ws_dnn_destroy(&plan);
	ws_dnn_destroy(&target.properties);
	return status;
}

static void expect_plans(struct wanted w)
{
	for (int kind = WS_OP_ATTENTION; kind <= WS_OP_ATTENTION_GRAD; kind++) {
		uint64_t workspace_bytes;
		struct ws_err err = {0};

		cr_assert_eq(open_plan((enum ws_op_kind)kind, w, &workspace_bytes, &err), WS_OK,
		             "%s", err.text);
		/* the T x T scores are nowhere; the same bits each run cost the gradients of theirs
		 */
		if (!w.deterministic || kind == WS_OP_ATTENTION)
			cr_assert_lt(workspace_bytes, 1 << 20);
	}
}

/* Heads of 16 (tiny), 64 (small to xl) and 80 (2.7b); a context that is no multiple of a tile. */
Test(cuda_attention, cudnn_has_engines_for_heads_of_16)
{
	expect_plans((struct wanted){WS_DTYPE_BF16, 128, 16, false});
	expect_plans((struct wanted){WS_DTYPE_BF16, 13, 16, true}); /* device_attention's */
}

Test(cuda_attention, cudnn_has_engines_for_heads_of_64)
{
	expect_plans((struct wanted){WS_DTYPE_BF16, 1000, 64, false});
}

Test(cuda_attention, cudnn_has_engines_for_heads_of_80)
{
	expect_plans((struct wanted){WS_DTYPE_BF16, 512, 80, false});
}

Test(cuda_attention, cudnn_has_engines_for_fp16)
{
	expect_plans((struct wanted){WS_DTYPE_F16, 512, 64, false});
}

Test(cuda_attention, cudnn_has_engines_that_give_the_same_bits_each_run)
{
	expect_plans((struct wanted){WS_DTYPE_BF16, 512, 64, true});
}

Test(cuda_attention, heads_that_cudnn_does_not_take_are_refused_with_the_cure)
{
	struct ws_err err = {0};
	uint64_t workspace_bytes;

	cr_assert_eq(open_plan(WS_OP_ATTENTION, (struct wanted){WS_DTYPE_BF16, 128, 18, false},
	                       &workspace_bytes, &err),
	             WS_ENVIRONMENT);
	cr_assert_not_null(strstr(err.text, "--attention eager"), "%s", err.text);
}

/* Before any GPU is asked: cuDNN has nothing for fp32. */
Test(cuda_attention, operands_of_32_bits_are_refused_with_the_cure)
{
	struct kernels_run r = kernels_open(&kernels_fp32), low = kernels_open(&kernels_amp);
	struct ws_shape shape = WS_SHAPE(1, 2, 4, 8);
	struct ws_tensor *q = kernels_param(r.graph, "q", shape);
	struct ws_tensor *q16 = kernels_param(low.graph, "q", shape);
	const char *problem;

	cr_assert_not_null(ws_op_attention(r.graph, q, q, q, 1));
	problem = ws_cuda_op_problem(r.graph->ops[0]);
	cr_assert_not_null(problem);
	cr_assert_not_null(strstr(problem, "--attention eager"), "%s", problem);
	cr_assert_not_null(ws_op_attention(low.graph, q16, q16, q16, 1));
	cr_assert_null(ws_cuda_op_problem(low.graph->ops[low.graph->op_count - 1]));
	kernels_close(&r);
	kernels_close(&low);
}
