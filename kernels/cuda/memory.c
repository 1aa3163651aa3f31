/* Device memory. */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "kernels/base/rng_normal.h"
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

/* Elements that are drawn; what is longer repeats them. */
#define DRAWN ((int64_t)1 << 20)

static enum ws_status fill_random(struct ws_cuda *cuda, char *data, int64_t count,
                                  enum ws_dtype dtype, struct ws_err *err)
{
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
		error = cudaMemcpyAsync(data + (size_t)i * size, encoded,
		                        (size_t)(count - i < drawn ? count - i : drawn) * size,
		                        cudaMemcpyHostToDevice, cuda->stream);
	free(values);
	free(encoded); /* pageable memory: each copy returned once its source may change */
	return ws_cuda_check(error, "cudaMemcpyAsync", err);
}

enum ws_status ws_cuda_random(struct ws_cuda *cuda, int64_t count, enum ws_dtype dtype, void **data,
                              struct ws_err *err)
{
	WS_FORWARD(ws_cuda_malloc(data, (uint64_t)count * ws_dtype_size(dtype), "timing algorithms",
	                          err));
	return fill_random(cuda, *data, count, dtype, err);
}
