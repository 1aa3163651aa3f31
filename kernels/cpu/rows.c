/* Ops computed row by row: reductions, softmax, RMS norm, SwiGLU, cross-entropy. */
#include "kernels/cpu/real.h"

/* Columns that one work item sums: a few cache lines of every row. */
#define COLUMNS 64

/* --- reductions, accumulated in double -------------------------------------------------- */

static void reduce_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->in[0]);
	ws_real buf[WS_TILE], max = -INFINITY;
	double sum = 0;

	WS_EACH_TILE(col, n, 0, cols) {
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
	if (op->sub != WS_SUB_MAX)
		max = (ws_real)(op->sub == WS_SUB_MEAN ? sum / (double)cols : sum);
	ws_real_put(op->out[0], row, max);
}

/* --- softmax -------------------------------------------------------------------------- */

/* max of scale * x, and the sum of exp(scale * x - max), over n columns from an offset. */
static double row_sums(const struct ws_tensor *t, ws_real scale, int64_t offset, int64_t n,
                       ws_real *max)
{
	ws_real buf[WS_TILE];
	double sum = 0;

	*max = -INFINITY;
	WS_EACH_TILE(col, count, 0, n) {
		const ws_real *x = ws_real_load(t, offset + col, count, buf);

		/* a NaN stays: nothing is larger */
		for (int64_t i = 0; i < count; i++)
			*max = scale * x[i] > *max || isnan(x[i]) ? scale * x[i] : *max;
	}
	WS_EACH_TILE(col, count, 0, n) {
		const ws_real *x = ws_real_load(t, offset + col, count, buf);

		for (int64_t i = 0; i < count; i++)
			sum += WS_REAL_EXP(scale * x[i] - *max);
	}
	return sum;
}

static void softmax_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), visible = row % cols + 1, offset = row * cols;
	const ws_real scale = (ws_real)op->u.alpha;
	ws_real x_buf[WS_TILE], y_buf[WS_TILE], max;
	const ws_real sum = (ws_real)row_sums(op->in[0], scale, offset, visible, &max);

	WS_EACH_TILE(col, n, 0, cols) {
		int64_t shown = ws_min64(visible - col, n);
		const ws_real *x = ws_real_load(op->in[0], offset + col, n, x_buf);
		ws_real *y = ws_real_target(op->out[0], offset + col, y_buf);

		for (int64_t i = 0; i < shown; i++)
			y[i] = WS_REAL_EXP(scale * x[i] - max) / sum;
		for (int64_t i = shown < 0 ? 0 : shown; i < n; i++)
			y[i] = 0;
		ws_real_store(op->out[0], offset + col, n, y);
	}
}

/* dx = scale y (dy - sum(dy y)) */
static void softmax_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), visible = row % cols + 1, offset = row * cols;
	const ws_real scale = (ws_real)op->u.alpha;
	ws_real dy_buf[WS_TILE], y_buf[WS_TILE], dx_buf[WS_TILE];
	double sum = 0;

	WS_EACH_TILE(col, n, 0, visible) {
		const ws_real *dy = ws_real_load(op->in[0], offset + col, n, dy_buf);
		const ws_real *y = ws_real_load(op->in[1], offset + col, n, y_buf);

		for (int64_t i = 0; i < n; i++)
			sum += (double)dy[i] * (double)y[i];
	}
	WS_EACH_TILE(col, n, 0, cols) {
		int64_t shown = ws_min64(visible - col, n);
		const ws_real *dy = ws_real_load(op->in[0], offset + col, n, dy_buf);
		const ws_real *y = ws_real_load(op->in[1], offset + col, n, y_buf);
		ws_real *dx = ws_real_target(op->out[0], offset + col, dx_buf);

		for (int64_t i = 0; i < shown; i++)
			dx[i] = scale * y[i] * (dy[i] - (ws_real)sum);
		for (int64_t i = shown < 0 ? 0 : shown; i < n; i++)
			dx[i] = 0;
		ws_real_store(op->out[0], offset + col, n, dx);
	}
}

/* y = x - log(sum(exp(x))) */
static void log_softmax_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), offset = row * cols;
	ws_real x_buf[WS_TILE], y_buf[WS_TILE], max;
	const ws_real log_sum = (ws_real)log(row_sums(op->in[0], 1, offset, cols, &max));

	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *x = ws_real_load(op->in[0], offset + col, n, x_buf);
		ws_real *y = ws_real_target(op->out[0], offset + col, y_buf);

		WS_EACH(x[i] - max - log_sum);
		ws_real_store(op->out[0], offset + col, n, y);
	}
}

