/* The dtype modes of a step: what has which dtype, loss scaling, and that all of them train. */
#include "tests/support/kernels_run.h"

#include <float.h>

#include "kernels/run/step.h"
#include "tests/support/precision_named.h"

/* --- sessions ------------------------------------------------------------------------ */

struct session {
	struct ws_pool *pool;
	struct ws_backend *backend;
	struct ws_step *step;
};

static struct ws_step_options tiny(const char *dtype)
{
	return (struct ws_step_options){
	        .model = ws_network_find("transformer-tiny"),
	        .precision = precision_named(dtype),
	        .phase = WS_STEP_FULL,
	        .batch = 4,
	        .context = 32,
	        .optimizer = ws_optimizer_defaults(WS_OPTIMIZER_ADAMW_CS336),
	};
}

static struct session session_open(const struct ws_step_options *options)
{
	struct session s = {0};

	KERNELS_OK(ws_pool_create(2, &s.pool, err));
	s.backend = ws_backend_cpu_open(s.pool, 0);
	KERNELS_OK(ws_step_open(options, s.backend, s.pool, &s.step, err));
	return s;
}

static void session_close(struct session *s)
{
	ws_step_close(s->step);
	ws_backend_close(s->backend);
	ws_pool_destroy(s->pool);
}

static double run_one(struct session *s)
{
	double loss;

	KERNELS_OK(ws_step_run(s->step, "step", 1, &loss, err));
	return loss;
}

static double read_one(struct session *s, const char *name)
{
	double value;

	KERNELS_OK(step_read(s->step, name, &value, 1, err));
	return value;
}

/* --- the table of dtypes ------------------------------------------------------------- */

/* What a mode is defined by. */
static const struct expected {
	const char *mode;
	enum ws_dtype weight;    /* of matrices, their biases, RMS norms, tables */
	enum ws_dtype gradient;  /* the same */
	enum ws_dtype product;   /* results of matrix products and convolutions, logits */
	enum wsnvtx_dtype reads; /* their operands */
	enum ws_dtype rms_norm;  /* results of RMS norms in the transformer */
	enum ws_dtype exp;       /* of the attention's softmax */
	enum ws_dtype batch_norm, batch_norm_weight;
	enum ws_dtype state; /* of the optimizer */
} modes[] = {
#define F32  WS_DTYPE_F32
#define F16  WS_DTYPE_F16
#define BF16 WS_DTYPE_BF16
        {"fp32", F32, F32, F32, WSNVTX_DTYPE_fp32, F32, F32, F32, F32, F32},
        {"tf32", F32, F32, F32, WSNVTX_DTYPE_tf32, F32, F32, F32, F32, F32},
        {"amp-fp16", F32, F32, F16, WSNVTX_DTYPE_fp16, F32, F32, F16, F32, F32},
        {"amp-bf16", F32, F32, BF16, WSNVTX_DTYPE_bf16, F32, F32, BF16, F32, F32},
        {"fp16-master", F16, F16, F16, WSNVTX_DTYPE_fp16, F16, F16, F16, F32, F32},
        {"fp16", F16, F16, F16, WSNVTX_DTYPE_fp16, F16, F16, F16, F16, F16},
        {"bf16", BF16, BF16, BF16, WSNVTX_DTYPE_bf16, BF16, BF16, BF16, BF16, BF16},
#undef F32
#undef F16
#undef BF16
};

/* Every parameter, gradient and state; those of batch norms apart. Returns the parameters seen. */
static int check_params(const struct ws_graph *graph, const struct expected *want)
{
	int count = 0;

	for (int i = 0; i < graph->tensor_count; i++) {
		const struct ws_tensor *t = graph->tensors[i], *m;
		bool norm = strstr(t->name, "bn") || strstr(t->name, "downsample.1");
		char name[96];

		if (t->role != WS_ROLE_PARAM)
			continue;
		count++;
		cr_assert_eq(t->dtype, norm ? want->batch_norm_weight : want->weight, "%s %s",
		             want->mode, t->name);
		cr_assert_eq(t->grad->dtype, norm ? want->batch_norm_weight : want->gradient,
		             "%s gradient of %s", want->mode, t->name);
		snprintf(name, sizeof(name), "%s.m", t->name);
		m = graph_find(graph, name);
		cr_assert_not_null(m);
		cr_assert_eq(m->dtype, want->state, "%s %s", want->mode, name);
	}
	return count;
}

