/*
 * Joined rows of a trace. They lie in files without names: they come in the order in which a pass
 * is done with them, and are read in another.
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/base/order.h"
#include "report/base/spans.h"
#include "report/base/spill.h"
#include "report/model/model.h"
#include "report/pass/pass.h"

/* Kernels by device, then start; ranges by number. Starts as all zeros. */
struct ws_joined_rows {
	struct ws_spill kernels, calls, ranges;
	struct ws_spill op_ranges; /* of ws_joined_rows_op_range, once it is asked for some */
	size_t nkernels, ncalls, nranges;
	size_t nkinds;    /* of kernels */
	bool calls_by_id; /* each has a greater correlation id than the one before */
	int64_t longest_call_ns;
	struct {
		size_t kernels;
		int64_t gpu_ns;
	} in_scope[WS_SCOPES]; /* [WS_SCOPE_ALL]: none */
	/* what ranges name a step by -> the model's step, WS_NONE; … -> its range's row */
	uint32_t *step_of, *range_of;
	size_t nsteps_of;
};

/* Of one pass (ws_pass_run), judged (below). Free both, rows first, also after a failure. */
enum ws_status ws_joined_rows_read(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                                   const char *name, const struct ws_model_opts *opts,
                                   struct ws_model **m, struct ws_err *err);
void ws_joined_rows_free(struct ws_joined_rows *rows);
/* Row i; to be used before the next of its kind is asked for. */
static inline const struct ws_joined_kernel *ws_joined_rows_kernel(struct ws_joined_rows *rows,
                                                                   size_t i)
{
	return ws_spill_row(&rows->kernels, sizeof(struct ws_joined_kernel), i);
}
/* NULL for WS_NONE. Ranges are numbered by their begin: parents before what is in them. */
static inline const struct ws_joined_range *ws_joined_rows_range(struct ws_joined_rows *rows,
                                                                 uint32_t number)
{
	return number == WS_NONE
	               ? NULL
	               : ws_spill_row(&rows->ranges, sizeof(struct ws_joined_range), number);
}
/* … and after this rows i = 0, 1, … are by thread, then begin; a number is no longer a place. */
void ws_joined_rows_ranges_by_thread(struct ws_joined_rows *rows, const struct ws_model *m);
/* By begin, then thread, then number, for qsort. */
struct ws_range_begin {
	int64_t start_ns;
	uint32_t thread, number;
};
int ws_range_begin_compare(const void *a, const void *b);
/* The innermost of a range and those around it that is an annotated operation; WS_NONE. */
uint32_t ws_joined_rows_op_range(struct ws_joined_rows *rows, uint32_t number);
/* What a range, or the operation around it, tells of its work; NULL. */
static inline const struct ws_op_facts *ws_joined_range_op(const struct ws_model *m,
                                                           const struct ws_joined_range *range)
{
	return range->context->op == WS_NONE ? NULL : &m->ops.op[range->context->op];
}
/* The call that a kernel or other work names; NULL for WS_NONE. Calls stand in the order in which
 * they returned. */
static inline const struct ws_joined_call *ws_joined_rows_call(struct ws_joined_rows *rows,
                                                               uint32_t number)
{
	return number == WS_NONE
	               ? NULL
	               : ws_spill_row(&rows->calls, sizeof(struct ws_joined_call), number);
}
/* The ranges that cross its call: a list in the model's crossings, WS_NONE = none. */
static inline uint32_t ws_joined_crossing(const struct ws_model *m,
                                          const struct ws_joined_kernel *k)
{
	const uint32_t *first = m->attribution.first;

	return first && k->call != WS_NONE ? first[k->call] : WS_NONE;
}
/* What a framework told of a kernel as a collective operation; NULL. */
static inline const struct ws_collective *ws_joined_collective(const struct ws_model *m,
                                                               const struct ws_joined_kernel *k)
{
	return k->kind->collective == WS_NONE ? NULL : &m->collectives[k->kind->collective];
}
/* The model's step that a range is, or lies in by the ranges around it; WS_NONE. */
static inline uint32_t ws_joined_range_step(const struct ws_joined_rows *rows,
                                            const struct ws_joined_range *range)
{
	return range->step < rows->nsteps_of ? rows->step_of[range->step] : WS_NONE;
}
/* The step of what a process did from start to end in a range, NULL: in none: that of the range,
 * else the one of another thread in whose time it lies; WS_NONE. */
