/*
 * Builders of the ops that one fused kernel computes (`--fusion full`,
 * `--attention fused`); conventions as in ops.h.
 *
 * Each computes in fp32 (fp64 in graphs of fp64) from operands of any dtype and
 * rounds once, on writing. Under autocast the results that a matrix product
 * reads are written in the low dtype: the cast is part of the op.
 */
#pragma once

#include "kernels/graph/graph.h"

/* softmax(scale * x) over the columns up to row mod columns; 0 in the others. x [.., T, T] */
struct ws_tensor *ws_op_softmax(struct ws_graph *graph, struct ws_tensor *x, double scale);

/*
 * softmax(scale * q k^T) v over the keys up to each query: q, k, v [B, H, T, D] -> [B, H, T, D].
 * Under autocast all three are read in the low dtype. Its second result is the log of the sum
 * of each row's exponentials, [B, H, T, 1]. USAGE where a head is wider than
 * WS_ATTENTION_WIDTH_MAX.
 */
struct ws_tensor *ws_op_attention(struct ws_graph *graph, struct ws_tensor *q, struct ws_tensor *k,
                                  struct ws_tensor *v, double scale);

/* weight * (x * rsqrt(mean(x^2) + eps)) over rows; its second result is that rsqrt, [.., 1]. */
struct ws_tensor *ws_op_rms_norm(struct ws_graph *graph, struct ws_tensor *x,
                                 struct ws_tensor *weight, double eps);

/* x [.., 2 f], a the first half of each row and b the second: silu(a) * b, [.., f] */
struct ws_tensor *ws_op_swiglu(struct ws_graph *graph, struct ws_tensor *x);

/*
 * x [B, T, 3 H D]: queries, keys and values side by side. The heads of all
 * three split, [B, H, T, D], those of queries and keys rotated (ROPE).
 */
void ws_op_rope_qkv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *table,
                    struct ws_heads head, struct ws_tensor *qkv[3]);

/*
 * act(x + bias), act being the unary op that x would be given to. x must be the
 * result of a bias op, the last of the graph: it is replaced, x is gone. NULL,
 * without an error, where that is not so or act is no activation: nothing to fuse.
 */
struct ws_tensor *ws_op_bias_activation(struct ws_graph *graph, struct ws_tensor *x,
                                        enum ws_sub act, double alpha);

/*
 * mean over rows of -log_softmax(logits)[target]: [1]. Its second result is the
 * gradient of the logits, in their dtype; in fp32 where that is fp16, so that a
 * loss scale can still come before the rounding.
 */
struct ws_tensor *ws_op_cross_entropy(struct ws_graph *graph, struct ws_tensor *logits,
                                      struct ws_tensor *target);

/*
 * An UPDATE of the rows of a list, which is copied. x, y: numbers of the step, [1], or NULL.
 * Returns what is written first. NULL where the list is empty.
 */
struct ws_tensor *ws_op_update(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                               struct ws_tensor *y, const struct ws_update_row *list, int count,
                               struct ws_update_factors factors, const char *message);
/* min(1, largest / (norm + 1e-6)), the norm being that of all of these together: [1] */
struct ws_tensor *ws_op_clip_norm(struct ws_graph *graph, const struct ws_update_row *list,
                                  int count, double largest);
