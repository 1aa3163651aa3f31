#include "kernels/graph/graph.h"

/* --- memory ---------------------------------------------------------------------- */

void *ws_graph_alloc(struct ws_graph *graph, size_t size)
{
	return ws_arena_alloc(&graph->arena, size);
}

const char *ws_graph_text(struct ws_graph *graph, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *text = ws_arena_vformat(&graph->arena, fmt, ap);
	va_end(ap);
	return text;
}

struct ws_graph *ws_graph_create(const struct ws_precision *precision)
{
	struct ws_graph *graph = ws_xarray(1, sizeof(*graph));

	graph->precision = *precision;
	graph->layer = -1;
	graph->error_tensor = (struct ws_tensor){.name = "nothing",
	                                         .shape = {1, {1, 1, 1, 1}},
	                                         .count = 1,
	                                         .size_bytes = 4};
	return graph;
}

void ws_graph_destroy(struct ws_graph *graph)
{
	if (!graph)
		return;
	ws_arena_free(&graph->arena);
	free(graph->ops);
	free(graph->tensors);
	free(graph);
}

enum ws_status ws_graph_check(const struct ws_graph *graph, struct ws_err *err)
{
	if (err && graph->err.status != WS_OK)
		*err = graph->err;
	return graph->err.status;
}

struct ws_tensor *ws_graph_fail(struct ws_graph *graph, enum ws_status status, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (graph->err.status != WS_OK)
		return &graph->error_tensor;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ws_fail(&graph->err, status, __FILE__, __LINE__, "%s", text);
	return &graph->error_tensor;
}

/* --- scopes ---------------------------------------------------------------------- */

static struct ws_scope *scope_new(struct ws_graph *graph, struct ws_scope *parent, const char *name)
{
	struct ws_scope *scope = ws_graph_alloc(graph, sizeof(*scope));

	scope->name = name;
	scope->parent = parent;
	scope->depth = parent ? parent->depth + 1 : 0;
	scope->phase = parent ? parent->phase : WSNVTX_PHASE_none;
	scope->causal = parent ? parent->causal : 0;
	scope->layer = graph->layer;
	scope->outer_kind = graph->kind;
	return scope;
}

void ws_graph_phase(struct ws_graph *graph, enum wsnvtx_phase phase)
{
	static const char *const names[] = {
#define X(name, value) [value] = #name,
	        WSNVTX_PHASE_LIST(X)
#undef X
	};

	graph->layer = -1;
	graph->kind = WSNVTX_OP_other;
	graph->unless = NULL;
	graph->autocast = graph->precision.low != graph->precision.storage &&
	                  (phase == WSNVTX_PHASE_forward || phase == WSNVTX_PHASE_loss);
	graph->scope = scope_new(graph, NULL, names[phase]);
	graph->scope->phase = phase;
	if (phase == WSNVTX_PHASE_backward)
		graph->backward_root = graph->scope;
}

void ws_graph_scope_push(struct ws_graph *graph, enum wsnvtx_op_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *name = ws_arena_vformat(&graph->arena, fmt, ap);
	va_end(ap);
	graph->scope = scope_new(graph, graph->scope, name);
	graph->kind = kind;
}

void ws_graph_scope_pop(struct ws_graph *graph)
{
	struct ws_scope *scope = graph->scope;

	if (!scope || !scope->parent) {
		ws_graph_fail(graph, WS_BUG, "a scope popped that was never pushed");
		return;
	}
	graph->kind = scope->outer_kind;
	graph->scope = scope->parent;
}

static struct ws_scope *scope_mirror(struct ws_graph *graph, struct ws_scope *forward)
{
	struct ws_scope *parent;

	if (!forward->parent)
		return graph->backward_root;
	if (!forward->mirror) {
		parent = scope_mirror(graph, forward->parent);
		if (!parent)
			return NULL;
		forward->mirror = scope_new(graph, parent, forward->name);
		forward->mirror->layer = forward->layer;
		forward->mirror->causal = forward->causal;
	}
	return forward->mirror;
}

void ws_graph_scope_mirror(struct ws_graph *graph, struct ws_scope *forward)
{
	struct ws_scope *scope = scope_mirror(graph, forward);

	if (!scope) {
		ws_graph_fail(graph, WS_BUG, "no backward phase to mirror a scope in");
		return;
	}
	graph->scope = scope;
	graph->layer = scope->layer;
}

/* --- tensors and ops --------------------------------------------------------------- */

struct ws_tensor *ws_graph_tensor(struct ws_graph *graph, const char *name, enum ws_role role,
                                  enum ws_dtype dtype, struct ws_shape shape)
{
	if (graph->err.status != WS_OK)
		return &graph->error_tensor;
	struct ws_tensor *t = ws_graph_alloc(graph, sizeof(*t));
	t->dtype = dtype;
	t->role = role;
	t->shape = shape;
	t->layer = graph->layer;
	t->id = graph->tensor_count;
	t->name = ws_graph_text(graph, "%s", name);
	if (!ws_shape_measure(&shape, dtype, &t->count, &t->size_bytes))
		return ws_graph_fail(graph, WS_USAGE,
		                     "tensor %s: its size is not positive, or too large to count",
		                     name);
	WS_GROW(graph->tensors, (size_t)graph->tensor_count + 1, graph->tensor_capacity);
	graph->tensors[graph->tensor_count++] = t;
	return t;
}

