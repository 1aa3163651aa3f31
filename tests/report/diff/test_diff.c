#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "report/diff/diff.h"
#include "report/table/display.h"
#include "report/tables/tables.h"
#include "tests/support/trace_builder.h"

/* A program of n steps with one forward; each layer of it takes layer_ns, or 1 ns more. */
struct program {
	size_t steps;
	int64_t step_ns[8]; /* wall time of each */
	int64_t layer_ns;
	const char *kernel, *dtype;
	int layers;
	const char *extra; /* one more range in each step */
	int on_cpu;
	uint64_t flops; /* of a layer, on an H100; 0: 1000, on a GPU that nobody knows */
};

static struct tb *build(const struct program *p)
{
	struct tb *b = tb_new();
	struct tb_op op = {1000, 100, 50, "gemm", "forward", p->dtype, 0};
	uint64_t correlation = 1;
	int64_t at = 0;
	char fact[64];

	if (p->flops) {
		op.flops = p->flops;
		tb_device(b, 0, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	}
	if (p->on_cpu)
		tb_device(b, 0, WS_DEVICE_CPU_REFERENCE, "CPU reference");
	snprintf(fact, sizeof(fact), "workload.dtype=%s", p->dtype);
	tb_mark(b, 0, fact);
	tb_mark(b, 0, "workload.batch=4");
	for (size_t i = 0; i <= p->steps; i++) {
		int64_t wall = i ? p->step_ns[i - 1] : 1000;

		tb_push(b, at, i ? "step" : "warm-up");
		tb_push(b, at + 1, "forward");
		for (int layer = 0; layer < p->layers; layer++) {
			tb_push_op(b, at + 10 + 10 * layer, "layer", &op);
			tb_call(b, at + 11 + 10 * layer, 1, correlation);
			tb_kernel(b, &(struct tb_kernel){p->kernel, at + 500 * layer,
			                                 p->layer_ns + (int64_t)(i % 2),
			                                 correlation++, 0, 100, 0});
			tb_pop(b, at + 15 + 10 * layer);
		}
		tb_pop(b, at + 200);
		if (p->extra) {
			tb_push(b, at + 210, p->extra);
			tb_call(b, at + 211, 1, correlation);
			tb_kernel(b,
			          &(struct tb_kernel){"x", at + 900, 40, correlation++, 0, 100, 0});
			tb_pop(b, at + 215);
		}
		tb_pop(b, at + wall);
		at += 100000;
	}
	return b;
}

struct pair {
	struct tb *b[2];
	struct ws_model *m[2];
	struct ws_report *report;
	struct ws_diff_result result;
};

/* One recording a side. */
static void compare_models(struct pair *p, const struct ws_diff_opts *opts)
{
	struct ws_sides *sides = ws_sides_new();
	struct ws_err err;

	for (int i = 0; i < 2; i++)
		cr_assert_eq(ws_sides_add(sides, i, p->m[i], &err), WS_OK, "%s", err.text);
	cr_assert_eq(ws_diff_make(sides, opts, &p->report, &p->result, &err), WS_OK, "%s",
	             err.text);
	ws_sides_free(sides);
}

static struct pair compare(const struct program *a, const struct program *b, double threshold)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct pair p = {0};

	opts.threshold_percent = threshold;
	p.b[0] = build(a);
	p.b[1] = build(b);
	for (int i = 0; i < 2; i++)
		p.m[i] = tb_model(p.b[i]);
	compare_models(&p, &opts);
	return p;
}

static void release(struct pair *p)
{
	ws_report_free(p->report);
	for (int i = 0; i < 2; i++) {
		ws_model_free(p->m[i]);
		tb_free(p->b[i]);
	}
}

static const struct ws_table *table(const struct pair *p, const char *name)
{
	for (size_t i = 0; i < p->report->ntables; i++)
		if (!strcmp(p->report->tables[i]->def->name, name))
			return p->report->tables[i];
	cr_fatal("no table %s", name);
}

static size_t find_path(const struct ws_table *t, const char *path, const char *match)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "path"), path) &&
		    !strcmp(tb_str(t, row, "match"), match))
			return row;
	cr_fatal("no row %s, %s", path, match);
}

