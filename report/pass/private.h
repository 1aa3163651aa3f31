/*
 * What the parts of a pass share: pass.c feeds the rows, take.c takes them out of blocks, join.c
 * joins them.
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/model/load.h"
#include "report/pass/framework.h"
#include "report/pass/live.h"
#include "report/pass/pass.h"
#include "report/pass/recorded.h"

/* Where a row stands in the file: block << 16 | row. What happened at one time stays in this order.
 */
static inline uint64_t ws_pass_at(uint32_t block, uint32_t row)
{
	return (uint64_t)block << 16 | row;
}

/* What a token of a block tells. */
enum ws_token_flags {
	WS_TOKEN_NESTS = 1u << 0, /* it is a push or a pop */
	WS_TOKEN_CALL = 1u << 1,
	WS_TOKEN_TIMED = 1u << 3, /* the kernel, if it has a time */
	WS_TOKEN_CUT_OFF = 1u << 4,
};
struct ws_pass_token {
	uint32_t shape;    /* WS_NONE = not looked up yet; configuration of a kernel */
	uint32_t flags;    /* enum ws_token_flags */
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
	uint64_t position;
	union {
		int64_t start_ns;  /* of a call */
		uint32_t recorded; /* of an event: text of its name; for exports all of it */
	};
	uint64_t id;    /* of a range; of a call, what its kernels have, too */
	uint32_t shape; /* what it is, in p->shapes */
};

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

/* A range that tells where an iteration of a training begins or ends: an optimizer's step, gradients
 * set to zero, or the loading of the next batch. In the order in which they end. */
