/* --fusion full: the same numbers as none, from fewer ops that move less. */
#include "tests/support/kernels_run.h"

#include "kernels/graph/graph.h"
#include "kernels/exec/exec.h"
#include "kernels/models/model.h"
#include "kernels/nn/layers.h"
#include "kernels/run/step.h"

enum { BATCH = 2, TIME = 16, STEPS = 3, SEED = 7 };

/* One model, all phases. */
struct training {
	struct kernels_run run;
	const struct ws_network *model;
	struct ws_image_options options; /* image models */
	struct ws_model_io io;
	struct ws_tensor *alpha;
	struct ws_optimizer optimizer;
};

/* Sizes at which a model takes no time. */
static struct ws_image_options small_options(const struct ws_image_model *model)
{
	struct ws_image_options o = {.batch = 3, .seed = SEED, .width_divisor = 16};

	if (model->signal)
		o = (struct ws_image_options){.batch = 4, .seed = SEED, .size = 24, .layers = 3};
	else if (model->size > 64)
		o.size = 64;
	return o;
}

static struct training training_build(const char *model, const struct ws_precision *precision,
                                      enum ws_fusion fusion)
{
	struct training t = {.model = ws_network_find(model), .optimizer = WS_ADAMW_DEFAULT};
	struct ws_graph *g;

	cr_assert_not_null(t.model);
	t.run = kernels_open(precision);
	g = t.run.graph;
	g->fusion = fusion;
	if (t.model->image) {
		t.options = small_options(t.model->image);
		KERNELS_OK(ws_image_build(g, t.model->image, &t.options, true, &t.io, err));
	} else {
		KERNELS_OK(ws_transformer_build(g, &t.model->transformer, BATCH, TIME, true, &t.io,
		                                err));
	}
	KERNELS_OK(ws_graph_backward(g, t.io.loss, NULL, err));
	t.alpha = ws_optim_append(g, &t.optimizer, NULL).alpha;
	KERNELS_OK(ws_graph_check(g, err));
	return t;
}

static void draw_tokens(uint64_t seed, int64_t step, int64_t batch, int64_t context, int64_t vocab,
                        int32_t *x, int32_t *y)
{
	struct ws_token_batch draw = {batch, context, vocab};

	ws_data_tokens(seed, step, &draw, x, y);
}

static double training_step(struct training *t, int step)
{
	double alpha = ws_adamw_alpha(&t->optimizer, step + 1), loss;
	static int32_t tokens[BATCH * TIME], targets[BATCH * TIME];

	ws_exec_step_begin(t->run.exec);
	if (t->model->image) {
		KERNELS_OK(ws_image_feed(t->run.exec, t->model->image, &t->options, &t->io, step,
		                         err));
	} else {
		draw_tokens(SEED, step, BATCH, TIME, t->model->transformer.vocab, tokens, targets);
		KERNELS_OK(ws_exec_upload(t->run.exec, t->io.input, tokens, err));
		KERNELS_OK(ws_exec_upload(t->run.exec, t->io.target, targets, err));
	}
	kernels_write(&t->run, t->alpha, &alpha);
	for (int phase = WSNVTX_PHASE_forward; phase <= WSNVTX_PHASE_optimizer; phase++)
		KERNELS_OK(ws_exec_phase(t->run.exec, (enum wsnvtx_phase)phase, err));
	KERNELS_OK(ws_exec_read(t->run.exec, t->io.loss, &loss, err));
	return loss;
}

/* ||a - b|| / ||b||, 0 where both are 0 */
static double distance(const double *a, const double *b, int64_t count)
{
	double difference = 0, size = 0;

	for (int64_t i = 0; i < count; i++) {
		difference += (a[i] - b[i]) * (a[i] - b[i]);
		size += b[i] * b[i];
	}
	return difference == 0 ? 0 : sqrt(difference / size); /* NaN stays NaN */
}

/*
 * The largest distance of a tensor of the fused model (its gradient, with grads)
 * from what it has the place of in the other; counts parameters of the latter.
 */
