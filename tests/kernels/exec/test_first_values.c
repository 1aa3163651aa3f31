#include <criterion/criterion.h>
#include <math.h>

#include "kernels/exec/exec.h"

#define DRAWS 1000000

/* --- the functions that normal numbers are made of ---------------------------------------- */

Test(first_values, the_logarithm_agrees_with_the_library_s)
{
	for (uint32_t n = 1; n < 1u << 24; n += 251) {
		long double want = logl((long double)n * 0x1p-24L);

		cr_assert_leq(fabsl(ws_normal_log(n) - want), -want * 1e-13L, "n %u", n);
	}
	cr_assert_leq(fabs(ws_normal_log((1u << 24) - 1) - log1p(-0x1p-24)), 1e-20);
	cr_assert_eq(ws_normal_log(1u << 24), 0);
}

Test(first_values, the_cosine_agrees_with_the_library_s_also_near_its_zeros)
{
	const long double turn = 6.283185307179586476925286766559L;

	for (uint32_t n = 0; n < 1u << 24; n += 251)
		cr_assert_leq(fabsl(ws_normal_cos(n) - cosl(turn * n * 0x1p-24L)), 1e-13L, "n %u",
		              n);
	cr_assert_eq(ws_normal_cos(1u << 22), 0);
	cr_assert_eq(ws_normal_cos(3u << 22), 0);
	cr_assert_leq(fabs(ws_normal_cos((1u << 22) + 1) / -(double)(turn * 0x1p-24L) - 1), 1e-12);
	cr_assert_leq(fabs(ws_normal_cos((3u << 22) + 1) / (double)(turn * 0x1p-24L) - 1), 1e-12);
	cr_assert_leq(fabs(ws_normal_cos(1u << 23) + 1), 1e-13);
}

/* --- their distribution --------------------------------------------------------------------- */

/* Probability that a normal number is beyond z, on either side. */
static double tail(double z)
{
	return erfc(z / sqrt(2));
}

/* Whether a count of independent events of probability p is within 5 standard deviations. */
static void expect_share(int64_t count, double p, const char *what)
{
	double deviation = sqrt(DRAWS * p * (1 - p));

	cr_assert_leq(fabs((double)count - DRAWS * p), 5 * deviation, "%s: %d, not %.0f ± %.0f",
	              what, (int)count, DRAWS * p, deviation);
}

/* limit: where the distribution is cut; variance and fourth moment: what they are then */
static void expect_moments(double limit, double variance, double fourth)
{
	struct ws_rng rng = ws_rng_stream(3, "moments");
	double sum = 0, sum2 = 0, sum3 = 0, sum4 = 0, cut = isinf(limit) ? 0 : tail(limit);
	int64_t beyond[5] = {0}, negative = 0;

	for (uint64_t n = 0; n < DRAWS; n++) {
		double z = ws_rng_normal(&rng, n, limit);

		cr_assert_leq(fabs(z), limit);
		sum += z;
		sum2 += z * z;
		sum3 += z * z * z;
		sum4 += z * z * z * z;
		negative += z < 0;
		for (int i = 1; i < 5; i++)
			beyond[i] += fabs(z) > i;
	}
	/* 5 standard deviations of each mean */
	cr_assert_leq(fabs(sum / DRAWS), 5 * sqrt(variance / DRAWS));
	cr_assert_leq(fabs(sum2 / DRAWS - variance), 5 * sqrt(fourth / DRAWS));
	cr_assert_leq(fabs(sum3 / DRAWS), 5 * sqrt(15.0 / DRAWS));
	cr_assert_leq(fabs(sum4 / DRAWS - fourth), 5 * sqrt(105.0 / DRAWS));
	expect_share(negative, 0.5, "below 0");
	for (int i = 1; i < 5; i++)
		expect_share(beyond[i], i < limit ? (tail(i) - cut) / (1 - cut) : 0, "a tail");
}

Test(first_values, normal_numbers_have_the_moments_and_tails_of_the_distribution)
{
	expect_moments(HUGE_VAL, 1, 3);
}

/*
 * Cut at L: with a = 2 L phi(L) / (1 - tail(L)), phi the density, the variance is 1 - a and the
 * fourth moment 3 - a (L^2 + 3).
 */
Test(first_values, cut_ones_are_drawn_again_and_not_clamped)
{
	double a = 2 * 3 * exp(-4.5) / sqrt(2 * 3.14159265358979323846) / (1 - tail(3));

	expect_moments(3, 1 - a, 3 - a * (9 + 3));
}

Test(first_values, numbers_do_not_follow_from_their_neighbours)
{
	struct ws_rng rng = ws_rng_stream(3, "moments");
	double product = 0, last = ws_rng_normal(&rng, 0, HUGE_VAL);

	for (uint64_t n = 1; n <= DRAWS; n++) {
		double z = ws_rng_normal(&rng, n, HUGE_VAL);

		product += z * last;
		last = z;
	}
	cr_assert_leq(fabs(product / DRAWS), 5 / sqrt(DRAWS));
}

