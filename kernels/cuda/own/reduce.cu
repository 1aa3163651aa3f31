/*
 * Row reductions, column sums and the gradient of a bias. Sums are fp32, of some dozens of
 * elements each, which are then added pairwise: in the same order on each run and each GPU.
 */
#include "kernels/cuda/own/row.cuh"

#include "kernels/cuda/own/columns.h"

#define THREADS 256
#define WAVES   32 /* blocks for each multiprocessor */

/* --- rows: max, sum, mean --------------------------------------------------------------------- */

#define ROW_PACKS 4 /* of a thread and turn: 64 bytes on their way */

/* Packs of a row from which on it is worth a block instead of a part of a warp. */
#define ROW_PACKS_OF_WARP ((int64_t)WS_WARP * ROW_PACKS * 2)

struct rows {
	const void *in;
	void *out;
	int64_t rows, cols;
	bool whole; /* rows of whole packs of 16 bytes; else of single elements */
	int lanes;  /* that share a row, a power of two; 0: a block for each row */
};

static __device__ __forceinline__ float combine(bool max, float a, float b)
{
	return max ? ws_max_nan(a, b) : a + b;
}

/* What thread `lane` of `lanes` finds in a row. */
template <typename T, int N>
static __device__ __forceinline__ float row_part(const T *row, int64_t packs, int lane, int lanes,
                                                 bool max)
{
	const float none = max ? -INFINITY : 0;
	float part[N];

	WS_UNROLL(k, N)
		part[k] = none;
#pragma unroll 1
	for (int64_t first = lane; first < packs; first += (int64_t)lanes * ROW_PACKS) {
		float x[ROW_PACKS][N];

		WS_UNROLL(u, ROW_PACKS) {
			int64_t pack = first + (int64_t)u * lanes;

			ws_load<T, N>(row + (pack < packs ? pack : first) * N, x[u]);
		}
		WS_UNROLL(u, ROW_PACKS)
			WS_UNROLL(k, N)
				part[k] = combine(max, part[k],
				                  first + (int64_t)u * lanes < packs ? x[u][k]
				                                                     : none);
	}
#pragma unroll
	for (int half = N / 2; half; half /= 2)
		WS_UNROLL(k, half)
			part[k] = combine(max, part[k], part[k + half]);
	return part[0];
}

template <typename T>
static __device__ __forceinline__ void row_store(const struct rows &r, enum ws_sub sub, int64_t row,
                                                 float x)
{
	((T *)r.out)[row] = ws_from_f32<T>(sub == WS_SUB_MEAN ? x / (float)r.cols : x);
}

template <typename T, int N>
static __device__ __forceinline__ void rows_by_blocks(const struct rows &r, enum ws_sub sub)
{
	__shared__ float partial[WS_WARP];
	bool max = sub == WS_SUB_MAX;

#pragma unroll 1
	for (int64_t row = blockIdx.x; row < r.rows; row += gridDim.x) {
		float x = row_part<T, N>((const T *)r.in + row * r.cols, r.cols / N, threadIdx.x,
		                         THREADS, max);

		x = max ? ws_block_max(x, partial) : ws_block_sum(x, partial);
		if (threadIdx.x == 0)
			row_store<T>(r, sub, row, x);
	}
}

template <typename T, int N>
static __device__ __forceinline__ void rows_by_lanes(const struct rows &r, enum ws_sub sub)
{
	int lane = threadIdx.x % r.lanes, own = threadIdx.x / r.lanes;
	int64_t turn = THREADS / r.lanes;
	bool max = sub == WS_SUB_MAX;

#pragma unroll 1
	for (int64_t first = blockIdx.x * turn; first < r.rows; first += gridDim.x * turn) {
		/* beyond the last row: that row again, as all lanes must shuffle */
		int64_t row = first + own < r.rows ? first + own : r.rows - 1;
		float x = row_part<T, N>((const T *)r.in + row * r.cols, r.cols / N, lane, r.lanes,
		                         max);

		for (int step = r.lanes / 2; step; step /= 2)
			x = combine(max, x, __shfl_xor_sync(WS_FULL, x, step));
		if (lane == 0 && first + own < r.rows)
			row_store<T>(r, sub, row, x);
	}
}

template <typename T>
static __device__ __forceinline__ void reduce_rows(const struct rows &r, enum ws_sub sub)
{
	constexpr int N = WS_ACCESS / sizeof(T);

	if (r.whole && r.lanes)
		rows_by_lanes<T, N>(r, sub);
	else if (r.whole)
		rows_by_blocks<T, N>(r, sub);
	else if (r.lanes)
		rows_by_lanes<T, 1>(r, sub);
	else
		rows_by_blocks<T, 1>(r, sub);
}

