/* The CUDA backend: choosing a GPU, its memory, and who runs an op. */
#include "kernels/cuda/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"

/* --- memory ------------------------------------------------------------------------------ */

static enum ws_status cuda_upload(struct ws_backend *backend, void *data, uint64_t offset_bytes,
                                  const void *host, uint64_t size_bytes, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	/* from pageable memory: returns once the source may change */
	WS_CUDA_TRY(cudaMemcpyAsync((char *)data + offset_bytes, host, size_bytes,
	                            cudaMemcpyHostToDevice, cuda->stream),
	            err);
	return WS_OK;
}

static enum ws_status cuda_download(struct ws_backend *backend, const void *data,
                                    uint64_t offset_bytes, void *host, uint64_t size_bytes,
                                    struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	WS_CUDA_TRY(cudaMemcpyAsync(host, (const char *)data + offset_bytes, size_bytes,
	                            cudaMemcpyDeviceToHost, cuda->stream),
	            err);
	WS_CUDA_TRY(cudaStreamSynchronize(cuda->stream), err);
	return WS_OK;
}

/* --- before the first step ------------------------------------------------------------------ */

static bool plan_has(const struct ws_backend_plan *plan, bool (*is)(const struct ws_op *))
{
	for (int i = 0; i < plan->op_count; i++)
		if (is(plan->ops[i]))
			return true;
	return false;
}

/* What the greediest op needs. */
static uint64_t plan_most(const struct ws_backend_plan *plan,
                          uint64_t (*bytes_of)(const struct ws_op *))
{
	uint64_t most_bytes = 0;

	for (int i = 0; i < plan->op_count; i++)
		if (bytes_of(plan->ops[i]) > most_bytes)
			most_bytes = bytes_of(plan->ops[i]);
	return most_bytes;
}

/* What cuDNN needs: a workspace, and behind it that of the greediest attention. */
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

static enum ws_status prepare_workspaces(struct ws_cuda *cuda, uint64_t dnn_bytes,
                                         struct ws_err *err)
{
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
	return WS_OK;
}

static enum ws_status open_dnn(struct ws_cuda *cuda, struct ws_err *err)
{
	WS_CUDNN_TRY(cudnnCreate(&cuda->dnn), err);
	WS_CUDNN_TRY(cudnnSetStream(cuda->dnn, cuda->stream), err);
	return WS_OK;
}

const char *ws_cuda_op_problem(const struct ws_op *op)
{
	for (int i = 0; i < op->in_count + op->out_count; i++)
		if (ws_op_tensor(op, i)->dtype == WS_DTYPE_F64)
			return "fp64 is for the CPU reference";
	return ws_cuda_is_attention(op) ? ws_cuda_attention_problem(op) : NULL;
}

static enum ws_status make_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan, struct ws_err *err)
{
	if (plan->op->kind == WS_OP_GEMM)
		return ws_cuda_gemm_plan(cuda, plan, err);
	return ws_cuda_is_attention(plan->op) ? ws_cuda_attention_plan(cuda, plan, err)
	                                      : ws_cuda_conv_plan(cuda, plan, err);
}

/* A plan for each op of a session that needs one. */
static enum ws_status make_plans(struct ws_cuda *cuda, const struct ws_backend_plan *session,
                                 struct ws_err *err)
{
	cuda->plans = ws_xarray((size_t)session->op_count, sizeof(*cuda->plans));
	for (int i = 0; i < session->op_count; i++) {
		const struct ws_op *op = session->ops[i];
		bool gemm = op->kind == WS_OP_GEMM && ws_cuda_is_timed(cuda);

		if (!(gemm || ws_cuda_is_conv(op) || ws_cuda_is_attention(op)) ||
		    ws_cuda_plan_of(cuda, op))
			continue;
		cuda->plans[cuda->plan_count].op = op;
		WS_FORWARD(make_plan(cuda, &cuda->plans[cuda->plan_count++], err));
	}
	return WS_OK;
}

