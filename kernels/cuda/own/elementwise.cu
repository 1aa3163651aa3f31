/*
 * Each element of the result from one element of each operand: unary, binary, copy, fill,
 * bias, bias_act.
 *
 * Threads take packs of 16 bytes; where packs are not filled, or would cross the end of a row that
 * an operand is spread over, single elements.
 */
#include "kernels/cuda/own/kernel.cuh"

/* How the elements of an operand follow from those of the result. */
enum spread {
	SPREAD_SAME,
	SPREAD_ONE,     /* one number */
	SPREAD_COL,     /* one number a row: i / cols */
	SPREAD_ROW,     /* one row: i mod cols */
	SPREAD_CHANNEL, /* one number a channel: i / cols mod period */
};

struct operand {
	const void *data;
	int dtype; /* enum ws_dtype */
	enum spread spread;
};

struct map {
	struct operand in[2];
	void *out;
	int64_t count;
	struct ws_divisor cols, period;
	bool packs; /* all are filled and, where rows matter, none crosses the end of one */
	float alpha;
};

/* --- reading ---------------------------------------------------------------------------------- */

/* N elements of an operand: those of the result from i on. */
template <typename T, int N>
static __device__ __forceinline__ void load(const struct map &map, const struct operand &in,
                                            int64_t i, float (&x)[N])
{
	int64_t row = in.spread <= SPREAD_ONE ? 0 : ws_quotient(i, map.cols);
	float one[1];

	if (in.spread == SPREAD_SAME || in.spread == SPREAD_ROW) {
		ws_load_mixed<T, N>(in.data, in.dtype, i - row * map.cols.value, x);
		return;
	}
	if (in.spread == SPREAD_CHANNEL)
		row -= ws_quotient(row, map.period) * map.period.value;
	ws_load_mixed<T, 1>(in.data, in.dtype, row, one);
	WS_UNROLL(k, N)
		x[k] = one[0];
}

/* --- computing: as the CPU reference does, NaN as well --------------------------------------- */

#define OF(SUB, value)     \
	case WS_SUB_##SUB: \
		return value

static __device__ __forceinline__ float unary(enum ws_sub sub, float x, float alpha)
{
	switch (sub) {
		OF(NEG, -x);
		OF(EXP, expf(x));
		OF(LOG, logf(x));
		OF(SQRT, sqrtf(x));
		OF(RSQRT, 1 / sqrtf(x));
		OF(SQUARE, x * x);
		OF(SIGMOID, 1 / (1 + expf(-x)));
		OF(SCALE, alpha * x);
		OF(ADD_CONST, x + alpha);
		OF(RELU, x < 0 ? 0 : x);
		OF(LEAKY_RELU, x < 0 ? alpha * x : x);
		OF(TANH, tanhf(x));
	default: /* CAST, EXPAND */
		return x;
	}
}

static __device__ __forceinline__ float binary(enum ws_sub sub, float a, float b, float alpha)
{
	switch (sub) {
		OF(ADD, a + b);
		OF(SUB, a - b);
		OF(MUL, a * b);
		OF(DIV, a / b);
		OF(RELU_GRAD, b > 0 ? a : 0);
		OF(LEAKY_RELU_GRAD, b > 0 ? a : alpha * a);
		OF(TANH_GRAD,
		   a * (1 -
		        ws_product(b,
		                   b))); /* a fused multiply-add would keep what 1 - b^2 cancels */
		OF(SIGMOID_GRAD, a * b * (1 - b));
		OF(BIAS_RELU, unary(WS_SUB_RELU, a + b, alpha));
		OF(BIAS_LEAKY_RELU, unary(WS_SUB_LEAKY_RELU, a + b, alpha));
		OF(BIAS_TANH, unary(WS_SUB_TANH, a + b, alpha));
	default: /* BIAS_ADD */
		return a + b;
	}
}

