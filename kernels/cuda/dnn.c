/*
 * cuDNN: its backend (graph) API as far as convolutions and attention share it, convolutions as
 * graphs of one operation, and the functions that it has for whole ops.
 */
#include "kernels/cuda/cuda.h"

#define CANDIDATES      12 /* plans of a convolution that are timed, at most */
#define ALIGNMENT_BYTES 16
#define PROPOSALS       24 /* of one heuristic, at most */

void ws_dnn_set(struct ws_dnn_setter *s, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
	if (s->status == CUDNN_STATUS_SUCCESS)
		s->status = cudnnBackendSetAttribute(s->descriptor, name, type, count, values);
}

enum ws_status ws_dnn_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made,
                             struct ws_dnn_setter *s, struct ws_err *err)
{
	WS_CUDNN_TRY(cudnnBackendCreateDescriptor(type, made), err);
	*s = (struct ws_dnn_setter){*made, CUDNN_STATUS_SUCCESS};
	return WS_OK;
}

enum ws_status ws_dnn_finalize(struct ws_dnn_setter *s, const char *what, struct ws_err *err)
{
	if (s->status == CUDNN_STATUS_SUCCESS)
		s->status = cudnnBackendFinalize(s->descriptor);
	return ws_cudnn_check(s->status, what, err);
}

void ws_dnn_destroy(cudnnBackendDescriptor_t *descriptor)
{
	if (*descriptor)
		cudnnBackendDestroyDescriptor(*descriptor);
	*descriptor = NULL;
}

cudnnDataType_t ws_dnn_type(enum ws_dtype dtype)
{
	return dtype == WS_DTYPE_BF16  ? CUDNN_DATA_BFLOAT16
	       : dtype == WS_DTYPE_F16 ? CUDNN_DATA_HALF
	                               : CUDNN_DATA_FLOAT;
}

enum ws_status ws_dnn_tensor_open(const struct ws_dnn_tensor *tensor,
                                  cudnnBackendDescriptor_t *made, struct ws_err *err)
{
	int64_t alignment = ALIGNMENT_BYTES;
	struct ws_dnn_setter s;

	WS_FORWARD(ws_dnn_create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, made, &s, err));
	ws_dnn_set(&s, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &tensor->id);
	ws_dnn_set(&s, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor->type);
	ws_dnn_set(&s, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, tensor->dims);
	ws_dnn_set(&s, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, tensor->strides);
	ws_dnn_set(&s, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
	ws_dnn_set(&s, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &tensor->is_virtual);
	ws_dnn_set(&s, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &tensor->is_by_value);
	return ws_dnn_finalize(&s, "cuDNN tensor", err);
}

/* --- engines -------------------------------------------------------------------------------- */

static bool has_note(const cudnnBackendNumericalNote_t *notes, int64_t count,
                     cudnnBackendNumericalNote_t note)
{
	for (int64_t i = 0; i < count; i++)
		if (notes[i] == note)
			return true;
	return false;
}

