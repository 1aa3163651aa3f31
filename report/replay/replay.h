/*
 * Replay of a step: the earliest times of its host calls and device work under their recorded
 * dependencies. All gains are differences of two replays. docs/dev/replay.md
 */
#pragma once

#include "report/analysis/idle.h"

/* Device work of the replayed step: a kernel, copy, fill or whole graph. */
struct ws_replay_piece {
	uint32_t row;             /* of kernels, else index into the model's work */
	bool is_kernel, is_trial; /* is_trial: launched by a search for algorithms, once */
	uint8_t use;              /* WS_USE_COMPUTE, WS_USE_COLLECTIVE or WS_USE_COPY */
	uint32_t device;          /* index into the model's devices */
	uint32_t stream;          /* number in this replay */
	uint32_t call;            /* row of the call that launched it; WS_NONE */
	int64_t start_ns, dur_ns; /* as recorded */
};

static inline int64_t ws_piece_end(const struct ws_replay_piece *piece)
{
	return piece->start_ns + piece->dur_ns;
}

struct ws_replay; /* one step, ready for replays */

/* A change to replay. All zeros: none. */
struct ws_whatif {
	const double *dur_ns; /* of each piece; NULL: as recorded */
	/* the share of the waits for each cause that goes: 1 all of them, under 0 they grow. HOST
	 * is the host's other work, START that before the first device work of the trace, END that
	 * behind its last; LAUNCH is what launches cost the host. Those of COMPUTE,
	 * COLLECTIVE and COPY are in dur_ns; UNKNOWN, PAGING and SHARED stay. */
	double removed[WS_USES];
	bool hidden_waits;   /* also include waits of the host that are uncertain: WS_PERHAPS_… */
	uint32_t graph_path; /* path + 1 of the ranges to which LAUNCH applies; 0: everywhere */
};

/* A section of the critical path. */
struct ws_replay_stretch {
	uint32_t piece;  /* WS_NONE: time of the host, or a latency */
	uint32_t range;  /* row of the host's innermost range; WS_NONE */
	enum ws_use use; /* use of the piece, else the cause of waiting */
	double ns;
};

/* Did the host wait for the device where no call shows it? */
enum ws_hidden_waits { WS_NO_HIDDEN_WAITS, WS_PERHAPS_HIDDEN_WAITS, WS_HIDDEN_WAITS };

struct ws_replay_facts {
	const char *obstacle;   /* why gains cannot be replayed; NULL: they can */
	uint32_t step;          /* of the model, WS_NONE: the whole window */
	int64_t start_ns;       /* begin of the step on the host, where its path begins */
	double recorded_ns;     /* time of the step */
	double replayed_ns;     /* with nothing changed */
	size_t checked, passed; /* number of measured steps replayed unchanged, and of those that
	                           reproduce the recorded time */
	enum ws_hidden_waits hidden_waits;
	size_t npieces;
	const struct ws_replay_piece *pieces; /* by begin */
};

/* Replay of the median measured step of the selection; computed once and freed with sel. Never
 * NULL. */
struct ws_replay *ws_replay_of(const struct ws_model *m, const struct ws_selection *sel);
/* A replay that may outlive m and sel; graph_path must not be used after that. Free with
 * ws_replay_free; NULL is legal. */
struct ws_replay *ws_replay_new(const struct ws_model *m, const struct ws_selection *sel);
void ws_replay_free(struct ws_replay *r);
const struct ws_replay_facts *ws_replay_facts(const struct ws_replay *r);
/* Time of the step with this change, in ns; NaN if facts have an obstacle. */
double ws_replay_step_ns(struct ws_replay *r, const struct ws_whatif *change);
/* The critical path of the unchanged step, in the order of time. Its stretches add up to it. NULL
 * if facts have an obstacle. Freed with sel. */
const struct ws_replay_stretch *ws_replay_critical_path(struct ws_replay *r, size_t *n);

/*
 * The time of the step with changes given by a user, such as "class=gemm x0.5":
 * docs/reference/whatif.md
 */

struct ws_whatif_answer {
	const char *change; /* as given; for several at once, all of them */
	double now_ns, then_ns;
	/* best and worst case if parts of the kernels' time are unknown; else NaN */
	double least_ns, most_ns;
	const char *reason; /* why there is no answer, or its assumptions; "" */
};

struct ws_whatif_answers {
	struct ws_whatif_answer *answer; /* for several changes: all at once, then each alone */
	size_t n;
	size_t checked, passed; /* steps, see ws_replay_facts */
	bool has_steps;
};

/* Parses a change; returns USAGE if it is invalid. Does not check names that depend on a trace. */
enum ws_status ws_whatif_check(const char *change, struct ws_err *err);
/* Answers sel->whatif; computed once and freed with sel. Returns USAGE if the trace has nothing
 * with the name in a change. */
enum ws_status ws_whatif_answer(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_err *err);
/* NULL without --whatif. */
const struct ws_whatif_answers *ws_whatif_answers(const struct ws_selection *sel);
