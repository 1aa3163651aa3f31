/*
 * Training data from a file, instead of made from the seed.
 *
 * Tokens: ids as little-endian uint16, one after the other, nothing else (what
 * numpy's tofile() and memmap write). Images: records of CIFAR-10's binary form,
 * each one byte of label and then the planes of the channels, a byte a pixel,
 * row by row. Which windows or records are drawn follows from the seed and the
 * number of the step alone, with repetition.
 */
#pragma once

#include <stddef.h>

#include "formats/base/status.h"
#include "kernels/data/images.h"
#include "kernels/data/tokens.h"

/* The bytes of a file. Tests fill it themselves and do not close it. */
struct ws_data_file {
	const unsigned char *data;
	size_t size;
};

/*
 * Map a file, whose pages are then read as they are drawn from. IO_READ, with the
 * path in the text, when it cannot be opened or is no regular file. The file must
 * not shrink until ws_data_file_close().
 */
enum ws_status ws_data_file_open(struct ws_data_file *file, const char *path, struct ws_err *err);
void ws_data_file_close(struct ws_data_file *file);

/*
 * Can batches be drawn from the file at all? CORRUPT: it is no whole number of
 * tokens, or less than context + 1 of them. Ids are checked as they are drawn.
 */
enum ws_status ws_data_file_check_tokens(const struct ws_data_file *file,
                                         const struct ws_token_batch *batch, struct ws_err *err);
/*
 * Batch number `step`: x[i] and its successor y[i], both [n, context]. CORRUPT as
 * above, and when a drawn id is not below vocab.
 */
enum ws_status ws_data_file_tokens(const struct ws_data_file *file, uint64_t seed, int64_t step,
                                   const struct ws_token_batch *batch, int32_t *x, int32_t *y,
                                   struct ws_err *err);

/*
 * The same of images. USAGE: a model of one output, which has no classes.
 * CORRUPT: the file is empty or no whole number of records of 1 + c h w bytes.
 */
enum ws_status ws_data_file_check_images(const struct ws_data_file *file,
                                         const struct ws_image_batch *batch, struct ws_err *err);
/*
 * Batch number `step`: images in the order of the layout, a byte v as
 * (v / 255 - 0.5) / 0.25, and their labels [n]. CORRUPT as above, and when a
 * drawn label is not below classes.
 */
enum ws_status ws_data_file_images(const struct ws_data_file *file, uint64_t seed, int64_t step,
                                   const struct ws_image_batch *batch, double *images,
                                   double *labels, struct ws_err *err);
