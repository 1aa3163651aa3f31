/*
 * What the kernels on rows share: a row that a block keeps in shared memory between its
 * passes over it, sums of what blocks left in scratch, and refusing dtypes.
 */
#pragma once

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

#define WS_LAUNCH_CASE(ID, type, ...)            \
	case WS_DTYPE_##ID: {                    \
		using T [[maybe_unused]] = type; \
		return WS_LAUNCH(__VA_ARGS__);   \
	}
/*
 * The end of a launcher: the kernel NAME_f32, NAME_f16 or NAME_bf16 of a dtype, as WS_LAUNCH has
 * it, in whose arguments T is the type of elements; any other dtype is refused.
 */
#define WS_LAUNCH_FLOATS(launch, op, err, dtype, name, ...)                                 \
	switch (dtype) {                                                                    \
		WS_LAUNCH_CASE(F32, float, launch, err, name##_f32, __VA_ARGS__)            \
		WS_LAUNCH_CASE(F16, struct ws_f16, launch, err, name##_f16, __VA_ARGS__)    \
		WS_LAUNCH_CASE(BF16, struct ws_bf16, launch, err, name##_bf16, __VA_ARGS__) \
	default:                                                                            \
		return ws_cuda_no_kernel(op, err);                                          \
	}

/*
 * A kernel whose threads take packs of N elements of type T, or where `whole` does not hold single
 * ones: body<T, N>(...). bounds: in brackets, of __launch_bounds__; so are the parameters.
 */
#define WS_PACK_KERNEL(bounds, name, T, whole, body, parameters, ...)   \
	static __global__ void __launch_bounds__ bounds name parameters \
	{                                                               \
		constexpr int N = WS_ACCESS / sizeof(T);                \
                                                                        \
		if (whole)                                              \
			body<T, N>(__VA_ARGS__);                        \
		else                                                    \
			body<T, 1>(__VA_ARGS__);                        \
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

/* --- packs that move to other places ---------------------------------------------------------- */

#define WS_MOVE_THREADS 256
#define WS_MOVE_PACKS   4 /* of a thread and turn */

/* Pack i of m.out is pack m.from(i) of m.in, for i < m.packs. */
template <typename T, int N, typename Move>
static __device__ __forceinline__ void ws_move_packs(const Move &m)
{
	const struct ws_pack<T, N> *in = (const struct ws_pack<T, N> *)m.in;
	struct ws_pack<T, N> *out = (struct ws_pack<T, N> *)m.out;
	constexpr int64_t TURN = (int64_t)WS_MOVE_THREADS * WS_MOVE_PACKS;
	int64_t first = blockIdx.x * TURN + threadIdx.x;

#pragma unroll 1
	for (; first < m.packs; first += gridDim.x * TURN) {
		struct ws_pack<T, N> pack[WS_MOVE_PACKS];

		WS_UNROLL(u, WS_MOVE_PACKS) {
			int64_t to = first + u * WS_MOVE_THREADS;

			pack[u] = in[m.from(to < m.packs ? to : first)];
		}
		WS_UNROLL(u, WS_MOVE_PACKS)
			if (first + u * WS_MOVE_THREADS < m.packs)
				out[first + u * WS_MOVE_THREADS] = pack[u];
	}
}

static inline unsigned ws_move_grid(const struct ws_cuda_launch *launch, int64_t packs)
{
	return ws_grid(launch, ws_div_up(packs, WS_MOVE_THREADS * WS_MOVE_PACKS), 32);
}

/* --- a row in dynamic shared memory ----------------------------------------------------------- */

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

/* --- sums of threads -------------------------------------------------------------------------- */

/* Of threads of a block that are `lanes` apart, into those of the first `lanes` threads. */
template <int THREADS, int N>
static __device__ __forceinline__ void ws_add_groups(float (&sum)[N], int lanes)
{
	__shared__ float all[N][THREADS];
	int self = threadIdx.x;

	WS_UNROLL(k, N)
		all[k][self] = sum[k];
	for (int half = THREADS / 2; half >= lanes; half /= 2) {
		__syncthreads();
		if (self < half)
			WS_UNROLL(k, N)
				all[k][self] = sum[k] += all[k][self + half];
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
