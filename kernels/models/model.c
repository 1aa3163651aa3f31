/* The models: networks on images and signals, layer by layer, as torchvision defines them unless a
 * comment says otherwise; transformers; the list of both. */

#include "formats/base/options.h"
#include "kernels/models/model.h"

/* A network of models.def: its layers, applied to a batch x of images. */
#define NETWORK(name)                                                            \
	static struct ws_image name(struct ws_image_net *net, struct ws_image x, \
	                            const struct ws_image_options *o)

/* --- perceptrons on flat images ------------------------------------------------------------ */

static struct ws_image perceptron(struct ws_image_net *net, struct ws_image x,
                                  const struct ws_image_options *o, int64_t hidden1,
                                  int64_t hidden2)
{
	x = ws_nn_flatten(net, x);
	x = ws_nn_dense(net, "fc1", x, ws_image_width(o, hidden1));
	x = ws_nn_activation(net, "act1", x);
	x = ws_nn_dense(net, "fc2", x, ws_image_width(o, hidden2));
	x = ws_nn_activation(net, "act2", x);
	return ws_nn_dense(net, "fc3", x, o->classes);
}

NETWORK(ws_model_mlp)
{
	return perceptron(net, x, o, 512, 512);
}

NETWORK(ws_model_mlp_256)
{
	return perceptron(net, x, o, 256, 128);
}

NETWORK(ws_model_toy_mixed)
{
	x = ws_nn_flatten(net, x);
	x = ws_nn_dense_plain(net, "fc1", x, ws_image_width(o, 10));
	x = ws_nn_activation(net, "relu", x);
	x = ws_nn_layer_norm(net, "ln", x);
	return ws_nn_dense_plain(net, "fc2", x, o->classes);
}

/* --- CNNs ---------------------------------------------------------------------------------- */

/*
 * Convolutional networks for images, layer by layer as in torchvision (its
 * definitions of 0.14), whose module names the layers have; LeNet as published,
 * with max pooling.
 */

/* A layer's name made of a prefix and the like. */
#define NAME(...) ws_graph_text(net->graph, __VA_ARGS__)

/* A convolution with square filters and a bias. */
static struct ws_image conv(struct ws_image_net *net, const char *name, struct ws_image x,
                            int64_t filters, int64_t size, int64_t stride, int64_t pad)
{
	return ws_nn_conv(net, name, x, WS_CONV_SQUARE(filters, size, stride, pad, true));
}

/* --- LeNet ------------------------------------------------------------------------ */

NETWORK(ws_model_lenet5)
{
	/* digits of 28 × 28 are seen in a frame of 32 × 32 */
	int64_t pad = x.h == 28 ? 2 : 0;

	x = conv(net, "conv1", x, ws_image_width(o, 6), 5, 1, pad);
	x = ws_nn_activation(net, "act1", x);
	x = ws_nn_max_pool(net, "pool1", x, 2, 2, 0);
	x = conv(net, "conv2", x, ws_image_width(o, 16), 5, 1, 0);
	x = ws_nn_activation(net, "act2", x);
	x = ws_nn_max_pool(net, "pool2", x, 2, 2, 0);
	x = ws_nn_flatten(net, x);
	x = ws_nn_dense(net, "fc1", x, ws_image_width(o, 120));
	x = ws_nn_activation(net, "act3", x);
	x = ws_nn_dense(net, "fc2", x, ws_image_width(o, 84));
	x = ws_nn_activation(net, "act4", x);
	return ws_nn_dense(net, "fc3", x, o->classes);
}

NETWORK(ws_model_lenet_caffe)
{
	x = conv(net, "conv1", x, ws_image_width(o, 20), 5, 1, 0);
	x = ws_nn_max_pool(net, "pool1", x, 2, 2, 0);
	x = conv(net, "conv2", x, ws_image_width(o, 50), 5, 1, 0);
	x = ws_nn_max_pool(net, "pool2", x, 2, 2, 0);
	x = ws_nn_flatten(net, x);
	x = ws_nn_dense(net, "ip1", x, ws_image_width(o, 500));
	x = ws_nn_activation(net, "act1", x);
	return ws_nn_dense(net, "ip2", x, o->classes);
}

