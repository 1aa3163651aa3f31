/*
 * Inside the CUDA backend (docs/dev/kernels.md): what its files share. C; needs the
 * toolkit's headers. Every call of CUDA, cuBLAS and cuDNN goes through the checks below.
 */
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "kernels/exec/backend.h"
#include "kernels/cuda/own/launch.h"

/* cuBLAS: what NVIDIA advises for Hopper. cuDNN: fixed, for it decides which algorithms may run. */
#define WS_CUDA_GEMM_WORKSPACE_BYTES ((uint64_t)32 << 20)
#define WS_CUDA_DNN_WORKSPACE_BYTES  ((uint64_t)256 << 20)

/* Device memory that stays free: kernels' code, local memory and printf buffers come from it. */
#define WS_CUDA_MARGIN_BYTES ((uint64_t)512 << 20)

struct ws_cuda_plan; /* plan.h */

struct ws_cuda {
	struct ws_backend base; /* first: the two are cast into each other */
	struct ws_backend_options options;
	int sm_count;
	cudaStream_t stream; /* of the steps */
	cublasHandle_t blas;
	void *gemm_workspace, *dnn_workspace, *scratch; /* device memory, NULL: none needed */
	uint64_t scratch_bytes;

	void *block; /* of the session's tensors */
	void *table; /* planes of a batch on the device */
	uint64_t table_bytes;

	cublasLtHandle_t lt;        /* with options.autotune */
	cudnnHandle_t dnn;          /* once there are convolutions or fused attention */
	struct ws_cuda_plan *plans; /* of the session */
	int plan_count;
};

static inline struct ws_cuda_launch ws_cuda_launch_on(const struct ws_cuda *cuda)
{
	return (struct ws_cuda_launch){cuda->stream, cuda->scratch, cuda->scratch_bytes,
	                               cuda->sm_count};
}

/* --- checks: the call's own words; out of memory is NO_MEMORY, the rest ENVIRONMENT -------- */

enum ws_status ws_cuda_check(cudaError_t error, const char *call, struct ws_err *err);
enum ws_status ws_cublas_check(cublasStatus_t status, const char *call, struct ws_err *err);
enum ws_status ws_cudnn_check(cudnnStatus_t status, const char *call, struct ws_err *err);

#define WS_CUDA_TRY(call, err)   WS_FORWARD(ws_cuda_check((call), #call, (err)))
#define WS_CUBLAS_TRY(call, err) WS_FORWARD(ws_cublas_check((call), #call, (err)))
#define WS_CUDNN_TRY(call, err)  WS_FORWARD(ws_cudnn_check((call), #call, (err)))

/* Why an op cannot run on a GPU; NULL: nothing known. */
const char *ws_cuda_op_problem(const struct ws_op *op);

/* --- memory ---------------------------------------------------------------------------------- */

/* NO_MEMORY with the bytes asked for; what: of the message. */
enum ws_status ws_cuda_malloc(void **data, uint64_t size_bytes, const char *what,
                              struct ws_err *err);
/* The same, filled with normal random numbers: algorithms are timed on these, never on zeros. */
enum ws_status ws_cuda_random(struct ws_cuda *cuda, int64_t count, enum ws_dtype dtype, void **data,
                              struct ws_err *err);

/* --- choosing algorithms by time -------------------------------------------------------------- */

/* Not with --deterministic: what is fastest differs from run to run, and so would sums. */
static inline bool ws_cuda_is_timed(const struct ws_cuda *cuda)
{
	return cuda->options.autotune && !cuda->options.deterministic;
}

/* The median time of some runs on the stream of the steps, after one that is not timed. */
enum ws_status ws_cuda_time(struct ws_cuda *cuda, enum ws_status (*run)(void *arg, struct ws_err *),
                            void *arg, float *median_ms, struct ws_err *err);

/* --- what libraries compute: matrix products, convolutions, fused attention ------------------- */

/* The oldest cuDNN whose engines of attention are right and need no help. */
#define WS_CUDA_ATTENTION_CUDNN 91002
/* The same, backwards for a context that is no multiple of 128: before it wants a padding mask. */
#define WS_CUDA_ODD_ATTENTION_CUDNN 91501

bool ws_cuda_is_conv(const struct ws_op *op);
bool ws_cuda_is_attention(const struct ws_op *op);
/* Why this attention cannot run, and the cure; NULL: nothing known. */
const char *ws_cuda_attention_problem(const struct ws_op *op);
/* What an op needs behind cuDNN's own workspace. */
uint64_t ws_cuda_attention_workspace_bytes(const struct ws_op *op);

enum ws_status ws_cuda_gemm_run(struct ws_cuda *cuda, const struct ws_op *op, struct ws_err *err);
enum ws_status ws_cuda_conv_run(struct ws_cuda *cuda, const struct ws_op *op, struct ws_err *err);
enum ws_status ws_cuda_attention_run(struct ws_cuda *cuda, const struct ws_op *op,
                                     struct ws_err *err);
