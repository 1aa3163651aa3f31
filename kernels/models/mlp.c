/* Perceptrons on flat images. */
#include "kernels/models/image.h"

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
