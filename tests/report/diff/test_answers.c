/* What a comparison says first. */
#include "report/page/answers.h"
#include "tests/report/diff/training.h"

/* The words of an answer, in one text. */
static const char *words(const struct ws_answers *answers, size_t i, char out[512])
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t k = 0; i < answers->n && k < answers->answer[i].line.nparts; k++)
		len += (size_t)snprintf(out + len, 512 - len, "%s",
		                        answers->answer[i].line.part[k].text);
	return out;
}

static void expect_begins(const struct ws_answers *answers, size_t i, const char *begin,
                          const char *has)
{
	char text[512];

	words(answers, i, text);
	cr_expect(strncmp(text, begin, strlen(begin)) == 0 && strstr(text, has) != NULL, "%zu: %s",
	          i, text);
}

/* The bars stand on each other, from A's step to B's. */
static void expect_adds_up(const struct ws_answers *answers)
{
	const size_t last = answers->nbars - 1;

	cr_assert(answers->nbars > 2 && answers->bar[0].is_whole && answers->bar[last].is_whole);
	for (size_t i = 1; i < last; i++)
		cr_expect(eq(dbl, answers->bar[i].from_ns, answers->bar[i - 1].to_ns));
	cr_expect(fabs(answers->bar[last - 1].to_ns - answers->bar[last].to_ns) < 1);
}

Test(answers, step_kernels_and_why)
{
	struct training slow = plain_training, fast = plain_training;
	struct ws_diff_result result;
	struct ws_report *report;

	slow.wait_share = 0.8;
	slow.between = fast.between = 0;
	training_state = 7;
	report = training_compare(&slow, &fast, 3, NULL, &result);
	cr_assert(report->answers && report->answers->n == 3);
	expect_begins(report->answers, 0, "The step is ", "× faster: ");
	expect_begins(report->answers, 1, "The kernels take the same time: ", " ms.");
	expect_begins(report->answers, 2, "Why: ", "less waiting for data");
	cr_expect(strcmp(report->answers->answer[0].grade, "FASTER") == 0);
	cr_expect(strcmp(report->answers->answer[2].grade, "") == 0); /* causes have none */
	expect_adds_up(report->answers);
	for (size_t i = 1; i < report->answers->nchanges; i++)
		cr_expect(
		        fabs(report->answers->change[i - 1].ns[1] -
		             report->answers->change[i - 1].ns[0]) >=
		        fabs(report->answers->change[i].ns[1] - report->answers->change[i].ns[0]));
	cr_expect(report->answers->nchanges > 0 && report->answers->nchanges <= WS_CHANGES);
	ws_report_free(report);
}

/* Nothing is called faster where the sides did not do the same. */
Test(answers, other_work_has_no_ratio)
{
	struct training a = plain_training, b = plain_training;
	struct ws_diff_result result;
	struct ws_report *report;
	char text[512];

	b.layers = 2 * a.layers;
	training_state = 8;
	report = training_compare(&a, &b, 3, NULL, &result);
	expect_begins(report->answers, 0, "Different work: ", "");
	expect_begins(report->answers, 1, "The step is not compared: ", " → ");
	for (size_t i = 0; i < report->answers->n; i++)
		cr_expect(strstr(words(report->answers, i, text), "×") == NULL, "%s", text);
	cr_expect(strcmp(report->answers->answer[0].grade, "UNLIKE") == 0);
	ws_report_free(report);
}

/* The same trace twice: nothing changed, so there is no reason. */
Test(answers, the_same_has_no_reason)
{
	struct training a = plain_training;
	struct ws_diff_result result;
	struct ws_report *report;

	training_state = 9;
	report = training_compare(&a, &a, 1, NULL, &result);
	cr_expect(report->answers->n >= 2);
	expect_begins(report->answers, 0, "The step takes ", "");
	cr_expect_str_eq(report->answers->title, "test (A) → test (B)");
	cr_expect_str_eq(report->answers->side_title[0], "test (A)");
	ws_report_free(report);
}

/* Of the keys of a trace that differ, those that say something of the run. */
Test(answers, the_configuration_has_no_times_of_recording)
{
	struct training a = plain_training, b = plain_training;
	struct ws_diff_result result;
	struct ws_report *report;
	const struct ws_table *t;

	a.clock_mhz = 1200;
	b.clock_mhz = 1980;
	report = training_compare(&a, &b, 1, NULL, &result);
	t = tb_table_of(report, "diff-config");
	cr_expect(eq(sz, tb_count(t, "key", "gpu.0.end.sm_clock_mhz"), 1));
	cr_expect(eq(sz, tb_count(t, "key", "pytorch.span_start_ns"), 0));
	/* no range is a phase: a remainder would be the total once more */
	t = tb_table_of(report, "diff-phases");
	cr_expect(eq(sz, tb_count(t, "phase", "remainder"), 0));
	cr_expect(eq(sz, tb_count(t, "phase", "total"), 3));
	ws_report_free(report);
}