/* --- AlexNet ---------------------------------------------------------------------- */

NETWORK(ws_model_alexnet)
{
	x = conv(net, "features.0", x, ws_image_width(o, 64), 11, 4, 2);
	x = ws_nn_activation(net, "features.1", x);
	x = ws_nn_max_pool(net, "features.2", x, 3, 2, 0);
	x = conv(net, "features.3", x, ws_image_width(o, 192), 5, 1, 2);
	x = ws_nn_activation(net, "features.4", x);
	x = ws_nn_max_pool(net, "features.5", x, 3, 2, 0);
	x = conv(net, "features.6", x, ws_image_width(o, 384), 3, 1, 1);
	x = ws_nn_activation(net, "features.7", x);
	x = conv(net, "features.8", x, ws_image_width(o, 256), 3, 1, 1);
	x = ws_nn_activation(net, "features.9", x);
	x = conv(net, "features.10", x, ws_image_width(o, 256), 3, 1, 1);
	x = ws_nn_activation(net, "features.11", x);
	x = ws_nn_max_pool(net, "features.12", x, 3, 2, 0);
	x = ws_nn_avg_pool(net, "avgpool", x, 6);
	x = ws_nn_flatten(net, x);
	x = ws_nn_dropout(net, "classifier.0", x, 0.5);
	x = ws_nn_dense(net, "classifier.1", x, ws_image_width(o, 4096));
	x = ws_nn_activation(net, "classifier.2", x);
	x = ws_nn_dropout(net, "classifier.3", x, 0.5);
	x = ws_nn_dense(net, "classifier.4", x, ws_image_width(o, 4096));
	x = ws_nn_activation(net, "classifier.5", x);
	return ws_nn_dense(net, "classifier.6", x, o->classes);
}

/* --- VGG -------------------------------------------------------------------------- */

#define POOL -1 /* in a list of filters: a max pool */

static const int vgg11_filters[] = {64,  POOL, 128,  POOL, 256, 256,  POOL,
                                    512, 512,  POOL, 512,  512, POOL, 0};
static const int vgg16_filters[] = {64,  64,  POOL, 128,  128, POOL, 256, 256,  256, POOL,
                                    512, 512, 512,  POOL, 512, 512,  512, POOL, 0};

static struct ws_image vgg(struct ws_image_net *net, struct ws_image x,
                           const struct ws_image_options *o, const int *filters)
{
	int layer = 0;

	for (; *filters; filters++) {
		if (*filters == POOL) {
			x = ws_nn_max_pool(net, NAME("features.%d", layer++), x, 2, 2, 0);
			continue;
		}
		x = conv(net, NAME("features.%d", layer++), x, ws_image_width(o, *filters), 3, 1,
		         1);
		x = ws_nn_activation(net, NAME("features.%d", layer++), x);
	}
	x = ws_nn_avg_pool(net, "avgpool", x, 7);
	x = ws_nn_flatten(net, x);
	x = ws_nn_dense(net, "classifier.0", x, ws_image_width(o, 4096));
	x = ws_nn_activation(net, "classifier.1", x);
	x = ws_nn_dropout(net, "classifier.2", x, 0.5);
	x = ws_nn_dense(net, "classifier.3", x, ws_image_width(o, 4096));
	x = ws_nn_activation(net, "classifier.4", x);
	x = ws_nn_dropout(net, "classifier.5", x, 0.5);
	return ws_nn_dense(net, "classifier.6", x, o->classes);
}

NETWORK(ws_model_vgg11)
{
	return vgg(net, x, o, vgg11_filters);
}

NETWORK(ws_model_vgg16)
{
	return vgg(net, x, o, vgg16_filters);
}

/* --- ResNet ----------------------------------------------------------------------- */

struct resnet {
	int blocks[4]; /* of layer1 … layer4 */
	bool bottleneck;
};

