/* Ops computed row by row: reductions, softmax, RMS norm, SwiGLU, cross-entropy. */
#include "kernels/cpu/real.h"

/* Columns that one work item sums: a few cache lines of every row. */
#define COLUMNS 64

/* --- reductions, accumulated in double -------------------------------------------------- */

static void reduce_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->in[0]);
	const ws_real *x = ws_reals(op->in[0], row * cols);
	ws_real max = -INFINITY;
	double sum = 0;

	if (op->sub == WS_SUB_MAX) {
		/* a NaN stays: nothing is larger */
		for (int64_t i = 0; i < cols; i++)
			max = x[i] > max || isnan(x[i]) ? x[i] : max;
	} else {
		for (int64_t i = 0; i < cols; i++)
			sum += x[i];
		max = (ws_real)(op->sub == WS_SUB_MEAN ? sum / (double)cols : sum);
	}
	*ws_reals(op->out[0], row) = max;
}

/* --- softmax -------------------------------------------------------------------------- */

/* max of scale * x, and the sum of exp(scale * x - max), over n columns. */
static double row_sums(const ws_real *x, ws_real scale, int64_t n, ws_real *max)
{
	double sum = 0;

	*max = -INFINITY;
	/* a NaN stays: nothing is larger */
	for (int64_t i = 0; i < n; i++)
		*max = scale * x[i] > *max || isnan(x[i]) ? scale * x[i] : *max;
	for (int64_t i = 0; i < n; i++)
		sum += WS_REAL_EXP(scale * x[i] - *max);
	return sum;
}

static void softmax_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), visible = row % cols + 1, offset = row * cols;
	const ws_real scale = (ws_real)op->u.alpha, *x = ws_reals(op->in[0], offset);
	ws_real *y = ws_reals(op->out[0], offset), max;
	const ws_real sum = (ws_real)row_sums(x, scale, visible, &max);

	for (int64_t i = 0; i < visible; i++)
		y[i] = WS_REAL_EXP(scale * x[i] - max) / sum;
	for (int64_t i = visible; i < cols; i++)
		y[i] = 0;
}

/* dx = scale y (dy - sum(dy y)) */
static void softmax_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), visible = row % cols + 1, offset = row * cols;
	const ws_real *dy = ws_reals(op->in[0], offset), *y = ws_reals(op->in[1], offset);
	const ws_real scale = (ws_real)op->u.alpha;
	ws_real *dx = ws_reals(op->out[0], offset);
	double sum = 0;

	for (int64_t i = 0; i < visible; i++)
		sum += (double)dy[i] * (double)y[i];
	for (int64_t i = 0; i < visible; i++)
		dx[i] = scale * y[i] * (dy[i] - (ws_real)sum);
	for (int64_t i = visible; i < cols; i++)
		dx[i] = 0;
}

/* y = x - log(sum(exp(x))) */
static void log_softmax_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *x = ws_reals(op->in[0], row * n);
	ws_real *y = ws_reals(op->out[0], row * n), max;
	const ws_real log_sum = (ws_real)log(row_sums(x, 1, n, &max));

	WS_EACH(x[i] - max - log_sum);
}

/* dx = dy - exp(y) sum(dy) */
static void log_softmax_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *dy = ws_reals(op->in[0], row * n), *log_p = ws_reals(op->in[1], row * n);
	ws_real *y = ws_reals(op->out[0], row * n);
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)dy[i];
	WS_EACH(dy[i] - WS_REAL_EXP(log_p[i]) * (ws_real)sum);
}

/* --- RMS norm ------------------------------------------------------------------------- */

static void rms_norm_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *x = ws_reals(op->in[0], row * n), *w = op->in[1]->data;
	ws_real *y = ws_reals(op->out[0], row * n), inverse;
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	inverse = (ws_real)(1 / sqrt(sum / (double)n + op->u.alpha));
	*ws_reals(op->out[1], row) = inverse;
	WS_EACH(x[i] * inverse * w[i]);
}

/* With r = 1 / rms: dx = r w dy - x r^3 mean(w dy x) */
static void rms_norm_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *dy = ws_reals(op->in[0], row * n), *x = ws_reals(op->in[1], row * n);
	const ws_real *w = op->in[2]->data, r = *ws_reals(op->in[3], row);
	ws_real *y = ws_reals(op->out[0], row * n), back;
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)w[i] * (double)dy[i] * (double)x[i];
	back = (ws_real)(sum / (double)n * (double)r * (double)r * (double)r);
	WS_EACH(r * w[i] * dy[i] - x[i] * back);
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

/* --- SwiGLU --------------------------------------------------------------------------- */

static ws_real sigmoid(ws_real a)
{
	return 1 / (1 + WS_REAL_EXP(-a));
}

static void swiglu_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->out[0]);
	const ws_real *a = ws_reals(op->in[0], 2 * row * n), *b = a + n;
	ws_real *y = ws_reals(op->out[0], row * n);

	WS_EACH(a[i] * sigmoid(a[i]) * b[i]);
}

