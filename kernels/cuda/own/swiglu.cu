/* SwiGLU and its gradient: of rows [a b], the halves a and b, silu(a) * b. fp32 inside. */
#include "kernels/cuda/own/kernel.cuh"

struct swiglu {
	const void *dy, *x; /* dy: of the gradient */
	void *result;
	int64_t packs; /* of y and dy */
	struct ws_divisor cols;
	bool whole; /* packs of 16 bytes; else of one element */
};

/* Pack of a in x and its gradient, for pack i of y and dy; that of b lies cols further. */
static __device__ __forceinline__ int64_t pack_of_a(const struct swiglu &s, int64_t i)
{
	return i + ws_quotient(i, s.cols) * s.cols.value;
}

static __device__ __forceinline__ float sigmoid(float a)
{
	return 1 / (1 + expf(-a));
}

template <typename T, int N> static __device__ __forceinline__ void swiglu(const struct swiglu &s)
{
	WS_EACH_ITEM(i, s.packs)
	{
		int64_t from = pack_of_a(s, i);
		float a[N], b[N];

		ws_load<T, N>((const T *)s.x + from * N, a);
		ws_load<T, N>((const T *)s.x + (from + s.cols.value) * N, b);
		WS_UNROLL(k, N)
			a[k] = a[k] * sigmoid(a[k]) * b[k];
		ws_store<T, N>((T *)s.result + i * N, a);
	}
}

/* With s = sigmoid(a): da = dy b s (1 + a (1 - s)), db = dy a s */
template <typename T, int N>
static __device__ __forceinline__ void swiglu_grad(const struct swiglu &s)
{
	WS_EACH_ITEM(i, s.packs)
	{
		int64_t from = pack_of_a(s, i);
		float dy[N], a[N], b[N];

		ws_load<T, N>((const T *)s.dy + i * N, dy);
		ws_load<T, N>((const T *)s.x + from * N, a);
		ws_load<T, N>((const T *)s.x + (from + s.cols.value) * N, b);
		WS_UNROLL(k, N) {
			float share = sigmoid(a[k]);

			b[k] = dy[k] * b[k] * share * (1 + a[k] * (1 - share));
			dy[k] = dy[k] * a[k] * share;
		}
		ws_store<T, N>((T *)s.result + from * N, b);
		ws_store<T, N>((T *)s.result + (from + s.cols.value) * N, dy);
	}
}

#define KERNELS(ID, T, suffix)                                                                  \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_elementwise_swiglu_fwd_##suffix, T, s.whole, swiglu, \
	               (struct swiglu s), s)                                                    \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_elementwise_swiglu_grad_bwd_##suffix, T, s.whole,    \
	               swiglu_grad, (struct swiglu s), s)
WS_CUDA_FLOATS(KERNELS)

/* half: y or dy, whose rows are as long as a and b. */
static struct swiglu swiglu_of(const struct ws_op *op, const struct ws_tensor *half,
                               const struct ws_tensor *x)
{
	int n = WS_ACCESS / (int)ws_dtype_size(half->dtype);
	int64_t cols = ws_tensor_cols(half);
	struct swiglu s;

	s.whole = cols % n == 0;
	n = s.whole ? n : 1;
	s.dy = half->data;
	s.x = x->data;
	s.result = op->out[0]->data;
	s.packs = half->count / n;
	s.cols = ws_divisor_of(cols / n);
	return s;
}

WS_LAUNCHER(swiglu)
{
	struct swiglu s = swiglu_of(op, op->out[0], op->in[0]);

	WS_LAUNCH_FLOATS(launch, op, err, ws_elementwise_swiglu_fwd, ws_item_grid(launch, s.packs),
	                 WS_THREADS, 0, s)
}

WS_LAUNCHER(swiglu_grad)
{
	struct swiglu s = swiglu_of(op, op->in[0], op->in[1]);

	WS_LAUNCH_FLOATS(launch, op, err, ws_elementwise_swiglu_grad_bwd,
	                 ws_item_grid(launch, s.packs), WS_THREADS, 0, s)
}
