/*
 * Is B faster than A, the same, or cannot one tell? From samples to a grade.
 * Definitions in words, and the experiments that hold them: docs/dev/statistics.md.
 *
 * Everything is computed on logarithms, so that comparing B with A mirrors
 * comparing A with B: ratio, low and high become 1 / ratio, 1 / high, 1 / low.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/* X(NAME, of times, of bytes and counts) */
#define WS_GRADE_LIST(X)                          \
	X(SAME, "SAME", "SAME")                   \
	X(FASTER, "FASTER", "LESS")               \
	X(SLOWER, "SLOWER", "MORE")               \
	X(LIKELY_FASTER, "LIKELY FASTER", "LESS") \
	X(LIKELY_SLOWER, "LIKELY SLOWER", "MORE") \
	X(AMBIGUOUS, "AMBIGUOUS", "AMBIGUOUS")    \
	X(UNLIKE, "UNLIKE", "UNLIKE")             \
	X(NONE, "", "") /* not graded */
enum ws_grade {
#define X(NAME, time, count) WS_GRADE_##NAME,
	WS_GRADE_LIST(X)
#undef X
};
const char *ws_grade_name(enum ws_grade grade);
static inline bool ws_grade_is_faster(enum ws_grade grade)
{
	return grade == WS_GRADE_FASTER || grade == WS_GRADE_LIKELY_FASTER;
}
static inline bool ws_grade_is_slower(enum ws_grade grade)
{
	return grade == WS_GRADE_SLOWER || grade == WS_GRADE_LIKELY_SLOWER;
}
static inline bool ws_grade_is_different(enum ws_grade grade)
{
	return ws_grade_is_faster(grade) || ws_grade_is_slower(grade);
}
/* For quantities that are no times: LESS and MORE. */
const char *ws_grade_count_name(enum ws_grade grade);

/* With this many recordings on both sides, recordings are the samples. */
#define WS_GRADE_RECORDINGS 3
/* Of all rows of a table that are called different, at most this share is by chance. */
#define WS_GRADE_FALSE_DISCOVERY 0.05
#define WS_GRADE_CONFIDENCE      0.95

struct ws_grade_opts {
	double min_effect;  /* 0.01: less than 1 % is no difference that counts */
	double same_within; /* 0.03: an interval within 3 % of 1 is the same */
	double run_noise;   /* standard deviation between recordings of one thing, relative; used
	                     * where a side has too few recordings to show it; NaN = unknown: then
	                     * nothing is claimed of so few */
	double run_ns;      /* … and so many ns more, which short times vary by; by squares */
};
#define WS_GRADE_OPTS_DEFAULT                                              \
	{                                                                  \
		.min_effect = 0.01, .same_within = 0.03, .run_noise = 0.01 \
	}

/* One side: the steps of its recordings, one recording after the other. All values > 0. */
struct ws_samples {
	const double *values;
	const size_t *steps; /* values of each recording, > 0 */
	size_t recordings;
	/* how many steps behind each other have a value; NULL: one. Where most are equal, as those
	 * without a range that is rare, comparing takes no longer than there are others. */
	const size_t *times;
};

/* What the interval rests on. */
enum ws_grade_basis {
	WS_BASIS_NONE,       /* a side has no sample */
	WS_BASIS_RECORDINGS, /* the recordings differ by what they differ by */
	WS_BASIS_STEPS,      /* steps, and run_noise assumed between recordings */
};

struct ws_comparison {
	enum ws_grade_basis basis;
	double typical[2]; /* step of A, of B: the geometric mean of the recordings' medians */
	double ratio;      /* of the two, B / A; NaN where a side has no sample */
	double low, high;  /* 95 % interval of ratio */
	double p;          /* of a ratio this far from 1 by chance, two-sided; NaN: unknown */
	double error;      /* standard error of log(ratio) */
	double df;         /* degrees of freedom of error */
	double spread;     /* standard deviation of log between recordings, measured; by STEPS the
	                    * one assumed, and the noise of a recording's steps */
	size_t recordings[2], steps[2];
	double run_noise; /* assumed between recordings (STEPS); NaN = unknown */
	/* >= 1, set by the caller between ws_compare and ws_grade_rows: how much faster, and how
	 * much slower, B would be for work that only one side did. That much is no difference. */
	double less_work, more_work;
	bool identical;  /* value by value: a recording beside itself */
	bool discovered; /* survives Benjamini-Hochberg over its table */
	enum ws_grade grade;
};

/* Everything but `discovered` and `grade`. */
void ws_compare(const struct ws_samples *a, const struct ws_samples *b,
                const struct ws_grade_opts *opts, struct ws_comparison *out);
/*
 * Grade the rows of one table together (Benjamini and Hochberg, J. R. Stat.
 * Soc. B 57 (1995) 289). A row that is UNLIKE or NONE already stays so and does not count.
 * With fewer than WS_GRADE_RECORDINGS a side a difference is LIKELY, never certain.
 */
void ws_grade_rows(struct ws_comparison *const *rows, size_t n, const struct ws_grade_opts *opts);

/* The smallest relative slow-down that would be found with probability 0.8; NaN: unknown. */
double ws_grade_detectable(const struct ws_comparison *c);
/* The relative effect that more recordings are to show: that of the ratio, which is over 0, or,
 * where it is too small to count, what is the same. */
double ws_grade_effect(const struct ws_comparison *c, const struct ws_grade_opts *opts);
/*
 * Recordings a side that would find a relative slow-down of effect, at this level of confidence,
 * with probability 0.8, when recordings scatter by c->spread; 0: over 1000, or unknown.
 */
unsigned ws_grade_recordings_for(const struct ws_comparison *c, double effect, double confidence);
