/* Why a step changed: parts that add up, and the largest of them in words. */
#include "tests/report/diff/training.h"

static double sum_of(const struct ws_table *t, const char *column, const char *but)
{
	double sum = 0;

	for (size_t row = 0; row < t->nrows; row++)
		if (!but || strcmp(tb_str(t, row, "group"), but) != 0)
			sum += tb_real(t, row, column);
	return sum;
}

/* Parts add up to the total, from A's to B's; the uses of each device to the mean step. */
static void expect_adds_up(const struct ws_report *report)
{
	static const char *const columns[] = {"a_ns", "b_ns", "diff_ns"};
	const struct ws_table *t = tb_table_of(report, "diff-waterfall"),
	                      *verdict = tb_table_of(report, "diff-verdict");
	const size_t total = tb_find(t, 0, "group", "total"),
	             overall = tb_find(verdict, 0, "subject", "overall");

	for (size_t i = 0; i < 3; i++)
		cr_expect(fabs(sum_of(t, columns[i], "total") - tb_real(t, total, columns[i])) < 1,
		          "%s: %f of %f", columns[i], sum_of(t, columns[i], "total"),
		          tb_real(t, total, columns[i]));
	cr_expect(fabs(tb_real(t, total, "a_ns") - 1e6 * tb_real(verdict, overall, "a")) < 1);
	cr_expect(fabs(tb_real(t, total, "b_ns") - 1e6 * tb_real(verdict, overall, "b")) < 1);
	cr_expect(fabs(tb_real(t, 0, "from_ns") - tb_real(t, total, "a_ns")) < 1);
	cr_expect(fabs(tb_real(t, total - 1, "to_ns") - tb_real(t, total, "b_ns")) < 1);
	t = tb_table_of(report, "diff-idle");
	cr_expect(fabs(sum_of(t, "share_a", NULL) - 100) < 1e-6);
	cr_expect(fabs(sum_of(t, "share_b", NULL) - 100) < 1e-6);
}

Test(waterfall, the_parts_add_up_in_all_pairs)
{
	training_state = 41;
	for (int i = 0; i < 24; i++) {
		struct training a = plain_training, b;
		struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
		struct ws_diff_result result;
		struct ws_report *report;

		a.in_no_steps = i % 3 == 0;
		a.layers = 10;
		a.wait_share = i % 2 ? 0.4 : 0;
		b = a;
		b.wait_share = i % 4 ? 0.1 : 0.7;
		b.gemm_ns = 70000 + 1000 * i;
		b.dropped = i % 5;
		b.steps = 3 + i % 4;
		opts.force = true;
		report = training_compare(&a, &b, 1 + (size_t)i % 3, &opts, &result);
		expect_adds_up(report);
		ws_report_free(report);
	}
}

/* The step of this pair is so much less for the data. */
Test(waterfall, the_largest_part_is_the_second_sentence)
{
	struct training slow = plain_training, fast = plain_training, kernels = plain_training;
	struct ws_diff_result result;
	struct ws_report *report;
	const struct ws_table *t;
	size_t row;

	slow.wait_share = 0.8;
	slow.between = fast.between = kernels.between = 0;
	training_state = 42;
	report = training_compare(&slow, &fast, 3, NULL, &result);
	expect_adds_up(report);
	cr_expect(strstr(result.verdict, "4.8 ms less per step: ") &&
	                  strstr(result.verdict, " less waiting for data."),
	          "%s", result.verdict);
	t = tb_table_of(report, "diff-idle");
	row = tb_find(t, 0, "use", "waiting for data");
	/* 0.8 of 50 times 120 us, that of the first step before its first work, too */
	cr_expect(fabs(tb_real(t, row, "a_ns") - 4.8e6) < 2e4, "%f", tb_real(t, row, "a_ns"));
	cr_expect(eq(dbl, tb_real(t, row, "b_ns"), 0));
	ws_report_free(report);

	kernels.gemm_ns = 60000;
	report = training_compare(&fast, &kernels, 3, NULL, &result);
	cr_expect(strstr(result.verdict, "ms less per step: ") &&
	                  strstr(result.verdict, " less gemm kernels."),
	          "%s", result.verdict);
	ws_report_free(report);

	/* nothing changed: no cause */
	report = training_compare(&fast, &fast, 3, NULL, &result);
	cr_expect(strstr(result.verdict, "a step:") == NULL, "%s", result.verdict);
	ws_report_free(report);
}

