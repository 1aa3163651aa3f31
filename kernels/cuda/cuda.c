/*
 * The CUDA backend: what its libraries answer, choosing a GPU, its memory, choosing algorithms by
 * time, and who runs an op.
 */
#include "kernels/cuda/cuda.h"

/* --- answers of CUDA, cuBLAS and cuDNN, as status and words
 * ---------------------------------------- */

/* The name of the function in the text of a call. */
static int name_length(const char *call)
{
	return (int)strcspn(call, "(");
}

static enum ws_status cuda_check(cudaError_t error, const char *call, struct ws_err *err)
{
	if (error == cudaSuccess)
		return WS_OK;
	WS_FAIL_IF(error == cudaErrorMemoryAllocation, err, NO_MEMORY, "%.*s: %s",
	           name_length(call), call, cudaGetErrorString(error));
	return WS_FAIL(err, ENVIRONMENT, "%.*s: %s (%s)", name_length(call), call,
	               cudaGetErrorString(error), cudaGetErrorName(error));
}

#define CUDA_TRY(call, err) WS_FORWARD(cuda_check((call), #call, (err)))

enum ws_status ws_cublas_check(cublasStatus_t status, const char *call, struct ws_err *err)
{
	if (status == CUBLAS_STATUS_SUCCESS)
		return WS_OK;
	WS_FAIL_IF(status == CUBLAS_STATUS_ALLOC_FAILED, err, NO_MEMORY, "%.*s: %s",
	           name_length(call), call, cublasGetStatusString(status));
	return WS_FAIL(err, ENVIRONMENT, "%.*s: %s (%s)", name_length(call), call,
	               cublasGetStatusString(status), cublasGetStatusName(status));
}

enum ws_status ws_cudnn_check(cudnnStatus_t status, const char *call, struct ws_err *err)
{
	char words[192] = "";

	if (status == CUDNN_STATUS_SUCCESS)
		return WS_OK;
	cudnnGetLastErrorString(words, sizeof(words));
	return WS_FAIL(err, ENVIRONMENT, "%.*s: %s%s%s", name_length(call), call,
	               cudnnGetErrorString(status), *words ? ": " : "", words);
}

/* --- memory ------------------------------------------------------------------------------ */

static enum ws_status cuda_upload(struct ws_backend *backend, void *data, uint64_t offset_bytes,
                                  const void *host, uint64_t size_bytes, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	/* from pageable memory: returns once the source may change */
	CUDA_TRY(cudaMemcpyAsync((char *)data + offset_bytes, host, size_bytes,
	                         cudaMemcpyHostToDevice, cuda->stream),
	         err);
	return WS_OK;
}

static enum ws_status cuda_download(struct ws_backend *backend, const void *data,
                                    uint64_t offset_bytes, void *host, uint64_t size_bytes,
                                    struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	CUDA_TRY(cudaMemcpyAsync(host, (const char *)data + offset_bytes, size_bytes,
	                         cudaMemcpyDeviceToHost, cuda->stream),
	         err);
	CUDA_TRY(cudaStreamSynchronize(cuda->stream), err);
	return WS_OK;
}

enum ws_status ws_cuda_malloc(void **data, uint64_t size_bytes, const char *what,
                              struct ws_err *err)
{
	cudaError_t error = cudaMalloc(data, size_bytes);

	if (error == cudaSuccess)
		return WS_OK;
	*data = NULL;
	(void)cudaGetLastError(); /* reported here, so that no later launch reports it again */
	WS_FAIL_IF(error == cudaErrorMemoryAllocation, err, NO_MEMORY,
	           "the device has no %" PRIu64 " bytes for %s", size_bytes, what);
	return cuda_check(error, "cudaMalloc", err);
}

/* Number of elements drawn; longer tensors repeat them. */
#define DRAWN ((int64_t)1 << 20)

enum ws_status ws_cuda_random(struct ws_cuda *cuda, int64_t count, enum ws_dtype dtype, void **data,
                              struct ws_err *err)
{
	WS_FORWARD(ws_cuda_malloc(data, (uint64_t)count * ws_dtype_size(dtype), "timing algorithms",
	                          err));
	const struct ws_rng rng = ws_rng_stream(1, "autotune");
	int64_t drawn = count < DRAWN ? count : DRAWN;
	size_t size = ws_dtype_size(dtype);
	double *values = ws_xarray((size_t)drawn, sizeof(*values));
	char *encoded = ws_xarray((size_t)drawn, size);
	cudaError_t error = cudaSuccess;

