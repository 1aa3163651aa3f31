/*
 * Code shared by the .cu files: dtypes of elements, 16-byte accesses, reductions of warps and
 * blocks, and launching. Kernels are plain: a thread waits for one access at a time. Each file
 * holds static __global__ kernels named ws_<class>_<op>[_fwd|_bwd]_<dtypes> (as ws_op_kernel_name()
 * builds it) and extern "C" launchers (launch.h).
 *
 * The same files are compiled for the host in tests: there WS_CUDA_HOST is defined and a
 * header given on the command line takes CUDA's place (docs/dev/kernels.md). Kernels may use
 * only the parts of CUDA that this header has: __global__, __launch_bounds__, __device__,
 * __shared__, threadIdx/blockIdx/blockDim/gridDim, __syncthreads, __syncwarp, __shfl_sync,
 * __shfl_xor_sync, __shfl_down_sync, __shfl_up_sync, __ballot_sync, __any_sync, __all_sync,
 * __popc, __ffs, __umulhi, __ldg, atomics on whole numbers, expf, logf, sqrtf, tanhf, sinf, cosf,
 * fmaf, fminf, fmaxf, rsqrt written as 1 / sqrtf. Formulas of elements: kernels/graph/element.h.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef WS_CUDA_HOST
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif

typedef float ws_real;
#define WS_REAL_EXP  expf
#define WS_REAL_LOG  logf
#define WS_REAL_SQRT sqrtf
#define WS_REAL_TANH tanhf
extern "C" { /* declarations with C linkage */
#include "formats/base/status.h"
#include "kernels/exec/exec.h"
#include "kernels/graph/element.h"
}
#include "kernels/cuda/own/launch.h"

#ifndef WS_CUDA_HOST

