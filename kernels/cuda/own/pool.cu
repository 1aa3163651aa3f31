/*
 * Max and average pooling and their gradients. fp32 inside.
 *
 * A thread has one place of the result and, of channels that are neighbours (NHWC), 16 bytes of
 * them; NCHW is the same with n c images of one channel. The gradients gather: an input looks at
 * the windows that cover it, in their order, so that nothing is added at the same time by two.
 * Windows overlap by little: what is read twice comes from the cache.
 */
#include "kernels/cuda/own/kernel.cuh"

/* Rows, or columns, of the input and the output. */
struct axis {
	int in, out, size; /* size of a window; 0: adaptive (op.h) */
	int stride, pad;
	struct ws_divisor by_in, by_out, by_stride;
};

struct pool {
	struct axis y, x;
	int64_t places, depth;   /* places of the result, of N elements; channels side by side */
	struct ws_divisor packs; /* of a pixel */
	const void *in;
	void *out;
	int32_t *position; /* of the largest, in its plane */
};

/* first ... end - 1 */
struct span {
	int first, end;
};

/* ws_window_inputs() (op.h): the inputs of an output. */
static __device__ __forceinline__ struct span inputs_of(const struct axis &a, int i)
{
	struct span s;

	if (a.size) {
		s.first = i * a.stride - a.pad;
		s.end = s.first + a.size;
	} else {
		s.first = (int)ws_quotient((int64_t)i * a.in, a.by_out);
		s.end = (int)ws_quotient(((int64_t)i + 1) * a.in + a.out - 1, a.by_out);
	}
	s.first = s.first < 0 ? 0 : s.first;
	s.end = s.end > a.in ? a.in : s.end;
	return s;
}

/* The outputs that read an input. */
static __device__ __forceinline__ struct span outputs_of(const struct axis &a, int i)
{
	struct span s;

	if (a.size) {
		int at = i + a.pad;

		s.first = at < a.size ? 0 : (int)ws_quotient(at - a.size, a.by_stride) + 1;
		s.end = (int)ws_quotient(at, a.by_stride) + 1;
	} else {
		s.first = (int)ws_quotient((int64_t)i * a.out, a.by_in);
		s.end = (int)ws_quotient(((int64_t)i + 1) * a.out + a.in - 1, a.by_in);
	}
	s.end = s.end > a.out ? a.out : s.end;
	return s;
}

/* A place: an image's pixel, and the first of its channels. */
struct place {
	int64_t image, channel;
	int y, x;
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
	at.x = (int)(pixel - row * cols.value);
	at.image = ws_quotient(row, rows);
	at.y = (int)(row - at.image * rows.value);
	return at;
}

static __device__ __forceinline__ int64_t input_at(const struct pool &p, const struct place &at,
                                                   int y, int x)
{
	return ((at.image * p.y.in + y) * p.x.in + x) * p.depth + at.channel;
}

static __device__ __forceinline__ int64_t output_at(const struct pool &p, const struct place &at,
                                                    int y, int x)
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
		struct place at = place_of<N>(p, i, p.y.by_out, p.x.by_out);
		struct span ys = inputs_of(p.y, at.y), xs = inputs_of(p.x, at.x);
		int best_at[N];
		float best[N];

		ws_load<T, N>(in + input_at(p, at, ys.first, xs.first), best);
		WS_UNROLL(k, N)
			best_at[k] = ys.first * p.x.in + xs.first;
		for (int y = ys.first; y < ys.end; y++)
#pragma unroll 3
			for (int x = xs.first; x < xs.end; x++) {
				float v[N];

				ws_load<T, N>(in + input_at(p, at, y, x), v);
				WS_UNROLL(k, N)
					if (v[k] > best[k] ||
					    (v[k] != v[k] && best[k] == best[k])) {
						best[k] = v[k];
						best_at[k] = y * p.x.in + x;
					}
			}
		ws_store<T, N>((T *)p.out + i * N, best);
		ws_store_wide<int32_t, N>(p.position + i * N, best_at);
	}
}

