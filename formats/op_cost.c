#include "formats/op_cost.h"

#include <stdlib.h>

#include "formats/op_inputs.h"

/* Short names for what every line of a formula uses. */
#define MUL(a, b)        ws_op_mul(op, (a), (b))
#define ADD(a, b)        ws_op_add(op, (a), (b))
#define PRODUCT(dims, n) ws_op_product(op, (dims), (n))
#define BYTES(input)     ws_op_bytes(op, (input))

/* b of elementwise operations */
enum { BOOL_RESULT = 1, FLOAT_RESULT = 2 };

/* What a formula works on: it fills cost when the inputs settle it, and leaves it otherwise. */
struct call {
	struct ws_op_inputs *op;
	struct ws_op_cost *cost;
	int a, b;     /* columns of op_cost.def */
	int in_place; /* the result is the first input */
};
typedef void (*rule_fn)(const struct call *c);

static void flops_only(struct ws_op_cost *cost, uint64_t flops)
{
	cost->known = WS_COST_FLOPS;
	cost->flops = flops;
}

static void flops_and_bytes(struct ws_op_cost *cost, uint64_t flops, uint64_t bytes_read,
                            uint64_t bytes_written)
{
	cost->known = WS_COST_FLOPS_AND_BYTES;
	cost->flops = flops;
	cost->bytes_read = bytes_read;
	cost->bytes_written = bytes_written;
}

/* Bytes of all tensors and lists among the inputs; sets *unknown where a size is not recorded. */
static uint64_t bytes_of_all(struct ws_op_inputs *op, int *unknown)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < op->n; i++) {
		const struct ws_op_input *in = &op->in[i];

		*unknown |= in->is_list && in->elements && !in->bytes;
		if (in->is_list || (in->is_tensor && in->ndim))
			bytes = ADD(bytes, BYTES(in));
	}
	return bytes;
}

/* --- matrix products -------------------------------------------------------------- */

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
	if (result_bytes)
		flops_and_bytes(cost, flops, bytes_read, MUL(results, result_bytes));
	else
		flops_only(cost, flops);
}

/* An 8-bit product has a wider result, of a type that is not recorded. */
static unsigned gemm_result_bytes(const struct ws_op_input *x)
{
	return x->bytes > 1 ? x->bytes : 0;
}