bool ws_dnn_notes_fit(const struct ws_dnn_rules *rules, const cudnnBackendNumericalNote_t *notes,
                      int64_t count)
{
	/* Engines that transform the operands, too: the bounds on plain sums do not cover their
	 * rounding. */
	static const cudnnBackendNumericalNote_t undue[] = {
	        CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,  CUDNN_NUMERICAL_NOTE_FFT,
	        CUDNN_NUMERICAL_NOTE_WINOGRAD,          CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
	        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13};

	if (has_note(notes, count, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION))
		return false;
	if (rules->strict_fp32 &&
	    (has_note(notes, count, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ||
	     has_note(notes, count, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)))
		return false;
	for (size_t i = 0; rules->deterministic && i < sizeof(undue) / sizeof(*undue); i++)
		if (has_note(notes, count, undue[i]))
			return false;
	return true;
}

/* --- plans ------------------------------------------------------------------------------------ */

/* Plans of one graph, as they are found. */
struct search {
	const struct ws_dnn_target *target;
	const struct ws_dnn_rules *rules;
	cudnnBackendDescriptor_t graph;
	cudnnBackendDescriptor_t *plans;
	int count, max_count;
};

/* Plans of the configurations that fit the rules. One of which cuDNN cannot make a plan is left
 * out. */
static void add_plans(struct search *search, const cudnnBackendDescriptor_t *configs, int64_t count)
{
	const struct ws_dnn_target *target = search->target;

	for (int64_t i = 0; i < count && search->count < search->max_count; i++) {
		cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
		cudnnBackendDescriptor_t engine = NULL, plan = NULL;
		int64_t nnotes = 0, engines = 0, workspace_bytes = 0, sizes = 0;
		struct ws_dnn_setter s;
		const bool known =
		        cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) ==
		                CUDNN_STATUS_SUCCESS &&
		        cudnnBackendGetAttribute(configs[i], CUDNN_ATTR_ENGINECFG_ENGINE,
		                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines,
		                                 &engine) == CUDNN_STATUS_SUCCESS &&
		        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
		                                 CUDNN_TYPE_NUMERICAL_NOTE,
		                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &nnotes,
		                                 notes) == CUDNN_STATUS_SUCCESS;

		ws_dnn_destroy(&engine);
		if (!known || !ws_dnn_notes_fit(search->rules, notes, nnotes) ||
		    ws_dnn_create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan, &s, NULL) !=
		            WS_OK)
			continue;
		if (target->handle)
			ws_dnn_set(&s, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
			           &target->handle);
		else
			ws_dnn_set(&s, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
			           CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &target->properties);
		ws_dnn_set(&s, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
		           CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configs[i]);
		if (ws_dnn_finalize(&s, "cuDNN plan", NULL) != WS_OK ||
		    cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
		                             CUDNN_TYPE_INT64, 1, &sizes,
		                             &workspace_bytes) != CUDNN_STATUS_SUCCESS ||
		    (uint64_t)workspace_bytes > search->rules->workspace_bytes)
			ws_dnn_destroy(&plan);
		else
			search->plans[search->count++] = plan;
	}
}

/* Candidates that a heuristic proposes; one that has no answer adds none. */
static enum ws_status ask(struct search *search, cudnnBackendHeurMode_t mode, struct ws_err *err)
{
	cudnnBackendDescriptor_t heuristic = NULL, configs[PROPOSALS] = {0};
	int64_t count = 0;
	struct ws_dnn_setter s;

	enum ws_status status =
	        ws_dnn_create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristic, &s, err);
	for (int i = 0; i < PROPOSALS && status == WS_OK; i++)
		status = ws_cudnn_check(cudnnBackendCreateDescriptor(
		                                CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[i]),
		                        "cuDNN engine configuration", err);
	if (status == WS_OK) {
		ws_dnn_set(&s, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR,
		           1, &search->graph);
		ws_dnn_set(&s, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
		if (!search->target->handle)
			ws_dnn_set(&s, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
			           CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &search->target->properties);
		if (ws_dnn_finalize(&s, "cuDNN heuristic", NULL) == WS_OK &&
		    cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
		                             CUDNN_TYPE_BACKEND_DESCRIPTOR, PROPOSALS, &count,
		                             configs) == CUDNN_STATUS_SUCCESS)
			add_plans(search, configs, count);
	}
	for (int i = 0; i < PROPOSALS; i++)
		ws_dnn_destroy(&configs[i]);
	ws_dnn_destroy(&heuristic);
	return status;
}

