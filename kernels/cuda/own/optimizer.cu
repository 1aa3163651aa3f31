/*
 * AdamW of all parameters, and loss scaling. fp32 inside. Formulas and their order: optim.h.
 *
 * Both walk over many tensors at once: which, a launch is told by its arguments, of which 4 KiB
 * fit; a tensor has a row of blocks.
 */
#include "kernels/cuda/own/kernel.cuh"

#define TENSORS 96 /* of a launch */

struct tensors {
	int64_t count[TENSORS];
	void *data[4][TENSORS];
};

/* Blocks of a launch on `tensors` tensors, the largest of `most` elements. */
static inline dim3 tensors_grid(const struct ws_cuda_launch *launch, int tensors, int64_t most)
{
	return dim3(ws_grid(launch, ws_div_up(most, WS_THREADS * 4), 4), (unsigned)tensors);
}

/* --- AdamW ----------------------------------------------------------------------------------- */

enum { P, G, M, V };

struct adamw {
	const float *alpha; /* step size */
	float beta1, rest1, beta2, rest2, eps, decay;
};
static_assert(sizeof(struct tensors) + sizeof(struct adamw) <= 4096, "arguments of a kernel");

template <typename T, int N>
static __device__ __forceinline__ void update(const struct tensors &list, const struct adamw &a)
{
	const float alpha = *a.alpha;
	T *at[4];

	for (int k = 0; k < 4; k++)
		at[k] = (T *)list.data[k][blockIdx.y];
	WS_EACH_ITEM(pack, list.count[blockIdx.y] / N)
	{
		int64_t i = pack * N;
		float p[N], g[N], m[N], v[N];

		ws_load<T, N>(at[P] + i, p);
		ws_load<T, N>(at[G] + i, g);
		ws_load<T, N>(at[M] + i, m);
		ws_load<T, N>(at[V] + i, v);
		WS_UNROLL(k, N) {
			m[k] = a.beta1 * m[k] + a.rest1 * g[k];
			v[k] = a.beta2 * v[k] + a.rest2 * (g[k] * g[k]);
			p[k] -= m[k] * alpha / (sqrtf(v[k]) + a.eps);
			p[k] -= a.decay * p[k];
		}
		ws_store<T, N>(at[P] + i, p);
		ws_store<T, N>(at[M] + i, m);
		ws_store<T, N>(at[V] + i, v);
	}
}

/* X(suffix, dtype and type of parameters, gradients and moments); the step size is fp32 */
#define ADAMW_LIST(X)                  \
	X(f32, F32, float)             \
	X(f32_f16, F16, struct ws_f16) \
	X(f32_bf16, BF16, struct ws_bf16)

#define X(suffix, ID, T)                                                    \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_optimizer_adamw_all_##suffix, T, \
	               list.count[blockIdx.y] % N == 0, update,             \
	               (struct tensors list, struct adamw a), list, a)
ADAMW_LIST(X)
#undef X

static enum ws_status adamw_check(const struct ws_op *op, const struct ws_adamw_tensor *t,
                                  struct ws_err *err)
{
	enum ws_dtype dtype = op->out[0]->dtype;

	WS_FAIL_IF(!t->p->data || !t->g->data || !t->m->data || !t->v->data, err, BUG,
	           "op %s: a tensor of %s has no data", op->message, t->p->name);
	WS_FAIL_IF(t->p->dtype != dtype || t->g->dtype != dtype || t->m->dtype != dtype ||
	                   t->v->dtype != dtype,
	           err, BUG, "op %s: a tensor of %s is not %s, as the others are", op->message,
	           t->p->name, ws_dtype_name(dtype));
	return WS_OK;
}

static enum ws_status adamw_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                   const struct tensors *list, dim3 grid, struct ws_err *err)
{
	const struct ws_adamw_factors *f = &op->u.adamw.factors;
	struct adamw a = {(const float *)op->in[0]->data,
	                  (float)f->beta1,
	                  (float)(1 - f->beta1),
	                  (float)f->beta2,
	                  (float)(1 - f->beta2),
	                  (float)f->eps,
	                  (float)f->decay};

