/*
 * Each element of the result from one element of each operand: unary, binary, copy, fill,
 * bias, bias_act.
 *
 * Threads take packs of 16 bytes, 64 bytes of an operand at a time; what does not fill a pack,
 * or would cross the end of a row that an operand is spread over, goes element by element.
 */
#include "kernels/cuda/own/row.cuh"

#define THREADS 256
#define WAVES   32 /* blocks for each multiprocessor */

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
	bool packs; /* no pack crosses the end of a row, where rows matter */
	bool plain; /* operands as large as the result, of the dtype in the kernel's name */
	float alpha;
};

/* --- reading ---------------------------------------------------------------------------------- */

/* The element where pack u of a thread begins; the last one where there are no more. */
template <int N>
static __device__ __forceinline__ int64_t pack_at(int64_t first, int u, int64_t end)
{
	int64_t i = first + (int64_t)u * THREADS * N;

	return i < end ? i : end - N;
}

/* U packs of N elements each, those of the result that begin THREADS packs apart. */
template <typename T, int N, int U>
static __device__ __forceinline__ void load_same(const void *data, int64_t first, int64_t end,
                                                 float (&x)[U][N])
{
	WS_UNROLL(u, U)
		ws_load<T, N>((const T *)data + pack_at<N>(first, u, end), x[u]);
}

/* The same of an operand that is spread over the result. */
template <typename T, int N, int U>
static __device__ __forceinline__ void load_spread(const struct map &map, const struct operand &in,
                                                   int64_t first, int64_t end, float (&x)[U][N])
{
	const T *data = (const T *)in.data;

	WS_UNROLL(u, U) {
		int64_t i = pack_at<N>(first, u, end);
		int64_t row = in.spread == SPREAD_ONE ? 0 : ws_quotient(i, map.cols);
		float one;

		if (in.spread == SPREAD_ROW) {
			ws_load<T, N>(data + (i - row * map.cols.value), x[u]);
			continue;
		}
		if (in.spread == SPREAD_CHANNEL)
			row -= ws_quotient(row, map.period) * map.period.value;
		one = ws_to_f32(data[row]);
		WS_UNROLL(k, N)
			x[u][k] = one;
	}
}

template <typename T, int N, int U>
static __device__ __forceinline__ void load_as(const struct map &map, const struct operand &in,
                                               int64_t first, int64_t end, float (&x)[U][N])
{
	if (in.spread == SPREAD_SAME)
		load_same<T, N, U>(in.data, first, end, x);
	else
		load_spread<T, N, U>(map, in, first, end, x);
}

/* Kernels of fp32 also read 16-bit operands, which are not promoted in memory first. */
template <typename T, int N, int U>
static __device__ __forceinline__ void load(const struct map &map, const struct operand &in,
                                            int64_t first, int64_t end, float (&x)[U][N])
{
	if (sizeof(T) == 2 || in.dtype == WS_DTYPE_F32)
		load_as<T, N, U>(map, in, first, end, x);
	else if (in.dtype == WS_DTYPE_BF16)
		load_as<struct ws_bf16, N, U>(map, in, first, end, x);
	else
		load_as<struct ws_f16, N, U>(map, in, first, end, x);
}

