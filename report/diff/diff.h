/*
 * Two sides compared: A is the baseline, B the candidate, each one or more recordings. Matching and
 * grades: docs/reference/compare.md.
 */
#pragma once

#include <math.h>

#include "report/base/grade.h"
#include "report/joined/rows.h"
#include "report/table/table.h"

struct ws_diff_opts {
	double threshold_percent; /* a slowdown certainly over this is a finding; < 0 = never */
	double min_effect_percent, same_within_percent;
	double run_noise_percent; /* NaN: the default of the backend */
	double confidence; /* confidence level for the number of runs that a sentence recommends */
	bool force;        /* compute ratios even if the work is not the same */
	/* recording i of A and of B are a pair, recorded in a random order: the whole time is
	 * compared by pairs, and the comparison may be repeated after each: docs/dev/referee.md */
	bool paired;
	const char *name[2]; /* names of the sides; NULL: the facts in which they differ */
};
#define WS_DIFF_OPTS_DEFAULT                                                                \
	{                                                                                   \
		.threshold_percent = -1, .min_effect_percent = 1, .same_within_percent = 3, \
		.run_noise_percent = NAN, .confidence = WS_GRADE_CONFIDENCE                 \
	}
/* Noise between recordings of one program on a GPU, in percent of GPU time. For the CPU reference
 * no value is assumed, because it varies too much. Measurements: docs/dev/statistics.md. */
#define WS_RUN_NOISE_GPU_PERCENT 1.0
/* The minimum for whole steps, which may wait for the host, data or copies. */
#define WS_RUN_NOISE_STEP_PERCENT 5.0
/* Additional noise of a GPU time in ns, which dominates for short kernels: statistics.md. */
#define WS_RUN_NOISE_GPU_NS 250

/* Options for grading; on_cpu selects the default noise between runs. */
struct ws_grade_opts ws_grade_opts_of(const struct ws_diff_opts *opts, bool on_cpu);

struct ws_diff_result {
	bool finding;      /* overall is slower than the threshold */
	char verdict[512]; /* the verdict in sentences */
	char cause[256];   /* its sentence with the cause; "" = none */
	char reasons[512]; /* why the work is not the same, joined; "" = it is the same */
	struct ws_comparison overall; /* of steps or elapsed time; basis NONE: there is none */
	struct ws_comparison mean; /* of mean steps, if it certainly differs from that; else NONE */
	double clock_mhz[2];       /* mean of each side; 0 = not recorded */
	size_t copies[2];   /* number of recordings of each side that are copies of another one */
	size_t pairs_apart; /* pairs that are left out because the clocks of their runs differed */
};

/* The recordings to compare. Free with ws_sides_free; NULL is legal. */
struct ws_sides;
struct ws_sides *ws_sides_new(void);
/* Traces added from here on are for a referee. */
void ws_sides_collect_evidence(struct ws_sides *s);
/* Adds a trace to side 0 (A) or 1 (B), copying all data that a comparison needs; is_shown: the
 * first trace of a side, with its first screen. m and its rows may be freed afterwards. Returns
 * false, and ignores the trace, if the side already has a recording of the same bytes. */
bool ws_sides_add(struct ws_sides *s, int side, const struct ws_model *m,
                  struct ws_joined_rows *rows, bool is_shown);
void ws_sides_free(struct ws_sides *s);

/*
 * Makes the tables of WS_DIFF_TABLES. Both sides must have a recording. Call only once. opts NULL:
 * the defaults.
 */
enum ws_status ws_diff_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                            struct ws_report **out, struct ws_diff_result *result,
                            struct ws_err *err);

/* Adds the relations for the queries of these tables; d NULL: queries are only checked. */
struct ws_query;
struct ws_diff;
void ws_diff_relations(struct ws_query *q, struct ws_diff *d);

/*
 * An A/A test compares recordings of one program with each other: how often would a comparison give
 * a false alarm, and which differences could it detect?
 */

/*
 * Makes the tables of WS_AA_TABLES for the recordings of side 0; USAGE for fewer than two. Call
 * only once. opts NULL: the defaults. *verdict: the verdict as a sentence.
 */
enum ws_status ws_aa_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                          struct ws_report **out, char verdict[512], struct ws_err *err);

/*
 * A gate for a merge: candidate runs against the baseline of the same workload and device.
 * Rules in words: docs/gate.md.
 */

/* X(NAME, displayed name) */
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

/* Largest probability by chance of a difference that counts: of pairs of equal programs, under one
 * in a hundred may be graded slower. */
#define WS_GATE_CHANCE 0.01

/* Options of a comparison for a gate. */
struct ws_diff_opts ws_gate_diff_opts(void);

#define WS_GATE_NO_DEVICE "unknown-device"
/* Key of the runs of a gate: folder names of letters, digits and '-'. */
struct ws_gate_key {
	char workload[128], device[64];
};
/* workload: its name; NULL: from the trace, else from its file's name. */
void ws_gate_key_of(const struct ws_model *m, const char *path, const char *workload,
                    struct ws_gate_key *out);

/* Is this a valid date, YYYY-MM-DD? */
bool ws_gate_is_date(const char *text);

/* A line of the file of accepted slowdowns. */
struct ws_gate_accepted {
	char last_day[11];              /* YYYY-MM-DD, the last day */
	char workload[128], device[64]; /* patterns with * and ? */
	double percent;
	char reason[200];
};
/* Parses a complete line without its line end; USAGE if it is invalid. */
enum ws_status ws_gate_accepted_read(const char *line, struct ws_gate_accepted *out,
                                     struct ws_err *err);

struct ws_gate_judgement {
	enum ws_gate_outcome outcome;
	unsigned runs_needed; /* runs per side that would settle it; 0 = unknown */
	char words[768];      /* the reason in sentences */
	char accepted[256];   /* the sentence about an accepted slowdown; "" = none */
};
/* opts: the options of the comparison; accepted may be NULL; today: YYYY-MM-DD. */
void ws_gate_judge(const struct ws_diff_result *result, const struct ws_diff_opts *opts,
                   const struct ws_gate_key *key, const struct ws_gate_accepted *accepted,
                   size_t naccepted, const char *today, struct ws_gate_judgement *out);

/*
 * A referee: pairs of runs of two programs, recorded by turns. Is B proven to be faster, and did it
 * do the same work? docs/dev/referee.md.
 */

/* X(NAME, displayed name) */
#define WS_REFEREE_LIST(X)                        \
	X(PROVEN, "PROVEN")                       \
	X(SAME, "SAME")                           \
	X(NOT_THE_SAME_WORK, "NOT THE SAME WORK") \
	X(IMPOSSIBLE, "IMPOSSIBLE")               \
	X(CANNOT_TELL, "CANNOT TELL")
enum ws_referee_verdict {
#define X(NAME, name) WS_REFEREE_##NAME,
	WS_REFEREE_LIST(X)
#undef X
};

struct ws_referee_result {
	size_t pairs_failed; /* set by the caller: pairs with a run that failed */
	enum ws_referee_verdict verdict;
	bool is_finding;  /* B is slower, or what it claims is not so */
	char words[2048]; /* the verdict in sentences */
};

/* Options of a comparison for a referee. */
struct ws_diff_opts ws_referee_diff_opts(void);
/* Makes the tables of WS_REFEREE_TABLES for pairs: recording i of side 0 with recording i of side
 * 1. folder: displayed. Call only once. */
enum ws_status ws_referee_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                               const char *folder, struct ws_report **out,
                               struct ws_referee_result *result, struct ws_err *err);
