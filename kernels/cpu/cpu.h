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

/* A tensor that kernels cannot compute in, as fp32: convert.c. */
struct ws_cpu_copy {
	struct ws_tensor t;               /* the copy */
	const struct ws_tensor *original; /* borrowed */
	bool is_read, is_written;
	enum ws_tf32 tf32; /* what is done to fp32 on the way */
};

struct ws_cpu {
	struct ws_backend base; /* first: the two are cast into each other */
	struct ws_pool *pool;
	void *block; /* of the session's tensors */
	uint64_t block_bytes;
	unsigned char *workspace; /* as large as the greediest op of the session needs */

	/* of the op that runs */
	const struct ws_op *op; /* as the graph has it: kernels are given that on copies */
	struct ws_op op_on_copies;
	struct ws_cpu_copy copies[WS_OP_INPUTS_MAX + WS_OP_OUTPUTS_MAX];
	int copy_count;
	void *scratch, *copies_at; /* parts of the workspace: what a kernel takes itself, copies */
};

/* What this process may still allocate without being killed for it. */
uint64_t ws_cpu_memory_available(void);

/* What the copies of an op take of the workspace. */
uint64_t ws_cpu_copies_bytes(const struct ws_op *op);
/* The op on copies where it needs them, until the next one; they are filled and read back around
 * its kernel. */
const struct ws_op *ws_cpu_copies_open(struct ws_cpu *cpu, const struct ws_op *op);
void ws_cpu_copies_load(struct ws_cpu *cpu);
void ws_cpu_copies_store(struct ws_cpu *cpu);

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

/*
 * Run fn on all items as one "kernel": an NVTX range in WSNVTX_CPU_DOMAIN around
 * the computation, named after the op, with the items as its grid.
 */
void ws_cpu_launch(struct ws_cpu *cpu, int64_t items, void (*fn)(void *arg, int64_t item),
                   void *arg);
/* The same for computations that are not one run of the pool: operands are there in between. */
void ws_cpu_kernel_begin(struct ws_cpu *cpu, int64_t items);
void ws_cpu_kernel_end(struct ws_cpu *cpu);

/* One kernel for each op kind and build; what it cannot compute cpu.c has refused. */
typedef void ws_cpu_kernel(struct ws_cpu *cpu, const struct ws_op *op);
#define WS_OP(KIND, name, ...) ws_cpu_kernel ws_cpu_##name##_f32, ws_cpu_##name##_f64;
#include "kernels/graph/op.def"
