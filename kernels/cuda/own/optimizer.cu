/*
 * AdamW of all parameters, and loss scaling. fp32 inside.
 *
 * Both walk over chunks of tensors: which tensors, a launch is told by its arguments, of
 * which 4 KiB fit; the chunk of a block is found by halving. Formulas and their order: optim.h.
 */
#include "kernels/cuda/own/row.cuh"

#define WS_OPTIMIZER_THREADS 256
#define WS_LIST_CHUNK        8192 /* elements of a block */

/* --- AdamW ----------------------------------------------------------------------------------- */

#define WS_ADAMW_TENSORS 88 /* of a launch */

struct adamw_list {
	const float *alpha; /* step size */
	float beta1, rest1, beta2, rest2, eps, decay;
	int tensors;
	/* tensor i has the chunks first[i] ... first[i + 1] - 1 */
	int first[WS_ADAMW_TENSORS + 1];
	int64_t count[WS_ADAMW_TENSORS];
	void *p[WS_ADAMW_TENSORS], *m[WS_ADAMW_TENSORS], *v[WS_ADAMW_TENSORS];
	const void *g[WS_ADAMW_TENSORS];
};
static_assert(sizeof(struct adamw_list) <= 4096, "arguments of a kernel");

/* The last tensor that begins at a chunk or before it. */
template <typename List>
static __device__ __forceinline__ int tensor_of(const List &list, int chunk)
{
	int low = 0, high = list.tensors;

	while (high - low > 1) {
		int middle = (low + high) / 2;

		if (list.first[middle] <= chunk)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* What a block works on: `count` elements of a tensor from `begin` on, the first in whole packs. */
struct chunk {
	int tensor, count, whole;
	int64_t begin;
};

template <int N, typename List>
static __device__ __forceinline__ struct chunk chunk_of(const List &list)
{
	struct chunk c;
	int64_t left;

	c.tensor = tensor_of(list, (int)blockIdx.x);
	c.begin = (int64_t)((int)blockIdx.x - list.first[c.tensor]) * WS_LIST_CHUNK;
	left = list.count[c.tensor] - c.begin;
	c.count = left < WS_LIST_CHUNK ? (int)left : WS_LIST_CHUNK;
	c.whole = c.count / N * N;
	return c;
}

template <typename T, int N>
static __device__ __forceinline__ void update(const struct adamw_list &list, float alpha,
                                              const T *from, T *to_p, T *to_m, T *to_v)
{
	float p[N], g[N], m[N], v[N];

	ws_load<T, N>(to_p, p);
	ws_load<T, N>(from, g);
	ws_load<T, N>(to_m, m);
	ws_load<T, N>(to_v, v);
	WS_UNROLL(k, N) {
		m[k] = list.beta1 * m[k] + list.rest1 * g[k];
		v[k] = list.beta2 * v[k] + list.rest2 * (g[k] * g[k]);
		p[k] -= m[k] * alpha / (sqrtf(v[k]) + list.eps);
		p[k] -= list.decay * p[k];
	}
	ws_store<T, N>(to_p, p);
	ws_store<T, N>(to_m, m);
	ws_store<T, N>(to_v, v);
}

/* A chunk begins at a whole number of packs; the last of a tensor may end within one. */
template <typename T> static __device__ __forceinline__ void adamw(const struct adamw_list &list)
{
	constexpr int N = WS_ACCESS / sizeof(T);
	const struct chunk c = chunk_of<N>(list);
	const T *g = (const T *)list.g[c.tensor] + c.begin;
	T *p = (T *)list.p[c.tensor] + c.begin, *m = (T *)list.m[c.tensor] + c.begin;
	T *v = (T *)list.v[c.tensor] + c.begin;
	const float alpha = *list.alpha;
	int i = (int)threadIdx.x * N;

	for (; i < c.whole; i += WS_OPTIMIZER_THREADS * N)
		update<T, N>(list, alpha, g + i, p + i, m + i, v + i);
	i = c.whole + (int)threadIdx.x;
	if (i < c.count)
		update<T, 1>(list, alpha, g + i, p + i, m + i, v + i);
}

/* X(suffix, dtype and type of parameters, gradients and moments); the step size is fp32 */
#define WS_ADAMWS(X)                   \
	X(f32, F32, float)             \
	X(f32_f16, F16, struct ws_f16) \
	X(f32_bf16, BF16, struct ws_bf16)

#define WS_ADAMW_KERNEL(suffix, ID, T)                                    \
	static __global__ void __launch_bounds__(WS_OPTIMIZER_THREADS, 4) \
	        ws_optimizer_adamw_all_##suffix(struct adamw_list list)   \
	{                                                                 \
		adamw<T>(list);                                           \
	}
WS_ADAMWS(WS_ADAMW_KERNEL)

/* --- loss scaling ---------------------------------------------------------------------------- */

#define WS_UNSCALE_PACKS   4   /* of a thread and turn */
#define WS_UNSCALE_TENSORS 128 /* of a launch */

/* y = x / scale, in place where T is U; 1 in the flag (or NULL) for what is not finite. */
struct unscale_list {
	const float *scale;
	float *found_inf;
	int tensors;
	int first[WS_UNSCALE_TENSORS + 1]; /* as of AdamW */
	int64_t count[WS_UNSCALE_TENSORS];
	const void *x[WS_UNSCALE_TENSORS];
	void *y[WS_UNSCALE_TENSORS];
};
static_assert(sizeof(struct unscale_list) <= 4096 - sizeof(int), "arguments of a kernel");

/* v / scale; whether all of it is finite. */
template <int N> static __device__ __forceinline__ bool scaled(float (&v)[N], float inverse)
{
	bool finite = true;

	WS_UNROLL(k, N) {
		finite &= v[k] - v[k] == 0; /* not of infinity, nor of NaN */
		v[k] *= inverse;
	}
	return finite;
}

template <typename T, typename U>
static __device__ __forceinline__ void unscale(const struct unscale_list &list)
{
	constexpr int N = WS_ACCESS / (sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U));
	constexpr int STEP = WS_OPTIMIZER_THREADS * N;
	/* the quotient of fp32 is that of double, rounded: as GradScaler makes it */
	const float inverse = 1 / *list.scale;
	const struct chunk c = chunk_of<N>(list);
	const T *x = (const T *)list.x[c.tensor] + c.begin;
	U *y = (U *)list.y[c.tensor] + c.begin;
	int last = c.whole + (int)threadIdx.x;
	bool finite = true;

	for (int first = (int)threadIdx.x * N; first < c.whole; first += WS_UNSCALE_PACKS * STEP) {
		float v[WS_UNSCALE_PACKS][N];

		WS_UNROLL(i, WS_UNSCALE_PACKS)
			if (first + i * STEP < c.whole)
				ws_load<T, N>(x + first + i * STEP, v[i]);
		WS_UNROLL(i, WS_UNSCALE_PACKS)
			if (first + i * STEP < c.whole) {
				finite &= scaled<N>(v[i], inverse);
				ws_store<U, N>(y + first + i * STEP, v[i]);
			}
	}
	if (last < c.count) {
		float v[1];

		ws_load<T, 1>(x + last, v);
		finite &= scaled<1>(v, inverse);
		ws_store<U, 1>(y + last, v);
	}
	if (!finite && list.found_inf)
		*list.found_inf = 1; /* whoever writes, writes the same */
}

/* Gradients of masters are fp16, or fp32 already. */
static __global__ void __launch_bounds__(WS_OPTIMIZER_THREADS)
        ws_optimizer_unscale_f32(struct unscale_list list, int dtype)
{
	if (dtype == WS_DTYPE_F16)
		unscale<struct ws_f16, float>(list);
	else
		unscale<float, float>(list);
}

static __global__ void __launch_bounds__(WS_OPTIMIZER_THREADS)
        ws_optimizer_unscale_f32_f16(struct unscale_list list)
{
	unscale<struct ws_f16, struct ws_f16>(list);
}

static __global__ void __launch_bounds__(WS_OPTIMIZER_THREADS)
        ws_optimizer_unscale_f32_bf16(struct unscale_list list)
{
	unscale<struct ws_bf16, struct ws_bf16>(list);
}

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

/* --- launching ------------------------------------------------------------------------------- */

static enum ws_status adamw_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                   const struct adamw_list *list, struct ws_err *err)
{
	unsigned grid = (unsigned)list->first[list->tensors];

