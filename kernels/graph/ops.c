#include "kernels/graph/graph.h"

/* An op of some operands, as a value. */
#define OP(SUB, ...)                                                                    \
	((struct ws_op){.sub = WS_SUB_##SUB,                                            \
	                .in_count = (int)(sizeof((struct ws_tensor *[]){__VA_ARGS__}) / \
	                                  sizeof(struct ws_tensor *)),                  \
	                .in = {__VA_ARGS__}})

/* Fail the graph: the operands of an op have shapes or dtypes that it does not take. */
static struct ws_tensor *fail_unfit(struct ws_graph *graph, const struct ws_op *op)
{
	return ws_graph_fail(graph, WS_BUG, "op %s: its operands do not fit together",
	                     ws_sub_info(op->sub)->name);
}

/* Whether t has as many elements as a shape, whose sizes may overflow. */
static bool has_count(const struct ws_tensor *t, struct ws_shape shape)
{
	int64_t count;
	uint64_t size_bytes;

	return ws_shape_measure(&shape, t->dtype, &count, &size_bytes) && count == t->count;
}

struct ws_tensor *ws_op_add_result(struct ws_graph *graph, struct ws_op *op, const char *name,
                                   enum ws_dtype dtype, struct ws_shape shape)
{
	struct ws_tensor *t = ws_graph_tensor(graph, name, WS_ROLE_ACTIVATION, dtype, shape);

	op->out[op->out_count++] = t;
	return t;
}

/* A result named after the op; it needs a gradient when an operand does. */
static struct ws_tensor *add_main_result(struct ws_graph *graph, struct ws_op *op,
                                         enum ws_dtype dtype, struct ws_shape shape)
{
	struct ws_tensor *t = ws_op_add_result(graph, op, ws_sub_info(op->sub)->name, dtype, shape);

	for (int i = 0; i < op->in_count; i++)
		t->requires_grad |= op->in[i]->requires_grad;
	return t;
}

struct ws_tensor *ws_op_append(struct ws_graph *graph, struct ws_op *op, enum ws_dtype dtype,
                               struct ws_shape shape)
{
	add_main_result(graph, op, dtype, shape);
	return ws_graph_append(graph, op);
}

/* The same where the operands fit. */
static struct ws_tensor *append_fit(struct ws_graph *graph, bool fit, struct ws_op *op,
                                    enum ws_dtype dtype, struct ws_shape shape)
{
	return fit ? ws_op_append(graph, op, dtype, shape) : fail_unfit(graph, op);
}

static struct ws_shape with_cols(const struct ws_tensor *t, int64_t cols)
{
	struct ws_shape shape = t->shape;

	shape.dim[shape.ndim - 1] = cols;
	return shape;
}

/* --- casts
 * ---------------------------------------------------------------------------------------- */

struct ws_tensor *ws_op_cast(struct ws_graph *graph, struct ws_tensor *x, enum ws_dtype dtype)
{
	struct ws_op op = OP(CAST, x);

	if (x->dtype == dtype)
		return x;
	op.message = ws_graph_text(graph, "cast to %s", ws_dtype_name(dtype));
	return ws_op_append(graph, &op, dtype, x->shape);
}

struct ws_tensor *ws_op_cast_into(struct ws_graph *graph, struct ws_tensor *x,
                                  struct ws_tensor *out)
{
	struct ws_op op = OP(CAST, x);

	op.out[op.out_count++] = out;
	op.message = ws_graph_text(graph, "cast to %s", ws_dtype_name(out->dtype));
	return x->count == out->count ? ws_graph_append(graph, &op) : fail_unfit(graph, &op);
}

/*
 * t as op `sub` wants it: t itself, or the result of a cast op appended now. The rules are
 * torch.autocast's (policy column of op.def): products in the low type, exp, log, powers and sums
 * in fp32, the rest in the type that comes. A parameter is cast once a forward pass, activations
 * for every op.
 */
