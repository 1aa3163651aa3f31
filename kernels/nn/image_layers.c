#include "kernels/nn/image_layers.h"

#include <math.h>

#include "kernels/graph/ops.h"

#define BATCH_NORM_EPS      1e-5
#define BATCH_NORM_MOMENTUM 0.1
#define LAYER_NORM_EPS      1e-5
#define LEAKY_RELU_SLOPE    0.01
#define XAVIER_BIAS         0.01

/* Fail the graph: a window of r × s on an input of h × w has no output. */
static struct ws_image too_small(struct ws_image_net *net, const char *name, int64_t r, int64_t s,
                                 int64_t h, int64_t w)
{
	ws_graph_fail(net->graph, WS_USAGE,
	              "%s: its %lld × %lld window does not fit an input of "
	              "%lld × %lld; the model needs larger images",
	              name, (long long)r, (long long)s, (long long)h, (long long)w);
	return (struct ws_image){&net->graph->error_tensor, 1, 1, 1, 1};
}

/* --- scopes and parameters -------------------------------------------------------- */

static void layer_begin(struct ws_image_net *net, enum wsnvtx_op_kind kind, const char *name)
{
	net->graph->layer = net->layers++;
	ws_graph_scope_push(net->graph, kind, "%s", name);
}

static void layer_end(struct ws_image_net *net)
{
	ws_graph_scope_pop(net->graph);
	net->graph->layer = -1;
}

static struct ws_tensor *param(struct ws_image_net *net, const char *layer, const char *name,
                               struct ws_shape shape, struct ws_init init)
{
	return ws_graph_param(net->graph, ws_graph_text(net->graph, "%s.%s", layer, name), shape,
	                      init);
}

/*
 * First values of a weight whose every output sums `in` numbers and whose every
 * input reaches `out` numbers (the fans).
 */
static struct ws_init weight_init(enum ws_weights weights, int64_t in, int64_t out)
{
	switch (weights) {
	case WS_WEIGHTS_HE:
		return (struct ws_init){WS_INIT_NORMAL, sqrt(2 / (double)out)};
	case WS_WEIGHTS_SMALL:
		return (struct ws_init){WS_INIT_NORMAL, 0.01};
	case WS_WEIGHTS_XAVIER:
		return (struct ws_init){WS_INIT_UNIFORM, sqrt(6 / (double)(in + out))};
	default:
		return (struct ws_init){WS_INIT_UNIFORM, 1 / sqrt((double)in)};
	}
}

static struct ws_init bias_init(enum ws_weights weights, int64_t in)
{
	switch (weights) {
	case WS_WEIGHTS_DEFAULT:
		return weight_init(weights, in, in);
	case WS_WEIGHTS_XAVIER:
		return (struct ws_init){WS_INIT_FILL, XAVIER_BIAS};
	default:
		return (struct ws_init){WS_INIT_FILL, 0};
	}
}

static struct ws_channels channels_of(const struct ws_image_net *net, const struct ws_image *x)
{
	int64_t plane = x->h * x->w;

	return net->layout == WS_LAYOUT_NCHW ? (struct ws_channels){x->n, x->c, plane}
	                                     : (struct ws_channels){x->n * plane, x->c, 1};
}

/* --- layers ----------------------------------------------------------------------- */

static struct ws_tensor *filter(struct ws_image_net *net, const char *name, const struct ws_conv *f,
                                double gain)
{
	int64_t window = f->r * f->s, c = f->c / f->groups;
	struct ws_init init = weight_init(net->conv_weights, c * window, f->k * window);
	struct ws_tensor *weight;

	init.value *= gain ? gain : 1;
	weight = param(net, name, "weight", ws_image_shape(f->layout, f->k, c, f->r, f->s), init);
	weight->channels_last = f->layout == WS_LAYOUT_NHWC;
	return weight;
}

struct ws_image ws_nn_conv(struct ws_image_net *net, const char *name, struct ws_image x,
                           struct ws_conv_shape shape)
{
	struct ws_conv f = {
	        .layout = net->layout,
	        .n = x.n,
	        .c = x.c,
	        .h = x.h,
	        .w = x.w,
	        .k = shape.filters,
	        .r = shape.r,
	        .s = shape.s,
	        .stride = shape.stride,
	        .pad_h = shape.pad_h,
	        .pad_w = shape.pad_w,
	        .groups = shape.groups,
	};
	struct ws_image y;

	if (!ws_conv_outputs(&f))
		return too_small(net, name, f.r, f.s, f.h, f.w);
	layer_begin(net, WSNVTX_OP_other, name);
	y = (struct ws_image){NULL, f.n, f.k, f.p, f.q};
	y.data = ws_op_conv(net->graph, x.data, filter(net, name, &f, shape.gain), f);
	if (shape.bias)
		y.data = ws_op_bias(net->graph, y.data,
		                    param(net, name, "bias", WS_SHAPE(f.k),
		                          bias_init(net->conv_weights, f.c / f.groups * f.r * f.s)),
		                    channels_of(net, &y));
	layer_end(net);
	return y;
}

