/* The statistics of the reports. Definitions in words: docs/dev/statistics.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of n samples in one unit (ns here). With n = 0 everything is 0 and means nothing. */
struct ws_stat {
	uint64_t n;
	int64_t sum; /* exact */
	int64_t min, max;
	double mean;   /* sum / n */
	double median; /* the middle value; for even n the mean of the two middle values */
	double std;    /* of a sample: divisor n - 1; 0 for one sample */
};

/* A value that occurred so many times. */
struct ws_counted_value {
	uint32_t value, times;
};
/* Some of the values of a statistic. */
struct ws_stat_part {
	enum { WS_STAT_I64, WS_STAT_U32, WS_STAT_COUNTED } form;
	const void *v; /* int64_t, uint32_t or struct ws_counted_value */
	size_t n;
};

/*
 * Statistics of values, which takes no memory. The caller guarantees that their sum fits into an
 * int64_t (a pass refuses traces where it does not).
 */
void ws_stat_of(const int64_t *values, size_t n, struct ws_stat *out);

/* The k-th smallest (k from 0) of n > k values. */
int64_t ws_stat_select(const int64_t *values, size_t n, size_t k);

/* The middle one, or the mean of the middle two; NaN of none. Sorts them. */
double ws_stat_median(double *values, size_t n);

/* P(T <= t) of Student's t with df > 0 degrees of freedom (need not be whole). */
double ws_stat_t_cdf(double t, double df);
/* The t with P(T <= t) = p, 0 < p < 1. */
double ws_stat_t_quantile(double p, double df);

/* Fewer samples than this on either side, and no statement about noise is made. */
#define WS_STAT_MIN_SAMPLES 3

/*
 * Does sample `value` stand out of its set? Rule: more than 3 times the
 * median; or, where std / mean > 0.3, the one farthest from the median.
 */
#define WS_STAT_CV_LIMIT      0.3
#define WS_STAT_OUTLIER_TIMES 3.0
bool ws_stat_is_outlier(const struct ws_stat *s, int64_t value);

/* 100 × part / whole; NaN (an empty cell) when whole is 0. */
double ws_stat_percent(double part, double whole);
/* a / b; NaN (an empty cell) when b is 0. */
double ws_stat_ratio(double a, double b);
