#include "tests/unit/kernels_run.h"

#include "kernels/cost.h"
#include "kernels/model_image.h"
#include "kernels/step.h"

/* --- exact counts, without a byte of data --------------------------------------------------- */

struct totals {
	const char *model;
	struct ws_image_options options;
	int64_t parameters;
	int64_t macs; /* an image, forward: multiply-adds of convolutions and linear layers */
	int64_t fc_macs, first_macs;
	int64_t conv_outputs; /* elements, without linear layers */
	int convs, fcs, norms;
};

/*
 * Counted by hooks on torchvision's models; LeNet, the MLPs and the signal
 * network from their published sizes.
 */
static const struct totals totals[] = {
        {"alexnet", {0}, 61100840, 714188480, 58621952, 70276800, 484992, 5, 3, 0},
        {"vgg11", {0}, 132863336, 7609090048, 123633664, 86704128, 7426048, 8, 3, 0},
        {"vgg16", {0}, 138357544, 15470264320, 123633664, 86704128, 13547520, 13, 3, 0},
        {"resnet18", {0}, 11689512, 1814073344, 512000, 118013952, 2483712, 20, 1, 20},
        {"resnet50", {0}, 25557032, 4089184256, 2048000, 118013952, 11113984, 53, 1, 53},
        {"lenet5", {0}, 61706, 416520, 58920, 117600, 6304, 2, 3, 0},
        {"lenet5", {.size = 32}, 61706, 416520, 58920, 117600, 6304, 2, 3, 0},
        /* 20 × 24 × 24 + 50 × 8 × 8 outputs */
        {"lenet-caffe", {0}, 431080, 2293000, 405000, 288000, 14720, 2, 2, 0},
        {"mlp", {0}, 669706, 668672, 668672, 401408, 0, 0, 3, 0},
        {"mlp-256", {0}, 235146, 234752, 234752, 200704, 0, 0, 3, 0},
        /* 33 × 18 × 256 + 256 outputs */
        {"conv1d-resnet", {0}, 32028, 7981312, 256, 13824, 152320, 34, 1, 0},
        {"conv1d-resnet", {.kernel_width = 5}, 52764, 13289728, 256, 13824, 152320, 34, 1, 0},
        {"conv1d-resnet", {.kernel_width = 7}, 73500, 18598144, 256, 13824, 152320, 34, 1, 0},
        {"conv1d-resnet", {.kernel_width = 9}, 94236, 23906560, 256, 13824, 152320, 34, 1, 0},
        {"conv1d-resnet", {.kernel_width = 13}, 135708, 34523392, 256, 13824, 152320, 34, 1, 0},
        {"conv1d-resnet", {.kernel_width = 17}, 177180, 45140224, 256, 13824, 152320, 34, 1, 0},
        {"conv1d-resnet",
         {.kernel_width = 7, .depth_multiplier = 12},
         291894,
         74354944,
         256,
         27648,
         304384,
         34,
         1,
         0},
        {"conv1d-resnet",
         {.kernel_width = 7, .depth_multiplier = 18},
         655440,
         167270656,
         256,
         41472,
         456448,
         34,
         1,
         0},
        {"conv1d-resnet",
         {.kernel_width = 7, .depth_multiplier = 24},
         1164138,
         297345280,
         256,
         55296,
         608512,
         34,
         1,
         0},
};

static struct ws_graph *training_graph(const char *model, struct ws_image_options options,
                                       const struct ws_precision *precision, struct ws_model_io *io)
{
	struct ws_adamw adamw = WS_ADAMW_DEFAULT;
	struct ws_graph *graph;

	KERNELS_OK(ws_graph_create(precision, &graph, err));
	KERNELS_OK(ws_image_build(graph, ws_model_find(model)->image, &options, true, io, err));
	KERNELS_OK(ws_graph_backward(graph, io->loss, NULL, err));
	ws_optim_adamw(graph, &adamw);
	KERNELS_OK(ws_graph_check(graph, err));
	return graph;
}

static int count_kind(const struct ws_graph *graph, enum ws_op_kind kind)
{
	int n = 0;

	for (int i = 0; i < graph->op_count; i++)
		n += graph->ops[i]->kind == kind &&
		     graph->ops[i]->payload.phase == WSNVTX_PHASE_forward;
	return n;
}

