#include "kernels/nn.h"

#include <math.h>

#include "kernels/ops.h"

#define RMSNORM_EPS 1e-5

#define UNARY(sub, x, alpha) ws_op_unary(graph, WS_SUB_##sub, (x), (alpha))
#define BINARY(sub, a, b)    ws_op_binary(graph, WS_SUB_##sub, (a), (b))
#define REDUCE(sub, x)       ws_op_reduce(graph, WS_SUB_##sub, (x))

struct ws_tensor *ws_nn_linear(struct ws_graph *graph, struct ws_tensor *x,
                               struct ws_tensor *weight, const char *message)
{
	struct ws_gemm gemm = {.batch = 1, .trans_b = true};
	struct ws_shape shape;

	if (!x || !weight)
		return NULL;
	gemm.m = ws_tensor_rows(x);
	gemm.n = weight->shape.dim[0];
	gemm.k = ws_tensor_cols(x);
	shape = x->shape;
	shape.dim[shape.ndim - 1] = gemm.n;
	return ws_op_gemm(graph, x, weight, gemm, shape, message);
}

struct ws_tensor *ws_nn_rmsnorm(struct ws_graph *graph, struct ws_tensor *x,
                                struct ws_tensor *weight, const char *scope)
{
	struct ws_tensor *mean, *y;

	ws_graph_scope_push(graph, WSNVTX_OP_norm, "%s", scope);
	mean = REDUCE(MEAN, UNARY(SQUARE, x, 0));
	y = BINARY(MUL, x, UNARY(RSQRT, UNARY(ADD_CONST, mean, RMSNORM_EPS), 0));
	y = BINARY(MUL, y, weight);
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
	struct ws_shape shape;

	if (!a || !b)
		return NULL;
	shape = a->shape;
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
	struct ws_tensor *s, *p, *y;

	if (!q || !k || !v)
		return NULL;
	ws_graph_scope_push(graph, WSNVTX_OP_other, "scaled dot product attention");

	ws_graph_scope_push(graph, WSNVTX_OP_other, "computing attention scores");
	s = head_matmul(graph, q, k, true, "q k^T");
	ws_graph_scope_pop(graph);

	ws_graph_scope_push(graph, WSNVTX_OP_scale, "computing softmax");
	s = UNARY(SCALE, s, 1 / sqrt((double)ws_tensor_cols(q)));
	graph->kind = WSNVTX_OP_softmax; /* the mask says itself what it is */
	p = ws_nn_softmax(graph, UNARY(CAUSAL_MASK, s, -INFINITY));
	ws_graph_scope_pop(graph);

	ws_graph_scope_push(graph, WSNVTX_OP_other, "final matmul");
	y = head_matmul(graph, p, v, false, "p v");
	ws_graph_scope_pop(graph);

	ws_graph_scope_pop(graph);
	return y;
}

struct ws_tensor *ws_nn_swiglu(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *w1,
                               struct ws_tensor *w2, struct ws_tensor *w3)
{
	struct ws_tensor *a, *gate, *y;

	ws_graph_scope_push(graph, WSNVTX_OP_activation, "swiglu ffn");
	a = ws_nn_linear(graph, x, w1, "w1 linear");
	gate = BINARY(MUL, a, UNARY(SIGMOID, a, 0));
	gate = BINARY(MUL, gate, ws_nn_linear(graph, x, w3, "w3 linear"));
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

struct ws_tensor *ws_nn_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target)
{
	struct ws_tensor *z, *log_sum, *loss;

	ws_graph_scope_push(graph, WSNVTX_OP_loss, "cross-entropy");
	z = BINARY(SUB, logits, REDUCE(MAX, logits));
	log_sum = UNARY(LOG, REDUCE(SUM, UNARY(EXP, z, 0)), 0);
	loss = UNARY(NEG, BINARY(SUB, z, log_sum), 0);
	loss = REDUCE(MEAN, ws_op_gather(graph, loss, target));
	ws_graph_scope_pop(graph);
	return loss;
}