static void rule_gemm(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
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
static void rule_linear(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *x = ws_op_tensor(op, 0), *w = ws_op_tensor(op, 1);

	if (!x->is_tensor || x->ndim < 1 || w->ndim != 2 || x->dim[x->ndim - 1] != w->dim[1])
		return;
	set_gemm(op, c->cost, 1, PRODUCT(x->dim, x->ndim - 1u), w->dim[0], w->dim[1],
	         ws_op_tensor(op, 2), ADD(BYTES(x), BYTES(w)), gemm_result_bytes(x));
}

/* Leading dimensions of two tensors, the last `tail` left out, made equal by broadcasting. */
static int broadcast(struct ws_op_inputs *op, const struct ws_op_input *x,
                     const struct ws_op_input *y, unsigned tail, uint64_t *elements)
{
	unsigned nx = x->ndim - tail, ny = y->ndim - tail, n = nx > ny ? nx : ny;

	*elements = 1;
	for (unsigned i = 0; i < n; i++) {
		uint64_t dx = i + nx >= n ? x->dim[i + nx - n] : 1;
		uint64_t dy = i + ny >= n ? y->dim[i + ny - n] : 1;

		if (dx != dy && dx != 1 && dy != 1)
			return 0;
		*elements = MUL(*elements, dx == 1 ? dy : dx);
	}
	return 1;
}

static void rule_matmul(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *x = ws_op_tensor(op, 0), *y = ws_op_tensor(op, 1);
	uint64_t batch;

	/* vectors are rare enough to stay without a model */
	if (x->ndim < 2 || y->ndim < 2 || x->dim[x->ndim - 1] != y->dim[y->ndim - 2] ||
	    !broadcast(op, x, y, 2, &batch))
		return;
	set_gemm(op, c->cost, batch, x->dim[x->ndim - 2], y->dim[y->ndim - 1], x->dim[x->ndim - 1],
	         ws_op_tensor(op, -1), ADD(BYTES(x), BYTES(y)), gemm_result_bytes(x));
}

/* --- convolutions ------------------------------------------------------------------- */

/* Size of the result along each spatial dimension. 0 when the recorded values do not tell. */
static int conv_result(struct ws_op_inputs *op, int stride_at, int padding_at, uint64_t *out)
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

static void rule_conv(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *x = ws_op_tensor(op, 0), *w = ws_op_tensor(op, 1);
	/* cuDNN's has no bias; the depthwise one has it a place later */
	const struct ws_op_input *bias = ws_op_tensor(op, c->b == 2 ? -1 : c->b == 5 ? 3 : 2);
	uint64_t out[WS_OP_MAX_DIMS], results, flops, bytes_read;

	if (!x->is_tensor || x->ndim < 3 || w->ndim != x->ndim ||
	    !conv_result(op, c->a, c->b, out))
		return;
	results = MUL(MUL(x->dim[0], w->dim[0]), PRODUCT(out, x->ndim - 2u));
	flops = conv_flops(op, results, w);
	bytes_read = ADD(BYTES(x), BYTES(w));
	if (bias->is_tensor) {
		flops = ADD(flops, results);
		bytes_read = ADD(bytes_read, BYTES(bias));
	}
	flops_and_bytes(c->cost, flops, bytes_read, MUL(results, x->bytes));
}

/* The general operation, which can also be transposed; that has no model. */
static void rule_convolution(const struct call *c)
{
	if (ws_op_flag(c->op, 6) == 0)
		rule_conv(c);
}

/* The recorded "[True, False, True]". 0 when it was not recorded. */
static int output_mask(const struct ws_op_inputs *op, int i, int mask[3])
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
static void rule_conv_backward(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
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
		bytes_written = BYTES(x);
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
	flops_and_bytes(c->cost, flops, bytes_read, bytes_written);
}

/* Inputs: sizes of the result (as a value), gradient, weight. */
static void rule_conv_dgrad(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *g = ws_op_tensor(op, 1), *w = ws_op_tensor(op, 2);
	uint64_t flops, elements = 1;
	int64_t size[WS_OP_MAX_DIMS];

	if (!g->is_tensor || g->ndim < 3 || w->ndim != g->ndim)
		return;
	flops = conv_flops(op, g->elements, w);
	if (ws_op_ints(op, 0, size) != g->ndim) {
		flops_only(c->cost, flops);
		return;
	}
	for (unsigned i = 0; i < g->ndim; i++)
		elements = MUL(elements, size[i] < 0 ? 0 : (uint64_t)size[i]);
	flops_and_bytes(c->cost, flops, ADD(BYTES(g), BYTES(w)), MUL(elements, g->bytes));
}

/* Inputs: sizes of the result (as a value), gradient, input. */
static void rule_conv_wgrad(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *g = ws_op_tensor(op, 1), *x = ws_op_tensor(op, 2);
	uint64_t filter = 1, elements;
	int64_t size[WS_OP_MAX_DIMS];

	if (!g->is_tensor || g->ndim < 3 || x->ndim != g->ndim ||
	    ws_op_ints(op, 0, size) != g->ndim)
		return;
	for (unsigned i = 1; i < g->ndim; i++)
		filter = MUL(filter, size[i] < 0 ? 0 : (uint64_t)size[i]);
	elements = MUL(filter, size[0] < 0 ? 0 : (uint64_t)size[0]);
	flops_and_bytes(c->cost, MUL(2, MUL(g->elements, filter)), ADD(BYTES(g), BYTES(x)),
	                MUL(elements, g->bytes));
}

/* --- attention ------------------------------------------------------------------------ */

/* How many (query, key) pairs are computed: a causal kernel skips those above the diagonal. */
static uint64_t attention_pairs(struct ws_op_inputs *op, uint64_t queries, uint64_t keys,
                                int causal)
{
	uint64_t pairs = MUL(queries, keys);

	return causal == 1 && queries == keys ? ADD(pairs, queries) / 2 : pairs;
}

/* a: the input that says causal; b: layout batch, time, head instead of batch, head, time. */
static void rule_attention(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	int backward = c->cost->direction == WS_OP_BACKWARD;
	const struct ws_op_input *q = ws_op_tensor(op, backward),
	                         *k = ws_op_tensor(op, backward + 1);
	const struct ws_op_input *v = ws_op_tensor(op, backward + 2);
	int head = c->b ? 2 : 1, time = c->b ? 1 : 2;
	uint64_t rows, flops, out, inputs;

	/* three dimensions: sequences of several lengths packed together */
	if (!q->is_tensor || q->ndim != 4 || k->ndim != 4 || v->ndim != 4 ||
	    q->dim[3] != k->dim[3] || k->dim[time] != v->dim[time] || q->dim[0] != k->dim[0])
		return;
	rows = MUL(MUL(q->dim[0], q->dim[head]),
	           attention_pairs(op, q->dim[time], k->dim[time], ws_op_flag(op, c->a)));
	/* forward: scores, and their product with v. Backward: the scores again, and four more */
	flops = backward ? MUL(MUL(2, rows), ADD(MUL(3, q->dim[3]), MUL(2, v->dim[3])))
	                 : MUL(MUL(2, rows), ADD(q->dim[3], v->dim[3]));
	out = MUL(MUL(MUL(q->dim[0], q->dim[head]), q->dim[time]), MUL(v->dim[3], q->bytes));
	inputs = ADD(ADD(BYTES(q), BYTES(k)), BYTES(v));
	if (backward)
		flops_and_bytes(c->cost, flops, ADD(inputs, MUL(2, out)), inputs);
	else
		flops_and_bytes(c->cost, flops, inputs, out);
}

/* --- element by element ------------------------------------------------------------------ */

static void rule_like_input(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *x = ws_op_tensor(op, 0);

	if (x->is_tensor)
		flops_and_bytes(c->cost, MUL(x->elements, (uint64_t)c->a),
		                MUL(BYTES(x), (uint64_t)c->b), BYTES(x));
}

static void rule_norm(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *x = ws_op_tensor(op, 0), *w = ws_op_tensor(op, c->b);
	uint64_t written;
	int unknown = 0;

	if (!x->is_tensor)
		return;
	written = BYTES(x);
	/* backward also writes the gradients of weight and bias */
	if (c->b >= 0 && w->is_tensor)
		written = ADD(written, MUL(2, BYTES(w)));
	flops_and_bytes(c->cost, MUL(x->elements, (uint64_t)c->a), bytes_of_all(op, &unknown),
	                written);
}

static void rule_batch_norm(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	int training = ws_op_flag(op, c->a);
	struct call norm = *c;

	if (training < 0)
		return;
	norm.a = training ? 8 : 2;
	norm.b = -1;
	rule_norm(&norm);
}

/* The tensor whose type the result gets, and the size of the result by broadcasting. */
static const struct ws_op_input *promote(struct ws_op_inputs *op, struct ws_op_input *result)
{
	const struct ws_op_input *widest = ws_op_tensor(op, -1);

	*result = (struct ws_op_input){.is_tensor = 1, .elements = 1};
	for (size_t i = 0; i < op->n; i++) {
		const struct ws_op_input *in = ws_op_tensor(op, (int)i);
		unsigned n = in->ndim > result->ndim ? in->ndim : result->ndim;
		struct ws_op_input next = {.is_tensor = 1, .ndim = (uint8_t)n};

		if (!in->is_tensor)
			continue;
		if (!broadcast(op, in, result, 0, &next.elements))
			return NULL;
		for (unsigned d = 0; d < n; d++) {
			uint64_t di = d + in->ndim >= n ? in->dim[d + in->ndim - n] : 1;
			uint64_t dr = d + result->ndim >= n ? result->dim[d + result->ndim - n] : 1;

			next.dim[d] = di == 1 ? dr : di;
		}
		*result = next;
		/* a number (no dimensions) widens tensors only across int and float */
		if (!widest->is_tensor || in->category > widest->category ||
		    (in->category == widest->category &&
		     (in->ndim > 0) * 16 + in->bytes > (widest->ndim > 0) * 16 + widest->bytes))
			widest = in;
	}
	return widest->is_tensor ? widest : NULL;
}

static void rule_elementwise(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	struct ws_op_input result;
	const struct ws_op_input *widest = promote(op, &result), *first = ws_op_tensor(op, 0);
	uint64_t bytes = widest ? widest->bytes : 0;
	int unknown = 0;

	if (!widest)
		return;
	if (c->b == FLOAT_RESULT && widest->category < 3 && widest->category > 0)
		bytes = 4;
	if (c->b == BOOL_RESULT)
		bytes = 1;
	if (c->in_place && first->is_tensor) {
		bytes = first->bytes;
		result.elements = first->elements;
	}
	flops_and_bytes(c->cost, MUL(result.elements, (uint64_t)c->a), bytes_of_all(op, &unknown),
	                MUL(result.elements, bytes));
}

static void rule_gelu(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	struct call each = *c;

	each.a = ws_op_value_is(op, 1, "tanh") ? c->a : c->b;
	each.b = 0;
	rule_elementwise(&each);
}

/* Elements of the result of a reduction; 0 when the axes are not recorded. */
static uint64_t reduced_elements(struct ws_op_inputs *op, const struct ws_op_input *x)
{
	int64_t axis[WS_OP_MAX_DIMS];
	uint64_t kept = 1;
	unsigned reduced = 0;
	int n = ws_op_ints(op, 1, axis);

	if (op->n < 3) /* the overload without axes: everything */
		return 1;
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		int64_t d = axis[i] < 0 ? axis[i] + x->ndim : axis[i];

		if (d < 0 || d >= x->ndim)
			return 0;
		reduced |= 1u << d;
	}
	for (unsigned d = 0; d < x->ndim; d++)
		if (n && !(reduced >> d & 1))
			kept = MUL(kept, x->dim[d]);
	return kept;
}

