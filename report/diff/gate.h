/*
 * A gate for a merge: candidate runs against the baseline of the same workload and device.
 * Rules in words: docs/gate.md.
 */
#pragma once

#include "report/diff/diff.h"

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
