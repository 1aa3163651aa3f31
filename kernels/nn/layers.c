#include "kernels/nn/layers.h"

#include <math.h>

#include "kernels/graph/ops.h"

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

/* The norm of primitives. */
static struct ws_tensor *rmsnorm_eager(struct ws_graph *graph, struct ws_tensor *x,
                                       struct ws_tensor *weight)
{
	enum ws_dtype dtype = x->dtype;
	struct ws_tensor *mean, *y;

	x = ws_op_cast(graph, x, ws_dtype_exact(dtype)); /* the reference model computes it so */
	mean = REDUCE(MEAN, UNARY(SQUARE, x, 0));
	y = BINARY(MUL, x, UNARY(RSQRT, UNARY(ADD_CONST, mean, RMSNORM_EPS), 0));
	return ws_op_cast(graph, BINARY(MUL, y, weight), dtype);
}

struct ws_tensor *ws_nn_rmsnorm(struct ws_graph *graph, struct ws_tensor *x,
                                struct ws_tensor *weight, const char *scope)
{
	struct ws_tensor *y;

	ws_graph_scope_push(graph, WSNVTX_OP_norm, "%s", scope);
	y = graph->fusion == WS_FUSION_FULL ? ws_op_rms_norm(graph, x, weight, RMSNORM_EPS)
	                                    : rmsnorm_eager(graph, x, weight);
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

/* softmax(s * scale) of what the causal mask leaves. */
static struct ws_tensor *attention_softmax(struct ws_graph *graph, struct ws_tensor *s,
                                           double scale)
{
	if (graph->fusion == WS_FUSION_FULL)
		return ws_op_softmax(graph, s, scale);
	s = UNARY(SCALE, s, scale);
	graph->kind = WSNVTX_OP_softmax; /* the mask says itself what it is */
	return ws_nn_softmax(graph, UNARY(CAUSAL_MASK, s, -INFINITY));
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
	p = attention_softmax(graph, s, scale);
	ws_graph_scope_pop(graph);

	ws_graph_scope_push(graph, WSNVTX_OP_other, "final matmul");
	y = head_matmul(graph, p, v, false, "p v");
	ws_graph_scope_pop(graph);

	ws_graph_scope_pop(graph);
	return y;
}

/* silu(w1 x) * (w3 x) */
static struct ws_tensor *gate_eager(struct ws_graph *graph, struct ws_tensor *x,
                                    const struct ws_linears *w13)
{
	struct ws_tensor *a = ws_nn_linear(graph, x, w13->weight[0], "w1 linear"), *gate;

	gate = BINARY(MUL, a, UNARY(SIGMOID, a, 0));
	return BINARY(MUL, gate, ws_nn_linear(graph, x, w13->weight[1], "w3 linear"));
}

struct ws_tensor *ws_nn_swiglu(struct ws_graph *graph, struct ws_tensor *x,
                               const struct ws_linears *w13, struct ws_tensor *w2)
{
	struct ws_tensor *gate, *y;

	ws_graph_scope_push(graph, WSNVTX_OP_activation, "swiglu ffn");
	gate = w13->merged
	               ? ws_op_swiglu(graph, ws_nn_linear(graph, x, w13->weight[0], "w1 w3 linear"))
	               : gate_eager(graph, x, w13);
	y = ws_nn_linear(graph, gate, w2, "w2 linear");
	ws_graph_scope_pop(graph);
	return y;
}

struct ws_tensor *ws_nn_residual(struct ws_graph *graph, struct ws_tensor *a, struct ws_tensor *b)
{
	struct ws_tensor *y;

	ws_graph_scope_push(graph, WSNVTX_OP_elementwise, "residual");
	y = BINARY(ADD, a, b);
	ws_graph_scope_pop(graph);
	return y;
}

static struct ws_tensor *cross_entropy_eager(struct ws_graph *graph, struct ws_tensor *logits,
                                             struct ws_tensor *target, bool of_torch)
{
	struct ws_tensor *z, *log_sum, *loss;

	/* outputs of a 16-bit model are cast back, as apex does */
	if (of_torch || !graph->autocast)
		logits = ws_op_cast(graph, logits, ws_dtype_exact(logits->dtype));
	if (of_torch)
		return ws_op_nll_loss(graph, ws_op_log_softmax(graph, logits), target);
	z = BINARY(SUB, logits, REDUCE(MAX, logits));
	log_sum = UNARY(LOG, REDUCE(SUM, UNARY(EXP, z, 0)), 0);
	loss = UNARY(NEG, BINARY(SUB, z, log_sum), 0);
	return REDUCE(MEAN, ws_op_gather(graph, loss, target));
}

struct ws_tensor *ws_nn_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target, bool of_torch)
{
	struct ws_tensor *loss;

	ws_graph_scope_push(graph, WSNVTX_OP_loss, "cross-entropy");
	loss = graph->fusion == WS_FUSION_FULL
	               ? ws_op_cross_entropy(graph, logits, target)
	               : cross_entropy_eager(graph, logits, target, of_torch);
	ws_graph_scope_pop(graph);
	return loss;
}