/* A convolution without bias and its batch norm. */
static struct ws_image conv_norm(struct ws_image_net *net, const char *conv_name,
                                 const char *norm_name, struct ws_image x, int64_t filters,
                                 int64_t size, int64_t stride)
{
	x = ws_nn_conv(net, conv_name, x, WS_CONV_SQUARE(filters, size, stride, size / 2, false));
	return ws_nn_batch_norm(net, norm_name, x);
}

/* One residual block, its modules named after it. width: channels of its 3 × 3. */
static struct ws_image block(struct ws_image_net *net, const char *name, struct ws_image x,
                             const struct resnet *kind, int64_t width, int64_t stride)
{
	int64_t out = kind->bottleneck ? 4 * width : width;
	struct ws_image skip = x, y = x;

	if (kind->bottleneck) {
		y = conv_norm(net, NAME("%s.conv1", name), NAME("%s.bn1", name), y, width, 1, 1);
		y = ws_nn_activation(net, NAME("%s.relu", name), y);
		y = conv_norm(net, NAME("%s.conv2", name), NAME("%s.bn2", name), y, width, 3,
		              stride);
		y = ws_nn_activation(net, NAME("%s.relu", name), y);
		y = conv_norm(net, NAME("%s.conv3", name), NAME("%s.bn3", name), y, out, 1, 1);
	} else {
		y = conv_norm(net, NAME("%s.conv1", name), NAME("%s.bn1", name), y, width, 3,
		              stride);
		y = ws_nn_activation(net, NAME("%s.relu", name), y);
		y = conv_norm(net, NAME("%s.conv2", name), NAME("%s.bn2", name), y, width, 3, 1);
	}
	if (stride != 1 || x.c != out)
		skip = conv_norm(net, NAME("%s.downsample.0", name), NAME("%s.downsample.1", name),
		                 x, out, 1, stride);
	y = ws_nn_add(net, NAME("%s.residual", name), y, skip);
	return ws_nn_activation(net, NAME("%s.relu", name), y);
}

static struct ws_image resnet(struct ws_image_net *net, struct ws_image x,
                              const struct ws_image_options *o, const struct resnet *kind)
{
	x = conv_norm(net, "conv1", "bn1", x, ws_image_width(o, 64), 7, 2);
	x = ws_nn_activation(net, "relu", x);
	x = ws_nn_max_pool(net, "maxpool", x, 3, 2, 1);
	for (int layer = 0; layer < 4; layer++)
		for (int i = 0; i < kind->blocks[layer]; i++)
			x = block(net, NAME("layer%d.%d", layer + 1, i), x, kind,
			          ws_image_width(o, (int64_t)64 << layer),
			          layer > 0 && i == 0 ? 2 : 1);
	x = ws_nn_avg_pool(net, "avgpool", x, 1);
	x = ws_nn_flatten(net, x);
	return ws_nn_dense(net, "fc", x, o->classes);
}

NETWORK(ws_model_resnet18)
{
	return resnet(net, x, o, &(const struct resnet){{2, 2, 2, 2}, false});
}

NETWORK(ws_model_resnet50)
{
	return resnet(net, x, o, &(const struct resnet){{3, 4, 6, 3}, true});
}

/* --- signals ------------------------------------------------------------------------------- */

/*
 * The signal network of the seeds' first benchmark: a point-wise convolution to
 * 3 × depth multiplier channels, 32 blocks of one convolution and an activation,
 * a point-wise convolution to one channel, a linear layer to one number; tanh
 * after the first and the last two. The scripts behind the benchmark name the
 * residual connection without adding it: so does this, unless `residual`. Then
 * a branch begins 1 / layers as large, so that the sum of all is as large as one.
 */

#define FEATURES 3

