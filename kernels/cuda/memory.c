/* Device memory outside the arena. */
#include <inttypes.h>

#include "kernels/cuda/cuda.h"

enum ws_status ws_cuda_malloc(void **data, uint64_t size_bytes, const char *what,
                              struct ws_err *err)
{
	cudaError_t error = cudaMalloc(data, size_bytes);

	if (error == cudaSuccess)
		return WS_OK;
	*data = NULL;
	(void)cudaGetLastError(); /* the error is told here; it must not surface at a launch */
	WS_FAIL_IF(error == cudaErrorMemoryAllocation, err, NO_MEMORY,
	           "the device has no %" PRIu64 " bytes for %s", size_bytes, what);
	return ws_cuda_check(error, "cudaMalloc", err);
}

enum ws_status ws_cuda_random(struct ws_cuda *cuda, int64_t count, enum ws_dtype dtype, void **data,
                              struct ws_err *err)
{
	struct ws_tensor t = {.dtype = dtype,
	                      .count = count,
	                      .shape = {.ndim = 1, .dim = {count}},
	                      .init = {WS_INIT_NORMAL, 1}};
	struct ws_cuda_launch launch = ws_cuda_launch_on(cuda);
	struct ws_cuda_draw draw = {.t = &t, .rng = ws_rng_stream(1, "autotune"), .count = count};

	WS_FORWARD(ws_cuda_malloc(data, (uint64_t)count * ws_dtype_size(dtype), "timing algorithms",
	                          err));
	t.data = *data;
	return ws_cuda_draw(&launch, &draw, err);
}
