/*
 * Declarations shared by the parts of a pass: pass.c drives it, take.c reads rows from blocks,
 * join.c joins them.
 */
#pragma once

#include "report/model/load.h"
#include "report/pass/pass.h"

/* --- a framework's operations (join.c) -------------------------------------------------------- */

/*
 * Operations that a framework recorded, besides the rows of a pass. The model holds all operations
 * of a trace, because a link may lead to any of them. Calls of modules are ranges. Both go to the
 * join in order of time, like rows of the file. Phases of operations, and ranges that backward
 * inherits, need all rows, so report/joined adds them later.
 */

/* Starts as all zeros; free with ws_framework_free. */
struct ws_framework {
	bool is_present;
	struct ws_idmap op_of, collective_of; /* by correlation id, as the file links them */
	struct ws_module_event *events;
	uint32_t *op_order; /* by end */
	size_t nevents, nops;
	size_t next_event, next_op; /* the join has received all earlier ones */
	struct ws_arena arena;
};

/* Does the trace have operations of a framework? */
bool ws_framework_is_in(const struct ws_trace_reader *r);
/* Call after loading dictionaries and device work; sets the operations of device work that has a
 * link. */
enum ws_status ws_framework_load(struct ws_framework *f, struct ws_loader *l, struct ws_err *err);
void ws_framework_free(struct ws_framework *f);

/* --- rows ------------------------------------------------------------------------------------- */

/* Position of a row in the file: block << 16 | row; the order at equal times. */
static inline uint64_t ws_pass_at(uint32_t block, uint32_t row)
{
	return (uint64_t)block << 16 | row;
}

/* Added for a call, so that it comes after events of the same time. */
#define WS_PASS_AT_CALL (UINT64_C(1) << 62)

/* The type of a row that is an operation of a framework, joined like a call. */
#define WS_PASS_CPU_OP (WS_THREAD_EVENT_API + 1)

/* Description of an event or a call. Names are without numbers that vary between calls. */
struct ws_event_descriptor {
	uint32_t type; /* enum ws_nvtx_type, WS_THREAD_EVENT_API or WS_PASS_CPU_OP */
	uint32_t thread, process;
	uint32_t domain, name; /* texts */
	uint32_t payload;      /* row, WS_NONE */
	uint32_t collective;   /* of its payload or its group: the model's number + 1; 0: none */
	uint32_t failed;       /* of a call */
	uint32_t source;       /* text: the line that calls a module; 0 = not recorded */
};

/* An event, or a call, which is joined when it returns. */
struct ws_pass_row {
	int64_t time_ns; /* of a call: its end */
	uint64_t position;
	union {
		int64_t start_ns;  /* of a call */
		uint32_t recorded; /* event: text of its full name; for exports, its number in
		                      ws_recorded_ranges.events */
	};
	uint64_t id; /* start or end: id of the range; call: its correlation id */
	struct ws_event_descriptor description;
};

/*
 * NVTX ranges that are open, and closed ranges that their children still need. Their number depends
 * on the nesting, not on the length of the trace.
 *
 * Events and calls come in order of time. If ranges of a thread nest, the path of a range is known
 * when it begins. If they cross, or if a range ends on another thread, the order of ends must be
 * known first (struct ws_live_ends).
 */

struct ws_open_range {
	int64_t start_ns, end_ns; /* end_ns is set if it is closed */
	uint64_t number;          /* ascending with the begin */
	struct ws_range_context *context;
	uint32_t parent; /* WS_NONE for an outermost one; freed no earlier than this range */
	/* the next and the previous range of its thread by begin, among those that are open or
	 * ended at the current time; below: WS_NONE for the first */
	uint32_t above, below;
	uint32_t ended;    /* if closed: the range that closed before it, see ws_live_thread */
	uint32_t refs;     /* reference count: one for itself while open, one per child */
	uint32_t op;       /* the innermost operation around it, or itself; WS_NONE */
	uint32_t step;     /* number of the step around it, WS_NONE */
	uint32_t recorded; /* text: its name as recorded */
	uint8_t counted;   /* an operation without one inside */
};

/* Callbacks for begins and ends of ranges. A new range has the values of its parent in the fields
 * from op on; these functions may change them. */
