/* Ops on tensors with channels, [outer, channels, inner]: bias, batch norm and their gradients. */
#include "kernels/cpu/real.h"

/* --- rows: stretches of one channel, or (inner = 1) one number of each channel ---- */

struct rows {
	const struct ws_op *op;
	struct ws_channels ch;
	int64_t rows, cols, rows_per_item;
};

/* y = act(y), where the op has an activation. */
static void activate(const struct ws_op *op, int64_t n, ws_real *y)
{
	const ws_real slope = (ws_real)op->u.bias.alpha;

	switch (op->sub) {
		WS_EACH_OF(BIAS_RELU, y[i] < 0 ? 0 : y[i]);
		WS_EACH_OF(BIAS_LEAKY_RELU, y[i] < 0 ? slope * y[i] : y[i]);
		WS_EACH_OF(BIAS_TANH, WS_REAL_TANH(y[i]));
	default:
		break;
	}
}

static void bias_tile(const struct rows *rows, int64_t row, int64_t col, int64_t n)
{
	const struct ws_op *op = rows->op;
	int64_t offset = row * rows->cols + col;
	const ws_real *x = ws_reals(op->in[0], offset), *bias;
	ws_real *y = ws_reals(op->out[0], offset);

	if (rows->ch.inner > 1) {
		const ws_real one = *ws_reals(op->in[1], row % rows->ch.channels);

		WS_EACH(x[i] + one);
	} else {
		bias = ws_reals(op->in[1], col);
		WS_EACH(x[i] + bias[i]);
	}
	activate(op, n, y);
}

static void bias_item(void *arg, int64_t item)
{
	const struct rows *rows = arg;
	int64_t row = item * rows->rows_per_item;
	int64_t end = ws_min64(row + rows->rows_per_item, rows->rows);

	for (; row < end; row++)
		WS_EACH_TILE(col, n, 0, rows->cols)
			bias_tile(rows, row, col, n);
}

static void bias_run(struct ws_cpu *cpu, const struct ws_op *op, struct ws_channels ch)
{
	struct rows rows = {.op = op, .ch = ch};

	rows.rows = ch.inner > 1 ? ch.outer * ch.channels : ch.outer;
	rows.cols = ch.inner > 1 ? ch.inner : ch.channels;
	rows.rows_per_item = ws_div_up(WS_GRAIN, rows.cols);
	ws_cpu_launch(cpu, ws_div_up(rows.rows, rows.rows_per_item), bias_item, &rows);
}

WS_CPU_KERNEL(bias, bias_run(cpu, op, op->u.ch))
WS_CPU_KERNEL(bias_act, bias_run(cpu, op, op->u.bias.ch))

/* --- blocks: item = some channels, all their numbers ------------------------------ */

#define BLOCK 64 /* channels, where they are neighbours */

struct block {
	const struct ws_channels *ch;
	int64_t channel, channels; /* channels > 1 only where inner = 1 */
	int64_t outer;             /* position; -1: before the first */
	int64_t offset, count;     /* of the span there; its number i is of channel i * step */
	int64_t step;
};

static int64_t block_items(const struct ws_channels *ch)
{
	return ch->inner > 1 ? ch->channels : ws_div_up(ch->channels, BLOCK);
}

static struct block block_of(const struct ws_channels *ch, int64_t item)
{
	struct block b = {
	        .ch = ch, .channel = item, .channels = 1, .outer = -1, .count = ch->inner};

	if (ch->inner == 1) {
		b.channel = item * BLOCK;
		b.channels = b.count = ws_min64(BLOCK, ch->channels - b.channel);
		b.step = 1;
	}
	return b;
}

/* Go on to the next span; false, and back to the start, at the end. */
static bool block_next(struct block *b)
{
	const struct ws_channels *ch = b->ch;

	if (++b->outer == ch->outer) {
		b->outer = -1;
		return false;
	}
	b->offset = (b->outer * ch->channels + b->channel) * ch->inner;
	return true;
}

static void channel_sums(const struct ws_tensor *t, struct block *b, double *sum)
{
	memset(sum, 0, BLOCK * sizeof(*sum));
	while (block_next(b)) {
		const ws_real *x = ws_reals(t, b->offset);

		for (int64_t i = 0; i < b->count; i++)
			sum[i * b->step] += x[i];
	}
}

struct sums {
	const struct ws_op *op;
	struct ws_channels ch;
};

static void sums_item(void *arg, int64_t item)
{
	const struct sums *sums = arg;
	struct block b = block_of(&sums->ch, item);
	double sum[BLOCK];

	channel_sums(sums->op->in[0], &b, sum);
	ws_real_put_sums(sums->op->out[0], b.channel, b.channels, sum);
}

void WS_CPU_FN(channel_sums)(struct ws_cpu *cpu, const struct ws_op *op, struct ws_channels ch)
{
	struct sums sums = {op, ch};

	ws_cpu_launch(cpu, block_items(&ch), sums_item, &sums);
}

WS_CPU_KERNEL(bias_grad, WS_CPU_FN(channel_sums)(cpu, op, op->u.ch))

/* --- batch norm ------------------------------------------------------------------- */