/* dx = dy - exp(y) sum(dy) */
static void log_softmax_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), offset = row * cols;
	ws_real a_buf[WS_TILE], b_buf[WS_TILE], y_buf[WS_TILE];
	double sum = 0;

	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *dy = ws_real_load(op->in[0], offset + col, n, a_buf);

		for (int64_t i = 0; i < n; i++)
			sum += (double)dy[i];
	}
	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *dy = ws_real_load(op->in[0], offset + col, n, a_buf);
		const ws_real *log_p = ws_real_load(op->in[1], offset + col, n, b_buf);
		ws_real *y = ws_real_target(op->out[0], offset + col, y_buf);

		WS_EACH(dy[i] - WS_REAL_EXP(log_p[i]) * (ws_real)sum);
		ws_real_store(op->out[0], offset + col, n, y);
	}
}

/* --- RMS norm ------------------------------------------------------------------------- */

static void rms_norm_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), offset = row * cols;
	ws_real x_buf[WS_TILE], w_buf[WS_TILE], y_buf[WS_TILE], inverse;
	double sum = 0;

	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *x = ws_real_load(op->in[0], offset + col, n, x_buf);

		for (int64_t i = 0; i < n; i++)
			sum += (double)x[i] * (double)x[i];
	}
	inverse = (ws_real)(1 / sqrt(sum / (double)cols + op->u.alpha));
	ws_real_put(op->out[1], row, inverse);
	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *x = ws_real_load(op->in[0], offset + col, n, x_buf);
		const ws_real *w = ws_real_load(op->in[1], col, n, w_buf);
		ws_real *y = ws_real_target(op->out[0], offset + col, y_buf);

		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] * inverse * w[i];
		ws_real_store(op->out[0], offset + col, n, y);
	}
}

/* With r = 1 / rms: dx = r w dy - x r^3 mean(w dy x) */
static void rms_norm_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->out[0]), offset = row * cols;
	ws_real dy_buf[WS_TILE], x_buf[WS_TILE], w_buf[WS_TILE], dx_buf[WS_TILE], back;
	const ws_real r = ws_real_get(op->in[3], row);
	double sum = 0;

	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *dy = ws_real_load(op->in[0], offset + col, n, dy_buf);
		const ws_real *x = ws_real_load(op->in[1], offset + col, n, x_buf);
		const ws_real *w = ws_real_load(op->in[2], col, n, w_buf);

		for (int64_t i = 0; i < n; i++)
			sum += (double)w[i] * (double)dy[i] * (double)x[i];
	}
	back = (ws_real)(sum / (double)cols * (double)r * (double)r * (double)r);
	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *dy = ws_real_load(op->in[0], offset + col, n, dy_buf);
		const ws_real *x = ws_real_load(op->in[1], offset + col, n, x_buf);
		const ws_real *w = ws_real_load(op->in[2], col, n, w_buf);
		ws_real *dx = ws_real_target(op->out[0], offset + col, dx_buf);

		for (int64_t i = 0; i < n; i++)
			dx[i] = r * w[i] * dy[i] - x[i] * back;
		ws_real_store(op->out[0], offset + col, n, dx);
	}
}

/* dweight = sum over rows of dy x r */
static void weight_grad_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	int64_t cols = ws_tensor_cols(op->out[0]), rows = ws_tensor_rows(op->out[0]);
	int64_t first = item * COLUMNS, n = ws_min64(cols - first, COLUMNS);
	ws_real dy_buf[COLUMNS], x_buf[COLUMNS];
	double sum[COLUMNS] = {0};

	for (int64_t row = 0; row < rows; row++) {
		const ws_real *dy = ws_real_load(op->in[0], row * cols + first, n, dy_buf);
		const ws_real *x = ws_real_load(op->in[1], row * cols + first, n, x_buf);
		double r = ws_real_get(op->in[3], row);

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
	int64_t cols = ws_tensor_cols(op->out[0]), offset = row * cols;
	ws_real a_buf[WS_TILE], b_buf[WS_TILE], y_buf[WS_TILE];

	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *a = ws_real_load(op->in[0], 2 * offset + col, n, a_buf);
		const ws_real *b = ws_real_load(op->in[0], 2 * offset + cols + col, n, b_buf);
		ws_real *y = ws_real_target(op->out[0], offset + col, y_buf);

		for (int64_t i = 0; i < n; i++)
			y[i] = a[i] * sigmoid(a[i]) * b[i];
		ws_real_store(op->out[0], offset + col, n, y);
	}
}

