/*
 * What the two halves of a pass share: pass.c feeds the rows, join.c joins them.
 */
#pragma once

#include "formats/trace/feed.h"
#include "formats/trace/thread_events.h"
#include "report/model/load.h"
#include "report/pass/framework.h"
#include "report/pass/ids_ahead.h"
#include "report/pass/launches.h"
#include "report/pass/live.h"
#include "report/pass/pass.h"

/* Where a row stands in the file: block << 16 | row. What happened at one time stays in this order.
 */
static inline uint64_t ws_pass_at(uint32_t block, uint32_t row)
{
	return (uint64_t)block << 16 | row;
}

/* What a token of a block tells. */
enum ws_pass_says {
	WS_SAYS_NESTS = 1u << 0, /* it is a push or a pop */
	WS_SAYS_CALL = 1u << 1,
	WS_SAYS_FAILED = 1u << 2, /* the call did */
	WS_SAYS_TIMED = 1u << 3,  /* the kernel, if it has a time */
	WS_SAYS_CUT_OFF = 1u << 4,
};
struct ws_pass_token {
	uint32_t shape;    /* WS_NONE = not looked up yet; configuration of a kernel */
	uint32_t says;     /* enum ws_pass_says */
	uint32_t recorded; /* of events: text of the name, of which the shape has what stays */
};

/* Of a call: with what happens at one time, it stands behind events. */
#define WS_PASS_AT_CALL (UINT64_C(1) << 62)

#define WS_PASS_ROW_MAX_BYTES 64u

/* The type of a row that is an operation of a framework, joined like a call. */
#define WS_PASS_CPU_OP (WS_THREAD_EVENT_API + 1)

/* An event, or a call, which is joined when it returns. */
struct ws_pass_row {
	int64_t time_ns; /* of a call: its end */
	uint64_t at;
	union {
		int64_t start_ns;  /* of a call */
		uint32_t recorded; /* of an event: text of its name */
	};
	uint64_t id;    /* of a range; of a call, what its kernels have, too */
	uint32_t shape; /* what it is, in p->shapes */
	bool launches;  /* there is device work of the call */
	bool stays;     /* it launched more than one kernel */
};

struct ws_pass_kernel {
	int64_t start_ns; /* as recorded, also where the time is not known */
	uint64_t at;
	int64_t dur_ns;              /* of a copy: its number */
	uint64_t correlation;        /* or what was joined ahead */
	uint32_t config;             /* WS_NONE: it is a copy or other work of the model */
	uint32_t cpu_op, collective; /* where the framework links them; WS_NONE */
	uint8_t timed, cut_off;
};

struct ws_pass_mark {
	uint64_t at;
	uint32_t text;
};

/* A step in the making. */
struct ws_pass_step {
	struct ws_model_step step;
	uint32_t live; /* its range, while it is active */
	uint32_t process;
	uint64_t *by_cell; /* while it is open: its kernels by cell, in case it never ends */
	size_t ncells;
	uint8_t open;
	uint8_t never_ends;       /* that is known from another pass */
	uint8_t is_whole_warm_up; /* a range `warm-up`, which is a step if no step lies in it */
	uint8_t has_step;
};

/* Rows that came and are not done, in order of time once sorted. A row begins with its time and
 * its place. */
struct ws_pass_rows {
	uint8_t *rows;
	size_t row_size;
	size_t first, n, capacity; /* rows first .. n - 1 */
	uint8_t unsorted;
};
/* Room for n more at the end, NULL without memory. */
void *ws_pass_rows_reserve(struct ws_pass_rows *r, size_t n);
/* The first n of those were filled. unsorted: not each of them stands behind the one before. */
void ws_pass_rows_filled(struct ws_pass_rows *r, size_t n, bool unsorted);

/* What a row begins with, and is sorted by. */
struct ws_pass_when {
	int64_t time_ns;
	uint64_t at;
};
static inline bool ws_pass_is_before(struct ws_pass_when a, struct ws_pass_when b)
{
	return a.time_ns < b.time_ns || (a.time_ns == b.time_ns && a.at < b.at);
}
enum ws_status ws_pass_rows_sort(struct ws_pass_rows *r, struct ws_err *err);
/* None, with room for n; NULL without memory. */
void *ws_pass_rows_begin(struct ws_pass_rows *r, size_t row_size, size_t n);
/* Those of `more`, which are in order, wait, too; more has what memory is not needed any more. */
enum ws_status ws_pass_rows_merge(struct ws_pass_rows *waiting, struct ws_pass_rows *more,
                                  struct ws_err *err);

