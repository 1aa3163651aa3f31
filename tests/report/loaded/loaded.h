/*
 * The oracle: a trace whose records all stand in arrays, joined the simple way, after everything is
 * read. The product joins while it reads; tests compare the two.
 */
#pragma once

#include <stdbool.h>

#include "report/joined/rows.h"
#include "tests/report/loaded/attribution.h"
#include "tests/report/loaded/tree.h"

/* Added to the flags of ws_row_kernel. */
enum {
	LOADED_NO_LAUNCH = 1u << 6, /* no record of the call that launched it */
	LOADED_BACKWARD = 1u << 7,  /* its operation is the backward of a recorded one */
};

/* Sorted by device, then start. */
struct loaded_kernels {
	size_t n;
	int64_t *start_ns, *dur_ns; /* 0 with WS_KERNEL_NO_TIME */
	uint32_t *config;
	uint32_t *call;       /* that launched it, WS_NONE */
	uint32_t *range;      /* innermost range of its launch, WS_NONE */
	uint32_t *crossing;   /* see struct loaded_attribution; NULL when no ranges cross */
	uint32_t *op;         /* framework operation that launched it, WS_NONE */
	uint32_t *step;       /* WS_NONE */
	uint32_t *collective; /* what is known of it as such, WS_NONE; NULL: of none */
	uint64_t *correlation;
	uint8_t *flags; /* with LOADED_… */
};

/* API calls in the order of the file. */
struct loaded_api {
	size_t n;
	int64_t *start_ns, *end_ns;
	uint32_t *thread, *process;
	uint64_t *correlation;
	uint32_t *name;  /* as recorded, a version at its end included */
	uint32_t *range; /* innermost range around it, WS_NONE */
	uint32_t *op;    /* innermost framework operation around it, WS_NONE */
	uint8_t *failed; /* its result was no success */
};

/* Of range_marks: at least one kernel has the operation as its own. */
#define LOADED_OP_LAUNCHED (1u << 5)

struct loaded {
	/* what a pass makes, too: texts, configurations, paths, steps, copies, operations */
	struct ws_model *m;
	/* the arrays below as rows, for the product's functions; numbered as here, but for calls,
	 * which stand as they returned */
	struct ws_joined_rows rows;
	uint32_t *call_row; /* call -> its row */
	struct loaded_kernels kernels;
	struct loaded_api api;
	struct loaded_ranges ranges;
	struct loaded_attribution attribution; /* its innermost is api.range */
	/* one entry a range */
	uint32_t *range_step;  /* step that it lies in, WS_NONE */
	uint32_t *range_op;    /* the innermost range around it, or itself, that is an operation */
	uint32_t *range_class; /* text; 0 = unknown */
	uint8_t *range_phase;  /* enum ws_phase */
	uint8_t *range_marks;  /* WS_IN_…, WS_OP_COUNTED, LOADED_OP_LAUNCHED */
	struct ws_arena arena;
};

/* opts may be NULL. Free with loaded_free. */
enum ws_status loaded_open_reader(struct loaded **out, const struct ws_trace_reader *r,
                                  const char *name, const struct ws_model_opts *opts,
                                  struct ws_err *err);
/* data must outlive it. */
enum ws_status loaded_open_mem(struct loaded **out, const void *data, size_t size, const char *name,
                               struct ws_err *err);
void loaded_free(struct loaded *l); /* NULL is legal */

static inline uint32_t loaded_kernel_name(const struct loaded *l, size_t k)
{
	return l->m->configs[l->kernels.config[k]].name;
}
static inline uint32_t loaded_kernel_device(const struct loaded *l, size_t k)
{
	return l->m->configs[l->kernels.config[k]].device;
}
enum ws_phase loaded_kernel_phase(const struct loaded *l, size_t k);
/* As texts, 0 = unknown. Class: by the range or framework operation that launched it alone; or else
 * by its name. Direction, dtype: what the operation says, else what the name tells. */
uint32_t loaded_kernel_range_class(const struct loaded *l, size_t k);
uint32_t loaded_kernel_class(const struct loaded *l, size_t k);
uint32_t loaded_kernel_direction(const struct loaded *l, size_t k);
uint32_t loaded_kernel_dtype(const struct loaded *l, size_t k);
static inline uint8_t loaded_range_marks(const struct loaded *l, uint32_t range)
{
	return range == WS_NONE ? 0 : l->range_marks[range];
}
/* The step of a range; of a call; WS_NONE. */
uint32_t loaded_range_step(const struct loaded *l, uint32_t range);
uint32_t loaded_call_step(const struct loaded *l, uint32_t call);
