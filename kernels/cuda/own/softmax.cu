/*
 * Causal softmax and its gradient. Row r of [.., T, T] has r mod T + 1 visible columns; the
 * others are not read and become 0. fp32 inside.
 *
 * Rows of 1024 columns or less (256 where they are not aligned) belong to a warp and stay in its
 * registers: a lane holds 8, 16 or 32 elements of a row, and of short rows several, so that
 * enough bytes are on their way. Longer rows belong to a block. Forward keeps up to 12,160
 * columns in shared memory and reads what is longer again; the gradient always reads again, from
 * the cache where its row just went.
 */
#include "kernels/cuda/own/row.cuh"

#define WS_SOFTMAX_THREADS 256

struct softmax_rows {
	int64_t rows, cols;
	float scale; /* forward: times log2(e), for exp(x) = 2^(x log2(e)) is one instruction */
	bool keep;   /* a row fits the shared memory of the launch */
};

/* Columns of the longest row that a warp holds; n: elements of an access. */
static inline int64_t warp_columns(int n)
{
	return WS_WARP * (n > 1 ? 32 : 8);
}

/* The maxima skip a NaN, which the exponential of its difference to any of them still is. */
static __device__ __forceinline__ float warp_max(float x)
{
	for (int step = WS_WARP / 2; step; step /= 2)
		x = fmaxf(x, __shfl_xor_sync(WS_FULL, x, step));
	return x;
}

/* --- rows of a warp --------------------------------------------------------------------------- */

/* The rows that a warp has next, and how many columns of each are visible: 0 of none. */
template <int ROWS> struct warp_turn {
	int64_t row, step;
	int position, position_step; /* row mod cols */
	int visible[ROWS];
};

template <int ROWS>
static __device__ __forceinline__ void turn_first(struct warp_turn<ROWS> *turn, int64_t cols)
{
	int64_t warps = blockDim.x / WS_WARP;

	turn->row = (blockIdx.x * warps + threadIdx.x / WS_WARP) * ROWS;
	turn->step = gridDim.x * warps * ROWS;
	turn->position = (int)(turn->row % cols);
	turn->position_step = (int)(turn->step % cols);
}

template <int ROWS>
static __device__ __forceinline__ void turn_open(struct warp_turn<ROWS> *turn, int64_t rows,
                                                 int cols)
{
	WS_UNROLL(r, ROWS)
		turn->visible[r] = turn->row + r < rows ? (turn->position + r) % cols + 1 : 0;
}

template <int ROWS>
static __device__ __forceinline__ void turn_next(struct warp_turn<ROWS> *turn, int cols)
{
	turn->row += turn->step;
	turn->position += turn->position_step;
	if (turn->position >= cols)
		turn->position -= cols;
}

/* First column of pack i of a lane. */
template <int N> static __device__ __forceinline__ int lane_column(int i)
{
	return (i * WS_WARP + (int)threadIdx.x % WS_WARP) * N;
}

/* scale * x of a row, -infinity where nothing is visible. */
template <typename T, int N, int E>
static __device__ __forceinline__ void load_scaled(const T *x, int visible, float scale,
                                                   float (&v)[E])
{
	WS_UNROLL(i, E / N) {
		int col = lane_column<N>(i);
		float part[N];

		if (col < visible)
			ws_load<T, N>(x + col, part);
		WS_UNROLL(k, N)
			v[i * N + k] = col + k < visible ? scale * part[k] : -INFINITY;
	}
}

template <typename T, int N, int E>
static __device__ __forceinline__ void store_softmax(T *y, int visible, int cols, float inverse,
                                                     const float (&v)[E])
{
	WS_UNROLL(i, E / N) {
		int col = lane_column<N>(i);
		float part[N];

		WS_UNROLL(k, N)
			part[k] = col + k < visible ? v[i * N + k] * inverse : 0;
		if (col < cols)
			ws_store<T, N>(y + col, part);
	}
}