static struct ws_tensor *autocast(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *t)
{
	enum ws_autocast policy = ws_sub_info(sub)->autocast;
	enum ws_dtype target = policy == WS_AUTOCAST_LOW ? graph->precision.low : WS_DTYPE_F32;

	/* the kernels read mixed operands as they are */
	if (!graph->autocast || !ws_dtype_is_float(t->dtype) || t->dtype == target ||
	    (policy != WS_AUTOCAST_LOW && policy != WS_AUTOCAST_F32))
		return t;
	if (t->role != WS_ROLE_PARAM)
		return ws_op_cast(graph, t, target);
	if (!t->low)
		t->low = ws_op_cast(graph, t, target);
	return t->low;
}

/* An op of two operands as it wants them: the cast of the first comes first. */
static struct ws_op cast_pair(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                              struct ws_tensor *b)
{
	struct ws_op op = {.sub = sub, .in_count = 2};

	op.in[0] = autocast(graph, sub, a);
	op.in[1] = autocast(graph, sub, b);
	return op;
}

/* What a fused op writes for a matrix product to read, of values of a dtype. */
static enum ws_dtype low_dtype(const struct ws_graph *graph, enum ws_dtype dtype)
{
	return graph->autocast ? graph->precision.low : dtype;
}

/* --- primitives
 * ------------------------------------------------------------------------------------ */

struct ws_tensor *ws_op_gemm(struct ws_graph *graph, struct ws_tensor *a, struct ws_tensor *b,
                             struct ws_gemm g, struct ws_shape out, const char *message)
{
	struct ws_op op = cast_pair(graph, WS_SUB_MATMUL, a, b);
	struct ws_shape mn = WS_SHAPE(g.batch, g.m, g.n);
	int64_t mn_count, out_count, multiply_adds;
	enum ws_dtype dtype = op.in[0]->dtype;
	uint64_t bytes;

	op.message = message;
	op.u.gemm = g;
	return append_fit(graph,
	                  has_count(op.in[0], WS_SHAPE(g.batch, g.m, g.k, 1)) &&
	                          has_count(op.in[1], WS_SHAPE(g.batch, g.k, g.n, 1)) &&
	                          ws_shape_measure(&mn, dtype, &mn_count, &bytes) &&
	                          ws_shape_measure(&out, dtype, &out_count, &bytes) &&
	                          out_count == mn_count && dtype == op.in[1]->dtype &&
	                          !__builtin_mul_overflow(mn_count, g.k, &multiply_adds),
	                  &op, dtype, out);
}

struct ws_tensor *ws_op_unary(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                              double alpha)
{
	struct ws_op op = {.sub = sub, .in_count = 1, .u.alpha = alpha};

	op.in[0] = autocast(graph, sub, x);
	return ws_op_append(graph, &op, op.in[0]->dtype, x->shape);
}

struct ws_tensor *ws_op_binary_into(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                                    struct ws_tensor *b, struct ws_tensor *out)
{
	struct ws_op op = {.sub = sub, .in_count = 2, .out_count = 1, .in = {a, b}, .out = {out}};

	return ws_tensor_broadcast(a, out) != WS_BROADCAST_NONE &&
	                       ws_tensor_broadcast(b, out) != WS_BROADCAST_NONE
	               ? ws_graph_append(graph, &op)
	               : fail_unfit(graph, &op);
}

struct ws_tensor *ws_op_binary(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                               struct ws_tensor *b)
{
	struct ws_op op = cast_pair(graph, sub, a, b);

	a = op.in[0];
	b = op.in[1];
	return ws_op_binary_into(graph, sub, a, b,
	                         add_main_result(graph, &op, ws_dtype_promote(a->dtype, b->dtype),
	                                         (b->count > a->count ? b : a)->shape));
}

