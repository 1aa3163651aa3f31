/*
 * Ops that move data to another order: permute, rope with its head split, rope_qkv.
 *
 * What they move stays together in runs of a head's width, so accesses of neighbouring threads
 * are neighbours on both sides without going through shared memory.
 */
#include "kernels/cuda/own/row.cuh"

#define THREADS 256
#define WAVES   32 /* blocks for each multiprocessor */

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
	WS_PACK_KERNEL((WS_MOVE_THREADS), name, T, p.whole, ws_move_packs, (struct permute p), p)
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

	if (op->in[0]->dtype != op->out[0]->dtype)
		return ws_cuda_no_kernel(op, err);
	p.in = op->in[0]->data;
	p.out = op->out[0]->data;
	p.whole = ws_rows_aligned(dims[3], n);
	p.packs = op->in[0]->count / (p.whole ? n : 1);
	p.run = ws_divisor_of(dims[3] / (p.whole ? n : 1));
	p.b = ws_divisor_of(dims[1]);
	p.c = ws_divisor_of(dims[2]);
	grid = ws_move_grid(launch, p.packs);
	if (op->payload.direction == WSNVTX_DIRECTION_forward)
		WS_LAUNCH_FLOATS(launch, op, err, op->in[0]->dtype, ws_copy_permute_fwd, grid,
		                 WS_MOVE_THREADS, 0, p)
	if (op->payload.direction == WSNVTX_DIRECTION_backward)
		WS_LAUNCH_FLOATS(launch, op, err, op->in[0]->dtype, ws_copy_permute_bwd, grid,
		                 WS_MOVE_THREADS, 0, p)
	return ws_cuda_no_kernel(op, err);
}

/* --- rope ------------------------------------------------------------------------------------- */

#define ROPE_HEADS 4 /* that a thread rotates by the angles it has read */

/* Heads side by side, [B, T, all, width], and apart, parts of [B, heads, T, width]. */
struct rope {
	const void *in[WS_PARTS_MAX];
	void *out[WS_PARTS_MAX];
	const void *table; /* [2, T, width / 2] */
	int dtype;         /* enum ws_dtype of in */
	bool whole;        /* heads are whole packs of 16 bytes; else of one pair */
	int64_t heads;     /* of a part */
	int64_t all;       /* of all parts */
	int64_t rotated;   /* the first of them */
	int64_t width;
	int64_t items; /* [B, groups of heads, T, packs of a head] */
	struct ws_divisor packs, time, groups;
};

/* What a thread works on: from pack `at` of heads first ... first + ROPE_HEADS - 1. */
struct rope_item {
	int64_t batch, first, time, at;
};

static __device__ __forceinline__ struct rope_item rope_item(const struct rope &r, int64_t index)
{
	int64_t time = ws_quotient(index, r.packs), group = ws_quotient(time, r.time);
	struct rope_item item;

	item.at = index - time * r.packs.value;
	item.time = time - group * r.time.value;
	item.batch = ws_quotient(group, r.groups);
	item.first = (group - item.batch * r.groups.value) * ROPE_HEADS;
	return item;
}

/* Where head number `head` of all lies: its part, and the offsets of the pack in either order. */
struct rope_place {
	int part;
	int64_t merged, split;
};

