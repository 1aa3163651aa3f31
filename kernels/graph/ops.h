/*
 * Appending primitive ops to a graph.
 *
 * Each function checks its operands, makes the result tensor, appends one op
 * (and, under autocast, the casts it needs before it) and returns the result.
 * Errors: graph.h. message: of the NVTX range; NULL: the op's own name.
 */
#pragma once

#include "kernels/graph/cast.h"

/* op(A) · op(B) for shapes as in struct ws_gemm, into a tensor of shape out. */
struct ws_tensor *ws_op_gemm(struct ws_graph *graph, struct ws_tensor *a, struct ws_tensor *b,
                             struct ws_gemm gemm, struct ws_shape out, const char *message);

/* f(x), element by element. alpha: see op.def; 0 where unused. */
struct ws_tensor *ws_op_unary(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                              double alpha);
/* a op b; the result has the shape of the larger one, over which the other is broadcast. */
struct ws_tensor *ws_op_binary(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                               struct ws_tensor *b);
/* The same, written over an existing tensor of the result's shape; it may be an operand. */
struct ws_tensor *ws_op_binary_into(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                                    struct ws_tensor *b, struct ws_tensor *out);

/* MAX, SUM, MEAN: [.., C] -> [.., 1]. COLSUM: [.., C] -> [C]. MAX has no gradient: see grad.h. */
struct ws_tensor *ws_op_reduce(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x);

/* x broadcast to a shape; x itself when it has as many elements. */
struct ws_tensor *ws_op_expand(struct ws_graph *graph, struct ws_tensor *x,
                               const struct ws_tensor *like);
struct ws_tensor *ws_op_fill(struct ws_graph *graph, enum ws_dtype dtype, struct ws_shape shape,
                             double value);

/* x, seen as [dims], with its two middle dimensions exchanged, in a tensor of shape out. */
struct ws_tensor *ws_op_permute(struct ws_graph *graph, struct ws_tensor *x, const int64_t dims[4],
                                struct ws_shape out, const char *message);

/* table: WS_INIT_ROPE_TABLE. The result has the wider dtype of x and table. */
struct ws_tensor *ws_op_rope(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                             struct ws_tensor *table, struct ws_heads head, const char *message);

/* table [V, D], index int32 [..] -> [.., D] */
struct ws_tensor *ws_op_embedding(struct ws_graph *graph, struct ws_tensor *table,
                                  struct ws_tensor *index);
/* x [.., C], index int32, one a row -> [R], element index[r] of each row r */
struct ws_tensor *ws_op_gather(struct ws_graph *graph, struct ws_tensor *x,
                               struct ws_tensor *index);
