/*
 * Costs of a PyTorch operation from its recorded input shapes: FLOPs and bytes. Conventions, op by
 * op: docs/reference/import.md.
 *
 * A multiply-add is 2 FLOPs, softmax 5 an element. Bytes are the least that
 * must move when each operand is read once and each result written once.
 * What the recorded inputs do not settle is unknown, never assumed.
 */
#pragma once

#include "formats/schema/schema.h"

/* The values of warpsheet_nvtx.h, which this layer does not include. A test compares them. */
enum ws_nvtx_op {
	WS_NVTX_OP_OTHER,
	WS_NVTX_OP_GEMM,
	WS_NVTX_OP_CONV,
	WS_NVTX_OP_ATTENTION,
	WS_NVTX_OP_SOFTMAX,
	WS_NVTX_OP_NORM = 7,
	WS_NVTX_OP_ACTIVATION = 8,
	WS_NVTX_OP_ELEMENTWISE = 9,
	WS_NVTX_OP_EMBEDDING = 11,
	WS_NVTX_OP_LOSS = 12,
	WS_NVTX_OP_OPTIMIZER = 13,
	WS_NVTX_OP_REDUCE = 14,
	WS_NVTX_OP_COPY = 15,
	WS_NVTX_OP_CAST = 16,
	WS_NVTX_OP_POOL = 17,
	WS_NVTX_OP_RNG = 18,
	WS_NVTX_OP_FILL = 19,
};

enum ws_op_direction {
	WS_OP_NO_DIRECTION,
	WS_OP_FORWARD,
	WS_OP_BACKWARD,
};

enum ws_op_dtype {
	WS_DTYPE_NONE,
	WS_DTYPE_FP32,
	WS_DTYPE_FP16 = 3,
	WS_DTYPE_BF16 = 4,
	WS_DTYPE_FP64 = 5,
	WS_DTYPE_INT8 = 6,
	WS_DTYPE_INT32 = 7,
	WS_DTYPE_INT64 = 8,
	WS_DTYPE_FP8 = 9,
	WS_DTYPE_BOOL8 = 10,
};

/* The pairs of query and key that attention needs. */
enum ws_op_mask {
	WS_MASK_NOT_KNOWN, /* not recorded, or a tensor says */
	WS_MASK_NONE,      /* all */
	WS_MASK_CAUSAL,    /* of as many queries as keys: a query needs the keys up to its own */
};

/* An operation as recorded. The last four are JSON arrays of one element an input, or empty. */
struct ws_op_desc {
	struct ws_bytes name;
	struct ws_bytes dims; /* [[2,3],[],[[4],[5]]]: tensors, others, lists of tensors */
	struct ws_bytes types;
	struct ws_bytes strides;
	struct ws_bytes inputs; /* values of scalar inputs as strings: ["","1","[0, 1]","True"] */
};

struct ws_op_cost {
	enum ws_nvtx_op kind;
	enum ws_op_direction direction;
	enum ws_op_dtype dtype;
	enum ws_op_cost_known known;
	uint64_t batch, m, n, k; /* of a GEMM, else 0 */
	uint64_t flops;
	uint64_t bytes_read, bytes_written;
	enum ws_op_mask mask;  /* of fused attention */
	uint64_t flops_needed; /* if the mask is known: FLOPs of the pairs that it keeps */
	/* for attention over packed sequences: number of queries, and FLOPs per pair of query and
	 * key. The number of pairs is unknown from the inputs */
	uint64_t queries, flops_per_pair;
};

/* Always sets *out; unknown costs are 0. */
void ws_op_cost(const struct ws_op_desc *op, struct ws_op_cost *out);
/* The columns of the row that follow from it. */
static inline void ws_op_cost_fill(const struct ws_op_desc *op, struct ws_row_op_config *row)
{
	struct ws_op_cost cost;

	ws_op_cost(op, &cost);
	row->kind = cost.kind;
	row->direction = cost.direction;
	row->dtype = cost.dtype;
	row->batch = cost.batch;
	row->m = cost.m;
	row->n = cost.n;
	row->k = cost.k;
	row->cost = cost.known;
	row->flops = cost.flops;
	row->bytes_read = cost.bytes_read;
	row->bytes_written = cost.bytes_written;
}
