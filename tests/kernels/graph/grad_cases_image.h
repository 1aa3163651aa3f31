/* Gradient cases of the ops of image networks, for test_grad.c: see the cases there. */
#pragma once

#include "tests/support/kernels_run.h"

#include "kernels/nn/layers.h"
#include "kernels/graph/graph.h"

#define CASE(name) static struct ws_tensor *case_##name(struct ws_graph *g)

static struct ws_tensor *image_param(struct ws_graph *g, enum ws_layout layout, int64_t n,
                                     int64_t c, int64_t h, int64_t w)
{
	return kernels_param(g, "x", ws_image_shape(layout, n, c, h, w));
}

static struct ws_tensor *conv_case(struct ws_graph *g, struct ws_conv f)
{
	struct ws_tensor *x = image_param(g, f.layout, f.n, f.c, f.h, f.w), *weight;

	cr_assert(ws_conv_outputs(&f));
	weight =
	        kernels_param(g, "weight", ws_image_shape(f.layout, f.k, f.c / f.groups, f.r, f.s));
	return ws_op_conv(g, x, weight, f);
}

#define NCHW WS_LAYOUT_NCHW
#define NHWC WS_LAYOUT_NHWC

/* layout, n, c, h, w, k, r, s, p, q (set later), stride, pad_h, pad_w, groups */
CASE(conv_nchw)
{
	return conv_case(g, (struct ws_conv){NCHW, 2, 3, 5, 6, 4, 3, 2, 0, 0, 1, 1, 0, 1});
}
CASE(conv_nhwc)
{
	return conv_case(g, (struct ws_conv){NHWC, 2, 3, 5, 6, 4, 3, 2, 0, 0, 1, 1, 0, 1});
}
CASE(conv_strided_groups_nchw)
{
	return conv_case(g, (struct ws_conv){NCHW, 2, 4, 7, 6, 6, 3, 3, 0, 0, 2, 1, 1, 2});
}
CASE(conv_strided_groups_nhwc)
{
	return conv_case(g, (struct ws_conv){NHWC, 2, 4, 7, 6, 6, 3, 3, 0, 0, 2, 1, 1, 2});
}
CASE(conv_of_a_point_nchw)
{
	return conv_case(g, (struct ws_conv){NCHW, 2, 4, 3, 3, 5, 1, 1, 0, 0, 1, 0, 0, 1});
}
CASE(conv_of_a_point_nhwc)
{
	return conv_case(g, (struct ws_conv){NHWC, 2, 4, 3, 3, 5, 1, 1, 0, 0, 1, 0, 0, 1});
}
CASE(conv_of_a_signal)
{
	return conv_case(g, (struct ws_conv){NCHW, 3, 2, 1, 9, 2, 1, 5, 0, 0, 1, 0, 2, 1});
}
CASE(bias_nchw)
{
	return ws_op_bias(g, image_param(g, NCHW, 2, 3, 2, 4), kernels_param(g, "b", WS_SHAPE(3)),
	                  (struct ws_channels){2, 3, 8});
}
CASE(bias_nhwc)
{
	return ws_op_bias(g, image_param(g, NHWC, 2, 3, 2, 4), kernels_param(g, "b", WS_SHAPE(3)),
	                  (struct ws_channels){16, 3, 1});
}
static struct ws_tensor *batch_norm_case(struct ws_graph *g, enum ws_layout layout)
{
	struct ws_norm norm = {.ch = layout == NCHW ? (struct ws_channels){3, 4, 6}
	                                            : (struct ws_channels){18, 4, 1},
	                       .eps = 1e-5,
	                       .momentum = 0.1};
	struct ws_tensor *mean =
	        ws_graph_tensor(g, "mean", WS_ROLE_STATE, WS_DTYPE_F64, WS_SHAPE(4));
	struct ws_tensor *var = ws_graph_tensor(g, "var", WS_ROLE_STATE, WS_DTYPE_F64, WS_SHAPE(4));

	mean->init = var->init = (struct ws_init){WS_INIT_FILL, 1};
	return ws_op_batch_norm(g, image_param(g, layout, 3, 4, 3, 2),
	                        kernels_param(g, "gamma", WS_SHAPE(4)),
	                        kernels_param(g, "beta", WS_SHAPE(4)), mean, var, norm);
}
CASE(batch_norm_nchw)
{
	return batch_norm_case(g, NCHW);
}
CASE(batch_norm_nhwc)
{
	return batch_norm_case(g, NHWC);
}
static struct ws_tensor *max_pool_case(struct ws_graph *g, enum ws_layout layout)
{
	struct ws_window w = {layout, 2, 3, 7, 6, 0, 0, 3, 3, 2, 1};

