/* Like with like: less work is no speed-up, whatever way it is less. */
#include "tests/report/diff/training.h"

static bool says(const struct ws_report *report, const char *reason)
{
	const struct ws_table *t = tb_table_of(report, "diff-verdict");

	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "subject"), "not the same work") &&
		    strstr(tb_str(t, row, "verdict"), reason))
			return true;
	return false;
}

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

Test(like, the_reasons_are_told_in_words)
{
	static const struct {
		int way;
		const char *reason;
	} ways[] = {{FEWER_LAYERS, "50 and 45 matmul calls per step"},
	            {SMALLER_PRODUCTS, "50 and 45 GFLOP per step in the matched operations"},
	            {FEWER_ITERATIONS, "50 and 45 matmul calls"},
	            {FEWER_ADDITIONS, "of the GPU time of test (A) has a counterpart"}};

	training_state = 34;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
		struct training a = plain_training, b;
		struct ws_diff_result result;
		struct ws_report *report;
		const struct ws_table *t;
		size_t row;

		if (ways[i].way == FEWER_ITERATIONS) {
			a.in_no_steps = true;
			a.layers = 1;
			a.steps = 50;
		}
		b = less(&a, ways[i].way, 10);
		report = training_compare(&a, &b, 1, &opts, &result);
		cr_expect_str_eq(training_overall(report), "UNLIKE");
		cr_expect(says(report, ways[i].reason), "way %d: %s", ways[i].way,
		          tb_str(tb_table_of(report, "diff-verdict"), 0, "verdict"));
		cr_expect(strstr(result.verdict, "--force") != NULL, "%s", result.verdict);
		ws_report_free(report);

		/* what faces each other is compared a call all the same */
		opts.force = true;
		report = training_compare(&a, &b, 1, &opts, &result);
		t = tb_table_of(report, "diff-ops");
		row = tb_find(t, 0, "op", "ffn");
		if (ways[i].way == SMALLER_PRODUCTS) {
			cr_expect_str_eq(tb_str(t, row, "grade"), "UNLIKE");
			cr_expect(tb_is_empty(t, row, "ratio"));
		} else {
			while (tb_is_empty(t, row, "ratio"))
				row = tb_find(t, row + 1, "op", "ffn");
			cr_expect(fabs(tb_real(t, row, "ratio") - 1) < 0.02, "%g",
			          tb_real(t, row, "ratio"));
			cr_expect(fabs(tb_real(t, row, "call_a_ns") / 80000 - 1) < 0.02);
			cr_expect(fabs(tb_real(t, row, "call_b_ns") / 80000 - 1) < 0.02);
		}
		ws_report_free(report);
	}
}

/* A step of one product of these sizes. */
static struct joined *one_product(struct tb **b, const uint64_t size[5], uint64_t flops)
{
	const struct tb_op op = {flops, 100, 50, "gemm", "forward", "bf16", 0};

	*b = tb_new();
	tb_push(*b, 0, "step");
	tb_push_sized_op(*b, 10, "layer", &op, size);
	tb_launch(*b, 11, "k", 20, 100000);
	tb_pop(*b, 15);
	tb_pop(*b, 200000);
	return tb_joined(*b);
}

Test(like, both_shapes_are_shown_where_they_differ)
{
	static const uint64_t sizes[3][5] = {{1, 64, 64, 64}, {1, 32, 64, 64}, {1, 64, 128, 32}};

	for (int i = 0; i < 3; i++) {
		struct ws_sides *sides = ws_sides_new();
		struct ws_diff_result result;
		struct ws_report *report;
		const struct ws_table *t;
		struct tb *b[2];
		struct joined *j[2] = {one_product(&b[0], sizes[0], 1 << 20),
		                       one_product(&b[1], sizes[i], i == 1 ? 1 << 19 : 1 << 20)};

		for (int s = 0; s < 2; s++)
			sides_add(sides, s, j[s]->m, &j[s]->rows);
		cr_assert_eq(ws_diff_make(sides, NULL, &report, &result, NULL), WS_OK);
		t = tb_table_of(report, "diff-ops");
		cr_assert_eq(t->nrows, 1);
		cr_expect_str_eq(tb_str(t, 0, "shape"), "1x64x64x64");
		if (i)
			cr_expect_str_eq(tb_str(t, 0, "shape_b"),
			                 i == 1 ? "1x32x64x64" : "1x64x128x32");
		else
			cr_expect(tb_is_empty(t, 0, "shape_b"));
		/* other sizes with the same FLOPs are the same work: one is turned over */
		cr_expect_eq(!strcmp(training_overall(report), "UNLIKE"), i == 1, "%s",
		             result.verdict);
		ws_report_free(report);
		ws_sides_free(sides);
		for (int s = 0; s < 2; s++) {
			joined_free(j[s]);
			tb_free(b[s]);
		}
	}
}

Test(like, nothing_to_compare_is_said)
{
	struct training idle = plain_training;
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct ws_diff_result result;
	struct ws_report *report;
	const struct ws_table *t;
	size_t row;

	idle.steps = 0;
	opts.threshold_percent = 0;
	training_state = 35;
	report = training_compare(&idle, &idle, 1, &opts, &result);
	cr_expect_str_eq(result.verdict, "Nothing to compare: a side has no device work.");
	cr_expect(not(result.finding));
	t = tb_table_of(report, "diff-verdict");
	row = tb_find(t, 0, "subject", "overall");
	cr_expect(tb_is_empty(t, row, "ratio") && tb_is_empty(t, row, "grade") &&
	          tb_is_empty(t, row, "a"));
	cr_expect(tb_table_of(report, "diff-waterfall")->not_recorded != NULL);
	ws_report_free(report);
}