struct ws_tensor *ws_op_activation_grad(struct ws_graph *graph, enum ws_sub sub,
                                        struct ws_tensor *dy, struct ws_tensor *y, double alpha)
{
	struct ws_op op = {.sub = sub, .in_count = 2, .in = {dy, y}, .u.alpha = alpha};

	return append_fit(graph, ws_tensor_broadcast(dy, y) != WS_BROADCAST_NONE, &op, y->dtype,
	                  y->shape);
}

struct ws_tensor *ws_op_reduce(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x)
{
	struct ws_op op = {.sub = sub, .in_count = 1};

	op.in[0] = x = autocast(graph, sub, x);
	struct ws_tensor *y =
	        ws_op_append(graph, &op, x->dtype,
	                     sub == WS_SUB_COLSUM ? WS_SHAPE(ws_tensor_cols(x)) : with_cols(x, 1));
	if (sub == WS_SUB_MAX)
		y->requires_grad = false;
	return y;
}

struct ws_tensor *ws_op_expand(struct ws_graph *graph, struct ws_tensor *x,
                               const struct ws_tensor *like)
{
	struct ws_op op = OP(EXPAND, x);

	if (x->count == like->count)
		return x;
	return append_fit(graph, ws_tensor_broadcast(x, like) != WS_BROADCAST_NONE, &op, x->dtype,
	                  like->shape);
}

struct ws_tensor *ws_op_fill(struct ws_graph *graph, enum ws_dtype dtype, struct ws_shape shape,
                             double value)
{
	struct ws_op op = {.sub = WS_SUB_FILL, .u.alpha = value};

	return ws_op_append(graph, &op, dtype, shape);
}

struct ws_tensor *ws_op_permute(struct ws_graph *graph, struct ws_tensor *x, const int64_t dims[4],
                                struct ws_shape out, const char *message)
{
	struct ws_op op = OP(PERMUTE, x);

	op.message = message;
	memcpy(op.u.dims, dims, sizeof(op.u.dims));
	return append_fit(graph,
	                  has_count(x, WS_SHAPE(dims[0], dims[1], dims[2], dims[3])) &&
	                          has_count(x, out),
	                  &op, x->dtype, out);
}

static bool rope_fits(const struct ws_tensor *x, int parts, const struct ws_tensor *table,
                      struct ws_heads head)
{
	return has_count(x, WS_SHAPE(parts * head.batch, head.heads, head.time, head.width)) &&
	       head.width % 2 == 0 && table->count == head.time * head.width;
}

struct ws_tensor *ws_op_rope(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                             struct ws_tensor *table, struct ws_heads head, const char *message)
{
	struct ws_op op = {
	        .sub = sub, .in_count = 2, .in = {x, table}, .message = message, .u.head = head};
	struct ws_shape split = WS_SHAPE(head.batch, head.heads, head.time, head.width);
	struct ws_shape merged = WS_SHAPE(head.batch, head.time, head.heads * head.width);

	return append_fit(graph, rope_fits(x, 1, table, head), &op,
	                  ws_dtype_promote(x->dtype, table->dtype),
	                  sub == WS_SUB_ROTATE ? split : merged);
}

struct ws_tensor *ws_op_embedding(struct ws_graph *graph, struct ws_tensor *table,
                                  struct ws_tensor *index)
{
	struct ws_op op = OP(LOOKUP, table, index);
	struct ws_shape shape = index->shape;

	if (table->shape.ndim != 2 || shape.ndim >= WS_DIMS_MAX || index->dtype != WS_DTYPE_I32)
		return fail_unfit(graph, &op);
	shape.dim[shape.ndim++] = ws_tensor_cols(table);
	return ws_op_append(graph, &op, table->dtype, shape);
}

/* An index of each row of x. */
static bool is_index(const struct ws_tensor *index, const struct ws_tensor *x)
{
	return index->dtype == WS_DTYPE_I32 && index->count == ws_tensor_rows(x);
}

struct ws_tensor *ws_op_gather(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *index)
{
	struct ws_op op = OP(PICK, x, index);

