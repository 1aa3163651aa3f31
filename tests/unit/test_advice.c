/*
 * Each rule of the advice: a trace that fires it, with numbers worked out by hand, and one beside
 * it that must not. Times are in us here; the device is an H100 unless a test says otherwise:
 * 132 SMs, 3,350 GB/s, bf16 989.4 TFLOP/s.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/advice.h"
#include "trace_builder.h"

#define US 1000

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

static void attr(struct tb *b, const char *name, int64_t value)
{
	tb_add(b, WS_KIND_DEVICE_ATTR, &(struct ws_row_device_attr){1, tb_text(b, name), value});
}

/* Device 1: an H100, or another by name and compute capability. */
static struct tb *trace_on(const char *device, int64_t major, int64_t sms)
{
	struct tb *b = tb_new();

	tb_device(b, 1, WS_DEVICE_CUDA, device);
	attr(b, "compute_capability_major", major);
	attr(b, "compute_capability_minor", 0);
	attr(b, "sm_count", sms);
	return b;
}

static struct tb *h100(void)
{
	return trace_on("NVIDIA H100 80GB HBM3", 9, 132);
}

static uint64_t ids = 1000; /* the writer counts its own from 1 */

/* A kernel on device 1, launched at call_us. */
static void kernel(struct tb *b, int64_t call_us, const char *name, int64_t start_us,
                   int64_t dur_us)
{
	struct tb_kernel k = {name, start_us * US, dur_us * US, ++ids, 1, 100, 0};

	tb_call(b, call_us * US, 1, k.correlation);
	tb_kernel(b, &k);
}

enum { GEMM = 1, CONV, ATTENTION, SOFTMAX, CAST = 16 };
enum { FP32 = 1, TF32, FP16, BF16 };

/* A framework operation around one kernel. */
struct op {
	const char *name;
	int kind, dtype;
	uint64_t batch, m, n, k, flops, bytes;
};

static void run_op(struct tb *b, int64_t at_us, struct op op, const char *kernel_name,
                   int64_t dur_us)
{
	uint64_t id = ++ids;

	tb_add(b, WS_KIND_OP_CONFIG,
	       &(struct ws_row_op_config){.id = id,
	                                  .name = tb_text(b, op.name),
	                                  .dims = tb_text(b, "[[1]]"),
	                                  .kind = (uint64_t)op.kind,
	                                  .dtype = (uint64_t)op.dtype,
	                                  .batch = op.batch,
	                                  .m = op.m,
	                                  .n = op.n,
	                                  .k = op.k,
	                                  .cost = 2,
	                                  .flops = op.flops,
	                                  .bytes_read = op.bytes});
	tb_add(b, WS_KIND_CPU_OP,
	       &(struct ws_row_cpu_op){.start_ns = at_us * US,
	                               .dur_ns = 1 * US,
	                               .thread = 1,
	                               .config = id,
	                               .sequence = -1});
	kernel(b, at_us, kernel_name, at_us, dur_us);
}

/* The table of a finished trace, which is kept for free_all. */
static struct ws_model *model;
static struct ws_table *advice_of(struct tb *b)
{
	model = tb_model(b);
	return tb_table(model, "advice", NULL);
}

static void free_all(struct ws_table *t, struct tb *b)
{
	ws_table_free(t);
	ws_model_free(model);
	tb_free(b);
}

static size_t fired(const struct ws_table *t, const char *rule)
{
	return tb_count(t, "rule", rule);
}

/* The rule was judged and found nothing. */
static int is_quiet(const struct ws_table *t, const char *rule)
{
	char notes[8];

	for (size_t i = 0; i < t->nnotes; i++) {
		const char *list = strstr(t->notes[i], "not found:");

		if (!list)
			continue;
		snprintf(notes, sizeof(notes), " %s,", rule);
		if (strstr(list, notes))
			return !fired(t, rule);
		snprintf(notes, sizeof(notes), " %s.", rule);
		return strstr(list, notes) && !fired(t, rule);
	}
	return 0;
}

