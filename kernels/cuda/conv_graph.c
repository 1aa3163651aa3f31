/*
 * Convolutions by cuDNN's backend (graph) API: one operation, its graph, the engines that
 * cuDNN's heuristics propose for it, and an execution plan of those that may be used.
 */
#include "kernels/cuda/conv.h"

#define ALIGNMENT_BYTES 16
#define PROPOSALS       24 /* of one heuristic, at most */

/* A tensor's unique id in the graph: its role, as ids begin at 1. */
static int64_t uid(enum ws_conv_role role)
{
	return (int64_t)role + 1;
}

/* Attributes, set in a row until one is refused. */
struct setter {
	cudnnBackendDescriptor_t descriptor;
	cudnnStatus_t status;
};

static void set(struct setter *s, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                int64_t count, const void *values)
{
	if (s->status == CUDNN_STATUS_SUCCESS)
		s->status = cudnnBackendSetAttribute(s->descriptor, name, type, count, values);
}

static enum ws_status create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made,
                             struct setter *s, struct ws_err *err)
{
	WS_CUDNN_TRY(cudnnBackendCreateDescriptor(type, made), err);
	*s = (struct setter){*made, CUDNN_STATUS_SUCCESS};
	return WS_OK;
}

static enum ws_status finalize(struct setter *s, const char *what, struct ws_err *err)
{
	if (s->status == CUDNN_STATUS_SUCCESS)
		s->status = cudnnBackendFinalize(s->descriptor);
	return ws_cudnn_check(s->status, what, err);
}

static void destroy(cudnnBackendDescriptor_t *descriptor)
{
	if (*descriptor)
		cudnnBackendDestroyDescriptor(*descriptor);
	*descriptor = NULL;
}

/* --- the operation ------------------------------------------------------------------------------ */

