#include "tests/kernels/models/cnn_graph.h"

#include "kernels/run/step.h"
#include "tests/support/precision_named.h"

/* The smallest form of each model that has all its parts. */
static const struct {
	const char *model;
	int64_t batch;
	struct ws_image_options options;
} small[] = {
        {"mlp", 8, {.size = 8, .width_divisor = 8}},
        {"mlp-256", 8, {.size = 8, .width_divisor = 8}},
        {"lenet5", 8, {0}},
        {"lenet-caffe", 8, {.width_divisor = 4}},
        {"alexnet", 4, {.size = 63, .width_divisor = 16, .classes = 10}},
        {"vgg11", 4, {.size = 32, .width_divisor = 16, .classes = 10}},
        {"vgg16", 4, {.size = 32, .width_divisor = 16, .classes = 10}},
        {"resnet18", 8, {.size = 64, .width_divisor = 16, .classes = 10}},
        {"resnet50", 4, {.size = 64, .width_divisor = 16, .classes = 10}},
        {"conv1d-resnet", 8, {.size = 32, .layers = 4, .kernel_width = 5}},
        {"toy-mixed", 8, {.size = 8}},
};
#define SMALL_COUNT ((int)(sizeof(small) / sizeof(*small)))

static void train(int which, const char *dtype, const struct ws_image_options *override,
                  int threads, int steps, double *losses)
{
	struct ws_step_options options = {
	        .model = ws_network_find(small[which].model),
	        .precision = precision_named(dtype),
	        .phase = WS_STEP_FULL,
	        .batch = small[which].batch,
	        .layers = small[which].options.layers,
	        .image = override ? *override : small[which].options,
	        .optimizer = WS_ADAMW_DEFAULT,
	};
	struct ws_pool *pool;
	struct ws_backend *backend;
	struct ws_step *step;

	if (!strcmp(dtype, "fp16"))
		options.optimizer.eps = 1e-4; /* 1e-8 is 0 in fp16, and a step 0 / 0 */
	KERNELS_OK(ws_pool_create(threads, &pool, err));
	backend = ws_backend_cpu_open(pool, 0);
	KERNELS_OK(ws_step_open(&options, backend, pool, &step, err));
	for (int i = 0; i < steps; i++)
		KERNELS_OK(ws_step_run(step, "step", (uint64_t)i + 1, &losses[i], err));
	ws_step_close(step);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
}

Test(cnn_train, every_image_model_has_a_small_form)
{
	for (int i = 0, n = 0; ws_network_at(i); i++) {
		if (!ws_network_at(i)->image)
			continue;
		cr_assert_lt(n, SMALL_COUNT);
		cr_assert_str_eq(small[n].model, ws_network_at(i)->name);
		n++;
	}
}

Test(cnn_train, every_model_runs_two_steps_in_every_dtype_and_layout)
{
	for (int i = 0; i < SMALL_COUNT; i++)
		for (int p = 0; ws_precision_at(p); p++)
			for (int layout = 0; layout < 2; layout++) {
				struct ws_image_options options = small[i].options;
				double losses[2];

				options.layout = (enum ws_layout)layout;
				train(i, ws_precision_at(p)->name, &options, 2, 2, losses);
				cr_assert(isfinite(losses[0]) && isfinite(losses[1]), "%s %s",
				          small[i].model, ws_precision_at(p)->name);
				cr_assert_neq(losses[0], losses[1]);
			}
}

/* One forward and backward pass in double, on the first batch of seed 1. */
struct pass {
	struct kernels_run r;
	struct ws_model_io io;
	double loss;
};

static struct pass pass_run(int which, enum ws_layout layout)
{
	const struct ws_image_model *model = ws_network_find(small[which].model)->image;
	struct ws_image_options options = small[which].options;
	struct pass p = {0};

	options.batch = small[which].batch;
	options.layout = layout;
	options.seed = 1;
	KERNELS_OK(ws_pool_create(2, &p.r.pool, err));
	p.r.backend = ws_backend_cpu_open(p.r.pool, 0);
	p.r.graph = training_graph(small[which].model, options, &kernels_fp64, &p.io);
	kernels_start(&p.r);
	KERNELS_OK(ws_image_feed(p.r.exec, model, &options, &p.io, 0, err));
	kernels_forward(&p.r);
	KERNELS_OK(ws_exec_phase(p.r.exec, WSNVTX_PHASE_backward, err));
	KERNELS_OK(ws_exec_read(p.r.exec, p.io.loss, &p.loss, err));
	return p;
}