static int was_not_judged(const struct ws_table *t, const char *rule)
{
	char text[32];

	snprintf(text, sizeof(text), "Not judged: %s ", rule);
	return tb_notes_say(t, text) && !fired(t, rule);
}

static int says(const struct ws_table *t, const char *rule, const char *part)
{
	return strstr(tb_str(t, tb_find(t, 0, "rule", rule), "evidence"), part) != NULL;
}

/* --- A1 ------------------------------------------------------------------------------------ */

/* `steps` steps of 100 us with ten kernels each, `dur_us` long. */
static struct tb *ten_kernels_a_step(int64_t dur_us)
{
	struct tb *b = h100();

	for (int64_t s = 0; s < 2; s++) {
		tb_push(b, s * 100 * US, "step");
		for (int64_t i = 0; i < 10; i++)
			kernel(b, s * 100 + 10 * i, "k", s * 100 + 10 * i, dur_us);
		tb_pop(b, (s * 100 + 100) * US);
	}
	return b;
}

Test(advice, a1_fires_when_the_gpu_waits_for_short_kernels)
{
	struct tb *b = ten_kernels_a_step(4);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A1");

	cr_expect_str_eq(tb_str(t, row, "severity"), "strong");
	cr_expect_str_eq(tb_str(t, row, "scope"), "whole run");
	cr_expect_str_eq(
	        tb_str(t, row, "evidence"),
	        "GPU busy 40.0 % of 0.100 ms a step, with 10 kernels of 4.0 us on average: "
	        "0.060 ms idle");
	NEAR(tb_real(t, row, "gain_ns"), 60000);
	NEAR(tb_real(t, row, "gain_percent"), 60);
	free_all(t, b);
}

Test(advice, a1_is_quiet_when_the_gpu_is_busy)
{
	struct tb *b = ten_kernels_a_step(9);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A1"));
	free_all(t, b);
}

/* 1 ms of one long kernel, then a range of 100 us with ten kernels of 2 us. */
static struct tb *busy_run_with_a_slow_part(void)
{
	struct tb *b = h100();

	tb_push(b, 0, "step");
	tb_push(b, 0, "forward");
	kernel(b, 1, "long", 10, 1000);
	tb_pop(b, 2 * US);
	tb_push(b, 3 * US, "optimizer");
	for (int64_t i = 0; i < 10; i++)
		kernel(b, 3 + i, "short", 1010 + 10 * i, 2);
	tb_pop(b, 20 * US);
	tb_pop(b, 1110 * US);
	return b;
}

Test(advice, a1_names_the_range_that_waits_in_a_run_that_does_not)
{
	struct tb *b = busy_run_with_a_slow_part();
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A1");

	cr_expect(eq(sz, fired(t, "A1"), 1));
	cr_expect_str_eq(tb_str(t, row, "scope"), "step/optimizer");
	/* from the first start, 1010, to the last end, 1102: 92 us, 20 of them busy */
	NEAR(tb_real(t, row, "gain_ns"), 72000);
	free_all(t, b);
}

Test(advice, launch_bound_paths_tell_a_diff_where_dtypes_do_not_show)
{
	struct tb *b = busy_run_with_a_slow_part();
	struct ws_table *t = advice_of(b);
	struct ws_path_launch *paths = calloc(model->ranges.npaths, sizeof(*paths));
	struct ws_selection sel;
	struct ws_err err;
	size_t bound = 0;

	cr_assert(eq(int, ws_select(model, NULL, &sel, &err), WS_OK));
	cr_assert(eq(int, ws_advice_launch_paths(model, &sel, paths, &err), WS_OK));
	for (uint32_t p = 0; p < model->ranges.npaths; p++) {
		if (model->ranges.paths[p].name != WS_TEXT_OPTIMIZER) {
			cr_expect(eq(int, paths[p].launch_bound, 0));
			continue;
		}
		bound++;
		cr_expect(eq(int, paths[p].launch_bound, 1));
		cr_expect(eq(u64, paths[p].kernels, 10));
		cr_expect(eq(u64, paths[p].short_kernels, 10));
		cr_expect(eq(i64, paths[p].wall_ns, 92000));
		cr_expect(eq(i64, paths[p].busy_ns, 20000));
	}
	cr_expect(eq(sz, bound, 1));
	ws_selection_release(&sel);
	free(paths);
	free_all(t, b);
}