/* --- tensors -----------------------------------------------------------------------------------
 */

static struct ws_tensor tensor(struct ws_shape shape, enum ws_init_kind kind, double value)
{
	struct ws_tensor t = {.name = "t", .shape = shape, .init = {kind, value}};

	cr_assert(ws_shape_measure(&t.shape, t.dtype, &t.count, &t.size_bytes));
	return t;
}

Test(first_values, each_rule_draws_from_the_stream_of_the_name)
{
	struct ws_tensor t = tensor(WS_SHAPE(5), WS_INIT_TRUNC_NORMAL, 0.5);
	struct ws_rng rng = ws_rng_stream(9, "t");
	struct ws_first_values values;

	ws_first_values(&t, 9, &values);
	cr_assert_eq(ws_first_value(&values, 4), 0.5 * ws_rng_normal(&rng, 4, 3));
	t.init.kind = WS_INIT_NORMAL;
	cr_assert_eq(ws_first_value(&values, 4), 0.5 * ws_rng_normal(&rng, 4, HUGE_VAL));
	t.init.kind = WS_INIT_UNIFORM;
	cr_assert_eq(ws_first_value(&values, 4), ws_rng_uniform(&rng, 4) - 0.5);
	t.init.kind = WS_INIT_FILL;
	cr_assert_eq(ws_first_value(&values, 4), 0.5);
}

/* Every processor and compiler must draw these: a product fused into a sum would change one. */
Test(first_values, bits_are_pinned)
{
	static const double want[] = {-0x1.cf58d6718ef8p+0,  0x1.b150a9bc3c3b5p-1,
	                              0x1.6ce9859616452p-2,  -0x1.e53d2ea975fb6p-3,
	                              0x1.0b73554549c28p-1,  -0x1.14da173025692p-2,
	                              -0x1.5cd5b15a9c43ap-2, 0x1.386e535e56919p+0};
	struct ws_tensor t = tensor(WS_SHAPE(8), WS_INIT_TRUNC_NORMAL, 1);
	struct ws_first_values values;

	t.name = "pinned";
	ws_first_values(&t, 0, &values);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(ws_first_value(&values, i), want[i], "number %d: %a", i,
		             ws_first_value(&values, i));
}

Test(first_values, parts_are_what_parameters_of_their_names_would_be)
{
	struct ws_tensor t = tensor(WS_SHAPE(4, 3), WS_INIT_NORMAL, 1);
	struct ws_tensor k = tensor(WS_SHAPE(2, 3), WS_INIT_NORMAL, 1);
	struct ws_first_values values, own;

	t.part[0] = "q";
	t.part[1] = k.name = "k";
	t.parts = 2;
	ws_first_values(&t, 1, &values);
	ws_first_values(&k, 1, &own);
	for (int i = 0; i < 6; i++)
		cr_assert_eq(ws_first_value(&values, 6 + i), ws_first_value(&own, i));
	cr_assert_neq(ws_first_value(&values, 0), ws_first_value(&own, 0));
}

Test(first_values, filters_are_the_same_in_either_layout)
{
	struct ws_tensor first = tensor(WS_SHAPE(2, 3, 2, 5), WS_INIT_NORMAL, 1); /* k, c, r, s */
	struct ws_tensor last = tensor(WS_SHAPE(2, 2, 5, 3), WS_INIT_NORMAL, 1);  /* k, r, s, c */
	struct ws_first_values a, b;

	last.channels_last = true;
	ws_first_values(&first, 1, &a);
	ws_first_values(&last, 1, &b);
	for (int k = 0; k < 2; k++)
		for (int c = 0; c < 3; c++)
			for (int rs = 0; rs < 10; rs++)
				cr_assert_eq(ws_first_value(&a, (k * 3 + c) * 10 + rs),
				             ws_first_value(&b, (k * 10 + rs) * 3 + c));
}

Test(first_values, the_rope_table_holds_cosines_and_then_sines)
{
	struct ws_tensor t = tensor(WS_SHAPE(2, 4, 2), WS_INIT_ROPE_TABLE, 10000);
	struct ws_first_values values;

	ws_first_values(&t, 1, &values);
	/* time 3: pair 0 turns by 3, pair 1 by 3 / sqrt(10000) */
	cr_assert_float_eq(ws_first_value(&values, 6), cos(3), 1e-15);
	cr_assert_float_eq(ws_first_value(&values, 7), cos(0.03), 1e-15);
	cr_assert_float_eq(ws_first_value(&values, 8 + 6), sin(3), 1e-15);
	cr_assert_float_eq(ws_first_value(&values, 8 + 7), sin(0.03), 1e-15);
}
