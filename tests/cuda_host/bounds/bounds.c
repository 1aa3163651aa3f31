/*
 * Notation: u = 2^-24, S = the magnitudes that an element is made of. Each rule fills in the
 * error of the fp32 arithmetic; the rounding to the result's own type is added for all alike.
 */
#include "tests/cuda_host/bounds/rules.h"

#include <stdlib.h>

#define TINY 0x1p-147 /* 4 ulp of a subnormal */

const struct ws_operand *ws_operand_of(const struct ws_operands *operands,
                                       const struct ws_tensor *t)
{
	for (int i = 0; i < operands->count; i++)
		if (operands->list[i].t == t)
			return &operands->list[i];
	return NULL;
}

static double smallest_normal(enum ws_dtype dtype)
{
	return dtype == WS_DTYPE_F16 ? 0x1p-14 : 0x1p-126;
}

/* The distance of neighbours of a type about x. */
static double ulp_of(enum ws_dtype dtype, double x)
{
	int digits = dtype == WS_DTYPE_F16 ? 10 : dtype == WS_DTYPE_BF16 ? 7 : 23;
	int exponent;

	frexp(fmax(fabs(x), smallest_normal(dtype)), &exponent);
	return ldexp(1, exponent - 1 - digits);
}

/* --- an element of the result from one of each operand --------------------------------------- */

static int64_t broadcast_index(const struct ws_tensor *t, const struct ws_tensor *result, int64_t i)
{
	int64_t cols = ws_tensor_cols(result);

	switch (ws_tensor_broadcast(t, result)) {
	case WS_BROADCAST_SAME:
		return i;
	case WS_BROADCAST_COL:
		return i / cols;
	case WS_BROADCAST_ROW:
		return i % cols;
	default:
		return 0;
	}
}

static double elementwise(const struct ws_operands *o, int64_t i, double y)
{
	const struct ws_op *op = o->op;
	const struct ws_tensor *result = op->out[0];
	double a, b;

	switch (op->sub) {
	case WS_SUB_EXP:
	case WS_SUB_LOG:
	case WS_SUB_SIGMOID:
	case WS_SUB_TANH:
	case WS_SUB_BIAS_TANH:
		return 4 * ULP * fabs(y);
	case WS_SUB_SWIGLU: /* a sigmoid and two products */
		return 8 * ULP * fabs(y);
	case WS_SUB_SIGMOID_GRAD: /* a b (1 - b) */
	case WS_SUB_TANH_GRAD:    /* a (1 - b^2): what is subtracted from 1 is rounded, or fused */
		a = in(o, 0)[broadcast_index(op->in[0], result, i)];
		b = in(o, 1)[broadcast_index(op->in[1], result, i)];
		return 4 * ULP * fabs(a) * (1 + b * b);
	default:
		return 2 * ULP * fabs(y);
	}
}

/* dy, [a b] -> da = dy b s (1 + a (1 - s)), db = dy a s, s = sigmoid(a) */
static double swiglu_grad(const struct ws_operands *o, int64_t i, double y)
{
	int64_t cols = ws_tensor_cols(o->op->in[0]), row = i / (2 * cols), col = i % (2 * cols);
	double a, b, dy;

	if (col >= cols)
		return 8 * ULP * fabs(y);
	a = in(o, 1)[i];
	b = in(o, 1)[i + cols];
	dy = in(o, 0)[row * cols + col];
	return 8 * ULP * fabs(dy * b) / (1 + exp(-a)) * (1 + fabs(a));
}

/* Each number of a pair is a sum of two products. */
static double rotation(const double *x, int64_t i)
{
	/* cosine and sine are at most 1 */
	return 2 * ULP * (fabs(x[i]) + fabs(x[i ^ 1]));
}

/* Where element i of the result of a rotation was read: part is that of three, or 0. */
static double rope(const struct ws_operands *o, const struct ws_tensor *written, int64_t i)
{
	const struct ws_op *op = o->op;
	const struct ws_heads h = op->u.head;
	bool back = op->sub == WS_SUB_ROTATE_BACK || op->sub == WS_SUB_ROTATE_QKV_BACK;
	int parts = op->kind == WS_OP_ROPE_QKV ? 3 : 1, part = 0;
	int64_t b, t, head, d = i % h.width, row = i / h.width, from;

	if (back) { /* result [B, T, parts, H, D], operands [B, H, T, D] */
		head = row % h.heads;
		part = (int)(row / h.heads % parts);
		t = row / h.heads / parts % h.time;
		b = row / h.heads / parts / h.time;
		from = ((b * h.heads + head) * h.time + t) * h.width + d;
		return rotation(in(o, part), from);
	}
	while (op->out[part] != written)
		part++;
	t = row % h.time;
	head = row / h.time % h.heads;
	b = row / h.time / h.heads;
	from = (((b * h.time + t) * parts + part) * h.heads + head) * h.width + d;
	return rotation(in(o, 0), from);
}