/* What is known of rows that are alike, by its number. */
struct ws_pass_shapes {
	struct ws_live_shape *shape;
	size_t n, capacity;
};

/* What was taken of a block. This happens ahead of the join, on another thread where there is one:
 * all that the join knows of it is here. Starts as all zeros; free with ws_pass_taken_free. */
struct ws_pass_taken {
	struct ws_pass_rows rows; /* in order: struct ws_pass_kernel, or struct ws_pass_row */
	bool has_kernels;
	bool needs_ids;               /* see struct ws_pass_again */
	struct ws_pass_shapes shapes; /* those that are new */
	/* of the calls that launch something */
	struct ws_pass_call {
		uint64_t id;
		uint32_t process;
	} * calls;
	size_t ncalls, calls_capacity;
};

/* Ids to numbers; an array where the ids allow it, as those of our own recorder do. */
struct ws_pass_numbers {
	const struct ws_idmap *map;
	uint32_t *of; /* id -> number, WS_NONE; NULL: only in the map */
	uint64_t n;
};
static inline uint32_t ws_pass_number(const struct ws_pass_numbers *numbers, uint64_t id)
{
	if (id < numbers->n)
		return numbers->of[id];
	return numbers->of ? WS_NONE : ws_idmap_get(numbers->map, id);
}

/* What the name of a range says. */
struct ws_pass_name {
	uint8_t marks, phase;
};

/* A time that is counted soon, in batches. */
struct ws_pass_count {
	int64_t dur_ns;
	uint64_t order; /* of a kernel */
	uint32_t to;    /* cell; or path of a range */
	bool is_path, timed;
};
#define WS_PASS_COUNTS  4096u
#define WS_PASS_BATCHES 4u
struct ws_pass_counts {
	struct ws_feed *feed;           /* whose threads count; NULL: there is none */
	struct ws_pass_count *items;    /* WS_PASS_BATCHES times WS_PASS_COUNTS */
	struct ws_pass_count *at, *end; /* what is free of the batch that is filled */
	size_t given;                   /* batches that were put aside */
	/* of the thread that counts */
	struct ws_digest d;
	enum ws_status status;
};

/* What a pass finds out too late, and another one knows from the start. */
struct ws_pass_again {
	bool knows_more;     /* than the pass did that stopped */
	bool needs_ids;      /* recorded ids do not tell calls as they come: ids are joined ahead */
	bool ranges_cross;   /* or end on another thread */
	int64_t end_ns;      /* one does when the trace ends; INT64_MAX */
	uint8_t *never_ends; /* by step in the making: it never ended */
	size_t nsteps;
	struct ws_ids_ahead ids;
};

struct ws_pass {
	struct ws_model *m;
	struct ws_pass_again *again;
	struct ws_digest *d;
	unsigned parts;
	enum ws_scope scope;               /* what is counted */
	const struct ws_joined_sink *sink; /* NULL: sums, no rows */
	const struct ws_ids_ahead *ahead;  /* NULL: kernels and calls have one id as recorded */
	bool stopped; /* another pass knows more, or sums are to be made of rows */
	/* --- of the thread that takes rows --- */
	struct ws_loader l;
	bool has_dur;                 /* kernels of this trace tell how long they took */
	struct ws_pass_shapes found;  /* every shape so far */
	struct ws_strtab shape_of;    /* a shape -> its number, plus 1 */
	struct ws_pass_token *tokens; /* of the block that is taken */
	size_t tokens_capacity;
	uint16_t *numbers;        /* 0, 1, 2 …: the tokens of the rows of a block without; NULL */
	struct ws_launch_ids ids; /* those of kernels */
	struct ws_pass_mark *marks;
	size_t nmarks, marks_capacity;
	int64_t kernel_ns;         /* a sum that must not overflow */
	int64_t first_ns, last_ns; /* first and last moment of any row */
	struct ws_pass_taken taken[WS_FEED_SLOTS];
	/* --- of the join --- */
	struct ws_pass_rows rows, kernels;
	struct ws_pass_shapes shapes; /* of rows that were taken over */
	struct ws_launch_ids called;  /* ids of calls; AGAIN: of a kernel without its call, too */
	struct ws_framework framework;
	struct ws_launches_waiting waiting;
	struct ws_live_ranges live;
	struct ws_live_ends ends; /* of those that cross */
	struct ws_arena ends_arena;
	uint32_t *warm; /* live range -> the outermost warm-up around it, WS_NONE */
	size_t warm_capacity;
	struct ws_pass_step *steps;
	size_t nsteps, steps_capacity;
	uint32_t *active; /* steps by time that are open, or ended at this moment */
	size_t nactive, active_capacity;
	uint32_t *cell_of_config; /* without the join; WS_NONE = none yet */
	struct ws_pass_numbers texts, configs, payloads;
	struct ws_pass_name *names; /* by text */
	uint8_t *path_is_step;      /* by path */
	size_t npath_steps, path_steps_capacity;
	int64_t range_ns, flops, bytes; /* sums that must not overflow */
	uint64_t nkernels;
	struct ws_pass_counts counts;
};

