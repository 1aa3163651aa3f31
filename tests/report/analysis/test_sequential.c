/* The interval that may be looked at after every pair: how often it is wrong, and what it finds. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "report/base/sequential.h"
#include "tests/environment/random.h"

#define CHANCE 0.01
#define MOST   30

static uint64_t state;

/* Student's t with 2 degrees of freedom: one in some hundred is ten times as large as the others.
 */
static double heavy(void)
{
	const double chi = -2 * log(random_uniform(&state));

	return random_normal(&state) / sqrt(chi / 2);
}

/* Of one pair of equal programs on a machine that slows down, with runs of any scatter: the log of
 * second / first, its sign turned if a coin put B first. */
static double of_equal_programs(int kind, int pair)
{
	const double drift = kind == 2 ? 3.0 + pair : 0;
	const double later = drift + (kind == 1 ? heavy() : random_normal(&state));

	return random_u64(&state) >> 40 & 1 ? later : -later;
}

/* The number of pairs after which the interval lacks `value`, looked at after each; 0: never. */
static size_t pairs_until_without(double value, const double *difference, size_t n)
{
	for (size_t i = 1; i <= n; i++)
		if (ws_sequential_refutes(difference, i, CHANCE, value))
			return i;
	return 0;
}

Test(sequential, of_a_thousand_series_of_equal_programs_at_most_one_in_a_hundred_differs)
{
	for (int kind = 0; kind < 3; kind++) {
		unsigned wrong = 0;

		state = 20261128 + (uint64_t)kind;
		for (int series = 0; series < 1000; series++) {
			double difference[MOST];

			for (int i = 0; i < MOST; i++)
				difference[i] = of_equal_programs(kind, i);
			wrong += pairs_until_without(0, difference, MOST) > 0;
		}
		/* 1000 trials of 1 %: more than 18 happen in one of 100 tests by chance, and these
		 * numbers are always the same */
		cr_expect(wrong <= 18, "%u of 1000, kind %d", wrong, kind);
	}
}

/* Slower by 1 to 5 %, where pairs scatter by 1 %: the promise of docs/dev/referee.md. */
Test(sequential, slowdowns_are_found)
{
	unsigned found[6] = {0}, pairs[6] = {0}, lacks = 0;

	state = 54;
	for (int percent = 1; percent <= 5; percent++)
		for (int series = 0; series < 100; series++) {
			double difference[MOST];
			const double truth = log1p(percent / 100.0);

			for (int i = 0; i < MOST; i++)
				difference[i] = truth + 0.01 * random_normal(&state);
			const size_t n = pairs_until_without(0, difference, MOST);

			found[percent] += n > 0;
			pairs[percent] += (unsigned)n;
			lacks += pairs_until_without(truth, difference, MOST) > 0;
		}
	cr_expect(found[1] >= 80, "%u", found[1]);
	for (int percent = 2; percent <= 5; percent++) {
		cr_expect_eq(found[percent], 100);
		cr_expect(pairs[percent] <= 1100, "%d %%: %u", percent, pairs[percent]);
	}
	cr_expect(lacks <= 10, "%u of 500 intervals lack the truth", lacks);
}

Test(sequential, too_few_pairs_bound_nothing)
{
	const double difference[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const size_t fewest = ws_sequential_fewest(CHANCE);
	struct ws_sequential s;

	cr_assert_eq(fewest, 9);
	ws_sequential_interval(difference, fewest - 1, CHANCE, &s);
	cr_expect(isinf(s.low) && isinf(s.high));
	ws_sequential_interval(difference, fewest, CHANCE, &s);
	cr_expect(fabs(s.low - 1) < 1e-6 && fabs(s.high - 1) < 1e-6, "%g %g", s.low, s.high);
	ws_sequential_interval(difference, 0, CHANCE, &s);
	cr_expect(isnan(s.centre) && isinf(s.low));
}

/* B against A mirrors A against B. */
Test(sequential, mirrored)
{
	double difference[20], turned[20];
	struct ws_sequential s, t;

	state = 7;
	for (size_t i = 0; i < 20; i++) {
		difference[i] = 0.3 + random_normal(&state);
		turned[i] = -difference[i];
	}
	ws_sequential_interval(difference, 20, CHANCE, &s);
	ws_sequential_interval(turned, 20, CHANCE, &t);
	cr_expect(ws_sequential_refutes(difference, 20, CHANCE, s.high + 1e-6));
	cr_expect_not(ws_sequential_refutes(difference, 20, CHANCE, s.high - 1e-6));
	cr_expect(fabs(s.low + t.high) < 1e-9 && fabs(s.high + t.low) < 1e-9);
}
