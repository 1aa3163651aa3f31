#include "kernels/cost.h"

/* A dimension for the payload; none of this size fits a machine's memory twice. */
static uint32_t dim32(int64_t dim)
{
	return dim > UINT32_MAX ? UINT32_MAX : (uint32_t)dim;
}

static void cost_bytes(struct ws_op *op)
{
	struct wsnvtx_op *p = &op->payload;

	for (int i = 0; i < op->in_count; i++)
		p->bytes_read += op->in[i]->size_bytes;
	for (int i = 0; i < op->out_count; i++)
		p->bytes_written += op->out[i]->size_bytes;
}

static void cost_rows(struct ws_op *op, const struct ws_tensor *t)
{
	op->payload.m = dim32(ws_tensor_rows(t));
	op->payload.n = dim32(ws_tensor_cols(t));
}

/* Only some rows or elements of a large tensor are touched: count of size bytes each. */
static void cost_indexed(struct ws_op *op, int64_t count, uint64_t size_bytes, bool accumulate)
{
	struct wsnvtx_op *p = &op->payload;
	uint64_t moved_bytes = (uint64_t)count * size_bytes;

	p->bytes_read = moved_bytes * (accumulate ? 2 : 1) + op->in[1]->size_bytes;
	p->bytes_written = moved_bytes;
}

void ws_cost_op(struct ws_op *op)
{
	struct wsnvtx_op *p = &op->payload;
	const struct ws_gemm *gemm = &op->u.gemm;
	unsigned per_element = ws_sub_info(op->sub)->flops;

	p->flops = p->bytes_read = p->bytes_written = 0;
	p->batch = p->groups = 1;
	switch (op->kind) {
	case WS_OP_GEMM:
		p->batch = dim32(gemm->batch);
		p->m = dim32(gemm->m);
		p->n = dim32(gemm->n);
		p->k = dim32(gemm->k);
		p->flops =
		        2 * (uint64_t)(gemm->batch * gemm->m * gemm->n * gemm->k); /* fits: ops.c */
		cost_bytes(op);
		break;
	case WS_OP_REDUCE:
		cost_rows(op, op->in[0]);
		p->flops = per_element * (uint64_t)op->in[0]->count;
		cost_bytes(op);
		break;
	case WS_OP_UNARY:
	case WS_OP_BINARY:
	case WS_OP_COPY:
	case WS_OP_FILL:
	case WS_OP_PERMUTE:
	case WS_OP_ROPE:
		cost_rows(op, op->out[0]);
		p->flops = per_element * (uint64_t)op->out[0]->count;
		cost_bytes(op);
		break;
	case WS_OP_EMBEDDING: /* table, index -> rows */
		cost_rows(op, op->out[0]);
		cost_indexed(op, op->out[0]->count, ws_dtype_size(op->out[0]->dtype), false);
		break;
	case WS_OP_EMBEDDING_GRAD: /* row gradients, index, table -> table */
		cost_rows(op, op->in[0]);
		p->flops = per_element * (uint64_t)op->in[0]->count;
		cost_indexed(op, op->in[0]->count, ws_dtype_size(op->in[0]->dtype), true);
		break;
	case WS_OP_GATHER: /* rows, index -> one element of each */
		cost_rows(op, op->in[0]);
		cost_indexed(op, op->out[0]->count, ws_dtype_size(op->out[0]->dtype), false);
		break;
	case WS_OP_GATHER_GRAD: /* element gradients, index, zeros -> rows */
		cost_rows(op, op->out[0]);
		cost_indexed(op, op->in[0]->count, ws_dtype_size(op->in[0]->dtype), false);
		break;
	case WS_OP_KIND_COUNT:
		break;
	}
}

struct ws_cost ws_cost_phase(const struct ws_graph *graph, enum wsnvtx_phase phase)
{
	struct ws_cost sum = {0};

	for (int i = 0; i < graph->op_count; i++) {
		const struct wsnvtx_op *p = &graph->ops[i]->payload;

		if (p->phase != phase)
			continue;
		sum.ops++;
		sum.flops += p->flops;
		sum.bytes_read += p->bytes_read;
		sum.bytes_written += p->bytes_written;
		if (p->op == WSNVTX_OP_gemm || p->op == WSNVTX_OP_conv ||
		    p->op == WSNVTX_OP_attention)
			sum.matmul_flops += p->flops;
	}
	return sum;
}
