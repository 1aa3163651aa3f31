#include "tests/support/golden.h"
#include "tests/support/kernels_run.h"

#include "kernels/nn/layers.h"
#include "kernels/graph/graph.h"

#define FILE_NAME "norm_pool_loss"

static const struct ws_precision bf16 = {.name = "bf16",
                                         .storage = WS_DTYPE_BF16,
                                         .low = WS_DTYPE_BF16};

/* --- helpers ---------------------------------------------------------------------- */

static struct ws_tensor *input(struct ws_graph *graph, const char *name, enum ws_dtype dtype,
                               struct ws_shape shape)
{
	struct ws_tensor *t = ws_graph_tensor(graph, name, WS_ROLE_INPUT, dtype, shape);

	t->init = (struct ws_init){WS_INIT_FILL, 0};
	return t;
}

/* [n, c, plane] to [n, plane, c], or back with the sizes exchanged; for free(). */
static double *turned(const double *values, int64_t n, int64_t c, int64_t plane)
{
	double *copy = calloc((size_t)(n * c * plane), sizeof(*copy));

	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < c; j++)
			for (int64_t k = 0; k < plane; k++)
				copy[(i * plane + k) * c + j] = values[(i * c + j) * plane + k];
	return copy;
}

/* Write a golden NCHW tensor in a layout. */
static void write_golden(struct kernels_run *r, struct ws_tensor *t, const char *name,
                         enum ws_layout layout, int64_t n, int64_t c)
{
	double *values = golden_read(FILE_NAME, name, t->count);
	double *last = turned(values, n, c, t->count / n / c);

	kernels_write(r, t, layout == WS_LAYOUT_NCHW ? values : last);
	free(values);
	free(last);
}

static int64_t wrong(const double *got, const double *want, int64_t count, double tolerance)
{
	int64_t n = 0;

	for (int64_t i = 0; i < count; i++)
		n += !(fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i])));
	return n;
}

/* Compare a tensor that is in a layout with a golden NCHW one. */
static void expect_golden(struct kernels_run *r, const struct ws_tensor *t, const char *name,
                          enum ws_layout layout, int64_t n, int64_t c, double tolerance)
{
	double *want = golden_read(FILE_NAME, name, t->count), *got = kernels_read(r, t);
	double *first = turned(got, n, t->count / n / c, c);

	cr_assert_eq(wrong(layout == WS_LAYOUT_NCHW ? got : first, want, t->count, tolerance), 0,
	             "%s", name);
	free(want);
	free(got);
	free(first);
}

static void run_both(struct kernels_run *r)
{
	kernels_forward(r);
	KERNELS_OK(ws_exec_phase(r->exec, WSNVTX_PHASE_backward, err));
}

/* Each golden in both layouts, in double and in float. */
static void in_all_forms(void (*check)(enum ws_layout layout, const struct ws_precision *precision,
                                       double tolerance))
{
	for (int layout = 0; layout < 2; layout++) {
		check((enum ws_layout)layout, &kernels_fp64, 1e-12);
		check((enum ws_layout)layout, &kernels_fp32, 1e-5);
	}
}

/* --- batch norm ------------------------------------------------------------------- */

struct norm_case {
	struct kernels_run r;
	struct ws_tensor *x, *gamma, *beta, *mean, *var, *y, *dy;
};

static struct norm_case norm_open(enum ws_layout layout, const struct ws_precision *precision,
                                  enum ws_dtype dtype, int64_t n, int64_t c, int64_t h, int64_t w)
{
	struct norm_case s = {.r = kernels_open(precision)};
	struct ws_graph *g = s.r.graph;
	struct ws_norm norm = {.ch = layout == WS_LAYOUT_NCHW
	                                     ? (struct ws_channels){n, c, h * w}
	                                     : (struct ws_channels){n * h * w, c, 1},
	                       .eps = 1e-5,
	                       .momentum = 0.1};

