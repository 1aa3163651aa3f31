/* What the tables of a comparison hold. */
#include "tests/report/diff/pair.h"

Test(diff, dtype_and_kernel_names_are_no_key)
{
	struct program a = fp32, bf16;
	const struct ws_table *t;
	struct pair p;
	size_t row;

	a.unit = 1000;
	bf16 = a;
	bf16.kernel = "nvjet_bf16";
	bf16.dtype = "bf16";
	bf16.layer_ns = 50;
	p = compare(&a, &bf16, -1);
	t = table(&p, "diff-ranges");
	cr_expect(eq(sz, tb_count(t, "match", "both"), t->nrows));
	row = find_path(t, "step/forward/layer", "both");
	cr_expect(eq(i64, tb_int(t, row, "instances_a"), 2));
	/* layers take 400 + step % 2: 802 800 802 800 in the steps 1 to 4 */
	cr_expect(eq(dbl, tb_real(t, row, "mean_a_ns"), 801000));
	cr_expect(eq(dbl, tb_real(t, row, "mean_b_ns"), 101000));
	cr_expect(eq(dbl, tb_real(t, row, "diff_ns"), -700000));
	cr_expect(eq(dbl, tb_real(t, row, "ratio"), 101.0 / 801));
	cr_expect_str_eq(tb_str(t, row, "noise"), "beyond noise");
	cr_expect_str_eq(tb_str(t, row, "dtype_a"), "fp32");
	cr_expect_str_eq(tb_str(t, row, "dtype_b"), "bf16");
	cr_expect(eq(dbl, tb_real(t, row, "share_a"), 100));

	t = table(&p, "diff-verdict");
	cr_expect_str_eq(tb_str(t, 0, "subject"), "matched work");
	cr_expect(eq(dbl, tb_real(t, 0, "a"), 100));
	t = table(&p, "diff-config");
	cr_assert(eq(sz, t->nrows, 1));
	cr_expect_str_eq(tb_str(t, 0, "key"), "workload.dtype");
	cr_expect_str_eq(tb_str(t, 0, "b"), "bf16");
	cr_expect(tb_notes_say(t, "2 other facts are the same"));
	t = table(&p, "diff-ops");
	row = tb_find(t, 0, "op", "layer");
	cr_expect_str_eq(tb_str(t, row, "dtype_a"), "fp32");
	cr_expect_str_eq(tb_str(t, row, "dtype_b"), "bf16");
	cr_expect_str_eq(tb_str(t, row, "grade"), "LIKELY FASTER");
	cr_expect_str_eq(tb_str(t, row, "matched_by"), "range path and order");
	release(&p);
}

Test(diff, people_see_the_names_of_the_sides)
{
	struct program bf16 = fp32;
	struct ws_shown_column shown;
	struct pair p;

	bf16.dtype = "bf16";
	p = compare(&fp32, &bf16, -1);
	ws_display_column(table(&p, "diff-ops"), WS_TC_diff_ops_gpu_b_ns, &shown);
	cr_expect(strstr(shown.title, "GPU Time bf16 (") == shown.title, "%s", shown.title);
	ws_display_column(table(&p, "diff-ops"), WS_TC_diff_ops_ratio, &shown);
	cr_expect_str_eq(shown.title, "bf16 / fp32");
	release(&p);
}

Test(diff, a_trace_against_itself_differs_in_nothing)
{
	struct pair p = compare(&fp32, &fp32, 0);
	const struct ws_table *t = table(&p, "diff-phases");

	for (size_t row = 0; row < t->nrows; row++) {
		cr_expect_str_eq(tb_str(t, row, "noise"), "within noise");
		cr_expect(eq(dbl, tb_real(t, row, "diff_ns"), 0));
	}
	for (size_t i = 0; i < p.report->ntables; i++) {
		t = p.report->tables[i];
		for (size_t row = 0; row < t->nrows && ws_table_column_index(t->def, "grade") >= 0;
		     row++)
			cr_expect(tb_is_empty(t, row, "grade") ||
			                  !strcmp(tb_str(t, row, "grade"), "SAME"),
			          "%s: %s", t->def->name, tb_str(t, row, "grade"));
	}
	cr_expect(not(p.result.finding));
	cr_expect(strstr(p.result.verdict, "take the same time") != NULL);
	cr_expect(eq(sz, table(&p, "diff-config")->nrows, 0));
	release(&p);
}

