#include "tests/stub_cuda/dnn_compute.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/tensor.h"
#include "tests/stub_cuda/stub.h"

#define VALUES_MAX 64 /* tensors of a graph */

static int64_t offset_of(const struct dnn_tensor *t, const int64_t at[4])
{
	return at[0] * t->stride[0] + at[1] * t->stride[1] + at[2] * t->stride[2] +
	       at[3] * t->stride[3];
}

static int64_t count_of(const struct dnn_tensor *t)
{
	return t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
}

/* The place of element i, counted in the order of sizes. */
static void place_of(const struct dnn_tensor *t, int64_t i, int64_t at[4])
{
	for (int d = 3; d >= 0; d--) {
		at[d] = i % t->dim[d];
		i /= t->dim[d];
	}
}

/* --- a convolution ------------------------------------------------------------------------------
 */

/* A tensor's elements as numbers, in the order of its sizes. */
static float *load(const struct dnn_tensor *t, bool tf32)
{
	float *values = calloc((size_t)count_of(t), sizeof(*values));
	int64_t at[4];

	for (int64_t i = 0; i < count_of(t); i++) {
		place_of(t, i, at);
		values[i] = stub_load(t->data, offset_of(t, at), t->type);
		if (tf32)
			values[i] = stub_tf32(values[i], 1);
	}
	return values;
}

/* For each x, w and y that meet. x, w, y: numbers in the order of sizes; two of them are added
 * up into the third. */
static void accumulate(const struct dnn_conv *c, float *x, float *w, float *y)
{
	const int64_t channels = c->w.dim[1], filters = c->w.dim[0];
	const int64_t groups = c->x.dim[1] / channels, rows = c->w.dim[2], cols = c->w.dim[3];
	const int64_t height = c->x.dim[2], width = c->x.dim[3];
	int64_t at[4]; /* n, k, p, q */

	for (int64_t j = 0; j < count_of(&c->y); j++) {
		int64_t first, plane;

		place_of(&c->y, j, at);
		first = at[0] * c->x.dim[1] + at[1] / (filters / groups) * channels;
		for (int64_t i = 0; i < channels * rows; i++) {
			int64_t row = at[2] * c->stride[0] - c->pad[0] + i % rows;

			if (row < 0 || row >= height)
				continue;
			plane = ((first + i / rows) * height + row) * width;
			for (int64_t s = 0; s < cols; s++) {
				int64_t col = at[3] * c->stride[1] - c->pad[1] + s;
				int64_t f = (at[1] * channels * rows + i) * cols + s;

				if (col < 0 || col >= width)
					continue;
				if (c->direction == DNN_FORWARD)
					y[j] += x[plane + col] * w[f];
				else if (c->direction == DNN_BACKWARD_DATA)
					x[plane + col] += y[j] * w[f];
				else
					w[f] += x[plane + col] * y[j];
			}
		}
	}
}

static void store(const struct dnn_tensor *t, const float *values)
{
	int64_t at[4];

	for (int64_t i = 0; i < count_of(t); i++) {
		place_of(t, i, at);
		stub_store(t->data, offset_of(t, at), t->type, values[i]);
	}
}

void dnn_convolve(const struct dnn_conv *c)
{
	const struct dnn_tensor *t[3] = {&c->x, &c->w, &c->y};
	int out = c->direction == DNN_FORWARD ? 2 : c->direction == DNN_BACKWARD_DATA ? 0 : 1;
	float *values[3];

	for (int i = 0; i < 3; i++)
		values[i] = i == out ? calloc((size_t)count_of(t[i]), sizeof(float))
		                     : load(t[i], c->tf32);
	accumulate(c, values[0], values[1], values[2]);
	store(t[out], values[out]);
	for (int i = 0; i < 3; i++)
		free(values[i]);
}

/* --- a graph of operations ----------------------------------------------------------------------
 */

/* Tensors between operations, in the order of their sizes. */
struct values {
	int64_t id;
	float *data;
};

struct run {
	struct values values[VALUES_MAX];
	int count;
};

/* An operand by place, where sizes of 1 stand for all. */
struct operand {
	const struct dnn_tensor *t;
	const float *values; /* NULL: in memory */
};

static struct operand operand_of(const struct run *run, const struct dnn_tensor *t)
{
	struct operand o = {t, NULL};

	for (int i = 0; i < run->count && !t->data; i++)
		if (run->values[i].id == t->id)
			o.values = run->values[i].data;
	return o;
}

