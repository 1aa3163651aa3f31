/* A sweep of traces with numbers worked out by hand, on an H100: 9,894,000 FLOPs of bf16 take 10 ns
 * at its peak. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>

#include "report/analysis/utilization.h"
#include "report/page/page.h"
#include "report/sweep/sweep.h"
#include "tests/support/trace_builder.h"

#define TEN_NS 9894000u
#define H100   "NVIDIA H100 80GB HBM3"
#define BASELINE                              \
	{                                     \
		.grade = WS_DIFF_OPTS_DEFAULT \
	}

struct point {
	const char *device, *dtype;
	int context;
	int64_t forward_ns; /* of each of two steps; backward takes as long and 100 ns more */
	unsigned products;  /* of 10 ns each at the peak, in forward */
};

static struct tb *recorded(const struct point *p)
{
	struct tb *b = tb_new();
	char text[64];

	tb_device(b, 0, WS_DEVICE_CUDA, p->device);
	tb_mark(b, 0, "workload.model=example");
	snprintf(text, sizeof(text), "workload.dtype=%s", p->dtype);
	tb_mark(b, 0, text);
	snprintf(text, sizeof(text), "workload.context=%d", p->context);
	tb_mark(b, 0, text);
	for (int64_t at = 1000; at < 30000; at += 20000) {
		int64_t end = at + p->forward_ns;

		tb_push(b, at, "step");
		tb_push(b, at, "forward");
		tb_push_op(b, at + 1, "product",
		           &(struct tb_op){.flops = p->products * TEN_NS,
		                           .op = "gemm",
		                           .dtype = p->dtype});
		tb_launch(b, at + 2, "gemm", at + 5, 20);
		tb_pop(b, at + 4);
		tb_pop(b, end);
		tb_push(b, end, "backward");
		tb_launch(b, end + 1, "softmax_backward", end + 2, 20);
		tb_pop(b, end + p->forward_ns + 100);
		tb_pop(b, end + p->forward_ns + 100);
	}
	return b;
}

/* failure: why the run failed, or NULL. */
static void add_run(struct ws_sweep *s, struct tb *b, const char *failure)
{
	struct joined *j = tb_joined(b);

	ws_sweep_add(s, j->m, &j->rows, failure);
	joined_free(j);
	tb_free(b);
}

static struct ws_report *sweep_of(const struct point *points, size_t n, struct ws_sweep **s,
                                  const struct ws_sweep_opts *opts)
{
	struct ws_report *report;
	struct ws_err err;

	*s = ws_sweep_new();
	for (size_t i = 0; i < n; i++)
		add_run(*s, recorded(&points[i]), NULL);
	cr_assert(eq(int, ws_sweep_make(*s, opts, &report, &err), WS_OK), "%s", err.text);
	return report;
}

static void end(struct ws_report *report, struct ws_sweep *s)
{
	ws_report_free(report);
	ws_sweep_free(s);
}

Test(sweep, a_row_has_the_times_utilization_and_speed_up_of_its_configuration)
{
	static const struct point points[] = {{H100, "fp32", 8, 900, 1}, {H100, "bf16", 8, 450, 1}};
	static const struct ws_sweep_opts opts = BASELINE;
	struct ws_sweep *s;
	struct ws_report *report = sweep_of(points, 2, &s, &opts);
	const struct ws_table *t = tb_table_of(report, "sweep");

	cr_assert(eq(sz, t->nrows, 2));
	cr_expect_str_eq(tb_str(t, 0, "dtype"), "bf16");
	cr_expect(ieee_ulp_eq(dbl, tb_real(t, 0, "total_ns"), 1000, 4));
	cr_expect(eq(dbl, tb_real(t, 0, "window_forward_ns"), 20)); /* of a kernel */
	cr_expect(eq(dbl, tb_real(t, 0, "window_backward_ns"), 20));
	cr_expect(tb_is_empty(t, 0, "window_optimizer_ns"), "the step has none");
	cr_expect(ieee_ulp_eq(dbl, tb_real(t, 0, "backward_ratio"), 550.0 / 450, 4));
	/* 3 × 10 ns of 1000; 10 ns ran */
	cr_expect(epsilon_eq(dbl, tb_real(t, 0, "mfu"), 3.0, 1e-9));
	cr_expect(epsilon_eq(dbl, tb_real(t, 0, "hfu"), 1.0, 1e-9));
	cr_expect(tb_is_empty(t, 0, "check"));
	cr_expect(epsilon_eq(dbl, tb_real(t, 0, "speedup"), 1.9, 1e-9));
	/* one recording a side: what they vary by is assumed, and said to be */
	cr_expect(lt(dbl, tb_real(t, 0, "low"), 1.9));
	cr_expect(tb_notes_say(t, "assume 5 % noise between runs"));
	t = tb_table_of(report, "sweep-verdict");
	cr_expect(strstr(tb_str(t, tb_find(t, 0, "subject", "speed-up"), "verdict"),
	                 "bf16 runs at 1.9× the speed of fp32 (1 configuration). The difference is "
	                 "significant.") != NULL);
	cr_expect_str_eq(tb_str(t, 0, "verdict"), "2 configurations, 2 runs, 0 failed.");
	end(report, s);
}

