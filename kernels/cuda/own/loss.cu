/*
 * Cross-entropy: the mean loss over rows, and the gradient of the logits in the same pass. fp32
 * inside.
 *
 * A row belongs to a block, which keeps up to 12,160 columns in shared memory, so that logits
 * are read once; longer rows are read again. The losses of rows go to scratch, and one block
 * adds them in their order.
 */
#include "kernels/cuda/own/row.cuh"

#define WS_LOSS_THREADS 256  /* of a row, at most */
#define WS_MEAN_THREADS 1024 /* of all rows */

/* Logits are of type T, their gradient of U. */
struct loss_rows {
	const void *logits;
	const int32_t *target;
	void *grad;
	float *loss; /* -log_softmax(logits)[target] of each row */
	int64_t rows, cols;
	bool keep; /* a row fits the shared memory of the launch */
};

/* Maximum of the row; keeps it, where it fits. */
template <typename T, int N>
static __device__ __forceinline__ float row_max(const T *x, const struct loss_rows &a, float *row)
{
	int64_t step = (int64_t)blockDim.x * N;
	float max = -INFINITY;
	int turn = 0;

#pragma unroll 4
	for (int64_t col = (int64_t)threadIdx.x * N; col < a.cols; col += step, turn++) {
		float v[N];

		ws_load<T, N>(x + col, v);
		WS_UNROLL(k, N)
			max = ws_max_nan(max, v[k]);
		if (a.keep)
			ws_row_keep<N>(row, turn, v);
	}
	return max;
}

/* exp(x - max) of one turn's columns, from what row_max() kept or from memory. */
template <typename T, int N>
static __device__ __forceinline__ void row_exp(const T *x, int64_t col, float max, bool keep,
                                               const float *row, int turn, float (&v)[N])
{
	if (keep)
		ws_row_kept<N>(row, turn, v);
	else
		ws_load<T, N>(x + col, v);
	WS_UNROLL(k, N)
		v[k] = expf(v[k] - max);
}

/* Sum of exp(x - max); keeps these. */
template <typename T, int N>
static __device__ __forceinline__ float row_sum(const T *x, float max, const struct loss_rows &a,
                                                float *row)
{
	int64_t step = (int64_t)blockDim.x * N;
	float sum = 0;
	int turn = 0;

	for (int64_t col = (int64_t)threadIdx.x * N; col < a.cols; col += step, turn++) {
		float v[N];

		row_exp<T, N>(x, col, max, a.keep, row, turn, v);
		WS_UNROLL(k, N)
			sum += v[k];
		if (a.keep)
			ws_row_keep<N>(row, turn, v);
	}
	return sum;
}

/* (softmax - onehot) / rows */
template <typename T, typename U, int N>
static __device__ __forceinline__ void row_grad(const T *x, U *dx, float max, float sum,
                                                int64_t target, const struct loss_rows &a,
                                                const float *row)
{
	const float one = 1 / (float)a.rows, factor = one / sum;
	int64_t step = (int64_t)blockDim.x * N;
	int turn = 0;

	for (int64_t col = (int64_t)threadIdx.x * N; col < a.cols; col += step, turn++) {
		float v[N];

		if (a.keep)
			ws_row_kept<N>(row, turn, v);
		else
			row_exp<T, N>(x, col, max, false, row, turn, v);
		WS_UNROLL(k, N)
			v[k] = v[k] * factor - (col + k == target ? one : 0);
		ws_store<U, N>(dx + col, v);
	}
}

