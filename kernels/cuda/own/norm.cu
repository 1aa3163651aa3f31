/*
 * RMS norm and its gradient. fp32 inside.
 *
 * A row belongs to a block, of which each thread has the same columns of every row: 16 bytes of
 * them, so that the weight and the sums of its gradient stay in registers, and rows are read
 * once. Several rows are on their way at once. Rows of more than 4096 columns (1024 fp32 or
 * 512 16-bit ones where they are not aligned) are walked through twice instead.
 */
#include "kernels/cuda/own/row.cuh"
#include "kernels/cuda/own/columns.h"

#define WS_NORM_ROWS 4 /* at once, forward */
#define WS_GRAD_ROWS 2 /* at once, backward: two operands, and sums */

/* Threads of a block at most, by the size of an element: 4096 columns. */
#define WS_NORM_THREADS(size_bytes) (4096 * (int)(size_bytes) / WS_ACCESS)

/*
 * Threads of the gradient that a multiprocessor holds at once, by its registers: blocks of one
 * wave, as each leaves sums to add.
 */
#define WS_GRAD_RESIDENT 768

/* Sums of a block's values of several rows at once. */
template <int ROWS>
static __device__ __forceinline__ void block_sums(float (&x)[ROWS], float (*partial)[WS_WARP])
{
	int lane = threadIdx.x % WS_WARP, warp = threadIdx.x / WS_WARP;
	int warps = blockDim.x / WS_WARP;

	WS_UNROLL(r, ROWS) {
		x[r] = ws_warp_sum(x[r]);
		if (lane == 0)
			partial[r][warp] = x[r];
	}
	__syncthreads();
	WS_UNROLL(r, ROWS)
		x[r] = ws_warp_sum(lane < warps ? partial[r][lane] : 0);
	__syncthreads();
}

template <int N> static __device__ __forceinline__ void clear(float (&x)[N])
{
	WS_UNROLL(k, N)
		x[k] = 0;
}

/* --- forward --------------------------------------------------------------------------------- */

/* y = x r w with r = 1 / sqrt(mean(x^2) + eps). In types T (x, weight) and U. */
struct norm_rows {
	const void *x, *weight;
	void *y;
	float *inverse; /* r of each row */
	int64_t rows, cols;
	float eps;
};

static __device__ __forceinline__ float inverse_rms(const struct norm_rows &a, float sum)
{
	return 1 / sqrtf(sum / (float)a.cols + a.eps);
}

template <typename T, typename U, int N>
static __device__ __forceinline__ void norm_held(const struct norm_rows &a)
{
	__shared__ float partial[WS_NORM_ROWS][WS_WARP];
	int64_t col = (int64_t)threadIdx.x * N, step = (int64_t)gridDim.x * WS_NORM_ROWS;
	bool mine = col < a.cols;
	float w[N];

	clear<N>(w);
	if (mine)
		ws_load<T, N>((const T *)a.weight + col, w);
	for (int64_t row = (int64_t)blockIdx.x * WS_NORM_ROWS; row < a.rows; row += step) {
		float x[WS_NORM_ROWS][N], sum[WS_NORM_ROWS];

		WS_UNROLL(r, WS_NORM_ROWS) {
			clear<N>(x[r]);
			if (mine && row + r < a.rows)
				ws_load<T, N>((const T *)a.x + (row + r) * a.cols + col, x[r]);
		}
		WS_UNROLL(r, WS_NORM_ROWS) {
			sum[r] = 0;
			WS_UNROLL(k, N)
				sum[r] += x[r][k] * x[r][k];
		}
		block_sums<WS_NORM_ROWS>(sum, partial);
		WS_UNROLL(r, WS_NORM_ROWS) {
			float inverse = inverse_rms(a, sum[r]);

			if (row + r >= a.rows)
				break;
			if (threadIdx.x == 0)
				a.inverse[row + r] = inverse;
			WS_UNROLL(k, N)
				x[r][k] = x[r][k] * inverse * w[k];
			if (mine)
				ws_store<U, N>((U *)a.y + (row + r) * a.cols + col, x[r]);
		}
	}
}

