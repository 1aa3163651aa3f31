/*
 * Notation: u = 2^-24, S = the magnitudes that an element is made of. Each rule fills in the
 * error of the fp32 arithmetic; the rounding to the result's own type is added for all alike.
 */
#include "tests/cuda_host/bounds.h"

#include <math.h>
#include <stdlib.h>

#define U    0x1p-24
#define TINY 0x1p-147 /* 4 ulp of a subnormal */
#define ULP  (2 * U)  /* of a number, at most */

/* 4 sqrt(n) u: of a sum of n, as a share of the sum of magnitudes */
static double sum_error(double n)
{
	return 4 * sqrt(n) * U;
}

const struct ws_operand *ws_operand_of(const struct ws_operands *operands,
                                       const struct ws_tensor *t)
{
	for (int i = 0; i < operands->count; i++)
		if (operands->list[i].t == t)
			return &operands->list[i];
	return NULL;
}

static const double *in(const struct ws_operands *operands, int i)
{
	return ws_operand_of(operands, operands->op->in[i])->before;
}

static const double *out(const struct ws_operands *operands, int i)
{
	return ws_operand_of(operands, operands->op->out[i])->after;
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
	double scale = o->op->u.alpha;

	for (int64_t i = 0; i < o->op->out[0]->count; i++) {
		int64_t row = i / cols, visible = row % cols + 1;
		double most = 0;

		for (int64_t j = 0; j < visible; j++)
			most = fmax(most, fabs(scale * in(o, 0)[row * cols + j]));
		bounds[i] =
		        fabs(out(o, 0)[i]) * (sum_error((double)visible) + ULP * (6 + 2 * most));
	}
}