/* A target that is no class has no loss: NaN, which the mean shows. */
template <typename T, typename U, int N>
static __device__ __forceinline__ void cross_entropy(const struct loss_rows &a)
{
	__shared__ float partial[WS_WARP];
	WS_SHARED_DYNAMIC(float, kept);

	for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
		const T *x = (const T *)a.logits + row * a.cols;
		int64_t target = a.target[row];
		float max = ws_block_max(row_max<T, N>(x, a, kept), partial);
		float sum = ws_block_sum(row_sum<T, N>(x, max, a, kept), partial);

		if (threadIdx.x == 0)
			a.loss[row] = target >= 0 && target < a.cols
			                      ? logf(sum) - (ws_to_f32(x[target]) - max)
			                      : NAN;
		row_grad<T, U, N>(x, (U *)a.grad + row * a.cols, max, sum, target, a, kept);
	}
}

/* X(suffix of the kernel, ID and type of logits, ID and type of their gradient) */
#define WS_CROSS_ENTROPIES(X)                      \
	X(f32, F32, float, F32, float)             \
	X(f16_f32, F16, struct ws_f16, F32, float) \
	X(bf16_f32, BF16, struct ws_bf16, BF16, struct ws_bf16)

#define WS_CROSS_ENTROPY_KERNEL(suffix, IN, T, OUT, U)                                         \
	static __global__ void __launch_bounds__(WS_LOSS_THREADS, 4)                           \
	        ws_loss_cross_entropy_fwd_##suffix(struct loss_rows a)                         \
	{                                                                                      \
		constexpr int N = WS_ACCESS / (sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U)); \
                                                                                               \
		if (a.cols % N == 0)                                                           \
			cross_entropy<T, U, N>(a);                                             \
		else                                                                           \
			cross_entropy<T, U, 1>(a);                                             \
	}
WS_CROSS_ENTROPIES(WS_CROSS_ENTROPY_KERNEL)

/* One block. */
static __global__ void __launch_bounds__(WS_MEAN_THREADS)
        ws_loss_cross_entropy_mean_fwd_f32(const float *loss, float *mean, int64_t rows)
{
	__shared__ float partial[WS_WARP];
	float sum = 0;

#pragma unroll 4
	for (int64_t row = threadIdx.x; row < rows; row += WS_MEAN_THREADS)
		sum += loss[row];
	sum = ws_block_sum(sum, partial);
	if (threadIdx.x == 0)
		*mean = sum / (float)rows;
}

/* --- launching ------------------------------------------------------------------------------- */

static enum ws_status rows_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  struct loss_rows a, struct ws_err *err)
{
	enum ws_dtype in = op->in[0]->dtype, out = op->out[1]->dtype;
	int n = WS_ACCESS / (int)ws_dtype_size(out);
	int threads = ws_row_threads(a.cols, ws_rows_aligned(a.cols, n) ? n : 1, WS_LOSS_THREADS);
	size_t shared_bytes =
	        ws_row_shared_bytes(a.cols, threads, ws_rows_aligned(a.cols, n) ? n : 1);
	unsigned grid = ws_grid(launch, a.rows, 4096 / threads);

	a.keep = shared_bytes != 0;
#define X(suffix, IN, T, OUT, U)                                                                 \
	if (in == WS_DTYPE_##IN && out == WS_DTYPE_##OUT)                                        \
		return WS_LAUNCH(launch, err, ws_loss_cross_entropy_fwd_##suffix, grid, threads, \
		                 shared_bytes, a);
	WS_CROSS_ENTROPIES(X)
#undef X
	return ws_cuda_no_kernel(op, err);
}

WS_LAUNCHER(cross_entropy)
{
	const struct ws_tensor *logits = op->in[0], *target = op->in[1];
	struct loss_rows a = {logits->data,
	                      (const int32_t *)target->data,
	                      op->out[1]->data,
	                      (float *)launch->scratch,
	                      target->count,
	                      ws_tensor_cols(logits),
	                      false};

	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	WS_FORWARD(rows_launch(launch, op, a, err));
	return WS_LAUNCH(launch, err, ws_loss_cross_entropy_mean_fwd_f32, 1, WS_MEAN_THREADS, 0,
	                 (const float *)a.loss, (float *)op->out[0]->data, a.rows);
}
