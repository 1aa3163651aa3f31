/*
 * Judges what a trace says by laws that cannot be broken, while kernels are joined: the one place
 * between what was recorded and what is reported. docs/dev/soundness.md
 */
#pragma once

#include "report/joined/rows.h"

/* What a call starts on a device; a call that is captured into a graph starts nothing. */
enum ws_launch_role {
	WS_LAUNCHES_NOTHING,
	WS_LAUNCHES_KERNELS, /* or a graph of them */
	WS_LAUNCHES_COPY,
	WS_LAUNCHES_FILL,
	WS_LAUNCH_ROLES,
};
enum ws_launch_role ws_launch_role_of(struct ws_bytes call_name);
/* Does a call of this name launch a kernel or a graph of them? */
static inline bool ws_call_launches(struct ws_bytes name)
{
	return ws_launch_role_of(name) == WS_LAUNCHES_KERNELS;
}
bool ws_call_begins_capture(struct ws_bytes name);
bool ws_call_ends_capture(struct ws_bytes name);

/* The last kernel of each stream, to which the next is compared. */
struct ws_judged_streams {
	uint32_t *of_config; /* by configuration: index into last */
	struct ws_judged_kernel {
		int64_t start_ns, end_ns;
		uint64_t correlation;
		size_t row;
		uint32_t config, step;
		bool is_known;
	} * last;
};
void ws_judged_streams_begin(struct ws_judged_streams *s, const struct ws_model *m,
                             struct ws_arena *arena);
/* Kernels come in the order of their begins. Is this the record of the last one of its stream once
 * more? */
bool ws_judged_streams_has(const struct ws_judged_streams *s, const struct ws_model *m,
                           const struct ws_pass_kernel *kernel);
/* It runs on its stream from now on. True with the last one, where that cannot have ended when it
 * says. */
bool ws_judged_streams_add(struct ws_judged_streams *s, const struct ws_pass_kernel *kernel,
                           uint32_t step, size_t row, struct ws_judged_kernel *overrun);

/* Starts with these, all else zero. */
struct ws_judge {
	struct ws_joined_rows *rows;
	struct ws_model *m;
	/* the time of a kernel is not believed: its row stays without one */
	void (*forget_time)(void *ctx, size_t row);
	void *ctx;
	/* --- */
	struct ws_judged_streams streams;
	uint64_t *has_work;       /* bits, by row of calls */
	uint64_t *before, *timed; /* by device: kernels before their launch, of so many … */
	int64_t *lead_ns;         /* … by so much at most */
	bool *spoilt;             /* by step: it holds what breaks a law */
	struct ws_arena arena;
};

/* All calls and ranges are told, and steps have their numbers. */
void ws_judge_begin(struct ws_judge *j);
/* Before the model's copies are joined: equal ones go. */
void ws_judge_drop_equal_work(struct ws_judge *j);
/* A copy that was joined. */
void ws_judge_work(struct ws_judge *j, const struct ws_work *w);
/* Does this kernel count? Else its record is that of one before it. In the order of begins, before
 * it is a row. */
bool ws_judge_counts(struct ws_judge *j, const struct ws_pass_kernel *kernel);
/* It becomes a row. call: its own, NULL. Returns the row of another whose end is not believed,
 * SIZE_MAX: none. */
size_t ws_judge_kernel(struct ws_judge *j, const struct ws_pass_kernel *from,
                       const struct ws_joined_call *call, const struct ws_joined_kernel *k,
                       size_t row);
/* All were told, and the model has its time: steps that hold what breaks a law are left out. */
void ws_judge_end(struct ws_judge *j);
void ws_judge_free(struct ws_judge *j);
