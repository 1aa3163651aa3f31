#include "tests/support/kernels_run.h"

#include <unistd.h>

#include "kernels/nn/layers.h"

/* --- values, by hand ------------------------------------------------------------------- */

static struct ws_tensor *input(struct ws_graph *graph, const char *name, enum ws_dtype dtype,
                               struct ws_shape shape)
{
	return ws_graph_tensor(graph, name, WS_ROLE_INPUT, dtype, shape);
}

static void expect(struct kernels_run *r, struct ws_tensor *y, const double *want, double tolerance)
{
	double *got;

	kernels_forward(r);
	got = kernels_read(r, y);
	for (int64_t i = 0; i < y->count; i++) {
		if (isinf(want[i]))
			cr_assert_eq(got[i], want[i], "element %d", (int)i);
		else
			cr_assert_float_eq(got[i], want[i], tolerance * fmax(1, fabs(want[i])),
			                   "element %d: %.9g, not %.9g", (int)i, got[i], want[i]);
	}
	free(got);
}

static void expect_unary(enum ws_sub sub, double alpha, double x, double want)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *in = input(r.graph, "x", WS_DTYPE_F32, WS_SHAPE(1));
	struct ws_tensor *y = ws_op_unary(r.graph, sub, in, alpha);

	y->keep = true;
	kernels_start(&r);
	kernels_write(&r, in, &x);
	expect(&r, y, &want, 1e-7);
	kernels_close(&r);
}

Test(ops, unary_values)
{
	expect_unary(WS_SUB_NEG, 0, 3, -3);
	expect_unary(WS_SUB_EXP, 0, 1, 2.718281828459045);
	expect_unary(WS_SUB_LOG, 0, 10, 2.302585092994046);
	expect_unary(WS_SUB_SQRT, 0, 2.25, 1.5);
	expect_unary(WS_SUB_RSQRT, 0, 16, 0.25);
	expect_unary(WS_SUB_SQUARE, 0, -3, 9);
	expect_unary(WS_SUB_SIGMOID, 0, 0, 0.5);
	expect_unary(WS_SUB_SIGMOID, 0, -200, 0); /* exp(200) overflows float: the limit is right */
	expect_unary(WS_SUB_SCALE, -0.5, 6, -3);
	expect_unary(WS_SUB_ADD_CONST, 0.25, 6, 6.25);
}

Test(ops, binary_values_in_every_broadcast_form)
{
	static const double a[] = {1, 2, 3, 4, 5, 6}, row[] = {10, 20, 30}, col[] = {2, 4};
	static const double sum[] = {11, 22, 33, 14, 25, 36}, less[] = {9, 18, 27, 6, 15, 24};
	static const double by_col[] = {.5, 1, 1.5, 1, 1.25, 1.5},
	                    by_a[] = {2, 1, 2. / 3, 1, .8, 2. / 3};
	static const double scaled[] = {3, 6, 9, 12, 15, 18}, three = 3;
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_graph *g = r.graph;
	struct ws_tensor *ta = input(g, "a", WS_DTYPE_F32, WS_SHAPE(2, 3));
	struct ws_tensor *tr = input(g, "row", WS_DTYPE_F32, WS_SHAPE(3));
	struct ws_tensor *tc = input(g, "col", WS_DTYPE_F32, WS_SHAPE(2, 1));
	struct ws_tensor *ts = input(g, "one", WS_DTYPE_F32, WS_SHAPE(1));
	struct ws_tensor *y[] = {
	        ws_op_binary(g, WS_SUB_ADD, ta, tr), ws_op_binary(g, WS_SUB_SUB, tr, ta),
	        ws_op_binary(g, WS_SUB_DIV, ta, tc), ws_op_binary(g, WS_SUB_DIV, tc, ta),
	        ws_op_binary(g, WS_SUB_MUL, ts, ta),
	};
	const double *want[] = {sum, less, by_col, by_a, scaled};

	for (int i = 0; i < 5; i++)
		y[i]->keep = true;
	kernels_start(&r);
	kernels_write(&r, ta, a);
	kernels_write(&r, tr, row);
	kernels_write(&r, tc, col);
	kernels_write(&r, ts, &three);
	for (int i = 0; i < 5; i++)
		expect(&r, y[i], want[i], 1e-7);
	kernels_close(&r);
}

