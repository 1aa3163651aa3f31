#include "tests/support/kernels_run.h"

#include "kernels/nn/layers.h"
#include "kernels/graph/graph.h"
#include "tests/kernels/graph/grad_cases_image.h"

static struct ws_tensor *input(struct ws_graph *graph, const char *name, enum ws_dtype dtype,
                               struct ws_shape shape)
{
	return ws_graph_tensor(graph, name, WS_ROLE_INPUT, dtype, shape);
}

/* --- cases: a parameter or two, one op or a composite ------------------------------------ */

static struct ws_tensor *x45(struct ws_graph *g, const char *name)
{
	return kernels_param(g, name, WS_SHAPE(4, 5));
}

/* Well above 0, where log, sqrt and division are smooth. */
static struct ws_tensor *positive(struct ws_graph *g, struct ws_tensor *x)
{
	return ws_op_unary(g, WS_SUB_ADD_CONST, ws_op_unary(g, WS_SUB_SQUARE, x, 0), 0.5);
}

static struct ws_tensor *gemm_case(struct ws_graph *g, bool ta, bool tb)
{
	struct ws_gemm d = {.batch = 3, .m = 2, .n = 4, .k = 5, .trans_a = ta, .trans_b = tb};
	struct ws_tensor *a = kernels_param(g, "a", ta ? WS_SHAPE(3, 5, 2) : WS_SHAPE(3, 2, 5));
	struct ws_tensor *b = kernels_param(g, "b", tb ? WS_SHAPE(3, 4, 5) : WS_SHAPE(3, 5, 4));

	return ws_op_gemm(g, a, b, d, WS_SHAPE(3, 2, 4), "gemm");
}