/* The gradient of a parameter, a filter's in the order [k, c, r, s]; for free(). */
static double *pass_gradient(struct pass *p, const struct ws_tensor *t)
{
	double *raw = kernels_read(&p->r, t->grad),
	       *ordered = calloc((size_t)t->count, sizeof(*raw));
	int64_t c = t->shape.dim[3], window = t->shape.dim[1] * t->shape.dim[2];

	if (!t->channels_last) {
		free(ordered);
		return raw;
	}
	for (int64_t i = 0; i < t->count; i++) {
		int64_t k = i / (c * window), rs = i / c % window;

		ordered[(k * c + i % c) * window + rs] = raw[i];
	}
	free(raw);
	return ordered;
}

static double norm(const double *values, const double *minus, int64_t count)
{
	double sum = 0;

	for (int64_t i = 0; i < count; i++) {
		double d = values[i] - (minus ? minus[i] : 0);

		sum += d * d;
	}
	return sqrt(sum);
}

Test(cnn_train, loss_and_all_gradients_are_the_same_in_both_layouts)
{
	for (int i = 0; i < SMALL_COUNT; i++) {
		struct pass first = pass_run(i, WS_LAYOUT_NCHW), last = pass_run(i, WS_LAYOUT_NHWC);
		double total = 0;

		cr_assert_float_eq(first.loss, last.loss, 1e-12 * first.loss, "%s: %.17g, %.17g",
		                   small[i].model, first.loss, last.loss);
		for (int j = 0; j < first.r.graph->tensor_count; j++) {
			const struct ws_tensor *t = first.r.graph->tensors[j];

			if (t->grad) {
				double *a = pass_gradient(&first, t);
				double *b = pass_gradient(&last, param(last.r.graph, t->name));

				total += norm(a, NULL, t->count);
				cr_assert_leq(norm(a, b, t->count),
				              1e-10 * (1e-3 + norm(a, NULL, t->count)), "%s %s",
				              small[i].model, t->name);
				free(a);
				free(b);
			}
		}
		cr_assert_gt(total, 1e-3, "%s has no gradient", small[i].model);
		kernels_close(&first.r);
		kernels_close(&last.r);
	}
}

/* Every parameter of a model moves its loss as its gradient says. */
Test(cnn_train, gradients_of_whole_models_match_finite_differences)
{
	/* smooth ones, so that no kink lies within a difference: tanh, and no max pool */
	static const int which[] = {0, 9, 10};

	for (int i = 0; i < 3; i++) {
		const struct ws_image_model *model = ws_network_find(small[which[i]].model)->image;
		struct ws_image_options options = small[which[i]].options;
		struct kernels_run r = {0};
		struct ws_model_io io;
		int compared, wrong;

		options.batch = 4;
		options.activation = WS_ACTIVATION_TANH;
		KERNELS_OK(ws_pool_create(2, &r.pool, err));
		r.backend = ws_backend_cpu_open(r.pool, 0);
		r.graph = training_graph(small[which[i]].model, options, &kernels_fp64, &io);
		kernels_start(&r);
		KERNELS_OK(ws_image_feed(r.exec, model, &options, &io, 0, err));
		wrong = kernels_gradients_wrong(&r, io.loss, NULL, 3, &compared);
		cr_assert_gt(compared, 12);
		cr_assert_eq(wrong, 0, "%s: %d of %d", small[which[i]].model, wrong, compared);
		kernels_close(&r);
	}
}

static double mean_of(const double *losses, int count)
{
	double sum = 0;

	for (int i = 0; i < count; i++)
		sum += losses[i];
	return sum / count;
}

Test(cnn_train, losses_fall)
{
	/* LeNet; AlexNet and VGG with their dropout; a ResNet; the signal network */
	static const struct {
		int which, steps;
	} runs[] = {{2, 40}, {4, 120}, {5, 150}, {7, 80}, {9, 40}};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		double losses[150], first, last;

		train(runs[i].which, "fp32", NULL, 2, runs[i].steps, losses);
		first = mean_of(losses, 8);
		last = mean_of(losses + runs[i].steps - 8, 8);
		cr_assert_lt(last, 0.85 * first, "%s: %g to %g", small[runs[i].which].model, first,
		             last);
	}
}

Test(cnn_train, bf16_follows_fp32)
{
	/* the ResNet's batch norms over a few values soon amplify any difference */
	static const struct {
		int which, steps;
		double tolerance;
	} runs[] = {{0, 5, 5e-2}, {2, 5, 5e-2}, {7, 1, 5e-2}, {9, 5, 5e-2}};

	for (int i = 0; i < 4; i++) {
		double full[5], low[5];

		train(runs[i].which, "fp32", NULL, 2, runs[i].steps, full);
		train(runs[i].which, "amp-bf16", NULL, 2, runs[i].steps, low);
		for (int j = 0; j < runs[i].steps; j++) {
			cr_assert_float_eq(low[j], full[j], runs[i].tolerance * fmax(1, full[j]),
			                   "%s step %d: %g, %g", small[runs[i].which].model, j,
			                   low[j], full[j]);
			cr_assert_neq(low[j], full[j]);
		}
	}
}

