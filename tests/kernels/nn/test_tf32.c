/* What TF32 rounds, and where. */
#include "tests/support/kernels_run.h"

Test(tf32, rounds_to_nearest_even_at_ten_bits)
{
	static const struct {
		float in, out;
	} cases[] = {
	        {1, 1},
	        {0x1.004p0f, 0x1.004p0f},    /* 2^-10: the last bit that is kept */
	        {0x1.002p0f, 1},             /* half of it: to even, down */
	        {0x1.006p0f, 0x1.008p0f},    /* one and a half: to even, up */
	        {0x1.002002p0f, 0x1.004p0f}, /* just above a half */
	        {-0x1.006p0f, -0x1.008p0f},  /* sign apart */
	        {0x1.ffep0f, 2},             /* carries into the exponent */
	        {0x1.fffffep127f, INFINITY}, /* and over the top */
	        {INFINITY, INFINITY},
	        {-INFINITY, -INFINITY},
	        {0x1p-149f, 0}, /* subnormals round at 2^-136 */
	        {0x1.8p-136f, 0x1p-135f},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_assert_eq(ws_f32_to_tf32(cases[i].in), cases[i].out, "%a: %a", cases[i].in,
		             ws_f32_to_tf32(cases[i].in));
	cr_assert(isnan(ws_f32_to_tf32(NAN)));
	cr_assert(signbit(ws_f32_to_tf32(-0.0f)));
}

Test(tf32, hardware_that_cuts_reads_another_number)
{
	cr_assert_eq(ws_f32_read(0x1.006p0f, WS_TF32_CUT), 0x1.004p0f);
	cr_assert_eq(ws_f32_read(-0x1.fffffep127f, WS_TF32_CUT), -0x1.ffcp127f);
	cr_assert_eq(ws_f32_read(0x1.006p0f, WS_TF32_ROUNDED), 0x1.008p0f);
	cr_assert_eq(ws_f32_read(0x1.006p0f, WS_TF32_EXACT), 0x1.006p0f);
	cr_assert(isnan(ws_f32_read(NAN, WS_TF32_CUT)));
}

/* [1, 2] · [2, 1] of numbers that TF32 cannot hold: what is multiplied are the rounded ones. */
Test(tf32, products_read_rounded_operands_and_other_ops_do_not)
{
	static const struct ws_precision tf32 = {.name = "tf32",
	                                         .storage = WS_DTYPE_F32,
	                                         .low = WS_DTYPE_F32,
	                                         .tf32 = true};
	const double a_values[2] = {0x1.006p0, 3}, b_values[2] = {0x1.002p0, 0x1.002002p0};

	for (int with = 0; with < 2; with++) {
		struct kernels_run r = kernels_open(with ? &tf32 : &kernels_fp32);
		struct ws_tensor *a = kernels_param(r.graph, "a", WS_SHAPE(1, 2));
		struct ws_tensor *b = kernels_param(r.graph, "b", WS_SHAPE(2, 1));
		struct ws_tensor *product, *sum;
		double *got;
		char name[64];

		product = ws_op_gemm(r.graph, a, b, (struct ws_gemm){1, 1, 1, 2, false, false},
		                     WS_SHAPE(1, 1), NULL);
		sum = ws_op_binary(r.graph, WS_SUB_ADD, a, a);
		product->keep = sum->keep = true;
		kernels_start(&r);
		kernels_write(&r, a, a_values);
		kernels_write(&r, b, b_values);
		kernels_forward(&r);
		got = kernels_read(&r, product);
		cr_assert_eq(got[0],
		             with ? 0x1.008p0 * 1 + 3 * 0x1.004p0
		                  : (float)(0x1.006p0 * 0x1.002p0 + 3 * 0x1.002002p0),
		             "%a", got[0]);
		free(got);
		got = kernels_read(&r, sum);
		cr_assert_eq(got[0], 2 * 0x1.006p0);
		free(got);
		cr_assert_str_eq(ws_op_kernel_name(r.graph->ops[0], name, sizeof(name)),
		                 with ? "ws_gemm_nn_fwd_tf32_f32" : "ws_gemm_nn_fwd_f32");
		kernels_close(&r);
	}
}