/* FLOPs of the forward ops of a kind; the first op's alone where first is set. */
static uint64_t flops_of(const struct ws_graph *graph, enum ws_op_kind kind)
{
	uint64_t sum = 0;

	for (int i = 0; i < graph->op_count; i++)
		if (graph->ops[i]->kind == kind &&
		    graph->ops[i]->payload.phase == WSNVTX_PHASE_forward)
			sum += graph->ops[i]->payload.flops;
	return sum;
}

static uint64_t first_flops(const struct ws_graph *graph)
{
	for (int i = 0; i < graph->op_count; i++)
		if (graph->ops[i]->kind == WS_OP_CONV || graph->ops[i]->kind == WS_OP_GEMM)
			return graph->ops[i]->payload.flops;
	return 0;
}

static int64_t conv_outputs(const struct ws_graph *graph)
{
	int64_t sum = 0;

	for (int i = 0; i < graph->op_count; i++)
		if (graph->ops[i]->kind == WS_OP_CONV)
			sum += graph->ops[i]->out[0]->count;
	return sum;
}

static uint64_t matmul_flops(const struct ws_graph *graph)
{
	return ws_cost_phase(graph, WSNVTX_PHASE_forward).matmul_flops +
	       ws_cost_phase(graph, WSNVTX_PHASE_loss).matmul_flops +
	       ws_cost_phase(graph, WSNVTX_PHASE_backward).matmul_flops +
	       ws_cost_phase(graph, WSNVTX_PHASE_optimizer).matmul_flops;
}

static void expect_totals(const struct totals *t, const struct ws_precision *precision,
                          enum ws_layout layout, int64_t batch)
{
	struct ws_image_options options = t->options;
	struct ws_model_io io;
	struct ws_graph *graph;
	uint64_t b = (uint64_t)batch;

	options.batch = batch;
	options.layout = layout;
	graph = training_graph(t->model, options, precision, &io);
	cr_assert_eq(ws_graph_param_count(graph), t->parameters, "%s: %lld", t->model,
	             (long long)ws_graph_param_count(graph));
	cr_assert_eq(ws_cost_phase(graph, WSNVTX_PHASE_forward).matmul_flops,
	             2 * b * (uint64_t)t->macs, "%s", t->model);
	cr_assert_eq(flops_of(graph, WS_OP_GEMM), 2 * b * (uint64_t)t->fc_macs, "%s", t->model);
	cr_assert_eq(first_flops(graph), 2 * b * (uint64_t)t->first_macs, "%s", t->model);
	/* the input's gradient is not computed */
	cr_assert_eq(matmul_flops(graph), 2 * b * (uint64_t)(3 * t->macs - t->first_macs), "%s",
	             t->model);
	cr_assert_eq(count_kind(graph, WS_OP_CONV), t->convs, "%s", t->model);
	cr_assert_eq(count_kind(graph, WS_OP_GEMM), t->fcs, "%s", t->model);
	cr_assert_eq(count_kind(graph, WS_OP_BATCH_NORM), t->norms, "%s", t->model);
	cr_assert_eq(conv_outputs(graph), batch * t->conv_outputs, "%s", t->model);
	ws_graph_destroy(graph);
}

Test(cnn_cost, parameters_and_flops_of_every_model_are_exact)
{
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		expect_totals(&totals[i], &kernels_fp32, WS_LAYOUT_NCHW, 1);
}

Test(cnn_cost, parameters_and_flops_do_not_depend_on_dtype_and_layout_and_scale_with_the_batch)
{
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		expect_totals(&totals[i], &kernels_amp, WS_LAYOUT_NHWC, 128);
}

Test(cnn_cost, train_flops_an_image_are_those_published)
{
	static const struct {
		const char *model;
		uint64_t flops;
	} want[] = {
	        {"alexnet", 4144577280},     {"vgg11", 45481132032},    {"vgg16", 92648177664},
	        {"resnet18", 10648412160},   {"resnet50", 24299077632}, {"lenet5", 2263920},
	        {"lenet-caffe", 13182000},   {"mlp", 3209216},          {"mlp-256", 1007104},
	        {"conv1d-resnet", 47860224},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct ws_model_io io;
		struct ws_graph *graph =
		        training_graph(want[i].model, (struct ws_image_options){.batch = 1},
		                       &kernels_fp32, &io);

		cr_assert_eq(matmul_flops(graph), want[i].flops, "%s", want[i].model);
		ws_graph_destroy(graph);
	}
}

