/*
 * The signal network of the seeds' first benchmark: a point-wise convolution to
 * 3 × depth multiplier channels, 32 blocks of one convolution and an activation,
 * a point-wise convolution to one channel, a linear layer to one number; tanh
 * after the first and the last two. The scripts behind the benchmark name the
 * residual connection without adding it: so does this, unless `residual`. Then
 * a branch begins 1 / layers as large, so that the sum of all is as large as one.
 */
#include "kernels/models/image.h"

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
