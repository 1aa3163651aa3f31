/*
 * Two traces side by side. Work is matched by what it is: the path of its
 * range, and the how-manieth range of that path it is within its step. Kernel
 * names, dtypes and the numbers of PyTorch's steps play no part.
 */
#ifndef WS_REPORT_DIFF_DIFF_H
#define WS_REPORT_DIFF_DIFF_H

#include "report/analysis/steps.h"
#include "report/table/table.h"

struct ws_diff_opts {
	double threshold_percent; /* slower than this, beyond noise, is a finding; < 0 = never */
};
struct ws_diff_result {
	int finding;	    /* over the threshold */
	char verdict[512];  /* the answer in a sentence */
};
/* A against B: tables diff-verdict, diff-phases, diff-ranges (and later ones). */
enum ws_status ws_diff_make(const struct ws_model *a, const struct ws_model *b,
			    const struct ws_diff_opts *opts, struct ws_report **out,
			    struct ws_diff_result *result, struct ws_err *err);

/* One of the two. A sample is a measured step, or the whole trace (see by_steps). */
struct ws_side {
	const struct ws_model *m;
	const char *letter; /* "A", "B" */
	struct ws_selection sel;
	struct ws_step_times times;
	size_t nsamples;    /* measured steps; 1 = the whole trace */
	int64_t gpu_ns;     /* of all kernels in the samples */
	int64_t matched_ns; /* of those whose innermost range has a counterpart */

	uint32_t *item;    /* path -> item */
	uint32_t *sample;  /* range -> sample, WS_NONE = not compared */
	uint32_t *ordinal; /* range -> how-manieth of its item in its sample, from 0 */
	int64_t *inclusive_ns, *exclusive_ns; /* range -> GPU time launched in it */
	uint64_t *dtypes; /* path -> bit set of dtype texts; an item's are at its path */
	uint32_t dtype_text[64];
	unsigned ndtypes;
	uint32_t *order;      /* compared ranges by item, sample, ordinal */
	uint32_t *item_first; /* item -> its first in order; nitems + 1 */
	size_t ncompared;
};

/* The same path in A, in B or in both. Items of A in A's reading order, then those of B alone. */
struct ws_item {
	uint32_t path[2];     /* in A and in B, the first of several; WS_NONE */
	uint32_t per_step[2]; /* most instances in one sample */
};

struct ws_diff {
	struct ws_side side[2];
	int by_steps; /* both have measured steps; else whole traces are compared, as one sample */
	struct ws_item *items;
	size_t nitems;
};

/* Which instances of an item: those that both sides have, or the rest of one side. */
enum ws_diff_part { WS_DIFF_BOTH, WS_DIFF_REST };

/* Match. Free with ws_diff_release, also after a failure. */
enum ws_status ws_diff_match(struct ws_diff *d, const struct ws_model *a, const struct ws_model *b,
                             struct ws_err *err);
void ws_diff_release(struct ws_diff *d);

/*
 * The path as it is matched and shown: ProfilerStep#5, which PyTorch numbers
 * anew in each recording, is ProfilerStep#*. The caller frees *text.
 */
enum ws_status ws_diff_path_text(const struct ws_model *m, uint32_t path, char **text, size_t *len,
                                 struct ws_err *err);

/* GPU time a sample of these instances on one side; *instances is their number over all samples. */
enum ws_status ws_diff_item_stat(const struct ws_diff *d, int side, size_t item,
                                 enum ws_diff_part part, struct ws_stat *out, uint64_t *instances,
                                 struct ws_err *err);

/* diff_tables.c: fill the tables of a diff; the verdict goes to result, too. */
enum ws_status ws_diff_fill(const struct ws_diff *d, const struct ws_diff_opts *opts,
                            struct ws_report *report, struct ws_diff_result *result,
                            struct ws_err *err);

#endif