Test(cnn_cost, alexnet_layer_by_layer)
{
	static const uint64_t macs[] = {70276800, 223948800, 112140288, 149520384,
	                                99680256, 37748736,  16777216,  4096000};
	struct ws_model_io io;
	struct ws_graph *graph = training_graph("alexnet", (struct ws_image_options){.batch = 1},
	                                        &kernels_fp32, &io);
	size_t n = 0;

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		if (op->payload.phase != WSNVTX_PHASE_forward ||
		    (op->kind != WS_OP_CONV && op->kind != WS_OP_GEMM))
			continue;
		cr_assert_lt(n, 8);
		cr_assert_eq(op->payload.flops, 2 * macs[n], "layer %d", (int)n);
		n++;
	}
	cr_assert_eq(n, 8);
	ws_graph_destroy(graph);
}

/* --- structure ----------------------------------------------------------------------------------
 */

static const struct ws_tensor *param(const struct ws_graph *graph, const char *name)
{
	const struct ws_tensor *t = ws_graph_find(graph, name);

	cr_assert_not_null(t, "no parameter %s", name);
	return t;
}

static void expect_shape(const struct ws_graph *graph, const char *name, struct ws_shape want)
{
	const struct ws_tensor *t = param(graph, name);

	cr_assert_eq(t->shape.ndim, want.ndim, "%s", name);
	cr_assert_arr_eq(t->shape.dim, want.dim, (size_t)want.ndim * sizeof(*want.dim), "%s", name);
}

Test(cnn, parameters_have_the_names_and_shapes_of_torchvision)
{
	struct ws_model_io io;
	struct ws_graph *graph = training_graph("resnet50", (struct ws_image_options){.batch = 1},
	                                        &kernels_fp32, &io);

	expect_shape(graph, "conv1.weight", WS_SHAPE(64, 3, 7, 7));
	expect_shape(graph, "bn1.weight", WS_SHAPE(64));
	expect_shape(graph, "bn1.running_var", WS_SHAPE(64));
	expect_shape(graph, "layer1.0.conv1.weight", WS_SHAPE(64, 64, 1, 1));
	expect_shape(graph, "layer1.0.conv3.weight", WS_SHAPE(256, 64, 1, 1));
	expect_shape(graph, "layer1.0.downsample.0.weight", WS_SHAPE(256, 64, 1, 1));
	expect_shape(graph, "layer2.0.conv2.weight", WS_SHAPE(128, 128, 3, 3));
	expect_shape(graph, "layer3.5.bn3.bias", WS_SHAPE(1024));
	expect_shape(graph, "layer4.2.conv3.weight", WS_SHAPE(2048, 512, 1, 1));
	expect_shape(graph, "fc.weight", WS_SHAPE(1000, 2048));
	cr_assert_null(ws_graph_find(graph, "conv1.bias"));
	cr_assert_null(ws_graph_find(graph, "layer1.1.downsample.0.weight"));
	ws_graph_destroy(graph);

	graph = training_graph("vgg16", (struct ws_image_options){.batch = 1}, &kernels_fp32, &io);
	expect_shape(graph, "features.0.weight", WS_SHAPE(64, 3, 3, 3));
	expect_shape(graph, "features.28.weight", WS_SHAPE(512, 512, 3, 3));
	expect_shape(graph, "features.28.bias", WS_SHAPE(512));
	expect_shape(graph, "classifier.0.weight", WS_SHAPE(4096, 25088));
	expect_shape(graph, "classifier.6.bias", WS_SHAPE(1000));
	ws_graph_destroy(graph);

	graph = training_graph("vgg11", (struct ws_image_options){.batch = 1}, &kernels_fp32, &io);
	expect_shape(graph, "features.18.weight", WS_SHAPE(512, 512, 3, 3));
	ws_graph_destroy(graph);

	graph = training_graph("alexnet",
	                       (struct ws_image_options){.batch = 1, .layout = WS_LAYOUT_NHWC},
	                       &kernels_fp32, &io);
	expect_shape(graph, "features.3.weight", WS_SHAPE(192, 5, 5, 64));
	expect_shape(graph, "classifier.1.weight", WS_SHAPE(4096, 9216));
	ws_graph_destroy(graph);
}

Test(cnn, stride_of_a_bottleneck_is_in_its_3x3)
{
	struct ws_model_io io;
	struct ws_graph *graph = training_graph("resnet50", (struct ws_image_options){.batch = 1},
	                                        &kernels_fp32, &io);
	int found = 0;

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		if (op->kind != WS_OP_CONV || op->u.conv.stride != 2)
			continue;
		found++;
		cr_assert(op->u.conv.r != 1 || strstr(op->scope->name, "downsample"), "%s",
		          op->scope->name);
	}
	cr_assert_eq(found, 7); /* conv1, three 3 × 3, three downsamples */
	ws_graph_destroy(graph);
}