static double largest_distance(struct training *none, struct training *full, bool grads, int *count)
{
	double largest = 0;

	*count = 0;
	for (int i = 0; i < full->run.graph->tensor_count; i++) {
		const struct ws_tensor *f = full->run.graph->tensors[i];
		int parts = f->parts ? f->parts : 1;
		double *values;

		if (f->role != WS_ROLE_PARAM)
			continue;
		values = kernels_read(&full->run, grads ? f->grad : f);
		for (int part = 0; part < parts; part++, ++*count) {
			const struct ws_tensor *n =
			        graph_find(none->run.graph, f->parts ? f->part[part] : f->name);
			double *want, d;

			cr_assert_not_null(n, "%s", f->name);
			cr_assert_eq(n->count, f->count / parts);
			want = kernels_read(&none->run, grads ? n->grad : n);
			d = distance(values + part * n->count, want, n->count);
			if (!(d <= largest))
				largest = d;
			free(want);
		}
		free(values);
	}
	return largest;
}

static int param_tensors(const struct ws_graph *graph)
{
	int n = 0;

	for (int i = 0; i < graph->tensor_count; i++)
		n += graph->tensors[i]->role == WS_ROLE_PARAM;
	return n;
}

struct apart {
	double first_values, loss, grads, params; /* the last two after the last step */
};

/* How far the fused model is from the other after some steps. spoil: may be NULL. */
static struct apart train_both(const char *model, const struct ws_precision *precision,
                               void (*spoil)(struct ws_graph *full))
{
	struct training none = training_build(model, precision, WS_FUSION_NONE);
	struct training full = training_build(model, precision, WS_FUSION_FULL);
	struct apart apart = {0};
	int count, params = param_tensors(none.run.graph);

	if (spoil)
		spoil(full.run.graph);
	kernels_start(&none.run);
	kernels_start(&full.run);
	apart.first_values = largest_distance(&none, &full, false, &count);
	cr_assert_eq(count, params);
	for (int step = 0; step < STEPS; step++) {
		double a = training_step(&none, step), b = training_step(&full, step);

		cr_assert(isfinite(a) && isfinite(b));
		apart.loss = fmax(apart.loss, fabs(a - b) / fabs(a));
	}
	apart.grads = largest_distance(&none, &full, true, &count);
	cr_assert_eq(count, params);
	apart.params = largest_distance(&none, &full, false, &count);
	kernels_close(&none.run);
	kernels_close(&full.run);
	return apart;
}

static void expect_same(const char *model, const struct ws_precision *precision, double loss,
                        double grads)
{
	struct apart apart = train_both(model, precision, NULL);

	cr_assert_eq(apart.first_values, 0, "%s: parameters start elsewhere", model);
	cr_assert_leq(apart.loss, loss, "%s: losses %g apart", model, apart.loss);
	cr_assert_leq(apart.grads, grads, "%s: gradients %g apart", model, apart.grads);
	cr_assert_leq(apart.params, grads, "%s: parameters %g apart", model, apart.params);
}

Test(fusion, transformer_trains_the_same_in_double)
{
	expect_same("transformer-tiny", &kernels_fp64, 1e-12, 1e-12);
}

Test(fusion, transformer_trains_the_same_in_float_to_1e_5)
{
	expect_same("transformer-tiny", &kernels_fp32, 1e-6, 1e-5);
}

/* One rounding where the other form has several: a unit of bf16 is 2^-8. */
Test(fusion, transformer_trains_alike_in_mixed_precision)
{
	struct apart apart = train_both("transformer-tiny", &kernels_amp, NULL);

	cr_assert_eq(apart.first_values, 0);
	cr_assert_leq(apart.loss, 2e-3, "losses %g apart", apart.loss);
	cr_assert_leq(apart.grads, 5e-2, "gradients %g apart", apart.grads);
	cr_assert_gt(apart.grads, 1e-6, "nothing was rounded to bf16");
}

Test(fusion, every_image_model_trains_the_same_in_double)
{
	for (int i = 0; ws_network_at(i); i++)
		if (ws_network_at(i)->image)
			expect_same(ws_network_at(i)->name, &kernels_fp64, 1e-10, 1e-8);
}

Test(fusion, image_models_train_the_same_in_float)
{
	expect_same("lenet5", &kernels_fp32, 1e-6, 1e-4);
	expect_same("conv1d-resnet", &kernels_fp32, 1e-5, 1e-4);
}

