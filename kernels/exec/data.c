
#include "kernels/exec/data.h"

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

/* --- tokens -------------------------------------------------------------------------------- */

#define FREQUENT_TOKENS 97 /* that the rule of the language is about, at most */

/* The token after `token`, number t of its sequence. frequent: tokens that the rule is about. */
static int64_t next_token(const struct ws_rng *stream, int64_t t, int64_t token, int64_t frequent,
                          int64_t vocab)
{
	uint64_t bits = ws_rng_bits(stream, (uint64_t)t + 1);

	return bits % 4 ? (5 * token + 17) % frequent : (int64_t)((bits >> 2) % (uint64_t)vocab);
}

void ws_data_tokens(uint64_t seed, int64_t step, const struct ws_token_batch *batch, int32_t *x,
                    int32_t *y)
{
	int64_t frequent = batch->vocab < FREQUENT_TOKENS ? batch->vocab : FREQUENT_TOKENS;

	for (int64_t b = 0; b < batch->n; b++) {
		struct ws_rng rng;
		char name[64];
		int64_t token;

		snprintf(name, sizeof(name), "tokens %lld %lld", (long long)step, (long long)b);
		rng = ws_rng_stream(seed, name);
		token = (int64_t)(ws_rng_bits(&rng, 0) % (uint64_t)frequent);
		for (int64_t t = 0; t < batch->context; t++) {
			x[b * batch->context + t] = (int32_t)token;
			token = next_token(&rng, t, token, frequent, batch->vocab);
			y[b * batch->context + t] = (int32_t)token;
		}
	}
}
