/* Unscaling gradients, and the update of the loss scale. */
#include <stdatomic.h>

#include "kernels/cpu/real.h"

struct unscale {
	const struct ws_op *op;
	ws_real inverse;
	atomic_bool not_finite;
};

static int64_t items_of(const struct ws_tensor *t)
{
	return ws_div_up(t->count, WS_GRAIN);
}

/* item: a stretch of one gradient; those of a list follow one another. */
static void unscale_item(void *arg, int64_t item)
{
	struct unscale *u = arg;
	const struct ws_unscale_all *all = &u->op->u.unscale;
	const struct ws_tensor *in = u->op->in[0], *out = u->op->out[0];
	int64_t end;
	ws_real in_buf[WS_TILE], out_buf[WS_TILE];
	bool not_finite = false;

	for (int i = 0; all->count && item >= items_of(in); i++) {
		item -= items_of(in);
		in = out = all->list[i + 1];
	}
	end = ws_min64((item + 1) * WS_GRAIN, in->count);
	WS_EACH_TILE(offset, n, item * WS_GRAIN, end) {
		const ws_real *x = ws_real_load(in, offset, n, in_buf);
		ws_real *y = ws_real_target(out, offset, out_buf);

		for (int64_t i = 0; i < n; i++) {
			not_finite |= !isfinite(x[i]);
			y[i] = x[i] * u->inverse;
		}
		ws_real_store(out, offset, n, y);
	}
	if (not_finite)
		atomic_store(&u->not_finite, true);
}

void WS_CPU_FN(unscale)(struct ws_cpu *cpu, const struct ws_op *op)
{
	/* the inverse as GradScaler makes it: divided in double, rounded once */
	struct unscale u = {.op = op,
	                    .inverse = (ws_real)(1 / (double)*(ws_real *)op->in[1]->data)};

	const struct ws_unscale_all *all = &op->u.unscale;
	int64_t items = items_of(op->in[0]);

	for (int i = 1; i < all->count; i++)
		items += items_of(all->list[i]);
	ws_cpu_launch(cpu, op, items, unscale_item, &u);
	if (op->in_count > 2 && atomic_load(&u.not_finite))
		*(ws_real *)op->out[1]->data = 1;
}

static void update_item(void *arg, int64_t item)
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

WS_CPU_KERNEL(scale_update, ws_cpu_launch(cpu, op, 1, update_item, &op))
