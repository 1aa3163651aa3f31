/*
 * Causal attention that stores no scores: softmax(scale q k^T) v, and its gradients.
 *
 * The scores of a query are computed a block of keys at a time, against the largest so far,
 * as FlashAttention does. A GPU's matrix units read operands of one dtype, so exponentials
 * and gradients of scores are rounded to that of q before they are multiplied again; sums,
 * maxima and logarithms are not. The gradient makes the exponentials again from the
 * logarithm that the forward pass kept, once for each query and once for each key, so that
 * every result is the sum of one item of work, in one order.
 */
#include "kernels/cpu/cpu.h"

#define KEYS  64 /* a block of them */
#define LANES 8  /* sums of a dot product, so that it can be vectorised */

struct attention {
	const struct ws_op *op; /* as the graph has it: its operands tell how products read */
	int64_t time, width;
	ws_real scale;
	const ws_real *dy, *q, *k, *v, *y; /* all heads, one below the other */
	const ws_real *log_sum;
	ws_real *delta;  /* of each query: sum(dy y) */
	ws_real *out[3]; /* y and its log_sum; dq, dk, dv */
};

/* One head. */
static struct attention head_of(const struct attention *all, int64_t head)
{
	struct attention a = *all;
	int64_t rows = head * a.time, offset = rows * a.width;

	a.q += offset;
	a.k += offset;
	a.v += offset;
	if (!a.dy)
		return a;
	a.dy += offset;
	a.y += offset;
	a.log_sum += rows;
	a.delta += rows;
	return a;
}

static double dot(const ws_real *a, const ws_real *b, int64_t n)
{
	double sum[LANES] = {0}, total = 0;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int lane = 0; lane < LANES; lane++)
			sum[lane] += (double)a[i + lane] * (double)b[i + lane];
	for (int lane = 0; lane < LANES; lane++)
		total += sum[lane];
	for (; i < n; i++)
		total += (double)a[i] * (double)b[i];
	return total;
}

/* sum += factor * row */
static void add_scaled(double *sum, ws_real factor, const ws_real *row, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		sum[i] += (double)factor * (double)row[i];
}

/* A value as the next product reads it. */
static ws_real as_operand(const struct ws_op *op, ws_real value)
{
	switch (op->in[0]->dtype) {
	case WS_DTYPE_BF16:
		return ws_bf16_to_f32(ws_f32_to_bf16((float)value));
	case WS_DTYPE_F16:
		return ws_f16_to_f32(ws_f32_to_f16((float)value));
	default:
		return op->tf32 ? (ws_real)ws_f32_to_tf32((float)value) : value;
	}
}

static void store_row(ws_real *to, int64_t n, const double *row, double factor)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = (ws_real)(row[i] * factor);
}

/* --- forward ---------------------------------------------------------------------------- */

/* The softmax of a query so far. */
struct running {
	ws_real max;
	double sum;                       /* of the exponentials against max */
	double y[WS_ATTENTION_WIDTH_MAX]; /* sum of those times the values */
};

static void add_keys(const struct attention *a, int64_t query, int64_t first, int64_t count,
                     struct running *r)
{
	ws_real score[KEYS], max = r->max, shrink;

	for (int64_t j = 0; j < count; j++) {
		score[j] = a->scale * (ws_real)dot(a->q + query * a->width,
		                                   a->k + (first + j) * a->width, a->width);
		max = score[j] > max || isnan(score[j]) ? score[j] : max; /* a NaN stays */
	}
	shrink = first ? WS_REAL_EXP(r->max - max) : 0;
	r->max = max;
	r->sum *= (double)shrink;
	for (int64_t i = 0; i < a->width; i++)
		r->y[i] *= (double)shrink;
	for (int64_t j = 0; j < count; j++) {
		ws_real e = WS_REAL_EXP(score[j] - max);

		r->sum += (double)e;
		add_scaled(r->y, as_operand(a->op, e), a->v + (first + j) * a->width, a->width);
	}
}

