#include "report/base/elementary.h"
#include "report/base/grade.h"
#include "report/base/names.h"
#include "report/base/stat.h"

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

/* Number of significant bits of x. */
static unsigned bits_of(uint64_t x)
{
	return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

/* --- selection ---------------------------------------------------------------------------- */

#define MOST_DIGIT_BITS 12
#define FEW_DIGIT_BITS  6 /* for few values, clearing many counters would take longer */
#define FEW_VALUES      2048

/*
 * The k-th smallest (k from 0) of values from min to max; *same: number of equal values; *k: its
 * index among these. Counts values by their highest digit, then those in the bin of the k-th value
 * by the next digit.
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

/* The median; for an even number of values the mean of the two in the middle. */
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

/* Sums of squares of differences with up to this number of bits fit into 128 bits. */
#define EXACT_BITS 47

/*
 * Uses the sum of the squared differences to the mean in integers, so that the order of the values
 * does not matter. Differences to the rounded-down mean are integers; the error of rounding, (sum
 * mod n)^2 / n, is subtracted. Values further apart than EXACT_BITS lose their lowest bits.
 */
static double deviation(const struct samples *of, const struct ws_stat *stat)
{
	const unsigned bits = bits_of((uint64_t)stat->max - (uint64_t)stat->min);
	const unsigned cut = bits > EXACT_BITS ? bits - EXACT_BITS : 0;
	const uint64_t min = (uint64_t)stat->min;
	unsigned __int128 sum = 0, squares = 0;

	if (stat->n < 2)
		return 0;
	FOR_EACH_PART(p, of)
	for (size_t i = 0; i < p->n; i++)
		sum += (unsigned __int128)(((uint64_t)value_at(p, i) - min) >> cut) *
		       times_at(p, i);
	int64_t mean = (int64_t)(sum / stat->n);
	double rest = (double)(uint64_t)(sum % stat->n);
	FOR_EACH_PART(p, of)
	for (size_t i = 0; i < p->n; i++) {
		const int64_t d = (int64_t)(((uint64_t)value_at(p, i) - min) >> cut) - mean;

		squares += (unsigned __int128)((__int128)d * d) * times_at(p, i);
	}
	return ldexp(sqrt(((double)squares - rest * rest / (double)stat->n) /
	                  (double)(stat->n - 1)),
	             (int)cut);
}

/*
 * Statistics of values, without allocating memory. The caller guarantees that their sum fits into
 * an int64_t (a pass refuses other traces).
 */
static void stat_of_parts(const struct ws_stat_part *part, size_t nparts, struct ws_stat *out)
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
	stat_of_parts(&(struct ws_stat_part){WS_STAT_I64, v, n}, 1, out);
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

	if (fabs(d) < tiny)
		d = tiny;
	d = 1 / d;
	double f = d;
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
	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	double front = ws_exp(ws_log_gamma(a + b) - ws_log_gamma(a) - ws_log_gamma(b) +
	                      a * ws_log(x) + b * ws_log1p(-x));
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
	/* 200 bisections reach neighbouring doubles from any start */
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
	ws_sort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* --- values --- */

/* Grows by half, not by a factor of two: with many small groups, unused capacity matters. */
static size_t grown_capacity(size_t capacity)
{
	return capacity < 8 ? 8 : capacity + capacity / 2;
}

/* --- pairs -------------------------------------------------------------------------------- */

/* Minimum number of words for merging equal values. */
#define WORTH_COUNTING 4096

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

/* Radix sort from the lowest digit. other: a second buffer for n. Returns the buffer with the
 * sorted values. */
static uint32_t *sort_words(uint32_t *v, uint32_t *other, size_t n)
{
	uint32_t differ = 0; /* bits in which values differ */

	for (size_t i = 1; i < n; i++)
		differ |= v[i] ^ v[0];
	for (unsigned shift = 0; shift < 32 && differ >> shift; shift += DIGIT_BITS) {
		uint32_t begin[DIGITS] = {0}, at = 0;
		uint32_t *sorted = other;

		for (size_t i = 0; i < n; i++)
			begin[v[i] >> shift & (DIGITS - 1)]++;
		for (unsigned digit = 0; digit < DIGITS; digit++) {
			const uint32_t values = begin[digit];

			begin[digit] = at;
			at += values;
		}
		for (size_t i = 0; i < n; i++)
			sorted[begin[v[i] >> shift & (DIGITS - 1)]++] = v[i];
		other = v;
		v = sorted;
	}
	return v;
}

/* Adds a value not less than that of the last pair. */
static void put_pair(struct ws_counted_value *out, size_t *n, struct ws_counted_value pair)
{
	/* a pair whose count is at its maximum is followed by another of the same value */
	if (*n && out[*n - 1].value == pair.value && out[*n - 1].times <= UINT32_MAX - pair.times)
		out[*n - 1].times += pair.times;
	else
		out[(*n)++] = pair;
}

static const struct ws_counted_value *pairs_of(const struct ws_values *v)
{
	return (const struct ws_counted_value *)v->word;
}

/* Merges equal values into pairs if that saves room; false: it does not. */
static bool count_equal(struct ws_values *v)
{
	const size_t singles = v->n - 2 * (size_t)v->npairs;
	uint32_t *other = ws_xmalloc(singles * sizeof(*other));
	const uint32_t *sorted = sort_words(v->word + 2 * (size_t)v->npairs, other, singles);
	struct ws_counted_value *pair = ws_xmalloc((v->npairs + singles) * sizeof(*pair));
	const struct ws_counted_value *before = pairs_of(v);
	size_t npairs = 0, at = 0;

	for (size_t i = 0; i < singles; i++) {
		for (; at < v->npairs && before[at].value <= sorted[i]; at++)
			put_pair(pair, &npairs, before[at]);
		put_pair(pair, &npairs, (struct ws_counted_value){sorted[i], 1});
	}
	for (; at < v->npairs; at++)
		put_pair(pair, &npairs, before[at]);

	const bool fewer = 2 * npairs <= v->n - v->n / 4;

	if (fewer) {
		memcpy(v->word, pair, npairs * sizeof(*pair));
		v->npairs = (uint32_t)npairs;
		v->n = 2 * v->npairs;
	}
	free(pair);
	free(other);
	return fewer;
}

void ws_values_make_room(struct ws_values *v)
{
	const size_t want = grown_capacity(v->capacity);

	if (v->n >= WORTH_COUNTING && count_equal(v))
		return;
	if (want > UINT32_MAX)
		ws_out_of_memory(want * sizeof(*v->word));
	v->word = ws_xreallocarray(v->word, want, sizeof(*v->word));
	v->capacity = (uint32_t)want;
}

void ws_values_add_wide(struct ws_values *v, int64_t value)
{
	struct ws_wide_values *wide = v->wide;

	if (!wide || wide->n == wide->capacity) {
		const size_t n = wide ? wide->n : 0, want = grown_capacity(n);

		wide = ws_xreallocarray(wide, 1, sizeof(*wide) + want * sizeof(*wide->v));
		wide->n = n;
		wide->capacity = want;
		v->wide = wide;
	}
	wide->v[wide->n++] = value;
}

void ws_values_free(struct ws_values *v)
{
	free(v->word);
	free(v->wide);
	*v = (struct ws_values){0};
}

/* --- statistics -------------------------------------------------------------------------- */

uint64_t ws_values_count(const struct ws_values *v)
{
	uint64_t n = v->n - 2 * (size_t)v->npairs + (v->wide ? v->wide->n : 0);

	for (size_t i = 0; i < v->npairs; i++)
		n += pairs_of(v)[i].times;
	return n;
}

void ws_values_stat(const struct ws_values *const *values, size_t n, struct ws_stat *out)
{
	struct ws_stat_part *part = ws_xmalloc(3 * n * sizeof(*part));
	size_t nparts = 0;

	for (size_t i = 0; i < n; i++) {
		const struct ws_values *v = values[i];
		const size_t of_pairs = 2 * (size_t)v->npairs;

		if (v->npairs)
			part[nparts++] = (struct ws_stat_part){WS_STAT_COUNTED, v->word, v->npairs};
		if (v->n > of_pairs)
			part[nparts++] = (struct ws_stat_part){WS_STAT_U32, v->word + of_pairs,
			                                       v->n - of_pairs};
		if (v->wide)
			part[nparts++] = (struct ws_stat_part){WS_STAT_I64, v->wide->v, v->wide->n};
	}
	stat_of_parts(part, nparts, out);
	free(part);
}

/* --- grade --- */

const char *ws_grade_name(enum ws_grade grade)
{
	static const char *const names[] = {WS_GRADE_LIST(WS_LIST_SECOND)};

	return names[grade];
}

const char *ws_grade_count_name(enum ws_grade grade)
{
	static const char *const names[] = {
#define X(NAME, time, count) count,
	        WS_GRADE_LIST(X)
#undef X
	};

	return names[grade];
}

/* A value and its number of consecutive steps. */
struct sample {
	double value, times;
};

static double times_of(const struct ws_samples *s, size_t i)
{
	return s->times ? (double)s->times[i] : 1;
}

/* The middle value, or the mean of the middle two. Sorts the values. */
static double median_of(struct sample *v, size_t n)
{
	double all = 0, below = 0;
	size_t i = 0;

	ws_sort(v, n, sizeof(*v), by_value); /* begins with its value */
	for (size_t k = 0; k < n; k++)
		all += v[k].times;
	for (; below + v[i].times < all / 2; i++)
		below += v[i].times;
	return below + v[i].times > all / 2 ? v[i].value : (v[i].value + v[i + 1].value) / 2;
}

/* Mean and variance of values. */
struct moments {
	size_t n;              /* steps */
	double mean, variance; /* divisor n - 1; 0 for one value */
};

static struct moments moments_of(const struct sample *v, size_t n)
{
	struct moments m = {0};

	for (size_t i = 0; i < n; i++) {
		m.n += (size_t)v[i].times;
		m.mean += v[i].value * v[i].times;
	}
	m.mean /= (double)m.n;
	for (size_t i = 0; i < n; i++)
		m.variance += (v[i].value - m.mean) * (v[i].value - m.mean) * v[i].times;
	m.variance = m.n > 1 ? m.variance / (double)(m.n - 1) : 0;
	return m;
}

/*
 * The effective number of independent values of m->n values, from the correlation of neighbours: n
 * (1 - r) / (1 + r), as for an autoregressive series of first order. Drift (clocks, heat)
 * correlates neighbours; with negative correlation the result is limited to n.
 */
static double independent_values(const struct sample *v, size_t n, const struct moments *m)
{
	double r = 0;

	if (m->n < 4 || m->variance <= 0)
		return (double)m->n;
	for (size_t i = 0; i < n; i++) {
		const double d = v[i].value - m->mean;

		if (i)
			r += d * (v[i - 1].value - m->mean);
		if (v[i].times > 1)
			r += d * d * (v[i].times - 1);
	}
	r /= m->variance * (double)(m->n - 1);
	/* the estimate is too low by about (1 + 3 r) / n: Kendall, Biometrika 41 (1954) 403 */
	r += (1 + 3 * r) / (double)m->n;
	r = r < 0 ? 0 : r > 0.95 ? 0.95 : r;
	return fmax(1, (double)m->n * (1 - r) / (1 + r));
}

/* Degrees of freedom for a known error: the maximum for which the quantile of Student's t is
 * computed. */
#define MANY_FREEDOMS 1e6

/* The centre of one side and its error. */
struct centre {
	double value; /* log of the typical step */
	double typical;
	double error2, df;
	double spread2; /* variance between recordings */
};

/*
 * Robust variance around the median, insensitive to late steps: 1.4826 times the median deviation
 * is the standard deviation of normal values. With few values, or if most are equal, the plain
 * variance. Sorts scratch.
 */
static double scatter(const struct moments *m, struct sample *scratch, size_t n)
{
	double middle = median_of(scratch, n), deviation;

	if (m->n < 5)
		return m->variance;
	for (size_t i = 0; i < n; i++)
		scratch[i].value = fabs(scratch[i].value - middle);
	deviation = 1.4826 * median_of(scratch, n);
	return deviation > 0 ? fmin(deviation * deviation, m->variance) : m->variance;
}

/*
 * Centre from few recordings: its error comes from the noise of steps and from the noise between
 * runs, which steps of one run cannot show. The median of n normal values has pi / 2 times the
 * variance of their mean.
 */
static struct centre centre_by_steps(const struct ws_samples *s, const double *medians,
                                     struct sample *scratch, double run_noise)
{
	struct centre c = {.spread2 = run_noise * run_noise};
	double within = 0, freedom = 0;
	size_t at = 0;

	for (size_t r = 0; r < s->recordings; r++) {
		const size_t n = s->steps[r];

		for (size_t i = 0; i < n; i++, at++)
			scratch[i] = (struct sample){ws_log(s->values[at]), times_of(s, at)};
		struct moments m = moments_of(scratch, n);
		c.value += medians[r] / (double)s->recordings;
		if (m.n > 1) {
			double worth = independent_values(scratch, n, &m);

			within += (m.n > 2 ? M_PI_2 : 1) * scatter(&m, scratch, n) / worth;
			freedom += fmax(1, worth - 1);
		}
	}
	within /= (double)(s->recordings * s->recordings);
	c.error2 = within + c.spread2 / (double)s->recordings;
	/* variance of one recording with this number of steps */
	c.spread2 = c.error2 * (double)s->recordings;
	/* the noise between runs is assumed, not estimated, so it does not reduce the degrees of
	 * freedom */
	c.df = within > 0 ? fmin(freedom * c.error2 * c.error2 / (within * within), MANY_FREEDOMS)
	                  : MANY_FREEDOMS;
	return c;
}

static struct centre centre_by_recordings(const double *medians, size_t n)
{
	struct sample *v = ws_xarray(n, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = (struct sample){medians[i], 1};
	struct moments m = moments_of(v, n);
	free(v);
	return (struct centre){.value = m.mean,
	                       .error2 = m.variance / (double)n,
	                       .df = (double)(n - 1),
	                       .spread2 = m.variance};
}

static size_t count_values(const struct ws_samples *s)
{
	size_t n = 0;

	for (size_t r = 0; r < s->recordings; r++)
		n += s->steps[r];
	return n;
}

void ws_compare(const struct ws_samples *a, const struct ws_samples *b,
                const struct ws_grade_opts *opts, struct ws_comparison *out)
{
	const struct ws_samples *side[2] = {a, b};
	double *medians[2], median = NAN, noise;
	size_t most = 0;
	struct centre centre[2];
	bool by_recordings =
	        a->recordings >= WS_GRADE_RECORDINGS && b->recordings >= WS_GRADE_RECORDINGS;

	*out = (struct ws_comparison){.typical = {NAN, NAN},
	                              .ratio = NAN,
	                              .low = NAN,
	                              .high = NAN,
	                              .p = NAN,
	                              .error = NAN,
	                              .run_noise = opts->run_noise,
	                              .less_work = 1,
	                              .more_work = 1,
	                              .grade = WS_GRADE_AMBIGUOUS};
	for (int i = 0; i < 2; i++) {
		const struct ws_samples *s = side[i];
		size_t values = count_values(s), nsteps = s->times ? 0 : values;

		for (size_t k = 0; k < values && s->times; k++)
			nsteps += s->times[k];
		out->recordings[i] = s->recordings;
		out->steps[i] = nsteps;
	}
	if (!out->steps[0] || !out->steps[1])
		return;
	for (int i = 0; i < 2; i++)
		for (size_t r = 0; r < side[i]->recordings; r++)
			most = side[i]->steps[r] > most ? side[i]->steps[r] : most;
	struct sample *scratch = ws_xarray(most, sizeof(*scratch));
	for (int i = 0; i < 2; i++) {
		const struct ws_samples *s = side[i];
		size_t at = 0;

		medians[i] = ws_xarray(s->recordings, sizeof(*medians[i]));

		/* logarithms of the medians of the recordings */
		for (size_t r = 0; r < s->recordings; r++) {
			for (size_t k = 0; k < s->steps[r]; k++, at++)
				scratch[k] = (struct sample){s->values[at], times_of(s, at)};
			median = median_of(scratch, s->steps[r]);
			medians[i][r] = ws_log(median);
		}
		noise = sqrt(opts->run_noise * opts->run_noise +
		             opts->run_ns / median * (opts->run_ns / median));
		centre[i] = by_recordings ? centre_by_recordings(medians[i], side[i]->recordings)
		                          : centre_by_steps(side[i], medians[i], scratch, noise);
		out->run_noise = fmax(out->run_noise, noise);
		/* exact for one recording: avoids the logarithm */
		centre[i].typical = side[i]->recordings == 1 ? median : ws_exp(centre[i].value);
	}

	/* the same recordings: no difference is by chance */
	const size_t nvalues = count_values(a);
	bool same = a->recordings == b->recordings &&
	            !memcmp(a->steps, b->steps, a->recordings * sizeof(*a->steps)) &&
	            !memcmp(a->values, b->values, nvalues * sizeof(*a->values));

	for (size_t i = 0; i < nvalues && same; i++)
		same = times_of(a, i) == times_of(b, i);
	out->identical = same;
	if (out->identical)
		centre[0].error2 = centre[1].error2 = 0;
	out->basis = by_recordings ? WS_BASIS_RECORDINGS : WS_BASIS_STEPS;

	const struct centre *ca = &centre[0], *cb = &centre[1];
	double change = cb->value - ca->value, half = 0, e2 = ca->error2 + cb->error2;

	out->typical[0] = ca->typical;
	out->typical[1] = cb->typical;
	out->ratio = cb->typical / ca->typical;
	out->error = sqrt(e2);
	out->spread = sqrt((ca->spread2 + cb->spread2) / 2);
	if (isnan(e2)) {
		out->p = NAN;
	} else if (e2 > 0) {
		/* Welch and Satterthwaite */
		out->df = e2 * e2 /
		          (ca->error2 * ca->error2 / ca->df + cb->error2 * cb->error2 / cb->df);
		half = ws_stat_t_quantile(0.5 + WS_GRADE_CONFIDENCE / 2, out->df) * out->error;
		out->p = 2 * (1 - ws_stat_t_cdf(fabs(change) / out->error, out->df));
	} else {
		out->df = ca->df + cb->df;
		out->p = change == 0 ? 1 : 0; /* no variation at all */
	}
	out->low = isnan(e2) ? NAN : ws_exp(change - half);
	out->high = isnan(e2) ? NAN : ws_exp(change + half);
	free(medians[0]);
	free(medians[1]);
	free(scratch);
}

/* --- grades ---------------------------------------------------------------------------- */

static int by_p(const void *a, const void *b)
{
	double x = (*(struct ws_comparison *const *)a)->p,
	       y = (*(struct ws_comparison *const *)b)->p;

	return (x > y) - (x < y);
}

static enum ws_grade grade_of(const struct ws_comparison *c, const struct ws_grade_opts *opts)
{
	const bool likely = c->basis == WS_BASIS_STEPS;
	double effect = fabs(ws_log(c->ratio)), same = 1 + opts->same_within;

	effect -= ws_log(c->ratio < 1 ? c->less_work : c->more_work);

	/* one step of one recording has no measured scatter: no grade without assumed noise */
	if (c->identical)
		return WS_GRADE_SAME;
	if (isnan(c->p) || (c->error == 0 && (c->steps[0] < 2 || c->steps[1] < 2)))
		return WS_GRADE_AMBIGUOUS;
	if (c->discovered && c->low > c->more_work && effect >= ws_log1p(opts->min_effect))
		return likely ? WS_GRADE_LIKELY_SLOWER : WS_GRADE_SLOWER;
	if (c->discovered && c->high < 1 / c->less_work && effect >= ws_log1p(opts->min_effect))
		return likely ? WS_GRADE_LIKELY_FASTER : WS_GRADE_FASTER;
	if (c->low >= 1 / same && c->high <= same)
		return WS_GRADE_SAME;
	return WS_GRADE_AMBIGUOUS;
}

static bool is_judged(const struct ws_comparison *c)
{
	return c->grade != WS_GRADE_UNLIKE && c->grade != WS_GRADE_NONE;
}

void ws_grade_rows(struct ws_comparison *const *rows, size_t n, const struct ws_grade_opts *opts)
{
	struct ws_comparison **order = ws_xarray(n ? n : 1, sizeof(*order));
	size_t judged = 0, discovered = 0;

	for (size_t i = 0; i < n; i++)
		if (is_judged(rows[i]) && !rows[i]->identical && !isnan(rows[i]->p))
			order[judged++] = rows[i];
	ws_sort(order, judged, sizeof(*order), by_p);
	for (size_t i = 0; i < judged; i++)
		if (order[i]->p <= WS_GRADE_FALSE_DISCOVERY * (double)(i + 1) / (double)judged)
			discovered = i + 1;
	for (size_t i = 0; i < judged; i++)
		order[i]->discovered = i < discovered;
	for (size_t i = 0; i < n; i++)
		if (is_judged(rows[i]))
			rows[i]->grade = grade_of(rows[i], opts);
	free(order);
}

void ws_compare_means(const struct ws_samples *a, const struct ws_samples *b,
                      const struct ws_grade_opts *opts, struct ws_comparison *out, size_t nlong[2])
{
	const struct ws_samples *side[2] = {a, b};
	struct ws_samples of[2];
	double *means[2];
	size_t *one[2];

	for (int i = 0; i < 2; i++) {
		const double *ns = side[i]->values;
		double *sorted = ws_xarray(count_values(side[i]) + 1, sizeof(*sorted));
		size_t n = 0, longer = 0;

		means[i] = ws_xarray(side[i]->recordings + 1, sizeof(*means[i]));
		one[i] = ws_xarray(side[i]->recordings + 1, sizeof(*one[i]));
		for (size_t r = 0; r < side[i]->recordings; ns += side[i]->steps[r++]) {
			const size_t steps = side[i]->steps[r], first = steps > 1;
			double sum = 0;

			memcpy(sorted, ns, steps * sizeof(*ns));
			const double longest = WS_GRADE_LONG_STEP * ws_stat_median(sorted, steps);
			for (size_t k = first; k < steps; k++) {
				sum += ns[k];
				longer += ns[k] > longest;
			}
			if (!(sum > 0))
				continue;
			means[i][n] = sum / (double)(steps - first);
			one[i][n++] = 1;
		}
		of[i] = (struct ws_samples){.values = means[i], .steps = one[i], .recordings = n};
		free(sorted);
		if (nlong)
			nlong[i] = longer;
	}
	*out = (struct ws_comparison){.basis = WS_BASIS_NONE, .grade = WS_GRADE_NONE};
	if (of[0].recordings && of[1].recordings) {
		ws_compare(&of[0], &of[1], opts, out);
		ws_grade_rows(&out, 1, opts);
	}
	for (int i = 0; i < 2; i++) {
		free(means[i]);
		free(one[i]);
	}
}

/* --- detectable effects -------------------------------------------------------- */

#define POWER 0.8

static double reach(double error, double df, double confidence)
{
	return (ws_stat_t_quantile(0.5 + confidence / 2, df) + ws_stat_t_quantile(POWER, df)) *
	       error;
}

double ws_grade_detectable(const struct ws_comparison *c)
{
	if (isnan(c->error) || c->df <= 0)
		return NAN;
	return ws_expm1(reach(c->error, c->df, WS_GRADE_CONFIDENCE));
}

double ws_grade_effect(const struct ws_comparison *c, const struct ws_grade_opts *opts)
{
	const double effect = ws_expm1(fabs(ws_log(c->ratio)));

	return effect < opts->min_effect ? opts->same_within : effect;
}

unsigned ws_grade_recordings_for(const struct ws_comparison *c, double effect, double confidence)
{
	if (isnan(c->error) || !(effect > 0))
		return 0;
	/* the detectable effect shrinks with every recording */
	unsigned least = WS_GRADE_RECORDINGS, most = 1001;
	while (least < most) {
		const unsigned n = (least + most) / 2;

		if (reach(c->spread * sqrt(2.0 / n), 2.0 * (n - 1), confidence) <= ws_log1p(effect))
			most = n;
		else
			least = n + 1;
	}
	return most > 1000 ? 0 : most;
}
