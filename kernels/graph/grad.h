/*
 * The backward pass: from the ops of a graph to the ops of their gradients.
 *
 * Reverse-mode differentiation, op by op: each kind has a rule that appends
 * the ops of its gradient. A tensor used several times has its contributions
 * added in the order in which they arise. A gradient that is the same along
 * rows or everywhere stays broadcast ([R, 1] or [1]) until an op needs it in
 * full. Gradients have the dtype of the tensor they belong to.
 *
 * Row maxima count as constants: they only shift softmax and log-softmax,
 * which do not change under a shift.
 */
#pragma once

#include "kernels/graph/graph.h"

/*
 * Append the backward phase of y: ops that leave, in param->grad of every
 * parameter that y depends on, the sum over elements of seed times dy/dparam.
 * seed: a tensor of y's shape and dtype; NULL: 1, and y has one element.
 */
enum ws_status ws_graph_backward(struct ws_graph *graph, struct ws_tensor *y,
                                 struct ws_tensor *seed, struct ws_err *err);
