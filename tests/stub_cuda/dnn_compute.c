#include "tests/stub_cuda/dnn_compute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* For each x, w and y that meet; sums lie in fp32, in the order of the loops. */
static void accumulate(const struct dnn_conv *c, const struct dnn_tensor *out, float *sums)
{
	const int64_t channels = c->w.dim[1], filters = c->w.dim[0];
	const int64_t groups = c->x.dim[1] / channels;
	const struct dnn_tensor *left = out == &c->x ? &c->y : &c->x;
	const struct dnn_tensor *right = out == &c->w ? &c->y : &c->w;
	/* which y and w meet is a place of its own: n, k, p, q and i, r, s */
	const struct dnn_tensor filter = {.dim = {1, channels, c->w.dim[2], c->w.dim[3]}};
	int64_t iw[4], iy[4], ix[4];

	for (int64_t j = 0; j < count_of(&c->y); j++)
		for (int64_t f = 0; f < count_of(&filter); f++) {
			const int64_t *o, *l, *r;
			float a, b;

			place_of(&c->y, j, iy);
			place_of(&filter, f, iw);
			iw[0] = iy[1];
			ix[0] = iy[0];
			ix[1] = iy[1] / (filters / groups) * channels + iw[1];
			ix[2] = iy[2] * c->stride[0] - c->pad[0] + iw[2];
			ix[3] = iy[3] * c->stride[1] - c->pad[1] + iw[3];
			if (ix[2] < 0 || ix[3] < 0 || ix[2] >= c->x.dim[2] || ix[3] >= c->x.dim[3])
				continue;
			o = out == &c->y ? iy : out == &c->x ? ix : iw;
			l = left == &c->y ? iy : ix;
			r = right == &c->y ? iy : iw;
			a = stub_load(left->data, offset_of(left, l), left->type);
			b = stub_load(right->data, offset_of(right, r), right->type);
			if (c->tf32) {
				a = stub_tf32(a);
				b = stub_tf32(b);
			}
			sums[((o[0] * out->dim[1] + o[1]) * out->dim[2] + o[2]) * out->dim[3] +
			     o[3]] += a * b;
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
	const struct dnn_tensor *out = c->direction == DNN_FORWARD         ? &c->y
	                               : c->direction == DNN_BACKWARD_DATA ? &c->x
	                                                                   : &c->w;
	float *sums = calloc((size_t)count_of(out), sizeof(*sums));

	accumulate(c, out, sums);
	store(out, sums);
	free(sums);
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