/* The last op of a scope in the forward phase, which makes the scope's result. */
static const struct ws_op *last_of(const struct ws_graph *graph, const char *scope)
{
	const struct ws_op *last = NULL;

	for (int i = 0; i < graph->op_count; i++)
		if (graph->ops[i]->payload.phase == WSNVTX_PHASE_forward &&
		    !strcmp(graph->ops[i]->scope->name, scope))
			last = graph->ops[i];
	cr_assert_not_null(last, "no scope %s", scope);
	return last;
}

static void check_products(const struct ws_graph *graph, const struct expected *want)
{
	int products = 0;

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		if (op->kind != WS_OP_GEMM && op->kind != WS_OP_CONV &&
		    op->kind != WS_OP_CONV_DGRAD && op->kind != WS_OP_CONV_WGRAD)
			continue;
		products++;
		cr_assert_eq(op->out[0]->dtype, want->product, "%s %s", want->mode, op->message);
		cr_assert_eq(op->payload.dtype, want->reads, "%s %s", want->mode, op->message);
	}
	cr_assert_geq(products, 8);
}

Test(precision, every_mode_has_its_row_in_the_table_of_dtypes)
{
	for (int i = 0; ws_precision_at(i); i++) {
		cr_assert_lt((size_t)i, sizeof(modes) / sizeof(*modes));
		cr_assert_str_eq(ws_precision_at(i)->name, modes[i].mode);
	}
}

Test(precision, dtypes_of_a_transformer_are_those_of_its_mode)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct ws_step_options options = tiny(modes[i].mode);
		const struct ws_graph *graph;
		struct ws_step *step;
		int exps = 0;

		KERNELS_OK(ws_step_build(&options, &step, err));
		graph = step->graph;
		cr_assert_eq(check_params(graph, &modes[i]), 21);
		check_products(graph, &modes[i]);
		cr_assert_eq(last_of(graph, "rmsnorm")->out[0]->dtype, modes[i].rms_norm);
		cr_assert_eq(last_of(graph, "final norm")->out[0]->dtype, modes[i].rms_norm);
		/* the norm itself is computed in fp32 in every mode */
		for (int j = 0; j < graph->op_count; j++) {
			const struct ws_op *op = graph->ops[j];

			if (op->sub == WS_SUB_RSQRT)
				cr_assert_eq(op->out[0]->dtype, WS_DTYPE_F32);
			if (op->sub == WS_SUB_EXP && op->payload.op == WSNVTX_OP_softmax) {
				cr_assert_eq(op->out[0]->dtype, modes[i].exp, "%s", modes[i].mode);
				exps++;
			}
		}
		cr_assert_eq(exps, 2);
		cr_assert_eq(step->io.logits->dtype, modes[i].product);
		cr_assert_eq(step->io.loss->dtype, WS_DTYPE_F32);
		ws_step_close(step);
	}
}

Test(precision, dtypes_of_a_resnet_and_an_mlp_are_those_of_their_mode)
{
	static const char *const models[] = {"resnet18", "mlp"};

	for (size_t i = 0; i < 2 * sizeof(modes) / sizeof(*modes); i++) {
		const struct expected *want = &modes[i / 2];
		struct ws_step_options options = tiny(want->mode);
		const struct ws_graph *graph;
		struct ws_step *step;
		int norms = 0;

		options.model = ws_network_find(models[i % 2]);
		options.image.size = 32;
		KERNELS_OK(ws_step_build(&options, &step, err));
		graph = step->graph;
		cr_assert_eq(check_params(graph, want), i % 2 ? 6 : 62);
		check_products(graph, want);
		for (int j = 0; j < graph->op_count; j++) {
			const struct ws_op *op = graph->ops[j];

			if (op->kind != WS_OP_BATCH_NORM)
				continue;
			norms++;
			cr_assert_eq(op->out[0]->dtype, want->batch_norm, "%s", want->mode);
			cr_assert_eq(op->out[1]->dtype, WS_DTYPE_F32, "%s statistics", want->mode);
			cr_assert_eq(op->out[3]->dtype, want->batch_norm_weight, "%s running",
			             want->mode);
		}
		cr_assert_eq(norms, i % 2 ? 0 : 20);
		/* images come in fp32 where the model itself casts them */
		cr_assert_eq(step->io.input->dtype,
		             strcmp(want->mode, "fp16-master") ? want->weight : WS_DTYPE_F32);
		cr_assert_eq(step->io.logits->dtype, want->product);
		cr_assert_eq(step->io.loss->dtype, WS_DTYPE_F32);
		ws_step_close(step);
	}
}

