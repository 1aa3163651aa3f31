/* Ops that move data to another order: permute, and rope with its head split. */
#include "kernels/cpu/real.h"

static void permute_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const int64_t *d = op->u.dims;
	size_t run_bytes = (size_t)d[3] * ws_dtype_size(op->in[0]->dtype);
	/* item: one [b] of one [a] of the operand */
	int64_t a = item / d[1], b = item % d[1];

	for (int64_t c = 0; c < d[2]; c++)
		memcpy((char *)op->out[0]->data + (size_t)((a * d[2] + c) * d[1] + b) * run_bytes,
		       (const char *)op->in[0]->data + (size_t)(item * d[2] + c) * run_bytes,
		       run_bytes);
}

WS_CPU_KERNEL(permute, ws_cpu_launch(cpu, op->u.dims[0] * op->u.dims[1], permute_item, &op))

static void rotate(const ws_real *x, const ws_real *cosine, const ws_real *sine, ws_real sign,
                   int64_t pairs, ws_real *y)
{
	for (int64_t i = 0; i < pairs; i++) {
		ws_real even = x[2 * i], odd = x[2 * i + 1], s = sign * sine[i];

		y[2 * i] = even * cosine[i] - odd * s;
		y[2 * i + 1] = even * s + odd * cosine[i];
	}
}

/*
 * item: one time of one batch; all its heads. Those of queries and keys are rotated; behind them
 * ROPE_QKV has those of values, which are not.
 */
static void rope_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_heads *h = &op->u.head;
	bool back = op->sub == WS_SUB_ROTATE_BACK || op->sub == WS_SUB_ROTATE_QKV_BACK;
	int parts = op->kind == WS_OP_ROPE_QKV ? 3 : 1;
	const struct ws_tensor *table = op->in[back ? parts : 1];
	int64_t b = item / h->time, t = item % h->time, pairs = h->width / 2;
	const ws_real *cosine = ws_reals(table, t * pairs);
	const ws_real *sine = ws_reals(table, (h->time + t) * pairs);

	for (int64_t i = 0; i < parts * h->heads; i++) {
		int64_t part = i / h->heads, head = i % h->heads;
		int64_t merged = (parts * item * h->heads + i) * h->width;
		int64_t split = ((b * h->heads + head) * h->time + t) * h->width;
		const ws_real *x = ws_reals(op->in[back ? part : 0], back ? split : merged);
		ws_real *y = ws_reals(op->out[back ? 0 : part], back ? merged : split);

		if (part < 2)
			rotate(x, cosine, sine, back ? -1 : 1, pairs, y);
		else
			memcpy(y, x, (size_t)h->width * sizeof(*y));
	}
}

WS_CPU_KERNEL(rope, ws_cpu_launch(cpu, op->u.head.batch * op->u.head.time, rope_item, &op))
WS_CPU_KERNEL(rope_qkv, ws_cpu_launch(cpu, op->u.head.batch * op->u.head.time, rope_item, &op))
