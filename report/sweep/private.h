/* The runs of a sweep and their configurations (sweep.c), for its tables (tables.c). */
#pragma once

#include <math.h>

#include "formats/base/arena.h"
#include "report/base/names.h"
#include "report/base/texts.h"
#include "report/sweep/sweep.h"

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
	bool has_steps; /* else its only time is the elapsed one, as in diff */
};

/* How the status begins of a configuration whose runs did not all fail. */
#define WS_SWEEP_OK "ok"

/* A configuration with all its runs. */
struct ws_sweep_row {
	const struct ws_sweep_run *run; /* the first of n; those that failed are last */
	size_t n;
	size_t steps;
	double mean[WS_SWEEP_TIMES], std[WS_SWEEP_TIMES]; /* NaN = not known */
	double mfu_percent, hfu_percent, peak_bytes;
	double speedup, low, high;
	double memory;     /* its peak over that of the baseline */
	bool is_assumed;   /* the interval rests on an assumed noise between runs */
	const char *name;  /* what tells it apart: "transformer-small, context 128, layers 2" */
	const char *check; /* of its MFU and HFU: ws_over_peak */
	const char *status;
};

/* Configurations with one value of the baseline's fact against their baselines: geometric means. */
struct ws_sweep_gain {
	uint32_t value;
	/* configurations: all, under 1, significantly so or over, without an interval */
	unsigned n, under_1, faster, slower, unknown;
	double mean, min, max, low, high, memory; /* NaN = not known */
	bool is_assumed;
};

struct ws_sweep {
	struct ws_texts texts; /* values of facts, reasons */
	struct ws_texts keys;  /* of facts */
	struct ws_sweep_run *runs;
	size_t nruns, runs_capacity;
	size_t ncopies; /* that were left out: they have the bytes of a run that is there */
	bool on_cpu;    /* some run is */
	int64_t created_ns; /* of the first trace */
	/* from here on: by ws_sweep_find_rows */
	const struct ws_sweep_opts *opts;
	struct ws_grade_opts grade;
	bool *varies; /* key -> do the values differ that runs have? */
	struct ws_sweep_row *rows;
	size_t nrows, nfailed;        /* nfailed: runs */
	const char *baseline;         /* KEY=VALUE that speed-ups are over */
	uint32_t baseline_key;        /* number of the key; 0: no trace has it with this value */
	uint32_t baseline_value;      /* text */
	struct ws_sweep_gain *gains;  /* of each other value, in the order of the rows */
	size_t ngains;
	const struct ws_table *table; /* sweep, once it is made */
	struct ws_arena arena;
};

/* --- sweep.c: facts ------------------------------------------------------------------------- */

/* Facts that have a column, in their order. */
#define WS_SWEEP_FACTS 5
extern const char *const ws_sweep_facts[WS_SWEEP_FACTS];

/* The number of a key; 0: no run has it. */
uint32_t ws_sweep_key(const struct ws_sweep *s, const char *key);
/* The value of a fact by the number of its key; 0 = not known. */
static inline uint32_t ws_sweep_value(const struct ws_sweep_run *run, uint32_t key)
{
	return key < run->nfacts ? run->fact[key] : 0;
}
/* The same by its name, as a text. */
static inline struct ws_bytes ws_sweep_text(const struct ws_sweep *s,
                                            const struct ws_sweep_run *run, const char *key)
{
	return ws_texts_get(&s->texts, ws_sweep_value(run, ws_sweep_key(s, key)));
}
/* The text as a number; false when it is none. */
bool ws_sweep_number(struct ws_bytes text, double *out);
/* < 0 as numbers where both are, else as text; unknown first. */
int ws_sweep_compare_values(const struct ws_sweep *s, uint32_t a, uint32_t b);
/* list with ", word value" behind it; an unknown value changes nothing. */
const char *ws_sweep_list(struct ws_sweep *s, const char *list, const char *word,
                          struct ws_bytes value);
/* list with the facts behind it in which runs differ and that have no column, but these two:
 * "kernel_width 5, layers 2". */
const char *ws_sweep_list_others(struct ws_sweep *s, const char *list,
                                 const struct ws_sweep_run *run, const char *but,
                                 const char *and_but);

/* --- sweep.c: configurations ---------------------------------------------------------------- */

/* Fills s from opts on. */
enum ws_status ws_sweep_find_rows(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                                  struct ws_err *err);
