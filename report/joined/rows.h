/*
 * Joined rows of a trace, in unnamed temporary files: a pass writes them in the order in which it
 * completes them, and analyses read them in another order.
 */
#pragma once

#include "report/pass/pass.h"

/* Kernels by device, then start; ranges by number. Starts as all zeros. */
struct ws_joined_rows {
	struct ws_spill kernels, calls, ranges;
	struct ws_spill op_ranges; /* cache of ws_joined_rows_op_range, created on demand */
	size_t nkernels, ncalls, nranges;
	size_t nkinds;    /* of kernels */
	bool calls_by_id; /* correlation ids of consecutive calls ascend */
	int64_t longest_call_ns;
	struct {
		size_t kernels;
		int64_t gpu_ns;
	} in_scope[WS_SCOPES]; /* [WS_SCOPE_ALL]: none */
	/* number of a step in ranges -> step of the model, WS_NONE; the same number -> row of the
	 * step's range */
	uint32_t *step_of, *range_of;
	size_t nsteps_of;
};

/* Reads rows in one pass (ws_pass_run) and checks their soundness (below). Free both, rows first,
 * also after a failure. */
enum ws_status ws_joined_rows_read(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                                   const char *name, const struct ws_model_opts *opts,
                                   struct ws_model **m, struct ws_err *err);
