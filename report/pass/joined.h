/*
 * Rows as a pass tells them. Texts, configurations, threads, paths and payloads
 * are numbers of the model that the pass makes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"

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
