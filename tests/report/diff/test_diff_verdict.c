/* What a comparison says, and what it says that it cannot tell. */
#include "report/page/page.h"
#include "tests/report/diff/pair.h"

/* Medians say that B is faster, means that it is slower: what is drawn and what is graded say one
 * thing. */
Test(diff_verdict, one_late_step_moves_neither_the_grade_nor_what_is_drawn)
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

Test(diff_verdict, a_slowdown_within_noise_is_no_finding)
{
	struct program noisy = fp32;
	struct pair p;

	memcpy(noisy.step_ns, (int64_t[]){700, 1900, 800, 1500}, 4 * sizeof(int64_t));
	p = compare(&fp32, &noisy, 5);
	cr_expect(not(p.result.finding));
	cr_expect(strstr(p.result.verdict, "No significant difference: ") != NULL, "%s",
	          p.result.verdict);
	cr_expect(strstr(p.result.verdict, "runs per side to resolve ") != NULL, "%s",
	          p.result.verdict);
	release(&p);
}

Test(diff_verdict, one_step_of_one_recording_rests_on_the_noise_assumed)
{
	struct program one = fp32, slower;
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct pair p = {0};

	one.steps = 1;
	slower = one;
	slower.step_ns[0] = 1080;
	opts.run_noise_percent = 1;
	p = compare_with(&one, &slower, &opts);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "LIKELY SLOWER");
	release(&p);
	opts.run_noise_percent = 8;
	p = compare_with(&one, &slower, &opts);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "AMBIGUOUS");
	release(&p);
	opts.run_noise_percent = 0;
	p = compare_with(&one, &slower, &opts);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "AMBIGUOUS",
	                 "no scatter is known at all");
	release(&p);
}

Test(diff_verdict, one_recording_a_side_on_the_cpu_tells_nothing_until_its_noise_is_known)
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
	cr_expect(strstr(p.result.verdict, "CPU runs need three per side, or --run-noise") != NULL,
	          "%s", p.result.verdict);
	cr_expect_eq(p.result.finding, 0);
	release(&p);
	opts.run_noise_percent = 20;
	p = compare_with(&cpu, &slower, &opts);
	cr_expect_str_eq(tb_str(table(&p, "diff-verdict"), 1, "grade"), "LIKELY SLOWER");
	release(&p);
}

Test(diff_verdict, the_cpu_reference_and_a_killed_program_are_named)
{
	struct program cpu = fp32;
	const struct ws_table *t;
	struct pair p = {0};

	cpu.on_cpu = 1;
	p.b[0] = build(&fp32);
	p.b[1] = build(&cpu);
	tb_process_end(p.b[1], WS_END_SIGNALED, 11);
	p.j[0] = tb_joined(p.b[0]);
	p.j[1] = tb_joined(p.b[1]);
	compare_models(&p, NULL);
	t = table(&p, "diff-verdict");
	cr_expect(tb_notes_say(t, "CPU reference ran on the CPU reference: real CPU timings"));
	cr_expect(not(tb_notes_say(t, "Test GPU ran on the CPU reference")));
	cr_expect(tb_notes_say(t, "The program (process 100) was killed by signal 11 (SIGSEGV)"));
	release(&p);
}

Test(diff_verdict, a_launch_bound_pair_gets_no_dtype_verdict)
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

