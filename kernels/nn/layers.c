
#include "kernels/nn/layers.h"

/* --- transformers -------------------------------------------------------------------------- */

#define RMSNORM_EPS 1e-5

#define UNARY(sub, x, alpha) ws_op_unary(graph, WS_SUB_##sub, (x), (alpha))
#define BINARY(sub, a, b)    ws_op_binary(graph, WS_SUB_##sub, (a), (b))
#define REDUCE(sub, x)       ws_op_reduce(graph, WS_SUB_##sub, (x))

struct ws_tensor *ws_nn_linear(struct ws_graph *graph, struct ws_tensor *x,
                               struct ws_tensor *weight, const char *message)
{
	struct ws_gemm gemm = {.batch = 1, .trans_b = true};
	struct ws_shape shape = x->shape;

	gemm.m = ws_tensor_rows(x);
	gemm.n = weight->shape.dim[0];
	gemm.k = ws_tensor_cols(x);
	shape.dim[shape.ndim - 1] = gemm.n;
	return ws_op_gemm(graph, x, weight, gemm, shape, message);
}

struct ws_linears ws_nn_linears(struct ws_graph *graph, const char *name, const char *const *names,
                                int count, struct ws_shape shape, struct ws_init init)
{
	struct ws_linears l = {.count = count, .merged = graph->fusion == WS_FUSION_FULL};

	if (l.merged)
		l.weight[0] = ws_graph_param_parts(graph, name, names, count, shape, init);
	for (int i = 0; i < count && !l.merged; i++)
		l.weight[i] = ws_graph_param(graph, names[i], shape, init);
	return l;
}

void ws_nn_qkv(struct ws_graph *graph, struct ws_tensor *x, const struct ws_linears *weights,
               struct ws_tensor *rope_table, struct ws_heads head, struct ws_tensor *qkv[3])
{
	static const char *const names[] = {"q linear", "k linear", "v linear"};
	struct ws_shape split = WS_SHAPE(head.batch, head.heads, head.time, head.width);
	struct ws_tensor *merged = NULL;

	ws_graph_scope_push(graph, WSNVTX_OP_other, "qkv projection");
	if (weights->merged) {
		merged = ws_nn_linear(graph, x, weights->weight[0], "qkv linear");
	} else {
		for (int i = 0; i < 3; i++)
			qkv[i] = ws_nn_linear(graph, x, weights->weight[i], names[i]);
		qkv[2] = ws_op_permute(graph, qkv[2],
		                       (int64_t[]){head.batch, head.time, head.heads, head.width},
		                       split, "split heads of v");
	}
	ws_graph_scope_pop(graph);

	ws_graph_scope_push(graph, WSNVTX_OP_other, "rope");
	if (weights->merged) {
		ws_op_rope_qkv(graph, merged, rope_table, head, qkv);
	} else {
		qkv[0] = ws_op_rope(graph, WS_SUB_ROTATE, qkv[0], rope_table, head, "rope q");
		qkv[1] = ws_op_rope(graph, WS_SUB_ROTATE, qkv[1], rope_table, head, "rope k");
	}
	ws_graph_scope_pop(graph);
}

struct ws_tensor *ws_nn_rmsnorm(struct ws_graph *graph, struct ws_tensor *x,
                                struct ws_tensor *weight, const char *scope)
{
	enum ws_dtype dtype = x->dtype;
	struct ws_tensor *mean, *y;

	ws_graph_scope_push(graph, WSNVTX_OP_norm, "%s", scope);
	if (graph->fusion == WS_FUSION_FULL) {
		y = ws_op_rms_norm(graph, x, weight, RMSNORM_EPS);
	} else {
		/* the reference model computes it so */
		x = ws_op_cast(graph, x, ws_dtype_exact(dtype));
		mean = REDUCE(MEAN, UNARY(SQUARE, x, 0));
		y = BINARY(MUL, x, UNARY(RSQRT, UNARY(ADD_CONST, mean, RMSNORM_EPS), 0));
		y = ws_op_cast(graph, BINARY(MUL, y, weight), dtype);
	}
	ws_graph_scope_pop(graph);
	return y;
}

struct ws_tensor *ws_nn_softmax(struct ws_graph *graph, struct ws_tensor *x)
{
	struct ws_tensor *e = UNARY(EXP, BINARY(SUB, x, REDUCE(MAX, x)), 0);

	return BINARY(DIV, e, REDUCE(SUM, e));
}

/* [B, H, M, K] · [B, H, K, N], or · [B, H, N, K]^T */
static struct ws_tensor *head_matmul(struct ws_graph *graph, struct ws_tensor *a,
                                     struct ws_tensor *b, bool trans_b, const char *message)
{
	struct ws_gemm gemm = {.trans_b = trans_b};
	struct ws_shape shape = a->shape;

	gemm.batch = shape.dim[0] * shape.dim[1];
	gemm.m = shape.dim[2];
	gemm.k = shape.dim[3];
	gemm.n = b->shape.dim[trans_b ? 2 : 3];
	shape.dim[3] = gemm.n;
	return ws_op_gemm(graph, a, b, gemm, shape, message);
}

