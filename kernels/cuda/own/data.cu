/*
 * Synthetic images, made where they are used: a thread for each row of a plane of an image, in
 * which each number follows from the one before.
 */
#include "kernels/cuda/own/kernel.cuh"

#define THREADS 64 /* there is little to do: spread it over the multiprocessors */

/* Thread i draws row i of all rows of all planes; in NHWC neighbours draw channels of one row. */
template <typename T>
static __device__ __forceinline__ void draw_images(const struct ws_image_batch &b,
                                                   const struct ws_plane *planes, T *image)
{
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	bool nhwc = b.layout == WS_LAYOUT_NHWC;
	int64_t n, c, row, step = nhwc ? b.c : 1;
	struct ws_plane_pen pen;

	if (i >= b.n * b.c * b.h)
		return;
	n = i / (b.c * b.h);
	i -= n * b.c * b.h;
	c = nhwc ? i % b.c : i / b.h;
	row = nhwc ? i / b.c : i % b.h;
	planes += n * b.c + c;
	image += n * b.c * b.h * b.w + (nhwc ? c : c * b.h * b.w);
	pen = ws_plane_row(planes, row);
	for (int64_t pixel = row * b.w; pixel < (row + 1) * b.w; pixel++)
		image[pixel * step] = ws_from_f32<T>((float)ws_plane_pixel(planes, &pen, pixel));
}

#define WS_IMAGE_KERNELS(ID, T, suffix)                                                        \
	static __global__ void ws_rng_images_##suffix(struct ws_image_batch batch,             \
	                                              const struct ws_plane *planes, T *image) \
	{                                                                                      \
		draw_images(batch, planes, image);                                             \
	}
WS_CUDA_FLOATS(WS_IMAGE_KERNELS)

extern "C" enum ws_status ws_cuda_draw_images(const struct ws_cuda_launch *launch,
                                              const struct ws_image_batch *batch,
                                              const struct ws_plane *planes, struct ws_tensor *t,
                                              struct ws_err *err)
{
	unsigned grid = (unsigned)ws_div_up(batch->n * batch->c * batch->h, THREADS);

	switch (t->dtype) {
#define X(ID, T, suffix)                                                                        \
	case WS_DTYPE_##ID:                                                                     \
		return WS_LAUNCH(launch, err, ws_rng_images_##suffix, grid, THREADS, 0, *batch, \
		                 planes, (T *)t->data);
		WS_CUDA_FLOATS(X)
#undef X
	default:
		return WS_FAIL(err, BUG, "images of %s are not drawn on a GPU",
		               ws_dtype_name(t->dtype));
	}
}
