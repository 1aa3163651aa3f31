/*
 * The description of every convolution of every model is one that cuDNN accepts: its
 * descriptors are made and checked by the real library, which needs no GPU for that.
 */
#include "kernels/cuda/cuda.h"
#include "kernels/run/step.h"
#include "tests/kernels/cuda/described_gpu.h"
#include "tests/support/kernels_run.h"

/* An op of a convolution alone: what cuDNN is told of it. */
struct conv_op {
	struct ws_tensor t;
	struct ws_op op;
};

static const struct ws_op *conv_op(struct conv_op *c, struct ws_conv conv)
{
	memset(c, 0, sizeof(*c));
	c->t.dtype = WS_DTYPE_F32;
	c->op = (struct ws_op){.kind = WS_OP_CONV,
	                       .in_count = 2,
	                       .out_count = 1,
	                       .in = {&c->t, &c->t},
	                       .out = {&c->t},
	                       .u.conv = conv};
	return &c->op;
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
	graph = step->graph;
	for (int i = 0; i < graph->op_count; i++) {
		struct ws_cuda_conv_operation operation;

		if (!ws_cuda_is_conv(graph->ops[i]))
			continue;
		KERNELS_OK(ws_cuda_conv_operation_open(graph->ops[i], &operation, err));
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

Test(cuda_conv, what_cudnn_refuses_is_an_error_with_its_words)
{
	static const struct ws_conv refused = {.n = -1,
	                                       .c = 3,
	                                       .h = 4,
	                                       .w = 4,
	                                       .k = 2,
	                                       .r = 3,
	                                       .s = 3,
	                                       .p = 2,
	                                       .q = 2,
	                                       .stride = 1,
	                                       .groups = 1};
	struct ws_cuda_conv_operation operation;
	struct ws_err err = {0};
	struct conv_op c;

	cr_assert_eq(ws_cuda_conv_operation_open(conv_op(&c, refused), &operation, &err),
	             WS_ENVIRONMENT);
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
	static const struct ws_conv conv = {.n = 8,
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
	                                    .groups = 1};
	struct ws_dnn_target target = described_gpu();
	struct ws_cuda_conv_operation operation;
	cudnnBackendDescriptor_t plans[MOST];
	struct conv_op c;
	int count;

	rules.workspace_bytes = (uint64_t)1 << 30;
	KERNELS_OK(ws_cuda_conv_operation_open(conv_op(&c, conv), &operation, err));
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
