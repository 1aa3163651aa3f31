/* Ops that pick or scatter by index. Indices are checked: they come from outside the graph. */
#include "kernels/cpu/real.h"

enum ws_status WS_CPU_FN(check_index)(const struct ws_tensor *index, int64_t end,
                                      struct ws_err *err)
{
	const int32_t *v = index->data;

	for (int64_t i = 0; i < index->count; i++)
		WS_FAIL_IF(v[i] < 0 || v[i] >= end, err, BUG, "%s[%lld] is %d, not in 0 … %lld",
		           index->name, (long long)i, v[i], (long long)end - 1);
	return WS_OK;
}

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

enum ws_status WS_CPU_FN(embedding)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_err *err)
{
	WS_FORWARD(WS_CPU_FN(check_index)(op->in[1], op->in[0]->shape.dim[0], err));
	ws_cpu_launch(cpu, op, ws_div_up(op->in[1]->count, ROWS_PER_ITEM), lookup_item, &op);
	return WS_OK;
}

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

enum ws_status WS_CPU_FN(embedding_grad)(struct ws_cpu *cpu, const struct ws_op *op,
                                         struct ws_err *err)
{
	int64_t items = ws_div_up(ws_tensor_cols(op->in[0]), COLUMNS);
	struct scatter scatter = {.op = op};

	WS_FORWARD(WS_CPU_FN(check_index)(op->in[1], op->out[0]->shape.dim[0], err));
	WS_FORWARD(WS_CPU_FN(whole_open)(cpu, op->out[0], 0, WS_TF32_EXACT, &scatter.table, err));
	ws_cpu_kernel_begin(cpu, op, items);
	WS_CPU_FN(whole_load)(cpu, &scatter.table);
	ws_pool_run(cpu->pool, items, scatter_add_item, &scatter);
	WS_CPU_FN(whole_store)(cpu, &scatter.table);
	ws_cpu_kernel_end();
	return WS_OK;
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

/* rows: the tensor that has them */
static enum ws_status pick(struct ws_cpu *cpu, const struct ws_op *op, const struct ws_tensor *rows,
                           struct ws_err *err)
{
	WS_FORWARD(WS_CPU_FN(check_index)(op->in[1], ws_tensor_cols(rows), err));
	ws_cpu_launch(cpu, op, ws_div_up(op->in[1]->count, WS_TILE), pick_item, &op);
	return WS_OK;
}

enum ws_status WS_CPU_FN(gather)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_err *err)
{
	return pick(cpu, op, op->in[0], err);
}

enum ws_status WS_CPU_FN(gather_grad)(struct ws_cpu *cpu, const struct ws_op *op,
                                      struct ws_err *err)
{
	return pick(cpu, op, op->out[0], err);
}

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

enum ws_status WS_CPU_FN(nll_loss)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_err *err)
{
	WS_FORWARD(WS_CPU_FN(check_index)(op->in[1], ws_tensor_cols(op->in[0]), err));
	ws_cpu_launch(cpu, op, 1, nll_loss_item, &op);
	return WS_OK;
}

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

enum ws_status WS_CPU_FN(nll_loss_grad)(struct ws_cpu *cpu, const struct ws_op *op,
                                        struct ws_err *err)
{
	WS_FORWARD(WS_CPU_FN(check_index)(op->in[1], ws_tensor_cols(op->out[0]), err));
	ws_cpu_launch(cpu, op, op->in[1]->count, nll_loss_grad_item, &op);
	return WS_OK;
}

static void squared_error_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	ws_real d = ws_real_get(op->in[0], item) - ws_real_get(op->in[1], item);

	ws_real_put(op->out[0], item, (ws_real)op->u.alpha * d * d);
}

enum ws_status WS_CPU_FN(squared_error)(struct ws_cpu *cpu, const struct ws_op *op,
                                        struct ws_err *err)
{
	(void)err;
	ws_cpu_launch(cpu, op, op->out[0]->count, squared_error_item, &op);
	return WS_OK;
}

static void squared_error_grad_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	ws_real d = ws_real_get(op->in[1], item) - ws_real_get(op->in[2], item);

	ws_real_put(op->out[0], item, 2 * (ws_real)op->u.alpha * ws_real_get(op->in[0], 0) * d);
}

enum ws_status WS_CPU_FN(squared_error_grad)(struct ws_cpu *cpu, const struct ws_op *op,
                                             struct ws_err *err)
{
	(void)err;
	ws_cpu_launch(cpu, op, op->out[0]->count, squared_error_grad_item, &op);
	return WS_OK;
}