template <typename T, typename U, int N>
static __device__ __forceinline__ void norm_walked(const struct norm_rows &a)
{
	__shared__ float partial[WS_WARP];
	int64_t first = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;

	for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
		const T *from = (const T *)a.x + row * a.cols;
		float x[N], w[N], sum = 0, inverse;

		for (int64_t col = first; col < a.cols; col += step) {
			ws_load<T, N>(from + col, x);
			WS_UNROLL(k, N)
				sum += x[k] * x[k];
		}
		inverse = inverse_rms(a, ws_block_sum(sum, partial));
		if (threadIdx.x == 0)
			a.inverse[row] = inverse;
		for (int64_t col = first; col < a.cols; col += step) {
			ws_load<T, N>(from + col, x);
			ws_load<T, N>((const T *)a.weight + col, w);
			WS_UNROLL(k, N)
				x[k] = x[k] * inverse * w[k];
			ws_store<U, N>((U *)a.y + row * a.cols + col, x);
		}
	}
}

template <typename T, typename U>
static __device__ __forceinline__ void norm(const struct norm_rows &a)
{
	constexpr int N = WS_ACCESS / sizeof(T);

	if (a.cols % N == 0 && a.cols <= (int64_t)blockDim.x * N)
		norm_held<T, U, N>(a);
	else if (a.cols % N == 0)
		norm_walked<T, U, N>(a);
	else if (a.cols <= blockDim.x)
		norm_held<T, U, 1>(a);
	else
		norm_walked<T, U, 1>(a);
}

/* X(suffix of the kernel, dtype and type of x and weight, of y) */
#define WS_RMS_NORMS(X)                                     \
	X(f32, F32, float, F32, float)                      \
	X(f32_bf16, F32, float, BF16, struct ws_bf16)       \
	X(f32_f16, F32, float, F16, struct ws_f16)          \
	X(bf16, BF16, struct ws_bf16, BF16, struct ws_bf16) \
	X(f16, F16, struct ws_f16, F16, struct ws_f16)

#define WS_RMS_NORM_KERNEL(suffix, IN, T, OUT, U)                            \
	static __global__ void __launch_bounds__(WS_NORM_THREADS(sizeof(T))) \
	        ws_norm_rms_norm_fwd_##suffix(struct norm_rows a)            \
	{                                                                    \
		norm<T, U>(a);                                               \
	}
WS_RMS_NORMS(WS_RMS_NORM_KERNEL)

/* --- backward -------------------------------------------------------------------------------- */

/*
 * With r = 1 / rms: dx = r w dy - x r^3 mean(w dy x); dweight = the sum over rows of dy x r, of
 * which each block adds up its rows': sums[block][column]. In types T (x, weight, dx) and D.
 */
struct norm_grad_rows {
	const void *dy, *x, *weight;
	const float *inverse;
	void *dx;
	float *sums;
	int64_t rows, cols;
	int dy_dtype; /* enum ws_dtype */
};

/* r^3 mean(w dy x) */
static __device__ __forceinline__ float back_factor(const struct norm_grad_rows &a, float sum,
                                                    float r)
{
	return sum / (float)a.cols * r * r * r;
}

template <typename T, typename D, int N>
static __device__ __forceinline__ void grad_held(const struct norm_grad_rows &a)
{
	__shared__ float partial[WS_GRAD_ROWS][WS_WARP];
	int64_t col = (int64_t)threadIdx.x * N, step = (int64_t)gridDim.x * WS_GRAD_ROWS;
	bool mine = col < a.cols;
	float w[N], dw[N];

	clear<N>(dw);
	clear<N>(w);
	if (mine)
		ws_load<T, N>((const T *)a.weight + col, w);
	for (int64_t row = (int64_t)blockIdx.x * WS_GRAD_ROWS; row < a.rows; row += step) {
		float dy[WS_GRAD_ROWS][N], x[WS_GRAD_ROWS][N], sum[WS_GRAD_ROWS];

		WS_UNROLL(r, WS_GRAD_ROWS) {
			int64_t offset = (row + r) * a.cols + col;

			clear<N>(dy[r]);
			clear<N>(x[r]);
			if (mine && row + r < a.rows) {
				ws_load<D, N>((const D *)a.dy + offset, dy[r]);
				ws_load<T, N>((const T *)a.x + offset, x[r]);
			}
		}
		WS_UNROLL(r, WS_GRAD_ROWS) {
			sum[r] = 0;
			WS_UNROLL(k, N)
				sum[r] += w[k] * dy[r][k] * x[r][k];
		}
		block_sums<WS_GRAD_ROWS>(sum, partial);
		WS_UNROLL(r, WS_GRAD_ROWS) {
			float inverse, back;

			if (!mine || row + r >= a.rows)
				break;
			inverse = a.inverse[row + r];
			back = back_factor(a, sum[r], inverse);
			WS_UNROLL(k, N) {
				dw[k] += dy[r][k] * x[r][k] * inverse;
				x[r][k] = inverse * w[k] * dy[r][k] - x[r][k] * back;
			}
			ws_store<T, N>((T *)a.dx + (row + r) * a.cols + col, x[r]);
		}
	}
	if (mine)
		ws_store_wide<float, N>(a.sums + blockIdx.x * a.cols + col, dw);
}