Test(sweep, a_run_that_is_given_again_counts_once)
{
	static const struct ws_sweep_opts opts = BASELINE;
	struct ws_sweep *s = ws_sweep_new();
	struct ws_report *report;
	const struct ws_table *t;
	struct ws_err err;

	for (int i = 0; i < 4; i++) {
		struct tb *b = tb_new();

		tb_push(b, 4000, "step");
		tb_launch(b, 5000, "gemm", 5000, i == 3 ? 600 : 500);
		tb_pop(b, 6000);
		add_run(s, b, NULL);
	}
	cr_assert(eq(int, ws_sweep_make(s, &opts, &report, &err), WS_OK), "%s", err.text);
	cr_expect(eq(i64, tb_int(tb_table_of(report, "sweep"), 0, "recordings"), 2));
	t = tb_table_of(report, "sweep-verdict");
	cr_expect_str_eq(tb_str(t, 0, "verdict"), "1 configuration, 2 runs, 0 failed.");
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "subject", "copies"), "verdict"),
	                 "2 traces are left out: each has the same bytes as another, and a run "
	                 "counts once.");
	end(report, s);
}

/* From the first device work to the last, as diff compares it. */
Test(sweep, without_steps_the_elapsed_time_counts)
{
	static const struct ws_sweep_opts opts = BASELINE;
	struct ws_sweep *s = ws_sweep_new();
	struct ws_report *report;
	const struct ws_table *t;
	struct ws_err err;
	size_t row;

	for (int i = 0; i < 4; i++) {
		struct tb *b = tb_new();

		tb_device(b, 0, WS_DEVICE_CUDA, H100);
		tb_mark(b, 0, i ? "workload.dtype=bf16" : "workload.dtype=fp32");
		tb_mark(b, 0, "workload.tokens_per_step=100");
		if (i == 2)
			tb_mark(b, 0, "workload.model=nothing");
		if (i == 3)
			tb_push(b, 4000, "step");
		for (int k = 0; k < 2 && i != 2; k++)
			tb_launch(b, 5000 + 10 * k, "gemm", 6000 + 1000 * k, i ? 500 : 1400);
		if (i == 3)
			tb_pop(b, 6000);
		add_run(s, b, NULL);
	}
	cr_assert(eq(int, ws_sweep_make(s, &opts, &report, &err), WS_OK), "%s", err.text);
	t = tb_table_of(report, "sweep");
	cr_assert(eq(sz, t->nrows, 4));
	/* a step is not of the same configuration, and nobody knows how many the others had */
	cr_expect(eq(sz, tb_count(t, "others", "total elapsed"), 2));
	row = tb_find(t, 0, "others", "total of a step");
	cr_expect(tb_is_empty(t, row, "speedup") && tb_real(t, row, "tokens") > 0);
	row = tb_find(t, 0, "dtype", "fp32");
	cr_expect(tb_is_empty(t, row, "steps") && tb_is_empty(t, row, "tokens"));
	cr_expect(ieee_ulp_eq(dbl, tb_real(t, row, "total_ns"), 2400, 4));
	cr_expect(
	        ieee_ulp_eq(dbl, tb_real(t, tb_find(t, 0, "dtype", "bf16"), "total_ns"), 1500, 4));
	cr_expect(
	        epsilon_eq(dbl, tb_real(t, tb_find(t, 0, "dtype", "bf16"), "speedup"), 1.6, 1e-9));
	cr_expect(eq(sz, tb_count(t, "status", "ok, no steps: elapsed time"), 2));
	cr_expect(eq(sz, tb_count(t, "status", "no steps and no device work"), 1));
	end(report, s);
}

Test(sweep, a_run_of_which_nothing_is_known_has_no_name)
{
	static const struct ws_sweep_opts opts = BASELINE;
	struct ws_sweep *s = ws_sweep_new();
	struct ws_report *report;
	const struct ws_table *t;
	struct ws_err err;

	add_run(s, tb_new(), NULL);
	cr_assert(eq(int, ws_sweep_make(s, &opts, &report, &err), WS_OK), "%s", err.text);
	t = tb_table_of(report, "sweep-verdict");
	cr_expect_str_eq(tb_str(t, tb_find(t, 0, "subject", "failed"), "verdict"),
	                 "no steps and no device work.");
	end(report, s);
}

Test(sweep, a_share_over_100_percent_is_called_an_error)
{
	static const struct point points[] = {{H100, "bf16", 8, 450, 40}};
	static const struct ws_sweep_opts opts = BASELINE;
	struct ws_sweep *s;
	struct ws_report *report = sweep_of(points, 1, &s, &opts);
	const struct ws_table *t = tb_table_of(report, "sweep");

	cr_expect(epsilon_eq(dbl, tb_real(t, 0, "mfu"), 120.0, 1e-9));
	cr_expect_str_eq(tb_str(t, 0, "check"), WS_OVER_PEAK);
	t = tb_table_of(report, "sweep-verdict");
	cr_expect(strstr(tb_str(t, tb_find(t, 0, "subject", "ALARM"), "verdict"), "120.0 %") !=
	          NULL);
	end(report, s);
}