static void rule_reduction(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *x = ws_op_tensor(op, 0), *y = ws_op_tensor(op, 1);
	struct call each = *c;
	uint64_t results;

	if (!x->is_tensor)
		return;
	if (y->is_tensor) { /* max and min of two tensors reduce nothing */
		c->cost->kind = WS_OP_ELEMENTWISE;
		each.b = 0;
		rule_elementwise(&each);
		return;
	}
	results = reduced_elements(op, x);
	if (results)
		flops_and_bytes(c->cost, MUL(x->elements, (uint64_t)c->a), BYTES(x),
		                MUL(results, c->b ? (uint64_t)c->b : x->bytes));
	else
		flops_only(c->cost, MUL(x->elements, (uint64_t)c->a));
}

/* --- moving data ------------------------------------------------------------------------------ */

static void rule_embedding(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *w = ws_op_tensor(op, 0), *at = ws_op_tensor(op, 1);
	uint64_t moved;

	if (w->ndim != 2 || !at->is_tensor)
		return;
	moved = MUL(MUL(at->elements, w->dim[1]), w->bytes);
	flops_and_bytes(c->cost, 0, ADD(moved, BYTES(at)), moved);
}

/* Inputs: gradient, indices, number of rows of the table, which is written whole. */
static void rule_embedding_backward(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *g = ws_op_tensor(op, 0), *at = ws_op_tensor(op, 1);
	int64_t rows[WS_OP_MAX_DIMS];

	if (!g->is_tensor || !g->ndim || !at->is_tensor)
		return;
	if (ws_op_ints(op, 2, rows) == 1 && rows[0] > 0)
		flops_and_bytes(c->cost, g->elements, ADD(BYTES(g), BYTES(at)),
		                MUL(MUL((uint64_t)rows[0], g->dim[g->ndim - 1]), g->bytes));
	else
		flops_only(c->cost, g->elements);
}

