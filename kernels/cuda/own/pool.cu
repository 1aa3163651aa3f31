/*
 * Max and average pooling and their gradients. fp32 inside.
 *
 * A thread computes one place of the result: 16 bytes of neighbouring channels in NHWC; NCHW is
 * treated as n c images of one channel. The gradients gather: each input adds the windows that
 * cover it, in order, so no two threads add to one number. Windows overlap by little, and a cache
 * serves the second read.
 */
#include "kernels/cuda/own/kernel.cuh"

struct pool {
	struct ws_axis y, x;
	int64_t places, depth;   /* places of the result, of N elements; channels side by side */
	struct ws_divisor packs; /* of a pixel */
	const void *in;
	void *out;
	int32_t *position; /* of the largest, in its plane */
};

/* A place: an image's pixel, and the first of its channels. */
struct place {
	int64_t image, channel, y, x;
};

/* Of planes of rows × cols. */
template <int N>
static __device__ __forceinline__ struct place place_of(const struct pool &p, int64_t i,
                                                        const struct ws_divisor &rows,
                                                        const struct ws_divisor &cols)
{
	int64_t pixel = ws_quotient(i, p.packs), row = ws_quotient(pixel, cols);
	struct place at;

	at.channel = (i - pixel * p.packs.value) * N;
	at.x = pixel - row * cols.value;
	at.image = ws_quotient(row, rows);
	at.y = row - at.image * rows.value;
	return at;
}

static __device__ __forceinline__ int64_t input_at(const struct pool &p, const struct place &at,
                                                   int64_t y, int64_t x)
{
	return ((at.image * p.y.in + y) * p.x.in + x) * p.depth + at.channel;
}

static __device__ __forceinline__ int64_t output_at(const struct pool &p, const struct place &at,
                                                    int64_t y, int64_t x)
{
	return ((at.image * p.y.out + y) * p.x.out + x) * p.depth + at.channel;
}

/* Positions of N neighbours, by accesses of 16 bytes. */
template <int N>
static __device__ __forceinline__ void load_positions(const int32_t *from, int (&at)[N])
{
	constexpr int W = N < 4 ? N : 4;

#pragma unroll
	for (int i = 0; i < N; i += W) {
		const struct ws_pack<int32_t, W> pack =
		        *(const struct ws_pack<int32_t, W> *)(from + i);

		WS_UNROLL(k, W)
			at[i + k] = pack.at[k];
	}
}

/* --- forward --------------------------------------------------------------------------------- */

/* The first of the largest, or the first NaN, and its position in the plane. */
template <typename T, int N> static __device__ __forceinline__ void max_pool(const struct pool &p)
{
	const T *in = (const T *)p.in;
	WS_EACH_ITEM(i, p.places)
	{
		struct place at = place_of<N>(p, i, p.y.output_divisor, p.x.output_divisor);
		struct ws_span ys = ws_axis_inputs(&p.y, at.y), xs = ws_axis_inputs(&p.x, at.x);
		int best_at[N];
		float best[N];

		ws_load<T, N>(in + input_at(p, at, ys.first, xs.first), best);
		WS_UNROLL(k, N)
			best_at[k] = (int)(ys.first * p.x.in + xs.first);
		for (int64_t y = ys.first; y < ys.end; y++)
#pragma unroll 3
			for (int64_t x = xs.first; x < xs.end; x++) {
				float v[N];

				ws_load<T, N>(in + input_at(p, at, y, x), v);
				WS_UNROLL(k, N)
					if (v[k] > best[k] ||
					    (v[k] != v[k] && best[k] == best[k])) {
						best[k] = v[k];
						best_at[k] = (int)(y * p.x.in + x);
					}
			}
		ws_store<T, N>((T *)p.out + i * N, best);
		ws_store_wide<int32_t, N>(p.position + i * N, best_at);
	}
}

/* Sums of rows, then their sum: whole planes have too many elements for one running sum. */
template <typename T, int N> static __device__ __forceinline__ void avg_pool(const struct pool &p)
{
	const T *in = (const T *)p.in;
	WS_EACH_ITEM(i, p.places)
	{
		struct place at = place_of<N>(p, i, p.y.output_divisor, p.x.output_divisor);
		struct ws_span ys = ws_axis_inputs(&p.y, at.y), xs = ws_axis_inputs(&p.x, at.x);
		const float count = (float)((ys.end - ys.first) * (xs.end - xs.first));
		float sum[N] = {0};

		for (int64_t y = ys.first; y < ys.end; y++) {
			float row[N] = {0};

#pragma unroll 4
			for (int64_t x = xs.first; x < xs.end; x++) {
				float v[N];

				ws_load<T, N>(in + input_at(p, at, y, x), v);
				WS_UNROLL(k, N)
					row[k] += v[k];
			}
			WS_UNROLL(k, N)
				sum[k] += row[k];
		}
		WS_UNROLL(k, N)
			sum[k] /= count;
		ws_store<T, N>((T *)p.out + i * N, sum);
	}
}

/* --- backward -------------------------------------------------------------------------------- */