	return append_fit(graph, is_index(index, x), &op, x->dtype, WS_SHAPE(index->count));
}

struct ws_tensor *ws_op_log_softmax(struct ws_graph *graph, struct ws_tensor *x)
{
	struct ws_op op = OP(LOG_SOFTMAX, autocast(graph, WS_SUB_LOG_SOFTMAX, x));

	return ws_op_append(graph, &op, op.in[0]->dtype, x->shape);
}

struct ws_tensor *ws_op_nll_loss(struct ws_graph *graph, struct ws_tensor *y,
                                 struct ws_tensor *target)
{
	struct ws_op op = OP(NLL_LOSS, y, target);

	return append_fit(graph, is_index(target, y), &op, y->dtype, WS_SHAPE(1));
}

struct ws_tensor *ws_op_squared_error(struct ws_graph *graph, struct ws_tensor *y,
                                      struct ws_tensor *target, double alpha)
{
	struct ws_op op = OP(SQUARED_ERROR, y, target);

	op.u.alpha = alpha;
	return append_fit(graph, y->count == target->count && y->dtype == target->dtype, &op,
	                  y->dtype, WS_SHAPE(y->count));
}

/* --- fused ops
 * -------------------------------------------------------------------------------------- */

struct ws_tensor *ws_op_softmax(struct ws_graph *graph, struct ws_tensor *x, double scale)
{
	struct ws_op op = OP(CAUSAL_SOFTMAX, x);

	op.u.alpha = scale;
	return append_fit(graph, ws_tensor_rows(x) % ws_tensor_cols(x) == 0, &op,
	                  low_dtype(graph, x->dtype), x->shape);
}

struct ws_tensor *ws_op_attention(struct ws_graph *graph, struct ws_tensor *q, struct ws_tensor *k,
                                  struct ws_tensor *v, double scale)
{
	struct ws_op op = OP(CAUSAL_ATTENTION, q, k, v);
	struct ws_heads *head = &op.u.attention.head;
	int64_t flops;

	for (int i = 0; i < 3; i++) {
		op.in[i] = autocast(graph, op.sub, op.in[i]);
		if (op.in[i]->shape.ndim != 4 || op.in[i]->dtype != op.in[0]->dtype ||
		    memcmp(op.in[i]->shape.dim, op.in[0]->shape.dim, 4 * sizeof(int64_t)))
			return fail_unfit(graph, &op);
	}
	q = op.in[0];
	*head = (struct ws_heads){q->shape.dim[0], q->shape.dim[2], q->shape.dim[1],
	                          q->shape.dim[3]};
	op.u.attention.scale = scale;
	if (head->width > WS_ATTENTION_WIDTH_MAX)
		return ws_graph_fail(graph, WS_USAGE,
		                     "fused attention takes heads of at most %d elements, not of "
		                     "%lld; use --attention eager",
		                     WS_ATTENTION_WIDTH_MAX, (long long)head->width);
	if (__builtin_mul_overflow(q->count, head->time, &flops) ||
	    __builtin_mul_overflow(flops, 10, &flops))
		return fail_unfit(graph, &op);
	add_main_result(graph, &op, q->dtype, q->shape);
	ws_op_add_result(graph, &op, "attention log sum", ws_dtype_exact(q->dtype),
	                 with_cols(q, 1));
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_rms_norm(struct ws_graph *graph, struct ws_tensor *x,
                                 struct ws_tensor *weight, double eps)
{
	struct ws_op op = OP(RMS_NORM, x, weight);

