/* Costs of what Tensor Cores do: matrix products, convolutions, fused attention. */
#include "formats/op_cost/rules.h"

#include <stdbool.h>

/* --- matrix products --- */

/* batch × (m × k) · (k × n), with one addition for each result where there is a bias. */
static void set_gemm(struct ws_op_inputs *op, struct ws_op_cost *cost, uint64_t batch, uint64_t m,
                     uint64_t n, uint64_t k, const struct ws_op_input *bias, uint64_t bytes_read,
                     unsigned result_bytes)
{
	uint64_t results = MUL(MUL(batch, m), n);
	uint64_t flops = MUL(2, MUL(results, k));

	cost->batch = batch;
	cost->m = m;
	cost->n = n;
	cost->k = k;
	if (bias->is_tensor) {
		flops = ADD(flops, results);
		bytes_read = ADD(bytes_read, BYTES(bias));
	}
	if (result_bytes || op->out)
		ws_cost_flops_and_bytes(cost, flops, bytes_read, RESULT(results, result_bytes));
	else
		ws_cost_flops(cost, flops);
}

/* An 8-bit product has a wider result, of a type that is not recorded. */
static unsigned gemm_result_bytes(const struct ws_op_input *x)
{
	return x->bytes > 1 ? x->bytes : 0;
}

void ws_cost_rule_gemm(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *x = ws_op_tensor(op, c->a), *y = ws_op_tensor(op, c->a + 1);
	const struct ws_op_input *bias = ws_op_tensor(op, c->b);
	unsigned nd = x->ndim;
	uint64_t batch = nd == 3 ? x->dim[0] : 1;

	if (!x->is_tensor || !y->is_tensor || nd != y->ndim || (nd != 2 && nd != 3) ||
	    x->dim[nd - 1] != y->dim[nd - 2] || (nd == 3 && y->dim[0] != batch))
		return;
	/* beta = 0: the first input is not even read */
	if (bias->is_tensor && (ws_op_value_is(op, 3, "0") || ws_op_value_is(op, 3, "0.")))
		bias = ws_op_tensor(op, -1);
	set_gemm(op, c->cost, batch, x->dim[nd - 2], y->dim[nd - 1], x->dim[nd - 1], bias,
	         ADD(BYTES(x), BYTES(y)), gemm_result_bytes(x));
}

/* x · wᵀ + bias, x with any number of leading dimensions */
void ws_cost_rule_linear(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *x = ws_op_tensor(op, 0), *w = ws_op_tensor(op, 1);

	if (!x->is_tensor || x->ndim < 1 || w->ndim != 2 || x->dim[x->ndim - 1] != w->dim[1])
		return;
	set_gemm(op, c->cost, 1, PRODUCT(x->dim, x->ndim - 1u), w->dim[0], w->dim[1],
	         ws_op_tensor(op, 2), ADD(BYTES(x), BYTES(w)), gemm_result_bytes(x));
}

void ws_cost_rule_matmul(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *x = ws_op_tensor(op, 0), *y = ws_op_tensor(op, 1);
	uint64_t batch;

	/* vectors are rare enough to stay without a model */
	if (x->ndim < 2 || y->ndim < 2 || x->dim[x->ndim - 1] != y->dim[y->ndim - 2] ||
	    !ws_op_broadcast(op, x, y, 2, &batch))
		return;
	set_gemm(op, c->cost, batch, x->dim[x->ndim - 2], y->dim[y->ndim - 1], x->dim[x->ndim - 1],
	         ws_op_tensor(op, -1), ADD(BYTES(x), BYTES(y)), gemm_result_bytes(x));
}

/* --- convolutions --- */

/* Size of the result along each spatial dimension. 0 when the recorded values do not tell. */
static bool conv_result(struct ws_op_inputs *op, int stride_at, int padding_at, uint64_t *out)
{
	const struct ws_op_input *x = ws_op_tensor(op, 0), *w = ws_op_tensor(op, 1);
	int dilation_at = (stride_at > padding_at ? stride_at : padding_at) + 1;
	int64_t stride[WS_OP_MAX_DIMS], padding[WS_OP_MAX_DIMS] = {0}, dilation[WS_OP_MAX_DIMS];
	size_t spatial = x->ndim - 2u;
	int same = ws_op_value_is(op, padding_at, "same");

	if (!ws_op_ints_exactly(op, stride_at, stride, spatial) ||
	    !ws_op_ints_exactly(op, dilation_at, dilation, spatial) ||
	    (!same && !ws_op_value_is(op, padding_at, "valid") &&
	     !ws_op_ints_exactly(op, padding_at, padding, spatial)))
		return 0;
	for (size_t i = 0; i < spatial; i++) {
		const int64_t limit = (int64_t)1 << 31;
		int64_t size = (int64_t)x->dim[i + 2], kernel = (int64_t)w->dim[i + 2];

		if (x->dim[i + 2] > (uint64_t)limit || w->dim[i + 2] > (uint64_t)limit ||
		    stride[i] < 1 || stride[i] > limit || padding[i] < 0 || padding[i] > limit ||
		    dilation[i] < 1 || dilation[i] > limit || kernel < 1)
			return 0;
		size += 2 * padding[i] - dilation[i] * (kernel - 1) - 1;
		if (!same && size < 0)
			return 0;
		out[i] = same ? x->dim[i + 2] : (uint64_t)(size / stride[i] + 1);
	}
	return 1;
}