Test(cnn, every_layer_is_a_scope_with_its_number_in_both_directions)
{
	static const char *const want[] = {"conv1",          "bn1",
	                                   "relu",           "maxpool",
	                                   "layer1.0.conv1", "layer1.0.bn1",
	                                   "layer1.0.relu",  "layer1.0.conv2",
	                                   "layer1.0.bn2",   "layer1.0.residual",
	                                   "layer1.0.relu"};
	struct ws_model_io io;
	struct ws_graph *graph = training_graph("resnet18", (struct ws_image_options){.batch = 1},
	                                        &kernels_fp32, &io);
	const struct ws_scope *scope = NULL;
	bool backward[256] = {false}, sum[256] = {false};
	int layer = 0;

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		if (op->payload.phase == WSNVTX_PHASE_backward && op->payload.layer >= 0)
			backward[op->payload.layer] = true;
		if (op->payload.phase != WSNVTX_PHASE_forward || op->scope == scope)
			continue;
		scope = op->scope;
		cr_assert_eq(op->payload.layer, layer);
		sum[layer] = op->sub == WS_SUB_ADD; /* whose gradient is that of the result */
		cr_assert_eq(scope->depth, 1);
		cr_assert_str_eq(scope->parent->name, "forward");
		if (layer < (int)(sizeof(want) / sizeof(*want)))
			cr_assert_str_eq(scope->name, want[layer]);
		layer++;
	}
	/* conv, bn, relu, pool; 8 blocks of 7, three of them with 2 more; pool, fc (flatten: none)
	 */
	cr_assert_eq(layer, 4 + 8 * 7 + 3 * 2 + 2);
	for (int i = 0; i < layer; i++)
		cr_assert(backward[i] || sum[i], "layer %d has no backward op", i);
	ws_graph_destroy(graph);
}

Test(cnn, autocast_gives_each_op_the_dtype_that_torch_gives_it)
{
	static const struct {
		const char *model, *scope, *message;
		enum ws_dtype out;
	} want[] = {
	        {"resnet18", "layer2.0.conv1", "convolution", WS_DTYPE_BF16},
	        {"resnet18", "layer2.0.bn1", "batch norm", WS_DTYPE_BF16},
	        {"resnet18", "layer2.0.relu", "relu", WS_DTYPE_BF16},
	        {"resnet18", "layer2.0.residual", "add", WS_DTYPE_BF16},
	        {"resnet18", "maxpool", "max pool", WS_DTYPE_BF16},
	        {"resnet18", "avgpool", "average pool", WS_DTYPE_BF16},
	        {"resnet18", "fc", "linear", WS_DTYPE_BF16},
	        {"resnet18", "fc", "bias add", WS_DTYPE_BF16},
	        {"resnet18", "cross-entropy", "exp", WS_DTYPE_F32},
	        {"resnet18", "cross-entropy", "mean", WS_DTYPE_F32},
	        {"alexnet", "features.0", "bias add", WS_DTYPE_BF16},
	        {"alexnet", "classifier.0", "dropout", WS_DTYPE_BF16},
	        {"conv1d-resnet", "upscale.1", "tanh", WS_DTYPE_BF16},
	        {"conv1d-resnet", "fc.1", "tanh", WS_DTYPE_BF16},
	        {"conv1d-resnet", "mse", "subtract", WS_DTYPE_F32},
	        {"conv1d-resnet", "mse", "mean", WS_DTYPE_F32},
	};

	for (size_t n = 0; n < sizeof(want) / sizeof(*want); n++) {
		struct ws_model_io io;
		struct ws_graph *graph =
		        training_graph(want[n].model, (struct ws_image_options){.batch = 2},
		                       &kernels_amp, &io);
		const struct ws_op *found = NULL;

		for (int i = 0; i < graph->op_count && !found; i++)
			if (!strcmp(graph->ops[i]->scope->name, want[n].scope) &&
			    !strcmp(graph->ops[i]->message, want[n].message))
				found = graph->ops[i];
		cr_assert_not_null(found, "no %s in %s", want[n].message, want[n].scope);
		cr_assert_eq(found->out[0]->dtype, want[n].out, "%s %s/%s is %s", want[n].model,
		             want[n].scope, want[n].message, ws_dtype_name(found->out[0]->dtype));
		for (int i = 0; i < graph->tensor_count; i++)
			if (graph->tensors[i]->grad)
				cr_assert_eq(graph->tensors[i]->grad->dtype, WS_DTYPE_F32);
		ws_graph_destroy(graph);
	}
}