	op.u.alpha = eps;
	if (weight->count != ws_tensor_cols(x))
		return fail_unfit(graph, &op);
	add_main_result(graph, &op, low_dtype(graph, ws_dtype_promote(x->dtype, weight->dtype)),
	                x->shape);
	ws_op_add_result(graph, &op, "inverse rms", ws_dtype_exact(x->dtype), with_cols(x, 1));
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_swiglu(struct ws_graph *graph, struct ws_tensor *x)
{
	struct ws_op op = OP(SWIGLU, x);

	return append_fit(graph, ws_tensor_cols(x) % 2 == 0, &op, low_dtype(graph, x->dtype),
	                  with_cols(x, ws_tensor_cols(x) / 2));
}

void ws_op_rope_qkv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *table,
                    struct ws_heads head, struct ws_tensor *qkv[3])
{
	struct ws_op op = OP(ROTATE_QKV, x, table);
	struct ws_shape split = WS_SHAPE(head.batch, head.heads, head.time, head.width);

	op.u.head = head;
	if (!rope_fits(x, 3, table, head))
		fail_unfit(graph, &op);
	for (int i = 0; i < 3; i++)
		qkv[i] = add_main_result(graph, &op, x->dtype, split);
	ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_bias_activation(struct ws_graph *graph, struct ws_tensor *x,
                                        enum ws_sub act, double alpha)
{
	struct ws_op *last = graph->op_count ? graph->ops[graph->op_count - 1] : NULL;
	struct ws_scope *scope = graph->scope;
	enum wsnvtx_op_kind kind = graph->kind;
	int32_t layer = graph->layer;
	struct ws_op op;
	enum ws_sub sub = act == WS_SUB_RELU         ? WS_SUB_BIAS_RELU
	                  : act == WS_SUB_LEAKY_RELU ? WS_SUB_BIAS_LEAKY_RELU
	                  : act == WS_SUB_TANH       ? WS_SUB_BIAS_TANH
	                                             : WS_SUB_COUNT;

	if (graph->err.status != WS_OK || !last || last->sub != WS_SUB_BIAS_ADD ||
	    last->out[0] != x || sub == WS_SUB_COUNT)
		return NULL;
	/* x stays without an op that writes it: the exec refuses an op that still reads it */
	op = (struct ws_op){.sub = sub,
	                    .in_count = 2,
	                    .in = {last->in[0], last->in[1]},
	                    .u.bias = {last->u.ch, alpha}};
	graph->op_count--;
	graph->scope = last->scope;
	graph->layer = last->payload.layer;
	graph->kind = WSNVTX_OP_activation;
	struct ws_tensor *y = ws_op_append(graph, &op, x->dtype, x->shape);
	graph->scope = scope;
	graph->layer = layer;
	graph->kind = kind;
	return y;
}

struct ws_tensor *ws_op_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target)
{
	struct ws_op op = OP(CROSS_ENTROPY, logits, target);

	if (!is_index(target, logits))
		return fail_unfit(graph, &op);
	add_main_result(graph, &op, ws_dtype_exact(logits->dtype), WS_SHAPE(1));
	ws_op_add_result(graph, &op, "logits grad",
	                 logits->dtype == WS_DTYPE_F16 ? WS_DTYPE_F32 : logits->dtype,
	                 logits->shape);
	return ws_graph_append(graph, &op);
}

/* --- optimizers
 * --------------------------------------------------------------------------------------- */

/* A copy of the rows, whose tensors must fit: the update of an op. */
static bool copy_rows(struct ws_graph *graph, struct ws_op *op, const struct ws_update_row *list,
                      int count)
{
	struct ws_update_row *copy = ws_graph_alloc(graph, (size_t)count * sizeof(*copy));

	memcpy(copy, list, (size_t)count * sizeof(*copy));
	op->u.update.list = copy;
	op->u.update.count = count;
	for (int i = 0; i < count; i++)
		for (int k = 0; k < WS_UPDATE_TENSORS; k++)
			if (copy[i].t[k] && (copy[i].t[k]->count != copy[i].t[0]->count ||
			                     copy[i].t[k]->dtype != copy[0].t[0]->dtype))
				return false;
	return true;
}

struct ws_tensor *ws_op_update(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                               struct ws_tensor *y, const struct ws_update_row *list, int count,
                               struct ws_update_factors factors, const char *message)
{
	struct ws_op op = {.sub = sub, .message = message};

