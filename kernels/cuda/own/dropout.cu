/*
 * Dropout: the only op that draws random numbers. Its time is that of the hash, so one hash of 64
 * bits serves two elements.
 */
#include "kernels/cuda/own/row.cuh"

#define THREADS 256
#define WAVES   32 /* blocks for each multiprocessor */
#define PACKS   2  /* of a thread and turn: 32 bytes are read, 64 written */

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

/* From begin up to end, which is a whole number of packs away. */
template <typename T, int N>
static __device__ __forceinline__ void dropout_packs(const struct dropout &d, int64_t begin,
                                                     int64_t end)
{
	constexpr int64_t TURN = (int64_t)THREADS * PACKS * N;
	int64_t first = begin + blockIdx.x * TURN + (int64_t)threadIdx.x * N;
	uint64_t draw = ws_dropout_draw(d.count, (uint64_t)*d.step);

#pragma unroll 1
	for (; first < end; first += gridDim.x * TURN) {
		float x[PACKS][N];

		WS_UNROLL(u, PACKS) {
			int64_t at = first + (int64_t)u * THREADS * N;

			ws_load<T, N>((const T *)d.x + (at < end ? at : first), x[u]);
		}
		WS_UNROLL(u, PACKS) {
			int64_t at = first + (int64_t)u * THREADS * N;
			float mask[N];

			if (at >= end)
				break;
			draw_mask<N>(d, draw + (uint64_t)at, mask);
			WS_UNROLL(k, N)
				x[u][k] *= mask[k];
			ws_store<T, N>((T *)d.y + at, x[u]);
			ws_store<T, N>((T *)d.mask + at, mask);
		}
	}
}

#define X(ID, T, suffix)                                      \
	static __global__ void __launch_bounds__(THREADS)     \
	        ws_rng_dropout_fwd_##suffix(struct dropout d) \
	{                                                     \
		constexpr int N = WS_ACCESS / sizeof(T);      \
		int64_t whole = d.count - d.count % N;        \
                                                              \
		dropout_packs<T, N>(d, 0, whole);             \
		dropout_packs<T, 1>(d, whole, d.count);       \
	}
WS_CUDA_FLOATS(X)
#undef X

WS_LAUNCHER(dropout)
{
	const struct ws_tensor *x = op->in[0];
	int n = WS_ACCESS / (int)ws_dtype_size(x->dtype);
	struct dropout d;
	unsigned grid;

	if (op->out[0]->dtype != x->dtype || op->out[1]->dtype != x->dtype)
		return ws_cuda_no_kernel(op, err);
	d.x = x->data;
	d.step = (const int32_t *)op->in[1]->data;
	d.y = op->out[0]->data;
	d.mask = op->out[1]->data;
	d.count = x->count;
	d.rng = op->u.dropout.rng;
	d.below = ws_rng_below(op->u.dropout.p);
	d.keep = (float)(1 / (1 - op->u.dropout.p));
	grid = ws_grid(launch, ws_div_up(x->count, THREADS * PACKS * n), WAVES);
	WS_LAUNCH_FLOATS(launch, op, err, x->dtype, ws_rng_dropout_fwd, grid, THREADS, 0, d)
}
