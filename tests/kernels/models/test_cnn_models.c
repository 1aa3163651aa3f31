#include "tests/kernels/models/cnn_graph.h"

#include "kernels/graph/graph.h"

/* --- exact counts, without a byte of data ----------------------------------------- */

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
        /* CIFAR */
        {"lenet5", {.size = 32, .channels = 3}, 62006, 651720, 58920, 352800, 6304, 2, 3, 0},
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

Test(cnn_models, cnn_cost_parameters_and_flops_of_every_model_are_exact)
{
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		expect_totals(&totals[i], &kernels_fp32, WS_LAYOUT_NCHW, 1);
}

Test(cnn_models,
     cnn_cost_parameters_and_flops_do_not_depend_on_dtype_and_layout_and_scale_with_the_batch)
{
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		expect_totals(&totals[i], &kernels_amp, WS_LAYOUT_NHWC, 128);
}

Test(cnn_models, cnn_cost_train_flops_an_image_are_those_published)
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

Test(cnn_models, cnn_cost_alexnet_layer_by_layer)
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

/* --- structure -------------------------------------------------------------------- */

static void expect_shape(const struct ws_graph *graph, const char *name, struct ws_shape want)
{
	const struct ws_tensor *t = param(graph, name);

	cr_assert_eq(t->shape.ndim, want.ndim, "%s", name);
	cr_assert_arr_eq(t->shape.dim, want.dim, (size_t)want.ndim * sizeof(*want.dim), "%s", name);
}

Test(cnn_models, cnn_parameters_have_the_names_and_shapes_of_torchvision)
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
	cr_assert_null(graph_find(graph, "conv1.bias"));
	cr_assert_null(graph_find(graph, "layer1.1.downsample.0.weight"));
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

Test(cnn_models, cnn_stride_of_a_bottleneck_is_in_its_3x3)
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

Test(cnn_models, cnn_every_layer_is_a_scope_with_its_number_in_both_directions)
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

Test(cnn_models, cnn_autocast_gives_each_op_the_dtype_that_torch_gives_it)
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
	        {"resnet18", "cross-entropy", "log_softmax", WS_DTYPE_F32},
	        {"resnet18", "cross-entropy", "nll_loss", WS_DTYPE_F32},
	        {"alexnet", "features.0", "bias add", WS_DTYPE_BF16},
	        {"alexnet", "classifier.0", "dropout", WS_DTYPE_BF16},
	        {"conv1d-resnet", "upscale.1", "tanh", WS_DTYPE_BF16},
	        {"conv1d-resnet", "fc.1", "tanh", WS_DTYPE_BF16},
	        {"conv1d-resnet", "mse", "squared error", WS_DTYPE_F32},
	        {"conv1d-resnet", "mse", "sum", WS_DTYPE_F32},
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

Test(cnn_models, cnn_weights_are_cast_once_and_statistics_stay_fp32)
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

Test(cnn_models, cnn_flatten_is_a_view_but_of_nhwc_planes)
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

Test(cnn_models, cnn_options_that_cannot_be_built_say_why)
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

		graph = ws_graph_create(&kernels_fp32);
		cr_assert_eq(ws_image_build(graph, ws_network_find(want[i].model)->image,
		                            &want[i].options, true, &io, &why),
		             WS_USAGE, "case %d: %s", (int)i, why.text);
		cr_assert(strstr(why.text, want[i].says), "case %d: %s", (int)i, why.text);
		ws_graph_destroy(graph);
	}
}

Test(cnn_models, cnn_residual_and_activation_of_the_signal_network_are_options)
{
	struct ws_image_options plain = {.batch = 2, .layers = 5};
	struct ws_image_options linear = {.batch = 2,
	                                  .residual = true,
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
