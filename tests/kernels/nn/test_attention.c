/* --attention fused: the function of eager attention, from one op that stores no scores. */
#include "tests/support/kernels_run.h"

#include "kernels/cpu/cpu.h"
#include "kernels/exec/exec.h"
#include "kernels/graph/graph.h"
#include "kernels/models/model.h"
#include "kernels/nn/layers.h"
#include "kernels/run/step.h"
#include "tests/support/precision_named.h"

/* More keys than one block of the streaming softmax has, and no multiple of it. */
enum { BATCH = 2, HEADS = 3, TIME = 147, WIDTH = 10, COUNT = BATCH * HEADS * TIME * WIDTH };

static const struct ws_precision fp16_amp = {.name = "amp-fp16",
                                             .storage = WS_DTYPE_F32,
                                             .low = WS_DTYPE_F16};
static const struct ws_precision tf32 = {.name = "tf32",
                                         .storage = WS_DTYPE_F32,
                                         .low = WS_DTYPE_F32,
                                         .tf32 = true};

/* Attention of three parameters, forward and backward. */
struct attention {
	struct kernels_run run;
	struct ws_tensor *qkv[3], *y, *seed;
};

static struct attention attention_open(const struct ws_precision *precision,
                                       enum ws_attention_mode mode)
{
	static const char *const names[] = {"q", "k", "v"};
	struct attention a = {.run = kernels_open(precision)};
	struct ws_graph *g = a.run.graph;

	g->attention = mode;
	for (int i = 0; i < 3; i++)
		a.qkv[i] = kernels_param(g, names[i], WS_SHAPE(BATCH, HEADS, TIME, WIDTH));
	a.y = ws_nn_causal_attention(g, a.qkv[0], a.qkv[1], a.qkv[2]);
	cr_assert_not_null(a.y, "%s", g->err.text);
	a.seed = kernels_backward(&a.run, a.y);
	kernels_start(&a.run);
	return a;
}

static void attention_run(struct attention *a)
{
	kernels_forward(&a->run);
	KERNELS_OK(ws_exec_phase(a->run.exec, WSNVTX_PHASE_backward, err));
}

/* The largest difference of two tensors, of the largest value of the second. */
static double apart(struct attention *a, const struct ws_tensor *of_a, struct attention *b,
                    const struct ws_tensor *of_b)
{
	double *x = kernels_read(&a->run, of_a), *y = kernels_read(&b->run, of_b);
	double most = 0, largest = 0;

	cr_assert_eq(of_a->count, of_b->count);
	for (int64_t i = 0; i < of_b->count; i++) {
		cr_assert(isfinite(x[i]) && isfinite(y[i]));
		most = fmax(most, fabs(x[i] - y[i]));
		largest = fmax(largest, fabs(y[i]));
	}
	cr_assert_gt(largest, 0);
	free(x);
	free(y);
	return most / largest;
}

static void expect_near(struct attention *a, struct attention *b, double forward, double backward)
{
	double d = apart(a, a->y, b, b->y);

	cr_assert_leq(d, forward, "results are %g apart", d);
	for (int i = 0; i < 3; i++) {
		d = apart(a, a->qkv[i]->grad, b, b->qkv[i]->grad);
		cr_assert_leq(d, backward, "gradients of %s are %g apart", a->qkv[i]->name, d);
	}
}

static void expect_eager(const struct ws_precision *precision, double forward, double backward)
{
	struct attention eager = attention_open(precision, WS_ATTENTION_MODE_EAGER);
	struct attention fused = attention_open(precision, WS_ATTENTION_MODE_FUSED);

	attention_run(&eager);
	attention_run(&fused);
	expect_near(&fused, &eager, forward, backward);
	kernels_close(&eager.run);
	kernels_close(&fused.run);
}

Test(attention, is_eager_attention_in_double)
{
	expect_eager(&kernels_fp64, 1e-14, 1e-13);
}

Test(attention, is_eager_attention_in_float)
{
	expect_eager(&kernels_fp32, 1e-6, 5e-6);
}

/* Values as a dtype holds them, in a tensor of a graph of doubles. */
static void copy_rounded(struct attention *from, const struct ws_tensor *t, struct attention *to,
                         struct ws_tensor *into, float (*round)(float))
{
	double *values = kernels_read(&from->run, t);

	for (int64_t i = 0; i < t->count; i++)
		values[i] = (double)round((float)values[i]);
	kernels_write(&to->run, into, values);
	free(values);
}

