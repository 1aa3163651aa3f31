/*
 * Ops that move elements to other places: permute, rope with its head split, rope_qkv; and by
 * index: embedding, gather, and their gradients.
 *
 * The first kind moves runs as long as a head is wide, so neighbouring threads access neighbouring
 * addresses on both sides without shared memory. Indices are not checked here: the host checks data
 * before it uploads them, and no thread could report a wrong index.
 */
#include "kernels/cuda/own/kernel.cuh"

/* Pack i of m.out is pack m.from(i) of m.in, for i < m.packs. */
template <typename T, int N, typename Move>
static __device__ __forceinline__ void ws_move_packs(const Move &m)
{
	const struct ws_pack<T, N> *in = (const struct ws_pack<T, N> *)m.in;
	struct ws_pack<T, N> *out = (struct ws_pack<T, N> *)m.out;

	WS_EACH_ITEM(i, m.packs)
	out[i] = in[m.from(i)];
}

/* --- permute: [a, b, c, run] -> [a, c, b, run] ------------------------------------------------ */

struct permute {
	const void *in;
	void *out;
	int64_t packs;
	bool whole;                  /* packs of 16 bytes; else of one element */
	struct ws_divisor run, b, c; /* run: in packs */

	__device__ int64_t from(int64_t to) const
	{
		int64_t i = ws_quotient(to, run), ac = ws_quotient(i, b), a = ws_quotient(ac, c);
		int64_t place = (a * b.value + i - ac * b.value) * c.value + ac - a * c.value;

		return place * run.value + to - i * run.value;
	}
};

#define KERNEL(name, T) \
	WS_PACK_KERNEL((WS_THREADS), name, T, p.whole, ws_move_packs, (struct permute p), p)
