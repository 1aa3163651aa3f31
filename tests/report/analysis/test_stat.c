#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "report/base/order.h"
#include "report/base/stat.h"

#define NEAR(actual, expected, tolerance)                                                     \
	cr_expect(fabs((actual) - (expected)) <= (tolerance), "%.17g is not %.17g", (actual), \
	          (double)(expected))

static struct ws_stat stat_of(const int64_t *values, size_t n)
{
	int64_t copy[32];
	struct ws_stat s;

	memcpy(copy, values, n * sizeof(*values));
	ws_stat_of(copy, n, &s);
	return s;
}

static int by_value(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return a < b ? -1 : a > b;
}

Test(stat, eight_values_by_hand)
{
	/* sum 40, mean 5, squares of differences 9+1+1+1+0+0+4+16 = 32, over 7 */
	struct ws_stat s = stat_of((int64_t[]){2, 4, 4, 4, 5, 5, 7, 9}, 8);

	cr_expect(eq(u64, s.n, 8));
	cr_expect(eq(i64, s.sum, 40));
	cr_expect(eq(i64, s.min, 2));
	cr_expect(eq(i64, s.max, 9));
	cr_expect(eq(dbl, s.mean, 5));
	cr_expect(eq(dbl, s.median, 4.5));
	NEAR(s.std, sqrt(32.0 / 7), 1e-15);
}

Test(stat, one_sample_has_no_deviation)
{
	struct ws_stat s = stat_of((int64_t[]){1234567}, 1);

	cr_expect(eq(dbl, s.std, 0));
	cr_expect(eq(dbl, s.median, 1234567));
	cr_expect(eq(i64, s.min, 1234567));
}

Test(stat, no_sample_is_all_zero)
{
	struct ws_stat s = stat_of((int64_t[]){7}, 0);

	cr_expect(eq(u64, s.n, 0));
	cr_expect(eq(i64, s.sum, 0));
	cr_expect(eq(dbl, s.mean, 0));
}

Test(stat, the_order_of_the_samples_does_not_matter)
{
	/* in doubles, sums of these squares differ by the order */
	int64_t values[] = {1, 1000000007, 3, 999999937, 123456789, 5, 987654321, 31, 7, 2};
	const size_t n = sizeof(values) / sizeof(*values);
	struct ws_stat first = stat_of(values, n);

	for (size_t turn = 0; turn < n; turn++) {
		int64_t head = values[0];

		memmove(values, values + 1, (n - 1) * sizeof(*values));
		values[n - 1] = head;
		cr_expect(eq(dbl, stat_of(values, n).std, first.std));
	}
	/* below 0, and so far apart that their squares do not fit into whole numbers */
	NEAR(stat_of((int64_t[]){-3, -1}, 2).std, sqrt(2), 1e-15);
	NEAR(stat_of((int64_t[]){0, (int64_t)1 << 60}, 2).std, ldexp(1, 60) / sqrt(2), 1e3);
	NEAR(stat_of((int64_t[]){INT64_MIN, INT64_MAX}, 2).std, ldexp(1, 64) / sqrt(2), 1e6);
	for (size_t i = 0; i < n; i++)
		values[i] = (values[i] << 31) + values[i];
	first = stat_of(values, n);
	qsort(values, n, sizeof(*values), by_value);
	cr_expect(eq(dbl, stat_of(values, n).std, first.std));
}

/* Many values are counted into buckets first. */
Test(stat, many_values_have_the_median_of_the_sorted_ones)
{
	const uint64_t ranges[] = {1, 2, 3000, 70000, (uint64_t)1 << 40, (uint64_t)1 << 50};
	static int64_t values[6001], sorted[6001];
	uint64_t random = 88172645463325252u;

	for (size_t r = 0; r < sizeof(ranges) / sizeof(*ranges); r++) {
		for (size_t n = 2047; n <= 6001; n += 659) {
			struct ws_stat s;
			double expected;

			for (size_t i = 0; i < n; i++) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				/* half of them negative, and one far away */
				values[i] = sorted[i] =
				        i ? (int64_t)(random % ranges[r]) - (int64_t)(ranges[r] / 2)
				          : (int64_t)(ranges[r] / 2);
			}
			qsort(sorted, n, sizeof(*sorted), by_value);
			expected = n % 2 ? (double)sorted[n / 2]
			                 : ((double)sorted[n / 2 - 1] + (double)sorted[n / 2]) / 2;
			ws_stat_of(values, n, &s);
			cr_expect(eq(dbl, s.median, expected));
			cr_expect(eq(i64, s.min, sorted[0]));
			cr_expect(eq(i64, s.max, sorted[n - 1]));
		}
	}
}

Test(stat, median_of_an_odd_number_is_the_middle_value)
{
	cr_expect(eq(dbl, stat_of((int64_t[]){9, 1, 5}, 3).median, 5));
	cr_expect(eq(dbl, stat_of((int64_t[]){3, 3, 3, 1, 9}, 5).median, 3));
}

Test(stat, median_of_an_even_number_is_the_mean_of_the_two_middle_values)
{
	cr_expect(eq(dbl, stat_of((int64_t[]){10, 1}, 2).median, 5.5));
	cr_expect(eq(dbl, stat_of((int64_t[]){4, 4, 4, 4}, 4).median, 4));
	cr_expect(eq(dbl, stat_of((int64_t[]){-5, -2, 0, 100}, 4).median, -1));
}