/* Mean and biased variance of each channel of a block: two passes, in double. */
static void batch_statistics(const struct ws_op *op, struct block *b, double *mean, double *var)
{
	double count = (double)(b->ch->outer * b->ch->inner);

	memset(var, 0, BLOCK * sizeof(*var));
	channel_sums(op->in[0], b, mean);
	for (int64_t i = 0; i < b->channels; i++)
		mean[i] /= count;
	while (block_next(b)) {
		const ws_real *x = ws_reals(op->in[0], b->offset);

		for (int64_t i = 0; i < b->count; i++) {
			double d = (double)x[i] - mean[i * b->step];

			var[i * b->step] += d * d;
		}
	}
	for (int64_t i = 0; i < b->channels; i++)
		var[i] /= count;
}

/* running = (1 - momentum) running + momentum batch */
static void update_running(const struct ws_tensor *t, const struct block *b, double momentum,
                           const double *batch)
{
	const ws_real *old = ws_reals(t, b->channel);
	double new[BLOCK] = {0};

	for (int64_t i = 0; i < b->channels; i++)
		new[i] = (1 - momentum) * (double)old[i] + momentum *batch[i];
	ws_real_put_sums(t, b->channel, b->channels, new);
}

static void batch_norm_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	struct block b = block_of(&op->u.norm.ch, item);
	double mean[BLOCK], var[BLOCK], scale[BLOCK] = {0};
	double count = (double)(b.ch->outer * b.ch->inner);
	const ws_real *gamma = ws_reals(op->in[1], b.channel);
	const ws_real *beta = ws_reals(op->in[2], b.channel);

	batch_statistics(op, &b, mean, var);
	for (int64_t i = 0; i < b.channels; i++)
		scale[i] = 1 / sqrt(var[i] + op->u.norm.eps);
	ws_real_put_sums(op->out[1], b.channel, b.channels, mean);
	ws_real_put_sums(op->out[2], b.channel, b.channels, scale);
	update_running(op->out[3], &b, op->u.norm.momentum, mean);
	for (int64_t i = 0; i < b.channels; i++) {
		var[i] *= count / (count - 1);
		scale[i] *= gamma[i];
	}
	update_running(op->out[4], &b, op->u.norm.momentum, var);

	while (block_next(&b)) {
		const ws_real *x = ws_reals(op->in[0], b.offset);
		ws_real *y = ws_reals(op->out[0], b.offset);

		for (int64_t i = 0; i < b.count; i++) {
			int64_t c = i * b.step;

			y[i] = (ws_real)(((double)x[i] - mean[c]) * scale[c] + (double)beta[c]);
		}
	}
}

WS_CPU_KERNEL(batch_norm, ws_cpu_launch(cpu, block_items(&op->u.norm.ch), batch_norm_item, &op))

/* With z = (x - mean) / deviation: dgamma = sum(dy z), dbeta = sum(dy). */
static void batch_norm_sums(const struct ws_op *op, struct block *b, const ws_real *mean,
                            const ws_real *inverse, double *dgamma, double *dbeta)
{
	memset(dgamma, 0, BLOCK * sizeof(*dgamma));
	memset(dbeta, 0, BLOCK * sizeof(*dbeta));
	while (block_next(b)) {
		const ws_real *dy = ws_reals(op->in[0], b->offset);
		const ws_real *x = ws_reals(op->in[1], b->offset);

		for (int64_t i = 0; i < b->count; i++) {
			int64_t c = i * b->step;

			dgamma[c] += (double)dy[i] * ((double)x[i] - (double)mean[c]) *
			             (double)inverse[c];
			dbeta[c] += dy[i];
		}
	}
}

/* dx = gamma / deviation (dy - dbeta / count - z dgamma / count) */
static void batch_norm_grad_item(void *arg, int64_t item)
{
	const struct ws_op *op = *(const struct ws_op *const *)arg;
	struct block b = block_of(&op->u.norm.ch, item);
	double dgamma[BLOCK], dbeta[BLOCK];
	double count = (double)(b.ch->outer * b.ch->inner);
	const ws_real *gamma = ws_reals(op->in[2], b.channel);
	const ws_real *mean = ws_reals(op->in[3], b.channel);
	const ws_real *inverse = ws_reals(op->in[4], b.channel);

	batch_norm_sums(op, &b, mean, inverse, dgamma, dbeta);
	ws_real_put_sums(op->out[1], b.channel, b.channels, dgamma);
	ws_real_put_sums(op->out[2], b.channel, b.channels, dbeta);
	while (block_next(&b)) {
		const ws_real *dy = ws_reals(op->in[0], b.offset);
		const ws_real *x = ws_reals(op->in[1], b.offset);
		ws_real *dx = ws_reals(op->out[0], b.offset);

		for (int64_t i = 0; i < b.count; i++) {
			int64_t c = i * b.step;
			double z = ((double)x[i] - (double)mean[c]) * (double)inverse[c];
			double d = (double)dy[i] - (dbeta[c] + z * dgamma[c]) / count;

			dx[i] = (ws_real)(d * (double)gamma[c] * (double)inverse[c]);
		}
	}
}

WS_CPU_KERNEL(batch_norm_grad,
              ws_cpu_launch(cpu, block_items(&op->u.norm.ch), batch_norm_grad_item, &op))