static enum ws_status make_tensor(const struct ws_cuda_conv_shape *shape, enum ws_conv_role role,
                                  cudnnBackendDescriptor_t *made, struct ws_err *err)
{
	cudnnDataType_t type = ws_cuda_conv_type(shape->dtype[role]);
	int64_t dims[4], strides[4], id = uid(role), alignment = ALIGNMENT_BYTES;
	struct setter s;

	ws_cuda_conv_dims(&shape->conv, role, dims, strides);
	WS_FORWARD(create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, made, &s, err));
	set(&s, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
	set(&s, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set(&s, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
	set(&s, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
	set(&s, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
	return finalize(&s, "cuDNN tensor", err);
}

static enum ws_status make_conv(const struct ws_conv *f, cudnnBackendDescriptor_t *made,
                                struct ws_err *err)
{
	int64_t dims = 2, pads[2] = {f->pad_h, f->pad_w}, strides[2] = {f->stride, f->stride};
	int64_t dilations[2] = {1, 1};
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	struct setter s;

	WS_FORWARD(create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, made, &s, err));
	set(&s, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dims);
	set(&s, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set(&s, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	set(&s, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
	set(&s, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
	set(&s, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides);
	set(&s, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations);
	return finalize(&s, "cuDNN convolution", err);
}

/* What cuDNN calls the parts of each kind of convolution. */
struct operation_names {
	cudnnBackendDescriptorType_t type;
	cudnnBackendAttributeName_t alpha, beta, conv, role[WS_CONV_ROLES];
};

static struct operation_names names_of(enum ws_op_kind kind)
{
	switch (kind) {
	case WS_OP_CONV_DGRAD:
		return (struct operation_names){
		        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
		        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
		         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
		         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY}};
	case WS_OP_CONV_WGRAD:
		return (struct operation_names){
		        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
		        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
		         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
		         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}};
	default:
		return (struct operation_names){
		        CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
		        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
		        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
		         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
		         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}};
	}
}

static enum ws_status make_operation(const struct ws_cuda_conv_shape *shape,
                                     struct ws_cuda_conv_operation *o, struct ws_err *err)
{
	struct operation_names names = names_of(shape->kind);
	float one = 1, zero = 0;
	struct setter s;

	for (int role = 0; role < WS_CONV_ROLES; role++)
		WS_FORWARD(make_tensor(shape, (enum ws_conv_role)role, &o->tensor[role], err));
	WS_FORWARD(make_conv(&shape->conv, &o->conv, err));
	WS_FORWARD(create(names.type, &o->operation, &s, err));
	for (int role = 0; role < WS_CONV_ROLES; role++)
		set(&s, names.role[role], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &o->tensor[role]);
	set(&s, names.conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &o->conv);
	set(&s, names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
	set(&s, names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
	return finalize(&s, "cuDNN convolution operation", err);
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
	destroy(&operation->operation);
	destroy(&operation->conv);
	for (int role = 0; role < WS_CONV_ROLES; role++)
		destroy(&operation->tensor[role]);
}

/* --- engines ------------------------------------------------------------------------------------- */

static bool has_note(const cudnnBackendNumericalNote_t *notes, int64_t count, cudnnBackendNumericalNote_t note)
{
	for (int64_t i = 0; i < count; i++)
		if (notes[i] == note)
			return true;
	return false;
}

/* Transforms of the operands, whose rounding no bound on the plain sum holds. */
static bool transforms(const cudnnBackendNumericalNote_t *notes, int64_t count)
{
	static const cudnnBackendNumericalNote_t transforming[] = {
	        CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD,
	        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
	        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13};

	for (size_t i = 0; i < sizeof(transforming) / sizeof(*transforming); i++)
		if (has_note(notes, count, transforming[i]))
			return true;
	return false;
}

/*
 * May an engine compute this shape? Strict fp32 keeps off Tensor Cores, which would round the
 * operands to TF32; sums stay in fp32; deterministic: each run the same bits, of the plain sum.
 */
static bool engine_fits(const struct ws_cuda *cuda, const struct ws_cuda_conv_shape *shape,
                        cudnnBackendDescriptor_t config)
{
	cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
	cudnnBackendDescriptor_t engine = NULL;
	int64_t count = 0, engines = 0;
	bool known, strict = shape->dtype[WS_CONV_X] == WS_DTYPE_F32 && !shape->tf32;

	if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) !=
	    CUDNN_STATUS_SUCCESS)
		return false;
	known = cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
	                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines,
	                                 &engine) == CUDNN_STATUS_SUCCESS &&
	        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
	                                 CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT,
	                                 &count, notes) == CUDNN_STATUS_SUCCESS;
	destroy(&engine);
	if (!known || has_note(notes, count, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION))
		return false;
	if (strict && (has_note(notes, count, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ||
	               has_note(notes, count, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)))
		return false;
	return !cuda->options.deterministic ||
	       (!has_note(notes, count, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
	        !transforms(notes, count));
}

/* An execution plan of a configuration; NULL, without an error, where it cannot be had. */
static cudnnBackendDescriptor_t make_plan(struct ws_cuda *cuda, cudnnBackendDescriptor_t config)
{
	cudnnBackendDescriptor_t plan = NULL;
	int64_t workspace_bytes = 0, count = 0;
	struct setter s;

	if (create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan, &s, NULL) != WS_OK)
		return NULL;
	set(&s, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &cuda->dnn);
	set(&s, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
	if (finalize(&s, "cuDNN plan", NULL) != WS_OK ||
	    cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
	                             CUDNN_TYPE_INT64, 1, &count,
	                             &workspace_bytes) != CUDNN_STATUS_SUCCESS ||
	    workspace_bytes > (int64_t)WS_CUDA_CONV_WORKSPACE_BYTES)
		destroy(&plan);
	return plan;
}

static void add_plans(struct ws_cuda *cuda, struct ws_cuda_conv *conv, int most,
                      cudnnBackendDescriptor_t *configs, int64_t count)
{
	for (int64_t i = 0; i < count && conv->count < most; i++) {
		if (!engine_fits(cuda, &conv->shape, configs[i]))
			continue;
		conv->graph.plan[conv->count] = make_plan(cuda, configs[i]);
		if (conv->graph.plan[conv->count])
			conv->count++;
	}
}

/* Candidates that a heuristic proposes; one that has no answer adds none. */
static enum ws_status ask(struct ws_cuda *cuda, struct ws_cuda_conv *conv,
                          cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode, int most,
                          struct ws_err *err)
{
	cudnnBackendDescriptor_t heuristic = NULL, configs[PROPOSALS] = {0};
	enum ws_status status;
	int64_t count = 0;
	struct setter s;

	status = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristic, &s, err);
	for (int i = 0; i < PROPOSALS && status == WS_OK; i++)
		status = ws_cudnn_check(
		        cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
		                                     &configs[i]),
		        "cuDNN engine configuration", err);
	if (status == WS_OK) {
		set(&s, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
		    &graph);
		set(&s, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
		if (finalize(&s, "cuDNN heuristic", NULL) == WS_OK &&
		    cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
		                             CUDNN_TYPE_BACKEND_DESCRIPTOR, PROPOSALS, &count,
		                             configs) == CUDNN_STATUS_SUCCESS)
			add_plans(cuda, conv, most, configs, count);
	}
	for (int i = 0; i < PROPOSALS; i++)
		destroy(&configs[i]);
	destroy(&heuristic);
	return status;
}

static enum ws_status ask_all(struct ws_cuda *cuda, struct ws_cuda_conv *conv,
                              cudnnBackendDescriptor_t graph, int most, struct ws_err *err)
{
	static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B,
	                                               CUDNN_HEUR_MODE_FALLBACK};
	const struct ws_conv *f = &conv->shape.conv;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes) && conv->count < most; i++)
		WS_FORWARD(ask(cuda, conv, graph, modes[i], most, err));
	WS_FAIL_IF(conv->count == 0, err, ENVIRONMENT,
	           "cuDNN's graph API has no engine for %s of %lldx%lldx%lldx%lld by %lld filters "
	           "%lldx%lld; try --conv-engine legacy, or --layout %s",
	           ws_op_info(conv->shape.kind)->name, (long long)f->n, (long long)f->c,
	           (long long)f->h, (long long)f->w, (long long)f->k, (long long)f->r,
	           (long long)f->s, f->layout == WS_LAYOUT_NHWC ? "nchw" : "nhwc");
	return WS_OK;
}