void ws_joined_rows_free(struct ws_joined_rows *rows);
/* Row i; valid until the next call for this kind of row. */
static inline const struct ws_joined_kernel *ws_joined_rows_kernel(struct ws_joined_rows *rows,
                                                                   size_t i)
{
	return ws_spill_row(&rows->kernels, sizeof(struct ws_joined_kernel), i);
}
/* NULL for WS_NONE. Ranges are numbered by their begin, so parents come before their children. */
static inline const struct ws_joined_range *ws_joined_rows_range(struct ws_joined_rows *rows,
                                                                 uint32_t number)
{
	return number == WS_NONE
	               ? NULL
	               : ws_spill_row(&rows->ranges, sizeof(struct ws_joined_range), number);
}
/* For each row i in order, with a pointer to it, which is valid until the next one. */
#define WS_EACH_ROW(type, get, index_type, n, rows, i, row)                                      \
	for (index_type i = 0, row##_goes_on = 1; row##_goes_on && i < (n); i++)                 \
		for (const struct type *row = (row##_goes_on = 0, get(rows, i)); !row##_goes_on; \
		     row##_goes_on = 1)
#define WS_EACH_KERNEL(rows, i, k) \
	WS_EACH_ROW(ws_joined_kernel, ws_joined_rows_kernel, size_t, (rows)->nkernels, rows, i, k)
#define WS_EACH_CALL(rows, i, c) \
	WS_EACH_ROW(ws_joined_call, ws_joined_rows_call, uint32_t, (rows)->ncalls, rows, i, c)
#define WS_EACH_RANGE(rows, i, r) \
	WS_EACH_ROW(ws_joined_range, ws_joined_rows_range, uint32_t, (rows)->nranges, rows, i, r)
/* Reorders the rows by thread, then begin. After this the number of a range is not its row any
 * more. */
void ws_joined_rows_ranges_by_thread(struct ws_joined_rows *rows, const struct ws_model *m);
/* By begin, then thread, then number, for qsort. */
struct ws_range_begin {
	int64_t start_ns;
	uint32_t thread, number;
};
int ws_range_begin_compare(const void *a, const void *b);
/* The innermost annotated operation among a range and its ancestors; WS_NONE. */
uint32_t ws_joined_rows_op_range(struct ws_joined_rows *rows, uint32_t number);
/* Facts about the work of a range, or of the operation around it; NULL. */
static inline const struct ws_op_facts *ws_joined_range_op(const struct ws_model *m,
                                                           const struct ws_joined_range *range)
{
	return range->context->op == WS_NONE ? NULL : &m->ops.op[range->context->op];
}
/* The call with a number stored in a kernel or other work; NULL for WS_NONE. Calls are in the order
 * of their returns. */
static inline const struct ws_joined_call *ws_joined_rows_call(struct ws_joined_rows *rows,
                                                               uint32_t number)
{
	return number == WS_NONE
	               ? NULL
	               : ws_spill_row(&rows->calls, sizeof(struct ws_joined_call), number);
}
/* The innermost range around the launch of a kernel, also of a captured one; WS_NONE. */
static inline uint32_t ws_joined_launched_in(struct ws_joined_rows *rows,
                                             const struct ws_joined_kernel *k)
{
	const struct ws_joined_call *call = ws_joined_rows_call(rows, k->call);

	return k->kind->is_captured ? call ? call->range : WS_NONE : k->range;
}
/* The ranges that hold the work of a call besides the work's own range and those around that:
 * ranges that cross the call, and of captured work the ranges around the launch of its graph. A
 * list in the model's crossings, WS_NONE = none. */
static inline uint32_t ws_crossing_of(const struct ws_model *m, uint32_t call, bool is_captured)
{
	const uint32_t *first = is_captured ? m->attribution.launched : m->attribution.first;

	return first && call != WS_NONE ? first[call] : WS_NONE;
}
/* … of a kernel. */
static inline uint32_t ws_joined_crossing(const struct ws_model *m,
                                          const struct ws_joined_kernel *k)
{
	return ws_crossing_of(m, k->call, k->kind->is_captured);
}
/* A framework's data about a kernel as a collective operation; NULL. */
static inline const struct ws_collective *ws_joined_collective(const struct ws_model *m,
                                                               const struct ws_joined_kernel *k)
{
	return k->kind->collective == WS_NONE ? NULL : &m->collectives[k->kind->collective];
}
/* The step of the model that a range is, or in which it is nested; WS_NONE. */
static inline uint32_t ws_joined_range_step(const struct ws_joined_rows *rows,
                                            const struct ws_joined_range *range)
{
	return range->step < rows->nsteps_of ? rows->step_of[range->step] : WS_NONE;
}
/* The step of work of a process, and thread (WS_NONE: not known), from start to end, inside a range
 * (NULL: outside ranges): the step of the range, else the step of another thread during which it
 * happened; WS_NONE. */
uint32_t ws_joined_step_at(const struct ws_joined_rows *rows, const struct ws_model *m,
                           const struct ws_joined_range *range, uint32_t process, uint32_t thread,
                           int64_t start_ns, int64_t end_ns);
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
 * The call that launched a kernel has its process and correlation id. If a process used an id twice
 * (it ran exec), it is the last of these calls that began before the kernel; if none did (clocks
 * disagree), the first.
 */

/* A call, or a search key. Calls are in this order. */
struct ws_call_key {
	uint64_t correlation;
	uint32_t process; /* number of the process, not its pid */
	uint32_t call;    /* number of its row */
	int64_t start_ns; /* for a search: begin of the kernel, INT64_MAX if unknown */
};

/* Calls that have an id. Starts as all zeros. */
struct ws_launches {
	struct ws_joined_rows
	        *rows; /* rows of calls, if they are in the order of their ids; else NULL */
	const struct ws_model *m; /* the model of these rows */
	struct ws_spill keys;     /* otherwise keys of all calls, sorted */
	size_t n;
	size_t next; /* after the last result, as kernels mostly come in the order of launches */
};

/* Makes room for `calls` calls. Free with ws_launches_free. */
void ws_launches_open(struct ws_launches *l, uint64_t calls);
void ws_launches_add(struct ws_launches *l, const struct ws_call_key *call);
/* Alternative to adding calls: uses the calls of joined rows, sorting keys if they are not in the
 * order of their ids. */
void ws_launches_of_rows(struct ws_launches *l, struct ws_joined_rows *rows,
                         const struct ws_model *m);
/* Call after all calls were added. */
void ws_launches_sort(struct ws_launches *l);
/* The row of a call; WS_NONE if no call has the process and id, and for id 0, which means none. */
uint32_t ws_launches_find(struct ws_launches *l, struct ws_call_key kernel);
void ws_launches_free(struct ws_launches *l);

/* --- batches --------------------------------------------------------------------------------- */

/* FLOPs of attention in the steps of a server. They need the number of query-key pairs of the
 * batch, which is in the name of the step, not in the inputs of operations. */

/* Call after ranges are rows and operations have their ranges. */
void ws_batches_find_flops(struct ws_joined_rows *rows, struct ws_model *m);

/* --- phases from the links of a framework ----------------------------------------------- */

/* The step of a framework's operation, WS_NONE: none. Same rule as for calls:
 * docs/dev/statistics.md. */
uint32_t ws_step_of_op(const struct ws_model *m, struct ws_joined_rows *rows, uint32_t op);

/* --- step candidates ------------------------------------------------------------------------- */

/*
 * For a trace without steps: ranges that may be steps, and the period of its kernels.
 * docs/reference/tables.md, Steps.
 */

#define WS_STEP_CANDIDATES 3
struct ws_step_candidate {
	char *pattern;        /* for --step: the name with * instead of its numbers */
	uint64_t count;       /* number of steps that --step with this pattern finds */
	struct ws_span *span; /* interval of each step on its thread */
	double mean_ns;       /* mean length of their windows: see ws_step_candidates */
	int64_t gpu_ns;       /* GPU time of kernels launched in such ranges, without warm-up */
	double percent;       /* share of the GPU time of all kernels outside warm-up */
};

struct ws_step_candidates {
	struct ws_step_candidate best[WS_STEP_CANDIDATES]; /* `--step auto` takes the first */
	size_t n;
	/* without candidates: at least 90 % of the kernels equal the kernel `period` places
	 * earlier */
	uint64_t period, times; /* 0: there is no such period */
};

/* Patterns are texts of the arena. */
void ws_step_candidates_find(const struct ws_model *m, struct ws_joined_rows *rows,
                             struct ws_arena *arena, struct ws_step_candidates *out);

/*
 * Checks records against physical laws while kernels are joined. All checks of soundness are here,
 * between reading and reporting. docs/dev/soundness.md
 */

/* The kind of device work that a call starts; a call captured into a graph starts none. */
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

/* The last kernel of each stream, to compare with the next one. */
struct ws_judged_streams {
	uint32_t *of_config; /* by configuration: index into last */
	struct ws_judged_kernel {
		int64_t start_ns, end_ns;
		uint64_t correlation;
		size_t row;
		uint32_t config, step;
		bool is_known, is_of_host;
	} * last;
};
void ws_judged_streams_begin(struct ws_judged_streams *s, const struct ws_model *m,
                             struct ws_arena *arena);
/* Is this a duplicate of the last kernel of its stream? Kernels must come in the order of their
 * begins. */
bool ws_judged_streams_has(const struct ws_judged_streams *s, const struct ws_model *m,
                           const struct ws_pass_kernel *kernel);
/* Makes it the last kernel of its stream. Returns true, and the previous one, if the recorded end
 * of the previous one is impossible. */
bool ws_judged_streams_add(struct ws_judged_streams *s, const struct ws_pass_kernel *kernel,
                           uint32_t step, size_t row, struct ws_judged_kernel *overrun);

/* Set these members; all others start as zero. */
struct ws_judge {
	struct ws_joined_rows *rows;
	struct ws_model *m;
	/* the time of a kernel is wrong: its row gets no time */
	void (*forget_time)(void *ctx, size_t row);
	void *ctx;
	/* --- */
	struct ws_judged_streams streams;
	uint64_t *has_work;       /* one bit per row of calls */
	uint64_t *before, *timed; /* by device: kernels before their launch, kernels with a time */
	int64_t *lead_ns;         /* by device: largest such lead */
	bool *spoilt;             /* by step: it contains a record that breaks a law */
	struct ws_arena arena;
};

/* Call after all calls and ranges are rows and steps are numbered. */
void ws_judge_begin(struct ws_judge *j);
/* Removes duplicates of the model's copies. Call before they are joined. */
void ws_judge_drop_equal_work(struct ws_judge *j);
/* Checks a joined copy. */
void ws_judge_work(struct ws_judge *j, const struct ws_work *w);
/* Returns false if this kernel is a duplicate. Call in the order of begins, before the kernel
 * becomes a row. */
bool ws_judge_counts(struct ws_judge *j, const struct ws_pass_kernel *kernel);
/* Checks a kernel that becomes a row. call: its launch or NULL. Returns the row of an earlier
 * kernel whose end is wrong, SIZE_MAX: none. */
size_t ws_judge_kernel(struct ws_judge *j, const struct ws_pass_kernel *from,
                       const struct ws_joined_call *call, const struct ws_joined_kernel *k,
                       size_t row);
/* Call after all kernels, when the model has its time. Marks steps with records that break a law as
 * left out. */
void ws_judge_end(struct ws_judge *j);
void ws_judge_free(struct ws_judge *j);
