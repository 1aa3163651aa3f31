/*
 * The time of the step with changes that a user asks for, such as "class=gemm x0.5". What a user
 * can ask, and what is worked out: docs/reference/whatif.md
 */
#pragma once

#include "report/replay/replay.h"

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
