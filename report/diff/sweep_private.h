/* What the tables of a sweep share. */
#ifndef WS_REPORT_DIFF_SWEEP_PRIVATE_H
#define WS_REPORT_DIFF_SWEEP_PRIVATE_H

#include "formats/base/arena.h"
#include "report/diff/private.h"
#include "report/diff/sweep.h"

enum ws_sweep_time {
	WS_SWEEP_FORWARD,
	WS_SWEEP_BACKWARD,
	WS_SWEEP_OPTIMIZER,
	WS_SWEEP_TOTAL,
	WS_SWEEP_TIMES
};

/* One trace, as far as a sweep needs it. */
struct ws_sweep_run {
	uint32_t *fact; /* number of the key -> text of its value; 0 = not known */
	size_t nfacts;
	size_t nsteps;
	double *ns[WS_SWEEP_TIMES]; /* of each step; NULL: it has no such phase */
	double tokens, images;      /* of a step; 0 = not known */
	double flops;               /* of a step's products; NaN = not known */
	double model_ns;            /* that the model's need at the peak; NaN = not known */
	double peak_bytes, softmax_percent;
	uint32_t failed; /* text: why; 0 = it did not fail */
	int64_t base_ns;
	bool on_cpu;
};

/* Runs of one configuration. */
struct ws_sweep_row {
	size_t first, n; /* runs, in order */
	size_t steps;
	double mean[WS_SWEEP_TIMES], std[WS_SWEEP_TIMES]; /* NaN = not known */
	double tokens_per_s, images_per_s, tflops, mfu_percent, peak_bytes, softmax_percent;
	double flops; /* of a step; NaN = not known */
	double speedup, low, high;
	uint32_t status;
};

struct ws_sweep {
	struct ws_names names;
	struct ws_texts keys; /* of facts */
	struct ws_sweep_run *runs;
	size_t nruns, runs_allocated;
	struct ws_sweep_row *rows;
	size_t nrows;
	struct ws_grade_opts grade;
	/* of the pivot, whose columns depend on what was swept */
	struct ws_table_def pivot;
	struct ws_arena arena;
};

/* The value of a fact in a row; 0 = not known. */
uint32_t ws_sweep_fact(const struct ws_sweep *s, const struct ws_sweep_row *row, const char *key);
/* Is this a key of any run? */
bool ws_sweep_has_key(const struct ws_sweep *s, const char *key);
/* < 0 as numbers where both are, else as text; unknown first. */
int ws_sweep_compare_values(const struct ws_sweep *s, uint32_t a, uint32_t b);

enum ws_status ws_sweep_pivot(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                              const struct ws_table *rows, struct ws_table **out,
                              struct ws_err *err);
enum ws_status ws_sweep_scaling(struct ws_sweep *s, struct ws_table *t, struct ws_err *err);

#endif