Test(cnn, weights_are_cast_once_and_statistics_stay_fp32)
{
	struct ws_model_io io;
	struct ws_graph *graph = training_graph("resnet18", (struct ws_image_options){.batch = 2},
	                                        &kernels_amp, &io);
	int casts = 0, activations = 0;

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		if (op->kind == WS_OP_BATCH_NORM) {
			cr_assert_eq(op->in[1]->dtype, WS_DTYPE_F32);
			cr_assert_eq(op->out[1]->dtype, WS_DTYPE_F32);
			cr_assert_eq(op->out[3]->dtype, WS_DTYPE_F32);
		}
		if (op->sub == WS_SUB_CAST && op->payload.phase == WSNVTX_PHASE_forward) {
			casts++;
			activations += op->in[0]->role != WS_ROLE_PARAM;
		}
	}
	/* 20 filters, the weight and bias of fc; only the image itself arrives in fp32 */
	cr_assert_eq(casts, 23);
	cr_assert_eq(activations, 1);
	ws_graph_destroy(graph);
}

Test(cnn, flatten_is_a_view_but_of_nhwc_planes)
{
	static const struct {
		const char *model;
		enum ws_layout layout;
		int copies;
	} want[] = {
	        {"alexnet", WS_LAYOUT_NCHW, 0},
	        {"alexnet", WS_LAYOUT_NHWC, 1},
	        {"resnet18", WS_LAYOUT_NHWC, 0}, /* 1 × 1 planes */
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct ws_model_io io;
		struct ws_graph *graph =
		        training_graph(want[i].model,
		                       (struct ws_image_options){.batch = 2,
		                                                 .layout = want[i].layout},
		                       &kernels_fp32, &io);

		cr_assert_eq(count_kind(graph, WS_OP_PERMUTE), want[i].copies, "%s", want[i].model);
		ws_graph_destroy(graph);
	}
}

Test(cnn, options_that_cannot_be_built_say_why)
{
	static const struct {
		const char *model;
		struct ws_image_options options;
		const char *says;
	} want[] = {
	        {"alexnet", {.batch = 1, .size = 40}, "larger images"},
	        {"vgg16", {.batch = 1, .size = 16}, "larger images"},
	        {"resnet18", {.batch = 1, .size = 16}, "more than one value"},
	        {"mlp", {.batch = 0}, "at least 1"},
	        {"mlp", {.batch = 1, .classes = 1}, "two classes"},
	        {"conv1d-resnet", {.batch = 1, .kernel_width = 4}, "odd"},
	        {"mlp", {.batch = 1, .size = 1 << 30}, "too large to count"},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct ws_model_io io;
		struct ws_graph *graph;
		struct ws_err why = {0};

		KERNELS_OK(ws_graph_create(&kernels_fp32, &graph, err));
		cr_assert_eq(ws_image_build(graph, ws_model_find(want[i].model)->image,
		                            &want[i].options, true, &io, &why),
		             WS_USAGE, "case %d: %s", (int)i, why.text);
		cr_assert(strstr(why.text, want[i].says), "case %d: %s", (int)i, why.text);
		ws_graph_destroy(graph);
	}
}

Test(cnn, residual_and_activation_of_the_signal_network_are_options)
{
	struct ws_image_options plain = {.batch = 2, .plain = true, .layers = 5};
	struct ws_image_options linear = {.batch = 2,
	                                  .layers = 5,
	                                  .activation = WS_ACTIVATION_NONE};
	struct ws_model_io io;
	struct ws_graph *graph = training_graph("conv1d-resnet", plain, &kernels_fp32, &io);

	cr_assert_eq(count_kind(graph, WS_OP_BINARY), 0);
	cr_assert_eq(count_kind(graph, WS_OP_UNARY), 3 + 5);
	cr_assert_eq(count_kind(graph, WS_OP_CONV), 2 + 5);
	ws_graph_destroy(graph);
	graph = training_graph("conv1d-resnet", linear, &kernels_fp32, &io);
	cr_assert_eq(count_kind(graph, WS_OP_BINARY), 5);
	cr_assert_eq(count_kind(graph, WS_OP_UNARY), 3);
	ws_graph_destroy(graph);
}

/* --- training
 * ------------------------------------------------------------------------------------- */

