/*
 * Two sides compared: A is the baseline, B the candidate, each one or more
 * recordings. What is compared with what, and when it is called different:
 * docs/reference/compare.md.
 */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "report/base/grade.h"
#include "report/joined/rows.h"
#include "report/table/table.h"

struct ws_diff_opts {
	double threshold_percent; /* surely slower than this is a finding; < 0 = never */
	double min_effect_percent, same_within_percent;
	double run_noise_percent; /* NaN: the default of the backend */
	double confidence; /* of the difference that so many runs, as a sentence says, would show */
	bool force;               /* a ratio even of what is not the same work */
	const char *name[2];      /* what sentences call the sides; NULL: by how they differ */
};
#define WS_DIFF_OPTS_DEFAULT                                                                \
	{                                                                                   \
		.threshold_percent = -1, .min_effect_percent = 1, .same_within_percent = 3, \
		.run_noise_percent = NAN, .confidence = WS_GRADE_CONFIDENCE                 \
	}
/* What recordings of one thing vary by on a GPU, in percent. On the CPU reference it is unknown:
 * from hour to hour it is anything. Measured: docs/dev/statistics.md. */
#define WS_RUN_NOISE_GPU_PERCENT 1.0
/* The same of whole steps, which wait for the host, data or copies: at least. */
#define WS_RUN_NOISE_STEP_PERCENT 5.0
/* … and a GPU time by so many ns more, which is all of a short kernel's noise: statistics.md. */
#define WS_RUN_NOISE_GPU_NS 250

/* As it is graded: on_cpu chooses the default of the noise between runs. */
struct ws_grade_opts ws_grade_opts_of(const struct ws_diff_opts *opts, bool on_cpu);

struct ws_diff_result {
	bool finding;                 /* over the threshold */
	char verdict[512];            /* the answer in sentences */
	char cause[256];              /* the sentence of it that says why; "" = none */
	char reasons[512];            /* why it is not the same work, joined; "" = it is */
	struct ws_comparison overall; /* of steps or elapsed time; its basis NONE: there is none */
	double clock_mhz[2];          /* mean of the readings of each side; 0 = not recorded */
	size_t copies[2];             /* recordings of each side that are another one's bytes */
};

/* The recordings to compare. Free with ws_sides_free; NULL is legal. */
struct ws_sides;
struct ws_sides *ws_sides_new(void);
/* What a comparison needs of a trace, of side 0, which is A, or 1, B; is_shown: the first of a side
 * with its first screen. Both m and its rows may be freed afterwards. False: the side has a
 * recording of the same bytes, which counts once. */
bool ws_sides_add(struct ws_sides *s, int side, const struct ws_model *m,
                  struct ws_joined_rows *rows, bool is_shown);
void ws_sides_free(struct ws_sides *s);

/*
 * The tables of WS_DIFF_TABLES. Both sides have a recording. Once only. opts
 * NULL: the defaults.
 */
enum ws_status ws_diff_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                            struct ws_report **out, struct ws_diff_result *result,
                            struct ws_err *err);

/* The relations of the queries of these tables; d NULL: they are only checked. */
struct ws_query;
struct ws_diff;
void ws_diff_relations(struct ws_query *q, struct ws_diff *d);

/*
 * An A/A test: recordings of one and the same thing compared with each other.
 * How often would the comparer have cried wolf, and what could it have found?
 */

/*
 * The tables of WS_AA_TABLES, of the recordings of side 0; USAGE with under two.
 * Once only. opts NULL: the defaults. *verdict: the answer in a sentence.
 */
enum ws_status ws_aa_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                          struct ws_report **out, char verdict[512], struct ws_err *err);

/*
 * A gate for a merge: candidate runs against the baseline of the same workload and device.
 * Rules in words: docs/gate.md.
 */

/* X(NAME, as a person reads it) */
#define WS_GATE_LIST(X)             \
	X(PASSED, "passed")         \
	X(ACCEPTED, "accepted")     \
	X(UNDECIDED, "cannot tell") \
	X(SLOWER, "slower")         \
	X(FAILED, "failed")
enum ws_gate_outcome {
#define X(NAME, name) WS_GATE_##NAME,
	WS_GATE_LIST(X)
#undef X
};
const char *ws_gate_name(enum ws_gate_outcome outcome);

/* Of the pairs of equal programs under one in a hundred may be called slower, so a difference must
 * be this improbable. */
#define WS_GATE_CHANCE 0.01
/* Clocks further apart say nothing about a program. */
#define WS_GATE_CLOCKS_APART 0.02

/* A comparison as a gate asks for it. */
struct ws_diff_opts ws_gate_diff_opts(void);

/* What the runs of a gate are of: names for folders, of letters, digits and '-'. */
struct ws_gate_key {
	char workload[128], device[64];
};
/* workload: its name; NULL: as the trace says, else by its file's name. */
void ws_gate_key_of(const struct ws_model *m, const char *path, const char *workload,
                    struct ws_gate_key *out);

/* YYYY-MM-DD, of a day that there is. */
bool ws_gate_is_date(const char *text);

/* A line of the file of accepted slowdowns. */
struct ws_gate_accepted {
	char last_day[11];              /* YYYY-MM-DD, the last day */
	char workload[128], device[64]; /* patterns with * and ? */
	double percent;
	char reason[200];
};
/* USAGE: the line is none. It is whole, without its end. */
enum ws_status ws_gate_accepted_read(const char *line, struct ws_gate_accepted *out,
                                     struct ws_err *err);

struct ws_gate_judgement {
	enum ws_gate_outcome outcome;
	unsigned runs_needed; /* per side to settle it, more than there are; 0 = not known */
	char words[768];      /* why, in sentences */
	char accepted[256];   /* the sentence of them about a line of the accepted; "" = none */
};
/* opts: as the comparison was made; accepted may be NULL; today: YYYY-MM-DD. */
void ws_gate_judge(const struct ws_diff_result *result, const struct ws_diff_opts *opts,
                   const struct ws_gate_key *key, const struct ws_gate_accepted *accepted,
                   size_t naccepted, const char *today, struct ws_gate_judgement *out);