static float get(const struct operand *o, const int64_t at[4])
{
	int64_t place[4], i = 0;

	for (int d = 0; d < 4; d++) {
		place[d] = o->t->dim[d] == 1 ? 0 : at[d];
		i = i * o->t->dim[d] + place[d];
	}
	return o->values ? o->values[i] : stub_load(o->t->data, offset_of(o->t, place), o->t->type);
}

static float pointwise(const struct dnn_operation *op, float x, float b, float choice,
                       const int64_t at[4])
{
	switch (op->mode) {
	case CUDNN_POINTWISE_IDENTITY:
		return x;
	case CUDNN_POINTWISE_ADD:
		return x + b;
	case CUDNN_POINTWISE_SUB:
		return x - b;
	case CUDNN_POINTWISE_MUL:
		return x * b;
	case CUDNN_POINTWISE_DIV:
		return x / b;
	case CUDNN_POINTWISE_EXP:
		return expf(x);
	case CUDNN_POINTWISE_LOG:
		return logf(x);
	case CUDNN_POINTWISE_CMP_GE:
		return x >= b;
	case CUDNN_POINTWISE_GEN_INDEX:
		return (float)at[op->axis];
	case CUDNN_POINTWISE_BINARY_SELECT:
		return choice != 0 ? x : b;
	default:
		abort();
	}
}

/* Of row and column in a batch's matrices. */
static float product(const struct operand *x, const struct operand *b, const int64_t at[4])
{
	float sum = 0;

	for (int64_t k = 0; k < x->t->dim[3]; k++)
		sum += get(x, (const int64_t[4]){at[0], at[1], at[2], k}) *
		       get(b, (const int64_t[4]){at[0], at[1], k, at[3]});
	return sum;
}

/* Over the last size, the only one that is ever reduced. */
static float reduce(const struct dnn_operation *op, const struct operand *x, const int64_t at[4])
{
	float result = op->mode == CUDNN_REDUCE_TENSOR_MAX ? -INFINITY : 0;

	if (op->y.dim[3] != 1 ||
	    (op->mode != CUDNN_REDUCE_TENSOR_MAX && op->mode != CUDNN_REDUCE_TENSOR_ADD))
		abort();
	for (int64_t i = 0; i < x->t->dim[3]; i++) {
		float value = get(x, (const int64_t[4]){at[0], at[1], at[2], i});

		result =
		        op->mode == CUDNN_REDUCE_TENSOR_MAX ? fmaxf(result, value) : result + value;
	}
	return result;
}

/* y reads the memory that x lies in, or would lie in, by strides of its own. */
static void reshape(const struct operand *x, const struct dnn_tensor *y, float *result)
{
	int64_t count = count_of(y), at[4];
	float *memory = calloc((size_t)count, sizeof(*memory));

	for (int64_t i = 0; i < count; i++) {
		place_of(x->t, i, at);
		memory[offset_of(x->t, at)] = get(x, at);
	}
	for (int64_t i = 0; i < count; i++) {
		place_of(y, i, at);
		result[i] = memory[offset_of(y, at)];
	}
	free(memory);
}

static int compute(const struct run *run, const struct dnn_operation *op, float *result)
{
	struct operand x = operand_of(run, &op->x), b = operand_of(run, &op->b);
	struct operand choice = operand_of(run, &op->choice);
	int64_t at[4];

	if (op->type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR) {
		reshape(&x, &op->y, result);
		return 1;
	}
	for (int64_t i = 0; i < count_of(&op->y); i++) {
		place_of(&op->y, i, at);
		switch ((int)op->type) {
		case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
			result[i] = product(&x, &b, at);
			break;
		case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
			result[i] = reduce(op, &x, at);
			break;
		case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
			result[i] = pointwise(op, get(&x, at), b.t->id ? get(&b, at) : 0,
			                      choice.t->id ? get(&choice, at) : 0, at);
			break;
		default:
			return 0;
		}
	}
	return 1;
}