	for (int64_t i = 0; i < drawn; i++)
		values[i] = ws_rng_normal(&rng, (uint64_t)i, HUGE_VAL);
	ws_dtype_encode(dtype, values, encoded, drawn);
	for (int64_t i = 0; i < count && error == cudaSuccess; i += drawn)
		error = cudaMemcpyAsync((char *)*data + (size_t)i * size, encoded,
		                        (size_t)(count - i < drawn ? count - i : drawn) * size,
		                        cudaMemcpyHostToDevice, cuda->stream);
	free(values);
	free(encoded); /* pageable memory: each copy returned once its source may change */
	return cuda_check(error, "cudaMemcpyAsync", err);
}

/* --- choosing algorithms by time
 * ------------------------------------------------------------------- */

#define RUNS 5

static int compare_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static enum ws_status time_runs(struct ws_cuda *cuda, const cudaEvent_t event[2],
                                enum ws_status (*run)(void *arg, struct ws_err *), void *arg,
                                float *median_ms, struct ws_err *err)
{
	cudaStream_t stream = cuda->stream;
	float ms[RUNS];

	WS_FORWARD(run(arg, err));
	for (int i = 0; i < RUNS; i++) {
		CUDA_TRY(cudaEventRecord(event[0], stream), err);
		WS_FORWARD(run(arg, err));
		CUDA_TRY(cudaEventRecord(event[1], stream), err);
		CUDA_TRY(cudaEventSynchronize(event[1]), err);
		CUDA_TRY(cudaEventElapsedTime(&ms[i], event[0], event[1]), err);
	}
	qsort(ms, RUNS, sizeof(*ms), compare_float);
	*median_ms = ms[RUNS / 2];
	return WS_OK;
}

enum ws_status ws_cuda_time(struct ws_cuda *cuda, enum ws_status (*run)(void *arg, struct ws_err *),
                            void *arg, float *median_ms, struct ws_err *err)
{
	cudaEvent_t event[2] = {0};
	enum ws_status status = WS_OK;

	for (int i = 0; i < 2 && status == WS_OK; i++)
		status = cuda_check(cudaEventCreate(&event[i]), "cudaEventCreate", err);
	WS_THEN(status, time_runs(cuda, event, run, arg, median_ms, err));
	for (int i = 0; i < 2; i++)
		if (event[i])
			cudaEventDestroy(event[i]);
	return status;
}

/* --- plans
 * ----------------------------------------------------------------------------------------- */

/* Does one plan serve both? */
static bool alike(const struct ws_op *a, const struct ws_op *b)
{
	if (a->kind != b->kind || a->tf32 != b->tf32)
		return false;
	for (int i = 0; i < a->in_count + a->out_count; i++)
		if (ws_op_tensor(a, i)->dtype != ws_op_tensor(b, i)->dtype)
			return false;
	if (a->kind == WS_OP_GEMM) {
		return a->u.gemm.batch == b->u.gemm.batch && a->u.gemm.m == b->u.gemm.m &&
		       a->u.gemm.n == b->u.gemm.n && a->u.gemm.k == b->u.gemm.k &&
		       a->u.gemm.trans_a == b->u.gemm.trans_a &&
		       a->u.gemm.trans_b == b->u.gemm.trans_b;
	}
	if (a->kind == WS_OP_ATTENTION || a->kind == WS_OP_ATTENTION_GRAD) {
		/* no padding in it: all its fields take 8 bytes */
		return !memcmp(&a->u.attention.head, &b->u.attention.head,
		               sizeof(a->u.attention.head)) &&
		       a->u.attention.scale == b->u.attention.scale;
	}
	return a->u.conv.layout == b->u.conv.layout && a->u.conv.n == b->u.conv.n &&
	       a->u.conv.c == b->u.conv.c && a->u.conv.h == b->u.conv.h &&
	       a->u.conv.w == b->u.conv.w && a->u.conv.k == b->u.conv.k &&
	       a->u.conv.r == b->u.conv.r && a->u.conv.s == b->u.conv.s &&
	       a->u.conv.p == b->u.conv.p && a->u.conv.q == b->u.conv.q &&
	       a->u.conv.stride == b->u.conv.stride && a->u.conv.pad_h == b->u.conv.pad_h &&
	       a->u.conv.pad_w == b->u.conv.pad_w && a->u.conv.groups == b->u.conv.groups;
}

const struct ws_cuda_plan *ws_cuda_plan_of(const struct ws_cuda *cuda, const struct ws_op *op)
{
	for (int i = 0; i < cuda->plan_count; i++)
		if (alike(cuda->plans[i].op, op))
			return &cuda->plans[i];
	return NULL;
}

/* --- before the first step ------------------------------------------------------------------ */