/* dx = scale y (dy - sum(dy y)) */
static void softmax_grad(const struct ws_operands *o, double *bounds)
{
	const double *dy = in(o, 0), *y = in(o, 1);
	int64_t cols = ws_tensor_cols(o->op->out[0]);

	for (int64_t i = 0; i < o->op->out[0]->count; i++) {
		int64_t row = i / cols, visible = row % cols + 1;
		double sum = 0;

		for (int64_t j = row * cols; j < row * cols + visible; j++)
			sum += fabs(dy[j] * y[j]);
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

	for (int64_t i = 0; i < o->op->out[0]->count; i++) {
		const double *x = in(o, 0) + i / cols * cols;
		double most = 0;

		for (int64_t j = 0; j < cols; j++)
			most = fmax(most, fabs(x[j]));
		bounds[i] = sum_error((double)cols) + ULP * (8 + 6 * most + 2 * log((double)cols));
	}
}

/* dy - exp(y) sum(dy) */
static void log_softmax_grad(const struct ws_operands *o, double *bounds)
{
	const double *dy = in(o, 0), *y = in(o, 1);
	int64_t cols = ws_tensor_cols(o->op->out[0]);

	for (int64_t i = 0; i < o->op->out[0]->count; i++) {
		double sum = 0;

		for (int64_t j = i / cols * cols; j < i / cols * cols + cols; j++)
			sum += fabs(dy[j]);
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

/* --- norms
 * ----------------------------------------------------------------------------------------- */

static void rms_norm(const struct ws_operands *o, const struct ws_operand *written, double *bounds)
{
	double share = sum_error((double)ws_tensor_cols(o->op->in[0])) + 4 * ULP;

	for (int64_t i = 0; i < written->t->count; i++)
		bounds[i] = fabs(written->after[i]) * share;
}

/* dy, x, w, r = 1 / rms -> dx = r w dy - x r^3 mean(w dy x), dw = sum over rows of dy x r */
static void rms_norm_grad(const struct ws_operands *o, bool of_weight, double *bounds)
{
	const double *dy = in(o, 0), *x = in(o, 1), *w = in(o, 2), *r = in(o, 3);
	int64_t cols = ws_tensor_cols(o->op->out[0]), rows = ws_tensor_rows(o->op->out[0]);

	for (int64_t c = 0; c < cols && of_weight; c++) {
		bounds[c] = 0;
		for (int64_t row = 0; row < rows; row++)
			bounds[c] += fabs(dy[row * cols + c] * x[row * cols + c] * r[row]);
		bounds[c] *= sum_error((double)rows) + 2 * ULP;
	}
	for (int64_t row = 0; row < rows && !of_weight; row++) {
		double sum = 0;

		for (int64_t c = 0; c < cols; c++)
			sum += fabs(w[c] * dy[row * cols + c] * x[row * cols + c]);
		sum *= pow(r[row], 3) / (double)cols;
		for (int64_t c = 0; c < cols; c++)
			bounds[row * cols + c] =
			        2 * ULP * fabs(r[row] * w[c] * dy[row * cols + c]) +
			        fabs(x[row * cols + c]) * sum * (sum_error((double)cols) + 4 * ULP);
	}
}

/* The statistics of one channel, as the batch has them, and how exactly fp32 gets them. */
struct channel {
	double n, mean, var, inverse;
	double mean_error, inverse_error; /* absolute; relative */
};

static int64_t channel_at(const struct ws_channels *ch, int64_t channel, int64_t i)
{
	return (i / ch->inner * ch->channels + channel) * ch->inner + i % ch->inner;
}

static struct channel channel_of(const struct ws_norm *norm, const double *x, int64_t channel)
{
	struct channel c = {.n = (double)(norm->ch.outer * norm->ch.inner)};
	double size = 0;

	for (int64_t i = 0; i < (int64_t)c.n; i++) {
		c.mean += x[channel_at(&norm->ch, channel, i)];
		size += fabs(x[channel_at(&norm->ch, channel, i)]);
	}
	c.mean /= c.n;
	for (int64_t i = 0; i < (int64_t)c.n; i++)
		c.var += pow(x[channel_at(&norm->ch, channel, i)] - c.mean, 2) / c.n;
	c.inverse = 1 / sqrt(c.var + norm->eps);
	c.mean_error = sum_error(c.n) * size / c.n;
	/* a mean that is off adds its square to the variance, of deviations that are rounded */
	c.inverse_error = sum_error(c.n) + 2 * ULP + pow(c.mean_error * c.inverse, 2) +
	                  2 * ULP * size / c.n * c.inverse;
	return c;
}

static void batch_norm(const struct ws_operands *o, const struct ws_operand *written,
                       double *bounds)
{
	const struct ws_op *op = o->op;
	const struct ws_norm *norm = &op->u.norm;
	const double *x = in(o, 0), *gamma = in(o, 1), *beta = in(o, 2);
	int which = 0;

	while (op->out[which] != written->t)
		which++;
	for (int64_t k = 0; k < norm->ch.channels; k++) {
		struct channel c = channel_of(norm, x, k);
		double old = ULP * fabs(written->before ? written->before[k] : 0);

		if (which == 1)
			bounds[k] = c.mean_error + ULP * fabs(c.mean);
		else if (which == 2)
			bounds[k] = c.inverse * c.inverse_error;
		else if (which == 3)
			bounds[k] =
			        2 * old + norm->momentum * (c.mean_error + 2 * ULP * fabs(c.mean));
		else if (which == 4)
			bounds[k] = 2 * old + norm->momentum * c.var * c.n / (c.n - 1) *
			                              (2 * c.inverse_error + 4 * ULP);
		for (int64_t i = 0; i < (int64_t)c.n && which == 0; i++) {
			int64_t at = channel_at(&norm->ch, k, i);
			double z = (x[at] - c.mean) * c.inverse;

			bounds[at] =
			        fabs(gamma[k]) * c.inverse *
			                (c.mean_error + ULP * (fabs(x[at]) + fabs(c.mean))) +
			        fabs(gamma[k] * z) * (c.inverse_error + 4 * ULP) +
			        2 * ULP * (fabs(beta[k]) + fabs(gamma[k] * c.mean) * c.inverse);
		}
	}
}

/* dx = gamma / deviation (dy - dbeta / n - z dgamma / n) */
static void batch_norm_grad(const struct ws_operands *o, const struct ws_operand *written,
                            double *bounds)
{
	const struct ws_op *op = o->op;
	const struct ws_channels *ch = &op->u.norm.ch;
	const double *dy = in(o, 0), *x = in(o, 1), *gamma = in(o, 2), *mean = in(o, 3);
	const double *inverse = in(o, 4);
	double n = (double)(ch->outer * ch->inner), share = sum_error(n) + 4 * ULP;

	for (int64_t k = 0; k < ch->channels; k++) {
		double dgamma = 0, dbeta = 0; /* sums of magnitudes */

		for (int64_t i = 0; i < (int64_t)n; i++) {
			int64_t at = channel_at(ch, k, i);

			dgamma += fabs(dy[at]) * (fabs(x[at]) + fabs(mean[k])) * inverse[k];
			dbeta += fabs(dy[at]);
		}
		if (written->t == op->out[1])
			bounds[k] = share * dgamma;
		else if (written->t == op->out[2])
			bounds[k] = share * dbeta;
		for (int64_t i = 0; i < (int64_t)n && written->t == op->out[0]; i++) {
			int64_t at = channel_at(ch, k, i);
			double z = (fabs(x[at]) + fabs(mean[k])) * inverse[k];

			bounds[at] = fabs(gamma[k] * inverse[k]) *
			             (4 * ULP * fabs(dy[at]) + share * (dbeta + z * dgamma) / n);
		}
	}
}

/* --- optimizer
 * --------------------------------------------------------------------------------------- */

static double at(const struct ws_operands *o, const struct ws_tensor *t, int64_t i)
{
	return t ? ws_operand_of(o, t)->before[i] : 0;
}

/* Of a fused optimizer: the sizes of what each result is a sum of. */
static double bound_all(const struct ws_op *op, const struct ws_operands *o,
                        const struct ws_update_row *row, const struct ws_tensor *t, int64_t i)
{
	const struct ws_update_factors *f = &op->u.update.factors;
	double p = fabs(at(o, row->t[WS_UPDATE_P], i)), v = at(o, row->t[WS_UPDATE_V], i);
	double g = fabs(at(o, row->t[WS_UPDATE_G], i)) + f->decay * p, correction, v_new;
	double m = f->beta1 * fabs(at(o, row->t[WS_UPDATE_M], i));

	if (op->sub == WS_SUB_SGD_ALL)
		return 8 * ULP * (t == row->t[WS_UPDATE_P] ? p + f->alpha * (m + g) : m + g);
	m += (1 - f->beta1) * g;
	v_new = f->beta2 * v + (1 - f->beta2) * g * g;
	if (t != row->t[WS_UPDATE_P])
		return 8 * ULP * (t == row->t[WS_UPDATE_M] ? m : v_new);
	correction = ws_update_numbers(op) > 1 ? in(o, 1)[0] : 1;
	v_new = f->beta2 * v + (1 - f->beta2) * pow(at(o, row->t[WS_UPDATE_G], i), 2);
	return 8 * ULP * p + 32 * ULP * fabs(in(o, 0)[0]) * m / (sqrt(v_new) * correction + f->eps);
}

/* Of a step: those of the terms, each operation one rounding. */
static double bound_each(const struct ws_op *op, const struct ws_operands *o,
                         const struct ws_update_row *row, int64_t i)
{
	double alpha = fabs(op->u.update.factors.alpha), a = fabs(at(o, row->t[WS_UPDATE_A], i));
	double b = fabs(at(o, row->t[WS_UPDATE_B], i)), c = fabs(at(o, row->t[WS_UPDATE_C], i));
	double x = ws_update_numbers(op) ? fabs(in(o, 0)[0]) : 0;

	switch (op->sub) {
	case WS_SUB_EACH_LERP:
		return 4 * ULP * (a + alpha * (a + b));
	case WS_SUB_EACH_ADD:
		return 4 * ULP * (a + alpha * b);
	case WS_SUB_EACH_ADDCMUL:
		return 4 * ULP * (a + alpha * b * c);
	case WS_SUB_EACH_ADDCDIV:
		return 4 * ULP * (a + x * b / c);
	case WS_SUB_EACH_MUL:
		return 2 * ULP * x * a;
	default: /* EACH_SQRT is below its operand or 1 */
		return 2 * ULP *
		       (op->sub == WS_SUB_EACH_SQRT ? sqrt(a) : fmax(alpha, 1) * a + alpha);
	}
}

static void update(const struct ws_operands *o, const struct ws_operand *written, double *bounds)
{
	const struct ws_op *op = o->op;
	const struct ws_update_row *row = op->u.update.list;
	const struct ws_tensor *t = written->t;

	while (row->t[0] != t && row->t[1] != t && row->t[2] != t)
		row++;
	for (int64_t i = 0; i < t->count; i++)
		bounds[i] = ws_update_is_fused(op->sub) ? bound_all(op, o, row, t, i)
		                                        : bound_each(op, o, row, i);
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
		rms_norm(o, written, bounds);
		break;
	case WS_OP_RMS_NORM_GRAD:
		rms_norm_grad(o, written->t == op->out[1], bounds);
		break;
	case WS_OP_BATCH_NORM:
		batch_norm(o, written, bounds);
		break;
	case WS_OP_BATCH_NORM_GRAD:
		batch_norm_grad(o, written, bounds);
		break;
	case WS_OP_UPDATE:
		update(o, written, bounds);
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
