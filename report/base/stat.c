#include "report/base/stat.h"

#include <math.h>

#include "report/base/order.h"

static void swap(int64_t *a, int64_t *b)
{
	int64_t t = *a;

	*a = *b;
	*b = t;
}

/*
 * Quickselect with a three-way partition, so that many equal values cost one
 * pass. The pivot comes from a fixed generator: same input, same work, and no
 * ordinary order of the input is a bad case.
 */
int64_t ws_stat_select(int64_t *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n;
	uint64_t seed = 0x9e3779b97f4a7c15u;

	while (hi - lo > 1) {
		int64_t pivot;
		size_t lt = lo, i = lo, gt = hi;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		pivot = v[lo + seed % (hi - lo)];
		while (i < gt) {
			if (v[i] < pivot)
				swap(&v[lt++], &v[i++]);
			else if (v[i] > pivot)
				swap(&v[i], &v[--gt]);
			else
				i++;
		}
		if (k < lt)
			hi = lt;
		else if (k >= gt)
			lo = gt;
		else
			return pivot;
	}
	return v[lo];
}

/* Of an even number of values the mean of the two in the middle. */
static double median(int64_t *v, size_t n)
{
	const int64_t upper = ws_stat_select(v, n, n / 2);
	int64_t lower;

	if (n % 2)
		return (double)upper;
	/* the part below the middle holds the other middle value as its largest */
	lower = v[0];
	for (size_t i = 1; i < n / 2; i++)
		if (v[i] > lower)
			lower = v[i];
	return ((double)lower + (double)upper) / 2;
}

/*
 * Sum of the squared differences to the mean sum / n, the same for every
 * order of the values: the differences to the mean rounded down are whole
 * numbers, and what the rounding adds is (sum mod n)^2 / n.
 */
static int64_t floor_of_mean(const struct ws_stat *stat)
{
	int64_t n = (int64_t)stat->n;

	return stat->sum / n - (stat->sum % n < 0);
}

static double less_rest(unsigned __int128 squares, const struct ws_stat *stat)
{
	double rest = (double)(stat->sum - floor_of_mean(stat) * (int64_t)stat->n);

	return (double)squares - rest * rest / (double)stat->n;
}

static double squares_of(const int64_t *v, const struct ws_stat *stat)
{
	size_t n = stat->n;
	int64_t low = floor_of_mean(stat);
	unsigned __int128 squares = 0;
	size_t i = 0;

	/* differences below 2^24: the squares of 2^16 fit into 64 bits */
	if ((uint64_t)stat->max - (uint64_t)stat->min < 1u << 24) {
		while (i < n) {
			size_t end = n - i < 1u << 16 ? n : i + (1u << 16);
			uint64_t part = 0;

			for (; i < end; i++)
				part += (uint64_t)((v[i] - low) * (v[i] - low));
			squares += part;
		}
	}
	for (; i < n; i++) {
		__int128 d = (__int128)v[i] - low;

		squares += (unsigned __int128)(d * d);
	}
	return less_rest(squares, stat);
}

/* Differences up to this have squares of which any number fits into 128 bits. */
#define MAX_EXACT ((uint64_t)1 << 47)

static double deviation_of_squares(double squares, const struct ws_stat *stat)
{
	return sqrt(squares / (double)(stat->n - 1));
}

static double deviation(const int64_t *v, const struct ws_stat *stat)
{
	double squares = 0;

	if (stat->n < 2)
		return 0;
	if ((uint64_t)stat->max - (uint64_t)stat->min < MAX_EXACT) {
		squares = squares_of(v, stat);
	} else {
		/* two passes: the squares of differences to the mean do not cancel */
		for (size_t i = 0; i < stat->n; i++) {
			double d = (double)v[i] - stat->mean;

			squares += d * d;
		}
	}
	return deviation_of_squares(squares, stat);
}

void ws_stat_of(int64_t *v, size_t n, struct ws_stat *out)
{
	*out = (struct ws_stat){.n = n};
	if (!n)
		return;

	out->min = out->max = v[0];
	for (size_t i = 0; i < n; i++) {
		out->sum += v[i];
		out->min = v[i] < out->min ? v[i] : out->min;
		out->max = v[i] > out->max ? v[i] : out->max;
	}
	out->mean = (double)out->sum / (double)n;
	out->std = deviation(v, out);
	out->median = median(v, n);
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
