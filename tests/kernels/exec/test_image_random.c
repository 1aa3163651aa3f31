#include "tests/support/kernels_run.h"

#include "kernels/exec/exec.h"
#include "kernels/graph/graph.h"

static const struct ws_precision bf16 = {.name = "bf16",
                                         .storage = WS_DTYPE_BF16,
                                         .low = WS_DTYPE_BF16};

/* --- dropout ---------------------------------------------------------------------- */

static struct ws_tensor *input(struct ws_graph *graph, const char *name, enum ws_dtype dtype,
                               struct ws_shape shape)
{
	struct ws_tensor *t = ws_graph_tensor(graph, name, WS_ROLE_INPUT, dtype, shape);

	t->init = (struct ws_init){WS_INIT_FILL, 0};
	return t;
}

#define DROPPED 10000

/* The mask of a step, for free(). */
static double *dropout_mask(const struct ws_precision *precision, double step, double p,
                            const char *stream, double **y)
{
	struct kernels_run r = kernels_open(precision);
	struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(DROPPED));
	struct ws_tensor *t = input(r.graph, "step", WS_DTYPE_I32, WS_SHAPE(1)), *out;
	double *mask;

	x->init = (struct ws_init){WS_INIT_FILL, 3};
	out = ws_op_dropout(r.graph, x, t, (struct ws_dropout){ws_rng_stream(5, stream), p});
	cr_assert_not_null(out);
	out->keep = r.graph->ops[0]->out[1]->keep = true;
	kernels_start(&r);
	kernels_write(&r, t, &step);
	kernels_forward(&r);
	mask = kernels_read(&r, r.graph->ops[0]->out[1]);
	if (y)
		*y = kernels_read(&r, out);
	kernels_close(&r);
	return mask;
}

Test(image_random, dropout_drops_a_share_p_and_scales_the_rest)
{
	double *y, *mask = dropout_mask(&kernels_fp32, 0, 0.25, "a", &y);
	int dropped = 0;

	for (int i = 0; i < DROPPED; i++) {
		cr_assert(mask[i] == 0 || mask[i] == (double)(float)(4.0 / 3));
		cr_assert_float_eq(y[i], 3 * mask[i], 1e-6);
		dropped += mask[i] == 0;
	}
	/* standard deviation of the count: sqrt(10000 / 4 3 / 4) = 43 */
	cr_assert_float_eq(dropped, 2500, 4 * 43, "%d", dropped);
	free(mask);
	free(y);
}

/* Two neighbours share a hash, of which each has a half: as independent as any others. */
Test(image_random, dropout_halves_of_a_random_number_are_independent)
{
	double *mask = dropout_mask(&kernels_fp32, 3, 0.25, "a", NULL);
	int count[4] = {0};

	for (int i = 0; i < DROPPED; i += 2)
		count[2 * (mask[i] == 0) + (mask[i + 1] == 0)]++;
	/* of 5000 pairs: 9/16, 3/16, 3/16, 1/16; deviations 35, 28, 28 and 17 */
	cr_assert_float_eq(count[0], 2812.5, 4 * 35, "%d", count[0]);
	cr_assert_float_eq(count[1], 937.5, 4 * 28, "%d", count[1]);
	cr_assert_float_eq(count[2], 937.5, 4 * 28, "%d", count[2]);
	cr_assert_float_eq(count[3], 312.5, 4 * 17, "%d", count[3]);
	free(mask);
}

/* Steps of an odd count share no random number, and begin with a whole one, as packs do. */
Test(image_random, dropout_numbers_of_steps_do_not_meet)
{
	for (int64_t count = 1; count < 10; count++)
		for (uint64_t step = 0; step < 5; step++) {
			uint64_t first = ws_dropout_draw(count, step);

			cr_assert_eq(first % 2, 0);
			cr_assert_geq(ws_dropout_draw(count, step + 1) / 2,
			              (first + (uint64_t)count - 1) / 2 + 1);
		}
}

Test(image_random, dropout_of_any_share_is_a_threshold_of_32_bits)
{
	cr_assert_eq(ws_rng_below(0), 0);
	cr_assert_eq(ws_rng_below(0.5), UINT32_C(1) << 31);
	cr_assert_eq(ws_rng_below(0x1p-32), 1);
	cr_assert_eq(ws_rng_below(0x1.fffffffffffffp-1), UINT32_MAX);
}

static int differing(double *a, double *b)
{
	int n = 0;

	for (int i = 0; i < DROPPED; i++)
		n += (a[i] == 0) != (b[i] == 0);
	free(a);
	free(b);
	return n;
}

Test(image_random, dropout_mask_is_that_of_its_step_and_stream_in_every_dtype)
{
	cr_assert_eq(differing(dropout_mask(&kernels_fp32, 7, 0.5, "a", NULL),
	                       dropout_mask(&bf16, 7, 0.5, "a", NULL)),
	             0);
	/* another step, another layer: independent, so about half differ; deviation 50 */
	cr_assert_float_eq(differing(dropout_mask(&kernels_fp32, 7, 0.5, "a", NULL),
	                             dropout_mask(&kernels_fp32, 8, 0.5, "a", NULL)),
	                   DROPPED / 2., 200);
	cr_assert_float_eq(differing(dropout_mask(&kernels_fp32, 7, 0.5, "a", NULL),
	                             dropout_mask(&kernels_fp32, 7, 0.5, "b", NULL)),
	                   DROPPED / 2., 200);
}

