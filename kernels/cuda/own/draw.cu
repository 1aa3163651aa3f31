/*
 * First values of tensors, drawn on the device: what init.h says, element by element. It runs
 * once for each parameter, so nothing is done for speed.
 */
#include "kernels/cuda/own/row.cuh"
#include "kernels/exec/init.h"

#define THREADS 256
#define WAVES   32 /* blocks for each multiprocessor */

struct draw {
	void *data;
	struct ws_init init;
	struct ws_rng rng;
	int64_t first, count;
	int64_t part_count; /* elements of a part of the tensor: each counts from 0 */
	bool channels_last;
	struct ws_shape shape;
};

/* The number of an element in its stream. */
static __device__ __forceinline__ uint64_t draw_number(const struct draw &d, int64_t i)
{
	if (d.channels_last)
		i = ws_init_channels_first(&d.shape, i);
	return (uint64_t)(i % d.part_count);
}

/* By way of float to the 16-bit types, as ws_dtype_encode() does. */
template <typename T> static __device__ __forceinline__ T encoded(double value)
{
	return ws_from_f32<T>((float)value);
}
template <> __device__ __forceinline__ int32_t encoded<int32_t>(double value)
{
	return (int32_t)value;
}

template <typename T> static __device__ __forceinline__ void draw_values(const struct draw &d)
{
	int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	for (; i < d.count; i += (int64_t)gridDim.x * THREADS)
		((T *)d.data)[d.first + i] =
		        encoded<T>(ws_init_draw(&d.init, &d.rng, draw_number(d, d.first + i)));
}

#define DRAWN(X) WS_CUDA_FLOATS(X) X(I32, int32_t, i32)
#define X(ID, T, suffix)                                                                      \
	static __global__ void __launch_bounds__(THREADS) ws_rng_draw_##suffix(struct draw d) \
	{                                                                                     \
		draw_values<T>(d);                                                            \
	}
DRAWN(X)
#undef X

extern "C" enum ws_status ws_cuda_draw(const struct ws_cuda_launch *launch,
                                       const struct ws_cuda_draw *draw, struct ws_err *err)
{
	const struct ws_tensor *t = draw->t;
	unsigned grid = ws_grid(launch, ws_div_up(draw->count, THREADS), WAVES);
	struct draw d;

	d.data = t->data;
	d.init = t->init;
	d.rng = draw->rng;
	d.first = draw->first;
	d.count = draw->count;
	d.part_count = t->parts ? t->count / t->parts : t->count;
	d.channels_last = t->channels_last;
	d.shape = t->shape;
	WS_FAIL_IF(t->init.kind == WS_INIT_NONE || t->init.kind == WS_INIT_ROPE_TABLE, err, BUG,
	           "%s: its first values are the host's to make", t->name);
	switch (t->dtype) {
#define X(ID, T, suffix)    \
	case WS_DTYPE_##ID: \
		return WS_LAUNCH(launch, err, ws_rng_draw_##suffix, grid, THREADS, 0, d);
		DRAWN(X)
#undef X
	default:
		return WS_FAIL(err, BUG, "%s: %s is not drawn on a GPU", t->name,
		               ws_dtype_name(t->dtype));
	}
}
