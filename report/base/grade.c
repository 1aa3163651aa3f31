#include "report/base/grade.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "report/base/stat.h"

const char *ws_grade_name(enum ws_grade grade)
{
	static const char *const names[] = {
#define X(NAME, time, count) time,
	        WS_GRADE_LIST(X)
#undef X
	};

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

/* A value that so many steps behind each other have. */
struct sample {
	double value, times;
};

static double times_of(const struct ws_samples *s, size_t i)
{
	return s->times ? (double)s->times[i] : 1;
}

static int by_value(const void *a, const void *b)
{
	const double x = ((const struct sample *)a)->value, y = ((const struct sample *)b)->value;

	return (x > y) - (x < y);
}

/* The middle one, or the mean of the middle two. Sorts them. */
static double median_of(struct sample *v, size_t n)
{
	double all = 0, below = 0;
	size_t i = 0;

	qsort(v, n, sizeof(*v), by_value);
	for (size_t k = 0; k < n; k++)
		all += v[k].times;
	for (; below + v[i].times < all / 2; i++)
		below += v[i].times;
	return below + v[i].times > all / 2 ? v[i].value : (v[i].value + v[i + 1].value) / 2;
}

/* Mean and variance of values that may be few. */
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
 * How many independent values m->n values are worth, from their correlation with
 * their predecessor: n (1 - r) / (1 + r), as for an autoregressive series of
 * first order. Drift (clocks, heat) makes neighbours alike; unlike neighbours
 * are not counted as more than n.
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

/* As good as known: more is beyond what the quantile of Student's t is computed for. */
#define MANY_FREEDOMS 1e6

/* One side as a centre and what is known of its error. */
struct centre {
	double value; /* log of the typical step */
	double typical;
	double error2, df;
	double spread2; /* variance between recordings */
};

/* Logs of the medians of the recordings into out; returns the last median. scratch holds the values
 * of the longest. */
static double recording_medians(const struct ws_samples *s, struct sample *scratch, double *out)
{
	double median = NAN;
	size_t at = 0;

	for (size_t r = 0; r < s->recordings; r++) {
		for (size_t i = 0; i < s->steps[r]; i++, at++)
			scratch[i] = (struct sample){s->values[at], times_of(s, at)};
		median = median_of(scratch, s->steps[r]);
		out[r] = log(median);
	}
	return median;
}

/*
 * Variance of what scatters around the median, late steps apart: 1.4826 times the median
 * deviation is the standard deviation of normal values. With few values, or when most are
 * equal, the plain variance. Sorts scratch.
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
 * Few recordings: their centre moves by the noise of its steps and by the noise
 * between runs, which steps of one run cannot show. The median of n normal
 * values has pi / 2 times the variance of their mean.
 */
static struct centre centre_by_steps(const struct ws_samples *s, const double *medians,
                                     struct sample *scratch, double run_noise)
{
	struct centre c = {.spread2 = run_noise * run_noise};
	double within = 0, freedom = 0;
	size_t at = 0;

	for (size_t r = 0; r < s->recordings; r++) {
		const size_t n = s->steps[r];
		struct moments m;

		for (size_t i = 0; i < n; i++, at++)
			scratch[i] = (struct sample){log(s->values[at]), times_of(s, at)};
		m = moments_of(scratch, n);
		c.value += medians[r] / (double)s->recordings;
		if (m.n > 1) {
			double worth = independent_values(scratch, n, &m);

			within += (m.n > 2 ? M_PI_2 : 1) * scatter(&m, scratch, n) / worth;
			freedom += fmax(1, worth - 1);
		}
	}
	within /= (double)(s->recordings * s->recordings);
	c.error2 = within + c.spread2 / (double)s->recordings;
	/* of one recording of so many steps */
	c.spread2 = c.error2 * (double)s->recordings;
	/* the noise between runs is assumed, not estimated: it costs no freedom */
	c.df = within > 0 ? fmin(freedom * c.error2 * c.error2 / (within * within), MANY_FREEDOMS)
	                  : MANY_FREEDOMS;
	return c;
}

static struct centre centre_by_recordings(const double *medians, size_t n)
{
	struct sample *v = ws_xarray(n, sizeof(*v));
	struct moments m;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct sample){medians[i], 1};
	m = moments_of(v, n);
	free(v);
	return (struct centre){.value = m.mean,
	                       .error2 = m.variance / (double)n,
	                       .df = (double)(n - 1),
	                       .spread2 = m.variance};
}