/* FLOPs of one pass: every result element is a sum over a filter. weight: filters, channels, … */
static uint64_t conv_flops(struct ws_op_inputs *op, uint64_t results, const struct ws_op_input *w)
{
	return MUL(2, MUL(results, PRODUCT(w->dim + 1, w->ndim - 1u)));
}

void ws_cost_rule_conv(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *x = ws_op_tensor(op, 0), *w = ws_op_tensor(op, 1);
	/* cuDNN's has no bias; the depthwise one has it a place later */
	const struct ws_op_input *bias = ws_op_tensor(op, c->b == 2 ? -1 : c->b == 5 ? 3 : 2);
	uint64_t out[WS_OP_MAX_DIMS], results, flops, bytes_read;

	if (!x->is_tensor || x->ndim < 3 || w->ndim != x->ndim || !conv_result(op, c->a, c->b, out))
		return;
	results = MUL(MUL(x->dim[0], w->dim[0]), PRODUCT(out, x->ndim - 2u));
	flops = conv_flops(op, results, w);
	bytes_read = ADD(BYTES(x), BYTES(w));
	if (bias->is_tensor) {
		flops = ADD(flops, results);
		bytes_read = ADD(bytes_read, BYTES(bias));
	}
	ws_cost_flops_and_bytes(c->cost, flops, bytes_read, RESULT(results, x->bytes));
}

/* The general operation, which can also be transposed; that has no model. */
void ws_cost_rule_convolution(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	if (ws_op_flag(op, 6) == 0)
		ws_cost_rule_conv(op, c);
}

/* The recorded "[True, False, True]". 0 when it was not recorded. */
static bool output_mask(const struct ws_op_inputs *op, int i, int mask[3])
{
	const char *p, *end;

	if ((size_t)i >= op->n || !op->in[i].value.len)
		return 0;
	p = op->in[i].value.ptr;
	end = p + op->in[i].value.len;
	for (int k = 0; k < 3; k++) {
		while (p < end && *p != 'T' && *p != 'F')
			p++;
		if (p == end)
			return 0;
		mask[k] = *p++ == 'T';
	}
	return 1;
}

/* a: the gradient; b: which results are wanted. Input, weight and bias gradients. */
void ws_cost_rule_conv_backward(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *g = ws_op_tensor(op, c->a), *x = ws_op_tensor(op, c->a ? 0 : 1);
	const struct ws_op_input *w = ws_op_tensor(op, 2);
	uint64_t pass, flops = 0, bytes_read = 0, bytes_written = 0;
	int mask[3];

	if (!g->is_tensor || !x->is_tensor || !w->is_tensor || g->ndim < 3 || w->ndim != g->ndim ||
	    !output_mask(op, c->b, mask) || (!c->a && ws_op_flag(op, 7) == 1))
		return;
	pass = conv_flops(op, g->elements, w);
	bytes_read = BYTES(g);
	if (mask[0]) {
		flops = pass;
		bytes_read = ADD(bytes_read, BYTES(w));
		bytes_written = MUL(x->elements, x->bytes);
	}
	if (mask[1]) {
		flops = ADD(flops, pass);
		bytes_read = ADD(bytes_read, BYTES(x));
		bytes_written = ADD(bytes_written, BYTES(w));
	}
	if (mask[2]) {
		flops = ADD(flops, g->elements);
		bytes_written = ADD(bytes_written, MUL(w->dim[0], g->bytes));
	}
	ws_cost_flops_and_bytes(c->cost, flops, bytes_read, bytes_written);
}

/* Inputs: sizes of the result (as a value), gradient, weight. */
void ws_cost_rule_conv_dgrad(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *g = ws_op_tensor(op, 1), *w = ws_op_tensor(op, 2);
	uint64_t flops, elements = 1;
	int64_t size[WS_OP_MAX_DIMS];

	if (!g->is_tensor || g->ndim < 3 || w->ndim != g->ndim)
		return;
	flops = conv_flops(op, g->elements, w);
	if (ws_op_ints(op, 0, size) != g->ndim) {
		ws_cost_flops(c->cost, flops);
		return;
	}
	for (unsigned i = 0; i < g->ndim; i++)
		elements = MUL(elements, size[i] < 0 ? 0 : (uint64_t)size[i]);
	ws_cost_flops_and_bytes(c->cost, flops, ADD(BYTES(g), BYTES(w)), MUL(elements, g->bytes));
}

