/*
 * Ops of image networks on the device against the CPU reference: channels first and last.
 */
#include "tests/cuda_host/checked.h"

#include "kernels/graph/graph.h"

/* Images of `rows` numbers a channel and `cols` channels, in both orders. */
static struct ws_channels first_of(int64_t rows, int64_t cols)
{
	return rows % 2 ? (struct ws_channels){1, cols, rows}
	                : (struct ws_channels){2, cols, rows / 2};
}

static struct ws_channels last_of(int64_t rows, int64_t cols)
{
	return (struct ws_channels){rows, cols, 1};
}

static struct ws_tensor *image(struct ws_graph *graph, struct ws_channels ch)
{
	return kernels_param(graph, "x", WS_SHAPE(ch.outer, ch.channels, ch.inner));
}

static struct ws_tensor *channel_param(struct ws_graph *graph, const char *name,
                                       struct ws_channels ch)
{
	return kernels_param(graph, name, WS_SHAPE(ch.channels));
}

static const int64_t sizes[][2] = {{2, 1},    {3, 7},    {7, 33},   {49, 18},
                                   {1000, 3}, {1, 1000}, {33, 300}, {1500, 18}};

/* --- bias
 * ----------------------------------------------------------------------------------------- */

static struct ws_tensor *bias_of(struct ws_graph *graph, struct ws_channels ch)
{
	return ws_op_bias(graph, image(graph, ch), channel_param(graph, "bias", ch), ch);
}

#define BIAS(name, order)                                                             \
	static struct ws_tensor *name##_##order(struct ws_graph *graph, int64_t rows, \
	                                        int64_t cols)                         \
	{                                                                             \
		return name##_of(graph, order##_of(rows, cols));                      \
	}
#define BIAS_ACT(name, sub)                                                                  \
	static struct ws_tensor *name##_of(struct ws_graph *graph, struct ws_channels ch)    \
	{                                                                                    \
		return ws_op_bias_activation(graph, bias_of(graph, ch), WS_SUB_##sub, 0.01); \
	}                                                                                    \
	BIAS(name, first)                                                                    \
	BIAS(name, last)
BIAS(bias, first)
BIAS(bias, last)
BIAS_ACT(bias_relu, RELU)
BIAS_ACT(bias_leaky, LEAKY_RELU)
BIAS_ACT(bias_tanh, TANH)

Test(device_image, bias_with_and_without_activation)
{
	static const struct checked_case cases[] = {
	        {"bias, channels first", bias_first, false},
	        {"bias, channels last", bias_last, false},
	        {"bias relu, channels first", bias_relu_first, false},
	        {"bias relu, channels last", bias_relu_last, false},
	        {"bias leaky, channels first", bias_leaky_first, false},
	        {"bias leaky, channels last", bias_leaky_last, false},
	        {"bias tanh, channels first", bias_tanh_first, false},
	        {"bias tanh, channels last", bias_tanh_last, false},
	};

	checked_run_all("bias", cases, CHECKED_COUNT(cases), sizes, CHECKED_COUNT(sizes));
}

/* --- pooling
 * ------------------------------------------------------------------------------------------ */

static struct ws_tensor *pooled(struct ws_graph *graph, struct ws_window w, bool max)
{
	struct ws_tensor *x =
	        kernels_param(graph, "x", ws_image_shape(w.layout, w.n, w.c, w.h, w.w));

	if (w.r)
		cr_assert(ws_window_outputs(&w));
	return max ? ws_op_max_pool(graph, x, w) : ws_op_avg_pool(graph, x, w);
}

/* rows: height of the image, its width is one more; cols: channels */
#define POOL(name, in_layout, size, step, edge, max)                                      \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols) \
	{                                                                                 \
		struct ws_window w = {.layout = WS_LAYOUT_##in_layout,                    \
		                      .n = 2,                                             \
		                      .c = cols,                                          \
		                      .h = rows,                                          \
		                      .w = rows + 1,                                      \
		                      .r = (size),                                        \
		                      .s = (size),                                        \
		                      .stride = (step),                                   \
		                      .pad = (edge)};                                     \
                                                                                          \
		return pooled(graph, w, max);                                             \
	}
#define ADAPTIVE(name, in_layout, height, width)                                          \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols) \
	{                                                                                 \
		struct ws_window w = {.layout = WS_LAYOUT_##in_layout,                    \
		                      .n = 2,                                             \
		                      .c = cols,                                          \
		                      .h = rows,                                          \
		                      .w = rows + 1,                                      \
		                      .p = (height),                                      \
		                      .q = (width)};                                      \
                                                                                          \
		return pooled(graph, w, false);                                           \
	}
POOL(max_2_first, NCHW, 2, 2, 0, true)
POOL(max_2_last, NHWC, 2, 2, 0, true)
POOL(max_3_first, NCHW, 3, 2, 1, true)
POOL(max_3_last, NHWC, 3, 2, 1, true)
POOL(max_3_step_1, NCHW, 3, 1, 0, true)
POOL(mean_2_first, NCHW, 2, 2, 0, false)
POOL(mean_3_last, NHWC, 3, 1, 0, false)
ADAPTIVE(global_first, NCHW, 1, 1)
ADAPTIVE(global_last, NHWC, 1, 1)
ADAPTIVE(adaptive_first, NCHW, 7, 7)
ADAPTIVE(adaptive_last, NHWC, 6, 4)

Test(device_image, pooling_and_its_gradient)
{
	static const struct checked_case cases[] = {
	        {"max 2", max_2_first, false},
	        {"max 2, channels last", max_2_last, false},
	        {"max 3 with overlap and edge", max_3_first, false},
	        {"max 3 with overlap and edge, channels last", max_3_last, false},
	        {"max 3, stride 1", max_3_step_1, false},
	        {"mean 2", mean_2_first, false},
	        {"mean 3, channels last", mean_3_last, false},
	        {"mean of all", global_first, false},
	        {"mean of all, channels last", global_last, false},
	        {"mean to 7 × 7", adaptive_first, false},
	        {"mean to 6 × 4, channels last", adaptive_last, false},
	};
	static const int64_t all[][2] = {{3, 1}, {7, 3}, {13, 18}, {33, 7}};

	checked_run_all("pooling", cases, CHECKED_COUNT(cases), all, CHECKED_COUNT(all));
}

/* --- dropout
 * --------------------------------------------------------------------------------------------- */

static struct ws_tensor *dropout(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	struct ws_dropout d = {.rng = ws_rng_stream(11, "dropout"), .p = 0.4};

	return ws_op_dropout(graph, kernels_param(graph, "x", WS_SHAPE(rows, cols)),
	                     checked_index(graph, "step", WS_SHAPE(1), 9), d);
}

Test(device_image, dropout_draws_what_the_reference_draws)
{
	static const struct checked_case cases[] = {{"dropout", dropout, false}};

	checked_run_all("dropout", cases, 1, sizes, CHECKED_COUNT(sizes));
}
