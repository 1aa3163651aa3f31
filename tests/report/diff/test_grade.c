/* Grades: by hand, by symmetry, and by experiment. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>

#include "report/base/grade.h"
#include "tests/environment/random.h"

/* Numbers that are the same on every machine. */
static uint64_t state;

#define MOST 64
struct side {
	double values[MOST * 16];
	size_t steps[16];
	struct ws_samples samples;
};

/* How many of the 35 halves of eight values are called different. */
static unsigned halves_called(const double v[8])
{
	static const size_t one_step[4] = {1, 1, 1, 1};
	static const struct ws_grade_opts opts = WS_GRADE_OPTS_DEFAULT;
	unsigned called = 0;

	for (unsigned mask = 0; mask < 128; mask++) {
		double side[2][4];
		size_t n[2] = {0, 0};
		struct ws_samples a = {.values = side[0], .steps = one_step, .recordings = 4};
		struct ws_samples b = {.values = side[1], .steps = one_step, .recordings = 4};
		struct ws_comparison c, *row = &c;

		if (__builtin_popcount(mask) != 4)
			continue;
		for (size_t i = 0; i < 8; i++) {
			int s = mask >> i & 1;

			side[s][n[s]++] = exp(v[i]);
		}
		ws_compare(&a, &b, &opts, &c);
		ws_grade_rows(&row, 1, &opts);
		called += c.grade == WS_GRADE_FASTER || c.grade == WS_GRADE_SLOWER;
	}
	return called;
}

/*
 * What docs/dev/statistics.md says of halves of one series: over many series at most 5 % are called
 * different, and yet many a series of recordings that are perfectly independent has more, for its
 * halves share their recordings. Whether recordings drift does not show in it.
 */
Test(grade, halves_of_one_series_are_no_independent_trials)
{
	for (int drift = 0; drift < 2; drift++) {
		unsigned called = 0, over = 0;

		state = 20261122;
		for (int series = 0; series < 500; series++) {
			double v[8], last = 0;
			unsigned n;

			for (size_t i = 0; i < 8; i++)
				v[i] = last = (drift ? 0.7 * last : 0) + random_normal(&state);
			n = halves_called(v);
			called += n;
			over += n * 100 > 5 * 35;
		}
		cr_expect(called * 100 <= 5 * 35 * 500, "%u of %u", called, 35 * 500);
		cr_expect(over > 500 * 35 / 100 && over < 500 * 60 / 100, "%u of 500 series", over);
	}
}

/*
 * Recordings of one thing as GPUs give them: each run has its own level (clocks, placement),
 * its steps drift slowly and scatter, and now and then one is late.
 */
static void record(struct side *s, size_t recordings, size_t steps, double level, double between,
                   double within)
{
	size_t n = 0;

	for (size_t r = 0; r < recordings; r++) {
		double run = level * exp(between * random_normal(&state)), drift = 0;

		for (size_t i = 0; i < steps; i++) {
			drift = 0.6 * drift + within * random_normal(&state);
			s->values[n++] =
			        run * exp(drift) * (random_uniform(&state) < 0.02 ? 1.3 : 1);
		}
		s->steps[r] = steps;
	}
	s->samples = (struct ws_samples){.values = s->values,
	                                 .steps = s->steps,
	                                 .recordings = recordings};
}

static struct ws_comparison graded(const struct side *a, const struct side *b,
                                   const struct ws_grade_opts *opts)
{
	struct ws_comparison c, *row = &c;

	ws_compare(&a->samples, &b->samples, opts, &c);
	ws_grade_rows(&row, 1, opts);
	return c;
}

static const struct ws_grade_opts defaults = WS_GRADE_OPTS_DEFAULT;