static size_t find_phase(const struct ws_table *t, const char *phase, const char *measure)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "phase"), phase) &&
		    !strcmp(tb_str(t, row, "measure"), measure))
			return row;
	cr_fatal("no row %s, %s", phase, measure);
}

static const struct program fp32 = {
        .steps = 4,
        .step_ns = {1000, 1010, 990, 1000},
        .layer_ns = 400, /* two of them keep the GPU busy for four fifths of a step */
        .kernel = "sgemm_fp32",
        .dtype = "fp32",
        .layers = 2,
};

Test(diff, dtype_and_kernel_names_are_no_key)
{
	struct program bf16 = fp32;
	const struct ws_table *t;
	struct pair p;
	size_t row;

	bf16.kernel = "nvjet_bf16";
	bf16.dtype = "bf16";
	bf16.layer_ns = 50;
	p = compare(&fp32, &bf16, -1);
	t = table(&p, "diff-ranges");
	cr_expect(eq(sz, tb_count(t, "match", "both"), t->nrows));
	row = find_path(t, "step/forward/layer", "both");
	cr_expect(eq(i64, tb_int(t, row, "instances_a"), 2));
	/* layers take 400 + step % 2: 802 800 802 800 in the steps 1 to 4 */
	cr_expect(eq(dbl, tb_real(t, row, "mean_a_ns"), 801));
	cr_expect(eq(dbl, tb_real(t, row, "mean_b_ns"), 101));
	cr_expect(eq(dbl, tb_real(t, row, "diff_ns"), -700));
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
	cr_expect_str_eq(tb_str(t, row, "grade"), "FASTER");
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

/* Medians say that B is faster, means that it is slower: what is drawn and what is graded say one
 * thing. */
Test(diff, one_late_step_moves_neither_the_grade_nor_what_is_drawn)
{
	static const char *const drawn[] = {"diff-phases", "diff-ops"};
	struct program late = fp32;
	const struct ws_table *t;
	struct pair p;
	size_t row;

	memcpy(late.step_ns, (int64_t[]){900, 910, 890, 9000}, 4 * sizeof(int64_t));
	p = compare(&fp32, &late, -1);
	t = table(&p, "diff-phases");
	row = find_phase(t, "total", "wall");
	cr_expect(tb_real(t, row, "mean_b_ns") > 2 * tb_real(t, row, "mean_a_ns"));
	cr_expect(eq(dbl, tb_real(t, row, "typical_a_ns"), 1000));
	cr_expect(eq(dbl, tb_real(t, row, "typical_b_ns"), 905));
	cr_expect(eq(dbl, tb_real(t, row, "diff_ns"), -95));
	cr_expect(eq(dbl, tb_real(t, row, "ratio"), 0.905));
	cr_expect(lt(dbl, tb_real(t, row, "low_ns"), -95));
	cr_expect(gt(dbl, tb_real(t, row, "high_ns"), -95));
	for (size_t i = 0; i < 2; i++) {
		t = table(&p, drawn[i]);
		for (row = 0; row < t->nrows; row++) {
			if (tb_is_empty(t, row, "ratio"))
				continue;
			cr_expect(epsilon_eq(dbl, tb_real(t, row, "ratio"),
			                     tb_real(t, row, "typical_b_ns") /
			                             tb_real(t, row, "typical_a_ns"),
			                     1e-12),
			          "%s, row %zu", drawn[i], row);
		}
	}
	release(&p);
}

Test(diff, phases_by_hand)
{
	struct program slow = fp32;
	const struct ws_table *t;
	struct pair p;
	size_t row;

	slow.steps = 3;
	memcpy(slow.step_ns, (int64_t[]){1100, 1110, 1090}, 3 * sizeof(int64_t));
	p = compare(&fp32, &slow, 5);
	t = table(&p, "diff-phases");
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
	cr_expect_str_eq(tb_str(t, row, "grade"), "SLOWER");
	cr_expect(p.result.finding, "10 %% slower is over 5 %%");
	cr_expect(strstr(p.result.verdict, "is 1.1× slower than") != NULL, "%s", p.result.verdict);
	cr_expect(strstr(p.result.verdict, "recordings are assumed to vary by 1 %") != NULL, "%s",
	          p.result.verdict);
	release(&p);
	p = compare(&fp32, &slow, 9);
	cr_expect(not(p.result.finding), "10 %% slower is not surely over 9 %%");
	release(&p);
	p = compare(&fp32, &slow, -1);
	cr_expect(not(p.result.finding), "no threshold, no finding");
	release(&p);
	p = compare(&slow, &fp32, 0);
	cr_expect(not(p.result.finding), "faster is never a finding");
	release(&p);
}

Test(diff, a_slowdown_within_noise_is_no_finding)
{
	struct program noisy = fp32;
	struct pair p;

	memcpy(noisy.step_ns, (int64_t[]){700, 1900, 800, 1500}, 4 * sizeof(int64_t));
	p = compare(&fp32, &noisy, 5);
	cr_expect(not(p.result.finding));
	cr_expect(strstr(p.result.verdict, "not significant: ") == p.result.verdict, "%s",
	          p.result.verdict);
	cr_expect(strstr(p.result.verdict, "recordings per side would show") != NULL, "%s",
	          p.result.verdict);
	release(&p);
}

Test(diff, one_step_of_one_recording_rests_on_the_noise_assumed)
{
	struct program one = fp32, slower;
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct pair p = {0};

	one.steps = 1;
	slower = one;
	slower.step_ns[0] = 1080;
	p = compare(&one, &slower, 5);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "SLOWER");
	release(&p);
	opts.run_noise_percent = 8;
	p.b[0] = build(&one);
	p.b[1] = build(&slower);
	for (int i = 0; i < 2; i++)
		p.m[i] = tb_model(p.b[i]);
	compare_models(&p, &opts);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "AMBIGUOUS");
	release(&p);
	opts.run_noise_percent = 0;
	p.b[0] = build(&one);
	p.b[1] = build(&slower);
	for (int i = 0; i < 2; i++)
		p.m[i] = tb_model(p.b[i]);
	compare_models(&p, &opts);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "AMBIGUOUS",
	                 "no scatter is known at all");
	release(&p);
}

