#include "kernels/cuda/dnn_graph.h"

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

/* Transforms of the operands, whose rounding no bound on the plain sum holds. */
static bool transforms(const cudnnBackendNumericalNote_t *notes, int64_t count)
{
	static const cudnnBackendNumericalNote_t transform[] = {
	        CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD,
	        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
	        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13};

	for (size_t i = 0; i < sizeof(transform) / sizeof(*transform); i++)
		if (has_note(notes, count, transform[i]))
			return true;
	return false;
}

bool ws_dnn_notes_fit(const struct ws_dnn_rules *rules, const cudnnBackendNumericalNote_t *notes,
                      int64_t count)
{
	if (has_note(notes, count, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION))
		return false;
	if (rules->strict_fp32 &&
	    (has_note(notes, count, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ||
	     has_note(notes, count, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)))
		return false;
	return !rules->deterministic ||
	       (!has_note(notes, count, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
	        !transforms(notes, count));
}

static bool engine_fits(const struct ws_dnn_rules *rules, cudnnBackendDescriptor_t config)
{
	cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
	cudnnBackendDescriptor_t engine = NULL;
	int64_t count = 0, engines = 0;
	bool known;

	if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) !=
	    CUDNN_STATUS_SUCCESS)
		return false;
	known = cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
	                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines,
	                                 &engine) == CUDNN_STATUS_SUCCESS &&
	        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
	                                 CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT,
	                                 &count, notes) == CUDNN_STATUS_SUCCESS;
	ws_dnn_destroy(&engine);
	return known && ws_dnn_notes_fit(rules, notes, count);
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

/* A plan of a configuration; NULL, without an error, where it cannot be had. */
static cudnnBackendDescriptor_t make_plan(const struct search *search,
                                          cudnnBackendDescriptor_t config)
{
	const struct ws_dnn_target *target = search->target;
	cudnnBackendDescriptor_t plan = NULL;
	int64_t workspace_bytes = 0, count = 0;
	struct ws_dnn_setter s;

	if (ws_dnn_create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan, &s, NULL) != WS_OK)
		return NULL;
	if (target->handle)
		ws_dnn_set(&s, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
		           &target->handle);
	else
		ws_dnn_set(&s, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR,
		           1, &target->properties);
	ws_dnn_set(&s, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
	           &config);
	if (ws_dnn_finalize(&s, "cuDNN plan", NULL) != WS_OK ||
	    cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
	                             CUDNN_TYPE_INT64, 1, &count,
	                             &workspace_bytes) != CUDNN_STATUS_SUCCESS ||
	    (uint64_t)workspace_bytes > search->rules->workspace_bytes)
		ws_dnn_destroy(&plan);
	return plan;
}

static void add_plans(struct search *search, const cudnnBackendDescriptor_t *configs, int64_t count)
{
	for (int64_t i = 0; i < count && search->count < search->max_count; i++) {
		if (!engine_fits(search->rules, configs[i]))
			continue;
		search->plans[search->count] = make_plan(search, configs[i]);
		if (search->plans[search->count])
			search->count++;
	}
}

static void set_heuristic(struct ws_dnn_setter *s, const struct search *search,
                          cudnnBackendHeurMode_t mode)
{
	ws_dnn_set(s, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
	           &search->graph);
	ws_dnn_set(s, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	if (!search->target->handle)
		ws_dnn_set(s, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
		           &search->target->properties);
}

/* Candidates that a heuristic proposes; one that has no answer adds none. */
static enum ws_status ask(struct search *search, cudnnBackendHeurMode_t mode, struct ws_err *err)
{
	cudnnBackendDescriptor_t heuristic = NULL, configs[PROPOSALS] = {0};
	enum ws_status status;
	int64_t count = 0;
	struct ws_dnn_setter s;

	status = ws_dnn_create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristic, &s, err);
	for (int i = 0; i < PROPOSALS && status == WS_OK; i++)
		status = ws_cudnn_check(cudnnBackendCreateDescriptor(
		                                CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[i]),
		                        "cuDNN engine configuration", err);
	if (status == WS_OK) {
		set_heuristic(&s, search, mode);
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

static enum ws_status open_graph(const struct ws_dnn_target *target,
                                 const cudnnBackendDescriptor_t *operations, int count,
                                 cudnnBackendDescriptor_t *graph, struct ws_err *err)
{
	struct ws_dnn_setter s;

	WS_FORWARD(ws_dnn_create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, graph, &s, err));
	ws_dnn_set(&s, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
	           operations);
	if (target->handle)
		ws_dnn_set(&s, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
		           &target->handle);
	return ws_dnn_finalize(&s, "cuDNN operation graph", err);
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
	enum ws_status status = open_graph(target, operations, operation_count, &search.graph, err);

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
	enum ws_status status;
	struct ws_dnn_setter s;

	WS_FORWARD(ws_dnn_create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack, &s, err));
	ws_dnn_set(&s, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids);
	ws_dnn_set(&s, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data);
	ws_dnn_set(&s, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
	           &cuda->dnn_workspace);
	status = ws_dnn_finalize(&s, "cuDNN variant pack", err);
	WS_THEN(status, ws_cudnn_check(cudnnBackendExecute(cuda->dnn, plan, pack),
	                               "cudnnBackendExecute", err));
	ws_dnn_destroy(&pack);
	return status;
}
