/*
 * One pass over the blocks of a trace in order of time, which joins calls to
 * ranges and ranges to steps as they come; then its kernels. docs/dev/engine.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/trace/reader.h"
#include "report/base/spill.h"
#include "report/model/model.h"

/*
 * Rows as a pass tells them. Texts, configurations, threads, paths and payloads
 * are numbers of the model that the pass makes.
 */

struct ws_model;

/*
 * Everything that similar ranges inside similar ranges share. Nearly every range has the context of
 * an earlier one, since a program does the same in every step. In the memory of the model.
 */
struct ws_range_context {
	struct ws_range_context *parent; /* of the range around it, NULL */
	struct ws_kernel_kind *kind;     /* of the last kernel that was launched in one, NULL */
	uint32_t number;                 /* from 1 on */
	uint32_t path, depth;
	uint32_t thread, process, name;
	uint32_t payload; /* row, WS_NONE */
	uint32_t op;      /* payload of the innermost operation around a range of it; WS_NONE */
	uint32_t class, direction, dtype; /* texts of that, as for ws_place; 0 = unknown */
	uint8_t style, phase;
	uint8_t marks;           /* WS_IN_… */
	uint8_t is_op;           /* a range of it is an operation */
	uint8_t is_step;         /* … is called like a step */
	uint8_t is_warm_up;      /* … or like a warm-up */
	uint8_t tells_step;      /* what its step is to know when it ends: see ws_pass_close_step */
	uint8_t marks_iteration; /* see ws_pass_take_iteration_mark */
};

/* What calls have in common that are alike. The model's. */
struct ws_joined_call_kind {
	uint32_t name, thread;
	uint8_t marks;  /* those of its range that tell a scope: WS_IN_SETUP, WS_IN_WARM_UP */
	uint8_t failed; /* its result was no success */
};

struct ws_joined_call {
	int64_t start_ns, dur_ns;
	uint64_t correlation;
	const struct ws_joined_call_kind *kind;
	uint32_t range; /* innermost around it, WS_NONE */
};

/* A kernel before its call is known. */
struct ws_pass_kernel {
	int64_t start_ns;  /* as recorded, also where the time is not known */
	uint64_t position; /* place in the file */
	int64_t dur_ns;
	uint64_t correlation;
	uint32_t config;
	uint32_t cpu_op, collective; /* where the framework links them; WS_NONE */
	uint8_t timed, cut_off;
};

/* What kernels have in common that are alike and were launched alike. The model's. */
struct ws_kernel_kind {
	uint32_t number; /* of it; what follows tells kinds apart */
	uint32_t config;
	uint32_t path;                    /* of its range, WS_NONE: in none */
	uint32_t class, direction, dtype; /* 0 = unknown */
	uint32_t range_class;             /* by its range or framework operation alone; 0 */
	uint8_t phase;                    /* enum ws_phase */
	uint8_t marks;                    /* WS_IN_… of that range */
	uint8_t timed, cut_off;
	uint32_t has_call;
	uint32_t collective; /* what a framework told of it as such, of the model's; WS_NONE. No
	                        byte of a kind is unused */
};

/* WS_NONE: in no range or step. */
struct ws_joined_kernel {
	int64_t start_ns, dur_ns; /* mean nothing unless it is timed */
	const struct ws_kernel_kind *kind;
	uint32_t call;   /* what the sink made of its call, WS_NONE: none */
	uint32_t range;  /* innermost around its launch */
	uint32_t cpu_op; /* its framework operation, of the model's; WS_NONE */
	uint32_t step;   /* the model's, WS_NONE */
};

struct ws_joined_range {
	int64_t start_ns, end_ns;
	const struct ws_range_context *context;
	uint32_t parent;   /* WS_NONE for an outermost one; else less than its own number */
	uint32_t recorded; /* text: the name with what paths leave out of it */
	uint32_t step;     /* around it, or it: see ws_joined_range_step */
	bool is_open;
	bool is_step;    /* the step itself, or a whole warm-up */
	bool is_counted; /* an operation with no operation inside: its FLOPs count */
};

/* Told of each row once: of calls and ranges, then that these are all, then of kernels. */
struct ws_joined_sink {
	void *ctx;
	/* A call when it returned; kernels may name it by *number. */
	void (*call)(void *ctx, const struct ws_joined_call *call, uint32_t *number);
	/* A range when it ended. number: what others name it by. */
	void (*range)(void *ctx, uint32_t number, const struct ws_joined_range *range);
	/* The model has all but the time of its last kernel. */
	void (*halfway)(void *ctx, struct ws_model *m);
	/* Kernels in the order of their start. */
	void (*kernel)(void *ctx, const struct ws_pass_kernel *kernel);
};

/*
 * Its rows go to the sink. *m gets all but those: texts, configurations, devices, threads, facts,
 * paths, steps, copies. CORRUPT: also of times out of bounds, sums that overflow and blocks that
 * are not what their headers say. Free *m, also after a failure.
 */
enum ws_status ws_pass_run(const struct ws_trace_reader *r, const char *name,
                           const struct ws_model_opts *opts, const struct ws_joined_sink *sink,
                           struct ws_model **m, struct ws_err *err);

/* What to tell of a trace whose rows nobody joins. */
struct ws_pass_unjoined {
	bool kernels, calls; /* rows of these */
	bool names;          /* what kernels' names tell of class, direction and dtype */
	enum ws_scope scope; /* that of a report */
};
/*
 * These rows as they come, without times, ranges and launches: a tenth of the work. The sink is
 * told first that the model has all. *m is NULL where the scope asks for the join: where a range of
 * the trace may be a step, STEPS is not ALL.
 */
enum ws_status ws_pass_run_unjoined(const struct ws_trace_reader *r, const char *name,
                                    const struct ws_model_opts *opts,
                                    const struct ws_pass_unjoined *wanted,
                                    const struct ws_joined_sink *sink, struct ws_model **m,
                                    struct ws_err *err);

/* --- recorded -------------------------------------------------------------------------------- */

/*
 * NVTX ranges and marks with all that was recorded of them, for exports: what rows of the join
 * leave out is most of it.
 */

/* What events share, as recorded: ids of the trace. */
struct ws_recorded_event {
	uint64_t type; /* enum ws_nvtx_type */
	uint64_t thread, domain, name, category, color, payload;
};

struct ws_recorded_range {
	int64_t start_ns, end_ns; /* the same of a mark, and of what never ended */
	uint64_t id;              /* of what START and END share */
	uint32_t begin, end;      /* events; end: WS_NONE of a mark, and of what never ended */
};

/* Each by thread id, then begin: an outer range before those inside. */
struct ws_recorded_ranges {
	struct ws_spill ranges, marks; /* of struct ws_recorded_range */
	size_t nranges, nmarks;
	struct ws_recorded_event *events;
	size_t nevents, events_capacity;
	uint64_t dangling; /* pops and ends without a begin */
};

/*
 * One pass over the events alone. *m gets what records refer to: texts, configurations, devices,
 * threads, payloads. CORRUPT: of a block whose header has other times than its rows. Free both,
 * also after a failure.
 */
enum ws_status ws_recorded_ranges_read(struct ws_recorded_ranges *ranges,
                                       const struct ws_trace_reader *r, struct ws_model **m,
                                       struct ws_err *err);
void ws_recorded_ranges_free(struct ws_recorded_ranges *ranges);
/* Row i of the ranges or marks, to be used before the next is asked for. */
static inline const struct ws_recorded_range *ws_recorded_range(struct ws_spill *rows, size_t i)
{
	return ws_spill_row(rows, sizeof(struct ws_recorded_range), i);
}
