#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/data/file.h"
#include "kernels/run/step.h"
#include "tests/support/kernels_run.h"
#include "tests/support/precision_named.h"

static void expect_failure(enum ws_status got, const struct ws_err *err, enum ws_status want,
                           const char *says)
{
	cr_assert_eq(got, want, "%d: %s", (int)got, err->text);
	cr_assert_not_null(strstr(err->text, says), "%s", err->text);
}

/* --- tokens ------------------------------------------------------------------------------ */

/* ids 256, 257, … 265: their low bytes alone would be 0 … 9 */
static const unsigned char ten_tokens[] = {0, 1, 1, 1, 2, 1, 3, 1, 4, 1,
                                           5, 1, 6, 1, 7, 1, 8, 1, 9, 1};

Test(data_file, tokens_are_little_endian_and_the_target_is_the_next_one)
{
	const struct ws_data_file file = {ten_tokens, sizeof(ten_tokens)};
	const struct ws_token_batch batch = {5, 4, 266};
	bool seen[6] = {0};
	int32_t x[20], y[20];

	for (int64_t step = 0; step < 20; step++) {
		KERNELS_OK(ws_data_file_tokens(&file, 1, step, &batch, x, y, err));
		for (int n = 0; n < 5; n++) {
			cr_assert(x[4 * n] >= 256 && x[4 * n] <= 261, "%d", (int)x[4 * n]);
			seen[x[4 * n] - 256] = true;
			for (int t = 0; t < 4; t++) {
				cr_assert_eq(x[4 * n + t], x[4 * n] + t);
				cr_assert_eq(y[4 * n + t], x[4 * n] + t + 1);
			}
		}
	}
	for (int i = 0; i < 6; i++)
		cr_assert(seen[i], "window %d was never drawn", i);
}

Test(data_file, a_file_of_one_window_gives_that_window)
{
	const struct ws_data_file file = {ten_tokens, sizeof(ten_tokens)};
	const struct ws_token_batch batch = {1, 9, 266};
	int32_t x[9], y[9];

	KERNELS_OK(ws_data_file_tokens(&file, 5, 3, &batch, x, y, err));
	for (int t = 0; t < 9; t++) {
		cr_assert_eq(x[t], 256 + t);
		cr_assert_eq(y[t], 257 + t);
	}
}

Test(data_file, the_same_seed_and_step_draw_the_same_windows_and_others_do_not)
{
	unsigned char bytes[2 * 1000];
	const struct ws_data_file file = {bytes, sizeof(bytes)};
	const struct ws_token_batch batch = {4, 3, 1000};
	int32_t x[12], y[12], again[12], other[12];

	for (int i = 0; i < 1000; i++) {
		bytes[2 * i] = (unsigned char)(i & 255);
		bytes[2 * i + 1] = (unsigned char)(i >> 8);
	}
	KERNELS_OK(ws_data_file_tokens(&file, 1, 7, &batch, x, y, err));
	KERNELS_OK(ws_data_file_tokens(&file, 1, 7, &batch, again, y, err));
	cr_assert_arr_eq(x, again, sizeof(x));
	cr_assert_neq(x[0], x[3], "windows of a batch differ");
	KERNELS_OK(ws_data_file_tokens(&file, 1, 8, &batch, other, y, err));
	cr_assert_arr_neq(x, other, sizeof(x));
	KERNELS_OK(ws_data_file_tokens(&file, 2, 7, &batch, other, y, err));
	cr_assert_arr_neq(x, other, sizeof(x));
}

Test(data_file, token_files_that_do_not_fit_are_refused_with_numbers_and_a_cure)
{
	const struct ws_data_file odd = {ten_tokens, 19}, whole = {ten_tokens, 20}, none = {0};
	struct ws_token_batch batch = {2, 4, 265};
	struct ws_err why = {0};
	int32_t x[40], y[40];

	expect_failure(ws_data_file_check_tokens(&odd, &batch, &why), &why, WS_CORRUPT,
	               "19 bytes, an odd number");
	expect_failure(ws_data_file_tokens(&odd, 0, 0, &batch, x, y, &why), &why, WS_CORRUPT,
	               "19 bytes, an odd number");
	expect_failure(ws_data_file_tokens(&none, 0, 0, &batch, x, y, &why), &why, WS_CORRUPT,
	               "has 0 tokens");
	batch.context = 10; /* there are ten, but the last has no successor */
	expect_failure(ws_data_file_tokens(&whole, 0, 0, &batch, x, y, &why), &why, WS_CORRUPT,
	               "10 tokens, but a context of 10 needs one more");
	batch.context = INT64_MAX;
	expect_failure(ws_data_file_check_tokens(&whole, &batch, &why), &why, WS_CORRUPT,
	               "smaller --context");
	/* the last id is a target only */
	batch.context = 9;
	expect_failure(ws_data_file_tokens(&whole, 0, 0, &batch, x, y, &why), &why, WS_CORRUPT,
	               "token 9 of the data file (from 0) is id 265, but the model's vocabulary "
	               "is 265");
	batch.vocab = 256; /* the first is an input only */
	expect_failure(ws_data_file_tokens(&whole, 0, 0, &batch, x, y, &why), &why, WS_CORRUPT,
	               "token 0 of the data file (from 0) is id 256");
}

