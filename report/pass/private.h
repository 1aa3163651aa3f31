/*
 * What the parts of a pass share: pass.c feeds the rows, take.c takes them out of blocks, join.c
 * joins them.
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/model/load.h"
#include "report/model/model.h"
#include "report/pass/pass.h"

/* --- a framework's operations (join.c) -------------------------------------------------------- */

/*
 * What a framework recorded of its operations, beside the rows of a pass. The
 * operations of a trace stand in the model as a whole: a link may lead to any
 * of them. Calls of modules are ranges; both are given to the join in order of
 * time, like rows of the file. What needs all rows, the phases of operations
 * and what backward inherits, is added to the joined rows when they are there
 * (report/joined).
 */

/* Starts as all zeros; free with ws_framework_free. */
struct ws_framework {
	bool is_present;
	struct ws_idmap op_of, collective_of; /* by correlation id, as the file links them */
	struct ws_module_event *events;
	uint32_t *op_order; /* by end */
	size_t nevents, nops;
	size_t next_event, next_op; /* before these everything was given to the join */
	struct ws_arena arena;
};

/* Has the trace any of it? */
bool ws_framework_is_in(const struct ws_trace_reader *r);
/* After the dictionaries and device work, whose operations it sets where a link tells them. */
enum ws_status ws_framework_load(struct ws_framework *f, struct ws_loader *l, struct ws_err *err);
void ws_framework_free(struct ws_framework *f);

/* --- rows ------------------------------------------------------------------------------------- */

/* Where a row stands in the file: block << 16 | row. What happened at one time stays in this order.
 */
static inline uint64_t ws_pass_at(uint32_t block, uint32_t row)
{
	return (uint64_t)block << 16 | row;
}

/* Of a call: with what happens at one time, it stands behind events. */
#define WS_PASS_AT_CALL (UINT64_C(1) << 62)

#define WS_PASS_ROW_MAX_BYTES 64u

/* The type of a row that is an operation of a framework, joined like a call. */
#define WS_PASS_CPU_OP (WS_THREAD_EVENT_API + 1)

/* What an event or a call is. Names are without the numbers that differ from one to the next. */
struct ws_event_descriptor {
	uint32_t type; /* enum ws_nvtx_type, WS_THREAD_EVENT_API or WS_PASS_CPU_OP */
	uint32_t thread, process;
	uint32_t domain, name; /* texts */
	uint32_t payload;      /* row, WS_NONE */
	uint32_t failed;       /* of a call */
};

/* An event, or a call, which is joined when it returns. */
struct ws_pass_row {
	int64_t time_ns; /* of a call: its end */
	uint64_t position;
	union {
		int64_t start_ns;  /* of a call */
		uint32_t recorded; /* of an event: text of its whole name; for exports, its number
		                      in ws_recorded_ranges.events */
	};
	uint64_t id; /* of a start or an end: the range; of a call: its correlation */
	struct ws_event_descriptor description;
};

/*
 * NVTX ranges that are open, and those that a range inside them still needs. How many these are
 * depends on what is open, not on the length of the trace.
 *
 * Events and calls come in order of time. The path of a range is known when it begins, while ranges
 * of a thread nest; if they cross, or if a range ends on another thread, the order of ends must be
 * known before (struct ws_live_ends).
 */

struct ws_open_range {
	int64_t start_ns, end_ns; /* end_ns of a closed one */
	uint64_t number;          /* of its begin: the later, the greater */
	struct ws_range_context *context;
	uint32_t parent; /* WS_NONE for an outermost one; lives as long as this */
	/* the ranges of its thread that began next and before it, among those that are open or
	 * ended at this moment; below: WS_NONE for the first */
	uint32_t above, below;
	uint32_t ended; /* of a closed one: the range that closed before it, see ws_live_thread */
	uint32_t refs;  /* how many need it: itself while it is open, and its children */
	uint32_t op;    /* the innermost operation around it, or itself; WS_NONE */
	uint32_t step;  /* number of the step around it, WS_NONE */
	uint32_t recorded; /* text: its name as recorded */
	uint8_t counted;   /* an operation without one inside */
};

/* What the pass does when a range begins or ends. A range begins with the values of the range
 * around it in the fields from op on; these functions may change them. */
struct ws_live_events {
	/* a context is new: fill its fields that are still 0 */
	void (*look)(void *ctx, struct ws_range_context *context);
	/* a range begins */
	void (*begin)(void *ctx, uint32_t range);
	/* a range has ended, or the trace has and it is open */
	enum ws_status (*close)(void *ctx, uint32_t range, int open, struct ws_err *err);
};

struct ws_live_thread {
	/* the range that began last, of those that are open or ended at ended_ns: a call that ends
	 * at ended_ns lies in these, too */
	uint32_t last;
	uint32_t nlisted; /* how many ranges that list has: last and those below it */
	uint32_t ended;   /* the range that ended last, of those that ended at ended_ns */
	/* while ranges nest: the range around what begins now. If ranges cross: that range, or one
	 * inside it that is still open */
	uint32_t innermost;
	int64_t ended_ns;
	bool crosses; /* some of its ranges cross, at any time; set once ends are known */
};

