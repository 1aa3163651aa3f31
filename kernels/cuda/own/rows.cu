/*
 * Ops on rows and on columns: reductions, softmax, RMS norm, losses, and their gradients. fp32
 * inside. Threads sum some dozens of elements each; these sums are added pairwise, in the same
 * order on each run and each GPU.
 *
 * A row with few packs belongs to a warp, a longer one to a block. A cache serves its second read.
 */
#include "kernels/cuda/own/kernel.cuh"

/* Packs of a row for each lane of a warp, at most: longer rows have a block. */
#define WS_PACKS_OF_LANE 4

struct ws_rows {
	int64_t rows, cols;
	bool whole; /* rows of whole packs of 16 bytes; else of single elements */
	int lanes;  /* threads of a row: a warp or all of a block */
};

/* widest_bytes: size of the largest element type that is read or written. */
static inline struct ws_rows ws_rows_of(int64_t rows, int64_t cols, size_t widest_bytes)
{
	int n = WS_ACCESS / (int)widest_bytes;
	struct ws_rows r = {rows, cols, cols % n == 0, WS_WARP};

	if (cols / (r.whole ? n : 1) > WS_WARP * WS_PACKS_OF_LANE)
		r.lanes = WS_THREADS;
	return r;
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

/* Over the lanes of a row; each lane gets the result. */
template <enum ws_reduction R>
static __device__ __forceinline__ float ws_row_reduce(const struct ws_rows &r, float x)
{
	return r.lanes == WS_WARP ? ws_warp_reduce<R>(x) : ws_block_reduce<R>(x);
}

/* --- rows: max, sum, mean --------------------------------------------------------------------- */

struct reduction {
	struct ws_rows r;
	const void *in;
	void *out;
};

template <typename T, int N>
static __device__ __forceinline__ void reduce_rows(const struct reduction &a, enum ws_sub sub)
{
	const bool max = sub == WS_SUB_MAX;

	WS_EACH_ROW(row, a.r)
	{
		const T *x = (const T *)a.in + row * a.r.cols;
		float all = max ? -INFINITY : 0;

		WS_EACH_COL(col, a.r, a.r.cols)
		{
			float v[N];

			ws_load<T, N>(x + col, v);
			WS_UNROLL(k, N)
				all = max ? ws_max_nan(all, v[k]) : all + v[k];
		}
		all = max ? ws_row_reduce<WS_REDUCE_MAX>(a.r, all)
		          : ws_row_reduce<WS_REDUCE_SUM>(a.r, all);
		if (sub == WS_SUB_MEAN)
			all /= (float)a.r.cols;
		if (threadIdx.x % a.r.lanes == 0)
			((T *)a.out)[row] = ws_from_f32<T>(all);
	}
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

#define X(SUB, name, direction, dtype)                                                        \
	WS_PACK_KERNEL((WS_THREADS, 4), name, WS_KERNEL_TYPE_##dtype, a.r.whole, reduce_rows, \
	               (struct reduction a), a, WS_SUB_##SUB)
ROWS_LIST(X)
#undef X

static enum ws_status reduce_rows_launch(const struct ws_cuda_launch *launch,
                                         const struct ws_op *op, struct ws_err *err)
{
	const struct ws_tensor *in = op->in[0];
	struct reduction a = {ws_rows_of(ws_tensor_rows(in), ws_tensor_cols(in),
	                                 ws_dtype_size(in->dtype)),
	                      in->data, op->out[0]->data};
	unsigned grid = ws_row_grid(launch, &a.r);

	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, dtype)                    \
	case WS_KERNEL_KEY(SUB, direction, dtype, dtype): \
		return WS_LAUNCH(launch, err, name, grid, WS_THREADS, 0, a);
		ROWS_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

/* --- sums over channels of [outer, channels, inner], or over columns (launch.h) --------------- */

/*
 * With inner = 1 a thread has 16 bytes of neighbouring channels and walks down rows; else a block
 * has one channel and walks along its stretches. So what belongs to a channel stays in registers.
 */
struct channels {
	struct ws_columns columns;
	struct ws_divisor run;
};

static inline struct channels channels_of(const struct ws_op *op)
{
	struct channels c = {ws_cuda_columns(op), {}};

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

/* The column of a thread; the first WS_SLICES_COLUMNS threads write the sums of their columns. */
static __device__ __forceinline__ int64_t ws_slices_column(void)
{
	return (int64_t)blockIdx.x * WS_SLICES_COLUMNS + threadIdx.x % WS_SLICES_COLUMNS;
}

/* The whole of a kernel that adds slices into a tensor of type T. */
template <typename T>
static __device__ __forceinline__ void ws_slices_total(const float *sums, T *out, int slices,
                                                       int64_t cols)
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
	if (threadIdx.x < WS_SLICES_COLUMNS && col < cols)
		out[col] = ws_from_f32<T>(sum);
}

struct sums {
	const void *in;
	float *slices;
};

template <typename T, int N, bool RUN>
static __device__ __forceinline__ void sum_channels(const struct channels &c, const struct sums &a)
{
	ws_slice_sums<N, RUN, 1>(c, a.slices, [&](int64_t offset, float *sum) {
		float x[N];

		ws_load<T, N>((const T *)a.in + offset, x);
		WS_UNROLL(k, N)
			sum[RUN ? 0 : k] += x[k];
	});
}

/* X(sub, kernel, direction, dtype) */
#define COLUMNS_LIST(X)                                          \
	X(COLSUM, ws_reduce_colsum_bwd_f32, backward, f32)       \
	X(BIAS_SUM, ws_reduce_bias_sum_bwd_f32, backward, f32)   \
	X(BIAS_SUM, ws_reduce_bias_sum_bwd_bf16, backward, bf16) \
	X(BIAS_SUM, ws_reduce_bias_sum_bwd_f16, backward, f16)

/* Sums of slices, and then their total. */
#define X(SUB, name, direction, dtype)                                               \
	WS_CHANNEL_KERNEL(name, WS_KERNEL_TYPE_##dtype, sum_channels, struct sums)   \
	static __global__ void __launch_bounds__(WS_COLUMNS_THREADS)                 \
	        name##_total(const float *sums, void *out, int slices, int64_t cols) \
	{                                                                            \
		ws_slices_total(sums, (WS_KERNEL_TYPE_##dtype *)out, slices, cols);  \
	}
COLUMNS_LIST(X)
#undef X

static enum ws_status sum_columns_launch(const struct ws_cuda_launch *launch,
                                         const struct ws_op *op, struct ws_err *err)
{
	const struct channels c = channels_of(op);
	struct sums a = {op->in[0]->data, (float *)launch->scratch};

	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, dtype)                                                             \
	case WS_KERNEL_KEY(SUB, direction, dtype, dtype):                                          \
		WS_FORWARD(WS_LAUNCH(launch, err, name, channels_grid(c), WS_COLUMNS_THREADS, 0,   \
		                     c, a));                                                       \
		return WS_LAUNCH(launch, err, name##_total, ws_slices_grid(c.columns.channels),    \
		                 WS_COLUMNS_THREADS, 0, (const float *)a.slices, op->out[0]->data, \
		                 c.columns.slices, c.columns.channels);
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
	return op->sub == WS_SUB_COLSUM ? sum_columns_launch(launch, op, err)
	                                : reduce_rows_launch(launch, op, err);
}

WS_LAUNCHER(bias_grad)
{
	if (op->in[0]->dtype != op->out[0]->dtype)
		return ws_cuda_no_kernel(op, err);
	return sum_columns_launch(launch, op, err);
}

/* --- causal softmax and its gradient ---------------------------------------------------------- */

/*
 * Row r of [.., T, T] has r mod T + 1 visible columns; the others are not read and become 0.
 */
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
	all = ws_row_reduce<WS_REDUCE_MAX>(r, max);
	return {all,
	        ws_row_reduce<WS_REDUCE_SUM>(r, max == -INFINITY ? 0 : sum * exp2f(max - all))};
}

struct softmax {
	struct ws_rows r;
	const void *x, *dy; /* of the gradient: the result, and its gradient */
	void *y;
	float scale; /* forward: times log2(e) */
};

template <typename T, int N> static __device__ __forceinline__ void softmax(const struct softmax &s)
{
	WS_EACH_ROW(row, s.r)
	{
		int64_t visible = row % s.r.cols + 1;
		const T *x = (const T *)s.x + row * s.r.cols;
		const struct ws_softmax all = ws_row_softmax<T, N>(s.r, x, visible, s.scale);
		const float inverse = 1 / all.sum;

		WS_EACH_COL(col, s.r, s.r.cols)
		{
			float v[N] = {0};

			if (col < visible)
				ws_load<T, N>(x + col, v);
			WS_UNROLL(k, N)
				v[k] = col + k < visible ? exp2f(s.scale * v[k] - all.max) * inverse
				                         : 0;
			ws_store<T, N>((T *)s.y + row * s.r.cols + col, v);
		}
	}
}

/* dx = scale y (dy - sum(dy y)) */
template <typename T, int N>
static __device__ __forceinline__ void softmax_grad(const struct softmax &s)
{
	WS_EACH_ROW(row, s.r)
	{
		int64_t visible = row % s.r.cols + 1, offset = row * s.r.cols;
		const T *y = (const T *)s.x + offset, *dy = (const T *)s.dy + offset;
		float sum = 0;

		WS_EACH_COL(col, s.r, visible)
		{
			float a[N], b[N];

			ws_load<T, N>(dy + col, a);
			ws_load<T, N>(y + col, b);
			WS_UNROLL(k, N)
				sum += col + k < visible ? a[k] * b[k] : 0;
		}
		sum = ws_row_reduce<WS_REDUCE_SUM>(s.r, sum);
		WS_EACH_COL(col, s.r, s.r.cols)
		{
			float a[N] = {0}, b[N] = {0};

			if (col < visible) {
				ws_load<T, N>(dy + col, a);
				ws_load<T, N>(y + col, b);
			}
			WS_UNROLL(k, N)
				a[k] = col + k < visible ? ws_softmax_grad(a[k], b[k], sum, s.scale)
				                         : 0;
			ws_store<T, N>((T *)s.y + offset + col, a);
		}
	}
}

#define X(ID, T, suffix)                                                                           \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_softmax_causal_softmax_fwd_##suffix, T, s.r.whole,      \
	               softmax, (struct softmax s), s)                                             \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_softmax_causal_softmax_grad_bwd_##suffix, T, s.r.whole, \
	               softmax_grad, (struct softmax s), s)
WS_CUDA_FLOATS(X)
#undef X

static struct softmax softmax_of(const struct ws_op *op, const struct ws_tensor *x, double scale)
{
	return {ws_rows_of(ws_tensor_rows(x), ws_tensor_cols(x), ws_dtype_size(x->dtype)), x->data,
	        op->in[0]->data, op->out[0]->data, (float)scale};
}

WS_LAUNCHER(softmax)
{
	struct softmax s = softmax_of(op, op->in[0], op->u.alpha * M_LOG2E);

	WS_LAUNCH_FLOATS(launch, op, err, ws_softmax_causal_softmax_fwd, ws_row_grid(launch, &s.r),
	                 WS_THREADS, 0, s)
}

WS_LAUNCHER(softmax_grad)
{
	struct softmax s = softmax_of(op, op->in[1], op->u.alpha);

	WS_LAUNCH_FLOATS(launch, op, err, ws_softmax_causal_softmax_grad_bwd,
	                 ws_row_grid(launch, &s.r), WS_THREADS, 0, s)
}

/* --- RMS norm --------------------------------------------------------------------------------- */

/* y = x r w with r = 1 / sqrt(mean(x^2) + eps). In types T (x, weight) and U. */
struct norm {
	struct ws_rows r;
	const void *x, *weight;
	void *y;
	float *inverse; /* r of each row */
	float eps;
};

template <typename T, typename U, int N>
static __device__ __forceinline__ void rms_norm(const struct norm &a)
{
	WS_EACH_ROW(row, a.r)
	{
		const T *from = (const T *)a.x + row * a.r.cols;
		float sum = 0, inverse;

		WS_EACH_COL(col, a.r, a.r.cols)
		{
			float x[N];

			ws_load<T, N>(from + col, x);
			WS_UNROLL(k, N)
				sum += x[k] * x[k];
		}
		inverse =
		        1 / sqrtf(ws_row_reduce<WS_REDUCE_SUM>(a.r, sum) / (float)a.r.cols + a.eps);
		if (threadIdx.x % a.r.lanes == 0)
			a.inverse[row] = inverse;
		WS_EACH_COL(col, a.r, a.r.cols)
		{
			float x[N], w[N];

			ws_load<T, N>(from + col, x);
			ws_load<T, N>((const T *)a.weight + col, w);
			WS_UNROLL(k, N)
				x[k] = x[k] * inverse * w[k];
			ws_store<U, N>((U *)a.y + row * a.r.cols + col, x);
		}
	}
}

/* X(suffix of the kernel, dtype and type of x and weight, of y) */
#define NORM_LIST(X)                                        \
	X(f32, F32, float, F32, float)                      \
	X(f32_bf16, F32, float, BF16, struct ws_bf16)       \
	X(f32_f16, F32, float, F16, struct ws_f16)          \
	X(bf16, BF16, struct ws_bf16, BF16, struct ws_bf16) \
	X(f16, F16, struct ws_f16, F16, struct ws_f16)

#define X(suffix, IN, T, OUT, U)                                                                 \
	WS_WIDE_KERNEL((WS_THREADS, 4), ws_norm_rms_norm_fwd_##suffix, WS_ACCESS / sizeof(T), 1, \
	               a.r.whole, (struct norm a), rms_norm<T, U, N>(a))
NORM_LIST(X)
#undef X

WS_LAUNCHER(rms_norm)
{
	const struct ws_tensor *x = op->in[0], *weight = op->in[1], *y = op->out[0];
	struct norm a = {ws_rows_of(x->count / weight->count, weight->count,
	                            ws_dtype_size(x->dtype)),
	                 x->data,
	                 weight->data,
	                 y->data,
	                 (float *)op->out[1]->data,
	                 (float)op->u.alpha};
	unsigned grid = ws_row_grid(launch, &a.r);

	if (weight->dtype != x->dtype)
		return ws_cuda_no_kernel(op, err);
#define X(suffix, IN, T, OUT, U)                                                                  \
	if (x->dtype == WS_DTYPE_##IN && y->dtype == WS_DTYPE_##OUT)                              \
		return WS_LAUNCH(launch, err, ws_norm_rms_norm_fwd_##suffix, grid, WS_THREADS, 0, \
		                 a);
	NORM_LIST(X)
#undef X
	return ws_cuda_no_kernel(op, err);
}

/* Bytes of shared memory for sums, which need no opting in. */
#define SUMS_SHARED_BYTES (48 * 1024 - 512)

/*
 * With r = 1 / rms: dx = r w dy - x r^3 mean(w dy x); dweight = the sum over rows of dy x r, of
 * which each block adds up its rows': sums[block][column], in shared memory where they fit.
 */
struct norm_grad {
	struct ws_rows r;
	const void *dy, *x, *weight;
	const float *inverse;
	void *dx;
	float *sums;
	int dy_dtype; /* enum ws_dtype; in fp32 autocast may have a gradient of 16 bits */
	bool shared;
};

template <typename T, int N>
static __device__ __forceinline__ void rms_norm_grad(const struct norm_grad &a)
{
	WS_SHARED_DYNAMIC(float, kept);
	float *to = a.sums + blockIdx.x * a.r.cols, *sums = a.shared ? kept : to;
	/* in shared memory neighbours of a pack lie apart: no bank conflicts */
	const int64_t pack_step = a.shared ? 1 : N, step = a.shared ? a.r.cols / N : 1;

	WS_EACH_COL(col, a.r, a.r.cols)
	WS_UNROLL(k, N)
		sums[col / N * pack_step + k * step] = 0;
	for (int64_t row = blockIdx.x; row < a.r.rows; row += gridDim.x) {
		const T *from = (const T *)a.x + row * a.r.cols;
		const float r = a.inverse[row];
		float dy[N], x[N], w[N], sum = 0, back;

		WS_EACH_COL(col, a.r, a.r.cols)
		{
			ws_load_mixed<T, N>(a.dy, a.dy_dtype, row * a.r.cols + col, dy);
			ws_load<T, N>(from + col, x);
			ws_load<T, N>((const T *)a.weight + col, w);
			WS_UNROLL(k, N)
				sum += w[k] * dy[k] * x[k];
		}
		back = ws_block_reduce<WS_REDUCE_SUM>(sum) / (float)a.r.cols * r * r * r;
		WS_EACH_COL(col, a.r, a.r.cols)
		{
			ws_load_mixed<T, N>(a.dy, a.dy_dtype, row * a.r.cols + col, dy);
			ws_load<T, N>(from + col, x);
			ws_load<T, N>((const T *)a.weight + col, w);
			WS_UNROLL(k, N) {
				sums[col / N * pack_step + k * step] += dy[k] * x[k] * r;
				x[k] = ws_rms_norm_grad(dy[k], x[k], w[k], r, back);
			}
			ws_store<T, N>((T *)a.dx + row * a.r.cols + col, x);
		}
	}
	/* each thread its own columns: no barrier */
	if (a.shared)
		WS_EACH_COL(col, a.r, a.r.cols)
	WS_UNROLL(k, N)
		to[col + k] = sums[col / N * pack_step + k * step];
}

/* The kernels of 16 bits read 1 / rms in fp32. */
#define X(ID, T, suffix)                                                                  \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_norm_rms_norm_grad_bwd_##suffix, T, a.r.whole, \
	               rms_norm_grad, (struct norm_grad a), a)                            \
	static __global__ void __launch_bounds__(WS_COLUMNS_THREADS)                      \
	        ws_norm_rms_norm_weight_grad_bwd_##suffix(const float *sums, T *dweight,  \
	                                                  int slices, int64_t cols)       \
	{                                                                                 \
		ws_slices_total(sums, dweight, slices, cols);                             \
	}
WS_CUDA_FLOATS_OF_F32(X)
#undef X

WS_LAUNCHER(rms_norm_grad)
{
	const struct ws_tensor *dy = op->in[0], *x = op->in[1], *weight = op->in[2];
	const struct ws_tensor *dweight = op->out[1];
	size_t bytes = (size_t)weight->count * sizeof(float);
	struct norm_grad a = {ws_rows_of(x->count / weight->count, weight->count,
	                                 ws_dtype_size(x->dtype)),
	                      dy->data,
	                      x->data,
	                      weight->data,
	                      (const float *)op->in[3]->data,
	                      op->out[0]->data,
	                      (float *)launch->scratch,
	                      dy->dtype,
	                      bytes <= SUMS_SHARED_BYTES};
	unsigned grid;

	/* whole warps; the block has no other row */
	a.r.lanes = (int)ws_min64(
	        ws_div_up(ws_div_up(a.r.cols,
	                            a.r.whole ? WS_ACCESS / (int64_t)ws_dtype_size(x->dtype) : 1),
	                  WS_WARP) *
	                WS_WARP,
	        WS_THREADS);
	/* one wave of blocks, because the sums of each block must be added */
	grid = ws_grid(launch, ws_cuda_row_slices(a.r.rows), 1024 / a.r.lanes);
	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	if (weight->dtype != x->dtype || dweight->dtype != x->dtype ||
	    (x->dtype != WS_DTYPE_F32 && dy->dtype != x->dtype))
		return ws_cuda_no_kernel(op, err);
	switch (x->dtype) {
#define X(ID, T, suffix)                                                                    \
	case WS_DTYPE_##ID:                                                                 \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_rms_norm_grad_bwd_##suffix, grid, \
		                     a.r.lanes, a.shared ? bytes : 0, a));                  \
		return WS_LAUNCH(launch, err, ws_norm_rms_norm_weight_grad_bwd_##suffix,    \
		                 ws_slices_grid(a.r.cols), WS_COLUMNS_THREADS, 0,           \
		                 (const float *)a.sums, (T *)dweight->data, (int)grid, a.r.cols);
		WS_CUDA_FLOATS_OF_F32(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

/* --- losses ----------------------------------------------------------------------------------- */

/*
 * Cross-entropy: the mean loss over rows, and the gradient of the logits in the same kernel. The
 * losses of rows go to scratch, and one block adds them in their order.
 */
#define MEAN_THREADS 1024

/* Logits are of type T, their gradient of U. */
struct losses {
	struct ws_rows r;
	const void *logits;
	const int32_t *target;
	void *grad;
	float *loss; /* -log_softmax(logits)[target] of each row */
};

/* grad = (softmax - onehot) / rows. A target that is not a class makes loss and mean NaN. */
template <typename T, typename U, int N>
static __device__ __forceinline__ void cross_entropy(const struct losses &a)
{
	const float scale = (float)M_LOG2E, one = 1 / (float)a.r.rows;

	WS_EACH_ROW(row, a.r)
	{
		const T *x = (const T *)a.logits + row * a.r.cols;
		const struct ws_softmax all = ws_row_softmax<T, N>(a.r, x, a.r.cols, scale);
		const float factor = one / all.sum;
		int64_t target = a.target[row];

		if (threadIdx.x % a.r.lanes == 0)
			a.loss[row] =
			        target >= 0 && target < a.r.cols
			                ? logf(all.sum) - (ws_to_f32(x[target]) - all.max / scale)
			                : NAN;
		WS_EACH_COL(col, a.r, a.r.cols)
		{
			float v[N];

			ws_load<T, N>(x + col, v);
			WS_UNROLL(k, N)
				v[k] = exp2f(scale * v[k] - all.max) * factor -
				       (col + k == target ? one : 0);
			ws_store<U, N>((U *)a.grad + row * a.r.cols + col, v);
		}
	}
}

/* X(suffix of the kernel, ID and type of logits, ID and type of their gradient) */
#define LOSS_LIST(X)                               \
	X(f32, F32, float, F32, float)             \
	X(f16_f32, F16, struct ws_f16, F32, float) \
	X(bf16_f32, BF16, struct ws_bf16, BF16, struct ws_bf16)

#define X(suffix, IN, T, OUT, U)                                                                   \
	WS_WIDE_KERNEL((WS_THREADS, 4), ws_loss_cross_entropy_fwd_##suffix, WS_ACCESS / sizeof(U), \
	               1, a.r.whole, (struct losses a), cross_entropy<T, U, N>(a))
LOSS_LIST(X)
#undef X

/* One block. */
static __global__ void __launch_bounds__(MEAN_THREADS)
        ws_loss_cross_entropy_mean_fwd_f32(const float *loss, float *mean, int64_t rows)
{
	float sum = 0;

	for (int64_t row = threadIdx.x; row < rows; row += MEAN_THREADS)
		sum += loss[row];
	sum = ws_block_reduce<WS_REDUCE_SUM>(sum);
	if (threadIdx.x == 0)
		*mean = sum / (float)rows;
}

static enum ws_status loss_rows_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                       struct losses a, struct ws_err *err)
{
	enum ws_dtype in = op->in[0]->dtype, out = op->out[1]->dtype;
	unsigned grid = ws_row_grid(launch, &a.r);

#define X(suffix, IN, T, OUT, U)                                                        \
	if (in == WS_DTYPE_##IN && out == WS_DTYPE_##OUT)                               \
		return WS_LAUNCH(launch, err, ws_loss_cross_entropy_fwd_##suffix, grid, \
		                 WS_THREADS, 0, a);
	LOSS_LIST(X)
#undef X
	return ws_cuda_no_kernel(op, err);
}

WS_LAUNCHER(cross_entropy)
{
	const struct ws_tensor *logits = op->in[0], *target = op->in[1], *grad = op->out[1];
	struct losses a = {ws_rows_of(target->count, ws_tensor_cols(logits),
	                              ws_dtype_size(grad->dtype)),
	                   logits->data, (const int32_t *)target->data, grad->data,
	                   (float *)launch->scratch};

	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	WS_FORWARD(loss_rows_launch(launch, op, a, err));
	return WS_LAUNCH(launch, err, ws_loss_cross_entropy_mean_fwd_f32, 1, MEAN_THREADS, 0,
	                 (const float *)a.loss, (float *)op->out[0]->data, a.r.rows);
}

/* One block. A target that is not a class makes the loss and the mean NaN. */
static __global__ void __launch_bounds__(MEAN_THREADS)
        ws_loss_nll_loss_fwd_f32(const float *y, const int32_t *target, float *mean, int64_t rows,
                                 int64_t cols)
{
	float sum = 0;

	for (int64_t row = threadIdx.x; row < rows; row += MEAN_THREADS)
		sum -= target[row] >= 0 && target[row] < cols ? y[row * cols + target[row]] : NAN;
	sum = ws_block_reduce<WS_REDUCE_SUM>(sum);
	if (threadIdx.x == 0)
		*mean = sum / (float)rows;
}

static __global__ void __launch_bounds__(WS_THREADS)
        ws_loss_nll_loss_grad_bwd_f32(const float *dy, const int32_t *target, float *dx,
                                      int64_t count, int64_t rows, struct ws_divisor cols)
{
	const float value = -(*dy / (float)rows);

	WS_EACH_ITEM(i, count)
	{
		int64_t row = ws_quotient(i, cols);

		dx[i] = i - row * cols.value == target[row] ? value : 0;
	}
}

WS_LAUNCHER(nll_loss)
{
	const struct ws_tensor *y = op->in[0];

	WS_LAUNCH_F32(launch, op, err, ws_loss_nll_loss_fwd_f32, 1, MEAN_THREADS, 0,
	              (const float *)y->data, (const int32_t *)op->in[1]->data,
	              (float *)op->out[0]->data, op->in[1]->count, ws_tensor_cols(y));
}

WS_LAUNCHER(nll_loss_grad)
{
	const struct ws_tensor *dx = op->out[0];

	WS_LAUNCH_F32(launch, op, err, ws_loss_nll_loss_grad_bwd_f32,
	              ws_item_grid(launch, dx->count), WS_THREADS, 0,
	              (const float *)op->in[0]->data, (const int32_t *)op->in[1]->data,
	              (float *)dx->data, dx->count, op->in[1]->count,
	              ws_divisor_of(ws_tensor_cols(dx)));
}
