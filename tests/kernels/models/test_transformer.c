#include "tests/support/kernels_run.h"

#include "kernels/exec/exec.h"
#include "kernels/models/model.h"
#include "kernels/nn/layers.h"
#include "kernels/run/step.h"
#include "tests/support/golden.h"
#include "tests/support/precision_named.h"

/* --- against PyTorch, in double ----------------------------------------------------------- */

/* The shape line of the golden file, beside which its tensors were made. */
static const struct ws_transformer golden_size = {
        .vocab = 11, .width = 8, .ffn = 16, .layers = 2, .heads = 2};
enum { GOLDEN_BATCH = 2, GOLDEN_TIME = 5 };

struct golden_run {
	struct kernels_run run;
	struct ws_model_io io;
	struct ws_tensor *alpha;
};

static void write_golden(struct kernels_run *r, struct ws_tensor *t, const char *name)
{
	double *values = golden_read("transformer", name, t->count);

	kernels_write(r, t, values);
	free(values);
}

/* Run one whole step of the golden model in a precision. */
static struct golden_run golden_open(const struct ws_precision *precision)
{
	struct golden_run g = {0};
	struct ws_optimizer adamw = WS_ADAMW_DEFAULT;
	struct kernels_run *r = &g.run;
	double alpha = ws_adamw_alpha(&adamw, 1), *shape = golden_read("transformer", "shape", 7);
	char name[64];

	cr_assert(shape[0] == golden_size.vocab && shape[1] == golden_size.width &&
	          shape[2] == golden_size.ffn && shape[3] == golden_size.layers &&
	          shape[4] == golden_size.heads && shape[5] == GOLDEN_BATCH &&
	          shape[6] == GOLDEN_TIME);
	free(shape);
	*r = kernels_open(precision);
	KERNELS_OK(ws_transformer_build(r->graph, &golden_size, GOLDEN_BATCH, GOLDEN_TIME, true,
	                                &g.io, err));
	KERNELS_OK(ws_graph_backward(r->graph, g.io.loss, NULL, err));
	g.alpha = ws_optim_append(r->graph, &adamw, NULL).alpha;
	kernels_start(r);
	for (int i = 0; i < r->graph->tensor_count; i++) {
		struct ws_tensor *t = r->graph->tensors[i];

		snprintf(name, sizeof(name), "param.%s", t->name);
		if (t->role == WS_ROLE_PARAM)
			write_golden(r, t, name);
	}
	write_golden(r, g.io.input, "tokens");
	write_golden(r, g.io.target, "targets");
	kernels_write(r, g.alpha, &alpha);
	kernels_forward(r);
	KERNELS_OK(ws_exec_phase(r->exec, WSNVTX_PHASE_backward, err));
	KERNELS_OK(ws_exec_phase(r->exec, WSNVTX_PHASE_optimizer, err));
	return g;
}

/* ||got - want|| / ||want||, Frobenius, against the golden tensor of that name. */
static double distance(struct kernels_run *r, const struct ws_tensor *t, const char *name)
{
	double *got = kernels_read(r, t), *want = golden_read("transformer", name, t->count);
	double difference = 0, size = 0;

	for (int64_t i = 0; i < t->count; i++) {
		difference += (got[i] - want[i]) * (got[i] - want[i]);
		size += want[i] * want[i];
	}
	free(got);
	free(want);
	return sqrt(difference / size);
}

/* The largest distance of all tensors: logits, loss, gradients, parameters after a step. */
static void compare_with_golden(const struct ws_precision *precision, double tolerance)
{
	struct golden_run g = golden_open(precision);
	struct ws_graph *graph = g.run.graph;
	int params = 0;
	char name[64];

	cr_assert_leq(distance(&g.run, g.io.logits, "logits"), tolerance);
	cr_assert_leq(distance(&g.run, g.io.loss, "loss"), tolerance);
	for (int i = 0; i < graph->tensor_count; i++) {
		const struct ws_tensor *t = graph->tensors[i];
		double d;

		if (t->role != WS_ROLE_PARAM)
			continue;
		params++;
		snprintf(name, sizeof(name), "grad.%s", t->name);
		d = distance(&g.run, t->grad, name);
		cr_assert_leq(d, tolerance, "%s: %g", name, d);
		snprintf(name, sizeof(name), "after_step.%s", t->name);
		d = distance(&g.run, t, name);
		cr_assert_leq(d, tolerance, "%s: %g", name, d);
	}
	cr_assert_eq(params, 9 * 2 + 3);
	kernels_close(&g.run);
}

Test(transformer, step_equals_pytorch_in_double)
{
	compare_with_golden(&kernels_fp64, 1e-12);
}

