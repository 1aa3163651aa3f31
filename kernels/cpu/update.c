/*
 * Optimizers: all of one in a kernel, or a step of it. The formulas and their order: optim.h.
 * Clipping and loss scaling, which walk over the same rows.
 */
#include <stdatomic.h>

#include "kernels/cpu/real.h"

struct values {
	ws_real *t[WS_UPDATE_TENSORS]; /* NULL: the row has none */
	ws_real number[2];             /* of the step */
};

/* All of an optimizer, a loop for each. in_loss: decay is part of the gradient. */
static inline __attribute__((always_inline)) void update_fused(const struct ws_op *op,
                                                               const struct values *values,
                                                               int64_t n, enum ws_sub sub,
                                                               bool momentum, bool in_loss)
{
	const struct ws_update_factors *f = &op->u.update.factors;
	const ws_real beta1 = (ws_real)f->beta1, rest1 = (ws_real)(1 - f->beta1);
	const ws_real beta2 = (ws_real)f->beta2, rest2 = (ws_real)(1 - f->beta2);
	const ws_real eps = (ws_real)f->eps, decay = (ws_real)f->decay, lr = (ws_real)f->alpha;
	const ws_real alpha = values->number[0], correction = values->number[1];
	const ws_real *g = values->t[WS_UPDATE_G];
	ws_real *restrict p = values->t[WS_UPDATE_P], *restrict m = values->t[WS_UPDATE_M];
	ws_real *restrict v = values->t[WS_UPDATE_V];

	for (int64_t i = 0; i < n; i++) {
		ws_real grad = in_loss ? g[i] + decay * p[i] : g[i];

		if (sub == WS_SUB_SGD_ALL) {
			if (momentum)
				grad = m[i] = beta1 * m[i] + grad;
			p[i] -= lr * grad;
			continue;
		}
		m[i] = beta1 * m[i] + rest1 * grad;
		v[i] = beta2 * v[i] + rest2 * (grad * grad);
		if (sub == WS_SUB_ADAMW_CS336_ALL) {
			p[i] -= m[i] * alpha / (WS_REAL_SQRT(v[i]) + eps);
			p[i] -= decay * p[i];
			continue;
		}
		if (sub == WS_SUB_ADAMW_ALL)
			p[i] -= decay * p[i];
		p[i] -= alpha * (m[i] / (WS_REAL_SQRT(v[i]) * correction + eps));
	}
}