#define X(ID, T, suffix)                        \
	KERNEL(ws_copy_permute_fwd_##suffix, T) \
	KERNEL(ws_copy_permute_bwd_##suffix, T)
WS_CUDA_FLOATS(X)
#undef X
#undef KERNEL

WS_LAUNCHER(permute)
{
	const int64_t *dims = op->u.dims;
	int n = WS_ACCESS / (int)ws_dtype_size(op->in[0]->dtype);
	bool whole = dims[3] % n == 0;
	struct permute p = {op->in[0]->data,
	                    op->out[0]->data,
	                    op->in[0]->count / (whole ? n : 1),
	                    whole,
	                    ws_divisor_of(dims[3] / (whole ? n : 1)),
	                    ws_divisor_of(dims[1]),
	                    ws_divisor_of(dims[2])};
	unsigned grid = ws_item_grid(launch, p.packs);

	if (op->payload.direction == WSNVTX_DIRECTION_forward)
		WS_LAUNCH_FLOATS(launch, op, err, ws_copy_permute_fwd, grid, WS_THREADS, 0, p)
	if (op->payload.direction == WSNVTX_DIRECTION_backward)
		WS_LAUNCH_FLOATS(launch, op, err, ws_copy_permute_bwd, grid, WS_THREADS, 0, p)
	return ws_cuda_no_kernel(op, err);
}

/* --- rope ------------------------------------------------------------------------------------- */

/* Heads side by side, [B, T, all, width], and apart, parts of [B, heads, T, width]. */
struct rope {
	const void *in[WS_PARTS_MAX];
	void *out[WS_PARTS_MAX];
	const void *table;      /* [2, T, width / 2] */
	int dtype;              /* enum ws_dtype of in: under autocast that of the table is wider */
	bool whole;             /* heads are whole packs of 16 bytes; else of one pair */
	int64_t heads, rotated; /* of a part; the first of all parts */
	int64_t width, items;   /* items: packs of all heads */
	struct ws_divisor packs; /* of a head */
	struct ws_divisor all;   /* heads of all parts */
	struct ws_divisor time;
};

/* Where a pack of heads side by side lies apart: its part, and the offset there. */
struct rope_place {
	int part;
	int64_t head, time, at, offset; /* at: of the pack in its head */
};

template <int N>
static __device__ __forceinline__ struct rope_place rope_place(const struct rope &r, int64_t item)
{
	int64_t head = ws_quotient(item, r.packs), token = ws_quotient(head, r.all);
	int64_t batch = ws_quotient(token, r.time), own;
	struct rope_place p;

	p.at = (item - head * r.packs.value) * N;
	p.head = head - token * r.all.value;
	p.time = token - batch * r.time.value;
	p.part = (p.head >= r.heads) + (p.head >= 2 * r.heads);
	own = batch * r.heads + p.head - p.part * r.heads;
	p.offset = (own * r.time.value + p.time) * r.width + p.at;
	return p;
}

/* A runtime index into kernel parameters would move them to local memory. */
template <typename P>
static __device__ __forceinline__ P rope_part(P const (&parts)[WS_PARTS_MAX], int part)
{
	return part == 0 ? parts[0] : part == 1 ? parts[1] : parts[2];
}

template <typename T, typename Ttable, int N, bool BACK>
static __device__ __forceinline__ void rope_packs(const struct rope &r)
{
	WS_EACH_ITEM(item, r.items)
	{
		const struct rope_place p = rope_place<N>(r, item);
		int64_t pairs = r.width / 2, angle = p.time * pairs + p.at / 2;
		const Ttable *table = (const Ttable *)r.table;
		float cosine[N / 2], sine[N / 2], x[N];

		ws_load_mixed<T, N>(rope_part(r.in, BACK ? p.part : 0), r.dtype,
		                    BACK ? p.offset : item * N, x);
		ws_load<Ttable, N / 2>(table + angle, cosine);
		ws_load<Ttable, N / 2>(table + r.time.value * pairs + angle, sine);
		if (p.head < r.rotated) {
			WS_UNROLL(i, N / 2)
				ws_rotate(x[2 * i], x[2 * i + 1], cosine[i],
				          BACK ? -sine[i] : sine[i], &x[2 * i]);
		}
		ws_store<T, N>((T *)rope_part(r.out, BACK ? 0 : p.part) +
		                       (BACK ? item * N : p.offset),
		               x);
	}
}

/* X(sub, kernel, direction, table, heads as written, is it the gradient) */
#define ROPE_LIST(X)                                                                               \
	X(ROTATE, ws_elementwise_rotate_fwd_f32, forward, f32, f32, false)                         \
	X(ROTATE, ws_elementwise_rotate_fwd_bf16, forward, bf16, bf16, false)                      \
	X(ROTATE, ws_elementwise_rotate_fwd_f16, forward, f16, f16, false)                         \
	X(ROTATE_BACK, ws_elementwise_rotate_back_bwd_f32, backward, f32, f32, true)               \
	X(ROTATE_BACK, ws_elementwise_rotate_back_bwd_bf16, backward, bf16, bf16, true)            \
	X(ROTATE_BACK, ws_elementwise_rotate_back_bwd_f16, backward, f16, f16, true)               \
	X(ROTATE_QKV, ws_elementwise_rotate_qkv_fwd_f32, forward, f32, f32, false)                 \
	X(ROTATE_QKV, ws_elementwise_rotate_qkv_fwd_bf16, forward, bf16, bf16, false)              \
	X(ROTATE_QKV, ws_elementwise_rotate_qkv_fwd_f16, forward, f16, f16, false)                 \
	X(ROTATE_QKV, ws_elementwise_rotate_qkv_fwd_f32_bf16, forward, f32, bf16, false)           \
	X(ROTATE_QKV, ws_elementwise_rotate_qkv_fwd_f32_f16, forward, f32, f16, false)             \
	X(ROTATE_QKV_BACK, ws_elementwise_rotate_qkv_back_bwd_f32, backward, f32, f32, true)       \
	X(ROTATE_QKV_BACK, ws_elementwise_rotate_qkv_back_bwd_bf16, backward, bf16, bf16, true)    \
	X(ROTATE_QKV_BACK, ws_elementwise_rotate_qkv_back_bwd_f16, backward, f16, f16, true)       \
	X(ROTATE_QKV_BACK, ws_elementwise_rotate_qkv_back_bwd_f32_bf16, backward, f32, bf16, true) \
	X(ROTATE_QKV_BACK, ws_elementwise_rotate_qkv_back_bwd_f32_f16, backward, f32, f16, true)

#define X(SUB, name, direction, table, io, back)                                                   \
	WS_WIDE_KERNEL((WS_THREADS, 4), name, WS_ACCESS / sizeof(WS_KERNEL_TYPE_##io), 2, r.whole, \
	               (struct rope r),                                                            \
	               rope_packs<WS_KERNEL_TYPE_##io, WS_KERNEL_TYPE_##table, N, back>(r))
ROPE_LIST(X)
#undef X

static enum ws_status rope_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  int parts, struct ws_err *err)
{
	bool back = op->sub == WS_SUB_ROTATE_BACK || op->sub == WS_SUB_ROTATE_QKV_BACK;
	const struct ws_tensor *in = op->in[0], *out = op->out[0],
	                       *table = op->in[back ? parts : 1];
	const struct ws_heads *h = &op->u.head;
	int n = WS_ACCESS / (int)ws_dtype_size(out->dtype);
	struct rope r;
	unsigned grid;

	memset(&r, 0, sizeof(r));
	for (int i = 0; i < parts; i++) {
		r.in[i] = op->in[back ? i : 0]->data;
		r.out[i] = op->out[back ? 0 : i]->data;
	}
	r.table = table->data;
	r.dtype = in->dtype;
	r.whole = h->width % n == 0;
	r.heads = h->heads;
	r.rotated = (parts == 1 ? 1 : 2) * h->heads; /* values are not */
	r.width = h->width;
	r.packs = ws_divisor_of(h->width / (r.whole ? n : 2));
	r.all = ws_divisor_of(parts * h->heads);
	r.time = ws_divisor_of(h->time);
	r.items = h->batch * h->time * r.all.value * r.packs.value;
	grid = ws_item_grid(launch, r.items);
	/* the kernels' names contain the dtypes of table and results; the other dtypes must be: */
	if (ws_dtype_nvtx(table->dtype) != op->payload.dtype ||
	    (op->sub != WS_SUB_ROTATE && in->dtype != out->dtype) || in->dtype == WS_DTYPE_F64)
		return ws_cuda_no_kernel(op, err);
	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, table, io, back)       \
	case WS_KERNEL_KEY(SUB, direction, table, io): \
		return WS_LAUNCH(launch, err, name, grid, WS_THREADS, 0, r);
		ROPE_LIST(X)
#undef X
	default:
		return ws_cuda_no_kernel(op, err);
	}
}

WS_LAUNCHER(rope)
{
	return rope_launch(launch, op, 1, err);
}

WS_LAUNCHER(rope_qkv)
{
	return rope_launch(launch, op, 3, err);
}

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
	bool whole = ws_tensor_cols(table) % n == 0;

	n = whole ? n : 1;
	struct lookup l = {table->data,    (const int32_t *)op->in[1]->data,         out->data,
	                   out->count / n, ws_divisor_of(ws_tensor_cols(table) / n), whole};
	WS_LAUNCH_FLOATS(launch, op, err, ws_embedding_lookup_fwd, ws_item_grid(launch, l.packs),
	                 WS_THREADS, 0, l)
}