/* Launches the kernel with `shared_bytes` of dynamic shared memory; returns CUDA's error. */
#define WS_LAUNCH(launch, err, kernel, grid, block, shared_bytes, ...)                             \
	(kernel<<<(grid), (block), (shared_bytes), (cudaStream_t)(launch)->stream>>>(__VA_ARGS__), \
	 ws_cuda_launched(#kernel, (err)))

/* Dynamic shared memory inside a kernel: TYPE *name. */
#define WS_SHARED_DYNAMIC(type, name)                               \
	extern __shared__ __align__(16) unsigned char ws_shared_[]; \
	type *name = (type *)ws_shared_

static inline enum ws_status ws_cuda_launched(const char *kernel, struct ws_err *err)
{
	cudaError_t error = cudaGetLastError();

	WS_FAIL_IF(error != cudaSuccess, err, ENVIRONMENT, "kernel %s was not launched: %s", kernel,
	           cudaGetErrorString(error));
	return WS_OK;
}
#endif

#define WS_WARP    32
#define WS_FULL    0xffffffffu /* all lanes of a warp */
#define WS_ACCESS  16          /* bytes of one access of a thread */
#define WS_THREADS 256         /* threads per block, unless a kernel has another number */

/* A loop over i = 0 … n - 1 that is unrolled, so that what i indexes can stay in registers. */
#define WS_UNROLL(i, n) _Pragma("unroll") for (int i = 0; i < (n); i++)

/*
 * Threads of all blocks take items 0 … count - 1 in turns. One access of 16 bytes for each thread
 * is enough on its way where a multiprocessor holds 1024 threads or more.
 */
#define WS_EACH_ITEM(i, count)                                                        \
	for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (count); \
	     i += (int64_t)gridDim.x * blockDim.x)

/* --- elements ------------------------------------------------------------------------------ */

struct ws_f16 {
	uint16_t bits;
};
struct ws_bf16 {
	uint16_t bits;
};

static __device__ __forceinline__ float ws_to_f32(float x)
{
	return x;
}

static __device__ __forceinline__ float ws_to_f32(struct ws_f16 x)
{
#ifdef WS_CUDA_HOST
	return ws_f16_to_f32(x.bits);
#else
	return __half2float(__ushort_as_half(x.bits));
#endif
}

static __device__ __forceinline__ float ws_to_f32(struct ws_bf16 x)
{
#ifdef WS_CUDA_HOST
	return ws_bf16_to_f32(x.bits);
#else
	return __bfloat162float(__ushort_as_bfloat16(x.bits));
#endif
}

/* To nearest, ties to even. */
template <typename T> static __device__ __forceinline__ T ws_from_f32(float x);
template <> __device__ __forceinline__ float ws_from_f32<float>(float x)
{
	return x;
}
template <> __device__ __forceinline__ struct ws_f16 ws_from_f32<struct ws_f16>(float x) {
	struct ws_f16 y;
#ifdef WS_CUDA_HOST
	y.bits = ws_f32_to_f16(x);
#else
	y.bits = __half_as_ushort(__float2half_rn(x));
#endif
	return y;
} template <> __device__ __forceinline__ struct ws_bf16 ws_from_f32<struct ws_bf16>(float x) {
	struct ws_bf16 y;
#ifdef WS_CUDA_HOST
	y.bits = ws_f32_to_bf16(x);
#else
	y.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
#endif
	return y;
}

/* N elements that are loaded and stored at once: aligned to their size, 16 bytes at most. */
template <typename T, int N>
struct alignas(sizeof(T) * N) ws_pack {
	T at[N];
};

template <typename T, int N>
static __device__ __forceinline__ void ws_load(const T *from, float (&x)[N])
{
	const struct ws_pack<T, N> pack = *(const struct ws_pack<T, N> *)from;

	WS_UNROLL(i, N)
		x[i] = ws_to_f32(pack.at[i]);
}

template <typename T, int N>
static __device__ __forceinline__ void ws_store(T *to, const float (&x)[N])
{
	struct ws_pack<T, N> pack;

	WS_UNROLL(i, N)
		pack.at[i] = ws_from_f32<T>(x[i]);
	*(struct ws_pack<T, N> *)to = pack;
}

/* The same of fp32 or 16-bit elements (enum ws_dtype), beside a kernel's own type T. */
template <typename T, int N>
static __device__ __forceinline__ void ws_load_mixed(const void *data, int dtype, int64_t i,
                                                     float (&x)[N])
{
	if (sizeof(T) == 2 || dtype == WS_DTYPE_F32)
		ws_load<T, N>((const T *)data + i, x);
	else if (dtype == WS_DTYPE_BF16)
		ws_load<struct ws_bf16, N>((const struct ws_bf16 *)data + i, x);
	else
		ws_load<struct ws_f16, N>((const struct ws_f16 *)data + i, x);
}

/* N elements as they are, by accesses of 16 bytes at most. */
template <typename T, int N>
static __device__ __forceinline__ void ws_store_wide(T *to, const T (&x)[N])
{
	constexpr int W = N * sizeof(T) < WS_ACCESS ? N : WS_ACCESS / (int)sizeof(T);

#pragma unroll
	for (int i = 0; i < N; i += W) {
		struct ws_pack<T, W> pack;

		WS_UNROLL(k, W)
			pack.at[k] = x[i + k];
		*(struct ws_pack<T, W> *)(to + i) = pack;
	}
}

/* --- reductions: every lane, or every thread of the block, gets the result ------------------- */

enum ws_reduction { WS_REDUCE_SUM, WS_REDUCE_MAX };

template <enum ws_reduction R> static __device__ __forceinline__ float ws_warp_reduce(float x)
{
	for (int step = WS_WARP / 2; step; step /= 2) {
		float other = __shfl_xor_sync(WS_FULL, x, step);

		x = R == WS_REDUCE_MAX ? ws_max_nan(x, other) : x + other;
	}
	return x;
}

/* Of all threads of a block, whose size is a multiple of 32: always in the same order. */
template <enum ws_reduction R> static __device__ __forceinline__ float ws_block_reduce(float x)
{
	__shared__ float partial[WS_WARP];
	int lane = threadIdx.x % WS_WARP, warp = threadIdx.x / WS_WARP;
	int warps = blockDim.x / WS_WARP;

	x = ws_warp_reduce<R>(x);
	if (lane == 0)
		partial[warp] = x;
	__syncthreads();
	x = ws_warp_reduce<R>(lane < warps ? partial[lane] : R == WS_REDUCE_MAX ? -INFINITY : 0);
	__syncthreads();
	return x;
}

/* --- which kernel ---------------------------------------------------------------------------- */

/*
 * The kernel of a launcher as a number for case labels: the parts of ws_op_kernel_name().
 * direction: forward, backward or none; in, out: f32, bf16 or f16.
 */
#define WS_KERNEL_KEY(SUB, direction, in, out)                                         \
	ws_kernel_key(WS_SUB_##SUB, WSNVTX_DIRECTION_##direction, WS_KERNEL_NVTX_##in, \
	              WS_KERNEL_DTYPE_##out)
#define WS_KERNEL_NVTX_f32   WSNVTX_DTYPE_fp32
#define WS_KERNEL_NVTX_bf16  WSNVTX_DTYPE_bf16
#define WS_KERNEL_NVTX_f16   WSNVTX_DTYPE_fp16
#define WS_KERNEL_DTYPE_f32  WS_DTYPE_F32
#define WS_KERNEL_DTYPE_bf16 WS_DTYPE_BF16
#define WS_KERNEL_DTYPE_f16  WS_DTYPE_F16
/* The type of elements. */
#define WS_KERNEL_TYPE_f32  float
#define WS_KERNEL_TYPE_bf16 struct ws_bf16
#define WS_KERNEL_TYPE_f16  struct ws_f16

static inline constexpr int ws_kernel_key(int sub, int direction, int in, int out)
{
	return ((sub * 4 + direction) * 16 + in) * 16 + out;
}

static inline int ws_kernel_key_of(const struct ws_op *op)
{
	return ws_kernel_key(op->sub, op->payload.direction, op->payload.dtype, op->out[0]->dtype);
}

/* The head of the launcher of an op (launch.h), whose body sees launch, op and err. */
#define WS_LAUNCHER(name)                                                             \
	extern "C" enum ws_status ws_cuda_##name(const struct ws_cuda_launch *launch, \
	                                         const struct ws_op *op, struct ws_err *err)

/* --- launching ------------------------------------------------------------------------------- */

/* The dtypes of kernels whose operands and results are all of one: X(ID, type, suffix) */
#define WS_CUDA_FLOATS(X)          \
	X(F32, float, f32)         \
	X(F16, struct ws_f16, f16) \
	X(BF16, struct ws_bf16, bf16)
/* The same of kernels that also read numbers in fp32. */
#define WS_CUDA_FLOATS_OF_F32(X)       \
	X(F32, float, f32)             \
	X(F16, struct ws_f16, f32_f16) \
	X(BF16, struct ws_bf16, f32_bf16)

static inline enum ws_status ws_cuda_no_kernel(const struct ws_op *op, struct ws_err *err)
{
	char name[96];

	return WS_FAIL(err, BUG, "op %s: there is no CUDA kernel %s", op->message,
	               ws_op_kernel_name(op, name, sizeof(name)));
}

/* Whether operands and results are of the dtype of the first result, but for whole numbers. */
static inline bool ws_cuda_has_one_dtype(const struct ws_op *op)
{
	for (int i = 0; i < op->in_count + op->out_count; i++)
		if (ws_dtype_is_float(ws_op_tensor(op, i)->dtype) &&
		    ws_op_tensor(op, i)->dtype != op->out[0]->dtype)
			return false;
	return true;
}

#define WS_LAUNCH_CASE(ID, type, ...)            \
	case WS_DTYPE_##ID: {                    \
		using T [[maybe_unused]] = type; \
		return WS_LAUNCH(__VA_ARGS__);   \
	}