Test(grade, three_recordings_by_hand)
{
	/* logs of the medians are 0, 0.01, 0.02 and 0.1, 0.11, 0.12: Welch is Student with df 4 */
	struct side a = {.steps = {1, 1, 1}}, b = {.steps = {1, 1, 1}};
	struct ws_comparison c;

	for (int i = 0; i < 3; i++) {
		a.values[i] = exp(0.01 * i);
		b.values[i] = exp(0.1 + 0.01 * i);
	}
	a.samples = (struct ws_samples){.values = a.values, .steps = a.steps, .recordings = 3};
	b.samples = (struct ws_samples){.values = b.values, .steps = b.steps, .recordings = 3};
	c = graded(&a, &b, &defaults);
	cr_assert_eq(c.basis, WS_BASIS_RECORDINGS);
	cr_assert_float_eq(c.ratio, exp(0.1), 1e-12);
	cr_assert_float_eq(c.df, 4, 1e-9);
	/* t(0.975, 4) = 2.776445; error = sqrt(2 * 0.0001 / 3) */
	cr_assert_float_eq(c.low, exp(0.1 - 2.7764451052 * sqrt(0.0002 / 3)), 1e-9);
	cr_assert_float_eq(c.high, exp(0.1 + 2.7764451052 * sqrt(0.0002 / 3)), 1e-9);
	cr_assert_eq(c.grade, WS_GRADE_SLOWER);
}

Test(grade, itself_is_the_same)
{
	struct side a;
	struct ws_comparison c;

	state = 1;
	for (size_t recordings = 1; recordings <= 5; recordings++) {
		record(&a, recordings, 10, 1e6, 0.001, 0.002);
		c = graded(&a, &a, &(struct ws_grade_opts){0.01, 0.03, 0.002, 0});
		cr_assert_eq(c.grade, WS_GRADE_SAME, "%zu recordings: %s, %f..%f", recordings,
		             ws_grade_name(c.grade), c.low, c.high);
		cr_assert_eq(c.ratio, 1);
	}
}

Test(grade, steps_that_hardly_vary_leave_an_interval_of_the_noise_assumed)
{
	struct side a, b;
	struct ws_comparison c;

	state = 5;
	/* a variance that is rounding: its degrees of freedom are beyond all bounds */
	record(&a, 1, 8, 1e6, 0, 1e-16);
	record(&b, 1, 8, 1.1e6, 0, 1e-16);
	for (size_t i = 0; i < 8; i++) {
		a.values[i] = 1e6 * (1 + 1e-15 * (double)i);
		b.values[i] = 1.1e6 * (1 + 1e-15 * (double)i);
	}
	c = graded(&a, &b, &defaults);
	cr_expect(c.low > 1.06 && c.high < 1.14, "%g to %g", c.low, c.high);
	cr_expect_eq(c.grade, WS_GRADE_LIKELY_SLOWER);
}

Test(grade, mirrors)
{
	struct side a, b;

	state = 2;
	for (size_t recordings = 1; recordings <= 6; recordings++) {
		struct ws_comparison ab, ba;

		record(&a, recordings, 7, 1e6, 0.01, 0.01);
		record(&b, 7 - recordings, 9, 1.07e6, 0.01, 0.01);
		ab = graded(&a, &b, &defaults);
		ba = graded(&b, &a, &defaults);
		cr_assert_float_eq(ab.ratio * ba.ratio, 1, 1e-12);
		cr_assert_float_eq(ab.low * ba.high, 1, 1e-12);
		cr_assert_float_eq(ab.p, ba.p, 1e-12);
		cr_assert_eq(ws_grade_is_slower(ab.grade), ws_grade_is_faster(ba.grade));
		cr_assert(
		        not(ab.grade == WS_GRADE_SLOWER && (recordings < 3 || 7 - recordings < 3)));
		cr_assert_eq(ab.grade == WS_GRADE_SAME, ba.grade == WS_GRADE_SAME);
	}
}

/* Of pairs of the same thing, how many are called different? */
static unsigned false_alarms(unsigned pairs, size_t recordings, double between, double within,
                             const struct ws_grade_opts *opts)
{
	unsigned alarms = 0;

	for (unsigned i = 0; i < pairs; i++) {
		struct side a, b;
		struct ws_comparison c;

		record(&a, recordings, 8, 1e6, between, within);
		record(&b, recordings, 8, 1e6, between, within);
		c = graded(&a, &b, opts);
		alarms += ws_grade_is_faster(c.grade) || ws_grade_is_slower(c.grade);
	}
	return alarms;
}