/* Losses of two whole steps of transformer-tiny; w13: of its second layer, after them. */
static void run_session(const struct ws_precision *precision, enum ws_fusion fusion, int threads,
                        double losses[2], double *w13)
{
	struct ws_step_options options = {
	        .model = ws_network_find("transformer-tiny"),
	        .precision = precision,
	        .phase = WS_STEP_FULL,
	        .fusion = fusion,
	        .batch = 4,
	        .context = 48,
	        .optimizer = WS_ADAMW_DEFAULT,
	};
	struct ws_pool *pool;
	struct ws_backend *backend;
	struct ws_step *step;

	KERNELS_OK(ws_pool_create(threads, &pool, err));
	backend = ws_backend_cpu_open(pool, 0);
	KERNELS_OK(ws_step_open(&options, backend, pool, &step, err));
	for (int n = 0; n < 2; n++)
		KERNELS_OK(ws_step_run(step, "step", (uint64_t)n + 1, &losses[n], err));
	if (w13)
		KERNELS_OK(step_read(step, "layer1.w13", w13, 2 * 256 * 64, err));
	ws_step_close(step);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
}

/* Work is split by shape: sums of losses and of weight gradients do not know the threads. */
Test(fusion, any_number_of_threads_gives_the_same_bits)
{
	static double w13[2][2 * 256 * 64];
	double losses[2][2];

	for (int i = 0; i < 2; i++)
		run_session(&kernels_fp64, WS_FUSION_FULL, i ? 3 : 1, losses[i], w13[i]);
	cr_assert_arr_eq(losses[0], losses[1], sizeof(losses[0]));
	cr_assert_arr_eq(w13[0], w13[1], sizeof(w13[0]));
}

/* 16-bit weights, masters and loss scales included; a unit of bf16 is 2^-8 = 4e-3. */
Test(fusion, every_dtype_mode_has_nearly_the_same_losses)
{
	for (int i = 0; ws_precision_at(i); i++) {
		const struct ws_precision *precision = ws_precision_at(i);
		double none[2], full[2];

		run_session(precision, WS_FUSION_NONE, 2, none, NULL);
		run_session(precision, WS_FUSION_FULL, 2, full, NULL);
		/* weights of fp16 without masters cannot hold AdamW's eps: no second step */
		for (int n = 0; n < (strcmp(precision->name, "fp16") ? 2 : 1); n++)
			cr_assert_float_eq(full[n], none[n], 2e-3 * none[n], "%s, step %d: %g, %g",
			                   precision->name, n + 1, full[n], none[n]);
	}
}

/* --- what is compared can differ ------------------------------------------------------------- */

static struct ws_op *first_of(struct ws_graph *g, enum ws_sub sub)
{
	for (int i = 0; i < g->op_count; i++)
		if (g->ops[i]->sub == sub)
			return g->ops[i];
	cr_assert_fail("no %s", ws_sub_info(sub)->symbol);
	return NULL;
}

static void spoil_scale(struct ws_graph *g)
{
	first_of(g, WS_SUB_CAUSAL_SOFTMAX)->u.alpha *= 1.0001;
}

static void spoil_eps(struct ws_graph *g)
{
	first_of(g, WS_SUB_RMS_NORM)->u.alpha *= 1.1;
}

static void spoil_decay(struct ws_graph *g)
{
	first_of(g, WS_SUB_ADAMW_CS336_ALL)->u.update.factors.decay *= 1.01;
}

static void spoil_heads(struct ws_graph *g)
{
	struct ws_op *op = first_of(g, WS_SUB_ROTATE_QKV);
	struct ws_tensor *q = op->out[0];

	op->out[0] = op->out[1]; /* queries for keys: k q^T, the transpose */
	op->out[1] = q;
}

static void spoil_parts(struct ws_graph *g)
{
	struct ws_tensor *t = graph_find(g, "layer0.w13");
	const char *first = t->part[0];

	t->part[0] = t->part[1];
	t->part[1] = first;
}

Test(fusion, comparison_sees_a_planted_mistake)
{
	static void (*const spoils[])(struct ws_graph *) = {spoil_scale, spoil_eps, spoil_decay,
	                                                    spoil_heads};

	for (size_t i = 0; i < sizeof(spoils) / sizeof(*spoils); i++) {
		struct apart apart = train_both("transformer-tiny", &kernels_fp64, spoils[i]);

		cr_assert_eq(apart.first_values, 0);
		cr_assert_gt(apart.params, 1e-9, "mistake %d: %g", (int)i, apart.params);
	}
	/* w1 and w3 exchanged, found by name again: equal first values, another product */
	cr_assert_gt(train_both("transformer-tiny", &kernels_fp64, spoil_parts).loss, 1e-6);
}

/* --- structure -------------------------------------------------------------------------------- */

static int ops_of(const struct ws_graph *g, enum wsnvtx_phase phase)
{
	return ws_cost_phase(g, phase).ops;
}

