#include "kernels/graph/ops_image.h"

#include "kernels/graph/append.h"
#include "kernels/graph/cast.h"

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

static bool is_input(const struct ws_tensor *t, const struct ws_conv *f)
{
	return ws_tensor_has_count(t, f->n, f->c, f->h, f->w);
}

static bool is_filter(const struct ws_tensor *t, const struct ws_conv *f)
{
	return ws_tensor_has_count(t, f->k, f->c / f->groups, f->r, f->s);
}

static bool is_output(const struct ws_tensor *t, const struct ws_conv *f)
{
	return ws_tensor_has_count(t, f->n, f->k, f->p, f->q);
}

struct ws_tensor *ws_op_conv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *weight,
                             struct ws_conv conv)
{
	struct ws_op op = {.sub = WS_SUB_FPROP, .in_count = 2, .u.conv = conv};

	op.in[0] = x = ws_autocast(graph, op.sub, x);
	op.in[1] = weight = ws_autocast(graph, op.sub, weight);
	WS_OP_FAIL_IF(graph, op,
	              !conv_is_sound(&conv) || !is_input(x, &conv) || !is_filter(weight, &conv) ||
	                      x->dtype != weight->dtype);
	return ws_op_append(graph, &op, x->dtype,
	                    ws_image_shape(conv.layout, conv.n, conv.k, conv.p, conv.q));
}

struct ws_tensor *ws_op_conv_dgrad(struct ws_graph *graph, struct ws_tensor *dy,
                                   struct ws_tensor *weight, struct ws_conv conv)
{
	struct ws_op op = {.sub = WS_SUB_DGRAD, .in_count = 2, .in = {dy, weight}, .u.conv = conv};

	WS_OP_FAIL_IF(graph, op,
	              !conv_is_sound(&conv) || !is_output(dy, &conv) || !is_filter(weight, &conv) ||
	                      dy->dtype != weight->dtype);
	return ws_op_append(graph, &op, dy->dtype,
	                    ws_image_shape(conv.layout, conv.n, conv.c, conv.h, conv.w));
}

struct ws_tensor *ws_op_conv_wgrad(struct ws_graph *graph, struct ws_tensor *x,
                                   struct ws_tensor *dy, struct ws_conv conv)
{
	struct ws_op op = {.sub = WS_SUB_WGRAD, .in_count = 2, .in = {x, dy}, .u.conv = conv};

	WS_OP_FAIL_IF(graph, op,
	              !conv_is_sound(&conv) || !is_input(x, &conv) || !is_output(dy, &conv) ||
	                      x->dtype != dy->dtype);
	/* a filter is an image of its c/groups channels */
	return ws_op_append(graph, &op, x->dtype,
	                    ws_image_shape(conv.layout, conv.k, conv.c / conv.groups, conv.r,
	                                   conv.s));
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

struct ws_tensor *ws_op_bias_grad(struct ws_graph *graph, struct ws_tensor *dy,
                                  struct ws_channels ch)
{
	struct ws_op op = {.sub = WS_SUB_BIAS_SUM, .in_count = 1, .in = {dy}, .u.ch = ch};

	WS_OP_FAIL_IF(graph, op, !has_channels(dy, &ch));
	return ws_op_append(graph, &op, dy->dtype, WS_SHAPE(ch.channels));
}

struct ws_tensor *ws_op_batch_norm(struct ws_graph *graph, struct ws_tensor *x,
                                   struct ws_tensor *gamma, struct ws_tensor *beta,
                                   struct ws_tensor *running_mean, struct ws_tensor *running_var,
                                   struct ws_norm norm)
{
	struct ws_op op = {.sub = WS_SUB_BATCH_NORM, .in_count = 5, .u.norm = norm};
	int64_t channels = norm.ch.channels;
	enum ws_dtype dtype;