static void rule_copy(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *to = ws_op_tensor(op, 0), *from = ws_op_tensor(op, 1);

	if (!to->is_tensor || !from->is_tensor)
		return;
	if (to->dtype != from->dtype || to->bytes != from->bytes)
		c->cost->kind = WS_OP_CAST;
	flops_and_bytes(c->cost, 0, BYTES(from), BYTES(to));
}

static void rule_fill(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	const struct ws_op_input *to = ws_op_tensor(op, 0);

	if (to->is_tensor)
		flops_and_bytes(c->cost, 0, 0, BYTES(to));
}

static void rule_concatenate(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	int unknown = 0;
	uint64_t bytes = bytes_of_all(op, &unknown);

	if (op->n && op->in[0].is_list && !unknown)
		flops_and_bytes(c->cost, 0, bytes, bytes);
}

static void rule_lists(const struct call *c)
{
	struct ws_op_inputs *op = c->op;
	uint64_t flops, bytes;
	int unknown = 0;

	if (!op->n || !op->in[0].is_list)
		return;
	flops = MUL(op->in[0].elements, (uint64_t)c->a);
	bytes = bytes_of_all(op, &unknown);
	if (unknown)
		flops_only(c->cost, flops);
	else
		flops_and_bytes(c->cost, flops, bytes, MUL((uint64_t)c->b, BYTES(&op->in[0])));
}