	s.x = kernels_param(g, "x", ws_image_shape(layout, n, c, h, w));
	s.gamma = kernels_param(g, "gamma", WS_SHAPE(c));
	s.beta = kernels_param(g, "beta", WS_SHAPE(c));
	s.mean = ws_graph_tensor(g, "mean", WS_ROLE_STATE, precision->storage, WS_SHAPE(c));
	s.var = ws_graph_tensor(g, "var", WS_ROLE_STATE, precision->storage, WS_SHAPE(c));
	s.mean->init = (struct ws_init){WS_INIT_FILL, 0};
	s.var->init = (struct ws_init){WS_INIT_FILL, 1};
	s.y = ws_op_batch_norm(g, ws_op_cast(g, s.x, dtype), s.gamma, s.beta, s.mean, s.var, norm);
	cr_assert_not_null(s.y, "%s", g->err.text);
	s.dy = kernels_backward(&s.r, s.y);
	kernels_start(&s.r);
	return s;
}

static void check_batch_norm(enum ws_layout layout, const struct ws_precision *precision,
                             double tolerance)
{
	struct norm_case s = norm_open(layout, precision, precision->storage, 3, 4, 3, 2);

	write_golden(&s.r, s.x, "batchnorm.x", layout, 3, 4);
	write_golden(&s.r, s.dy, "batchnorm.dy", layout, 3, 4);
	write_golden(&s.r, s.gamma, "batchnorm.gamma", WS_LAYOUT_NCHW, 1, 4);
	write_golden(&s.r, s.beta, "batchnorm.beta", WS_LAYOUT_NCHW, 1, 4);
	run_both(&s.r);
	expect_golden(&s.r, s.y, "batchnorm.y", layout, 3, 4, tolerance);
	expect_golden(&s.r, s.x->grad, "batchnorm.dx", layout, 3, 4, tolerance);
	expect_golden(&s.r, s.gamma->grad, "batchnorm.dgamma", WS_LAYOUT_NCHW, 1, 4, tolerance);
	expect_golden(&s.r, s.beta->grad, "batchnorm.dbeta", WS_LAYOUT_NCHW, 1, 4, tolerance);
	expect_golden(&s.r, s.mean, "batchnorm.running_mean", WS_LAYOUT_NCHW, 1, 4, tolerance);
	expect_golden(&s.r, s.var, "batchnorm.running_var", WS_LAYOUT_NCHW, 1, 4, tolerance);
	kernels_close(&s.r);
}

Test(image_ops, batch_norm_equals_pytorch_forward_backward_and_running_statistics)
{
	in_all_forms(check_batch_norm);
}

Test(image_ops, batch_norm_running_statistics_forget_by_the_momentum)
{
	/* x = -1, 1 in one channel: mean 0, biased variance 1, unbiased 2 */
	static const double x[] = {-1, 1};
	struct norm_case s = norm_open(WS_LAYOUT_NCHW, &kernels_fp64, WS_DTYPE_F64, 2, 1, 1, 1);
	double *var;

	kernels_write(&s.r, s.x, x);
	kernels_forward(&s.r);
	kernels_forward(&s.r);
	var = kernels_read(&s.r, s.var);
	/* 0.9 (0.9 1 + 0.1 2) + 0.1 2 */
	cr_assert_float_eq(var[0], 1.19, 1e-14, "%g", var[0]);
	free(var);
	kernels_close(&s.r);
}

