/*
 * Synthetic images and signals: made from the seed, learnable, never all zeros
 * (a GPU computes faster on zeros, so they would falsify the timing).
 */
#ifndef WS_KERNELS_DATA_IMAGE_H
#define WS_KERNELS_DATA_IMAGE_H

#include "kernels/op.h"

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

#endif
