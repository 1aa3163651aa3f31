/* Ops computed row by row: reductions, softmax, RMS norm, SwiGLU, losses. */
#include "kernels/cpu/cpu.h"

/* Columns that one work item sums: a few cache lines of every row. */
#define COLUMNS 64

/* y[i] = expression for i = 0 … n - 1 */
#define EACH(expression)                \
	for (int64_t i = 0; i < n; i++) \
	y[i] = (expression)

/* --- running: an item is some rows ------------------------------------------------------------ */

struct rows {
	const struct ws_op *op;
	const struct ws_tensor *t; /* whose rows are counted */
	double (*row)(const struct ws_op *op, int64_t row);
	double *sums; /* what `row` returns for each row; NULL: nothing */
};

static int64_t rows_per_item(const struct ws_tensor *t)
{
	return ws_div_up(WS_GRAIN, ws_tensor_cols(t));
}

static int64_t rows_items(const struct ws_tensor *t)
{
	return ws_div_up(ws_tensor_rows(t), rows_per_item(t));
}

static void rows_item(void *arg, int64_t item)
{
	const struct rows *rows = arg;
	int64_t row = item * rows_per_item(rows->t);
	int64_t end = ws_min64(row + rows_per_item(rows->t), ws_tensor_rows(rows->t));

	for (; row < end; row++) {
		double sum = rows->row(rows->op, row);

		if (rows->sums)
			rows->sums[row] = sum;
	}
}

static void rows_run(struct ws_cpu *cpu, const struct ws_op *op, const struct ws_tensor *t,
                     double (*row)(const struct ws_op *op, int64_t row))
{
	struct rows rows = {op, t, row, NULL};

	ws_cpu_launch(cpu, rows_items(t), rows_item, &rows);
}

/* --- reductions, accumulated in double -------------------------------------------------- */

static double reduce_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->in[0]);
	const ws_real *x = ws_reals(op->in[0], row * cols);
	ws_real max = -INFINITY;
	double sum = 0;

	if (op->sub == WS_SUB_MAX) {
		for (int64_t i = 0; i < cols; i++)
			max = ws_max_nan(x[i], max);
	} else {
		for (int64_t i = 0; i < cols; i++)
			sum += x[i];
		max = (ws_real)(op->sub == WS_SUB_MEAN ? sum / (double)cols : sum);
	}
	*ws_reals(op->out[0], row) = max;
	return 0;
}

void WS_CPU_FN(reduce)(struct ws_cpu *cpu, const struct ws_op *op)
{
	if (op->sub == WS_SUB_COLSUM)
		WS_CPU_FN(bias_grad)(cpu, op);
	else
		rows_run(cpu, op, op->in[0], reduce_row);
}

/* --- softmax -------------------------------------------------------------------------- */

/* max of scale * x, and the sum of exp(scale * x - max), over n columns. */
static double row_sums(const ws_real *x, ws_real scale, int64_t n, ws_real *max)
{
	double sum = 0;

	*max = -INFINITY;
	for (int64_t i = 0; i < n; i++)
		*max = ws_max_nan(scale * x[i], *max);
	for (int64_t i = 0; i < n; i++)
		sum += WS_REAL_EXP(scale * x[i] - *max);
	return sum;
}

/* Of row r of [.., T, T] the first r mod T + 1 columns are visible; the others are 0. */
static double softmax_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), n = row % cols + 1, offset = row * cols;
	const ws_real scale = (ws_real)op->u.alpha, *x = ws_reals(op->in[0], offset);
	ws_real *y = ws_reals(op->out[0], offset), max;
	const ws_real sum = (ws_real)row_sums(x, scale, n, &max);

	EACH(WS_REAL_EXP(scale * x[i] - max) / sum);
	for (int64_t i = n; i < cols; i++)
		y[i] = 0;
	return 0;
}

static double softmax_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), n = row % cols + 1, offset = row * cols;
	const ws_real *dy = ws_reals(op->in[0], offset), *p = ws_reals(op->in[1], offset);
	const ws_real scale = (ws_real)op->u.alpha;
	ws_real *y = ws_reals(op->out[0], offset);
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)dy[i] * (double)p[i];
	EACH(ws_softmax_grad(dy[i], p[i], (ws_real)sum, scale));
	for (int64_t i = n; i < cols; i++)
		y[i] = 0;
	return 0;
}

/* y = x - log(sum(exp(x))) */
static double log_softmax_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *x = ws_reals(op->in[0], row * n);
	ws_real *y = ws_reals(op->out[0], row * n), max;
	const ws_real log_sum = (ws_real)log(row_sums(x, 1, n, &max));

	EACH(x[i] - max - log_sum);
	return 0;
}

/* dx = dy - exp(y) sum(dy) */
static double log_softmax_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *dy = ws_reals(op->in[0], row * n), *log_p = ws_reals(op->in[1], row * n);
	ws_real *y = ws_reals(op->out[0], row * n);
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)dy[i];
	EACH(dy[i] - WS_REAL_EXP(log_p[i]) * (ws_real)sum);
	return 0;
}

WS_CPU_KERNEL(softmax, rows_run(cpu, op, op->out[0], softmax_row))
WS_CPU_KERNEL(softmax_grad, rows_run(cpu, op, op->out[0], softmax_grad_row))
WS_CPU_KERNEL(log_softmax, rows_run(cpu, op, op->out[0], log_softmax_row))
WS_CPU_KERNEL(log_softmax_grad, rows_run(cpu, op, op->out[0], log_softmax_grad_row))

/* --- RMS norm ------------------------------------------------------------------------- */