struct ws_live_events {
	/* fills the fields of a new context that are still 0 */
	void (*look)(void *ctx, struct ws_range_context *context);
	/* a range begins */
	void (*begin)(void *ctx, uint32_t range);
	/* a range has ended, or is still open at the end of the trace */
	enum ws_status (*close)(void *ctx, uint32_t range, int open, struct ws_err *err);
};

struct ws_live_thread {
	/* the range that began last, among those that are open or ended at ended_ns, as a call that
	 * ends at ended_ns lies in the latter, too */
	uint32_t last;
	uint32_t nlisted; /* length of that list: `last` and those below it */
	uint32_t ended;   /* the range that ended last, among those that ended at ended_ns */
	/* if ranges nest: the parent of a range that begins now. If they cross: that parent, or an
	 * open range inside it */
	uint32_t innermost;
	int64_t ended_ns;
	bool crosses; /* some of its ranges cross; set once ends are known */
};

/* The order in which ranges end, found in a separate first pass. */
struct ws_live_ends {
	bool known; /* false during that pass, which does not need parents */
	/* by number of the range: a lower rank ends earlier. WS_NONE: it never ends; the later of
	 * two such ranges lies in the earlier */
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
	size_t nfree;
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
	uint64_t cross_thread; /* number of ranges that another thread ended */
};

void ws_live_free(struct ws_live_ranges *l);

struct ws_pass_mark {
	uint64_t position;
	uint32_t text;
};

/* An unfinished step. */
struct ws_pass_step {
	struct ws_model_step step;
	uint32_t live; /* its range, while it is open */
	uint8_t open;
	uint8_t is_whole_warm_up; /* a range `warm-up`, which is a step if no step lies in it */
	uint8_t has_step;
};

/* A range that marks the begin or end of a training iteration: an optimizer's step, the range in it
 * that names the instance, setting gradients to zero, or loading the next batch. In the order of
 * their ends. */
struct ws_pass_iteration_mark {
	int64_t start_ns, end_ns;
	uint32_t thread, name;
	bool steps, is_instance, loads_data;
};

/* Waiting rows, in order of time once sorted. A row begins with its time and its position in the
 * file. */
struct ws_pass_rows {
	uint8_t *rows;
	size_t row_size;
	size_t first, n, capacity; /* rows first .. n - 1 */
	uint8_t unsorted;
};
/* Room for n more at the end. */
void *ws_pass_rows_reserve(struct ws_pass_rows *r, size_t n);
/* Call after filling the first n of these. unsorted: they may be out of order. */
void ws_pass_rows_filled(struct ws_pass_rows *r, size_t n, bool unsorted);

/* The first members of a row, by which it is sorted. */
struct ws_pass_when {
	int64_t time_ns;
	uint64_t position;
};
static inline bool ws_pass_is_before(struct ws_pass_when a, struct ws_pass_when b)
{
	return a.time_ns < b.time_ns || (a.time_ns == b.time_ns && a.position < b.position);
}
void ws_pass_rows_sort(struct ws_pass_rows *r);
/* Empties the list and makes room for n rows. */
void *ws_pass_rows_begin(struct ws_pass_rows *r, size_t row_size, size_t n);
/* Adds the sorted rows of `more` to the waiting ones; `more` gets the unneeded memory. */
void ws_pass_rows_merge(struct ws_pass_rows *waiting, struct ws_pass_rows *more);