Test(transformer, step_equals_pytorch_in_float_to_1e_5)
{
	compare_with_golden(&kernels_fp32, 1e-5);
}

/* Forward values; gradients of a model this small lose more in 8 bits than a bound can tell. */
Test(transformer, mixed_precision_logits_and_loss_are_within_2_percent_of_pytorch_in_double)
{
	struct golden_run g = golden_open(&kernels_amp);
	double logits = distance(&g.run, g.io.logits, "logits");

	cr_assert_leq(logits, 2e-2, "%g", logits);
	cr_assert_geq(logits, 1e-4, "%g: too good, nothing was rounded to bf16", logits);
	cr_assert_leq(distance(&g.run, g.io.loss, "loss"), 2e-2);
	kernels_close(&g.run);
}

/* --- gradients of the whole model ------------------------------------------------------------ */

static void draw_tokens(uint64_t seed, int64_t step, int64_t batch, int64_t context, int64_t vocab,
                        int32_t *x, int32_t *y)
{
	struct ws_token_batch draw = {batch, context, vocab};

	ws_data_tokens(seed, step, &draw, x, y);
}

Test(transformer, gradients_of_the_whole_model_match_finite_differences)
{
	struct kernels_run r = kernels_open(&kernels_fp64);
	struct ws_model_io io;
	int32_t tokens[2 * 6], targets[2 * 6];
	int compared, wrong;

	KERNELS_OK(ws_transformer_build(r.graph, &golden_size, 2, 6, true, &io, err));
	KERNELS_OK(ws_graph_backward(r.graph, io.loss, NULL, err));
	kernels_start(&r);
	draw_tokens(1, 0, 2, 6, golden_size.vocab, tokens, targets);
	KERNELS_OK(ws_exec_upload(r.exec, io.input, tokens, err));
	KERNELS_OK(ws_exec_upload(r.exec, io.target, targets, err));
	wrong = kernels_gradients_wrong(&r, io.loss, NULL, 20, &compared);
	cr_assert_gt(compared, 300);
	cr_assert_eq(wrong, 0, "%d of %d differ", wrong, compared);
	kernels_close(&r);
}

/* Forgetting the 1/R of the mean over rows: a planted bug that the check must see. */
Test(transformer, gradient_check_sees_a_missing_mean)
{
	struct kernels_run r = kernels_open(&kernels_fp64);
	struct ws_model_io io;
	int32_t tokens[6], targets[6];
	int compared, wrong, spoiled = 0;

	KERNELS_OK(ws_transformer_build(r.graph, &golden_size, 1, 6, true, &io, err));
	KERNELS_OK(ws_graph_backward(r.graph, io.loss, NULL, err));
	for (int i = 0; i < r.graph->op_count; i++) {
		struct ws_op *op = r.graph->ops[i];

		if (op->payload.phase == WSNVTX_PHASE_backward && op->sub == WS_SUB_SCALE &&
		    op->payload.op == WSNVTX_OP_loss) {
			op->u.alpha = 1;
			spoiled++;
		}
	}
	cr_assert_eq(spoiled, 1);
	kernels_start(&r);
	draw_tokens(1, 0, 1, 6, golden_size.vocab, tokens, targets);
	KERNELS_OK(ws_exec_upload(r.exec, io.input, tokens, err));
	KERNELS_OK(ws_exec_upload(r.exec, io.target, targets, err));
	wrong = kernels_gradients_wrong(&r, io.loss, NULL, 3, &compared);
	cr_assert_gt(wrong, compared / 2);
	kernels_close(&r);
}

/* --- sessions -------------------------------------------------------------------------------- */

struct session {
	struct ws_pool *pool;
	struct ws_backend *backend;
	struct ws_step *step;
};

static struct session session_open(const char *dtype, enum ws_step_phase phase, uint64_t seed,
                                   int threads)
{
	struct ws_step_options options = {
	        .model = ws_network_find("transformer-tiny"),
	        .precision = precision_named(dtype),
	        .phase = phase,
	        .batch = 4,
	        .context = 32,
	        .seed = seed,
	        .optimizer = WS_ADAMW_DEFAULT,
	};
	struct session s = {0};

	KERNELS_OK(ws_pool_create(threads, &s.pool, err));
	s.backend = ws_backend_cpu_open(s.pool, 0);
	KERNELS_OK(ws_step_open(&options, s.backend, s.pool, &s.step, err));
	return s;
}

static void session_close(struct session *s)
{
	ws_step_close(s->step);
	ws_backend_close(s->backend);
	ws_pool_destroy(s->pool);
}

