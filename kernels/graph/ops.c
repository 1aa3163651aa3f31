#include "kernels/graph/append.h"

struct ws_tensor *ws_op_bad_shape(struct ws_graph *graph, enum ws_sub sub)
{
	return ws_graph_fail(graph, WS_BUG, "op %s: its operands do not fit together",
	                     ws_sub_info(sub)->name);
}

bool ws_tensor_has_count(const struct ws_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
	struct ws_shape shape = WS_SHAPE(a, b, c, d);
	int64_t count;
	uint64_t size_bytes;

	return ws_shape_measure(&shape, t->dtype, &count, &size_bytes) && count == t->count;
}

struct ws_tensor *ws_op_add_result(struct ws_graph *graph, struct ws_op *op, const char *name,
                                   enum ws_dtype dtype, struct ws_shape shape)
{
	struct ws_tensor *t = ws_graph_tensor(graph, name, WS_ROLE_ACTIVATION, dtype, shape);

	op->out[op->out_count++] = t;
	return t;
}

struct ws_tensor *ws_op_add_main_result(struct ws_graph *graph, struct ws_op *op,
                                        enum ws_dtype dtype, struct ws_shape shape)
{
	struct ws_tensor *t = ws_op_add_result(graph, op, ws_sub_info(op->sub)->name, dtype, shape);

	for (int i = 0; i < op->in_count; i++)
		t->requires_grad |= op->in[i]->requires_grad;
	return t;
}

struct ws_tensor *ws_op_append(struct ws_graph *graph, struct ws_op *op, enum ws_dtype dtype,
                               struct ws_shape shape)
{
	ws_op_add_main_result(graph, op, dtype, shape);
	return ws_graph_append(graph, op);
}

struct ws_tensor *ws_op_cast(struct ws_graph *graph, struct ws_tensor *x, enum ws_dtype dtype)
{
	struct ws_op op = {.sub = WS_SUB_CAST, .in_count = 1};

	if (x->dtype == dtype)
		return x;
	op.in[0] = x;
	op.message = ws_graph_text(graph, "cast to %s", ws_dtype_name(dtype));
	return ws_op_append(graph, &op, dtype, x->shape);
}

struct ws_tensor *ws_op_cast_into(struct ws_graph *graph, struct ws_tensor *x,
                                  struct ws_tensor *out)
{
	struct ws_op op = {.sub = WS_SUB_CAST, .in_count = 1, .out_count = 1};

	if (x->count != out->count)
		return ws_op_bad_shape(graph, op.sub);
	op.in[0] = x;
	op.out[0] = out;
	op.message = ws_graph_text(graph, "cast to %s", ws_dtype_name(out->dtype));
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_autocast(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *t)
{
	enum ws_dtype target;

	if (!graph->autocast || !ws_dtype_is_float(t->dtype))
		return t;
	switch (ws_sub_info(sub)->autocast) {
	case WS_AUTOCAST_LOW:
		target = graph->precision.low;
		break;
	case WS_AUTOCAST_F32:
		target = WS_DTYPE_F32;
		break;
	default: /* the kernels read mixed operands as they are */
		return t;
	}
	if (t->dtype == target)
		return t;
	if (t->role != WS_ROLE_PARAM)
		return ws_op_cast(graph, t, target);
	if (!t->low)
		t->low = ws_op_cast(graph, t, target);
	return t->low;
}

struct ws_tensor *ws_op_gemm(struct ws_graph *graph, struct ws_tensor *a, struct ws_tensor *b,
                             struct ws_gemm gemm, struct ws_shape out, const char *message)
{
	struct ws_op op = {.sub = WS_SUB_MATMUL, .message = message, .in_count = 2};
	struct ws_shape mn = WS_SHAPE(gemm.batch, gemm.m, gemm.n);
	int64_t mn_count, out_count, multiply_adds;
	uint64_t bytes;

	op.in[0] = a = ws_autocast(graph, op.sub, a);
	op.in[1] = b = ws_autocast(graph, op.sub, b);
	WS_OP_FAIL_IF(graph, op,
	              !ws_tensor_has_count(a, gemm.batch, gemm.m, gemm.k, 1) ||
	                      !ws_tensor_has_count(b, gemm.batch, gemm.k, gemm.n, 1) ||
	                      !ws_shape_measure(&mn, a->dtype, &mn_count, &bytes) ||
	                      !ws_shape_measure(&out, a->dtype, &out_count, &bytes) ||
	                      out_count != mn_count || a->dtype != b->dtype ||
	                      __builtin_mul_overflow(mn_count, gemm.k, &multiply_adds));
	op.u.gemm = gemm;
	return ws_op_append(graph, &op, a->dtype, out);
}

struct ws_tensor *ws_op_unary(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                              double alpha)
{
	struct ws_op op = {.sub = sub, .in_count = 1, .u.alpha = alpha};

	op.in[0] = x = ws_autocast(graph, sub, x);
	return ws_op_append(graph, &op, x->dtype, x->shape);
}

struct ws_tensor *ws_op_binary_into(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                                    struct ws_tensor *b, struct ws_tensor *out)
{
	struct ws_op op = {.sub = sub, .in_count = 2, .out_count = 1, .in = {a, b}, .out = {out}};