Test(diff, phases_by_hand)
{
	struct program slow = fp32;
	const struct ws_table *t;
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct pair p;
	size_t row;

	opts.threshold_percent = 5;
	opts.run_noise_percent = 1;
	slow.steps = 3;
	memcpy(slow.step_ns, (int64_t[]){1100, 1110, 1090}, 3 * sizeof(int64_t));
	p = compare_with(&fp32, &slow, &opts);
	t = table(&p, "diff-phases");
	cr_expect(eq(sz, tb_count(t, "phase", "remainder"), 3)); /* beside `forward` */
	/* on the device: the second layer begins 500 ns after the first, and takes 400 or 401 */
	row = find_phase(t, "forward", "step");
	cr_expect(eq(dbl, tb_real(t, row, "mean_a_ns"), 900.5));
	row = find_phase(t, "remainder", "step");
	cr_expect(eq(dbl, tb_real(t, row, "mean_a_ns"), 99.5));
	row = find_phase(t, "total", "wall");
	cr_expect(eq(i64, tb_int(t, row, "steps_a"), 4));
	cr_expect(eq(i64, tb_int(t, row, "steps_b"), 3));
	cr_expect(eq(dbl, tb_real(t, row, "mean_a_ns"), 1000));
	cr_expect(eq(dbl, tb_real(t, row, "std_b_ns"), 10));
	cr_expect(eq(dbl, tb_real(t, row, "diff_ns"), 100));
	cr_expect(eq(dbl, tb_real(t, row, "ratio"), 1.1));
	/* recordings are assumed to vary by 1 %: 1.96 sqrt(2) % at least, on a ratio of 1.1 */
	cr_expect(tb_real(t, row, "low_ns") < 1000 * (1.1 * exp(-0.0277) - 1));
	cr_expect(tb_real(t, row, "low_ns") > 1000 * (1.1 * exp(-0.04) - 1));
	cr_expect_str_eq(tb_str(t, row, "noise"), "beyond noise");
	cr_expect_str_eq(tb_str(t, row, "grade"), "LIKELY SLOWER");
	cr_expect(p.result.finding, "10 %% slower is over 5 %%");
	cr_expect(strstr(p.result.verdict, "is likely 1.1× slower than") != NULL, "%s",
	          p.result.verdict);
	cr_expect(strstr(p.result.verdict, ", assumes 1 % noise)") != NULL, "%s", p.result.verdict);
	release(&p);
	opts.threshold_percent = 9;
	p = compare_with(&fp32, &slow, &opts);
	cr_expect(not(p.result.finding), "10 %% slower is not surely over 9 %%");
	release(&p);
	p = compare(&fp32, &slow, 0);
	cr_expect(not(p.result.finding), "the noise is assumed: no gate rests on it");
	release(&p);
	p = compare(&fp32, &slow, -1);
	cr_expect(not(p.result.finding), "no threshold, no finding");
	release(&p);
	p = compare(&slow, &fp32, 0);
	cr_expect(not(p.result.finding), "faster is never a finding");
	release(&p);
}

Test(diff, what_only_one_side_has_never_vanishes)
{
	struct program other = fp32;
	const struct ws_table *t;
	struct pair p;
	size_t row;

	double sum = 0;

	other.layers = 3;
	other.extra = "only there";
	p = compare(&fp32, &other, -1);
	t = table(&p, "diff-ranges");
	row = find_path(t, "step/forward/layer", "both");
	cr_expect(eq(i64, tb_int(t, row, "instances_b"), 2), "as many as both have");
	cr_expect(eq(dbl, tb_real(t, row, "mean_b_ns"), 801));
	row = find_path(t, "step/forward/layer", "only in B");
	cr_expect(eq(i64, tb_int(t, row, "instances_b"), 1));
	cr_expect(eq(dbl, tb_real(t, row, "mean_b_ns"), 400.5), "the third layer");
	cr_expect(tb_is_empty(t, row, "mean_a_ns"));
	cr_expect(tb_is_empty(t, row, "diff_ns"));
	row = find_path(t, "step/only there", "only in B");
	cr_expect(eq(dbl, tb_real(t, row, "mean_b_ns"), 40));

	t = table(&p, "diff-verdict");
	row = tb_find(t, 0, "subject", "matched work");
	cr_expect(eq(dbl, tb_real(t, row, "a"), 100));
	/* of 3 * 400.5 + 40 a step 801 have a counterpart */
	cr_expect(fabs(tb_real(t, row, "b") - 100 * 801 / 1241.5) < 1e-9);
	cr_expect(tb_count(t, "subject", "only in B") == 1);
	t = table(&p, "diff-only");
	cr_expect(eq(sz, tb_count(t, "side", "A"), 0));
	row = tb_find(t, 0, "path", "step/forward/layer");
	cr_expect(eq(dbl, tb_real(t, row, "gpu_ns"), 400.5));
	row = tb_find(t, 0, "path", "step/only there");
	cr_expect(eq(dbl, tb_real(t, row, "gpu_ns"), 40));
	/* B - A adds up to the whole difference */
	t = table(&p, "diff-ops");
	for (size_t i = 0; i < t->nrows; i++)
		sum += tb_real(t, i, "diff_ns");
	cr_expect(fabs(sum - 440.5) < 1e-9);
	release(&p);

	p = compare(&other, &fp32, -1);
	t = table(&p, "diff-ranges");
	find_path(t, "step/only there", "only in A");
	find_path(t, "step/forward/layer", "only in A");
	release(&p);
}