/* --- the table
 * ------------------------------------------------------------------------------------ */

struct model {
	const char *name;
	rule_fn rule;
	int a, b;
	enum ws_op_kind kind;
	enum ws_op_direction direction;
};

static const struct model models[] = {
#define OP(name, rule, a, b, kind, direction) \
	{name, rule_##rule, a, b, WS_OP_##kind, WS_OP_##direction},
#include "formats/op_cost.def"
#undef OP
};

static const struct model *find_model(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (strlen(models[i].name) == len && memcmp(models[i].name, name, len) == 0)
			return &models[i];
	return NULL;
}

/* *in_place: found by leaving out the underscore that ends the name. */
static const struct model *model_of(struct ws_bytes name, int *in_place)
{
	static const char aten[] = "aten::";
	const char *p = name.ptr;
	size_t len = name.len;
	const struct model *m;

	*in_place = 0;
	if (len > sizeof(aten) && memcmp(p, aten, sizeof(aten) - 1) == 0) {
		p += sizeof(aten) - 1;
		len -= sizeof(aten) - 1;
	}
	m = find_model(p, len);
	if (m || !len || p[len - 1] != '_')
		return m;
	*in_place = 1;
	return find_model(p, len - 1);
}

static enum ws_op_dtype first_dtype(const struct ws_op_inputs *op)
{
	for (size_t i = 0; i < op->n; i++)
		if (op->in[i].is_tensor && op->in[i].category == 3)
			return op->in[i].dtype;
	for (size_t i = 0; i < op->n; i++)
		if (op->in[i].is_tensor)
			return op->in[i].dtype;
	return WS_DTYPE_NONE;
}

void ws_op_cost(const struct ws_op_desc *desc, struct ws_op_cost *out)
{
	struct ws_op_inputs op;
	const struct model *m;
	int in_place;

	*out = (struct ws_op_cost){.kind = WS_OP_OTHER};
	m = model_of(desc->name, &in_place);
	ws_op_inputs_read(&op, desc);
	out->dtype = op.malformed ? WS_DTYPE_NONE : first_dtype(&op);
	if (!m)
		return;
	out->kind = m->kind;
	out->direction = m->direction;
	if (op.malformed || op.overflow)
		return;
	m->rule(&(struct call){&op, out, m->a, m->b, in_place});
	if (op.overflow)
		*out = (struct ws_op_cost){.kind = out->kind,
		                           .direction = out->direction,
		                           .dtype = out->dtype};
}
