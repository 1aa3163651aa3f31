/*
 * What the kernels on rows share: a row that a block keeps in shared memory between its
 * passes over it, sums of what blocks left in scratch, and refusing dtypes.
 */
#ifndef WS_KERNELS_CUDA_ROW_CUH
#define WS_KERNELS_CUDA_ROW_CUH

#include "kernels/cuda/own/kernel.cuh"

/* The dtypes of kernels whose operands and results are all of one: X(ID, type, suffix) */
#define WS_CUDA_FLOATS(X)          \
	X(F32, float, f32)         \
	X(F16, struct ws_f16, f16) \
	X(BF16, struct ws_bf16, bf16)

static inline enum ws_status ws_cuda_no_kernel(const struct ws_op *op, struct ws_err *err)
{
	char name[96];

	return WS_FAIL(err, BUG, "op %s: there is no CUDA kernel %s", op->message,
	               ws_op_kernel_name(op, name, sizeof(name)));
}

/* A launcher's own check before it writes sums. */
static inline enum ws_status ws_cuda_scratch_check(const struct ws_cuda_launch *launch,
                                                   const struct ws_op *op, struct ws_err *err)
{
	uint64_t need = ws_cuda_scratch_bytes(op);

	WS_FAIL_IF(launch->scratch_bytes < need, err, BUG,
	           "op %s needs %llu bytes of scratch and was given %llu", op->message,
	           (unsigned long long)need, (unsigned long long)launch->scratch_bytes);
	return WS_OK;
}

/* Threads for a row of cols elements, n a thread and turn: whole warps, `most` at most. */
static inline int ws_row_threads(int64_t cols, int n, int most)
{
	int64_t threads = ws_div_up(ws_div_up(cols, n), WS_WARP) * WS_WARP;

	return (int)(threads < most ? threads : most);
}

/* --- a row in dynamic shared memory ------------------------------------------------------------
 */

/* 48 KiB need no opting in; the rest is for the reductions. 12,160 columns. */
#define WS_ROW_SHARED_BYTES (48 * 1024 - 512)

/* Of fp32 values of a row that `threads` threads keep, n each and turn; 0: it does not fit. */
static inline size_t ws_row_shared_bytes(int64_t cols, int threads, int n)
{
	int64_t turn = (int64_t)threads * n, bytes = ws_div_up(cols, turn) * turn * 4;

	return bytes <= WS_ROW_SHARED_BYTES ? (size_t)bytes : 0;
}

/*
 * Where a thread keeps the N values of its turn: it alone reads them again, so no barrier is
 * needed. Neighbours' accesses of 16 bytes are neighbours, whatever N is: no bank conflicts.
 */
template <int N>
static __device__ __forceinline__ void ws_row_keep(float *row, int turn, const float (&x)[N])
{
	constexpr int W = N < 4 ? N : 4;

#pragma unroll
	for (int i = 0; i < N; i += W) {
		float part[W];

		for (int k = 0; k < W; k++)
			part[k] = x[i + k];
		ws_store<float, W>(
		        row + ((turn * (N / W) + i / W) * (int)blockDim.x + (int)threadIdx.x) * W,
		        part);
	}
}

template <int N>
static __device__ __forceinline__ void ws_row_kept(const float *row, int turn, float (&x)[N])
{
	constexpr int W = N < 4 ? N : 4;

#pragma unroll
	for (int i = 0; i < N; i += W) {
		float part[W];

		ws_load<float, W>(
		        row + ((turn * (N / W) + i / W) * (int)blockDim.x + (int)threadIdx.x) * W,
		        part);
		for (int k = 0; k < W; k++)
			x[i + k] = part[k];
	}
}

/* --- sums of slices -------------------------------------------------------------------------- */

#define WS_SLICES_THREADS 256

/*
 * sums[0 ... slices - 1][col] added up, always in the same order: by blocks of WS_SLICES_THREADS
 * threads for COLUMNS neighbours, of which a thread has threadIdx.x % COLUMNS; the first COLUMNS
 * threads get the result.
 */
template <int COLUMNS = WS_WARP>
static __device__ __forceinline__ float ws_slices_sum(const float *sums, int slices, int64_t cols,
                                                      int64_t col)
{
	constexpr int ROWS = WS_SLICES_THREADS / COLUMNS;
	__shared__ float partial[ROWS][COLUMNS];
	int lane = threadIdx.x % COLUMNS, row = threadIdx.x / COLUMNS;
	float sum = 0;

	if (col < cols)
#pragma unroll 4
		for (int slice = row; slice < slices; slice += ROWS)
			sum += sums[slice * cols + col];
	partial[row][lane] = sum;
	__syncthreads();
	sum = 0;
	for (int i = 0; i < ROWS; i++)
		sum += partial[i][lane];
	__syncthreads();
	return sum;
}

#endif
