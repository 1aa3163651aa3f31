/*
 * One pass over the blocks of a trace in order of time. It joins calls to ranges and ranges to
 * steps while reading; kernels follow. docs/dev/engine.md
 */
#pragma once

#include "report/model/model.h"

/*
 * Rows that a pass emits. Texts, configurations, threads, paths and payloads are numbers of the
 * model that the pass makes.
 */

struct ws_model;

/*
 * Shared attributes of ranges with the same description inside the same surrounding context. Nearly
 * every range has the context of an earlier one, because steps repeat. Allocated in the model.
 */
struct ws_range_context {
	struct ws_range_context *parent; /* context of the surrounding range, NULL */
	struct ws_kernel_kind *kind; /* kind of the last kernel launched in this context, NULL */
	uint32_t number;             /* from 1 on */
	uint32_t path, depth;
	uint32_t thread, process, name;
	uint32_t payload; /* row, WS_NONE */
	uint32_t op; /* payload of the innermost operation at or around such a range; WS_NONE */
	uint32_t collective; /* the model's, that the innermost such range calls; WS_NONE */
	uint32_t class, direction, dtype; /* of that operation, as texts; 0 = unknown */
	uint8_t style, phase;
	uint8_t marks;      /* WS_IN_… */
	uint8_t is_op;      /* such a range is an operation */
	uint8_t is_step;    /* … has the name of a step */
	uint8_t is_warm_up; /* … or of a warm-up */
	uint8_t tells_step; /* data for its step when such a range ends: see ws_pass_close_step */
	uint8_t marks_iteration; /* see ws_pass_take_iteration_mark */
};

/* Shared attributes of similar calls. Allocated in the model. */
struct ws_joined_call_kind {
	uint32_t name, thread;
	uint8_t marks; /* marks of its range that determine the scope: WS_IN_SETUP, WS_IN_WARM_UP */
	uint8_t failed; /* its result was an error */
};

struct ws_joined_call {
	int64_t start_ns, dur_ns;
	uint64_t correlation;
	const struct ws_joined_call_kind *kind;
	uint32_t range; /* innermost around it, WS_NONE */
};

/* A kernel that is not joined to its call yet. */
struct ws_pass_kernel {
	int64_t start_ns;  /* as recorded, even if the time is unknown */
	uint64_t position; /* place in the file */
	int64_t dur_ns;
	uint64_t correlation;
	uint64_t graph_node; /* id of the node of a CUDA graph that it ran as, 0 = none */
	uint32_t config;
	uint32_t cpu_op, collective; /* from the framework's links; WS_NONE */
	uint8_t timed, cut_off;
};

/* Shared attributes of similar kernels with similar launches. Allocated in the model. */
struct ws_kernel_kind {
	uint32_t number; /* number of the kind; the following members identify a kind */
	uint32_t config;
	uint32_t path;                    /* path of its range, WS_NONE: outside ranges */
	uint32_t class, direction, dtype; /* 0 = unknown */
	uint32_t range_class; /* from its range or framework operation alone; 0 = unknown */
	uint8_t phase;        /* enum ws_phase */
	uint8_t marks;        /* WS_IN_… of that range */
	uint8_t timed, cut_off;
	uint16_t has_call;
	/* the range, the operation and what follows from them are those where the program captured
	 * the kernel's node; marks of the scope are those of its launch */
	uint16_t is_captured;
	uint32_t source; /* text: the line of the program that called for it; 0 = not recorded */
	uint32_t collective; /* of the model; WS_NONE. The struct has no padding */
};

/* Range or step WS_NONE: outside ranges or steps. */
struct ws_joined_kernel {
	int64_t start_ns, dur_ns; /* valid only if it is timed */
	const struct ws_kernel_kind *kind;
	uint32_t call;   /* the number that the sink gave to its call, WS_NONE: none */
	uint32_t range;  /* innermost around its launch, or its capture: see is_captured */
	uint32_t cpu_op; /* its framework operation in the model; WS_NONE */
	uint32_t step;   /* the model's, of its launch; WS_NONE */
};