static struct ws_graph *layers_graph(int layers, const struct ws_precision *precision,
                                     enum ws_fusion fusion, bool training)
{
	struct ws_transformer size = ws_network_find("transformer-tiny")->transformer;
	struct ws_optimizer adamw = WS_ADAMW_DEFAULT;
	struct ws_model_io io;
	struct ws_graph *g;

	size.layers = layers;
	g = ws_graph_create(precision);
	g->fusion = fusion;
	KERNELS_OK(ws_transformer_build(g, &size, BATCH, TIME, training, &io, err));
	if (training) {
		KERNELS_OK(ws_graph_backward(g, io.loss, NULL, err));
		ws_optim_append(g, &adamw, NULL);
	}
	KERNELS_OK(ws_graph_check(g, err));
	return g;
}

/* norm, qkv, rope, scores, softmax, p v, merge, o, add, norm, w1 w3, swiglu, w2, add */
Test(fusion, a_layer_is_14_ops_forward_loss_and_optimizer_are_one_each)
{
	for (int layers = 1; layers <= 3; layers++) {
		struct ws_graph *g = layers_graph(layers, &kernels_fp32, WS_FUSION_FULL, true);
		struct ws_graph *amp = layers_graph(layers, &kernels_amp, WS_FUSION_FULL, true);

		/* and embedding, final norm, lm head */
		cr_assert_eq(ops_of(g, WSNVTX_PHASE_forward), 14 * layers + 3);
		/* and a cast of each weight that a GEMM reads: no activation is cast */
		cr_assert_eq(ops_of(amp, WSNVTX_PHASE_forward), 18 * layers + 4);
		cr_assert_eq(ops_of(g, WSNVTX_PHASE_loss), 1);
		cr_assert_eq(ops_of(g, WSNVTX_PHASE_optimizer), 1);
		/*
		 * A layer: two for each of 6 GEMMs, softmax, rope, merge, two norms, swiglu
		 * and the sums of the residuals, 2. Outside: the seed, lm head 2, norm,
		 * zeros of the embedding's gradient and their filling.
		 */
		cr_assert_eq(ops_of(g, WSNVTX_PHASE_backward), 20 * layers + 6, "%d layers: %d",
		             layers, ops_of(g, WSNVTX_PHASE_backward));
		ws_graph_destroy(g);
		ws_graph_destroy(amp);
	}
}

/* "forward/layer 0/rmsnorm": whether an op lies below a scope of that path. */
static void scope_path(const struct ws_scope *scope, char *path, size_t size)
{
	size_t used;

	path[0] = '\0';
	if (scope->parent)
		scope_path(scope->parent, path, size);
	used = strlen(path);
	snprintf(path + used, size - used, "/%s", scope->name);
}

static bool has_scope(const struct ws_graph *g, const char *path)
{
	char other[256];

	for (int i = 0; i < g->op_count; i++) {
		scope_path(g->ops[i]->scope, other, sizeof(other));
		if (!strcmp(path, other))
			return true;
	}
	return false;
}

static void expect_scopes_within(const struct ws_graph *a, const struct ws_graph *b)
{
	char path[256];

	for (int i = 0; i < a->op_count; i++) {
		scope_path(a->ops[i]->scope, path, sizeof(path));
		/* the fused op has computed it with the loss */
		if (!strcmp(path, "/backward/cross-entropy"))
			continue;
		cr_assert(has_scope(b, path), "no op in %s", path);
	}
}

Test(fusion, nvtx_scopes_of_a_transformer_have_the_same_names)
{
	struct ws_graph *none = layers_graph(2, &kernels_fp32, WS_FUSION_NONE, true);
	struct ws_graph *full = layers_graph(2, &kernels_fp32, WS_FUSION_FULL, true);

	expect_scopes_within(none, full);
	expect_scopes_within(full, none);
	cr_assert(
	        has_scope(full, "/forward/layer 0/scaled dot product attention/computing softmax"));
	ws_graph_destroy(none);
	ws_graph_destroy(full);
}

