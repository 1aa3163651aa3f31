/*
 * Kernels that walk over [outer, channels, inner] (columns.h). With inner = 1 a thread has 16
 * bytes of neighbouring channels and walks down rows; else a block has one channel and walks along
 * its stretches. So what belongs to a channel stays in registers.
 */
#pragma once

#include "kernels/cuda/own/kernel.cuh"

#include "kernels/cuda/own/columns.h"

struct channels {
	struct ws_columns columns;
	struct ws_divisor run;
};

static inline struct channels channels_of(const struct ws_op *op)
{
	struct channels c = {ws_columns_of(op), {}};

	if (c.columns.run)
		c.run = ws_divisor_of(c.columns.run);
	return c;
}

static inline dim3 channels_grid(const struct channels &c)
{
	return dim3((unsigned)c.columns.tiles, (unsigned)c.columns.slices);
}

/* A kernel's body<T, N, RUN>(c, a) for what the tensor is like: stretches or rows, packs or not. */
#define WS_CHANNEL_KERNEL(name, T, body, ...)                           \
	static __global__ void __launch_bounds__(WS_COLUMNS_THREADS, 4) \
	        name(struct channels c, __VA_ARGS__ a)                  \
	{                                                               \
		constexpr int N = WS_ACCESS / sizeof(T);                \
                                                                        \
		if (c.columns.run && c.columns.width > 1)               \
			body<T, N, true>(c, a);                         \
		else if (c.columns.run)                                 \
			body<T, 1, true>(c, a);                         \
		else if (c.columns.width > 1)                           \
			body<T, N, false>(c, a);                        \
		else                                                    \
			body<T, 1, false>(c, a);                        \
	}

/* The first channel of a thread, of N side by side unless RUN; channels or more: it has none. */
template <int N, bool RUN>
static __device__ __forceinline__ int64_t ws_channel(const struct channels &c)
{
	int lane = (int)threadIdx.x % c.columns.lanes;

	return RUN ? (int64_t)blockIdx.x : ((int64_t)blockIdx.x * c.columns.lanes + lane) * N;
}

/* each(offset of a pack) for those of a thread's channels in the slice of its block. */
template <int N, bool RUN, typename Each>
static __device__ __forceinline__ void ws_each_pack(const struct channels &c, Each each)
{
	int64_t channel = ws_channel<N, RUN>(c), channels = c.columns.channels;
	int64_t item = blockIdx.y * c.columns.slice_items + threadIdx.x / c.columns.lanes;
	int64_t end = (blockIdx.y + 1) * c.columns.slice_items;

	if (end > c.columns.items)
		end = c.columns.items;
	if (channel >= channels)
		return;
#pragma unroll 4
	for (; item < end; item += WS_COLUMNS_THREADS / c.columns.lanes) {
		int64_t stretch = RUN ? ws_quotient(item, c.run) : 0;

		each(RUN ? (item + (stretch * (channels - 1) + channel) * c.columns.run) * N
		         : item * channels + channel);
	}
}

/*
 * Sums of a slice, each of its channels: add(offset of a pack, sum) adds to SUMS numbers of each
 * of a thread's channels, number i of channel k at sum[i * K + k], K = RUN ? 1 : N.
 * sums: [SUMS][slices][channels].
 */
template <int N, bool RUN, int SUMS, typename Add>
static __device__ __forceinline__ void ws_slice_sums(const struct channels &c, float *sums, Add add)
{
	constexpr int K = RUN ? 1 : N;
	__shared__ float all[SUMS * K][WS_COLUMNS_THREADS];
	int64_t channel = ws_channel<N, RUN>(c);
	int self = threadIdx.x;
	float sum[SUMS * K] = {0};

	ws_each_pack<N, RUN>(c, [&](int64_t offset) { add(offset, sum); });
	WS_UNROLL(k, SUMS * K)
		all[k][self] = sum[k];
	for (int half = WS_COLUMNS_THREADS / 2; half >= c.columns.lanes; half /= 2) {
		__syncthreads();
		if (self < half)
			WS_UNROLL(k, SUMS * K)
				all[k][self] = sum[k] += all[k][self + half];
	}
	if (self >= c.columns.lanes || channel >= c.columns.channels)
		return;
	WS_UNROLL(k, SUMS * K)
		sums[(k / K * c.columns.slices + blockIdx.y) * c.columns.channels + channel +
		     k % K] = sum[k];
}

/* --- sums of slices -------------------------------------------------------------------------- */

/* Columns of a block of WS_COLUMNS_THREADS: a sector of 32 bytes of each row of sums. */
#define WS_SLICES_COLUMNS 8

static inline unsigned ws_slices_grid(int64_t cols)
{
	return (unsigned)ws_div_up(cols, WS_SLICES_COLUMNS);
}

/* The column of a thread; that of the first WS_SLICES_COLUMNS threads gets what it sums. */
static __device__ __forceinline__ int64_t ws_slices_column(void)
{
	return (int64_t)blockIdx.x * WS_SLICES_COLUMNS + threadIdx.x % WS_SLICES_COLUMNS;
}

/* sums[0 ... slices - 1][column] added up, always in the same order. */
static __device__ __forceinline__ float ws_slices_sum(const float *sums, int slices, int64_t cols)
{
	constexpr int ROWS = WS_COLUMNS_THREADS / WS_SLICES_COLUMNS;
	__shared__ float partial[ROWS][WS_SLICES_COLUMNS];
	int lane = threadIdx.x % WS_SLICES_COLUMNS, row = threadIdx.x / WS_SLICES_COLUMNS;
	int64_t col = ws_slices_column();
	float sum = 0;

	if (col < cols)
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

/* The whole of a kernel that adds slices into a tensor of type T. */
template <typename T>
static __device__ __forceinline__ void ws_slices_total(const float *sums, T *out, int slices,
                                                       int64_t cols)
{
	float sum = ws_slices_sum(sums, slices, cols);
	int64_t col = ws_slices_column();

	if (threadIdx.x < WS_SLICES_COLUMNS && col < cols)
		out[col] = ws_from_f32<T>(sum);
}