	if (!x || !gamma || !beta || !running_mean || !running_var)
		return NULL;
	if (!has_channels(x, &norm.ch) || gamma->count != channels || beta->count != channels ||
	    running_mean->count != channels || running_var->count != channels)
		return ws_op_bad_shape(graph, op.sub);
	if (x->count == channels)
		return ws_graph_fail(graph, WS_USAGE,
		                     "batch norm needs more than one value in each "
		                     "channel: a larger batch or input");
	op.in[0] = x;
	op.in[1] = gamma;
	op.in[2] = beta;
	op.in[3] = running_mean;
	op.in[4] = running_var;
	dtype = ws_dtype_of_statistics(x->dtype);
	if (!ws_op_add_result(graph, &op, "batch norm", x->dtype, x->shape) ||
	    !ws_op_add_result(graph, &op, "batch mean", dtype, WS_SHAPE(channels)) ||
	    !ws_op_add_result(graph, &op, "batch 1/deviation", dtype, WS_SHAPE(channels)))
		return NULL;
	op.out[op.out_count++] = running_mean;
	op.out[op.out_count++] = running_var;
	op.out[0]->requires_grad = x->requires_grad || gamma->requires_grad || beta->requires_grad;
	return ws_graph_append(graph, &op);
}

void ws_op_batch_norm_grad(struct ws_graph *graph, const struct ws_op *forward,
                           struct ws_tensor *dy, struct ws_tensor *grads[3])
{
	struct ws_op op = {.sub = WS_SUB_BATCH_NORM_GRAD, .in_count = 5, .u.norm = forward->u.norm};
	static const char *const names[3] = {"batch norm grad", "gamma grad", "beta grad"};

	op.in[0] = dy;
	op.in[1] = forward->in[0];
	op.in[2] = forward->in[1];
	op.in[3] = forward->out[1];
	op.in[4] = forward->out[2];
	ws_op_append_grads(graph, &op, forward, names, 3, grads);
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
	if (!ws_op_add_result(graph, &op, "max pool", x->dtype, shape) ||
	    !ws_op_add_result(graph, &op, "max position", WS_DTYPE_I32, shape))
		return NULL;
	op.out[0]->requires_grad = x->requires_grad;
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_max_pool_grad(struct ws_graph *graph, struct ws_tensor *dy,
                                      struct ws_tensor *index, struct ws_shape shape,
                                      struct ws_window w)
{
	struct ws_op op = {.sub = WS_SUB_MAX_POOL_GRAD,
	                   .in_count = 2,
	                   .in = {dy, index},
	                   .u.window = w};

	WS_OP_FAIL_IF(graph, op,
	              !window_is_sound(&w) || w.r == 0 ||
	                      !ws_tensor_has_count(dy, w.n, w.c, w.p, w.q) ||
	                      index->count != dy->count || index->dtype != WS_DTYPE_I32);
	return ws_op_append(graph, &op, dy->dtype, shape);
}

struct ws_tensor *ws_op_avg_pool(struct ws_graph *graph, struct ws_tensor *x, struct ws_window w)
{
	struct ws_op op = {.sub = WS_SUB_AVG_POOL, .in_count = 1, .in = {x}, .u.window = w};

	WS_OP_FAIL_IF(graph, op,
	              !window_is_sound(&w) || w.pad != 0 ||
	                      !ws_tensor_has_count(x, w.n, w.c, w.h, w.w));
	return ws_op_append(graph, &op, x->dtype, ws_image_shape(w.layout, w.n, w.c, w.p, w.q));
}

struct ws_tensor *ws_op_avg_pool_grad(struct ws_graph *graph, struct ws_tensor *dy,
                                      struct ws_shape shape, struct ws_window w)
{
	struct ws_op op = {.sub = WS_SUB_AVG_POOL_GRAD, .in_count = 1, .in = {dy}, .u.window = w};

	WS_OP_FAIL_IF(graph, op,
	              !window_is_sound(&w) || w.pad != 0 ||
	                      !ws_tensor_has_count(dy, w.n, w.c, w.p, w.q));
	return ws_op_append(graph, &op, dy->dtype, shape);
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
	if (!ws_op_add_result(graph, &op, "dropout", x->dtype, x->shape) ||
	    !ws_op_add_result(graph, &op, "dropout mask", x->dtype, x->shape))
		return NULL;
	op.out[0]->requires_grad = x->requires_grad;
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_activation_grad(struct ws_graph *graph, enum ws_sub sub,
                                        struct ws_tensor *dy, struct ws_tensor *y, double alpha)
{
	struct ws_op op = {.sub = sub, .in_count = 2, .in = {dy, y}, .u.alpha = alpha};

	WS_OP_FAIL_IF(graph, op, ws_tensor_broadcast(dy, y) == WS_BROADCAST_NONE);
	return ws_op_append(graph, &op, y->dtype, y->shape);
}
