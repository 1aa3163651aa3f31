#include "kernels/graph/graph.h"

struct tape {
	struct ws_graph *graph;
	struct ws_tensor **grads; /* by tensor id; may be broadcast */
	int count;                /* tensors of the forward pass */
};

/* Shorthands: the tape reads like the formulas. */
#define UNARY(sub, x, alpha) ws_op_unary(graph, WS_SUB_##sub, (x), (alpha))
#define BINARY(sub, a, b)    ws_op_binary(graph, WS_SUB_##sub, (a), (b))

/* Add a contribution to the gradient of t. */
static void contribute(struct tape *tape, const struct ws_tensor *t, struct ws_tensor *grad)
{
	struct ws_graph *graph = tape->graph;
	struct ws_tensor **sum = &tape->grads[t->id];

	grad = ws_op_cast(graph, grad, t->dtype);
	*sum = *sum ? BINARY(ADD, *sum, grad) : grad;
}

/*
 * A gradient of the shape of result, summed to the shape of an operand that
 * was broadcast over it.
 */
static struct ws_tensor *reduced(struct tape *tape, const struct ws_tensor *t,
                                 const struct ws_tensor *result, struct ws_tensor *grad)
{
	struct ws_graph *graph = tape->graph;

	switch (ws_tensor_broadcast(t, result)) {
	case WS_BROADCAST_SAME:
		return grad;
	case WS_BROADCAST_COL:
		return ws_op_reduce(graph, WS_SUB_SUM, ws_op_expand(graph, grad, result));
	case WS_BROADCAST_ROW:
		return ws_op_reduce(graph, WS_SUB_COLSUM, ws_op_expand(graph, grad, result));
	default:
		return ws_graph_fail(graph, WS_BUG, "no gradient for a scalar operand (%s)",
		                     t->name);
	}
}

/* Where a gradient op reads: dy, operand i or result i of its op; 0 ends the list. */
enum { DY = 1, IN = 2, OUT = IN + WS_OP_INPUTS_MAX };

/*
 * The gradients of some operands of an op as one op, which has the numbers of the forward op.
 * They are like these operands in dtype and shape.
 */
struct grad_op {
	enum ws_sub sub;
	int first; /* operand that has a gradient; those behind it may, too */
	uint8_t from[WS_OP_INPUTS_MAX + 1];
	const char *names[3]; /* of the gradients */
};

static void append_grads(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy,
                         const struct grad_op *rule)
{
	struct ws_op grad = {.sub = rule->sub, .u = op->u};

	dy = ws_op_expand(tape->graph, dy, op->out[0]);
	for (; rule->from[grad.in_count]; grad.in_count++) {
		int from = rule->from[grad.in_count];

		grad.in[grad.in_count] = from == DY   ? dy
		                         : from < OUT ? op->in[from - IN]
		                                      : op->out[from - OUT];
	}
	for (int i = 0; i < 3 && rule->names[i]; i++) {
		const struct ws_tensor *t = op->in[rule->first + i];

		ws_op_add_result(tape->graph, &grad, rule->names[i], t->dtype, t->shape);
	}
	ws_graph_append(tape->graph, &grad);
	/* where all come from one op, those not needed are dropped */
	for (int i = 0; i < grad.out_count; i++)
		if (op->in[rule->first + i]->requires_grad)
			contribute(tape, op->in[rule->first + i], grad.out[i]);
}