template <typename T, int N, int E>
static __device__ __forceinline__ void softmax_warps(const T *x, T *y, struct softmax_rows all)
{
	constexpr int ROWS = N > 1 && E < 16 ? 16 / E : 1;
	int cols = (int)all.cols;
	struct warp_turn<ROWS> turn;

	for (turn_first(&turn, cols); turn.row < all.rows; turn_next(&turn, cols)) {
		float v[ROWS][E], max[ROWS], sum[ROWS];

		turn_open(&turn, all.rows, cols);
		WS_UNROLL(r, ROWS)
			load_scaled<T, N, E>(x + (turn.row + r) * cols, turn.visible[r], all.scale,
			                     v[r]);
		WS_UNROLL(r, ROWS) {
			max[r] = v[r][0];
#pragma unroll
			for (int e = 1; e < E; e++)
				max[r] = fmaxf(max[r], v[r][e]);
			max[r] = warp_max(max[r]);
		}
		WS_UNROLL(r, ROWS) {
			sum[r] = 0;
			WS_UNROLL(e, E) {
				v[r][e] = exp2f(v[r][e] - max[r]);
				sum[r] += v[r][e];
			}
			sum[r] = ws_warp_sum(sum[r]);
		}
		WS_UNROLL(r, ROWS)
			if (turn.visible[r])
				store_softmax<T, N, E>(y + (turn.row + r) * cols, turn.visible[r],
				                       cols, 1 / sum[r], v[r]);
	}
}

/* dx = scale y (dy - sum(dy y)); the operands stay as they were read: half the registers. */
template <typename T, int N, int E>
static __device__ __forceinline__ void softmax_grad_warps(const T *dy, const T *y, T *dx,
                                                          struct softmax_rows all)
{
	constexpr int ROWS = N > 1 ? 32 / E : 1;
	typedef struct ws_pack<T, N> pack;
	int cols = (int)all.cols;
	struct warp_turn<ROWS> turn;

	for (turn_first(&turn, cols); turn.row < all.rows; turn_next(&turn, cols)) {
		pack a[ROWS][E / N], b[ROWS][E / N];
		float sum[ROWS];

		turn_open(&turn, all.rows, cols);
		WS_UNROLL(r, ROWS) {
			int64_t offset = (turn.row + r) * cols;

			WS_UNROLL(i, E / N) {
				int col = lane_column<N>(i);

				if (col < turn.visible[r]) {
					a[r][i] = *(const pack *)(dy + offset + col);
					b[r][i] = *(const pack *)(y + offset + col);
				}
			}
		}
		WS_UNROLL(r, ROWS) {
			sum[r] = 0;
			WS_UNROLL(e, E)
				if (lane_column<N>(e / N) + e % N < turn.visible[r])
					sum[r] += ws_to_f32(a[r][e / N].at[e % N]) *
					          ws_to_f32(b[r][e / N].at[e % N]);
			sum[r] = ws_warp_sum(sum[r]);
		}
		WS_UNROLL(r, ROWS)
			WS_UNROLL(i, E / N) {
				int col = lane_column<N>(i);
				float part[N];

				WS_UNROLL(k, N)
					part[k] = col + k < turn.visible[r]
					                  ? all.scale * ws_to_f32(b[r][i].at[k]) *
					                            (ws_to_f32(a[r][i].at[k]) -
					                             sum[r])
					                  : 0;
				if (turn.visible[r] && col < cols)
					ws_store<T, N>(dx + (turn.row + r) * cols + col, part);
			}
	}
}

/* --- rows of a block -------------------------------------------------------------------------- */

/* Maximum of the scaled visible columns; keeps them, where they fit. */
template <typename T, int N>
static __device__ __forceinline__ float block_max(const T *x, int64_t visible,
                                                  const struct softmax_rows *all, float *row)
{
	int64_t step = (int64_t)blockDim.x * N;
	float max = -INFINITY;
	int turn = 0;

#pragma unroll 4
	for (int64_t col = (int64_t)threadIdx.x * N; col < visible; col += step, turn++) {
		float v[N];

		ws_load<T, N>(x + col, v);
		WS_UNROLL(k, N) {
			v[k] = col + k < visible ? all->scale * v[k] : -INFINITY;
			max = fmaxf(max, v[k]);
		}
		if (all->keep)
			ws_row_keep<N>(row, turn, v);
	}
	return max;
}