#define CASE(name) static struct ws_tensor *case_##name(struct ws_graph *g)
CASE(gemm_nn)
{
	return gemm_case(g, false, false);
}
CASE(gemm_nt)
{
	return gemm_case(g, false, true);
}
CASE(gemm_tn)
{
	return gemm_case(g, true, false);
}
CASE(gemm_tt)
{
	return gemm_case(g, true, true);
}
CASE(neg)
{
	return ws_op_unary(g, WS_SUB_NEG, x45(g, "x"), 0);
}
CASE(exp)
{
	return ws_op_unary(g, WS_SUB_EXP, x45(g, "x"), 0);
}
CASE(log)
{
	return ws_op_unary(g, WS_SUB_LOG, positive(g, x45(g, "x")), 0);
}
CASE(sqrt)
{
	return ws_op_unary(g, WS_SUB_SQRT, positive(g, x45(g, "x")), 0);
}
CASE(rsqrt)
{
	return ws_op_unary(g, WS_SUB_RSQRT, positive(g, x45(g, "x")), 0);
}
CASE(square)
{
	return ws_op_unary(g, WS_SUB_SQUARE, x45(g, "x"), 0);
}
CASE(sigmoid)
{
	return ws_op_unary(g, WS_SUB_SIGMOID, x45(g, "x"), 0);
}
CASE(scale)
{
	return ws_op_unary(g, WS_SUB_SCALE, x45(g, "x"), -1.7);
}
CASE(add_const)
{
	return ws_op_unary(g, WS_SUB_ADD_CONST, x45(g, "x"), 2);
}
CASE(mask)
{
	struct ws_tensor *x = kernels_param(g, "x", WS_SHAPE(2, 4, 4));

	return ws_op_unary(g, WS_SUB_CAUSAL_MASK, x, -3);
}
CASE(add)
{
	return ws_op_binary(g, WS_SUB_ADD, x45(g, "a"), x45(g, "b"));
}
CASE(sub)
{
	return ws_op_binary(g, WS_SUB_SUB, x45(g, "a"), x45(g, "b"));
}
CASE(mul)
{
	return ws_op_binary(g, WS_SUB_MUL, x45(g, "a"), x45(g, "b"));
}
CASE(mul_twice_the_same)
{
	struct ws_tensor *x = x45(g, "x");

	return ws_op_binary(g, WS_SUB_MUL, x, x);
}
CASE(div)
{
	return ws_op_binary(g, WS_SUB_DIV, x45(g, "a"), positive(g, x45(g, "b")));
}
CASE(add_row)
{
	return ws_op_binary(g, WS_SUB_ADD, x45(g, "a"), kernels_param(g, "b", WS_SHAPE(5)));
}
CASE(row_sub)
{
	return ws_op_binary(g, WS_SUB_SUB, kernels_param(g, "a", WS_SHAPE(5)), x45(g, "b"));
}
CASE(sub_col)
{
	return ws_op_binary(g, WS_SUB_SUB, x45(g, "a"), kernels_param(g, "b", WS_SHAPE(4, 1)));
}
CASE(mul_row)
{
	return ws_op_binary(g, WS_SUB_MUL, x45(g, "a"), kernels_param(g, "b", WS_SHAPE(5)));
}
CASE(col_mul)
{
	return ws_op_binary(g, WS_SUB_MUL, kernels_param(g, "a", WS_SHAPE(4, 1)), x45(g, "b"));
}
CASE(div_col)
{
	struct ws_tensor *col = positive(g, kernels_param(g, "b", WS_SHAPE(4, 1)));

	return ws_op_binary(g, WS_SUB_DIV, x45(g, "a"), col);
}
CASE(div_row)
{
	struct ws_tensor *row = positive(g, kernels_param(g, "b", WS_SHAPE(5)));

	return ws_op_binary(g, WS_SUB_DIV, x45(g, "a"), row);
}
CASE(col_div)
{
	struct ws_tensor *a = kernels_param(g, "a", WS_SHAPE(4, 1));

	return ws_op_binary(g, WS_SUB_DIV, a, positive(g, x45(g, "b")));
}
CASE(sum)
{
	return ws_op_reduce(g, WS_SUB_SUM, x45(g, "x"));
}
CASE(mean)
{
	return ws_op_reduce(g, WS_SUB_MEAN, x45(g, "x"));
}
CASE(sum_then_used_twice)
{
	struct ws_tensor *x = x45(g, "x"), *s = ws_op_reduce(g, WS_SUB_SUM, x);

	/* broadcast and full gradients of x meet */
	return ws_op_binary(g, WS_SUB_MUL, ws_op_binary(g, WS_SUB_ADD, x, s), s);
}
CASE(broadcast_gradient_reaches_a_gemm)
{
	struct ws_gemm d = {.batch = 1, .m = 2, .n = 4, .k = 5};
	struct ws_tensor *a = kernels_param(g, "a", WS_SHAPE(2, 5));
	struct ws_tensor *b = kernels_param(g, "b", WS_SHAPE(5, 4));

	return ws_op_reduce(g, WS_SUB_SUM, ws_op_gemm(g, a, b, d, WS_SHAPE(2, 4), "gemm"));
}
CASE(permute)
{
	return ws_op_permute(g, kernels_param(g, "x", WS_SHAPE(2, 3, 4, 2)),
	                     (int64_t[]){2, 3, 4, 2}, WS_SHAPE(2, 4, 3, 2), NULL);
}
CASE(rope)
{
	struct ws_tensor *x = kernels_param(g, "x", WS_SHAPE(2, 3, 8));
	struct ws_tensor *table =
	        ws_graph_tensor(g, "table", WS_ROLE_CONST, WS_DTYPE_F64, WS_SHAPE(2, 3, 2));

	table->init = (struct ws_init){WS_INIT_ROPE_TABLE, 10000};
	return ws_op_rope(g, WS_SUB_ROTATE, x, table, (struct ws_heads){2, 3, 2, 4}, NULL);
}
CASE(embedding)
{
	return ws_op_embedding(g, kernels_param(g, "x", WS_SHAPE(5, 3)),
	                       input(g, "index", WS_DTYPE_I32, WS_SHAPE(2, 4)));
}
CASE(gather)
{
	return ws_op_gather(g, x45(g, "x"), input(g, "index", WS_DTYPE_I32, WS_SHAPE(4)));
}
CASE(softmax)
{
	return ws_nn_softmax(g, x45(g, "x"));
}
CASE(rmsnorm)
{
	return ws_nn_rmsnorm(g, x45(g, "x"), kernels_param(g, "w", WS_SHAPE(5)), "norm");
}
CASE(attention)
{
	struct ws_shape shape = WS_SHAPE(2, 2, 4, 6);
	struct ws_tensor *q = kernels_param(g, "q", shape), *k = kernels_param(g, "k", shape);

	return ws_nn_causal_attention(g, q, k, kernels_param(g, "v", shape));
}
CASE(cross_entropy_of_one_row)
{
	return ws_nn_cross_entropy(g, kernels_param(g, "x", WS_SHAPE(1, 6)),
	                           input(g, "index", WS_DTYPE_I32, WS_SHAPE(1)), false);
}
CASE(swiglu)
{
	struct ws_tensor *x = x45(g, "x"), *w2 = kernels_param(g, "w2", WS_SHAPE(5, 7));
	struct ws_linears w13 = ws_nn_linears(g, "w13", (const char *const[]){"w1", "w3"}, 2,
	                                      WS_SHAPE(7, 5), (struct ws_init){WS_INIT_NORMAL, 1});

	return ws_nn_swiglu(g, x, &w13, w2);
}
CASE(cross_entropy)
{
	return ws_nn_cross_entropy(g, x45(g, "x"), input(g, "index", WS_DTYPE_I32, WS_SHAPE(4)),
	                           false);
}
CASE(log_softmax_nll_loss)
{
	return ws_nn_cross_entropy(g, x45(g, "x"), input(g, "index", WS_DTYPE_I32, WS_SHAPE(4)),
	                           true);
}
CASE(log_softmax)
{
	return ws_op_log_softmax(g, x45(g, "x"));
}

