/*
 * Rows as a pass tells them. Texts, configurations, threads, paths and payloads
 * are numbers of the model that the pass makes.
 */
#pragma once

#include <stdint.h>

#include "formats/base/status.h"

struct ws_model;

struct ws_joined_call {
	int64_t start_ns, dur_ns;
	uint64_t correlation;
	uint32_t name, thread;
	uint32_t range;  /* innermost around it, WS_NONE */
	uint32_t step;   /* as for a kernel */
	uint32_t cpu_op; /* innermost framework operation around it, of the model's; WS_NONE */
	uint8_t marks;   /* WS_IN_… of the range */
	uint8_t failed;  /* its result was no success */
};

/* A kernel before its call is known. */
struct ws_pass_kernel {
	int64_t start_ns; /* as recorded, also where the time is not known */
	uint64_t at;      /* place in the file */
	int64_t dur_ns;
	uint64_t correlation;
	uint32_t config;
	uint32_t cpu_op, collective; /* where the framework links them; WS_NONE */
	uint8_t timed, cut_off;
};

/* WS_NONE: in no range or step. */
struct ws_joined_kernel {
	int64_t start_ns, dur_ns; /* mean nothing unless it is timed */
	uint32_t config;
	uint32_t call;     /* what the sink made of its call, WS_NONE: none */
	uint32_t range;    /* innermost around its launch */
	uint32_t op_range; /* the innermost of those that is an annotated operation */
	uint32_t path;     /* of its range */
	uint32_t class, direction, dtype; /* 0 = unknown */
	uint32_t range_class;             /* by its range or framework operation alone; 0 */
	uint32_t cpu_op;                  /* its framework operation, of the model's; WS_NONE */
	uint32_t collective; /* what the framework told of it as such, of the model's; WS_NONE */
	uint32_t crossing;   /* of its call, as struct ws_attribution has them */
	uint32_t step;       /* `range` of one of the model's steps, or of none */
	uint8_t phase;       /* enum ws_phase */
	uint8_t marks;       /* WS_IN_… of that range */
	uint8_t timed, cut_off;
};

struct ws_joined_range {
	int64_t start_ns, end_ns;
	uint32_t number; /* what others name it by: a parent's is less */
	uint32_t parent; /* WS_NONE for an outermost one */
	uint32_t thread, name, path, depth;
	uint32_t recorded; /* text: the name with what paths leave out of it */
	uint32_t payload;  /* row, WS_NONE */
	uint32_t op_range; /* the innermost around it, or itself, that is an annotated operation */
	uint32_t op_payload; /* row of what that tells, WS_NONE */
	uint32_t class;      /* text; what that and the marks say; 0 = unknown */
	uint32_t step;       /* as for a kernel */
	uint32_t holder;     /* that step, or another thread's in whose time it lies */
	uint8_t phase;
	uint8_t marks; /* WS_IN_…, WS_OP_COUNTED */
	uint8_t is_start_end : 1, is_open : 1;
	uint8_t is_step : 1; /* the step itself, or a whole warm-up */
};

/* Told of each row once: of calls and ranges, then that these are all, then of kernels. */
struct ws_joined_sink {
	void *ctx;
	/* A call when it returned; kernels may name it by *number. */
	enum ws_status (*call)(void *ctx, const struct ws_joined_call *call, uint32_t *number,
	                       struct ws_err *err);
	/* A range when it ended. */
	enum ws_status (*range)(void *ctx, const struct ws_joined_range *range, struct ws_err *err);
	/* The model has all but the time of its last kernel. */
	enum ws_status (*halfway)(void *ctx, struct ws_model *m, struct ws_err *err);
	/* Kernels in the order of their start. */
	enum ws_status (*kernel)(void *ctx, const struct ws_pass_kernel *kernel,
	                         struct ws_err *err);
};
