/*
 * Inside the CPU reference backend.
 *
 * The kernel files are compiled twice, with WS_CPU_REAL_IS_DOUBLE 0 and 1:
 * arithmetic in float and in double. WS_CPU_FN(name) gives each function the
 * suffix of its build. Graphs of fp64 tensors run the double build.
 */
#pragma once

#include "kernels/exec/backend.h"

#define WS_CPU_TILE_REALS \
	((int64_t)1 << 18) /* of a thread's tile of a convolution: about the second-level cache */

/* Operands and result of a product, converted; tiles of convolutions. */
enum ws_cpu_slot {
	WS_CPU_IN_SLOT,
	WS_CPU_OUT_SLOT = 2,
	WS_CPU_TILE_SLOT,
	WS_CPU_SLOTS,
};

struct ws_cpu {
	struct ws_backend base; /* first: the two are cast into each other */
	struct ws_pool *pool;
	void *block;                   /* of the session's tensors */
	void *workspace[WS_CPU_SLOTS]; /* as large as the greediest op of the session needs */
};

/* What this process may still allocate without being killed for it. */
uint64_t ws_cpu_memory_available(void);

/* How the operands of an op are read. */
static inline enum ws_tf32 ws_cpu_tf32(const struct ws_cpu *cpu, const struct ws_op *op)
{
	return op->tf32 ? cpu->base.tf32 : WS_TF32_EXACT;
}

/* Elements that one work item of the pool covers, about. */
#define WS_GRAIN 32768

/* Items that a row of an op is divided into, and all its rows: each has a sum of a CLIP. */
static inline int64_t ws_cpu_row_items(const struct ws_update_row *row)
{
	return (row->t[0]->count + WS_GRAIN - 1) / WS_GRAIN;
}

static inline int64_t ws_cpu_update_items(const struct ws_op *op)
{
	int64_t items = 0;

	for (int i = 0; i < op->u.update.count; i++)
		items += ws_cpu_row_items(&op->u.update.list[i]);
	return items;
}

/* Reals that an attention op, or its gradient, takes of the slot WS_CPU_IN_SLOT at most. */
uint64_t ws_cpu_attention_reals(const struct ws_op *op);

/*
 * Run fn on all items as one "kernel": an NVTX range in WSNVTX_CPU_DOMAIN around
 * the computation, named after the op, with the items as its grid.
 */
void ws_cpu_launch(struct ws_cpu *cpu, const struct ws_op *op, int64_t items,
                   void (*fn)(void *arg, int64_t item), void *arg);
/* The same for computations that do not use the pool. */
void ws_cpu_kernel_begin(struct ws_cpu *cpu, const struct ws_op *op, int64_t items);
void ws_cpu_kernel_end(void);

/* Pairs of numbers that a head has at most where it is rotated. */
#define WS_CPU_PAIRS_MAX 1024

/* One kernel for each op kind and build; what it cannot compute cpu.c has refused. */
typedef void ws_cpu_kernel(struct ws_cpu *cpu, const struct ws_op *op);
#define WS_OP(KIND, name, ...) ws_cpu_kernel ws_cpu_##name##_f32, ws_cpu_##name##_f64;
#include "kernels/graph/op.def"