/* With s = sigmoid(a): da = dy b s (1 + a (1 - s)), db = dy a s */
static void swiglu_grad_row(const struct ws_op *op, int64_t row)
{
	int64_t cols = ws_tensor_cols(op->in[0]), offset = row * cols;
	ws_real dy_buf[WS_TILE], a_buf[WS_TILE], b_buf[WS_TILE], da_buf[WS_TILE], db_buf[WS_TILE];

	WS_EACH_TILE(col, n, 0, cols) {
		int64_t at_a = 2 * offset + col, at_b = at_a + cols;
		const ws_real *dy = ws_real_load(op->in[0], offset + col, n, dy_buf);
		const ws_real *a = ws_real_load(op->in[1], at_a, n, a_buf);
		const ws_real *b = ws_real_load(op->in[1], at_b, n, b_buf);
		ws_real *da = ws_real_target(op->out[0], at_a, da_buf);
		ws_real *db = ws_real_target(op->out[0], at_b, db_buf);

		for (int64_t i = 0; i < n; i++) {
			ws_real s = sigmoid(a[i]);

			da[i] = dy[i] * b[i] * s * (1 + a[i] * (1 - s));
			db[i] = dy[i] * a[i] * s;
		}
		ws_real_store(op->out[0], at_a, n, da);
		ws_real_store(op->out[0], at_b, n, db);
	}
}

/* --- cross-entropy -------------------------------------------------------------------- */

/* losses[row] = log(sum) - (x[target] - max); dlogits = (softmax - onehot) / rows */
static void cross_entropy_row(const struct ws_op *op, int64_t row, double *losses)
{
	const struct ws_tensor *logits = op->in[0], *grad = op->out[1];
	int64_t cols = ws_tensor_cols(logits), offset = row * cols;
	int64_t target = ((const int32_t *)op->in[1]->data)[row];
	ws_real x_buf[WS_TILE], dx_buf[WS_TILE], max, factor;
	double sum = row_sums(logits, 1, offset, cols, &max), rows = (double)op->in[1]->count;

	losses[row] = log(sum) - ((double)ws_real_get(logits, offset + target) - (double)max);
	factor = (ws_real)(1 / (sum * rows));
	WS_EACH_TILE(col, n, 0, cols) {
		const ws_real *x = ws_real_load(logits, offset + col, n, x_buf);
		ws_real *dx = ws_real_target(grad, offset + col, dx_buf);

		for (int64_t i = 0; i < n; i++)
			dx[i] = WS_REAL_EXP(x[i] - max) * factor;
		if (target >= col && target < col + n)
			dx[target - col] -= (ws_real)(1 / rows);
		ws_real_store(grad, offset + col, n, dx);
	}
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

	ws_cpu_launch(cpu, op, rows_items(t), rows_item, &rows);
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

	ws_cpu_kernel_begin(cpu, op, rows_items(dx));
	ws_pool_run(cpu->pool, rows_items(dx), rows_item, &rows);
	ws_pool_run(cpu->pool, ws_div_up(ws_tensor_cols(dx), COLUMNS), weight_grad_item, &op);
	ws_cpu_kernel_end();
}

WS_CPU_KERNEL(swiglu, rows_run(cpu, op, op->out[0], swiglu_row))
WS_CPU_KERNEL(swiglu_grad, rows_run(cpu, op, op->in[0], swiglu_grad_row))

void WS_CPU_FN(cross_entropy)(struct ws_cpu *cpu, const struct ws_op *op)
{
	const struct ws_tensor *target = op->in[1], *out = op->out[0];
	struct rows rows = {.op = op, .t = op->in[0], .losses = cpu->workspace[WS_CPU_IN_SLOT]};
	double sum = 0;

	ws_cpu_kernel_begin(cpu, op, rows_items(op->in[0]));
	ws_pool_run(cpu->pool, rows_items(op->in[0]), rows_item, &rows);
	for (int64_t i = 0; i < target->count; i++)
		sum += rows.losses[i];
	ws_real_put(out, 0, (ws_real)(sum / (double)target->count));
	ws_cpu_kernel_end();
}
