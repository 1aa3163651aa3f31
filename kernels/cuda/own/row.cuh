/*
 * Kernels on rows: a row belongs to a warp where it has few packs, else to a block. What a row is
 * read for a second time comes from a cache: it was just there.
 */
#pragma once

#include "kernels/cuda/own/kernel.cuh"

/* Packs of a row for each lane of a warp, at most: longer rows have a block. */
#define WS_PACKS_OF_LANE 4

struct ws_rows {
	int64_t rows, cols;
	bool whole; /* rows of whole packs of 16 bytes; else of single elements */
	int lanes;  /* threads of a row: a warp or all of a block */
};

/* widest_bytes: of an element of what is read or written. */
static inline struct ws_rows ws_rows_of(int64_t rows, int64_t cols, size_t widest_bytes)
{
	int n = WS_ACCESS / (int)widest_bytes;
	struct ws_rows r = {rows, cols, cols % n == 0, WS_WARP};

	if (cols / (r.whole ? n : 1) > WS_WARP * WS_PACKS_OF_LANE)
		r.lanes = WS_THREADS;
	return r;
}

/* Threads of a block that has one row at a time: whole warps. */
static inline int ws_row_threads(const struct ws_rows *r, size_t widest_bytes)
{
	int n = r->whole ? WS_ACCESS / (int)widest_bytes : 1;
	int64_t threads = ws_div_up(ws_div_up(r->cols, n), WS_WARP) * WS_WARP;

	return (int)(threads < WS_THREADS ? threads : WS_THREADS);
}

static inline unsigned ws_row_grid(const struct ws_cuda_launch *launch, const struct ws_rows *r)
{
	return ws_grid(launch, ws_div_up(r->rows, WS_THREADS / r->lanes), 32);
}

/* The rows of a thread, all lanes of a row alike. */
#define WS_EACH_ROW(row, r)                                                                 \
	for (int64_t row = blockIdx.x * (WS_THREADS / (r).lanes) + threadIdx.x / (r).lanes; \
	     row < (r).rows; row += gridDim.x * (WS_THREADS / (r).lanes))
/* The first columns of the packs of a thread, up to end. */
#define WS_EACH_COL(col, r, end)                                                \
	for (int64_t col = (int64_t)(threadIdx.x % (r).lanes) * N; col < (end); \
	     col += (int64_t)(r).lanes * N)

/* Of the lanes of a row; each of them gets the result. */
static __device__ __forceinline__ float ws_row_sum(const struct ws_rows &r, float x)
{
	return r.lanes == WS_WARP ? ws_warp_sum(x) : ws_block_sum(x);
}

static __device__ __forceinline__ float ws_row_max(const struct ws_rows &r, float x)
{
	return r.lanes == WS_WARP ? ws_warp_max(x) : ws_block_max(x);
}

/* --- softmax ---------------------------------------------------------------------------------- */

/* Of values v in a row: the largest, and the sum of 2^(v - max). */
struct ws_softmax {
	float max, sum;
};

/*
 * Of scale * x over columns 0 … visible - 1, in one pass: a sum shrinks when a larger value comes.
 * exp(x) = 2^(x log2(e)) is one instruction, so scale has that factor. A NaN makes both NaN.
 */
template <typename T, int N>
static __device__ __forceinline__ struct ws_softmax
ws_row_softmax(const struct ws_rows &r, const T *x, int64_t visible, float scale)
{
	float max = -INFINITY, sum = 0, all;

	WS_EACH_COL(col, r, visible)
	{
		float v[N], larger = max;

		ws_load<T, N>(x + col, v);
		WS_UNROLL(k, N) {
			v[k] = col + k < visible ? scale * v[k] : -INFINITY;
			larger = ws_max_nan(larger, v[k]);
		}
		if (larger == -INFINITY)
			continue;
		if (larger != max)
			sum *= exp2f(max - larger);
		max = larger;
		WS_UNROLL(k, N)
			sum += exp2f(v[k] - max);
	}
	all = ws_row_max(r, max);
	return {all, ws_row_sum(r, max == -INFINITY ? 0 : sum * exp2f(max - all))};
}