Test(ops, reduction_and_mask_values)
{
	static const double x[] = {1, -2, 3, 4, 0, 5, -1, 7, 2};
	static const double max[] = {3, 5, 7}, sum[] = {2, 9, 8}, mean[] = {2. / 3, 3, 8. / 3};
	static const double cols[] = {4, 5, 10};
	static const double masked[] = {1, -9, -9, 4, 0, -9, -1, 7, 2};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_graph *g = r.graph;
	struct ws_tensor *in = input(g, "x", WS_DTYPE_F32, WS_SHAPE(3, 3));
	struct ws_tensor *y[] = {
	        ws_op_reduce(g, WS_SUB_MAX, in),
	        ws_op_reduce(g, WS_SUB_SUM, in),
	        ws_op_reduce(g, WS_SUB_MEAN, in),
	        ws_op_reduce(g, WS_SUB_COLSUM, in),
	        ws_op_unary(g, WS_SUB_CAUSAL_MASK, in, -9),
	};
	const double *want[] = {max, sum, mean, cols, masked};

	for (int i = 0; i < 5; i++)
		y[i]->keep = true;
	kernels_start(&r);
	kernels_write(&r, in, x);
	for (int i = 0; i < 5; i++)
		expect(&r, y[i], want[i], 1e-7);
	kernels_close(&r);
}

Test(ops, permute_exchanges_the_middle_dimensions)
{
	/* [2, 3, 2, 1] as 100 a + 10 b + c, to [2, 2, 3, 1] */
	static const double x[] = {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121};
	static const double want[] = {0, 10, 20, 1, 11, 21, 100, 110, 120, 101, 111, 121};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *in = input(r.graph, "x", WS_DTYPE_F32, WS_SHAPE(2, 3, 2));
	struct ws_tensor *y =
	        ws_op_permute(r.graph, in, (int64_t[]){2, 3, 2, 1}, WS_SHAPE(2, 2, 3), NULL);

	y->keep = true;
	kernels_start(&r);
	kernels_write(&r, in, x);
	expect(&r, y, want, 0);
	kernels_close(&r);
}

Test(ops, rope_rotates_pairs_by_time_and_splits_heads)
{
	/* B 1, T 2, H 2, D 2: one pair a head; theta^0 = 1, so the angle is t */
	static const double x[] = {1, 0, 0, 1, 1, 0, 0, 1};
	const double c = cos(1), s = sin(1);
	/* head 0: (1,0) at t 0, rotated at t 1; head 1: (0,1) likewise */
	const double want[] = {1, 0, c, s, 0, 1, -s, c};
	struct ws_heads head = {1, 2, 2, 2};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *in = input(r.graph, "x", WS_DTYPE_F32, WS_SHAPE(1, 2, 4));
	struct ws_tensor *table =
	        ws_graph_tensor(r.graph, "table", WS_ROLE_CONST, WS_DTYPE_F32, WS_SHAPE(2, 2, 1));
	struct ws_tensor *y, *back;

	table->init = (struct ws_init){WS_INIT_ROPE_TABLE, 10000};
	y = ws_op_rope(r.graph, WS_SUB_ROTATE, in, table, head, NULL);
	back = ws_op_rope(r.graph, WS_SUB_ROTATE_BACK, y, table, head, NULL);
	y->keep = back->keep = true;
	kernels_start(&r);
	kernels_write(&r, in, x);
	expect(&r, y, want, 1e-7);
	expect(&r, back, x, 1e-7);
	kernels_close(&r);
}

Test(ops, rope_rotates_heads_of_any_width)
{
	enum { WIDTH = 4100 };
	struct ws_heads head = {1, 2, 1, WIDTH};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *in = input(r.graph, "x", WS_DTYPE_F32, WS_SHAPE(1, 2, WIDTH));
	struct ws_tensor *table = ws_graph_tensor(r.graph, "table", WS_ROLE_CONST, WS_DTYPE_F32,
	                                          WS_SHAPE(2, 2, WIDTH / 2));
	struct ws_tensor *y;
	double *x = calloc(2, WIDTH * sizeof(*x)), *want = calloc(2, WIDTH * sizeof(*want));

	for (int i = 0; i < WIDTH; i++) {
		double angle = pow(10000, -(double)(i / 2 * 2) / WIDTH);

		x[i] = want[i] = x[WIDTH + i] = 1;
		want[WIDTH + i] = cos(angle) + (i % 2 ? sin(angle) : -sin(angle));
	}
	table->init = (struct ws_init){WS_INIT_ROPE_TABLE, 10000};
	y = ws_op_rope(r.graph, WS_SUB_ROTATE, in, table, head, NULL);
	y->keep = true;
	kernels_start(&r);
	kernels_write(&r, in, x);
	expect(&r, y, want, 1e-6);
	free(x);
	free(want);
	kernels_close(&r);
}