struct ws_joined_range {
	int64_t start_ns, end_ns;
	const struct ws_range_context *context;
	uint32_t parent;   /* WS_NONE for an outermost one; else less than its own number */
	uint32_t recorded; /* text: the full name, including the parts that paths leave out */
	uint32_t step;     /* step around it, or itself: see ws_joined_range_step */
	bool is_open;
	bool is_step;    /* the step itself, or a whole warm-up */
	bool is_counted; /* an operation without operations inside: its FLOPs count */
};

/* An upper bound of a trace's ranges: of NVTX, modules, and of steps that repeat others. */
uint64_t ws_pass_most_ranges(const struct ws_trace_reader *r);

/* Receives each row once: calls and ranges, then the end of these, then kernels. */
struct ws_joined_sink {
	void *ctx;
	/* A call has returned. *number becomes its number in kernels. */
	void (*call)(void *ctx, const struct ws_joined_call *call, uint32_t *number);
	/* A range has ended. number: its number in other rows. */
	void (*range)(void *ctx, uint32_t number, const struct ws_joined_range *range);
	/* The model is complete except for the time of its last kernel. */
	void (*halfway)(void *ctx, struct ws_model *m);
	/* Kernels in the order of their start. */
	void (*kernel)(void *ctx, const struct ws_pass_kernel *kernel);
};

/*
 * Runs a pass; rows go to the sink. *m gets everything else: texts, configurations, devices,
 * threads, facts, paths, steps, copies. Returns CORRUPT also for times out of bounds, sums that
 * overflow and blocks that contradict their headers. Free *m, also after a failure.
 */
enum ws_status ws_pass_run(const struct ws_trace_reader *r, const char *name,
                           const struct ws_model_opts *opts, const struct ws_joined_sink *sink,
                           struct ws_model **m, struct ws_err *err);

/* Options of a pass without joins. */
struct ws_pass_unjoined {
	bool kernels, calls; /* rows of these */
	bool names;          /* derive class, direction and dtype from kernel names */
	enum ws_scope scope; /* that of a report */
};
/*
 * A pass without joins: emits these rows as they are read, without times, ranges and launches, in a
 * tenth of the time. Calls halfway of the sink first. Sets *m to NULL if the scope requires the
 * join: scope STEPS, if a range of the trace may be a step.
 */
enum ws_status ws_pass_run_unjoined(const struct ws_trace_reader *r, const char *name,
                                    const struct ws_model_opts *opts,
                                    const struct ws_pass_unjoined *wanted,
                                    const struct ws_joined_sink *sink, struct ws_model **m,
                                    struct ws_err *err);

/* --- recorded -------------------------------------------------------------------------------- */

/*
 * NVTX ranges and marks with all recorded values, most of which joined rows leave out. For exports.
 */

/* Shared values of similar events, as recorded: ids of the trace. */
struct ws_recorded_event {
	uint64_t type; /* enum ws_nvtx_type */
	uint64_t thread, domain, name, category, color, payload;
};

struct ws_recorded_range {
	int64_t start_ns, end_ns; /* equal for a mark, and for a range that never ended */
	uint64_t id;              /* id shared by START and END */
	uint32_t begin, end; /* events; end: WS_NONE for a mark, and for a range that never ended */
};

/* Both are sorted by thread id, then begin: an outer range before those inside. */
struct ws_recorded_ranges {
	struct ws_spill ranges, marks; /* of struct ws_recorded_range */
	size_t nranges, nmarks;
	struct ws_recorded_event *events;
	size_t nevents, events_capacity;
	uint64_t dangling; /* pops and ends without a begin */
};

/*
 * One pass over the events alone. *m gets the records that others refer to: texts, configurations,
 * devices, threads, payloads. Returns CORRUPT for a block whose header and rows have different
 * times. Free both, also after a failure.
 */
enum ws_status ws_recorded_ranges_read(struct ws_recorded_ranges *ranges,
                                       const struct ws_trace_reader *r, struct ws_model **m,
                                       struct ws_err *err);
void ws_recorded_ranges_free(struct ws_recorded_ranges *ranges);
/* Row i of the ranges or marks; valid until the next call. */
static inline const struct ws_recorded_range *ws_recorded_range(struct ws_spill *rows, size_t i)
{
	return ws_spill_row(rows, sizeof(struct ws_recorded_range), i);
}