/*
 * The question of the seeds: dtypes of fc1, relu, layer norm and fc2 under autocast,
 * of logits, loss and gradients. Answer (a) is the row of amp-bf16.
 */
Test(precision, toy_model_has_the_dtypes_of_the_seed)
{
	static const struct {
		const char *mode, *fc1, *relu, *norm, *logits, *param;
	} want[] = {
	        {"amp-bf16", "bf16", "bf16", "fp32", "bf16", "fp32"},
	        {"amp-fp16", "fp16", "fp16", "fp32", "fp16", "fp32"},
	        {"fp32", "fp32", "fp32", "fp32", "fp32", "fp32"},
	        {"tf32", "fp32", "fp32", "fp32", "fp32", "fp32"},
	        {"fp16-master", "fp16", "fp16", "fp16", "fp16", "fp16"},
	        {"fp16", "fp16", "fp16", "fp16", "fp16", "fp16"},
	        {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16"},
	};
	static const char *const params[] = {"fc1.weight", "ln.weight", "ln.bias", "fc2.weight"};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct ws_step_options options = tiny(want[i].mode);
		const struct ws_graph *graph;
		struct ws_step *step;
		int count = 0;

#define IS(t, name) cr_assert_str_eq(ws_dtype_name((t)->dtype), name, "%s", want[i].mode)
		options.model = ws_network_find("toy-mixed");
		KERNELS_OK(ws_step_build(&options, &step, err));
		graph = step->graph;
		IS(last_of(graph, "fc1")->out[0], want[i].fc1);
		IS(last_of(graph, "relu")->out[0], want[i].relu);
		IS(last_of(graph, "ln")->out[0], want[i].norm);
		IS(last_of(graph, "fc2")->out[0], want[i].logits);
		cr_assert_eq(last_of(graph, "fc2")->out[0], step->io.logits);
		IS(step->io.loss, "fp32");
		for (int j = 0; j < graph->tensor_count; j++)
			if (graph->tensors[j]->role == WS_ROLE_PARAM) {
				cr_assert_str_eq(graph->tensors[j]->name, params[count++]);
				IS(graph->tensors[j], want[i].param);
				IS(graph->tensors[j]->grad, want[i].param);
			}
		cr_assert_eq(count, 4);
		ws_step_close(step);
#undef IS
	}
}

/* --- TF32 (see also test_tf32.c) ------------------------------------------------------ */

/* A 1 × 1 convolution is that product too; so are its gradients. */
Test(precision, tf32_convolutions_read_rounded_operands)
{
	struct ws_step_options options = tiny("tf32");
	struct session exact, rounded;
	double apart;

	options.model = ws_network_find("lenet5");
	options.image.width_divisor = 2;
	rounded = session_open(&options);
	options.precision = precision_named("fp32");
	exact = session_open(&options);
	apart = fabs(run_one(&rounded) - run_one(&exact));
	cr_assert_gt(apart, 0, "nothing was rounded");
	cr_assert_lt(apart, 2e-3);
	session_close(&exact);
	session_close(&rounded);
}

/* --- the loss scale ------------------------------------------------------------------ */