template <typename T, int N>
static __device__ __forceinline__ void max_pool_grad(const struct pool &p)
{
	WS_EACH_ITEM(i, p.places)
	{
		struct place at = place_of<N>(p, i, p.y.input_divisor, p.x.input_divisor);
		struct ws_span ys = ws_axis_outputs(&p.y, at.y), xs = ws_axis_outputs(&p.x, at.x);
		int self = (int)(at.y * p.x.in + at.x);
		float sum[N] = {0};

		for (int64_t y = ys.first; y < ys.end; y++)
#pragma unroll 2
			for (int64_t x = xs.first; x < xs.end; x++) {
				int64_t from = output_at(p, at, y, x);
				int max_at[N];
				float v[N];

				ws_load<T, N>((const T *)p.in + from, v);
				load_positions<N>(p.position + from, max_at);
				WS_UNROLL(k, N)
					sum[k] += max_at[k] == self ? v[k] : 0;
			}
		ws_store<T, N>((T *)p.out + i * N, sum);
	}
}

template <typename T, int N>
static __device__ __forceinline__ void avg_pool_grad(const struct pool &p)
{
	WS_EACH_ITEM(i, p.places)
	{
		struct place at = place_of<N>(p, i, p.y.input_divisor, p.x.input_divisor);
		struct ws_span ys = ws_axis_outputs(&p.y, at.y), xs = ws_axis_outputs(&p.x, at.x);
		float sum[N] = {0};

		for (int64_t y = ys.first; y < ys.end; y++) {
			struct ws_span in_y = ws_axis_inputs(&p.y, y);

			for (int64_t x = xs.first; x < xs.end; x++) {
				struct ws_span in_x = ws_axis_inputs(&p.x, x);
				const float count =
				        (float)((in_y.end - in_y.first) * (in_x.end - in_x.first));
				float v[N];

				ws_load<T, N>((const T *)p.in + output_at(p, at, y, x), v);
				WS_UNROLL(k, N)
					sum[k] += v[k] / count;
			}
		}
		ws_store<T, N>((T *)p.out + i * N, sum);
	}
}

/* --- kernels --------------------------------------------------------------------------------- */

#define WS_POOL_KERNEL(name, T, body)                                               \
	WS_PACK_KERNEL((WS_THREADS, 4), name, T, p.packs.value *N == p.depth, body, \
	               (struct pool p), p)
#define WS_POOL_KERNELS(ID, T, suffix)                                       \
	WS_POOL_KERNEL(ws_pool_max_pool_fwd_##suffix, T, max_pool)           \
	WS_POOL_KERNEL(ws_pool_avg_pool_fwd_##suffix, T, avg_pool)           \
	WS_POOL_KERNEL(ws_pool_max_pool_grad_bwd_##suffix, T, max_pool_grad) \
	WS_POOL_KERNEL(ws_pool_avg_pool_grad_bwd_##suffix, T, avg_pool_grad)
WS_CUDA_FLOATS(WS_POOL_KERNELS)

/* --- launching ------------------------------------------------------------------------------- */

/* Places are those of the result. Positions fit an int: ws_op_max_pool() refuses more. */
static enum ws_status pool_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  struct ws_err *err)
{
	const struct ws_window *w = &op->u.window;
	const struct ws_tensor *result = op->out[0];
	bool max = op->kind == WS_OP_MAX_POOL, max_grad = op->kind == WS_OP_MAX_POOL_GRAD;
	int64_t depth = w->layout == WS_LAYOUT_NHWC ? w->c : 1;
	int n = WS_ACCESS / (int)ws_dtype_size(result->dtype);
	unsigned grid;

	n = depth % n == 0 ? n : 1;
	struct pool p = {ws_window_axis(w, false),
	                 ws_window_axis(w, true),
	                 result->count / n,
	                 depth,
	                 ws_divisor_of(depth / n),
	                 op->in[0]->data,
	                 result->data,
	                 max        ? (int32_t *)op->out[1]->data
	                 : max_grad ? (int32_t *)op->in[1]->data
	                            : NULL};
	grid = ws_item_grid(launch, p.places);
	if (max)
		WS_LAUNCH_FLOATS(launch, op, err, ws_pool_max_pool_fwd, grid, WS_THREADS, 0, p)
	if (max_grad)
		WS_LAUNCH_FLOATS(launch, op, err, ws_pool_max_pool_grad_bwd, grid, WS_THREADS, 0, p)
	if (op->kind == WS_OP_AVG_POOL)
		WS_LAUNCH_FLOATS(launch, op, err, ws_pool_avg_pool_fwd, grid, WS_THREADS, 0, p)
	WS_LAUNCH_FLOATS(launch, op, err, ws_pool_avg_pool_grad_bwd, grid, WS_THREADS, 0, p)
}

#define LAUNCHER(name)                               \
	WS_LAUNCHER(name)                            \
	{                                            \
		return pool_launch(launch, op, err); \
	}
LAUNCHER(max_pool)
LAUNCHER(avg_pool)
LAUNCHER(max_pool_grad)
LAUNCHER(avg_pool_grad)
