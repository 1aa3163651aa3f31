/* Ops on images: sums of channels, batch norm, pooling, and their gradients. */
#include "kernels/cpu/cpu.h"

/* --- blocks: item = some channels, all their numbers ------------------------------ */

#define BLOCK 64 /* channels, where they are neighbours */

struct block {
	const struct ws_channels *ch;
	int64_t channel, channels; /* channels > 1 only where inner = 1 */
	int64_t outer;             /* position; -1: before the first */
	int64_t offset, count;     /* of the span there; its number i is of channel i * step */
	int64_t step;
};

/* Of a COLSUM: the columns. */
static struct ws_channels channels_of(const struct ws_op *op)
{
	const struct ws_tensor *t = op->in[0];

	return op->kind == WS_OP_BIAS_GRAD
	               ? op->u.ch
	               : (struct ws_channels){ws_tensor_rows(t), ws_tensor_cols(t), 1};
}

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

/* The sum of each channel, or of each column of a matrix. */
static void sums_item(const struct ws_op *op, int64_t item)
{
	const struct ws_channels ch = channels_of(op);
	struct block b = block_of(&ch, item);
	double sum[BLOCK];

	channel_sums(op->in[0], &b, sum);
	ws_real_put_sums(op->out[0], b.channel, b.channels, sum);
}

void WS_CPU_FN(bias_grad)(struct ws_cpu *cpu, const struct ws_op *op)
{
	const struct ws_channels ch = channels_of(op);

	ws_cpu_launch_op(cpu, op, block_items(&ch), sums_item);
}

/* --- batch norm ------------------------------------------------------------------- */

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