Test(sweep, another_gpu_is_another_configuration_and_may_be_the_baseline)
{
	static const struct point points[] = {{H100, "bf16", 8, 450, 1},
	                                      {"NVIDIA A100-SXM4-80GB", "bf16", 8, 950, 1}};
	static const struct ws_sweep_opts opts = {.baseline = "device=NVIDIA A100-SXM4-80GB",
	                                          .grade = WS_DIFF_OPTS_DEFAULT};
	struct ws_sweep *s;
	struct ws_report *report = sweep_of(points, 2, &s, &opts);
	const struct ws_table *t = tb_table_of(report, "sweep");
	size_t row = tb_find(t, 0, "others", "device " H100);

	cr_assert(eq(sz, t->nrows, 2));
	cr_expect(epsilon_eq(dbl, tb_real(t, row, "speedup"), 2.0, 1e-9));
	end(report, s);
}

/* The words of an answer. */
static const char *says(const struct ws_report *report, size_t i)
{
	static char text[512];
	const struct ws_page_line *line = &report->page->headline[i];
	size_t len = 0;

	text[0] = '\0';
	for (size_t k = 0; i < report->page->nheadline && k < line->nparts; k++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", line->part[k].text);
	return text;
}

Test(sweep, the_first_screen_says_who_is_fastest_and_what_stands_against_it)
{
	static const struct point points[] = {
	        {H100, "fp32", 8, 900, 1},  {H100, "bf16", 8, 450, 1},  {H100, "fp32", 16, 2000, 1},
	        {H100, "bf16", 16, 950, 1}, {H100, "fp32", 32, 400, 1}, {H100, "bf16", 32, 900, 1}};
	static const struct ws_sweep_opts opts = BASELINE;
	struct ws_sweep *s;
	struct ws_report *report = sweep_of(points, 4, &s, &opts);

	/* 1900 / 1000 and 4100 / 2000 */
	cr_expect_str_eq(report->page->title, "4 configurations in 4 runs");
	cr_assert(eq(sz, report->page->nheadline,
	             1)); /* nothing stands against it; no rates are known */
	cr_expect_str_eq(says(report, 0),
	                 "bf16 is 1.97× faster than fp32 (mean of 2 configurations).");
	cr_expect_str_eq(report->page->headline[0].grade, "LIKELY FASTER");
	end(report, s);
	report = sweep_of(points, 6, &s, &opts); /* and 900 / 1900 */
	cr_assert(eq(sz, report->page->nheadline, 2));
	cr_expect_str_eq(says(report, 0),
	                 "bf16 is 1.23× faster than fp32 (mean of 3 configurations).");
	cr_expect_str_eq(report->page->headline[0].grade, "AMBIGUOUS");
	cr_expect_str_eq(says(report, 1), "Against it: slower in 1 of 3, at most 2.11×.");
	end(report, s);
	report = sweep_of(&points[4], 2, &s, &opts); /* the baseline is fastest */
	cr_expect_str_eq(says(report, 0), "bf16 is 2.11× slower than fp32.");
	cr_expect_str_eq(report->page->headline[0].grade, "LIKELY SLOWER");
	end(report, s);
	report = sweep_of(points, 1, &s, &opts);
	cr_expect(eq(sz, report->page->nheadline, 0)); /* nothing to compare */
	end(report, s);
}

Test(sweep, the_first_screen_has_the_throughput_and_what_failed)
{
	static const struct ws_sweep_opts opts = BASELINE;
	struct ws_sweep *s = ws_sweep_new();
	struct ws_report *report;
	struct ws_err err;

	for (int i = 0; i < 3; i++) {
		struct tb *b = tb_new();

		tb_device(b, 0, WS_DEVICE_CUDA, H100);
		tb_mark(b, 0, i ? "workload.context=8" : "workload.context=16");
		tb_mark(b, 0, "workload.tokens_per_step=100");
		tb_push(b, 4000, "step");
		tb_launch(b, 5000, "gemm", 5000, i ? 499 + i : 1500);
		tb_pop(b, i ? 6000 : 8000);
		add_run(s, b, i == 2 ? "out of memory" : NULL);
	}
	cr_assert(eq(int, ws_sweep_make(s, &opts, &report, &err), WS_OK), "%s", err.text);
	cr_assert(eq(sz, report->page->nheadline, 2));
	cr_expect_str_eq(says(report, 0), "1 of 3 runs failed: see Verdict.");
	cr_expect_str_eq(says(report, 1),
	                 "Highest throughput: context 8: 50 M tokens per second, 2× the next.");
	end(report, s);
}
