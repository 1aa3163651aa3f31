#include "kernels/graph/cast.h"

#include "kernels/graph/append.h"

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
