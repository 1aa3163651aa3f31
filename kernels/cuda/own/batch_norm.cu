/*
 * Batch norm in training and its gradient, on [outer, channels, inner]. fp32 inside.
 *
 * Three kernels each: sums of slices of every channel, the total of these with what follows from
 * it for a channel, and the elements. The first and the last divide the tensor alike (columns.h):
 * with inner = 1 a thread has 16 bytes of neighbouring channels and walks down rows; else a block
 * has one channel and walks along its stretches. So what belongs to a channel stays in registers.
 *
 * Variances are no differences of large numbers: a thread takes mean and squared deviations of a
 * few elements at a time and merges them (Chan, Golub and LeVeque 1979), as do threads and slices.
 */
#include "kernels/cuda/own/row.cuh"

#include "kernels/cuda/own/columns.h"
#include "kernels/cuda/own/slices.h"

#define WS_BN_THREADS WS_COLUMNS_THREADS
#define WS_BN_PACKS   4 /* of a thread and turn, forward: 64 bytes on their way */
#define WS_BN_GRADS   2 /* backward: of two operands */

struct channels {
	int64_t channels, items; /* items: rows, or packs of a channel's stretches */
	int64_t slice_items;     /* the last slice may have less */
	int lanes;               /* threads that share a row; 1 of stretches */
	struct ws_divisor run;   /* packs of a stretch; 0: neighbours are of different channels */
	bool whole;              /* packs of 16 bytes; else of one element */
	float count;             /* elements of a channel */
};

/* --- walking over a slice -------------------------------------------------------------------- */

/* What a thread visits: items item, item + step, ... of a channel, or of N from it on. */
struct walk {
	int64_t channel, item, end, step;
	bool mine; /* there is such a channel */
};

/* RUN: a channel's elements lie in stretches; else those of N channels side by side. */
template <int N, bool RUN>
static __device__ __forceinline__ struct walk walk_first(const struct channels &c)
{
	int lane = (int)threadIdx.x % c.lanes;
	struct walk w;

	w.channel = RUN ? (int64_t)blockIdx.x : ((int64_t)blockIdx.x * c.lanes + lane) * N;
	w.mine = w.channel < c.channels;
	w.item = (int64_t)blockIdx.y * c.slice_items + (int)threadIdx.x / c.lanes;
	w.end = ((int64_t)blockIdx.y + 1) * c.slice_items;
	if (w.end > c.items)
		w.end = c.items;
	if (!w.mine)
		w.end = 0;
	w.step = WS_BN_THREADS / c.lanes;
	return w;
}

template <int N, bool RUN>
static __device__ __forceinline__ int64_t offset_of(const struct channels &c, const struct walk &w,
                                                    int64_t item)
{
	if (!RUN)
		return item * c.channels + w.channel;
	return (item + (ws_quotient(item, c.run) * (c.channels - 1) + w.channel) * c.run.value) * N;
}

/* --- forward: mean and squared deviations ---------------------------------------------------- */

/* y = (x - mean) gamma / deviation + beta */
struct elements {
	const void *x;
	void *y;
	const void *gamma, *beta;
	float *mean, *inverse; /* inverse: 1 / deviation */
	float *sums;           /* [2][slices][channels]: means and squared deviations */
	int dtype;             /* of gamma, beta and the running statistics: enum ws_dtype */
	int slices;
};

/* Of n elements: their mean, and the sum of the squares of what they differ from it. */
struct moments {
	float n, mean, m2;
};

/* a and b together; b may be of no elements. Infinite means stay so: no difference of the two. */
static __device__ __forceinline__ void merge(struct moments *a, const struct moments &b)
{
	float n = a->n + b.n, share = b.n > 0 ? b.n / n : 0;
	float d = b.mean - a->mean, both = a->mean + b.mean;

	a->mean = both - both == 0 ? a->mean + d * share : both;
	a->m2 += b.m2 + d * d * a->n * share;
	a->n = n;
}