	switch (op->out[0]->dtype) {
#define X(suffix, ID, T)                                                                         \
	case WS_DTYPE_##ID:                                                                      \
		return WS_LAUNCH(launch, err, ws_optimizer_adamw_all_##suffix, grid, WS_THREADS, \
		                 0, *list, a);
		ADAMW_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

WS_LAUNCHER(adamw)
{
	struct tensors list;
	int64_t most = 0;
	int n = 0;

	memset(&list, 0, sizeof(list));
	for (int i = 0; i < op->u.adamw.count; i++) {
		const struct ws_adamw_tensor *t = &op->u.adamw.list[i];

		WS_FORWARD(adamw_check(op, t, err));
		list.count[n] = t->p->count;
		list.data[P][n] = t->p->data;
		list.data[G][n] = t->g->data;
		list.data[M][n] = t->m->data;
		list.data[V][n++] = t->v->data;
		most = t->p->count > most ? t->p->count : most;
		if (n < TENSORS && i + 1 < op->u.adamw.count)
			continue;
		WS_FORWARD(adamw_launch(launch, op, &list, tensors_grid(launch, n, most), err));
		n = 0;
		most = 0;
	}
	return WS_OK;
}

/* --- loss scaling ---------------------------------------------------------------------------- */

enum { FROM, TO };

/* y = x / scale, in place where T is U; 1 in the flag (or NULL) for what is not finite. */
struct unscale {
	const float *scale;
	float *found_inf;
	int dtype; /* of x: enum ws_dtype; gradients of masters are fp16, or fp32 already */
};

template <typename T, int N>
static __device__ __forceinline__ void unscale(const struct tensors &list, const struct unscale &u)
{
	/* the quotient of fp32 is that of double, rounded: as GradScaler makes it */
	const float inverse = 1 / *u.scale;
	bool finite = true;

	WS_EACH_ITEM(pack, list.count[blockIdx.y] / N)
	{
		float v[N];

		ws_load_mixed<T, N>(list.data[FROM][blockIdx.y], u.dtype, pack * N, v);
		WS_UNROLL(k, N) {
			finite &= v[k] - v[k] == 0; /* not of infinity, nor of NaN */
			v[k] *= inverse;
		}
		ws_store<T, N>((T *)list.data[TO][blockIdx.y] + pack * N, v);
	}
	if (!finite && u.found_inf)
		*u.found_inf = 1; /* whoever writes, writes the same */
}

#define X(suffix, ID, T)                                                  \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_optimizer_unscale_##suffix, T, \
	               list.count[blockIdx.y] % N == 0, unscale,          \
	               (struct tensors list, struct unscale u), list, u)
ADAMW_LIST(X)
#undef X

static __global__ void ws_optimizer_scale_update_f32(float *scale, int32_t *tracker,
                                                     const float *found_inf,
                                                     struct ws_scaler_rule rule)
{
	double value = *scale;

	if (threadIdx.x)
		return;
	ws_scaler_next(&rule, *found_inf != 0, &value, tracker);
	*scale = (float)value;
}

static enum ws_status unscale_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                     const struct tensors *list, dim3 grid, struct ws_err *err)
{
	enum ws_dtype in = op->in[0]->dtype, out = op->out[0]->dtype;
	struct unscale u = {(const float *)op->in[1]->data,
	                    op->in_count > 2 ? (float *)op->in[2]->data : NULL, in};

	if (in != out && !(in == WS_DTYPE_F16 && out == WS_DTYPE_F32))
		return ws_cuda_no_kernel(op, err);
	switch (out) {
#define X(suffix, ID, T)                                                                          \
	case WS_DTYPE_##ID:                                                                       \
		return WS_LAUNCH(launch, err, ws_optimizer_unscale_##suffix, grid, WS_THREADS, 0, \
		                 *list, u);
		ADAMW_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

WS_LAUNCHER(unscale)
{
	const struct ws_unscale_all *all = &op->u.unscale;
	int count = all->count ? all->count : 1, n = 0;
	struct tensors list;
	int64_t most = 0;

	memset(&list, 0, sizeof(list));
	for (int i = 0; i < count; i++) {
		const struct ws_tensor *x = all->count ? all->list[i] : op->in[0];

		WS_FAIL_IF(!x->data, err, BUG, "op %s: %s has no data", op->message, x->name);
		list.count[n] = x->count;
		list.data[FROM][n] = x->data;
		list.data[TO][n++] = all->count ? x->data : op->out[0]->data;
		most = x->count > most ? x->count : most;
		if (n < TENSORS && i + 1 < count)
			continue;
		WS_FORWARD(unscale_launch(launch, op, &list, tensors_grid(launch, n, most), err));
		n = 0;
		most = 0;
	}
	return WS_OK;
}

WS_LAUNCHER(scale_update)
{
	if (op->out[0]->dtype != WS_DTYPE_F32)
		return ws_cuda_no_kernel(op, err);
	return WS_LAUNCH(launch, err, ws_optimizer_scale_update_f32, 1, WS_WARP, 0,
	                 (float *)op->out[0]->data, (int32_t *)op->out[1]->data,
	                 (const float *)op->in[2]->data, op->u.scaler);
}