Test(ops, embedding_adds_gradients_of_repeated_tokens)
{
	static const double table[] = {1, 2, 3, 4, 5, 6}, index[] = {2, 0, 2};
	static const double rows[] = {5, 6, 1, 2, 5, 6}, want[] = {3, 4, 0, 0, 6, 8};
	static const double seed[] = {1, 2, 3, 4, 5, 6};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *t = kernels_param(r.graph, "table", WS_SHAPE(3, 2));
	struct ws_tensor *i = input(r.graph, "index", WS_DTYPE_I32, WS_SHAPE(3));
	struct ws_tensor *y = ws_op_embedding(r.graph, t, i);
	struct ws_tensor *dy = kernels_backward(&r, y);
	double *grad;

	kernels_start(&r);
	kernels_write(&r, t, table);
	kernels_write(&r, i, index);
	kernels_write(&r, dy, seed);
	expect(&r, y, rows, 0);
	KERNELS_OK(ws_exec_phase(r.exec, WSNVTX_PHASE_backward, err));
	grad = kernels_read(&r, t->grad);
	cr_assert_arr_eq(grad, want, sizeof(want));
	free(grad);
	kernels_close(&r);
}

Test(ops, gradients_of_repeated_tokens_are_rounded_once)
{
	/* in bf16 the step at 1 is 2^-7: each half of it alone would be lost */
	static const double table[] = {0, 0}, index[] = {1, 1, 1}, seed[] = {1, 0x1p-8, 0x1p-8};
	static const double want[] = {0, 1 + 0x1p-7};
	static const struct ws_precision bf16 = {.name = "bf16",
	                                         .storage = WS_DTYPE_BF16,
	                                         .low = WS_DTYPE_BF16};
	struct kernels_run r = kernels_open(&bf16);
	struct ws_tensor *t = kernels_param(r.graph, "table", WS_SHAPE(2, 1));
	struct ws_tensor *i = input(r.graph, "index", WS_DTYPE_I32, WS_SHAPE(3));
	struct ws_tensor *dy = kernels_backward(&r, ws_op_embedding(r.graph, t, i));
	double *grad;

	kernels_start(&r);
	kernels_write(&r, t, table);
	kernels_write(&r, i, index);
	kernels_write(&r, dy, seed);
	kernels_forward(&r);
	KERNELS_OK(ws_exec_phase(r.exec, WSNVTX_PHASE_backward, err));
	grad = kernels_read(&r, t->grad);
	cr_assert_arr_eq(grad, want, sizeof(want));
	free(grad);
	kernels_close(&r);
}

Test(ops, an_index_out_of_range_is_an_error_and_not_a_wild_read)
{
	static const double bad[] = {0, 3}, negative[] = {-1, 0};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *t = kernels_param(r.graph, "table", WS_SHAPE(3, 2));
	struct ws_tensor *i = input(r.graph, "index", WS_DTYPE_I32, WS_SHAPE(2));
	struct ws_err failure;

	ws_op_embedding(r.graph, t, i);
	kernels_start(&r);
	kernels_write(&r, i, bad);
	cr_assert_eq(ws_exec_phase(r.exec, WSNVTX_PHASE_forward, &failure), WS_BUG);
	kernels_write(&r, i, negative);
	cr_assert_eq(ws_exec_phase(r.exec, WSNVTX_PHASE_forward, &failure), WS_BUG);
	kernels_close(&r);
}

/* --- float against double, at derived bounds ------------------------------------------------ */

#define U32 0x1p-24 /* unit roundoff of float */
#define UBF 0x1p-8  /* of bfloat16 */

struct product {
	int64_t m, n, k;
	bool ta, tb;
	double *a, *b; /* exactly representable in the dtype under test */
};

static double a_at(const struct product *p, int64_t i, int64_t l)
{
	return p->a[p->ta ? l * p->m + i : i * p->k + l];
}

static double b_at(const struct product *p, int64_t l, int64_t j)
{
	return p->b[p->tb ? j * p->k + l : l * p->n + j];
}

