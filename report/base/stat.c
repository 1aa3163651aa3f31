#include "report/base/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline int64_t value_at(const struct ws_stat_part *p, size_t i)
{
	switch (p->form) {
	case WS_STAT_U32:
		return ((const uint32_t *)p->v)[i];
	case WS_STAT_COUNTED:
		return ((const struct ws_counted_value *)p->v)[i].value;
	default:
		return ((const int64_t *)p->v)[i];
	}
}

static inline uint64_t times_at(const struct ws_stat_part *p, size_t i)
{
	return p->form == WS_STAT_COUNTED ? ((const struct ws_counted_value *)p->v)[i].times : 1;
}

/* Values of a statistic: all of them, in any order. */
struct samples {
	const struct ws_stat_part *part;
	size_t nparts;
};
#define FOR_EACH_PART(p, of) \
	for (const struct ws_stat_part *p = (of)->part, *end_ = p + (of)->nparts; p < end_; p++)

/* Bits that x has. */
static unsigned bits_of(uint64_t x)
{
	return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

/* --- selection ---------------------------------------------------------------------------- */

#define MOST_DIGIT_BITS 12
#define FEW_DIGIT_BITS  6 /* few values take less time than many counters that are cleared */
#define FEW_VALUES      2048

/*
 * The k-th smallest (k from 0) of values from min to max; *same: how many values equal it and *k
 * which of those it is. Values are counted by their highest digit; those of the digit that holds
 * the k-th are counted by the next.
 */
static int64_t select_value(const struct samples *of, const struct ws_stat *stat, uint64_t *k,
                            uint64_t *same)
{
	const unsigned most = stat->n < FEW_VALUES ? FEW_DIGIT_BITS : MOST_DIGIT_BITS;
	uint64_t count[1 << MOST_DIGIT_BITS], low = (uint64_t)stat->min;
	unsigned left = bits_of((uint64_t)stat->max - (uint64_t)stat->min);

	*same = stat->n;
	while (left) {
		const unsigned digit_bits = left < most ? left : most, below = left - digit_bits;
		const uint64_t span = UINT64_MAX >> (64 - left);
		size_t digit = 0;

		memset(count, 0, sizeof(*count) << digit_bits);
		FOR_EACH_PART(p, of)
		for (size_t i = 0; i < p->n; i++) {
			const uint64_t above = (uint64_t)value_at(p, i) - low;

			if (above <= span)
				count[above >> below] += times_at(p, i);
		}
		for (; *k >= count[digit]; digit++)
			*k -= count[digit];
		*same = count[digit];
		low += (uint64_t)digit << below;
		left = below;
	}
	return (int64_t)low;
}

/* Of an even number of values the mean of the two in the middle. */
static double median(const struct samples *of, const struct ws_stat *stat)
{
	uint64_t k = (stat->n - 1) / 2, same;
	const int64_t lower = select_value(of, stat, &k, &same);
	int64_t upper = stat->max;

	if (stat->n % 2 || k + 1 < same)
		return (double)lower;
	FOR_EACH_PART(p, of)
	for (size_t i = 0; i < p->n; i++) {
		const int64_t v = value_at(p, i);

		if (v > lower && v < upper)
			upper = v;
	}
	return ((double)lower + (double)upper) / 2;
}

/* --- deviation ---------------------------------------------------------------------------- */

/* Differences up to this have squares of which any number fits into 128 bits. */
#define EXACT_BITS 47

/*
 * From the sum of the squared differences to the mean, in whole numbers, so that the order of the
 * values does not matter. Differences to the mean rounded down are whole; what the rounding adds
 * is (sum mod n)^2 / n. Values that are further apart than EXACT_BITS lose their lowest bits.
 */
static double deviation(const struct samples *of, const struct ws_stat *stat)
{
	const unsigned bits = bits_of((uint64_t)stat->max - (uint64_t)stat->min);
	const unsigned cut = bits > EXACT_BITS ? bits - EXACT_BITS : 0;
	const uint64_t min = (uint64_t)stat->min;
	unsigned __int128 sum = 0, squares = 0;
	int64_t mean;
	double rest;

	if (stat->n < 2)
		return 0;
	FOR_EACH_PART(p, of)
	for (size_t i = 0; i < p->n; i++)
		sum += (unsigned __int128)(((uint64_t)value_at(p, i) - min) >> cut) *
		       times_at(p, i);
	mean = (int64_t)(sum / stat->n);
	rest = (double)(uint64_t)(sum % stat->n);
	FOR_EACH_PART(p, of)
	for (size_t i = 0; i < p->n; i++) {
		const int64_t d = (int64_t)(((uint64_t)value_at(p, i) - min) >> cut) - mean;

		squares += (unsigned __int128)((__int128)d * d) * times_at(p, i);
	}
	return ldexp(sqrt(((double)squares - rest * rest / (double)stat->n) /
	                  (double)(stat->n - 1)),
	             (int)cut);
}

void ws_stat_of_parts(const struct ws_stat_part *part, size_t nparts, struct ws_stat *out)
{
	const struct samples of = {part, nparts};

	*out = (struct ws_stat){.min = INT64_MAX, .max = INT64_MIN};
	FOR_EACH_PART(p, &of)
	for (size_t i = 0; i < p->n; i++) {
		const int64_t v = value_at(p, i);
		const uint64_t times = times_at(p, i);

		out->n += times;
		out->sum += v * (int64_t)times;
		out->min = v < out->min ? v : out->min;
		out->max = v > out->max ? v : out->max;
	}
	if (!out->n) {
		*out = (struct ws_stat){0};
		return;
	}
	out->mean = (double)out->sum / (double)out->n;
	out->std = deviation(&of, out);
	out->median = median(&of, out);
}

void ws_stat_of(const int64_t *v, size_t n, struct ws_stat *out)
{
	ws_stat_of_parts(&(struct ws_stat_part){WS_STAT_I64, v, n}, 1, out);
}

int64_t ws_stat_select(const int64_t *v, size_t n, size_t k)
{
	const struct ws_stat_part part = {WS_STAT_I64, v, n};
	struct ws_stat stat = {.n = n, .min = INT64_MAX, .max = INT64_MIN};
	uint64_t which = k, same;

	for (size_t i = 0; i < n; i++) {
		stat.min = v[i] < stat.min ? v[i] : stat.min;
		stat.max = v[i] > stat.max ? v[i] : stat.max;
	}
	return select_value(&(struct samples){&part, 1}, &stat, &which, &same);
}

/*
 * Continued fraction of the regularised incomplete beta function, evaluated
 * by Lentz's method. Source: DLMF 8.17.22.
 */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	double f;

	if (fabs(d) < tiny)
		d = tiny;
	d = 1 / d;
	f = d;
	for (int m = 1; m < 1000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step = 1;

		for (int half = 0; half < 2; half++) {
			double coefficient = half ? odd : even;

			d = 1 + coefficient * d;
			c = 1 + coefficient / c;
			if (fabs(d) < tiny)
				d = tiny;
			if (fabs(c) < tiny)
				c = tiny;
			d = 1 / d;
			step = d * c;
			f *= step;
		}
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return f;
}

/* I_x(a, b), 0 <= x <= 1. Source: DLMF 8.17.4 and 8.17.22. */
static double beta_regularised(double x, double a, double b)
{
	double front;
	int sign;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
	            b * log1p(-x));
	/* the fraction converges fast on this side only */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

/* Source: Abramowitz and Stegun 26.7.1 with 26.5.2. */
double ws_stat_t_cdf(double t, double df)
{
	double tail = beta_regularised(df / (df + t * t), df / 2, 0.5) / 2;

	return t > 0 ? 1 - tail : tail;
}

double ws_stat_t_quantile(double p, double df)
{
	double lo = -1, hi = 1;

	while (ws_stat_t_cdf(lo, df) > p)
		lo *= 2;
	while (ws_stat_t_cdf(hi, df) < p)
		hi *= 2;
	/* halving 200 times meets neighbouring doubles whatever the start */
	for (int i = 0; i < 200; i++) {
		double mid = lo + (hi - lo) / 2;

		if (mid <= lo || mid >= hi)
			break;
		if (ws_stat_t_cdf(mid, df) < p)
			lo = mid;
		else
			hi = mid;
	}
	return lo + (hi - lo) / 2;
}

bool ws_stat_is_outlier(const struct ws_stat *s, int64_t value)
{
	double below = s->median - (double)s->min;
	double above = (double)s->max - s->median;
	double farthest = below > above ? below : above;

	if (s->n < 2)
		return false;
	if ((double)value > WS_STAT_OUTLIER_TIMES * s->median)
		return true;
	return s->std > WS_STAT_CV_LIMIT * s->mean && fabs((double)value - s->median) >= farthest;
}

double ws_stat_percent(double part, double whole)
{
	return whole != 0 ? 100 * part / whole : NAN;
}

double ws_stat_ratio(double a, double b)
{
	return b != 0 ? a / b : NAN;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double ws_stat_median(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