static bool plan_has(const struct ws_backend_plan *plan, bool (*matches)(const struct ws_op *))
{
	for (int i = 0; i < plan->op_count; i++)
		if (matches(plan->ops[i]))
			return true;
	return false;
}

/* The largest need of any op. */
static uint64_t plan_most(const struct ws_backend_plan *plan,
                          uint64_t (*bytes_of)(const struct ws_op *))
{
	uint64_t most_bytes = 0;

	for (int i = 0; i < plan->op_count; i++)
		if (bytes_of(plan->ops[i]) > most_bytes)
			most_bytes = bytes_of(plan->ops[i]);
	return most_bytes;
}

/* The workspace of cuDNN's plans, followed by the largest scratch of any attention. */
static uint64_t plan_dnn_bytes(const struct ws_backend_plan *plan)
{
	if (!plan_has(plan, ws_cuda_is_conv) && !plan_has(plan, ws_cuda_is_attention))
		return 0;
	return WS_CUDA_DNN_WORKSPACE_BYTES + plan_most(plan, ws_cuda_attention_workspace_bytes);
}

static uint64_t cuda_workspace_bytes(const struct ws_backend *backend,
                                     const struct ws_backend_plan *plan)
{
	(void)backend;
	return WS_CUDA_GEMM_WORKSPACE_BYTES + plan_most(plan, ws_cuda_scratch_bytes) +
	       plan_dnn_bytes(plan);
}

const char *ws_cuda_op_problem(const struct ws_op *op)
{
	for (int i = 0; i < op->in_count + op->out_count; i++)
		if (ws_op_tensor(op, i)->dtype == WS_DTYPE_F64)
			return "fp64 is for the CPU reference";
	if (ws_cuda_is_function(op) && op->in[0]->count > INT32_MAX)
		return "cuDNN computes it on less than 2^31 elements; use a smaller --batch";
	return ws_cuda_is_attention(op) ? ws_cuda_attention_problem(op) : NULL;
}

/* Releases the plans and memory of an earlier session. */
static void drop_plan(struct ws_cuda *cuda)
{
	for (int i = 0; i < cuda->plan_count; i++) {
		ws_dnn_destroy(&cuda->plans[i].dnn);
		ws_cuda_lt_close(cuda->plans[i].lt);
	}
	free(cuda->plans);
	cuda->plans = NULL;
	cuda->plan_count = 0;
	cudaFree(cuda->scratch);
	cudaFree(cuda->dnn_workspace);
	cudaFree(cuda->block);
	cuda->scratch = cuda->dnn_workspace = cuda->block = NULL;
}

static enum ws_status cuda_prepare(struct ws_backend *backend, const struct ws_backend_plan *plan,
                                   void **block, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	uint64_t dnn_bytes = plan_dnn_bytes(plan);

	drop_plan(cuda);
	for (int i = 0; i < plan->op_count; i++)
		WS_FAIL_IF(ws_cuda_op_problem(plan->ops[i]), err, USAGE,
		           "op %s cannot run on a GPU: %s", plan->ops[i]->message,
		           ws_cuda_op_problem(plan->ops[i]));
	cuda->scratch_bytes = plan_most(plan, ws_cuda_scratch_bytes);
	if (!cuda->gemm_workspace)
		WS_FORWARD(ws_cuda_malloc(&cuda->gemm_workspace, WS_CUDA_GEMM_WORKSPACE_BYTES,
		                          "the workspace of cuBLAS", err));
	WS_CUBLAS_TRY(cublasSetWorkspace(cuda->blas, cuda->gemm_workspace,
	                                 WS_CUDA_GEMM_WORKSPACE_BYTES),
	              err);
	if (dnn_bytes)
		WS_FORWARD(ws_cuda_malloc(&cuda->dnn_workspace, dnn_bytes, "the workspace of cuDNN",
		                          err));
	if (cuda->scratch_bytes)
		WS_FORWARD(ws_cuda_malloc(&cuda->scratch, cuda->scratch_bytes,
		                          "the scratch memory of kernels", err));
	if (!cuda->dnn && (dnn_bytes || plan_has(plan, ws_cuda_is_function))) {
		WS_CUDNN_TRY(cudnnCreate(&cuda->dnn), err);
		WS_CUDNN_TRY(cudnnSetStream(cuda->dnn, cuda->stream), err);
	}
	/* before the tensors take the memory that timing needs */
	/* A plan for each op of a session that needs one. */
	cuda->plans = ws_xarray((size_t)plan->op_count, sizeof(*cuda->plans));
	for (int j = 0; j < plan->op_count; j++) {
		const struct ws_op *op = plan->ops[j];
		bool gemm = op->kind == WS_OP_GEMM && ws_cuda_is_timed(cuda);

		if (!(gemm || ws_cuda_is_conv(op) || ws_cuda_is_attention(op)) ||
		    ws_cuda_plan_of(cuda, op))
			continue;
		cuda->plans[cuda->plan_count].op = op;
		WS_FORWARD(
		        (gemm ? ws_cuda_gemm_plan
		         : ws_cuda_is_attention(op)
		                 ? ws_cuda_attention_plan
		                 : ws_cuda_conv_plan)(cuda, &cuda->plans[cuda->plan_count++], err));
	}
	WS_FORWARD(ws_cuda_malloc(&cuda->block, plan->block_bytes, "the tensors of a step", err));
	*block = cuda->block;
	return WS_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

static enum ws_status cuda_run(struct ws_backend *backend, const struct ws_op *op,
                               struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	struct ws_cuda_launch launch = ws_cuda_launch_on(cuda);

	if (op->kind == WS_OP_GEMM)
		return ws_cuda_gemm_run(cuda, op, err);
	if (ws_cuda_is_conv(op))
		return ws_cuda_conv_run(cuda, op, err);
	if (ws_cuda_is_attention(op))
		return ws_cuda_attention_run(cuda, op, err);
	if (ws_cuda_is_function(op))
		return ws_cuda_function_run(cuda, op, err);
	return ws_cuda_launcher_of(op->kind)(&launch, op, err);
}

static enum ws_status cuda_sync(struct ws_backend *backend, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	CUDA_TRY(cudaStreamSynchronize(cuda->stream), err);
	return WS_OK;
}

/* --- recorded stretches: CUDA graphs --------------------------------------------------------- */

static enum ws_status cuda_record_begin(struct ws_backend *backend, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	CUDA_TRY(cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal), err);
	return WS_OK;
}