Test(grade, the_same_is_seldom_called_different)
{
	static const double between[] = {0.002, 0.01, 0.04};

	state = 3;
	for (size_t i = 0; i < 3; i++) {
		for (size_t recordings = 1; recordings <= 5; recordings++) {
			struct ws_grade_opts opts = {0.01, 0.03, between[i], 0};
			unsigned alarms =
			        false_alarms(2000, recordings, between[i], between[i] / 2, &opts);

			/* 5 % is 100; three standard deviations of that count are 30 */
			cr_expect_leq(alarms, 130, "%zu recordings, noise %g: %u of 2000",
			              recordings, between[i], alarms);
		}
	}
}

/* Steps of one run do not show the noise between runs: this is what made two of three pairs
 * of identical runs "differ beyond noise". */
Test(grade, without_noise_between_runs_identical_runs_differ)
{
	struct ws_grade_opts blind = {0.01, 0.03, 0, 0};
	unsigned alarms;

	state = 4;
	alarms = false_alarms(500, 1, 0.03, 0.005, &blind);
	cr_assert_gt(alarms, 200, "%u of 500", alarms);
}

Test(grade, two_percent_with_five_recordings_is_found)
{
	unsigned found = 0, wrong = 0;

	state = 5;
	for (int i = 0; i < 1000; i++) {
		struct side a, b;
		struct ws_comparison c;

		record(&a, 5, 20, 1e6, 0.005, 0.005);
		record(&b, 5, 20, 1.02e6, 0.005, 0.005);
		c = graded(&a, &b, &defaults);
		found += c.grade == WS_GRADE_SLOWER;
		wrong += c.grade == WS_GRADE_FASTER;
	}
	cr_assert_geq(found, 950, "%u of 1000", found);
	cr_assert_eq(wrong, 0);
}

Test(grade, many_rows_are_judged_together)
{
	enum { ROWS = 200 };
	unsigned alone = 0, together = 0;

	state = 6;
	for (int table = 0; table < 20; table++) {
		static struct ws_comparison c[ROWS];
		struct ws_comparison *rows[ROWS];

		for (int i = 0; i < ROWS; i++) {
			struct side a, b;

			record(&a, 4, 4, 1e6, 0.02, 0.01);
			record(&b, 4, 4, 1e6, 0.02, 0.01);
			ws_compare(&a.samples, &b.samples, &defaults, &c[i]);
			rows[i] = &c[i];
			alone += c[i].p < 0.05;
		}
		ws_grade_rows(rows, ROWS, &defaults);
		for (int i = 0; i < ROWS; i++)
			together += c[i].grade == WS_GRADE_FASTER || c[i].grade == WS_GRADE_SLOWER;
	}
	cr_assert_gt(alone, 100, "%u of 4000", alone);
	cr_assert_lt(together, 10, "%u of 4000", together);
}

Test(grade, unknown_is_ambiguous)
{
	struct side a = {.values = {1e6}, .steps = {1}}, b = {.values = {2e6}, .steps = {1}},
	            none = {0};
	struct ws_grade_opts blind = {0.01, 0.03, 0, 0};
	struct ws_comparison c;

	a.samples = (struct ws_samples){.values = a.values, .steps = a.steps, .recordings = 1};
	b.samples = (struct ws_samples){.values = b.values, .steps = b.steps, .recordings = 1};
	c = graded(&a, &none, &defaults);
	cr_assert_eq(c.basis, WS_BASIS_NONE);
	cr_assert(isnan(c.ratio) && isnan(c.low) && isnan(c.p));
	cr_assert_eq(c.grade, WS_GRADE_AMBIGUOUS);
	/* one step a side and no noise assumed: nothing is known of its scatter */
	cr_assert_eq(graded(&a, &b, &blind).grade, WS_GRADE_AMBIGUOUS);
	/* with noise assumed, twice as long is slower */
	cr_assert_eq(graded(&a, &b, &defaults).grade, WS_GRADE_LIKELY_SLOWER);
	/* by how much recordings vary is not known: neither a grade nor an interval */
	blind.run_noise = NAN;
	c = graded(&a, &b, &blind);
	cr_assert_eq(c.grade, WS_GRADE_AMBIGUOUS);
	cr_assert(c.ratio > 1.9 && isnan(c.low) && isnan(c.high) && isnan(c.p));
	/* a recording beside itself is the same all the same */
	cr_assert_eq(graded(&a, &a, &blind).grade, WS_GRADE_SAME);
}

