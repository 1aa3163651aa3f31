/*
 * Batch norm in training (batch_norm.cuh). fp32 inside.
 *
 * Variances are no differences of large numbers: a thread takes mean and squared deviations of a
 * few elements at a time and merges them (Chan, Golub and LeVeque 1979), as do threads and slices.
 */
#include "kernels/cuda/own/batch_norm.cuh"

#define WS_BN_PACKS 4 /* of a thread and turn: 64 bytes on their way */

/* --- mean and squared deviations ------------------------------------------------------------- */

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

	WS_UNROLL(u, WS_BN_PACKS)
		WS_UNROLL(i, SHARE)
			sum += u < valid ? x[u][RUN ? i : k] : 0;
	m.mean = sum / m.n;
	WS_UNROLL(u, WS_BN_PACKS)
		WS_UNROLL(i, SHARE) {
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

	WS_UNROLL(k, K) {
		mean[k][self] = m[k].mean;
		m2[k][self] = m[k].m2;
	}
	n[self] = m[0].n;
	for (int half = WS_BN_THREADS / 2; half >= lanes; half /= 2) {
		__syncthreads();
		if (self >= half)
			continue;
		WS_UNROLL(k, K) {
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

	WS_UNROLL(k, K)
		m[k] = {0, 0, 0};
	for (; w.item < w.end; w.item += w.step * WS_BN_PACKS) {
		float v[WS_BN_PACKS][N];
		int valid = 0;

		WS_UNROLL(u, WS_BN_PACKS) {
			int64_t item = w.item + u * w.step;
			int64_t offset = offset_of<N, RUN>(c, w, item < w.end ? item : w.item);

			valid += item < w.end;
			ws_load<T, N>((const T *)e.x + offset, v[u]);
		}
		WS_UNROLL(k, K)
			merge(&m[k], few<N, RUN>(v, k, valid));
	}
	merge_groups<K>(m, c.lanes);
	if ((int)threadIdx.x >= c.lanes || !w.mine)
		return;
	WS_UNROLL(k, K) {
		to[k] = m[k].mean;
		to[gridDim.y * c.channels + k] = m[k].m2;
	}
}

/* --- what follows for a channel -------------------------------------------------------------- */

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

/* --- elements -------------------------------------------------------------------------------- */

template <typename T, int N, bool RUN>
static __device__ __forceinline__ void normalise(const struct channels &c, const struct elements &e)
{
	constexpr int K = RUN ? 1 : N;
	struct walk w = walk_first<N, RUN>(c);
	float mean[K], scale[K], beta[K];

	if (!w.mine)
		return;
	WS_UNROLL(k, K) {
		mean[k] = e.mean[w.channel + k];
		scale[k] = e.inverse[w.channel + k] * number(e.gamma, e.dtype, w.channel + k);
		beta[k] = number(e.beta, e.dtype, w.channel + k);
	}
	for (; w.item < w.end; w.item += w.step * WS_BN_PACKS) {
		int64_t offset[WS_BN_PACKS];
		float v[WS_BN_PACKS][N];

		WS_UNROLL(u, WS_BN_PACKS) {
			int64_t item = w.item + u * w.step;

			offset[u] = offset_of<N, RUN>(c, w, item < w.end ? item : w.item);
			ws_load<T, N>((const T *)e.x + offset[u], v[u]);
		}
		WS_UNROLL(u, WS_BN_PACKS) {
			WS_UNROLL(k, N) {
				int i = RUN ? 0 : k;

				v[u][k] = (v[u][k] - mean[i]) * scale[i] + beta[i];
			}
			if (w.item + u * w.step < w.end)
				ws_store<T, N>((T *)e.y + offset[u], v[u]);
		}
	}
}

/* --- kernels --------------------------------------------------------------------------------- */

#define WS_BN_KERNELS(ID, T, suffix)                                                          \
	WS_BN_KERNEL(ws_norm_batch_norm_sums_fwd_##suffix, T, slice_moments, struct elements) \
	WS_BN_KERNEL(ws_norm_batch_norm_fwd_##suffix, T, normalise, struct elements)
WS_CUDA_FLOATS(WS_BN_KERNELS)

WS_LAUNCHER(batch_norm)
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