template <typename T, int N, int U>
static __device__ __forceinline__ void store(void *out, int64_t first, int64_t end,
                                             const float (&y)[U][N])
{
	WS_UNROLL(u, U) {
		int64_t i = first + (int64_t)u * THREADS * N;

		if (i < end)
			ws_store<T, N>((T *)out + i, y[u]);
	}
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
template <int N, int U>
static __device__ __forceinline__ void mask(const struct map &map, int64_t first, int64_t end,
                                            float (&x)[U][N])
{
	WS_UNROLL(u, U) {
		int64_t i = pack_at<N>(first, u, end), row = ws_quotient(i, map.cols);
		int64_t col = i - row * map.cols.value;
		int visible = (int)(row - ws_quotient(row, map.cols) * map.cols.value - col);

		WS_UNROLL(k, N)
			x[u][k] = k > visible ? map.alpha : x[u][k];
	}
}

/* --- all elements ----------------------------------------------------------------------------- */

/* From begin on, U packs a thread and turn, up to end, which is a whole number of packs away. */
template <typename Tin, typename Tout, int N, int U, int OPERANDS>
static __device__ __forceinline__ void map_packs(const struct map &map, enum ws_sub sub,
                                                 int64_t begin, int64_t end)
{
	constexpr int64_t TURN = (int64_t)THREADS * N * U;
	int64_t first = begin + blockIdx.x * TURN + (int64_t)threadIdx.x * N;

	for (; first < end; first += gridDim.x * TURN) {
		float x[U][N], b[U][N];

		if (map.plain) { /* no branch between the loads: all on their way at once */
			if (OPERANDS > 0)
				load_same<Tin, N, U>(map.in[0].data, first, end, x);
			if (OPERANDS > 1)
				load_same<Tin, N, U>(map.in[1].data, first, end, b);
		} else {
			if (OPERANDS > 0)
				load<Tin, N, U>(map, map.in[0], first, end, x);
			if (OPERANDS > 1)
				load<Tin, N, U>(map, map.in[1], first, end, b);
		}
		if (OPERANDS == 1 && sub == WS_SUB_CAUSAL_MASK)
			mask<N, U>(map, first, end, x);
		WS_UNROLL(u, U)
			WS_UNROLL(k, N)
				x[u][k] = OPERANDS == 0 ? map.alpha
				          : OPERANDS == 1
				                  ? unary(sub, x[u][k], map.alpha)
				                  : binary(sub, x[u][k], b[u][k], map.alpha);
		store<Tout, N, U>(map.out, first, end, x);
	}
}

template <typename Tin, typename Tout, int OPERANDS>
static __device__ __forceinline__ void map_all(const struct map &map, enum ws_sub sub)
{
	constexpr int N = WS_ACCESS / (sizeof(Tin) > sizeof(Tout) ? sizeof(Tin) : sizeof(Tout));
	/* 64 bytes of operands on their way to each thread */
	constexpr int U = 64 / (N * (int)sizeof(Tin)) / (OPERANDS > 1 ? 2 : 1);
	int64_t whole = map.packs ? map.count - map.count % N : 0;

	map_packs<Tin, Tout, N, U, OPERANDS>(map, sub, 0, whole);
	map_packs<Tin, Tout, 1, 4, OPERANDS>(map, sub, whole, map.count);
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

#define KERNEL(operands, SUB, name, in, out)                                                     \
	static __global__ void __launch_bounds__(THREADS, 4) name(struct map map)                \
	{                                                                                        \
		map_all<WS_KERNEL_TYPE_##in, WS_KERNEL_TYPE_##out, operands>(map, WS_SUB_##SUB); \
	}
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

/* Fill in how the map's elements are grouped, and return the blocks that it takes. */
static unsigned map_grid(const struct ws_cuda_launch *launch, const struct ws_op *op,
                         struct map *map)
{
	size_t widest = ws_dtype_size(op->out[0]->dtype);
	bool rows_matter = op->sub == WS_SUB_CAUSAL_MASK;
	int n;

	map->plain = true;
	for (int i = 0; i < op->in_count; i++) {
		size_t size = ws_dtype_size(op->in[i]->dtype);

		widest = size > widest ? size : widest;
		rows_matter |= map->in[i].spread > SPREAD_ONE;
		map->plain &= map->in[i].spread == SPREAD_SAME &&
		              ws_dtype_nvtx(op->in[i]->dtype) == op->payload.dtype;
	}
	n = WS_ACCESS / (int)widest;
	map->packs = !rows_matter || ws_rows_aligned(map->cols.value, n);
	/* 4: packs, or elements, of a thread and turn */
	return ws_grid(launch, ws_div_up(map->count, THREADS * 4 * (map->packs ? n : 1)), WAVES);
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
	unsigned grid = map_grid(launch, op, map);

	if (!operands_are_floats(op))
		return ws_cuda_no_kernel(op, err);
	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, in, out)             \
	case WS_KERNEL_KEY(SUB, direction, in, out): \
		return WS_LAUNCH(launch, err, name, grid, THREADS, 0, *map);
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