/* The step's batch is made by one kernel, which takes 5.9 µs in some recordings of an H100 and 6.3
 * in others: medians of two recordings of one program, steps as they were. A thousand times as
 * long, the same ratio is a difference. */
Test(grade, short_times_vary_by_the_clock_and_the_launch)
{
	static const double ns[2][10] = {
	        {6336, 6304, 5920, 5792, 5696, 5760, 5792, 5857, 6304, 5888},
	        {6304, 6336, 6304, 6336, 6272, 6336, 6336, 6304, 6336, 6304},
	};
	struct ws_grade_opts short_too = WS_GRADE_OPTS_DEFAULT;
	struct ws_comparison c;

	short_too.run_ns = 250;
	for (int longer = 0; longer < 2; longer++) {
		struct side s[2] = {{.steps = {10}}, {.steps = {10}}};

		for (int i = 0; i < 20; i++)
			s[i / 10].values[i % 10] = ns[i / 10][i % 10] * (longer ? 1000 : 1);
		for (int i = 0; i < 2; i++)
			s[i].samples = (struct ws_samples){.values = s[i].values,
			                                   .steps = s[i].steps,
			                                   .recordings = 1};
		cr_expect_eq(graded(&s[0], &s[1], &defaults).grade, WS_GRADE_LIKELY_SLOWER);
		c = graded(&s[0], &s[1], &short_too);
		cr_expect_eq(c.grade, longer ? WS_GRADE_LIKELY_SLOWER : WS_GRADE_AMBIGUOUS, "%s",
		             ws_grade_name(c.grade));
		cr_expect(longer ? c.run_noise < 0.0101 : c.run_noise > 0.04, "%g", c.run_noise);
	}
}

/* 2 % less work and 2 % less time is no speed-up; 10 % less time is. */
Test(grade, what_only_one_side_did_is_no_difference)
{
	struct side a = {.steps = {1, 1, 1}}, b = {.steps = {1, 1, 1}};
	struct ws_comparison c, *row = &c;

	for (int faster = 0; faster < 2; faster++) {
		for (int i = 0; i < 3; i++) {
			a.values[i] = 1e6 + 10 * i;
			b.values[i] = (faster ? 0.9e6 : 0.98e6) + 10 * i;
		}
		a.samples =
		        (struct ws_samples){.values = a.values, .steps = a.steps, .recordings = 3};
		b.samples =
		        (struct ws_samples){.values = b.values, .steps = b.steps, .recordings = 3};
		ws_compare(&a.samples, &b.samples, &defaults, &c);
		c.less_work = 1 / 0.98;
		ws_grade_rows(&row, 1, &defaults);
		cr_expect_eq(c.grade, faster ? WS_GRADE_FASTER : WS_GRADE_SAME, "%s",
		             ws_grade_name(c.grade));
		ws_compare(&b.samples, &a.samples, &defaults, &c);
		c.more_work = 1 / 0.98;
		ws_grade_rows(&row, 1, &defaults);
		cr_expect_eq(c.grade, faster ? WS_GRADE_SLOWER : WS_GRADE_SAME, "%s",
		             ws_grade_name(c.grade));
	}
}

Test(grade, small_effects_are_no_verdict)
{
	struct side a = {.steps = {1, 1, 1}}, b = {.steps = {1, 1, 1}};
	struct ws_comparison c;

	for (int i = 0; i < 3; i++) {
		a.values[i] = 1e6 + i;
		b.values[i] = 1.005e6 + i;
	}
	a.samples = (struct ws_samples){.values = a.values, .steps = a.steps, .recordings = 3};
	b.samples = (struct ws_samples){.values = b.values, .steps = b.steps, .recordings = 3};
	c = graded(&a, &b, &defaults);
	cr_assert_gt(c.low, 1);
	cr_assert_eq(c.grade, WS_GRADE_SAME, "half a per cent, exactly known");
}