/* --- ops that are linear in their operands -----------------------------------------------------
 */

/* Terms that an element of the result sums. */
static double terms(const struct ws_op *op)
{
	const struct ws_window *w = &op->u.window;

	switch (op->kind) {
	case WS_OP_REDUCE:
		return (double)(op->sub == WS_SUB_COLSUM ? ws_tensor_rows(op->in[0])
		                                         : ws_tensor_cols(op->in[0]));
	case WS_OP_BIAS_GRAD:
		return (double)(op->u.ch.outer * op->u.ch.inner);
	case WS_OP_GEMM:
		return (double)op->u.gemm.k;
	case WS_OP_CONV:
		return (double)(op->u.conv.c / op->u.conv.groups * op->u.conv.r * op->u.conv.s);
	case WS_OP_CONV_DGRAD:
		return (double)(op->u.conv.k / op->u.conv.groups * op->u.conv.r * op->u.conv.s);
	case WS_OP_CONV_WGRAD:
		return (double)(op->u.conv.n * op->u.conv.p * op->u.conv.q);
	default: /* pooling */
		return (double)(w->r ? w->r * w->s : w->h * w->w);
	}
}

/* The op in fp32, on magnitudes: S of each element. */
static enum ws_status magnitudes(const struct ws_operands *o, double *s, struct ws_err *err)
{
	struct ws_op op = *o->op;
	struct ws_tensor copy[WS_OP_INPUTS_MAX + 1];
	enum ws_status status;
	int n = 0;

	op.tf32 = false;
	for (int i = 0; i < op.in_count; i++) {
		const double *values = in(o, i);
		double *magnitude;

		if (op.in[i]->dtype == WS_DTYPE_I32)
			continue;
		copy[n] = *op.in[i];
		copy[n].dtype = WS_DTYPE_F32;
		copy[n].data = malloc((size_t)copy[n].count * sizeof(float));
		magnitude = malloc((size_t)copy[n].count * sizeof(double));
		for (int64_t j = 0; j < copy[n].count; j++)
			magnitude[j] = fabs(values[j]);
		ws_dtype_encode(WS_DTYPE_F32, magnitude, copy[n].data, copy[n].count);
		free(magnitude);
		op.in[i] = &copy[n++];
	}
	copy[n] = *op.out[0];
	copy[n].dtype = WS_DTYPE_F32;
	copy[n].data = malloc((size_t)copy[n].count * sizeof(float));
	op.out[0] = &copy[n];
	status = o->reference->ops->run(o->reference, &op, err);
	ws_dtype_decode(WS_DTYPE_F32, copy[n].data, s, copy[n].count);
	for (int i = 0; i <= n; i++)
		free(copy[i].data);
	return status;
}

static enum ws_status linear(const struct ws_operands *o, const struct ws_operand *written,
                             double *bounds, struct ws_err *err)
{
	double share = sum_error(terms(o->op));

	/* the reference reads operands as the device does; a Tensor Core cuts the ends of sums */
	if (o->op->tf32)
		share += 0x1p-13;
	WS_FORWARD(magnitudes(o, bounds, err));
	for (int64_t i = 0; i < written->t->count; i++)
		bounds[i] *= share;
	return WS_OK;
}

/* Rows of a gradient are added where their index says; the reference rounds after each. */
static void embedding_grad(const struct ws_operands *o, double *bounds)
{
	const struct ws_tensor *grad = o->op->in[0], *table = o->op->out[0];
	int64_t cols = ws_tensor_cols(grad), rows = ws_tensor_rows(grad);
	double *hits = calloc((size_t)ws_tensor_rows(table), sizeof(*hits));
	double rounding = table->dtype == WS_DTYPE_F16    ? 0x1p-11
	                  : table->dtype == WS_DTYPE_BF16 ? 0x1p-8
	                                                  : 0;

	for (int64_t i = 0; i < table->count; i++)
		bounds[i] = 0;
	for (int64_t r = 0; r < rows; r++) {
		int64_t at = (int64_t)in(o, 1)[r];

		hits[at]++;
		for (int64_t c = 0; c < cols; c++)
			bounds[at * cols + c] += fabs(in(o, 0)[r * cols + c]);
	}
	for (int64_t i = 0; i < table->count; i++)
		bounds[i] *= sum_error(hits[i / cols]) + hits[i / cols] * rounding;
	free(hits);
}

/* --- softmax and losses --------------------------------------------------------------------------
 */

