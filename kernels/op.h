/*
 * Ops: the nodes of a graph. What kinds there are: op.def.
 */
#ifndef WS_KERNELS_OP_H
#define WS_KERNELS_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/tensor.h"
#include "kernels/warpsheet_nvtx.h"

enum ws_op_kind {
#define WS_OP(KIND, name, class, payload) WS_OP_##KIND,
#include "kernels/op.def"
	WS_OP_KIND_COUNT
};

enum ws_sub {
#define WS_SUB(KIND, SUB, name, flops, autocast) WS_SUB_##SUB,
#include "kernels/op.def"
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
	enum wsnvtx_op_kind payload; /* WSNVTX_OP_other: what the scope says */
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

#define WS_OP_INPUTS_MAX  4
#define WS_OP_OUTPUTS_MAX 3

struct ws_op {
	enum ws_sub sub;
	enum ws_op_kind kind; /* that of sub */
	int in_count, out_count;
	struct ws_tensor *in[WS_OP_INPUTS_MAX];
	struct ws_tensor *out[WS_OP_OUTPUTS_MAX]; /* may be one of in: computed in place */
	union {
		double alpha;         /* UNARY, FILL */
		struct ws_gemm gemm;  /* GEMM */
		int64_t dims[4];      /* PERMUTE: of the operand */
		struct ws_heads head; /* ROPE */
	} u;

	const char *message;      /* of its NVTX range */
	struct ws_scope *scope;   /* graph.h */
	struct wsnvtx_op payload; /* of its NVTX range: shape, FLOPs, bytes, dtype, phase */
};

/*
 * "ws_<class>_<op>[_fwd|_bwd]_<dtype>": what the CPU kernel of an op is called.
 * dtype is what it reads, followed by what it writes where that differs; ops
 * of the optimizer have no direction. Returns buf.
 */
const char *ws_op_kernel_name(const struct ws_op *op, char *buf, size_t size);

#endif
