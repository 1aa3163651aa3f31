/* Ops that move elements to other places: permute, rope with its head split, by index. */
#include "kernels/cpu/cpu.h"

/* item: one [b] of one [a] of the operand */
WS_CPU_ITEMS(permute, op->u.dims[0] * op->u.dims[1])
{
	const int64_t *d = op->u.dims;
	size_t run_bytes = (size_t)d[3] * ws_dtype_size(op->in[0]->dtype);
	int64_t a = item / d[1], b = item % d[1];

	for (int64_t c = 0; c < d[2]; c++)
		memcpy((char *)op->out[0]->data + (size_t)((a * d[2] + c) * d[1] + b) * run_bytes,
		       (const char *)op->in[0]->data + (size_t)(item * d[2] + c) * run_bytes,
		       run_bytes);
}

/*
 * item: one time of one batch; all its heads. Those of queries and keys are rotated; behind them
 * ROPE_QKV has those of values, which are not.
 */
WS_CPU_ITEMS(rope, op->u.head.batch * op->u.head.time)
{
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

		for (int64_t j = 0; j < pairs && part < 2; j++)
			ws_rotate(x[2 * j], x[2 * j + 1], cosine[j], back ? -sine[j] : sine[j],
			          &y[2 * j]);
		if (part == 2)
			memcpy(y, x, (size_t)h->width * sizeof(*y));
	}
}

WS_CPU_KERNEL(rope_qkv, WS_CPU_FN(rope)(cpu, op))

/* --- by index -----------------------------------------------------------------------------------
 */

#define LOOKUP_ROWS 16 /* of an item */

WS_CPU_ITEMS(embedding, ws_div_up(op->in[1]->count, LOOKUP_ROWS))
{
	const struct ws_tensor *table = op->in[0], *out = op->out[0];
	const int32_t *index = op->in[1]->data;
	size_t row_bytes = (size_t)ws_tensor_cols(table) * ws_dtype_size(table->dtype);
	int64_t end = ws_min64((item + 1) * LOOKUP_ROWS, op->in[1]->count);

	for (int64_t row = item * LOOKUP_ROWS; row < end; row++)
		memcpy((char *)out->data + (size_t)row * row_bytes,
		       (const char *)table->data + (size_t)index[row] * row_bytes, row_bytes);
}

/* Columns of the table that one item adds to: two rows may hit the same row of the table. */
#define COLUMNS 64

WS_CPU_ITEMS(embedding_grad, ws_div_up(ws_tensor_cols(op->in[0]), COLUMNS))
{
	const int32_t *index = op->in[1]->data;
	int64_t cols = ws_tensor_cols(op->in[0]), first = item * COLUMNS;
	int64_t n = ws_min64(cols - first, COLUMNS);

	for (int64_t row = 0; row < op->in[1]->count; row++) {
		const ws_real *add = ws_reals(op->in[0], row * cols + first);
		ws_real *sum = ws_reals(op->out[0], index[row] * cols + first);

		for (int64_t i = 0; i < n; i++)
			sum[i] += add[i];
	}
}

/* One element of each row, from the row or into it. */
WS_CPU_ITEMS(gather, ws_div_up(op->in[1]->count, WS_TILE))
{
	bool scatter = op->kind == WS_OP_GATHER_GRAD;
	const int32_t *index = op->in[1]->data;
	int64_t cols = ws_tensor_cols(scatter ? op->out[0] : op->in[0]);
	int64_t end = ws_min64((item + 1) * WS_TILE, op->in[1]->count);

	for (int64_t row = item * WS_TILE; row < end; row++) {
		int64_t place = row * cols + index[row];

		*ws_reals(op->out[0], scatter ? place : row) =
		        *ws_reals(op->in[0], scatter ? row : place);
	}
}

WS_CPU_KERNEL(gather_grad, WS_CPU_FN(gather)(cpu, op))
