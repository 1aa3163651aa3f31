/*
 * log_softmax, nll_loss and their gradients, in fp32; and cross-entropy: the mean loss over rows,
 * and the gradient of the logits in the same kernel. fp32 inside. The losses of rows go to scratch,
 * and one block adds them in their order. And the squared errors of which the mean is a loss.
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

#define X(suffix, IN, T, OUT, U)                                                                   \
	WS_WIDE_KERNEL((WS_THREADS, 4), ws_loss_cross_entropy_fwd_##suffix, WS_ACCESS / sizeof(U), \
	               1, a.r.whole, (struct losses a), cross_entropy<T, U, N>(a))
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

/* --- log_softmax, nll_loss -------------------------------------------------------------------- */

struct log_softmax {
	struct ws_rows r;
	const float *x, *dy; /* of the gradient: the result, and its gradient */
	float *y;
};

template <typename T, int N>
static __device__ __forceinline__ void log_softmax(const struct log_softmax &s)
{
	const float scale = (float)M_LOG2E;

	WS_EACH_ROW(row, s.r)
	{
		const float *x = s.x + row * s.r.cols;
		const struct ws_softmax all = ws_row_softmax<T, N>(s.r, x, s.r.cols, scale);
		const float log_sum = logf(all.sum), max = all.max / scale;

		WS_EACH_COL(col, s.r, s.r.cols)
		{
			float v[N];

			ws_load<T, N>(x + col, v);
			WS_UNROLL(k, N)
				v[k] = v[k] - max - log_sum;
			ws_store<T, N>(s.y + row * s.r.cols + col, v);
		}
	}
}

/* dx = dy - exp(y) sum(dy) */
template <typename T, int N>
static __device__ __forceinline__ void log_softmax_grad(const struct log_softmax &s)
{
	WS_EACH_ROW(row, s.r)
	{
		int64_t offset = row * s.r.cols;
		float sum = 0;

		WS_EACH_COL(col, s.r, s.r.cols)
		{
			float v[N];

			ws_load<T, N>(s.dy + offset + col, v);
			WS_UNROLL(k, N)
				sum += v[k];
		}
		sum = ws_row_sum(s.r, sum);
		WS_EACH_COL(col, s.r, s.r.cols)
		{
			float a[N], b[N];

			ws_load<T, N>(s.dy + offset + col, a);
			ws_load<T, N>(s.x + offset + col, b);
			WS_UNROLL(k, N)
				a[k] -= expf(b[k]) * sum;
			ws_store<T, N>(s.y + offset + col, a);
		}
	}
}

WS_PACK_KERNEL((WS_THREADS, 4), ws_softmax_log_softmax_fwd_f32, float, s.r.whole, log_softmax,
               (struct log_softmax s), s)
WS_PACK_KERNEL((WS_THREADS, 4), ws_softmax_log_softmax_grad_bwd_f32, float, s.r.whole,
               log_softmax_grad, (struct log_softmax s), s)

static struct log_softmax log_softmax_of(const struct ws_op *op, const struct ws_tensor *x)
{
	struct log_softmax s;

	s.r = ws_rows_of(ws_tensor_rows(x), ws_tensor_cols(x), sizeof(float));
	s.x = (const float *)x->data;
	s.dy = (const float *)op->in[0]->data;
	s.y = (float *)op->out[0]->data;
	return s;
}

WS_LAUNCHER(log_softmax)
{
	struct log_softmax s = log_softmax_of(op, op->in[0]);

	WS_LAUNCH_F32(launch, op, err, ws_softmax_log_softmax_fwd_f32, ws_row_grid(launch, &s.r),
	              WS_THREADS, 0, s);
}

WS_LAUNCHER(log_softmax_grad)
{
	struct log_softmax s = log_softmax_of(op, op->in[1]);

	WS_LAUNCH_F32(launch, op, err, ws_softmax_log_softmax_grad_bwd_f32,
	              ws_row_grid(launch, &s.r), WS_THREADS, 0, s);
}

/* One block. A target that is no class has no loss: NaN, as the mean is. */
static __global__ void __launch_bounds__(MEAN_THREADS)
        ws_loss_nll_loss_fwd_f32(const float *y, const int32_t *target, float *mean, int64_t rows,
                                 int64_t cols)
{
	float sum = 0;

	for (int64_t row = threadIdx.x; row < rows; row += MEAN_THREADS)
		sum -= target[row] >= 0 && target[row] < cols ? y[row * cols + target[row]] : NAN;
	sum = ws_block_sum(sum);
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

/* --- squared errors -------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(WS_THREADS)
        ws_loss_squared_error_fwd_f32(const float *y, const float *target, float *out,
                                      int64_t count, float alpha)
{
	WS_EACH_ITEM(i, count)
	{
		const float d = y[i] - target[i];

		out[i] = alpha * d * d;
	}
}

static __global__ void __launch_bounds__(WS_THREADS)
        ws_loss_squared_error_grad_bwd_f32(const float *dy, const float *y, const float *target,
                                           float *dx, int64_t count, float alpha)
{
	const float factor = 2 * alpha * *dy;

	WS_EACH_ITEM(i, count)
	dx[i] = factor * (y[i] - target[i]);
}

WS_LAUNCHER(squared_error)
{
	const struct ws_tensor *out = op->out[0];

	WS_LAUNCH_F32(launch, op, err, ws_loss_squared_error_fwd_f32,
	              ws_item_grid(launch, out->count), WS_THREADS, 0,
	              (const float *)op->in[0]->data, (const float *)op->in[1]->data,
	              (float *)out->data, out->count, (float)op->u.alpha);
}

WS_LAUNCHER(squared_error_grad)
{
	const struct ws_tensor *dx = op->out[0];

	WS_LAUNCH_F32(launch, op, err, ws_loss_squared_error_grad_bwd_f32,
	              ws_item_grid(launch, dx->count), WS_THREADS, 0,
	              (const float *)op->in[0]->data, (const float *)op->in[1]->data,
	              (const float *)op->in[2]->data, (float *)dx->data, dx->count,
	              (float)op->u.alpha);
}
