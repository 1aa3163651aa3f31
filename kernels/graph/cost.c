#include "kernels/graph/cost.h"

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

static void cost_conv(struct ws_op *op)
{
	const struct ws_conv *f = &op->u.conv;
	struct wsnvtx_op *p = &op->payload;

	p->batch = dim32(f->n);
	p->c = dim32(f->c);
	p->h = dim32(f->h);
	p->w = dim32(f->w);
	p->k = dim32(f->k);
	p->r = dim32(f->r);
	p->s = dim32(f->s);
	p->m = dim32(f->p);
	p->n = dim32(f->q);
	p->stride = dim32(f->stride);
	p->pad = dim32(f->pad_w);
	p->groups = dim32(f->groups);
	/* fits: ops_image.c */
	p->flops = 2 * (uint64_t)(f->n * f->k * f->p * f->q * (f->c / f->groups) * f->r * f->s);
	cost_bytes(op);
}

/* Elements of the input that the outputs of a pooling read, all together. */
static uint64_t window_reads(const struct ws_window *w)
{
	int64_t rows = 0, cols = 0, first, end;

	for (int64_t i = 0; i < w->p; i++) {
		ws_window_inputs(i, w->h, w->p, w->r, w->stride, w->pad, &first, &end);
		rows += end - first;
	}
	for (int64_t i = 0; i < w->q; i++) {
		ws_window_inputs(i, w->w, w->q, w->s, w->stride, w->pad, &first, &end);
		cols += end - first;
	}
	return (uint64_t)(w->n * w->c * rows * cols);
}

static void cost_pool(struct ws_op *op)
{
	const struct ws_window *w = &op->u.window;
	struct wsnvtx_op *p = &op->payload;
	uint64_t outputs = (uint64_t)(w->n * w->c * w->p * w->q);

	p->batch = dim32(w->n);
	p->c = dim32(w->c);
	p->h = dim32(w->h);
	p->w = dim32(w->w);
	p->m = dim32(w->p);
	p->n = dim32(w->q);
	p->r = dim32(w->r);
	p->s = dim32(w->s);
	p->stride = dim32(w->stride);
	p->pad = dim32(w->pad);
	switch (op->kind) {
	case WS_OP_MAX_POOL: /* comparisons; those with the padding count, as a kernel makes them */
		p->flops = outputs * (uint64_t)(w->r * w->s - 1);
		break;
	case WS_OP_AVG_POOL:
		p->flops = window_reads(w);
		break;
	case WS_OP_MAX_POOL_GRAD:
		p->flops = outputs;
		break;
	default: /* AVG_POOL_GRAD */
		p->flops = (uint64_t)(w->n * w->c * w->h * w->w);
	}
	cost_bytes(op);
}

/* Seven passes over each parameter: p, g, m, v read, p, m, v written. */
static void cost_adamw(struct ws_op *op)
{
	const struct ws_adamw_all *all = &op->u.adamw;
	struct wsnvtx_op *p = &op->payload;
	uint64_t count = 0;

	p->bytes_read = op->in[0]->size_bytes;
	for (int i = 0; i < all->count; i++) {
		const struct ws_adamw_tensor *t = &all->list[i];
		uint64_t written_bytes = t->p->size_bytes + t->m->size_bytes + t->v->size_bytes;

		count += (uint64_t)t->p->count;
		p->bytes_read += written_bytes + t->g->size_bytes;
		p->bytes_written += written_bytes;
	}
	p->m = 1;
	p->n = dim32((int64_t)count);
	p->flops = count * ws_sub_info(op->sub)->flops;
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
	case WS_OP_CONV:
	case WS_OP_CONV_DGRAD:
	case WS_OP_CONV_WGRAD:
		cost_conv(op);
		break;
	case WS_OP_MAX_POOL:
	case WS_OP_MAX_POOL_GRAD:
	case WS_OP_AVG_POOL:
	case WS_OP_AVG_POOL_GRAD:
		cost_pool(op);
		break;
	case WS_OP_REDUCE:
	case WS_OP_BIAS_GRAD:
	case WS_OP_SWIGLU_GRAD: /* dy */
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
	case WS_OP_BIAS:
	case WS_OP_BATCH_NORM:
	case WS_OP_BATCH_NORM_GRAD:
	case WS_OP_DROPOUT:
	case WS_OP_SOFTMAX:
	case WS_OP_SOFTMAX_GRAD:
	case WS_OP_RMS_NORM:
	case WS_OP_RMS_NORM_GRAD:
	case WS_OP_SWIGLU:
	case WS_OP_BIAS_ACT:
	case WS_OP_UNSCALE:
	case WS_OP_SCALE_UPDATE:
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
	case WS_OP_ROPE_QKV: /* queries and keys, or their gradients, are rotated: 3 each */
		cost_rows(op, op->out[0]);
		p->flops = per_element * (uint64_t)(op->u.head.batch * op->u.head.time *
		                                    op->u.head.heads * op->u.head.width);
		cost_bytes(op);
		break;
	case WS_OP_CROSS_ENTROPY:
		cost_rows(op, op->in[0]);
		p->flops = per_element * (uint64_t)op->in[0]->count + p->m;
		cost_bytes(op);
		break;
	case WS_OP_ADAMW:
		cost_adamw(op);
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
