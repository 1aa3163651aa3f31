/* Batches that the GPU draws are those that the host draws. */
#include <criterion/criterion.h>
#include <math.h>

#include "kernels/cuda/own/launch.h"

static const struct ws_cuda_launch launch = {.sm_count = 3};

static void compare_images(const struct ws_image_batch *b, enum ws_dtype dtype)
{
	int64_t count = b->n * b->c * b->h * b->w;
	struct ws_tensor t = {.dtype = dtype, .count = count};
	struct ws_plane *planes = calloc((size_t)(b->n * b->c), sizeof(*planes));
	double *labels = calloc((size_t)b->n, sizeof(*labels));
	double *want = calloc((size_t)count, sizeof(*want)),
	       *got = calloc((size_t)count, sizeof(*got));
	double least = HUGE_VAL, most = -HUGE_VAL;
	double unit = dtype == WS_DTYPE_F32 ? 0x1p-23 : dtype == WS_DTYPE_F16 ? 0x1p-10 : 0x1p-7;
	struct ws_err err = {0};

	t.data = malloc((size_t)count * ws_dtype_size(dtype));
	ws_data_image_planes(5, 2, b, planes, labels);
	ws_data_images(b, planes, want);
	cr_assert_eq(ws_cuda_draw_images(&launch, b, planes, &t, &err), WS_OK, "%s", err.text);
	ws_dtype_decode(dtype, t.data, got, count);
	for (int64_t i = 0; i < count; i++) {
		cr_assert(fabs(got[i] - want[i]) <= unit * fmax(fabs(want[i]), 1),
		          "pixel %lld: %g, not %g", (long long)i, got[i], want[i]);
		least = fmin(least, got[i]);
		most = fmax(most, got[i]);
	}
	cr_assert(count < 20 || most > least, "an image of one colour");
	free(t.data);
	free(planes);
	free(labels);
	free(want);
	free(got);
}

Test(batches, images_are_the_hosts_in_both_layouts_and_all_dtypes)
{
	static const struct ws_image_batch batches[] = {
	        {WS_LAYOUT_NCHW, 2, 3, 33, 7, 10},
	        {WS_LAYOUT_NHWC, 2, 3, 33, 7, 10},
	        {WS_LAYOUT_NHWC, 5, 18, 1, 100, 1},
	        {WS_LAYOUT_NCHW, 1, 1, 1, 1, 4},
	};
	static const enum ws_dtype dtypes[] = {WS_DTYPE_F32, WS_DTYPE_F16, WS_DTYPE_BF16};

	for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++)
		for (size_t j = 0; j < sizeof(dtypes) / sizeof(*dtypes); j++)
			compare_images(&batches[i], dtypes[j]);
}