static enum ws_status graph_open(struct ws_cuda *cuda, struct ws_cuda_conv *conv, int most,
                                 struct ws_err *err)
{
	struct ws_cuda_conv_operation operation;
	cudnnBackendDescriptor_t graph = NULL;
	enum ws_status status;
	struct setter s;

	WS_FORWARD(ws_cuda_conv_operation_open(&conv->shape, &operation, err));
	status = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph, &s, err);
	if (status == WS_OK) {
		set(&s, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
		    &operation.operation);
		set(&s, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &cuda->dnn);
		status = finalize(&s, "cuDNN operation graph", err);
	}
	if (status == WS_OK)
		status = ask_all(cuda, conv, graph, most, err);
	destroy(&graph);
	ws_cuda_conv_operation_close(&operation);
	return status;
}

static enum ws_status graph_run(struct ws_cuda *cuda, const struct ws_cuda_conv *conv,
                                int candidate, void *const data[WS_CONV_ROLES], struct ws_err *err)
{
	const struct ws_cuda_lane *lane = ws_cuda_lane(cuda);
	const int64_t ids[WS_CONV_ROLES] = {uid(WS_CONV_X), uid(WS_CONV_W), uid(WS_CONV_Y)};
	cudnnBackendDescriptor_t pack = NULL;
	enum ws_status status;
	struct setter s;

	if (cuda->dnn_lane != lane->stream)
		WS_CUDNN_TRY(cudnnSetStream(cuda->dnn, lane->stream), err);
	cuda->dnn_lane = lane->stream;
	WS_FORWARD(create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack, &s, err));
	set(&s, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, WS_CONV_ROLES, ids);
	set(&s, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, WS_CONV_ROLES, data);
	set(&s, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &lane->conv_workspace);
	status = finalize(&s, "cuDNN variant pack", err);
	if (status == WS_OK)
		status = ws_cudnn_check(
		        cudnnBackendExecute(cuda->dnn, conv->graph.plan[candidate], pack),
		        "cudnnBackendExecute", err);
	destroy(&pack);
	return status;
}

static void graph_close(struct ws_cuda_conv *conv)
{
	for (int i = 0; i < WS_CUDA_CONV_CANDIDATES; i++)
		destroy(&conv->graph.plan[i]);
}

const struct ws_cuda_conv_engine ws_cuda_conv_graph = {graph_open, graph_run, graph_close};