/* alpha where column > row mod columns */
template <int N>
static __device__ __forceinline__ void mask(const struct map &map, int64_t i, float (&x)[N])
{
	int64_t row = ws_quotient(i, map.cols), col = i - row * map.cols.value;
	int64_t visible = row - ws_quotient(row, map.cols) * map.cols.value - col;

	WS_UNROLL(k, N)
		x[k] = k > visible ? map.alpha : x[k];
}

/* --- all elements ----------------------------------------------------------------------------- */

template <typename Tin, typename Tout, int N, int OPERANDS>
static __device__ __forceinline__ void map_packs(const struct map &map, enum ws_sub sub)
{
	WS_EACH_ITEM(pack, map.count / N)
	{
		int64_t i = pack * N;
		float x[N], b[N];

		if (OPERANDS > 0)
			load<Tin, N>(map, map.in[0], i, x);
		if (OPERANDS > 1)
			load<Tin, N>(map, map.in[1], i, b);
		if (OPERANDS == 1 && sub == WS_SUB_CAUSAL_MASK)
			mask<N>(map, i, x);
		WS_UNROLL(k, N)
			x[k] = OPERANDS == 0   ? map.alpha
			       : OPERANDS == 1 ? unary(sub, x[k], map.alpha)
			                       : binary(sub, x[k], b[k], map.alpha);
		ws_store<Tout, N>((Tout *)map.out + i, x);
	}
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* X(sub, kernel, direction, what it reads, what it writes) for each dtype */
#define ALL(X, SUB, name, direction)               \
	X(SUB, name##_f32, direction, f32, f32)    \
	X(SUB, name##_bf16, direction, bf16, bf16) \
	X(SUB, name##_f16, direction, f16, f16)

#define UNARY_LIST(X)                                                     \
	ALL(X, NEG, ws_elementwise_neg_bwd, backward)                     \
	X(NEG, ws_elementwise_neg_fwd_f32, forward, f32, f32)             \
	ALL(X, EXP, ws_elementwise_exp_fwd, forward)                      \
	X(LOG, ws_elementwise_log_fwd_f32, forward, f32, f32)             \
	ALL(X, SQRT, ws_elementwise_sqrt, none)                           \
	X(RSQRT, ws_elementwise_rsqrt_fwd_f32, forward, f32, f32)         \
	ALL(X, SQUARE, ws_elementwise_square, none)                       \
	X(SQUARE, ws_elementwise_square_fwd_f32, forward, f32, f32)       \
	X(SQUARE, ws_elementwise_square_bwd_f32, backward, f32, f32)      \
	ALL(X, SIGMOID, ws_elementwise_sigmoid_fwd, forward)              \
	ALL(X, SCALE, ws_elementwise_scale, none)                         \
	ALL(X, SCALE, ws_elementwise_scale_fwd, forward)                  \
	ALL(X, SCALE, ws_elementwise_scale_bwd, backward)                 \
	ALL(X, ADD_CONST, ws_elementwise_add_const, none)                 \
	X(ADD_CONST, ws_elementwise_add_const_fwd_f32, forward, f32, f32) \
	ALL(X, CAUSAL_MASK, ws_elementwise_causal_mask_fwd, forward)      \
	ALL(X, CAUSAL_MASK, ws_elementwise_causal_mask_bwd, backward)     \
	ALL(X, RELU, ws_elementwise_relu_fwd, forward)                    \
	ALL(X, LEAKY_RELU, ws_elementwise_leaky_relu_fwd, forward)        \
	ALL(X, TANH, ws_elementwise_tanh_fwd, forward)

#define COPY_LIST(X)                                            \
	X(CAST, ws_copy_cast_f32_f16, none, f32, f16)           \
	X(CAST, ws_copy_cast_f16_f32, none, f16, f32)           \
	X(CAST, ws_copy_cast_fwd_f32_bf16, forward, f32, bf16)  \
	X(CAST, ws_copy_cast_fwd_f32_f16, forward, f32, f16)    \
	X(CAST, ws_copy_cast_fwd_bf16_f32, forward, bf16, f32)  \
	X(CAST, ws_copy_cast_fwd_f16_f32, forward, f16, f32)    \
	X(CAST, ws_copy_cast_bwd_f32_bf16, backward, f32, bf16) \
	X(CAST, ws_copy_cast_bwd_f32_f16, backward, f32, f16)   \
	X(CAST, ws_copy_cast_bwd_bf16_f32, backward, bf16, f32) \
	X(CAST, ws_copy_cast_bwd_f16_f32, backward, f16, f32)   \
	X(EXPAND, ws_copy_expand_bwd_f32, backward, f32, f32)

#define FILL_LIST(X)                              \
	X(FILL, ws_copy_fill_f32, none, f32, f32) \
	ALL(X, FILL, ws_copy_fill_bwd, backward)

#define BINARY_LIST(X)                                                        \
	ALL(X, ADD, ws_elementwise_add, none)                                 \
	ALL(X, ADD, ws_elementwise_add_fwd, forward)                          \
	ALL(X, ADD, ws_elementwise_add_bwd, backward)                         \
	ALL(X, SUB, ws_elementwise_sub, none)                                 \
	ALL(X, SUB, ws_elementwise_sub_fwd, forward)                          \
	X(MUL, ws_elementwise_mul_f32, none, f32, f32)                        \
	X(MUL, ws_elementwise_mul_f32_bf16, none, f32, bf16)                  \
	X(MUL, ws_elementwise_mul_f32_f16, none, f32, f16)                    \
	ALL(X, MUL, ws_elementwise_mul_fwd, forward)                          \
	ALL(X, MUL, ws_elementwise_mul_bwd, backward)                         \
	ALL(X, DIV, ws_elementwise_div, none)                                 \
	ALL(X, DIV, ws_elementwise_div_fwd, forward)                          \
	ALL(X, DIV, ws_elementwise_div_bwd, backward)                         \
	ALL(X, SIGMOID_GRAD, ws_elementwise_sigmoid_grad_bwd, backward)       \
	ALL(X, RELU_GRAD, ws_elementwise_relu_grad_bwd, backward)             \
	ALL(X, LEAKY_RELU_GRAD, ws_elementwise_leaky_relu_grad_bwd, backward) \
	ALL(X, TANH_GRAD, ws_elementwise_tanh_grad_bwd, backward)

#define BIAS_LIST(X)                                                         \
	ALL(X, BIAS_ADD, ws_elementwise_bias_add_fwd, forward)               \
	ALL(X, BIAS_RELU, ws_elementwise_bias_relu_fwd, forward)             \
	ALL(X, BIAS_LEAKY_RELU, ws_elementwise_bias_leaky_relu_fwd, forward) \
	ALL(X, BIAS_TANH, ws_elementwise_bias_tanh_fwd, forward)

#define BYTES(in, out)                                              \
	(sizeof(WS_KERNEL_TYPE_##in) > sizeof(WS_KERNEL_TYPE_##out) \
	         ? sizeof(WS_KERNEL_TYPE_##in)                      \
	         : sizeof(WS_KERNEL_TYPE_##out))
#define KERNEL(operands, SUB, name, in, out)                                              \
	WS_WIDE_KERNEL((WS_THREADS, 4), name, WS_ACCESS / BYTES(in, out), 1, map.packs,   \
	               (struct map map),                                                  \
	               map_packs<WS_KERNEL_TYPE_##in, WS_KERNEL_TYPE_##out, N, operands>( \
	                       map, WS_SUB_##SUB))
#define X(SUB, name, direction, in, out) KERNEL(0, SUB, name, in, out)
FILL_LIST(X)
#undef X
#define X(SUB, name, direction, in, out) KERNEL(1, SUB, name, in, out)
UNARY_LIST(X)
COPY_LIST(X)
#undef X
#define X(SUB, name, direction, in, out) KERNEL(2, SUB, name, in, out)
BINARY_LIST(X)
BIAS_LIST(X)
#undef X

/* --- launching -------------------------------------------------------------------------------- */

static enum spread spread_of(const struct ws_tensor *t, const struct ws_tensor *out)
{
	switch (ws_tensor_broadcast(t, out)) {
	case WS_BROADCAST_SAME:
		return SPREAD_SAME;
	case WS_BROADCAST_COL:
		return SPREAD_COL;
	case WS_BROADCAST_ROW:
		return SPREAD_ROW;
	default: /* ops.c refuses what does not fit */
		return SPREAD_ONE;
	}
}

/* The map of an op whose operands are spread by rows of `cols` elements. */
static struct map map_of(const struct ws_op *op, int64_t cols, int64_t period, double alpha)
{
	struct map map;

	memset(&map, 0, sizeof(map));
	for (int i = 0; i < op->in_count; i++) {
		map.in[i].data = op->in[i]->data;
		map.in[i].dtype = op->in[i]->dtype;
		map.in[i].spread = spread_of(op->in[i], op->out[0]);
	}
	map.out = op->out[0]->data;
	map.count = op->out[0]->count;
	map.cols = ws_divisor_of(cols);
	map.period = ws_divisor_of(period);
	map.alpha = (float)alpha;
	return map;
}

/* Whether packs of the wider of the types in a kernel's name are filled. */
static bool fills_packs(const struct ws_op *op, const struct map *map)
{
	bool rows_matter = op->sub == WS_SUB_CAUSAL_MASK;
	size_t widest = op->payload.dtype == WSNVTX_DTYPE_fp32 ? sizeof(float)
	                                                       : ws_dtype_size(op->out[0]->dtype);

	for (int i = 0; i < op->in_count; i++)
		rows_matter |= map->in[i].spread > SPREAD_ONE;
	return (rows_matter ? map->cols.value : map->count) % (int64_t)(WS_ACCESS / widest) == 0;
}

/* Whether the operands are of dtypes that elements are read in. */
static bool operands_are_floats(const struct ws_op *op)
{
	for (int i = 0; i < op->in_count; i++)
		if (!ws_dtype_is_float(op->in[i]->dtype) || op->in[i]->dtype == WS_DTYPE_F64)
			return false;
	return true;
}

static enum ws_status map_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                 struct map *map, struct ws_err *err)
{
	unsigned grid = ws_item_grid(launch, map->count / 4);

	map->packs = fills_packs(op, map);
	if (!operands_are_floats(op))
		return ws_cuda_no_kernel(op, err);
	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, in, out)             \
	case WS_KERNEL_KEY(SUB, direction, in, out): \
		return WS_LAUNCH(launch, err, name, grid, WS_THREADS, 0, *map);
		UNARY_LIST(X)
		COPY_LIST(X)
		FILL_LIST(X)
		BINARY_LIST(X)
		BIAS_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

/* Ops whose operands are spread over the result as tensors are (tensor.h). */
static enum ws_status launch_spread(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                    double alpha, struct ws_err *err)
{
	struct map map = map_of(op, ws_tensor_cols(op->out[0]), 1, alpha);

	return map_launch(launch, op, &map, err);
}

/* Ops with a number for each channel. */
static enum ws_status launch_bias(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  const struct ws_channels *ch, double alpha, struct ws_err *err)
{
	bool rows = ch->inner == 1;
	struct map map = map_of(op, rows ? ch->channels : ch->inner, ch->channels, alpha);

	map.in[1].spread = rows ? SPREAD_ROW : SPREAD_CHANNEL;
	return map_launch(launch, op, &map, err);
}

#define LAUNCHER(name, call) \
	WS_LAUNCHER(name)    \
	{                    \
		return call; \
	}
LAUNCHER(unary, launch_spread(launch, op, op->u.alpha, err))
LAUNCHER(binary, launch_spread(launch, op, op->u.alpha, err))
LAUNCHER(copy, launch_spread(launch, op, 0, err))
LAUNCHER(fill, launch_spread(launch, op, op->u.alpha, err))
LAUNCHER(bias, launch_bias(launch, op, &op->u.ch, 0, err))
LAUNCHER(bias_act, launch_bias(launch, op, &op->u.bias.ch, op->u.bias.alpha, err))