/* The smallest form of each model that has all its parts. */
static const struct {
	const char *model;
	int64_t batch;
	struct ws_image_options options;
} small[] = {
        {"mlp", 8, {.size = 8, .width_divisor = 8}},
        {"mlp-256", 8, {.size = 8, .width_divisor = 8}},
        {"lenet5", 8, {0}},
        {"lenet-caffe", 8, {.width_divisor = 4}},
        {"alexnet", 4, {.size = 63, .width_divisor = 16, .classes = 10}},
        {"vgg11", 4, {.size = 32, .width_divisor = 16, .classes = 10}},
        {"vgg16", 4, {.size = 32, .width_divisor = 16, .classes = 10}},
        {"resnet18", 8, {.size = 64, .width_divisor = 16, .classes = 10}},
        {"resnet50", 4, {.size = 64, .width_divisor = 16, .classes = 10}},
        {"conv1d-resnet", 8, {.size = 32, .layers = 4, .kernel_width = 5}},
};
#define SMALL_COUNT ((int)(sizeof(small) / sizeof(*small)))

static void train(int which, const char *dtype, const struct ws_image_options *override,
                  int threads, int steps, double *losses)
{
	struct ws_step_options options = {
	        .model = ws_model_find(small[which].model),
	        .precision = ws_precision_find(dtype),
	        .phase = WS_STEP_FULL,
	        .batch = small[which].batch,
	        .layers = small[which].options.layers,
	        .image = override ? *override : small[which].options,
	        .adamw = WS_ADAMW_DEFAULT,
	};
	struct ws_pool *pool;
	struct ws_backend *backend;
	struct ws_step *step;

	KERNELS_OK(ws_pool_create(threads, &pool, err));
	KERNELS_OK(ws_backend_cpu_open(pool, 0, &backend, err));
	KERNELS_OK(ws_step_open(&options, backend, pool, &step, err));
	for (int i = 0; i < steps; i++)
		KERNELS_OK(ws_step_run(step, "step", (uint64_t)i + 1, &losses[i], err));
	ws_step_close(step);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
}

Test(cnn_train, every_image_model_has_a_small_form)
{
	for (int i = 0, n = 0; ws_model_at(i); i++) {
		if (!ws_model_at(i)->image)
			continue;
		cr_assert_lt(n, SMALL_COUNT);
		cr_assert_str_eq(small[n].model, ws_model_at(i)->name);
		n++;
	}
}

Test(cnn_train, every_model_runs_two_steps_in_every_dtype_and_layout)
{
	for (int i = 0; i < SMALL_COUNT; i++)
		for (int p = 0; ws_precision_at(p); p++)
			for (int layout = 0; layout < 2; layout++) {
				struct ws_image_options options = small[i].options;
				double losses[2];

				options.layout = (enum ws_layout)layout;
				train(i, ws_precision_at(p)->name, &options, 2, 2, losses);
				cr_assert(isfinite(losses[0]) && isfinite(losses[1]), "%s %s",
				          small[i].model, ws_precision_at(p)->name);
				cr_assert_neq(losses[0], losses[1]);
			}
}

/* One forward and backward pass in double, on the first batch of seed 1. */
struct pass {
	struct kernels_run r;
	struct ws_model_io io;
	double loss;
};

static struct pass pass_run(int which, enum ws_layout layout)
{
	const struct ws_image_model *model = ws_model_find(small[which].model)->image;
	struct ws_image_options options = small[which].options;
	struct pass p = {0};

	options.batch = small[which].batch;
	options.layout = layout;
	options.seed = 1;
	KERNELS_OK(ws_pool_create(2, &p.r.pool, err));
	KERNELS_OK(ws_backend_cpu_open(p.r.pool, 0, &p.r.backend, err));
	p.r.graph = training_graph(small[which].model, options, &kernels_fp64, &p.io);
	kernels_start(&p.r);
	KERNELS_OK(ws_image_feed(p.r.exec, model, &options, &p.io, 0, err));
	kernels_forward(&p.r);
	KERNELS_OK(ws_exec_phase(p.r.exec, WSNVTX_PHASE_backward, err));
	KERNELS_OK(ws_exec_read(p.r.exec, p.io.loss, &p.loss, err));
	return p;
}