/* Of those of `valid` packs of N elements that belong to channel k; RUN: all do. */
template <int N, bool RUN>
static __device__ __forceinline__ struct moments few(const float (&x)[WS_BN_PACKS][N], int k,
                                                     int valid)
{
	constexpr int SHARE = RUN ? N : 1; /* of a pack */
	struct moments m = {(float)(valid * SHARE), 0, 0};
	float sum = 0;

#pragma unroll
	for (int u = 0; u < WS_BN_PACKS; u++)
#pragma unroll
		for (int i = 0; i < SHARE; i++)
			sum += u < valid ? x[u][RUN ? i : k] : 0;
	m.mean = sum / m.n;
#pragma unroll
	for (int u = 0; u < WS_BN_PACKS; u++)
#pragma unroll
		for (int i = 0; i < SHARE; i++) {
			float d = x[u][RUN ? i : k] - m.mean;

			m.m2 += u < valid ? d * d : 0;
		}
	return m;
}

/* Of threads of a block that are `lanes` apart, into those of the first `lanes` threads. */
template <int K>
static __device__ __forceinline__ void merge_groups(struct moments (&m)[K], int lanes)
{
	__shared__ float mean[K][WS_BN_THREADS], m2[K][WS_BN_THREADS], n[WS_BN_THREADS];
	int self = threadIdx.x;

#pragma unroll
	for (int k = 0; k < K; k++) {
		mean[k][self] = m[k].mean;
		m2[k][self] = m[k].m2;
	}
	n[self] = m[0].n;
	for (int half = WS_BN_THREADS / 2; half >= lanes; half /= 2) {
		__syncthreads();
		if (self >= half)
			continue;
#pragma unroll
		for (int k = 0; k < K; k++) {
			struct moments other = {n[self + half], mean[k][self + half],
			                        m2[k][self + half]};

			merge(&m[k], other);
			mean[k][self] = m[k].mean;
			m2[k][self] = m[k].m2;
		}
		n[self] = m[0].n;
	}
}

template <typename T, int N, bool RUN>
static __device__ __forceinline__ void slice_moments(const struct channels &c,
                                                     const struct elements &e)
{
	constexpr int K = RUN ? 1 : N;
	struct walk w = walk_first<N, RUN>(c);
	float *to = e.sums + (int64_t)blockIdx.y * c.channels + w.channel;
	struct moments m[K];

#pragma unroll
	for (int k = 0; k < K; k++)
		m[k] = {0, 0, 0};
	for (; w.item < w.end; w.item += w.step * WS_BN_PACKS) {
		float v[WS_BN_PACKS][N];
		int valid = 0;

#pragma unroll
		for (int u = 0; u < WS_BN_PACKS; u++) {
			int64_t item = w.item + u * w.step;
			int64_t offset = offset_of<N, RUN>(c, w, item < w.end ? item : w.item);

			valid += item < w.end;
			ws_load<T, N>((const T *)e.x + offset, v[u]);
		}
#pragma unroll
		for (int k = 0; k < K; k++)
			merge(&m[k], few<N, RUN>(v, k, valid));
	}
	merge_groups<K>(m, c.lanes);
	if ((int)threadIdx.x >= c.lanes || !w.mine)
		return;
#pragma unroll
	for (int k = 0; k < K; k++) {
		to[k] = m[k].mean;
		to[gridDim.y * c.channels + k] = m[k].m2;
	}
}

/* --- forward: what follows for a channel ----------------------------------------------------- */

/* Numbers of channels: of the tensor's dtype or fp32 (enum ws_dtype). */
static __device__ __forceinline__ float number(const void *numbers, int dtype, int64_t i)
{
	if (dtype == WS_DTYPE_F16)
		return ws_to_f32(((const struct ws_f16 *)numbers)[i]);
	if (dtype == WS_DTYPE_BF16)
		return ws_to_f32(((const struct ws_bf16 *)numbers)[i]);
	return ((const float *)numbers)[i];
}

static __device__ __forceinline__ void set_number(void *numbers, int dtype, int64_t i, float x)
{
	if (dtype == WS_DTYPE_F16)
		((struct ws_f16 *)numbers)[i] = ws_from_f32<struct ws_f16>(x);
	else if (dtype == WS_DTYPE_BF16)
		((struct ws_bf16 *)numbers)[i] = ws_from_f32<struct ws_bf16>(x);
	else
		((float *)numbers)[i] = x;
}

struct running {
	void *mean, *var;
	float eps, momentum, rest; /* rest = 1 - momentum */
	int item_elements;         /* of one channel */
};