/* Where a GPU ran as well, nothing says that none ran. */
Test(diff_verdict, a_gpu_beside_the_cpu_reference_is_no_lack_of_gpus)
{
	for (int gpu = 0; gpu < 2; gpu++) {
		struct pair p = {.b = {tb_new(), tb_new()}};
		const char *note;

		for (int s = 0; s < 2; s++) {
			tb_device(p.b[s], 0, WS_DEVICE_CPU_REFERENCE, "CPU reference");
			tb_device(p.b[s], 1, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
			for (uint64_t device = 0; device <= (uint64_t)(gpu && s); device++)
				tb_kernel(p.b[s],
				          &(struct tb_kernel){"k", 10, 10, 0, device, 100, 0});
			p.j[s] = tb_joined(p.b[s]);
		}
		compare_models(&p, NULL);
		note = p.report->page->note;
		cr_expect(eq(int, strstr(note, "no GPU ran") != NULL, !gpu), "%s", note);
		cr_expect(
		        eq(int, tb_notes_say(table(&p, "diff-verdict"), "partly on the CPU"), gpu));
		release(&p);
	}
}

static void expect_first(const struct pair *p, const char *words)
{
	const struct ws_page_line *line = &p->report->page->headline[0];
	char text[512];
	size_t len = 0;

	for (size_t k = 0; k < line->nparts; k++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", line->part[k].text);
	cr_expect(strstr(text, words) != NULL, "%s, for: %s", text, p->result.verdict);
}

/* The first screen has the verdict's reason for which a change is none, and no other. */
Test(diff_verdict, the_first_screen_says_why_a_change_is_none)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct program a = fp32, b = fp32;
	struct pair p;

	/* 4 % longer, of which 840 us of kernels instead of 800 are enough */
	opts.run_noise_percent = 0.1;
	a.unit = b.unit = 1000;
	b.extra = "more";
	for (size_t i = 0; i < b.steps; i++)
		b.step_ns[i] = a.step_ns[i] * 104 / 100;
	p = compare_with(&a, &b, &opts);
	expect_first(&p, ", no significant change in common work.");
	release(&p);

	/* of the same work, but kernels of 10 ns in steps of 1000 and 1190 */
	for (size_t i = 0; i < b.steps; i++)
		b.step_ns[i] = a.step_ns[i] * 119 / 100;
	a.unit = b.unit = 1;
	a.layer_ns = b.layer_ns = 10;
	b.extra = NULL;
	p = compare_with(&a, &b, &opts);
	expect_first(&p, "(1.19×), but both runs are launch-bound.");
	release(&p);

	/* and where a change so small is none */
	a.layer_ns = b.layer_ns = 400;
	opts.min_effect_percent = 50;
	p = compare_with(&a, &b, &opts);
	expect_first(&p, "(1.19×), no significant change.");
	release(&p);
}

/* Of traces without steps the time before the first device work is none of it, as in a report. */
Test(diff_verdict, set_up_hides_no_launch_bound_pair)
{
	struct pair p = {.b = {tb_new(), tb_new()}};

	for (int s = 0; s < 2; s++) {
		tb_push(p.b[s], 0, "set-up");
		tb_pop(p.b[s], 50000000);
		/* kernels of 10 us, each launched 39 us after the one before it ended */
		for (int i = 0; i < 20; i++)
			tb_launch(p.b[s], 60000000 + 50000 * i, "k", 60001000 + 50000 * i,
			          10000 + 100 * s);
		p.j[s] = tb_joined(p.b[s]);
	}
	compare_models(&p, NULL);
	cr_expect(strstr(p.result.verdict, "launch-bound (the GPU waits for launches 79 % and") !=
	                  NULL,
	          "%s", p.result.verdict);
	release(&p);
}

Test(diff_verdict, a_hostile_dtype_name_is_made_harmless_in_the_verdict)
{
	struct pair p = {0};

	p.b[0] = build(&fp32);
	p.b[1] = build(&fp32);
	tb_mark(p.b[1], 0, "workload.dtype=\033[31mred\n");
	for (int i = 0; i < 2; i++)
		p.j[i] = tb_joined(p.b[i]);
	compare_models(&p, NULL);
	cr_expect(strstr(p.result.verdict, "?[31mred?") != NULL, "%s", p.result.verdict);
	release(&p);
}

/* 989.4 TFLOP/s: 9,894,000 FLOPs take 10 ns of a step of 1000. */
Test(diff_verdict, utilization_of_both_sides_and_what_cannot_be)
{
	const struct program a = {2, {1000, 1000}, 100, "k", "bf16", 1, NULL, 0, 9894000, 0},
	                     b = {2, {1000, 1000}, 100, "k", "bf16", 1, NULL, 0, 120 * 9894000, 0},
	                     unknown = {2, {1000, 1000}, 100, "k", "bf16", 1, NULL, 0, 0, 0};
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

Test(diff_verdict, what_was_lost_is_no_share_of_a_smaller_gain)
{
	struct program grown = fp32, slightly = fp32;
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	const struct ws_table *t;
	struct pair p;
	size_t row;

	opts.force = true; /* what is new has no counterpart */
	/* products gain 10 ns in each of two layers, something new takes 40 */
	grown.layer_ns = 390;
	grown.extra = "more";
	p = compare_with(&fp32, &grown, &opts);
	t = table(&p, "diff-verdict");
	row = tb_find(t, 0, "subject", "where the gain went");
	cr_expect(strstr(tb_str(t, row, "verdict"), "Kernels: 20 ns more.") != NULL, "%s",
	          tb_str(t, row, "verdict"));
	cr_expect(strstr(tb_str(t, row, "verdict"), "Slower classes: unclassified 40 ns more.") !=
	                  NULL,
	          "%s", tb_str(t, row, "verdict"));
	release(&p);

	/* and 40 where they gain 300 */
	slightly.layer_ns = 250;
	slightly.extra = "more";
	p = compare_with(&fp32, &slightly, &opts);
	t = table(&p, "diff-verdict");
	row = tb_find(t, 0, "subject", "where the gain went");
	cr_expect(strstr(tb_str(t, row, "verdict"),
	                 "unclassified 40 ns more (13 % of the gain).") != NULL,
	          "%s", tb_str(t, row, "verdict"));
	release(&p);
}
