/*
 * Synthetic training data: images, signals and tokens made from the seed, learnable, never all
 * zeros (a GPU computes faster on zeros, so they would falsify the timing).
 */
#pragma once

#include <math.h>
#include <stdint.h>

#include "kernels/base/rng.h"
#include "kernels/graph/op.h"

#define WS_IMAGE_NOISE 0.5 /* largest deviation from the pattern */

/* n images of c × h × w; classes 1: a number to be told from each, not a class. */
struct ws_image_batch {
	enum ws_layout layout;
	int64_t n, c, h, w;
	int64_t classes;
};

/*
 * One channel of one image: pixel (row, col) is scale (level + amplitude sin(turn_row row +
 * turn_col col + phase)) + NOISE u, with u in ±1 from number 1 + channel × pixels + pixel of the
 * image's stream.
 */
struct ws_plane {
	struct ws_rng noise;
	uint64_t first; /* number of the first pixel */
	double scale, level, amplitude, turn_row, turn_col, phase;
};

/* The planes [n, c] of batch number `step`, and the labels [n], without the pixels. */
void ws_data_image_planes(uint64_t seed, int64_t step, const struct ws_image_batch *batch,
                          struct ws_plane *planes, double *labels);

/*
 * The pixels of a batch, in the order of its layout. The image of a class is a plane wave of its
 * own in each channel on a level of its own, with noise; a label is 0 … classes - 1. With one
 * class the label is a number between -0.8 and 0.8, by which wave and level are multiplied.
 */
void ws_data_images(const struct ws_image_batch *batch, const struct ws_plane *planes,
                    double *images);

/* The wave along a row of a plane, drawn by rotating (cos, sin). */
struct ws_plane_pen {
	double cosine, sine, turn_cosine, turn_sine;
};

static inline WS_HOST_DEVICE struct ws_plane_pen ws_plane_row(const struct ws_plane *plane,
                                                              int64_t row)
{
	double angle = plane->turn_row * (double)row + plane->phase;
	struct ws_plane_pen pen;

	pen.cosine = cos(angle);
	pen.sine = sin(angle);
	pen.turn_cosine = cos(plane->turn_col);
	pen.turn_sine = sin(plane->turn_col);
	return pen;
}

/* The next pixel of the row, number `pixel` of the plane. */
static inline WS_HOST_DEVICE double ws_plane_pixel(const struct ws_plane *plane,
                                                   struct ws_plane_pen *pen, int64_t pixel)
{
	double noise = 2 * ws_rng_uniform(&plane->noise, plane->first + (uint64_t)pixel) - 1;
	double value = plane->scale * (plane->level + plane->amplitude * pen->sine) +
	               WS_IMAGE_NOISE * noise;
	double cosine = pen->cosine * pen->turn_cosine - pen->sine * pen->turn_sine;

	pen->sine = pen->sine * pen->turn_cosine + pen->cosine * pen->turn_sine;
	pen->cosine = cosine;
	return value;
}

/* --- tokens -------------------------------------------------------------------------------- */

/*
 * Synthetic training data: made from the seed, learnable, never all zeros
 * (a GPU computes faster on zeros, so they would falsify the timing).
 */

/* n sequences of context tokens with ids below vocab; all at least 1. */
struct ws_token_batch {
	int64_t n, context, vocab;
};

/*
 * Batch number `step` of a language: x[i] and its successor y[i], both [n, context], in 0 …
 * vocab - 1. Three successors in four follow a fixed rule over at most 97 frequent tokens; the
 * fourth is any token.
 */
void ws_data_tokens(uint64_t seed, int64_t step, const struct ws_token_batch *batch, int32_t *x,
                    int32_t *y);