Test(grade, what_could_have_been_found)
{
	struct side a, b;
	struct ws_comparison c;
	unsigned need, found = 0;
	double effect;

	state = 7;
	record(&a, 5, 20, 1e6, 0.01, 0.002);
	record(&b, 5, 20, 1e6, 0.01, 0.002);
	c = graded(&a, &b, &defaults);
	effect = ws_grade_detectable(&c);
	cr_assert(effect > 0.005 && effect < 0.1, "%g", effect);
	/* as many recordings as it asks for find the effect as often as it says */
	c.spread = 0.01;
	need = ws_grade_recordings_for(&c, 0.02, WS_GRADE_CONFIDENCE);
	cr_assert(need >= 4 && need <= 12, "%u", need);
	for (int i = 0; i < 1000; i++) {
		record(&a, need, 8, 1e6, 0.01, 0.0001);
		record(&b, need, 8, 1.02e6, 0.01, 0.0001);
		found += graded(&a, &b, &defaults).grade == WS_GRADE_SLOWER;
	}
	cr_assert(found > 740 && found < 900, "%u of 1000 with %u recordings", found, need);
	cr_assert_eq(ws_grade_recordings_for(&c, 0, WS_GRADE_CONFIDENCE), 0);
	/* more, to be surer of it */
	need = ws_grade_recordings_for(&c, 0.02, 0.99);
	for (int i = found = 0; i < 1000; i++) {
		record(&a, need, 8, 1e6, 0.01, 0.0001);
		record(&b, need, 8, 1.02e6, 0.01, 0.0001);
		found += graded(&a, &b, &defaults).p <= 0.01;
	}
	cr_assert(found > 740 && found < 900, "%u of 1000 with %u recordings", found, need);
}

/* Steps behind each other that have one value are told by a number, or one by one. */
Test(grade, equal_steps_count_as_often_as_they_are)
{
	for (size_t recordings = 1; recordings <= 3; recordings += 2) {
		struct side one_by_one[2] = {0}, counted[2] = {0};
		size_t times[2][MOST] = {0};
		struct ws_comparison c[2];

		for (int s = 0; s < 2; s++) {
			size_t n = 0, at = 0;

			for (size_t r = 0; r < recordings; r++) {
				for (size_t k = 0; k < 4; k++, at++) {
					const double value =
					        k % 2 ? 1000 + (double)(3 * k + r + 40 * (size_t)s)
					              : 0.5;

					times[s][at] = k == 2 ? 5 : 1;
					counted[s].values[at] = value;
					for (size_t i = 0; i < times[s][at]; i++)
						one_by_one[s].values[n++] = value;
				}
				counted[s].steps[r] = 4;
				one_by_one[s].steps[r] = 8;
			}
			counted[s].samples = (struct ws_samples){.values = counted[s].values,
			                                         .steps = counted[s].steps,
			                                         .recordings = recordings,
			                                         .times = times[s]};
			one_by_one[s].samples = (struct ws_samples){.values = one_by_one[s].values,
			                                            .steps = one_by_one[s].steps,
			                                            .recordings = recordings};
		}
		c[0] = graded(&counted[0], &counted[1], &defaults);
		c[1] = graded(&one_by_one[0], &one_by_one[1], &defaults);
		cr_expect_eq(c[0].steps[0], 8 * recordings);
		cr_expect_eq(c[0].steps[0], c[1].steps[0]);
		cr_expect_eq(c[0].typical[1], c[1].typical[1]);
		cr_expect_float_eq(c[0].ratio, c[1].ratio, 1e-12);
		cr_expect_float_eq(c[0].error, c[1].error, 1e-12);
		cr_expect_float_eq(c[0].df, c[1].df, 1e-6 * c[1].df);
		cr_expect_eq(c[0].grade, c[1].grade);
		cr_expect(graded(&counted[0], &counted[0], &defaults).identical);
		cr_expect(not(c[0].identical));
	}
}