/* exp(scale * x - max) of a turn's columns, from what block_max() kept or from memory. */
template <typename T, int N>
static __device__ __forceinline__ void block_exp(const T *x, int64_t col, int64_t visible,
                                                 float max, const struct softmax_rows *all,
                                                 float *row, int turn, float (&v)[N])
{
	if (all->keep)
		ws_row_kept<N>(row, turn, v);
	else
		ws_load<T, N>(x + col, v);
	WS_UNROLL(k, N)
		v[k] = col + k < visible ? exp2f((all->keep ? v[k] : all->scale * v[k]) - max) : 0;
}

template <typename T, int N>
static __device__ __forceinline__ void softmax_blocks(const T *x, T *y, struct softmax_rows all)
{
	__shared__ float partial[WS_WARP];
	WS_SHARED_DYNAMIC(float, kept);
	int64_t step = (int64_t)blockDim.x * N;

	for (int64_t row = blockIdx.x; row < all.rows; row += gridDim.x) {
		int64_t visible = row % all.cols + 1, first = (int64_t)threadIdx.x * N, col;
		const T *from = x + row * all.cols;
		float max = ws_block_max(block_max<T, N>(from, visible, &all, kept), partial);
		float sum = 0, inverse, v[N];
		int turn = 0;

		for (col = first; col < visible; col += step, turn++) {
			block_exp<T, N>(from, col, visible, max, &all, kept, turn, v);
			WS_UNROLL(k, N)
				sum += v[k];
			if (all.keep)
				ws_row_keep<N>(kept, turn, v);
		}
		inverse = 1 / ws_block_sum(sum, partial);
		for (col = first, turn = 0; col < all.cols; col += step, turn++) {
			if (col >= visible)
				for (int k = 0; k < N; k++)
					v[k] = 0;
			else if (all.keep)
				ws_row_kept<N>(kept, turn, v);
			else
				block_exp<T, N>(from, col, visible, max, &all, kept, turn, v);
			WS_UNROLL(k, N)
				v[k] = col + k < visible ? v[k] * inverse : 0;
			ws_store<T, N>(y + row * all.cols + col, v);
		}
	}
}

/* Reads its operands twice; between the two lies one row, so that the second comes from cache. */
template <typename T, int N>
static __device__ __forceinline__ void softmax_grad_blocks(const T *dy, const T *y, T *dx,
                                                           struct softmax_rows all)
{
	__shared__ float partial[WS_WARP];
	int64_t step = (int64_t)blockDim.x * N;

	for (int64_t row = blockIdx.x; row < all.rows; row += gridDim.x) {
		int64_t visible = row % all.cols + 1, offset = row * all.cols;
		int64_t first = (int64_t)threadIdx.x * N;
		float sum = 0, a[N], b[N];

#pragma unroll 4
		for (int64_t col = first; col < visible; col += step) {
			ws_load<T, N>(dy + offset + col, a);
			ws_load<T, N>(y + offset + col, b);
			WS_UNROLL(k, N)
				sum += col + k < visible ? a[k] * b[k] : 0;
		}
		sum = ws_block_sum(sum, partial);
		for (int64_t col = first; col < all.cols; col += step) {
			if (col < visible) {
				ws_load<T, N>(dy + offset + col, a);
				ws_load<T, N>(y + offset + col, b);
			}
			WS_UNROLL(k, N)
				a[k] = col + k < visible ? all.scale * b[k] * (a[k] - sum) : 0;
			ws_store<T, N>(dx + offset + col, a);
		}
	}
}

/* --- kernels ---------------------------------------------------------------------------------- */

template <typename T, int N>
static __device__ __forceinline__ void softmax(const T *x, T *y, struct softmax_rows all)
{
	if (all.cols <= 8 * WS_WARP)
		softmax_warps<T, N, 8>(x, y, all);
	else if (N > 1 && all.cols <= 16 * WS_WARP)
		softmax_warps<T, N, 16>(x, y, all);
	else if (N > 1 && all.cols <= 32 * WS_WARP)
		softmax_warps<T, N, 32>(x, y, all);
	else
		softmax_blocks<T, N>(x, y, all);
}

