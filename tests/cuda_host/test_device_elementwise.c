/*
 * Elementwise ops, reductions, copies, moves and look-ups on the device against the CPU
 * reference: each op alone, in odd sizes, in each type, with infinities and NaN.
 */
#include "tests/cuda_host/checked.h"

#include "kernels/graph/graph.h"

static const int64_t sizes[][2] = {{1, 1}, {3, 7}, {7, 33}, {2, 1000}, {45, 1000}};

static struct ws_tensor *param(struct ws_graph *graph, const char *name, int64_t rows, int64_t cols)
{
	return kernels_param(graph, name, WS_SHAPE(rows, cols));
}

/* --- unary ---------------------------------------------------------------------------------------
 */

#define UNARY(name, sub, alpha)                                                                  \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols)        \
	{                                                                                        \
		return ws_op_unary(graph, WS_SUB_##sub, param(graph, "x", rows, cols), (alpha)); \
	}
UNARY(negate, NEG, 0)
UNARY(exponential, EXP, 0)
UNARY(logarithm, LOG, 0)
UNARY(square_root, SQRT, 0)
UNARY(inverse_root, RSQRT, 0)
UNARY(square, SQUARE, 0)
UNARY(sigmoid, SIGMOID, 0)
UNARY(scale, SCALE, 0.3)
UNARY(add_constant, ADD_CONST, 0.7)
UNARY(mask, CAUSAL_MASK, -1e4)
UNARY(relu, RELU, 0)
UNARY(leaky_relu, LEAKY_RELU, 0.01)
UNARY(hyperbolic_tangent, TANH, 0)

Test(device_elementwise, unary_ops_and_their_gradients)
{
	static const struct checked_case cases[] = {
	        {"neg", negate, false},
	        {"exp", exponential, false},
	        {"log", logarithm, false},
	        {"sqrt", square_root, false},
	        {"rsqrt", inverse_root, false},
	        {"square", square, false},
	        {"sigmoid", sigmoid, false},
	        {"scale", scale, false},
	        {"add", add_constant, false},
	        {"mask", mask, false},
	        {"relu", relu, false},
	        {"leaky", leaky_relu, false},
	        {"tanh", hyperbolic_tangent, false},
	};

	checked_run_all("unary", cases, CHECKED_COUNT(cases), sizes, CHECKED_COUNT(sizes));
}

/* --- binary --------------------------------------------------------------------------------------
 */

/* b of another shape: [rows, cols], one a row, one row, one number; on the right or the left */
#define RIGHT(name, sub, b_rows, b_cols)                                                  \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols) \
	{                                                                                 \
		return ws_op_binary(graph, WS_SUB_##sub, param(graph, "a", rows, cols),   \
		                    param(graph, "b", (b_rows), (b_cols)));               \
	}
#define LEFT(name, sub, b_rows, b_cols)                                                         \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols)       \
	{                                                                                       \
		return ws_op_binary(graph, WS_SUB_##sub, param(graph, "b", (b_rows), (b_cols)), \
		                    param(graph, "a", rows, cols));                             \
	}
#define ALL(name, sub)                  \
	RIGHT(name, sub, rows, cols)    \
	RIGHT(name##_col, sub, rows, 1) \
	RIGHT(name##_row, sub, 1, cols) \
	RIGHT(name##_scalar, sub, 1, 1) \
	LEFT(col_##name, sub, rows, 1)  \
	LEFT(row_##name, sub, 1, cols)  \
	LEFT(scalar_##name, sub, 1, 1)
ALL(add, ADD)
ALL(subtract, SUB)
ALL(multiply, MUL)
ALL(divide, DIV)
/* dy, y -> dx: in the backward phase, as names have it */
#define GRAD(name, sub)                                                                           \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols)         \
	{                                                                                         \
		ws_graph_phase(graph, WSNVTX_PHASE_backward);                                     \
		return ws_op_activation_grad(graph, WS_SUB_##sub, param(graph, "dy", rows, cols), \
		                             param(graph, "y", rows, cols), 0.01);                \
	}
GRAD(sigmoid_grad, SIGMOID_GRAD)
GRAD(relu_grad, RELU_GRAD)
GRAD(leaky_relu_grad, LEAKY_RELU_GRAD)
GRAD(tanh_grad, TANH_GRAD)

// clang-format off
#define FULL(name)   {#name, name, false}
#define SCALAR(name) {#name, name, true} /* one number has no gradient here */
#define CASES(name)                                                                       \
	FULL(name), FULL(name##_col), FULL(name##_row), SCALAR(name##_scalar),            \
	FULL(col_##name), FULL(row_##name), SCALAR(scalar_##name)
// clang-format on

Test(device_elementwise, binary_ops_with_every_broadcast)
{
	static const struct checked_case cases[] = {CASES(add), CASES(subtract), CASES(multiply),
	                                            CASES(divide)};

	checked_run_all("binary", cases, CHECKED_COUNT(cases), sizes, CHECKED_COUNT(sizes));
}

Test(device_elementwise, gradients_of_activations)
{
	static const struct checked_case cases[] = {
	        {"sigmoid grad", sigmoid_grad, true},
	        {"relu grad", relu_grad, true},
	        {"tanh grad", tanh_grad, true},
	        {"leaky relu grad", leaky_relu_grad, true},
	};

	checked_run_all("activation grads", cases, CHECKED_COUNT(cases), sizes,
	                CHECKED_COUNT(sizes));
}

/* --- reductions
 * ------------------------------------------------------------------------------------ */

#define REDUCE(name, sub)                                                                 \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols) \
	{                                                                                 \
		return ws_op_reduce(graph, WS_SUB_##sub, param(graph, "x", rows, cols));  \
	}
REDUCE(maximum, MAX)
REDUCE(sum, SUM)
REDUCE(mean, MEAN)
REDUCE(column_sum, COLSUM)

Test(device_elementwise, reductions_of_rows_and_columns)
{
	static const struct checked_case cases[] = {
	        {"max", maximum, true},
	        {"sum", sum, false},
	        {"mean", mean, false},
	        {"column sum", column_sum, true},
	};
	/* short and long rows, few and many, and one row that several blocks share */
	static const int64_t all[][2] = {{1, 1},    {7, 1},    {1, 7},     {33, 33},  {1000, 7},
	                                 {5, 1000}, {700, 33}, {3, 20011}, {1, 70001}};

	checked_run_all("reduce", cases, CHECKED_COUNT(cases), all, CHECKED_COUNT(all));
}

/* --- copies
 * ------------------------------------------------------------------------------------------ */

#define CAST(name, dtype)                                                                  \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols)  \
	{                                                                                  \
		return ws_op_cast(graph, param(graph, "x", rows, cols), WS_DTYPE_##dtype); \
	}
CAST(to_f32, F32)
CAST(to_bf16, BF16)
CAST(to_f16, F16)

#define EXPAND(name, x_rows, x_cols)                                                           \
	static struct ws_tensor *name(struct ws_graph *graph, int64_t rows, int64_t cols)      \
	{                                                                                      \
		struct ws_tensor *like = param(graph, "like", rows, cols);                     \
                                                                                               \
		return like ? ws_op_expand(graph, param(graph, "x", (x_rows), (x_cols)), like) \
		            : NULL;                                                            \
	}
EXPAND(expand_col, rows, 1)
EXPAND(expand_row, 1, cols)
EXPAND(expand_scalar, 1, 1)

static struct ws_tensor *fill(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return ws_op_fill(graph, graph->precision.storage, WS_SHAPE(rows, cols), 0.1);
}

/* Heads split and merged: [2, rows, 3, cols] */
static struct ws_tensor *permute(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	const int64_t dims[4] = {2, rows, 3, cols};

	return ws_op_permute(graph, kernels_param(graph, "x", WS_SHAPE(2, rows, 3 * cols)), dims,
	                     WS_SHAPE(2, 3, rows, cols), "permute");
}

Test(device_elementwise, copies_to_other_types_shapes_and_orders)
{
	static const struct checked_case cases[] = {
	        {"cast to fp32", to_f32, true},
	        {"cast to bf16", to_bf16, true},
	        {"cast to fp16", to_f16, true},
	        {"expand col", expand_col, true},
	        {"expand row", expand_row, true},
	        {"expand scalar", expand_scalar, true},
	        {"fill", fill, true},
	        {"permute", permute, false},
	};

	checked_run_all("copy", cases, CHECKED_COUNT(cases), sizes, CHECKED_COUNT(sizes));
}

/* --- rotary embedding
 * ------------------------------------------------------------------------------- */

static struct ws_tensor *rope_table(struct ws_graph *graph, int64_t time, int64_t width)
{
	struct ws_tensor *t =
	        ws_graph_tensor(graph, "table", WS_ROLE_CONST, graph->precision.storage,
	                        WS_SHAPE(2, time, width / 2));

	if (t)
		t->init = (struct ws_init){WS_INIT_ROPE_TABLE, 10000};
	return t;
}

static struct ws_tensor *rope(struct ws_graph *graph, int64_t time, int64_t width)
{
	struct ws_heads head = {2, time, 3, width};

	return ws_op_rope(graph, WS_SUB_ROTATE,
	                  kernels_param(graph, "x", WS_SHAPE(2, time, 3 * width)),
	                  rope_table(graph, time, width), head, "rope");
}

static struct ws_tensor *rope_qkv(struct ws_graph *graph, int64_t time, int64_t width)
{
	struct ws_heads head = {2, time, 3, width};
	struct ws_tensor *qkv[3], *qk;

	ws_op_rope_qkv(graph, kernels_param(graph, "x", WS_SHAPE(2, time, 9 * width)),
	               rope_table(graph, time, width), head, qkv);
	if (!qkv[0])
		return NULL;
	qk = ws_op_binary(graph, WS_SUB_ADD, qkv[0], qkv[1]);
	return ws_op_binary(graph, WS_SUB_ADD, qk, qkv[2]);
}

Test(device_elementwise, rotary_embedding_and_the_split_of_heads)
{
	static const struct checked_case cases[] = {{"rope", rope, false},
	                                            {"rope of three", rope_qkv, false}};
	static const int64_t all[][2] = {{1, 2}, {7, 6}, {33, 64}, {100, 80}, {5, 130}};

	checked_run_all("rope", cases, CHECKED_COUNT(cases), all, CHECKED_COUNT(all));
}

/* --- look-ups
 * ------------------------------------------------------------------------------------------ */

static struct ws_tensor *embedding(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	/* fewer rows than look-ups: gradients of several meet */
	return ws_op_embedding(graph, param(graph, "table", rows, cols),
	                       checked_index(graph, "index", WS_SHAPE(2 * rows + 1), rows));
}

static struct ws_tensor *gather(struct ws_graph *graph, int64_t rows, int64_t cols)
{
	return ws_op_gather(graph, param(graph, "x", rows, cols),
	                    checked_index(graph, "index", WS_SHAPE(rows), cols));
}

Test(device_elementwise, look_ups_by_index_and_their_gradients)
{
	static const struct checked_case cases[] = {{"embedding", embedding, false},
	                                            {"gather", gather, false}};
	/* 1025 look-ups: one more than are taken at a time */
	static const int64_t all[][2] = {{1, 1},     {3, 7},   {33, 7}, {7, 33},
	                                 {45, 1000}, {700, 3}, {512, 3}};

	checked_run_all("index", cases, CHECKED_COUNT(cases), all, CHECKED_COUNT(all));
}
