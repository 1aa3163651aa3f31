#include "tests/gpu/bench_shapes.h"

#include "kernels/graph/graph.h"
#include "tests/support/precision_named.h"

/*
 * One layer, and no model that anybody trains: 16384 tokens of 4096 numbers are 256 MiB read and
 * written in 16 bits; the weights of the inner layer are as large in fp32.
 */
#define TOKENS_BATCH   32
#define TOKENS_CONTEXT 512
static const struct ws_network transformer = {
        .name = "transformer of width 4096",
        .transformer = {.width = 4096, .ffn = 16384, .layers = 1, .heads = 32, .vocab = 32768},
};

/* 128 x 96 x 112 x 112 numbers are 294 MiB in 16 bits: enough for what only reads them. */
#define IMAGES   128
#define CHANNELS 96

static struct ws_image conv(struct ws_image_net *net, const char *name, struct ws_image x,
                            int64_t size, bool bias)
{
	return ws_nn_conv(net, name, x, WS_CONV_SQUARE(CHANNELS, size, 1, size / 2, bias));
}

/* Each layer that image models are made of, on images that are as large everywhere. */
static struct ws_image layers(struct ws_image_net *net, struct ws_image x,
                              const struct ws_image_options *options)
{
	static const char *const names[] = {"conv1", "conv2", "conv3"};
	static const enum ws_activation activations[] = {WS_ACTIVATION_RELU,
	                                                 WS_ACTIVATION_LEAKY_RELU,
	                                                 WS_ACTIVATION_TANH};
	struct ws_image y;

	for (int i = 0; i < 3; i++) { /* fused or not, an activation after a bias */
		net->activation = activations[i];
		x = ws_nn_activation(net, "act", conv(net, names[i], x, i ? 1 : 3, true));
	}
	x = ws_nn_dropout(net, "dropout", x, 0.5);
	net->activation = WS_ACTIVATION_RELU;
	for (int i = 0; i < 3; i++) { /* and one after something else */
		net->activation = activations[i];
		y = ws_nn_batch_norm(net, "norm", conv(net, names[i], x, 1, false));
		x = ws_nn_add(net, "add", x, ws_nn_activation(net, "act", y));
	}
	y = ws_nn_avg_pool(net, "pool", ws_nn_max_pool(net, "pool", x, 2, 2, 0), 1);
	x = ws_nn_add(net, "add", ws_nn_avg_pool(net, "pool", x, 1), y);
	return ws_nn_dense(net, "fc", ws_nn_flatten(net, x), options->classes);
}

static const struct ws_image_model images = {.forward = layers,
                                             .channels = 3,
                                             .size = 112,
                                             .classes = 10,
                                             .loss = WS_LOSS_CROSS_ENTROPY};
static const struct ws_network network = {.name = "image layers", .image = &images};

bool ws_bench_step(int i, struct ws_step_options *options)
{
	static const char *const dtypes[] = {"fp32", "amp-bf16", "amp-fp16"};
	int fusions = 0;

	while (ws_fusion_name(fusions))
		fusions++;
	if (i >= 2 * fusions * 3)
		return false;
	*options = (struct ws_step_options){
	        .model = i % 2 ? &network : &transformer,
	        .precision = precision_named(dtypes[i / 2 / fusions]),
	        .fusion = (enum ws_fusion)(i / 2 % fusions),
	        .phase = WS_STEP_FULL,
	        .batch = i % 2 ? IMAGES : TOKENS_BATCH,
	        .context = TOKENS_CONTEXT,
	        .optimizer = WS_ADAMW_DEFAULT,
	};
	return true;
}

/* Kept, so that each op has its operands for as long as it is timed. */
static struct ws_tensor *kept(struct ws_tensor *t)
{
	if (t)
		t->keep = true;
	return t;
}

enum ws_status ws_bench_rows(struct ws_graph **graph, struct ws_err *err)
{
	const struct ws_shape rows = WS_SHAPE((int64_t)(WS_BENCH_BYTES / sizeof(float)));
	const struct ws_init one = {WS_INIT_FILL, 1};
	const int64_t side = 8192; /* of as many numbers, a row for each example */
	struct ws_tensor *x, *loss, *logits, *classes, *nll;
	struct ws_graph *g;

	*graph = ws_graph_create(precision_named("fp32"));
	g = *graph;
	x = ws_graph_param(g, "a number a row", rows, one);
	loss = ws_graph_param(g, "a number", WS_SHAPE(1), one);
	logits = ws_graph_param(g, "logits", WS_SHAPE(side, side), one);
	classes = ws_graph_tensor(g, "classes", WS_ROLE_CONST, WS_DTYPE_I32, WS_SHAPE(side));
	classes->init = (struct ws_init){WS_INIT_FILL, 0};
	ws_graph_phase(g, WSNVTX_PHASE_forward);
	kept(ws_op_unary(g, WS_SUB_ADD_CONST, x, 1));
	kept(ws_op_unary(g, WS_SUB_RSQRT, x, 0));
	kept(ws_op_unary(g, WS_SUB_LOG, x, 0));
	nll = kept(ws_op_nll_loss(g, kept(ws_op_log_softmax(g, logits)), classes));
	WS_FORWARD(ws_graph_backward(g, nll, NULL, err));
	ws_graph_phase(g, WSNVTX_PHASE_backward);
	kept(ws_op_unary(g, WS_SUB_SQUARE, x, 0));
	kept(ws_op_expand(g, loss, x));
	ws_graph_phase(g, WSNVTX_PHASE_optimizer);
	kept(ws_op_fill(g, WS_DTYPE_F32, rows, 0));
	return ws_graph_check(g, err);
}

const char *ws_bench_bounded(const struct ws_op *op)
{
	switch (op->kind) {
	case WS_OP_GATHER:
	case WS_OP_GATHER_GRAD:
	case WS_OP_NLL_LOSS:
		return "one number of each row: a sector for 4 bytes";
	case WS_OP_SCALE_UPDATE:
		return "three numbers";
	default:
		return NULL;
	}
}
