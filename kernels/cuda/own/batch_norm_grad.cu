/* The gradient of batch norm (batch_norm.cuh). fp32 inside. */
#include "kernels/cuda/own/batch_norm.cuh"

#define WS_BN_GRADS 2 /* packs of a thread and turn, of two operands */

/* --- sums ------------------------------------------------------------------------------------ */

struct grads {
	const void *dy, *x, *gamma;
	const float *mean, *inverse;
	void *dx;
	float *sums; /* [2][slices][channels]: dgamma, dbeta; then the totals, in the first slice */
	int dtype;   /* of gamma */
	int slices;
};

/* With z = (x - mean) / deviation: dgamma = sum(dy z), dbeta = sum(dy). */
template <typename T, int N, bool RUN>
static __device__ __forceinline__ void slice_sums(const struct channels &c, const struct grads &g)
{
	constexpr int K = RUN ? 1 : N;
	struct walk w = walk_first<N, RUN>(c);
	float *to = g.sums + (int64_t)blockIdx.y * c.channels + w.channel;
	float mean[K], sum[2 * K]; /* of dgamma, of dbeta */

	WS_UNROLL(k, K) {
		mean[k] = w.mine ? g.mean[w.channel + k] : 0;
		sum[k] = sum[K + k] = 0;
	}
	for (; w.item < w.end; w.item += w.step * WS_BN_GRADS) {
		float dy[WS_BN_GRADS][N], x[WS_BN_GRADS][N];

		WS_UNROLL(u, WS_BN_GRADS) {
			int64_t item = w.item + u * w.step;
			int64_t offset = offset_of<N, RUN>(c, w, item < w.end ? item : w.item);

			ws_load<T, N>((const T *)g.dy + offset, dy[u]);
			ws_load<T, N>((const T *)g.x + offset, x[u]);
		}
		WS_UNROLL(u, WS_BN_GRADS)
			WS_UNROLL(k, N) {
				int i = RUN ? 0 : k;

				if (w.item + u * w.step >= w.end)
					break;
				sum[i] += dy[u][k] * (x[u][k] - mean[i]);
				sum[K + i] += dy[u][k];
			}
	}
	ws_add_groups<WS_BN_THREADS, 2 * K>(sum, c.lanes);
	if ((int)threadIdx.x >= c.lanes || !w.mine)
		return;
	WS_UNROLL(k, K) {
		to[k] = sum[k] * g.inverse[w.channel + k];
		to[gridDim.y * c.channels + k] = sum[K + k];
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

/* --- elements -------------------------------------------------------------------------------- */

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
	WS_UNROLL(k, K) {
		int64_t i = w.channel + k;

		mean[k] = g.mean[i];
		scale[k] = number(g.gamma, g.dtype, i) * g.inverse[i];
		shift[k] = dbeta[i] / c.count;
		slope[k] = g.inverse[i] * (dgamma[i] / c.count);
	}
	for (; w.item < w.end; w.item += w.step * WS_BN_GRADS) {
		float dy[WS_BN_GRADS][N], x[WS_BN_GRADS][N];
		int64_t offset[WS_BN_GRADS];

		WS_UNROLL(u, WS_BN_GRADS) {
			int64_t item = w.item + u * w.step;

			offset[u] = offset_of<N, RUN>(c, w, item < w.end ? item : w.item);
			ws_load<T, N>((const T *)g.dy + offset[u], dy[u]);
			ws_load<T, N>((const T *)g.x + offset[u], x[u]);
		}
		WS_UNROLL(u, WS_BN_GRADS) {
			WS_UNROLL(k, N) {
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

#define WS_BN_KERNELS(ID, T, suffix)                                                         \
	WS_BN_KERNEL(ws_norm_batch_norm_grad_sums_bwd_##suffix, T, slice_sums, struct grads) \
	WS_BN_KERNEL(ws_norm_batch_norm_grad_bwd_##suffix, T, grad_elements, struct grads)
WS_CUDA_FLOATS(WS_BN_KERNELS)

WS_LAUNCHER(batch_norm_grad)
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