Test(image_ops, batch_norm_of_bf16_images_keeps_statistics_and_parameters_in_fp32)
{
	/* 256 and 257: bf16 holds 256 and 258; mean of 4096 values that bf16 sums would lose */
	enum { COUNT = 4096 };
	static double x[COUNT];
	struct norm_case s = norm_open(WS_LAYOUT_NHWC, &kernels_fp32, WS_DTYPE_BF16, 4, 1, 32, 32);
	double *mean, *dgamma;
	const struct ws_op *op = s.r.graph->ops[1];

	for (int i = 0; i < COUNT; i++)
		x[i] = i % 2 ? 258 : 256;
	kernels_write(&s.r, s.x, x);
	kernels_forward(&s.r);
	cr_assert_eq(op->kind, WS_OP_BATCH_NORM);
	cr_assert_eq(op->out[0]->dtype, WS_DTYPE_BF16);
	cr_assert_eq(op->out[1]->dtype, WS_DTYPE_F32);
	cr_assert_eq(op->payload.dtype, WSNVTX_DTYPE_bf16);
	KERNELS_OK(ws_exec_phase(s.r.exec, WSNVTX_PHASE_backward, err));
	mean = kernels_read(&s.r, s.mean);
	dgamma = kernels_read(&s.r, s.gamma->grad);
	cr_assert_float_eq(mean[0], 0.1 * 257, 1e-5, "%.9g", mean[0]);
	cr_assert(isfinite(dgamma[0]));
	cr_assert_eq(s.gamma->grad->dtype, WS_DTYPE_F32);
	free(mean);
	free(dgamma);
	kernels_close(&s.r);
}

Test(image_ops, batch_norm_of_many_channels_equals_that_of_each_alone)
{
	/* 70 channels: a block of 64 and a rest, in NHWC */
	enum { N = 3, C = 70, PLANE = 5 };
	struct norm_case first =
	        norm_open(WS_LAYOUT_NCHW, &kernels_fp64, WS_DTYPE_F64, N, C, 1, PLANE);
	struct norm_case last =
	        norm_open(WS_LAYOUT_NHWC, &kernels_fp64, WS_DTYPE_F64, N, C, 1, PLANE);
	double *x = kernels_read(&first.r, first.x), *dy = kernels_read(&first.r, first.dy);
	double *x_last = turned(x, N, C, PLANE), *dy_last = turned(dy, N, C, PLANE);
	double *dx, *dx_last, *dx_first;

	kernels_write(&last.r, last.x, x_last);
	kernels_write(&last.r, last.dy, dy_last);
	run_both(&first.r);
	run_both(&last.r);
	dx = kernels_read(&first.r, first.x->grad);
	dx_last = kernels_read(&last.r, last.x->grad);
	dx_first = turned(dx_last, N, PLANE, C);
	cr_assert_eq(wrong(dx_first, dx, (int64_t)N * C * PLANE, 1e-13), 0);
	free(x);
	free(dy);
	free(x_last);
	free(dy_last);
	free(dx);
	free(dx_last);
	free(dx_first);
	kernels_close(&first.r);
	kernels_close(&last.r);
}

Test(image_ops, batch_norm_of_one_value_a_channel_is_an_error_of_the_user)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *c3[5];

	for (int i = 0; i < 5; i++)
		c3[i] = kernels_param(r.graph, "c", WS_SHAPE(1, 3));
	cr_assert_eq(ws_op_batch_norm(r.graph, c3[0], c3[1], c3[2], c3[3], c3[4],
	                              (struct ws_norm){.ch = {1, 3, 1}}),
	             &r.graph->error_tensor);
	cr_assert_eq(r.graph->err.status, WS_USAGE);
	kernels_close(&r);
}

/* --- pooling ---------------------------------------------------------------------- */

static void check_max_pool(enum ws_layout layout, const struct ws_precision *precision,
                           double tolerance)
{
	struct kernels_run r = kernels_open(precision);
	struct ws_window w = {layout, 2, 3, 7, 6, 0, 0, 3, 3, 2, 1};
	struct ws_tensor *x = kernels_param(r.graph, "x", ws_image_shape(layout, 2, 3, 7, 6)), *y,
	                 *dy;

	cr_assert(ws_window_outputs(&w));
	cr_assert_eq(w.p, 4);
	cr_assert_eq(w.q, 3);
	y = ws_op_max_pool(r.graph, x, w);
	dy = kernels_backward(&r, y);
	kernels_start(&r);
	write_golden(&r, x, "maxpool.x", layout, 2, 3);
	write_golden(&r, dy, "maxpool.dy", layout, 2, 3);
	run_both(&r);
	expect_golden(&r, y, "maxpool.y", layout, 2, 3, tolerance);
	expect_golden(&r, x->grad, "maxpool.dx", layout, 2, 3, tolerance);
	kernels_close(&r);
}