static inline struct ws_live_row ws_pass_event(const struct ws_pass_row *row)
{
	return (struct ws_live_row){row->shape, row->recorded, row->time_ns, row->id};
}

/* Are all calls joined, and counted if they are in the scope? */
static inline bool ws_pass_calls_have_scope(const struct ws_pass *p)
{
	return p->parts & WS_DIGEST_CALLS && p->scope != WS_SCOPE_ALL;
}

static inline bool ws_pass_counts(const struct ws_pass *p, enum ws_scope scope)
{
	return p->scope == WS_SCOPE_ALL || p->scope == scope;
}

/* --- take.c ----------------------------------------------------------------------------- */

#define WS_PASS_MAX_PROCESSES 65536u /* what ids of launches have room for */

/* The process that ids are of: those that were joined ahead are of one. */
static inline uint32_t ws_pass_id_process(const struct ws_pass *p, uint32_t process)
{
	return p->ahead ? 0 : process;
}
static inline uint64_t ws_pass_work_id(const struct ws_pass *p, size_t work)
{
	return p->ahead ? p->ahead->of_work[work] : p->m->work[work].correlation;
}
/* The rows of a block. */
enum ws_status ws_pass_take_rows(struct ws_pass *p, const struct ws_block_rows *rows,
                                 uint32_t block, struct ws_pass_taken *to, struct ws_err *err);
void ws_pass_taken_free(struct ws_pass_taken *taken);
/* Those from number `first` on, behind those of `to`. */
enum ws_status ws_pass_add_shapes(struct ws_pass_shapes *to, const struct ws_pass_shapes *from,
                                  size_t first, struct ws_err *err);
/* The number of what rows share. */
enum ws_status ws_pass_number_shape(struct ws_pass *p, const struct ws_live_shape *shape,
                                    uint32_t *number, struct ws_err *err);
#define WS_PASS_EVENT_COLUMNS                                                         \
	(WS_COLUMN(nvtx, time_ns) | WS_COLUMN(nvtx, thread) | WS_COLUMN(nvtx, type) | \
	 WS_COLUMN(nvtx, domain) | WS_COLUMN(nvtx, name) | WS_COLUMN(nvtx, range) |   \
	 WS_COLUMN(nvtx, payload))
/* Those that begin and end ranges, to the rows of struct ws_pass_row, not in order. */
enum ws_status ws_pass_take_events(struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                                   struct ws_pass_rows *to, struct ws_err *err);
/* The first look at the ids of launches, joined ahead where that is needed. */
enum ws_status ws_pass_read_ids(struct ws_pass *p, struct ws_err *err);

/* --- damage.c --------------------------------------------------------------------------- */

/* Row i of a block has a time before that in the block's header, or out of bounds, or takes too
 * long: CORRUPT, in the words of ws_trace_check and ws_check_time. */
enum ws_status ws_pass_refuse_time(const struct ws_pass *p, const struct ws_block_rows *b,
                                   uint32_t block, uint32_t i, int64_t dur_ns, struct ws_err *err);
/* So many of its rows are calls, and its header has another number: the same. */
enum ws_status ws_pass_refuse_calls(const struct ws_block_rows *b, uint32_t ncalls,
                                    struct ws_err *err);

/* --- framework.c ------------------------------------------------------------------------ */

/* What its framework recorded before until_ns becomes rows of the join. */
enum ws_status ws_pass_take_framework(struct ws_pass *p, int64_t until_ns, struct ws_pass_rows *to,
                                      struct ws_err *err);

/* --- steps.c ---------------------------------------------------------------------------- */

/* What is said of each path once, for those that are new. */
enum ws_status ws_pass_look_at_paths(struct ws_pass *p, struct ws_err *err);
/* Which step a new range lies in, or is. */
enum ws_status ws_pass_begin_step(struct ws_pass *p, uint32_t range, struct ws_err *err);
/* A range in a step ended, or is the step. */
void ws_pass_close_step(struct ws_pass *p, const struct ws_live *r, uint32_t range, int open);
/* The step that holds what another thread did from start to end, which is now; the rule is that of
 * ws_step_holding. */