NETWORK(ws_model_conv1d_resnet)
{
	int64_t channels = FEATURES * o->depth_multiplier;

	x = ws_nn_conv(net, "upscale.0", x, WS_CONV_SIGNAL(channels, 1));
	x = ws_nn_tanh(net, "upscale.1", x);
	for (int64_t i = 0; i < o->layers; i++) {
		const char *name = ws_graph_text(net->graph, "blocks.%lld", (long long)i);
		struct ws_conv_shape shape = WS_CONV_SIGNAL(channels, o->kernel_width);

		shape.gain = o->residual ? 1 / (double)o->layers : 1;
		struct ws_image y =
		        ws_nn_conv(net, ws_graph_text(net->graph, "%s.conv", name), x, shape);
		y = ws_nn_activation(net, ws_graph_text(net->graph, "%s.act", name), y);
		if (o->residual)
			y = ws_nn_add(net, ws_graph_text(net->graph, "%s.residual", name), y, x);
		x = y;
	}
	x = ws_nn_conv(net, "downscale.0", x, WS_CONV_SIGNAL(1, 1));
	x = ws_nn_tanh(net, "downscale.1", x);
	x = ws_nn_flatten(net, x);
	x = ws_nn_dense(net, "fc.0", x, o->classes);
	return ws_nn_tanh(net, "fc.1", x);
}

/* --- transformer --- */

#define ROPE_THETA 10000.0

/* What all layers share. */
struct build {
	struct ws_graph *graph;
	const struct ws_transformer *size;
	struct ws_heads head;
	struct ws_tensor *rope_table;
};

/* Normal with variance 2 / (in + out) (Glorot), cut at 3 sigma. */
static struct ws_init linear_init(int64_t out, int64_t in)
{
	return (struct ws_init){WS_INIT_TRUNC_NORMAL, sqrt(2.0 / (double)(in + out))};
}

/* The name of a parameter of the current layer. */
static const char *layer_name(const struct build *b, const char *name)
{
	return ws_graph_text(b->graph, "layer%d.%s", b->graph->layer, name);
}

/* Weight [out, in] */
static struct ws_tensor *linear_weight(struct build *b, const char *name, int64_t out, int64_t in)
{
	return ws_graph_param(b->graph, name, WS_SHAPE(out, in), linear_init(out, in));
}

static struct ws_tensor *norm_weight(struct build *b, const char *name)
{
	return ws_graph_param(b->graph, name, WS_SHAPE(b->size->width),
	                      (struct ws_init){WS_INIT_FILL, 1});
}

/* Weights of layers that read the same x; the name of all where they are merged. */
static struct ws_linears layer_linears(struct build *b, const char *merged,
                                       const char *const *names, int count, int64_t out, int64_t in)
{
	const char *full[WS_PARTS_MAX];

	for (int i = 0; i < count; i++)
		full[i] = layer_name(b, names[i]);
	return ws_nn_linears(b->graph, layer_name(b, merged), full, count, WS_SHAPE(out, in),
	                     linear_init(out, in));
}

/* x [B, T, D] -> attention over all heads, projected back: [B, T, D] */
static struct ws_tensor *attention(struct build *b, struct ws_tensor *x)
{
	struct ws_graph *graph = b->graph;
	int64_t d = b->size->width;
	struct ws_heads h = b->head;
	struct ws_shape merged = WS_SHAPE(h.batch, h.time, d);
	struct ws_linears wqkv =
	        layer_linears(b, "qkv", (const char *const[]){"q", "k", "v"}, 3, d, d);
	struct ws_tensor *wo = linear_weight(b, layer_name(b, "o"), d, d), *qkv[3], *y;

	ws_nn_qkv(graph, x, &wqkv, b->rope_table, h, qkv);
	y = ws_nn_causal_attention(graph, qkv[0], qkv[1], qkv[2]);

	ws_graph_scope_push(graph, WSNVTX_OP_other, "output projection");
	y = ws_op_permute(graph, y, (int64_t[]){h.batch, h.heads, h.time, h.width}, merged,
	                  "merge heads");
	y = ws_nn_linear(graph, y, wo, "o linear");
	ws_graph_scope_pop(graph);
	return y;
}

static struct ws_tensor *transformer_block(struct build *b, struct ws_tensor *x, int layer)
{
	struct ws_graph *graph = b->graph;
	int64_t d = b->size->width, f = b->size->ffn;

	graph->layer = layer;
	ws_graph_scope_push(graph, WSNVTX_OP_other, "layer %d", layer);