/* X(sub, kernel, direction, dtype) */
#define ROWS_LIST(X)                                   \
	X(MAX, ws_reduce_max_fwd_f32, forward, f32)    \
	X(MAX, ws_reduce_max_fwd_bf16, forward, bf16)  \
	X(MAX, ws_reduce_max_fwd_f16, forward, f16)    \
	X(SUM, ws_reduce_sum_fwd_f32, forward, f32)    \
	X(SUM, ws_reduce_sum_fwd_bf16, forward, bf16)  \
	X(SUM, ws_reduce_sum_fwd_f16, forward, f16)    \
	X(SUM, ws_reduce_sum_bwd_f32, backward, f32)   \
	X(SUM, ws_reduce_sum_bwd_bf16, backward, bf16) \
	X(SUM, ws_reduce_sum_bwd_f16, backward, f16)   \
	X(MEAN, ws_reduce_mean_fwd_f32, forward, f32)

#define X(SUB, name, direction, dtype)                                           \
	static __global__ void __launch_bounds__(THREADS, 4) name(struct rows r) \
	{                                                                        \
		reduce_rows<WS_KERNEL_TYPE_##dtype>(r, WS_SUB_##SUB);            \
	}
ROWS_LIST(X)
#undef X

static enum ws_status rows_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  struct ws_err *err)
{
	const struct ws_tensor *in = op->in[0];
	int n = WS_ACCESS / (int)ws_dtype_size(in->dtype);
	int64_t packs;
	struct rows r;
	unsigned grid;

	r.in = in->data;
	r.out = op->out[0]->data;
	r.rows = ws_tensor_rows(in);
	r.cols = ws_tensor_cols(in);
	r.whole = ws_rows_aligned(r.cols, n);
	packs = r.cols / (r.whole ? n : 1);
	r.lanes = packs > ROW_PACKS_OF_WARP ? 0 : 1;
	while (r.lanes && r.lanes < WS_WARP && r.lanes * ROW_PACKS < packs)
		r.lanes *= 2;
	grid = ws_grid(launch, r.lanes ? ws_div_up(r.rows, THREADS / r.lanes) : r.rows, WAVES);
	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, dtype)                    \
	case WS_KERNEL_KEY(SUB, direction, dtype, dtype): \
		return WS_LAUNCH(launch, err, name, grid, THREADS, 0, r);
		ROWS_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

/* --- columns and channels --------------------------------------------------------------------- */

struct columns {
	const void *in;
	void *out;          /* [cols], or of each slice fp32 [slices, cols] */
	int64_t rows, cols; /* of channels in stretches: packs, channels */
	int64_t slice_rows;
	int lanes;
	struct ws_divisor run; /* packs of a stretch; 0: neighbours are of different columns */
	bool whole;            /* packs of 16 bytes; else of one element */
};

/* Each thread: N neighbouring columns of every 256 / lanes-th row of a slice. */
template <typename Tin, typename Tout, int N>
static __device__ __forceinline__ void sum_columns(const struct columns &c)
{
	int lane = threadIdx.x % c.lanes, groups = WS_COLUMNS_THREADS / c.lanes;
	int64_t col = ((int64_t)blockIdx.x * c.lanes + lane) * N;
	int64_t row = blockIdx.y * c.slice_rows + threadIdx.x / c.lanes;
	int64_t end = (blockIdx.y + 1) * c.slice_rows;
	float sum[N] = {0};

	end = end < c.rows ? end : c.rows;
#pragma unroll 1
	for (; row < end && col < c.cols; row += groups * WS_COLUMNS_ROWS) {
		float x[WS_COLUMNS_ROWS][N];

		WS_UNROLL(u, WS_COLUMNS_ROWS) {
			int64_t at = row + u * groups < end ? row + u * groups : row;

			ws_load<Tin, N>((const Tin *)c.in + at * c.cols + col, x[u]);
		}
		WS_UNROLL(u, WS_COLUMNS_ROWS)
			WS_UNROLL(k, N)
				sum[k] += row + u * groups < end ? x[u][k] : 0;
	}
	ws_add_groups<WS_COLUMNS_THREADS, N>(sum, c.lanes);
	if ((int)threadIdx.x < c.lanes && col < c.cols)
		ws_store<Tout, N>((Tout *)c.out + blockIdx.y * c.cols + col, sum);
}

/* A block: a slice of one channel, whose packs lie in stretches [outer, channels, run]. */
template <typename Tin, typename Tout, int N>
static __device__ __forceinline__ void sum_channels(const struct columns &c)
{
	__shared__ float partial[WS_WARP];
	int64_t pack = blockIdx.y * c.slice_rows + threadIdx.x;
	int64_t end = (blockIdx.y + 1) * c.slice_rows, channel = blockIdx.x;
	float sum[N] = {0}, total = 0;

	end = end < c.rows ? end : c.rows;
#pragma unroll 1
	for (; pack < end; pack += WS_COLUMNS_THREADS * WS_COLUMNS_ROWS) {
		float x[WS_COLUMNS_ROWS][N];

		WS_UNROLL(u, WS_COLUMNS_ROWS) {
			int64_t at = pack + u * WS_COLUMNS_THREADS;
			int64_t outer;

			at = at < end ? at : pack;
			outer = ws_quotient(at, c.run);
			at += (outer * (c.cols - 1) + channel) * c.run.value;
			ws_load<Tin, N>((const Tin *)c.in + at * N, x[u]);
		}
		WS_UNROLL(u, WS_COLUMNS_ROWS)
			WS_UNROLL(k, N)
				sum[k] += pack + u * WS_COLUMNS_THREADS < end ? x[u][k] : 0;
	}
	WS_UNROLL(k, N)
		total += sum[k];
	total = ws_block_sum(total, partial);
	if (threadIdx.x == 0)
		((Tout *)c.out)[blockIdx.y * c.cols + channel] = ws_from_f32<Tout>(total);
}