Test(diff, other_numbers_of_steps_do_not_unmatch_work)
{
	struct program fewer = fp32;
	const struct ws_table *t;
	struct pair p;

	fewer.steps = 3;
	p = compare(&fp32, &fewer, -1);
	t = table(&p, "diff-ranges");
	cr_expect(eq(sz, tb_count(t, "match", "both"), t->nrows));
	release(&p);
}

Test(diff, traces_without_steps_are_compared_as_a_whole_and_it_says_so)
{
	const struct ws_table *t;
	struct pair p = {0};

	for (int i = 0; i < 2; i++) {
		p.b[i] = tb_new();
		tb_push(p.b[i], 0, "work");
		tb_launch(p.b[i], 1, "k", 10, 100 + 100 * i);
		tb_pop(p.b[i], 9);
		tb_launch(p.b[i], 11, "outside", 500, 7);
		p.j[i] = tb_joined(p.b[i]);
	}
	compare_models(&p, NULL);
	t = table(&p, "diff-verdict");
	cr_expect(not(p.result.finding));
	cr_expect(tb_notes_say(t, "whole traces are compared, from the first device work"));
	cr_expect(eq(dbl, tb_real(t, 0, "a"), 100),
	          "what lies in no range is matched by its class");
	cr_expect(table(&p, "diff-phases")->not_recorded != NULL);
	t = table(&p, "diff-ranges");
	cr_expect(eq(dbl, tb_real(t, 0, "mean_b_ns"), 200));
	cr_expect(tb_is_empty(t, 0, "noise"));
	release(&p);
}

/* Two of PyTorch's steps from this number on; a kernel of each is launched on a thread of its own.
 */
static struct tb *build_pytorch(int number)
{
	struct tb *b = tb_new();

	tb_thread(b, 2, 100);
	for (int s = 0; s < 2; s++) {
		int64_t at = s * 1000;
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", number + s);
		tb_push(b, at, name);
		tb_push(b, at + 10, "Optimizer.step#Adam.step");
		tb_launch(b, at + 20, "adam", at + 100, 300);
		tb_pop(b, at + 30);
		tb_push(b, at + 40, "copy of ProfilerStep#7");
		tb_pop(b, at + 50);
		tb_pop(b, at + 999);
		tb_on_thread(b, 2);
		tb_launch(b, at + 500, "backward", at + 510, 100);
		tb_on_thread(b, 1);
	}
	return b;
}

Test(diff, pytorch_steps_match_whatever_their_number)
{
	const struct ws_table *t;
	struct pair p = {0};
	size_t row;

	p.b[0] = build_pytorch(5);
	p.b[1] = build_pytorch(60);
	for (int i = 0; i < 2; i++)
		p.j[i] = tb_joined(p.b[i]);
	compare_models(&p, NULL);
	t = table(&p, "diff-ranges");
	cr_assert(eq(sz, t->nrows, 3), "each step of each side is the same work");
	cr_expect(eq(sz, tb_count(t, "match", "both"), 3));
	row = find_path(t, "ProfilerStep#*/Optimizer.step#Adam.step", "both");
	cr_expect(eq(i64, tb_int(t, row, "instances_a"), 1));
	cr_expect(eq(dbl, tb_real(t, row, "mean_b_ns"), 300));
	find_path(t, "ProfilerStep#*/copy of ProfilerStep#*", "both");

	/* what the backward's thread launched lies in the step and in no range */
	t = table(&p, "diff-verdict");
	cr_expect(eq(dbl, tb_real(t, 0, "a"), 100));
	cr_expect(strstr(tb_str(t, tb_find(t, 0, "subject", "only in B"), "verdict"),
	                 "has a counterpart") != NULL);
	t = table(&p, "diff-ops");
	row = tb_find(t, 0, "matched_by", "class and order");
	cr_expect(eq(dbl, tb_real(t, row, "gpu_a_ns"), 100), "the backward's thread has no ranges");
	release(&p);
}

Test(diff, the_same_pair_makes_the_same_tables)
{
	struct pair p = compare(&fp32, &fp32, -1), q = compare(&fp32, &fp32, -1);

	cr_assert(eq(sz, p.report->ntables, q.report->ntables));
	for (size_t i = 0; i < p.report->ntables; i++)
		cr_expect(tb_tables_equal(p.report->tables[i], q.report->tables[i]));
	cr_expect_str_eq(p.report->trace, "A = test (A) (test.wtrace), B = test (B) (test.wtrace)");
	release(&p);
	release(&q);
}
