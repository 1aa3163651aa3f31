/*
 * Ops that pick or scatter by index: embedding and its gradient, gather and its gradient.
 *
 * Indices are used as they are: data is checked on the host before it is uploaded, and no
 * thread could report an index that is outside.
 */
#include "kernels/cuda/own/kernel.cuh"

/* --- embedding: rows of a table --------------------------------------------------------------- */

struct lookup {
	const void *in;
	const int32_t *index;
	void *out;
	int64_t packs;
	struct ws_divisor row; /* packs */
	bool whole;            /* packs of 16 bytes; else of one element */

	__device__ int64_t from(int64_t to) const
	{
		int64_t i = ws_quotient(to, row);

		return index[i] * row.value + to - i * row.value;
	}
};

#define X(ID, T, suffix)                                                                          \
	WS_PACK_KERNEL((WS_THREADS), ws_embedding_lookup_fwd_##suffix, T, l.whole, ws_move_packs, \
	               (struct lookup l), l)
WS_CUDA_FLOATS(X)
#undef X

WS_LAUNCHER(embedding)
{
	const struct ws_tensor *table = op->in[0], *out = op->out[0];
	int n = WS_ACCESS / (int)ws_dtype_size(table->dtype);
	struct lookup l;

	l.in = table->data;
	l.index = (const int32_t *)op->in[1]->data;
	l.out = out->data;
	l.whole = ws_tensor_cols(table) % n == 0;
	n = l.whole ? n : 1;
	l.packs = out->count / n;
	l.row = ws_divisor_of(ws_tensor_cols(table) / n);
	WS_LAUNCH_FLOATS(launch, op, err, ws_embedding_lookup_fwd, ws_item_grid(launch, l.packs),
	                 WS_THREADS, 0, l)
}

/* --- its gradient: rows added into a table ---------------------------------------------------- */

/*
 * A block owns some rows of the table and some columns. It looks through all indices, a chunk at a
 * time, for those of its rows, and adds their gradients in the order in which they come: the sums
 * are fp32, rounded once, and the same on each run, without atomics. The indices are read once for
 * each 8 rows of the table, from the second-level cache: 5 MB for 1024 indices and a table of
 * 10,000 rows.
 */
#define OWNED        8                   /* rows of the table */
#define SCATTER_PACK 4                   /* columns of a thread */
#define CHUNK        (WS_WARP * WS_WARP) /* indices: each lane knows of a word of bits */

struct scatter {
	const void *grad;
	const int32_t *index;
	void *table;
	int64_t rows, cols; /* of grad */
	bool whole;         /* rows of whole packs; else a thread has one column */
};

template <typename T, int N>
static __device__ __forceinline__ void scatter_add(const struct scatter &s)
{
	__shared__ unsigned found[WS_WARP];         /* a bit for each index of a chunk */
	__shared__ float sum[OWNED][N][WS_THREADS]; /* each thread its own columns */
	int64_t owned = (int64_t)blockIdx.x * OWNED;
	int64_t col = ((int64_t)blockIdx.y * WS_THREADS + threadIdx.x) * N;
	T *table = (T *)s.table + owned * s.cols + col;
	int lane = threadIdx.x % WS_WARP;
	unsigned touched = 0;
	float x[N], old[N];

	for (int64_t begin = 0; begin < s.rows; begin += CHUNK) {
		WS_UNROLL(j, CHUNK / WS_THREADS) {
			int i = j * WS_THREADS + (int)threadIdx.x;
			int64_t own = begin + i < s.rows ? s.index[begin + i] - owned : -1;
			unsigned word = __ballot_sync(WS_FULL, own >= 0 && own < OWNED);

			if (lane == 0)
				found[i / WS_WARP] = word;
		}
		__syncthreads();
		unsigned words = __ballot_sync(WS_FULL, found[lane] != 0);

		for (; words && col < s.cols; words &= words - 1) {
			int w = __ffs((int)words) - 1;

			for (unsigned word = found[w]; word; word &= word - 1) {
				int64_t at = begin + w * WS_WARP + __ffs((int)word) - 1;
				int row = (int)(s.index[at] - owned);

				ws_load<T, N>((const T *)s.grad + at * s.cols + col, x);
				if (!(touched >> row & 1)) {
					ws_load<T, N>(table + row * s.cols, old);
				} else {
					WS_UNROLL(k, N)
						old[k] = sum[row][k][threadIdx.x];
				}
				touched |= 1u << row;
				WS_UNROLL(k, N)
					sum[row][k][threadIdx.x] = old[k] + x[k];
			}
		}
		__syncthreads();
	}
	for (int row = 0; row < OWNED; row++) {
		if (!(touched >> row & 1))
			continue;
		WS_UNROLL(k, N)
			x[k] = sum[row][k][threadIdx.x];
		ws_store<T, N>(table + row * s.cols, x);
	}
}

