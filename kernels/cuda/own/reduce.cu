/*
 * Row reductions, column sums and the gradient of a bias. Sums are fp32, of some dozens of
 * elements each, which are then added pairwise: in the same order on each run and each GPU.
 */
#include "kernels/cuda/own/columns.cuh"
#include "kernels/cuda/own/row.cuh"

/* --- rows: max, sum, mean --------------------------------------------------------------------- */

struct rows {
	struct ws_rows r;
	const void *in;
	void *out;
};

template <typename T, int N>
static __device__ __forceinline__ void reduce_rows(const struct rows &a, enum ws_sub sub)
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
		all = max ? ws_row_max(a.r, all) : ws_row_sum(a.r, all);
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
	               (struct rows a), a, WS_SUB_##SUB)
ROWS_LIST(X)
#undef X

static enum ws_status rows_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  struct ws_err *err)
{
	const struct ws_tensor *in = op->in[0];
	struct rows a = {ws_rows_of(ws_tensor_rows(in), ws_tensor_cols(in),
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

/* --- columns and channels --------------------------------------------------------------------- */

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

static enum ws_status columns_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                     struct ws_err *err)
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
	return op->sub == WS_SUB_COLSUM ? columns_launch(launch, op, err)
	                                : rows_launch(launch, op, err);
}

WS_LAUNCHER(bias_grad)
{
	if (op->in[0]->dtype != op->out[0]->dtype)
		return ws_cuda_no_kernel(op, err);
	return columns_launch(launch, op, err);
}