static double rms_norm_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *x = ws_reals(op->in[0], row * n), *w = op->in[1]->data;
	ws_real *y = ws_reals(op->out[0], row * n), inverse;
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	inverse = (ws_real)(1 / sqrt(sum / (double)n + op->u.alpha));
	*ws_reals(op->out[1], row) = inverse;
	EACH(x[i] * inverse * w[i]);
	return 0;
}

WS_CPU_KERNEL(rms_norm, rows_run(cpu, op, op->out[0], rms_norm_row))

static double rms_norm_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *dy = ws_reals(op->in[0], row * n), *x = ws_reals(op->in[1], row * n);
	const ws_real *w = op->in[2]->data, r = *ws_reals(op->in[3], row);
	ws_real *y = ws_reals(op->out[0], row * n), back;
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)w[i] * (double)dy[i] * (double)x[i];
	back = (ws_real)(sum / (double)n * (double)r * (double)r * (double)r);
	EACH(ws_rms_norm_grad(dy[i], x[i], w[i], r, back));
	return 0;
}

/* dweight = sum over rows of dy x r */
static void weight_grad_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	int64_t cols = ws_tensor_cols(op->out[0]), rows = ws_tensor_rows(op->out[0]);
	int64_t first = item * COLUMNS, n = ws_min64(cols - first, COLUMNS);
	double sum[COLUMNS] = {0};

	for (int64_t row = 0; row < rows; row++) {
		const ws_real *dy = ws_reals(op->in[0], row * cols + first);
		const ws_real *x = ws_reals(op->in[1], row * cols + first);
		double r = *ws_reals(op->in[3], row);

		for (int64_t i = 0; i < n; i++)
			sum[i] += (double)dy[i] * (double)x[i] * r;
	}
	ws_real_put_sums(op->out[1], first, n, sum);
}

void WS_CPU_FN(rms_norm_grad)(struct ws_cpu *cpu, const struct ws_op *op)
{
	const struct ws_tensor *dx = op->out[0];
	struct rows rows = {op, dx, rms_norm_grad_row, NULL};

	ws_cpu_kernel_begin(cpu, rows_items(dx));
	ws_pool_run(cpu->pool, rows_items(dx), rows_item, &rows);
	ws_pool_run(cpu->pool, ws_div_up(ws_tensor_cols(dx), COLUMNS), weight_grad_item, &op);
	ws_cpu_kernel_end(cpu);
}

/* --- SwiGLU --------------------------------------------------------------------------- */

static double swiglu_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *a = ws_reals(op->in[0], 2 * row * n), *b = a + n;
	ws_real *y = ws_reals(op->out[0], row * n);

	EACH(ws_swiglu(a[i], b[i]));
	return 0;
}

static double swiglu_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->in[0]);
	const ws_real *dy = ws_reals(op->in[0], row * n);
	const ws_real *a = ws_reals(op->in[1], 2 * row * n), *b = a + n;
	ws_real *da = ws_reals(op->out[0], 2 * row * n), *db = da + n;

	for (int64_t i = 0; i < n; i++)
		ws_swiglu_grad(dy[i], a[i], b[i], &da[i], &db[i]);
	return 0;
}

WS_CPU_KERNEL(swiglu, rows_run(cpu, op, op->out[0], swiglu_row))
WS_CPU_KERNEL(swiglu_grad, rows_run(cpu, op, op->in[0], swiglu_grad_row))

/* --- losses --------------------------------------------------------------------------- */

/* log(sum) - (x[target] - max); dlogits = (softmax - onehot) / rows */
static double cross_entropy_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->in[0]), target = ((const int32_t *)op->in[1]->data)[row];
	const ws_real *x = ws_reals(op->in[0], row * n);
	ws_real *y = ws_reals(op->out[1], row * n), max, factor;
	double sum = row_sums(x, 1, n, &max), rows = (double)op->in[1]->count;

	factor = (ws_real)(1 / (sum * rows));
	EACH(WS_REAL_EXP(x[i] - max) * factor);
	y[target] -= (ws_real)(1 / rows);
	return log(sum) - ((double)x[target] - (double)max);
}

void WS_CPU_FN(cross_entropy)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct rows rows = {op, op->in[0], cross_entropy_row, cpu->scratch};
	int64_t count = op->in[1]->count;
	double sum = 0;

	ws_cpu_kernel_begin(cpu, rows_items(op->in[0]));
	ws_pool_run(cpu->pool, rows_items(op->in[0]), rows_item, &rows);
	for (int64_t i = 0; i < count; i++)
		sum += rows.sums[i];
	*ws_reals(op->out[0], 0) = (ws_real)(sum / (double)count);
	ws_cpu_kernel_end(cpu);
}

/* The mean of -y[target] over rows. */
WS_CPU_ITEMS(nll_loss, 1)
{
	const int32_t *target = op->in[1]->data;
	int64_t cols = ws_tensor_cols(op->in[0]), rows = op->in[1]->count;
	double sum = 0;

	(void)item;
	for (int64_t row = 0; row < rows; row++)
		sum -= (double)*ws_reals(op->in[0], row * cols + target[row]);
	*ws_reals(op->out[0], 0) = (ws_real)(sum / (double)rows);
}

/* item: a row */
WS_CPU_ITEMS(nll_loss_grad, op->in[1]->count)
{
	int64_t n = ws_tensor_cols(op->out[0]), target = ((const int32_t *)op->in[1]->data)[item];
	ws_real dy = *ws_reals(op->in[0], 0) / (ws_real)op->in[1]->count;
	ws_real *y = ws_reals(op->out[0], item * n);

	EACH(i == target ? -dy : 0);
}