struct ws_pass {
	struct ws_model *m;
	const struct ws_joined_sink *sink;
	struct ws_loader l;
	/* --- rows taken from blocks --- */
	bool has_dur; /* kernels of this trace have durations */
	struct ws_pass_mark *marks;
	size_t nmarks, marks_capacity;
	int64_t kernel_ns;         /* a sum that must not overflow */
	int64_t first_ns, last_ns; /* first and last moment of any row */
	uint64_t taken_blocks;
	struct ws_pass_rows taken;     /* of the current block, in order */
	struct ws_pass_rows rows;      /* waiting rows: calls and events, then kernels */
	bool by_token;                 /* rows of one token have one description */
	struct ws_pass_row *described; /* by token of the current block; id: is known */
	size_t described_capacity;
	uint32_t *config_of_token; /* of a block of kernels */
	size_t configs_capacity;
	bool joins; /* if false, rows are emitted as they are read, without times */
	struct ws_recorded_ranges *recorded; /* recorded events of a pass without a join; NULL */
	struct ws_strtab recorded_of;        /* an event -> its number there, plus 1 */
	/* --- of the join --- */
	struct ws_strtab call_kind_of; /* name, thread, failed -> number, from 1 on */
	struct ws_joined_call_kind *
	        *call_kinds; /* by number - 1: one kind for each value of the marks */
	size_t call_kinds_capacity;
	struct ws_joined_call_kind *last_call_kinds; /* of the call before; NULL at first */
	/* begins of nodes that were captured, by thread, then time */
	struct ws_capture {
		int64_t time_ns;
		uint32_t thread;
	} * captures;
	size_t ncaptures;
	struct ws_framework framework;
	struct ws_live_ranges live;
	struct ws_live_ends ends; /* ends of ranges, if ranges cross */
	struct ws_arena ends_arena;
	struct ws_pass_step *steps;
	size_t nsteps, steps_capacity;
	struct ws_pass_iteration_mark *iteration_marks;
	size_t niteration_marks, iteration_marks_capacity;
	/* start/end ranges in which a call may still end: they contain the calls of their
	 * process */
	struct ws_process_range {
		uint64_t number;
		int64_t start_ns, end_ns;
		uint32_t thread, process;
	} * process_ranges;
	size_t nprocess_ranges, process_ranges_capacity;
	/* by thread: the open group of calls whose kernels the end of the group launches */
	struct ws_call_group {
		uint32_t depth, calls;
		uint32_t collective; /* of the calls; WS_NONE: they differ */
	} * groups;
	size_t ngroups, groups_capacity;
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
/* Takes events that begin and end ranges (with p->recorded, also marks) as rows of struct
 * ws_pass_row, in any order. */
enum ws_status ws_pass_take_events(struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                                   struct ws_pass_rows *to, struct ws_err *err);
/* Checks a block of events for a start, or a push on a thread with pushes of another domain.
 * domain_of: thread -> domain. */
void ws_pass_look_for_crossings(struct ws_pass *p, const struct ws_block_rows *b,
                                struct ws_idmap *domain_of, bool *found);

/* Extends p->first_ns and p->last_ns to the times of kernels, and with of_calls also of calls. */
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
/* Sets m->step_module for a program that neither names its steps nor trains. Call before the
 * join. */
void ws_pass_find_step_module(struct ws_pass *p);
/* For a trace without steps: adds iterations to m->steps, which has room for one per mark and
 * module call. */
void ws_pass_find_iterations(struct ws_pass *p);
/* Marks sorted steps that contain an evaluation, or read a prompt, as not measured. */
void ws_pass_set_steps_apart(struct ws_pass *p);
/* Call after ws_load_graph_nodes. */
void ws_pass_find_captures(struct ws_pass *p);

/* Called for each event that begins or ends a range, including those of the framework, in order of
 * time; with p->recorded also for marks. */
typedef enum ws_status (*ws_pass_event_fn)(void *ctx, const struct ws_pass_row *row,
                                           struct ws_err *err);
enum ws_status ws_pass_each_event(struct ws_pass *p, ws_pass_event_fn fn, void *ctx,
                                  struct ws_err *err);

/* --- join.c ----------------------------------------------------------------------------- */

/* If ranges may cross: reads their ends into p->ends in a separate pass, and passes them to
 * p->live. */
enum ws_status ws_pass_read_ends(struct ws_pass *p, struct ws_err *err);

/* The number of a range in rows. */
static inline uint32_t ws_pass_range_number(const struct ws_pass *p, uint32_t range)
{
	return range == WS_NONE ? WS_NONE : (uint32_t)p->live.range[range].number;
}

static inline uint8_t ws_pass_range_marks(const struct ws_pass *p, uint32_t range)
{
	return range == WS_NONE ? 0 : p->live.range[range].context->marks;
}

/* range: the innermost range around it, WS_NONE. *call: its number in kernels. */
void ws_pass_emit_call(struct ws_pass *p, const struct ws_pass_row *c, uint32_t range,
                       uint32_t *call);

/* Handlers for p->live. */
const struct ws_live_events *ws_pass_live_events(void);
/* Joins all rows before until_ns: events, and calls that ended. */
enum ws_status ws_pass_join(struct ws_pass *p, int64_t until_ns, struct ws_err *err);
/* Ends the pass: closes open ranges and numbers the steps. */
enum ws_status ws_pass_end(struct ws_pass *p, struct ws_err *err);
