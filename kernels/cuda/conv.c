/* Convolutions: a graph of one operation for cuDNN's backend (graph) API, and its plans. */
#include "kernels/cuda/conv.h"
#include "kernels/cuda/plan.h"

#define CANDIDATES 12 /* plans that are timed, at most */

bool ws_cuda_is_conv(const struct ws_op *op)
{
	return op->kind == WS_OP_CONV || op->kind == WS_OP_CONV_DGRAD ||
	       op->kind == WS_OP_CONV_WGRAD;
}

/* --- operands --------------------------------------------------------------------------------- */

/* The operand or result of an op that has a role. */
static const struct ws_tensor *tensor_of(const struct ws_op *op, enum ws_conv_role role)
{
	static const int place[][WS_CONV_ROLES] = {
	        [WS_OP_CONV] = {0, 1, 2},       /* x, w -> y */
	        [WS_OP_CONV_DGRAD] = {2, 1, 0}, /* dy, w -> dx */
	        [WS_OP_CONV_WGRAD] = {0, 2, 1}, /* x, dy -> dw */
	};

	return ws_op_tensor(op, place[op->kind][role]);
}

/* Sizes of a role's tensor, in the order n c h w (of filters k c/groups r s), and its strides. */
static void dims_of(const struct ws_conv *f, enum ws_conv_role role, int64_t dims[4],
                    int64_t strides[4])
{
	const int64_t sizes[WS_CONV_ROLES][4] = {
	        [WS_CONV_X] = {f->n, f->c, f->h, f->w},
	        [WS_CONV_W] = {f->k, f->c / f->groups, f->r, f->s},
	        [WS_CONV_Y] = {f->n, f->k, f->p, f->q},
	};
	const int64_t *d = sizes[role];
	bool nhwc = f->layout == WS_LAYOUT_NHWC;

	memcpy(dims, d, sizeof(sizes[role]));
	strides[0] = d[1] * d[2] * d[3];
	strides[1] = nhwc ? 1 : d[2] * d[3];
	strides[2] = nhwc ? d[1] * d[3] : d[3];
	strides[3] = nhwc ? d[1] : 1;
}

/* A tensor's unique id in the graph: its role, as ids begin at 1. */
static int64_t uid(enum ws_conv_role role)
{
	return (int64_t)role + 1;
}

/* --- the operation --------------------------------------------------------------------------- */