/* The rule of a kind whose gradients are one op; what follows: struct grad_op. */
#define ONE_OP(name, SUB, ...)                                                                     \
	static void grad_##name(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)   \
	{                                                                                          \
		append_grads(tape, op, dy, &(const struct grad_op){WS_SUB_##SUB, 0, __VA_ARGS__}); \
	}

static void grad_gemm(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_graph *graph = tape->graph;
	struct ws_gemm f = op->u.gemm;
	struct ws_tensor *a = op->in[0], *b = op->in[1];

	dy = ws_op_expand(graph, dy, op->out[0]);
	if (a->requires_grad) {
		const char *message = ws_graph_text(graph, "%s grad a", op->message);
		/* stored as A is: dC · op(B)^T, or its transpose */
		struct ws_gemm plain = {f.batch, f.m, f.k, f.n, false, !f.trans_b};
		struct ws_gemm transposed = {f.batch, f.k, f.m, f.n, f.trans_b, true};

		contribute(tape, a,
		           f.trans_a ? ws_op_gemm(graph, b, dy, transposed, a->shape, message)
		                     : ws_op_gemm(graph, dy, b, plain, a->shape, message));
	}
	if (b->requires_grad) {
		const char *message = ws_graph_text(graph, "%s grad b", op->message);
		/* stored as B is: op(A)^T · dC, or its transpose */
		struct ws_gemm plain = {f.batch, f.k, f.n, f.m, !f.trans_a, false};
		struct ws_gemm transposed = {f.batch, f.n, f.k, f.m, true, f.trans_a};

		contribute(tape, b,
		           f.trans_b ? ws_op_gemm(graph, dy, a, transposed, b->shape, message)
		                     : ws_op_gemm(graph, a, dy, plain, b->shape, message));
	}
}

#define OF_RESULT(sub, alpha) ws_op_activation_grad(graph, WS_SUB_##sub##_GRAD, dy, y, (alpha))
#define RULE(SUB, gradient)      \
	case WS_SUB_##SUB:       \
		dx = (gradient); \
		break

static void grad_unary(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_graph *graph = tape->graph;
	struct ws_tensor *x = op->in[0], *y = op->out[0], *dx;

	switch (op->sub) {
		RULE(NEG, UNARY(NEG, dy, 0));
		RULE(EXP, BINARY(MUL, dy, y));                     /* dx = dy y */
		RULE(LOG, BINARY(DIV, dy, x));                     /* dx = dy / x */
		RULE(SQRT, BINARY(DIV, UNARY(SCALE, dy, 0.5), y)); /* dx = dy / (2 y) */
		RULE(RSQRT, UNARY(SCALE, BINARY(MUL, dy, BINARY(MUL, UNARY(SQUARE, y, 0), y)),
		                  -0.5));                          /* dx = -1/2 dy y^3 */
		RULE(SQUARE, BINARY(MUL, UNARY(SCALE, dy, 2), x)); /* dx = 2 dy x */
		RULE(SIGMOID, BINARY(SIGMOID_GRAD, dy, y));        /* dx = dy y (1 - y) */
		RULE(SCALE, UNARY(SCALE, dy, op->u.alpha));
		RULE(ADD_CONST, dy);
		RULE(RELU, OF_RESULT(RELU, 0));
		RULE(LEAKY_RELU, OF_RESULT(LEAKY_RELU, op->u.alpha)); /* y has the sign of x */
		RULE(TANH, OF_RESULT(TANH, 0));                       /* dx = dy (1 - y^2) */
		/* what was replaced has no influence */
		RULE(CAUSAL_MASK, UNARY(CAUSAL_MASK, ws_op_expand(graph, dy, y), 0));
	default:
		ws_graph_fail(graph, WS_BUG, "op %s has no gradient", op->message);
		return;
	}
	contribute(tape, x, dx);
}

static void grad_binary(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_graph *graph = tape->graph;
	struct ws_tensor *a = op->in[0], *b = op->in[1], *y = op->out[0];
	struct ws_tensor *da = dy, *db = dy;

	switch (op->sub) {
	case WS_SUB_ADD:
		break;
	case WS_SUB_SUB:
		db = b->requires_grad ? UNARY(NEG, dy, 0) : NULL;
		break;
	case WS_SUB_MUL:
		da = a->requires_grad ? BINARY(MUL, dy, b) : NULL;
		db = b->requires_grad ? BINARY(MUL, dy, a) : NULL;
		break;
	case WS_SUB_DIV: /* da = dy / b, db = -(dy y) / b, summed before the division */
		da = a->requires_grad ? BINARY(DIV, dy, b) : NULL;
		db = b->requires_grad ? BINARY(MUL, dy, y) : NULL;
		break;
	default:
		ws_graph_fail(graph, WS_BUG, "op %s has no gradient", op->message);
		return;
	}
	if (a->requires_grad)
		contribute(tape, a, reduced(tape, a, y, da));
	if (b->requires_grad) {
		db = reduced(tape, b, y, db);
		if (op->sub == WS_SUB_DIV)
			db = UNARY(NEG, BINARY(DIV, db, b), 0);
		contribute(tape, b, db);
	}
}

static void grad_reduce(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_graph *graph = tape->graph;
	struct ws_tensor *x = op->in[0];

	switch (op->sub) {
	case WS_SUB_SUM: /* the same for the whole row: stays broadcast */
		contribute(tape, x, dy);
		break;
	case WS_SUB_MEAN:
		contribute(tape, x, UNARY(SCALE, dy, 1.0 / (double)ws_tensor_cols(x)));
		break;
	default:
		ws_graph_fail(graph, WS_BUG, "op %s has no gradient", op->message);
	}
}

/* A cast: contribute() casts back. */
static void grad_copy(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	contribute(tape, op->in[0], dy);
}

static void grad_permute(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	const int64_t back[4] = {op->u.dims[0], op->u.dims[2], op->u.dims[1], op->u.dims[3]};
	struct ws_tensor *x = op->in[0];

	dy = ws_op_expand(tape->graph, dy, op->out[0]);
	contribute(tape, x, ws_op_permute(tape->graph, dy, back, x->shape, op->message));
}

static void grad_rope(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	dy = ws_op_expand(tape->graph, dy, op->out[0]);
	contribute(tape, op->in[0],
	           ws_op_rope(tape->graph, WS_SUB_ROTATE_BACK, dy, op->in[1], op->u.head,
	                      op->message));
}

/* Of an op that reads by index: dy, scattered by it into a tensor of zeros, the gradient. */
static void grad_scatter(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_tensor *x = op->in[0];
	struct ws_tensor *zeros = ws_op_fill(tape->graph, x->dtype, x->shape, 0);
	struct ws_op grad = {.sub = op->kind == WS_OP_EMBEDDING ? WS_SUB_SCATTER_ADD
	                                                        : WS_SUB_SCATTER,
	                     .in_count = 3,
	                     .out_count = 1,
	                     .in = {ws_op_expand(tape->graph, dy, op->out[0]), op->in[1], zeros},
	                     .out = {zeros}};

	contribute(tape, x, ws_graph_append(tape->graph, &grad));
}

static void grad_conv(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	static const struct grad_op of_input = {WS_SUB_DGRAD,
	                                        0,
	                                        {DY, IN + 1},
	                                        {"convolution input grad"}};
	static const struct grad_op of_weight = {WS_SUB_WGRAD,
	                                         1,
	                                         {IN, DY},
	                                         {"convolution weight grad"}};

	dy = ws_op_expand(tape->graph, dy, op->out[0]);
	if (op->in[0]->requires_grad)
		append_grads(tape, op, dy, &of_input);
	if (op->in[1]->requires_grad)
		append_grads(tape, op, dy, &of_weight);
}

/* A bias, with an activation of the sum or without: its gradient is the sum of each channel. */
static void grad_bias(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	static const enum ws_sub of_activation[] = {
	        [WS_SUB_BIAS_RELU] = WS_SUB_RELU_GRAD,
	        [WS_SUB_BIAS_LEAKY_RELU] = WS_SUB_LEAKY_RELU_GRAD,
	        [WS_SUB_BIAS_TANH] = WS_SUB_TANH_GRAD,
	};
	const bool is_plain = op->kind == WS_OP_BIAS;
	struct ws_op sum = {.sub = WS_SUB_BIAS_SUM,
	                    .in_count = 1,
	                    .u.ch = is_plain ? op->u.ch : op->u.bias.ch};

	if (!is_plain)
		dy = ws_op_activation_grad(tape->graph, of_activation[op->sub], dy, op->out[0],
		                           op->u.bias.alpha);
	if (op->in[0]->requires_grad)
		contribute(tape, op->in[0], dy);
	if (!op->in[1]->requires_grad)
		return;
	sum.in[0] = ws_op_expand(tape->graph, dy, op->out[0]);
	contribute(tape, op->in[1],
	           ws_op_append(tape->graph, &sum, sum.in[0]->dtype, WS_SHAPE(sum.u.ch.channels)));
}

ONE_OP(batch_norm, BATCH_NORM_GRAD, {DY, IN, IN + 1, OUT + 1, OUT + 2},
       {"batch norm grad", "gamma grad", "beta grad"})
ONE_OP(max_pool, MAX_POOL_GRAD, {DY, OUT + 1}, {"max pool grad"})
ONE_OP(avg_pool, AVG_POOL_GRAD, {DY}, {"average pool grad"})

static void grad_dropout(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_graph *graph = tape->graph;

	contribute(tape, op->in[0], BINARY(MUL, dy, op->out[1]));
}

ONE_OP(log_softmax, LOG_SOFTMAX_GRAD, {DY, OUT}, {"log_softmax grad"})
ONE_OP(nll_loss, NLL_LOSS_GRAD, {DY, IN + 1}, {"nll_loss grad"})

/* dy is that of a sum: one number for all */
static void grad_squared_error(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_op grad = {.sub = WS_SUB_SQUARED_ERROR_GRAD,
	                     .in_count = 3,
	                     .in = {dy, op->in[0], op->in[1]},
	                     .u = op->u};
	const struct ws_tensor *y = op->in[0];

	if (dy->count != 1)
		ws_graph_fail(tape->graph, WS_BUG, "squared error has several gradients");
	contribute(tape, y, ws_op_append(tape->graph, &grad, y->dtype, y->shape));
}

/* --- fused ops -------------------------------------------------------------------- */

ONE_OP(softmax, CAUSAL_SOFTMAX_GRAD, {DY, OUT}, {"softmax grad"})
ONE_OP(attention, CAUSAL_ATTENTION_GRAD, {DY, IN, IN + 1, IN + 2, OUT, OUT + 1},
       {"q grad", "k grad", "v grad"})
ONE_OP(rms_norm, RMS_NORM_GRAD, {DY, IN, IN + 1, OUT + 1}, {"rms norm grad", "norm weight grad"})
ONE_OP(swiglu, SWIGLU_GRAD, {DY, IN}, {"swiglu grad"})

/* A result that nobody used has a gradient of zeros. */
static void grad_rope_qkv(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_op grad = {.sub = WS_SUB_ROTATE_QKV_BACK, .in_count = 4, .u = op->u};
	struct ws_tensor *x = op->in[0];

	for (int i = 0; i < 3; i++) {
		const struct ws_tensor *out = op->out[i];

		dy = tape->grads[out->id];
		grad.in[i] = dy ? ws_op_expand(tape->graph, dy, out)
		                : ws_op_fill(tape->graph, out->dtype, out->shape, 0);
	}
	grad.in[3] = op->in[1];
	contribute(tape, x, ws_op_append(tape->graph, &grad, x->dtype, x->shape));
}

/* Computed with the loss, for a gradient of 1; another factor comes here. */
static void grad_cross_entropy(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	struct ws_graph *graph = tape->graph;
	const struct ws_op *last = graph->ops[graph->op_count - 1];
	bool is_one = last->sub == WS_SUB_FILL && last->out[0] == dy && last->u.alpha == 1;

	contribute(tape, op->in[0], is_one ? op->out[1] : BINARY(MUL, op->out[1], dy));
}

static void grad_none(struct tape *tape, const struct ws_op *op, struct ws_tensor *dy)
{
	(void)dy;
	ws_graph_fail(tape->graph, WS_BUG, "op %s has no gradient", op->message);
}

enum ws_status ws_graph_backward(struct ws_graph *graph, struct ws_tensor *y,
                                 struct ws_tensor *seed, struct ws_err *err)
{
	static void (*const rules[])(struct tape *, const struct ws_op *, struct ws_tensor *) = {
#define WS_OP(KIND, name, class, payload, cost, grad) [WS_OP_##KIND] = grad_##grad,
#include "kernels/graph/op.def"
	};
	struct tape tape = {.graph = graph, .count = graph->tensor_count};
	int op_count = graph->op_count;

	WS_FORWARD(ws_graph_check(graph, err));
	tape.grads = ws_xarray((size_t)tape.count, sizeof(struct ws_tensor *));
	ws_graph_phase(graph, WSNVTX_PHASE_backward);
	if (!y->requires_grad)
		ws_graph_fail(graph, WS_BUG, "%s depends on no parameter", y->name);
	else if (seed && (seed->count != y->count || seed->dtype != y->dtype))
		ws_graph_fail(graph, WS_BUG, "the seed does not fit %s", y->name);
	else if (!seed && y->count != 1)
		ws_graph_fail(graph, WS_BUG, "%s has several elements and no seed", y->name);
	else
		tape.grads[y->id] = seed ? seed : ws_op_fill(graph, y->dtype, y->shape, 1);

	for (int i = op_count - 1; i >= 0 && graph->err.status == WS_OK; i--) {
		const struct ws_op *op = graph->ops[i];
		struct ws_tensor *dy = NULL;

		/* the first gradient that arrived at a result; NULL: none of them is needed */
		for (int k = 0; k < op->out_count && !dy; k++)
			if (op->out[k]->requires_grad)
				dy = tape.grads[op->out[k]->id];
		if (!dy)
			continue;
		ws_graph_scope_mirror(graph, op->scope);
		/* gradient ops do what their op does, unless they say themselves what they do */
		graph->kind = ws_op_info(op->kind)->payload == WSNVTX_OP_other ? op->payload.op
		                                                               : WSNVTX_OP_other;
		rules[op->kind](&tape, op, dy);
	}
	for (int i = 0; i < tape.count && graph->err.status == WS_OK; i++) {
		struct ws_tensor *t = graph->tensors[i];

		if (t->role != WS_ROLE_PARAM || !tape.grads[i])
			continue;
		t->grad = ws_op_expand(graph, tape.grads[i], t);
		/* d(sum)/dx is the seed itself: an input stays one */
		if (t->grad->role == WS_ROLE_ACTIVATION) {
			t->grad->role = WS_ROLE_GRAD;
			t->grad->keep = true;
		}
	}
	free(tape.grads);
	return ws_graph_check(graph, err);
}
