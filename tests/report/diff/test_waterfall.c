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
