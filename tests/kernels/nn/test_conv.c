#include "tests/support/golden.h"
#include "tests/support/kernels_run.h"

#include <malloc.h>

#include "kernels/cpu/cpu.h"
#include "kernels/graph/graph.h"

/* --- one convolution with its bias: everything that is computed, in NCHW ---------- */

struct conv_values {
	double *y, *dx, *dw, *db;
};

static void values_free(struct conv_values *v)
{
	free(v->y);
	free(v->dx);
	free(v->dw);
	free(v->db);
}

/* Element (n, c, h, w) of an image or filter of these sizes. */
static int64_t at(enum ws_layout layout, const int64_t size[4], int64_t n, int64_t c, int64_t h,
                  int64_t w)
{
	return layout == WS_LAYOUT_NCHW ? ((n * size[1] + c) * size[2] + h) * size[3] + w
	                                : ((n * size[2] + h) * size[3] + w) * size[1] + c;
}

/* A copy of values in another order, for free(). */
static double *reordered(const double *values, const int64_t size[4], enum ws_layout from,
                         enum ws_layout to)
{
	double *copy = calloc((size_t)(size[0] * size[1] * size[2] * size[3]), sizeof(*copy));

	for (int64_t n = 0; n < size[0]; n++)
		for (int64_t c = 0; c < size[1]; c++)
			for (int64_t h = 0; h < size[2]; h++)
				for (int64_t w = 0; w < size[3]; w++)
					copy[at(to, size, n, c, h, w)] =
					        values[at(from, size, n, c, h, w)];
	return copy;
}

static void write_image(struct kernels_run *r, struct ws_tensor *t, const double *values,
                        const int64_t size[4], enum ws_layout layout)
{
	double *ordered = reordered(values, size, WS_LAYOUT_NCHW, layout);

	kernels_write(r, t, ordered);
	free(ordered);
}

static double *read_image(struct kernels_run *r, const struct ws_tensor *t, const int64_t size[4],
                          enum ws_layout layout)
{
	double *raw = kernels_read(r, t), *ordered = reordered(raw, size, layout, WS_LAYOUT_NCHW);

	free(raw);
	return ordered;
}

#define INPUT_SIZE(f)  ((int64_t[4]){(f)->n, (f)->c, (f)->h, (f)->w})
#define FILTER_SIZE(f) ((int64_t[4]){(f)->k, (f)->c / (f)->groups, (f)->r, (f)->s})
#define OUTPUT_SIZE(f) ((int64_t[4]){(f)->n, (f)->k, (f)->p, (f)->q})

/* What the backend makes of x, w, b and dy, all given and returned in NCHW. */
static struct conv_values run_conv(const struct ws_precision *precision, struct ws_conv f,
                                   const double *x, const double *w, const double *b,
                                   const double *dy)
{
	struct kernels_run r = kernels_open(precision);
	int64_t plane = f.p * f.q;
	struct ws_channels ch = f.layout == WS_LAYOUT_NCHW
	                                ? (struct ws_channels){f.n, f.k, plane}
	                                : (struct ws_channels){f.n * plane, f.k, 1};
	struct ws_tensor *tx =
	        kernels_param(r.graph, "x", ws_image_shape(f.layout, f.n, f.c, f.h, f.w));
	struct ws_tensor *tw =
	        kernels_param(r.graph, "w",
	                      ws_image_shape(f.layout, f.k, f.c / f.groups, f.r, f.s));
	struct ws_tensor *tb = kernels_param(r.graph, "b", WS_SHAPE(f.k));
	struct ws_tensor *y = ws_op_bias(r.graph, ws_op_conv(r.graph, tx, tw, f), tb, ch), *seed;
	struct conv_values v;

	cr_assert_not_null(y, "%s", r.graph->err.text);
	seed = kernels_backward(&r, y);
	kernels_start(&r);
	write_image(&r, tx, x, INPUT_SIZE(&f), f.layout);
	write_image(&r, tw, w, FILTER_SIZE(&f), f.layout);
	write_image(&r, seed, dy, OUTPUT_SIZE(&f), f.layout);
	kernels_write(&r, tb, b);
	kernels_forward(&r);
	KERNELS_OK(ws_exec_phase(r.exec, WSNVTX_PHASE_backward, err));
	v.y = read_image(&r, y, OUTPUT_SIZE(&f), f.layout);
	v.dx = read_image(&r, tx->grad, INPUT_SIZE(&f), f.layout);
	v.dw = read_image(&r, tw->grad, FILTER_SIZE(&f), f.layout);
	v.db = kernels_read(&r, tb->grad);
	kernels_close(&r);
	return v;
}