/* What others run meanwhile keeps the device busy: the range does not wait for the host. */
Test(advice, a1_counts_all_work_of_the_device_as_busy)
{
	struct tb *b = busy_run_with_a_slow_part();
	struct ws_table *t;

	tb_thread(b, 2, 100);
	tb_on_thread(b, 2);
	kernel(b, 0, "another", 1010, 90);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A1"));
	free_all(t, b);
}

/* --- A2 ------------------------------------------------------------------------------------ */

static struct tb *steps_of(const int64_t *us, size_t n)
{
	struct tb *b = h100();
	int64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		tb_push(b, at * US, "step");
		tb_push(b, at * US, "forward");
		kernel(b, at, "k", at, us[i] - 1);
		tb_pop(b, (at + us[i] - 1) * US);
		at += us[i];
		tb_pop(b, at * US);
	}
	return b;
}

Test(advice, a2_names_the_step_that_stands_out)
{
	static const int64_t us[] = {1000, 100, 100, 100};
	struct tb *b = steps_of(us, 4);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "scope", "step");

	/* the step and its forward */
	cr_expect(eq(sz, fired(t, "A2"), 2));
	cr_expect_str_eq(tb_str(t, row, "evidence"),
	                 "mean 0.325 ms, median 0.100, standard deviation 0.450 over 4 steps, none "
	                 "of warm-up; standing out: step 0 (1.000 ms)");
	NEAR(tb_real(t, row, "gain_ns"), 225000);
	free_all(t, b);
}

Test(advice, a2_is_quiet_about_steady_steps_and_silent_about_two)
{
	static const int64_t us[] = {101, 100, 100, 100};
	struct tb *b = steps_of(us, 4);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A2"));
	free_all(t, b);
	b = steps_of((const int64_t[]){1000, 100}, 2);
	t = advice_of(b);
	cr_expect(was_not_judged(t, "A2"));
	free_all(t, b);
}

/* A slow warm-up is what warm-up is for. */
Test(advice, a2_looks_at_measured_steps_only)
{
	struct tb *b = h100();
	struct ws_table *t;

	for (int64_t s = 0; s < 4; s++) {
		int64_t at = s ? 1000 + 100 * s : 0;

		tb_push(b, at * US, s ? "step" : "warm-up");
		kernel(b, at, "k", at, 90);
		tb_pop(b, (at + (s ? 100 : 1000)) * US);
	}
	t = advice_of(b);
	cr_expect(is_quiet(t, "A2"));
	free_all(t, b);
}

/* --- matrix products -------------------------------------------------------------------------- */

#define NVJET "nvjet_tst_128x64_64x4_1x2_h_bz_TNT"

static struct op mm(uint64_t m, uint64_t n, uint64_t k)
{
	return (struct op){
	        "aten::mm", GEMM, BF16, 1, m, n, k, 2 * m * n * k, 2 * (m * k + k * n + m * n)};
}

Test(advice, a3_tells_what_to_pad_to)
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

Test(advice, a3_is_weak_about_128_bytes_and_quiet_about_multiples_of_them)
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

Test(advice, a3_takes_the_name_of_a_kernel_for_it)
{
	struct tb *b = h100();
	struct ws_table *t;

	kernel(b, 0,
	       "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_64x6_tn_"
	       "align2>(cutlass_80::Params)",
	       0, 100);
	t = advice_of(b);
	cr_expect(eq(sz, fired(t, "A3"), 1));
	cr_expect(says(t, "A3", "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_64x6_tn_alig"));
	free_all(t, b);
}

Test(advice, a3_and_a8_need_sizes)
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

