/*
 * The rules of the advice about work beside matrix products: a trace that fires a rule, with
 * numbers worked out by hand, and one beside it that must not.
 */
#include "tests/report/advice/advice_traces.h"

/* --- A6 ------------------------------------------------------------------------------------ */

/* gemm 40 us, scale 15, mask 10, softmax 35, by annotated ranges. */
static struct tb *attention_by_hand(int64_t gemm_us)
{
	static const char *const ops[] = {"gemm", "scale", "mask", "softmax"};
	int64_t us[] = {gemm_us, 15, 10, 35}, at = 0;
	struct tb *b = h100();

	tb_in_domain(b, "warpsheet");
	tb_push(b, 0, "step");
	for (int64_t i = 0; i < 4; i++) {
		tb_push_op(b, (10 * i + 1) * US, ops[i],
		           &(struct tb_op){.op = ops[i],
		                           .dtype = "fp32",
		                           .bytes_read = 500000,
		                           .bytes_written = 500000});
		kernel(b, 10 * i + 2, ops[i], at, us[i]);
		tb_pop(b, (10 * i + 5) * US);
		at += us[i];
	}
	tb_pop(b, at * US);
	return b;
}

Test(advice_work, a6_caps_the_speed_up_and_names_what_can_be_fused)
{
	struct tb *b = attention_by_hand(40);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A6");

	cr_expect_str_eq(
	        tb_str(t, row, "evidence"),
	        "60.0 % of the GPU time of all kernels: even with free matrix products, at "
	        "most 1.67 times "
	        "faster. Most of it: softmax 35.0 % (at least 1.0 MB a step), scale 15.0 % (at "
	        "least 1.0 MB a step), mask 10.0 % (at least 1.0 MB a step)");
	NEAR(tb_real(t, row, "gain_ns"), 25000);
	free_all(t, b);
}

Test(advice_work, a6_is_quiet_about_40_percent_and_not_judged_without_products)
{
	struct tb *b = attention_by_hand(90);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A6"));
	free_all(t, b);
	b = h100();
	kernel(b, 0, "elementwise", 0, 10);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A6"));
	free_all(t, b);
}

/* --- A9 to A13 ------------------------------------------------------------------------------- */

Test(advice_work, a9_fires_over_3_percent_and_not_at_3)
{
	struct tb *b = h100();
	struct ws_table *t;
	size_t row;

	kernel(b, 0, LAYOUT, 0, 4);
	kernel(b, 1, "elementwise", 10, 96);
	t = advice_of(b);
	row = tb_find(t, 0, "rule", "A9");
	cr_expect(says(t, "A9", "nhwcToNchwKernel (4.0 %)"));
	NEAR(tb_real(t, row, "gain_ns"), 4000);
	free_all(t, b);

	b = h100();
	kernel(b, 0, LAYOUT, 0, 3);
	kernel(b, 1, "elementwise", 10, 97);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A9"));
	free_all(t, b);
}

Test(advice_work, a10_measures_bandwidth_against_the_devices)
{
	struct tb *b = h100();
	struct ws_table *t;
	size_t row;

	/* 67 MB in 100 us: 670 GB/s, a fifth */
	run_op(b, 0, softmax(67000000), "softmax", 100);
	t = advice_of(b);
	row = tb_find(t, 0, "rule", "A10");
	cr_expect(says(t, "A10", "670 GB/s of 3350; 100.0 us per kernel, 100.0 % of the GPU time"));
	NEAR(tb_real(t, row, "gain_ns"), 80000);
	free_all(t, b);
}

Test(advice_work, a10_is_quiet_about_fast_kernels_and_short_ones)
{
	struct tb *b = h100();
	struct ws_table *t;

	run_op(b, 0, softmax(268000000), "softmax", 100);
	run_op(b, 200, softmax(6700000), "softmax", 20);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A10"));
	free_all(t, b);
}

Test(advice_work, a10_takes_the_bandwidth_that_the_program_measured)
{
	struct tb *b = h100();
	struct ws_table *t;

	tb_mark(b, 0, "workload.peak.memory=1000");
	run_op(b, 1, softmax(67000000), "softmax", 100);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A10"), "670 of 1000 GB/s");
	free_all(t, b);
}

static struct ws_table *facts(struct tb **b, const char *a, const char *c)
{
	*b = h100();
	tb_mark(*b, 0, a);
	if (c)
		tb_mark(*b, 1, c);
	kernel(*b, 1, "k", 1, 1);
	return advice_of(*b);
}

Test(advice_work, a11_knows_the_mistakes_that_a_workload_tells_of)
{
	static const struct {
		const char *a, *b;
		size_t findings;
	} cases[] = {
	        {"workload.dtype=amp-fp16", "workload.loss_scale=none", 1},
	        {"workload.dtype=amp-fp16", "workload.loss_scale=dynamic", 0},
	        {"workload.dtype=amp-bf16", "workload.loss_scale=none", 0},
	        {"workload.dtype=fp32", "workload.loss_scale=none", 0},
	        {"workload.dtype=fp16", "workload.loss_scale=static:0.5", 1},
	        {"workload.dtype=fp16", "workload.loss_scale=static:128", 0},
	        {"workload.dtype=fp16", "workload.optimizer=adamw", 1},
	        {"workload.dtype=fp16", "workload.optimizer=sgd", 0},
	        {"workload.dtype=amp-fp16", "workload.skipped_steps=3", 1},
	        {"workload.dtype=amp-fp16", "workload.skipped_steps=0", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tb *b;
		struct ws_table *t = facts(&b, cases[i].a, cases[i].b);

		cr_expect(eq(sz, fired(t, "A11"), cases[i].findings), "%s, %s", cases[i].a,
		          cases[i].b);
		cr_expect(cases[i].findings || is_quiet(t, "A11"));
		free_all(t, b);
	}
}

Test(advice_work, a11_finds_products_that_sum_in_fp16)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0, "volta_h884gemm_256x64_ldg8_nn", 0, 1);
	kernel(b, 1, "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", 1, 1);
	t = advice_of(b);
	cr_expect(eq(sz, fired(t, "A11"), 1));
	cr_expect(says(t, "A11", "volta_h884gemm_256x64_ldg8_nn (50.0 %)"));
	cr_expect(eq(int, says(t, "A11", "s884"), 0));
	free_all(t, b);
	b = h100();
	kernel(b, 1, "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", 1, 1);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A11"), "no fact says the precision");
	free_all(t, b);
}