static void close_plans(struct ws_cuda *cuda)
{
	for (int i = 0; i < cuda->plan_count; i++) {
		ws_dnn_destroy(&cuda->plans[i].dnn);
		ws_cuda_lt_close(cuda->plans[i].lt);
	}
	free(cuda->plans);
	cuda->plans = NULL;
	cuda->plan_count = 0;
}

/* What was prepared for the session before, if there was one. */
static void drop_plan(struct ws_cuda *cuda)
{
	close_plans(cuda);
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
	WS_FORWARD(prepare_workspaces(cuda, dnn_bytes, err));
	if (dnn_bytes && !cuda->dnn)
		WS_FORWARD(open_dnn(cuda, err));
	/* before the tensors take the memory that timing needs */
	WS_FORWARD(make_plans(cuda, plan, err));
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
	return ws_cuda_launcher_of(op->kind)(&launch, op, err);
}

static enum ws_status cuda_sync(struct ws_backend *backend, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	WS_CUDA_TRY(cudaStreamSynchronize(cuda->stream), err);
	return WS_OK;
}

/* --- recorded stretches: CUDA graphs --------------------------------------------------------- */

static enum ws_status cuda_record_begin(struct ws_backend *backend, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	WS_CUDA_TRY(cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal), err);
	return WS_OK;
}

static enum ws_status cuda_record_end(struct ws_backend *backend, void **recording,
                                      struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	cudaGraphExec_t executable = NULL;
	cudaGraph_t graph = NULL;
	enum ws_status status;

	WS_CUDA_TRY(cudaStreamEndCapture(cuda->stream, &graph), err);
	status = ws_cuda_check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate",
	                       err);
	cudaGraphDestroy(graph);
	*recording = executable;
	return status;
}

static enum ws_status cuda_replay(struct ws_backend *backend, void *recording, struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;

	WS_CUDA_TRY(cudaGraphLaunch(recording, cuda->stream), err);
	return WS_OK;
}

static void cuda_forget(struct ws_backend *backend, void *recording)
{
	(void)backend;
	cudaGraphExecDestroy(recording);
}

/* What a batch is drawn from, on the device. */
static enum ws_status upload_table(struct ws_cuda *cuda, const void *table, uint64_t size_bytes,
                                   struct ws_err *err)
{
	if (cuda->table_bytes < size_bytes) {
		cudaFree(cuda->table);
		cuda->table_bytes = 0;
		WS_FORWARD(ws_cuda_malloc(&cuda->table, size_bytes, "drawing a batch", err));
		cuda->table_bytes = size_bytes;
	}
	WS_CUDA_TRY(cudaMemcpyAsync(cuda->table, table, size_bytes, cudaMemcpyHostToDevice,
	                            cuda->stream),
	            err);
	return WS_OK;
}

static enum ws_status cuda_draw_images(struct ws_backend *backend,
                                       const struct ws_image_batch *batch,
                                       const struct ws_plane *planes, struct ws_tensor *t,
                                       struct ws_err *err)
{
	struct ws_cuda *cuda = (struct ws_cuda *)backend;
	struct ws_cuda_launch launch = ws_cuda_launch_on(cuda);

	WS_FORWARD(
	        upload_table(cuda, planes, (uint64_t)(batch->n * batch->c) * sizeof(*planes), err));
	return ws_cuda_draw_images(&launch, batch, cuda->table, t, err);
}

/* --- opening and closing
 * --------------------------------------------------------------------------- */

/* Answers of the libraries are of no use any more: nothing is left that could be done. */
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

/* Why no GPU answers, and the cure. */
static enum ws_status fail_no_gpu(cudaError_t error, struct ws_err *err)
{
	int driver = 0, runtime = 0;

