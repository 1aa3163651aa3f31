/* Like with like: less work is no speed-up, whatever way it is less. */
#include "tests/report/diff/training.h"

/* Rows of all tables that are called faster. */
static unsigned count_faster(const struct ws_report *report, char *where, size_t size)
{
	unsigned n = 0;

	for (size_t i = 0; i < report->ntables; i++) {
		const struct ws_table *t = report->tables[i];

		for (size_t row = 0; row < t->nrows && ws_table_column_index(t->def, "grade") >= 0;
		     row++) {
			if (tb_is_empty(t, row, "grade") ||
			    !strstr(tb_str(t, row, "grade"), "FASTER"))
				continue;
			n++;
			snprintf(where, size, "%s, row %zu", t->def->name, row);
		}
	}
	return n;
}

/* The ways of doing less. */
enum { FEWER_LAYERS, SMALLER_PRODUCTS, FEWER_ITERATIONS, FEWER_ADDITIONS, WAYS };

static struct training less(const struct training *of, int way, int percent)
{
	struct training t = *of;

	if (way == FEWER_LAYERS)
		t.layers -= (t.layers * percent + 99) / 100;
	else if (way == SMALLER_PRODUCTS)
		t.size = 1 - percent / 100.0;
	else if (way == FEWER_ITERATIONS)
		t.steps -= (t.steps * percent + 99) / 100;
	else
		/* a third of the time is additions */
		t.dropped = (3 * t.layers * percent + 99) / 100;
	return t;
}

Test(like, a_hundred_pairs_with_less_work_are_never_faster)
{
	unsigned pairs = 0, faster = 0;
	char where[96] = "";

	training_state = 32;
	for (int way = 0; way < WAYS; way++)
		for (int i = 0; i < 28; i++, pairs++) {
			struct training a = plain_training, b;
			struct ws_diff_result result;
			struct ws_report *report;
			const int percent = 2 + 18 * i / 27;
			unsigned n;

			/* without steps there are fewer of them */
			if (way == FEWER_ITERATIONS) {
				a.in_no_steps = true;
				a.steps = 50;
				a.layers = 4;
			}
			b = less(&a, way, percent);
			report = training_compare(&a, &b, i % 4 ? 1 : 5, NULL, &result);
			n = count_faster(report, where, sizeof(where));
			cr_expect_eq(n, 0, "way %d, %d %% less: %s: %s", way, percent, where,
			             result.verdict);
			faster += n > 0;
			ws_report_free(report);
		}
	cr_expect_geq(pairs, 100);
	cr_expect_eq(faster, 0, "%u of %u", faster, pairs);
}

/* The same ways, and both do it: then what is faster is found. */
Test(like, a_pair_of_the_same_work_is_still_told_apart)
{
	training_state = 33;
	for (int way = 0; way < WAYS; way++) {
		struct training a = less(&plain_training, way, 10), b;
		struct ws_diff_result result;
		struct ws_report *report;

		a.in_no_steps = way == FEWER_ITERATIONS;
		b = a;
		b.gemm_ns = a.gemm_ns * 9 / 10;
		report = training_compare(&a, &b, 3, NULL, &result);
		cr_expect_str_eq(training_overall(report), "FASTER", "way %d: %s", way,
		                 result.verdict);
		ws_report_free(report);
	}
}
