/*
 * The type a kernel file computes in: its operands and results are of that type. Those of 16 bits
 * are copies by then (convert.c), but of ops that read tiles of any dtype. Only for files that are
 * compiled twice (cpu.h), and for convert.c.
 */
#pragma once

#include <math.h>

#include "kernels/cpu/cpu.h"

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

/* Elements that a kernel computes at a time where it keeps them: fits the first-level cache. */
#define WS_TILE 1024

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

	switch (t->dtype) {
	case WS_DTYPE_BF16:
		for (int64_t i = 0; i < count; i++)
			buf[i] = ws_bf16_to_f32(half[i]);
		return buf;
	case WS_DTYPE_F16:
		for (int64_t i = 0; i < count; i++)
			buf[i] = ws_f16_to_f32(half[i]);
		return buf;
	default:
		return ws_reals(t, offset);
	}
}

/* Where to compute elements of t: its own memory where ws_real is its type, else buf. */
static inline ws_real *ws_real_target(const struct ws_tensor *t, int64_t offset, ws_real *buf)
{
	return t->dtype == WS_REAL_DTYPE ? ws_reals(t, offset) : buf;
}

/* Write what was computed at ws_real_target(); rounds to nearest even. */
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

/* For each tile from begin up to end: where it begins, and its n elements. */
#define WS_EACH_TILE(at, n, begin, end) \
	for (int64_t at = (begin), n; n = ws_min64((end)-at, WS_TILE), at < (end); at += WS_TILE)

/* y[i] = expression for i = 0 … n - 1; and that as the case of a sub-op. */
#define WS_EACH(expression)                     \
	do {                                    \
		for (int64_t i = 0; i < n; i++) \
			y[i] = (expression);    \
	} while (0)
#define WS_EACH_OF(SUB, expression)  \
	case WS_SUB_##SUB:           \
		WS_EACH(expression); \
		break

/* The kernel of an op, which is one call. */
#define WS_CPU_KERNEL(name, call)                                         \
	void WS_CPU_FN(name)(struct ws_cpu * cpu, const struct ws_op *op) \
	{                                                                 \
		call;                                                     \
	}

/*
 * c (+)= op(a) · op(b), m × k by k × n, row-major, rows stride apart. Runs on the
 * calling thread; on several at a time after matmul_concurrently(). No dimension
 * or stride exceeds INT32_MAX.
 */
struct ws_matmul {
	int64_t m, n, k;
	const ws_real *a, *b;
	ws_real *c;
	int64_t a_stride, b_stride, c_stride;
	bool trans_a, trans_b, accumulate;
};

void WS_CPU_FN(matmul)(const struct ws_matmul *product);
void WS_CPU_FN(matmul_concurrently)(void);

/* The op's result: the sum of each channel of its operand. */
void WS_CPU_FN(channel_sums)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_channels ch);

static inline int64_t ws_min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t ws_div_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}