template <int N>
static __device__ __forceinline__ struct rope_place
rope_place(const struct rope &r, const struct rope_item &item, int64_t head)
{
	struct rope_place place;
	int64_t own;

	place.part = (head >= r.heads) + (head >= 2 * r.heads);
	own = head - place.part * r.heads;
	place.merged =
	        ((item.batch * r.time.value + item.time) * r.all + head) * r.width + item.at * N;
	place.split =
	        ((item.batch * r.heads + own) * r.time.value + item.time) * r.width + item.at * N;
	return place;
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

template <typename Tin, typename Ttable, typename Tout, int N, bool BACK>
static __device__ __forceinline__ void rope_packs(const struct rope &r)
{
	const Ttable *table = (const Ttable *)r.table;
	int64_t index = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	for (; index < r.items; index += (int64_t)gridDim.x * THREADS) {
		struct rope_item item = rope_item(r, index);
		int64_t pairs = r.width / 2, angle = item.time * pairs + item.at * (N / 2);
		float cosine[N / 2], sine[N / 2], x[ROPE_HEADS][N];

		WS_UNROLL(k, ROPE_HEADS) {
			int64_t head = item.first + k < r.all ? item.first + k : item.first;
			struct rope_place place = rope_place<N>(r, item, head);

			ws_load<Tin, N>((const Tin *)rope_part(r.in, BACK ? place.part : 0) +
			                        (BACK ? place.split : place.merged),
			                x[k]);
		}
		ws_load<Ttable, N / 2>(table + angle, cosine);
		ws_load<Ttable, N / 2>(table + r.time.value * pairs + angle, sine);
		WS_UNROLL(i, N / 2)
			sine[i] = BACK ? -sine[i] : sine[i];
		WS_UNROLL(k, ROPE_HEADS) {
			int64_t head = item.first + k;
			struct rope_place place = rope_place<N>(r, item, head);

			if (head >= r.all)
				break;
			if (head < r.rotated)
				rotate<N>(cosine, sine, x[k]);
			ws_store<Tout, N>((Tout *)rope_part(r.out, BACK ? 0 : place.part) +
			                          (BACK ? place.merged : place.split),
			                  x[k]);
		}
	}
}

template <typename Tin, typename Ttable, typename Tout, bool BACK>
static __device__ __forceinline__ void rope(const struct rope &r)
{
	constexpr int N = WS_ACCESS / (sizeof(Tin) > sizeof(Tout) ? sizeof(Tin) : sizeof(Tout));

	if (r.whole)
		rope_packs<Tin, Ttable, Tout, N, BACK>(r);
	else
		rope_packs<Tin, Ttable, Tout, 2, BACK>(r);
}

/* X(sub, kernel, direction, table, heads, is it the gradient) */
#define ROPE_LIST(X)                                                                               \
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

#define X(SUB, name, direction, table, io, back)                                                 \
	static __global__ void __launch_bounds__(THREADS, 4) name(struct rope r)                 \
	{                                                                                        \
		rope<WS_KERNEL_TYPE_##io, WS_KERNEL_TYPE_##table, WS_KERNEL_TYPE_##io, back>(r); \
	}
ROPE_LIST(X)
#undef X

/* Under autocast, queries and keys are 16-bit and the table is not: the result is promoted. */
static __global__ void __launch_bounds__(THREADS, 4) ws_elementwise_rotate_fwd_f32(struct rope r)
{
	if (r.dtype == WS_DTYPE_F32)
		rope<float, float, float, false>(r);
	else if (r.dtype == WS_DTYPE_BF16)
		rope<struct ws_bf16, float, float, false>(r);
	else
		rope<struct ws_f16, float, float, false>(r);
}

static enum ws_status rope_launch(const struct ws_cuda_launch *launch, const struct ws_op *op,
                                  int parts, struct ws_err *err)
{
	bool back = op->sub == WS_SUB_ROTATE_BACK || op->sub == WS_SUB_ROTATE_QKV_BACK;
	const struct ws_tensor *in = op->in[0], *out = op->out[0],
	                       *table = op->in[back ? parts : 1];
	const struct ws_heads *h = &op->u.head;
	size_t in_bytes = ws_dtype_size(in->dtype), out_bytes = ws_dtype_size(out->dtype);
	int n = WS_ACCESS / (int)(in_bytes > out_bytes ? in_bytes : out_bytes);
	struct rope r;
	unsigned grid;

	memset(&r, 0, sizeof(r));
	for (int i = 0; i < parts; i++) {
		r.in[i] = op->in[back ? i : 0]->data;
		r.out[i] = op->out[back ? 0 : i]->data;
	}
	r.table = table->data;
	r.dtype = in->dtype;
	r.whole = ws_rows_aligned(h->width, n);
	r.heads = h->heads;
	r.all = parts * h->heads;
	r.rotated = parts == 1 ? r.all : 2 * h->heads; /* values are not */
	r.width = h->width;
	r.packs = ws_divisor_of(h->width / (r.whole ? n : 2));
	r.time = ws_divisor_of(h->time);
	r.groups = ws_divisor_of(ws_div_up(r.all, ROPE_HEADS));
	r.items = h->batch * r.groups.value * h->time * r.packs.value;
	grid = ws_grid(launch, ws_div_up(r.items, THREADS), WAVES);
	/* the kernels' names say what the table and the results are; what the rest must be: */
	if (ws_dtype_nvtx(table->dtype) != op->payload.dtype ||
	    (op->sub != WS_SUB_ROTATE && in->dtype != out->dtype) || in->dtype == WS_DTYPE_F64)
		return ws_cuda_no_kernel(op, err);
	switch (ws_kernel_key_of(op)) {
#define X(SUB, name, direction, table, io, back)       \
	case WS_KERNEL_KEY(SUB, direction, table, io): \
		return WS_LAUNCH(launch, err, name, grid, THREADS, 0, r);
		ROPE_LIST(X)
		X(ROTATE, ws_elementwise_rotate_fwd_f32, forward, f32, f32, false)
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
