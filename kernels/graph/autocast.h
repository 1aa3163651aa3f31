/*
 * Mixed precision: which operands are cast before an op of the forward pass.
 *
 * The rules are torch.autocast's (policy column of op.def): GEMMs in the low
 * type, exp, log, powers and sums in fp32, mixed operands in the wider type,
 * the rest in the type that comes. A cast of a parameter is made once a
 * forward pass; casts of activations are made again for every op.
 */
#ifndef WS_KERNELS_GRAPH_AUTOCAST_H
#define WS_KERNELS_GRAPH_AUTOCAST_H

#include "kernels/graph/graph.h"

/* t as op `sub` wants it: t itself, or the result of a cast op appended now. */
struct ws_tensor *ws_autocast(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *t);

#endif
