/* Bounds of what an optimizer updates. Notation: bounds.c. */
#include "tests/cuda_host/bounds/rules.h"

static double at(const struct ws_operands *o, const struct ws_tensor *t, int64_t i)
{
	return t ? ws_operand_of(o, t)->before[i] : 0;
}

/* Of a fused optimizer: the sizes of what each result is a sum of. */
static double bound_all(const struct ws_op *op, const struct ws_operands *o,
                        const struct ws_update_row *row, const struct ws_tensor *t, int64_t i)
{
	const struct ws_update_factors *f = &op->u.update.factors;
	double p = fabs(at(o, row->t[WS_UPDATE_P], i)), v = at(o, row->t[WS_UPDATE_V], i);
	double g = fabs(at(o, row->t[WS_UPDATE_G], i)) + f->decay * p, correction, v_new;
	/* what is squared: where decay and gradient cancel, the rest is small, and its error is not
	 */
	double rest = at(o, row->t[WS_UPDATE_G], i) +
	              (op->sub == WS_SUB_ADAM_ALL ? f->decay * at(o, row->t[WS_UPDATE_P], i) : 0);
	double m = f->beta1 * fabs(at(o, row->t[WS_UPDATE_M], i));

	if (op->sub == WS_SUB_SGD_ALL)
		return 8 * ULP * (t == row->t[WS_UPDATE_P] ? p + f->alpha * (m + g) : m + g);
	m += (1 - f->beta1) * g;
	v_new = f->beta2 * v + (1 - f->beta2) * g * g;
	if (t != row->t[WS_UPDATE_P])
		return 8 * ULP * (t == row->t[WS_UPDATE_M] ? m : v_new);
	correction = ws_update_numbers(op) > 1 ? in(o, 1)[0] : 1;
	v_new = f->beta2 * v + (1 - f->beta2) * rest * rest;
	return 8 * ULP * p + 32 * ULP * fabs(in(o, 0)[0]) * m / (sqrt(v_new) * correction + f->eps);
}

/* Of a step: those of the terms, each operation one rounding. */
static double bound_each(const struct ws_op *op, const struct ws_operands *o,
                         const struct ws_update_row *row, int64_t i)
{
	double alpha = fabs(op->u.update.factors.alpha), a = fabs(at(o, row->t[WS_UPDATE_A], i));
	double b = fabs(at(o, row->t[WS_UPDATE_B], i)), c = fabs(at(o, row->t[WS_UPDATE_C], i));
	double x = ws_update_numbers(op) ? fabs(in(o, 0)[0]) : 0;

	switch (op->sub) {
	case WS_SUB_EACH_LERP:
		return 4 * ULP * (a + alpha * (a + b));
	case WS_SUB_EACH_ADD:
		return 4 * ULP * (a + alpha * b);
	case WS_SUB_EACH_ADDCMUL:
		return 4 * ULP * (a + alpha * b * c);
	case WS_SUB_EACH_ADDCDIV:
		return 4 * ULP * (a + x * b / c);
	case WS_SUB_EACH_MUL:
		return 2 * ULP * x * a;
	default: /* EACH_SQRT is below its operand or 1 */
		return 2 * ULP *
		       (op->sub == WS_SUB_EACH_SQRT ? sqrt(a) : fmax(alpha, 1) * a + alpha);
	}
}

void ws_bounds_update(const struct ws_operands *o, const struct ws_operand *written, double *bounds)
{
	const struct ws_op *op = o->op;
	const struct ws_update_row *row = op->u.update.list;
	const struct ws_tensor *t = written->t;

	while (row->t[0] != t && row->t[1] != t && row->t[2] != t)
		row++;
	for (int64_t i = 0; i < t->count; i++)
		bounds[i] = ws_update_is_fused(op->sub) ? bound_all(op, o, row, t, i)
		                                        : bound_each(op, o, row, i);
}
