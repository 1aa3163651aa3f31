/* What the tables of a sweep share. */
#pragma once

#include <math.h>

#include "formats/base/arena.h"
#include "report/base/names.h"
#include "report/base/texts.h"
#include "report/sweep/sweep.h"
#include "report/tables/tables.h"

enum ws_sweep_time {
	WS_SWEEP_FORWARD,
	WS_SWEEP_BACKWARD,
	WS_SWEEP_OPTIMIZER,
	WS_SWEEP_TOTAL,
	/* on the device: of the kernels */
	WS_SWEEP_FORWARD_WINDOW,
	WS_SWEEP_BACKWARD_WINDOW,
	WS_SWEEP_OPTIMIZER_WINDOW,
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
	double model_ns, ran_ns;    /* that the model's and all need at the peak; NaN = not known */
	double peak_bytes, softmax_percent;
	uint32_t failed; /* text: why; 0 = it did not fail */
	size_t nameless; /* nothing is known of its configuration: a number of its own; 0 */
	uint64_t file_hash, file_size; /* 0: it left no trace */
	int64_t base_ns;
	bool on_cpu;
	bool has_steps; /* else its only time is the elapsed one, as in diff */
};

/* How the status begins of a row whose runs did not all fail. */
#define WS_SWEEP_OK "ok"

/* Runs of one configuration. */
struct ws_sweep_row {
	const struct ws_sweep_run *run; /* the first of n; those that failed are last */
	size_t n;
	size_t steps;
	double mean[WS_SWEEP_TIMES], std[WS_SWEEP_TIMES]; /* NaN = not known */
	double mfu_percent, hfu_percent, peak_bytes;
	double speedup, low, high;
	double memory;   /* its peak over that of the baseline */
	bool is_assumed; /* the interval rests on an assumed noise between runs */
	uint32_t status;
};

struct ws_sweep {
	struct ws_texts texts; /* values of facts, reasons, labels */
	struct ws_texts keys;  /* of facts */
	struct ws_sweep_run *runs;
	size_t nruns, runs_capacity;
	size_t ncopies; /* that were left out: they have the bytes of a run that is there */
	struct ws_sweep_row *rows;
	size_t nrows;
	struct ws_grade_opts grade;
	const struct ws_sweep_opts *opts;
	const char *baseline;         /* KEY=VALUE that speed-ups are over */
	uint32_t baseline_key;        /* number of the key; 0: no trace has it with this value */
	uint32_t baseline_value;      /* text */
	const struct ws_table *table; /* sweep, once it is made */
	struct ws_arena arena;
};

/* --- runs.c --- */

/* The value of a fact by the number of its key; 0 = not known. */
static inline uint32_t ws_sweep_value(const struct ws_sweep_run *run, size_t key)
{
	return key < run->nfacts ? run->fact[key] : 0;
}
/* The same by its name. */
uint32_t ws_sweep_fact(const struct ws_sweep *s, const struct ws_sweep_run *run, const char *key);
static inline struct ws_bytes ws_sweep_text(const struct ws_sweep *s,
                                            const struct ws_sweep_run *run, const char *key)
{
	return ws_texts_get(&s->texts, ws_sweep_fact(s, run, key));
}
/* Is this a key of any run? */
bool ws_sweep_has_key(const struct ws_sweep *s, const char *key);
/* Two runs of one configuration may differ in the fact of this number. */
bool ws_sweep_is_no_work(const struct ws_sweep *s, size_t key);
/* The text as a number; false when it is none. */
bool ws_sweep_number(struct ws_bytes text, double *out);
/* < 0 as numbers where both are, else as text; unknown first. */
int ws_sweep_compare_values(const struct ws_sweep *s, uint32_t a, uint32_t b);
/* Do the rows differ in this fact? What left no trace does not say all. */
bool ws_sweep_differ(const struct ws_sweep *s, const char *key);
/* Facts in which the rows differ and that have no column, but this: "kernel_width 5, layers 2". */
void ws_sweep_others(const struct ws_sweep *s, const struct ws_sweep_run *run, const char *but,
                     char *text, size_t size);

/* --- rows.c: runs to rows, with their means, deviations and speed-ups --- */

enum ws_status ws_sweep_find_rows(struct ws_sweep *s, struct ws_err *err);

/* --- the tables --- */

/* Facts that have a column, in their order. */
#define WS_SWEEP_FACTS 5
extern const char *const ws_sweep_facts[WS_SWEEP_FACTS];
void ws_sweep_verdict(const struct ws_sweep *s, struct ws_table *t);
void ws_sweep_name_row(const struct ws_sweep *s, const struct ws_sweep_row *row, char *out,
                       size_t size);
/* Rows with this value of the baseline's fact, against their baselines: geometric means. */
struct ws_sweep_gain {
	uint32_t value;
	unsigned n, under_1, faster, slower,
	        unknown;                          /* rows: all, under 1, significantly so or over */
	double mean, min, max, low, high, memory; /* NaN = not known */
	bool is_assumed;
};
void ws_sweep_find_gain(const struct ws_sweep *s, uint32_t value, struct ws_sweep_gain *g);
bool ws_sweep_is_first(const struct ws_sweep *s, size_t row);
/* The row with the highest rate, and that of the next one; NULL: none is known. */
const struct ws_sweep_row *ws_sweep_best(const struct ws_sweep *s, bool tokens, double rate[2]);
/* What the first screen says; the verdict is the report's first table. */
void ws_sweep_answer(const struct ws_sweep *s, struct ws_report *report);
/* In place of the empty table *t; after the table sweep. */
enum ws_status ws_sweep_pivot(struct ws_sweep *s, struct ws_table **t, struct ws_err *err);