Test(stat, deviation_does_not_cancel_at_large_values)
{
	int64_t big = (int64_t)1 << 52;

	NEAR(stat_of((int64_t[]){big, big + 1, big + 2}, 3).std, 1, 1e-12);
}

Test(stat, select_agrees_with_sorting_on_many_inputs)
{
	uint64_t seed = 42;

	for (int round = 0; round < 500; round++) {
		int64_t v[64], sorted[64];
		size_t n = 1 + (size_t)round % 64;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			sorted[i] = v[i] = (int64_t)(seed >> 60) - 8; /* many equal ones */
		}
		for (size_t i = 1; i < n; i++)
			for (size_t j = i; j && sorted[j - 1] > sorted[j]; j--) {
				int64_t t = sorted[j];

				sorted[j] = sorted[j - 1];
				sorted[j - 1] = t;
			}
		for (size_t k = 0; k < n; k++)
			cr_assert(eq(i64, ws_stat_select(v, n, k), sorted[k]));
	}
}

/* Abramowitz and Stegun, table 26.10: t for two-sided 95 %. */
Test(stat, t_quantiles_are_those_of_the_printed_table)
{
	NEAR(ws_stat_t_quantile(0.975, 1), 12.706, 0.0005);
	NEAR(ws_stat_t_quantile(0.975, 2), 4.303, 0.0005);
	NEAR(ws_stat_t_quantile(0.975, 4), 2.776, 0.0005);
	NEAR(ws_stat_t_quantile(0.975, 10), 2.228, 0.0005);
	NEAR(ws_stat_t_quantile(0.975, 30), 2.042, 0.0005);
	NEAR(ws_stat_t_quantile(0.975, 120), 1.980, 0.0005);
	NEAR(ws_stat_t_quantile(0.975, 1e7), 1.959964, 1e-5);
	NEAR(ws_stat_t_quantile(0.025, 10), -2.228, 0.0005);
}

Test(stat, t_cdf_has_closed_forms_for_one_and_two_degrees_of_freedom)
{
	for (int half = -10; half <= 10; half++) {
		double t = 0.5 * half;

		NEAR(ws_stat_t_cdf(t, 1), 0.5 + atan(t) / M_PI, 1e-13);
		NEAR(ws_stat_t_cdf(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-13);
	}
}

Test(stat, a_cold_step_is_an_outlier)
{
	/* seed 002: nine backward passes of about 23 ms and one of 132 */
	int64_t steps[] = {132, 23, 23, 22, 23, 24, 23, 23, 22, 23};
	struct ws_stat s = stat_of(steps, 10);

	cr_expect(ws_stat_is_outlier(&s, 132));
	cr_expect(not(ws_stat_is_outlier(&s, 24)));
}

Test(stat, strong_variation_names_the_farthest_sample_even_below_three_medians)
{
	struct ws_stat s = stat_of((int64_t[]){10, 10, 10, 10, 28}, 5);

	/* mean 13.6, deviation 8.05: over 0.3 of the mean; 28 < 3 * 10 */
	cr_expect(ws_stat_is_outlier(&s, 28));
	cr_expect(not(ws_stat_is_outlier(&s, 10)));
}

Test(stat, calm_steps_have_no_outlier)
{
	struct ws_stat s = stat_of((int64_t[]){100, 101, 99, 102}, 4);
	struct ws_stat one = stat_of((int64_t[]){100}, 1);

	cr_expect(not(ws_stat_is_outlier(&s, 102)));
	cr_expect(not(ws_stat_is_outlier(&one, 100)));
}

Test(stat, shares_of_nothing_are_unknown)
{
	cr_expect(isnan(ws_stat_percent(0, 0)));
	cr_expect(isnan(ws_stat_ratio(1, 0)));
	cr_expect(eq(dbl, ws_stat_percent(1, 8), 12.5));
}

Test(stat, order_sorts_signed_keys_and_keeps_equal_ones_in_place)
{
	int64_t minor[] = {3, -1, INT64_MIN, 3, INT64_MAX, -1};
	int64_t major[] = {1, 1, 2, 1, 1, 2};
	uint32_t order[6];
	uint32_t expected[] = {1, 0, 3, 4, 2, 5};

	ws_order_identity(order, 6);
	ws_order_by(order, minor, 6);
	ws_order_by(order, major, 6);
	cr_expect(eq(u32[6], order, expected));
	ws_order_by(order, minor, 0);
}

Test(stat, order_map_finds_any_id_and_no_other)
{
	struct ws_idmap m = {0};

	cr_expect(eq(u32, ws_idmap_get(&m, 0), WS_NONE));
	for (uint32_t i = 0; i < 5000; i++)
		ws_idmap_put(&m, (uint64_t)i << 40, i);
	ws_idmap_put(&m, UINT64_MAX, 77);
	ws_idmap_put(&m, 0, 78);
	for (uint32_t i = 1; i < 5000; i++)
		cr_assert(eq(u32, ws_idmap_get(&m, (uint64_t)i << 40), i));
	cr_expect(eq(u32, ws_idmap_get(&m, UINT64_MAX), 77));
	cr_expect(eq(u32, ws_idmap_get(&m, 0), 78));
	cr_expect(eq(u32, ws_idmap_get(&m, 12345), WS_NONE));
	ws_idmap_free(&m);
}
