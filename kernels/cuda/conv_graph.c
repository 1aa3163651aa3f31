/* Convolutions by cuDNN's backend (graph) API: a graph of one operation, and its plans. */
#include "kernels/cuda/conv.h"
#include "kernels/cuda/dnn_graph.h"

/* A tensor's unique id in the graph: its role, as ids begin at 1. */
static int64_t uid(enum ws_conv_role role)
{
	return (int64_t)role + 1;
}

/* --- the operation --------------------------------------------------------------------------- */

static enum ws_status make_tensor(const struct ws_cuda_conv_shape *shape, enum ws_conv_role role,
                                  cudnnBackendDescriptor_t *made, struct ws_err *err)
{
	struct ws_dnn_tensor t = {.id = uid(role), .type = ws_dnn_type(shape->dtype[role])};

	ws_cuda_conv_dims(&shape->conv, role, t.dims, t.strides);
	return ws_dnn_tensor_open(&t, made, err);
}

static enum ws_status make_conv(const struct ws_conv *f, cudnnBackendDescriptor_t *made,
                                struct ws_err *err)
{
	int64_t dims = 2, pads[2] = {f->pad_h, f->pad_w}, strides[2] = {f->stride, f->stride};
	int64_t dilations[2] = {1, 1};
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	struct ws_dnn_setter s;

	WS_FORWARD(ws_dnn_create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, made, &s, err));
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dims);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations);
	return ws_dnn_finalize(&s, "cuDNN convolution", err);
}

/* What cuDNN calls the parts of each kind of convolution. */
struct operation_names {
	cudnnBackendDescriptorType_t type;
	cudnnBackendAttributeName_t alpha, beta, conv, role[WS_CONV_ROLES];
};

static struct operation_names names_of(enum ws_op_kind kind)
{
#define ATTR(name) CUDNN_ATTR_OPERATION_CONVOLUTION_##name
#define NAMES(type, name, x, w, y)                                                           \
	(struct operation_names)                                                             \
	{                                                                                    \
		CUDNN_BACKEND_OPERATION_CONVOLUTION_##type##_DESCRIPTOR, ATTR(name##_ALPHA), \
		        ATTR(name##_BETA), ATTR(name##_CONV_DESC),                           \
		{                                                                            \
			ATTR(name##_##x), ATTR(name##_##w), ATTR(name##_##y)                 \
		}                                                                            \
	}
	return kind == WS_OP_CONV_DGRAD   ? NAMES(BACKWARD_DATA, BWD_DATA, DX, W, DY)
	       : kind == WS_OP_CONV_WGRAD ? NAMES(BACKWARD_FILTER, BWD_FILTER, X, DW, DY)
	                                  : NAMES(FORWARD, FORWARD, X, W, Y);
}

static enum ws_status make_operation(const struct ws_cuda_conv_shape *shape,
                                     struct ws_cuda_conv_operation *o, struct ws_err *err)
{
	struct operation_names names = names_of(shape->kind);
	float one = 1, zero = 0;
	struct ws_dnn_setter s;

	for (int role = 0; role < WS_CONV_ROLES; role++)
		WS_FORWARD(make_tensor(shape, (enum ws_conv_role)role, &o->tensor[role], err));
	WS_FORWARD(make_conv(&shape->conv, &o->conv, err));
	WS_FORWARD(ws_dnn_create(names.type, &o->operation, &s, err));
	for (int role = 0; role < WS_CONV_ROLES; role++)
		ws_dnn_set(&s, names.role[role], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
		           &o->tensor[role]);
	ws_dnn_set(&s, names.conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &o->conv);
	ws_dnn_set(&s, names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
	ws_dnn_set(&s, names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
	return ws_dnn_finalize(&s, "cuDNN convolution operation", err);
}

enum ws_status ws_cuda_conv_operation_open(const struct ws_cuda_conv_shape *shape,
                                           struct ws_cuda_conv_operation *operation,
                                           struct ws_err *err)
{
	enum ws_status status;

	memset(operation, 0, sizeof(*operation));
	status = make_operation(shape, operation, err);
	if (status != WS_OK)
		ws_cuda_conv_operation_close(operation);
	return status;
}

void ws_cuda_conv_operation_close(struct ws_cuda_conv_operation *operation)
{
	ws_dnn_destroy(&operation->operation);
	ws_dnn_destroy(&operation->conv);
	for (int role = 0; role < WS_CONV_ROLES; role++)
		ws_dnn_destroy(&operation->tensor[role]);
}

/* --- plans -------------------------------------------------------------------------------- */

static enum ws_status fail_no_engine(const struct ws_cuda_conv_shape *shape, struct ws_err *err)
{
	const struct ws_conv *f = &shape->conv;

	return WS_FAIL(
	        err, ENVIRONMENT,
	        "cuDNN's graph API has no engine for %s of %lldx%lldx%lldx%lld by %lld filters "
	        "%lldx%lld; try --layout %s",
	        ws_op_info(shape->kind)->name, (long long)f->n, (long long)f->c, (long long)f->h,
	        (long long)f->w, (long long)f->k, (long long)f->r, (long long)f->s,
	        f->layout == WS_LAYOUT_NHWC ? "nchw" : "nhwc");
}

enum ws_status ws_cuda_conv_plan(struct ws_cuda *cuda, struct ws_cuda_conv *conv, int most,
                                 struct ws_err *err)
{
	const struct ws_dnn_target target = {.handle = cuda->dnn};
	const struct ws_dnn_rules rules = {
	        .strict_fp32 = conv->shape.dtype[WS_CONV_X] == WS_DTYPE_F32 && !conv->shape.tf32,
	        .deterministic = cuda->options.deterministic,
	        .workspace_bytes = WS_CUDA_DNN_WORKSPACE_BYTES,
	};
	struct ws_cuda_conv_operation operation;
	enum ws_status status;

	WS_FORWARD(ws_cuda_conv_operation_open(&conv->shape, &operation, err));
	status = ws_dnn_plans(&target, &rules, &operation.operation, 1, most, conv->plan,
	                      &conv->count, err);
	ws_cuda_conv_operation_close(&operation);
	if (status == WS_OK && conv->count == 0)
		status = fail_no_engine(&conv->shape, err);
	return status;
}

enum ws_status ws_cuda_conv_start(struct ws_cuda *cuda, const struct ws_cuda_conv *conv,
                                  int candidate, void *const data[WS_CONV_ROLES],
                                  struct ws_err *err)
{
	const int64_t ids[WS_CONV_ROLES] = {uid(WS_CONV_X), uid(WS_CONV_W), uid(WS_CONV_Y)};

	return ws_dnn_run(cuda, conv->plan[candidate], WS_CONV_ROLES, ids, data, err);
}
