#include "kernels/graph/append.h"

/* What a matrix product reads, of values of a dtype. */
static enum ws_dtype low_dtype(const struct ws_graph *graph, enum ws_dtype dtype)
{
	return graph->autocast ? graph->precision.low : dtype;
}

static struct ws_shape with_cols(const struct ws_tensor *t, int64_t cols)
{
	struct ws_shape shape = t->shape;

	shape.dim[shape.ndim - 1] = cols;
	return shape;
}

/* --- softmax ------------------------------------------------------------------------ */

struct ws_tensor *ws_op_softmax(struct ws_graph *graph, struct ws_tensor *x, double scale)
{
	struct ws_op op = {.sub = WS_SUB_CAUSAL_SOFTMAX,
	                   .in_count = 1,
	                   .in = {x},
	                   .u.alpha = scale};

	WS_OP_FAIL_IF(graph, op, ws_tensor_rows(x) % ws_tensor_cols(x));
	return ws_op_append(graph, &op, low_dtype(graph, x->dtype), x->shape);
}

/* --- attention ---------------------------------------------------------------------- */

struct ws_tensor *ws_op_attention(struct ws_graph *graph, struct ws_tensor *q, struct ws_tensor *k,
                                  struct ws_tensor *v, double scale)
{
	struct ws_op op = {.sub = WS_SUB_CAUSAL_ATTENTION, .in_count = 3};
	struct ws_heads *head = &op.u.attention.head;
	struct ws_tensor *const qkv[3] = {q, k, v};
	int64_t flops;

	for (int i = 0; i < 3; i++) {
		op.in[i] = ws_autocast(graph, op.sub, qkv[i]);
		if (op.in[i]->shape.ndim != 4 || op.in[i]->dtype != op.in[0]->dtype ||
		    memcmp(op.in[i]->shape.dim, op.in[0]->shape.dim, 4 * sizeof(int64_t)))
			return ws_op_bad_shape(graph, op.sub);
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
		return ws_op_bad_shape(graph, op.sub);
	ws_op_add_main_result(graph, &op, q->dtype, q->shape);
	ws_op_add_result(graph, &op, "attention log sum", ws_dtype_exact(q->dtype),
	                 with_cols(q, 1));
	return ws_graph_append(graph, &op);
}

/* --- RMS norm ----------------------------------------------------------------------- */

struct ws_tensor *ws_op_rms_norm(struct ws_graph *graph, struct ws_tensor *x,
                                 struct ws_tensor *weight, double eps)
{
	struct ws_op op = {.sub = WS_SUB_RMS_NORM,
	                   .in_count = 2,
	                   .in = {x, weight},
	                   .u.alpha = eps};

	WS_OP_FAIL_IF(graph, op, weight->count != ws_tensor_cols(x));
	ws_op_add_main_result(graph, &op,
	                      low_dtype(graph, ws_dtype_promote(x->dtype, weight->dtype)),
	                      x->shape);
	ws_op_add_result(graph, &op, "inverse rms", ws_dtype_exact(x->dtype), with_cols(x, 1));
	return ws_graph_append(graph, &op);
}

/* --- SwiGLU ------------------------------------------------------------------------- */

struct ws_tensor *ws_op_swiglu(struct ws_graph *graph, struct ws_tensor *x)
{
	struct ws_op op = {.sub = WS_SUB_SWIGLU, .in_count = 1, .in = {x}};

	WS_OP_FAIL_IF(graph, op, ws_tensor_cols(x) % 2);
	return ws_op_append(graph, &op, low_dtype(graph, x->dtype),
	                    with_cols(x, ws_tensor_cols(x) / 2));
}

/* --- rope of queries and keys --------------------------------------------------------- */

void ws_op_rope_qkv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *table,
                    struct ws_heads head, struct ws_tensor *qkv[3])
{
	struct ws_op op = {.sub = WS_SUB_ROTATE_QKV,
	                   .in_count = 2,
	                   .in = {x, table},
	                   .u.head = head};
	struct ws_shape split = WS_SHAPE(head.batch, head.heads, head.time, head.width);

	if (!ws_tensor_has_count(x, 3 * head.batch, head.heads, head.time, head.width) ||
	    head.width % 2 || table->count != head.time * head.width)
		ws_op_bad_shape(graph, op.sub);
	for (int i = 0; i < 3; i++)
		qkv[i] = ws_op_add_main_result(graph, &op, x->dtype, split);
	ws_graph_append(graph, &op);
}

/* --- bias and activation -------------------------------------------------------------- */

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
	struct ws_tensor *y;

	if (graph->err.status != WS_OK || !last || last->sub != WS_SUB_BIAS_ADD ||
	    last->out[0] != x || sub == WS_SUB_COUNT)
		return NULL;
	/* x stays without an op that writes it: whoever still reads it is told so by the exec */
	op = (struct ws_op){.sub = sub,
	                    .in_count = 2,
	                    .in = {last->in[0], last->in[1]},
	                    .u.bias = {last->u.ch, alpha}};
	graph->op_count--;
	graph->scope = last->scope;
	graph->layer = last->payload.layer;
	graph->kind = WSNVTX_OP_activation;
	y = ws_op_append(graph, &op, x->dtype, x->shape);
	graph->scope = scope;
	graph->layer = layer;
	graph->kind = kind;
	return y;
}

/* --- loss and optimizer --------------------------------------------------------------- */

struct ws_tensor *ws_op_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target)
{
	struct ws_op op = {.sub = WS_SUB_CROSS_ENTROPY, .in_count = 2, .in = {logits, target}};
	enum ws_dtype dtype;

	WS_OP_FAIL_IF(graph, op,
	              target->dtype != WS_DTYPE_I32 || target->count != ws_tensor_rows(logits));
	dtype = logits->dtype == WS_DTYPE_F16 ? WS_DTYPE_F32 : logits->dtype;
	ws_op_add_main_result(graph, &op, ws_dtype_exact(logits->dtype), WS_SHAPE(1));
	ws_op_add_result(graph, &op, "logits grad", dtype, logits->shape);
	return ws_graph_append(graph, &op);
}

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
	struct ws_tensor *t;

	if (count < 1)
		return NULL;
	WS_OP_FAIL_IF(graph, op, !copy_rows(graph, &op, list, count));
	op.u.update.factors = factors;
	if (x)
		op.in[op.in_count++] = x;
	if (y)
		op.in[op.in_count++] = y;
	for (int k = 0; k < WS_UPDATE_TENSORS; k++) {
		t = list->t[k];
		if (t && ws_update_reads(sub, k))
			op.in[op.in_count++] = t;
		if (t && ws_update_writes(sub, k))
			op.out[op.out_count++] = t;
	}
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_clip_norm(struct ws_graph *graph, const struct ws_update_row *list,
                                  int count, double largest)
{
	struct ws_op op = {.sub = WS_SUB_CLIP_NORM, .in_count = 1, .in = {list->t[0]}};

	WS_OP_FAIL_IF(graph, op, !copy_rows(graph, &op, list, count));
	op.u.update.factors.alpha = largest;
	ws_op_add_result(graph, &op, "clip", ws_dtype_exact(list->t[0]->dtype), WS_SHAPE(1));
	return ws_graph_append(graph, &op);
}
