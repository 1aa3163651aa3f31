/* What CUDA, cuBLAS and cuDNN answer, as status and words. */

#include "kernels/cuda/cuda.h"

/* The function's name out of the text of a call. */
static int name_length(const char *call)
{
	return (int)strcspn(call, "(");
}

enum ws_status ws_cuda_check(cudaError_t error, const char *call, struct ws_err *err)
{
	if (error == cudaSuccess)
		return WS_OK;
	WS_FAIL_IF(error == cudaErrorMemoryAllocation, err, NO_MEMORY, "%.*s: %s",
	           name_length(call), call, cudaGetErrorString(error));
	return WS_FAIL(err, ENVIRONMENT, "%.*s: %s (%s)", name_length(call), call,
	               cudaGetErrorString(error), cudaGetErrorName(error));
}

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