/* A row's sum, then the rows' sum: the means of whole planes are of many. */
template <typename T, int N> static __device__ __forceinline__ void avg_pool(const struct pool &p)
{
	const T *in = (const T *)p.in;
	WS_EACH_ITEM(i, p.places)
	{
		struct place at = place_of<N>(p, i, p.y.by_out, p.x.by_out);
		struct span ys = inputs_of(p.y, at.y), xs = inputs_of(p.x, at.x);
		const float count = (float)((int64_t)(ys.end - ys.first) * (xs.end - xs.first));
		float sum[N] = {0};

		for (int y = ys.first; y < ys.end; y++) {
			float row[N] = {0};

#pragma unroll 4
			for (int x = xs.first; x < xs.end; x++) {
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
		struct place at = place_of<N>(p, i, p.y.by_in, p.x.by_in);
		struct span ys = outputs_of(p.y, at.y), xs = outputs_of(p.x, at.x);
		int self = at.y * p.x.in + at.x;
		float sum[N] = {0};

		for (int y = ys.first; y < ys.end; y++)
#pragma unroll 2
			for (int x = xs.first; x < xs.end; x++) {
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
		struct place at = place_of<N>(p, i, p.y.by_in, p.x.by_in);
		struct span ys = outputs_of(p.y, at.y), xs = outputs_of(p.x, at.x);
		float sum[N] = {0};

		for (int y = ys.first; y < ys.end; y++) {
			struct span in_y = inputs_of(p.y, y);

			for (int x = xs.first; x < xs.end; x++) {
				struct span in_x = inputs_of(p.x, x);
				const float count = (float)((int64_t)(in_y.end - in_y.first) *
				                            (in_x.end - in_x.first));
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

static bool axis_of(struct axis *a, int64_t in, int64_t out, int64_t size,
                    const struct ws_window *w)
{
	if (in > INT32_MAX || out > INT32_MAX || size > INT32_MAX || w->stride > INT32_MAX ||
	    w->pad > INT32_MAX || in + w->pad > INT32_MAX)
		return false;
	a->in = (int)in;
	a->out = (int)out;
	a->size = (int)size;
	a->stride = (int)w->stride;
	a->pad = (int)w->pad;
	a->by_in = ws_divisor_of(in);
	a->by_out = ws_divisor_of(out);
	a->by_stride = ws_divisor_of(size ? w->stride : 1);
	return true;
}

/* Places are those of the result. */
static enum ws_status pool_of(const struct ws_op *op, struct pool *p, struct ws_err *err)
{
	const struct ws_window *w = &op->u.window;
	const struct ws_tensor *result = op->out[0];
	int n = WS_ACCESS / (int)ws_dtype_size(result->dtype);

	p->in = op->in[0]->data;
	p->out = result->data;
	p->position = NULL;
	if (op->kind == WS_OP_MAX_POOL)
		p->position = (int32_t *)op->out[1]->data;
	else if (op->kind == WS_OP_MAX_POOL_GRAD)
		p->position = (int32_t *)op->in[1]->data;
	p->depth = w->layout == WS_LAYOUT_NHWC ? w->c : 1;
	n = p->depth % n == 0 ? n : 1;
	p->packs = ws_divisor_of(p->depth / n);
	p->places = result->count / n;
	WS_FAIL_IF(!axis_of(&p->y, w->h, w->p, w->r, w) || !axis_of(&p->x, w->w, w->q, w->s, w),
	           err, USAGE, "op %s: a plane of %lld × %lld is too large for the CUDA kernels",
	           op->message, (long long)w->h, (long long)w->w);
	return WS_OK;
}

#define LAUNCHER(op_name, kernel)                                                         \
	WS_LAUNCHER(op_name)                                                              \
	{                                                                                 \
		struct pool p;                                                            \
                                                                                          \
		WS_FORWARD(pool_of(op, &p, err));                                         \
		WS_LAUNCH_FLOATS(launch, op, err, kernel, ws_item_grid(launch, p.places), \
		                 WS_THREADS, 0, p)                                        \
	}
LAUNCHER(max_pool, ws_pool_max_pool_fwd)
LAUNCHER(avg_pool, ws_pool_avg_pool_fwd)
LAUNCHER(max_pool_grad, ws_pool_max_pool_grad_bwd)
LAUNCHER(avg_pool_grad, ws_pool_avg_pool_grad_bwd)