	if (count < 1)
		return NULL;
	if (!copy_rows(graph, &op, list, count))
		return fail_unfit(graph, &op);
	op.u.update.factors = factors;
	if (x)
		op.in[op.in_count++] = x;
	if (y)
		op.in[op.in_count++] = y;
	for (int k = 0; k < WS_UPDATE_TENSORS; k++) {
		if (list->t[k] && ws_update_reads(sub, k))
			op.in[op.in_count++] = list->t[k];
		if (list->t[k] && ws_update_writes(sub, k))
			op.out[op.out_count++] = list->t[k];
	}
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_clip_norm(struct ws_graph *graph, const struct ws_update_row *list,
                                  int count, double largest)
{
	struct ws_op op = OP(CLIP_NORM, list->t[0]);

	if (!copy_rows(graph, &op, list, count))
		return fail_unfit(graph, &op);
	op.u.update.factors.alpha = largest;
	ws_op_add_result(graph, &op, "clip", ws_dtype_exact(list->t[0]->dtype), WS_SHAPE(1));
	return ws_graph_append(graph, &op);
}

/* --- images
 * --------------------------------------------------------------------------------------------- */

struct ws_shape ws_image_shape(enum ws_layout layout, int64_t n, int64_t c, int64_t h, int64_t w)
{
	return layout == WS_LAYOUT_NCHW ? WS_SHAPE(n, c, h, w) : WS_SHAPE(n, h, w, c);
}

static bool window_outputs(int64_t size, int64_t window, int64_t stride, int64_t pad,
                           int64_t *count)
{
	if (window < 1 || stride < 1 || pad < 0 || size + 2 * pad < window)
		return false;
	*count = (size + 2 * pad - window) / stride + 1;
	return true;
}

bool ws_conv_outputs(struct ws_conv *conv)
{
	return window_outputs(conv->h, conv->r, conv->stride, conv->pad_h, &conv->p) &&
	       window_outputs(conv->w, conv->s, conv->stride, conv->pad_w, &conv->q);
}

bool ws_window_outputs(struct ws_window *w)
{
	return window_outputs(w->h, w->r, w->stride, w->pad, &w->p) &&
	       window_outputs(w->w, w->s, w->stride, w->pad, &w->q);
}

struct ws_tensor *ws_op_conv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *weight,
                             struct ws_conv f)
{
	struct ws_op op = cast_pair(graph, WS_SUB_FPROP, x, weight);

	struct ws_conv own = f;
	int64_t count;
	/* the geometry holds together and its FLOPs can be counted */
	const bool is_sound = f.groups > 0 && f.c % f.groups == 0 && f.k % f.groups == 0 &&
	                      ws_conv_outputs(&own) && own.p == f.p && own.q == f.q &&
	                      !__builtin_mul_overflow(f.n, f.k, &count) &&
	                      !__builtin_mul_overflow(count, f.p * f.q, &count) &&
	                      !__builtin_mul_overflow(count, 2 * (f.c / f.groups), &count) &&
	                      !__builtin_mul_overflow(count, f.r * f.s, &count);

	op.u.conv = f;
	return append_fit(graph,
	                  is_sound && has_count(op.in[0], WS_SHAPE(f.n, f.c, f.h, f.w)) &&
	                          has_count(op.in[1], WS_SHAPE(f.k, f.c / f.groups, f.r, f.s)) &&
	                          op.in[0]->dtype == op.in[1]->dtype,
	                  &op, op.in[0]->dtype, ws_image_shape(f.layout, f.n, f.k, f.p, f.q));
}

static bool has_channels(const struct ws_tensor *t, const struct ws_channels *ch)
{
	return has_count(t, WS_SHAPE(ch->outer, ch->channels, ch->inner, 1));
}

struct ws_tensor *ws_op_bias(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *bias,
                             struct ws_channels ch)
{
	struct ws_op op = cast_pair(graph, WS_SUB_BIAS_ADD, x, bias);