Test(advice, a4_lists_products_that_leave_tensor_cores_idle)
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

Test(advice, a4_is_quiet_up_to_a_fifth_and_on_devices_without_tensor_cores)
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

Test(advice, a5_finds_kernels_of_an_older_architecture)
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

Test(advice, a5_is_quiet_about_a_fifth_and_about_the_same_kernels_on_an_a100)
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

Test(advice, a6_caps_the_speed_up_and_names_what_can_be_fused)
{
	struct tb *b = attention_by_hand(40);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A6");

	cr_expect_str_eq(
	        tb_str(t, row, "evidence"),
	        "60.0 % of the GPU time: at most 1.67 times as fast were matrix products "
	        "free. Most of it: softmax 35.0 % (at least 1.0 MB a step), scale 15.0 % (at "
	        "least 1.0 MB a step), mask 10.0 % (at least 1.0 MB a step)");
	NEAR(tb_real(t, row, "gain_ns"), 25000);
	free_all(t, b);
}

Test(advice, a6_is_quiet_about_40_percent_and_not_judged_without_products)
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

/* --- A7, A8 -------------------------------------------------------------------------------- */

Test(advice, a7_tells_the_rows_from_which_a_product_is_compute_bound)
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

Test(advice, a7_is_quiet_about_large_products_and_small_shares)
{
	struct tb *b = h100();
	struct ws_table *t;

	run_op(b, 0, mm(4096, 4096, 4096), NVJET, 98);
	run_op(b, 200, mm(128, 4096, 4096), NVJET, 2);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A7"));
	free_all(t, b);
}

Test(advice, a8_finds_tiles_that_reach_over_the_edge)
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

Test(advice, a8_finds_a_last_wave_that_is_nearly_empty)
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

Test(advice, a8_is_quiet_about_full_waves_and_does_not_count_those_of_split_sums)
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

/* --- A9 to A13 ------------------------------------------------------------------------------- */

#define LAYOUT "void cudnn::ops::nhwcToNchwKernel<__half, __half, float, true, false>"

Test(advice, a9_fires_over_3_percent_and_not_at_3)
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

static struct op softmax(uint64_t bytes)
{
	return (struct op){.name = "aten::_softmax",
	                   .kind = SOFTMAX,
	                   .dtype = FP32,
	                   .flops = bytes / 8 * 5,
	                   .bytes = bytes};
}

Test(advice, a10_measures_bandwidth_against_the_devices)
{
	struct tb *b = h100();
	struct ws_table *t;
	size_t row;

	/* 67 MB in 100 us: 670 GB/s, a fifth */
	run_op(b, 0, softmax(67000000), "softmax", 100);
	t = advice_of(b);
	row = tb_find(t, 0, "rule", "A10");
	cr_expect(says(t, "A10", "670 GB/s of 3350; 100.0 us a kernel, 100.0 % of the GPU time"));
	NEAR(tb_real(t, row, "gain_ns"), 80000);
	free_all(t, b);
}

Test(advice, a10_is_quiet_about_fast_kernels_and_short_ones)
{
	struct tb *b = h100();
	struct ws_table *t;

	run_op(b, 0, softmax(268000000), "softmax", 100);
	run_op(b, 200, softmax(6700000), "softmax", 20);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A10"));
	free_all(t, b);
}

Test(advice, a10_takes_the_bandwidth_that_the_program_measured)
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

Test(advice, a11_knows_the_mistakes_that_a_workload_tells_of)
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

Test(advice, a11_finds_products_that_sum_in_fp16)
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

Test(advice, a12_fires_over_5_percent_of_casts_and_not_at_5)
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

Test(advice, a13_holds_the_optimizer_against_28_bytes_a_weight)
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

/* --- A14, A15 -------------------------------------------------------------------------------- */

static struct tb *conv_run(const char *first, const char *second, const char *others)
{
	struct tb *b = h100();