/* y = exp(scale x - max) / sum: the exponent's own rounding is a relative error of y. */
static void softmax(const struct ws_operands *o, double *bounds)
{
	int64_t cols = ws_tensor_cols(o->op->out[0]);
	double scale = o->op->u.alpha, most = 0;

	for (int64_t i = 0; i < o->op->out[0]->count; i++) {
		int64_t visible = i / cols % cols + 1;

		for (int64_t j = i; i % cols == 0 && j < i + visible; j++)
			most = fmax(j == i ? 0 : most, fabs(scale * in(o, 0)[j]));
		bounds[i] =
		        fabs(out(o, 0)[i]) * (sum_error((double)visible) + ULP * (6 + 2 * most));
	}
}

/* dx = scale y (dy - sum(dy y)) */
static void softmax_grad(const struct ws_operands *o, double *bounds)
{
	const double *dy = in(o, 0), *y = in(o, 1);
	int64_t cols = ws_tensor_cols(o->op->out[0]);
	double sum = 0;

	for (int64_t i = 0; i < o->op->out[0]->count; i++) {
		int64_t visible = i / cols % cols + 1;

		for (int64_t j = i; i % cols == 0 && j < i + visible; j++)
			sum = (j == i ? 0 : sum) + fabs(dy[j] * y[j]);
		bounds[i] = i % cols < visible ? fabs(o->op->u.alpha * y[i]) *
		                                         (sum_error((double)visible) * sum +
		                                          2 * ULP * (fabs(dy[i]) + sum))
		                               : 0;
	}
}

/* x - max - log(sum): the logarithm of the sum absolutely, and two subtractions. */
static void log_softmax(const struct ws_operands *o, double *bounds)
{
	int64_t cols = ws_tensor_cols(o->op->out[0]);
	double most = 0;

	for (int64_t i = 0; i < o->op->out[0]->count; i++) {
		for (int64_t j = i; i % cols == 0 && j < i + cols; j++)
			most = fmax(j == i ? 0 : most, fabs(in(o, 0)[j]));
		bounds[i] = sum_error((double)cols) + ULP * (8 + 6 * most + 2 * log((double)cols));
	}
}

/* dy - exp(y) sum(dy) */
static void log_softmax_grad(const struct ws_operands *o, double *bounds)
{
	const double *dy = in(o, 0), *y = in(o, 1);
	int64_t cols = ws_tensor_cols(o->op->out[0]);
	double sum = 0;

	for (int64_t i = 0; i < o->op->out[0]->count; i++) {
		for (int64_t j = i; i % cols == 0 && j < i + cols; j++)
			sum = (j == i ? 0 : sum) + fabs(dy[j]);
		bounds[i] = 2 * ULP * fabs(dy[i]) +
		            exp(y[i]) * sum * (sum_error((double)cols) + ULP * (6 + fabs(y[i])));
	}
}

static void nll_loss(const struct ws_operands *o, double *bounds)
{
	int64_t cols = ws_tensor_cols(o->op->in[0]), rows = o->op->in[1]->count;
	double total = 0;

	for (int64_t r = 0; r < rows; r++)
		total += fabs(in(o, 0)[r * cols + (int64_t)in(o, 1)[r]]);
	bounds[0] = (sum_error((double)rows) + 2 * ULP) * total / (double)rows;
}

/* Of the loss, or of the gradient (softmax - onehot) / rows. */
static void cross_entropy(const struct ws_operands *o, bool of_loss, double *bounds)
{
	const double *x = in(o, 0), *target = in(o, 1);
	int64_t cols = ws_tensor_cols(o->op->in[0]), rows = o->op->in[1]->count;
	double total = 0;

	for (int64_t r = 0; r < rows; r++) {
		const double *row = x + r * cols;
		double max = -INFINITY, most = 0, sum = 0, share;

		for (int64_t c = 0; c < cols; c++) {
			max = fmax(max, row[c]);
			most = fmax(most, fabs(row[c]));
		}
		for (int64_t c = 0; c < cols; c++)
			sum += exp(row[c] - max);
		/* of a probability, and of the logarithm of the sum absolutely */
		share = sum_error((double)cols) + ULP * (6 + 2 * most);
		total += share + 4 * ULP * (log(sum) + fabs(row[(int64_t)target[r]] - max));
		for (int64_t c = 0; c < cols && !of_loss; c++)
			bounds[r * cols + c] = (exp(row[c] - max) / sum * share +
			                        (c == (int64_t)target[r]) * ULP) /
			                       (double)rows;
	}
	if (of_loss)
		bounds[0] = total / (double)rows * (1 + sum_error((double)rows) / ULP * U) +
		            sum_error((double)rows) * fabs(out(o, 0)[0]);
}

