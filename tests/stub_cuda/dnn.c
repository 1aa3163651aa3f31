/*
 * libcudnn: see stub.h. Descriptors keep what they are given; the heuristic proposes engines of
 * all sorts, of which only the last suits everybody; a plan computes what its graph describes.
 */
#include <cudnn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stub_cuda/dnn_compute.h"
#include "tests/stub_cuda/stub.h"

#define ATTRIBUTES  24
#define VALUE_BYTES 512 /* 64 tensors of a pack, or operations of a graph */

static cudaDataType data_type(cudnnDataType_t type)
{
	return type == CUDNN_DATA_HALF       ? CUDA_R_16F
	       : type == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF
	                                     : CUDA_R_32F;
}

size_t cudnnGetVersion(void)
{
	return getenv("WS_STUB_CUDNN") ? (size_t)stub_setting("WS_STUB_CUDNN") : 91900;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
	*handle = calloc(1, 1);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
	free(handle);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
	return handle && stream ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
	return status ? "refused by the stub" : "success";
}

void cudnnGetLastErrorString(char *message, size_t size)
{
	if (size)
		*message = 0;
}

/* --- the backend (graph) API ---------------------------------------------------------------------
 */

static const struct engine {
	const char *name;
	cudnnBackendNumericalNote_t notes[3];
	int nnotes;
	int64_t workspace_bytes;
} engines[] = {
        {"greedy", {0}, 0, INT64_C(1) << 40},
        {"tensor-core",
         {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
         2,
         0},
        {"half-sums", {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, 1, 0},
        {"winograd",
         {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6},
         2,
         1 << 20},
        {"fft", {CUDNN_NUMERICAL_NOTE_FFT}, 1, 1 << 20},
        {"split", {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 1, 0},
        {"implicit", {0}, 0, 1 << 20},
};
#define ENGINES ((int64_t)(sizeof(engines) / sizeof(*engines)))

struct descriptor {
	cudnnBackendDescriptorType_t type;
	int references, is_final;
	int engine;
	struct {
		cudnnBackendAttributeName_t name;
		cudnnBackendAttributeType_t type;
		int64_t count;
		uint8_t value[VALUE_BYTES];
	} attribute[ATTRIBUTES];
	int attributes;
};

static struct descriptor *own(cudnnBackendDescriptor_t d)
{
	return (struct descriptor *)d;
}

static size_t size_of(cudnnBackendAttributeType_t type)
{
	switch (type) {
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_DOUBLE:
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
		return 8;
	case CUDNN_TYPE_BOOLEAN:
		return 1;
	default:
		return 4;
	}
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *made)
{
	struct descriptor *d = calloc(1, sizeof(*d));

	d->type = type;
	d->references = 1;
	*made = (cudnnBackendDescriptor_t)d;
	return CUDNN_STATUS_SUCCESS;
}

/* What others still refer to stays, as in the real one: plans outlive their graphs. */
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
	struct descriptor *d = own(descriptor), *part;

	if (!d || --d->references)
		return CUDNN_STATUS_SUCCESS;
	for (int i = 0; i < d->attributes; i++)
		for (int64_t j = 0; d->attribute[i].type == CUDNN_TYPE_BACKEND_DESCRIPTOR &&
		                    j < d->attribute[i].count;
		     j++) {
			memcpy(&part, d->attribute[i].value + 8 * j, sizeof(part));
			cudnnBackendDestroyDescriptor((cudnnBackendDescriptor_t)part);
		}
	free(d);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values)
{
	struct descriptor *d = own(descriptor), *part;
	size_t size = (size_t)count * size_of(type);

	if (d->is_final || d->attributes == ATTRIBUTES || size > sizeof(d->attribute->value))
		return CUDNN_STATUS_BAD_PARAM;
	for (int64_t j = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && j < count; j++) {
		memcpy(&part, (const char *)values + 8 * j, sizeof(part));
		if (!part || !part->is_final)
			return CUDNN_STATUS_BAD_PARAM;
		part->references++;
	}
	d->attribute[d->attributes].name = name;
	d->attribute[d->attributes].type = type;
	d->attribute[d->attributes].count = count;
	memcpy(d->attribute[d->attributes++].value, values, size);
	return CUDNN_STATUS_SUCCESS;
}

/* Bytes of an attribute, NULL when it was not set. */
static const void *value_of(const struct descriptor *d, cudnnBackendAttributeName_t name)
{
	for (int i = 0; d && i < d->attributes; i++)
		if (d->attribute[i].name == name)
			return d->attribute[i].value;
	return NULL;
}

static int64_t count_of(const struct descriptor *d, cudnnBackendAttributeName_t name)
{
	for (int i = 0; i < d->attributes; i++)
		if (d->attribute[i].name == name)
			return d->attribute[i].count;
	return 0;
}

static struct descriptor *part_of(const struct descriptor *d, cudnnBackendAttributeName_t name)
{
	struct descriptor *part = NULL;
	const void *value = value_of(d, name);

	if (value)
		memcpy(&part, value, sizeof(part));
	return part;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
	struct descriptor *d = own(descriptor), *config;

	if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
		config = part_of(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
		if (!config)
			return CUDNN_STATUS_BAD_PARAM;
		d->engine = config->engine;
		stub_asked("cudnn plan %s", engines[d->engine].name);
	}
	d->is_final = 1;
	return CUDNN_STATUS_SUCCESS;
}

/* Configurations of the engines, in the caller's descriptors. */
static void propose(struct descriptor *heuristic, int64_t wanted, int64_t *count, void *values)
{
	struct descriptor *graph = part_of(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
	struct descriptor *config;

	*count = wanted < ENGINES ? wanted : ENGINES;
	for (int64_t i = 0; i < *count; i++) {
		memcpy(&config, (char *)values + 8 * i, sizeof(config));
		config->engine = (int)i;
		cudnnBackendSetAttribute((cudnnBackendDescriptor_t)config,
		                         CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
		                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
		config->is_final = 1;
	}
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t *count, void *values)
{
	struct descriptor *d = own(descriptor), *engine;

	(void)type;
	switch (name) {
	case CUDNN_ATTR_ENGINEHEUR_RESULTS:
		propose(d, wanted, count, values);
		return CUDNN_STATUS_SUCCESS;
	case CUDNN_ATTR_ENGINECFG_ENGINE:
		memcpy(&engine, values, sizeof(engine));
		engine->engine = d->engine;
		*count = 1;
		return CUDNN_STATUS_SUCCESS;
	case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
		*count = engines[d->engine].nnotes;
		memcpy(values, engines[d->engine].notes, (size_t)*count * sizeof(*engines->notes));
		return CUDNN_STATUS_SUCCESS;
	case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
		*count = 1;
		memcpy(values, &engines[d->engine].workspace_bytes, sizeof(int64_t));
		return CUDNN_STATUS_SUCCESS;
	default:
		return CUDNN_STATUS_NOT_SUPPORTED;
	}
}

/* Where the pack says that a tensor lies; NULL: it has no memory. */
static void *data_of(const struct descriptor *pack, int64_t id)
{
	const int64_t *ids = value_of(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	void *const *data = value_of(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);

	for (int i = 0; i < VALUE_BYTES / 8; i++)
		if (ids[i] == id)
			return data[i];
	return NULL;
}

/* What the graph says of a tensor, and where the pack has it. Nothing of a part that is not set. */
static void read_tensor(const struct descriptor *d, const struct descriptor *pack,
                        struct dnn_tensor *t)
{
	cudnnDataType_t type;

	if (!d)
		return;
	memcpy(t->dim, value_of(d, CUDNN_ATTR_TENSOR_DIMENSIONS), sizeof(t->dim));
	memcpy(t->stride, value_of(d, CUDNN_ATTR_TENSOR_STRIDES), sizeof(t->stride));
	memcpy(&type, value_of(d, CUDNN_ATTR_TENSOR_DATA_TYPE), sizeof(type));
	memcpy(&t->id, value_of(d, CUDNN_ATTR_TENSOR_UNIQUE_ID), sizeof(t->id));
	t->type = data_type(type);
	t->data = data_of(pack, t->id);
}

/* 0 when it is no convolution. */
static int read_conv(const struct descriptor *op, const struct descriptor *pack, struct dnn_conv *c)
{
	static const struct {
		cudnnBackendDescriptorType_t type;
		cudnnBackendAttributeName_t x, w, y, conv;
	} kinds[] = {
	        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
	        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC},
	        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
	         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC},
	};

	for (int i = 0; i < 3; i++) {
		const struct descriptor *conv = part_of(op, kinds[i].conv);

		if (op->type != kinds[i].type)
			continue;
		c->direction = (enum dnn_direction)i;
		read_tensor(part_of(op, kinds[i].x), pack, &c->x);
		read_tensor(part_of(op, kinds[i].w), pack, &c->w);
		read_tensor(part_of(op, kinds[i].y), pack, &c->y);
		memcpy(c->pad, value_of(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS), sizeof(c->pad));
		memcpy(c->stride, value_of(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
		       sizeof(c->stride));
		return 1;
	}
	return 0;
}

/* The operations that attention is made of. */
static void read_operation(const struct descriptor *d, const struct descriptor *pack,
                           struct dnn_operation *op)
{
	static const struct {
		cudnnBackendDescriptorType_t type;
		cudnnBackendAttributeName_t x, b, choice, y, how, mode;
	} kinds[] = {
	        {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_ADESC,
	         CUDNN_ATTR_OPERATION_MATMUL_BDESC, 0, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 0, 0},
	        {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
	         CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
	         CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
	         CUDNN_ATTR_POINTWISE_MODE},
	        {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
	         0, 0, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_ATTR_OPERATION_REDUCTION_DESC,
	         CUDNN_ATTR_REDUCTION_OPERATOR},
	        {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 0,
	         0, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 0, 0},
	};
	const void *mode, *axis;

	op->type = d->type;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (d->type != kinds[i].type)
			continue;
		read_tensor(part_of(d, kinds[i].x), pack, &op->x);
		read_tensor(part_of(d, kinds[i].b), pack, &op->b);
		read_tensor(part_of(d, kinds[i].choice), pack, &op->choice);
		read_tensor(part_of(d, kinds[i].y), pack, &op->y);
		mode = value_of(part_of(d, kinds[i].how), kinds[i].mode);
		axis = value_of(part_of(d, kinds[i].how), CUDNN_ATTR_POINTWISE_AXIS);
		if (mode)
			memcpy(&op->mode, mode, sizeof(op->mode));
		if (axis)
			memcpy(&op->axis, axis, sizeof(op->axis));
	}
}

static cudnnStatus_t run_graph(const struct descriptor *graph, const struct descriptor *pack)
{
	struct descriptor *const *ops = value_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
	struct dnn_operation operations[VALUE_BYTES / 8] = {0};
	int64_t count = count_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);

	for (int64_t i = 0; i < count; i++)
		read_operation(ops[i], pack, &operations[i]);
	return dnn_run(operations, count) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
	const struct descriptor *config =
	        part_of(own(plan), CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
	const struct descriptor *graph = part_of(config, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
	const struct descriptor *op = part_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
	struct dnn_conv c = {.tf32 = !strcmp(engines[own(plan)->engine].name, "tensor-core")};

	(void)handle;
	if (!op)
		return CUDNN_STATUS_BAD_PARAM;
	stub_asked("cudnn execute %d %s", (int)op->type, engines[own(plan)->engine].name);
	if (!stub_setting("WS_STUB_COMPUTE"))
		return CUDNN_STATUS_SUCCESS;
	if (!read_conv(op, own(pack), &c))
		return run_graph(graph, own(pack));
	dnn_convolve(&c);
	return CUDNN_STATUS_SUCCESS;
}

/* --- functions for whole ops ---------------------------------------------------------------------
 */

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *made)
{
	*made = (cudnnTensorDescriptor_t)calloc(1, sizeof(struct dnn_tensor));
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
	free(tensor);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w)
{
	struct dnn_tensor *t = (struct dnn_tensor *)tensor;
	const int64_t nchw[4] = {(int64_t)c * h * w, (int64_t)h * w, w, 1};
	const int64_t nhwc[4] = {(int64_t)c * h * w, 1, (int64_t)w * c, c};

	if (n < 1 || c < 1 || h < 1 || w < 1 || (int64_t)n * c * h * w > INT32_MAX ||
	    (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC))
		return CUDNN_STATUS_BAD_PARAM;
	*t = (struct dnn_tensor){.dim = {n, c, h, w}, .type = data_type(type)};
	memcpy(t->stride, format == CUDNN_TENSOR_NCHW ? nchw : nhwc, sizeof(t->stride));
	return CUDNN_STATUS_SUCCESS;
}

/* A tensor that a descriptor describes, at data. */
static struct dnn_tensor tensor_at(cudnnTensorDescriptor_t described, const void *data)
{
	struct dnn_tensor t = *(const struct dnn_tensor *)described;

	t.data = (void *)(uintptr_t)data;
	return t;
}

static bool is_number(const void *factor, float value)
{
	return *(const float *)factor == value;
}

/* What cuDNN asks of a batch norm: the numbers of channels are fp32, [1, c, 1, 1]. */
static bool norm_is_sound(cudnnBatchNormMode_t mode, cudnnTensorDescriptor_t x,
                          cudnnTensorDescriptor_t y, cudnnTensorDescriptor_t channels, double eps)
{
	const struct dnn_tensor *a = (const struct dnn_tensor *)x;
	const struct dnn_tensor *b = (const struct dnn_tensor *)y;
	const struct dnn_tensor *c = (const struct dnn_tensor *)channels;

	return mode == CUDNN_BATCHNORM_SPATIAL && eps >= CUDNN_BN_MIN_EPSILON &&
	       !memcmp(a->dim, b->dim, sizeof(a->dim)) && c->type == CUDA_R_32F && c->dim[0] == 1 &&
	       c->dim[1] == a->dim[1] && c->dim[2] == 1 && c->dim[3] == 1;
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(
        cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
        const cudnnTensorDescriptor_t x_desc, const void *x, const cudnnTensorDescriptor_t y_desc,
        void *y, const cudnnTensorDescriptor_t channels, const void *scale, const void *bias,
        double momentum, void *running_mean, void *running_var, double eps, void *mean,
        void *inverse)
{
	struct dnn_norm n = {.x = tensor_at(x_desc, x),
	                     .y = tensor_at(y_desc, y),
	                     .scale = scale,
	                     .mean = mean,
	                     .inverse = inverse,
	                     .eps = eps};

	if (!handle || !is_number(alpha, 1) || !is_number(beta, 0) ||
	    !norm_is_sound(mode, x_desc, y_desc, channels, eps))
		return CUDNN_STATUS_BAD_PARAM;
	stub_asked("cudnn batch norm spatial");
	if (stub_setting("WS_STUB_COMPUTE"))
		dnn_normalise(&n, bias, momentum, running_mean, running_var);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                              const void *alpha_data, const void *beta_data,
                                              const void *alpha_param, const void *beta_param,
                                              const cudnnTensorDescriptor_t x_desc, const void *x,
                                              const cudnnTensorDescriptor_t dy_desc, const void *dy,
                                              const cudnnTensorDescriptor_t dx_desc, void *dx,
                                              const cudnnTensorDescriptor_t channels,
                                              const void *scale, void *dscale, void *dbias,
                                              double eps, const void *mean, const void *inverse)
{
	struct dnn_norm n = {tensor_at(x_desc, x),
	                     tensor_at(dy_desc, dy),
	                     tensor_at(dx_desc, dx),
	                     scale,
	                     dscale,
	                     (void *)(uintptr_t)mean,
	                     (void *)(uintptr_t)inverse,
	                     eps};

	if (!handle || !is_number(alpha_data, 1) || !is_number(beta_data, 0) ||
	    !is_number(alpha_param, 1) || !is_number(beta_param, 0) ||
	    !norm_is_sound(mode, x_desc, dy_desc, channels, eps) ||
	    !norm_is_sound(mode, x_desc, dx_desc, channels, eps))
		return CUDNN_STATUS_BAD_PARAM;
	stub_asked("cudnn batch norm grad spatial");
	if (stub_setting("WS_STUB_COMPUTE"))
		dnn_normalise_grad(&n, dbias);
	return CUDNN_STATUS_SUCCESS;
}

/* Softmax over all but the first size, as MODE_INSTANCE has it. */
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  const cudnnTensorDescriptor_t x_desc, const void *x,
                                  const void *beta, const cudnnTensorDescriptor_t y_desc, void *y)
{
	struct dnn_tensor from = tensor_at(x_desc, x), to = tensor_at(y_desc, y);

	if (!handle || algorithm != CUDNN_SOFTMAX_LOG || mode != CUDNN_SOFTMAX_MODE_INSTANCE ||
	    !is_number(alpha, 1) || !is_number(beta, 0))
		return CUDNN_STATUS_NOT_SUPPORTED;
	stub_asked("cudnn log softmax");
	if (stub_setting("WS_STUB_COMPUTE"))
		dnn_log_softmax(&from, NULL, &to);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void *alpha,
                                   const cudnnTensorDescriptor_t y_desc, const void *y,
                                   const cudnnTensorDescriptor_t dy_desc, const void *dy,
                                   const void *beta, const cudnnTensorDescriptor_t dx_desc,
                                   void *dx)
{
	struct dnn_tensor of_y = tensor_at(y_desc, y), of_dy = tensor_at(dy_desc, dy);
	struct dnn_tensor of_dx = tensor_at(dx_desc, dx);

	if (!handle || algorithm != CUDNN_SOFTMAX_LOG || mode != CUDNN_SOFTMAX_MODE_INSTANCE ||
	    !is_number(alpha, 1) || !is_number(beta, 0))
		return CUDNN_STATUS_NOT_SUPPORTED;
	stub_asked("cudnn log softmax grad");
	if (stub_setting("WS_STUB_COMPUTE"))
		dnn_log_softmax(&of_y, &of_dy, &of_dx);
	return CUDNN_STATUS_SUCCESS;
}