enum ws_status ws_dnn_plans(const struct ws_dnn_target *target, const struct ws_dnn_rules *rules,
                            const cudnnBackendDescriptor_t *operations, int operation_count,
                            int most, cudnnBackendDescriptor_t *plans, int *count,
                            struct ws_err *err)
{
	static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B,
	                                               CUDNN_HEUR_MODE_FALLBACK};
	struct search search = {.target = target,
	                        .rules = rules,
	                        .plans = plans,
	                        .max_count = most};
	struct ws_dnn_setter s;
	enum ws_status status =
	        ws_dnn_create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &search.graph, &s, err);

	if (status == WS_OK) {
		ws_dnn_set(&s, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
		           operation_count, operations);
		if (target->handle)
			ws_dnn_set(&s, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
			           &target->handle);
		status = ws_dnn_finalize(&s, "cuDNN operation graph", err);
	}

	for (size_t i = 0;
	     i < sizeof(modes) / sizeof(*modes) && status == WS_OK && search.count < most; i++)
		status = ask(&search, modes[i], err);
	ws_dnn_destroy(&search.graph);
	*count = search.count;
	return status;
}

enum ws_status ws_dnn_run(struct ws_cuda *cuda, cudnnBackendDescriptor_t plan, int count,
                          const int64_t *ids, void *const *data, struct ws_err *err)
{
	cudnnBackendDescriptor_t pack = NULL;
	struct ws_dnn_setter s;

	WS_FORWARD(ws_dnn_create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack, &s, err));
	ws_dnn_set(&s, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids);
	ws_dnn_set(&s, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data);
	ws_dnn_set(&s, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
	           &cuda->dnn_workspace);
	enum ws_status status = ws_dnn_finalize(&s, "cuDNN variant pack", err);
	WS_THEN(status, ws_cudnn_check(cudnnBackendExecute(cuda->dnn, plan, pack),
	                               "cudnnBackendExecute", err));
	ws_dnn_destroy(&pack);
	return status;
}

/* --- convolutions
 * ---------------------------------------------------------------------------------- */

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

/* A tensor's unique id in the graph: its role, as ids begin at 1. */
static int64_t uid(enum ws_conv_role role)
{
	return (int64_t)role + 1;
}

/* --- the operation --------------------------------------------------------------------------- */

static enum ws_status make_operation(const struct ws_op *op, struct ws_cuda_conv_operation *o,
                                     struct ws_err *err)
{
	/* cuDNN's names for the parts of each kind of convolution */
#define ATTR(name) CUDNN_ATTR_OPERATION_CONVOLUTION_##name
#define NAMES(type, name, x, w, y)                                                           \
	{                                                                                    \
		CUDNN_BACKEND_OPERATION_CONVOLUTION_##type##_DESCRIPTOR, ATTR(name##_ALPHA), \
		        ATTR(name##_BETA), ATTR(name##_CONV_DESC),                           \
		{                                                                            \
			ATTR(name##_##x), ATTR(name##_##w), ATTR(name##_##y)                 \
		}                                                                            \
	}
	static const struct {
		cudnnBackendDescriptorType_t type;
		cudnnBackendAttributeName_t alpha, beta, conv, role[WS_CONV_ROLES];
	} names[] = {[WS_OP_CONV] = NAMES(FORWARD, FORWARD, X, W, Y),
	             [WS_OP_CONV_DGRAD] = NAMES(BACKWARD_DATA, BWD_DATA, DX, W, DY),
	             [WS_OP_CONV_WGRAD] = NAMES(BACKWARD_FILTER, BWD_FILTER, X, DW, DY)};
#undef NAMES
#undef ATTR

	const struct ws_conv *f = &op->u.conv;
	const float one = 1, zero = 0;
	struct ws_dnn_setter s;

	for (int role = 0; role < WS_CONV_ROLES; role++) {
		/* sizes in the order n c h w (of filters k c/groups r s), and strides */
		const int64_t sizes[WS_CONV_ROLES][4] = {
		        [WS_CONV_X] = {f->n, f->c, f->h, f->w},
		        [WS_CONV_W] = {f->k, f->c / f->groups, f->r, f->s},
		        [WS_CONV_Y] = {f->n, f->k, f->p, f->q},
		};
		const int64_t *d = sizes[role];
		const bool nhwc = f->layout == WS_LAYOUT_NHWC;
		const struct ws_dnn_tensor t = {
		        .id = uid((enum ws_conv_role)role),
		        .type = ws_dnn_type(tensor_of(op, (enum ws_conv_role)role)->dtype),
		        .dims = {d[0], d[1], d[2], d[3]},
		        .strides = {d[1] * d[2] * d[3], nhwc ? 1 : d[2] * d[3],
		                    nhwc ? d[1] * d[3] : d[3], nhwc ? d[1] : 1}};

		WS_FORWARD(ws_dnn_tensor_open(&t, &o->tensor[role], err));
	}

	const int64_t dims = 2, pads[2] = {f->pad_h, f->pad_w}, strides[2] = {f->stride, f->stride};
	const int64_t dilations[2] = {1, 1};
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;

	WS_FORWARD(ws_dnn_create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, &o->conv, &s, err));
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dims);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides);
	ws_dnn_set(&s, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations);
	WS_FORWARD(ws_dnn_finalize(&s, "cuDNN convolution", err));
	WS_FORWARD(ws_dnn_create(names[op->kind].type, &o->operation, &s, err));
	for (int role = 0; role < WS_CONV_ROLES; role++)
		ws_dnn_set(&s, names[op->kind].role[role], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
		           &o->tensor[role]);
	ws_dnn_set(&s, names[op->kind].conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &o->conv);
	ws_dnn_set(&s, names[op->kind].alpha, CUDNN_TYPE_FLOAT, 1, &one);
	ws_dnn_set(&s, names[op->kind].beta, CUDNN_TYPE_FLOAT, 1, &zero);
	return ws_dnn_finalize(&s, "cuDNN convolution operation", err);
}