uint32_t ws_joined_step_at(const struct ws_joined_rows *rows, const struct ws_model *m,
                           const struct ws_joined_range *range, uint32_t process, int64_t start_ns,
                           int64_t end_ns);
/* … of a call. */
uint32_t ws_joined_call_step(struct ws_joined_rows *rows, const struct ws_model *m,
                             const struct ws_joined_call *call);
/* The innermost operation of a framework around a call, WS_NONE. */
static inline uint32_t ws_joined_call_op(const struct ws_model *m, const struct ws_joined_call *c)
{
	return ws_cpu_op_around(&m->cpu_ops.tree, c->kind->thread, c->start_ns,
	                        c->start_ns + c->dur_ns);
}

/*
 * The call that launched a kernel: the one of its process with its correlation id. Where a process
 * used an id twice (it ran exec), it is the last of those that began before the kernel; where none
 * did (clocks disagree), the first.
 */

/* A call, or what looks for one. Calls are in this order. */
struct ws_call_key {
	uint64_t correlation;
	uint32_t process; /* number of the process, not its pid */
	uint32_t call;    /* number of its row */
	int64_t start_ns; /* of a kernel: INT64_MAX when unknown */
};

/* Calls that have an id. Starts as all zeros. */
struct ws_launches {
	struct ws_joined_rows *rows; /* calls in the order of their ids, where they are; NULL */
	const struct ws_model *m;    /* … theirs */
	struct ws_spill keys;        /* else all of them, sorted */
	size_t n;
	size_t next; /* behind what was found last: kernels mostly come in the order of their
	              * launches
	              */
};

/* Room for so many calls. Free with ws_launches_free. */
void ws_launches_open(struct ws_launches *l, uint64_t calls);
void ws_launches_add(struct ws_launches *l, const struct ws_call_key *call);
/* Instead of these: the calls of joined rows, in the order of their ids or to be sorted. */
void ws_launches_of_rows(struct ws_launches *l, struct ws_joined_rows *rows,
                         const struct ws_model *m);
/* All were added. */
void ws_launches_sort(struct ws_launches *l);
/* The row of a call; WS_NONE where none has the process and id, and for id 0, which is none. */
uint32_t ws_launches_find(struct ws_launches *l, struct ws_call_key kernel);
void ws_launches_free(struct ws_launches *l);

/* --- batches --------------------------------------------------------------------------------- */

/* FLOPs of attention in the steps of a server, whose names tell how many pairs of query and key a
 * batch has: an operation's inputs do not. */

/* Once ranges are rows and operations know theirs. */
void ws_batches_find_flops(struct ws_joined_rows *rows, struct ws_model *m);

/* --- phases that the links of a framework tell ----------------------------------------------- */

/* The step of a framework's operation, WS_NONE: in none. The rule is that of docs/dev/statistics.md
 * for calls. */
uint32_t ws_step_of_op(const struct ws_model *m, struct ws_joined_rows *rows, uint32_t op);

/* --- step candidates ------------------------------------------------------------------------- */

/*
 * Ranges that may be steps, of a trace in which none is called so; and how often its kernels
 * repeat. docs/reference/tables.md, Steps.
 */

#define WS_STEP_CANDIDATES 3
struct ws_step_candidate {
	char *pattern; /* for --step: the name with * for its numbers */
	uint64_t count;       /* of the steps that --step makes of it */
	struct ws_span *span; /* of each, on its thread */
	double mean_ns;       /* of their windows: see ws_step_candidates */
	int64_t gpu_ns;       /* of kernels launched in such ranges, without warm-up */
	double percent;       /* of the GPU time of all kernels but those of warm-up */
};

struct ws_step_candidates {
	struct ws_step_candidate best[WS_STEP_CANDIDATES]; /* the first is what `auto` takes */
	size_t n;
	/* without candidates: at least 90 % of the kernels are those of `period` kernels earlier */
	uint64_t period, times; /* 0: they do not repeat so */
};

/* Patterns are texts of the arena. */
void ws_step_candidates_find(const struct ws_model *m, struct ws_joined_rows *rows,
                             struct ws_arena *arena, struct ws_step_candidates *out);

/*
 * Judges what a trace says by laws that cannot be broken, while kernels are joined: the one place
 * between what was recorded and what is reported. docs/dev/soundness.md
 */

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
