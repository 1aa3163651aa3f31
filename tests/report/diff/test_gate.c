/* A gate for a merge, held to its promise by experiment; all else of it: tests/cli/gate. */
#include "report/diff/diff.h"
#include "tests/report/diff/training.h"

static const struct ws_gate_key key = {"example", "nvidia-h100"};

static struct ws_gate_judgement judge(const struct training *a, const struct training *b, size_t n,
                                      const struct ws_diff_opts *opts)
{
	struct ws_gate_judgement j;
	struct ws_diff_result result;

	ws_report_free(training_compare(a, b, n, opts, &result));
	ws_gate_judge(&result, opts, &key, NULL, 0, "2026-11-25", &j);
	return j;
}

/* Steps of 0.48 ms whose level varies by half a per cent from run to run. */
static struct training usual(void)
{
	struct training t = plain_training;

	t.steps = 5;
	t.layers = 4;
	t.between = 0.005;
	return t;
}

Test(gate, of_three_hundred_pairs_of_the_same_at_most_one_in_a_hundred_is_slower)
{
	const struct ws_diff_opts opts = ws_gate_diff_opts();
	unsigned slower = 0, pairs = 300, passed = 0;

	training_state = 51;
	for (unsigned i = 0; i < pairs; i++) {
		struct training t = usual();
		struct ws_gate_judgement j;

		t.between = i % 3 == 0 ? 0.002 : i % 3 == 1 ? 0.005 : 0.02;
		j = judge(&t, &t, i % 2 ? 5 : 3, &opts);
		slower += j.outcome == WS_GATE_SLOWER;
		passed += j.outcome == WS_GATE_PASSED;
	}
	cr_expect_leq(slower, pairs / 100, "%u of %u", slower, pairs);
	cr_expect_geq(passed, pairs / 3, "%u of %u", passed, pairs);
}

Test(gate, two_percent_with_five_runs_is_found)
{
	const struct ws_diff_opts opts = ws_gate_diff_opts();
	unsigned found = 0, pairs = 100;

	training_state = 52;
	for (unsigned i = 0; i < pairs; i++) {
		struct training a = usual(), b = a;

		/* 2 % of a layer's 120 us */
		b.gemm_ns += 2400;
		found += judge(&a, &b, 5, &opts).outcome == WS_GATE_SLOWER;
	}
	cr_expect_geq(found, pairs * 95 / 100, "%u of %u", found, pairs);
}

static void expect(struct ws_gate_judgement j, enum ws_gate_outcome outcome, const char *words)
{
	cr_expect_str_eq(ws_gate_name(j.outcome), ws_gate_name(outcome), "%s", j.words);
	cr_expect(strstr(j.words, words) != NULL, "%s", j.words);
}

Test(gate, what_it_needs_is_more_than_it_has)
{
	const struct ws_diff_opts opts = ws_gate_diff_opts();
	unsigned undecided = 0, of_chance = 0;

	training_state = 57;
	for (unsigned i = 0; i < 200; i++) {
		struct training a = usual(), b = a;
		const size_t runs = 3 + i % 2;
		struct ws_gate_judgement j;
		char number[40];

		a.between = b.between = 0.006;
		b.gemm_ns += 2400; /* 2 % */
		j = judge(&a, &b, runs, &opts);
		if (j.outcome != WS_GATE_UNDECIDED)
			continue;
		undecided++;
		of_chance += strstr(j.words, "The gate asks for a 99 % CI.") != NULL;
		cr_assert_gt(j.runs_needed, runs, "%s", j.words);
		snprintf(number, sizeof(number), " %u runs ", j.runs_needed);
		cr_assert_not_null(strstr(j.words, number), "%u: %s", j.runs_needed, j.words);
	}
	cr_expect(undecided > 50 && of_chance > 20, "%u, %u", undecided, of_chance);
}

Test(gate, what_it_cannot_tell)
{
	const struct ws_diff_opts opts = ws_gate_diff_opts();
	struct training a = usual(), b = a;
	struct ws_gate_judgement j;

	training_state = 54;
	b.layers = 3;
	expect(judge(&a, &b, 3, &opts), WS_GATE_UNDECIDED, "Different work: 4 and 3 matmul calls");
	b = a;
	a.clock_mhz = 1980;
	b.clock_mhz = 1755;
	expect(judge(&a, &b, 3, &opts), WS_GATE_UNDECIDED, "1980 and 1755 MHz");
	b.clock_mhz = 1979;
	expect(judge(&a, &b, 3, &opts), WS_GATE_PASSED, "the same time");
	a = b = usual();
	a.between = b.between = 0.05;
	j = judge(&a, &b, 3, &opts);
	expect(j, WS_GATE_UNDECIDED, "Record about ");
	cr_expect_gt(j.runs_needed, 3);
	b.steps = 0;
	expect(judge(&a, &b, 1, &opts), WS_GATE_UNDECIDED, "Nothing to compare");
}