/* The order in which ranges end, found by a pass of its own before the others. */
struct ws_live_ends {
	bool known; /* false: this is that pass, in which parents do not matter */
	/* by number of the range: a lower rank ends earlier. WS_NONE: it never ends; of two such
	 * ranges the later one lies in the earlier */
	uint32_t *rank;
};
static inline bool ws_live_ends_before(const struct ws_live_ends *e, uint64_t a, uint64_t b)
{
	return e->rank[a] != e->rank[b] ? e->rank[a] < e->rank[b] : a > b;
}

/* The ranges that are open. Set events, ctx and the arena of contexts, and all else to zero; free
 * with ws_live_free. */
struct ws_live_ranges {
	const struct ws_live_events *events;
	void *ctx;
	struct ws_arena *arena;
	struct ws_open_range *range;
	size_t nranges, capacity;
	uint32_t *free_slots;
	size_t nfree, free_capacity;
	struct ws_range_pairs pairs;
	struct ws_path_table paths;
	struct ws_range_context **contexts; /* by number, from 1 on */
	size_t ncontexts, contexts_capacity;
	struct ws_strtab context_of; /* struct context_key -> number */
	struct ws_live_thread *threads;
	size_t nthreads;
	uint64_t begun, open_at_end;
	uint64_t unmatched_pops, unmatched_ends; /* ends without a begin */
	const struct ws_live_ends *ends;         /* NULL: ranges nest */
	/* Ranges that another thread ended, at late_ns: they end after everything else that
	 * happens on their own thread at late_ns. number << 32 | range */
	uint64_t *late;
	size_t nlate, late_capacity;
	int64_t late_ns;
	uint64_t cross_thread; /* how many ranges another thread ended */
};

void ws_live_free(struct ws_live_ranges *l);

struct ws_pass_mark {
	uint64_t position;
	uint32_t text;
};

/* A step in the making. */
struct ws_pass_step {
	struct ws_model_step step;
	uint32_t live; /* its range, while it is open */
	uint8_t open;
	uint8_t is_whole_warm_up; /* a range `warm-up`, which is a step if no step lies in it */
	uint8_t has_step;
};

/* A range that tells where an iteration of a training begins or ends: an optimizer's step, which
 * instance steps (in it), gradients set to zero, or the loading of the next batch. In the order in
 * which they end. */
struct ws_pass_iteration_mark {
	int64_t start_ns, end_ns;
	uint32_t thread, name;
	bool steps, is_instance, loads_data;
};

/* Rows that came and are not done, in order of time once sorted. A row begins with its time and
 * its place. */
struct ws_pass_rows {
	uint8_t *rows;
	size_t row_size;
	size_t first, n, capacity; /* rows first .. n - 1 */
	uint8_t unsorted;
};
/* Room for n more at the end. */
void *ws_pass_rows_reserve(struct ws_pass_rows *r, size_t n);
/* The first n of those were filled. unsorted: not each of them stands behind the one before. */
void ws_pass_rows_filled(struct ws_pass_rows *r, size_t n, bool unsorted);

/* What a row begins with, and is sorted by. */
struct ws_pass_when {
	int64_t time_ns;
	uint64_t position;
};
static inline bool ws_pass_is_before(struct ws_pass_when a, struct ws_pass_when b)
{
	return a.time_ns < b.time_ns || (a.time_ns == b.time_ns && a.position < b.position);
}
void ws_pass_rows_sort(struct ws_pass_rows *r);
/* None, with room for n. */
void *ws_pass_rows_begin(struct ws_pass_rows *r, size_t row_size, size_t n);
/* Those of `more`, which are in order, wait, too; more has what memory is not needed any more. */
void ws_pass_rows_merge(struct ws_pass_rows *waiting, struct ws_pass_rows *more);

struct ws_pass {
	struct ws_model *m;
	const struct ws_joined_sink *sink;
	struct ws_loader l;
	/* --- what is taken out of blocks --- */
	bool has_dur; /* kernels of this trace have durations */
	struct ws_pass_mark *marks;
	size_t nmarks, marks_capacity;
	int64_t kernel_ns;                   /* a sum that must not overflow */
	int64_t first_ns, last_ns;           /* first and last moment of any row */
	uint64_t taken_blocks;
	struct ws_pass_rows taken;           /* of the block that is taken, in order */
	struct ws_pass_rows rows;            /* those that wait: calls and events, then kernels */
	bool joins;                          /* else rows are told as they come, without times */
	struct ws_recorded_ranges *recorded; /* of events without a join; NULL */
	struct ws_strtab recorded_of;        /* an event -> its number there, plus 1 */
	/* --- of the join --- */
	struct ws_strtab call_kind_of; /* name, thread, failed -> number, from 1 on */
	struct ws_joined_call_kind *
	        *call_kinds; /* by number - 1: one kind for each value of the marks */
	size_t call_kinds_capacity;
	struct ws_framework framework;
	struct ws_live_ranges live;
	struct ws_live_ends ends; /* of those that cross */
	struct ws_arena ends_arena;
	struct ws_pass_step *steps;
	size_t nsteps, steps_capacity;
	struct ws_pass_iteration_mark *iteration_marks;
	size_t niteration_marks, iteration_marks_capacity;
	/* start/end ranges in which a call may still end: they hold what their process does */
	struct ws_process_range {
		uint64_t number;
		int64_t start_ns, end_ns;
		uint32_t thread, process;
	} * process_ranges;
	size_t nprocess_ranges, process_ranges_capacity;
	int64_t range_ns, flops, bytes; /* sums that must not overflow */
};