/* How many of count values are further than tolerance × max(1, |want|) from what they must be. */
static int64_t wrong(const double *got, const double *want, int64_t count, double tolerance)
{
	int64_t n = 0;

	for (int64_t i = 0; i < count; i++)
		n += !(fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i])));
	return n;
}

/* --- golden: PyTorch in double ---------------------------------------------------- */

struct golden {
	const char *name;
	struct ws_conv f; /* NCHW; p, q: as PyTorch's output */
};

/* layout, n, c, h, w, k, r, s, p, q, stride, pad_h, pad_w, groups */
static const struct golden goldens[] = {
        {"plain", {WS_LAYOUT_NCHW, 2, 3, 7, 6, 4, 3, 2, 7, 7, 1, 1, 1, 1}},
        {"stride2", {WS_LAYOUT_NCHW, 2, 3, 9, 8, 5, 3, 3, 5, 4, 2, 1, 1, 1}},
        {"groups3", {WS_LAYOUT_NCHW, 1, 6, 5, 5, 9, 3, 3, 5, 5, 1, 1, 1, 3}},
        {"big_stride", {WS_LAYOUT_NCHW, 1, 3, 15, 15, 2, 7, 7, 4, 4, 4, 2, 2, 1}},
        {"point", {WS_LAYOUT_NCHW, 2, 4, 3, 3, 3, 1, 1, 3, 3, 1, 0, 0, 1}},
        {"conv1d", {WS_LAYOUT_NCHW, 2, 3, 1, 16, 4, 1, 5, 1, 16, 1, 0, 2, 1}},
};

static double *golden(const struct golden *g, const char *tensor, int64_t count)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", g->name, tensor);
	return golden_read("conv", name, count);
}

/* Values that differ from PyTorch's, of all that are compared. f may differ from the golden's. */
static int64_t golden_wrong(const struct golden *g, struct ws_conv f,
                            const struct ws_precision *precision, double tolerance,
                            bool gradients_too)
{
	int64_t in = f.n * f.c * f.h * f.w, out = f.n * f.k * f.p * f.q;
	int64_t filters = f.k * f.c / f.groups * f.r * f.s, n;
	double *x = golden(g, "x", in), *w = golden(g, "w", filters), *b = golden(g, "b", f.k);
	double *y = golden(g, "y", out), *dy = golden(g, "dy", out), *dx = golden(g, "dx", in);
	double *dw = golden(g, "dw", filters), *db = golden(g, "db", f.k);
	struct conv_values v = run_conv(precision, f, x, w, b, dy);

	n = wrong(v.y, y, out, tolerance);
	if (gradients_too)
		n += wrong(v.dx, dx, in, tolerance) + wrong(v.dw, dw, filters, tolerance) +
		     wrong(v.db, db, f.k, tolerance);
	values_free(&v);
	free(x);
	free(w);
	free(b);
	free(y);
	free(dy);
	free(dx);
	free(dw);
	free(db);
	return n;
}

static void expect_goldens(enum ws_layout layout, const struct ws_precision *precision,
                           double tolerance)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(*goldens); i++) {
		struct ws_conv f = goldens[i].f;

		f.layout = layout;
		cr_assert_eq(golden_wrong(&goldens[i], f, precision, tolerance, true), 0, "%s",
		             goldens[i].name);
	}
}

Test(conv, equals_pytorch_in_double_in_both_layouts)
{
	expect_goldens(WS_LAYOUT_NCHW, &kernels_fp64, 1e-12);
	expect_goldens(WS_LAYOUT_NHWC, &kernels_fp64, 1e-12);
}

