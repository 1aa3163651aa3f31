/* Max and average pooling, forward and backward. */
#include "kernels/cpu/real.h"

/* Distances between neighbours of planes in memory. */
struct strides {
	int64_t n, c, h, w;
};

struct job {
	const struct ws_op *op;
	const struct ws_window *w;
	struct strides in, out; /* of the input and the output of the forward op */
};

static struct strides strides_of(enum ws_layout layout, int64_t c, int64_t h, int64_t w)
{
	if (layout == WS_LAYOUT_NCHW)
		return (struct strides){c * h * w, h * w, w, 1};
	return (struct strides){c * h * w, 1, w * c, c};
}

/* The input area of an output. */
struct area {
	int64_t h, h_end, w, w_end;
};

static struct area inputs_of(const struct ws_window *w, int64_t p, int64_t q)
{
	struct area a;

	ws_window_inputs(p, w->h, w->p, w->r, w->stride, w->pad, &a.h, &a.h_end);
	ws_window_inputs(q, w->w, w->q, w->s, w->stride, w->pad, &a.w, &a.w_end);
	return a;
}

/* Outputs first … end that read input i: the converse of ws_window_inputs(). */
static void outputs_of(int64_t i, int64_t in, int64_t out, int64_t size, int64_t stride,
                       int64_t pad, int64_t *first, int64_t *end)
{
	if (size == 0) {
		*first = i * out / in;
		*end = ws_div_up((i + 1) * out, in);
		return;
	}
	*first = i + pad < size ? 0 : (i + pad - size) / stride + 1;
	*end = ws_min64(out, (i + pad) / stride + 1);
}

/* --- forward: item = one row of outputs of an image ------------------------------- */

static void max_output(const struct job *job, int64_t input, int64_t output, const struct area *a)
{
	const struct ws_op *op = job->op;
	int64_t best_at = a->h * job->w->w + a->w;
	const ws_real *in = ws_reals(op->in[0], input);
	ws_real best = in[a->h * job->in.h + a->w * job->in.w];

	for (int64_t h = a->h; h < a->h_end; h++)
		for (int64_t w = a->w; w < a->w_end; w++) {
			ws_real x = in[h * job->in.h + w * job->in.w];

			if (x > best || (isnan(x) && !isnan(best))) {
				best = x;
				best_at = h * job->w->w + w;
			}
		}
	*ws_reals(op->out[0], output) = best;
	((int32_t *)op->out[1]->data)[output] = (int32_t)best_at;
}

static void mean_output(const struct job *job, int64_t input, int64_t output, const struct area *a)
{
	const ws_real *in = ws_reals(job->op->in[0], input);
	double sum = 0;

	for (int64_t h = a->h; h < a->h_end; h++)
		for (int64_t w = a->w; w < a->w_end; w++)
			sum += in[h * job->in.h + w * job->in.w];
	*ws_reals(job->op->out[0], output) =
	        (ws_real)(sum / (double)((a->h_end - a->h) * (a->w_end - a->w)));
}

static void forward_item(void *arg, int64_t item)
{
	const struct job *job = arg;
	const struct ws_window *w = job->w;
	int64_t n = item / w->p, p = item % w->p;

	for (int64_t c = 0; c < w->c; c++)
		for (int64_t q = 0; q < w->q; q++) {
			struct area a = inputs_of(w, p, q);
			int64_t input = n * job->in.n + c * job->in.c;
			int64_t output =
			        n * job->out.n + c * job->out.c + p * job->out.h + q * job->out.w;

			if (job->op->kind == WS_OP_MAX_POOL)
				max_output(job, input, output, &a);
			else
				mean_output(job, input, output, &a);
		}
}

/* --- backward: item = one row of inputs of an image ------------------------------ */

static double from_max(const struct job *job, int64_t output, int64_t position)
{
	const struct ws_op *op = job->op;

	return ((const int32_t *)op->in[1]->data)[output] == position ? *ws_reals(op->in[0], output)
	                                                              : 0;
}

static double from_mean(const struct job *job, int64_t output, int64_t p, int64_t q)
{
	struct area a = inputs_of(job->w, p, q);

	return *ws_reals(job->op->in[0], output) / (double)((a.h_end - a.h) * (a.w_end - a.w));
}

static void backward_item(void *arg, int64_t item)
{
	const struct job *job = arg;
	const struct ws_window *w = job->w;
	int64_t n = item / w->h, h = item % w->h, p0, p1;

	outputs_of(h, w->h, w->p, w->r, w->stride, w->pad, &p0, &p1);
	for (int64_t c = 0; c < w->c; c++)
		for (int64_t x = 0; x < w->w; x++) {
			int64_t plane = n * job->out.n + c * job->out.c, q0, q1;
			double sum = 0;

			outputs_of(x, w->w, w->q, w->s, w->stride, w->pad, &q0, &q1);
			for (int64_t p = p0; p < p1; p++)
				for (int64_t q = q0; q < q1; q++) {
					int64_t output = plane + p * job->out.h + q * job->out.w;

					sum += job->op->kind == WS_OP_MAX_POOL_GRAD
					               ? from_max(job, output, h * w->w + x)
					               : from_mean(job, output, p, q);
				}
			*ws_reals(job->op->out[0], n * job->in.n + c * job->in.c + h * job->in.h +
			                                   x * job->in.w) = (ws_real)sum;
		}
}

/* --- the four ops ----------------------------------------------------------------- */

static void run(struct ws_cpu *cpu, const struct ws_op *op, int64_t rows,
                void (*fn)(void *arg, int64_t item))
{
	const struct ws_window *w = &op->u.window;
	struct job job = {
	        .op = op,
	        .w = w,
	        .in = strides_of(w->layout, w->c, w->h, w->w),
	        .out = strides_of(w->layout, w->c, w->p, w->q),
	};

	ws_cpu_launch(cpu, w->n * rows, fn, &job);
}

WS_CPU_KERNEL(max_pool, run(cpu, op, op->u.window.p, forward_item))
WS_CPU_KERNEL(avg_pool, run(cpu, op, op->u.window.p, forward_item))
WS_CPU_KERNEL(max_pool_grad, run(cpu, op, op->u.window.h, backward_item))
WS_CPU_KERNEL(avg_pool_grad, run(cpu, op, op->u.window.h, backward_item))