Test(advice_work, a12_fires_over_5_percent_of_casts_and_not_at_5)
{
	struct tb *b = h100();
	struct op cast = {.name = "aten::_to_copy", .kind = CAST, .dtype = FP32};
	struct ws_table *t;

	run_op(b, 0, cast, "direct_copy", 6);
	kernel(b, 10, "k", 10, 94);
	t = advice_of(b);
	cr_expect(says(t, "A12", "6.0 % of the GPU time in 1 kernels"));
	NEAR(tb_real(t, tb_find(t, 0, "rule", "A12"), "gain_ns"), 6000);
	free_all(t, b);

	b = h100();
	kernel(b, 0,
	       "void at::native::vectorized_elementwise_kernel<8, "
	       "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)>",
	       0, 5);
	kernel(b, 10, "k", 10, 95);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A12"));
	free_all(t, b);
}

static struct tb *optimizer_run(int64_t optimizer_us)
{
	struct tb *b = h100();

	tb_mark(b, 0, "workload.optimizer=adamw");
	tb_mark(b, 0, "workload.parameters=1000000");
	tb_push(b, 1, "step");
	kernel(b, 1, "k", 1, 100 - optimizer_us);
	tb_push(b, 2 * US, "optimizer");
	kernel(b, 2, "update", 200, optimizer_us);
	tb_pop(b, 4 * US);
	tb_pop(b, 300 * US);
	return b;
}

Test(advice_work, a13_holds_the_optimizer_against_28_bytes_a_weight)
{
	struct tb *b = optimizer_run(40);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A13");

	/* 28 MB at 3,350 GB/s: 8.358 us */
	cr_expect(says(t, "A13",
	               "40.0 % of the GPU time in 1 kernels a step: 0.040 ms, where "
	               "1000000 weights need 0.008"));
	NEAR(tb_real(t, row, "gain_ns"), 40000 - 28e6 / 3350e9 * 1e9);
	free_all(t, b);
	b = optimizer_run(15);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A13"));
	free_all(t, b);
}

/* --- advice that real traces showed to be false ------------------------------------------------
 */

Test(advice_work, a21_names_attention_that_is_not_fused)
{
	struct tb *b = attention_by_hand(40);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A21");

	/* scale 15, mask 10 and softmax 35 of 100 us */
	NEAR(tb_real(t, row, "gain_ns"), 60000);
	cr_expect_str_eq(tb_str(t, row, "severity"), "strong");
	free_all(t, b);

	b = h100();
	run_op(b, 0, softmax(268000000), "softmax", 100);
	kernel(b, 100,
	       "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, "
	       "128, 128, 4, false, false, cutlass::bfloat16_t>, "
	       "false>(pytorch_flash::Flash_fwd_params)",
	       100, 10);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A21"));
	free_all(t, b);

	b = attention_by_hand(900);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A21"));
	free_all(t, b);
}

/* multi_tensor_apply copies the inputs of a CUDA graph of inference, too. */
Test(advice_work, a13_is_not_judged_where_nothing_trains)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0,
	       "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
	       "(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
	       "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>>",
	       0, 80);
	kernel(b, 90, "other", 90, 20);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A13"));
	free_all(t, b);
}

/* The gradient of a batch norm must read its inputs twice: 1,000 GB/s of one pass are 1,667. */
Test(advice_work, a10_counts_both_passes_of_a_batch_norms_gradient)
{
	struct tb *b = h100();
	struct op op = softmax(134000000);
	struct ws_table *t;

	op.name = "aten::native_batch_norm_backward";
	op.kind = 0;
	run_op(b, 0, op, "batch_norm_backward_cudnn", 100);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A10"));
	free_all(t, b);
}

/* Unclassified work is not "beside matrix products": nobody knows what it is. */
Test(advice_work, a6_is_not_judged_over_unclassified_work)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0, NVJET, 0, 10);
	kernel(b, 1, "nobody_knows", 10, 90);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A6"));
	free_all(t, b);
}

/* A gain under one per cent of the time is never a strong finding. */
Test(advice_work, nothing_small_is_strong)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0, LAYOUT, 0, 40);
	kernel(b, 41, NVJET, 41, 900);
	tb_push(b, 941 * US, "enumerate(DataLoader)#x");
	tb_pop(b, 10000 * US);
	t = advice_of(b);
	for (size_t i = 0; i < t->nrows; i++)
		if (!tb_is_empty(t, i, "gain_percent") && tb_real(t, i, "gain_percent") < 1)
			cr_expect_str_neq(tb_str(t, i, "severity"), "strong");
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "rule", "A9"), "severity"), "weak");
	free_all(t, b);
}