Test(conv, equals_pytorch_in_float_in_both_layouts)
{
	expect_goldens(WS_LAYOUT_NCHW, &kernels_fp32, 1e-5);
	expect_goldens(WS_LAYOUT_NHWC, &kernels_fp32, 1e-5);
}

Test(conv, golden_geometry_is_that_of_the_file_and_gives_its_output_size)
{
	for (size_t i = 0; i < 5; i++) { /* conv1d has none */
		struct ws_conv f = goldens[i].f;
		double *geometry = golden(&goldens[i], "geometry", 3);

		cr_assert(ws_conv_outputs(&f));
		cr_assert_eq(f.p, goldens[i].f.p);
		cr_assert_eq(f.q, goldens[i].f.q);
		cr_assert_eq((double)f.stride, geometry[0]);
		cr_assert_eq((double)f.pad_h, geometry[1]);
		cr_assert_eq((double)f.groups, geometry[2]);
		free(geometry);
	}
}

/* --- the comparison must be able to fail ------------------------------------------ */

Test(conv, comparison_fails_on_a_wrong_stride_and_padding_that_keep_the_sizes)
{
	struct ws_conv f = goldens[2].f;

	/* 5 × 5 from 5 × 5 by stride 2 and padding 3 too: (5 + 6 - 3) / 2 + 1 */
	f.stride = 2;
	f.pad_h = f.pad_w = 3;
	cr_assert_gt(golden_wrong(&goldens[2], f, &kernels_fp64, 1e-12, false), 100);
}

Test(conv, comparison_fails_on_a_padding_that_is_one_off)
{
	/* padding of 2 rows above and none below: the input one row further down */
	const struct golden *g = &goldens[0];
	struct ws_conv f = g->f;
	int64_t in = f.n * f.c * f.h * f.w, out = f.n * f.k * f.p * f.q;
	double *x = golden(g, "x", in), *w = golden(g, "w", 4 * 3 * 3 * 2), *b = golden(g, "b", 4);
	double *y = golden(g, "y", out), *dy = golden(g, "dy", out);
	double *shifted = calloc((size_t)in, sizeof(*shifted));
	struct conv_values v;

	for (int64_t plane = 0; plane < f.n * f.c; plane++)
		memcpy(shifted + (plane * f.h + 1) * f.w, x + plane * f.h * f.w,
		       (size_t)((f.h - 1) * f.w) * sizeof(*x));
	v = run_conv(&kernels_fp64, f, shifted, w, b, dy);
	cr_assert_gt(wrong(v.y, y, out, 1e-5), out / 2);
	values_free(&v);
	free(x);
	free(w);
	free(b);
	free(y);
	free(dy);
	free(shifted);
}

Test(conv, comparison_fails_on_filters_read_in_the_other_layout)
{
	const struct golden *g = &goldens[2];
	struct ws_conv f = g->f;
	int64_t in = f.n * f.c * f.h * f.w, out = f.n * f.k * f.p * f.q, filters = 9 * 2 * 9;
	double *x = golden(g, "x", in), *w = golden(g, "w", filters);
	double *b = golden(g, "b", f.k), *y = golden(g, "y", out);
	double *turned = reordered(w, FILTER_SIZE(&f), WS_LAYOUT_NCHW, WS_LAYOUT_NHWC);
	struct conv_values v = run_conv(&kernels_fp64, f, x, turned, b, y);

	cr_assert_gt(wrong(v.y, y, out, 1e-5), out / 2);
	values_free(&v);
	free(x);
	free(w);
	free(b);
	free(y);
	free(turned);
}

/* --- oracle: plain loops ---------------------------------------------------------- */

struct oracle {
	struct conv_values v;
	/* sums of the absolute values of the products, and how many were summed: error bounds */
	struct conv_values size;
};

static double *zeros(int64_t count)
{
	return calloc((size_t)count, sizeof(double));
}

