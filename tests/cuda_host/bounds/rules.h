/* What the rules of bounds share, and those that lie in files of their own. Notation: bounds.c. */
#pragma once

#include <math.h>

#include "tests/cuda_host/bounds/bounds.h"

#define U   0x1p-24
#define ULP (2 * U) /* of a number, at most */

/* 4 sqrt(n) u: of a sum of n, as a share of the sum of magnitudes */
static inline double sum_error(double n)
{
	return 4 * sqrt(n) * U;
}

static inline const double *in(const struct ws_operands *operands, int i)
{
	return ws_operand_of(operands, operands->op->in[i])->before;
}

static inline const double *out(const struct ws_operands *operands, int i)
{
	return ws_operand_of(operands, operands->op->out[i])->after;
}

/* Each fills in bounds of the tensor that is written: written->t->count numbers. */
void ws_bounds_rms_norm(const struct ws_operands *o, const struct ws_operand *written,
                        double *bounds);
void ws_bounds_rms_norm_grad(const struct ws_operands *o, bool of_weight, double *bounds);
void ws_bounds_batch_norm(const struct ws_operands *o, const struct ws_operand *written,
                          double *bounds);
void ws_bounds_batch_norm_grad(const struct ws_operands *o, const struct ws_operand *written,
                               double *bounds);
void ws_bounds_update(const struct ws_operands *o, const struct ws_operand *written,
                      double *bounds);