	struct ws_tensor *h =
	        ws_nn_rmsnorm(graph, x, norm_weight(b, layer_name(b, "norm1")), "rmsnorm");
	x = ws_nn_residual(graph, x, attention(b, h));

	h = ws_nn_rmsnorm(graph, x, norm_weight(b, layer_name(b, "norm2")), "rmsnorm");
	struct ws_linears w13 = layer_linears(b, "w13", (const char *const[]){"w1", "w3"}, 2, f, d);
	struct ws_tensor *w2 = linear_weight(b, layer_name(b, "w2"), d, f);
	x = ws_nn_residual(graph, x, ws_nn_swiglu(graph, h, &w13, w2));

	ws_graph_scope_pop(graph);
	graph->layer = -1;
	return x;
}

enum ws_status ws_transformer_build(struct ws_graph *graph, const struct ws_transformer *size,
                                    int64_t batch, int64_t context, bool with_loss,
                                    struct ws_model_io *io, struct ws_err *err)
{
	struct build b = {.graph = graph, .size = size};
	struct ws_tensor *table, *x;

	WS_FAIL_IF(batch < 1 || context < 1, err, USAGE, "batch and context must be at least 1");
	WS_FAIL_IF(size->layers < 1 || size->vocab < 2 || size->ffn < 1, err, USAGE,
	           "a transformer needs a layer, an inner width and a vocabulary of two");
	WS_FAIL_IF(size->heads < 1 || size->width < 1 || size->width % (2 * size->heads), err,
	           USAGE, "width %lld is not an even number for each of %lld heads",
	           (long long)size->width, (long long)size->heads);
	b.head = (struct ws_heads){batch, context, size->heads, size->width / size->heads};
	memset(io, 0, sizeof(*io));
	io->input = ws_graph_tensor(graph, "tokens", WS_ROLE_INPUT, WS_DTYPE_I32,
	                            WS_SHAPE(batch, context));
	b.rope_table = ws_graph_tensor(graph, "rope table", WS_ROLE_CONST, graph->precision.storage,
	                               WS_SHAPE(2, context, b.head.width / 2));
	b.rope_table->init = (struct ws_init){WS_INIT_ROPE_TABLE, ROPE_THETA};

	ws_graph_phase(graph, WSNVTX_PHASE_forward);
	table = ws_graph_param(graph, "embedding", WS_SHAPE(size->vocab, size->width),
	                       (struct ws_init){WS_INIT_TRUNC_NORMAL, 1});
	ws_graph_scope_push(graph, WSNVTX_OP_embedding, "embedding");
	x = ws_op_embedding(graph, table, io->input);
	ws_graph_scope_pop(graph);
	for (int layer = 0; layer < size->layers; layer++)
		x = transformer_block(&b, x, layer);
	x = ws_nn_rmsnorm(graph, x, norm_weight(&b, "norm_final"), "final norm");
	ws_graph_scope_push(graph, WSNVTX_OP_other, "lm head");
	io->logits = ws_nn_linear(graph, x, linear_weight(&b, "lm_head", size->vocab, size->width),
	                          "lm head linear");
	ws_graph_scope_pop(graph);
	io->logits->keep = true;

	if (with_loss) {
		io->target = ws_graph_tensor(graph, "targets", WS_ROLE_INPUT, WS_DTYPE_I32,
		                             WS_SHAPE(batch, context));
		ws_graph_phase(graph, WSNVTX_PHASE_loss);
		io->loss = ws_nn_cross_entropy(graph, io->logits, io->target, false);
		io->loss->keep = true;
	}
	return ws_graph_check(graph, err);
}

/* --- networks on images and signals -------------------------------------------------------- */

static struct ws_image_options image_defaults(const struct ws_image_model *model,
                                              const struct ws_image_options *options)
{
	struct ws_image_options o = *options;

	o.size = o.size ? o.size : model->size;
	o.channels = o.channels ? o.channels : model->channels;
	o.classes = o.classes ? o.classes : model->classes;
	o.width_divisor = o.width_divisor ? o.width_divisor : 1;
	o.loss = o.loss ? o.loss : model->loss;
	o.kernel_width = o.kernel_width ? o.kernel_width : 3;
	o.depth_multiplier = o.depth_multiplier ? o.depth_multiplier : 6;
	o.layers = o.layers ? o.layers : 32;
	return o;
}

