/*
 * Causal softmax and its gradient. Row r of [.., T, T] has r mod T + 1 visible columns; the
 * others are not read and become 0. fp32 inside.
 */
#include "kernels/cuda/own/row.cuh"

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
		sum = ws_row_sum(s.r, sum);
		WS_EACH_COL(col, s.r, s.r.cols)
		{
			float a[N] = {0}, b[N] = {0};

			if (col < visible) {
				ws_load<T, N>(dy + col, a);
				ws_load<T, N>(y + col, b);
			}
			WS_UNROLL(k, N)
				a[k] = col + k < visible ? s.scale * b[k] * (a[k] - sum) : 0;
			ws_store<T, N>((T *)s.y + offset + col, a);
		}
	}
}

#define KERNELS(ID, T, suffix)                                                                     \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_softmax_causal_softmax_fwd_##suffix, T, s.r.whole,      \
	               softmax, (struct softmax s), s)                                             \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_softmax_causal_softmax_grad_bwd_##suffix, T, s.r.whole, \
	               softmax_grad, (struct softmax s), s)
WS_CUDA_FLOATS(KERNELS)

static struct softmax softmax_of(const struct ws_op *op, const struct ws_tensor *x, double scale)
{
	struct softmax s;

	s.r = ws_rows_of(ws_tensor_rows(x), ws_tensor_cols(x), ws_dtype_size(x->dtype));
	s.x = x->data;
	s.dy = op->in[0]->data;
	s.y = op->out[0]->data;
	s.scale = (float)scale;
	return s;
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
