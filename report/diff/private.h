/*
 * A comparison in the making: what the builders of its tables share.
 */
#pragma once

#include <stdbool.h>

#include "report/diff/diff.h"
#include "report/diff/side.h"
#include "report/tables/tables.h"

#define WS_DIFF_MAX_REASONS 12

/* Calls of one kind (match.h) in one sample. */
struct ws_work_sum {
	uint32_t kind, sample;
	uint64_t instances, kernels;
	int64_t gpu_ns;
};

struct ws_diff {
	struct ws_side side[2];
	struct ws_names names;
	struct ws_diff_opts opts;
	struct ws_grade_opts grade;
	struct ws_match match; /* its kinds; groups are gone */
	struct ws_work_sums {
		struct ws_spill rows; /* struct ws_work_sum */
		size_t n;
	} work[2];
	int64_t matched_ns[2]; /* GPU time of what has a counterpart, over all samples */
	struct ws_unmatched_work {
		uint64_t kernels; /* of what has none */
		uint64_t casts;   /* kernels beside matched work */
		int64_t cast_ns;
	} unmatched[2];
	bool by_steps; /* the samples of both sides are steps */
	/* why they are not the same work; none: they are */
	char reasons[WS_DIFF_MAX_REASONS][160];
	size_t nreasons;
	struct ws_diff_result *result;
};

/* Are ratios of the sides' times withheld? */
static inline bool ws_diff_is_unlike(const struct ws_diff *d)
{
	return d->nreasons && !d->opts.force;
}

/* What an A/A test needs of them: recordings of side 0 merged, and how they are graded. */
struct ws_diff *ws_sides_diff(struct ws_sides *s);
void ws_sides_prepare_aa(struct ws_sides *s, const struct ws_diff_opts *opts);

/* --- rows.c: sums a sample, and their grades ---------------------------------------------- */

#define WS_DIFF_FIELDS 10
struct ws_diff_row {
	uint32_t field[WS_DIFF_FIELDS]; /* what the row is of: the key */
	int64_t *ns[2];                 /* a sample of the side */
	uint64_t instances[2], kernels[2];
	/* of classes, over all samples: on Tensor Cores, and where that is not known */
	int64_t tensor_ns[2], unknown_ns[2];
	double mean[2]; /* ns a sample; NaN: the side has no such work */
	struct ws_comparison c;
};
/* Starts as all zeros but nsamples. */
struct ws_diff_rows {
	size_t nsamples[2];
	struct ws_texts keys;
	struct ws_diff_row *row;
	size_t n, capacity;
};
void ws_diff_rows_release(struct ws_diff_rows *r);
/* The row of this key, new where there is none; valid until the next call. */
void ws_diff_row_of(struct ws_diff_rows *r, const uint32_t key[WS_DIFF_FIELDS],
                    struct ws_diff_row **out);
/* Means and grades; then what changed most comes first. */
void ws_diff_rows_grade(const struct ws_diff *d, struct ws_diff_rows *r);
/* Two vectors of one value a sample; both NULL-free. Grade: AMBIGUOUS, or UNLIKE. */
void ws_diff_compare(const struct ws_diff *d, const int64_t *a, const int64_t *b,
                     struct ws_comparison *out);
/* --- work_sums.c -------------------------------------------------------------------------- */

/* Adds up calls by what they are matched with: once they are. */
enum ws_status ws_diff_sum_work(struct ws_diff *d, struct ws_err *err);
/* The work of both sides by this key; the groups' first items, or one item alone, by: -1. */
typedef void (*ws_diff_key_fn)(const struct ws_diff *d, const struct ws_work_item *const item[2],
                               const uint32_t n[2], int by, uint32_t key[WS_DIFF_FIELDS]);
void ws_diff_rows_of_work(struct ws_diff *d, ws_diff_key_fn key_of, struct ws_diff_rows *out);

/* One row a class: field 0. */
void ws_diff_gather_classes(const struct ws_diff *d, struct ws_diff_rows *rows);

/* Most bytes allocated on devices in any recording; -1 = not recorded. */
double ws_side_peak(const struct ws_side *s);
/* SAME, FASTER (less) or SLOWER (more) of numbers that do not scatter. */
enum ws_grade ws_diff_grade_count(const struct ws_diff *d, double a, double b);

/* --- words.c ------------------------------------------------------------------------------ */

/* "amp-bf16 is 1.6× faster than fp32 (1.5× to 1.7×)" */
void ws_diff_print(const struct ws_diff *d, const struct ws_comparison *c, char *out, size_t size);

/* --- the tables --------------------------------------------------------------------------- */

/* What is graded: the typical time of A and of B, cells beside each other, and their ratio. */
void ws_diff_set_typical(const struct ws_diff_row *row, struct ws_cell *cells);
void ws_diff_set_ratio(const struct ws_diff *d, const struct ws_diff_row *row,
                       struct ws_cell *cell);
void ws_diff_set_grade(const struct ws_diff_row *row, struct ws_table *t, struct ws_cell *cell);
/* A text of the comparison; the empty text leaves the cell empty. */
void ws_diff_set_text(const struct ws_diff *d, struct ws_table *t, struct ws_cell *cell,
                      uint32_t text);
/* Says once a table what its times are of. */
void ws_diff_note_samples(const struct ws_diff *d, struct ws_table *t);

#define X(name)                                                                   \
	enum ws_status ws_diff_fill_##name(struct ws_diff *d, struct ws_table *t, \
	                                   struct ws_err *err);
X(verdict)
X(phases)
X(ranges)
X(ops)
X(classes)
X(kernels)
X(memory)
X(only)
X(config)
#undef X
