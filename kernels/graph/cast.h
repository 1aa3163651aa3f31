/*
 * Casts, and mixed precision: which operands are cast before an op of the forward pass.
 *
 * The rules are torch.autocast's (policy column of op.def): GEMMs in the low
 * type, exp, log, powers and sums in fp32, mixed operands in the wider type,
 * the rest in the type that comes. A cast of a parameter is made once a
 * forward pass; casts of activations are made again for every op.
 */
#pragma once

#include "kernels/graph/graph.h"

/* x in another dtype; x itself when it has that dtype. */
struct ws_tensor *ws_op_cast(struct ws_graph *graph, struct ws_tensor *x, enum ws_dtype dtype);
/* x written over a tensor of another dtype. */
struct ws_tensor *ws_op_cast_into(struct ws_graph *graph, struct ws_tensor *x,
                                  struct ws_tensor *out);
/* t as op `sub` wants it: t itself, or the result of a cast op appended now. */
struct ws_tensor *ws_autocast(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *t);
