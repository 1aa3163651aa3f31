/* Dropout: the only op that draws random numbers. */
#include "kernels/cpu/real.h"

static void dropout_tile(const struct ws_op *op, uint64_t first_draw, int64_t offset, int64_t n)
{
	const struct ws_dropout *d = &op->u.dropout;
	const ws_real keep = (ws_real)(1 / (1 - d->p));
	const uint32_t below = ws_rng_below(d->p);
	ws_real x_buf[WS_TILE], y_buf[WS_TILE], mask_buf[WS_TILE];
	const ws_real *x = ws_real_load(op->in[0], offset, n, x_buf);
	ws_real *y = ws_real_target(op->out[0], offset, y_buf);
	ws_real *mask = ws_real_target(op->out[1], offset, mask_buf);

	for (int64_t i = 0; i < n; i++) {
		uint64_t draw = first_draw + (uint64_t)(offset + i);

		mask[i] = ws_rng_half(&d->rng, draw) < below ? 0 : keep;
		y[i] = x[i] * mask[i];
	}
	ws_real_store(op->out[0], offset, n, y);
	ws_real_store(op->out[1], offset, n, mask);
}

static void dropout_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	int64_t count = op->in[0]->count, first = item * WS_GRAIN;
	int64_t end = ws_min64(first + WS_GRAIN, count);
	uint64_t step = (uint64_t) * (const int32_t *)op->in[1]->data;

	WS_EACH_TILE(offset, n, first, end)
		dropout_tile(op, ws_dropout_draw(count, step), offset, n);
}

WS_CPU_KERNEL(dropout,
              ws_cpu_launch(cpu, op, ws_div_up(op->in[0]->count, WS_GRAIN), dropout_item, &op))