/* The sums grow in memory, each thread's own; the first row of the block begins them. */
template <typename T, typename D, int N>
static __device__ __forceinline__ void grad_walked(const struct norm_grad_rows &a)
{
	__shared__ float partial[WS_WARP];
	int64_t first = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
	float *sums = a.sums + blockIdx.x * a.cols;

	for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
		const D *from_dy = (const D *)a.dy + row * a.cols;
		const T *from_x = (const T *)a.x + row * a.cols;
		const float inverse = a.inverse[row];
		float dy[N], x[N], w[N], sum = 0, back;

		for (int64_t col = first; col < a.cols; col += step) {
			ws_load<D, N>(from_dy + col, dy);
			ws_load<T, N>(from_x + col, x);
			ws_load<T, N>((const T *)a.weight + col, w);
			WS_UNROLL(k, N)
				sum += w[k] * dy[k] * x[k];
		}
		back = back_factor(a, ws_block_sum(sum, partial), inverse);
		for (int64_t col = first; col < a.cols; col += step) {
			ws_load<D, N>(from_dy + col, dy);
			ws_load<T, N>(from_x + col, x);
			ws_load<T, N>((const T *)a.weight + col, w);
			WS_UNROLL(k, N) {
				float old = row == blockIdx.x ? 0 : sums[col + k];

				sums[col + k] = old + dy[k] * x[k] * inverse;
				x[k] = inverse * w[k] * dy[k] - x[k] * back;
			}
			ws_store<T, N>((T *)a.dx + row * a.cols + col, x);
		}
	}
}

template <typename T, typename D>
static __device__ __forceinline__ void norm_grad(const struct norm_grad_rows &a)
{
	constexpr int N = WS_ACCESS / sizeof(T);

	if (a.cols % N == 0 && a.cols <= (int64_t)blockDim.x * N)
		grad_held<T, D, N>(a);
	else if (a.cols % N == 0)
		grad_walked<T, D, N>(a);
	else if (a.cols <= blockDim.x)
		grad_held<T, D, 1>(a);
	else
		grad_walked<T, D, 1>(a);
}

/* Beside fp32 operands autocast may have a gradient of 16 bits. */
static __global__ void __launch_bounds__(WS_NORM_THREADS(4))
        ws_norm_rms_norm_grad_bwd_f32(struct norm_grad_rows a)
{
	if (a.dy_dtype == WS_DTYPE_F16)
		norm_grad<float, struct ws_f16>(a);
	else if (a.dy_dtype == WS_DTYPE_BF16)
		norm_grad<float, struct ws_bf16>(a);
	else
		norm_grad<float, float>(a);
}

/* 1 / rms, which is fp32, is what makes them read fp32. */
#define WS_NORM_GRAD_KERNEL(suffix, T)                                       \
	static __global__ void __launch_bounds__(WS_NORM_THREADS(sizeof(T))) \
	        ws_norm_rms_norm_grad_bwd_##suffix(struct norm_grad_rows a)  \
	{                                                                    \
		norm_grad<T, T>(a);                                          \
	}
WS_NORM_GRAD_KERNEL(f32_f16, struct ws_f16)
WS_NORM_GRAD_KERNEL(f32_bf16, struct ws_bf16)

/*
 * dweight from the sums of all blocks. A block has few columns, a sector of 32 bytes of each row of
 * sums: a width of 1280 gives work to 160 blocks, and each of them has 32 rows on their way at
 * once.
 */
