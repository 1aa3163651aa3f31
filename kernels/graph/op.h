/* Ops: the nodes of a graph. op.def lists their kinds. */
#pragma once

#include "kernels/base/rng.h"
#include "kernels/base/tensor.h"

enum ws_op_kind {
#define WS_OP(KIND, name, ...) WS_OP_##KIND,
#include "kernels/graph/op.def"
};

enum ws_sub {
#define WS_SUB(KIND, SUB, name, flops, autocast) WS_SUB_##SUB,
#include "kernels/graph/op.def"
	WS_SUB_COUNT
};

enum ws_autocast {
	WS_AUTOCAST_KEEP,
	WS_AUTOCAST_LOW,
	WS_AUTOCAST_F32,
	WS_AUTOCAST_PROMOTE,
};

struct ws_op_info {
	const char *name;            /* "gemm" */
	const char *kernel_class;    /* "gemm" */
	enum wsnvtx_op_kind payload; /* WSNVTX_OP_other: the kind of the scope */
};

struct ws_sub_info {
	const char *name;   /* "exp": the default message of its range */
	const char *symbol; /* "EXP" */
	enum ws_op_kind kind;
	unsigned flops; /* an element */
	enum ws_autocast autocast;
};

const struct ws_op_info *ws_op_info(enum ws_op_kind kind);
const struct ws_sub_info *ws_sub_info(enum ws_sub sub);

/*
 * C[m, n] = op(A) · op(B), for each of batch. A is stored [m, k], or [k, m]
 * with trans_a; B is stored [k, n], or [n, k] with trans_b.
 */
struct ws_gemm {
	int64_t batch, m, n, k;
	bool trans_a, trans_b;
};

/* Rotary embedding and head split: B, T, H, D of op.def. */
struct ws_heads {
	int64_t batch, time, heads, width;
};

/* Causal attention of T queries by T keys, in each of B × H heads. */
struct ws_attention {
	struct ws_heads head;
	double scale; /* of the products of queries and keys */
};

/* The widest head of a fused attention, as in the libraries of the field. */
#define WS_ATTENTION_WIDTH_MAX 256

/* Where the channels of an image are. Signals are images of height 1. --layout NAME */
#define WS_LAYOUT_LIST(X)                                                      \
	X("nchw", NCHW) /* images [n, c, h, w], filters [k, c/groups, r, s] */ \
	X("nhwc", NHWC) /* images [n, h, w, c], filters [k, r, s, c/groups] */

enum ws_layout {
#define X(name, id) WS_LAYOUT_##id,
	WS_LAYOUT_LIST(X)
#undef X
};

/* n images of c × h × w, k filters of c/groups × r × s: n outputs of k × p × q. Dilation 1. */
struct ws_conv {
	enum ws_layout layout;
	int64_t n, c, h, w;
	int64_t k, r, s;
	int64_t p, q;
	int64_t stride, pad_h, pad_w, groups;
};

/*
 * Pooling of n × c planes of h × w to p × q: over windows of r × s every stride
 * rows and columns, from pad before the edge on; with r = 0 adaptive: output i of p
 * covers rows floor(i h / p) to ceil((i + 1) h / p), so p = q = 1 is the whole plane.
 */
struct ws_window {
	enum ws_layout layout;
	int64_t n, c, h, w;
	int64_t p, q;
	int64_t r, s, stride, pad;
};

/*
 * Quotients of 0 <= i < 2^63 by a number that a launch fixes: by a multiplication, which takes a
 * GPU some 10 instructions where a 64-bit division takes 70. With 2^L >= value > 2^(L - 1) and
 * magic = ceil(2^(63 + L) / value), i * magic exceeds i / value * 2^(63 + L) by less than
 * 2^63 * 2^L / value: not enough to reach the next whole number (Granlund and Montgomery 1994).
 */
struct ws_divisor {
	int64_t value;
	uint64_t magic;
	int shift; /* L - 1; -1: the value is 1 */
};

/* value: 1 ... 2^62 */
static inline struct ws_divisor ws_divisor_of(int64_t value)
{
	struct ws_divisor by = {value, 0, -1};

	while (((int64_t)1 << (by.shift + 1)) < value)
		by.shift++;
	if (by.shift >= 0)
		by.magic = (uint64_t)((((unsigned __int128)1 << (64 + by.shift)) + (uint64_t)value -
		                       1) /
		                      (uint64_t)value);
	return by;
}

static inline WS_HOST_DEVICE int64_t ws_quotient(int64_t i, struct ws_divisor by)
{
#ifdef __CUDA_ARCH__
	uint64_t high = __umul64hi((uint64_t)i, by.magic);
#else
	uint64_t high = (uint64_t)((unsigned __int128)(uint64_t)i * by.magic >> 64);
#endif

	return by.shift < 0 ? i : (int64_t)(high >> by.shift);
}

