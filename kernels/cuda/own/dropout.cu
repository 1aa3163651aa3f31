/*
 * Dropout: the only op that draws random numbers. Its time is that of the hash, so one hash of 64
 * bits serves two elements.
 */
#include "kernels/cuda/own/kernel.cuh"

struct dropout {
	const void *x;
	const int32_t *step; /* number of the step, on the device: a recorded step draws anew */
	void *y, *mask;
	int64_t count;
	struct ws_rng rng;
	uint32_t below; /* dropped where 32 random bits are below */
	float keep;
};

/* The masks of N elements, of which the first takes half random number `draw`, an even one if N
 * > 1. */
template <int N>
static __device__ __forceinline__ void draw_mask(const struct dropout &d, uint64_t draw,
                                                 float (&mask)[N])
{
	if (N == 1)
		mask[0] = ws_rng_half(&d.rng, draw) < d.below ? 0 : d.keep;
#pragma unroll
	for (int k = 0; k + 1 < N; k += 2) {
		uint64_t bits = ws_rng_bits(&d.rng, draw / 2 + (uint64_t)(k / 2));

		mask[k] = (uint32_t)bits < d.below ? 0 : d.keep;
		mask[k + 1] = (uint32_t)(bits >> 32) < d.below ? 0 : d.keep;
	}
}

template <typename T, int N> static __device__ __forceinline__ void dropout(const struct dropout &d)
{
	uint64_t draw = ws_dropout_draw(d.count, (uint64_t)*d.step);

	WS_EACH_ITEM(pack, d.count / N)
	{
		int64_t i = pack * N;
		float x[N], mask[N];

		ws_load<T, N>((const T *)d.x + i, x);
		draw_mask<N>(d, draw + (uint64_t)i, mask);
		WS_UNROLL(k, N)
			x[k] *= mask[k];
		ws_store<T, N>((T *)d.y + i, x);
		ws_store<T, N>((T *)d.mask + i, mask);
	}
}

#define X(ID, T, suffix)                                                                           \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_rng_dropout_fwd_##suffix, T, d.count % N == 0, dropout, \
	               (struct dropout d), d)
WS_CUDA_FLOATS(X)
#undef X

WS_LAUNCHER(dropout)
{
	const struct ws_tensor *x = op->in[0];
	struct dropout d;

	d.x = x->data;
	d.step = (const int32_t *)op->in[1]->data;
	d.y = op->out[0]->data;
	d.mask = op->out[1]->data;
	d.count = x->count;
	d.rng = op->u.dropout.rng;
	d.below = ws_rng_below(op->u.dropout.p);
	d.keep = (float)(1 / (1 - op->u.dropout.p));
	WS_LAUNCH_FLOATS(launch, op, err, ws_rng_dropout_fwd, ws_item_grid(launch, x->count / 4),
	                 WS_THREADS, 0, d)
}