Test(precision, scale_doubles_after_2000_clean_steps_and_halves_at_once)
{
	const struct ws_scaler_rule torch = {2, 0.5, FLT_MAX, 2000}, apex = {2, 0.5, 0x1p24, 2000};
	double scale = 65536;
	int32_t tracker = 0;

	for (int i = 0; i < 1999; i++)
		ws_scaler_next(&torch, false, &scale, &tracker);
	cr_assert(scale == 65536 && tracker == 1999);
	ws_scaler_next(&torch, false, &scale, &tracker);
	cr_assert(scale == 131072 && tracker == 0);
	ws_scaler_next(&torch, false, &scale, &tracker);
	ws_scaler_next(&torch, true, &scale, &tracker);
	cr_assert(scale == 65536 && tracker == 0, "an overflow begins the count anew");
	/* neither goes beyond its largest scale: 2^127 is the last power of two in fp32 */
	scale = 0x1p127;
	tracker = 1999;
	ws_scaler_next(&torch, false, &scale, &tracker);
	cr_assert(scale == 0x1p127 && tracker == 0);
	scale = 0x1p24;
	tracker = 1999;
	ws_scaler_next(&apex, false, &scale, &tracker);
	cr_assert(scale == 0x1p24 && tracker == 0);
}

Test(precision, a_scale_too_large_skips_updates_and_halves_until_gradients_fit)
{
	static const char *const scaled[] = {"amp-fp16", "fp16-master"};

	for (int m = 0; m < 2; m++) {
		struct ws_step_options options = tiny(scaled[m]);
		struct session s = session_open(&options);
		double before[64], after[64], scale = 0x1p40;
		int64_t steps = 1;

		KERNELS_OK(step_write(s.step, "grad scaler.scale", &scale, 1, err));
		KERNELS_OK(step_read(s.step, "norm_final", before, 64, err));
		run_one(&s);
		KERNELS_OK(step_read(s.step, "norm_final", after, 64, err));
		cr_assert_arr_eq(before, after, sizeof(before), "%s", scaled[m]);
		cr_assert_eq(read_one(&s, "grad scaler.scale"), 0x1p39);
		cr_assert_eq(s.step->skipped, 1);
		while (s.step->skipped == steps && steps < 40) {
			run_one(&s);
			steps++;
		}
		cr_assert(steps > 2 && steps < 40, "%s: %lld steps", scaled[m], (long long)steps);
		cr_assert_eq(read_one(&s, "grad scaler.scale"),
		             ldexp(1, 40 - (int)s.step->skipped));
		KERNELS_OK(step_read(s.step, "norm_final", after, 64, err));
		cr_assert_arr_neq(before, after, sizeof(before), "%s", scaled[m]);
		/* steps without an update do not count for the optimizer */
		cr_assert_float_eq(read_one(&s, "optimizer.alpha"),
		                   ws_adamw_alpha(&options.optimizer, 1), 1e-9);
		session_close(&s);
	}
}

Test(precision, clean_steps_double_the_scale_on_the_device_and_for_the_host_alike)
{
	struct ws_step_options options = tiny("amp-fp16");
	struct session s;

	options.loss_scale.interval = 3;
	s = session_open(&options);
	for (int i = 1; i <= 7; i++) {
		run_one(&s);
		cr_assert_eq(read_one(&s, "grad scaler.scale"), ldexp(65536, i / 3), "step %d", i);
		cr_assert_eq(read_one(&s, "grad scaler.tracker"), i % 3);
	}
	cr_assert_eq(s.step->skipped, 0);
	session_close(&s);
}

/* A parameter p [200, 300] whose gradient is the input `grad`, a loss scale, SGD of lr 1. */
struct scaled_case {
	struct kernels_run run;
	struct ws_scaler scaler;
	struct ws_tensor *p, *grad;
	double *values; /* of grad: all 1 */
};
enum { ROWS = 200, COLS = 300 };

static struct scaled_case scaled_open(struct ws_loss_scale scaling)
{
	static const struct ws_precision precision = {.name = "fp32",
	                                              .storage = WS_DTYPE_F32,
	                                              .low = WS_DTYPE_F32,
	                                              .scale_max = 0x1p24};
	struct ws_optimizer sgd = {.kind = WS_OPTIMIZER_SGD, .lr = 1};
	struct scaled_case c = {.run = kernels_open(&precision)};
	struct ws_graph *g = c.run.graph;
	struct ws_tensor *y, *scaled;