/* Inputs: sizes of the result (as a value), gradient, input. */
void ws_cost_rule_conv_wgrad(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *g = ws_op_tensor(op, 1), *x = ws_op_tensor(op, 2);
	uint64_t filter = 1, elements;
	int64_t size[WS_OP_MAX_DIMS];

	if (!g->is_tensor || g->ndim < 3 || x->ndim != g->ndim ||
	    ws_op_ints(op, 0, size) != g->ndim)
		return;
	for (unsigned i = 1; i < g->ndim; i++)
		filter = MUL(filter, size[i] < 0 ? 0 : (uint64_t)size[i]);
	elements = MUL(filter, size[0] < 0 ? 0 : (uint64_t)size[0]);
	ws_cost_flops_and_bytes(c->cost, MUL(2, MUL(g->elements, filter)), ADD(BYTES(g), BYTES(x)),
	                        MUL(elements, g->bytes));
}

/* --- attention --- */

/* A square of queries by keys, of which a causal kernel skips what is above the diagonal. */
static uint64_t causal_pairs(struct ws_op_inputs *op, uint64_t queries)
{
	return ADD(MUL(queries, queries), queries) / 2;
}

/* What the operation says of the pairs that it needs; *flag: as ws_op_flag() of causal. */
static enum ws_op_mask mask_of(const struct ws_op_inputs *op, const struct ws_cost_call *c,
                               bool is_square, int *flag)
{
	*flag = ws_op_flag(op, c->a);
	if (c->b != NO_INPUT && ws_op_tensor(op, c->b)->is_tensor)
		return WS_MASK_NOT_KNOWN;
	if (*flag == 1)
		return is_square ? WS_MASK_CAUSAL : WS_MASK_NOT_KNOWN;
	return *flag == 0 ? WS_MASK_NONE : WS_MASK_NOT_KNOWN;
}

/* head, time: which dimension each is; skips: what is above the diagonal is not computed. */
static void cost_attention(struct ws_op_inputs *op, const struct ws_cost_call *c, int head,
                           int time, bool skips)
{
	int backward = c->cost->direction == WS_OP_BACKWARD, flag;
	const struct ws_op_input *q = ws_op_tensor(op, backward),
	                         *k = ws_op_tensor(op, backward + 1);
	const struct ws_op_input *v = ws_op_tensor(op, backward + 2);
	uint64_t heads, pairs, needed, each, out, inputs;

	/* three dimensions: sequences of several lengths packed together */
	if (!q->is_tensor || q->ndim != 4 || k->ndim != 4 || v->ndim != 4 ||
	    q->dim[3] != k->dim[3] || k->dim[time] != v->dim[time] || q->dim[0] != k->dim[0])
		return;
	heads = MUL(q->dim[0], q->dim[head]);
	pairs = needed = MUL(q->dim[time], k->dim[time]);
	c->cost->mask = mask_of(op, c, q->dim[time] == k->dim[time], &flag);
	if (flag == 1 && q->dim[time] == k->dim[time])
		needed = causal_pairs(op, q->dim[time]);
	if (skips)
		pairs = needed;
	/* forward: scores, and their product with v. Backward: the scores again, and four more */
	each = backward ? MUL(2, ADD(MUL(3, q->dim[3]), MUL(2, v->dim[3])))
	                : MUL(2, ADD(q->dim[3], v->dim[3]));
	c->cost->flops_needed = MUL(MUL(heads, needed), each);
	out = MUL(MUL(MUL(q->dim[0], q->dim[head]), q->dim[time]), MUL(v->dim[3], q->bytes));
	inputs = ADD(ADD(BYTES(q), BYTES(k)), BYTES(v));
	if (backward)
		ws_cost_flops_and_bytes(c->cost, MUL(MUL(heads, pairs), each),
		                        ADD(inputs, MUL(2, out)), inputs);
	else
		ws_cost_flops_and_bytes(c->cost, MUL(MUL(heads, pairs), each), inputs, out);
}

void ws_cost_rule_attention(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	cost_attention(op, c, 1, 2, true);
}

void ws_cost_rule_attention_unfused(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	cost_attention(op, c, 1, 2, false);
}

void ws_cost_rule_attention_by_time(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	cost_attention(op, c, 2, 1, true);
}

/* Within a window fewer pairs are computed, however many. A causal one has no right half. */
void ws_cost_rule_attention_windowed(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const int last = c->a + (ws_op_flag(op, c->a) == 1 ? 1 : 2);
	int64_t reach[WS_OP_MAX_DIMS];

	for (int i = c->a + 1; i <= last; i++)
		if (ws_op_ints(op, i, reach) == 1 && reach[0] >= 0 &&
		    (uint64_t)reach[0] + 1 < ws_op_tensor(op, 1)->dim[1])
			return;
	cost_attention(op, c, 2, 1, true);
	for (int i = c->a + 1; i <= c->a + 2; i++)
		if (!ws_op_value_is(op, i, "-1"))
			c->cost->mask = WS_MASK_NOT_KNOWN;
}