	op.u.ch = ch;
	return append_fit(graph, has_channels(x, &ch) && bias->count == ch.channels, &op,
	                  ws_dtype_promote(op.in[0]->dtype, op.in[1]->dtype), x->shape);
}

struct ws_tensor *ws_op_batch_norm(struct ws_graph *graph, struct ws_tensor *x,
                                   struct ws_tensor *gamma, struct ws_tensor *beta,
                                   struct ws_tensor *running_mean, struct ws_tensor *running_var,
                                   struct ws_norm norm)
{
	struct ws_op op = OP(BATCH_NORM, x, gamma, beta, running_mean, running_var);
	int64_t channels = norm.ch.channels;
	bool fit = has_channels(x, &norm.ch);

	op.u.norm = norm;
	for (int i = 1; i < op.in_count; i++)
		fit &= op.in[i]->count == channels;
	if (!fit)
		return fail_unfit(graph, &op);
	if (x->count == channels)
		return ws_graph_fail(graph, WS_USAGE,
		                     "batch norm needs more than one value in each "
		                     "channel: a larger batch or input");
	add_main_result(graph, &op, x->dtype, x->shape);
	ws_op_add_result(graph, &op, "batch mean", ws_dtype_exact(x->dtype), WS_SHAPE(channels));
	ws_op_add_result(graph, &op, "batch 1/deviation", ws_dtype_exact(x->dtype),
	                 WS_SHAPE(channels));
	op.out[op.out_count++] = running_mean;
	op.out[op.out_count++] = running_var;
	return ws_graph_append(graph, &op);
}

/* Whether x fits a window; more padding would leave windows without any input. */
static bool window_fits(const struct ws_tensor *x, const struct ws_window *w)
{
	struct ws_window own = *w;

	if (w->p < 1 || w->q < 1 || !has_count(x, WS_SHAPE(w->n, w->c, w->h, w->w)))
		return false;
	if (w->r == 0) /* adaptive */
		return w->s == 0;
	return 2 * w->pad <= w->r && 2 * w->pad <= w->s && ws_window_outputs(&own) &&
	       own.p == w->p && own.q == w->q;
}

struct ws_tensor *ws_op_max_pool(struct ws_graph *graph, struct ws_tensor *x, struct ws_window w)
{
	struct ws_op op = OP(MAX_POOL, x);
	struct ws_shape shape = ws_image_shape(w.layout, w.n, w.c, w.p, w.q);
	int64_t plane;

	op.u.window = w;
	/* a position within a plane is kept as int32 */
	if (!window_fits(x, &w) || w.r == 0 || __builtin_mul_overflow(w.h, w.w, &plane) ||
	    plane > INT32_MAX)
		return fail_unfit(graph, &op);
	add_main_result(graph, &op, x->dtype, shape);
	ws_op_add_result(graph, &op, "max position", WS_DTYPE_I32, shape);
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_avg_pool(struct ws_graph *graph, struct ws_tensor *x, struct ws_window w)
{
	struct ws_op op = OP(AVG_POOL, x);

	op.u.window = w;
	return append_fit(graph, window_fits(x, &w) && w.pad == 0, &op, x->dtype,
	                  ws_image_shape(w.layout, w.n, w.c, w.p, w.q));
}

struct ws_tensor *ws_op_dropout(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *step,
                                struct ws_dropout dropout)
{
	struct ws_op op = OP(DROPOUT, x, step);

	op.u.dropout = dropout;
	if (step->dtype != WS_DTYPE_I32 || step->count != 1 || !(dropout.p >= 0 && dropout.p < 1))
		return fail_unfit(graph, &op);
	add_main_result(graph, &op, x->dtype, x->shape);
	ws_op_add_result(graph, &op, "dropout mask", x->dtype, x->shape);
	return ws_graph_append(graph, &op);
}