enum ws_status ws_cuda_conv_operation_open(const struct ws_op *op,
                                           struct ws_cuda_conv_operation *operation,
                                           struct ws_err *err)
{
	memset(operation, 0, sizeof(*operation));
	enum ws_status status = make_operation(op, operation, err);
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

/* Times one candidate on separate data. */
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
	const struct ws_op *op = plan->op;
	cudnnBackendDescriptor_t plans[CANDIDATES] = {0};
	bool timed = ws_cuda_is_timed(cuda);
	int count = 0, best = 0;
	const struct ws_dnn_target target = {.handle = cuda->dnn};
	const struct ws_dnn_rules rules = {
	        .strict_fp32 = op->in[0]->dtype == WS_DTYPE_F32 && !op->tf32,
	        .deterministic = cuda->options.deterministic,
	        .workspace_bytes = WS_CUDA_DNN_WORKSPACE_BYTES,
	};
	struct ws_cuda_conv_operation operation;

	WS_FORWARD(ws_cuda_conv_operation_open(op, &operation, err));
	enum ws_status status = ws_dnn_plans(&target, &rules, &operation.operation, 1,
	                                     timed ? CANDIDATES : 1, plans, &count, err);
	ws_cuda_conv_operation_close(&operation);
	if (status == WS_OK && count == 0) {
		const struct ws_conv *f = &op->u.conv;

		status = WS_FAIL(err, ENVIRONMENT,
		                 "cuDNN's graph API has no engine for %s of %lldx%lldx%lldx%lld by "
		                 "%lld filters %lldx%lld; try --layout %s",
		                 ws_op_info(op->kind)->name, (long long)f->n, (long long)f->c,
		                 (long long)f->h, (long long)f->w, (long long)f->k, (long long)f->r,
		                 (long long)f->s, f->layout == WS_LAYOUT_NHWC ? "nchw" : "nhwc");
	}

	if (timed)
		WS_THEN(status, choose(cuda, op, plans, count, &best, err));
	if (status == WS_OK) {
		plan->dnn = plans[best];
		plans[best] = NULL;
	}
	for (int i = 0; i < count; i++)
		ws_dnn_destroy(&plans[i]);
	return status;
}

/* --- functions for whole ops: batch norm, log_softmax
 * ---------------------------------------------- */