Test(cnn_train, equal_seeds_give_equal_losses_with_dropout_too)
{
	double a[3], b[3];

	train(4, "fp32", NULL, 2, 3, a);
	train(4, "fp32", NULL, 2, 3, b);
	cr_assert_arr_eq(a, b, sizeof(a));
}

Test(cnn_train, mse_on_classes_trains_towards_one_hot_targets)
{
	struct ws_image_options options = small[0].options;
	double losses[40];

	options.loss = WS_LOSS_MSE;
	train(0, "fp32", &options, 2, 40, losses);
	/* all zeros would give 1/10, the mean of a one-hot row */
	cr_assert_lt(losses[39], 0.08, "%g", losses[39]);
	cr_assert_gt(losses[39], 0);
}

/* What a parameter begins as. */
static double *first_values(const char *model, struct ws_image_options options, const char *name,
                            int64_t *count)
{
	struct kernels_run r = {0};
	struct ws_model_io io;
	const struct ws_tensor *t;
	double *values;

	KERNELS_OK(ws_pool_create(2, &r.pool, err));
	r.backend = ws_backend_cpu_open(r.pool, 0);
	r.graph = training_graph(model, options, &kernels_fp32, &io);
	kernels_start(&r);
	t = param(r.graph, name);
	values = kernels_read(&r, t);
	*count = t->count;
	kernels_close(&r);
	return values;
}

static void expect_spread(const char *model, struct ws_image_options options, const char *name,
                          double std, double largest)
{
	int64_t count;
	double *values = first_values(model, options, name, &count), square = 0, most = 0, mean = 0;

	for (int64_t i = 0; i < count; i++) {
		square += values[i] * values[i] / (double)count;
		mean += values[i] / (double)count;
		most = fmax(most, fabs(values[i]));
	}
	cr_assert_float_eq(sqrt(square), std, 5 * std / sqrt(2 * (double)count), "%s %s: %g", model,
	                   name, sqrt(square));
	cr_assert_float_eq(mean, 0, 5 * std / sqrt((double)count), "%s", name);
	cr_assert_leq(most, largest * (1 + 1e-6), "%s", name);
	free(values);
}

Test(cnn_train, first_values_are_those_of_torchvision_or_xavier)
{
	struct ws_image_options one = {.batch = 2, .size = 32, .width_divisor = 2, .classes = 10};
	struct ws_image_options xavier = one;
	const double third = sqrt(1. / 3);

	xavier.xavier = true;
	/* normal, std sqrt(2 / (outputs × window)); no cut */
	expect_spread("resnet18", one, "layer1.0.conv1.weight", sqrt(2. / (32 * 9)), 1);
	/* uniform in ±1/sqrt(inputs): std is bound / sqrt 3 */
	expect_spread("resnet18", one, "fc.weight", third / 16, 1. / 16);
	expect_spread("lenet5", (struct ws_image_options){.batch = 1}, "conv2.weight",
	              third / sqrt(150), 1 / sqrt(150));
	expect_spread("vgg11", one, "classifier.3.weight", 0.01, 0.06);
	expect_spread("vgg11", xavier, "features.3.weight", third * sqrt(6. / (9 * (32 + 64))),
	              sqrt(6. / (9 * (32 + 64))));
}

Test(cnn_train, a_residual_branch_begins_one_of_so_many_layers_as_large)
{
	struct ws_image_options options = {.batch = 1, .residual = true};
	double bound = sqrt(6. / (18 * 3 * 2)) / 32;

	expect_spread("conv1d-resnet", options, "blocks.31.conv.weight", sqrt(1. / 3) * bound,
	              bound);
	options.residual = false;
	expect_spread("conv1d-resnet", options, "blocks.31.conv.weight", sqrt(1. / 3) * bound * 32,
	              bound * 32);
}

Test(cnn_train, filters_are_the_same_in_both_layouts)
{
	struct ws_image_options options = {.batch = 1};
	int64_t count;
	double *first = first_values("lenet5", options, "conv2.weight", &count), *last;

	options.layout = WS_LAYOUT_NHWC;
	last = first_values("lenet5", options, "conv2.weight", &count);
	cr_assert_eq(count, 16 * 6 * 25);
	for (int k = 0; k < 16; k++)
		for (int c = 0; c < 6; c++)
			for (int rs = 0; rs < 25; rs++)
				cr_assert_eq(first[(k * 6 + c) * 25 + rs],
				             last[(k * 25 + rs) * 6 + c]);
	free(first);
	free(last);
}