	c.p = ws_graph_param(g, "p", WS_SHAPE(ROWS, COLS), (struct ws_init){WS_INIT_FILL, 5});
	c.grad = ws_graph_tensor(g, "grad", WS_ROLE_INPUT, WS_DTYPE_F32, WS_SHAPE(ROWS, COLS));
	y = ws_op_reduce(g, WS_SUB_SUM, ws_op_binary(g, WS_SUB_MUL, c.p, c.grad));
	y = ws_op_permute(g, y, (int64_t[]){1, ROWS, 1, 1}, WS_SHAPE(1, ROWS), NULL);
	y = ws_op_reduce(g, WS_SUB_SUM, y);
	ws_graph_phase(g, WSNVTX_PHASE_loss);
	scaled = ws_scaler_append(g, scaling, y, &c.scaler);
	KERNELS_OK(ws_graph_backward(g, scaled, NULL, err));
	ws_optim_append(g, &sgd, &c.scaler);
	kernels_start(&c.run);
	c.values = calloc((size_t)ROWS * COLS, sizeof(*c.values));
	for (int i = 0; i < ROWS * COLS; i++)
		c.values[i] = 1;
	return c;
}

/* One step; returns what p became at [0], or NaN when elements that should be alike differ. */
static double scaled_step(struct scaled_case *c, int64_t different)
{
	double *p, first;

	kernels_write(&c->run, c->grad, c->values);
	kernels_forward(&c->run);
	KERNELS_OK(ws_exec_phase(c->run.exec, WSNVTX_PHASE_backward, err));
	KERNELS_OK(ws_exec_phase(c->run.exec, WSNVTX_PHASE_optimizer, err));
	p = kernels_read(&c->run, c->p);
	first = p[0];
	for (int64_t i = 0; i < c->p->count; i++)
		if (i != different && p[i] != first)
			first = NAN;
	free(p);
	return first;
}

static void scaled_close(struct scaled_case *c)
{
	free(c->values);
	kernels_close(&c->run);
}

Test(precision, one_bad_element_anywhere_keeps_the_whole_update_from_running)
{
	static const double bad[] = {INFINITY, -INFINITY, NAN, 1e35 /* times 65536: too large */};
	static const int64_t where[] = {1, 1023, 32768, ROWS * COLS - 1};
	struct scaled_case c = scaled_open((struct ws_loss_scale){.kind = WS_LOSS_SCALE_DYNAMIC});
	double want = 5, scale = 65536;

	for (int i = 0; i < 4; i++) {
		c.values[where[i]] = bad[i];
		cr_assert_eq(scaled_step(&c, -1), want, "%g at %lld", bad[i], (long long)where[i]);
		/* the update of SGD is one op */
		cr_assert_eq(ws_exec_skipped(c.run.exec), 1);
		scale /= 2;
		c.values[where[i]] = 1;
		cr_assert_eq(scaled_step(&c, -1), want -= 1, "a clean step counts");
		cr_assert_eq(ws_exec_skipped(c.run.exec), 0);
	}
	{
		double *now = kernels_read(&c.run, c.scaler.scale);

		cr_assert_eq(*now, scale);
		free(now);
	}
	scaled_close(&c);
}

/* As PyTorch: one launch for all gradients in their dtype; a master's gradient is cast by its own.
 */
Test(precision, gradients_are_unscaled_by_one_op)
{
	static const struct {
		const char *dtype;
		bool masters;
	} scaled[] = {{"amp-fp16", false}, {"fp16-master", true}};

	for (size_t i = 0; i < sizeof(scaled) / sizeof(*scaled); i++) {
		struct ws_step_options options = {
		        .model = ws_network_find("transformer-tiny"),
		        .precision = precision_named(scaled[i].dtype),
		        .phase = WS_STEP_FULL,
		        .batch = 2,
		        .context = 8,
		        .optimizer = WS_ADAMW_DEFAULT,
		};
		uint64_t flops = 0, written_bytes = 0;
		int ops = 0, params = 0;
		struct ws_step *step;
		const struct ws_graph *g;

		KERNELS_OK(ws_step_build(&options, &step, err));
		g = step->graph;
		for (int op = 0; op < g->op_count; op++)
			if (g->ops[op]->sub == WS_SUB_UNSCALE) {
				ops++;
				flops += g->ops[op]->payload.flops;
				written_bytes += g->ops[op]->payload.bytes_written;
			}
		for (int t = 0; t < g->tensor_count; t++)
			params += g->tensors[t]->role == WS_ROLE_PARAM;
		cr_assert_eq(ops, scaled[i].masters ? params : 1, "%s: %d", scaled[i].dtype, ops);
		cr_assert_eq(flops, 2 * (uint64_t)ws_graph_param_count(g));
		/* fp32 gradients, and the flag of each op */
		cr_assert_eq(written_bytes,
		             4 * ((uint64_t)ws_graph_param_count(g) + (uint64_t)ops));
		ws_step_close(step);
	}
}

