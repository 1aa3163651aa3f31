/* RMS norm and its gradient. fp32 inside. */
#include "kernels/cuda/own/columns.cuh"
#include "kernels/cuda/own/row.cuh"

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
		inverse = 1 / sqrtf(ws_row_sum(a.r, sum) / (float)a.r.cols + a.eps);
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
	struct norm a;
	unsigned grid;

	a.r = ws_rows_of(x->count / weight->count, weight->count, ws_dtype_size(x->dtype));
	a.x = x->data;
	a.weight = weight->data;
	a.y = y->data;
	a.inverse = (float *)op->out[1]->data;
	a.eps = (float)op->u.alpha;
	grid = ws_row_grid(launch, &a.r);
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

/* --- gradient --------------------------------------------------------------------------------- */

/* Bytes of shared memory for sums, which need no opting in. */
#define SUMS_SHARED_BYTES (48 * 1024 - 512)

/*
 * With r = 1 / rms: dx = r w dy - x r^3 mean(w dy x); dweight = the sum over rows of dy x r, of
 * which each block adds up its rows': sums[block][column], in shared memory where they fit.
 */
struct grads {
	struct ws_rows r;
	const void *dy, *x, *weight;
	const float *inverse;
	void *dx;
	float *sums;
	int dy_dtype; /* enum ws_dtype; in fp32 autocast may have a gradient of 16 bits */
	bool shared;
};

template <typename T, int N>
static __device__ __forceinline__ void rms_norm_grad(const struct grads &a)
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
		back = ws_block_sum(sum) / (float)a.r.cols * r * r * r;
		WS_EACH_COL(col, a.r, a.r.cols)
		{
			ws_load_mixed<T, N>(a.dy, a.dy_dtype, row * a.r.cols + col, dy);
			ws_load<T, N>(from + col, x);
			ws_load<T, N>((const T *)a.weight + col, w);
			WS_UNROLL(k, N) {
				sums[col / N * pack_step + k * step] += dy[k] * x[k] * r;
				x[k] = r * w[k] * dy[k] - x[k] * back;
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

/* 1 / rms, which is fp32, is what makes the kernels of 16 bits read fp32. */
#define GRAD_LIST(X)                   \
	X(f32, F32, float)             \
	X(f32_f16, F16, struct ws_f16) \
	X(f32_bf16, BF16, struct ws_bf16)

#define X(suffix, ID, T)                                                                  \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_norm_rms_norm_grad_bwd_##suffix, T, a.r.whole, \
	               rms_norm_grad, (struct grads a), a)                                \
	static __global__ void __launch_bounds__(WS_COLUMNS_THREADS)                      \
	        ws_norm_rms_norm_weight_grad_bwd_##suffix(const float *sums, T *dweight,  \
	                                                  int slices, int64_t cols)       \
	{                                                                                 \
		ws_slices_total(sums, dweight, slices, cols);                             \
	}
GRAD_LIST(X)
#undef X

WS_LAUNCHER(rms_norm_grad)
{
	const struct ws_tensor *dy = op->in[0], *x = op->in[1], *weight = op->in[2];
	const struct ws_tensor *dweight = op->out[1];
	size_t bytes = (size_t)weight->count * sizeof(float);
	struct grads a;
	unsigned grid;

	a.r = ws_rows_of(x->count / weight->count, weight->count, ws_dtype_size(x->dtype));
	/* whole warps of a block that has no other row */
	a.r.lanes = ws_row_threads(&a.r, ws_dtype_size(x->dtype));
	a.dy = dy->data;
	a.x = x->data;
	a.weight = weight->data;
	a.inverse = (const float *)op->in[3]->data;
	a.dx = op->out[0]->data;
	a.sums = (float *)launch->scratch;
	a.dy_dtype = dy->dtype;
	a.shared = bytes <= SUMS_SHARED_BYTES;
	/* blocks of one wave, as each leaves sums to add */
	grid = ws_grid(launch, ws_row_slices(a.r.rows), 1024 / a.r.lanes);
	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	if (weight->dtype != x->dtype || dweight->dtype != x->dtype ||
	    (x->dtype != WS_DTYPE_F32 && dy->dtype != x->dtype))
		return ws_cuda_no_kernel(op, err);
	switch (x->dtype) {
#define X(suffix, ID, T)                                                                    \
	case WS_DTYPE_##ID:                                                                 \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_rms_norm_grad_bwd_##suffix, grid, \
		                     a.r.lanes, a.shared ? bytes : 0, a));                  \
		return WS_LAUNCH(launch, err, ws_norm_rms_norm_weight_grad_bwd_##suffix,    \
		                 ws_slices_grid(a.r.cols), WS_COLUMNS_THREADS, 0,           \
		                 (const float *)a.sums, (T *)dweight->data, (int)grid, a.r.cols);
		GRAD_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}
