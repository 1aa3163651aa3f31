#include "kernels/data/images.h"

#include <stdio.h>

#include "kernels/base/rng.h"

#define LABEL_MAX 0.8

/* A number in ±1. */
static double draw(const struct ws_rng *rng, uint64_t n)
{
	return 2 * ws_rng_uniform(rng, n) - 1;
}

static struct ws_plane plane_of(uint64_t seed, int64_t class, int64_t channel)
{
	struct ws_rng rng;
	char name[64];

	snprintf(name, sizeof(name), "image class %lld channel %lld", (long long)class,
	         (long long)channel);
	rng = ws_rng_stream(seed, name);
	return (struct ws_plane){
	        .level = draw(&rng, 0),
	        .amplitude = 0.5 + 0.5 * ws_rng_uniform(&rng, 1),
	        .turn_row = 1.5 * draw(&rng, 2),
	        .turn_col = 1.5 * draw(&rng, 3),
	        .phase = 3 * draw(&rng, 4),
	};
}

void ws_data_image_planes(uint64_t seed, int64_t step, const struct ws_image_batch *batch,
                          struct ws_plane *planes, double *labels)
{
	for (int64_t n = 0; n < batch->n; n++) {
		struct ws_rng rng;
		char name[64];
		int64_t class = 0;
		double scale = 1;

		snprintf(name, sizeof(name), "image %lld %lld", (long long)step, (long long)n);
		rng = ws_rng_stream(seed, name);
		if (batch->classes == 1)
			labels[n] = scale = LABEL_MAX * draw(&rng, 0);
		else
			labels[n] = (double)(class = (int64_t)(ws_rng_bits(&rng, 0) %
			                                       (uint64_t)batch->classes));
		for (int64_t c = 0; c < batch->c; c++) {
			struct ws_plane *plane = &planes[n * batch->c + c];

			*plane = plane_of(seed, class, c);
			plane->noise = rng;
			plane->scale = scale;
			plane->first = 1 + (uint64_t)(c * batch->h * batch->w);
		}
	}
}

static void draw_plane(const struct ws_image_batch *b, const struct ws_plane *plane, double *image)
{
	int64_t step = b->layout == WS_LAYOUT_NCHW ? 1 : b->c;

	for (int64_t h = 0; h < b->h; h++) {
		struct ws_plane_pen pen = ws_plane_row(plane, h);

		for (int64_t i = h * b->w; i < (h + 1) * b->w; i++)
			image[i * step] = ws_plane_pixel(plane, &pen, i);
	}
}

void ws_data_images(const struct ws_image_batch *batch, const struct ws_plane *planes,
                    double *images)
{
	int64_t pixels = batch->h * batch->w;

	for (int64_t n = 0; n < batch->n; n++)
		for (int64_t c = 0; c < batch->c; c++)
			draw_plane(batch, &planes[n * batch->c + c],
			           images + n * batch->c * pixels +
			                   (batch->layout == WS_LAYOUT_NCHW ? c * pixels : c));
}