struct ws_tensor *ws_nn_causal_attention(struct ws_graph *graph, struct ws_tensor *q,
                                         struct ws_tensor *k, struct ws_tensor *v)
{
	double scale = 1 / sqrt((double)ws_tensor_cols(q));
	struct ws_tensor *s, *p, *y;

	ws_graph_scope_push(graph, WSNVTX_OP_other, "scaled dot product attention");
	graph->scope->causal = q->shape.dim[2];
	if (graph->attention == WS_ATTENTION_MODE_FUSED) {
		y = ws_op_attention(graph, q, k, v, scale);
		ws_graph_scope_pop(graph);
		return y;
	}

	ws_graph_scope_push(graph, WSNVTX_OP_other, "computing attention scores");
	s = head_matmul(graph, q, k, true, "q k^T");
	ws_graph_scope_pop(graph);

	ws_graph_scope_push(graph, WSNVTX_OP_scale, "computing softmax");
	if (graph->fusion == WS_FUSION_FULL) {
		p = ws_op_softmax(graph, s, scale);
	} else {
		s = UNARY(SCALE, s, scale);
		graph->kind = WSNVTX_OP_softmax; /* the mask says itself what it is */
		p = ws_nn_softmax(graph, UNARY(CAUSAL_MASK, s, -INFINITY));
	}
	ws_graph_scope_pop(graph);

	ws_graph_scope_push(graph, WSNVTX_OP_other, "final matmul");
	y = head_matmul(graph, p, v, false, "p v");
	ws_graph_scope_pop(graph);

	ws_graph_scope_pop(graph);
	return y;
}

struct ws_tensor *ws_nn_swiglu(struct ws_graph *graph, struct ws_tensor *x,
                               const struct ws_linears *w13, struct ws_tensor *w2)
{
	struct ws_tensor *a, *gate, *y;

	ws_graph_scope_push(graph, WSNVTX_OP_activation, "swiglu ffn");
	if (w13->merged) {
		a = ws_nn_linear(graph, x, w13->weight[0], "w1 w3 linear");
		gate = ws_op_swiglu(graph, a);
	} else { /* silu(w1 x) * (w3 x) */
		a = ws_nn_linear(graph, x, w13->weight[0], "w1 linear");
		gate = BINARY(MUL, a, UNARY(SIGMOID, a, 0));
		a = ws_nn_linear(graph, x, w13->weight[1], "w3 linear");
		gate = BINARY(MUL, gate, a);
	}
	y = ws_nn_linear(graph, gate, w2, "w2 linear");
	ws_graph_scope_pop(graph);
	return y;
}

struct ws_tensor *ws_nn_residual(struct ws_graph *graph, struct ws_tensor *a, struct ws_tensor *b)
{
	ws_graph_scope_push(graph, WSNVTX_OP_elementwise, "residual");
	struct ws_tensor *y = BINARY(ADD, a, b);
	ws_graph_scope_pop(graph);
	return y;
}

struct ws_tensor *ws_nn_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target, bool of_torch)
{
	struct ws_tensor *z, *log_sum, *loss;

	ws_graph_scope_push(graph, WSNVTX_OP_loss, "cross-entropy");
	/* outputs of a 16-bit model are cast back, as apex does */
	if (graph->fusion != WS_FUSION_FULL && (of_torch || !graph->autocast))
		logits = ws_op_cast(graph, logits, ws_dtype_exact(logits->dtype));
	if (graph->fusion == WS_FUSION_FULL) {
		loss = ws_op_cross_entropy(graph, logits, target);
	} else if (of_torch) {
		loss = ws_op_nll_loss(graph, ws_op_log_softmax(graph, logits), target);
	} else {
		z = BINARY(SUB, logits, REDUCE(MAX, logits));
		log_sum = UNARY(LOG, REDUCE(SUM, UNARY(EXP, z, 0)), 0);
		loss = UNARY(NEG, BINARY(SUB, z, log_sum), 0);
		loss = REDUCE(MEAN, ws_op_gather(graph, loss, target));
	}
	ws_graph_scope_pop(graph);
	return loss;
}

/* --- image networks ------------------------------------------------------------------------ */

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
	int64_t window = f.r * f.s, c = f.c / f.groups;
	struct ws_init init = weight_init(net->conv_weights, c * window, f.k * window);

	if (!ws_conv_outputs(&f))
		return too_small(net, name, f.r, f.s, f.h, f.w);
	layer_begin(net, WSNVTX_OP_other, name);
	init.value *= shape.gain ? shape.gain : 1;
	struct ws_tensor *weight =
	        param(net, name, "weight", ws_image_shape(f.layout, f.k, c, f.r, f.s), init);
	weight->channels_last = f.layout == WS_LAYOUT_NHWC;
	struct ws_image y = {NULL, f.n, f.k, f.p, f.q};
	y.data = ws_op_conv(net->graph, x.data, weight, f);
	if (shape.bias)
		y.data = ws_op_bias(net->graph, y.data,
		                    param(net, name, "bias", WS_SHAPE(f.k),
		                          bias_init(net->conv_weights, c * window)),
		                    channels_of(net, &y));
	layer_end(net);
	return y;
}