Test(diff, one_recording_a_side_on_the_cpu_tells_nothing_until_its_noise_is_known)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct program cpu = fp32, slower;
	struct pair p = {0};

	cpu.on_cpu = 1;
	slower = cpu;
	for (size_t i = 0; i < cpu.steps; i++)
		slower.step_ns[i] *= 10;
	p = compare(&cpu, &slower, 5);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "AMBIGUOUS");
	cr_expect(strstr(p.result.verdict,
	                 "one recording per side on the CPU reference: make three") != NULL,
	          "%s", p.result.verdict);
	cr_expect_eq(p.result.finding, 0);
	release(&p);
	opts.run_noise_percent = 20;
	p.b[0] = build(&cpu);
	p.b[1] = build(&slower);
	for (int i = 0; i < 2; i++)
		p.m[i] = tb_model(p.b[i]);
	compare_models(&p, &opts);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "SLOWER");
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
	cr_expect(eq(dbl, tb_real(t, 0, "a"), 100));
	/* of 3 * 400.5 + 40 a step 801 have a counterpart */
	cr_expect(fabs(tb_real(t, 0, "b") - 100 * 801 / 1241.5) < 1e-9);
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
		p.m[i] = tb_model(p.b[i]);
	}
	compare_models(&p, NULL);
	t = table(&p, "diff-verdict");
	cr_expect(not(p.result.finding));
	cr_expect(tb_notes_say(t, "whole traces are compared"));
	cr_expect(eq(dbl, tb_real(t, 0, "a"), 100),
	          "what lies in no range is matched by its class");
	cr_expect(table(&p, "diff-phases")->not_recorded != NULL);
	t = table(&p, "diff-ranges");
	cr_expect(eq(dbl, tb_real(t, 0, "mean_b_ns"), 200));
	cr_expect(tb_is_empty(t, 0, "noise"));
	release(&p);
}