static struct ws_tensor *running(struct ws_image_net *net, const char *layer, const char *name,
                                 int64_t channels, double value)
{
	const char *full = ws_graph_text(net->graph, "%s.%s", layer, name);
	struct ws_tensor *t = ws_graph_tensor(net->graph, full, WS_ROLE_STATE,
	                                      ws_graph_norm_dtype(net->graph), WS_SHAPE(channels));

	t->init = (struct ws_init){WS_INIT_FILL, value};
	return t;
}

/* A batch norm's weight or bias. */
static struct ws_tensor *norm_param(struct ws_image_net *net, const char *layer, const char *name,
                                    int64_t channels, double value)
{
	struct ws_tensor *t = running(net, layer, name, channels, value);

	t->role = WS_ROLE_PARAM;
	t->requires_grad = true;
	return t;
}

struct ws_image ws_nn_batch_norm(struct ws_image_net *net, const char *name, struct ws_image x)
{
	struct ws_norm norm = {.eps = BATCH_NORM_EPS, .momentum = BATCH_NORM_MOMENTUM};
	struct ws_tensor *gamma, *beta;
	struct ws_image y = x;

	norm.ch = channels_of(net, &x);
	layer_begin(net, WSNVTX_OP_norm, name);
	gamma = norm_param(net, name, "weight", x.c, 1);
	beta = norm_param(net, name, "bias", x.c, 0);
	y.data = ws_op_batch_norm(net->graph, x.data, gamma, beta,
	                          running(net, name, "running_mean", x.c, 0),
	                          running(net, name, "running_var", x.c, 1), norm);
	layer_end(net);
	return y;
}

static struct ws_image unary(struct ws_image_net *net, const char *name, struct ws_image x,
                             enum ws_sub sub, double alpha)
{
	struct ws_tensor *fused;

	fused = net->graph->fusion == WS_FUSION_FULL
	                ? ws_op_bias_activation(net->graph, x.data, sub, alpha)
	                : NULL;
	if (fused) { /* in the scope of the bias; layers keep their numbers */
		net->layers++;
		x.data = fused;
		return x;
	}
	layer_begin(net, WSNVTX_OP_activation, name);
	x.data = ws_op_unary(net->graph, sub, x.data, alpha);
	layer_end(net);
	return x;
}

struct ws_image ws_nn_activation(struct ws_image_net *net, const char *name, struct ws_image x)
{
	switch (net->activation) {
	case WS_ACTIVATION_RELU:
		return unary(net, name, x, WS_SUB_RELU, 0);
	case WS_ACTIVATION_LEAKY_RELU:
		return unary(net, name, x, WS_SUB_LEAKY_RELU, LEAKY_RELU_SLOPE);
	case WS_ACTIVATION_TANH:
		return ws_nn_tanh(net, name, x);
	case WS_ACTIVATION_NONE:
		break;
	}
	return x;
}

struct ws_image ws_nn_tanh(struct ws_image_net *net, const char *name, struct ws_image x)
{
	return unary(net, name, x, WS_SUB_TANH, 0);
}

struct ws_image ws_nn_max_pool(struct ws_image_net *net, const char *name, struct ws_image x,
                               int64_t size, int64_t stride, int64_t pad)
{
	struct ws_window window = {.layout = net->layout,
	                           .n = x.n,
	                           .c = x.c,
	                           .h = x.h,
	                           .w = x.w,
	                           .r = size,
	                           .s = size,
	                           .stride = stride,
	                           .pad = pad};
	struct ws_image y;

	if (!ws_window_outputs(&window))
		return too_small(net, name, size, size, x.h, x.w);
	layer_begin(net, WSNVTX_OP_pool, name);
	y = (struct ws_image){NULL, x.n, x.c, window.p, window.q};
	y.data = ws_op_max_pool(net->graph, x.data, window);
	layer_end(net);
	return y;
}

struct ws_image ws_nn_avg_pool(struct ws_image_net *net, const char *name, struct ws_image x,
                               int64_t p)
{
	struct ws_window window = {
	        .layout = net->layout, .n = x.n, .c = x.c, .h = x.h, .w = x.w, .p = p, .q = p};
	struct ws_image y = {NULL, x.n, x.c, p, p};

	layer_begin(net, WSNVTX_OP_pool, name);
	y.data = ws_op_avg_pool(net->graph, x.data, window);
	layer_end(net);
	return y;
}

static struct ws_tensor *step_number(struct ws_image_net *net)
{
	if (!net->step)
		net->step = ws_graph_tensor(net->graph, "step number", WS_ROLE_INPUT, WS_DTYPE_I32,
		                            WS_SHAPE(1));
	return net->step;
}