static void set_interval(struct ws_comparison *c, const struct centre *a, const struct centre *b)
{
	double change = b->value - a->value, half = 0, e2 = a->error2 + b->error2;

	c->typical[0] = a->typical;
	c->typical[1] = b->typical;
	c->ratio = b->typical / a->typical;
	c->error = sqrt(e2);
	c->spread = sqrt((a->spread2 + b->spread2) / 2);
	if (isnan(e2)) {
		c->p = c->low = c->high = NAN;
		return;
	}
	if (e2 > 0) {
		/* Welch and Satterthwaite */
		c->df = e2 * e2 / (a->error2 * a->error2 / a->df + b->error2 * b->error2 / b->df);
		half = ws_stat_t_quantile(0.5 + WS_GRADE_CONFIDENCE / 2, c->df) * c->error;
		c->p = 2 * (1 - ws_stat_t_cdf(fabs(change) / c->error, c->df));
	} else {
		c->df = a->df + b->df;
		c->p = change == 0 ? 1 : 0; /* nothing varies at all */
	}
	c->low = exp(change - half);
	c->high = exp(change + half);
}

static size_t count_values(const struct ws_samples *s)
{
	size_t n = 0;

	for (size_t r = 0; r < s->recordings; r++)
		n += s->steps[r];
	return n;
}

static size_t count_steps(const struct ws_samples *s)
{
	size_t values = count_values(s), n = s->times ? 0 : values;

	for (size_t i = 0; i < values && s->times; i++)
		n += s->times[i];
	return n;
}

/* The same recordings: nothing between them is by chance. */
static bool are_identical(const struct ws_samples *a, const struct ws_samples *b)
{
	const size_t n = count_values(a);
	bool same = a->recordings == b->recordings &&
	            !memcmp(a->steps, b->steps, a->recordings * sizeof(*a->steps)) &&
	            !memcmp(a->values, b->values, n * sizeof(*a->values));

	for (size_t i = 0; i < n && same; i++)
		same = times_of(a, i) == times_of(b, i);
	return same;
}

void ws_compare(const struct ws_samples *a, const struct ws_samples *b,
                const struct ws_grade_opts *opts, struct ws_comparison *out)
{
	const struct ws_samples *side[2] = {a, b};
	double *medians[2], median, noise;
	struct sample *scratch;
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
		out->recordings[i] = side[i]->recordings;
		out->steps[i] = count_steps(side[i]);
	}
	if (!out->steps[0] || !out->steps[1])
		return;
	for (int i = 0; i < 2; i++)
		for (size_t r = 0; r < side[i]->recordings; r++)
			most = side[i]->steps[r] > most ? side[i]->steps[r] : most;
	scratch = ws_xarray(most, sizeof(*scratch));
	for (int i = 0; i < 2; i++) {
		medians[i] = ws_xarray(side[i]->recordings, sizeof(*medians[i]));
		median = recording_medians(side[i], scratch, medians[i]);
		noise = hypot(opts->run_noise, opts->run_ns / median);
		centre[i] = by_recordings ? centre_by_recordings(medians[i], side[i]->recordings)
		                          : centre_by_steps(side[i], medians[i], scratch, noise);
		out->run_noise = fmax(out->run_noise, noise);
		/* of one recording to the last digit, without a logarithm between */
		centre[i].typical = side[i]->recordings == 1 ? median : exp(centre[i].value);
	}
	out->identical = are_identical(a, b);
	if (out->identical)
		centre[0].error2 = centre[1].error2 = 0;
	out->basis = by_recordings ? WS_BASIS_RECORDINGS : WS_BASIS_STEPS;
	set_interval(out, &centre[0], &centre[1]);
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
	double effect = fabs(log(c->ratio)), same = 1 + opts->same_within;

	effect -= log(c->ratio < 1 ? c->less_work : c->more_work);

	/* one step of one recording has no scatter of its own: without noise assumed, no claim */
	if (c->identical)
		return WS_GRADE_SAME;
	if (isnan(c->p) || (c->error == 0 && (c->steps[0] < 2 || c->steps[1] < 2)))
		return WS_GRADE_AMBIGUOUS;
	if (c->discovered && c->low > c->more_work && effect >= log1p(opts->min_effect))
		return likely ? WS_GRADE_LIKELY_SLOWER : WS_GRADE_SLOWER;
	if (c->discovered && c->high < 1 / c->less_work && effect >= log1p(opts->min_effect))
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
	qsort(order, judged, sizeof(*order), by_p);
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

/* --- what could have been found -------------------------------------------------------- */

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
	return expm1(reach(c->error, c->df, WS_GRADE_CONFIDENCE));
}

double ws_grade_effect(const struct ws_comparison *c, const struct ws_grade_opts *opts)
{
	const double effect = expm1(fabs(log(c->ratio)));

	return effect < opts->min_effect ? opts->same_within : effect;
}

unsigned ws_grade_recordings_for(const struct ws_comparison *c, double effect, double confidence)
{
	if (isnan(c->error) || !(effect > 0))
		return 0;
	for (unsigned n = WS_GRADE_RECORDINGS; n <= 1000; n++)
		if (reach(c->spread * sqrt(2.0 / n), 2.0 * (n - 1), confidence) <= log1p(effect))
			return n;
	return 0;
}
