/*
 * The parts that models are made of. Each is a few primitive ops under an NVTX
 * scope or, where graph->fusion is full, a fused op (ops.h) under the same scope.
 *
 * Shapes: B batch, T time (context), D width, H heads, V vocabulary.
 */
#pragma once

#include "kernels/graph/graph.h"

/* x [.., in] · weight^T, weight [out, in], no bias: [.., out] */
struct ws_tensor *ws_nn_linear(struct ws_graph *graph, struct ws_tensor *x,
                               struct ws_tensor *weight, const char *message);

/*
 * Weights [out, in] of up to three linear layers that read the same x: one
 * parameter each or, where the graph is fused, one for all, rows below rows.
 */
struct ws_linears {
	struct ws_tensor *weight[WS_PARTS_MAX]; /* merged: in [0] */
	int count;
	bool merged;
};

/* names must live as long as the graph; name: of the merged parameter. */
struct ws_linears ws_nn_linears(struct ws_graph *graph, const char *name, const char *const *names,
                                int count, struct ws_shape shape, struct ws_init init);

/*
 * Queries, keys and values of x [B, T, D], by weights in this order, split into
 * heads: [B, H, T, width], queries and keys rotated; under scopes `qkv
 * projection` and `rope`.
 */
void ws_nn_qkv(struct ws_graph *graph, struct ws_tensor *x, const struct ws_linears *weights,
               struct ws_tensor *rope_table, struct ws_heads head, struct ws_tensor *qkv[3]);

/* weight * (x * rsqrt(mean(x^2) + 1e-5)), over rows, under a scope of that name. */
struct ws_tensor *ws_nn_rmsnorm(struct ws_graph *graph, struct ws_tensor *x,
                                struct ws_tensor *weight, const char *scope);

/* exp(x - max) / sum(exp(x - max)) over rows: max, subtract, exp, sum, divide. */
struct ws_tensor *ws_nn_softmax(struct ws_graph *graph, struct ws_tensor *x);

/* softmax(q · k^T / sqrt(width), causal) · v; q, k, v [B, H, T, width] */
struct ws_tensor *ws_nn_causal_attention(struct ws_graph *graph, struct ws_tensor *q,
                                         struct ws_tensor *k, struct ws_tensor *v);

/* w2 · (silu(w1 · x) * (w3 · x)); silu(a) = a * sigmoid(a) */
struct ws_tensor *ws_nn_swiglu(struct ws_graph *graph, struct ws_tensor *x,
                               const struct ws_linears *w13, struct ws_tensor *w2);

/* a + b, under a scope `residual` */
struct ws_tensor *ws_nn_residual(struct ws_graph *graph, struct ws_tensor *a, struct ws_tensor *b);

/*
 * mean over rows of -log_softmax(logits)[target]: [1]. of_torch: as
 * torch.nn.functional.cross_entropy, in fp32 under autocast; else the course's own
 * function in primitives, whose max and subtract are in the logits' dtype.
 */
struct ws_tensor *ws_nn_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target, bool of_torch);