/*
 * Against doubles of the same operands. unit: half of the dtype's last place, relative.
 * Forward: the exponentials and the result are rounded. Backward in addition the gradients
 * of the scores and what forward rounded, in sums of TIME terms that partly cancel.
 */
static void expect_rounding(const struct ws_precision *precision, float (*round)(float),
                            double unit, bool stored)
{
	struct attention low = attention_open(precision, WS_ATTENTION_MODE_FUSED);
	struct attention exact = attention_open(&kernels_fp64, WS_ATTENTION_MODE_EAGER);
	double error;

	for (int i = 0; i < 3; i++)
		copy_rounded(&low, low.qkv[i], &exact, exact.qkv[i], round);
	copy_rounded(&low, low.seed, &exact, exact.seed, round);
	attention_run(&low);
	attention_run(&exact);
	expect_near(&low, &exact, 2 * unit, 8 * unit);
	error = apart(&low, low.y, &exact, exact.y);
	cr_assert_gt(error, unit / 100, "nothing was rounded: %g", error);
	cr_assert_eq(ws_dtype_size(low.y->dtype) == 2, stored);
	kernels_close(&low.run);
	kernels_close(&exact.run);
}

static float round_bf16(float x)
{
	return ws_bf16_to_f32(ws_f32_to_bf16(x));
}

static float round_f16(float x)
{
	return ws_f16_to_f32(ws_f32_to_f16(x));
}

Test(attention, of_bf16_is_right_to_its_rounding)
{
	expect_rounding(&kernels_amp, round_bf16, 0x1p-9, true);
}

Test(attention, of_fp16_is_right_to_its_rounding)
{
	expect_rounding(&fp16_amp, round_f16, 0x1p-12, true);
}

Test(attention, of_tf32_is_right_to_its_rounding_of_operands)
{
	expect_rounding(&tf32, ws_f32_to_tf32, 0x1p-11, false);
}

/* Scores of thousands: exponentials are taken against the largest so far, never of a score. */
Test(attention, survives_scores_that_no_exponential_can_hold)
{
	struct attention a = attention_open(&kernels_fp32, WS_ATTENTION_MODE_FUSED);
	struct attention b = attention_open(&kernels_fp32, WS_ATTENTION_MODE_EAGER);
	double *q = kernels_read(&a.run, a.qkv[0]);

	for (int i = 0; i < COUNT; i++)
		q[i] *= 1000;
	kernels_write(&a.run, a.qkv[0], q);
	kernels_write(&b.run, b.qkv[0], q);
	attention_run(&a);
	attention_run(&b);
	expect_near(&a, &b, 1e-3, 1e-2); /* a score of 5000 is known to 3e-4 in fp32 */
	kernels_close(&a.run);
	kernels_close(&b.run);
	free(q);
}

static const struct ws_op *op_of(const struct ws_graph *g, enum ws_sub sub)
{
	for (int i = 0; i < g->op_count; i++)
		if (g->ops[i]->sub == sub)
			return g->ops[i];
	cr_assert_fail("no op %s", ws_sub_info(sub)->name);
	return NULL;
}

/* Two products of a head's width for each pair that is seen forward, five backward; operands once.
 */
Test(attention, costs_the_products_of_the_pairs_it_computes_and_no_scores)
{
	struct attention a = attention_open(&kernels_amp, WS_ATTENTION_MODE_FUSED);
	const struct wsnvtx_op *f = &op_of(a.run.graph, WS_SUB_CAUSAL_ATTENTION)->payload;
	const struct wsnvtx_op *b = &op_of(a.run.graph, WS_SUB_CAUSAL_ATTENTION_GRAD)->payload;
	uint64_t pairs = BATCH * HEADS * (TIME * (TIME + 1) / 2), rows = BATCH * HEADS * TIME;

	cr_assert_eq(f->op, WSNVTX_OP_attention);
	cr_assert_eq(b->op, WSNVTX_OP_attention);
	cr_assert_eq(f->flops, 2 * 2 * WIDTH * pairs);
	cr_assert_eq(b->flops, 5 * 2 * WIDTH * pairs);
	cr_assert_eq(f->bytes_read, 3 * 2 * COUNT);
	cr_assert_eq(f->bytes_written, 2 * COUNT + 4 * rows);
	cr_assert_eq(b->bytes_read, 5 * 2 * COUNT + 4 * rows);
	cr_assert_eq(b->bytes_written, 3 * 2 * COUNT);
	cr_assert(f->batch == BATCH * HEADS && f->m == TIME && f->n == TIME && f->k == WIDTH);
	cr_assert_eq(b->dtype, WSNVTX_DTYPE_bf16, "the logarithms are fp32, the products are not");
	kernels_close(&a.run);
}