uint32_t ws_pass_step_holding(struct ws_pass *p, uint32_t process, int64_t start_ns, int64_t end_ns,
                              uint32_t but_thread);
/* marks: WS_IN_… of its range. */
static inline enum ws_scope ws_pass_scope_of(const struct ws_pass *p, uint32_t step, uint8_t marks)
{
	if (step != WS_NONE && (p->steps[step].step.warm_up || p->steps[step].is_whole_warm_up))
		return WS_SCOPE_WARM_UP;
	if (step != WS_NONE)
		return p->steps[step].never_ends ? WS_SCOPE_OUTSIDE : WS_SCOPE_STEPS;
	return marks & WS_IN_SETUP ? WS_SCOPE_SETUP : WS_SCOPE_OUTSIDE;
}
/* A kernel launched in a measured step counts in its cell, for now. */
enum ws_status ws_pass_count_in_step(struct ws_pass *p, struct ws_pass_step *s, uint32_t cell,
                                     struct ws_err *err);
/* *counted: a measured step that never ended was taken for one that does. */
enum ws_status ws_pass_find_unended(struct ws_pass *p, bool *counted, struct ws_err *err);
/* The steps get their numbers, in the model and in the digest. */
enum ws_status ws_pass_end_steps(struct ws_pass *p, struct ws_err *err);

/* --- crossing.c ------------------------------------------------------------------------- */

/* A first look at events: p->ends, which p->live has from now on. */
enum ws_status ws_pass_read_ends(struct ws_pass *p, struct ws_err *err);
/* The trace ended: were they read without that being known? Then another pass can know it. */
bool ws_pass_ends_are_wrong(struct ws_pass *p);
/* The ranges around a call that was told, besides its range and those around that. */
enum ws_status ws_pass_add_crossings(struct ws_pass *p, const struct ws_pass_row *c,
                                     uint32_t thread, const struct ws_launch_waiting *launch,
                                     struct ws_err *err);

/* --- tell.c ----------------------------------------------------------------------------- */

/* What rows name a range by. */
static inline uint32_t ws_pass_range_number(const struct ws_pass *p, uint32_t range)
{
	return range == WS_NONE ? WS_NONE : (uint32_t)p->live.range[range].number;
}

static inline uint8_t ws_pass_range_marks(const struct ws_pass *p, uint32_t range)
{
	return range == WS_NONE ? 0 : ws_live_is(&p->live, &p->live.range[range])->marks;
}

/* Where there is a sink. holder: as of struct ws_joined_range. */
enum ws_status ws_pass_tell_range(const struct ws_pass *p, uint32_t range, uint32_t holder,
                                  int open, struct ws_err *err);
/* place: where it counts. */
enum ws_status ws_pass_tell_kernel(const struct ws_pass *p, const struct ws_pass_kernel *k,
                                   const struct ws_launch_waiting *launch,
                                   const struct ws_kernel_place *place, struct ws_err *err);
/* launch gets the number by which kernels name the call. */
enum ws_status ws_pass_tell_call(const struct ws_pass *p, const struct ws_pass_row *c,
                                 struct ws_launch_waiting *launch, struct ws_err *err);

/* --- counts.c --------------------------------------------------------------------------- */

enum ws_status ws_pass_counts_begin(struct ws_pass *p, struct ws_err *err);
/* The n-th batch, on whatever thread. */
void ws_pass_count_batch(void *ctx, size_t n);
/* A batch is full. */
void ws_pass_counts_turn(struct ws_pass *p);
/* Its feed is about to be closed. */
void ws_pass_counts_leave(struct ws_pass *p);
/* All is in the digest. */
enum ws_status ws_pass_counts_end(struct ws_pass *p, struct ws_err *err);
void ws_pass_counts_free(struct ws_pass_counts *c);

/* Where the next one is written. */
static inline struct ws_pass_count *ws_pass_next_count(struct ws_pass *p)
{
	if (p->counts.at == p->counts.end)
		ws_pass_counts_turn(p);
	return p->counts.at++;
}

/* --- join.c ----------------------------------------------------------------------------- */

/* Handlers for p->live. */
const struct ws_live_events *ws_pass_live_events(void);
/* Everything before until_ns: events, calls that ended, kernels whose call is known. */
enum ws_status ws_pass_join(struct ws_pass *p, int64_t until_ns, struct ws_err *err);
/* The trace ends: what is open ends, steps get their numbers. */
enum ws_status ws_pass_end(struct ws_pass *p, struct ws_err *err);