static enum ws_status make_tensor(const struct ws_op *op, enum ws_conv_role role,
                                  cudnnBackendDescriptor_t *made, struct ws_err *err)
{
	struct ws_dnn_tensor t = {.id = uid(role), .type = ws_dnn_type(tensor_of(op, role)->dtype)};

	dims_of(&op->u.conv, role, t.dims, t.strides);
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

static enum ws_status make_operation(const struct ws_op *op, struct ws_cuda_conv_operation *o,
                                     struct ws_err *err)
{
	struct operation_names names = names_of(op->kind);
	float one = 1, zero = 0;
	struct ws_dnn_setter s;

	for (int role = 0; role < WS_CONV_ROLES; role++)
		WS_FORWARD(make_tensor(op, (enum ws_conv_role)role, &o->tensor[role], err));
	WS_FORWARD(make_conv(&op->u.conv, &o->conv, err));
	WS_FORWARD(ws_dnn_create(names.type, &o->operation, &s, err));
	for (int role = 0; role < WS_CONV_ROLES; role++)
		ws_dnn_set(&s, names.role[role], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
		           &o->tensor[role]);
	ws_dnn_set(&s, names.conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &o->conv);
	ws_dnn_set(&s, names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
	ws_dnn_set(&s, names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
	return ws_dnn_finalize(&s, "cuDNN convolution operation", err);
}

enum ws_status ws_cuda_conv_operation_open(const struct ws_op *op,
                                           struct ws_cuda_conv_operation *operation,
                                           struct ws_err *err)
{
	enum ws_status status;

	memset(operation, 0, sizeof(*operation));
	status = make_operation(op, operation, err);
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

static enum ws_status fail_no_engine(const struct ws_op *op, struct ws_err *err)
{
	const struct ws_conv *f = &op->u.conv;

	return WS_FAIL(
	        err, ENVIRONMENT,
	        "cuDNN's graph API has no engine for %s of %lldx%lldx%lldx%lld by %lld filters "
	        "%lldx%lld; try --layout %s",
	        ws_op_info(op->kind)->name, (long long)f->n, (long long)f->c, (long long)f->h,
	        (long long)f->w, (long long)f->k, (long long)f->r, (long long)f->s,
	        f->layout == WS_LAYOUT_NHWC ? "nchw" : "nhwc");
}

/* The plans of an op, at least one. most: how many are wanted. */
static enum ws_status find_plans(struct ws_cuda *cuda, const struct ws_op *op, int most,
                                 cudnnBackendDescriptor_t *plans, int *count, struct ws_err *err)
{
	const struct ws_dnn_target target = {.handle = cuda->dnn};
	const struct ws_dnn_rules rules = {
	        .strict_fp32 = op->in[0]->dtype == WS_DTYPE_F32 && !op->tf32,
	        .deterministic = cuda->options.deterministic,
	        .workspace_bytes = WS_CUDA_DNN_WORKSPACE_BYTES,
	};
	struct ws_cuda_conv_operation operation;
	enum ws_status status;

	WS_FORWARD(ws_cuda_conv_operation_open(op, &operation, err));
	status = ws_dnn_plans(&target, &rules, &operation.operation, 1, most, plans, count, err);
	ws_cuda_conv_operation_close(&operation);
	if (status == WS_OK && *count == 0)
		status = fail_no_engine(op, err);
	return status;
}

static enum ws_status run_plan(struct ws_cuda *cuda, cudnnBackendDescriptor_t plan,
                               void *const data[WS_CONV_ROLES], struct ws_err *err)
{
	const int64_t ids[WS_CONV_ROLES] = {uid(WS_CONV_X), uid(WS_CONV_W), uid(WS_CONV_Y)};

	return ws_dnn_run(cuda, plan, WS_CONV_ROLES, ids, data, err);
}

enum ws_status ws_cuda_conv_run(struct ws_cuda *cuda, const struct ws_op *op, struct ws_err *err)
{
	const struct ws_cuda_plan *plan = ws_cuda_plan_of(cuda, op);
	void *data[WS_CONV_ROLES];

	WS_FAIL_IF(!plan, err, BUG, "op %s was not in the plan", op->message);
	for (int role = 0; role < WS_CONV_ROLES; role++)
		data[role] = tensor_of(op, (enum ws_conv_role)role)->data;
	return run_plan(cuda, plan->dnn, data, err);
}

/* One candidate on data of its own. */
struct trial {
	struct ws_cuda *cuda;
	cudnnBackendDescriptor_t plan;
	void *data[WS_CONV_ROLES];
};

static enum ws_status run_trial(void *arg, struct ws_err *err)
{
	const struct trial *t = arg;

	return run_plan(t->cuda, t->plan, t->data, err);
}

/* The index of the fastest plan. A candidate that does not run is not chosen; others remain. */
static enum ws_status choose(struct ws_cuda *cuda, const struct ws_op *op,
                             const cudnnBackendDescriptor_t *plans, int count, int *best,
                             struct ws_err *err)
{
	struct trial trial = {.cuda = cuda};
	enum ws_status status = WS_OK;
	float best_ms = 0, ms;

	for (int role = 0; role < WS_CONV_ROLES && status == WS_OK; role++) {
		const struct ws_tensor *t = tensor_of(op, (enum ws_conv_role)role);

		status = ws_cuda_random(cuda, t->count, t->dtype, &trial.data[role], err);
	}
	*best = -1;
	for (int i = 0; i < count && status == WS_OK; i++) {
		trial.plan = plans[i];
		if (ws_cuda_time(cuda, run_trial, &trial, &ms, NULL) == WS_OK &&
		    (*best < 0 || ms < best_ms)) {
			*best = i;
			best_ms = ms;
		}
	}
	if (status == WS_OK && *best < 0)
		status = WS_FAIL(err, ENVIRONMENT,
		                 "none of cuDNN's %d plans for a convolution runs; "
		                 "try the other --layout, or without --autotune",
		                 count);
	for (int i = 0; i < WS_CONV_ROLES; i++)
		cudaFree(trial.data[i]);
	return status;
}

enum ws_status ws_cuda_conv_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                 struct ws_err *err)
{
	cudnnBackendDescriptor_t plans[CANDIDATES] = {0};
	bool timed = ws_cuda_is_timed(cuda);
	int count = 0, best = 0;
	enum ws_status status =
	        find_plans(cuda, plan->op, timed ? CANDIDATES : 1, plans, &count, err);

	if (timed)
		WS_THEN(status, choose(cuda, plan->op, plans, count, &best, err));
	if (status == WS_OK) {
		plan->dnn = plans[best];
		plans[best] = NULL;
	}
	for (int i = 0; i < count; i++)
		ws_dnn_destroy(&plans[i]);
	return status;
}