int dnn_run(const struct dnn_operation *operations, int64_t count)
{
	struct run run = {0};
	int known = count <= VALUES_MAX;

	for (int64_t i = 0; i < count && known; i++) {
		const struct dnn_tensor *y = &operations[i].y;
		float *result = calloc((size_t)count_of(y), sizeof(*result));

		known = compute(&run, &operations[i], result);
		if (y->data)
			store(y, result);
		/* between operations, too, a tensor of 16 bits has no more than these */
		for (int64_t j = 0; j < count_of(y); j++) {
			stub_store(&result[j], 0, y->type, result[j]);
			result[j] = stub_load(&result[j], 0, y->type);
		}
		run.values[run.count++] = (struct values){y->id, result};
	}
	while (run.count > 0)
		free(run.values[--run.count].data);
	return known;
}

/* --- functions for whole ops ---------------------------------------------------------------------
 */

/* Element i of those of a channel, or with `image` of an image, of count. */
static int64_t offset_within(const struct dnn_tensor *t, int64_t channel, bool image, int64_t i)
{
	int64_t rest = i / t->dim[3], at[4] = {0, 0, 0, i % t->dim[3]};

	at[2] = rest % t->dim[2];
	rest /= t->dim[2];
	at[0] = image ? channel : rest;
	at[1] = image ? rest : channel;
	return offset_of(t, at);
}

static double value_at(const struct dnn_tensor *t, int64_t channel, bool image, int64_t i)
{
	return stub_load(t->data, offset_within(t, channel, image, i), t->type);
}

static void set_value(const struct dnn_tensor *t, int64_t channel, bool image, int64_t i,
                      double value)
{
	stub_store(t->data, offset_within(t, channel, image, i), t->type, (float)value);
}

void dnn_normalise(const struct dnn_norm *n, const float *bias, double momentum,
                   float *running_mean, float *running_var)
{
	const int64_t channels = n->x.dim[1], count = count_of(&n->x) / channels;

	for (int64_t c = 0; c < channels; c++) {
		double mean = 0, squares = 0, inverse;

		for (int64_t i = 0; i < count; i++)
			mean += value_at(&n->x, c, false, i) / (double)count;
		for (int64_t i = 0; i < count; i++)
			squares += pow(value_at(&n->x, c, false, i) - mean, 2);
		inverse = 1 / sqrt(squares / (double)count + n->eps);
		for (int64_t i = 0; i < count; i++)
			set_value(&n->y, c, false, i,
			          n->scale[c] * (value_at(&n->x, c, false, i) - mean) * inverse +
			                  bias[c]);
		n->mean[c] = (float)mean;
		n->inverse[c] = (float)inverse;
		/* the running variance is the unbiased one */
		running_mean[c] = (float)((1 - momentum) * running_mean[c] + momentum * mean);
		running_var[c] = (float)((1 - momentum) * running_var[c] +
		                         momentum * squares / (double)(count - 1));
	}
}

void dnn_normalise_grad(const struct dnn_norm *n, float *dbias)
{
	const int64_t channels = n->x.dim[1], count = count_of(&n->x) / channels;

	for (int64_t c = 0; c < channels; c++) {
		double mean = n->mean[c], inverse = n->inverse[c], dscale = 0, sum = 0;

		for (int64_t i = 0; i < count; i++) {
			double dy = value_at(&n->dy, c, false, i);

			dscale += dy * (value_at(&n->x, c, false, i) - mean) * inverse;
			sum += dy;
		}
		for (int64_t i = 0; i < count; i++) {
			double z = (value_at(&n->x, c, false, i) - mean) * inverse;
			double dy = value_at(&n->dy, c, false, i);

			set_value(&n->y, c, false, i,
			          n->scale[c] * inverse *
			                  (dy - (sum + z * dscale) / (double)count));
		}
		n->dscale[c] = (float)dscale;
		dbias[c] = (float)sum;
	}
}

void dnn_log_softmax(const struct dnn_tensor *x, const struct dnn_tensor *dy,
                     const struct dnn_tensor *to)
{
	const int64_t count = count_of(x) / x->dim[0];

	for (int64_t n = 0; n < x->dim[0]; n++) {
		double max = -INFINITY, sum = 0, log_sum;

		for (int64_t i = 0; i < count && !dy; i++)
			max = fmax(max, value_at(x, n, true, i));
		for (int64_t i = 0; i < count; i++)
			sum += dy ? value_at(dy, n, true, i) : exp(value_at(x, n, true, i) - max);
		log_sum = log(sum);
		for (int64_t i = 0; i < count; i++) {
			double v = value_at(x, n, true, i);

			set_value(to, n, true, i,
			          dy ? value_at(dy, n, true, i) - exp(v) * sum : v - max - log_sum);
		}
	}
}
