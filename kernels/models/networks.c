/* Networks on images and signals, layer by layer. */
#include "kernels/models/model.h"

/* --- perceptrons --------------------------------------------------------------------------- */

/* Perceptrons on flat images. */

static struct ws_image perceptron(struct ws_image_net *net, struct ws_image x,
                                  const struct ws_image_options *o, int64_t hidden1,
                                  int64_t hidden2)
{
	x = ws_nn_flatten(net, "flatten", x);
	x = ws_nn_dense(net, "fc1", x, ws_image_width(o, hidden1));
	x = ws_nn_activation(net, "act1", x);
	x = ws_nn_dense(net, "fc2", x, ws_image_width(o, hidden2));
	x = ws_nn_activation(net, "act2", x);
	return ws_nn_dense(net, "fc3", x, o->classes);
}

struct ws_image ws_model_mlp(struct ws_image_net *net, struct ws_image x,
                             const struct ws_image_options *options)
{
	return perceptron(net, x, options, 512, 512);
}

struct ws_image ws_model_mlp_256(struct ws_image_net *net, struct ws_image x,
                                 const struct ws_image_options *options)
{
	return perceptron(net, x, options, 256, 128);
}

struct ws_image ws_model_toy_mixed(struct ws_image_net *net, struct ws_image x,
                                   const struct ws_image_options *options)
{
	x = ws_nn_flatten(net, "flatten", x);
	x = ws_nn_dense_plain(net, "fc1", x, ws_image_width(options, 10));
	x = ws_nn_activation(net, "relu", x);
	x = ws_nn_layer_norm(net, "ln", x);
	return ws_nn_dense_plain(net, "fc2", x, options->classes);
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

struct ws_image ws_model_lenet5(struct ws_image_net *net, struct ws_image x,
                                const struct ws_image_options *o)
{
	/* digits of 28 × 28 are seen in a frame of 32 × 32 */
	int64_t pad = x.h == 28 ? 2 : 0;

	x = conv(net, "conv1", x, ws_image_width(o, 6), 5, 1, pad);
	x = ws_nn_activation(net, "act1", x);
	x = ws_nn_max_pool(net, "pool1", x, 2, 2, 0);
	x = conv(net, "conv2", x, ws_image_width(o, 16), 5, 1, 0);
	x = ws_nn_activation(net, "act2", x);
	x = ws_nn_max_pool(net, "pool2", x, 2, 2, 0);
	x = ws_nn_flatten(net, "flatten", x);
	x = ws_nn_dense(net, "fc1", x, ws_image_width(o, 120));
	x = ws_nn_activation(net, "act3", x);
	x = ws_nn_dense(net, "fc2", x, ws_image_width(o, 84));
	x = ws_nn_activation(net, "act4", x);
	return ws_nn_dense(net, "fc3", x, o->classes);
}

struct ws_image ws_model_lenet_caffe(struct ws_image_net *net, struct ws_image x,
                                     const struct ws_image_options *o)
{
	x = conv(net, "conv1", x, ws_image_width(o, 20), 5, 1, 0);
	x = ws_nn_max_pool(net, "pool1", x, 2, 2, 0);
	x = conv(net, "conv2", x, ws_image_width(o, 50), 5, 1, 0);
	x = ws_nn_max_pool(net, "pool2", x, 2, 2, 0);
	x = ws_nn_flatten(net, "flatten", x);
	x = ws_nn_dense(net, "ip1", x, ws_image_width(o, 500));
	x = ws_nn_activation(net, "act1", x);
	return ws_nn_dense(net, "ip2", x, o->classes);
}

/* --- AlexNet ---------------------------------------------------------------------- */

struct ws_image ws_model_alexnet(struct ws_image_net *net, struct ws_image x,
                                 const struct ws_image_options *o)
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
	x = ws_nn_flatten(net, "flatten", x);
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
	x = ws_nn_flatten(net, "flatten", x);
	x = ws_nn_dense(net, "classifier.0", x, ws_image_width(o, 4096));
	x = ws_nn_activation(net, "classifier.1", x);
	x = ws_nn_dropout(net, "classifier.2", x, 0.5);
	x = ws_nn_dense(net, "classifier.3", x, ws_image_width(o, 4096));
	x = ws_nn_activation(net, "classifier.4", x);
	x = ws_nn_dropout(net, "classifier.5", x, 0.5);
	return ws_nn_dense(net, "classifier.6", x, o->classes);
}

struct ws_image ws_model_vgg11(struct ws_image_net *net, struct ws_image x,
                               const struct ws_image_options *o)
{
	return vgg(net, x, o, vgg11_filters);
}

struct ws_image ws_model_vgg16(struct ws_image_net *net, struct ws_image x,
                               const struct ws_image_options *o)
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
	x = ws_nn_flatten(net, "flatten", x);
	return ws_nn_dense(net, "fc", x, o->classes);
}

struct ws_image ws_model_resnet18(struct ws_image_net *net, struct ws_image x,
                                  const struct ws_image_options *o)
{
	return resnet(net, x, o, &(const struct resnet){{2, 2, 2, 2}, false});
}

struct ws_image ws_model_resnet50(struct ws_image_net *net, struct ws_image x,
                                  const struct ws_image_options *o)
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

struct ws_image ws_model_conv1d_resnet(struct ws_image_net *net, struct ws_image x,
                                       const struct ws_image_options *o)
{
	int64_t channels = FEATURES * o->depth_multiplier;

	x = ws_nn_conv(net, "upscale.0", x, WS_CONV_SIGNAL(channels, 1));
	x = ws_nn_tanh(net, "upscale.1", x);
	for (int64_t i = 0; i < o->layers; i++) {
		const char *name = ws_graph_text(net->graph, "blocks.%lld", (long long)i);
		struct ws_conv_shape shape = WS_CONV_SIGNAL(channels, o->kernel_width);
		struct ws_image y;

		shape.gain = o->residual ? 1 / (double)o->layers : 1;
		y = ws_nn_conv(net, ws_graph_text(net->graph, "%s.conv", name), x, shape);
		y = ws_nn_activation(net, ws_graph_text(net->graph, "%s.act", name), y);
		if (o->residual)
			y = ws_nn_add(net, ws_graph_text(net->graph, "%s.residual", name), y, x);
		x = y;
	}
	x = ws_nn_conv(net, "downscale.0", x, WS_CONV_SIGNAL(1, 1));
	x = ws_nn_tanh(net, "downscale.1", x);
	x = ws_nn_flatten(net, "flatten", x);
	x = ws_nn_dense(net, "fc.0", x, o->classes);
	return ws_nn_tanh(net, "fc.1", x);
}
