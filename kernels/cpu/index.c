/* Ops that pick or scatter by index. */
#include "kernels/cpu/real.h"

#define ROWS_PER_ITEM 16

static void lookup_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_tensor *table = op->in[0], *out = op->out[0];
	const int32_t *index = op->in[1]->data;
	size_t row_bytes = (size_t)ws_tensor_cols(table) * ws_dtype_size(table->dtype);
	int64_t first = item * ROWS_PER_ITEM;
	int64_t end = ws_min64(first + ROWS_PER_ITEM, op->in[1]->count);

	for (int64_t row = first; row < end; row++)
		memcpy((char *)out->data + (size_t)row * row_bytes,
		       (const char *)table->data + (size_t)index[row] * row_bytes, row_bytes);
}

WS_CPU_KERNEL(embedding,
              ws_cpu_launch(cpu, ws_div_up(op->in[1]->count, ROWS_PER_ITEM), lookup_item, &op))

/* Columns of the table that one item adds to: two rows may hit the same row of the table. */
#define COLUMNS 64

static void scatter_add_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
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

WS_CPU_KERNEL(embedding_grad, ws_cpu_launch(cpu, ws_div_up(ws_tensor_cols(op->in[0]), COLUMNS),
                                            scatter_add_item, &op))

/* One element of each row, from the row or into it. */
static void pick_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	bool scatter = op->kind == WS_OP_GATHER_GRAD;
	const int32_t *index = op->in[1]->data;
	int64_t cols = ws_tensor_cols(scatter ? op->out[0] : op->in[0]), first = item * WS_TILE;
	int64_t end = ws_min64(first + WS_TILE, op->in[1]->count);

	for (int64_t row = first; row < end; row++) {
		int64_t place = row * cols + index[row];

		*ws_reals(op->out[0], scatter ? place : row) =
		        *ws_reals(op->in[0], scatter ? row : place);
	}
}

WS_CPU_KERNEL(gather, ws_cpu_launch(cpu, ws_div_up(op->in[1]->count, WS_TILE), pick_item, &op))
WS_CPU_KERNEL(gather_grad, ws_cpu_launch(cpu, ws_div_up(op->in[1]->count, WS_TILE), pick_item, &op))

/* The mean of -y[target] over rows. */
static void nll_loss_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const int32_t *target = op->in[1]->data;
	int64_t cols = ws_tensor_cols(op->in[0]), rows = op->in[1]->count;
	double sum = 0;

	(void)item;
	for (int64_t row = 0; row < rows; row++)
		sum -= (double)*ws_reals(op->in[0], row * cols + target[row]);
	*ws_reals(op->out[0], 0) = (ws_real)(sum / (double)rows);
}

WS_CPU_KERNEL(nll_loss, ws_cpu_launch(cpu, 1, nll_loss_item, &op))

/* item: a row */
static void nll_loss_grad_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	int64_t n = ws_tensor_cols(op->out[0]), target = ((const int32_t *)op->in[1]->data)[item];
	ws_real dy = *ws_reals(op->in[0], 0) / (ws_real)op->in[1]->count;
	ws_real *y = ws_reals(op->out[0], item * n);

	WS_EACH(i == target ? -dy : 0);
}

WS_CPU_KERNEL(nll_loss_grad, ws_cpu_launch(cpu, op->in[1]->count, nll_loss_grad_item, &op))

static void squared_error_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	ws_real d = *ws_reals(op->in[0], item) - *ws_reals(op->in[1], item);

	*ws_reals(op->out[0], item) = (ws_real)op->u.alpha * d * d;
}

WS_CPU_KERNEL(squared_error, ws_cpu_launch(cpu, op->out[0]->count, squared_error_item, &op))

static void squared_error_grad_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	ws_real d = *ws_reals(op->in[1], item) - *ws_reals(op->in[2], item);

	*ws_reals(op->out[0], item) = 2 * (ws_real)op->u.alpha * *ws_reals(op->in[0], 0) * d;
}

WS_CPU_KERNEL(squared_error_grad,
              ws_cpu_launch(cpu, op->out[0]->count, squared_error_grad_item, &op))