static struct oracle oracle_conv(const struct ws_conv *f, const double *x, const double *w,
                                 const double *b, const double *dy)
{
	int64_t in = f->n * f->c * f->h * f->w, out = f->n * f->k * f->p * f->q;
	int64_t c_group = f->c / f->groups, k_group = f->k / f->groups;
	int64_t filters = f->k * c_group * f->r * f->s;
	struct oracle o = {{zeros(out), zeros(in), zeros(filters), zeros(f->k)},
	                   {zeros(out), zeros(in), zeros(filters), zeros(f->k)}};

	for (int64_t i = 0; i < out * c_group * f->r * f->s; i++) {
		int64_t s = i % f->s, r = i / f->s % f->r, c = i / f->s / f->r % c_group;
		int64_t y = i / f->s / f->r / c_group, q = y % f->q, p = y / f->q % f->p;
		int64_t k = y / f->q / f->p % f->k, n = y / f->q / f->p / f->k;
		int64_t h = p * f->stride - f->pad_h + r, col = q * f->stride - f->pad_w + s;
		int64_t ix = ((n * f->c + k / k_group * c_group + c) * f->h + h) * f->w + col;
		int64_t iw = ((k * c_group + c) * f->r + r) * f->s + s;

		if (h < 0 || h >= f->h || col < 0 || col >= f->w)
			continue;
		o.v.y[y] += x[ix] * w[iw];
		o.v.dx[ix] += dy[y] * w[iw];
		o.v.dw[iw] += dy[y] * x[ix];
		o.size.y[y] += fabs(x[ix] * w[iw]);
		o.size.dx[ix] += fabs(dy[y] * w[iw]);
		o.size.dw[iw] += fabs(dy[y] * x[ix]);
	}
	for (int64_t i = 0; i < out; i++) {
		int64_t k = i / (f->p * f->q) % f->k;

		o.v.y[i] += b[k];
		o.v.db[k] += dy[i];
		o.size.y[i] += fabs(b[k]);
		o.size.db[k] += fabs(dy[i]);
	}
	return o;
}

/*
 * Beyond the error bound of sums of `terms` products accumulated with unit
 * roundoff `u`, and rounded to the result's type with `u_out`.
 */
static int64_t beyond(const double *got, const double *want, const double *size, int64_t count,
                      int64_t terms, double u, double u_out)
{
	int64_t n = 0;

	for (int64_t i = 0; i < count; i++) {
		double bound = 4 * sqrt((double)terms) * u * size[i] + u_out * fabs(want[i]);

		n += !(fabs(got[i] - want[i]) <= bound + 1e-30);
	}
	return n;
}

static double *noise(const char *name, int64_t count, enum ws_dtype dtype)
{
	struct ws_rng rng = ws_rng_stream(11, name);
	double *values = zeros(count);
	void *encoded = zeros(count);

	for (int64_t i = 0; i < count; i++)
		values[i] = 2 * ws_rng_uniform(&rng, (uint64_t)i) - 1;
	/* exact in the dtype they are computed in, so that only the computation errs */
	ws_dtype_encode(dtype, values, encoded, count);
	ws_dtype_decode(dtype, encoded, values, count);
	free(encoded);
	return values;
}

static void expect_oracle(struct ws_conv f, const struct ws_precision *precision,
                          enum ws_dtype dtype, double u, double u_out)
{
	int64_t in = f.n * f.c * f.h * f.w, out, patch = f.c / f.groups * f.r * f.s;
	int64_t filters = f.k * patch;
	double *x, *w, *b, *dy;
	struct conv_values v;
	struct oracle o;