template <typename T, int N>
static __device__ __forceinline__ void softmax_grad(const T *dy, const T *y, T *dx,
                                                    struct softmax_rows all)
{
	if (all.cols <= 8 * WS_WARP)
		softmax_grad_warps<T, N, 8>(dy, y, dx, all);
	else if (N > 1 && all.cols <= 16 * WS_WARP)
		softmax_grad_warps<T, N, 16>(dy, y, dx, all);
	else if (N > 1 && all.cols <= 32 * WS_WARP)
		softmax_grad_warps<T, N, 32>(dy, y, dx, all);
	else
		softmax_grad_blocks<T, N>(dy, y, dx, all);
}

#define WS_SOFTMAX_KERNELS(ID, T, suffix)                                                          \
	WS_PACK_KERNEL((WS_SOFTMAX_THREADS, 4), ws_softmax_causal_softmax_fwd_##suffix, T,         \
	               all.cols % N == 0, softmax, (const T *x, T *y, struct softmax_rows all), x, \
	               y, all)                                                                     \
	WS_PACK_KERNEL((WS_SOFTMAX_THREADS, 2), ws_softmax_causal_softmax_grad_bwd_##suffix, T,    \
	               all.cols % N == 0, softmax_grad,                                            \
	               (const T *dy, const T *y, T *dx, struct softmax_rows all), dy, y, dx, all)
WS_CUDA_FLOATS(WS_SOFTMAX_KERNELS)

/* --- launching -------------------------------------------------------------------------------- */

struct softmax_launch {
	struct softmax_rows all;
	unsigned grid;
	int threads;
	size_t shared_bytes;
};

static struct softmax_launch softmax_plan(const struct ws_cuda_launch *launch,
                                          const struct ws_op *op)
{
	const struct ws_tensor *y = op->out[0];
	int n = WS_ACCESS / (int)ws_dtype_size(y->dtype);
	double scale = op->kind == WS_OP_SOFTMAX ? op->u.alpha * M_LOG2E : op->u.alpha;
	struct softmax_launch plan;

	plan.all = {ws_tensor_rows(y), ws_tensor_cols(y), (float)scale, false};
	plan.threads = WS_SOFTMAX_THREADS;
	plan.shared_bytes = 0;
	n = ws_rows_aligned(plan.all.cols, n) ? n : 1;
	if (plan.all.cols <= warp_columns(n)) {
		int warps = plan.threads / WS_WARP;

		plan.grid = ws_grid(launch, ws_div_up(plan.all.rows, warps), 32);
		return plan;
	}
	plan.grid = ws_grid(launch, plan.all.rows, 32);
	if (op->kind == WS_OP_SOFTMAX)
		plan.shared_bytes = ws_row_shared_bytes(plan.all.cols, plan.threads, n);
	plan.all.keep = plan.shared_bytes != 0;
	return plan;
}

WS_LAUNCHER(softmax)
{
	struct softmax_launch plan = softmax_plan(launch, op);

	if (op->in[0]->dtype != op->out[0]->dtype)
		return ws_cuda_no_kernel(op, err);
	WS_LAUNCH_FLOATS(launch, op, err, op->out[0]->dtype, ws_softmax_causal_softmax_fwd,
	                 plan.grid, plan.threads, plan.shared_bytes, (const T *)op->in[0]->data,
	                 (T *)op->out[0]->data, plan.all)
}

WS_LAUNCHER(softmax_grad)
{
	struct softmax_launch plan = softmax_plan(launch, op);

	if (op->in[0]->dtype != op->out[0]->dtype || op->in[1]->dtype != op->out[0]->dtype)
		return ws_cuda_no_kernel(op, err);
	WS_LAUNCH_FLOATS(launch, op, err, op->out[0]->dtype, ws_softmax_causal_softmax_grad_bwd,
	                 plan.grid, plan.threads, plan.shared_bytes, (const T *)op->in[0]->data,
	                 (const T *)op->in[1]->data, (T *)op->out[0]->data, plan.all)
}
