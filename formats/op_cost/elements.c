/* Costs of everything that goes over its elements once, and of moving data. */
#include "formats/op_cost/rules.h"

/* Bytes of all tensors and lists that are read; sets *unknown where a size is not recorded. */
static uint64_t bytes_of_all(struct ws_op_inputs *op, int *unknown)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < op->n; i++) {
		const struct ws_op_input *in = &op->in[i];

		if (in->is_output)
			continue;
		*unknown |= in->is_list && in->elements && !in->bytes;
		if (in->is_list || (in->is_tensor && in->ndim))
			bytes = ADD(bytes, BYTES(in));
	}
	return bytes;
}

/* --- element by element --- */

void ws_cost_rule_like_input(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *x = ws_op_tensor(op, 0);

	if (x->is_tensor)
		ws_cost_flops_and_bytes(c->cost, MUL(x->elements, (uint64_t)c->a),
		                        MUL(BYTES(x), (uint64_t)c->b),
		                        RESULT(x->elements, x->bytes));
}

void ws_cost_rule_norm(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *x = ws_op_tensor(op, 0), *w = ws_op_tensor(op, c->b);
	uint64_t written;
	int unknown = 0;

	if (!x->is_tensor)
		return;
	written = RESULT(x->elements, x->bytes);
	/* backward also writes the gradients of weight and bias */
	if (c->b >= 0 && w->is_tensor)
		written = ADD(written, MUL(2, BYTES(w)));
	ws_cost_flops_and_bytes(c->cost, MUL(x->elements, (uint64_t)c->a),
	                        bytes_of_all(op, &unknown), written);
}

void ws_cost_rule_batch_norm(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	int training = ws_op_flag(op, c->a);
	struct ws_cost_call norm = *c;

	if (training < 0)
		return;
	norm.a = training ? 8 : 2;
	norm.b = -1;
	ws_cost_rule_norm(op, &norm);
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
		if (!ws_op_broadcast(op, in, result, 0, &next.elements))
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

void ws_cost_rule_elementwise(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
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
	ws_cost_flops_and_bytes(c->cost, MUL(result.elements, (uint64_t)c->a),
	                        bytes_of_all(op, &unknown), RESULT(result.elements, bytes));
}

void ws_cost_rule_gelu(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	struct ws_cost_call each = *c;

	each.a = ws_op_value_is(op, 1, "tanh") ? c->a : c->b;
	each.b = 0;
	ws_cost_rule_elementwise(op, &each);
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

void ws_cost_rule_reduction(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *x = ws_op_tensor(op, 0), *y = ws_op_tensor(op, 1);
	struct ws_cost_call each = *c;
	uint64_t results;

	if (!x->is_tensor)
		return;
	if (y->is_tensor && !y->ndim &&
	    x->ndim) { /* of a tensor and a number, or out= of all elements */
		ws_cost_flops(c->cost, MUL(x->elements, (uint64_t)c->a));
		return;
	}
	if (y->is_tensor) { /* max and min of two tensors reduce nothing */
		c->cost->kind = WS_NVTX_OP_ELEMENTWISE;
		each.b = 0;
		ws_cost_rule_elementwise(op, &each);
		return;
	}
	results = reduced_elements(op, x);
	if (results)
		ws_cost_flops_and_bytes(c->cost, MUL(x->elements, (uint64_t)c->a), BYTES(x),
		                        RESULT(results, c->b ? (uint64_t)c->b : x->bytes));
	else
		ws_cost_flops(c->cost, MUL(x->elements, (uint64_t)c->a));
}

/* --- moving data --- */

void ws_cost_rule_embedding(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *w = ws_op_tensor(op, 0), *at = ws_op_tensor(op, 1);
	uint64_t read;

	if (w->ndim != 2 || !at->is_tensor)
		return;
	read = MUL(MUL(at->stored, w->dim[1]), w->bytes);
	ws_cost_flops_and_bytes(c->cost, 0, ADD(read, BYTES(at)),
	                        RESULT(MUL(at->elements, w->dim[1]), w->bytes));
}

/* Inputs: gradient, indices, number of rows of the table, which is written whole. */
void ws_cost_rule_embedding_backward(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *g = ws_op_tensor(op, 0), *at = ws_op_tensor(op, 1);
	int64_t rows[WS_OP_MAX_DIMS];

	if (!g->is_tensor || !g->ndim || !at->is_tensor)
		return;
	if (ws_op_ints(op, 2, rows) == 1 && rows[0] > 0)
		ws_cost_flops_and_bytes(c->cost, g->elements, ADD(BYTES(g), BYTES(at)),
		                        RESULT(MUL((uint64_t)rows[0], g->dim[g->ndim - 1]),
		                               g->bytes));
	else
		ws_cost_flops(c->cost, g->elements);
}

void ws_cost_rule_copy(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *to = ws_op_tensor(op, 0), *from = ws_op_tensor(op, 1);

	if (!to->is_tensor || !from->is_tensor)
		return;
	if (to->dtype != from->dtype || to->bytes != from->bytes)
		c->cost->kind = WS_NVTX_OP_CAST;
	ws_cost_flops_and_bytes(c->cost, 0, BYTES(from), BYTES(to));
}

void ws_cost_rule_fill(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	const struct ws_op_input *to = ws_op_tensor(op, 0);

	if (to->is_tensor)
		ws_cost_flops_and_bytes(c->cost, 0, 0, BYTES(to));
}

void ws_cost_rule_concatenate(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	int unknown = 0;
	uint64_t bytes = bytes_of_all(op, &unknown);

	if (op->n && op->in[0].is_list && !unknown)
		ws_cost_flops_and_bytes(c->cost, 0, bytes,
		                        RESULT(op->in[0].elements, op->in[0].bytes));
}

void ws_cost_rule_lists(struct ws_op_inputs *op, const struct ws_cost_call *c)
{
	uint64_t flops, bytes;
	int unknown = 0;

	if (!op->n || !op->in[0].is_list)
		return;
	flops = MUL(op->in[0].elements, (uint64_t)c->a);
	bytes = bytes_of_all(op, &unknown);
	if (unknown)
		ws_cost_flops(c->cost, flops);
	else
		ws_cost_flops_and_bytes(c->cost, flops, bytes,
		                        MUL((uint64_t)c->b, BYTES(&op->in[0])));
}