Test(image_random, dropout_a_probability_of_one_is_refused)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(4));
	struct ws_tensor *t = input(r.graph, "step", WS_DTYPE_I32, WS_SHAPE(1));

	cr_assert_eq(ws_op_dropout(r.graph, x, t, (struct ws_dropout){{0}, 1}),
	             &r.graph->error_tensor);
	kernels_close(&r);
}

/* --- synthetic images ------------------------------------------------------------- */

/* [n, c, plane] to [n, plane, c]; for free(). */
static double *turned(const double *values, int64_t n, int64_t c, int64_t plane)
{
	double *copy = calloc((size_t)(n * c * plane), sizeof(*copy));

	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < c; j++)
			for (int64_t k = 0; k < plane; k++)
				copy[(i * plane + k) * c + j] = values[(i * c + j) * plane + k];
	return copy;
}

static void draw_batch(uint64_t seed, int64_t step, const struct ws_image_batch *b, double *images,
                       double *labels)
{
	struct ws_plane *planes = calloc((size_t)(b->n * b->c), sizeof(*planes));

	cr_assert_not_null(planes);
	ws_data_image_planes(seed, step, b, planes, labels);
	ws_data_images(b, planes, images);
	free(planes);
}

Test(image_random, images_are_the_same_in_both_layouts_and_for_equal_seeds)
{
	struct ws_image_batch b = {WS_LAYOUT_NCHW, 3, 2, 4, 5, 10};
	double first[120], last[120], again[120], labels[3], labels2[3], *turn;

	draw_batch(1, 4, &b, first, labels);
	draw_batch(1, 4, &b, again, labels2);
	cr_assert_arr_eq(first, again, sizeof(first));
	b.layout = WS_LAYOUT_NHWC;
	draw_batch(1, 4, &b, last, labels2);
	turn = turned(first, 3, 2, 20);
	cr_assert_arr_eq(turn, last, sizeof(last));
	cr_assert_arr_eq(labels, labels2, sizeof(labels));
	draw_batch(1, 5, &b, again, labels2);
	cr_assert_neq(last[0], again[0], "another step has other images");
	draw_batch(2, 4, &b, again, labels2);
	cr_assert_neq(last[0], again[0], "another seed has other images");
	free(turn);
}

/* The nearest class mean of one batch tells the classes of the next. */
Test(image_random, images_classes_can_be_learned)
{
	enum { N = 200, PIXELS = 3 * 8 * 8, CLASSES = 5 };
	struct ws_image_batch b = {WS_LAYOUT_NCHW, N, 3, 8, 8, CLASSES};
	double *x = calloc(N * PIXELS, sizeof(*x)), labels[N], mean[CLASSES][PIXELS] = {{0}};
	int count[CLASSES] = {0}, right = 0;

	draw_batch(3, 0, &b, x, labels);
	for (int i = 0; i < N; i++) {
		int class = (int)labels[i];

		cr_assert(class >= 0 && class < CLASSES);
		count[class]++;
		for (int j = 0; j < PIXELS; j++)
			mean[class][j] += x[i * PIXELS + j];
	}
	draw_batch(3, 1, &b, x, labels);
	for (int i = 0; i < N; i++) {
		double least = INFINITY;
		int nearest = -1;

		for (int class = 0; class < CLASSES; class ++) {
			double distance = 0;

			cr_assert_gt(count[class], 10);
			for (int j = 0; j < PIXELS; j++) {
				double d = x[i * PIXELS + j] - mean[class][j] / count[class];

				distance += d * d;
			}
			if (distance < least) {
				least = distance;
				nearest = class;
			}
		}
		right += nearest == (int)labels[i];
	}
	cr_assert_gt(right, N * 9 / 10, "%d of %d", right, N);
	free(x);
}

Test(image_random, images_with_one_class_carry_a_number_that_scales_them)
{
	enum { N = 50, LENGTH = 256 };
	struct ws_image_batch b = {WS_LAYOUT_NCHW, N, 3, 1, LENGTH, 1};
	static double x[N * 3 * LENGTH];
	double labels[N], dot[N] = {0}, cov = 0, var_dot = 0, var_label = 0;

	draw_batch(3, 0, &b, x, labels);
	for (int i = 0; i < N; i++) {
		cr_assert_leq(fabs(labels[i]), 0.8);
		for (int j = 0; j < 3 * LENGTH; j++)
			dot[i] += x[i * 3 * LENGTH + j] * x[j] * labels[0];
	}
	for (int i = 1; i < N; i++) {
		cov += dot[i] * labels[i];
		var_dot += dot[i] * dot[i];
		var_label += labels[i] * labels[i];
	}
	cr_assert_gt(cov / sqrt(var_dot * var_label), 0.95);
}