	cr_assert(ws_window_outputs(&w));
	return ws_op_max_pool(g, image_param(g, layout, 2, 3, 7, 6), w);
}
CASE(max_pool_nchw)
{
	return max_pool_case(g, NCHW);
}
CASE(max_pool_nhwc)
{
	return max_pool_case(g, NHWC);
}
CASE(avg_pool_windows)
{
	struct ws_window w = {NCHW, 2, 3, 5, 6, 0, 0, 3, 3, 2, 0};

	cr_assert(ws_window_outputs(&w));
	return ws_op_avg_pool(g, image_param(g, NCHW, 2, 3, 5, 6), w);
}
CASE(avg_pool_adaptive_nhwc)
{
	return ws_op_avg_pool(g, image_param(g, NHWC, 2, 3, 7, 5),
	                      (struct ws_window){NHWC, 2, 3, 7, 5, 3, 2, 0, 0, 0, 0});
}
CASE(avg_pool_of_the_plane)
{
	return ws_op_avg_pool(g, image_param(g, NCHW, 2, 3, 4, 5),
	                      (struct ws_window){NCHW, 2, 3, 4, 5, 1, 1, 0, 0, 0, 0});
}
CASE(dropout)
{
	struct ws_tensor *step =
	        ws_graph_tensor(g, "step", WS_ROLE_INPUT, WS_DTYPE_I32, WS_SHAPE(1));

	step->init = (struct ws_init){WS_INIT_FILL, 3};
	return ws_op_dropout(g, kernels_param(g, "x", WS_SHAPE(5, 8)), step,
	                     (struct ws_dropout){ws_rng_stream(1, "dropout"), 0.5});
}
CASE(relu)
{
	return ws_op_unary(g, WS_SUB_RELU, kernels_param(g, "x", WS_SHAPE(4, 5)), 0);
}
CASE(leaky_relu)
{
	return ws_op_unary(g, WS_SUB_LEAKY_RELU, kernels_param(g, "x", WS_SHAPE(4, 5)), 0.01);
}
CASE(tanh)
{
	return ws_op_unary(g, WS_SUB_TANH, kernels_param(g, "x", WS_SHAPE(4, 5)), 0);
}
CASE(mse)
{
	struct ws_tensor *target =
	        ws_graph_tensor(g, "target", WS_ROLE_INPUT, WS_DTYPE_F64, WS_SHAPE(4, 5));

	target->init = (struct ws_init){WS_INIT_TRUNC_NORMAL, 1};
	return ws_nn_mse(g, kernels_param(g, "x", WS_SHAPE(4, 5)), target);
}
/* A gradient that is the same for a whole image, and a tensor used twice. */
CASE(residual_block)
{
	struct ws_tensor *x = image_param(g, NCHW, 2, 4, 3, 3);
	struct ws_conv f = {NCHW, 2, 4, 3, 3, 4, 3, 3, 3, 3, 1, 1, 1, 1};
	struct ws_tensor *y = ws_op_conv(g, x, kernels_param(g, "weight", WS_SHAPE(4, 4, 3, 3)), f);

	y = ws_op_binary(g, WS_SUB_ADD, ws_op_unary(g, WS_SUB_TANH, y, 0), x);
	return ws_op_avg_pool(g, y, (struct ws_window){NCHW, 2, 4, 3, 3, 1, 1, 0, 0, 0, 0});
}

#undef CASE
#undef NCHW
#undef NHWC

/* clang-format off */
#define IMAGE_CASES(X) \
	X(conv_nchw) X(conv_nhwc) X(conv_strided_groups_nchw) \
	X(conv_strided_groups_nhwc) X(conv_of_a_point_nchw) X(conv_of_a_point_nhwc) \
	X(conv_of_a_signal) X(bias_nchw) X(bias_nhwc) X(batch_norm_nchw) \
	X(batch_norm_nhwc) X(max_pool_nchw) X(max_pool_nhwc) X(avg_pool_windows) \
	X(avg_pool_adaptive_nhwc) X(avg_pool_of_the_plane) X(dropout) X(relu) \
	X(leaky_relu) X(tanh) X(mse) X(residual_block)
/* clang-format on */
