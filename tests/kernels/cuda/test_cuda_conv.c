/*
 * The description of every convolution of every model is one that cuDNN accepts: its
 * descriptors are made and checked by the real library, which needs no GPU for that.
 */
#include "kernels/cuda/conv.h"
#include "kernels/run/step.h"
#include "tests/kernels/cuda/described_gpu.h"
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

static int describe_all(const struct ws_network *model, const struct ws_precision *precision,
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

	for (int m = 0; ws_network_at(m); m++) {
		if (!ws_network_at(m)->image)
			continue;
		models++;
		for (int p = 0; ws_precision_at(p); p++)
			for (int layout = 0; layout < 2; layout++)
				convs += describe_all(ws_network_at(m), ws_precision_at(p),
				                      (enum ws_layout)layout);
	}
	cr_assert_gt(models, 8);
	cr_assert_gt(convs, 3000, "only %d convolutions", convs);
}

Test(cuda_conv, dims_and_strides_are_those_of_the_layout)
{
	struct ws_conv f = {.layout = WS_LAYOUT_NHWC,
	                    .n = 2,
	                    .c = 6,
	                    .h = 5,
	                    .w = 4,
	                    .k = 8,
	                    .r = 3,
	                    .s = 1,
	                    .p = 5,
	                    .q = 4,
	                    .stride = 1,
	                    .pad_h = 1,
	                    .groups = 2};
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
	struct ws_cuda_conv_shape shape = {.kind = WS_OP_CONV,
	                                   .conv = {.n = -1,
	                                            .c = 3,
	                                            .h = 4,
	                                            .w = 4,
	                                            .k = 2,
	                                            .r = 3,
	                                            .s = 3,
	                                            .p = 2,
	                                            .q = 2,
	                                            .stride = 1,
	                                            .groups = 1}};
	struct ws_cuda_conv_operation operation;
	struct ws_err err = {0};

	cr_assert_eq(ws_cuda_conv_operation_open(&shape, &operation, &err), WS_ENVIRONMENT);
	cr_assert_not_null(strstr(err.text, "cuDNN tensor: "), "%s", err.text);
}

/* --- which engines may compute, asked of the real heuristics for a GPU that is described
 * ---------- */

enum { MOST = 24 };

static bool plan_has_note(cudnnBackendDescriptor_t plan, cudnnBackendNumericalNote_t note)
{
	cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
	cudnnBackendDescriptor_t config = NULL, engine = NULL;
	int64_t count = 0;
	bool found = false;

	cr_assert_eq(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config), 0);
	cr_assert_eq(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine), 0);
	cr_assert_eq(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
	                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &config),
	             0);
	cr_assert_eq(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
	                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine),
	             0);
	cr_assert_eq(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
	                                      CUDNN_TYPE_NUMERICAL_NOTE,
	                                      CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes),
	             0);
	for (int64_t i = 0; i < count; i++)
		found |= notes[i] == note;
	cudnnBackendDestroyDescriptor(engine);
	cudnnBackendDestroyDescriptor(config);
	return found;
}

/* Plans of a convolution of ResNet's 3 x 3 in fp32, and how many of them have a note. */
static int plans_of(struct ws_dnn_rules rules, cudnnBackendNumericalNote_t note, int *noted)
{
	struct ws_cuda_conv_shape shape = {
	        .conv = {.n = 8,
	                 .c = 64,
	                 .h = 56,
	                 .w = 56,
	                 .k = 64,
	                 .r = 3,
	                 .s = 3,
	                 .p = 56,
	                 .q = 56,
	                 .stride = 1,
	                 .pad_h = 1,
	                 .pad_w = 1,
	                 .groups = 1},
	        .kind = WS_OP_CONV,
	        .dtype = {WS_DTYPE_F32, WS_DTYPE_F32, WS_DTYPE_F32},
	};
	struct ws_dnn_target target = described_gpu();
	struct ws_cuda_conv_operation operation;
	cudnnBackendDescriptor_t plans[MOST];
	int count;

	rules.workspace_bytes = (uint64_t)1 << 30;
	KERNELS_OK(ws_cuda_conv_operation_open(&shape, &operation, err));
	KERNELS_OK(
	        ws_dnn_plans(&target, &rules, &operation.operation, 1, MOST, plans, &count, err));
	ws_cuda_conv_operation_close(&operation);
	*noted = 0;
	for (int i = 0; i < count; i++) {
		*noted += plan_has_note(plans[i], note);
		ws_dnn_destroy(&plans[i]);
	}
	ws_dnn_destroy(&target.properties);
	return count;
}

Test(cuda_conv, strict_fp32_has_no_plan_on_tensor_cores)
{
	const struct ws_dnn_rules any = {0}, strict = {.strict_fp32 = true};
	int noted;

	cr_assert_gt(plans_of(any, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, &noted), 0);
	cr_assert_gt(noted, 0, "nothing to leave out");
	cr_assert_gt(plans_of(strict, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, &noted), 0);
	cr_assert_eq(noted, 0);
}

/* By rule: allowed without any, with strict fp32, with determinism, with both. */
Test(cuda_conv, engines_are_left_out_by_their_numerical_notes)
{
	static const struct {
		cudnnBackendNumericalNote_t note;
		bool fits[4];
	} cases[] = {
	        {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP, {true, true, true, true}},
	        {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, {false, false, false, false}},
	        {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, {true, false, true, false}},
	        {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, {true, false, true, false}},
	        {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, {true, true, false, false}},
	        {CUDNN_NUMERICAL_NOTE_FFT, {true, true, false, false}},
	        {CUDNN_NUMERICAL_NOTE_WINOGRAD, {true, true, false, false}},
	        {CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4, {true, true, false, false}},
	        {CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, {true, true, false, false}},
	        {CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13, {true, true, false, false}},
	};

	cr_assert_eq(sizeof(cases) / sizeof(*cases), CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int r = 0; r < 4; r++) {
			struct ws_dnn_rules rules = {.strict_fp32 = r & 1, .deterministic = r & 2};

			cr_assert_eq(ws_dnn_notes_fit(&rules, &cases[i].note, 1), cases[i].fits[r],
			             "note %d, rules %d", (int)cases[i].note, r);
		}
}