/* Moments of a channel, from those of its slices: every WARPS-th of a thread, in their order. */
static __device__ __forceinline__ struct moments
all_moments(const struct channels &c, const struct elements &e, int item_elements, int64_t channel)
{
	constexpr int WARPS = WS_SLICES_THREADS / WS_WARP;
	__shared__ struct moments part[WARPS][WS_WARP];
	int lane = threadIdx.x % WS_WARP, warp = threadIdx.x / WS_WARP;
	struct moments m = {0, 0, 0};

	for (int i = warp; i < e.slices && channel < c.channels; i += WARPS) {
		int64_t left = c.items - i * c.slice_items, at = i * c.channels + channel;
		int64_t items = left < c.slice_items ? left : c.slice_items;
		struct moments slice = {(float)(items * item_elements), e.sums[at],
		                        e.sums[e.slices * c.channels + at]};

		merge(&m, slice);
	}
	part[warp][lane] = m;
	__syncthreads();
	m = part[0][lane];
	for (int i = 1; i < WARPS; i++)
		merge(&m, part[i][lane]);
	return m;
}

/* running = (1 - momentum) running + momentum batch; the running variance is the unbiased one. */
static __global__ void __launch_bounds__(WS_SLICES_THREADS)
        ws_norm_batch_norm_statistics_fwd_f32(struct channels c, struct elements e,
                                              struct running r)
{
	int64_t channel = (int64_t)blockIdx.x * WS_WARP + threadIdx.x % WS_WARP;
	struct moments m = all_moments(c, e, r.item_elements, channel);
	float mean, var;

	if (threadIdx.x >= WS_WARP || channel >= c.channels)
		return;
	e.mean[channel] = m.mean;
	e.inverse[channel] = 1 / sqrtf(m.m2 / c.count + r.eps);
	mean = number(r.mean, e.dtype, channel);
	var = number(r.var, e.dtype, channel);
	set_number(r.mean, e.dtype, channel, r.rest * mean + r.momentum * m.mean);
	set_number(r.var, e.dtype, channel, r.rest * var + r.momentum * (m.m2 / (c.count - 1)));
}

/* --- forward: elements ----------------------------------------------------------------------- */

template <typename T, int N, bool RUN>
static __device__ __forceinline__ void normalise(const struct channels &c, const struct elements &e)
{
	constexpr int K = RUN ? 1 : N;
	struct walk w = walk_first<N, RUN>(c);
	float mean[K], scale[K], beta[K];

	if (!w.mine)
		return;
#pragma unroll
	for (int k = 0; k < K; k++) {
		mean[k] = e.mean[w.channel + k];
		scale[k] = e.inverse[w.channel + k] * number(e.gamma, e.dtype, w.channel + k);
		beta[k] = number(e.beta, e.dtype, w.channel + k);
	}
	for (; w.item < w.end; w.item += w.step * WS_BN_PACKS) {
		int64_t offset[WS_BN_PACKS];
		float v[WS_BN_PACKS][N];

#pragma unroll
		for (int u = 0; u < WS_BN_PACKS; u++) {
			int64_t item = w.item + u * w.step;

			offset[u] = offset_of<N, RUN>(c, w, item < w.end ? item : w.item);
			ws_load<T, N>((const T *)e.x + offset[u], v[u]);
		}
#pragma unroll
		for (int u = 0; u < WS_BN_PACKS; u++) {
#pragma unroll
			for (int k = 0; k < N; k++) {
				int i = RUN ? 0 : k;

				v[u][k] = (v[u][k] - mean[i]) * scale[i] + beta[i];
			}
			if (w.item + u * w.step < w.end)
				ws_store<T, N>((T *)e.y + offset[u], v[u]);
		}
	}
}

/* --- backward: sums -------------------------------------------------------------------------- */

struct grads {
	const void *dy, *x, *gamma;
	const float *mean, *inverse;
	void *dx;
	float *sums; /* [2][slices][channels]: dgamma, dbeta; then the totals, in the first slice */
	int dtype;   /* of gamma */
	int slices;
};