/* Parts that have a fused form, in that form, and fused ops by themselves. */
#define FUSED(name)                         \
	CASE(fused_##name)                  \
	{                                   \
		g->fusion = WS_FUSION_FULL; \
		return case_##name(g);      \
	}
FUSED(rmsnorm)
FUSED(attention)
FUSED(swiglu)
FUSED(cross_entropy)
FUSED(cross_entropy_of_one_row)
CASE(fused_softmax)
{
	return ws_op_softmax(g, kernels_param(g, "x", WS_SHAPE(2, 4, 4)), 0.7);
}
/* Some keys more than a block of the streaming softmax has. */
CASE(attention_in_one_op)
{
	struct ws_shape shape = WS_SHAPE(1, 2, 67, 3);

	return ws_op_attention(g, kernels_param(g, "q", shape), kernels_param(g, "k", shape),
	                       kernels_param(g, "v", shape), 0.6);
}
static void rope_qkv(struct ws_graph *g, struct ws_tensor *qkv[3])
{
	struct ws_tensor *x = kernels_param(g, "x", WS_SHAPE(2, 3, 24));
	struct ws_tensor *table =
	        ws_graph_tensor(g, "table", WS_ROLE_CONST, WS_DTYPE_F64, WS_SHAPE(2, 3, 2));

	table->init = (struct ws_init){WS_INIT_ROPE_TABLE, 10000};
	ws_op_rope_qkv(g, x, table, (struct ws_heads){2, 3, 2, 4}, qkv);
}
/* All three results used, each in its own way. */
CASE(fused_rope_qkv)
{
	struct ws_tensor *qkv[3], *y;

	rope_qkv(g, qkv);
	y = ws_op_binary(g, WS_SUB_MUL, qkv[0], qkv[1]);
	return ws_op_binary(g, WS_SUB_ADD, y, ws_op_unary(g, WS_SUB_SQUARE, qkv[2], 0));
}
/* What is not used has a gradient of 0. */
CASE(fused_rope_qkv_of_values_alone)
{
	struct ws_tensor *qkv[3];

	rope_qkv(g, qkv);
	return qkv[2];
}
static struct ws_tensor *bias_act_case(struct ws_graph *g, enum ws_sub act, struct ws_channels ch)
{
	struct ws_tensor *x = kernels_param(g, "x", WS_SHAPE(2, 3, 2, 4));

	x = ws_op_bias(g, x, kernels_param(g, "b", WS_SHAPE(3)), ch);
	return ws_op_bias_activation(g, x, act, act == WS_SUB_LEAKY_RELU ? 0.01 : 0);
}
CASE(fused_bias_relu_nchw)
{
	return bias_act_case(g, WS_SUB_RELU, (struct ws_channels){2, 3, 8});
}
CASE(fused_bias_relu_nhwc)
{
	return bias_act_case(g, WS_SUB_RELU, (struct ws_channels){16, 3, 1});
}
CASE(fused_bias_leaky_relu)
{
	return bias_act_case(g, WS_SUB_LEAKY_RELU, (struct ws_channels){2, 3, 8});
}
CASE(fused_bias_tanh)
{
	return bias_act_case(g, WS_SUB_TANH, (struct ws_channels){16, 3, 1});
}

/* clang-format off */
#define FUSED_CASES(X) \
	X(fused_rmsnorm) X(fused_attention) X(fused_swiglu) X(fused_cross_entropy) \
	X(fused_cross_entropy_of_one_row) X(fused_softmax) X(attention_in_one_op) \
	X(fused_rope_qkv) X(fused_rope_qkv_of_values_alone) X(fused_bias_relu_nchw) \
	X(fused_bias_relu_nhwc) X(fused_bias_leaky_relu) X(fused_bias_tanh)
/* clang-format on */

/* clang-format off */
#define CASES(X) \
	X(gemm_nn) X(gemm_nt) X(gemm_tn) X(gemm_tt) X(neg) X(exp) X(log) X(sqrt) \
	X(rsqrt) X(square) X(sigmoid) X(scale) X(add_const) X(mask) X(add) X(sub) X(mul) \
	X(mul_twice_the_same) X(div) X(add_row) X(row_sub) X(sub_col) X(mul_row) \
	X(col_mul) X(div_col) X(div_row) X(col_div) X(sum) X(mean) \
	X(sum_then_used_twice) X(broadcast_gradient_reaches_a_gemm) X(permute) X(rope) \
	X(embedding) X(gather) X(softmax) X(rmsnorm) X(attention) X(swiglu) \
	X(cross_entropy) X(log_softmax_nll_loss) X(log_softmax) \
	X(cross_entropy_of_one_row) IMAGE_CASES(X) FUSED_CASES(X)
/* clang-format on */

typedef struct ws_tensor *(*case_fn)(struct ws_graph *g);

/* Build, start, check. spoil (may be NULL) may change the graph before it runs. */
static int gradients_wrong(case_fn build, void (*spoil)(struct ws_graph *), int *compared)
{
	static const double index[] = {2, 0, 4, 2, 1, 1, 3, 0};
	struct kernels_run r = kernels_open(&kernels_fp64);
	struct ws_tensor *y = build(r.graph), *seed, *i;
	int wrong;

	cr_assert_not_null(y, "%s", r.graph->err.text);
	seed = kernels_backward(&r, y);
	if (spoil)
		spoil(r.graph);
	kernels_start(&r);
	i = graph_find(r.graph, "index");
	cr_assert(!i || i->count <= 8);
	if (i)
		kernels_write(&r, i, index);
	wrong = kernels_gradients_wrong(&r, y, seed, 20, compared);
	kernels_close(&r);
	return wrong;
}

#define X(name)                                                             \
	Test(gradient, name##_matches_finite_differences)                   \
	{                                                                   \
		int compared;                                               \
		int wrong = gradients_wrong(case_##name, NULL, &compared);  \
                                                                            \
		cr_assert_gt(compared, 4);                                  \
		cr_assert_eq(wrong, 0, "%d of %d differ", wrong, compared); \
	}
CASES(X)
#undef X

/* Every op that has a gradient rule is in some case above. */
Test(grad, cases_cover_every_op_and_sub_op_that_a_forward_pass_can_have)
{
	bool seen[WS_SUB_COUNT] = {false};

#define X(name)                                                     \
	do {                                                        \
		struct kernels_run r = kernels_open(&kernels_fp64); \
                                                                    \
		case_##name(r.graph);                               \
		for (int i = 0; i < r.graph->op_count; i++)         \
			seen[r.graph->ops[i]->sub] = true;          \
		kernels_close(&r);                                  \
	} while (0);
	CASES(X)
#undef X
	/* these only arise in backward passes, under autocast and in optimizers */
	seen[WS_SUB_LOG_SOFTMAX_GRAD] = seen[WS_SUB_NLL_LOSS_GRAD] = true;
	seen[WS_SUB_SQUARED_ERROR_GRAD] = true;
	seen[WS_SUB_UNSCALE] = seen[WS_SUB_SCALE_UPDATE] = true;
	seen[WS_SUB_SIGMOID_GRAD] = seen[WS_SUB_COLSUM] = seen[WS_SUB_EXPAND] = true;
	seen[WS_SUB_FILL] = seen[WS_SUB_ROTATE_BACK] = seen[WS_SUB_CAST] = true;
	seen[WS_SUB_SCATTER_ADD] = seen[WS_SUB_SCATTER] = true;
	seen[WS_SUB_DGRAD] = seen[WS_SUB_WGRAD] = seen[WS_SUB_BIAS_SUM] = true;
	seen[WS_SUB_BATCH_NORM_GRAD] = seen[WS_SUB_MAX_POOL_GRAD] = true;
	seen[WS_SUB_AVG_POOL_GRAD] = seen[WS_SUB_RELU_GRAD] = true;
	seen[WS_SUB_LEAKY_RELU_GRAD] = seen[WS_SUB_TANH_GRAD] = true;
	seen[WS_SUB_CAUSAL_SOFTMAX_GRAD] = seen[WS_SUB_RMS_NORM_GRAD] = true;
	seen[WS_SUB_CAUSAL_ATTENTION_GRAD] = true;
	seen[WS_SUB_SWIGLU_GRAD] = seen[WS_SUB_ROTATE_QKV_BACK] = true;
	for (int sub = WS_SUB_ADAMW_CS336_ALL; sub <= WS_SUB_CLIP_NORM; sub++)
		seen[sub] = true;
	for (int sub = 0; sub < WS_SUB_COUNT; sub++)
		cr_assert(seen[sub], "no gradient case has %s", ws_sub_info(sub)->symbol);
}

/* --- the check itself must be able to fail -------------------------------------------------- */

static struct ws_op *last_of(struct ws_graph *g, enum ws_sub sub)
{
	for (int i = g->op_count - 1; i >= 0; i--)
		if (g->ops[i]->sub == sub && g->ops[i]->payload.phase == WSNVTX_PHASE_backward)
			return g->ops[i];
	cr_assert_fail("no backward %s", ws_sub_info(sub)->symbol);
	return NULL;
}

static void spoil_scale(struct ws_graph *g)
{
	last_of(g, WS_SUB_SCALE)->u.alpha *= 1.0001;
}

static void spoil_transpose(struct ws_graph *g)
{
	struct ws_gemm *gemm = &last_of(g, WS_SUB_MATMUL)->u.gemm;

	gemm->trans_b = !gemm->trans_b;
}

static void spoil_sign(struct ws_graph *g)
{
	struct ws_op *op = last_of(g, WS_SUB_NEG);

	op->sub = WS_SUB_SCALE;
	op->u.alpha = 1;
}

static void spoil_mask(struct ws_graph *g)
{
	last_of(g, WS_SUB_CAUSAL_MASK)->u.alpha = 1;
}

Test(grad, check_fails_on_a_scale_that_is_a_ten_thousandth_off)
{
	int compared, wrong = gradients_wrong(case_scale, spoil_scale, &compared);

	cr_assert_gt(wrong, compared / 2);
}

CASE(square_gemm)
{
	struct ws_gemm d = {.batch = 1, .m = 4, .n = 4, .k = 4};
	struct ws_tensor *a = kernels_param(g, "a", WS_SHAPE(4, 4));

	return ws_op_gemm(g, a, kernels_param(g, "b", WS_SHAPE(4, 4)), d, WS_SHAPE(4, 4), "gemm");
}

Test(grad, check_fails_on_a_wrong_transpose)
{
	int compared;

	cr_assert_eq(gradients_wrong(case_square_gemm, NULL, &compared), 0);
	cr_assert_gt(gradients_wrong(case_square_gemm, spoil_transpose, &compared), 4);
}

Test(grad, check_fails_on_a_wrong_sign_in_softmax)
{
	int compared;

	cr_assert_gt(gradients_wrong(case_softmax, spoil_sign, &compared), 4);
}

Test(grad, check_fails_when_masked_scores_get_a_gradient)
{
	int compared;

	cr_assert_gt(gradients_wrong(case_mask, spoil_mask, &compared), 4);
}

static void spoil_attention(struct ws_graph *g)
{
	last_of(g, WS_SUB_CAUSAL_ATTENTION_GRAD)->u.attention.scale *= 1.0001;
}

Test(grad, check_fails_on_an_attention_whose_scale_is_a_ten_thousandth_off)
{
	int compared;

	cr_assert_gt(gradients_wrong(case_attention_in_one_op, spoil_attention, &compared), 4);
}

static void spoil_fused_softmax(struct ws_graph *g)
{
	last_of(g, WS_SUB_CAUSAL_SOFTMAX_GRAD)->u.alpha *= 1.0001;
}

Test(grad, check_fails_on_a_fused_softmax_whose_scale_is_a_ten_thousandth_off)
{
	int compared;

	cr_assert_gt(gradients_wrong(case_fused_softmax, spoil_fused_softmax, &compared), 4);
}

/* dy and x exchanged: the weight's gradient, a product of both, stays right. */
static void spoil_fused_norm(struct ws_graph *g)
{
	struct ws_op *op = last_of(g, WS_SUB_RMS_NORM_GRAD);
	struct ws_tensor *dy = op->in[0];

	op->in[0] = op->in[1];
	op->in[1] = dy;
}

Test(grad, check_fails_on_a_fused_norm_of_exchanged_operands)
{
	int compared;

	cr_assert_gt(gradients_wrong(case_fused_rmsnorm, spoil_fused_norm, &compared), 4);
}