/*
 * The end of a launcher of an op of one dtype: the kernel NAME_f32, NAME_f16 or NAME_bf16, as
 * WS_LAUNCH has it, in whose arguments T is the type of elements; anything else is refused.
 */
#define WS_LAUNCH_FLOATS(launch, op, err, name, ...)                                        \
	switch (ws_cuda_has_one_dtype(op) ? op->out[0]->dtype : WS_DTYPE_I32) {             \
		WS_LAUNCH_CASE(F32, float, launch, err, name##_f32, __VA_ARGS__)            \
		WS_LAUNCH_CASE(F16, struct ws_f16, launch, err, name##_f16, __VA_ARGS__)    \
		WS_LAUNCH_CASE(BF16, struct ws_bf16, launch, err, name##_bf16, __VA_ARGS__) \
	default:                                                                            \
		return ws_cuda_no_kernel(op, err);                                          \
	}
/* The same for ops with a kernel for fp32 only. */
#define WS_LAUNCH_F32(launch, op, err, ...)                                  \
	if (!ws_cuda_has_one_dtype(op) || op->out[0]->dtype != WS_DTYPE_F32) \
		return ws_cuda_no_kernel(op, err);                           \
	return WS_LAUNCH(launch, err, __VA_ARGS__)

/*
 * A kernel whose threads take `wide` elements at a time or, where `whole` does not hold, `narrow`
 * ones: a call, of which N is that number. bounds: in brackets, of __launch_bounds__; so are the
 * parameters.
 */
#define WS_WIDE_KERNEL(bounds, name, wide, narrow, whole, parameters, ...) \
	static __global__ void __launch_bounds__ bounds name parameters    \
	{                                                                  \
		constexpr int N = wide;                                    \
                                                                           \
		if (whole) {                                               \
			__VA_ARGS__;                                       \
		} else {                                                   \
			constexpr int N = narrow;                          \
			__VA_ARGS__;                                       \
		}                                                          \
	}
/* Packs of N elements of type T, or single ones: body<T, N>(...). */
#define WS_PACK_KERNEL(bounds, name, T, whole, body, parameters, ...)             \
	WS_WIDE_KERNEL(bounds, name, WS_ACCESS / sizeof(T), 1, whole, parameters, \
	               body<T, N>(__VA_ARGS__))

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

/* --- sizes of grids -------------------------------------------------------------------------- */

/* Blocks for `items` blocks' worth of work in a grid-stride loop: waves × what the GPU holds at
 * most. */
static inline unsigned ws_grid(const struct ws_cuda_launch *launch, int64_t items,
                               int blocks_per_sm)
{
	int64_t most = (int64_t)launch->sm_count * blocks_per_sm;

	return (unsigned)(items < 1 ? 1 : items < most ? items : most);
}

/* Blocks of WS_THREADS for WS_EACH_ITEM. */
static inline unsigned ws_item_grid(const struct ws_cuda_launch *launch, int64_t items)
{
	return ws_grid(launch, ws_div_up(items, WS_THREADS), 32);
}