	cr_assert(ws_conv_outputs(&f));
	out = f.n * f.k * f.p * f.q;
	x = noise("x", in, dtype);
	w = noise("w", filters, dtype);
	/* a bias would round a 16-bit result a second time */
	b = u == u_out ? noise("b", f.k, dtype) : zeros(f.k);
	dy = noise("dy", out, dtype);
	o = oracle_conv(&f, x, w, b, dy);
	for (int layout = 0; layout < 2; layout++) {
		f.layout = (enum ws_layout)layout;
		v = run_conv(precision, f, x, w, b, dy);
		cr_assert_eq(beyond(v.y, o.v.y, o.size.y, out, patch, u, u_out), 0);
		cr_assert_eq(beyond(v.dx, o.v.dx, o.size.dx, in, patch * f.k, u, u_out), 0);
		cr_assert_eq(beyond(v.dw, o.v.dw, o.size.dw, filters, out / f.k, u, u_out), 0);
		cr_assert_eq(beyond(v.db, o.v.db, o.size.db, f.k, out / f.k, u, u_out), 0);
		values_free(&v);
	}
	values_free(&o.v);
	values_free(&o.size);
	free(x);
	free(w);
	free(b);
	free(dy);
}

/* Shapes that need several tiles, partial tiles, and odd everything. */
static const struct ws_conv shapes[] = {
        /* patches of 1170 numbers: two tiles of a patch */
        {0, 1, 130, 6, 5, 7, 3, 3, 0, 0, 1, 1, 1, 1},
        /* 57 × 41 = 2337 pixels: two tiles of pixels, a row cut in two */
        {0, 2, 3, 57, 41, 5, 3, 3, 0, 0, 1, 1, 1, 1},
        /* the same without gathering */
        {0, 1, 18, 57, 41, 33, 1, 1, 0, 0, 1, 0, 0, 1},
        /* a point with a stride, and one with padding: gathered all the same */
        {0, 2, 6, 9, 8, 4, 1, 1, 0, 0, 2, 0, 0, 1},
        {0, 1, 4, 5, 4, 3, 1, 1, 0, 0, 1, 1, 1, 1},
        /* depthwise: one channel a group */
        {0, 2, 33, 7, 9, 33, 3, 3, 0, 0, 1, 1, 1, 33},
        /* more padding than filter on one side, windows of padding only */
        {0, 1, 2, 3, 3, 2, 2, 2, 0, 0, 1, 4, 3, 1},
        /* stride beyond the window: inputs that no output reads get 0 */
        {0, 1, 3, 11, 10, 2, 2, 2, 0, 0, 3, 0, 0, 1},
        /* a signal of C = 18 with a wide filter, as the seeds have it */
        {0, 3, 18, 1, 256, 18, 1, 17, 0, 0, 1, 0, 8, 1},
        /* AlexNet's first: large window, stride 4 */
        {0, 1, 3, 35, 35, 8, 11, 11, 0, 0, 4, 2, 2, 1},
        /* one window over all, larger than a tile of a patch */
        {0, 1, 1, 40, 40, 2, 40, 40, 0, 0, 1, 0, 0, 1},
};

Test(conv, equals_plain_loops_in_double)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		expect_oracle(shapes[i], &kernels_fp64, WS_DTYPE_F64, 0x1p-53, 0x1p-53);
}

Test(conv, equals_plain_loops_in_float_within_the_error_bound_of_sums)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		expect_oracle(shapes[i], &kernels_fp32, WS_DTYPE_F32, 0x1p-24, 0x1p-24);
}

Test(conv, computes_bf16_in_float_and_rounds_results_once)
{
	static const struct ws_precision bf16 = {.name = "bf16",
	                                         .storage = WS_DTYPE_BF16,
	                                         .low = WS_DTYPE_BF16};
	static const struct ws_precision fp16 = {.name = "fp16",
	                                         .storage = WS_DTYPE_F16,
	                                         .low = WS_DTYPE_F16};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		expect_oracle(shapes[i], &bf16, WS_DTYPE_BF16, 0x1p-24, 0x1p-8);
		expect_oracle(shapes[i], &fp16, WS_DTYPE_F16, 0x1p-24, 0x1p-11);
	}
}

