/*
 * Compares two sides A and B by samples of their times: ratio B / A, interval and grade.
 * Definitions and the experiments that verify them: docs/dev/statistics.md.
 *
 * Everything is computed on logarithms, so that comparing B with A mirrors
 * comparing A with B: ratio, low and high become 1 / ratio, 1 / high, 1 / low.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/* X(NAME, "grade of times", "grade of bytes and counts") */
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
/* For quantities other than times: LESS and MORE. */
const char *ws_grade_count_name(enum ws_grade grade);

/* With this many recordings on both sides, recordings are the samples. */
#define WS_GRADE_RECORDINGS 3
/* False discovery rate: of the rows of a table that are graded different, at most this share is
 * different by chance only. */
#define WS_GRADE_FALSE_DISCOVERY 0.05
#define WS_GRADE_CONFIDENCE      0.95

struct ws_grade_opts {
	double min_effect;  /* 0.01: differences under 1 % are ignored */
	double same_within; /* 0.03: an interval within 3 % of 1 gives SAME */
	double run_noise; /* assumed relative standard deviation between recordings of one program;
	                     used if a side has too few recordings to measure it. NaN = unknown:
	                     then so few recordings are not graded */
	double run_ns;    /* more standard deviation in ns, of short times; added in quadrature */
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
	/* number of consecutive steps with each value; NULL: one. Makes comparing fast if most
	 * steps are equal, for example 0 for a rare range. */
	const size_t *times;
};

/* Source of the interval. */
enum ws_grade_basis {
	WS_BASIS_NONE,       /* a side has no sample */
	WS_BASIS_RECORDINGS, /* the measured scatter of the recordings */
	WS_BASIS_STEPS,      /* the scatter of steps, plus the assumed run_noise */
	WS_BASIS_PAIRS,      /* pairs of recordings (report/base/sequential.h) */
};

struct ws_comparison {
	enum ws_grade_basis basis;
	double typical[2]; /* step of A, of B: the geometric mean of the recordings' medians */
	double ratio;      /* B / A of these; NaN if a side has no sample */
	double low, high;  /* 95 % interval of ratio; of PAIRS 99 % */
	double p;     /* two-sided probability of a ratio this far from 1 by chance; NaN: unknown */
	double error; /* standard error of log(ratio) */
	double df;    /* degrees of freedom of error */
	double spread; /* standard deviation of the logarithms of recordings: measured, or for
	                  WS_BASIS_STEPS the assumed one plus the noise of a recording's steps */
	size_t recordings[2], steps[2];
	double run_noise; /* assumed between recordings (STEPS); NaN = unknown */
	/* >= 1, set by the caller between ws_compare and ws_grade_rows: factors by which B would be
	 * faster, or slower, because of work that only one side did. Such a difference is not
	 * graded. */
	double less_work, more_work;
	bool identical;  /* all values are equal: a recording compared with itself */
	bool discovered; /* survives Benjamini-Hochberg over its table */
	enum ws_grade grade;
};

/* Fills everything but `discovered` and `grade`. */
void ws_compare(const struct ws_samples *a, const struct ws_samples *b,
                const struct ws_grade_opts *opts, struct ws_comparison *out);
/* Steps that take over so many medians of their recording are counted in words. */
#define WS_GRADE_LONG_STEP 1.5
/*
 * Compares and grades the mean steps of recordings, without the first of several, which may still
 * be slow from the start-up. Slow steps, if fewer than half, do not change the median, but the time
 * of a run. nlong: long steps of each side; NULL = not counted.
 */
void ws_compare_means(const struct ws_samples *a, const struct ws_samples *b,
                      const struct ws_grade_opts *opts, struct ws_comparison *out, size_t nlong[2]);
/*
 * Grade the rows of one table together (Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995) 289).
 * A row that is UNLIKE or NONE already stays so and does not count. With fewer than
 * WS_GRADE_RECORDINGS per side, a difference is LIKELY, never certain.
 */
void ws_grade_rows(struct ws_comparison *const *rows, size_t n, const struct ws_grade_opts *opts);

/* The smallest relative slow-down that would be detected with probability 0.8; NaN: unknown. */
double ws_grade_detectable(const struct ws_comparison *c);
/* The relative effect that additional recordings should be able to detect: that of the ratio, or,
 * if it is too small to count, same_within. Always over 0. */
double ws_grade_effect(const struct ws_comparison *c, const struct ws_grade_opts *opts);
/*
 * Number of recordings per side that would detect a relative slow-down of this effect with
 * probability 0.8 at this level of confidence, if recordings scatter by c->spread. 0: over 1000, or
 * unknown.
 */
unsigned ws_grade_recordings_for(const struct ws_comparison *c, double effect, double confidence);