Test(image_ops, pool_max_equals_pytorch)
{
	in_all_forms(check_max_pool);
}

static void check_avg_pool(const char *name, int64_t p, int64_t q, enum ws_layout layout,
                           const struct ws_precision *precision, double tolerance)
{
	struct kernels_run r = kernels_open(precision);
	struct ws_window w = {layout, 2, 3, 7, 5, p, q, 0, 0, 0, 0};
	struct ws_tensor *x = kernels_param(r.graph, "x", ws_image_shape(layout, 2, 3, 7, 5));
	struct ws_tensor *y = ws_op_avg_pool(r.graph, x, w), *dy = kernels_backward(&r, y);
	char full[64];

	kernels_start(&r);
	snprintf(full, sizeof(full), "%s.x", name);
	write_golden(&r, x, full, layout, 2, 3);
	snprintf(full, sizeof(full), "%s.dy", name);
	write_golden(&r, dy, full, layout, 2, 3);
	run_both(&r);
	snprintf(full, sizeof(full), "%s.y", name);
	expect_golden(&r, y, full, layout, 2, 3, tolerance);
	snprintf(full, sizeof(full), "%s.dx", name);
	expect_golden(&r, x->grad, full, layout, 2, 3, tolerance);
	kernels_close(&r);
}

static void check_adaptive(enum ws_layout layout, const struct ws_precision *precision,
                           double tolerance)
{
	check_avg_pool("adaptive_avgpool", 2, 3, layout, precision, tolerance);
}

static void check_global(enum ws_layout layout, const struct ws_precision *precision,
                         double tolerance)
{
	check_avg_pool("global_avgpool", 1, 1, layout, precision, tolerance);
}

Test(image_ops, pool_adaptive_average_equals_pytorch)
{
	in_all_forms(check_adaptive);
	in_all_forms(check_global);
}

typedef struct ws_tensor *pool_op(struct ws_graph *graph, struct ws_tensor *x, struct ws_window w);

/* One plane of 4 × 4 through a pooling, and its gradient for dy = 1. */
static void pool_plane(pool_op *pool, const double *x, struct ws_window w, double *out, double *dx)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *in = kernels_param(r.graph, "x", WS_SHAPE(1, 1, 4, 4)), *y, *dy;
	double *got;

	y = pool(r.graph, in, w);
	cr_assert_not_null(y);
	dy = kernels_backward(&r, y);
	dy->init = (struct ws_init){WS_INIT_FILL, 1};
	kernels_start(&r);
	kernels_write(&r, in, x);
	run_both(&r);
	got = kernels_read(&r, y);
	memcpy(out, got, (size_t)y->count * sizeof(*out));
	free(got);
	got = kernels_read(&r, in->grad);
	memcpy(dx, got, 16 * sizeof(*dx));
	free(got);
	kernels_close(&r);
}

Test(image_ops, pool_max_takes_the_first_of_equals_and_a_nan_wins)
{
	static const double x[] = {1, 5, 0, 0, 5, 2, 0, 0, -3, -4, 7, NAN, -9, -3, 8, 6};
	static const double want_dx[] = {0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0};
	double y[4], dx[16];

	pool_plane(ws_op_max_pool, x, (struct ws_window){0, 1, 1, 4, 4, 2, 2, 2, 2, 2, 0}, y, dx);
	cr_assert_eq(y[0], 5);
	cr_assert_eq(y[1], 0);
	cr_assert_eq(y[2], -3);
	cr_assert(isnan(y[3]));
	cr_assert_arr_eq(dx, want_dx, sizeof(want_dx));
}

