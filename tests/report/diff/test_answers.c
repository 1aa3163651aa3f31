/* What a comparison says first. */
#include "report/page/page.h"
#include "tests/report/diff/training.h"

/* The words of an answer, in one text. */
static const char *words(const struct ws_page *page, size_t i, char out[512])
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t k = 0; i < page->nheadline && k < page->headline[i].nparts; k++)
		len += (size_t)snprintf(out + len, 512 - len, "%s", page->headline[i].part[k].text);
	return out;
}

static void expect_begins(const struct ws_page *page, size_t i, const char *begin, const char *has)
{
	char text[512];

	words(page, i, text);
	cr_expect(strncmp(text, begin, strlen(begin)) == 0 && strstr(text, has) != NULL, "%zu: %s",
	          i, text);
}

/* The bars stand on each other, from A's step to B's. */
static void expect_adds_up(const struct ws_page *page)
{
	const size_t last = page->nchange_bars - 1;

	cr_assert(page->nchange_bars > 2 && page->change_bar[0].is_whole &&
	          page->change_bar[last].is_whole);
	for (size_t i = 1; i < last; i++)
		cr_expect(eq(dbl, page->change_bar[i].from_ns, page->change_bar[i - 1].to_ns));
	cr_expect(fabs(page->change_bar[last - 1].to_ns - page->change_bar[last].to_ns) < 1);
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
	cr_assert(report->page && report->page->nheadline == 3);
	expect_begins(report->page, 0, "The step is ", "× faster: ");
	expect_begins(report->page, 1, "The kernels take the same time: ", " ms.");
	expect_begins(report->page, 2, "Why: ", "less waiting for data");
	cr_expect(strcmp(report->page->headline[0].grade, "FASTER") == 0);
	cr_expect(strcmp(report->page->headline[2].grade, "") == 0); /* causes have none */
	expect_adds_up(report->page);
	for (size_t i = 1; i < report->page->nchanges; i++)
		cr_expect(fabs(report->page->change[i - 1].ns[1] -
		               report->page->change[i - 1].ns[0]) >=
		          fabs(report->page->change[i].ns[1] - report->page->change[i].ns[0]));
	cr_expect(report->page->nchanges > 0 && report->page->nchanges <= WS_CHANGES);
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
	expect_begins(report->page, 0, "Different work: ", "");
	expect_begins(report->page, 1, "The step is not compared: ", " → ");
	for (size_t i = 0; i < report->page->nheadline; i++)
		cr_expect(strstr(words(report->page, i, text), "×") == NULL, "%s", text);
	cr_expect(strcmp(report->page->headline[0].grade, "UNLIKE") == 0);
	ws_report_free(report);
}

/* Two runs of one program: what cannot be told has no reason and no colour, but a cure. */
Test(answers, without_a_verdict_there_is_no_reason)
{
	struct training a = plain_training;
	char text[512];
	struct ws_diff_result result;
	struct ws_report *report;

	training_state = 9;
	report = training_compare(&a, &a, 1, NULL, &result);
	expect_begins(report->page, 0, "The step looks ", "but the runs vary too much to be sure.");
	expect_begins(report->page, 2, "", "per side");
	cr_expect(report->page->is_unsure);
	for (size_t i = 0; i < report->page->nheadline; i++)
		cr_expect(strncmp(words(report->page, i, text), "Why", 3) != 0, "%s", text);
	cr_expect_str_eq(report->page->title, "test (A) → test (B)");
	cr_expect_str_eq(report->page->side_title[0], "test (A)");
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