static void train(const char *dtype, uint64_t seed, int threads, int steps, double *losses)
{
	struct session s = session_open(dtype, WS_STEP_FULL, seed, threads);

	for (int i = 0; i < steps; i++)
		KERNELS_OK(ws_step_run(s.step, "step", (uint64_t)i + 1, &losses[i], err));
	session_close(&s);
}

Test(transformer, step_loss_starts_at_the_logarithm_of_the_vocabulary_and_falls_in_both_dtypes)
{
	static const char *const dtypes[] = {"fp32", "amp-bf16"};
	double losses[2][60];

	for (int d = 0; d < 2; d++) {
		train(dtypes[d], 0, 2, 60, losses[d]);
		/* random logits of some spread: a little above ln 256 = 5.545 */
		cr_assert_float_eq(losses[d][0], log(256), 0.5, "%s: %g", dtypes[d], losses[d][0]);
		cr_assert_lt(losses[d][59], losses[d][0] - 1, "%s: %g", dtypes[d], losses[d][59]);
	}
	for (int i = 0; i < 10; i++) {
		double apart = fabs(losses[1][i] / losses[0][i] - 1);

		cr_assert_leq(apart, 5e-2, "step %d: %g", i, apart);
		cr_assert_gt(apart, 0, "step %d: bf16 changed nothing", i);
	}
}

Test(transformer, step_equal_seeds_give_equal_losses_and_others_do_not)
{
	double a[4], b[4], c[4];

	train("amp-bf16", 3, 2, 4, a);
	train("amp-bf16", 3, 2, 4, b);
	train("amp-bf16", 4, 2, 4, c);
	cr_assert_arr_eq(a, b, sizeof(a));
	cr_assert_neq(a[0], c[0]);
}

Test(transformer, step_parameters_are_the_same_in_every_dtype_and_spread_as_specified)
{
	struct session a = session_open("fp32", WS_STEP_FORWARD, 5, 1);
	struct session b = session_open("amp-bf16", WS_STEP_FORWARD, 5, 3);
	static double x[64 * 256], y[64 * 256];
	double std = sqrt(2.0 / (64 + 256)), square = 0, mean = 0, largest = 0;

	KERNELS_OK(step_read(a.step, "layer1.w1", x, 64 * 256, err));
	KERNELS_OK(step_read(b.step, "layer1.w1", y, 64 * 256, err));
	cr_assert_arr_eq(x, y, sizeof(x));
	for (int i = 0; i < 64 * 256; i++) {
		mean += x[i] / (64 * 256);
		square += x[i] * x[i] / (64 * 256);
		largest = fmax(largest, fabs(x[i]));
	}
	cr_assert_float_eq(mean, 0, 4 * std / 128); /* 4 standard errors of 16384 */
	/* a normal cut at 3 sigma has 0.9866 of its standard deviation */
	cr_assert_float_eq(sqrt(square), 0.9866 * std, 0.02 * std);
	cr_assert(largest <= 3 * std * (1 + 1e-6) && largest > 2.9 * std);
	KERNELS_OK(step_read(a.step, "norm_final", x, 64, err));
	for (int i = 0; i < 64; i++)
		cr_assert_eq(x[i], 1);
	session_close(&a);
	session_close(&b);
}

Test(transformer, step_forward_alone_has_no_loss_and_needs_less_memory_than_a_step)
{
	struct session forward = session_open("fp32", WS_STEP_FORWARD, 0, 1);
	struct session both = session_open("fp32", WS_STEP_FORWARD_BACKWARD, 0, 1);
	struct session step = session_open("fp32", WS_STEP_FULL, 0, 1);
	double loss;

	KERNELS_OK(ws_step_run(forward.step, "step", 1, &loss, err));
	cr_assert(isnan(loss));
	KERNELS_OK(ws_step_run(both.step, "step", 1, &loss, err));
	cr_assert(loss > 0);
	KERNELS_OK(ws_step_run(step.step, "step", 1, &loss, err));
	cr_assert_lt(forward.backend->peak_bytes, both.backend->peak_bytes);
	cr_assert_lt(both.backend->peak_bytes, step.backend->peak_bytes);
	session_close(&forward);
	session_close(&both);
	session_close(&step);
}