Test(image_ops, pool_adaptive_average_to_a_larger_plane_repeats_as_vgg_does_on_small_images)
{
	static const double x[16] = {1, 2, 3, 4};
	double y[36], dx[16];

	/* 4 to 6: output i covers floor(4 i / 6) … ceil(4 (i + 1) / 6): 0-1 0-2 1-2 2-3 2-4 3-4 */
	pool_plane(ws_op_avg_pool, x, (struct ws_window){0, 1, 1, 4, 4, 6, 6, 0, 0, 0, 0}, y, dx);
	cr_assert_eq(y[0], 1);
	cr_assert_eq(y[1], 1.5);
	cr_assert_eq(y[2], 2);
	cr_assert_eq(y[3], 3);
	cr_assert_eq(y[4], 3.5);
	cr_assert_eq(y[5], 4);
	/* rows 0 and 1 of outputs read row 0: a whole and a half; so do columns: (1 + 1/2)^2 */
	cr_assert_float_eq(dx[0], 2.25, 1e-6);
}

Test(image_ops, pool_costs_are_comparisons_additions_and_each_operand_once)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_window max = {0, 2, 3, 8, 8, 4, 4, 3, 3, 2, 1};
	struct ws_window avg = {0, 2, 3, 8, 8, 2, 2, 0, 0, 0, 0};
	struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(2, 3, 8, 8));
	const struct wsnvtx_op *p;

	kernels_backward(&r, ws_op_max_pool(r.graph, x, max));
	p = &r.graph->ops[0]->payload;
	cr_assert_eq(p->flops, 2 * 3 * 16 * (9 - 1));
	cr_assert_eq(p->bytes_read, 4 * 2 * 3 * 64);
	cr_assert_eq(p->bytes_written, 2 * 4 * 2 * 3 * 16); /* and the positions */
	cr_assert_eq(p->op, WSNVTX_OP_pool);
	cr_assert_eq(p->r, 3);
	cr_assert_eq(p->stride, 2);
	p = &r.graph->ops[1]->payload;
	cr_assert_eq(p->flops, 2 * 3 * 16);
	cr_assert_eq(p->bytes_read, 2 * 4 * 2 * 3 * 16);
	cr_assert_eq(p->bytes_written, 4 * 2 * 3 * 64);
	kernels_close(&r);

	r = kernels_open(&kernels_fp32);
	x = kernels_param(r.graph, "x", WS_SHAPE(2, 3, 8, 8));
	kernels_backward(&r, ws_op_avg_pool(r.graph, x, avg));
	cr_assert_eq(r.graph->ops[0]->payload.flops, 2 * 3 * 4 * 16);
	cr_assert_eq(r.graph->ops[1]->payload.flops, 2 * 3 * 64);
	kernels_close(&r);
}

Test(image_ops, pool_windows_that_do_not_fit_are_refused)
{
	static const struct ws_window bad[] = {
	        {0, 1, 1, 4, 4, 3, 2, 2, 2, 2, 0}, /* an output too many */
	        {0, 1, 1, 4, 4, 4, 4, 2, 2, 1, 2}, /* more padding than half a window */
	        {0, 1, 1, 4, 4, 0, 1, 0, 0, 0, 0},
	        {0, 1, 2, 4, 4, 2, 2, 2, 2, 2, 0}, /* two channels of one */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct kernels_run r = kernels_open(&kernels_fp32);
		struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(1, 1, 4, 4));

		cr_assert_eq(ws_op_avg_pool(r.graph, x, bad[i]), &r.graph->error_tensor, "case %d",
		             (int)i);
		kernels_close(&r);
		r = kernels_open(&kernels_fp32);
		x = kernels_param(r.graph, "x", WS_SHAPE(1, 1, 4, 4));
		cr_assert_eq(ws_op_max_pool(r.graph, x, bad[i]), &r.graph->error_tensor, "case %d",
		             (int)i);
		kernels_close(&r);
	}
}

/* --- bias, activations ------------------------------------------------------------ */

