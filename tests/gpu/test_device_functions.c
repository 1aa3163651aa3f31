/*
 * The ops for which cuDNN has a function each, on the device against the CPU reference: batch norm,
 * channels first and last, and log_softmax, with their gradients.
 */
#include "tests/cuda_host/checked.h"

#include "kernels/graph/graph.h"

static struct ws_tensor *of_channels(struct ws_graph *graph, enum ws_role role, const char *name,
                                     int64_t channels, struct ws_init init)
{
	struct ws_tensor *t =
	        ws_graph_tensor(graph, name, role, ws_graph_norm_dtype(graph), WS_SHAPE(channels));

	t->init = init;
	t->requires_grad = role == WS_ROLE_PARAM;
	return t;
}

/* Of x, whose sizes say where the channels are. */
static struct ws_tensor *batch_norm_of(struct ws_graph *graph, struct ws_shape shape,
                                       struct ws_channels ch)
{
	const struct ws_norm norm = {.ch = ch, .eps = 1e-5, .momentum = 0.1};
	const struct ws_init drawn = {WS_INIT_NORMAL, 1};

	return ws_op_batch_norm(graph, kernels_param(graph, "x", shape),
	                        of_channels(graph, WS_ROLE_PARAM, "gamma", ch.channels, drawn),
	                        of_channels(graph, WS_ROLE_PARAM, "beta", ch.channels, drawn),
	                        of_channels(graph, WS_ROLE_STATE, "running mean", ch.channels,
	                                    (struct ws_init){WS_INIT_FILL, 0.25}),
	                        of_channels(graph, WS_ROLE_STATE, "running variance", ch.channels,
	                                    (struct ws_init){WS_INIT_FILL, 1.5}),
	                        norm);
}

/* `rows` numbers a channel, `cols` channels. One number a channel is refused: it has no variance.
 */
static struct ws_tensor *norm_first(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	int64_t n = rows % 2 ? 1 : 2;

	return batch_norm_of(graph, WS_SHAPE(n, cols, rows / n),
	                     (struct ws_channels){n, cols, rows / n});
}

static struct ws_tensor *norm_last(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return batch_norm_of(graph, WS_SHAPE(rows, cols), (struct ws_channels){rows, cols, 1});
}

static struct ws_tensor *norm_images_first(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return batch_norm_of(graph, WS_SHAPE(2, cols, 3, rows),
	                     (struct ws_channels){2, cols, 3 * rows});
}

static struct ws_tensor *norm_images_last(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return batch_norm_of(graph, WS_SHAPE(2, 3, rows, cols),
	                     (struct ws_channels){6 * rows, cols, 1});
}

static struct ws_tensor *log_softmax(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return ws_op_log_softmax(graph, kernels_param(graph, "x", WS_SHAPE(rows, cols)));
}

Test(device_functions, batch_norm_and_its_gradient)
{
	static const struct checked_case cases[] = {
	        {"batch norm, channels first", norm_first, false},
	        {"batch norm, channels last", norm_last, false},
	        {"batch norm of images", norm_images_first, false},
	        {"batch norm of images, channels last", norm_images_last, false},
	};
	static const int64_t sizes[][2] = {{2, 1},    {3, 7},    {7, 33},   {49, 18},
	                                   {1000, 3}, {2, 1000}, {33, 300}, {1500, 18}};

	checked_run_all("batch norm", cases, CHECKED_COUNT(cases), sizes, CHECKED_COUNT(sizes));
}

/* Far from 0 a variance that is made of squares would be lost in them. */
Test(device_functions, batch_norm_of_numbers_far_from_zero)
{
	static const double far = 3000;
	struct checked_report report = {0};

	for (int last = 0; last < 2; last++) {
		struct checked c = checked_open(&checked_precisions[0]);
		struct ws_tensor *y = (last ? norm_last : norm_first)(c.run.graph, 500, 6), *x;
		double *values;

		kernels_backward(&c.run, y);
		checked_start(&c);
		x = graph_find(c.run.graph, "x");
		values = kernels_read(&c.run, x);
		for (int64_t i = 0; i < x->count; i++)
			values[i] += far;
		kernels_write(&c.run, x, values);
		free(values);
		checked_step(&c, "batch norm far from zero");
		checked_close(&c, &report);
	}
	checked_tell("batch norm far from zero", &report);
}

Test(device_functions, log_softmax_and_its_gradient)
{
	static const struct checked_case cases[] = {{"log_softmax", log_softmax, false}};
	static const int64_t sizes[][2] = {{1, 1}, {3, 7}, {33, 10}, {7, 257}, {3, 20011}};

	checked_run_all("log_softmax", cases, 1, sizes, CHECKED_COUNT(sizes));
}