/* --- all
 * -----------------------------------------------------------------------------------------------
 */

static bool is_exact(const struct ws_op *op)
{
	switch (op->kind) {
	case WS_OP_COPY:
	case WS_OP_FILL:
	case WS_OP_PERMUTE:
	case WS_OP_EMBEDDING:
	case WS_OP_GATHER:
	case WS_OP_GATHER_GRAD:
	case WS_OP_MAX_POOL:
	case WS_OP_SCALE_UPDATE:
		return true;
	default:
		return op->sub == WS_SUB_MAX || op->sub == WS_SUB_CAUSAL_MASK;
	}
}

static enum ws_status arithmetic(const struct ws_operands *o, const struct ws_operand *written,
                                 double *bounds, struct ws_err *err)
{
	const struct ws_op *op = o->op;

	switch (op->kind) {
	case WS_OP_GEMM:
	case WS_OP_CONV:
	case WS_OP_CONV_DGRAD:
	case WS_OP_CONV_WGRAD:
	case WS_OP_REDUCE:
	case WS_OP_BIAS_GRAD:
	case WS_OP_MAX_POOL_GRAD:
	case WS_OP_AVG_POOL:
	case WS_OP_AVG_POOL_GRAD:
		return linear(o, written, bounds, err);
	case WS_OP_EMBEDDING_GRAD:
		embedding_grad(o, bounds);
		break;
	case WS_OP_SOFTMAX:
		softmax(o, bounds);
		break;
	case WS_OP_SOFTMAX_GRAD:
		softmax_grad(o, bounds);
		break;
	case WS_OP_LOG_SOFTMAX:
		log_softmax(o, bounds);
		break;
	case WS_OP_LOG_SOFTMAX_GRAD:
		log_softmax_grad(o, bounds);
		break;
	case WS_OP_NLL_LOSS:
		nll_loss(o, bounds);
		break;
	case WS_OP_NLL_LOSS_GRAD:
		for (int64_t i = 0; i < written->t->count; i++)
			bounds[i] = 2 * ULP * fabs(written->after[i]);
		break;
	case WS_OP_SQUARED_ERROR: /* alpha, a difference, two products */
	case WS_OP_SQUARED_ERROR_GRAD:
		for (int64_t i = 0; i < written->t->count; i++)
			bounds[i] = 6 * ULP * fabs(written->after[i]);
		break;
	case WS_OP_CROSS_ENTROPY:
		cross_entropy(o, written->t == op->out[0], bounds);
		break;
	case WS_OP_RMS_NORM:
		ws_bounds_rms_norm(o, written, bounds);
		break;
	case WS_OP_RMS_NORM_GRAD:
		ws_bounds_rms_norm_grad(o, written->t == op->out[1], bounds);
		break;
	case WS_OP_BATCH_NORM:
		ws_bounds_batch_norm(o, written, bounds);
		break;
	case WS_OP_BATCH_NORM_GRAD:
		ws_bounds_batch_norm_grad(o, written, bounds);
		break;
	case WS_OP_UPDATE:
		ws_bounds_update(o, written, bounds);
		break;
	case WS_OP_CLIP: /* a sum of squares, its root and a quotient: half of its error */
		bounds[0] = 1024 * ULP;
		break;
	default:
		for (int64_t i = 0; i < written->t->count; i++)
			bounds[i] = op->kind == WS_OP_ROPE || op->kind == WS_OP_ROPE_QKV
			                    ? rope(o, written->t, i)
			            : op->kind == WS_OP_SWIGLU_GRAD
			                    ? swiglu_grad(o, i, written->after[i])
			                    : elementwise(o, i, written->after[i]);
	}
	return WS_OK;
}

enum ws_status ws_bounds(const struct ws_operands *operands, const struct ws_operand *written,
                         double *bounds, struct ws_err *err)
{
	enum ws_dtype dtype = written->t->dtype;
	bool exact = is_exact(operands->op) || dtype == WS_DTYPE_I32;

	for (int64_t i = 0; i < written->t->count && exact; i++)
		bounds[i] = 0;
	if (exact)
		return WS_OK;
	WS_FORWARD(arithmetic(operands, written, bounds, err));
	for (int64_t i = 0; i < written->t->count; i++) {
		double y = fabs(written->after[i]);

		/* an infinite operand of an element that is finite all the same */
		if (!isfinite(bounds[i]) && isfinite(y))
			bounds[i] = 64 * ULP * y;
		bounds[i] += TINY;
		if (dtype != WS_DTYPE_F32)
			bounds[i] += ulp_of(dtype, y + bounds[i]);
	}
	return WS_OK;
}