/* --- images ------------------------------------------------------------------------------ */

/* two records of 2 channels of 1 × 3 */
static const unsigned char two_images[] = {1, 0,   51,  102, 153, 204, 255,
                                           3, 255, 204, 153, 102, 51,  0};

Test(data_file, images_are_a_label_and_planes_scaled_to_plus_minus_2)
{
	static const double values[] = {-2, -1.2, -0.4, 0.4, 1.2, 2};
	const struct ws_data_file file = {two_images, sizeof(two_images)};
	struct ws_image_batch batch = {WS_LAYOUT_NCHW, 8, 2, 1, 3, 4};
	double nchw[48], nhwc[48], labels[8], labels_nhwc[8];
	int first = 0;

	KERNELS_OK(ws_data_file_images(&file, 3, 1, &batch, nchw, labels, err));
	batch.layout = WS_LAYOUT_NHWC;
	KERNELS_OK(ws_data_file_images(&file, 3, 1, &batch, nhwc, labels_nhwc, err));
	cr_assert_arr_eq(labels, labels_nhwc, sizeof(labels));
	for (int n = 0; n < 8; n++) {
		cr_assert(labels[n] == 1 || labels[n] == 3);
		first += labels[n] == 1;
		for (int i = 0; i < 6; i++) {
			double want = values[labels[n] == 1 ? i : 5 - i];

			cr_assert_float_eq(nchw[6 * n + i], want, 1e-12);
			cr_assert_float_eq(nhwc[6 * n + i % 3 * 2 + i / 3], want, 1e-12);
		}
	}
	cr_assert(first > 0 && first < 8, "both records were drawn");
}

Test(data_file, image_files_that_do_not_fit_are_refused_with_numbers_and_a_cure)
{
	const struct ws_data_file cut = {two_images, 13}, whole = {two_images, 14}, none = {0};
	const struct ws_data_file second = {two_images + 7, 7};
	struct ws_image_batch batch = {WS_LAYOUT_NCHW, 1, 2, 1, 3, 3};
	struct ws_err why = {0};
	double images[6], label;

	expect_failure(ws_data_file_images(&cut, 0, 0, &batch, images, &label, &why), &why,
	               WS_CORRUPT, "13 bytes, not a multiple of 7");
	expect_failure(ws_data_file_images(&none, 0, 0, &batch, images, &label, &why), &why,
	               WS_CORRUPT, "0 bytes");
	expect_failure(ws_data_file_images(&second, 0, 0, &batch, images, &label, &why), &why,
	               WS_CORRUPT,
	               "record 0 of the data file (from 0) has label 3, but the model "
	               "has 3 classes");
	batch.classes = 1;
	expect_failure(ws_data_file_check_images(&whole, &batch, &why), &why, WS_USAGE,
	               "--classes");
	batch.classes = 4;
	KERNELS_OK(ws_data_file_check_images(&whole, &batch, err));
	batch.h = batch.w = INT64_MAX;
	expect_failure(ws_data_file_check_images(&whole, &batch, &why), &why, WS_USAGE,
	               "too large");
}

/* --- files -------------------------------------------------------------------------------- */

Test(data_file, a_file_is_mapped_whole_and_one_that_is_not_there_is_an_error_with_its_path)
{
	char path[] = "/tmp/ws_data_file_XXXXXX";
	struct ws_data_file file;
	struct ws_err why = {0};
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	KERNELS_OK(ws_data_file_open(&file, path, err));
	cr_assert_eq(file.size, 0, "an empty file is for the checks to refuse");
	ws_data_file_close(&file);
	cr_assert_eq(write(fd, ten_tokens, sizeof(ten_tokens)), (ssize_t)sizeof(ten_tokens));
	close(fd);
	KERNELS_OK(ws_data_file_open(&file, path, err));
	cr_assert_eq(file.size, sizeof(ten_tokens));
	cr_assert_arr_eq(file.data, ten_tokens, sizeof(ten_tokens));
	ws_data_file_close(&file);
	cr_assert_null(file.data);
	unlink(path);
	expect_failure(ws_data_file_open(&file, path, &why), &why, WS_IO_READ, path);
	expect_failure(ws_data_file_open(&file, "/tmp", &why), &why, WS_IO_READ,
	               "not a regular file");
}

