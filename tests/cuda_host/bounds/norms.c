/* Bounds of norms and their gradients. Notation: bounds.c. */
#include "tests/cuda_host/bounds/rules.h"

void ws_bounds_rms_norm(const struct ws_operands *o, const struct ws_operand *written,
                        double *bounds)
{
	double share = sum_error((double)ws_tensor_cols(o->op->in[0])) + 4 * ULP;

	for (int64_t i = 0; i < written->t->count; i++)
		bounds[i] = fabs(written->after[i]) * share;
}

/* dy, x, w, r = 1 / rms -> dx = r w dy - x r^3 mean(w dy x), dw = sum over rows of dy x r */
void ws_bounds_rms_norm_grad(const struct ws_operands *o, bool of_weight, double *bounds)
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

void ws_bounds_batch_norm(const struct ws_operands *o, const struct ws_operand *written,
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
void ws_bounds_batch_norm_grad(const struct ws_operands *o, const struct ws_operand *written,
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