	(void)cudaDriverGetVersion(&driver);
	(void)cudaRuntimeGetVersion(&runtime);
	WS_FAIL_IF(driver == 0 || error == cudaErrorStubLibrary, err, ENVIRONMENT,
	           "no NVIDIA driver on this machine (libcuda.so.1 is missing or a stub). "
	           "Install one for CUDA %d.%d or newer, or use --device cpu",
	           runtime / 1000, runtime % 1000 / 10);
	WS_FAIL_IF(error == cudaErrorInsufficientDriver, err, ENVIRONMENT,
	           "the NVIDIA driver is for CUDA %d.%d, but this program needs CUDA %d.%d. Update "
	           "the driver, or use --device cpu",
	           driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
	WS_FAIL_IF(error == cudaErrorNoDevice || error == cudaSuccess, err, ENVIRONMENT,
	           "the NVIDIA driver sees no GPU; see nvidia-smi and CUDA_VISIBLE_DEVICES, or use "
	           "--device cpu");
	return WS_FAIL(err, ENVIRONMENT, "no GPU answers: %s; use --device cpu",
	               cudaGetErrorString(error));
}

static enum ws_status choose_gpu(int gpu, struct ws_err *err)
{
	int count = 0;
	cudaError_t error = cudaGetDeviceCount(&count);

	if (error != cudaSuccess || count < 1)
		return fail_no_gpu(error, err);
	WS_FAIL_IF(gpu >= count, err, USAGE, "--gpu %d: there %s %d, numbered from 0", gpu,
	           count == 1 ? "is" : "are", count);
	WS_CUDA_TRY(cudaSetDevice(gpu), err);
	return WS_OK;
}

static enum ws_status describe(struct ws_cuda *cuda, int gpu, struct ws_err *err)
{
	struct cudaDeviceProp properties;
	int runtime = 0, blas = 0;

	WS_CUDA_TRY(cudaGetDeviceProperties(&properties, gpu), err);
	WS_CUDA_TRY(cudaRuntimeGetVersion(&runtime), err);
	WS_CUBLAS_TRY(cublasGetVersion(cuda->blas, &blas), err);
	cuda->sm_count = properties.multiProcessorCount;
	snprintf(cuda->base.device, sizeof(cuda->base.device), "%.70s, sm_%d%d", properties.name,
	         properties.major, properties.minor);
	snprintf(cuda->base.libraries, sizeof(cuda->base.libraries),
	         "CUDA %d.%d, cuBLAS %d.%d.%d, cuDNN %zu.%zu.%zu", runtime / 1000,
	         runtime % 1000 / 10, blas / 10000, blas / 100 % 100, blas % 100,
	         cudnnGetVersion() / 10000, cudnnGetVersion() / 100 % 100, cudnnGetVersion() % 100);
	return WS_OK;
}

static enum ws_status open_stream(struct ws_cuda *cuda, struct ws_err *err)
{
	/* split sums are put together in fp32, too: cuBLAS's default adds them in 16 bit */
	const cublasMath_t math =
	        CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

	WS_CUDA_TRY(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking), err);
	WS_CUBLAS_TRY(cublasCreate(&cuda->blas), err);
	WS_CUBLAS_TRY(cublasSetStream(cuda->blas, cuda->stream), err);
	WS_CUBLAS_TRY(cublasSetMathMode(cuda->blas, math), err);
	return WS_OK;
}

static enum ws_status open_gpu(struct ws_cuda *cuda, struct ws_err *err)
{
	const struct ws_backend_options *o = &cuda->options;
	size_t free_bytes, total_bytes;

	WS_FORWARD(choose_gpu(o->gpu, err));
	WS_FORWARD(open_stream(cuda, err));
	if (o->autotune)
		WS_CUBLAS_TRY(cublasLtCreate(&cuda->lt), err);
	WS_FORWARD(describe(cuda, o->gpu, err));
	WS_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes), err);
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
	enum ws_status status;

	cuda->base.ops = &cuda_ops;
	cuda->base.records = options->records;
	cuda->options = *options;
	status = open_gpu(cuda, err);
	if (status != WS_OK) {
		cuda_close(&cuda->base);
		return status;
	}
	*backend = &cuda->base;
	return WS_OK;
}