Test(image_ops, bias_adds_by_channel_in_both_layouts_and_its_gradient_sums_each)
{
	static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, b[] = {100, 200, 300};
	static const double first[] = {101, 102, 203, 204, 305, 306, 107, 108, 209, 210, 311, 312};
	static const double last[] = {101, 202, 303, 104, 205, 306, 107, 208, 309, 110, 211, 312};
	static const struct ws_channels ch[] = {{2, 3, 2}, {4, 3, 1}};
	static const double sums[2][3] = {{18, 26, 34}, {22, 26, 30}};

	for (int i = 0; i < 2; i++) {
		struct kernels_run r = kernels_open(&kernels_fp32);
		struct ws_tensor *tx = kernels_param(r.graph, "x", WS_SHAPE(12));
		struct ws_tensor *tb = kernels_param(r.graph, "b", WS_SHAPE(3));
		struct ws_tensor *y = ws_op_bias(r.graph, tx, tb, ch[i]);
		struct ws_tensor *dy = kernels_backward(&r, y);
		double *got, *db;

		kernels_start(&r);
		kernels_write(&r, tx, x);
		kernels_write(&r, tb, b);
		kernels_write(&r, dy, x);
		run_both(&r);
		got = kernels_read(&r, y);
		db = kernels_read(&r, tb->grad);
		cr_assert_arr_eq(got, i ? last : first, sizeof(first));
		cr_assert_arr_eq(db, sums[i], sizeof(sums[i]));
		free(got);
		free(db);
		kernels_close(&r);
	}
}

static void check_leaky(enum ws_layout layout, const struct ws_precision *precision,
                        double tolerance)
{
	struct kernels_run r = kernels_open(precision);
	struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(4, 6));
	struct ws_tensor *y = ws_op_unary(r.graph, WS_SUB_LEAKY_RELU, x, 0.01);
	struct ws_tensor *dy = kernels_backward(&r, y);
	double wave[24];

	(void)layout;
	/* dy of the golden: wave(4, 6, phase=3.0) of make_golden.py */
	for (int i = 0; i < 24; i++)
		wave[i] = sin(0.7 * i + 0.013 * i * i + 3);
	kernels_start(&r);
	write_golden(&r, x, "leaky_relu.x", WS_LAYOUT_NCHW, 1, 24);
	kernels_write(&r, dy, wave);
	run_both(&r);
	expect_golden(&r, y, "leaky_relu.y", WS_LAYOUT_NCHW, 1, 24, tolerance);
	expect_golden(&r, x->grad, "leaky_relu.dx", WS_LAYOUT_NCHW, 1, 24, tolerance);
	kernels_close(&r);
}

Test(image_ops, activation_leaky_relu_equals_pytorch_whose_slope_at_0_is_that_below)
{
	check_leaky(WS_LAYOUT_NCHW, &kernels_fp64, 1e-12);
	check_leaky(WS_LAYOUT_NCHW, &kernels_fp32, 1e-5);
}

Test(image_ops, activation_relu_and_tanh_values_and_gradients)
{
	static const double x[] = {-2, 0, 3, NAN}, one[] = {1, 1, 1, 1};
	struct kernels_run r = kernels_open(&kernels_fp64);
	struct ws_tensor *t = kernels_param(r.graph, "x", WS_SHAPE(4));
	struct ws_tensor *relu = ws_op_unary(r.graph, WS_SUB_RELU, t, 0);
	struct ws_tensor *tanh_t = ws_op_unary(r.graph, WS_SUB_TANH, t, 0);
	struct ws_tensor *y = ws_op_binary(r.graph, WS_SUB_ADD, relu, tanh_t);
	struct ws_tensor *dy = kernels_backward(&r, y);
	double *got, *dx;

	kernels_start(&r);
	kernels_write(&r, t, x);
	kernels_write(&r, dy, one);
	run_both(&r);
	got = kernels_read(&r, y);
	dx = kernels_read(&r, t->grad);
	cr_assert_float_eq(got[0], tanh(-2), 1e-15);
	cr_assert_eq(got[1], 0);
	cr_assert_float_eq(got[2], 3 + tanh(3), 1e-15);
	cr_assert(isnan(got[3]), "a NaN must not become 0");
	cr_assert_float_eq(dx[0], 1 - tanh(2) * tanh(2), 1e-15);
	cr_assert_eq(dx[1], 1, "0 from relu, 1 from tanh");
	cr_assert_float_eq(dx[2], 2 - tanh(3) * tanh(3), 1e-15);
	free(got);
	free(dx);
	kernels_close(&r);
}