WS_CHOICE_NAMES(ws_layout_name, WS_LAYOUT_LIST)
WS_CHOICE_NAMES(ws_activation_name, WS_ACTIVATION_LIST)
WS_CHOICE_NAMES(ws_loss_name, WS_LOSS_LIST)

void ws_workload_number(const char *key, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	wsnvtx_workload(key, text);
}

void ws_image_facts(const struct ws_image_model *model, const struct ws_image_options *options)
{
	struct ws_image_options o = image_defaults(model, options);

	ws_workload_number("image_size", o.size);
	ws_workload_number("channels", o.channels);
	ws_workload_number("classes", o.classes);
	wsnvtx_workload("layout", ws_layout_name(o.layout));
	wsnvtx_workload("activation", ws_activation_name(o.activation));
	wsnvtx_workload("loss", ws_loss_name(o.loss));
	if (o.xavier)
		wsnvtx_workload("init", "xavier");
	if (o.width_divisor > 1)
		ws_workload_number("width_divisor", o.width_divisor);
	if (!model->signal)
		return;
	ws_workload_number("kernel_width", o.kernel_width);
	ws_workload_number("depth_multiplier", o.depth_multiplier);
	wsnvtx_workload("residual", o.residual ? "yes" : "no");
}

static struct ws_image_batch batch_of(const struct ws_image_model *model,
                                      const struct ws_image_options *o)
{
	return (struct ws_image_batch){
	        .layout = o->layout,
	        .n = o->batch,
	        .c = o->channels,
	        .h = model->signal ? 1 : o->size,
	        .w = o->size,
	        .classes = o->classes,
	};
}

enum ws_status ws_image_build(struct ws_graph *graph, const struct ws_image_model *model,
                              const struct ws_image_options *options, bool with_loss,
                              struct ws_model_io *io, struct ws_err *err)
{
	struct ws_image_options o = image_defaults(model, options);
	struct ws_image_net net = {
	        .graph = graph,
	        .layout = o.layout,
	        .activation = o.activation,
	        .conv_weights = o.xavier ? WS_WEIGHTS_XAVIER : model->conv_weights,
	        .linear_weights = o.xavier ? WS_WEIGHTS_XAVIER : model->linear_weights,
	        .seed = o.seed,
	};
	struct ws_image_batch batch = batch_of(model, &o);
	struct ws_image x = {NULL, batch.n, batch.c, batch.h, batch.w};

	WS_FAIL_IF(o.batch < 1 || o.size < 1 || o.channels < 1 || o.classes < 1 ||
	                   o.width_divisor < 1,
	           err, USAGE,
	           "batch, image size, channels, classes and width divisor must be at least 1");
	WS_FAIL_IF(o.size > INT32_MAX || o.batch > INT32_MAX, err, USAGE,
	           "batch and image size must be below 2^31");
	WS_FAIL_IF(o.classes == 1 && o.loss == WS_LOSS_CROSS_ENTROPY, err, USAGE,
	           "cross-entropy needs two classes at least");
	WS_FAIL_IF(o.kernel_width < 1 || o.kernel_width % 2 == 0 || o.depth_multiplier < 1 ||
	                   o.layers < 1,
	           err, USAGE,
	           "the kernel width must be odd, and it, the depth multiplier and the "
	           "layers at least 1");
	memset(io, 0, sizeof(*io));
	/* beside masters the model is fed fp32 and casts it; else what it is stored in */
	io->input = ws_graph_tensor(graph, "images", WS_ROLE_INPUT, ws_graph_norm_dtype(graph),
	                            ws_image_shape(o.layout, x.n, x.c, x.h, x.w));
	ws_graph_phase(graph, WSNVTX_PHASE_forward);
	x.data = ws_op_cast(graph, io->input, graph->precision.storage);
	io->logits = model->forward(&net, x, &o).data;
	io->step = net.step;
	io->logits->keep = true;
	if (!with_loss)
		return ws_graph_check(graph, err);
	if (o.loss == WS_LOSS_MSE)
		io->target = ws_graph_tensor(graph, "targets", WS_ROLE_INPUT,
		                             ws_dtype_exact(graph->precision.storage),
		                             WS_SHAPE(o.batch, o.classes));
	else
		io->target = ws_graph_tensor(graph, "labels", WS_ROLE_INPUT, WS_DTYPE_I32,
		                             WS_SHAPE(o.batch));
	ws_graph_phase(graph, WSNVTX_PHASE_loss);
	io->loss = o.loss == WS_LOSS_MSE ? ws_nn_mse(graph, io->logits, io->target)
	                                 : ws_nn_cross_entropy(graph, io->logits, io->target, true);
	io->loss->keep = true;
	return ws_graph_check(graph, err);
}