static enum ws_status cuda_record_end(struct ws_backend *backend, void **recording,
                                      struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	cudaGraphExec_t executable = NULL;
	cudaGraph_t graph = NULL;

	CUDA_TRY(cudaStreamEndCapture(cuda->stream, &graph), err);
	enum ws_status status = cuda_check(cudaGraphInstantiate(&executable, graph, 0),
	                                   "cudaGraphInstantiate", err);
	cudaGraphDestroy(graph);
	*recording = executable;
	return status;
}

static enum ws_status cuda_replay(struct ws_backend *backend, void *recording, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	CUDA_TRY(cudaGraphLaunch(recording, cuda->stream), err);
	return WS_OK;
}

static void cuda_forget(struct ws_backend *backend, void *recording)
{
	(void)backend;
	cudaGraphExecDestroy(recording);
}

static enum ws_status cuda_draw_images(struct ws_backend *backend,
                                       const struct ws_image_batch *batch,
                                       const struct ws_plane *planes, struct ws_tensor *t,
                                       struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	struct ws_cuda_launch launch = ws_cuda_launch_on(cuda);
	uint64_t size_bytes = (uint64_t)(batch->n * batch->c) * sizeof(*planes);

	/* Prepares the device data from which a batch is drawn. */
	if (cuda->table_bytes < size_bytes) {
		cudaFree(cuda->table);
		cuda->table_bytes = 0;
		WS_FORWARD(ws_cuda_malloc(&cuda->table, size_bytes, "drawing a batch", err));
		cuda->table_bytes = size_bytes;
	}
	CUDA_TRY(cudaMemcpyAsync(cuda->table, planes, size_bytes, cudaMemcpyHostToDevice,
	                         cuda->stream),
	         err);
	return ws_cuda_draw_images(&launch, batch, cuda->table, t, err);
}

/* --- opening and closing
 * --------------------------------------------------------------------------- */

/* Errors of the libraries are ignored here: nothing can be done about them. */
static void cuda_close(struct ws_backend *backend)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	if (cuda->stream)
		cudaStreamSynchronize(cuda->stream);
	drop_plan(cuda);
	if (cuda->dnn)
		cudnnDestroy(cuda->dnn);
	if (cuda->lt)
		cublasLtDestroy(cuda->lt);
	if (cuda->blas)
		cublasDestroy(cuda->blas);
	if (cuda->stream)
		cudaStreamDestroy(cuda->stream);
	cudaFree(cuda->gemm_workspace);
	cudaFree(cuda->table);
	free(cuda);
}