struct ws_pass_iteration_mark {
	int64_t start_ns, end_ns;
	uint32_t thread, name;
	bool steps, loads_data;
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

/* What is known of rows that are alike, by its number. */
struct ws_pass_shapes {
	struct ws_event_descriptor *shape;
	struct ws_joined_call_kind *
	        *calls; /* of a call: what is told of it, by its marks; else NULL */
	size_t n, capacity, calls_capacity;
};

struct ws_pass {
	struct ws_model *m;
	const struct ws_joined_sink *sink;
	struct ws_loader l;
	/* --- what is taken out of blocks --- */
	bool has_dur;                 /* kernels of this trace tell how long they took */
	struct ws_pass_shapes shapes; /* every one so far */
	struct ws_strtab shape_of;    /* a shape -> its number, plus 1 */
	struct ws_pass_token *tokens; /* of the block that is taken */
	size_t tokens_capacity;
	uint16_t *numbers; /* 0, 1, 2 …: the tokens of the rows of a block without; NULL */
	struct ws_pass_mark *marks;
	size_t nmarks, marks_capacity;
	int64_t kernel_ns;                   /* a sum that must not overflow */
	int64_t first_ns, last_ns;           /* first and last moment of any row */
	struct ws_pass_rows taken;           /* of the block that is taken, in order */
	struct ws_pass_rows rows;            /* those that wait: calls and events, then kernels */
	bool joins;                          /* else rows are told as they come, without times */
	struct ws_recorded_ranges *recorded; /* of events without a join; NULL */
	struct ws_strtab recorded_of;        /* an event -> its number there, plus 1 */
	/* --- of the join --- */
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

static inline struct ws_live_row ws_pass_event(const struct ws_pass_row *row)
{
	return (struct ws_live_row){row->shape, row->recorded, row->time_ns, row->id};
}

/* --- take.c ----------------------------------------------------------------------------- */

/* The rows of a block, into p->taken: struct ws_pass_kernel, or struct ws_pass_row. */
enum ws_status ws_pass_take_kernels(struct ws_pass *p, const struct ws_block_rows *b,
                                    uint32_t block, struct ws_err *err);
enum ws_status ws_pass_take_thread_rows(struct ws_pass *p, const struct ws_block_rows *b,
                                        uint32_t block, struct ws_err *err);
/* The number of what rows share. */
uint32_t ws_pass_number_shape(struct ws_pass *p, const struct ws_event_descriptor *shape);
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

/* --- events.c --------------------------------------------------------------------------- */

/* Each event that begins or ends a range, of the framework's, too, in order of time; of p->recorded
 * marks, too. */
typedef enum ws_status (*ws_pass_event_fn)(void *ctx, const struct ws_pass_row *row,
                                           struct ws_err *err);
enum ws_status ws_pass_each_event(struct ws_pass *p, ws_pass_event_fn fn, void *ctx,
                                  struct ws_err *err);

/* --- recorded.c ------------------------------------------------------------------------- */

/* Events become p->recorded. */
enum ws_status ws_pass_pair_recorded(struct ws_pass *p, struct ws_err *err);

/* --- damage.c --------------------------------------------------------------------------- */

/* Row i of a block has a time before that in the block's header, or out of bounds, or takes too
 * long: CORRUPT, in the words of ws_trace_check_file and ws_check_time. */
enum ws_status ws_pass_refuse_time(const struct ws_pass *p, const struct ws_block_rows *b,
                                   uint32_t block, uint32_t i, int64_t dur_ns, struct ws_err *err);
/* So many of its rows are calls, and its header has another number: the same. */
enum ws_status ws_pass_refuse_calls(const struct ws_block_rows *b, uint32_t ncalls,
                                    struct ws_err *err);

/* --- framework.c ------------------------------------------------------------------------ */

/* What its framework recorded before until_ns becomes rows of the join. */
void ws_pass_take_framework(struct ws_pass *p, int64_t until_ns, struct ws_pass_rows *to);

/* --- steps.c ---------------------------------------------------------------------------- */

/* Which step a new range lies in, or is. */
void ws_pass_begin_step(struct ws_pass *p, uint32_t range);
/* A range in a step ended, or is the step. */
void ws_pass_close_step(struct ws_pass *p, const struct ws_open_range *r, uint32_t range, int open);
/* A range ended that marks an iteration. */
void ws_pass_take_iteration_mark(struct ws_pass *p, const struct ws_open_range *r);
/* The steps get their numbers, in the model. Without any they are the times to the end of an
 * optimizer's step. */
void ws_pass_end_steps(struct ws_pass *p);

/* --- overlapping_ranges.c
 * ------------------------------------------------------------------------- */

/* Where ranges may cross: a first look at when they end, p->ends, which p->live has from now on. */
enum ws_status ws_pass_read_ends(struct ws_pass *p, struct ws_err *err);
/* A start/end range began last on its thread; one that ended. */
void ws_pass_begin_process_range(struct ws_pass *p, const struct ws_event_descriptor *shape,
                                 uint64_t id);
void ws_pass_end_process_range(struct ws_pass *p, uint64_t number, int64_t end_ns);
/* Those of other threads around a call that was told. */
void ws_pass_add_process_ranges(struct ws_pass *p, const struct ws_pass_row *c,
                                const struct ws_event_descriptor *shape, uint32_t call);
/* The ranges around a call that was told, besides its range, WS_NONE, and those around that. */
void ws_pass_add_crossings(struct ws_pass *p, const struct ws_pass_row *c, uint32_t thread,
                           uint32_t range, uint32_t call);

/* --- emit.c ----------------------------------------------------------------------------- */

/* What rows name a range by. */
static inline uint32_t ws_pass_range_number(const struct ws_pass *p, uint32_t range)
{
	return range == WS_NONE ? WS_NONE : (uint32_t)p->live.range[range].number;
}

static inline uint8_t ws_pass_range_marks(const struct ws_pass *p, uint32_t range)
{
	return range == WS_NONE ? 0 : p->live.range[range].context->marks;
}

void ws_pass_emit_range(const struct ws_pass *p, uint32_t range, int open);
/* range: that it lies in, WS_NONE. *call: the number by which kernels name it. */
void ws_pass_emit_call(const struct ws_pass *p, const struct ws_pass_row *c, uint32_t range,
                       uint32_t *call);

/* --- join.c ----------------------------------------------------------------------------- */

/* Handlers for p->live. */
const struct ws_live_events *ws_pass_live_events(void);
/* Everything before until_ns: events, and calls that ended. */
enum ws_status ws_pass_join(struct ws_pass *p, int64_t until_ns, struct ws_err *err);
/* The trace ends: what is open ends, steps get their numbers. */
enum ws_status ws_pass_end(struct ws_pass *p, struct ws_err *err);
