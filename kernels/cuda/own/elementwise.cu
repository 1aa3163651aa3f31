/*
 * Each element of the result from one element of each operand: unary, binary, copy, fill, bias,
 * bias_act, squared errors; SwiGLU; dropout; and the synthetic images that a device draws.
 *
 * Threads take packs of 16 bytes; where packs are not filled, or would cross the end of a row that
 * an operand is spread over, single elements.
 */
#include "kernels/cuda/own/kernel.cuh"

struct operand {
	const void *data;
	int dtype; /* enum ws_dtype */
	enum ws_broadcast spread;
};

struct map {
	struct operand in[3];
	void *out;
	int64_t count;
	struct ws_divisor cols, channels; /* struct ws_elementwise */
	bool packs; /* all are filled and, where rows matter, none crosses the end of one */
	float alpha;
};

/* N elements of an operand: those of the result from i on. */
template <typename T, int N>
static __device__ __forceinline__ void load(const struct map &map, const struct operand &in,
                                            int64_t i, float (&x)[N])
{
	bool of_row = in.spread != WS_BROADCAST_SAME && in.spread != WS_BROADCAST_SCALAR;
	int64_t row = of_row ? ws_quotient(i, map.cols) : 0;
	float one[1];

	if (in.spread == WS_BROADCAST_SAME || in.spread == WS_BROADCAST_ROW) {
		ws_load_mixed<T, N>(in.data, in.dtype, i - row * map.cols.value, x);
		return;
	}
	if (in.spread == WS_BROADCAST_CHANNEL)
		row -= ws_quotient(row, map.channels) * map.channels.value;
	ws_load_mixed<T, 1>(in.data, in.dtype, row, one);
	WS_UNROLL(k, N)
		x[k] = one[0];
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

template <typename Tin, typename Tout, int N, int OPERANDS>
static __device__ __forceinline__ void map_packs(const struct map &map, enum ws_sub sub)
{
	WS_EACH_ITEM(pack, map.count / N)
	{
		int64_t i = pack * N;
		float x[3][N] = {{0}};

		WS_UNROLL(operand, OPERANDS)
			load<Tin, N>(map, map.in[operand], i, x[operand]);
		WS_UNROLL(k, N)
			x[0][k] = ws_element(sub, x[0][k], x[1][k], x[2][k], map.alpha);
		if (sub == WS_SUB_CAUSAL_MASK)
			mask<N>(map, i, x[0]);
		ws_store<Tout, N>((Tout *)map.out + i, x[0]);
	}
}

/* X(sub, kernel, direction, type read, type written) for each dtype */
#define ALL(X, SUB, name, direction)               \
	X(SUB, name##_f32, direction, f32, f32)    \
	X(SUB, name##_bf16, direction, bf16, bf16) \
	X(SUB, name##_f16, direction, f16, f16)

#define NULLARY_LIST(X)                           \
	X(FILL, ws_copy_fill_f32, none, f32, f32) \
	ALL(X, FILL, ws_copy_fill_bwd, backward)

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
	ALL(X, TANH, ws_elementwise_tanh_fwd, forward)                    \
	X(CAST, ws_copy_cast_f32_f16, none, f32, f16)                     \
	X(CAST, ws_copy_cast_f16_f32, none, f16, f32)                     \
	X(CAST, ws_copy_cast_fwd_f32_bf16, forward, f32, bf16)            \
	X(CAST, ws_copy_cast_fwd_f32_f16, forward, f32, f16)              \
	X(CAST, ws_copy_cast_fwd_bf16_f32, forward, bf16, f32)            \
	X(CAST, ws_copy_cast_fwd_f16_f32, forward, f16, f32)              \
	X(CAST, ws_copy_cast_bwd_f32_bf16, backward, f32, bf16)           \
	X(CAST, ws_copy_cast_bwd_f32_f16, backward, f32, f16)             \
	X(CAST, ws_copy_cast_bwd_bf16_f32, backward, bf16, f32)           \
	X(CAST, ws_copy_cast_bwd_f16_f32, backward, f16, f32)             \
	X(EXPAND, ws_copy_expand_bwd_f32, backward, f32, f32)

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
	ALL(X, TANH_GRAD, ws_elementwise_tanh_grad_bwd, backward)             \
	ALL(X, BIAS_ADD, ws_elementwise_bias_add_fwd, forward)                \
	ALL(X, BIAS_RELU, ws_elementwise_bias_relu_fwd, forward)              \
	ALL(X, BIAS_LEAKY_RELU, ws_elementwise_bias_leaky_relu_fwd, forward)  \
	ALL(X, BIAS_TANH, ws_elementwise_bias_tanh_fwd, forward)              \
	X(SQUARED_ERROR, ws_loss_squared_error_fwd_f32, forward, f32, f32)

#define TERNARY_LIST(X) \
	X(SQUARED_ERROR_GRAD, ws_loss_squared_error_grad_bwd_f32, backward, f32, f32)

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
NULLARY_LIST(X)
#undef X
#define X(SUB, name, direction, in, out) KERNEL(1, SUB, name, in, out)
UNARY_LIST(X)
#undef X
#define X(SUB, name, direction, in, out) KERNEL(2, SUB, name, in, out)
BINARY_LIST(X)
#undef X
#define X(SUB, name, direction, in, out) KERNEL(3, SUB, name, in, out)
TERNARY_LIST(X)
#undef X

/* false: elements of this dtype cannot be read. */
static bool map_of(const struct ws_op *op, struct map *map)
{
	const struct ws_elementwise e = ws_op_elementwise(op);
	size_t widest = op->payload.dtype == WSNVTX_DTYPE_fp32 ? sizeof(float)
	                                                       : ws_dtype_size(op->out[0]->dtype);
	bool rows_matter = op->sub == WS_SUB_CAUSAL_MASK;

	memset(map, 0, sizeof(*map));
	map->out = op->out[0]->data;
	map->count = op->out[0]->count;
	map->cols = ws_divisor_of(e.cols);
	map->channels = ws_divisor_of(e.channels);
	map->alpha = (float)e.alpha;
	for (int i = 0; i < op->in_count; i++) {
		const struct ws_tensor *t = op->in[i];

		if (!ws_dtype_is_float(t->dtype) || t->dtype == WS_DTYPE_F64)
			return false;
		map->in[i] = {t->data, t->dtype, e.spread[i]};
		rows_matter |=
		        e.spread[i] != WS_BROADCAST_SAME && e.spread[i] != WS_BROADCAST_SCALAR;
	}
	/* packs of the wider of the types in the kernel's name */
	map->packs = (rows_matter ? e.cols : map->count) % (int64_t)(WS_ACCESS / widest) == 0;
	return true;
}

static enum ws_status map_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                 struct ws_err *err)
{
	struct map map;
	unsigned grid;

	if (!map_of(op, &map))
		return ws_cuda_no_kernel(op, err);
	grid = ws_item_grid(launch, map.count / 4);
	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, in, out)             \
	case WS_KERNEL_KEY(SUB, direction, in, out): \
		return WS_LAUNCH(launch, err, name, grid, WS_THREADS, 0, map);
		NULLARY_LIST(X)
		UNARY_LIST(X)
		BINARY_LIST(X)
		TERNARY_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

#define LAUNCHER(name)                              \
	WS_LAUNCHER(name)                           \
	{                                           \
		return map_launch(launch, op, err); \
	}
LAUNCHER(unary)
LAUNCHER(binary)
LAUNCHER(copy)
LAUNCHER(fill)
LAUNCHER(bias)
LAUNCHER(bias_act)
LAUNCHER(squared_error)
LAUNCHER(squared_error_grad)

/* --- SwiGLU and its gradient: of rows [a b], the halves a and b, silu(a) * b ------------------ */

struct swiglu {
	const void *dy, *x; /* dy: of the gradient */
	void *result;
	int64_t packs; /* of y and dy */
	struct ws_divisor cols;
	bool whole; /* packs of 16 bytes; else of one element */
};

/* The gradient where BACK. */
template <typename T, int N, bool BACK>
static __device__ __forceinline__ void swiglu(const struct swiglu &s)
{
	WS_EACH_ITEM(i, s.packs)
	{
		/* pack of a in x and its gradient; that of b lies cols further */
		int64_t at_a = (i + ws_quotient(i, s.cols) * s.cols.value) * N;
		int64_t at_b = at_a + s.cols.value * N;
		float dy[N], a[N], b[N];

		ws_load<T, N>((const T *)s.x + at_a, a);
		ws_load<T, N>((const T *)s.x + at_b, b);
		if (!BACK) {
			WS_UNROLL(k, N)
				a[k] = ws_swiglu(a[k], b[k]);
			ws_store<T, N>((T *)s.result + i * N, a);
			continue;
		}
		ws_load<T, N>((const T *)s.dy + i * N, dy);
		WS_UNROLL(k, N)
			ws_swiglu_grad(dy[k], a[k], b[k], &a[k], &b[k]);
		ws_store<T, N>((T *)s.result + at_a, a);
		ws_store<T, N>((T *)s.result + at_b, b);
	}
}

#define X(ID, T, suffix)                                                                           \
	WS_WIDE_KERNEL((WS_THREADS, 4), ws_elementwise_swiglu_fwd_##suffix, WS_ACCESS / sizeof(T), \
	               1, s.whole, (struct swiglu s), swiglu<T, N, false>(s))                      \
	WS_WIDE_KERNEL((WS_THREADS, 4), ws_elementwise_swiglu_grad_bwd_##suffix,                   \
	               WS_ACCESS / sizeof(T), 1, s.whole, (struct swiglu s),                       \
	               swiglu<T, N, true>(s))
WS_CUDA_FLOATS(X)
#undef X

/* half: y or dy, whose rows are as long as a and b. */
static struct swiglu swiglu_of(const struct ws_op *op, const struct ws_tensor *half,
                               const struct ws_tensor *x)
{
	int n = WS_ACCESS / (int)ws_dtype_size(half->dtype);
	int64_t cols = ws_tensor_cols(half);
	bool whole = cols % n == 0;

	n = whole ? n : 1;
	return {half->data, x->data, op->out[0]->data, half->count / n, ws_divisor_of(cols / n),
	        whole};
}

WS_LAUNCHER(swiglu)
{
	struct swiglu s = swiglu_of(op, op->out[0], op->in[0]);

	WS_LAUNCH_FLOATS(launch, op, err, ws_elementwise_swiglu_fwd, ws_item_grid(launch, s.packs),
	                 WS_THREADS, 0, s)
}

WS_LAUNCHER(swiglu_grad)
{
	struct swiglu s = swiglu_of(op, op->in[0], op->in[1]);

	WS_LAUNCH_FLOATS(launch, op, err, ws_elementwise_swiglu_grad_bwd,
	                 ws_item_grid(launch, s.packs), WS_THREADS, 0, s)
}

/* --- dropout: its time is that of the hash, so one hash of 64 bits serves two elements -------- */

struct dropout {
	const void *x;
	const int32_t *step; /* the step's number, on the device: replays draw anew */
	void *y, *mask;
	int64_t count;
	struct ws_rng rng;
	uint32_t below; /* dropped where 32 random bits are below */
	float keep;
};

template <typename T, int N> static __device__ __forceinline__ void dropout(const struct dropout &d)
{
	uint64_t first = ws_dropout_draw(d.count, (uint64_t)*d.step);

	WS_EACH_ITEM(pack, d.count / N)
	{
		/* half random number: an even one if N > 1 */
		uint64_t draw = first + (uint64_t)(pack * N);
		float x[N], mask[N];

		ws_load<T, N>((const T *)d.x + pack * N, x);
		if (N == 1)
			mask[0] = ws_rng_half(&d.rng, draw) < d.below ? 0 : d.keep;
#pragma unroll
		for (int k = 0; k + 1 < N; k += 2) {
			uint64_t bits = ws_rng_bits(&d.rng, draw / 2 + (uint64_t)(k / 2));

			mask[k] = (uint32_t)bits < d.below ? 0 : d.keep;
			mask[k + 1] = (uint32_t)(bits >> 32) < d.below ? 0 : d.keep;
		}
		WS_UNROLL(k, N)
			x[k] *= mask[k];
		ws_store<T, N>((T *)d.y + pack * N, x);
		ws_store<T, N>((T *)d.mask + pack * N, mask);
	}
}

#define X(ID, T, suffix)                                                                           \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_rng_dropout_fwd_##suffix, T, d.count % N == 0, dropout, \
	               (struct dropout d), d)
WS_CUDA_FLOATS(X)
#undef X

WS_LAUNCHER(dropout)
{
	const struct ws_tensor *x = op->in[0];
	struct dropout d = {x->data,
	                    (const int32_t *)op->in[1]->data,
	                    op->out[0]->data,
	                    op->out[1]->data,
	                    x->count,
	                    op->u.dropout.rng,
	                    ws_rng_below(op->u.dropout.p),
	                    (float)(1 / (1 - op->u.dropout.p))};

	WS_LAUNCH_FLOATS(launch, op, err, ws_rng_dropout_fwd, ws_item_grid(launch, x->count / 4),
	                 WS_THREADS, 0, d)
}

/* --- synthetic images, made where they are used
 * --------------------------------------------------- */

#define IMAGE_THREADS 64 /* little work: small blocks spread it over the multiprocessors */

/*
 * Thread i draws row i of all rows of all planes, in which each number follows from the one
 * before; in NHWC neighbours draw channels of one row.
 */
template <typename T>
static __device__ __forceinline__ void draw_images(const struct ws_image_batch &b,
                                                   const struct ws_plane *planes, T *image)
{
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	bool nhwc = b.layout == WS_LAYOUT_NHWC;
	int64_t n, c, row, step = nhwc ? b.c : 1;
	struct ws_plane_pen pen;

	if (i >= b.n * b.c * b.h)
		return;
	n = i / (b.c * b.h);
	i -= n * b.c * b.h;
	c = nhwc ? i % b.c : i / b.h;
	row = nhwc ? i / b.c : i % b.h;
	planes += n * b.c + c;
	image += n * b.c * b.h * b.w + (nhwc ? c : c * b.h * b.w);
	pen = ws_plane_row(planes, row);
	for (int64_t pixel = row * b.w; pixel < (row + 1) * b.w; pixel++)
		image[pixel * step] = ws_from_f32<T>((float)ws_plane_pixel(planes, &pen, pixel));
}

#define X(ID, T, suffix)                                                                       \
	static __global__ void ws_rng_images_##suffix(struct ws_image_batch batch,             \
	                                              const struct ws_plane *planes, T *image) \
	{                                                                                      \
		draw_images(batch, planes, image);                                             \
	}
WS_CUDA_FLOATS(X)
#undef X

extern "C" enum ws_status ws_cuda_draw_images(const struct ws_cuda_launch *launch,
                                              const struct ws_image_batch *batch,
                                              const struct ws_plane *planes, struct ws_tensor *t,
                                              struct ws_err *err)
{
	unsigned grid = (unsigned)ws_div_up(batch->n * batch->c * batch->h, IMAGE_THREADS);

	switch (t->dtype) {
#define X(ID, T, suffix)                                                                      \
	case WS_DTYPE_##ID:                                                                   \
		return WS_LAUNCH(launch, err, ws_rng_images_##suffix, grid, IMAGE_THREADS, 0, \
		                 *batch, planes, (T *)t->data);
		WS_CUDA_FLOATS(X)
#undef X
	default:
		return WS_FAIL(err, BUG, "images of %s are not drawn on a GPU",
		               ws_dtype_name(t->dtype));
	}
}
