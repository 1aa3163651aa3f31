/*
 * Cross-entropy: the mean loss over rows, and the gradient of the logits in the same kernel. fp32
 * inside. The losses of rows go to scratch, and one block adds them in their order.
 */
#include "kernels/cuda/own/row.cuh"

#define MEAN_THREADS 1024

/* Logits are of type T, their gradient of U. */
struct losses {
	struct ws_rows r;
	const void *logits;
	const int32_t *target;
	void *grad;
	float *loss; /* -log_softmax(logits)[target] of each row */
};

/* grad = (softmax - onehot) / rows. A target that is no class has no loss: NaN, as the mean is. */
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
#define KERNEL_LIST(X)                             \
	X(f32, F32, float, F32, float)             \
	X(f16_f32, F16, struct ws_f16, F32, float) \
	X(bf16_f32, BF16, struct ws_bf16, BF16, struct ws_bf16)

#define X(suffix, IN, T, OUT, U)                                       \
	static __global__ void __launch_bounds__(WS_THREADS, 4)        \
	        ws_loss_cross_entropy_fwd_##suffix(struct losses a)    \
	{                                                              \
		if (a.r.whole)                                         \
			cross_entropy<T, U, WS_ACCESS / sizeof(U)>(a); \
		else                                                   \
			cross_entropy<T, U, 1>(a);                     \
	}
KERNEL_LIST(X)
#undef X

/* One block. */
static __global__ void __launch_bounds__(MEAN_THREADS)
        ws_loss_cross_entropy_mean_fwd_f32(const float *loss, float *mean, int64_t rows)
{
	float sum = 0;

	for (int64_t row = threadIdx.x; row < rows; row += MEAN_THREADS)
		sum += loss[row];
	sum = ws_block_sum(sum);
	if (threadIdx.x == 0)
		*mean = sum / (float)rows;
}

static enum ws_status rows_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  struct losses a, struct ws_err *err)
{
	enum ws_dtype in = op->in[0]->dtype, out = op->out[1]->dtype;
	unsigned grid = ws_row_grid(launch, &a.r);

#define X(suffix, IN, T, OUT, U)                                                        \
	if (in == WS_DTYPE_##IN && out == WS_DTYPE_##OUT)                               \
		return WS_LAUNCH(launch, err, ws_loss_cross_entropy_fwd_##suffix, grid, \
		                 WS_THREADS, 0, a);
	KERNEL_LIST(X)
#undef X
	return ws_cuda_no_kernel(op, err);
}

WS_LAUNCHER(cross_entropy)
{
	const struct ws_tensor *logits = op->in[0], *target = op->in[1];
	struct losses a;

	a.r = ws_rows_of(target->count, ws_tensor_cols(logits), ws_dtype_size(op->out[1]->dtype));
	a.logits = logits->data;
	a.target = (const int32_t *)target->data;
	a.grad = op->out[1]->data;
	a.loss = (float *)launch->scratch;
	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	WS_FORWARD(rows_launch(launch, op, a, err));
	return WS_LAUNCH(launch, err, ws_loss_cross_entropy_mean_fwd_f32, 1, MEAN_THREADS, 0,
	                 (const float *)a.loss, (float *)op->out[0]->data, a.r.rows);
}