/* Of both the FLOPs of the products by the pairs that the mask keeps, T (T + 1) / 2 of T^2. */
Test(attention, eager_and_fused_need_the_same_pairs)
{
	struct attention eager = attention_open(&kernels_fp32, WS_ATTENTION_MODE_EAGER);
	struct attention fused = attention_open(&kernels_fp32, WS_ATTENTION_MODE_FUSED);
	const uint64_t all = BATCH * HEADS * TIME * TIME,
	               pairs = BATCH * HEADS * (TIME * (TIME + 1) / 2);
	uint64_t needed[3] = {0}, computed[3] = {0};

	for (int i = 0; i < eager.run.graph->op_count; i++) {
		const struct wsnvtx_op *p = &eager.run.graph->ops[i]->payload;

		if (p->op == WSNVTX_OP_gemm) {
			needed[p->direction] += p->flops_needed;
			computed[p->direction] += p->flops;
		} else if (p->op == WSNVTX_OP_softmax && p->flops) {
			cr_expect_eq(p->flops_needed, 0, "only products tell");
		}
	}
	cr_expect_eq(computed[WSNVTX_DIRECTION_forward], 2 * 2 * WIDTH * all);
	cr_expect_eq(needed[WSNVTX_DIRECTION_forward], 2 * 2 * WIDTH * pairs);
	cr_expect_eq(computed[WSNVTX_DIRECTION_backward], 4 * 2 * WIDTH * all);
	cr_expect_eq(needed[WSNVTX_DIRECTION_backward], 4 * 2 * WIDTH * pairs);
	cr_expect_eq(op_of(fused.run.graph, WS_SUB_CAUSAL_ATTENTION)->payload.flops_needed,
	             2 * 2 * WIDTH * pairs);
	kernels_close(&eager.run);
	kernels_close(&fused.run);
}

Test(attention, of_heads_too_wide_is_refused_with_the_cure)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *q = kernels_param(r.graph, "q", WS_SHAPE(1, 1, 4, 258));

	cr_assert_eq(ws_op_attention(r.graph, q, q, q, 1), &r.graph->error_tensor);
	cr_assert_eq(r.graph->err.status, WS_USAGE);
	cr_assert_not_null(strstr(r.graph->err.text, "--attention eager"));
	kernels_close(&r);
}

/* --- in a model ------------------------------------------------------------------------------ */

static struct ws_step_options model_options(const char *model, const struct ws_precision *precision,
                                            enum ws_fusion fusion, enum ws_attention_mode mode)
{
	return (struct ws_step_options){
	        .model = ws_network_find(model),
	        .precision = precision,
	        .phase = WS_STEP_FULL,
	        .fusion = fusion,
	        .attention = mode,
	        .batch = 2,
	        .context = 80,
	        .optimizer = WS_ADAMW_DEFAULT,
	};
}

static void train(const struct ws_precision *precision, enum ws_fusion fusion,
                  enum ws_attention_mode mode, int threads, double losses[3])
{
	struct ws_step_options options = model_options("transformer-tiny", precision, fusion, mode);
	struct ws_pool *pool;
	struct ws_backend *backend;
	struct ws_step *step;

	KERNELS_OK(ws_pool_create(threads, &pool, err));
	backend = ws_backend_cpu_open(pool, 0);
	KERNELS_OK(ws_step_open(&options, backend, pool, &step, err));
	for (int n = 0; n < 3; n++)
		KERNELS_OK(ws_step_run(step, "step", (uint64_t)n + 1, &losses[n], err));
	ws_step_close(step);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
}

Test(attention, fused_models_train_as_eager_ones)
{
	static const struct {
		const char *dtype;
		double bound;
	} modes[] = {{"fp32", 1e-6}, {"tf32", 1e-4}, {"amp-bf16", 1e-3}, {"amp-fp16", 1e-4}};
	double eager[3], fused[3];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		for (int fusion = 0; fusion < 2; fusion++) {
			const struct ws_precision *precision = precision_named(modes[i].dtype);

			train(precision, (enum ws_fusion)fusion, WS_ATTENTION_MODE_EAGER, 2, eager);
			train(precision, (enum ws_fusion)fusion, WS_ATTENTION_MODE_FUSED, 2, fused);
			for (int n = 0; n < 3; n++)
				cr_assert_leq(fabs(fused[n] - eager[n]), modes[i].bound * eager[n],
				              "%s, step %d: %.9g and %.9g", modes[i].dtype, n,
				              fused[n], eager[n]);
		}
}