Test(conv, error_bound_catches_a_product_that_is_missing)
{
	struct ws_conv f = shapes[0];
	double *x, *w, *b, *dy;
	struct conv_values v;
	struct oracle o;
	int64_t in = f.n * f.c * f.h * f.w, filters = f.k * 1170, out;

	cr_assert(ws_conv_outputs(&f));
	out = f.n * f.k * f.p * f.q;
	x = noise("x", in, WS_DTYPE_F32);
	w = noise("w", filters, WS_DTYPE_F32);
	b = noise("b", f.k, WS_DTYPE_F32);
	dy = noise("dy", out, WS_DTYPE_F32);
	v = run_conv(&kernels_fp32, f, x, w, b, dy);
	w[1169 - 5] = 0; /* one of 1170 numbers of the first filter */
	o = oracle_conv(&f, x, w, b, dy);
	cr_assert_gt(beyond(v.y, o.v.y, o.size.y, out, 1170, 0x1p-24, 0x1p-24), 10);
	values_free(&v);
	values_free(&o.v);
	values_free(&o.size);
	free(x);
	free(w);
	free(b);
	free(dy);
}

Test(conv, gives_the_same_bits_with_any_number_of_threads)
{
	struct ws_conv f = shapes[1];
	double *got[2];
	double *dw[2];

	cr_assert(ws_conv_outputs(&f));
	for (int i = 0; i < 2; i++) {
		struct kernels_run r = kernels_open(&kernels_fp32);
		struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(f.n, f.c, f.h, f.w));
		struct ws_tensor *w = kernels_param(r.graph, "w", WS_SHAPE(f.k, f.c, f.r, f.s));
		struct ws_tensor *y = ws_op_conv(r.graph, x, w, f);

		kernels_backward(&r, y);
		ws_backend_close(r.backend);
		ws_pool_destroy(r.pool);
		KERNELS_OK(ws_pool_create(i ? 5 : 1, &r.pool, err));
		r.backend = ws_backend_cpu_open(r.pool, 0);
		kernels_start(&r);
		kernels_forward(&r);
		KERNELS_OK(ws_exec_phase(r.exec, WSNVTX_PHASE_backward, err));
		got[i] = kernels_read(&r, y);
		dw[i] = kernels_read(&r, w->grad);
		kernels_close(&r);
	}
	cr_assert_arr_eq(got[0], got[1], (size_t)(f.n * f.k * f.p * f.q) * sizeof(double));
	cr_assert_arr_eq(dw[0], dw[1], (size_t)(f.k * f.c * f.r * f.s) * sizeof(double));
	for (int i = 0; i < 2; i++) {
		free(got[i]);
		free(dw[i]);
	}
}

/* --- building --------------------------------------------------------------------- */

Test(conv, first_layer_has_no_input_gradient)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_conv f = goldens[0].f;
	struct ws_tensor *x = ws_graph_tensor(r.graph, "x", WS_ROLE_INPUT, WS_DTYPE_F32,
	                                      WS_SHAPE(f.n, f.c, f.h, f.w));
	struct ws_tensor *w = kernels_param(r.graph, "w", WS_SHAPE(f.k, f.c, f.r, f.s));
	int dgrads = 0, wgrads = 0;

	kernels_backward(&r, ws_op_conv(r.graph, x, w, f));
	for (int i = 0; i < r.graph->op_count; i++) {
		dgrads += r.graph->ops[i]->kind == WS_OP_CONV_DGRAD;
		wgrads += r.graph->ops[i]->kind == WS_OP_CONV_WGRAD;
	}
	cr_assert_eq(dgrads, 0);
	cr_assert_eq(wgrads, 1);
	kernels_close(&r);
}

