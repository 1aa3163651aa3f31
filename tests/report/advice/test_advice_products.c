/*
 * The rules of the advice about matrix products: sizes, Tensor Cores, architecture, intensity,
 * tiles, MFU. A trace that fires a rule, with numbers worked out by hand, and one beside it that
 * must not.
 */
#include "tests/report/advice/advice_traces.h"

Test(advice_products, a3_tells_what_to_pad_to)
{
	struct tb *b = h100();
	struct ws_table *t;
	size_t row;

	run_op(b, 0, mm(512, 10001, 768), NVJET, 100);
	t = advice_of(b);
	row = tb_find(t, 0, "rule", "A3");
	cr_expect(eq(sz, fired(t, "A3"), 1));
	cr_expect_str_eq(tb_str(t, row, "severity"), "strong");
	cr_expect_str_eq(tb_str(t, row, "scope"), "aten::mm 512 x 10001 x 768 bf16");
	cr_expect_str_eq(tb_str(t, row, "evidence"),
	                 "N 10001 (20002 bytes): no multiple of 16 bytes; 100.0 % of the GPU time");
	cr_expect_str_eq(tb_str(t, row, "advice"), "Pad N to 10008 (multiples of 16 bytes)");
	cr_expect(tb_is_empty(t, row, "gain_ns"), "nothing recorded bounds it");
	free_all(t, b);
}

Test(advice_products, a3_is_weak_about_128_bytes_and_quiet_about_multiples_of_them)
{
	struct tb *b = h100();
	struct ws_table *t;
	size_t row;

	run_op(b, 0, mm(512, 10000, 768), NVJET, 100);
	t = advice_of(b);
	row = tb_find(t, 0, "rule", "A3");
	cr_expect_str_eq(tb_str(t, row, "severity"), "weak");
	cr_expect_str_eq(tb_str(t, row, "advice"), "Pad N to 10048 (multiples of 128 bytes)");
	free_all(t, b);

	b = h100();
	run_op(b, 0, mm(512, 10048, 768), NVJET, 100);
	run_op(b, 200, mm(1, 10048, 768), NVJET, 100);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A3"));
	free_all(t, b);
}

Test(advice_products, a3_takes_the_name_of_a_kernel_for_it)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0,
	       "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_64x6_tn_"
	       "align2>(cutlass_80::Params)",
	       0, 100);
	t = advice_of(b);
	cr_expect(eq(sz, fired(t, "A3"), 1));
	cr_expect(says(t, "A3", "_s16816gemm_bf16_128x64_64x6_tn_align2"));
	free_all(t, b);
}

Test(advice_products, a3_and_a8_need_sizes)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0, "k", 0, 100);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A3"));
	cr_expect(was_not_judged(t, "A7"));
	cr_expect(was_not_judged(t, "A8"));
	cr_expect(was_not_judged(t, "A15"));
	free_all(t, b);
}

Test(advice_products, a4_lists_products_that_leave_tensor_cores_idle)
{
	struct tb *b = h100();
	struct ws_table *t;
	size_t row;

	kernel(b, 0, "volta_sgemm_128x64_nn", 0, 60);
	kernel(b, 1, "elementwise", 60, 40);
	t = advice_of(b);
	row = tb_find(t, 0, "rule", "A4");
	cr_expect_str_eq(tb_str(t, row, "evidence"),
	                 "60.0 % of the GPU time: volta_sgemm_128x64_nn (60.0 %)");
	/* at TF32's rate: 60 us less 60 us x 66.9 / 494.7 */
	NEAR(tb_real(t, row, "gain_ns"), 60000 * (1 - 66.9 / 494.7));
	free_all(t, b);
}

Test(advice_products, a4_is_quiet_up_to_a_fifth_and_on_devices_without_tensor_cores)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0, "volta_sgemm_128x64_nn", 0, 20);
	kernel(b, 1, "elementwise", 60, 80);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A4"));
	free_all(t, b);

	b = trace_on("Tesla P100", 6, 56);
	kernel(b, 0, "maxwell_sgemm_128x64_nn", 0, 20);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A4"));
	free_all(t, b);

	b = tb_new();
	tb_launch(b, 0, "volta_sgemm_128x64_nn", 10, 20);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A4"), "no compute capability recorded");
	free_all(t, b);
}

