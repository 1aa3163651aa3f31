#include "kernels/graph/append.h"

struct ws_shape ws_image_shape(enum ws_layout layout, int64_t n, int64_t c, int64_t h, int64_t w)
{
	return layout == WS_LAYOUT_NCHW ? WS_SHAPE(n, c, h, w) : WS_SHAPE(n, h, w, c);
}

/* --- convolution ------------------------------------------------------------------ */

static bool outputs(int64_t size, int64_t window, int64_t stride, int64_t pad, int64_t *count)
{
	if (window < 1 || stride < 1 || pad < 0 || size + 2 * pad < window)
		return false;
	*count = (size + 2 * pad - window) / stride + 1;
	return true;
}

bool ws_conv_outputs(struct ws_conv *conv)
{
	return outputs(conv->h, conv->r, conv->stride, conv->pad_h, &conv->p) &&
	       outputs(conv->w, conv->s, conv->stride, conv->pad_w, &conv->q);
}

bool ws_window_outputs(struct ws_window *window)
{
	return outputs(window->h, window->r, window->stride, window->pad, &window->p) &&
	       outputs(window->w, window->s, window->stride, window->pad, &window->q);
}

/* Whether a geometry holds together and its FLOPs can be counted. */
static bool conv_is_sound(const struct ws_conv *conv)
{
	struct ws_conv own = *conv;
	int64_t count;

	return conv->groups > 0 && conv->c % conv->groups == 0 && conv->k % conv->groups == 0 &&
	       ws_conv_outputs(&own) && own.p == conv->p && own.q == conv->q &&
	       !__builtin_mul_overflow(conv->n, conv->k, &count) &&
	       !__builtin_mul_overflow(count, conv->p * conv->q, &count) &&
	       !__builtin_mul_overflow(count, 2 * (conv->c / conv->groups), &count) &&
	       !__builtin_mul_overflow(count, conv->r * conv->s, &count);
}

struct ws_tensor *ws_op_conv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *weight,
                             struct ws_conv conv)
{
	struct ws_op op = {.sub = WS_SUB_FPROP, .in_count = 2, .u.conv = conv};

	op.in[0] = x = ws_autocast(graph, op.sub, x);
	op.in[1] = weight = ws_autocast(graph, op.sub, weight);
	WS_OP_FAIL_IF(graph, op,
	              !conv_is_sound(&conv) ||
	                      !ws_tensor_has_count(x, conv.n, conv.c, conv.h, conv.w) ||
	                      !ws_tensor_has_count(weight, conv.k, conv.c / conv.groups, conv.r,
	                                           conv.s) ||
	                      x->dtype != weight->dtype);
	return ws_op_append(graph, &op, x->dtype,
	                    ws_image_shape(conv.layout, conv.n, conv.k, conv.p, conv.q));
}

/* --- bias and batch norm ---------------------------------------------------------- */

static bool has_channels(const struct ws_tensor *t, const struct ws_channels *ch)
{
	return ws_tensor_has_count(t, ch->outer, ch->channels, ch->inner, 1);
}

struct ws_tensor *ws_op_bias(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *bias,
                             struct ws_channels ch)
{
	struct ws_op op = {.sub = WS_SUB_BIAS_ADD, .in_count = 2, .u.ch = ch};

	op.in[0] = x = ws_autocast(graph, op.sub, x);
	op.in[1] = bias = ws_autocast(graph, op.sub, bias);
	WS_OP_FAIL_IF(graph, op, !has_channels(x, &ch) || bias->count != ch.channels);
	return ws_op_append(graph, &op, ws_dtype_promote(x->dtype, bias->dtype), x->shape);
}

struct ws_tensor *ws_op_batch_norm(struct ws_graph *graph, struct ws_tensor *x,
                                   struct ws_tensor *gamma, struct ws_tensor *beta,
                                   struct ws_tensor *running_mean, struct ws_tensor *running_var,
                                   struct ws_norm norm)
{
	struct ws_op op = {.sub = WS_SUB_BATCH_NORM,
	                   .in_count = 5,
	                   .in = {x, gamma, beta, running_mean, running_var},
	                   .u.norm = norm};
	int64_t channels = norm.ch.channels;
	enum ws_dtype dtype;

	WS_OP_FAIL_IF(graph, op,
	              !has_channels(x, &norm.ch) || gamma->count != channels ||
	                      beta->count != channels || running_mean->count != channels ||
	                      running_var->count != channels);
	if (x->count == channels)
		return ws_graph_fail(graph, WS_USAGE,
		                     "batch norm needs more than one value in each "
		                     "channel: a larger batch or input");
	dtype = ws_dtype_exact(x->dtype);
	ws_op_add_main_result(graph, &op, x->dtype, x->shape);
	ws_op_add_result(graph, &op, "batch mean", dtype, WS_SHAPE(channels));
	ws_op_add_result(graph, &op, "batch 1/deviation", dtype, WS_SHAPE(channels));
	op.out[op.out_count++] = running_mean;
	op.out[op.out_count++] = running_var;
	return ws_graph_append(graph, &op);
}

