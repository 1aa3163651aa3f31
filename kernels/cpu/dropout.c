/* Dropout: the only op that draws random numbers. */
#include "kernels/cpu/real.h"

static void dropout_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_dropout *d = &op->u.dropout;
	const ws_real keep = (ws_real)(1 / (1 - d->p)), *x = op->in[0]->data;
	const uint32_t below = ws_rng_below(d->p);
	ws_real *y = op->out[0]->data, *mask = op->out[1]->data;
	int64_t count = op->in[0]->count, end = ws_min64((item + 1) * WS_GRAIN, count);
	uint64_t step = (uint64_t) * (const int32_t *)op->in[1]->data;
	uint64_t first_draw = ws_dropout_draw(count, step);

	for (int64_t i = item * WS_GRAIN; i < end; i++) {
		mask[i] = ws_rng_half(&d->rng, first_draw + (uint64_t)i) < below ? 0 : keep;
		y[i] = x[i] * mask[i];
	}
}

WS_CPU_KERNEL(dropout, ws_cpu_launch(cpu, ws_div_up(op->in[0]->count, WS_GRAIN), dropout_item, &op))