/* What is written for a GEMM to read is bf16; losses, row statistics and residuals stay fp32. */
Test(fusion, mixed_precision_writes_the_low_dtype_where_a_gemm_reads)
{
	struct ws_graph *g = layers_graph(1, &kernels_amp, WS_FUSION_FULL, true);

	cr_assert_eq(first_of(g, WS_SUB_RMS_NORM)->in[0]->dtype, WS_DTYPE_F32);
	cr_assert_eq(first_of(g, WS_SUB_RMS_NORM)->out[0]->dtype, WS_DTYPE_BF16);
	cr_assert_eq(first_of(g, WS_SUB_RMS_NORM)->out[1]->dtype, WS_DTYPE_F32);
	cr_assert_eq(first_of(g, WS_SUB_ROTATE_QKV)->out[0]->dtype, WS_DTYPE_BF16);
	cr_assert_eq(first_of(g, WS_SUB_CAUSAL_SOFTMAX)->in[0]->dtype, WS_DTYPE_BF16);
	cr_assert_eq(first_of(g, WS_SUB_CAUSAL_SOFTMAX)->out[0]->dtype, WS_DTYPE_BF16);
	cr_assert_eq(first_of(g, WS_SUB_SWIGLU)->out[0]->dtype, WS_DTYPE_BF16);
	cr_assert_eq(first_of(g, WS_SUB_CROSS_ENTROPY)->in[0]->dtype, WS_DTYPE_BF16);
	cr_assert_eq(first_of(g, WS_SUB_CROSS_ENTROPY)->out[0]->dtype, WS_DTYPE_F32);
	cr_assert_eq(first_of(g, WS_SUB_CROSS_ENTROPY)->out[1]->dtype, WS_DTYPE_BF16);
	cr_assert_eq(first_of(g, WS_SUB_RMS_NORM_GRAD)->out[0]->dtype, WS_DTYPE_F32);
	ws_graph_destroy(g);
}

Test(fusion, gradient_of_fp16_logits_is_kept_in_fp32_for_the_loss_scale)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *logits =
	        ws_graph_tensor(r.graph, "x", WS_ROLE_INPUT, WS_DTYPE_F16, WS_SHAPE(2, 3));
	struct ws_tensor *target =
	        ws_graph_tensor(r.graph, "t", WS_ROLE_INPUT, WS_DTYPE_I32, WS_SHAPE(2));

	ws_op_cross_entropy(r.graph, logits, target);
	cr_assert_eq(r.graph->ops[0]->out[1]->dtype, WS_DTYPE_F32);
	kernels_close(&r);
}

Test(fusion, bias_and_activation_are_one_op_and_no_bias_is_left_before_a_relu)
{
	struct training t = training_build("alexnet", &kernels_fp32, WS_FUSION_FULL);
	int fused = 0;

	for (int i = 0; i < t.run.graph->op_count; i++) {
		const struct ws_op *op = t.run.graph->ops[i];

		cr_assert_neq(op->sub, WS_SUB_RELU);
		if (op->kind != WS_OP_BIAS_ACT)
			continue;
		fused++;
		cr_assert_eq(op->payload.op, WSNVTX_OP_activation);
		cr_assert_eq(op->payload.flops, 2 * (uint64_t)op->out[0]->count);
	}
	cr_assert_eq(fused, 7); /* 5 convolutions, 2 linear layers */
	kernels_close(&t.run);
}

Test(fusion, values_before_a_fused_activation_are_gone_and_asking_for_them_is_an_error)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(2, 3)), *before, *y;
	struct ws_err failure = {0};

	before = ws_op_bias(r.graph, x, kernels_param(r.graph, "b", WS_SHAPE(3)),
	                    (struct ws_channels){2, 3, 1});
	y = ws_op_bias_activation(r.graph, before, WS_SUB_RELU, 0);
	cr_assert_not_null(y);
	/* only what follows a bias at once, and only activations */
	cr_assert_null(ws_op_bias_activation(r.graph, y, WS_SUB_RELU, 0));
	KERNELS_OK(ws_graph_check(r.graph, err));
	ws_op_binary(r.graph, WS_SUB_ADD, y, before);
	cr_assert_eq(ws_exec_create(r.graph, r.backend, &r.exec, &failure), WS_BUG);
	kernels_close(&r);
}

Test(fusion, a_target_outside_the_vocabulary_is_an_error)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *logits = kernels_param(r.graph, "x", WS_SHAPE(2, 3));
	struct ws_tensor *target =
	        ws_graph_tensor(r.graph, "t", WS_ROLE_INPUT, WS_DTYPE_I32, WS_SHAPE(2));
	struct ws_err failure = {0};

	ws_op_cross_entropy(r.graph, logits, target);
	kernels_start(&r);
	kernels_write(&r, target, (const double[]){0, 3});
	cr_assert_eq(ws_exec_phase(r.exec, WSNVTX_PHASE_forward, &failure), WS_BUG);
	kernels_close(&r);
}
