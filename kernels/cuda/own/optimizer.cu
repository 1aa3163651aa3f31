/*
 * Optimizers, clipping and loss scaling. fp32 inside. Formulas and their order: layers.h.
 *
 * A launch processes many tensors at once, listed in its arguments, up to 4 KiB; each tensor has a
 * row of blocks.
 */
#include "kernels/cuda/own/kernel.cuh"

#define TENSORS 96 /* of a launch */

struct tensors {
	int64_t count[TENSORS];
	void *data[4][TENSORS];
};

/* --- updates ---------------------------------------------------------------------------------- */

struct update {
	const float *x, *y; /* numbers of the step, or NULL */
	struct ws_optimizer_factors f;
};
static_assert(sizeof(struct tensors) + sizeof(struct update) <= 4096, "arguments of a kernel");

template <enum ws_sub SUB, typename T, int N>
static __device__ __forceinline__ void update_tensor(const struct tensors &list,
                                                     const struct update &u)
{
	const float x = u.x ? *u.x : u.f.alpha, y = u.y ? *u.y : 0;
	T *at[WS_UPDATE_TENSORS];

	WS_UNROLL(k, WS_UPDATE_TENSORS)
		at[k] = (T *)list.data[k][blockIdx.y];
	WS_EACH_ITEM(pack, list.count[blockIdx.y] / N)
	{
		float v[WS_UPDATE_TENSORS][N] = {{0}};

		WS_UNROLL(k, WS_UPDATE_TENSORS)
			if (ws_update_reads(SUB, k) && at[k])
				ws_load<T, N>(at[k] + pack * N, v[k]);
		WS_UNROLL(i, N) {
			if (ws_update_is_fused(SUB))
				ws_optimizer_step(SUB, &u.f, x, y, &v[0][i], &v[1][i], &v[2][i],
				                  v[3][i]);
			else
				v[0][i] = ws_element(SUB, v[1][i], v[2][i], v[3][i], x);
		}
		WS_UNROLL(k, WS_UPDATE_TENSORS)
			if (ws_update_writes(SUB, k) && at[k])
				ws_store<T, N>(at[k] + pack * N, v[k]);
	}
}

/* X(sub, name, suffix, dtype and type of all tensors): numbers of the step are fp32 */
#define NUMBERED(X, SUB, name)                    \
	X(SUB, name, f32, F32, float)             \
	X(SUB, name, f32_f16, F16, struct ws_f16) \
	X(SUB, name, f32_bf16, BF16, struct ws_bf16)
#define PLAIN(X, SUB, name)                   \
	X(SUB, name, f32, F32, float)         \
	X(SUB, name, f16, F16, struct ws_f16) \
	X(SUB, name, bf16, BF16, struct ws_bf16)
#define UPDATE_LIST(X)                                \
	NUMBERED(X, ADAMW_CS336_ALL, adamw_cs336_all) \
	NUMBERED(X, ADAMW_ALL, adamw_all)             \
	NUMBERED(X, ADAM_ALL, adam_all)               \
	PLAIN(X, SGD_ALL, sgd_all)                    \
	PLAIN(X, EACH_LERP, each_lerp)                \
	PLAIN(X, EACH_SCALE, each_scale)              \
	PLAIN(X, EACH_ADD, each_add)                  \
	PLAIN(X, EACH_ADDCMUL, each_addcmul)          \
	PLAIN(X, EACH_SQRT, each_sqrt)                \
	PLAIN(X, EACH_ADD_CONST, each_add_const)      \
	NUMBERED(X, EACH_MUL, each_mul)               \
	NUMBERED(X, EACH_ADDCDIV, each_addcdiv)

