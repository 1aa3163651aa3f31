/* What makes ops (ops.c, ops_fused.c, ops_image.c): results, and the end of an op. */
#pragma once

#include "kernels/graph/ops.h"

/* Fail the graph: the operands of an op have shapes or dtypes that it does not take. */
struct ws_tensor *ws_op_bad_shape(struct ws_graph *graph, enum ws_sub sub);
/* That from this function when the operands of the op do not fit. */
#define WS_OP_FAIL_IF(graph, op, unfit)                            \
	do {                                                       \
		if (unfit)                                         \
			return ws_op_bad_shape((graph), (op).sub); \
	} while (0)
/* Whether t has as many elements as a product of sizes; no factor overflows it. */
bool ws_tensor_has_count(const struct ws_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d);
/* Add a result to an op. */
struct ws_tensor *ws_op_add_result(struct ws_graph *graph, struct ws_op *op, const char *name,
                                   enum ws_dtype dtype, struct ws_shape shape);
/* The same, named after the op; it needs a gradient when an operand does. */
struct ws_tensor *ws_op_add_main_result(struct ws_graph *graph, struct ws_op *op,
                                        enum ws_dtype dtype, struct ws_shape shape);
/* Add the main result, and append the op to the graph. Returns the result. */
struct ws_tensor *ws_op_append(struct ws_graph *graph, struct ws_op *op, enum ws_dtype dtype,
                               struct ws_shape shape);