/* --- training ----------------------------------------------------------------------------- */

struct trained {
	double first, last;
	enum ws_status status;
	struct ws_err why;
};

static struct trained train(const char *model, const struct ws_data_file *data, int64_t channels,
                            int steps)
{
	const struct ws_step_options options = {
	        .model = ws_network_find(model),
	        .precision = precision_named("fp32"),
	        .phase = WS_STEP_FULL,
	        .batch = 4,
	        .context = 16,
	        .seed = 2,
	        .data = data,
	        .image = {.size = 8, .channels = channels, .classes = 2},
	        .optimizer = WS_ADAMW_DEFAULT,
	};
	struct trained t = {0};
	struct ws_pool *pool = NULL;
	struct ws_backend *backend = NULL;
	struct ws_step *step = NULL;

	KERNELS_OK(ws_pool_create(2, &pool, err));
	backend = ws_backend_cpu_open(pool, 0);
	t.status = ws_step_open(&options, backend, pool, &step, &t.why);
	for (int i = 0; i < steps && t.status == WS_OK; i++)
		t.status =
		        ws_step_run(step, "step", (uint64_t)i + 1, i ? &t.last : &t.first, &t.why);
	ws_step_close(step);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
	return t;
}

/* ids 200, 201, … 206, 200, …: every id has one successor */
static void repeat_tokens(unsigned char *bytes, int count)
{
	for (int i = 0; i < count; i++) {
		bytes[2 * i] = (unsigned char)(200 + i % 7);
		bytes[2 * i + 1] = 0;
	}
}

Test(data_file, a_transformer_learns_a_repetitive_file_and_losses_repeat_exactly)
{
	unsigned char bytes[2 * 500];
	const struct ws_data_file file = {bytes, sizeof(bytes)};
	struct trained a, b, synthetic;

	repeat_tokens(bytes, 500);
	a = train("transformer-tiny", &file, 0, 40);
	b = train("transformer-tiny", &file, 0, 40);
	synthetic = train("transformer-tiny", NULL, 0, 40);
	cr_assert_eq(a.status, WS_OK, "%s", a.why.text);
	cr_assert_gt(a.first, 4, "an untrained model knows nothing: %g", a.first);
	cr_assert_lt(a.last, a.first / 4, "%g after %g", a.last, a.first);
	cr_assert(a.first == b.first && a.last == b.last);
	cr_assert_neq(a.first, synthetic.first);
}

Test(data_file, an_image_model_learns_the_classes_of_a_file)
{
	/* a dark and a bright image of 3 × 8 × 8 */
	unsigned char bytes[2 * 193] = {0};
	const struct ws_data_file file = {bytes, sizeof(bytes)};
	struct trained t;

	memset(bytes + 1, 40, 192);
	bytes[193] = 1;
	memset(bytes + 194, 210, 192);
	t = train("mlp", &file, 3, 20);
	cr_assert_eq(t.status, WS_OK, "%s", t.why.text);
	cr_assert_lt(t.last, t.first / 4, "%g after %g", t.last, t.first);
}

Test(data_file, a_session_refuses_a_file_before_it_runs_and_a_bad_id_when_it_is_drawn)
{
	unsigned char bytes[2 * 500];
	const struct ws_data_file file = {bytes, sizeof(bytes)};
	const struct ws_data_file odd = {bytes, sizeof(bytes) - 1};
	struct trained t;

	repeat_tokens(bytes, 500);
	t = train("transformer-tiny", &odd, 0, 0);
	expect_failure(t.status, &t.why, WS_CORRUPT, "odd number");
	t = train("mlp", &file, 3, 0);
	expect_failure(t.status, &t.why, WS_CORRUPT, "a multiple of 193");
	for (int i = 0; i < 500; i++)
		bytes[2 * i + 1] = 1;
	t = train("transformer-tiny", &file, 0, 1);
	expect_failure(t.status, &t.why, WS_CORRUPT, "vocabulary is 256");
}