	if (ws_tensor_broadcast(a, out) == WS_BROADCAST_NONE ||
	    ws_tensor_broadcast(b, out) == WS_BROADCAST_NONE)
		return ws_op_bad_shape(graph, sub);
	return ws_graph_append(graph, &op);
}

struct ws_tensor *ws_op_binary(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *a,
                               struct ws_tensor *b)
{
	struct ws_op op = {.sub = sub, .in_count = 2};
	struct ws_tensor *larger;

	op.in[0] = a = ws_autocast(graph, sub, a);
	op.in[1] = b = ws_autocast(graph, sub, b);
	larger = b->count > a->count ? b : a;
	return ws_op_binary_into(graph, sub, a, b,
	                         ws_op_add_main_result(graph, &op,
	                                               ws_dtype_promote(a->dtype, b->dtype),
	                                               larger->shape));
}

struct ws_tensor *ws_op_reduce(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x)
{
	struct ws_op op = {.sub = sub, .in_count = 1};
	struct ws_shape shape;
	struct ws_tensor *y;

	op.in[0] = x = ws_autocast(graph, sub, x);
	shape = x->shape;
	if (sub == WS_SUB_COLSUM)
		shape = WS_SHAPE(ws_tensor_cols(x));
	else
		shape.dim[shape.ndim - 1] = 1;
	y = ws_op_append(graph, &op, x->dtype, shape);
	if (sub == WS_SUB_MAX)
		y->requires_grad = false;
	return y;
}

struct ws_tensor *ws_op_expand(struct ws_graph *graph, struct ws_tensor *x,
                               const struct ws_tensor *like)
{
	struct ws_op op = {.sub = WS_SUB_EXPAND, .in_count = 1};

	if (x->count == like->count)
		return x;
	if (ws_tensor_broadcast(x, like) == WS_BROADCAST_NONE)
		return ws_op_bad_shape(graph, op.sub);
	op.in[0] = x;
	return ws_op_append(graph, &op, x->dtype, like->shape);
}

struct ws_tensor *ws_op_fill(struct ws_graph *graph, enum ws_dtype dtype, struct ws_shape shape,
                             double value)
{
	struct ws_op op = {.sub = WS_SUB_FILL, .u.alpha = value};

	return ws_op_append(graph, &op, dtype, shape);
}

struct ws_tensor *ws_op_permute(struct ws_graph *graph, struct ws_tensor *x, const int64_t dims[4],
                                struct ws_shape out, const char *message)
{
	struct ws_op op = {.sub = WS_SUB_PERMUTE, .in_count = 1, .in = {x}, .message = message};
	int64_t out_count;
	uint64_t bytes;

	WS_OP_FAIL_IF(graph, op,
	              !ws_tensor_has_count(x, dims[0], dims[1], dims[2], dims[3]) ||
	                      !ws_shape_measure(&out, x->dtype, &out_count, &bytes) ||
	                      out_count != x->count);
	memcpy(op.u.dims, dims, sizeof(op.u.dims));
	return ws_op_append(graph, &op, x->dtype, out);
}

struct ws_tensor *ws_op_rope(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *x,
                             struct ws_tensor *table, struct ws_heads head, const char *message)
{
	struct ws_op op = {
	        .sub = sub, .in_count = 2, .in = {x, table}, .message = message, .u.head = head};
	struct ws_shape split = WS_SHAPE(head.batch, head.heads, head.time, head.width);
	struct ws_shape merged = WS_SHAPE(head.batch, head.time, head.heads * head.width);

	WS_OP_FAIL_IF(graph, op,
	              !ws_tensor_has_count(x, head.batch, head.heads, head.time, head.width) ||
	                      head.width % 2 || table->count != head.time * head.width);
	return ws_op_append(graph, &op, ws_dtype_promote(x->dtype, table->dtype),
	                    sub == WS_SUB_ROTATE ? split : merged);
}

struct ws_tensor *ws_op_embedding(struct ws_graph *graph, struct ws_tensor *table,
                                  struct ws_tensor *index)
{
	struct ws_op op = {.sub = WS_SUB_LOOKUP, .in_count = 2, .in = {table, index}};
	struct ws_shape shape;

	WS_OP_FAIL_IF(graph, op,
	              table->shape.ndim != 2 || index->shape.ndim >= WS_DIMS_MAX ||
	                      index->dtype != WS_DTYPE_I32);
	shape = index->shape;
	shape.dim[shape.ndim++] = ws_tensor_cols(table);
	return ws_op_append(graph, &op, table->dtype, shape);
}

struct ws_tensor *ws_op_gather(struct ws_graph *graph, struct ws_tensor *x, struct ws_tensor *index)
{
	struct ws_op op = {.sub = WS_SUB_PICK, .in_count = 2, .in = {x, index}};

	WS_OP_FAIL_IF(graph, op, index->dtype != WS_DTYPE_I32 || index->count != ws_tensor_rows(x));
	return ws_op_append(graph, &op, x->dtype, WS_SHAPE(index->count));
}