bool ws_cuda_is_function(const struct ws_op *op)
{
	return op->kind == WS_OP_BATCH_NORM || op->kind == WS_OP_BATCH_NORM_GRAD ||
	       op->kind == WS_OP_LOG_SOFTMAX || op->kind == WS_OP_LOG_SOFTMAX_GRAD;
}

/* A tensor for these functions: sizes in the order n c h w. Fits an int: ws_cuda_op_problem(). */
static enum ws_status describe_tensor(enum ws_dtype dtype, const int64_t sizes[4], bool nhwc,
                                      cudnnTensorDescriptor_t *made, struct ws_err *err)
{
	WS_CUDNN_TRY(cudnnCreateTensorDescriptor(made), err);
	WS_CUDNN_TRY(cudnnSetTensor4dDescriptor(*made, nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
	                                        ws_dnn_type(dtype), (int)sizes[0], (int)sizes[1],
	                                        (int)sizes[2], (int)sizes[3]),
	             err);
	return WS_OK;
}

/* One number per channel: cuDNN reads and writes them in fp32, for images of any dtype. */
struct channel_numbers {
	const struct ws_tensor *t;
	struct ws_tensor f32; /* t itself, or a copy in scratch */
};

/* Converts t to its copy, or back, by an own kernel; does nothing if t has no copy. */
static enum ws_status convert_numbers(struct ws_cuda *cuda, const struct channel_numbers *n,
                                      bool back, struct ws_err *err)
{
	struct ws_cuda_launch launch = ws_cuda_launch_on(cuda);
	struct ws_tensor from = back ? n->f32 : *n->t, to = back ? *n->t : n->f32;
	struct ws_op op = {.sub = WS_SUB_CAST,
	                   .kind = WS_OP_COPY,
	                   .in_count = 1,
	                   .out_count = 1,
	                   .in = {&from},
	                   .out = {&to},
	                   .message = "numbers of channels"};

	if (n->f32.data == n->t->data)
		return WS_OK;
	op.payload.direction = WSNVTX_DIRECTION_forward;
	op.payload.dtype = (uint8_t)ws_dtype_nvtx(from.dtype);
	return ws_cuda_copy(&launch, &op, err);
}

/* The numbers of a tensor for cuDNN; index: which of the op's, each of which has its own copy. */
static struct channel_numbers numbers_of(struct ws_cuda *cuda, const struct ws_tensor *t, int index)
{
	struct channel_numbers n = {t, *t};

	if (t->dtype == WS_DTYPE_F32)
		return n;
	n.f32.dtype = WS_DTYPE_F32;
	n.f32.data = (float *)cuda->scratch + index * t->count;
	return n;
}

/*
 * CUDNN_BATCHNORM_SPATIAL, not SPATIAL_PERSISTENT: that one adds scaled whole numbers by atomics,
 * which overflow where values are large.
 */
static enum ws_status batch_norm(struct ws_cuda *cuda, const struct ws_op *op,
                                 cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t channels,
                                 struct ws_err *err)
{
	const struct ws_norm *norm = &op->u.norm;
	const float one = 1, zero = 0;
	struct channel_numbers n[4]; /* gamma, beta, running mean and variance */

	for (int i = 0; i < 4; i++) {
		n[i] = numbers_of(cuda, op->in[1 + i], i);
		WS_FORWARD(convert_numbers(cuda, &n[i], false, err));
	}
	WS_CUDNN_TRY(cudnnBatchNormalizationForwardTraining(
	                     cuda->dnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, x, op->in[0]->data, x,
	                     op->out[0]->data, channels, n[0].f32.data, n[1].f32.data,
	                     norm->momentum, n[2].f32.data, n[3].f32.data, norm->eps,
	                     op->out[1]->data, op->out[2]->data),
	             err);
	WS_FORWARD(convert_numbers(cuda, &n[2], true, err));
	return convert_numbers(cuda, &n[3], true, err);
}