/* With s = sigmoid(a): da = dy b s (1 + a (1 - s)), db = dy a s */
static void swiglu_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t n = ws_tensor_cols(op->in[0]);
	const ws_real *dy = ws_reals(op->in[0], row * n);
	const ws_real *a = ws_reals(op->in[1], 2 * row * n), *b = a + n;
	ws_real *da = ws_reals(op->out[0], 2 * row * n), *db = da + n;

	for (int64_t i = 0; i < n; i++) {
		ws_real s = sigmoid(a[i]);

		da[i] = dy[i] * b[i] * s * (1 + a[i] * (1 - s));
		db[i] = dy[i] * a[i] * s;
	}
}

/* --- cross-entropy -------------------------------------------------------------------- */

/* losses[row] = log(sum) - (x[target] - max); dlogits = (softmax - onehot) / rows */
static void cross_entropy_row(const struct ws_op *op, int64_t row, double *losses)
{
	int64_t n = ws_tensor_cols(op->in[0]), target = ((const int32_t *)op->in[1]->data)[row];
	const ws_real *x = ws_reals(op->in[0], row * n);
	ws_real *y = ws_reals(op->out[1], row * n), max, factor;
	double sum = row_sums(x, 1, n, &max), rows = (double)op->in[1]->count;

	losses[row] = log(sum) - ((double)x[target] - (double)max);
	factor = (ws_real)(1 / (sum * rows));
	WS_EACH(WS_REAL_EXP(x[i] - max) * factor);
	y[target] -= (ws_real)(1 / rows);
}

/* --- running -------------------------------------------------------------------------- */

static int64_t rows_per_item(const struct ws_tensor *t)
{
	return ws_div_up(WS_GRAIN, ws_tensor_cols(t));
}

struct rows {
	const struct ws_op *op;
	const struct ws_tensor *t;                        /* whose rows are counted */
	void (*row)(const struct ws_op *op, int64_t row); /* NULL: cross-entropy */
	double *losses;
};

static void rows_item(void *arg, int64_t item)
{
	const struct rows *rows = arg;
	int64_t row = item * rows_per_item(rows->t);
	int64_t end = ws_min64(row + rows_per_item(rows->t), ws_tensor_rows(rows->t));

	for (; row < end; row++)
		if (rows->row)
			rows->row(rows->op, row);
		else
			cross_entropy_row(rows->op, row, rows->losses);
}

static int64_t rows_items(const struct ws_tensor *t)
{
	return ws_div_up(ws_tensor_rows(t), rows_per_item(t));
}

static void rows_run(struct ws_cpu *cpu, const struct ws_op *op, const struct ws_tensor *t,
                     void (*row)(const struct ws_op *op, int64_t row))
{
	struct rows rows = {op, t, row, NULL};

	ws_cpu_launch(cpu, rows_items(t), rows_item, &rows);
}

static void reduce_run(struct ws_cpu *cpu, const struct ws_op *op)
{
	if (op->sub == WS_SUB_COLSUM)
		WS_CPU_FN(channel_sums)
	(cpu, op, (struct ws_channels){ws_tensor_rows(op->in[0]), ws_tensor_cols(op->in[0]), 1});
	else rows_run(cpu, op, op->in[0], reduce_row);
}

WS_CPU_KERNEL(reduce, reduce_run(cpu, op))
WS_CPU_KERNEL(softmax, rows_run(cpu, op, op->out[0], softmax_row))
WS_CPU_KERNEL(softmax_grad, rows_run(cpu, op, op->out[0], softmax_grad_row))
WS_CPU_KERNEL(log_softmax, rows_run(cpu, op, op->out[0], log_softmax_row))
WS_CPU_KERNEL(log_softmax_grad, rows_run(cpu, op, op->out[0], log_softmax_grad_row))
WS_CPU_KERNEL(rms_norm, rows_run(cpu, op, op->out[0], rms_norm_row))

void WS_CPU_FN(rms_norm_grad)(struct ws_cpu *cpu, const struct ws_op *op)
{
	const struct ws_tensor *dx = op->out[0];
	struct rows rows = {op, dx, rms_norm_grad_row, NULL};

	ws_cpu_kernel_begin(cpu, rows_items(dx));
	ws_pool_run(cpu->pool, rows_items(dx), rows_item, &rows);
	ws_pool_run(cpu->pool, ws_div_up(ws_tensor_cols(dx), COLUMNS), weight_grad_item, &op);
	ws_cpu_kernel_end(cpu);
}

WS_CPU_KERNEL(swiglu, rows_run(cpu, op, op->out[0], swiglu_row))
WS_CPU_KERNEL(swiglu_grad, rows_run(cpu, op, op->in[0], swiglu_grad_row))

void WS_CPU_FN(cross_entropy)(struct ws_cpu *cpu, const struct ws_op *op)
{
	const struct ws_tensor *target = op->in[1];
	struct rows rows = {.op = op, .t = op->in[0], .losses = cpu->scratch};
	double sum = 0;

	ws_cpu_kernel_begin(cpu, rows_items(op->in[0]));
	ws_pool_run(cpu->pool, rows_items(op->in[0]), rows_item, &rows);
	for (int64_t i = 0; i < target->count; i++)
		sum += rows.losses[i];
	*ws_reals(op->out[0], 0) = (ws_real)(sum / (double)target->count);
	ws_cpu_kernel_end(cpu);
}