/* Sums of threads of a block that are `lanes` apart, into those of the first `lanes` threads. */
template <int K>
static __device__ __forceinline__ void add_groups(float (&a)[K], float (&b)[K], int lanes)
{
	__shared__ float all[2][K][WS_BN_THREADS];
	int self = threadIdx.x;

#pragma unroll
	for (int k = 0; k < K; k++) {
		all[0][k][self] = a[k];
		all[1][k][self] = b[k];
	}
	for (int half = WS_BN_THREADS / 2; half >= lanes; half /= 2) {
		__syncthreads();
		if (self >= half)
			continue;
#pragma unroll
		for (int k = 0; k < K; k++) {
			all[0][k][self] = a[k] += all[0][k][self + half];
			all[1][k][self] = b[k] += all[1][k][self + half];
		}
	}
}

/* With z = (x - mean) / deviation: dgamma = sum(dy z), dbeta = sum(dy). */
template <typename T, int N, bool RUN>
static __device__ __forceinline__ void slice_sums(const struct channels &c, const struct grads &g)
{
	constexpr int K = RUN ? 1 : N;
	struct walk w = walk_first<N, RUN>(c);
	float *to = g.sums + (int64_t)blockIdx.y * c.channels + w.channel;
	float mean[K], dgamma[K], dbeta[K];

#pragma unroll
	for (int k = 0; k < K; k++) {
		mean[k] = w.mine ? g.mean[w.channel + k] : 0;
		dgamma[k] = dbeta[k] = 0;
	}
	for (; w.item < w.end; w.item += w.step * WS_BN_GRADS) {
		float dy[WS_BN_GRADS][N], x[WS_BN_GRADS][N];

#pragma unroll
		for (int u = 0; u < WS_BN_GRADS; u++) {
			int64_t item = w.item + u * w.step;
			int64_t offset = offset_of<N, RUN>(c, w, item < w.end ? item : w.item);

			ws_load<T, N>((const T *)g.dy + offset, dy[u]);
			ws_load<T, N>((const T *)g.x + offset, x[u]);
		}
#pragma unroll
		for (int u = 0; u < WS_BN_GRADS; u++)
#pragma unroll
			for (int k = 0; k < N; k++) {
				int i = RUN ? 0 : k;

				if (w.item + u * w.step >= w.end)
					break;
				dgamma[i] += dy[u][k] * (x[u][k] - mean[i]);
				dbeta[i] += dy[u][k];
			}
	}
	add_groups<K>(dgamma, dbeta, c.lanes);
	if ((int)threadIdx.x >= c.lanes || !w.mine)
		return;
#pragma unroll
	for (int k = 0; k < K; k++) {
		to[k] = dgamma[k] * g.inverse[w.channel + k];
		to[gridDim.y * c.channels + k] = dbeta[k];
	}
}

static __global__ void __launch_bounds__(WS_SLICES_THREADS)
        ws_norm_batch_norm_grad_totals_bwd_f32(struct channels c, struct grads g, void *dgamma,
                                               void *dbeta)
{
	int64_t channel = (int64_t)blockIdx.x * WS_WARP + threadIdx.x % WS_WARP;
	float *sums[2] = {g.sums, g.sums + g.slices * c.channels};
	float total[2];

	for (int i = 0; i < 2; i++)
		total[i] = ws_slices_sum(sums[i], g.slices, c.channels, channel);
	if (threadIdx.x >= WS_WARP || channel >= c.channels)
		return;
	set_number(dgamma, g.dtype, channel, total[0]);
	set_number(dbeta, g.dtype, channel, total[1]);
	/* not rounded to a 16-bit dtype, for the elements */
	for (int i = 0; i < 2; i++)
		sums[i][channel] = total[i];
}

/* --- backward: elements ---------------------------------------------------------------------- */