#define SM80                                                                                     \
	"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_execute_kernel__5x_" \
	"cublas"
#define SM90                                                                                      \
	"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_warpgroupsize2x1x1_execute_" \
	"segment_k_off_kernel__5x_cublas"

Test(advice_products, a5_finds_kernels_of_an_older_architecture)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0, SM80, 0, 30);
	kernel(b, 1, SM90, 30, 70);
	t = advice_of(b);
	cr_expect(eq(sz, fired(t, "A5"), 1));
	cr_expect(says(t, "A5", "30.0 % of their time"));
	free_all(t, b);
}

Test(advice_products, a5_is_quiet_about_a_fifth_and_about_the_same_kernels_on_an_a100)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0, SM80, 0, 20);
	kernel(b, 1, SM90, 30, 80);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A5"));
	free_all(t, b);

	b = trace_on("NVIDIA A100-SXM4-80GB", 8, 108);
	kernel(b, 0, SM80, 0, 20);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A5"));
	free_all(t, b);
}

/* --- A7, A8 -------------------------------------------------------------------------------- */

Test(advice_products, a7_tells_the_rows_from_which_a_product_is_compute_bound)
{
	struct tb *b = h100();
	struct ws_table *t;
	double ridge = 989.4e12 / 3350e9, rows;
	char expected[64];

	run_op(b, 0, mm(128, 4096, 4096), NVJET, 100);
	t = advice_of(b);
	cr_expect(says(t, "A7",
	               "120.5 FLOP/byte, under the device's 295.3; 100.0 % of the GPU "
	               "time"));
	/* 2 M N K / (2 (M K + K N + M N)) = ridge, with N = K: M N / (2 M + N) = ridge */
	rows = ceil(ridge * 4096 / (4096 - 2 * ridge));
	snprintf(expected, sizeof(expected), "Compute-bound from M = %.0f on", rows);
	cr_expect(strstr(tb_str(t, tb_find(t, 0, "rule", "A7"), "advice"), expected) != NULL, "%s",
	          tb_str(t, tb_find(t, 0, "rule", "A7"), "advice"));
	free_all(t, b);
}

Test(advice_products, a7_is_quiet_about_large_products_and_small_shares)
{
	struct tb *b = h100();
	struct ws_table *t;

	run_op(b, 0, mm(4096, 4096, 4096), NVJET, 98);
	run_op(b, 200, mm(128, 4096, 4096), NVJET, 2);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A7"));
	free_all(t, b);
}

Test(advice_products, a8_finds_tiles_that_reach_over_the_edge)
{
	struct tb *b = h100();
	struct ws_table *t;

	/* 2 x 66 tiles, the lower half of them for one row */
	run_op(b, 0, mm(129, 8448, 4096), "nvjet_tst_128x128_64x4_1x2_h_bz_TNT", 100);
	t = advice_of(b);
	cr_expect(says(t, "A8",
	               "132 tiles of 128 x 128, 50 % filled, on 132 SMs: 1.00 waves, 100 "
	               "% filled; 100.0 % of the GPU time"));
	NEAR(tb_real(t, tb_find(t, 0, "rule", "A8"), "gain_ns"), 100000 * (1 - 129.0 / 256));
	free_all(t, b);
}

Test(advice_products, a8_finds_a_last_wave_that_is_nearly_empty)
{
	struct tb *b = h100();
	struct ws_table *t;

	/* T = 128, batch 4: 512 x 768 of 128 x 128 tiles are 24 on 132 SMs */
	run_op(b, 0, mm(512, 768, 768), "nvjet_tst_128x128_64x4_1x2_h_bz_TNT", 100);
	t = advice_of(b);
	cr_expect(says(t, "A8",
	               "24 tiles of 128 x 128, 100 % filled, on 132 SMs: 0.18 waves, 18 % "
	               "filled"));
	free_all(t, b);
}