/* --- losses ----------------------------------------------------------------------- */

Test(image_ops, loss_mse_equals_pytorch)
{
	static const struct ws_precision *const precisions[] = {&kernels_fp64, &kernels_fp32};
	static const double tolerances[] = {1e-12, 1e-5};

	for (int i = 0; i < 2; i++) {
		struct kernels_run r = kernels_open(precisions[i]);
		struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(3, 5));
		struct ws_tensor *target =
		        input(r.graph, "target", precisions[i]->storage, WS_SHAPE(3, 5));
		struct ws_tensor *loss = ws_nn_mse(r.graph, x, target);

		loss->keep = true;
		KERNELS_OK(ws_graph_backward(r.graph, loss, NULL, err));
		kernels_start(&r);
		write_golden(&r, x, "mse.x", WS_LAYOUT_NCHW, 1, 15);
		write_golden(&r, target, "mse.target", WS_LAYOUT_NCHW, 1, 15);
		run_both(&r);
		expect_golden(&r, loss, "mse.loss", WS_LAYOUT_NCHW, 1, 1, tolerances[i]);
		expect_golden(&r, x->grad, "mse.dx", WS_LAYOUT_NCHW, 1, 15, tolerances[i]);
		kernels_close(&r);
	}
}

Test(image_ops, loss_cross_entropy_equals_pytorch)
{
	static const struct ws_precision *const precisions[] = {&kernels_fp64, &kernels_fp32};
	static const double tolerances[] = {1e-12, 1e-5};

	for (int i = 0; i < 2; i++) {
		struct kernels_run r = kernels_open(precisions[i]);
		struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(5, 7));
		struct ws_tensor *target = input(r.graph, "target", WS_DTYPE_I32, WS_SHAPE(5));
		struct ws_tensor *loss = ws_nn_cross_entropy(r.graph, x, target, true);

		loss->keep = true;
		KERNELS_OK(ws_graph_backward(r.graph, loss, NULL, err));
		kernels_start(&r);
		write_golden(&r, x, "cross_entropy.logits", WS_LAYOUT_NCHW, 1, 35);
		write_golden(&r, target, "cross_entropy.target", WS_LAYOUT_NCHW, 1, 5);
		run_both(&r);
		expect_golden(&r, loss, "cross_entropy.loss", WS_LAYOUT_NCHW, 1, 1, tolerances[i]);
		expect_golden(&r, x->grad, "cross_entropy.dlogits", WS_LAYOUT_NCHW, 1, 35,
		              tolerances[i]);
		kernels_close(&r);
	}
}

Test(image_ops, loss_mse_of_bf16_outputs_is_computed_in_fp32_against_fp32_targets)
{
	/* 1 and 1 + 2^-9: the same in bf16, apart in fp32; (2^-9)^2 */
	static const double x = 1, target = 1 + 0x1p-9;
	struct kernels_run r = kernels_open(&bf16);
	struct ws_tensor *tx = kernels_param(r.graph, "x", WS_SHAPE(1, 1));
	struct ws_tensor *tt = input(r.graph, "target", WS_DTYPE_F32, WS_SHAPE(1, 1));
	struct ws_tensor *loss = ws_nn_mse(r.graph, tx, tt);
	double *got;

	loss->keep = true;
	KERNELS_OK(ws_graph_backward(r.graph, loss, NULL, err));
	kernels_start(&r);
	kernels_write(&r, tx, &x);
	kernels_write(&r, tt, &target);
	run_both(&r);
	got = kernels_read(&r, loss);
	cr_assert_eq(loss->dtype, WS_DTYPE_F32);
	cr_assert_eq(got[0], 0x1p-18, "%g", got[0]);
	free(got);
	got = kernels_read(&r, tx->grad);
	cr_assert_eq(tx->grad->dtype, WS_DTYPE_BF16);
	cr_assert_eq(got[0], -0x1p-8, "%g", got[0]);
	free(got);
	kernels_close(&r);
}