/* dx = gamma / deviation (dy - dbeta / count - z dgamma / count) */
template <typename T, int N, bool RUN>
static __device__ __forceinline__ void grad_elements(const struct channels &c,
                                                     const struct grads &g)
{
	constexpr int K = RUN ? 1 : N;
	const float *dgamma = g.sums, *dbeta = g.sums + g.slices * c.channels;
	struct walk w = walk_first<N, RUN>(c);
	float mean[K], scale[K], shift[K], slope[K];

	if (!w.mine)
		return;
#pragma unroll
	for (int k = 0; k < K; k++) {
		int64_t i = w.channel + k;

		mean[k] = g.mean[i];
		scale[k] = number(g.gamma, g.dtype, i) * g.inverse[i];
		shift[k] = dbeta[i] / c.count;
		slope[k] = g.inverse[i] * (dgamma[i] / c.count);
	}
	for (; w.item < w.end; w.item += w.step * WS_BN_GRADS) {
		float dy[WS_BN_GRADS][N], x[WS_BN_GRADS][N];
		int64_t offset[WS_BN_GRADS];

#pragma unroll
		for (int u = 0; u < WS_BN_GRADS; u++) {
			int64_t item = w.item + u * w.step;

			offset[u] = offset_of<N, RUN>(c, w, item < w.end ? item : w.item);
			ws_load<T, N>((const T *)g.dy + offset[u], dy[u]);
			ws_load<T, N>((const T *)g.x + offset[u], x[u]);
		}
#pragma unroll
		for (int u = 0; u < WS_BN_GRADS; u++) {
#pragma unroll
			for (int k = 0; k < N; k++) {
				int i = RUN ? 0 : k;

				x[u][k] = (dy[u][k] - shift[i] - (x[u][k] - mean[i]) * slope[i]) *
				          scale[i];
			}
			if (w.item + u * w.step < w.end)
				ws_store<T, N>((T *)g.dx + offset[u], x[u]);
		}
	}
}

/* --- kernels --------------------------------------------------------------------------------- */

/* A kernel's body for what the tensor is like: stretches or rows, of whole packs or not. */
#define WS_BN_KERNEL(name, T, body, ...)                           \
	static __global__ void __launch_bounds__(WS_BN_THREADS, 3) \
	        name(struct channels c, __VA_ARGS__ a)             \
	{                                                          \
		constexpr int N = WS_ACCESS / sizeof(T);           \
                                                                   \
		if (c.run.value && c.whole)                        \
			body<T, N, true>(c, a);                    \
		else if (c.run.value)                              \
			body<T, 1, true>(c, a);                    \
		else if (c.whole)                                  \
			body<T, N, false>(c, a);                   \
		else                                               \
			body<T, 1, false>(c, a);                   \
	}