/* The rows, or the columns, of a pooling: `in` of the input, `out` of the output. */
struct ws_axis {
	int64_t in, out, size, stride, pad;
	struct ws_divisor input_divisor, output_divisor, stride_divisor;
};

static inline struct ws_axis ws_window_axis(const struct ws_window *w, bool columns)
{
	int64_t in = columns ? w->w : w->h, out = columns ? w->q : w->p;
	int64_t size = columns ? w->s : w->r;
	struct ws_axis a = {in,
	                    out,
	                    size,
	                    w->stride,
	                    w->pad,
	                    ws_divisor_of(in),
	                    ws_divisor_of(out),
	                    ws_divisor_of(size ? w->stride : 1)};

	return a;
}

/* first ... end - 1 */
struct ws_span {
	int64_t first, end;
};

/* The inputs that output i reads. */
static inline WS_HOST_DEVICE struct ws_span ws_axis_inputs(const struct ws_axis *a, int64_t i)
{
	struct ws_span s;

	s.first = a->size ? i * a->stride - a->pad : ws_quotient(i * a->in, a->output_divisor);
	s.end = a->size ? s.first + a->size
	                : ws_quotient((i + 1) * a->in + a->out - 1, a->output_divisor);
	s.first = s.first < 0 ? 0 : s.first;
	s.end = s.end > a->in ? a->in : s.end;
	return s;
}

/* The outputs that read input i. */
static inline WS_HOST_DEVICE struct ws_span ws_axis_outputs(const struct ws_axis *a, int64_t i)
{
	int64_t at = i + a->pad;
	struct ws_span s;

	if (a->size) {
		s.first = at < a->size ? 0 : ws_quotient(at - a->size, a->stride_divisor) + 1;
		s.end = ws_quotient(at, a->stride_divisor) + 1;
	} else {
		s.first = ws_quotient(i * a->out, a->input_divisor);
		s.end = ws_quotient((i + 1) * a->out + a->in - 1, a->input_divisor);
	}
	s.end = s.end > a->out ? a->out : s.end;
	return s;
}

/* A tensor seen as [outer, channels, inner]: inner is 1 in NHWC and in matrices. */
struct ws_channels {
	int64_t outer, channels, inner;
};

struct ws_norm {
	struct ws_channels ch;
	double eps, momentum; /* running = (1 - momentum) running + momentum batch */
};

struct ws_dropout {
	struct ws_rng rng; /* element i of step t takes half number ws_dropout_draw(count, t) + i */
	double p;          /* to 2^-32 */
};

/* The half random number of a step's first element: a step begins with a whole one. */
static inline WS_HOST_DEVICE uint64_t ws_dropout_draw(int64_t count, uint64_t step)
{
	return step * ((uint64_t)count + (uint64_t)(count % 2));
}

struct ws_bias {
	struct ws_channels ch;
	double alpha; /* slope of BIAS_LEAKY_RELU */
};

/*
 * The tensors of a parameter that an UPDATE reads and writes. The fused ones write all but the
 * gradient (SGD has no v, and without momentum no m); the others read a, b, c, where they have
 * them, and write out, which may be one of those.
 */
enum { WS_UPDATE_P, WS_UPDATE_M, WS_UPDATE_V, WS_UPDATE_G, WS_UPDATE_TENSORS };
enum { WS_UPDATE_OUT, WS_UPDATE_A, WS_UPDATE_B, WS_UPDATE_C };

struct ws_update_row {
	struct ws_tensor *t[WS_UPDATE_TENSORS]; /* all of one dtype and count, or NULL */
};

struct ws_update_factors {
	double alpha;             /* of the steps; SGD_ALL: learning rate; CLIP: largest norm */
	double beta1, beta2, eps; /* SGD_ALL: beta1 is the momentum */
	double decay;             /* weight decay, of AdamW times the learning rate */
};

/* Beside a norm that something is divided by: torch.nn.utils.clip_grad_norm_ and CS336. */
#define WS_CLIP_EPS 1e-6

/*
 * All that one UPDATE op updates, CLIP reads (its out) or UNSCALE divides (a into out, of which
 * each has a dtype of its own). in and out name the first row's.
 */
struct ws_update {
	const struct ws_update_row *list;
	int count;
	struct ws_update_factors factors;
};

/* How a dynamic loss scale changes: layers.h. */
struct ws_scaler_rule {
	double growth, backoff, max;
	int64_t interval;
};

/* One update of a dynamic scale; the op and whoever follows it on the host use this. */
static inline WS_HOST_DEVICE void ws_scaler_next(const struct ws_scaler_rule *rule, bool found_inf,
                                                 double *scale, int32_t *tracker)
{
	if (found_inf) {
		*scale *= rule->backoff;
		*tracker = 0;
	} else if (*tracker + 1 >= rule->interval) {
		if (*scale * rule->growth <= rule->max)
			*scale *= rule->growth;
		*tracker = 0;
	} else {
		++*tracker;
	}
}