Test(advice_products, a8_is_quiet_about_full_waves_and_does_not_count_those_of_split_sums)
{
	struct tb *b = h100();
	struct ws_table *t;

	/* 8 x 33 = 264 tiles: two full waves */
	run_op(b, 0, mm(1024, 4224, 768), "nvjet_tst_128x128_64x4_1x2_h_bz_TNT", 100);
	run_op(b, 200, mm(512, 768, 768), "nvjet_tst_128x128_64x4_1x2_h_bz_splitK_TNT", 100);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A8"));
	free_all(t, b);
}

/* --- advice that real traces showed to be false ------------------------------------------------
 */

/* M counts rows: nothing lies side by side along it, whatever the layout. */
Test(advice_products, a3_is_quiet_about_m)
{
	struct tb *b = h100();
	struct ws_table *t;

	run_op(b, 0, mm(25089, 4096, 1024), NVJET, 1000);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A3"));
	free_all(t, b);
}

/* 2 x 512 x 10001 x 8192 FLOPs in 120 us are 70 % of an H100's peak: there is nothing to gain. */
Test(advice_products, a3_is_quiet_about_products_near_the_peak_and_small_shares)
{
	struct tb *b = h100();
	struct ws_table *t;

	run_op(b, 0, mm(512, 10001, 8192), NVJET, 120);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A3"));
	free_all(t, b);

	b = h100();
	run_op(b, 0, mm(512, 10001, 768), NVJET, 9);
	kernel(b, 50, "other", 50, 1000);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A3"));
	free_all(t, b);
}

/* The sizes of attention's products are the model's: what helps is fused attention. */
Test(advice_products, a7_is_quiet_about_batched_products)
{
	struct tb *b = h100();
	struct op op = mm(512, 512, 64);
	struct ws_table *t;

	op.batch = 96;
	op.flops *= 96;
	op.bytes *= 96;
	run_op(b, 0, op, NVJET, 100);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A7"));
	free_all(t, b);
}

/* --- A22 ---------------------------------------------------------------------------------------
 */

/* A step of 1 ms, a product of so many us that takes 100 us at an H100's peak, and a softmax. */
static struct tb *products_of(int64_t product_us, int64_t softmax_us)
{
	struct tb *b = h100();
	struct op op = mm(4096, 4096, 2948); /* 98.9 GFLOP */

	op.flops = 98940000000;
	tb_push(b, 0, "step");
	run_op(b, 1, op, NVJET, product_us);
	run_op(b, 2, softmax(2000000000), "softmax", softmax_us);
	tb_pop(b, 1000 * US);
	return b;
}

Test(advice_products, a22_tells_what_products_would_save)
{
	struct tb *b = products_of(400, 590);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A22");

	cr_expect_str_eq(tb_str(t, row, "severity"), "strong");
	cr_expect_str_eq(tb_str(t, row, "evidence"),
	                 "MFU 10.0 %: at the peak, matrix products, convolutions and fused "
	                 "attention need 0.100 ms of a step of 1.000 ms; their kernels took 0.400 "
	                 "ms, and for 0.409 ms the device computed nothing");
	/* at 60 % of the peak it takes 166.7 us */
	NEAR(tb_real(t, row, "gain_percent"), 100 * (400 - 100 / 0.6) / 1000);
	free_all(t, b);
}

Test(advice_products, a22_is_quiet_about_good_use_and_launch_bound_runs)
{
	struct tb *b = products_of(160, 590);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A22"), "62.5 % of the peak: the other 840 us are no product's");
	free_all(t, b);

	b = h100();
	tb_push(b, 0, "step");
	for (int64_t i = 0; i < 10; i++)
		run_op(b, 100 * i + 1, mm(512, 512, 512), NVJET, 30);
	tb_pop(b, 1000 * US);
	t = advice_of(b);
	cr_expect(eq(sz, fired(t, "A1"), 1));
	cr_expect(is_quiet(t, "A22"), "faster products would wait for launches");
	free_all(t, b);

	b = h100();
	kernel(b, 0, NVJET, 0, 100);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A22"));
	free_all(t, b);
}
