/*
 * SwiGLU and its gradient: of rows [a b], the first half a and the second b, silu(a) * b. fp32
 * inside. Each thread walks on by the same distance, so that row and column follow without a
 * division; its 16 bytes of two places at a time are on their way together.
 */
#include "kernels/cuda/own/row.cuh"

#define WS_SWIGLU_THREADS 256
#define WS_SWIGLU_PLACES  2

/* In packs: cols of y, and the places of the whole result. */
struct swiglu_sizes {
	int64_t places, cols;
};

/* Where a thread is: pack `place` of y and dy, which is pack `col` of `row`. */
struct swiglu_place {
	int64_t place, row, col, step, row_step, col_step;
};

static __device__ __forceinline__ struct swiglu_place place_first(int64_t cols)
{
	struct swiglu_place at;

	at.step = (int64_t)gridDim.x * blockDim.x;
	at.row_step = at.step / cols;
	at.col_step = at.step % cols;
	at.place = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	at.row = at.place / cols;
	at.col = at.place % cols;
	return at;
}

static __device__ __forceinline__ void place_next(struct swiglu_place *at, int64_t cols)
{
	at->place += at->step;
	at->row += at->row_step;
	at->col += at->col_step;
	if (at->col >= cols) {
		at->col -= cols;
		at->row++;
	}
}

/* Pack of a in x and its gradient; that of b lies cols further. */
static __device__ __forceinline__ int64_t place_of_a(const struct swiglu_place &at, int64_t cols)
{
	return 2 * at.row * cols + at.col;
}

static __device__ __forceinline__ float sigmoid(float a)
{
	return 1 / (1 + expf(-a));
}

template <typename T, int N>
static __device__ __forceinline__ void swiglu(const T *x, T *y, struct swiglu_sizes all)
{
	struct swiglu_place at = place_first(all.cols);

	while (at.place < all.places) {
		float a[WS_SWIGLU_PLACES][N], b[WS_SWIGLU_PLACES][N];
		int64_t place[WS_SWIGLU_PLACES];

		WS_UNROLL(i, WS_SWIGLU_PLACES) {
			int64_t from = place_of_a(at, all.cols);

			place[i] = at.place;
			if (at.place < all.places) {
				ws_load<T, N>(x + from * N, a[i]);
				ws_load<T, N>(x + (from + all.cols) * N, b[i]);
			}
			place_next(&at, all.cols);
		}
		WS_UNROLL(i, WS_SWIGLU_PLACES) {
			if (place[i] >= all.places)
				break;
			WS_UNROLL(k, N)
				a[i][k] = a[i][k] * sigmoid(a[i][k]) * b[i][k];
			ws_store<T, N>(y + place[i] * N, a[i]);
		}
	}
}

/* With s = sigmoid(a): da = dy b s (1 + a (1 - s)), db = dy a s */
template <typename T, int N>
static __device__ __forceinline__ void swiglu_grad(const T *dy, const T *x, T *dx,
                                                   struct swiglu_sizes all)
{
	struct swiglu_place at = place_first(all.cols);

	while (at.place < all.places) {
		float g[WS_SWIGLU_PLACES][N], a[WS_SWIGLU_PLACES][N], b[WS_SWIGLU_PLACES][N];
		int64_t to[WS_SWIGLU_PLACES]; /* -1: beyond the end */

		WS_UNROLL(i, WS_SWIGLU_PLACES) {
			to[i] = at.place < all.places ? place_of_a(at, all.cols) : -1;
			if (to[i] >= 0) {
				ws_load<T, N>(dy + at.place * N, g[i]);
				ws_load<T, N>(x + to[i] * N, a[i]);
				ws_load<T, N>(x + (to[i] + all.cols) * N, b[i]);
			}
			place_next(&at, all.cols);
		}
		WS_UNROLL(i, WS_SWIGLU_PLACES) {
			if (to[i] < 0)
				break;
			WS_UNROLL(k, N) {
				float s = sigmoid(a[i][k]);

				b[i][k] = g[i][k] * b[i][k] * s * (1 + a[i][k] * (1 - s));
				g[i][k] = g[i][k] * a[i][k] * s;
			}
			ws_store<T, N>(dx + to[i] * N, b[i]);
			ws_store<T, N>(dx + (to[i] + all.cols) * N, g[i]);
		}
	}
}

#define WS_SWIGLU_KERNELS(ID, T, suffix)                                                        \
	WS_PACK_KERNEL((WS_SWIGLU_THREADS, 4), ws_elementwise_swiglu_fwd_##suffix, T, aligned,  \
	               swiglu, (const T *x, T *y, struct swiglu_sizes all, bool aligned), x, y, \
	               all)                                                                     \
	WS_PACK_KERNEL((WS_SWIGLU_THREADS, 3), ws_elementwise_swiglu_grad_bwd_##suffix, T,      \
	               aligned, swiglu_grad,                                                    \
	               (const T *dy, const T *x, T *dx, struct swiglu_sizes all, bool aligned), \
	               dy, x, dx, all)
WS_CUDA_FLOATS(WS_SWIGLU_KERNELS)

/* --- launching ------------------------------------------------------------------------------- */

struct swiglu_launch {
	struct swiglu_sizes all;
	bool aligned;
	unsigned grid;
};

/* half: y or dy, whose rows are as long as a and b. */
static struct swiglu_launch swiglu_plan(const struct ws_cuda_launch *launch,
                                        const struct ws_tensor *half)
{
	int n = WS_ACCESS / (int)ws_dtype_size(half->dtype);
	int64_t cols = ws_tensor_cols(half);
	struct swiglu_launch plan;

	plan.aligned = ws_rows_aligned(cols, n);
	n = plan.aligned ? n : 1;
	plan.all = {half->count / n, cols / n};
	plan.grid = ws_grid(launch,
	                    ws_div_up(plan.all.places, WS_SWIGLU_THREADS * WS_SWIGLU_PLACES), 32);
	return plan;
}

WS_LAUNCHER(swiglu)
{
	const struct ws_tensor *x = op->in[0], *y = op->out[0];
	struct swiglu_launch plan = swiglu_plan(launch, y);

	if (x->dtype != y->dtype)
		return ws_cuda_no_kernel(op, err);
	WS_LAUNCH_FLOATS(launch, op, err, y->dtype, ws_elementwise_swiglu_fwd, plan.grid,
	                 WS_SWIGLU_THREADS, 0, (const T *)x->data, (T *)y->data, plan.all,
	                 plan.aligned)
}

WS_LAUNCHER(swiglu_grad)
{
	const struct ws_tensor *dy = op->in[0], *x = op->in[1], *dx = op->out[0];
	struct swiglu_launch plan = swiglu_plan(launch, dy);

	if (dy->dtype != x->dtype || dx->dtype != x->dtype)
		return ws_cuda_no_kernel(op, err);
	WS_LAUNCH_FLOATS(launch, op, err, x->dtype, ws_elementwise_swiglu_grad_bwd, plan.grid,
	                 WS_SWIGLU_THREADS, 0, (const T *)dy->data, (const T *)x->data,
	                 (T *)dx->data, plan.all, plan.aligned)
}