Test(conv, payload_has_shape_flops_and_bytes_of_all_three_directions)
{
	/* 2 × 4 × 5 × 4 outputs of 3 / 1 × 3 × 3 products */
	struct ws_conv f = {WS_LAYOUT_NHWC, 2, 6, 9, 8, 4, 3, 3, 5, 4, 2, 1, 1, 2};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(2, 9, 8, 6));
	struct ws_tensor *w = kernels_param(r.graph, "w", WS_SHAPE(4, 3, 3, 3));
	const uint64_t in = 2 * 6 * 9 * 8 * 4, filter = 4 * 3 * 3 * 3 * 4, out = 2 * 4 * 5 * 4 * 4;
	int seen = 0;

	kernels_backward(&r, ws_op_conv(r.graph, x, w, f));
	for (int i = 0; i < r.graph->op_count; i++) {
		const struct wsnvtx_op *p = &r.graph->ops[i]->payload;

		if (p->op != WSNVTX_OP_conv)
			continue;
		seen++;
		cr_assert_eq(p->flops, 2 * 2 * 4 * 5 * 4 * 3 * 3 * 3);
		cr_assert_eq(p->bytes_read + p->bytes_written, in + filter + out);
		cr_assert_eq(p->batch, 2);
		cr_assert_eq(p->c, 6);
		cr_assert_eq(p->h, 9);
		cr_assert_eq(p->w, 8);
		cr_assert_eq(p->k, 4);
		cr_assert_eq(p->r, 3);
		cr_assert_eq(p->s, 3);
		cr_assert_eq(p->m, 5);
		cr_assert_eq(p->n, 4);
		cr_assert_eq(p->stride, 2);
		cr_assert_eq(p->pad, 1);
		cr_assert_eq(p->groups, 2);
	}
	cr_assert_eq(seen, 3);
	kernels_close(&r);
}

Test(conv, geometry_that_does_not_hold_together_is_refused)
{
	static const struct ws_conv bad[] = {
	        /* 4 channels in 3 groups */
	        {0, 1, 4, 5, 5, 6, 3, 3, 5, 5, 1, 1, 1, 3},
	        /* 5 filters in 2 groups */
	        {0, 1, 4, 5, 5, 5, 3, 3, 5, 5, 1, 1, 1, 2},
	        /* an output one too high */
	        {0, 1, 4, 5, 5, 6, 3, 3, 6, 5, 1, 1, 1, 1},
	        /* a window larger than the padded input */
	        {0, 1, 4, 5, 5, 6, 8, 8, 1, 1, 1, 1, 1, 1},
	        {0, 1, 4, 5, 5, 6, 3, 3, 5, 5, 0, 1, 1, 1},
	        {0, 1, 4, 5, 5, 6, 3, 3, 5, 5, 1, 1, 1, 0},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct kernels_run r = kernels_open(&kernels_fp32);
		const struct ws_conv *f = &bad[i];
		int64_t c = f->groups ? f->c / f->groups : 4;
		struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(f->n, f->c, f->h, f->w));
		struct ws_tensor *w = kernels_param(r.graph, "w", WS_SHAPE(f->k, c, f->r, f->s));

		cr_assert_eq(ws_op_conv(r.graph, x, w, *f), &r.graph->error_tensor, "case %d",
		             (int)i);
		cr_assert_eq(r.graph->err.status, WS_BUG);
		kernels_close(&r);
	}
}

/* Where the filter is not trained no other op reads the gradient of the output. */
Test(conv, gradient_of_the_input_alone_has_room_for_its_operands)
{
	static const struct ws_precision tf32 = {.name = "tf32",
	                                         .storage = WS_DTYPE_F32,
	                                         .low = WS_DTYPE_F32,
	                                         .tf32 = true};
	const struct ws_conv f = {WS_LAYOUT_NCHW, 2, 1, 8, 8, 64, 3, 3, 8, 8, 1, 1, 1, 1};
	struct kernels_run r = kernels_open(&tf32);
	struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(f.n, f.c, f.h, f.w));
	struct ws_tensor *w = ws_graph_tensor(r.graph, "w", WS_ROLE_CONST, WS_DTYPE_F32,
	                                      WS_SHAPE(f.k, f.c, f.r, f.s));
	struct ws_tensor *y = ws_op_conv(r.graph, x, w, f);

	kernels_backward(&r, y);
	w->init = (struct ws_init){WS_INIT_TRUNC_NORMAL, 1};
	kernels_start(&r);
	cr_assert_null(w->grad);
	cr_assert_geq(malloc_usable_size(((struct ws_cpu *)r.backend)->workspace),
	              w->size_bytes + y->size_bytes + WS_CPU_TILE_REALS * sizeof(float));
	kernels_forward(&r);
	KERNELS_OK(ws_exec_phase(r.exec, WSNVTX_PHASE_backward, err));
	kernels_close(&r);
}