#define WS_OP_INPUTS_MAX  6
#define WS_OP_OUTPUTS_MAX 5

struct ws_op {
	enum ws_sub sub;
	enum ws_op_kind kind; /* that of sub */
	int in_count, out_count;
	struct ws_tensor *in[WS_OP_INPUTS_MAX];
	struct ws_tensor *out[WS_OP_OUTPUTS_MAX]; /* may be one of in: computed in place */
	union {
		double alpha;         /* UNARY, FILL, LEAKY_RELU_GRAD, SOFTMAX; RMS_NORM: eps */
		struct ws_gemm gemm;  /* GEMM */
		int64_t dims[4];      /* PERMUTE: of the operand */
		struct ws_heads head; /* ROPE, ROPE_QKV */
		struct ws_attention attention;
		struct ws_conv conv;     /* CONV and its gradients */
		struct ws_window window; /* pooling */
		struct ws_channels ch;   /* BIAS, BIAS_GRAD */
		struct ws_norm norm;     /* BATCH_NORM and its gradient */
		struct ws_dropout dropout;
		struct ws_bias bias;          /* BIAS_ACT */
		struct ws_update update;      /* UPDATE, CLIP, UNSCALE */
		struct ws_scaler_rule scaler; /* SCALE_UPDATE */
	} u;

	bool tf32;                      /* reads its operands rounded to TF32 */
	const struct ws_tensor *unless; /* not run when this [1], read by the host, is not 0 */

	const char *message;      /* of its NVTX range */
	struct ws_scope *scope;   /* graph.h */
	struct wsnvtx_op payload; /* of its NVTX range: shape, FLOPs, bytes, dtype, phase */
};

/* Operands, and behind them results: i from 0 to in_count + out_count - 1. */
static inline struct ws_tensor *ws_op_tensor(const struct ws_op *op, int i)
{
	return i < op->in_count ? op->in[i] : op->out[i - op->in_count];
}

static inline bool ws_op_has_rows(const struct ws_op *op)
{
	return op->kind == WS_OP_UPDATE || op->kind == WS_OP_CLIP || op->kind == WS_OP_UNSCALE;
}

/* All tensors of an op: operands and results, then those of its rows. Some are NULL. */
static inline int ws_op_touched(const struct ws_op *op)
{
	return op->in_count + op->out_count +
	       (ws_op_has_rows(op) ? op->u.update.count * WS_UPDATE_TENSORS : 0);
}

static inline struct ws_tensor *ws_op_touches(const struct ws_op *op, int i)
{
	int own = op->in_count + op->out_count;

	return i < own ? ws_op_tensor(op, i)
	               : op->u.update.list[(i - own) / WS_UPDATE_TENSORS]
	                         .t[(i - own) % WS_UPDATE_TENSORS];
}

static inline WS_HOST_DEVICE bool ws_update_is_fused(enum ws_sub sub)
{
	return sub >= WS_SUB_ADAMW_CS336_ALL && sub <= WS_SUB_SGD_ALL;
}

/* Whether tensor k of a row is read. The others are written; fused ops write all but the
 * gradient. */
static inline WS_HOST_DEVICE bool ws_update_reads(enum ws_sub sub, int k)
{
	return ws_update_is_fused(sub) || k != WS_UPDATE_OUT || sub == WS_SUB_CLIP_NORM;
}

static inline WS_HOST_DEVICE bool ws_update_writes(enum ws_sub sub, int k)
{
	return ws_update_is_fused(sub) ? k != WS_UPDATE_G
	                               : k == WS_UPDATE_OUT && sub != WS_SUB_CLIP_NORM;
}

/* Numbers of the step among the operands: the first ones. */
static inline int ws_update_numbers(const struct ws_op *op)
{
	int n = op->in_count;

	for (int k = 0; k < WS_UPDATE_TENSORS; k++)
		n -= op->u.update.list->t[k] && ws_update_reads(op->sub, k);
	return n;
}

/*
 * How the operands of an op that computes element by element lie beside its result, seen as rows
 * of cols elements. WS_BROADCAST_CHANNEL: row r has number r mod channels of the operand.
 */
struct ws_elementwise {
	enum ws_broadcast spread[3];
	int64_t cols, channels;
	double alpha;
};
struct ws_elementwise ws_op_elementwise(const struct ws_op *op);

/*
 * "ws_<class>_<op>[_fwd|_bwd]_<dtype>": the name of an op's CPU kernel. dtype: that of its
 * operands, followed by that of its results if different. Ops of the optimizer have no direction.
 * Returns buf.
 */
const char *ws_op_kernel_name(const struct ws_op *op, char *buf, size_t size);