struct ws_image ws_nn_dropout(struct ws_image_net *net, const char *name, struct ws_image x,
                              double p)
{
	struct ws_dropout dropout = {.rng = ws_rng_stream(net->seed, name), .p = p};

	layer_begin(net, WSNVTX_OP_rng, name);
	x.data = ws_op_dropout(net->graph, x.data, step_number(net), dropout);
	layer_end(net);
	return x;
}

struct ws_image ws_nn_add(struct ws_image_net *net, const char *name, struct ws_image a,
                          struct ws_image b)
{
	layer_begin(net, WSNVTX_OP_elementwise, name);
	a.data = ws_op_binary(net->graph, WS_SUB_ADD, a.data, b.data);
	layer_end(net);
	return a;
}

struct ws_image ws_nn_flatten(struct ws_image_net *net, const char *name, struct ws_image x)
{
	int64_t plane = x.h * x.w;
	struct ws_image y = {x.data, x.n, x.c * plane, 1, 1};

	if (net->layout == WS_LAYOUT_NCHW || plane == 1)
		return y;
	layer_begin(net, WSNVTX_OP_copy, name);
	y.data = ws_op_permute(net->graph, x.data, (int64_t[]){x.n, plane, x.c, 1},
	                       WS_SHAPE(y.n, y.c), NULL);
	layer_end(net);
	return y;
}

static struct ws_image dense(struct ws_image_net *net, const char *name, struct ws_image x,
                             int64_t outputs, bool with_bias)
{
	struct ws_gemm gemm = {.batch = 1, .m = x.n, .n = outputs, .k = x.c, .trans_b = true};
	struct ws_image y = {NULL, x.n, outputs, 1, 1};
	struct ws_tensor *weight, *bias;

	layer_begin(net, WSNVTX_OP_other, name);
	weight = param(net, name, "weight", WS_SHAPE(outputs, x.c),
	               weight_init(net->linear_weights, x.c, outputs));
	y.data = ws_op_gemm(net->graph, x.data, weight, gemm, WS_SHAPE(y.n, y.c), "linear");
	if (with_bias) {
		bias = param(net, name, "bias", WS_SHAPE(outputs),
		             bias_init(net->linear_weights, x.c));
		y.data = ws_op_bias(net->graph, y.data, bias, (struct ws_channels){y.n, y.c, 1});
	}
	layer_end(net);
	return y;
}

struct ws_image ws_nn_dense(struct ws_image_net *net, const char *name, struct ws_image x,
                            int64_t outputs)
{
	return dense(net, name, x, outputs, true);
}

struct ws_image ws_nn_dense_plain(struct ws_image_net *net, const char *name, struct ws_image x,
                                  int64_t outputs)
{
	return dense(net, name, x, outputs, false);
}

struct ws_image ws_nn_layer_norm(struct ws_image_net *net, const char *name, struct ws_image x)
{
	struct ws_graph *graph = net->graph;
	struct ws_tensor *centred, *inverse, *weight, *bias, *y;
	enum ws_dtype dtype = x.data->dtype;

	layer_begin(net, WSNVTX_OP_norm, name);
	weight = param(net, name, "weight", WS_SHAPE(x.c), (struct ws_init){WS_INIT_FILL, 1});
	bias = param(net, name, "bias", WS_SHAPE(x.c), (struct ws_init){WS_INIT_FILL, 0});
	y = ws_op_cast(graph, x.data, ws_dtype_exact(dtype));
	centred = ws_op_binary(graph, WS_SUB_SUB, y, ws_op_reduce(graph, WS_SUB_MEAN, y));
	y = ws_op_unary(graph, WS_SUB_SQUARE, centred, 0);
	y = ws_op_reduce(graph, WS_SUB_MEAN, y);
	inverse = ws_op_unary(graph, WS_SUB_RSQRT,
	                      ws_op_unary(graph, WS_SUB_ADD_CONST, y, LAYER_NORM_EPS), 0);
	y = ws_op_binary(graph, WS_SUB_MUL, centred, inverse);
	y = ws_op_binary(graph, WS_SUB_ADD, ws_op_binary(graph, WS_SUB_MUL, y, weight), bias);
	/* autocast leaves it in fp32; a model in 16 bits gets back what it gave */
	x.data = graph->autocast ? y : ws_op_cast(graph, y, dtype);
	layer_end(net);
	return x;
}

/* --- loss ------------------------------------------------------------------------- */

struct ws_tensor *ws_nn_mse(struct ws_graph *graph, struct ws_tensor *y, struct ws_tensor *target)
{
	struct ws_tensor *loss;

	ws_graph_scope_push(graph, WSNVTX_OP_loss, "mse");
	/* a loss is computed in fp32 */
	y = ws_op_cast(graph, y, target->dtype);
	loss = ws_op_squared_error(graph, y, target, 1 / (double)target->count);
	loss = ws_op_reduce(graph, WS_SUB_SUM, loss);
	ws_graph_scope_pop(graph);
	return loss;
}