Test(attention, has_the_same_bits_with_any_number_of_threads)
{
	double one[3], three[3];

	/* in double, as OpenBLAS, which the products of float use, promises no such thing */
	train(&kernels_fp64, WS_FUSION_FULL, WS_ATTENTION_MODE_FUSED, 1, one);
	train(&kernels_fp64, WS_FUSION_FULL, WS_ATTENTION_MODE_FUSED, 3, three);
	for (int n = 0; n < 3; n++)
		cr_assert_eq(one[n], three[n]);
}

/* One op forward, one backward in the scope of attention, and none below it; q, k, v are 16 bits.
 */
Test(attention, is_one_op_in_each_direction_of_a_layer)
{
	struct ws_step_options options = model_options("transformer-tiny", &kernels_amp,
	                                               WS_FUSION_NONE, WS_ATTENTION_MODE_FUSED);
	int forward = 0, backward = 0;
	struct ws_step *step;

	KERNELS_OK(ws_step_build(&options, &step, err));
	for (int i = 0; i < step->graph->op_count; i++) {
		const struct ws_op *op = step->graph->ops[i];

		cr_assert_neq(op->payload.op, WSNVTX_OP_softmax);
		cr_assert(strcmp(op->scope->name, "computing softmax"));
		if (op->payload.op != WSNVTX_OP_attention)
			continue;
		cr_assert_str_eq(op->scope->name, "scaled dot product attention");
		cr_assert_eq(op->in[1]->dtype, WS_DTYPE_BF16);
		forward += op->payload.direction == WSNVTX_DIRECTION_forward;
		backward += op->payload.direction == WSNVTX_DIRECTION_backward;
	}
	cr_assert(forward == 2 && backward == 2, "%d and %d", forward, backward);
	ws_step_close(step);
}

/* What a step of a long context holds at once: with eager attention mostly scores. */
Test(attention, makes_the_plan_of_a_long_context_smaller)
{
	uint64_t peak_bytes[2];

	for (int mode = 0; mode < 2; mode++) {
		struct ws_step_options options =
		        model_options("transformer-small", &kernels_amp, WS_FUSION_FULL,
		                      (enum ws_attention_mode)mode);
		struct ws_memory_plan plan;
		struct ws_step *step;

		options.context = 4096;
		KERNELS_OK(ws_step_build(&options, &step, err));
		plan = ws_memory_plan(step->graph);
		peak_bytes[mode] = plan.peak_bytes;
		ws_step_close(step);
	}
	/* a layer keeps its softmax, B H T T of bf16, for backward: 805 MB */
	cr_assert_gt(peak_bytes[0] - peak_bytes[1], 12 * 2 * 12 * 4096ull * 4096 * 2 * 9 / 10);
}

/* --- what the time of a kernel has in it ---------------------------------------------------- */

static const struct ws_cpu *watched;
static int ranges;

/* In place of the client's. */
bool wsnvtx_attached(void)
{
	return watched;
}

static bool is_spoiled(const struct ws_tensor *t)
{
	return *(const uint16_t *)t->data == UINT16_MAX;
}

/* What was converted by now is lost. */
void wsnvtx_kernel_push(const char *name, const struct wsnvtx_launch *launch)
{
	(void)name;
	(void)launch;
	for (int i = 0; i < watched->copy_count; i++) {
		const struct ws_cpu_copy *copy = &watched->copies[i];

		memset(copy->t.data, 0xff, (size_t)copy->t.count * sizeof(float));
		if (copy->is_written)
			memset(copy->original->data, 0xff, copy->original->size_bytes);
	}
}

void wsnvtx_kernel_pop(void)
{
	for (int i = 0; watched && i < watched->copy_count; i++, ranges++) {
		cr_assert_not(is_spoiled(&watched->copies[i].t), "operand %d", i);
		cr_assert_not(is_spoiled(watched->copies[i].original), "result %d", i);
	}
}

Test(attention, is_timed_with_the_conversions_of_its_operands_and_results)
{
	struct attention a = attention_open(&kernels_amp, WS_ATTENTION_MODE_FUSED);

	watched = (const struct ws_cpu *)a.run.backend;
	attention_run(&a);
	watched = NULL;
	cr_assert_geq(ranges, 4 + 8, "%d copies", ranges);
	kernels_close(&a.run);
}