#define X(ID, T, suffix)                                                                        \
	WS_WIDE_KERNEL((WS_THREADS, 4), ws_embedding_scatter_add_bwd_##suffix, SCATTER_PACK, 1, \
	               s.whole, (struct scatter s), scatter_add<T, N>(s))
WS_CUDA_FLOATS(X)
#undef X

WS_LAUNCHER(embedding_grad)
{
	const struct ws_tensor *grad = op->in[0], *table = op->out[0];
	int64_t threads;
	struct scatter s;

	s.grad = grad->data;
	s.index = (const int32_t *)op->in[1]->data;
	s.table = table->data;
	s.rows = op->in[1]->count;
	s.cols = ws_tensor_cols(grad);
	s.whole = s.cols % SCATTER_PACK == 0;
	threads = s.cols / (s.whole ? SCATTER_PACK : 1);
	dim3 grid((unsigned)ws_div_up(table->shape.dim[0], OWNED),
	          (unsigned)ws_div_up(threads, WS_THREADS));
	WS_LAUNCH_FLOATS(launch, op, err, ws_embedding_scatter_add_bwd, grid, WS_THREADS, 0, s)
}

/* --- gather and its gradient: one element of each row ----------------------------------------- */

struct pick {
	const float *in;
	const int32_t *index;
	float *out;
	int64_t rows, cols; /* of the operand, or of the gradient */
};

static __global__ void __launch_bounds__(WS_THREADS) ws_embedding_pick_fwd_f32(struct pick p)
{
	WS_EACH_ITEM(row, p.rows)
	p.out[row] = p.in[row * p.cols + p.index[row]];
}

/* Into a tensor of zeros. */
static __global__ void __launch_bounds__(WS_THREADS) ws_embedding_scatter_bwd_f32(struct pick p)
{
	WS_EACH_ITEM(row, p.rows)
	p.out[row * p.cols + p.index[row]] = p.in[row];
}

/* rows: the tensor that has them */
static enum ws_status pick_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  const struct ws_tensor *rows, struct ws_err *err)
{
	struct pick p;
	unsigned grid;

	p.in = (const float *)op->in[0]->data;
	p.index = (const int32_t *)op->in[1]->data;
	p.out = (float *)op->out[0]->data;
	p.rows = op->in[1]->count;
	p.cols = ws_tensor_cols(rows);
	grid = ws_item_grid(launch, p.rows);
	switch (ws_kernel_key_of(op)) {
	case WS_KERNEL_KEY(PICK, forward, f32, f32):
		return WS_LAUNCH(launch, err, ws_embedding_pick_fwd_f32, grid, WS_THREADS, 0, p);
	case WS_KERNEL_KEY(SCATTER, backward, f32, f32):
		return WS_LAUNCH(launch, err, ws_embedding_scatter_bwd_f32, grid, WS_THREADS, 0, p);
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

WS_LAUNCHER(gather)
{
	return pick_launch(launch, op, op->in[0], err);
}

WS_LAUNCHER(gather_grad)
{
	if (op->in[0]->dtype != op->out[0]->dtype)
		return ws_cuda_no_kernel(op, err);
	return pick_launch(launch, op, op->out[0], err);
}