/* The gradient of a parameter, a filter's in the order [k, c, r, s]; for free(). */
static double *pass_gradient(struct pass *p, const struct ws_tensor *t)
{
	double *raw = kernels_read(&p->r, t->grad),
	       *ordered = calloc((size_t)t->count, sizeof(*raw));
	int64_t c = t->shape.dim[3], window = t->shape.dim[1] * t->shape.dim[2];

	if (!t->channels_last) {
		free(ordered);
		return raw;
	}
	for (int64_t i = 0; i < t->count; i++) {
		int64_t k = i / (c * window), rs = i / c % window;

		ordered[(k * c + i % c) * window + rs] = raw[i];
	}
	free(raw);
	return ordered;
}

static double norm(const double *values, const double *minus, int64_t count)
{
	double sum = 0;

	for (int64_t i = 0; i < count; i++) {
		double d = values[i] - (minus ? minus[i] : 0);

		sum += d * d;
	}
	return sqrt(sum);
}

Test(cnn_train, loss_and_all_gradients_are_the_same_in_both_layouts)
{
	for (int i = 0; i < SMALL_COUNT; i++) {
		struct pass first = pass_run(i, WS_LAYOUT_NCHW), last = pass_run(i, WS_LAYOUT_NHWC);
		double total = 0;

		cr_assert_float_eq(first.loss, last.loss, 1e-12 * first.loss, "%s: %.17g, %.17g",
		                   small[i].model, first.loss, last.loss);
		for (int j = 0; j < first.r.graph->tensor_count; j++) {
			const struct ws_tensor *t = first.r.graph->tensors[j];

			if (t->grad) {
				double *a = pass_gradient(&first, t);
				double *b = pass_gradient(&last, param(last.r.graph, t->name));

				total += norm(a, NULL, t->count);
				cr_assert_leq(norm(a, b, t->count),
				              1e-10 * (1e-3 + norm(a, NULL, t->count)), "%s %s",
				              small[i].model, t->name);
				free(a);
				free(b);
			}
		}
		cr_assert_gt(total, 1e-3, "%s has no gradient", small[i].model);
		kernels_close(&first.r);
		kernels_close(&last.r);
	}
}

/* Every parameter of a model moves its loss as its gradient says. */
Test(cnn_train, gradients_of_whole_models_match_finite_differences)
{
	/* smooth ones, so that no kink lies within a difference: tanh, and no max pool */
	static const int which[] = {0, 9};

	for (int i = 0; i < 2; i++) {
		const struct ws_image_model *model = ws_model_find(small[which[i]].model)->image;
		struct ws_image_options options = small[which[i]].options;
		struct kernels_run r = {0};
		struct ws_model_io io;
		int compared, wrong;

		options.batch = 4;
		options.activation = WS_ACTIVATION_TANH;
		KERNELS_OK(ws_pool_create(2, &r.pool, err));
		KERNELS_OK(ws_backend_cpu_open(r.pool, 0, &r.backend, err));
		r.graph = training_graph(small[which[i]].model, options, &kernels_fp64, &io);
		kernels_start(&r);
		KERNELS_OK(ws_image_feed(r.exec, model, &options, &io, 0, err));
		wrong = kernels_gradients_wrong(&r, io.loss, NULL, 3, &compared);
		cr_assert_gt(compared, 20);
		cr_assert_eq(wrong, 0, "%s: %d of %d", small[which[i]].model, wrong, compared);
		kernels_close(&r);
	}
}

static double mean_of(const double *losses, int count)
{
	double sum = 0;

	for (int i = 0; i < count; i++)
		sum += losses[i];
	return sum / count;
}

Test(cnn_train, losses_fall)
{
	/* LeNet; AlexNet and VGG with their dropout; a ResNet; the signal network */
	static const struct {
		int which, steps;
	} runs[] = {{2, 40}, {4, 120}, {5, 150}, {7, 80}, {9, 40}};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		double losses[150], first, last;

		train(runs[i].which, "fp32", NULL, 2, runs[i].steps, losses);
		first = mean_of(losses, 8);
		last = mean_of(losses + runs[i].steps - 8, 8);
		cr_assert_lt(last, 0.85 * first, "%s: %g to %g", small[runs[i].which].model, first,
		             last);
	}
}

