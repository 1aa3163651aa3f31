/*
 * What ops cost: FLOPs and bytes, by the conventions of warpsheet_nvtx.h.
 *
 * Exact integers. Bytes are the least that must move when each operand is read
 * once and each result written once, in their own dtypes; a broadcast operand
 * counts at its stored size, an embedding reads only the rows it picks.
 */
#pragma once

#include "kernels/graph/graph.h"

struct ws_cost {
	uint64_t flops;
	uint64_t matmul_flops; /* of that: GEMM, convolution, fused attention */
	uint64_t bytes_read, bytes_written;
	int ops;
};

/* Fill the shape, FLOPs and bytes of op->payload from the op's operands and attributes. */
void ws_cost_op(struct ws_op *op);
/* Sum of the ops of a phase. */
struct ws_cost ws_cost_phase(const struct ws_graph *graph, enum wsnvtx_phase phase);