	for (int64_t s = 0; s < 3; s++) {
		tb_push(b, s * 100 * US, s ? "step" : first);
		kernel(b, s * 100, s ? others : second, s * 100, 90);
		kernel(b, s * 100 + 1, others, s * 100 + 90, 5);
		tb_pop(b, (s * 100 + 100) * US);
	}
	return b;
}

#define CONV_A "void implicit_convolveNd_sgemm<float, 3, 1024>"
#define CONV_B "void cudnn::cnn::wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>"

Test(advice, a14_finds_the_search_in_warm_up_and_minds_it_in_a_measured_step)
{
	struct tb *b = conv_run("warm-up", CONV_A, CONV_B);
	struct ws_table *t = advice_of(b);
	size_t row = tb_find(t, 0, "rule", "A14");

	cr_expect_str_eq(tb_str(t, row, "severity"), "hint");
	cr_expect(says(t, "A14", "1 kernels of convolutions, 0.090 ms, ran in it and in no later"));
	free_all(t, b);
	b = conv_run("step", CONV_A, CONV_B);
	t = advice_of(b);
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "rule", "A14"), "severity"), "strong");
	free_all(t, b);
}

Test(advice, a14_is_quiet_when_all_steps_run_the_same)
{
	struct tb *b = conv_run("warm-up", CONV_B, CONV_B);
	struct ws_table *t = advice_of(b);

	cr_expect(is_quiet(t, "A14"));
	free_all(t, b);
	b = conv_run("warm-up", "something else", CONV_B);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A14"));
	free_all(t, b);
}

static struct ws_table *conv_op(struct tb **b, const char *name, uint64_t flops)
{
	struct op op = {.name = name, .kind = CONV, .dtype = FP32, .flops = flops, .bytes = 33500};

	*b = h100();
	/* 100 us: 335 MB or, in fp32 without Tensor Cores, 6.69 GFLOP would be all */
	run_op(*b, 0, op, "conv2d_grouped_direct_kernel<float>", 100);
	return advice_of(*b);
}

Test(advice, a15_hints_at_dense_convolutions)
{
	struct tb *b;
	struct ws_table *t = conv_op(&b, "aten::_conv_depthwise2d", 66900000);

	cr_expect(says(t, "A15", "attains 1.0 % of the FLOP/s and 0.0 % of the bandwidth"));
	free_all(t, b);
	t = conv_op(&b, "aten::_conv_depthwise2d", 6000000000);
	cr_expect(is_quiet(t, "A15"), "nine tenths of the peak");
	free_all(t, b);
	b = h100();
	run_op(b, 0,
	       (struct op){.name = "aten::conv2d",
	                   .kind = CONV,
	                   .dtype = FP32,
	                   .flops = 1000,
	                   .bytes = 1000},
	       CONV_B, 100);
	t = advice_of(b);
	cr_expect(is_quiet(t, "A15"), "a dense one");
	free_all(t, b);
}

/* --- the table ---------------------------------------------------------------------------------
 */

Test(advice, every_rule_fires_is_quiet_or_is_not_judged)
{
	struct tb *b = ten_kernels_a_step(4);
	struct ws_table *t = advice_of(b);

	for (int i = 0; i < WS_RULES; i++) {
		const char *id = ws_rule_defs[i].id;

		cr_expect(eq(int, (fired(t, id) > 0) + is_quiet(t, id) + was_not_judged(t, id), 1),
		          "%s", id);
	}
	free_all(t, b);
}

Test(advice, findings_are_ordered_by_gravity_gain_and_rule)
{
	struct tb *b = h100();
	struct ws_table *t;
	double last = INFINITY;

	run_op(b, 0, softmax(67000000), "softmax", 100);
	run_op(b, 200, mm(512, 10001, 768), NVJET, 100);
	kernel(b, 400, LAYOUT, 400, 30);
	t = advice_of(b);
	cr_assert(t->nrows > 3);
	for (size_t row = 0; row < t->nrows; row++) {
		const char *severity = tb_str(t, row, "severity");
		double gain = tb_is_empty(t, row, "gain_ns") ? -1 : tb_real(t, row, "gain_ns");

		if (row && strcmp(severity, tb_str(t, row - 1, "severity")) != 0) {
			cr_expect(strcmp(severity, "strong") != 0);
			last = INFINITY;
		}
		cr_expect(gain <= last);
		last = gain;
	}
	free_all(t, b);
}

