/* The statistics of the reports. Definitions in words: docs/dev/statistics.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of a union of time intervals, fed one by one. */

/* Starts as all zeros. */
struct ws_union {
	int64_t busy_ns; /* time covered by at least one interval so far */
	int64_t end_ns;  /* where the covered time ends; undefined before the first interval */
	int started;
};

/* Add [start, end], end >= start. Starts must not descend between calls. */
static inline void ws_union_add(struct ws_union *u, int64_t start_ns, int64_t end_ns)
{
	if (!u->started || start_ns >= u->end_ns) {
		u->busy_ns += end_ns - start_ns;
		u->end_ns = end_ns;
		u->started = 1;
	} else if (end_ns > u->end_ns) {
		u->busy_ns += end_ns - u->end_ns;
		u->end_ns = end_ns;
	}
}

/* Continues with another device, whose intervals may start earlier; busy_ns keeps adding up. */
static inline void ws_union_next_device(struct ws_union *u)
{
	u->started = 0;
}

/* Statistics of n samples of one unit (here ns). For n = 0 all are 0, without meaning. */
struct ws_stat {
	uint64_t n;
	int64_t sum; /* exact */
	int64_t min, max;
	double mean;   /* sum / n */
	double median; /* the middle value; for even n the mean of the two middle values */
	double std;    /* of a sample: divisor n - 1; 0 for one sample */
};

/* A value and its number of occurrences. */
struct ws_counted_value {
	uint32_t value, times;
};
/* A part of the samples of a statistic. */
struct ws_stat_part {
	enum { WS_STAT_I64, WS_STAT_U32, WS_STAT_COUNTED } form;
	const void *v; /* int64_t, uint32_t or struct ws_counted_value */
	size_t n;
};

/*
 * Statistics of values, without allocating memory. The caller guarantees that their sum fits into
 * an int64_t (a pass refuses other traces).
 */
void ws_stat_of(const int64_t *values, size_t n, struct ws_stat *out);

/* The k-th smallest (k from 0) of n > k values. */
int64_t ws_stat_select(const int64_t *values, size_t n, size_t k);

/* The middle value, or the mean of the middle two; NaN for n = 0. Sorts the values. */
double ws_stat_median(double *values, size_t n);

/* P(T <= t) of Student's t with df > 0 degrees of freedom (need not be whole). */
double ws_stat_t_cdf(double t, double df);
/* The t with P(T <= t) = p, 0 < p < 1. */
double ws_stat_t_quantile(double p, double df);

/* With fewer samples on either side, nothing is said about noise. */
#define WS_STAT_MIN_SAMPLES 3

/*
 * Is sample `value` an outlier of its set? Rule: more than 3 times the median; or, if std / mean >
 * 0.3, the sample farthest from the median.
 */
#define WS_STAT_CV_LIMIT      0.3
#define WS_STAT_OUTLIER_TIMES 3.0
bool ws_stat_is_outlier(const struct ws_stat *s, int64_t value);

/* 100 × part / whole; NaN (an empty cell) when whole is 0. */
double ws_stat_percent(double part, double whole);
/* a / b; NaN (an empty cell) when b is 0. */
double ws_stat_ratio(double a, double b);

/*
 * Many numbers for exact statistics, most of which fit into 32 bits, such as times up to 4 s in ns.
 * Memory grows with the number of distinct values: if many values are equal, they are kept as pairs
 * of a value and its count.
 */

/* Starts as all zeros; free with ws_values_free. Each path and call has such a struct, so it is
 * small. */
struct ws_values {
	/* npairs pairs (struct ws_counted_value), by value, then single values as they came */
	uint32_t *word;
	uint32_t npairs;
	uint32_t n, capacity; /* words in use, and allocated words */
	struct ws_wide_values {
		size_t n, capacity;
		int64_t v[];
	} * wide; /* values that need 64 bits; NULL: none */
};

/* Makes room for one more value. */
void ws_values_make_room(struct ws_values *v);
void ws_values_add_wide(struct ws_values *v, int64_t value);

static inline void ws_values_add(struct ws_values *v, int64_t value)
{
	if (value < 0 || value > UINT32_MAX) {
		ws_values_add_wide(v, value);
		return;
	}
	if (v->n == v->capacity)
		ws_values_make_room(v);
	v->word[v->n++] = (uint32_t)value;
}

uint64_t ws_values_count(const struct ws_values *v);

/* Statistics over the values of n lists together. */
void ws_values_stat(const struct ws_values *const *values, size_t n, struct ws_stat *out);
static inline void ws_values_stat_of(const struct ws_values *values, struct ws_stat *out)
{
	ws_values_stat(&values, 1, out);
}

void ws_values_free(struct ws_values *v);
