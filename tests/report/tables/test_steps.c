/* Softmax against matrix products; all else of steps: ../scenarios/steps.scenario. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "tests/support/trace_builder.h"

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))

/* --- softmax versus matmul ---------------------------------------------------------------------
 */

#define D_HEAD 64
#define T2     1024 /* elements of the scores */

static void add_op(struct tb *b, int64_t from, const char *name, const char *op,
                   const char *direction, uint64_t flops, int64_t gpu_ns)
{
	struct tb_op o = {flops, 3 * T2, T2, op, direction, "fp32", -1};

	tb_push_op(b, from, name, &o);
	tb_launch(b, from + 1, op, 10 * from, gpu_ns);
	tb_pop(b, from + 3);
}

/* Forward of one attention as the seeds' model runs it, 60 ns long; and one projection. */
static void add_attention(struct tb *b, int64_t from, const char *layer)
{
	tb_push(b, from, layer);
	add_op(b, from + 1, "projection", "gemm", "forward", 5000, 11);
	tb_push(b, from + 5, "scaled dot product attention");
	tb_push(b, from + 6, "computing attention scores");
	add_op(b, from + 7, "q k^T", "gemm", "forward", 2 * D_HEAD * T2, 100);
	add_op(b, from + 12, "scale", "scale", "forward", T2, 20);
	tb_pop(b, from + 16);
	tb_push(b, from + 17, "computing softmax");
	add_op(b, from + 18, "mask", "mask", "forward", 0, 30);
	for (int64_t i = 0; i < 5; i++)
		add_op(b, from + 22 + 4 * i, "softmax op", "other", "forward", T2, 16);
	tb_pop(b, from + 45);
	tb_push(b, from + 46, "final matmul");
	add_op(b, from + 47, "p v", "gemm", "forward", 2 * D_HEAD * T2, 60);
	tb_pop(b, from + 51);
	tb_pop(b, from + 52);
	tb_pop(b, from + 60);
}

static size_t find_part(const struct ws_table *t, const char *scope, const char *phase,
                        const char *part)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "scope"), scope) &&
		    !strcmp(tb_str(t, row, "phase"), phase) &&
		    !strcmp(tb_str(t, row, "part"), part))
			return row;
	cr_fatal("no row %s, %s, %s", scope, phase, part);
}

Test(steps, softmax_against_matmul_by_hand)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	/* a warm-up and two steps of two layers; numbers are those of one step */
	for (int64_t i = 0; i < 3; i++) {
		tb_push(b, 1000 * i, i ? "step" : "warm-up");
		tb_push(b, 1000 * i + 1, "forward");
		add_attention(b, 1000 * i + 10, "layer 10");
		add_attention(b, 1000 * i + 100, "layer 2");
		tb_pop(b, 1000 * i + 200);
		tb_pop(b, 1000 * i + 201);
	}
	j = tb_joined(b);
	t = tb_table(j, "softmax-matmul", NULL);

	cr_expect_str_eq(tb_str(t, 0, "scope"), "all layers", "the answer stands on top");
	row = find_part(t, "layer 2", "forward", "computing attention scores");
	cr_expect(row < find_part(t, "layer 10", "forward", "computing attention scores"),
	          "layers in the order of their numbers");
	cr_expect(eq(i64, tb_int(t, row, "kernels"), 1));
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 100));
	cr_expect(eq(i64, tb_int(t, row, "flops"), 131072));
	cr_expect(eq(i64, tb_int(t, row, "bytes"), 4096));
	NEAR(tb_real(t, row, "intensity"), 32.0);
	NEAR(tb_real(t, row, "tflops"), 1.31072);
	NEAR(tb_real(t, row, "gbs"), 40.96);
	cr_expect(tb_is_empty(t, row, "bound"));
	NEAR(tb_real(t, row, "flop_ratio"), 25.6);
	NEAR(tb_real(t, row, "time_ratio"), 0.8);

	row = find_part(t, "layer 2", "forward", "scale and mask");
	cr_expect(eq(i64, tb_int(t, row, "kernels"), 2), "apart, wherever the program put them");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 50));
	cr_expect(tb_is_empty(t, row, "flop_ratio"));
	row = find_part(t, "layer 2", "forward", "computing softmax");
	cr_expect(eq(i64, tb_int(t, row, "kernels"), 5));
	cr_expect(eq(i64, tb_int(t, row, "flops"), 5 * T2));
	row = find_part(t, "layer 2", "forward", "whole attention");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 290));
	NEAR(tb_real(t, row, "flop_ratio"), 51.2);
	NEAR(tb_real(t, row, "time_ratio"), 0.5);

	row = find_part(t, "all layers", "forward", "whole attention");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 580));
	row = find_part(t, "model", "forward", "all matmul kernels");
	cr_expect(eq(i64, tb_int(t, row, "flops"), 2 * (5000 + 2 * 131072)));
	cr_expect(eq(i64, tb_int(t, row, "kernels"), 6));
	row = find_part(t, "model", "forward", "all softmax kernels");
	cr_expect(eq(i64, tb_int(t, row, "flops"), 2 * 5 * T2));

	cr_expect(tb_notes_say(t, "mean over 2 measured steps"));
	cr_expect(
	        tb_notes_say(t,
	                     "Self-attention of all layers, forward: softmax takes 0.80 times the "
	                     "GPU time of computing attention scores (QK^T), with 1/25.6 of the "
	                     "FLOPs: per FLOP it takes 20.5 times as long."));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(steps, attention_without_payloads_has_times_and_no_flops)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_push(b, 0, "forward");
	tb_push(b, 1, "computing attention scores");
	tb_launch(b, 2, "k", 100, 10);
	tb_pop(b, 5);
	tb_push(b, 6, "computing softmax");
	tb_launch(b, 7, "k", 120, 30);
	tb_pop(b, 9);
	tb_pop(b, 10);
	j = tb_joined(b);
	t = tb_table(j, "softmax-matmul", NULL);
	row = find_part(t, "(no layer)", "forward", "computing attention scores");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 10));
	cr_expect(tb_is_empty(t, row, "flops"));
	cr_expect(tb_is_empty(t, row, "tflops"));
	cr_expect(tb_is_empty(t, row, "flop_ratio"));
	NEAR(tb_real(t, row, "time_ratio"), 3.0);
	row = find_part(t, "model", "forward", "all softmax kernels");
	cr_expect(eq(i64, tb_int(t, row, "gpu_ns"), 30), "the range tells the class");
	cr_expect(tb_notes_say(t, "no finished range `step`, so the numbers are of all kernels"));
	cr_expect(tb_notes_say(t, "Their FLOPs are not recorded."));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* A softmax of elementwise kernels has no name that tells: the little that has one is no 0.00. */
