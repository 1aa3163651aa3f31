/*
 * Inside the CPU reference backend.
 *
 * The kernel files are compiled twice, with WS_CPU_REAL_IS_DOUBLE 0 and 1: arithmetic in float and
 * in double, on operands and results of that type. WS_CPU_FN(name) gives each function the suffix
 * of its build. Graphs of fp64 tensors run the double build. Operands of 16 bits are copies in fp32
 * when a kernel sees them (cpu.c), except those of ops that read tiles of any dtype.
 */
#pragma once

#include "kernels/exec/exec.h"

#if !defined(WS_CPU_REAL_IS_DOUBLE)
#define WS_CPU_REAL_IS_DOUBLE 0
#endif
#if WS_CPU_REAL_IS_DOUBLE
typedef double ws_real;
#define WS_REAL_DTYPE   WS_DTYPE_F64
#define WS_CPU_FN(name) ws_cpu_##name##_f64
#define WS_REAL_EXP     exp
#define WS_REAL_LOG     log
#define WS_REAL_SQRT    sqrt
#define WS_REAL_TANH    tanh
#else
typedef float ws_real;
#define WS_REAL_DTYPE   WS_DTYPE_F32
#define WS_CPU_FN(name) ws_cpu_##name##_f32
#define WS_REAL_EXP     expf
#define WS_REAL_LOG     logf
#define WS_REAL_SQRT    sqrtf
#define WS_REAL_TANH    tanhf
#endif
#include "kernels/graph/element.h"

/* Of a thread's tile of a convolution: about the second-level cache. */
#define WS_CPU_TILE_REALS ((int64_t)1 << 18)
/* Elements that a kernel computes at a time where it keeps them: fits the first-level cache. */
#define WS_TILE 1024
/* Elements that one work item of the pool covers, about. */
#define WS_GRAIN 32768

/* A tensor that kernels cannot compute in, as fp32: 16 bits, or fp32 that is read as TF32. */
struct ws_cpu_copy {
	struct ws_tensor t;               /* the copy */
	const struct ws_tensor *original; /* borrowed */
	bool is_read, is_written;
	enum ws_tf32 tf32; /* rounding of fp32 operands */
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

/* Bytes of the workspace that the copies of an op need. */
uint64_t ws_cpu_copies_bytes(const struct ws_op *op);
/* The op on copies where it needs them, until the next one; they are filled and read back around
 * its kernel. */
const struct ws_op *ws_cpu_copies_open(struct ws_cpu *cpu, const struct ws_op *op);

/* Items that a row of an op is divided into, and all its rows: each has a sum of a CLIP. */
static inline int64_t ws_cpu_row_items(const struct ws_update_row *row)
{
	return ws_div_up(row->t[0]->count, WS_GRAIN);
}

static inline int64_t ws_cpu_update_items(const struct ws_op *op)
{
	int64_t items = 0;

	for (int i = 0; i < op->u.update.count; i++)
		items += ws_cpu_row_items(&op->u.update.list[i]);
	return items;
}

/* --- launching ------------------------------------------------------------------------------- */

/* One kernel for each op kind and build; cpu.c has refused everything that it cannot compute. */
typedef void ws_cpu_kernel(struct ws_cpu *cpu, const struct ws_op *op);
#define WS_OP(KIND, name, ...) ws_cpu_kernel ws_cpu_##name##_f32, ws_cpu_##name##_f64;
#include "kernels/graph/op.def"

/*
 * Run fn on all items as one "kernel": an NVTX range in WSNVTX_CPU_DOMAIN around
 * the computation, named after the op, with the items as its grid.
 */
void ws_cpu_launch(struct ws_cpu *cpu, int64_t items, void (*fn)(void *arg, int64_t item),
                   void *arg);
/* The same where an item needs the op alone. */
void ws_cpu_launch_op(struct ws_cpu *cpu, const struct ws_op *op, int64_t items,
                      void (*fn)(const struct ws_op *op, int64_t item));
/* The same for computations that are not one run of the pool: operands are there in between. */
void ws_cpu_kernel_begin(struct ws_cpu *cpu, int64_t items);
void ws_cpu_kernel_end(struct ws_cpu *cpu);

/* The kernel of an op, which is one call. */
#define WS_CPU_KERNEL(name, call)                                         \
	void WS_CPU_FN(name)(struct ws_cpu * cpu, const struct ws_op *op) \
	{                                                                 \
		call;                                                     \
	}
/* The kernel of an op whose items need the op alone; what follows is the body for one `item`. */
#define WS_CPU_ITEMS(name, items)                                          \
	static void name##_item(const struct ws_op *op, int64_t item);     \
	WS_CPU_KERNEL(name, ws_cpu_launch_op(cpu, op, items, name##_item)) \
	static void name##_item(const struct ws_op *op, int64_t item)

/* --- elements --------------------------------------------------------------------------------- */

/* Elements of t from an offset. */
static inline ws_real *ws_reals(const struct ws_tensor *t, int64_t offset)
{
	return (ws_real *)t->data + offset;
}

/* count elements of t from an offset: in place where they are ws_real, else in buf. */
static inline const ws_real *ws_real_load(const struct ws_tensor *t, int64_t offset, int64_t count,
                                          ws_real *buf)
{
	const uint16_t *half = (const uint16_t *)t->data + offset;

	if (t->dtype == WS_DTYPE_BF16)
		for (int64_t i = 0; i < count; i++)
			buf[i] = ws_bf16_to_f32(half[i]);
	else if (t->dtype == WS_DTYPE_F16)
		for (int64_t i = 0; i < count; i++)
			buf[i] = ws_f16_to_f32(half[i]);
	else
		return ws_reals(t, offset);
	return buf;
}

/* Where to compute elements of t: its own memory where ws_real is its type, else buf. */
static inline ws_real *ws_real_target(const struct ws_tensor *t, int64_t offset, ws_real *buf)
{
	return t->dtype == WS_REAL_DTYPE ? ws_reals(t, offset) : buf;
}

/* Writes the results at ws_real_target() to the tensor, rounded to nearest even. */
static inline void ws_real_store(const struct ws_tensor *t, int64_t offset, int64_t count,
                                 const ws_real *from)
{
	uint16_t *half = (uint16_t *)t->data + offset;

	if (t->dtype == WS_DTYPE_BF16)
		for (int64_t i = 0; i < count; i++)
			half[i] = ws_f32_to_bf16((float)from[i]);
	else if (t->dtype == WS_DTYPE_F16)
		for (int64_t i = 0; i < count; i++)
			half[i] = ws_f32_to_f16((float)from[i]);
}

/* Sums of n elements of t, rounded once. */
static inline void ws_real_put_sums(const struct ws_tensor *t, int64_t offset, int64_t n,
                                    const double *sums)
{
	for (int64_t i = 0; i < n; i++)
		ws_reals(t, offset)[i] = (ws_real)sums[i];
}

/* Loops over the tiles from begin to end: begin and number of elements of each. */
#define WS_EACH_TILE(at, n, begin, end) \
	for (int64_t at = (begin), n; n = ws_min64((end)-at, WS_TILE), at < (end); at += WS_TILE)
