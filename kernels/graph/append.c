#include "kernels/graph/append.h"

#include <string.h>

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

enum ws_dtype ws_dtype_of_statistics(enum ws_dtype dtype)
{
	return dtype == WS_DTYPE_F64 ? WS_DTYPE_F64 : WS_DTYPE_F32;
}