static void update_all(const struct ws_op *op, const struct values *v, int64_t n)
{
	const bool momentum = v->t[WS_UPDATE_M], in_loss = op->u.update.factors.decay != 0;

#define ALL(SUB, momentum, in_loss)                                          \
	case WS_SUB_##SUB:                                                   \
		update_fused(op, v, n, WS_SUB_##SUB, (momentum), (in_loss)); \
		break
	switch (op->sub) {
		ALL(ADAMW_CS336_ALL, true, false);
		ALL(ADAMW_ALL, true, false);
		ALL(ADAM_ALL, true, in_loss);
	default:
		update_fused(op, v, n, WS_SUB_SGD_ALL, momentum, in_loss);
	}
#undef ALL
}

static void update_each(const struct ws_op *op, const struct values *v, int64_t n)
{
	const ws_real alpha = (ws_real)op->u.update.factors.alpha, x = v->number[0];
	const ws_real *a = v->t[WS_UPDATE_A], *b = v->t[WS_UPDATE_B], *c = v->t[WS_UPDATE_C];
	ws_real *y = v->t[WS_UPDATE_OUT];

	switch (op->sub) {
		WS_EACH_OF(EACH_LERP, a[i] + alpha * (b[i] - a[i]));
		WS_EACH_OF(EACH_SCALE, alpha * a[i]);
		WS_EACH_OF(EACH_ADD, a[i] + alpha * b[i]);
		WS_EACH_OF(EACH_ADDCMUL, a[i] + alpha * b[i] * c[i]);
		WS_EACH_OF(EACH_SQRT, WS_REAL_SQRT(a[i]));
		WS_EACH_OF(EACH_ADD_CONST, a[i] + alpha);
		WS_EACH_OF(EACH_MUL, x * a[i]);
	default: /* EACH_ADDCDIV */
		WS_EACH(a[i] - x * (b[i] / c[i]));
	}
}

static void update_tile(const struct ws_op *op, const struct ws_update_row *row, int64_t offset,
                        int64_t n)
{
	ws_real buf[WS_UPDATE_TENSORS][WS_TILE];
	struct values v = {{NULL}, {0, 0}};

	for (int i = 0; i < ws_update_numbers(op); i++)
		v.number[i] = *ws_reals(op->in[i], 0);
	for (int k = 0; k < WS_UPDATE_TENSORS; k++) {
		struct ws_tensor *t = row->t[k];

		if (!t)
			continue;
		if (ws_update_reads(op->sub, k))
			ws_real_load(t, offset, n, buf[k]);
		v.t[k] = ws_real_target(t, offset, buf[k]);
	}
	(ws_update_is_fused(op->sub) ? update_all : update_each)(op, &v, n);
	for (int k = 0; k < WS_UPDATE_TENSORS; k++)
		if (v.t[k] && ws_update_writes(op->sub, k))
			ws_real_store(row->t[k], offset, n, v.t[k]);
}

static void clip_tile(const struct ws_update_row *row, int64_t offset, int64_t n, double *sum)
{
	ws_real buf[WS_TILE];
	const ws_real *x = ws_real_load(row->t[0], offset, n, buf);

	for (int64_t i = 0; i < n; i++)
		*sum += (double)x[i] * (double)x[i];
}

/* Whether all of a tile is finite. */
static bool unscale_tile(const struct ws_op *op, const struct ws_update_row *row, int64_t offset,
                         int64_t n)
{
	/* the inverse as GradScaler makes it: divided in double, rounded once */
	const ws_real inverse = (ws_real)(1 / (double)*ws_reals(op->in[1], 0));
	ws_real x_buf[WS_TILE], y_buf[WS_TILE];
	const ws_real *x = ws_real_load(row->t[WS_UPDATE_A], offset, n, x_buf);
	ws_real *y = ws_real_target(row->t[WS_UPDATE_OUT], offset, y_buf);
	bool finite = true;

	for (int64_t i = 0; i < n; i++) {
		finite &= isfinite(x[i]) != 0;
		y[i] = x[i] * inverse;
	}
	ws_real_store(row->t[WS_UPDATE_OUT], offset, n, y);
	return finite;
}

/* --- running -------------------------------------------------------------------------- */

struct walk {
	const struct ws_op *op;
	double *sums;           /* CLIP: of each item */
	atomic_bool not_finite; /* UNSCALE: an element of any tensor */
};

/* item: a stretch of one row; the items of the list follow one another. */
static void walk_item(void *arg, int64_t item)
{
	struct walk *walk = arg;
	const struct ws_update_row *row = walk->op->u.update.list;
	int64_t first, end, rest = item;
	bool finite = true;

	for (; rest >= ws_cpu_row_items(row); row++)
		rest -= ws_cpu_row_items(row);
	first = rest * WS_GRAIN;
	end = ws_min64(first + WS_GRAIN, row->t[0]->count);
	if (walk->sums)
		walk->sums[item] = 0;
	WS_EACH_TILE(offset, n, first, end) {
		if (walk->sums)
			clip_tile(row, offset, n, &walk->sums[item]);
		else if (walk->op->kind == WS_OP_UNSCALE)
			finite &= unscale_tile(walk->op, row, offset, n);
		else
			update_tile(walk->op, row, offset, n);
	}
	if (!finite)
		atomic_store(&walk->not_finite, true);
}

void WS_CPU_FN(update)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct walk walk = {.op = op};

	ws_cpu_launch(cpu, ws_cpu_update_items(op), walk_item, &walk);
}

void WS_CPU_FN(clip)(struct ws_cpu *cpu, const struct ws_op *op)
{
	int64_t items = ws_cpu_update_items(op);
	struct walk walk = {.op = op, .sums = cpu->scratch};
	double sum = 0, factor;

	ws_cpu_kernel_begin(cpu, items);
	ws_pool_run(cpu->pool, items, walk_item, &walk);
	for (int64_t i = 0; i < items; i++)
		sum += walk.sums[i];
	factor = op->u.update.factors.alpha / (sqrt(sum) + WS_CLIP_EPS);
	*ws_reals(op->out[0], 0) = (ws_real)(factor < 1 ? factor : 1);
	ws_cpu_kernel_end(cpu);
}

void WS_CPU_FN(unscale)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct walk walk = {.op = op};

	ws_cpu_launch(cpu, ws_cpu_update_items(op), walk_item, &walk);
	if (op->in_count > 2 && atomic_load(&walk.not_finite))
		*ws_reals(op->out[1], 0) = 1;
}

static void scale_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	ws_real *scale = op->out[0]->data;
	int32_t *tracker = op->out[1]->data;
	const ws_real *found_inf = op->in[2]->data;
	double value = (double)*scale;

	(void)item;
	ws_scaler_next(&op->u.scaler, *found_inf != 0, &value, tracker);
	*scale = (ws_real)value;
}

WS_CPU_KERNEL(scale_update, ws_cpu_launch(cpu, 1, scale_item, &op))
