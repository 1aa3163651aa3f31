/*
 * How far a kernel may be from the CPU reference, which accumulates in double: derived from
 * the roundings of an honest fp32 computation, u = 2^-24 (workload notes, tolerances):
 * 2 ulp of a result that is computed from one element of each operand, 4 with exp, log or
 * tanh; 4 sqrt(n) u sum |x| for a sum of n; what a formula makes of these; and one ulp of a
 * 16-bit result. Copies, maxima, indices and flags are exact.
 */
#pragma once

#include "kernels/exec/exec.h"

/* A tensor of an op: its values before the op, and the reference's after it. */
struct ws_operand {
	struct ws_tensor *t;
	double *before; /* NULL: the op does not read it */
	double *after;  /* NULL: the op does not write it */
};

#define WS_OPERANDS_MAX 1024

struct ws_operands {
	const struct ws_op *op;
	struct ws_backend *reference; /* runs linear ops on magnitudes */
	struct ws_operand list[WS_OPERANDS_MAX];
	int count;
};

/* NULL: the op has no such operand. */
const struct ws_operand *ws_operand_of(const struct ws_operands *operands,
                                       const struct ws_tensor *t);

/* The largest difference allowed of each element of one that the op writes: t->count numbers. */
enum ws_status ws_bounds(const struct ws_operands *operands, const struct ws_operand *written,
                         double *bounds, struct ws_err *err);