/* Largest error over bound: |err| <= 4 sqrt(K) u32 (|A||B|)_ij + u_out |c_ij|. */
static double worst_error(const struct product *p, const double *c, double out_roundoff)
{
	double worst = 0;

	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = 0; j < p->n; j++) {
			double exact = 0, size = 0, bound;

			for (int64_t l = 0; l < p->k; l++) {
				exact += a_at(p, i, l) * b_at(p, l, j);
				size += fabs(a_at(p, i, l) * b_at(p, l, j));
			}
			bound = 4 * sqrt((double)p->k) * U32 * size + out_roundoff * fabs(exact);
			worst = fmax(worst, fabs(c[i * p->n + j] - exact) / bound);
		}
	return worst;
}

/* wrong: the oracle transposes B the other way, to see the check fail. */
static double gemm_error(enum ws_dtype dtype, struct ws_gemm d, double out_roundoff, bool wrong)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *a = input(r.graph, "a", dtype, WS_SHAPE(d.m * d.k));
	struct ws_tensor *b = input(r.graph, "b", dtype, WS_SHAPE(d.k * d.n));
	struct ws_tensor *c = ws_op_gemm(r.graph, a, b, d, WS_SHAPE(d.m, d.n), NULL);
	struct product p = {d.m, d.n, d.k, d.trans_a, wrong ? !d.trans_b : d.trans_b, NULL, NULL};
	double *got, worst;

	a->init = b->init = (struct ws_init){WS_INIT_TRUNC_NORMAL, 1};
	c->keep = true;
	kernels_start(&r);
	kernels_forward(&r);
	p.a = kernels_read(&r, a);
	p.b = kernels_read(&r, b);
	got = kernels_read(&r, c);
	worst = worst_error(&p, got, out_roundoff);
	free(got);
	free(p.a);
	free(p.b);
	kernels_close(&r);
	return worst;
}

Test(ops, precision_gemm_stays_within_the_derived_bound_in_every_layout_and_odd_shape)
{
	static const int64_t shapes[][3] = {{1, 1, 1}, {7, 33, 5}, {33, 7, 100}, {64, 48, 1000}};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		for (int layout = 0; layout < 4; layout++) {
			struct ws_gemm d = {1,          shapes[i][0], shapes[i][1], shapes[i][2],
			                    layout & 1, layout & 2};
			double f32 = gemm_error(WS_DTYPE_F32, d, U32, false);
			double bf16 = gemm_error(WS_DTYPE_BF16, d, UBF, false);

			cr_assert_leq(f32, 1, "f32 layout %d shape %zu: %g of bound", layout, i,
			              f32);
			cr_assert_leq(bf16, 1, "bf16 layout %d shape %zu: %g of bound", layout, i,
			              bf16);
		}
}

Test(ops, precision_bound_is_tight_enough_to_see_a_wrong_transpose_and_a_bf16_result)
{
	struct ws_gemm d = {1, 16, 16, 16, false, false};

	cr_assert_gt(gemm_error(WS_DTYPE_F32, d, U32, true), 1000);
	cr_assert_gt(gemm_error(WS_DTYPE_BF16, d, U32, false), 10,
	             "a result in bf16 passes for fp32");
}

/* y of a one-op graph in a dtype, for x random but representable in it, beside the double result.
 */
static double unary_error_ulp(enum ws_sub sub, enum ws_dtype dtype, double roundoff)
{
	struct kernels_run r = kernels_open(&kernels_fp32), d = kernels_open(&kernels_fp64);
	struct ws_tensor *x = input(r.graph, "x", dtype, WS_SHAPE(3, 777));
	struct ws_tensor *dx = input(d.graph, "x", WS_DTYPE_F64, WS_SHAPE(3, 777));
	struct ws_tensor *y = ws_op_unary(r.graph, sub, x, 0.7f);
	struct ws_tensor *dy = ws_op_unary(d.graph, sub, dx, 0.7f);
	struct ws_rng rng = ws_rng_stream(1, "x");
	double values[3 * 777], *got, *want, worst = 0;

	for (int i = 0; i < 3 * 777; i++)
		values[i] = 0.01 + 4 * ws_rng_uniform(&rng, (uint64_t)i);
	y->keep = dy->keep = true;
	kernels_start(&r);
	kernels_start(&d);
	kernels_write(&r, x, values);
	got = kernels_read(&r, x); /* rounded to dtype */
	kernels_write(&d, dx, got);
	free(got);
	kernels_forward(&r);
	kernels_forward(&d);
	got = kernels_read(&r, y);
	want = kernels_read(&d, dy);
	for (int i = 0; i < 3 * 777; i++)
		worst = fmax(worst, fabs(got[i] - want[i]) / (2 * roundoff * fabs(want[i])));
	free(got);
	free(want);
	kernels_close(&r);
	kernels_close(&d);
	return worst;
}