Test(diff, the_cpu_reference_and_a_killed_program_are_named)
{
	struct program cpu = fp32;
	const struct ws_table *t;
	struct pair p = {0};

	cpu.on_cpu = 1;
	p.b[0] = build(&fp32);
	p.b[1] = build(&cpu);
	tb_process_end(p.b[1], WS_END_SIGNALED, 11);
	p.m[0] = tb_model(p.b[0]);
	p.m[1] = tb_model(p.b[1]);
	compare_models(&p, NULL);
	t = table(&p, "diff-verdict");
	cr_expect(tb_notes_say(t, "CPU reference ran on the CPU reference: real CPU timings"));
	cr_expect(not(tb_notes_say(t, "Test GPU ran on the CPU reference")));
	cr_expect(tb_notes_say(t, "The program (process 100) was killed by signal 11 (SIGSEGV)"));
	release(&p);
}

Test(diff, a_launch_bound_pair_gets_no_dtype_verdict)
{
	struct program a = fp32, b = fp32;
	const struct ws_table *t;
	struct pair p;

	/* kernels of 10 ns in steps of 1000: the GPU waits for the host */
	a.layer_ns = b.layer_ns = 10;
	b.dtype = "bf16";
	b.step_ns[0] = 1005;
	p = compare(&a, &b, -1);
	cr_expect(strstr(p.result.verdict,
	                 "launch-bound (the GPU waits for launches 86 % and 86 % of a step)") !=
	                  NULL,
	          "%s", p.result.verdict);
	release(&p);

	/* the CPU reference launches nothing that could wait */
	a.on_cpu = b.on_cpu = 1;
	p = compare(&a, &b, -1);
	t = table(&p, "diff-verdict");
	cr_expect(strstr(tb_str(t, 1, "verdict"), "launch-bound") == NULL);
	release(&p);
}

Test(diff, a_hostile_dtype_name_is_made_harmless_in_the_verdict)
{
	struct pair p = {0};

	p.b[0] = build(&fp32);
	p.b[1] = build(&fp32);
	tb_mark(p.b[1], 0, "workload.dtype=\033[31mred\n");
	for (int i = 0; i < 2; i++)
		p.m[i] = tb_model(p.b[i]);
	compare_models(&p, NULL);
	cr_expect(strstr(p.result.verdict, "?[31mred?") != NULL, "%s", p.result.verdict);
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
		p.m[i] = tb_model(p.b[i]);
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

/* 989.4 TFLOP/s: 9,894,000 FLOPs take 10 ns of a step of 1000. */
Test(diff, utilization_of_both_sides_and_what_cannot_be)
{
	const struct program a = {2, {1000, 1000}, 100, "k", "bf16", 1, NULL, 0, 9894000},
	                     b = {2, {1000, 1000}, 100, "k", "bf16", 1, NULL, 0, 120 * 9894000},
	                     unknown = {2, {1000, 1000}, 100, "k", "bf16", 1, NULL, 0, 0};
	struct pair p = compare(&a, &b, -1);
	const struct ws_table *t = table(&p, "diff-verdict");
	size_t mfu = tb_find(t, 0, "subject", "MFU"), hfu = tb_find(t, 0, "subject", "HFU");

	cr_expect(epsilon_eq(dbl, tb_real(t, mfu, "a"), 1.0, 1e-9));
	cr_expect(epsilon_eq(dbl, tb_real(t, hfu, "b"), 120.0, 1e-9));
	cr_expect(strstr(tb_str(t, hfu, "verdict"), "989.4 TFLOP/s, dense bf16") &&
	          strstr(tb_str(t, hfu, "verdict"), "over 100 %"));
	release(&p);
	p = compare(&a, &unknown, -1);
	t = table(&p, "diff-verdict");
	mfu = tb_find(t, 0, "subject", "MFU");
	cr_expect(tb_is_empty(t, mfu, "b"));
	cr_expect(strstr(tb_str(t, mfu, "verdict"), "unknown for") != NULL);
	release(&p);
	p = compare(&unknown, &unknown, -1);
	cr_expect_eq(tb_count(table(&p, "diff-verdict"), "subject", "MFU"), 0);
	release(&p);
}
