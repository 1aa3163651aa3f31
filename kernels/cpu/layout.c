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

WS_CPU_KERNEL(permute, ws_cpu_launch(cpu, op, op->u.dims[0] * op->u.dims[1], permute_item, &op))

/* Pairs that one head has at most: bounds the buffers on the stack. */
#define PAIRS_MAX 1024

static void rotate(const ws_real *x, const ws_real *cosine, const ws_real *sine, ws_real sign,
                   int64_t pairs, ws_real *y)
{
	for (int64_t i = 0; i < pairs; i++) {
		ws_real even = x[2 * i], odd = x[2 * i + 1], s = sign * sine[i];

		y[2 * i] = even * cosine[i] - odd * s;
		y[2 * i + 1] = even * s + odd * cosine[i];
	}
}

/* item: one time of one batch; all its heads. */
static void rope_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_heads *h = &op->u.head;
	bool back = op->sub == WS_SUB_ROTATE_BACK;
	int64_t b = item / h->time, t = item % h->time, pairs = h->width / 2;
	ws_real in_buf[2 * PAIRS_MAX], out_buf[2 * PAIRS_MAX], table_buf[2][PAIRS_MAX];
	const ws_real *cosine = ws_real_load(op->in[1], t * pairs, pairs, table_buf[0]);
	const ws_real *sine = ws_real_load(op->in[1], (h->time + t) * pairs, pairs, table_buf[1]);

	for (int64_t head = 0; head < h->heads; head++) {
		int64_t merged = (item * h->heads + head) * h->width;
		int64_t split = ((b * h->heads + head) * h->time + t) * h->width;
		const ws_real *x = ws_real_load(op->in[0], back ? split : merged, h->width, in_buf);
		ws_real *y = ws_real_target(op->out[0], back ? merged : split, out_buf);

		rotate(x, cosine, sine, back ? -1 : 1, pairs, y);
		ws_real_store(op->out[0], back ? merged : split, h->width, y);
	}
}

static enum ws_status rope_run(struct ws_cpu *cpu, const struct ws_op *op,
                               void (*item)(void *arg, int64_t item), struct ws_err *err)
{
	const struct ws_heads *h = &op->u.head;

	WS_FAIL_IF(h->width > 2 * PAIRS_MAX, err, USAGE,
	           "heads of width %lld: at most %d is possible", (long long)h->width,
	           2 * PAIRS_MAX);
	ws_cpu_launch(cpu, op, h->batch * h->time, item, &op);
	return WS_OK;
}

enum ws_status WS_CPU_FN(rope)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_err *err)
{
	return rope_run(cpu, op, rope_item, err);
}

/* item: one time of one batch; all heads of queries, keys and values, which are not rotated. */
static void rope_qkv_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_heads *h = &op->u.head;
	bool back = op->sub == WS_SUB_ROTATE_QKV_BACK;
	const struct ws_tensor *table = op->in[back ? 3 : 1];
	int64_t b = item / h->time, t = item % h->time, pairs = h->width / 2;
	ws_real in_buf[2 * PAIRS_MAX], out_buf[2 * PAIRS_MAX], table_buf[2][PAIRS_MAX];
	const ws_real *cosine = ws_real_load(table, t * pairs, pairs, table_buf[0]);
	const ws_real *sine = ws_real_load(table, (h->time + t) * pairs, pairs, table_buf[1]);

	for (int64_t i = 0; i < 3 * h->heads; i++) {
		int64_t part = i / h->heads, head = i % h->heads;
		int64_t merged = (3 * item * h->heads + i) * h->width;
		int64_t split = ((b * h->heads + head) * h->time + t) * h->width;
		const struct ws_tensor *in = op->in[back ? part : 0];
		const struct ws_tensor *out = op->out[back ? 0 : part];
		const ws_real *x = ws_real_load(in, back ? split : merged, h->width, in_buf);
		ws_real *y = ws_real_target(out, back ? merged : split, out_buf);

		if (part < 2)
			rotate(x, cosine, sine, back ? -1 : 1, pairs, y);
		else
			memcpy(y, x, (size_t)h->width * sizeof(*y));
		ws_real_store(out, back ? merged : split, h->width, y);
	}
}

enum ws_status WS_CPU_FN(rope_qkv)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_err *err)
{
	return rope_run(cpu, op, rope_qkv_item, err);
}