#define X(SUB, name, suffix, ID, T)                                                               \
	WS_WIDE_KERNEL((WS_THREADS, 4), ws_optimizer_##name##_##suffix, WS_ACCESS / sizeof(T), 1, \
	               list.count[blockIdx.y] % N == 0, (struct tensors list, struct update u),   \
	               update_tensor<WS_SUB_##SUB, T, N>(list, u))
UPDATE_LIST(X)
#undef X

static enum ws_status update_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                    const struct tensors *list, dim3 grid, struct ws_err *err)
{
	int numbers = ws_update_numbers(op);
	struct update u = {numbers > 0 ? (const float *)op->in[0]->data : NULL,
	                   numbers > 1 ? (const float *)op->in[1]->data : NULL,
	                   ws_optimizer_factors_of(op)};

#define X(SUB, name, suffix, ID, T)                                                                \
	if (op->sub == WS_SUB_##SUB && op->out[0]->dtype == WS_DTYPE_##ID)                         \
		return WS_LAUNCH(launch, err, ws_optimizer_##name##_##suffix, grid, WS_THREADS, 0, \
		                 *list, u);
	UPDATE_LIST(X)
#undef X
	return ws_cuda_no_kernel(op, err);
}

/* As many rows of an op as fit into one launch, from *at on. */
static enum ws_status next_rows(const struct ws_op *op, int *at, struct tensors *list, int *n,
                                int64_t *most, struct ws_err *err)
{
	*n = 0;
	*most = 0;
	for (; *at < op->u.update.count && *n < TENSORS; ++*at, ++*n) {
		const struct ws_update_row *row = &op->u.update.list[*at];

		for (int k = 0; k < WS_UPDATE_TENSORS; k++) {
			WS_FAIL_IF(row->t[k] && !row->t[k]->data, err, BUG, "op %s: %s has no data",
			           op->message, row->t[k]->name);
			list->data[k][*n] = row->t[k] ? row->t[k]->data : NULL;
		}
		list->count[*n] = row->t[0]->count;
		*most = row->t[0]->count > *most ? row->t[0]->count : *most;
	}
	return WS_OK;
}

typedef enum ws_status launch_rows(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                   const struct tensors *list, dim3 grid, struct ws_err *err);

/* All rows of an op, in as few launches as possible. */
static enum ws_status launch_all(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                 launch_rows *launch_rows, struct ws_err *err)
{
	struct tensors list;
	int64_t most;
	int n;