Test(advice, a_rule_shows_five_findings_and_counts_the_others)
{
	struct tb *b = h100();
	struct ws_table *t;

	for (uint64_t i = 0; i < 8; i++)
		run_op(b, (int64_t)(200 * i), mm(512, 10001 + 8 * i, 768), NVJET, 100);
	t = advice_of(b);
	cr_expect(eq(sz, fired(t, "A3"), 5));
	cr_expect(tb_notes_say(t, "A3: 3 more like these"));
	free_all(t, b);
}

Test(advice, times_of_the_cpu_reference_get_no_advice_for_gpus)
{
	struct tb *b = tb_new();
	struct ws_table *t;

	tb_device(b, 7, WS_DEVICE_CPU_REFERENCE, "CPU reference");
	tb_kernel(b, &(struct tb_kernel){"ws_layout_nhwc_fwd_f32", 0, 100, 0, 7, 100, 0});
	t = advice_of(b);
	cr_expect(eq(sz, t->nrows, 0));
	cr_expect(was_not_judged(t, "A9"));
	free_all(t, b);
}

Test(advice, a_trace_without_kernels_says_so)
{
	struct tb *b = tb_new();
	struct ws_table *t = advice_of(b);

	cr_expect(eq(sz, t->nrows, 0));
	cr_expect_not_null(t->not_recorded);
	free_all(t, b);
}

Test(advice, the_first_sheet_has_the_findings_and_how_many_rules_could_be_judged)
{
	struct tb *b = ten_kernels_a_step(4);
	struct ws_table *t;
	size_t row;

	model = tb_model(b);
	t = tb_table(model, "summary", NULL);
	row = tb_find(t, 0, "section", "What is odd");
	cr_expect_str_eq(tb_str(t, row, "item"), "A1 Launch-bound: whole run");
	cr_expect(strstr(tb_str(t, row, "text"), "at most 60.0 % shorter") != NULL);
	row = tb_find(t, 0, "item", "findings in all");
	cr_expect(eq(i64, tb_int(t, row, "count"), 1));
	free_all(t, b);
}

/* --- docs/advice.md ------------------------------------------------------------------------------
 */

#define PAGE  WS_SOURCE_DIR "/docs/advice.md"
#define BEGIN "<!-- begin rules -->\n"
#define END   "<!-- end rules -->"

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	cr_assert(f && text, "cannot read %s", path);
	cr_assert(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

/* With UPDATE_DOCS in the environment the page is written instead of compared. */
Test(advice, the_page_has_the_rules_as_they_are)
{
	char *page = read_all(PAGE), *made = NULL, *begin = strstr(page, BEGIN), *end;
	size_t len;
	FILE *f = open_memstream(&made, &len);

	fputs("| rule | looks for | fires when | what to do |\n|---|---|---|---|\n", f);
	for (int i = 0; i < WS_RULES; i++)
		fprintf(f, "| %s | %s | %s. | %s. |\n", ws_rule_defs[i].id, ws_rule_defs[i].title,
		        ws_rule_defs[i].condition, ws_rule_defs[i].says);
	fclose(f);
	cr_assert_not_null(begin);
	begin += strlen(BEGIN);
	end = strstr(begin, END);
	cr_assert_not_null(end);
	if (getenv("UPDATE_DOCS")) {
		f = fopen(PAGE, "wb");
		cr_assert_not_null(f);
		fprintf(f, "%.*s%s%s", (int)(begin - page), page, made, end);
		cr_assert(eq(int, fclose(f), 0));
	} else {
		cr_expect(eq(sz, (size_t)(end - begin), len));
		cr_expect(strncmp(begin, made, len) == 0, "run test_advice with UPDATE_DOCS=1");
	}
	free(made);
	free(page);
}