Test(transformer, step_memory_does_not_grow_from_step_to_step_and_all_is_given_back)
{
	struct session s = session_open("amp-bf16", WS_STEP_FULL, 0, 2);
	uint64_t after_first, peak;
	double loss;

	KERNELS_OK(ws_step_run(s.step, "step", 1, &loss, err));
	KERNELS_OK(ws_step_run(s.step, "step", 2, &loss, err));
	after_first = s.backend->allocated_bytes;
	peak = s.backend->peak_bytes;
	for (int i = 0; i < 3; i++)
		KERNELS_OK(ws_step_run(s.step, "step", 3, &loss, err));
	cr_assert_eq(s.backend->allocated_bytes, after_first);
	cr_assert_eq(s.backend->peak_bytes, peak);
	/* parameters, gradients, two moments, at least; 16 bytes a parameter */
	cr_assert_geq(peak, 16 * 164160);
	ws_step_close(s.step);
	s.step = NULL;
	cr_assert_eq(s.backend->allocated_bytes, 0);
	session_close(&s);
}

static const struct ws_step_options tight = {
        .batch = 4,
        .context = 32,
        .phase = WS_STEP_FULL,
        .optimizer = WS_ADAMW_DEFAULT,
};

/* Open a session and run a step on a device of that size; in_step: it got as far as the step. */
static enum ws_status run_within(const char *dtype, uint64_t limit_bytes, bool *in_step)
{
	struct ws_step_options options = tight;
	struct ws_backend *backend;
	struct ws_pool *pool;
	struct ws_step *step;
	struct ws_err failure = {0};
	enum ws_status status;
	double loss;

	options.model = ws_network_find("transformer-tiny");
	options.precision = precision_named(dtype);
	KERNELS_OK(ws_pool_create(1, &pool, err));
	backend = ws_backend_cpu_open(pool, limit_bytes);
	status = ws_step_open(&options, backend, pool, &step, &failure);
	*in_step = status == WS_OK;
	if (status == WS_OK) {
		status = ws_step_run(step, "step", 1, &loss, &failure);
		ws_step_close(step);
	}
	cr_assert(status == WS_OK || status == WS_NO_MEMORY, "%s", failure.text);
	cr_assert_leq(backend->peak_bytes, limit_bytes);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
	return status;
}

static uint64_t planned_bytes(const char *dtype)
{
	struct ws_step_options options = tight;
	struct ws_memory_plan plan;
	struct ws_step *step;

	options.model = ws_network_find("transformer-tiny");
	options.precision = precision_named(dtype);
	KERNELS_OK(ws_step_build(&options, &step, err));
	plan = ws_memory_plan(step->graph);
	ws_step_close(step);
	cr_assert_gt(plan.block_bytes, plan.peak_bytes, "some places are further apart");
	return plan.block_bytes;
}

Test(transformer, step_a_device_that_the_plan_just_fits_suffices_and_a_byte_less_is_refused_at_once)
{
	uint64_t bytes = planned_bytes("fp32");
	bool in_step;

	cr_assert_eq(run_within("fp32", bytes, &in_step), WS_OK);
	cr_assert_eq(run_within("fp32", bytes - 1, &in_step), WS_NO_MEMORY);
	cr_assert_not(in_step);
}

/* In bf16 products need workspaces beside the tensors: the plan knows of them too. */
Test(transformer, step_workspaces_are_part_of_what_is_refused_at_once)
{
	uint64_t bytes = planned_bytes("amp-bf16");
	bool in_step;
	int refused = 0;

	for (uint64_t more_bytes = 0;; more_bytes += 1 << 15) {
		if (run_within("amp-bf16", bytes + more_bytes, &in_step) == WS_OK)
			break;
		cr_assert_not(in_step, "it fits with its workspaces, or it does not begin");
		refused++;
	}
	cr_assert_gt(refused, 2);
}

Test(transformer, data_tokens_are_in_range_learnable_and_never_all_zero)
{
	static int32_t x[8 * 64], y[8 * 64], again[8 * 64];
	int follows = 0, zeros = 0;

	draw_tokens(9, 5, 8, 64, 1000, x, y);
	draw_tokens(9, 5, 8, 64, 1000, again, y);
	cr_assert_arr_eq(x, again, sizeof(x));
	draw_tokens(9, 6, 8, 64, 1000, again, y);
	cr_assert_arr_neq(x, again, sizeof(x));
	draw_tokens(9, 5, 8, 64, 1000, x, y);
	for (int i = 0; i < 8 * 64; i++) {
		cr_assert(x[i] >= 0 && x[i] < 1000 && y[i] >= 0 && y[i] < 1000);
		if (i % 64 < 63)
			cr_assert_eq(y[i], x[i + 1]);
		follows += y[i] == (5 * x[i] + 17) % 97;
		zeros += x[i] == 0;
	}
	/* three in four by the rule: 384 of 512, give or take five sigma */
	cr_assert(follows > 384 - 49 && follows < 384 + 49, "%d", follows);
	cr_assert_lt(zeros, 64);
}
