/*
 * Replay of a step: the earliest times of its host calls and device work that keep what each waits
 * for. All gains are differences of two replays. docs/dev/replay.md
 */
#pragma once

#include <stdbool.h>

#include "report/analysis/idle.h"

/* Device work of the replayed step: a kernel, copy, fill or whole graph. */
struct ws_replay_piece {
	uint32_t row; /* of kernels, else index into the model's work */
	bool is_kernel, is_trial; /* is_trial: launched by a search for algorithms, once */
	uint8_t use;              /* WS_USE_COMPUTE, WS_USE_COLLECTIVE or WS_USE_COPY */
	uint32_t device;          /* index into the model's devices */
	uint32_t stream;          /* number in this replay */
	uint32_t call;            /* that launched it, a row; WS_NONE */
	int64_t start_ns, dur_ns; /* as recorded */
};

static inline int64_t ws_piece_end(const struct ws_replay_piece *piece)
{
	return piece->start_ns + piece->dur_ns;
}

struct ws_replay; /* one step, ready to be played */

/* What is changed. All zeros: nothing. */
struct ws_whatif {
	const double *dur_ns; /* of each piece; NULL: as recorded */
	/* the share of the waits for each cause that goes: 1 all of them, under 0 they grow. HOST
	 * is the host's other work between launches, START the same before the first launch, END
	 * behind the last device work; LAUNCH is what launches cost the host. Those of COMPUTE,
	 * COLLECTIVE and COPY are in dur_ns; UNKNOWN and PAGING stay. */
	double removed[WS_USES];
	bool hidden_waits;   /* the host also waited where it only may have: WS_PERHAPS_… */
	uint32_t graph_path; /* LAUNCH: only in ranges of this path, plus 1; 0: everywhere */
};

/* A stretch of the critical path. */
struct ws_replay_stretch {
	uint32_t piece;  /* WS_NONE: the host's, or a latency */
	uint32_t range;  /* innermost range of the host there, a row; WS_NONE */
	enum ws_use use; /* of a piece, else what the device waited for */
	double ns;
};

/* Did the host wait for the device where no call shows it? */
enum ws_hidden_waits { WS_NO_HIDDEN_WAITS, WS_PERHAPS_HIDDEN_WAITS, WS_HIDDEN_WAITS };

struct ws_replay_facts {
	const char *obstacle;   /* why gains cannot be replayed; NULL: they can */
	uint32_t step;          /* of the model, WS_NONE: the whole window */
	int64_t start_ns;       /* when it begins on the host, from where its path counts */
	double recorded_ns;     /* time of the step */
	double replayed_ns;     /* with nothing changed */
	size_t checked, passed; /* measured steps that were played unchanged; those that agree */
	enum ws_hidden_waits hidden_waits;
	size_t npieces;
	const struct ws_replay_piece *pieces; /* by begin */
};

/* Of the median measured step of the selection, once: it lives as long as sel. Never NULL. */
struct ws_replay *ws_replay_of(const struct ws_model *m, const struct ws_selection *sel);
/* One that may outlive m and sel: then a change has no graph_path. Free with ws_replay_free; NULL
 * is legal. */
struct ws_replay *ws_replay_new(const struct ws_model *m, const struct ws_selection *sel);
void ws_replay_free(struct ws_replay *r);
const struct ws_replay_facts *ws_replay_facts(const struct ws_replay *r);
/* Time of the step with this change, ns; NaN where facts have an obstacle. */
double ws_replay_step_ns(struct ws_replay *r, const struct ws_whatif *change);
/* The critical path of the unchanged step, in the order of time. Its stretches add up to it. NULL
 * where facts have an obstacle. Lives as long as sel. */
const struct ws_replay_stretch *ws_replay_critical_path(struct ws_replay *r, size_t *n);

/*
 * The time of the step with changes that a user asks for, such as "class=gemm x0.5". What a user
 * can ask, and what is worked out: docs/reference/whatif.md
 */

struct ws_whatif_answer {
	const char *change; /* as asked; of several at once all of them */
	double now_ns, then_ns;
	/* where kernels are no known part of their time: at best and at worst; else NaN */
	double least_ns, most_ns;
	const char *reason; /* why there is no answer, or what it rests on; "" */
};

struct ws_whatif_answers {
	struct ws_whatif_answer *answer; /* of several: all at once, then each alone */
	size_t n;
	size_t checked, passed; /* steps, see ws_replay_facts */
	bool has_steps;
};

/* USAGE: it is no change. What only a trace has is not looked at. */
enum ws_status ws_whatif_check(const char *change, struct ws_err *err);
/* Answers sel->whatif, once: they live as long as sel. USAGE: nothing of the trace is what a change
 * names. */
enum ws_status ws_whatif_answer(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_err *err);
/* NULL: nothing was asked. */
const struct ws_whatif_answers *ws_whatif_answers(const struct ws_selection *sel);