template <typename Tin, typename Tout>
static __device__ __forceinline__ void sum_all(const struct columns &c)
{
	constexpr int N = WS_ACCESS / sizeof(Tin);

	if (c.run.value && c.whole)
		sum_channels<Tin, Tout, N>(c);
	else if (c.run.value)
		sum_channels<Tin, Tout, 1>(c);
	else if (c.whole)
		sum_columns<Tin, Tout, N>(c);
	else
		sum_columns<Tin, Tout, 1>(c);
}

/* X(sub, kernel, direction, dtype) */
#define COLUMNS_LIST(X)                                          \
	X(COLSUM, ws_reduce_colsum_bwd_f32, backward, f32)       \
	X(BIAS_SUM, ws_reduce_bias_sum_bwd_f32, backward, f32)   \
	X(BIAS_SUM, ws_reduce_bias_sum_bwd_bf16, backward, bf16) \
	X(BIAS_SUM, ws_reduce_bias_sum_bwd_f16, backward, f16)

/* Sums, or those of slices; and then their total. */
#define X(SUB, name, direction, dtype)                                                            \
	static __global__ void __launch_bounds__(WS_COLUMNS_THREADS, 4) name(struct columns c)    \
	{                                                                                         \
		if (gridDim.y > 1)                                                                \
			sum_all<WS_KERNEL_TYPE_##dtype, float>(c);                                \
		else                                                                              \
			sum_all<WS_KERNEL_TYPE_##dtype, WS_KERNEL_TYPE_##dtype>(c);               \
	}                                                                                         \
	static __global__ void __launch_bounds__(WS_COLUMNS_THREADS, 4)                           \
	        name##_total(struct columns c)                                                    \
	{                                                                                         \
		if (c.whole)                                                                      \
			sum_columns<float, WS_KERNEL_TYPE_##dtype, WS_ACCESS / sizeof(float)>(c); \
		else                                                                              \
			sum_columns<float, WS_KERNEL_TYPE_##dtype, 1>(c);                         \
	}
COLUMNS_LIST(X)
#undef X

/* The sums of slices as columns. */
static struct columns total_of(const struct ws_cuda_launch *launch, const struct columns *c,
                               int slices, void *out, int *tiles)
{
	int n = ws_rows_aligned(c->cols, WS_ACCESS / sizeof(float)) ? WS_ACCESS / sizeof(float) : 1;
	struct ws_columns plan = ws_columns_plan(slices, c->cols, n);
	struct columns total;

	memset(&total, 0, sizeof(total));
	total.in = launch->scratch;
	total.out = out;
	total.rows = total.slice_rows = slices;
	total.cols = c->cols;
	total.lanes = plan.lanes;
	total.whole = n > 1;
	*tiles = plan.tiles;
	return total;
}

static enum ws_status columns_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                     int64_t cols, int64_t inner, struct ws_err *err)
{
	struct ws_columns plan = ws_columns_of(op);
	int n = ws_columns_width(op->in[0], inner > 1 ? inner : cols), total_tiles;
	void *out = op->out[0]->data;
	struct columns c, total;
	dim3 grid(plan.tiles, plan.slices);

	memset(&c, 0, sizeof(c));
	c.in = op->in[0]->data;
	c.out = plan.slices > 1 ? launch->scratch : out;
	c.cols = cols;
	c.rows = op->in[0]->count / cols / (inner > 1 ? n : 1);
	c.slice_rows = plan.slice_rows;
	c.lanes = plan.lanes;
	c.whole = n > 1;
	if (inner > 1)
		c.run = ws_divisor_of(inner / n);
	total = total_of(launch, &c, plan.slices, out, &total_tiles);
	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, dtype)                                                          \
	case WS_KERNEL_KEY(SUB, direction, dtype, dtype):                                       \
		WS_FORWARD(WS_LAUNCH(launch, err, name, grid, WS_COLUMNS_THREADS, 0, c));       \
		if (plan.slices == 1)                                                           \
			return WS_OK;                                                           \
		return WS_LAUNCH(launch, err, name##_total, total_tiles, WS_COLUMNS_THREADS, 0, \
		                 total);
		COLUMNS_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

WS_LAUNCHER(reduce)
{
	if (op->in[0]->dtype != op->out[0]->dtype)
		return ws_cuda_no_kernel(op, err);
	if (op->sub == WS_SUB_COLSUM)
		return columns_launch(launch, op, ws_tensor_cols(op->in[0]), 1, err);
	return rows_launch(launch, op, err);
}

WS_LAUNCHER(bias_grad)
{
	if (op->in[0]->dtype != op->out[0]->dtype)
		return ws_cuda_no_kernel(op, err);
	return columns_launch(launch, op, op->u.ch.channels, op->u.ch.inner, err);
}
