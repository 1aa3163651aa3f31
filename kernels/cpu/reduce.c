/* Row reductions and column sums, accumulated in double. */
#include "kernels/cpu/real.h"

/* Columns that one work item of a column sum covers: a few cache lines of every row. */
#define COLUMNS 64

static ws_real reduce_row(const struct ws_op *op, int64_t row, int64_t cols)
{
	ws_real buf[WS_TILE], max = -INFINITY;
	double sum = 0;

	for (int64_t col = 0; col < cols; col += WS_TILE) {
		int64_t n = ws_min64(cols - col, WS_TILE);
		const ws_real *x = ws_real_load(op->in[0], row * cols + col, n, buf);

		if (op->sub == WS_SUB_MAX) {
			/* a NaN stays: nothing is larger */
			for (int64_t i = 0; i < n; i++)
				max = x[i] > max || isnan(x[i]) ? x[i] : max;
		} else {
			for (int64_t i = 0; i < n; i++)
				sum += x[i];
		}
	}
	if (op->sub == WS_SUB_MAX)
		return max;
	return (ws_real)(op->sub == WS_SUB_MEAN ? sum / (double)cols : sum);
}

static int64_t rows_per_item(const struct ws_tensor *x)
{
	return ws_div_up(WS_GRAIN, ws_tensor_cols(x));
}

static void rows_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_tensor *x = op->in[0], *out = op->out[0];
	int64_t cols = ws_tensor_cols(x), rows = ws_tensor_rows(x);
	int64_t first = item * rows_per_item(x);
	int64_t end = ws_min64(first + rows_per_item(x), rows);
	ws_real buf;

	for (int64_t row = first; row < end; row++) {
		ws_real *y = ws_real_target(out, row, &buf);

		*y = reduce_row(op, row, cols);
		ws_real_store(out, row, 1, y);
	}
}

static void columns_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	const struct ws_tensor *x = op->in[0], *out = op->out[0];
	int64_t cols = ws_tensor_cols(x), rows = ws_tensor_rows(x);
	int64_t first = item * COLUMNS, n = ws_min64(cols - first, COLUMNS);
	double sum[COLUMNS] = {0};
	ws_real buf[COLUMNS];
	ws_real *y;

	for (int64_t row = 0; row < rows; row++) {
		const ws_real *v = ws_real_load(x, row * cols + first, n, buf);

		for (int64_t i = 0; i < n; i++)
			sum[i] += v[i];
	}
	y = ws_real_target(out, first, buf);
	for (int64_t i = 0; i < n; i++)
		y[i] = (ws_real)sum[i];
	ws_real_store(out, first, n, y);
}

enum ws_status WS_CPU_FN(reduce)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_err *err)
{
	const struct ws_tensor *x = op->in[0];

	(void)err;
	if (op->sub == WS_SUB_COLSUM)
		ws_cpu_launch(cpu, op, ws_div_up(ws_tensor_cols(x), COLUMNS), columns_item, &op);
	else
		ws_cpu_launch(cpu, op, ws_div_up(ws_tensor_rows(x), rows_per_item(x)), rows_item,
		              &op);
	return WS_OK;
}
