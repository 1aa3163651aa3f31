/*
 * Builders of the ops of image networks; conventions as in ops.h. Geometry:
 * struct ws_conv, ws_window and ws_channels in op.h.
 */
#pragma once

#include "kernels/graph/graph.h"

/* n images of c channels of h × w, in the order of a layout. */
struct ws_shape ws_image_shape(enum ws_layout layout, int64_t n, int64_t c, int64_t h, int64_t w);

/*
 * Set the outputs p, q of a convolution or a pooling from the rest:
 * floor((size + 2 pad - window) / stride) + 1. false: the window does not fit.
 */
bool ws_conv_outputs(struct ws_conv *conv);
bool ws_window_outputs(struct ws_window *window);

/* log(softmax(x)) over whole rows */
struct ws_tensor *ws_op_log_softmax(struct ws_graph *graph, struct ws_tensor *x);
/* alpha (y - target)^2 of each element, in one row; both of one dtype */
struct ws_tensor *ws_op_squared_error(struct ws_graph *graph, struct ws_tensor *y,
                                      struct ws_tensor *target, double alpha);
/* mean over rows of -y[target]: [1] */
struct ws_tensor *ws_op_nll_loss(struct ws_graph *graph, struct ws_tensor *y,
                                 struct ws_tensor *target);
/* x and weight as conv says; the result is [n, k, p, q] in its layout. */
struct ws_tensor *ws_op_conv(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *weight,
                             struct ws_conv conv);

/* x + bias [channels] */
struct ws_tensor *ws_op_bias(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *bias,
                             struct ws_channels ch);

/*
 * gamma (x - mean) / sqrt(variance + eps) + beta, mean and (biased) variance
 * being those of the batch, in each channel. The running mean and (unbiased)
 * variance are updated in place. Statistics are computed and kept in fp32,
 * whatever x is (fp64 in graphs of fp64).
 */
struct ws_tensor *ws_op_batch_norm(struct ws_graph *graph, struct ws_tensor *x,
                                   struct ws_tensor *gamma, struct ws_tensor *beta,
                                   struct ws_tensor *running_mean, struct ws_tensor *running_var,
                                   struct ws_norm norm);

/* The maximum of each window; the first, where there are several. NaN wins. */
struct ws_tensor *ws_op_max_pool(struct ws_graph *graph, struct ws_tensor *x,
                                 struct ws_window window);
/* The mean of each window. Windows must not reach over the edge: pad 0, or adaptive. */
struct ws_tensor *ws_op_avg_pool(struct ws_graph *graph, struct ws_tensor *x,
                                 struct ws_window window);

/*
 * x with elements zeroed with probability p and the others divided by 1 - p.
 * step: int32 [1], the number of the step, so that each draws anew.
 */
struct ws_tensor *ws_op_dropout(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *step,
                                struct ws_dropout dropout);

/* sub: RELU_GRAD, LEAKY_RELU_GRAD (slope alpha), TANH_GRAD; y: the activation's result. */
struct ws_tensor *ws_op_activation_grad(struct ws_graph *graph, enum ws_sub sub,
                                        struct ws_tensor *dy, struct ws_tensor *y, double alpha);