Test(cnn_train, bf16_follows_fp32)
{
	/* the ResNet's batch norms over a few values soon amplify any difference */
	static const struct {
		int which, steps;
		double tolerance;
	} runs[] = {{0, 5, 5e-2}, {2, 5, 5e-2}, {7, 1, 5e-2}, {9, 5, 5e-2}};

	for (int i = 0; i < 4; i++) {
		double full[5], low[5];

		train(runs[i].which, "fp32", NULL, 2, runs[i].steps, full);
		train(runs[i].which, "amp-bf16", NULL, 2, runs[i].steps, low);
		for (int j = 0; j < runs[i].steps; j++) {
			cr_assert_float_eq(low[j], full[j], runs[i].tolerance * fmax(1, full[j]),
			                   "%s step %d: %g, %g", small[runs[i].which].model, j,
			                   low[j], full[j]);
			cr_assert_neq(low[j], full[j]);
		}
	}
}

Test(cnn_train, equal_seeds_give_equal_losses_with_dropout_too)
{
	double a[3], b[3];

	train(4, "fp32", NULL, 2, 3, a);
	train(4, "fp32", NULL, 2, 3, b);
	cr_assert_arr_eq(a, b, sizeof(a));
}

Test(cnn_train, mse_on_classes_trains_towards_one_hot_targets)
{
	struct ws_image_options options = small[0].options;
	double losses[40];

	options.loss = WS_LOSS_MSE;
	train(0, "fp32", &options, 2, 40, losses);
	/* all zeros would give 1/10, the mean of a one-hot row */
	cr_assert_lt(losses[39], 0.08, "%g", losses[39]);
	cr_assert_gt(losses[39], 0);
}

/* What a parameter begins as. */
static double *first_values(const char *model, struct ws_image_options options, const char *name,
                            int64_t *count)
{
	struct kernels_run r = {0};
	struct ws_model_io io;
	const struct ws_tensor *t;
	double *values;

	KERNELS_OK(ws_pool_create(2, &r.pool, err));
	KERNELS_OK(ws_backend_cpu_open(r.pool, 0, &r.backend, err));
	r.graph = training_graph(model, options, &kernels_fp32, &io);
	kernels_start(&r);
	t = param(r.graph, name);
	values = kernels_read(&r, t);
	*count = t->count;
	kernels_close(&r);
	return values;
}

static void expect_spread(const char *model, struct ws_image_options options, const char *name,
                          double std, double largest)
{
	int64_t count;
	double *values = first_values(model, options, name, &count), square = 0, most = 0, mean = 0;

	for (int64_t i = 0; i < count; i++) {
		square += values[i] * values[i] / (double)count;
		mean += values[i] / (double)count;
		most = fmax(most, fabs(values[i]));
	}
	cr_assert_float_eq(sqrt(square), std, 5 * std / sqrt(2 * (double)count), "%s %s: %g", model,
	                   name, sqrt(square));
	cr_assert_float_eq(mean, 0, 5 * std / sqrt((double)count), "%s", name);
	cr_assert_leq(most, largest * (1 + 1e-6), "%s", name);
	free(values);
}

Test(cnn_train, first_values_are_those_of_torchvision_or_xavier)
{
	struct ws_image_options one = {.batch = 2, .size = 32, .width_divisor = 2, .classes = 10};
	struct ws_image_options xavier = one;
	const double third = sqrt(1. / 3);

	xavier.xavier = true;
	/* normal, std sqrt(2 / (outputs × window)); no cut */
	expect_spread("resnet18", one, "layer1.0.conv1.weight", sqrt(2. / (32 * 9)), 1);
	/* uniform in ±1/sqrt(inputs): std is bound / sqrt 3 */
	expect_spread("resnet18", one, "fc.weight", third / 16, 1. / 16);
	expect_spread("lenet5", (struct ws_image_options){.batch = 1}, "conv2.weight",
	              third / sqrt(150), 1 / sqrt(150));
	expect_spread("vgg11", one, "classifier.3.weight", 0.01, 0.06);
	expect_spread("vgg11", xavier, "features.3.weight", third * sqrt(6. / (9 * (32 + 64))),
	              sqrt(6. / (9 * (32 + 64))));
}

Test(cnn_train, filters_are_the_same_in_both_layouts)
{
	struct ws_image_options options = {.batch = 1};
	int64_t count;
	double *first = first_values("lenet5", options, "conv2.weight", &count), *last;

	options.layout = WS_LAYOUT_NHWC;
	last = first_values("lenet5", options, "conv2.weight", &count);
	cr_assert_eq(count, 16 * 6 * 25);
	for (int k = 0; k < 16; k++)
		for (int c = 0; c < 6; c++)
			for (int rs = 0; rs < 25; rs++)
				cr_assert_eq(first[(k * 6 + c) * 25 + rs],
				             last[(k * 25 + rs) * 6 + c]);
	free(first);
	free(last);
}