/* --- take.c ----------------------------------------------------------------------------- */

/* The rows of a block, into p->taken: struct ws_pass_kernel, or struct ws_pass_row. */
enum ws_status ws_pass_take_kernels(struct ws_pass *p, const struct ws_block_rows *b,
                                    uint32_t block, struct ws_err *err);
enum ws_status ws_pass_take_thread_rows(struct ws_pass *p, const struct ws_block_rows *b,
                                        uint32_t block, struct ws_err *err);
#define WS_PASS_EVENT_COLUMNS                                                         \
	(WS_COLUMN(nvtx, time_ns) | WS_COLUMN(nvtx, thread) | WS_COLUMN(nvtx, type) | \
	 WS_COLUMN(nvtx, domain) | WS_COLUMN(nvtx, name) | WS_COLUMN(nvtx, range) |   \
	 WS_COLUMN(nvtx, payload))
/* Those that begin and end ranges, of p->recorded marks, too, to the rows of struct ws_pass_row,
 * not in order. */
enum ws_status ws_pass_take_events(struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                                   struct ws_pass_rows *to, struct ws_err *err);
/* Of a block of such events: is one of a start, or a push on a thread that has pushes of another
 * domain? domain_of: thread -> domain. */
void ws_pass_look_for_crossings(struct ws_pass *p, const struct ws_block_rows *b,
                                struct ws_idmap *domain_of, bool *found);

/* When calls and kernels happened, or kernels alone, to p->first_ns and p->last_ns. */
enum ws_status ws_pass_see_times(struct ws_pass *p, bool of_calls, struct ws_err *err);
static inline void ws_pass_see_time(struct ws_pass *p, int64_t start_ns, int64_t end_ns)
{
	p->first_ns = start_ns < p->first_ns ? start_ns : p->first_ns;
	p->last_ns = end_ns > p->last_ns ? end_ns : p->last_ns;
}

/* --- iterations.c ----------------------------------------------------------------------- */

/* A range ended whose context has marks_iteration. */
void ws_pass_take_iteration_mark(struct ws_pass *p, const struct ws_open_range *r);
/* Is some text of the trace the name of a step, or of an optimizer's step? */
bool ws_pass_names_steps(const struct ws_model *m);
/* Before the join: m->step_module, of a program that neither names its steps nor trains. */
void ws_pass_find_step_module(struct ws_pass *p);
/* Of a trace without steps: adds to m->steps, which has room for one a mark and module call. */
void ws_pass_find_iterations(struct ws_pass *p);
/* Which sorted steps contain an evaluation, or read a prompt, and so are none that is measured. */
void ws_pass_set_steps_apart(struct ws_pass *p);

/* Each event that begins or ends a range, of the framework's, too, in order of time; of p->recorded
 * marks, too. */
typedef enum ws_status (*ws_pass_event_fn)(void *ctx, const struct ws_pass_row *row,
                                           struct ws_err *err);
enum ws_status ws_pass_each_event(struct ws_pass *p, ws_pass_event_fn fn, void *ctx,
                                  struct ws_err *err);

/* --- join.c ----------------------------------------------------------------------------- */

/* Where ranges may cross: a first look at when they end, p->ends, which p->live has from now on. */
enum ws_status ws_pass_read_ends(struct ws_pass *p, struct ws_err *err);

/* What rows name a range by. */
static inline uint32_t ws_pass_range_number(const struct ws_pass *p, uint32_t range)
{
	return range == WS_NONE ? WS_NONE : (uint32_t)p->live.range[range].number;
}

static inline uint8_t ws_pass_range_marks(const struct ws_pass *p, uint32_t range)
{
	return range == WS_NONE ? 0 : p->live.range[range].context->marks;
}

/* range: that it lies in, WS_NONE. *call: the number by which kernels name it. */
void ws_pass_emit_call(struct ws_pass *p, const struct ws_pass_row *c, uint32_t range,
                       uint32_t *call);

/* Handlers for p->live. */
const struct ws_live_events *ws_pass_live_events(void);
/* Everything before until_ns: events, and calls that ended. */
enum ws_status ws_pass_join(struct ws_pass *p, int64_t until_ns, struct ws_err *err);
/* The trace ends: what is open ends, steps get their numbers. */
enum ws_status ws_pass_end(struct ws_pass *p, struct ws_err *err);
