#include "kernels/data_image.h"

#include <math.h>
#include <stdio.h>

#include "kernels/rng.h"

#define NOISE     0.5 /* largest deviation from the pattern */
#define LABEL_MAX 0.8

/* What an image of a class shows in one channel: level + amplitude sin(row h + col w + phase). */
struct wave {
	double level, amplitude, row, col, phase;
};

/* A number in ±1. */
static double draw(const struct ws_rng *rng, uint64_t n)
{
	return 2 * ws_rng_uniform(rng, n) - 1;
}

static struct wave wave_of(uint64_t seed, int64_t class, int64_t channel)
{
	struct ws_rng rng;
	char name[64];

	snprintf(name, sizeof(name), "image class %lld channel %lld", (long long)class,
	         (long long)channel);
	rng = ws_rng_stream(seed, name);
	return (struct wave){
	        .level = draw(&rng, 0),
	        .amplitude = 0.5 + 0.5 * ws_rng_uniform(&rng, 1),
	        .row = 1.5 * draw(&rng, 2),
	        .col = 1.5 * draw(&rng, 3),
	        .phase = 3 * draw(&rng, 4),
	};
}

/* One channel of one image. The wave is drawn along a row by rotating (cos, sin). */
static void draw_channel(const struct ws_image_batch *b, const struct wave *wave, double scale,
                         const struct ws_rng *noise, uint64_t first, double *image)
{
	int64_t step = b->layout == WS_LAYOUT_NCHW ? 1 : b->c;
	double turn_cos = cos(wave->col), turn_sin = sin(wave->col);

	for (int64_t h = 0; h < b->h; h++) {
		double angle = wave->row * (double)h + wave->phase;
		double c = cos(angle), s = sin(angle);

		for (int64_t w = 0; w < b->w; w++) {
			uint64_t n = first + (uint64_t)(h * b->w + w);
			double next_c = c * turn_cos - s * turn_sin;

			image[(h * b->w + w) * step] = scale * (wave->level + wave->amplitude * s) +
			                               NOISE * draw(noise, n);
			s = s * turn_cos + c * turn_sin;
			c = next_c;
		}
	}
}

void ws_data_images(uint64_t seed, int64_t step, const struct ws_image_batch *batch, double *images,
                    double *labels)
{
	int64_t plane = batch->h * batch->w;

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
			struct wave wave = wave_of(seed, class, c);
			double *image = images + n * batch->c * plane;

			draw_channel(batch, &wave, scale, &rng, 1 + (uint64_t)(c * plane),
			             image + (batch->layout == WS_LAYOUT_NCHW ? c * plane : c));
		}
	}
}
