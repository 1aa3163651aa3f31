/*
 * Synthetic images and signals: made from the seed, learnable, never all zeros
 * (a GPU computes faster on zeros, so they would falsify the timing).
 */
#ifndef WS_KERNELS_DATA_IMAGE_H
#define WS_KERNELS_DATA_IMAGE_H

#include "kernels/op.h"

/* n images of c × h × w; classes 1: a number to be told from each, not a class. */
struct ws_image_batch {
	enum ws_layout layout;
	int64_t n, c, h, w;
	int64_t classes;
};

/*
 * Batch number `step`: images in the order of the layout, and their labels [n].
 * The image of a class is a plane wave of its own in each channel on a level of
 * its own, with noise; a label is 0 … classes - 1. With one class the label is a
 * number between -0.8 and 0.8, by which wave and level are multiplied.
 */
void ws_data_images(uint64_t seed, int64_t step, const struct ws_image_batch *batch, double *images,
                    double *labels);

#endif