enum ws_dtype ws_graph_norm_dtype(const struct ws_graph *graph)
{
	return graph->precision.masters ? WS_DTYPE_F32 : graph->precision.storage;
}

struct ws_tensor *ws_graph_param(struct ws_graph *graph, const char *name, struct ws_shape shape,
                                 struct ws_init init)
{
	struct ws_tensor *t =
	        ws_graph_tensor(graph, name, WS_ROLE_PARAM, graph->precision.storage, shape);

	t->init = init;
	t->requires_grad = true;
	return t;
}

struct ws_tensor *ws_graph_param_parts(struct ws_graph *graph, const char *name,
                                       const char *const *names, int parts, struct ws_shape shape,
                                       struct ws_init init)
{
	shape.dim[0] *= parts; /* of the model's own sizes: measured next */
	struct ws_tensor *t = ws_graph_param(graph, name, shape, init);
	t->parts = parts;
	memcpy(t->part, names, (size_t)parts * sizeof(*names));
	return t;
}

int64_t ws_graph_param_count(const struct ws_graph *graph)
{
	int64_t count = 0;

	for (int i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i]->role == WS_ROLE_PARAM)
			count += graph->tensors[i]->count;
	return count;
}

struct ws_tensor *ws_graph_append(struct ws_graph *graph, const struct ws_op *op)
{
	static const uint8_t directions[] = {
	        [WSNVTX_PHASE_forward] = WSNVTX_DIRECTION_forward,
	        [WSNVTX_PHASE_loss] = WSNVTX_DIRECTION_forward,
	        [WSNVTX_PHASE_backward] = WSNVTX_DIRECTION_backward,
	};
	enum wsnvtx_op_kind payload;

	if (graph->err.status != WS_OK)
		return &graph->error_tensor;
	if (!graph->scope)
		return ws_graph_fail(graph, WS_BUG, "an op before the first phase");
	struct ws_op *copy = ws_graph_alloc(graph, sizeof(*copy));
	*copy = *op;
	copy->kind = ws_sub_info(op->sub)->kind;
	copy->scope = graph->scope;
	if (!copy->message)
		copy->message = ws_sub_info(op->sub)->name;
	payload = ws_op_info(copy->kind)->payload;
	if (copy->sub == WS_SUB_CAST)
		copy->payload.op = WSNVTX_OP_cast;
	else if (copy->sub == WS_SUB_CAUSAL_MASK)
		copy->payload.op = WSNVTX_OP_mask;
	else if (payload != WSNVTX_OP_other)
		copy->payload.op = (uint8_t)payload;
	else if (graph->kind != WSNVTX_OP_other)
		copy->payload.op = (uint8_t)graph->kind;
	else
		copy->payload.op =
		        copy->kind == WS_OP_REDUCE ? WSNVTX_OP_reduce : WSNVTX_OP_elementwise;
	copy->payload.phase = (uint8_t)graph->scope->phase;
	if (graph->scope->phase < sizeof(directions))
		copy->payload.direction = directions[graph->scope->phase];
	copy->unless = graph->unless;

	/* Does a precision with TF32 change what this op reads? */
	copy->tf32 = graph->precision.tf32 && copy->in_count &&
	             copy->in[0]->dtype == WS_DTYPE_F32 &&
	             (payload == WSNVTX_OP_gemm || payload == WSNVTX_OP_conv ||
	              payload == WSNVTX_OP_attention);
	/* What the arithmetic reads: the widest real operand; of a fill, what it writes. */
	/* fp32 statistics and parameters beside 16-bit operands do not count */
	const bool is_first_alone = copy->kind == WS_OP_BATCH_NORM ||
	                            copy->kind == WS_OP_BATCH_NORM_GRAD ||
	                            copy->kind == WS_OP_ATTENTION_GRAD;
	enum ws_dtype dtype = (is_first_alone ? copy->in[0] : copy->out[0])->dtype;
	bool first = true;

	for (int i = 0; i < copy->in_count && !is_first_alone; i++) {
		if (!ws_dtype_is_float(copy->in[i]->dtype))
			continue;
		dtype = first ? copy->in[i]->dtype : ws_dtype_promote(dtype, copy->in[i]->dtype);
		first = false;
	}
	copy->payload.dtype = (uint8_t)(copy->tf32 ? WSNVTX_DTYPE_tf32 : ws_dtype_nvtx(dtype));
	copy->payload.layer = graph->layer;
	ws_cost_op(copy);

	for (int i = 0; i < copy->out_count; i++)
		for (int j = 0; j < copy->in_count; j++)
			if ((copy->out[i]->dtype == WS_DTYPE_F64) !=
			            (copy->in[j]->dtype == WS_DTYPE_F64) &&
			    ws_dtype_is_float(copy->in[j]->dtype) &&
			    ws_dtype_is_float(copy->out[i]->dtype))
				return ws_graph_fail(graph, WS_BUG, "op %s mixes fp64 with less",
				                     copy->message);
	WS_GROW(graph->ops, (size_t)graph->op_count + 1, graph->op_capacity);
	graph->ops[graph->op_count++] = copy;
	return copy->out[0];
}
