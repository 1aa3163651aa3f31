/*
 * Batch norm in training and its gradient (columns.cuh). fp32 inside. Three kernels each: two sums
 * of slices of every channel, their totals with what follows from them, and the elements.
 */
#include "kernels/cuda/own/columns.cuh"

/* A channel's sums are of what its elements differ from one of them: no large numbers. */
struct norm {
	const void *x;
	void *y;
	void *gamma, *beta, *running_mean, *running_var;
	float *mean, *inverse; /* inverse: 1 / deviation */
	float *sums;           /* [2][slices][channels]: of differences, of their squares */
	int dtype;             /* of gamma, beta and the running statistics: enum ws_dtype */
	struct ws_channels ch;
	float count; /* elements of a channel */
	float eps, momentum;
};

struct grads {
	const void *dy, *x, *gamma;
	const float *mean, *inverse;
	void *dx, *dgamma, *dbeta;
	float *sums; /* [2][slices][channels]: dgamma, dbeta; then the totals, in the first slice */
	int dtype;   /* of gamma */
	float count;
};

/* Numbers of channels: of the tensor's dtype or fp32. */
static __device__ __forceinline__ float number(const void *numbers, int dtype, int64_t i)
{
	float x[1];

	ws_load_mixed<float, 1>(numbers, dtype, i, x);
	return x[0];
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

/* The middle one of three elements of a channel, from which others differ by little. */
template <typename T>
static __device__ __forceinline__ float pivot(const struct norm &a, int64_t channel)
{
	float x[3], middle;

	WS_UNROLL(i, 3) {
		int64_t row = (a.ch.outer - 1) * i / 2 * a.ch.channels + channel;

		x[i] = ws_to_f32(((const T *)a.x)[row * a.ch.inner + (a.ch.inner - 1) * i / 2]);
	}
	middle = fmaxf(fminf(x[0], x[1]), fminf(fmaxf(x[0], x[1]), x[2]));
	return middle - middle == 0 ? middle : 0;
}

template <typename T, int N, bool RUN>
static __device__ __forceinline__ void moments(const struct channels &c, const struct norm &a)
{
	constexpr int K = RUN ? 1 : N;
	int64_t channel = ws_channel<N, RUN>(c);
	float first[K];

	WS_UNROLL(k, K)
		first[k] = channel < c.columns.channels ? pivot<T>(a, channel + k) : 0;
	ws_slice_sums<N, RUN, 2>(c, a.sums, [&](int64_t offset, float *sum) {
		float x[N];

		ws_load<T, N>((const T *)a.x + offset, x);
		WS_UNROLL(k, N) {
			float d = x[k] - first[RUN ? 0 : k];

			sum[RUN ? 0 : k] += d;
			sum[K + (RUN ? 0 : k)] += d * d;
		}
	});
}

/* running = (1 - momentum) running + momentum batch; the running variance is the unbiased one. */
template <typename T>
static __device__ __forceinline__ void statistics(const struct channels &c, const struct norm &a)
{
	int64_t channels = c.columns.channels, channel = ws_slices_column();
	float sum = ws_slices_sum(a.sums, c.columns.slices, channels);
	float squares =
	        ws_slices_sum(a.sums + c.columns.slices * channels, c.columns.slices, channels);
	float shift = sum / a.count, mean, m2, old;

	if (threadIdx.x >= WS_SLICES_COLUMNS || channel >= channels)
		return;
	mean = pivot<T>(a, channel) + shift;
	m2 = squares - sum * shift;
	m2 = m2 < 0 ? 0 : m2; /* a NaN stays one */
	a.mean[channel] = mean;
	a.inverse[channel] = 1 / sqrtf(m2 / a.count + a.eps);
	old = number(a.running_mean, a.dtype, channel);
	set_number(a.running_mean, a.dtype, channel, (1 - a.momentum) * old + a.momentum * mean);
	old = number(a.running_var, a.dtype, channel);
	set_number(a.running_var, a.dtype, channel,
	           (1 - a.momentum) * old + a.momentum * (m2 / (a.count - 1)));
}

/* y = (x - mean) gamma / deviation + beta */
template <typename T, int N, bool RUN>
static __device__ __forceinline__ void normalise(const struct channels &c, const struct norm &a)
{
	constexpr int K = RUN ? 1 : N;
	int64_t channel = ws_channel<N, RUN>(c);
	float mean[K], scale[K], beta[K];

	if (channel >= c.columns.channels)
		return;
	WS_UNROLL(k, K) {
		mean[k] = a.mean[channel + k];
		scale[k] = a.inverse[channel + k] * number(a.gamma, a.dtype, channel + k);
		beta[k] = number(a.beta, a.dtype, channel + k);
	}
	ws_each_pack<N, RUN>(c, [&](int64_t offset) {
		float x[N];

		ws_load<T, N>((const T *)a.x + offset, x);
		WS_UNROLL(k, N) {
			int i = RUN ? 0 : k;

			x[k] = (x[k] - mean[i]) * scale[i] + beta[i];
		}
		ws_store<T, N>((T *)a.y + offset, x);
	});
}

/* --- gradient -------------------------------------------------------------------------------- */

/* With z = (x - mean) / deviation: dgamma = sum(dy z), dbeta = sum(dy). */
template <typename T, int N, bool RUN>
static __device__ __forceinline__ void grad_sums(const struct channels &c, const struct grads &a)
{
	constexpr int K = RUN ? 1 : N;
	int64_t channel = ws_channel<N, RUN>(c);
	float mean[K], inverse[K];

	WS_UNROLL(k, K) {
		mean[k] = channel < c.columns.channels ? a.mean[channel + k] : 0;
		inverse[k] = channel < c.columns.channels ? a.inverse[channel + k] : 0;
	}
	ws_slice_sums<N, RUN, 2>(c, a.sums, [&](int64_t offset, float *sum) {
		float dy[N], x[N];

		ws_load<T, N>((const T *)a.dy + offset, dy);
		ws_load<T, N>((const T *)a.x + offset, x);
		WS_UNROLL(k, N) {
			int i = RUN ? 0 : k;

			sum[i] += dy[k] * (x[k] - mean[i]) * inverse[i];
			sum[K + i] += dy[k];
		}
	});
}

/* The totals are kept for the elements: not rounded to a 16-bit dtype. */
static __global__ void __launch_bounds__(WS_COLUMNS_THREADS)
        ws_norm_batch_norm_grad_totals_bwd_f32(struct channels c, struct grads a)
{
	int64_t channels = c.columns.channels, channel = ws_slices_column();
	float *sums[2] = {a.sums, a.sums + c.columns.slices * channels}, total[2];

	for (int i = 0; i < 2; i++)
		total[i] = ws_slices_sum(sums[i], c.columns.slices, channels);
	if (threadIdx.x >= WS_SLICES_COLUMNS || channel >= channels)
		return;
	set_number(a.dgamma, a.dtype, channel, total[0]);
	set_number(a.dbeta, a.dtype, channel, total[1]);
	for (int i = 0; i < 2; i++)
		sums[i][channel] = total[i];
}

/* dx = gamma / deviation (dy - dbeta / count - z dgamma / count) */
template <typename T, int N, bool RUN>
static __device__ __forceinline__ void grad_elements(const struct channels &c,
                                                     const struct grads &a)
{
	constexpr int K = RUN ? 1 : N;
	const float *dgamma = a.sums, *dbeta = a.sums + c.columns.slices * c.columns.channels;
	int64_t channel = ws_channel<N, RUN>(c);
	float mean[K], scale[K], shift[K], slope[K];

	if (channel >= c.columns.channels)
		return;
	WS_UNROLL(k, K) {
		int64_t i = channel + k;

		mean[k] = a.mean[i];
		scale[k] = number(a.gamma, a.dtype, i) * a.inverse[i];
		shift[k] = dbeta[i] / a.count;
		slope[k] = a.inverse[i] * (dgamma[i] / a.count);
	}
	ws_each_pack<N, RUN>(c, [&](int64_t offset) {
		float dy[N], x[N];

		ws_load<T, N>((const T *)a.dy + offset, dy);
		ws_load<T, N>((const T *)a.x + offset, x);
		WS_UNROLL(k, N) {
			int i = RUN ? 0 : k;

			x[k] = (dy[k] - shift[i] - (x[k] - mean[i]) * slope[i]) * scale[i];
		}
		ws_store<T, N>((T *)a.dx + offset, x);
	});
}

/* --- kernels --------------------------------------------------------------------------------- */

#define KERNELS(ID, T, suffix)                                                                   \
	WS_CHANNEL_KERNEL(ws_norm_batch_norm_sums_fwd_##suffix, T, moments, struct norm)         \
	static __global__ void __launch_bounds__(WS_COLUMNS_THREADS)                             \
	        ws_norm_batch_norm_statistics_fwd_##suffix(struct channels c, struct norm a)     \
	{                                                                                        \
		statistics<T>(c, a);                                                             \
	}                                                                                        \
	WS_CHANNEL_KERNEL(ws_norm_batch_norm_fwd_##suffix, T, normalise, struct norm)            \
	WS_CHANNEL_KERNEL(ws_norm_batch_norm_grad_sums_bwd_##suffix, T, grad_sums, struct grads) \
	WS_CHANNEL_KERNEL(ws_norm_batch_norm_grad_bwd_##suffix, T, grad_elements, struct grads)
WS_CUDA_FLOATS(KERNELS)

WS_LAUNCHER(batch_norm)
{
	const struct channels c = channels_of(op);
	const struct ws_channels *ch = &op->u.norm.ch;
	const struct ws_tensor *x = op->in[0], *gamma = op->in[1];
	const dim3 grid = channels_grid(c);
	struct norm a;

	a.x = x->data;
	a.y = op->out[0]->data;
	a.gamma = gamma->data;
	a.beta = op->in[2]->data;
	a.running_mean = op->in[3]->data;
	a.running_var = op->in[4]->data;
	a.mean = (float *)op->out[1]->data;
	a.inverse = (float *)op->out[2]->data;
	a.sums = (float *)launch->scratch;
	a.dtype = gamma->dtype;
	a.ch = *ch;
	a.count = (float)(ch->outer * ch->inner);
	a.eps = (float)op->u.norm.eps;
	a.momentum = (float)op->u.norm.momentum;
	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	if (op->out[0]->dtype != x->dtype || !ws_dtype_is_float(gamma->dtype) ||
	    op->in[2]->dtype != gamma->dtype || op->in[3]->dtype != gamma->dtype ||
	    op->in[4]->dtype != gamma->dtype)
		return ws_cuda_no_kernel(op, err);
	switch (x->dtype) {
#define X(ID, T, suffix)                                                                           \
	case WS_DTYPE_##ID:                                                                        \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_batch_norm_sums_fwd_##suffix, grid,      \
		                     WS_COLUMNS_THREADS, 0, c, a));                                \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_batch_norm_statistics_fwd_##suffix,      \
		                     ws_slices_grid(c.columns.channels), WS_COLUMNS_THREADS, 0, c, \
		                     a));                                                          \
		return WS_LAUNCH(launch, err, ws_norm_batch_norm_fwd_##suffix, grid,               \
		                 WS_COLUMNS_THREADS, 0, c, a);
		WS_CUDA_FLOATS(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

WS_LAUNCHER(batch_norm_grad)
{
	const struct channels c = channels_of(op);
	const struct ws_channels *ch = &op->u.norm.ch;
	const struct ws_tensor *dy = op->in[0], *x = op->in[1], *gamma = op->in[2];
	const dim3 grid = channels_grid(c);
	struct grads a;

	a.dy = dy->data;
	a.x = x->data;
	a.gamma = gamma->data;
	a.mean = (const float *)op->in[3]->data;
	a.inverse = (const float *)op->in[4]->data;
	a.dx = op->out[0]->data;
	a.dgamma = op->out[1]->data;
	a.dbeta = op->out[2]->data;
	a.sums = (float *)launch->scratch;
	a.dtype = gamma->dtype;
	a.count = (float)(ch->outer * ch->inner);
	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	if (dy->dtype != x->dtype || op->out[0]->dtype != x->dtype ||
	    !ws_dtype_is_float(gamma->dtype) || op->out[1]->dtype != gamma->dtype ||
	    op->out[2]->dtype != gamma->dtype)
		return ws_cuda_no_kernel(op, err);
	switch (x->dtype) {
#define X(ID, T, suffix)                                                                           \
	case WS_DTYPE_##ID:                                                                        \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_batch_norm_grad_sums_bwd_##suffix, grid, \
		                     WS_COLUMNS_THREADS, 0, c, a));                                \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_norm_batch_norm_grad_totals_bwd_f32,          \
		                     ws_slices_grid(c.columns.channels), WS_COLUMNS_THREADS, 0, c, \
		                     a));                                                          \
		return WS_LAUNCH(launch, err, ws_norm_batch_norm_grad_bwd_##suffix, grid,          \
		                 WS_COLUMNS_THREADS, 0, c, a);
		WS_CUDA_FLOATS(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}