/* --- its gradient: rows added into a table ---------------------------------------------------- */

/*
 * A block owns some rows and columns of the table. It searches all indices, one chunk at a time,
 * for its rows, and adds their gradients in order. So the sums are in fp32, rounded once, and equal
 * on each run, without atomics. Each 8 rows of the table read the indices once, from the
 * second-level cache: 5 MB for 1024 indices and a table of 10,000 rows.
 */
#define OWNED        8                   /* rows of the table */
#define SCATTER_PACK 4                   /* columns of a thread */
#define CHUNK        (WS_WARP * WS_WARP) /* indices: one word of bits per lane */

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
	int64_t cols = ws_tensor_cols(grad);
	struct scatter s = {grad->data,  (const int32_t *)op->in[1]->data,
	                    table->data, op->in[1]->count,
	                    cols,        cols % SCATTER_PACK == 0};
	int64_t threads = cols / (s.whole ? SCATTER_PACK : 1);
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
static struct pick pick_of(const struct ws_op *op, const struct ws_tensor *rows)
{
	return {(const float *)op->in[0]->data, (const int32_t *)op->in[1]->data,
	        (float *)op->out[0]->data, op->in[1]->count, ws_tensor_cols(rows)};
}

WS_LAUNCHER(gather)
{
	WS_LAUNCH_F32(launch, op, err, ws_embedding_pick_fwd_f32,
	              ws_item_grid(launch, op->in[1]->count), WS_THREADS, 0,
	              pick_of(op, op->in[0]));
}

WS_LAUNCHER(gather_grad)
{
	WS_LAUNCH_F32(launch, op, err, ws_embedding_scatter_bwd_f32,
	              ws_item_grid(launch, op->in[1]->count), WS_THREADS, 0,
	              pick_of(op, op->out[0]));
}