Test(ops, precision_elementwise_ops_are_within_two_ulp_of_double_and_half_an_ulp_in_bf16)
{
	static const enum ws_sub subs[] = {WS_SUB_NEG,   WS_SUB_EXP,      WS_SUB_SQRT,
	                                   WS_SUB_RSQRT, WS_SUB_SQUARE,   WS_SUB_SIGMOID,
	                                   WS_SUB_SCALE, WS_SUB_ADD_CONST};

	for (size_t i = 0; i < sizeof(subs) / sizeof(*subs); i++) {
		double f32 = unary_error_ulp(subs[i], WS_DTYPE_F32, U32);
		double bf16 = unary_error_ulp(subs[i], WS_DTYPE_BF16, UBF);
		double f16 = unary_error_ulp(subs[i], WS_DTYPE_F16, 0x1p-11);

		cr_assert_leq(f32, 2, "%s f32: %g ulp", ws_sub_info(subs[i])->symbol, f32);
		/* computed in float, rounded once: half an ulp and a trace of the float error */
		cr_assert_leq(bf16, 0.501, "%s bf16: %g ulp", ws_sub_info(subs[i])->symbol, bf16);
		cr_assert_leq(f16, 0.501, "%s f16: %g ulp", ws_sub_info(subs[i])->symbol, f16);
	}
}

Test(ops, precision_softmax_rows_sum_to_one_and_survive_large_scores)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *x = input(r.graph, "x", WS_DTYPE_F32, WS_SHAPE(50, 333));
	struct ws_tensor *y = ws_nn_softmax(r.graph, x);
	double *got;

	x->init = (struct ws_init){WS_INIT_TRUNC_NORMAL, 300}; /* exp(900) would overflow */
	y->keep = true;
	kernels_start(&r);
	kernels_forward(&r);
	got = kernels_read(&r, y);
	for (int row = 0; row < 50; row++) {
		double sum = 0;

		for (int i = 0; i < 333; i++) {
			cr_assert(got[row * 333 + i] >= 0);
			sum += got[row * 333 + i];
		}
		cr_assert_float_eq(sum, 1, 1e-6);
	}
	free(got);
	kernels_close(&r);
}

Test(ops, precision_results_do_not_depend_on_the_number_of_threads)
{
	double *results[2];

	for (int i = 0; i < 2; i++) {
		struct kernels_run r = kernels_open(&kernels_fp32);
		struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(300, 257)), *w, *y,
		                 *seed;

		w = kernels_param(r.graph, "w", WS_SHAPE(257));
		y = ws_nn_softmax(r.graph, ws_nn_rmsnorm(r.graph, x, w, "norm"));
		seed = kernels_backward(&r, y);
		cr_assert_not_null(seed);
		ws_backend_close(r.backend);
		ws_pool_destroy(r.pool);
		KERNELS_OK(ws_pool_create(i ? 5 : 1, &r.pool, err));
		r.backend = ws_backend_cpu_open(r.pool, 0);
		kernels_start(&r);
		kernels_forward(&r);
		KERNELS_OK(ws_exec_phase(r.exec, WSNVTX_PHASE_backward, err));
		results[i] = kernels_read(&r, w->grad);
		kernels_close(&r);
	}
	cr_assert_arr_eq(results[0], results[1], 257 * sizeof(double));
	free(results[0]);
	free(results[1]);
}

#ifdef __SANITIZE_ADDRESS__
/* Tensors are no pieces of memory of their own, so this is what shows a kernel that leaves its. */
Test(ops, one_that_writes_behind_its_result_ends_under_the_sanitizer, .exit_code = 1)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *x = input(r.graph, "x", WS_DTYPE_F32, WS_SHAPE(100, 10));
	struct ws_tensor *y = ws_op_unary(r.graph, WS_SUB_NEG, x, 0);

	kernels_start(&r);
	y->size_bytes -= sizeof(float); /* of which the kernel knows nothing */
	kernels_forward(&r);
	_exit(0);
}
#endif