static const struct ws_backend_ops cuda_ops = {
        .name = "cuda",
        .prepare = cuda_prepare,
        .workspace_bytes = cuda_workspace_bytes,
        .upload = cuda_upload,
        .download = cuda_download,
        .draw_images = cuda_draw_images,
        .run = cuda_run,
        .sync = cuda_sync,
        .close = cuda_close,
        .record_begin = cuda_record_begin,
        .record_end = cuda_record_end,
        .replay = cuda_replay,
        .forget = cuda_forget,
};

static enum ws_status open_gpu(struct ws_cuda *cuda, struct ws_err *err)
{
	const struct ws_backend_options *o = &cuda->options;
	size_t free_bytes, total_bytes;
	struct cudaDeviceProp properties;
	int runtime = 0, blas = 0;
	int count = 0;
	cudaError_t error = cudaGetDeviceCount(&count);

	if (error != cudaSuccess || count < 1) {
		/* Why no GPU answers, and the cure. */
		int driver = 0;

		(void)cudaDriverGetVersion(&driver);
		(void)cudaRuntimeGetVersion(&runtime);
		WS_FAIL_IF(driver == 0 || error == cudaErrorStubLibrary, err, ENVIRONMENT,
		           "no NVIDIA driver on this machine (libcuda.so.1 is missing or a stub). "
		           "Install one for CUDA %d.%d or newer, or use --device cpu",
		           runtime / 1000, runtime % 1000 / 10);
		WS_FAIL_IF(error == cudaErrorInsufficientDriver, err, ENVIRONMENT,
		           "the NVIDIA driver is for CUDA %d.%d, but this program needs CUDA "
		           "%d.%d. Update the driver, or use --device cpu",
		           driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
		WS_FAIL_IF(error == cudaErrorNoDevice || error == cudaSuccess, err, ENVIRONMENT,
		           "the NVIDIA driver sees no GPU; see nvidia-smi and "
		           "CUDA_VISIBLE_DEVICES, or use --device cpu");
		return WS_FAIL(err, ENVIRONMENT, "no GPU answers: %s; use --device cpu",
		               cudaGetErrorString(error));
	}
	WS_FAIL_IF(o->gpu >= count, err, USAGE, "--gpu %d: there %s %d, numbered from 0", o->gpu,
	           count == 1 ? "is" : "are", count);
	CUDA_TRY(cudaSetDevice(o->gpu), err);

	/* split sums are put together in fp32, too: cuBLAS's default adds them in 16 bit */
	const cublasMath_t math =
	        CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

	CUDA_TRY(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking), err);
	WS_CUBLAS_TRY(cublasCreate(&cuda->blas), err);
	WS_CUBLAS_TRY(cublasSetStream(cuda->blas, cuda->stream), err);
	WS_CUBLAS_TRY(cublasSetMathMode(cuda->blas, math), err);

	if (o->autotune)
		WS_CUBLAS_TRY(cublasLtCreate(&cuda->lt), err);
	CUDA_TRY(cudaGetDeviceProperties(&properties, o->gpu), err);
	CUDA_TRY(cudaRuntimeGetVersion(&runtime), err);
	WS_CUBLAS_TRY(cublasGetVersion(cuda->blas, &blas), err);
	cuda->sm_count = properties.multiProcessorCount;
	snprintf(cuda->base.device, sizeof(cuda->base.device), "%.70s, sm_%d%d", properties.name,
	         properties.major, properties.minor);
	snprintf(cuda->base.libraries, sizeof(cuda->base.libraries),
	         "CUDA %d.%d, cuBLAS %d.%d.%d, cuDNN %zu.%zu.%zu", runtime / 1000,
	         runtime % 1000 / 10, blas / 10000, blas / 100 % 100, blas % 100,
	         cudnnGetVersion() / 10000, cudnnGetVersion() / 100 % 100, cudnnGetVersion() % 100);
	CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes), err);
	cuda->base.limit_bytes =
	        free_bytes > WS_CUDA_MARGIN_BYTES ? free_bytes - WS_CUDA_MARGIN_BYTES : 0;
	if (o->limit_bytes && o->limit_bytes < cuda->base.limit_bytes)
		cuda->base.limit_bytes = o->limit_bytes;
	return WS_OK;
}

enum ws_status ws_backend_cuda_open(const struct ws_backend_options *options,
                                    struct ws_backend **backend, struct ws_err *err)
{
	struct ws_cuda *cuda = ws_xarray(1, sizeof(*cuda));

	cuda->base.ops = &cuda_ops;
	cuda->base.records = options->records;
	cuda->options = *options;
	enum ws_status status = open_gpu(cuda, err);
	if (status != WS_OK) {
		cuda_close(&cuda->base);
		return status;
	}
	*backend = &cuda->base;
	return WS_OK;
}
