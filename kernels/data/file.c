#include "kernels/data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/rng.h"

#define TOKEN_BYTES 2

/* --- the file ------------------------------------------------------------------------- */

static enum ws_status map_fd(struct ws_data_file *file, int fd, const char *path,
                             struct ws_err *err)
{
	struct stat st;
	void *data;

	WS_FAIL_IF(fstat(fd, &st) != 0, err, IO_READ, "cannot read data file %s: %s", path,
	           strerror(errno));
	WS_FAIL_IF(!S_ISREG(st.st_mode), err, IO_READ,
	           "cannot read data file %s: it is not a regular file", path);
	WS_FAIL_IF((uint64_t)st.st_size > SIZE_MAX, err, IO_READ,
	           "cannot read data file %s: too large for this machine", path);
	if (st.st_size == 0)
		return WS_OK;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	WS_FAIL_IF(data == MAP_FAILED, err, IO_READ, "cannot read data file %s: %s", path,
	           strerror(errno));
	file->data = data;
	file->size = (size_t)st.st_size;
	return WS_OK;
}

enum ws_status ws_data_file_open(struct ws_data_file *file, const char *path, struct ws_err *err)
{
	enum ws_status status;
	int fd;

	*file = (struct ws_data_file){0};
	/* not to hang on a pipe without a writer */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot open data file %s: %s", path, strerror(errno));
	status = map_fd(file, fd, path, err);
	close(fd);
	return status;
}

void ws_data_file_close(struct ws_data_file *file)
{
	if (file->data)
		munmap((void *)file->data, file->size);
	*file = (struct ws_data_file){0};
}

/* --- drawing --------------------------------------------------------------------------- */

/* The n-th place of a step, in 0 … places - 1. */
static uint64_t draw_place(uint64_t seed, int64_t step, int64_t n, uint64_t places)
{
	struct ws_rng rng;
	char name[64];

	snprintf(name, sizeof(name), "data file %" PRId64, step);
	rng = ws_rng_stream(seed, name);
	return ws_rng_bits(&rng, (uint64_t)n) % places;
}

/* --- tokens ----------------------------------------------------------------------------- */

enum ws_status ws_data_file_check_tokens(const struct ws_data_file *file,
                                         const struct ws_token_batch *batch, struct ws_err *err)
{
	uint64_t tokens = file->size / TOKEN_BYTES;

	WS_FAIL_IF(file->size % TOKEN_BYTES, err, CORRUPT,
	           "the data file has %zu bytes, an odd number; token ids are uint16, two bytes "
	           "each",
	           file->size);
	WS_FAIL_IF(tokens <= (uint64_t)batch->context, err, CORRUPT,
	           "the data file has %" PRIu64 " tokens, but a context of %" PRId64 " needs "
	           "one more than that. Use a longer file or a smaller --context",
	           tokens, batch->context);
	return WS_OK;
}

/* Token number i, as x of one position and y of the one before it. */
static enum ws_status read_token(const struct ws_data_file *file, uint64_t i, int64_t vocab,
                                 int32_t *token, struct ws_err *err)
{
	const unsigned char *at = file->data + i * TOKEN_BYTES;

	*token = at[0] | at[1] << 8;
	WS_FAIL_IF(*token >= vocab, err, CORRUPT,
	           "token %" PRIu64 " of the data file (from 0) is id %" PRId32 ", but the "
	           "model's vocabulary is %" PRId64 ". Use a larger vocabulary, or a file of "
	           "smaller uint16 ids",
	           i, *token, vocab);
	return WS_OK;
}

enum ws_status ws_data_file_tokens(const struct ws_data_file *file, uint64_t seed, int64_t step,
                                   const struct ws_token_batch *batch, int32_t *x, int32_t *y,
                                   struct ws_err *err)
{
	uint64_t tokens = file->size / TOKEN_BYTES;

	WS_FORWARD(ws_data_file_check_tokens(file, batch, err));
	for (int64_t n = 0; n < batch->n; n++, x += batch->context, y += batch->context) {
		uint64_t first = draw_place(seed, step, n, tokens - (uint64_t)batch->context);

		WS_FORWARD(read_token(file, first, batch->vocab, x, err));
		for (int64_t t = 0; t < batch->context; t++) {
			WS_FORWARD(read_token(file, first + (uint64_t)t + 1, batch->vocab, &y[t],
			                      err));
			if (t + 1 < batch->context)
				x[t + 1] = y[t];
		}
	}
	return WS_OK;
}

/* --- images ------------------------------------------------------------------------------ */

/* false: more than a file can have. */
static bool record_size(const struct ws_image_batch *batch, uint64_t *bytes)
{
	uint64_t image;

	return !__builtin_mul_overflow((uint64_t)batch->c, (uint64_t)batch->h, &image) &&
	       !__builtin_mul_overflow(image, (uint64_t)batch->w, &image) &&
	       !__builtin_add_overflow(image, 1, bytes);
}

enum ws_status ws_data_file_check_images(const struct ws_data_file *file,
                                         const struct ws_image_batch *batch, struct ws_err *err)
{
	uint64_t bytes;

	WS_FAIL_IF(batch->classes < 2, err, USAGE,
	           "the labels of a data file are classes; the model needs two outputs at least "
	           "(--classes)");
	WS_FAIL_IF(!record_size(batch, &bytes), err, USAGE, "an image of such a size is too large");
	WS_FAIL_IF(file->size == 0 || file->size % bytes, err, CORRUPT,
	           "the data file has %zu bytes, not a multiple of %" PRIu64
	           ": a label and %" PRId64 " planes of %" PRId64 " x %" PRId64
	           " bytes. Set --channels and --image-size "
	           "as in the file",
	           file->size, bytes, batch->c, batch->h, batch->w);
	return WS_OK;
}

static void read_planes(const unsigned char *planes, const struct ws_image_batch *batch,
                        double *image)
{
	int64_t plane = batch->h * batch->w;
	bool nchw = batch->layout == WS_LAYOUT_NCHW;

	for (int64_t c = 0; c < batch->c; c++)
		for (int64_t i = 0; i < plane; i++)
			image[nchw ? c * plane + i : i * batch->c + c] =
			        (planes[c * plane + i] / 255.0 - 0.5) / 0.25;
}

enum ws_status ws_data_file_images(const struct ws_data_file *file, uint64_t seed, int64_t step,
                                   const struct ws_image_batch *batch, double *images,
                                   double *labels, struct ws_err *err)
{
	int64_t image;
	uint64_t bytes;

	WS_FORWARD(ws_data_file_check_images(file, batch, err));
	image = batch->c * batch->h * batch->w; /* no more than the file has */
	bytes = (uint64_t)image + 1;
	for (int64_t n = 0; n < batch->n; n++) {
		uint64_t i = draw_place(seed, step, n, file->size / bytes);
		const unsigned char *record = file->data + i * bytes;

		WS_FAIL_IF(record[0] >= batch->classes, err, CORRUPT,
		           "record %" PRIu64 " of the data file (from 0) has label %d, but the "
		           "model has %" PRId64 " classes. Set --classes higher than the "
		           "largest label",
		           i, record[0], batch->classes);
		labels[n] = record[0];
		read_planes(record + 1, batch, images + n * image);
	}
	return WS_OK;
}