Test(steps, softmax_that_names_do_not_tell_is_said_to_be_elsewhere)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_launch(b, 0, "sgemm", 10, 10000);
	tb_launch(b, 20, "softmax_warp_forward<float>", 30000, 45);
	tb_launch(b, 40, "vectorized_elementwise_kernel<exp>", 40000, 5000);
	j = tb_joined(b);
	t = tb_table(j, "softmax-matmul", NULL);
	cr_expect(tb_notes_say(t, "softmax takes 0.0045 times the GPU time of all matrix"));
	cr_expect(tb_notes_say(t, "A softmax made of elementwise kernels is among all other"));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(steps, one_operation_that_does_not_say_leaves_the_flops_of_its_part_unknown)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;

	tb_push(b, 0, "step");
	tb_push(b, 1, "forward");
	add_attention(b, 10, "layer 0");
	tb_push(b, 100, "layer 0");
	tb_push(b, 101, "computing softmax");
	tb_launch(b, 102, "unannotated", 5000, 3);
	tb_pop(b, 105);
	tb_pop(b, 106);
	tb_pop(b, 107);
	tb_pop(b, 108);
	j = tb_joined(b);
	t = tb_table(j, "softmax-matmul", NULL);
	cr_expect(tb_is_empty(t, find_part(t, "layer 0", "forward", "computing softmax"), "flops"));
	cr_expect(not(tb_is_empty(t, find_part(t, "layer 0", "forward", "final matmul"), "flops")));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

/* Two layers of 4 heads, 500 queries by 500 keys, in one direction. */
static void add_fused(struct tb *b, int64_t from, const char *direction, uint64_t flops)
{
	struct tb_op op = {.flops = flops,
	                   .bytes_read = 3000000,
	                   .bytes_written = 1000000,
	                   .op = "attention",
	                   .direction = direction,
	                   .dtype = "bf16"};

	tb_push(b, from, direction);
	for (int64_t i = 0; i < 2; i++) {
		op.layer = (int32_t)i;
		tb_push(b, from + 10 * i + 1, "scaled dot product attention");
		tb_push_sized_op(b, from + 10 * i + 2, "fused attention", &op,
		                 (const uint64_t[5]){4, 500, 500, 64});
		tb_launch(b, from + 10 * i + 3, "cudnn_generated_fort_native_sdpa_sm90", 100 * from,
		          50);
		tb_pop(b, from + 10 * i + 5);
		tb_launch(b, from + 10 * i + 6, "copy", 100 * from + 60, 5);
		tb_pop(b, from + 10 * i + 8);
	}
	tb_pop(b, from + 40);
}

Test(steps, fused_attention_is_a_part_of_its_own_and_says_what_it_saves)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_push(b, 0, "step");
	add_fused(b, 10, "forward", 4000);
	add_fused(b, 100, "backward", 10000);
	tb_pop(b, 200);
	j = tb_joined(b);
	t = tb_table(j, "softmax-matmul", NULL);
	row = find_part(t, "layer 1", "forward", "fused attention");
	NEAR(tb_real(t, row, "gpu_ns"), 50);
	NEAR(tb_real(t, row, "flops"), 4000);
	row = find_part(t, "all layers", "backward", "fused attention");
	NEAR(tb_real(t, row, "gpu_ns"), 100);
	NEAR(tb_real(t, row, "flops"), 20000);
	row = find_part(t, "all layers", "forward", "other kernels of attention");
	NEAR(tb_real(t, row, "gpu_ns"), 10);
	cr_expect(tb_notes_say(t, "Fused attention has no separate softmax"));
	cr_expect(tb_notes_say(t, "all layers, forward: the T x T scores of fused attention, "
	                          "2000000 per step"));
	cr_expect(tb_notes_say(t, "4.0 MB in each pass; fused attention moves 8.0 MB in all"));
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}

Test(steps, steps_that_differ_give_a_mean_that_is_no_whole_number)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct ws_table *t;
	size_t row;

	tb_push(b, 0, "step");
	tb_push(b, 1, "final matmul");
	tb_launch(b, 2, "k", 100, 10);
	tb_pop(b, 5);
	tb_pop(b, 6);
	tb_push(b, 10, "step");
	tb_push(b, 11, "final matmul");
	tb_launch(b, 12, "k", 200, 10);
	tb_launch(b, 14, "k", 300, 11);
	tb_pop(b, 16);
	tb_pop(b, 17);
	j = tb_joined(b);
	t = tb_table(j, "softmax-matmul", NULL);
	row = find_part(t, "(no layer)", "", "final matmul");
	NEAR(tb_real(t, row, "kernels"), 1.5);
	NEAR(tb_real(t, row, "gpu_ns"), 15.5);
	ws_table_free(t);
	joined_free(j);
	tb_free(b);
}