/* Two cycles of one training wait 27 % and 18 % of a step for data: 17 % between them is no
 * finding. */
Test(waterfall, one_recording_of_steps_that_wait_says_little)
{
	unsigned called = 0, faster = 0, pairs = 60;

	training_state = 43;
	for (unsigned i = 0; i < pairs; i++) {
		struct training a = plain_training, b;
		struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
		struct ws_diff_result result;
		struct ws_report *report;
		const char *grade;

		opts.threshold_percent = 0;
		a.layers = 10;
		a.wait_share = 0.4;
		a.wait_varies = 0.3;
		report = training_compare(&a, &a, 1, &opts, &result);
		grade = training_overall(report);
		cr_expect(strcmp(grade, "FASTER") && strcmp(grade, "SLOWER"));
		cr_expect(not(result.finding), "one recording is no ground for a gate");
		called += strncmp(grade, "LIKELY", 6) == 0;
		ws_report_free(report);

		b = a;
		b.wait_share = 0;
		report = training_compare(&a, &b, 1, NULL, &result);
		faster += !strcmp(training_overall(report), "LIKELY FASTER");
		ws_report_free(report);
	}
	cr_expect(called <= pairs / 20, "%u of %u", called, pairs);
	cr_expect(faster >= pairs * 3 / 4, "no waiting at all is found: %u of %u", faster, pairs);
}

/* Whole traces are compared from their first device work to their last, whatever the host did. */
Test(waterfall, without_steps_the_elapsed_time_is_compared_and_what_it_is_made_of)
{
	const struct ws_table *t;
	struct ws_sides *sides = ws_sides_new();
	struct ws_diff_result result;
	struct ws_report *report;
	struct tb *b[2];
	struct joined *j[2];
	size_t row;

	for (int s = 0; s < 2; s++) {
		b[s] = tb_new();
		tb_push(b[s], 0, "set-up");
		tb_pop(b[s], 50000000);
		for (int i = 0; i < 2; i++)
			tb_launch(b[s], 60000000 + 10000000 * i, "k", 60000100 + 10000000 * i,
			          4000000 - 1000000 * s);
		tb_add(b[s], WS_KIND_MEMCPY,
		       &(struct ws_row_memcpy){.start_ns = 66000000,
		                               .dur_ns = 500000,
		                               .pid = 100,
		                               .kind = 1,
		                               .bytes = 4096});
		tb_push(b[s], 80000000, "tear-down");
		tb_pop(b[s], 99000000);
		j[s] = tb_joined(b[s]);
		sides_add(sides, s, j[s]->m, &j[s]->rows);
	}
	cr_assert_eq(ws_diff_make(sides, NULL, &report, &result, NULL), WS_OK);
	expect_adds_up(report);
	t = tb_table_of(report, "diff-verdict");
	row = tb_find(t, 0, "subject", "overall");
	cr_expect(strstr(tb_str(t, row, "verdict"), "Elapsed time: ") == tb_str(t, row, "verdict"));
	cr_expect(epsilon_eq(dbl, tb_real(t, row, "a"), 14.0, 1e-9));
	cr_expect(epsilon_eq(dbl, tb_real(t, row, "b"), 13.0, 1e-9));
	row = tb_find(t, 0, "subject", "GPU time of kernels");
	cr_expect(epsilon_eq(dbl, tb_real(t, row, "b"), 6.0, 1e-9));
	row = tb_find(t, 0, "subject", "copies");
	cr_expect(epsilon_eq(dbl, tb_real(t, row, "a"), 0.5, 1e-9));
	row = tb_find(t, 0, "subject", "idle");
	cr_expect(epsilon_eq(dbl, tb_real(t, row, "a"), 5.5, 1e-9));
	ws_report_free(report);
	ws_sides_free(sides);
	for (int s = 0; s < 2; s++) {
		joined_free(j[s]);
		tb_free(b[s]);
	}
}