enum ws_status ws_image_feed(struct ws_exec *exec, const struct ws_image_model *model,
                             const struct ws_image_options *options, const struct ws_model_io *io,
                             int64_t step, struct ws_err *err)
{
	struct ws_image_options o = image_defaults(model, options);
	struct ws_image_batch batch = batch_of(model, &o);
	double *labels = ws_xarray((size_t)o.batch, sizeof(*labels));
	double *targets = ws_xarray((size_t)(o.batch * o.classes), sizeof(*targets));
	struct ws_plane *planes = ws_xarray((size_t)(batch.n * batch.c), sizeof(*planes));
	double number = (double)(step % INT32_MAX); /* dropout is new with each step */

	ws_data_image_planes(o.seed, o.batches ? step % o.batches : step, &batch, planes, labels);
	enum ws_status status = ws_exec_draw_images(exec, &batch, planes, io->input, err);
	/* of the mean squared error: the label itself, or 1 for its class and 0 elsewhere */
	for (int64_t i = 0; i < o.batch * o.classes; i++)
		targets[i] = o.classes == 1 ? labels[i]
		                            : (labels[i / o.classes] == (double)(i % o.classes));
	if (status == WS_OK && io->target)
		status = ws_exec_write(exec, io->target, o.loss == WS_LOSS_MSE ? targets : labels,
		                       err);
	if (status == WS_OK && io->step)
		status = ws_exec_write(exec, io->step, &number, err);
	free(planes);
	free(labels);
	free(targets);
	return status;
}

/* --- the list of models -------------------------------------------------------------------- */

#define IMAGE_MODEL(function_, channels_, size_, classes_, signal_, conv, linear, loss_)         \
	&(const struct ws_image_model)                                                           \
	{                                                                                        \
		.forward = function_, .channels = channels_, .size = size_, .classes = classes_, \
		.signal = signal_, .conv_weights = WS_WEIGHTS_##conv,                            \
		.linear_weights = WS_WEIGHTS_##linear, .loss = WS_LOSS_##loss_,                  \
	}

static const struct ws_network models[] = {
#define WS_TRANSFORMER(name_, width_, ffn_, layers_, heads_, vocab_)                               \
	{.name = name_,                                                                            \
	 .summary = #layers_ " layers, width " #width_ ", " #heads_ " heads, vocabulary " #vocab_, \
	 .transformer = {width_, ffn_, layers_, heads_, vocab_}},
#define WS_IMAGE(name_, function, channels, size, classes, signal, conv, linear, loss, summary_) \
	{.name = name_,                                                                          \
	 .summary = summary_,                                                                    \
	 .image = IMAGE_MODEL(function, channels, size, classes, signal, conv, linear, loss)},
#include "kernels/models/models.def"
#undef WS_IMAGE
#undef WS_TRANSFORMER
};

const struct ws_network *ws_network_at(int i)
{
	return i >= 0 && (size_t)i < sizeof(models) / sizeof(*models) ? &models[i] : NULL;
}

const struct ws_network *ws_network_find(const char *name)
{
	for (int i = 0; ws_network_at(i); i++)
		if (!strcmp(models[i].name, name))
			return &models[i];
	return NULL;
}