#define WS_BN_KERNELS(ID, T, suffix)                                                          \
	WS_BN_KERNEL(ws_norm_batch_norm_sums_fwd_##suffix, T, slice_moments, struct elements) \
	WS_BN_KERNEL(ws_norm_batch_norm_fwd_##suffix, T, normalise, struct elements)          \
	WS_BN_KERNEL(ws_norm_batch_norm_grad_sums_bwd_##suffix, T, slice_sums, struct grads)  \
	WS_BN_KERNEL(ws_norm_batch_norm_grad_bwd_##suffix, T, grad_elements, struct grads)
WS_CUDA_FLOATS(WS_BN_KERNELS)

/* --- launching ------------------------------------------------------------------------------- */

#define WS_BN_TURNS  4 /* of a thread of the kernels of elements: small blocks end together */
#define WS_BN_GRID_Y 65535

struct bn_plan {
	struct channels sums, elements; /* they differ in their slices */
	dim3 sums_grid, elements_grid;
	int slices, item_elements;
	unsigned channel_blocks; /* of kernels with a thread for each channel and slice */
};

/* packs: of a thread and turn of the kernel of elements. */
static struct bn_plan plan_of(const struct ws_op *op, int packs)
{
	const struct ws_channels *ch = &op->u.norm.ch;
	bool run = ch->inner > 1;
	int n = ws_columns_width(op->in[0], run ? ch->inner : ch->channels);
	struct ws_columns columns = ws_batch_norm_columns(op);
	struct bn_plan plan = {};
	struct channels *c = &plan.sums;

	c->channels = ch->channels;
	c->items = run ? ch->outer * (ch->inner / n) : ch->outer;
	c->slice_items = columns.slice_rows;
	c->lanes = run ? 1 : columns.lanes;
	c->whole = n > 1;
	c->count = (float)(ch->outer * ch->inner);
	if (run)
		c->run = ws_divisor_of(ch->inner / n);
	plan.elements = *c;
	c = &plan.elements;
	c->slice_items = (int64_t)(WS_BN_THREADS / c->lanes) * packs * WS_BN_TURNS;
	if (ws_div_up(c->items, c->slice_items) > WS_BN_GRID_Y)
		c->slice_items = ws_div_up(c->items, WS_BN_GRID_Y);
	plan.slices = columns.slices;
	plan.sums_grid = dim3((unsigned)columns.tiles, (unsigned)columns.slices);
	plan.elements_grid =
	        dim3((unsigned)columns.tiles, (unsigned)ws_div_up(c->items, c->slice_items));
	plan.item_elements = run ? n : 1;
	plan.channel_blocks = (unsigned)ws_div_up(ch->channels, WS_WARP);
	return plan;
}

extern "C" enum ws_status ws_cuda_batch_norm(const struct ws_cuda_launch *launch,
                                             const struct ws_op *op, struct ws_err *err)
{
	const struct ws_tensor *x = op->in[0], *gamma = op->in[1];
	struct bn_plan plan = plan_of(op, WS_BN_PACKS);
	struct elements e = {x->data,
	                     op->out[0]->data,
	                     gamma->data,
	                     op->in[2]->data,
	                     (float *)op->out[1]->data,
	                     (float *)op->out[2]->data,
	                     (float *)launch->scratch,
	                     gamma->dtype,
	                     plan.slices};
	struct running r = {op->in[3]->data,
	                    op->in[4]->data,
	                    (float)op->u.norm.eps,
	                    (float)op->u.norm.momentum,
	                    (float)(1 - op->u.norm.momentum),
	                    plan.item_elements};

	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	if (op->out[0]->dtype != x->dtype || !ws_dtype_is_float(gamma->dtype) ||
	    op->in[2]->dtype != gamma->dtype || op->in[3]->dtype != gamma->dtype ||
	    op->in[4]->dtype != gamma->dtype)
		return ws_cuda_no_kernel(op, err);
	switch (x->dtype) {
#define X(ID, T, suffix)                                                                           \
	case WS_DTYPE_##ID:                                                                        \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_batch_norm_sums_fwd_##suffix,            \
		                     plan.sums_grid, WS_BN_THREADS, 0, plan.sums, e));             \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_batch_norm_statistics_fwd_f32,           \
		                     plan.channel_blocks, WS_SLICES_THREADS, 0, plan.sums, e, r)); \
		return WS_LAUNCH(launch, err, ws_norm_batch_norm_fwd_##suffix, plan.elements_grid, \
		                 WS_BN_THREADS, 0, plan.elements, e);
		WS_CUDA_FLOATS(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

extern "C" enum ws_status ws_cuda_batch_norm_grad(const struct ws_cuda_launch *launch,
                                                  const struct ws_op *op, struct ws_err *err)
{
	const struct ws_tensor *dy = op->in[0], *x = op->in[1], *gamma = op->in[2];
	struct bn_plan plan = plan_of(op, WS_BN_GRADS);
	struct grads g = {dy->data,
	                  x->data,
	                  gamma->data,
	                  (const float *)op->in[3]->data,
	                  (const float *)op->in[4]->data,
	                  op->out[0]->data,
	                  (float *)launch->scratch,
	                  gamma->dtype,
	                  plan.slices};

	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	if (dy->dtype != x->dtype || op->out[0]->dtype != x->dtype ||
	    !ws_dtype_is_float(gamma->dtype) || op->out[1]->dtype != gamma->dtype ||
	    op->out[2]->dtype != gamma->dtype)
		return ws_cuda_no_kernel(op, err);
	switch (x->dtype) {
#define X(ID, T, suffix)                                                                      \
	case WS_DTYPE_##ID:                                                                   \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_batch_norm_grad_sums_bwd_##suffix,  \
		                     plan.sums_grid, WS_BN_THREADS, 0, plan.sums, g));        \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_batch_norm_grad_totals_bwd_f32,     \
		                     plan.channel_blocks, WS_SLICES_THREADS, 0, plan.sums, g, \
		                     op->out[1]->data, op->out[2]->data));                    \
		return WS_LAUNCH(launch, err, ws_norm_batch_norm_grad_bwd_##suffix,           \
		                 plan.elements_grid, WS_BN_THREADS, 0, plan.elements, g);
		WS_CUDA_FLOATS(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}