	switch (op->out[0]->dtype) {
#define X(suffix, ID, T)                                                             \
	case WS_DTYPE_##ID:                                                          \
		return WS_LAUNCH(launch, err, ws_optimizer_adamw_all_##suffix, grid, \
		                 WS_OPTIMIZER_THREADS, 0, *list);
		WS_ADAMWS(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

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

WS_LAUNCHER(adamw)
{
	const struct ws_adamw_factors *f = &op->u.adamw.factors;
	struct adamw_list list;
	int chunks = 0;

	memset(&list, 0, sizeof(list));
	list.alpha = (const float *)op->in[0]->data;
	list.beta1 = (float)f->beta1;
	list.rest1 = (float)(1 - f->beta1);
	list.beta2 = (float)f->beta2;
	list.rest2 = (float)(1 - f->beta2);
	list.eps = (float)f->eps;
	list.decay = (float)f->decay;
	for (int i = 0; i < op->u.adamw.count; i++) {
		const struct ws_adamw_tensor *t = &op->u.adamw.list[i];

		WS_FORWARD(adamw_check(op, t, err));
		list.count[list.tensors] = t->p->count;
		list.p[list.tensors] = t->p->data;
		list.g[list.tensors] = t->g->data;
		list.m[list.tensors] = t->m->data;
		list.v[list.tensors] = t->v->data;
		chunks += (int)ws_div_up(t->p->count, WS_LIST_CHUNK);
		list.first[++list.tensors] = chunks;
		if (list.tensors == WS_ADAMW_TENSORS || i + 1 == op->u.adamw.count) {
			WS_FORWARD(adamw_launch(launch, op, &list, err));
			list.tensors = chunks = 0;
		}
	}
	return WS_OK;
}

static enum ws_status unscale_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                     const struct unscale_list *list, struct ws_err *err)
{
	enum ws_dtype in = op->in[0]->dtype, out = op->out[0]->dtype;
	unsigned grid = (unsigned)list->first[list->tensors];

	if (out == WS_DTYPE_F32 && (in == WS_DTYPE_F32 || in == WS_DTYPE_F16))
		return WS_LAUNCH(launch, err, ws_optimizer_unscale_f32, grid, WS_OPTIMIZER_THREADS,
		                 0, *list, (int)in);
	if (out == WS_DTYPE_F16 && in == WS_DTYPE_F16)
		return WS_LAUNCH(launch, err, ws_optimizer_unscale_f32_f16, grid,
		                 WS_OPTIMIZER_THREADS, 0, *list);
	if (out == WS_DTYPE_BF16 && in == WS_DTYPE_BF16)
		return WS_LAUNCH(launch, err, ws_optimizer_unscale_f32_bf16, grid,
		                 WS_OPTIMIZER_THREADS, 0, *list);
	return ws_cuda_no_kernel(op, err);
}

WS_LAUNCHER(unscale)
{
	const struct ws_unscale_all *all = &op->u.unscale;
	int count = all->count ? all->count : 1, chunks = 0;
	struct unscale_list list;

	memset(&list, 0, sizeof(list));
	list.scale = (const float *)op->in[1]->data;
	list.found_inf = op->in_count > 2 ? (float *)op->in[2]->data : NULL;
	for (int i = 0; i < count; i++) {
		const struct ws_tensor *x = all->count ? all->list[i] : op->in[0];

		WS_FAIL_IF(!x->data, err, BUG, "op %s: %s has no data", op->message, x->name);
		list.count[list.tensors] = x->count;
		list.x[list.tensors] = x->data;
		list.y[list.tensors] = all->count ? x->data : op->out[0]->data;
		chunks += (int)ws_div_up(x->count, WS_LIST_CHUNK);
		list.first[++list.tensors] = chunks;
		if (list.tensors == WS_UNSCALE_TENSORS || i + 1 == count) {
			WS_FORWARD(unscale_launch(launch, op, &list, err));
			list.tensors = chunks = 0;
		}
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