WS_CPU_ITEMS(batch_norm, block_items(&op->u.norm.ch))
{
	struct block b = block_of(&op->u.norm.ch, item);
	double mean[BLOCK], var[BLOCK], scale[BLOCK] = {0};
	double count = (double)(b.ch->outer * b.ch->inner);
	const ws_real *gamma = ws_reals(op->in[1], b.channel);
	const ws_real *beta = ws_reals(op->in[2], b.channel);

	/* Mean and biased variance of each channel: two passes, in double. */
	memset(var, 0, BLOCK * sizeof(*var));
	channel_sums(op->in[0], &b, mean);
	for (int64_t i = 0; i < b.channels; i++)
		mean[i] /= count;
	while (block_next(&b)) {
		const ws_real *x = ws_reals(op->in[0], b.offset);

		for (int64_t i = 0; i < b.count; i++) {
			double d = (double)x[i] - mean[i * b.step];

			var[i * b.step] += d * d;
		}
	}
	for (int64_t i = 0; i < b.channels; i++)
		var[i] /= count;
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

/* dx = gamma / deviation (dy - dbeta / count - z dgamma / count) */
WS_CPU_ITEMS(batch_norm_grad, block_items(&op->u.norm.ch))
{
	struct block b = block_of(&op->u.norm.ch, item);
	double dgamma[BLOCK], dbeta[BLOCK];
	double count = (double)(b.ch->outer * b.ch->inner);
	const ws_real *gamma = ws_reals(op->in[2], b.channel);
	const ws_real *mean = ws_reals(op->in[3], b.channel);
	const ws_real *inverse = ws_reals(op->in[4], b.channel);

	/* With z = (x - mean) / deviation: dgamma = sum(dy z), dbeta = sum(dy). */
	memset(dgamma, 0, BLOCK * sizeof(*dgamma));
	memset(dbeta, 0, BLOCK * sizeof(*dbeta));
	while (block_next(&b)) {
		const ws_real *dy = ws_reals(op->in[0], b.offset);
		const ws_real *x = ws_reals(op->in[1], b.offset);

		for (int64_t i = 0; i < b.count; i++) {
			int64_t c = i * b.step;

			dgamma[c] += (double)dy[i] * ((double)x[i] - (double)mean[c]) *
			             (double)inverse[c];
			dbeta[c] += dy[i];
		}
	}
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

/* --- pooling ---------------------------------------------------------------------------------- */

/* Distances between neighbours of planes in memory. */
struct strides {
	int64_t n, c, h, w;
};

struct pool {
	const struct ws_op *op;
	const struct ws_window *w;
	struct ws_axis rows, cols;
	struct strides in, out; /* of the input and the output of the forward op */
};

static struct strides strides_of(enum ws_layout layout, int64_t c, int64_t h, int64_t w)
{
	if (layout == WS_LAYOUT_NCHW)
		return (struct strides){c * h * w, h * w, w, 1};
	return (struct strides){c * h * w, 1, w * c, c};
}

static void max_output(const struct pool *pool, const ws_real *in, int64_t output,
                       struct ws_span rows, struct ws_span cols)
{
	int64_t best_at = rows.first * pool->w->w + cols.first;
	ws_real best = in[rows.first * pool->in.h + cols.first * pool->in.w];

	for (int64_t h = rows.first; h < rows.end; h++)
		for (int64_t w = cols.first; w < cols.end; w++) {
			ws_real x = in[h * pool->in.h + w * pool->in.w];

			if (x > best || (isnan(x) && !isnan(best))) {
				best = x;
				best_at = h * pool->w->w + w;
			}
		}
	*ws_reals(pool->op->out[0], output) = best;
	((int32_t *)pool->op->out[1]->data)[output] = (int32_t)best_at;
}

static void mean_output(const struct pool *pool, const ws_real *in, int64_t output,
                        struct ws_span rows, struct ws_span cols)
{
	double sum = 0, count = (double)((rows.end - rows.first) * (cols.end - cols.first));

	for (int64_t h = rows.first; h < rows.end; h++)
		for (int64_t w = cols.first; w < cols.end; w++)
			sum += in[h * pool->in.h + w * pool->in.w];
	*ws_reals(pool->op->out[0], output) = (ws_real)(sum / count);
}

/* item: one row of outputs of an image */
static void pool_item(void *arg, int64_t item)
{
	const struct pool *pool = arg;
	const struct ws_window *w = pool->w;
	int64_t n = item / w->p, p = item % w->p;
	struct ws_span rows = ws_axis_inputs(&pool->rows, p);

	for (int64_t c = 0; c < w->c; c++)
		for (int64_t q = 0; q < w->q; q++) {
			struct ws_span cols = ws_axis_inputs(&pool->cols, q);
			int64_t output = n * pool->out.n + c * pool->out.c + p * pool->out.h +
			                 q * pool->out.w;

			(pool->op->kind == WS_OP_MAX_POOL ? max_output : mean_output)(
			        pool, ws_reals(pool->op->in[0], n * pool->in.n + c * pool->in.c),
			        output, rows, cols);
		}
}

/* What an output gives back to input x of row h. */
static double pool_share(const struct pool *pool, int64_t output, int64_t h, int64_t x, int64_t p,
                         int64_t q)
{
	const struct ws_op *op = pool->op;
	double dy = *ws_reals(op->in[0], output);
	struct ws_span rows, cols;

	if (op->kind == WS_OP_MAX_POOL_GRAD)
		return ((const int32_t *)op->in[1]->data)[output] == h * pool->w->w + x ? dy : 0;
	rows = ws_axis_inputs(&pool->rows, p);
	cols = ws_axis_inputs(&pool->cols, q);
	return dy / (double)((rows.end - rows.first) * (cols.end - cols.first));
}

/* item: one row of inputs of an image */
static void pool_grad_item(void *arg, int64_t item)
{
	const struct pool *pool = arg;
	const struct ws_window *w = pool->w;
	int64_t n = item / w->h, h = item % w->h;
	struct ws_span rows = ws_axis_outputs(&pool->rows, h);

	for (int64_t c = 0; c < w->c; c++)
		for (int64_t x = 0; x < w->w; x++) {
			int64_t plane = n * pool->out.n + c * pool->out.c;
			struct ws_span cols = ws_axis_outputs(&pool->cols, x);
			double sum = 0;

			for (int64_t p = rows.first; p < rows.end; p++)
				for (int64_t q = cols.first; q < cols.end; q++)
					sum += pool_share(pool,
					                  plane + p * pool->out.h + q * pool->out.w,
					                  h, x, p, q);
			*ws_reals(pool->op->out[0], n * pool->in.n + c * pool->in.c +
			                                    h * pool->in.h + x * pool->in.w) =
			        (ws_real)sum;
		}
}

static void pool_run(struct ws_cpu *cpu, const struct ws_op *op, int64_t rows,
                     void (*fn)(void *arg, int64_t item))
{
	const struct ws_window *w = &op->u.window;
	struct pool pool = {
	        .op = op,
	        .w = w,
	        .rows = ws_window_axis(w, false),
	        .cols = ws_window_axis(w, true),
	        .in = strides_of(w->layout, w->c, w->h, w->w),
	        .out = strides_of(w->layout, w->c, w->p, w->q),
	};

	ws_cpu_launch(cpu, w->n * rows, fn, &pool);
}

WS_CPU_KERNEL(max_pool, pool_run(cpu, op, op->u.window.p, pool_item))
WS_CPU_KERNEL(avg_pool, pool_run(cpu, op, op->u.window.p, pool_item))
WS_CPU_KERNEL(max_pool_grad, pool_run(cpu, op, op->u.window.h, pool_grad_item))
WS_CPU_KERNEL(avg_pool_grad, pool_run(cpu, op, op->u.window.h, pool_grad_item))
