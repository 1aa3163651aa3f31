/*
 * The description of every convolution of every model is one that cuDNN accepts: its
 * descriptors are made and checked by the real library, which needs no GPU for that.
 */
#include "kernels/cuda/conv.h"
#include "kernels/run/step.h"
#include "tests/support/kernels_run.h"

/* Made as conv.c makes it, from an op of a graph. */
static struct ws_cuda_conv_shape shape_of(const struct ws_op *op)
{
	struct ws_cuda_conv_roles roles = ws_cuda_conv_roles(op->kind);
	struct ws_cuda_conv_shape shape = {.conv = op->u.conv, .kind = op->kind, .tf32 = op->tf32};

	shape.dtype[roles.in[0]] = op->in[0]->dtype;
	shape.dtype[roles.in[1]] = op->in[1]->dtype;
	shape.dtype[roles.out] = op->out[0]->dtype;
	return shape;
}

static int describe_all(const struct ws_model *model, const struct ws_precision *precision,
                        enum ws_layout layout)
{
	struct ws_step_options options = {
	        .model = model,
	        .precision = precision,
	        .phase = WS_STEP_FULL,
	        .batch = 2,
	        .image = {.layout = layout},
	        .optimizer = ws_optimizer_defaults(WS_OPTIMIZER_SGD),
	};
	struct ws_step *step = NULL;
	const struct ws_graph *graph;
	int convs = 0;

	KERNELS_OK(ws_step_build(&options, &step, err));
	graph = ws_step_graph(step);
	for (int i = 0; i < graph->op_count; i++) {
		struct ws_cuda_conv_operation operation;
		struct ws_cuda_conv_shape shape;

		if (!ws_cuda_is_conv(graph->ops[i]))
			continue;
		shape = shape_of(graph->ops[i]);
		KERNELS_OK(ws_cuda_conv_operation_open(&shape, &operation, err));
		cr_assert_not_null(operation.operation);
		ws_cuda_conv_operation_close(&operation);
		cr_assert_null(operation.operation);
		convs++;
	}
	ws_step_close(step);
	return convs;
}

Test(cuda_conv, cudnn_accepts_every_convolution_of_every_model_in_every_dtype)
{
	int convs = 0, models = 0;

	for (int m = 0; ws_model_at(m); m++) {
		if (!ws_model_at(m)->image)
			continue;
		models++;
		for (int p = 0; ws_precision_at(p); p++)
			for (int layout = 0; layout < 2; layout++)
				convs += describe_all(ws_model_at(m), ws_precision_at(p),
				                      (enum ws_layout)layout);
	}
	cr_assert_gt(models, 8);
	cr_assert_gt(convs, 3000, "only %d convolutions", convs);
}

Test(cuda_conv, dims_and_strides_are_those_of_the_layout)
{
	struct ws_conv f = {.layout = WS_LAYOUT_NHWC, .n = 2, .c = 6, .h = 5, .w = 4, .k = 8,
	                    .r = 3, .s = 1, .p = 5, .q = 4, .stride = 1, .pad_h = 1, .groups = 2};
	static const int64_t x[4] = {120, 1, 24, 6}, w[4] = {9, 1, 3, 3};
	int64_t dims[4], strides[4];

	ws_cuda_conv_dims(&f, WS_CONV_X, dims, strides);
	cr_assert_arr_eq(strides, x, sizeof(x));
	ws_cuda_conv_dims(&f, WS_CONV_W, dims, strides);
	cr_assert_eq(dims[1], 3, "channels of one group");
	cr_assert_arr_eq(strides, w, sizeof(w));
	f.layout = WS_LAYOUT_NCHW;
	f.groups = 1;
	f.s = 2;
	ws_cuda_conv_dims(&f, WS_CONV_W, dims, strides);
	cr_assert_eq(dims[1], 6);
	cr_assert_eq(strides[0], 36);
	cr_assert_eq(strides[1], 6);
	cr_assert_eq(strides[2], 2);
	cr_assert_eq(strides[3], 1);
}

Test(cuda_conv, what_cudnn_refuses_is_an_error_with_its_words)
{
	struct ws_cuda_conv_shape shape = {
	        .kind = WS_OP_CONV,
	        .conv = {.n = -1, .c = 3, .h = 4, .w = 4, .k = 2, .r = 3, .s = 3, .p = 2, .q = 2,
	                 .stride = 1, .groups = 1}};
	struct ws_cuda_conv_operation operation;
	struct ws_err err = {0};

	cr_assert_eq(ws_cuda_conv_operation_open(&shape, &operation, &err), WS_ENVIRONMENT);
	cr_assert_not_null(strstr(err.text, "cuDNN tensor: "), "%s", err.text);
}