static void forward_item(void *arg, int64_t row)
{
	const struct attention *all = arg;
	struct attention a = head_of(all, row / all->time);
	int64_t query = row % a.time;
	struct running r = {.max = -INFINITY};

	for (int64_t key = 0; key <= query; key += KEYS)
		add_keys(&a, query, key, ws_min64(query + 1 - key, KEYS), &r);
	store_row(a.out[0] + row * a.width, a.width, r.y, 1 / r.sum);
	a.out[1][row] = r.max + (ws_real)log(r.sum);
}

/* --- gradients ---------------------------------------------------------------------------- */

/* The softmax of a pair, and the gradient of its score before the scale. */
static ws_real pair(const struct attention *a, int64_t query, int64_t key, ws_real *dscore)
{
	const ws_real *q = a->q + query * a->width, *dy = a->dy + query * a->width;
	ws_real p = WS_REAL_EXP(a->scale * (ws_real)dot(q, a->k + key * a->width, a->width) -
	                        a->log_sum[query]);

	*dscore = as_operand(a->op, p * ((ws_real)dot(dy, a->v + key * a->width, a->width) -
	                                 a->delta[query]));
	return as_operand(a->op, p);
}

static void delta_item(void *arg, int64_t row)
{
	const struct attention *a = arg;

	a->delta[row] = (ws_real)dot(a->dy + row * a->width, a->y + row * a->width, a->width);
}

static void grad_item(void *arg, int64_t row)
{
	const struct attention *all = arg;
	struct attention a = head_of(all, row / all->time);
	double dq[WS_ATTENTION_WIDTH_MAX] = {0}, dk[WS_ATTENTION_WIDTH_MAX] = {0};
	double dv[WS_ATTENTION_WIDTH_MAX] = {0};
	int64_t query = row % a.time;
	ws_real dscore, p;

	for (int64_t key = 0; key <= query; key++) {
		pair(&a, query, key, &dscore);
		add_scaled(dq, dscore, a.k + key * a.width, a.width);
	}
	store_row(a.out[0] + row * a.width, a.width, dq, (double)a.scale);
	/* the row as a key */
	for (int64_t later = query; later < a.time; later++) {
		p = pair(&a, later, query, &dscore);
		add_scaled(dk, dscore, a.q + later * a.width, a.width);
		add_scaled(dv, p, a.dy + later * a.width, a.width);
	}
	store_row(a.out[1] + row * a.width, a.width, dk, (double)a.scale);
	store_row(a.out[2] + row * a.width, a.width, dv, 1);
}

/* --- ops ---------------------------------------------------------------------------------- */

static struct attention attention_of(const struct ws_cpu *cpu, const struct ws_op *op)
{
	const struct ws_heads *head = &op->u.attention.head;
	struct attention a = {.op = cpu->op,
	                      .time = head->time,
	                      .width = head->width,
	                      .scale = (ws_real)op->u.attention.scale};

	for (int i = 0; i < op->out_count; i++)
		a.out[i] = op->out[i]->data;
	return a;
}

static int64_t rows_of(const struct ws_op *op)
{
	return op->in[0]->count / op->u.attention.head.width;
}

void WS_CPU_FN(attention)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct attention a = attention_of(cpu, op);

	a.q = op->in[0]->data;
	a.k = op->in[1]->data;
	a.v = op->in[2]->data;
	ws_cpu_launch(cpu, rows_of(op), forward_item, &a);
}

void WS_CPU_FN(attention_grad)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct attention a = attention_of(cpu, op);

	a.dy = op->in[0]->data;
	a.q = op->in[1]->data;
	a.k = op->in[2]->data;
	a.v = op->in[3]->data;
	a.y = op->in[4]->data;
	a.log_sum = op->in[5]->data;
	a.delta = cpu->scratch;
	ws_cpu_kernel_begin(cpu, rows_of(op));
	ws_pool_run(cpu->pool, rows_of(op), delta_item, &a);
	ws_pool_run(cpu->pool, rows_of(op), grad_item, &a);
	ws_cpu_kernel_end(cpu);
}
