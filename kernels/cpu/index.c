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
              ws_cpu_launch(cpu, op, ws_div_up(op->in[1]->count, ROWS_PER_ITEM), lookup_item, &op))

/* Columns of the table that one item adds to: two rows may hit the same row of the table. */
#define COLUMNS 64

struct scatter {
	const struct ws_op *op;
	struct ws_whole table; /* sums, rounded once at the end */
};

static void scatter_add_item(void *arg, int64_t item)
{
	const struct scatter *s = arg;
	const struct ws_tensor *grad = s->op->in[0];
	const int32_t *index = s->op->in[1]->data;
	int64_t cols = ws_tensor_cols(grad), first = item * COLUMNS;
	int64_t n = ws_min64(cols - first, COLUMNS);
	ws_real buf[COLUMNS];

	for (int64_t row = 0; row < s->op->in[1]->count; row++) {
		const ws_real *add = ws_real_load(grad, row * cols + first, n, buf);
		ws_real *sum = s->table.data + index[row] * cols + first;

		for (int64_t i = 0; i < n; i++)
			sum[i] += add[i];
	}
}

void WS_CPU_FN(embedding_grad)(struct ws_cpu *cpu, const struct ws_op *op)
{
	int64_t items = ws_div_up(ws_tensor_cols(op->in[0]), COLUMNS);
	struct scatter scatter = {op, WS_CPU_FN(whole_open)(cpu, op->out[0], WS_CPU_IN_SLOT,
	                                                    WS_TF32_EXACT)};

	ws_cpu_kernel_begin(cpu, op, items);
	WS_CPU_FN(whole_load)(cpu, &scatter.table);
	ws_pool_run(cpu->pool, items, scatter_add_item, &scatter);
	WS_CPU_FN(whole_store)(cpu, &scatter.table);
	ws_cpu_kernel_end();
}

/* One element of each row, from the row or into it. */
static void pick_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	bool scatter = op->kind == WS_OP_GATHER_GRAD;
	const struct ws_tensor *rows = scatter ? op->out[0] : op->in[0];
	const int32_t *index = op->in[1]->data;
	int64_t cols = ws_tensor_cols(rows), first = item * WS_TILE;
	int64_t end = ws_min64(first + WS_TILE, op->in[1]->count);

	for (int64_t row = first; row < end; row++) {
		int64_t place = row * cols + index[row];

		ws_real_put(op->out[0], scatter ? place : row,
		            ws_real_get(op->in[0], scatter ? row : place));
	}
}

WS_CPU_KERNEL(gather, ws_cpu_launch(cpu, op, ws_div_up(op->in[1]->count, WS_TILE), pick_item, &op))
WS_CPU_KERNEL(gather_grad,
              ws_cpu_launch(cpu, op, ws_div_up(op->in[1]->count, WS_TILE), pick_item, &op))

/* The mean of -y[target] over rows. */
static void nll_loss_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const int32_t *target = op->in[1]->data;
	int64_t cols = ws_tensor_cols(op->in[0]), rows = op->in[1]->count;
	double sum = 0;

	(void)item;
	for (int64_t row = 0; row < rows; row++)
		sum -= (double)ws_real_get(op->in[0], row * cols + target[row]);
	ws_real_put(op->out[0], 0, (ws_real)(sum / (double)rows));
}

WS_CPU_KERNEL(nll_loss, ws_cpu_launch(cpu, op, 1, nll_loss_item, &op))

/* item: a row */
static void nll_loss_grad_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_tensor *dx = op->out[0];
	int64_t cols = ws_tensor_cols(dx), target = ((const int32_t *)op->in[1]->data)[item];
	ws_real dy = ws_real_get(op->in[0], 0) / (ws_real)op->in[1]->count;

	for (int64_t col = 0; col < cols; col++)
		ws_real_put(dx, item * cols + col, col == target ? -dy : 0);
}

WS_CPU_KERNEL(nll_loss_grad, ws_cpu_launch(cpu, op, op->in[1]->count, nll_loss_grad_item, &op))

static void squared_error_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	ws_real d = ws_real_get(op->in[0], item) - ws_real_get(op->in[1], item);

	ws_real_put(op->out[0], item, (ws_real)op->u.alpha * d * d);
}

WS_CPU_KERNEL(squared_error, ws_cpu_launch(cpu, op, op->out[0]->count, squared_error_item, &op))

static void squared_error_grad_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	ws_real d = ws_real_get(op->in[1], item) - ws_real_get(op->in[2], item);

	ws_real_put(op->out[0], item, 2 * (ws_real)op->u.alpha * ws_real_get(op->in[0], 0) * d);
}

WS_CPU_KERNEL(squared_error_grad,
              ws_cpu_launch(cpu, op, op->out[0]->count, squared_error_grad_item, &op))
