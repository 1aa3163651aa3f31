/*
 * Ops that move data to another order: permute, rope with its head split, rope_qkv.
 *
 * What they move stays together in runs of a head's width, so accesses of neighbouring threads
 * are neighbours on both sides without going through shared memory.
 */
#include "kernels/cuda/own/kernel.cuh"

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
	struct permute p;
	unsigned grid;

	p.in = op->in[0]->data;
	p.out = op->out[0]->data;
	p.whole = dims[3] % n == 0;
	p.packs = op->in[0]->count / (p.whole ? n : 1);
	p.run = ws_divisor_of(dims[3] / (p.whole ? n : 1));
	p.b = ws_divisor_of(dims[1]);
	p.c = ws_divisor_of(dims[2]);
	grid = ws_item_grid(launch, p.packs);
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

/* Products rounded before they are added, as in the reference: the bits are the same. */
template <int N>
static __device__ __forceinline__ void rotate(const float (&cosine)[N / 2],
                                              const float (&sine)[N / 2], float (&x)[N])
{
	WS_UNROLL(i, N / 2) {
		float even = x[2 * i], odd = x[2 * i + 1];

		x[2 * i] = ws_product(even, cosine[i]) - ws_product(odd, sine[i]);
		x[2 * i + 1] = ws_product(even, sine[i]) + ws_product(odd, cosine[i]);
	}
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
		WS_UNROLL(i, N / 2)
			sine[i] = BACK ? -sine[i] : sine[i];
		if (p.head < r.rotated)
			rotate<N>(cosine, sine, x);
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
	/* the kernels' names say what the table and the results are; what the rest must be: */
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
