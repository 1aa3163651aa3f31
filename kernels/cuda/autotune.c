/* Timing what a library proposes. */
#include <stdlib.h>

#include "kernels/cuda/cuda.h"

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
		WS_CUDA_TRY(cudaEventRecord(event[0], stream), err);
		WS_FORWARD(run(arg, err));
		WS_CUDA_TRY(cudaEventRecord(event[1], stream), err);
		WS_CUDA_TRY(cudaEventSynchronize(event[1]), err);
		WS_CUDA_TRY(cudaEventElapsedTime(&ms[i], event[0], event[1]), err);
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
		status = ws_cuda_check(cudaEventCreate(&event[i]), "cudaEventCreate", err);
	WS_THEN(status, time_runs(cuda, event, run, arg, median_ms, err));
	for (int i = 0; i < 2; i++)
		if (event[i])
			cudaEventDestroy(event[i]);
	return status;
}