#define WS_GRAD_COLUMNS 8
#define WS_WEIGHT_GRADS(X)             \
	X(f32, F32, float)             \
	X(f32_f16, F16, struct ws_f16) \
	X(f32_bf16, BF16, struct ws_bf16)

#define WS_WEIGHT_GRAD_KERNEL(suffix, ID, T)                                                     \
	static __global__ void ws_norm_rms_norm_weight_grad_bwd_##suffix(const float *sums,      \
	                                                                 T *dweight, int slices, \
	                                                                 int64_t cols)           \
	{                                                                                        \
		int64_t col =                                                                    \
		        (int64_t)blockIdx.x * WS_GRAD_COLUMNS + threadIdx.x % WS_GRAD_COLUMNS;   \
		float sum = ws_slices_sum<WS_GRAD_COLUMNS>(sums, slices, cols, col);             \
                                                                                                 \
		if (threadIdx.x < WS_GRAD_COLUMNS && col < cols)                                 \
			dweight[col] = ws_from_f32<T>(sum);                                      \
	}
WS_WEIGHT_GRADS(WS_WEIGHT_GRAD_KERNEL)

/* --- launching ------------------------------------------------------------------------------- */

static int norm_threads(int64_t cols, enum ws_dtype dtype)
{
	int size_bytes = (int)ws_dtype_size(dtype), n = WS_ACCESS / size_bytes;

	return ws_row_threads(cols, ws_rows_aligned(cols, n) ? n : 1, WS_NORM_THREADS(size_bytes));
}

WS_LAUNCHER(rms_norm)
{
	const struct ws_tensor *x = op->in[0], *weight = op->in[1], *y = op->out[0];
	struct norm_rows a = {x->data,
	                      weight->data,
	                      y->data,
	                      (float *)op->out[1]->data,
	                      x->count / weight->count,
	                      weight->count,
	                      (float)op->u.alpha};
	int threads = norm_threads(a.cols, x->dtype);
	unsigned grid = ws_grid(launch, ws_div_up(a.rows, WS_NORM_ROWS), 4096 / threads);

	if (weight->dtype != x->dtype)
		return ws_cuda_no_kernel(op, err);
#define X(suffix, IN, T, OUT, U)                                     \
	if (x->dtype == WS_DTYPE_##IN && y->dtype == WS_DTYPE_##OUT) \
		return WS_LAUNCH(launch, err, ws_norm_rms_norm_fwd_##suffix, grid, threads, 0, a);
	WS_RMS_NORMS(X)
#undef X
	return ws_cuda_no_kernel(op, err);
}

WS_LAUNCHER(rms_norm_grad)
{
	const struct ws_tensor *dy = op->in[0], *x = op->in[1], *weight = op->in[2];
	const struct ws_tensor *dweight = op->out[1];
	struct norm_grad_rows a = {dy->data,
	                           x->data,
	                           weight->data,
	                           (const float *)op->in[3]->data,
	                           op->out[0]->data,
	                           (float *)launch->scratch,
	                           x->count / weight->count,
	                           weight->count,
	                           dy->dtype};
	int threads = norm_threads(a.cols, x->dtype);
	unsigned grid =
	        ws_grid(launch, ws_row_slices(a.rows), ws_div_up(WS_GRAD_RESIDENT, threads));

	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	if (weight->dtype != x->dtype || dweight->dtype != x->dtype ||
	    (x->dtype != WS_DTYPE_F32 && dy->dtype != x->dtype))
		return ws_cuda_no_kernel(op, err);
	switch (x->dtype) {
#define X(suffix, ID, T)                                                                          \
	case WS_DTYPE_##ID:                                                                       \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_rms_norm_grad_bwd_##suffix, grid,       \
		                     threads, 0, a));                                             \
		return WS_LAUNCH(launch, err, ws_norm_rms_norm_weight_grad_bwd_##suffix,          \
		                 (unsigned)ws_div_up(a.cols, WS_GRAD_COLUMNS), WS_SLICES_THREADS, \
		                 0, (const float *)a.sums, (T *)dweight->data, (int)grid, a.cols);
		WS_WEIGHT_GRADS(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}