/* Numbers of channels of a batch norm: parameters, or running statistics. */
static struct ws_tensor *norm_numbers(struct ws_image_net *net, enum ws_role role,
                                      const char *layer, const char *name, int64_t channels,
                                      double value)
{
	const char *full = ws_graph_text(net->graph, "%s.%s", layer, name);
	struct ws_tensor *t = ws_graph_tensor(net->graph, full, role,
	                                      ws_graph_norm_dtype(net->graph), WS_SHAPE(channels));

	t->init = (struct ws_init){WS_INIT_FILL, value};
	t->requires_grad = role == WS_ROLE_PARAM;
	return t;
}

struct ws_image ws_nn_batch_norm(struct ws_image_net *net, const char *name, struct ws_image x)
{
	struct ws_norm norm = {.eps = BATCH_NORM_EPS, .momentum = BATCH_NORM_MOMENTUM};

	norm.ch = channels_of(net, &x);
	layer_begin(net, WSNVTX_OP_norm, name);
	struct ws_tensor *gamma = norm_numbers(net, WS_ROLE_PARAM, name, "weight", x.c, 1);
	struct ws_tensor *beta = norm_numbers(net, WS_ROLE_PARAM, name, "bias", x.c, 0);
	struct ws_tensor *mean = norm_numbers(net, WS_ROLE_STATE, name, "running_mean", x.c, 0);
	struct ws_tensor *var = norm_numbers(net, WS_ROLE_STATE, name, "running_var", x.c, 1);
	x.data = ws_op_batch_norm(net->graph, x.data, gamma, beta, mean, var, norm);
	layer_end(net);
	return x;
}

static struct ws_image activation(struct ws_image_net *net, const char *name, struct ws_image x,
                                  enum ws_sub sub, double alpha)
{
	struct ws_tensor *fused = net->graph->fusion == WS_FUSION_FULL
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
		return activation(net, name, x, WS_SUB_RELU, 0);
	case WS_ACTIVATION_LEAKY_RELU:
		return activation(net, name, x, WS_SUB_LEAKY_RELU, LEAKY_RELU_SLOPE);
	case WS_ACTIVATION_TANH:
		return ws_nn_tanh(net, name, x);
	case WS_ACTIVATION_NONE:
		break;
	}
	return x;
}

struct ws_image ws_nn_tanh(struct ws_image_net *net, const char *name, struct ws_image x)
{
	return activation(net, name, x, WS_SUB_TANH, 0);
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

	if (!ws_window_outputs(&window))
		return too_small(net, name, size, size, x.h, x.w);
	layer_begin(net, WSNVTX_OP_pool, name);
	struct ws_image y = {NULL, x.n, x.c, window.p, window.q};
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

struct ws_image ws_nn_dropout(struct ws_image_net *net, const char *name, struct ws_image x,
                              double p)
{
	struct ws_dropout dropout = {.rng = ws_rng_stream(net->seed, name), .p = p};

	layer_begin(net, WSNVTX_OP_rng, name);
	if (!net->step)
		net->step = ws_graph_tensor(net->graph, "step number", WS_ROLE_INPUT, WS_DTYPE_I32,
		                            WS_SHAPE(1));
	x.data = ws_op_dropout(net->graph, x.data, net->step, dropout);
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

struct ws_image ws_nn_flatten(struct ws_image_net *net, struct ws_image x)
{
	int64_t plane = x.h * x.w;
	struct ws_image y = {x.data, x.n, x.c * plane, 1, 1};

	if (net->layout == WS_LAYOUT_NCHW || plane == 1)
		return y;
	layer_begin(net, WSNVTX_OP_copy, "flatten");
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
	enum ws_dtype dtype = x.data->dtype;

	layer_begin(net, WSNVTX_OP_norm, name);
	struct ws_tensor *weight =
	        param(net, name, "weight", WS_SHAPE(x.c), (struct ws_init){WS_INIT_FILL, 1});
	struct ws_tensor *bias =
	        param(net, name, "bias", WS_SHAPE(x.c), (struct ws_init){WS_INIT_FILL, 0});
	struct ws_tensor *y = ws_op_cast(graph, x.data, ws_dtype_exact(dtype));
	struct ws_tensor *centred =
	        ws_op_binary(graph, WS_SUB_SUB, y, ws_op_reduce(graph, WS_SUB_MEAN, y));
	y = ws_op_unary(graph, WS_SUB_SQUARE, centred, 0);
	y = ws_op_reduce(graph, WS_SUB_MEAN, y);
	struct ws_tensor *inverse =
	        ws_op_unary(graph, WS_SUB_RSQRT,
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