	memset(&list, 0, sizeof(list));
	for (int at = 0; at < op->u.update.count;) {
		WS_FORWARD(next_rows(op, &at, &list, &n, &most, err));
		/* blocks for n tensors, the largest of `most` elements */
		const dim3 grid(ws_grid(launch, ws_div_up(most, WS_THREADS * 4), 4), (unsigned)n);

		WS_FORWARD(launch_rows(launch, op, &list, grid, err));
	}
	return WS_OK;
}

WS_LAUNCHER(update)
{
	return launch_all(launch, op, update_launch, err);
}

/* --- clipping --------------------------------------------------------------------------------- */

#define TOTAL_THREADS 1024

/* The sum of squares of a block's share of a tensor: blocks of all tensors follow one another. */
template <typename T, int N>
static __device__ __forceinline__ void squares(const struct tensors &list, float *sums)
{
	const T *at = (const T *)list.data[0][blockIdx.y];
	float sum = 0;

	WS_EACH_ITEM(pack, list.count[blockIdx.y] / N)
	{
		float v[N];

		ws_load<T, N>(at + pack * N, v);
		WS_UNROLL(i, N)
			sum += v[i] * v[i];
	}
	sum = ws_block_reduce<WS_REDUCE_SUM>(sum);
	if (threadIdx.x == 0)
		sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

#define CLIP_LIST(X)                   \
	X(f32, F32, float)             \
	X(f16_f32, F16, struct ws_f16) \
	X(bf16_f32, BF16, struct ws_bf16)

#define X(suffix, ID, T)                                                    \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_optimizer_clip_norm_##suffix, T, \
	               list.count[blockIdx.y] % N == 0, squares,            \
	               (struct tensors list, float *sums), list, sums)
CLIP_LIST(X)
#undef X

/* One block. */
static __global__ void __launch_bounds__(TOTAL_THREADS)
        ws_optimizer_clip_norm_total_f32(const float *sums, int64_t count, float largest, float *to)
{
	float sum = 0, factor;

	for (int64_t i = threadIdx.x; i < count; i += TOTAL_THREADS)
		sum += sums[i];
	sum = ws_block_reduce<WS_REDUCE_SUM>(sum);
	factor = largest / (sqrtf(sum) + (float)WS_CLIP_EPS);
	if (threadIdx.x == 0)
		*to = factor < 1 ? factor : 1;
}

WS_LAUNCHER(clip)
{
	float *sums = (float *)launch->scratch;
	struct tensors list;
	int64_t most, blocks;
	dim3 grid;
	int n;

	memset(&list, 0, sizeof(list));
	WS_FORWARD(ws_cuda_scratch_check(launch, op, err));
	for (int at = 0; at < op->u.update.count; sums += grid.x * grid.y) {
		WS_FORWARD(next_rows(op, &at, &list, &n, &most, err));
		blocks = ws_div_up(most, WS_THREADS * 32);
		grid = dim3((unsigned)(blocks < WS_CLIP_BLOCKS ? blocks : WS_CLIP_BLOCKS),
		            (unsigned)n);
		switch (op->in[0]->dtype) {
#define X(suffix, ID, T)                                                                 \
	case WS_DTYPE_##ID:                                                              \
		WS_FORWARD(WS_LAUNCH(launch, err, ws_optimizer_clip_norm_##suffix, grid, \
		                     WS_THREADS, 0, list, sums));                        \
		break;
			CLIP_LIST(X)
#undef X
		default:
			return ws_cuda_no_kernel(op, err);
		}
	}
	return WS_LAUNCH(launch, err, ws_optimizer_clip_norm_total_f32, 1, TOTAL_THREADS, 0,
	                 (const float *)launch->scratch, (int64_t)(sums - (float *)launch->scratch),
	                 (float)op->u.update.factors.alpha, (float *)op->out[0]->data);
}

/* --- loss scaling ---------------------------------------------------------------------------- */

/* y = x / scale, in place if T is U; sets the flag (or NULL) to 1 if a result is not finite. */
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

		ws_load_mixed<T, N>(list.data[WS_UPDATE_A][blockIdx.y], u.dtype, pack * N, v);
		WS_UNROLL(k, N) {
			finite &= v[k] - v[k] == 0; /* not of infinity, nor of NaN */
			v[k] *= inverse;
		}
		ws_store<T, N>((T *)list.data[WS_UPDATE_OUT][blockIdx.y] + pack * N, v);
	}
	if (!finite && u.found_inf)
		*u.found_inf = 1; /* whoever writes, writes the same */
}

/* X(suffix, dtype and type of the result); the scale is fp32 */
#define X(ID, T, suffix)                                                  \
	WS_PACK_KERNEL((WS_THREADS, 4), ws_optimizer_unscale_##suffix, T, \
	               list.count[blockIdx.y] % N == 0, unscale,          \
	               (struct tensors list, struct unscale u), list, u)
WS_CUDA_FLOATS_OF_F32(X)
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
#define X(ID, T, suffix)                                                                          \
	case WS_DTYPE_##ID:                                                                       \
		return WS_LAUNCH(launch, err, ws_optimizer_unscale_##suffix, grid, WS_THREADS, 0, \
		                 *list, u);
		WS_CUDA_FLOATS_OF_F32(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

WS_LAUNCHER(unscale)
{
	return launch_all(launch, op, unscale_launch, err);
}

WS_LAUNCHER(scale_update)
{
	if (op->out[0]->dtype != WS_DTYPE_F32)
		return ws_cuda_no_kernel(op, err);
	return WS_LAUNCH(launch, err, ws_optimizer_scale_update_f32, 1, WS_WARP, 0,
	                 (float *)op->out[0]->data, (int32_t *)op->out[1]->data,
	                 (const float *)op->in[2]->data, op->u.scaler);
}