static enum ws_status batch_norm_grad(struct ws_cuda *cuda, const struct ws_op *op,
                                      cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t channels,
                                      struct ws_err *err)
{
	const float one = 1, zero = 0;
	struct channel_numbers gamma = numbers_of(cuda, op->in[2], 0);
	struct channel_numbers dgamma = numbers_of(cuda, op->out[1], 1);
	struct channel_numbers dbeta = numbers_of(cuda, op->out[2], 2);

	WS_FORWARD(convert_numbers(cuda, &gamma, false, err));
	WS_CUDNN_TRY(cudnnBatchNormalizationBackward(cuda->dnn, CUDNN_BATCHNORM_SPATIAL, &one,
	                                             &zero, &one, &zero, x, op->in[1]->data, x,
	                                             op->in[0]->data, x, op->out[0]->data, channels,
	                                             gamma.f32.data, dgamma.f32.data,
	                                             dbeta.f32.data, op->u.norm.eps,
	                                             op->in[3]->data, op->in[4]->data),
	             err);
	WS_FORWARD(convert_numbers(cuda, &dgamma, true, err));
	return convert_numbers(cuda, &dbeta, true, err);
}

enum ws_status ws_cuda_function_run(struct ws_cuda *cuda, const struct ws_op *op,
                                    struct ws_err *err)
{
	const struct ws_tensor *t = op->out[0];

	if (op->kind == WS_OP_BATCH_NORM || op->kind == WS_OP_BATCH_NORM_GRAD) {
		const struct ws_channels *ch = &op->u.norm.ch;
		const bool nhwc = ch->inner == 1;
		/* of images by their own sizes, for which cuDNN may have faster kernels */
		const int64_t *d = t->shape.dim;
		bool image = t->shape.ndim == 4 && d[nhwc ? 3 : 1] == ch->channels;
		const int64_t sizes[2][4] = {{ch->outer, ch->channels, ch->inner, 1},
		                             {d[0], ch->channels, d[nhwc ? 1 : 2],
		                              d[nhwc ? 2 : 3]}};
		cudnnTensorDescriptor_t x = NULL, channels = NULL;
		enum ws_status status = describe_tensor(t->dtype, sizes[image], nhwc, &x, err);

		WS_THEN(status,
		        describe_tensor(WS_DTYPE_F32, (const int64_t[4]){1, ch->channels, 1, 1},
		                        false, &channels, err));
		WS_THEN(status, (op->kind == WS_OP_BATCH_NORM
		                         ? batch_norm
		                         : batch_norm_grad)(cuda, op, x, channels, err));
		if (x)
			cudnnDestroyTensorDescriptor(x);
		if (channels)
			cudnnDestroyTensorDescriptor(channels);
		return status;
	}
	/* log_softmax */
	const int64_t sizes[4] = {ws_tensor_rows(t), ws_tensor_cols(t), 1, 1};
	const float one = 1, zero = 0;
	cudnnTensorDescriptor_t rows = NULL;
	enum ws_status status = describe_tensor(t->dtype, sizes, false, &rows, err);

	if (op->kind == WS_OP_LOG_SOFTMAX)
		WS_THEN(status,
		        ws_cudnn_check(cudnnSoftmaxForward(cuda->dnn, CUDNN_SOFTMAX_LOG,
		                                           CUDNN_SOFTMAX_MODE_INSTANCE, &one, rows,
		                                           op->in[0]->data, &zero, rows, t->data),
		                       "cudnnSoftmaxForward", err));
	else
		WS_THEN(status,
		        ws_cudnn_check(cudnnSoftmaxBackward(cuda->dnn, CUDNN_SOFTMAX_LOG,
		                                            CUDNN_SOFTMAX_MODE_INSTANCE, &one, rows,
		                                            op->in[1]->data, rows, op->in[0]->data,
		                                            &zero, rows, t->data),
		                       "cudnnSoftmaxBackward", err));
	if (rows)
		cudnnDestroyTensorDescriptor(rows);
	return status;
}