/* --- pooling ---------------------------------------------------------------------- */

static bool window_is_sound(const struct ws_window *w)
{
	struct ws_window own = *w;

	if (w->p < 1 || w->q < 1)
		return false;
	if (w->r == 0) /* adaptive */
		return w->s == 0;
	/* more padding would leave windows without any input */
	return 2 * w->pad <= w->r && 2 * w->pad <= w->s && ws_window_outputs(&own) &&
	       own.p == w->p && own.q == w->q;
}

/* A position within a plane is kept as int32. */
static bool plane_fits(const struct ws_window *w)
{
	int64_t plane;

	return !__builtin_mul_overflow(w->h, w->w, &plane) && plane <= INT32_MAX;
}

struct ws_tensor *ws_op_max_pool(struct ws_graph *graph, struct ws_tensor *x, struct ws_window w)
{
	struct ws_op op = {.sub = WS_SUB_MAX_POOL, .in_count = 1, .in = {x}, .u.window = w};
	struct ws_shape shape = ws_image_shape(w.layout, w.n, w.c, w.p, w.q);

	WS_OP_FAIL_IF(graph, op,
	              !window_is_sound(&w) || w.r == 0 ||
	                      !ws_tensor_has_count(x, w.n, w.c, w.h, w.w) || !plane_fits(&w));
	ws_op_add_main_result(graph, &op, x->dtype, shape);
	ws_op_add_result(graph, &op, "max position", WS_DTYPE_I32, shape);
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_avg_pool(struct ws_graph *graph, struct ws_tensor *x, struct ws_window w)
{
	struct ws_op op = {.sub = WS_SUB_AVG_POOL, .in_count = 1, .in = {x}, .u.window = w};

	WS_OP_FAIL_IF(graph, op,
	              !window_is_sound(&w) || w.pad != 0 ||
	                      !ws_tensor_has_count(x, w.n, w.c, w.h, w.w));
	return ws_op_append(graph, &op, x->dtype, ws_image_shape(w.layout, w.n, w.c, w.p, w.q));
}

/* --- dropout and activations ------------------------------------------------------ */

struct ws_tensor *ws_op_dropout(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *step,
                                struct ws_dropout dropout)
{
	struct ws_op op = {.sub = WS_SUB_DROPOUT,
	                   .in_count = 2,
	                   .in = {x, step},
	                   .u.dropout = dropout};

	WS_OP_FAIL_IF(graph, op,
	              step->dtype != WS_DTYPE_I32 || step->count != 1 ||
	                      !(dropout.p >= 0 && dropout.p < 1));
	ws_op_add_main_result(graph, &op, x->dtype, x->shape);
	ws_op_add_result(graph, &op, "dropout mask", x->dtype, x->shape);
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_activation_grad(struct ws_graph *graph, enum ws_sub sub,
                                        struct ws_tensor *dy, struct ws_tensor *y, double alpha)
{
	struct ws_op op = {.sub = sub, .in_count = 2, .in = {dy, y}, .u.alpha = alpha};

	WS_OP_FAIL_IF(graph, op, ws_tensor_broadcast(dy, y) == WS_BROADCAST_NONE);
	return ws_op_append(graph, &op, y->dtype, y->shape);
}

/* --- loss ----------------------------------------------------------------------------- */

struct ws_tensor *ws_op_log_softmax(struct ws_graph *graph, struct ws_tensor *x)
{
	struct ws_op op = {.sub = WS_SUB_LOG_SOFTMAX, .in_count = 1};

	op.in[0] = ws_autocast(graph, op.sub, x);
	return ws_op_append(graph, &op, op.in[0]->dtype, x->shape);
}

struct ws_tensor *ws_op_squared_error(struct ws_graph *graph, struct ws_tensor *y,
                                      struct ws_tensor *target, double alpha)
{
	struct ws_op op = {.sub = WS_SUB_SQUARED_ERROR,
	                   .in_count = 2,
	                   .in = {y, target},
	                   .u.alpha = alpha};

	WS_OP_FAIL_IF(graph, op, y->count != target->count || y->dtype != target->dtype);
	return ws_op_append(graph, &op, y->dtype, WS_SHAPE(y->count));
}

struct ws_tensor *ws_op_nll_loss(struct ws_graph *graph, struct ws_tensor *y,
                                 struct ws_tensor *target)
{
	struct ws_op op = {.sub = WS_SUB_NLL_LOSS, .in_count = 2, .in = {y, target}};

	WS_OP_FAIL_IF(graph, op,
	              target->dtype != WS_DTYPE_I32 || target->count != ws_tensor_rows(y));
	return ws_op_append(graph, &op, y->dtype, WS_SHAPE(1));
}