Test(precision, a_static_scale_divides_and_checks_nothing)
{
	struct scaled_case c =
	        scaled_open((struct ws_loss_scale){.kind = WS_LOSS_SCALE_STATIC, .value = 256});

	cr_assert_null(c.scaler.found_inf);
	cr_assert_eq(scaled_step(&c, -1), 4);
	c.values[7] = INFINITY;
	cr_assert_eq(scaled_step(&c, 7), 3);
	cr_assert_eq(ws_exec_skipped(c.run.exec), 0);
	scaled_close(&c);
}

Test(precision, only_the_fp16_modes_with_fp32_weights_somewhere_scale_by_default)
{
	for (int i = 0; ws_precision_at(i); i++) {
		const struct ws_precision *p = ws_precision_at(i);
		bool scaled = !strcmp(p->name, "amp-fp16") || !strcmp(p->name, "fp16-master");
		struct ws_loss_scale none = {.kind = WS_LOSS_SCALE_NONE};

		cr_assert_eq(ws_loss_scale_resolve(p, (struct ws_loss_scale){0}).kind,
		             scaled ? WS_LOSS_SCALE_DYNAMIC : WS_LOSS_SCALE_NONE);
		cr_assert_eq(ws_loss_scale_resolve(p, none).kind, WS_LOSS_SCALE_NONE);
	}
}

/* --- training ------------------------------------------------------------------------ */

Test(precision, losses_fall_in_every_mode_and_are_equal_for_equal_seeds)
{
	double first[40], exact = 0;

	for (int i = 0; ws_precision_at(i); i++) {
		const char *mode = ws_precision_at(i)->name;
		struct ws_step_options options = tiny(mode);

		if (!strcmp(mode, "fp16")) { /* see the test below */
			options.optimizer = ws_optimizer_defaults(WS_OPTIMIZER_ADAM);
			options.optimizer.eps = 1e-4;
		}
		for (int run = 0; run < 2; run++) {
			struct session s = session_open(&options);

			for (int j = 0; j < (run ? 4 : 40); j++) {
				double loss = run_one(&s);

				cr_assert(run == 0 || loss == first[j], "%s step %d", mode, j);
				first[j] = loss;
			}
			session_close(&s);
		}
		cr_assert_float_eq(first[0], log(256), 0.5, "%s: %g", mode, first[0]);
		cr_assert_lt(first[39], first[0] - 1, "%s: %g to %g", mode, first[0], first[39]);
		exact = i ? exact : first[39];
		if (strcmp(mode, "fp16"))
			cr_assert_float_eq(first[39], exact, strcmp(mode, "bf16") ? 5e-3 : 0.2,
			                   "%s: %g, fp32: %g", mode, first[39], exact);
		cr_assert(i == 0 || first[39] != exact, "%s is fp32", mode);
	}
}

/*
 * eps 1e-8 is 0 in fp16 and squares of small gradients are too: what no gradient
 * reached is 0 / 0. PyTorch does the same with a model.half() and its Adam.
 */
Test(precision, native_fp16_with_the_usual_epsilon_ends_in_nan)
{
	struct ws_step_options options = tiny("fp16");
	struct session s = session_open(&options);

	cr_assert(isfinite(run_one(&s)));
	cr_assert(isnan(run_one(&s)));
	session_close(&s);
}
