#include <ctype.h>

#include "kernels/graph/graph.h"

static const struct ws_op_info op_infos[] = {
#define WS_OP(KIND, name, class, payload, ...) \
	[WS_OP_##KIND] = {#name, #class, WSNVTX_OP_##payload},
#include "kernels/graph/op.def"
};

static const struct ws_sub_info sub_infos[] = {
#define WS_SUB(KIND, SUB, name, flops, autocast) \
	[WS_SUB_##SUB] = {name, #SUB, WS_OP_##KIND, flops, WS_AUTOCAST_##autocast},
#include "kernels/graph/op.def"
};

const struct ws_op_info *ws_op_info(enum ws_op_kind kind)
{
	return &op_infos[kind];
}

const struct ws_sub_info *ws_sub_info(enum ws_sub sub)
{
	return &sub_infos[sub];
}

struct ws_elementwise ws_op_elementwise(const struct ws_op *op)
{
	bool bias = op->kind == WS_OP_BIAS || op->kind == WS_OP_BIAS_ACT;
	const struct ws_channels *ch = op->kind == WS_OP_BIAS ? &op->u.ch : &op->u.bias.ch;
	struct ws_elementwise e = {.cols = ws_tensor_cols(op->out[0]), .channels = 1};

	for (int i = 0; i < op->in_count; i++)
		e.spread[i] = ws_tensor_broadcast(op->in[i], op->out[0]);
	if (!bias) {
		e.alpha = op->u.alpha;
		return e;
	}
	e.cols = ch->inner == 1 ? ch->channels : ch->inner;
	e.channels = ch->channels;
	e.spread[1] = ch->inner == 1 ? WS_BROADCAST_ROW : WS_BROADCAST_CHANNEL;
	e.alpha = op->kind == WS_OP_BIAS ? 0 : op->u.bias.alpha;
	return e;
}

const char *ws_op_kernel_name(const struct ws_op *op, char *buf, size_t size)
{
	static const char *const directions[] = {
	        [WSNVTX_DIRECTION_none] = "",
	        [WSNVTX_DIRECTION_forward] = "_fwd",
	        [WSNVTX_DIRECTION_backward] = "_bwd",
	};
	static const char *const layouts[2][2] = {{"nn", "nt"}, {"tn", "tt"}};
	const char *in = "", *out = ws_dtype_suffix(op->out[0]->dtype);
	char sub[24];
	size_t n = 0;

	for (const char *s = sub_infos[op->sub].symbol; *s && n + 1 < sizeof(sub); s++)
		sub[n++] = (char)tolower((unsigned char)*s);
	sub[n] = '\0';

#define X(name, bytes, suffix, nvtx, is_float)        \
	if (op->payload.dtype == WSNVTX_DTYPE_##nvtx) \
		in = #suffix;
	WS_DTYPE_LIST(X)
#undef X
	if (op->tf32)
		in = "tf32";
	snprintf(buf, size, "ws_%s_%s%s_%s%s%s", op_infos[op->kind].kernel_class,
	         op->kind == WS_OP_GEMM ? layouts[op->u.gemm.trans_a][op->u.gemm.trans_b] : sub,
	         directions[op->payload.direction], in, strcmp(in, out) ? "_" : "",
	         strcmp(in, out) ? out : "");
	return buf;
}

/* --- cost --- */

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

/* Only some rows or elements of a large tensor are touched: as many as moved has. */
static void cost_indexed(struct ws_op *op, const struct ws_tensor *moved, bool accumulate)
{
	struct wsnvtx_op *p = &op->payload;

	p->bytes_read = moved->size_bytes * (accumulate ? 2 : 1) + op->in[1]->size_bytes;
	p->bytes_written = moved->size_bytes;
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
	/* fits: ops.c */
	p->flops = 2 * (uint64_t)(f->n * f->k * f->p * f->q * (f->c / f->groups) * f->r * f->s);
	cost_bytes(op);
}

/* Elements of the input that the outputs of a pooling read, all together. */
static uint64_t window_reads(const struct ws_window *w)
{
	int64_t reads = w->n * w->c;

	for (int columns = 0; columns < 2; columns++) {
		const struct ws_axis axis = ws_window_axis(w, columns);
		int64_t sum = 0;

		for (int64_t i = 0; i < axis.out; i++) {
			struct ws_span s = ws_axis_inputs(&axis, i);

			sum += s.end - s.first;
		}
		reads *= sum;
	}
	return (uint64_t)reads;
}

static void cost_pool(struct ws_op *op, uint64_t flops)
{
	const struct ws_window *w = &op->u.window;
	struct wsnvtx_op *p = &op->payload;

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
	p->flops = flops;
	cost_bytes(op);
}

/* A rule of op.def. */
#define RULE(name, ...)                           \
	static void cost_##name(struct ws_op *op) \
	{                                         \
		__VA_ARGS__;                      \
	}

/* Comparisons; those with the padding count, as a kernel makes them. */
RULE(max_pool, cost_pool(op, (uint64_t)(op->out[0]->count *(op->u.window.r * op->u.window.s - 1))))
RULE(max_pool_grad, cost_pool(op, (uint64_t)op->in[0]->count))
RULE(avg_pool, cost_pool(op, window_reads(&op->u.window)))
RULE(avg_pool_grad, cost_pool(op, (uint64_t)op->out[0]->count))

/* Each tensor of a row is read, or written, once: of AdamW p, g, m, v and p, m, v. */
static void cost_update(struct ws_op *op)
{
	const struct ws_update *u = &op->u.update;
	struct wsnvtx_op *p = &op->payload;
	uint64_t count = 0, flops = ws_sub_info(op->sub)->flops;

	if (op->sub == WS_SUB_SGD_ALL && u->list->t[WS_UPDATE_M])
		flops += 2; /* momentum */
	if ((op->sub == WS_SUB_SGD_ALL || op->sub == WS_SUB_ADAM_ALL) && u->factors.decay != 0)
		flops += 2; /* decay in the gradient */
	for (int i = 0; i < ws_update_numbers(op); i++)
		p->bytes_read += op->in[i]->size_bytes;
	for (int i = 0; i < u->count; i++) {
		const struct ws_update_row *row = &u->list[i];

		count += (uint64_t)row->t[0]->count;
		for (int k = 0; k < WS_UPDATE_TENSORS; k++) {
			if (!row->t[k])
				continue;
			/* counted once if b is c; out is not an operand */
			if (ws_update_reads(op->sub, k) &&
			    (k <= WS_UPDATE_A || row->t[k] != row->t[k - 1]))
				p->bytes_read += row->t[k]->size_bytes;
			if (ws_update_writes(op->sub, k))
				p->bytes_written += row->t[k]->size_bytes;
		}
	}
	p->m = 1;
	p->n = dim32((int64_t)count);
	p->flops = count * flops;
}

RULE(clip, cost_update(op); op->payload.bytes_written = op->out[0]->size_bytes)

static void cost_gemm(struct ws_op *op)
{
	const struct ws_gemm *gemm = &op->u.gemm;
	struct wsnvtx_op *p = &op->payload;

	p->batch = dim32(gemm->batch);
	p->m = dim32(gemm->m);
	p->n = dim32(gemm->n);
	p->k = dim32(gemm->k);
	p->flops = 2 * (uint64_t)(gemm->batch * gemm->m * gemm->n * gemm->k); /* fits: ops.c */
	cost_bytes(op);
}

/* The sub-op's FLOPs for each element of a tensor; bytes of all operands. */
static void cost_elements(struct ws_op *op, const struct ws_tensor *t)
{
	cost_rows(op, t);
	op->payload.flops = ws_sub_info(op->sub)->flops * (uint64_t)t->count;
	cost_bytes(op);
}

RULE(result, cost_elements(op, op->out[0]))
RULE(operand, cost_elements(op, op->in[0]))
/* table, index -> rows */
RULE(embedding, cost_rows(op, op->out[0]); cost_indexed(op, op->out[0], false))
/* row gradients, index, table -> table */
RULE(embedding_grad, cost_elements(op, op->in[0]); cost_indexed(op, op->in[0], true))
/* rows, index -> one element of each */
RULE(gather, cost_rows(op, op->in[0]); cost_indexed(op, op->out[0], false))
/* element gradients, index, zeros -> rows */
RULE(gather_grad, cost_rows(op, op->out[0]); cost_indexed(op, op->in[0], false))
/* One FLOP more a row. */
RULE(cross_entropy, cost_elements(op, op->in[0]); op->payload.flops += op->payload.m)

/* Queries and keys, or their gradients, are rotated: 3 each. */
static void cost_rope_qkv(struct ws_op *op)
{
	const struct ws_heads *h = &op->u.head;

	cost_rows(op, op->out[0]);
	op->payload.flops =
	        ws_sub_info(op->sub)->flops * (uint64_t)(h->batch * h->time * h->heads * h->width);
	cost_bytes(op);
}

/* One element of each row is read. */
static void cost_nll_loss(struct ws_op *op)
{
	const struct ws_tensor *y = op->in[0];

	cost_rows(op, y);
	op->payload.flops = ws_sub_info(op->sub)->flops * op->payload.m;
	op->payload.bytes_read = op->payload.m * ws_dtype_size(y->dtype) + op->in[1]->size_bytes;
	op->payload.bytes_written = op->out[0]->size_bytes;
}

static void cost_unscale(struct ws_op *op)
{
	const struct ws_update *u = &op->u.update;
	struct wsnvtx_op *p = &op->payload;
	int64_t count = op->out[0]->count;

	cost_result(op);
	for (int i = 1; i < u->count; i++) {
		count += u->list[i].t[WS_UPDATE_OUT]->count;
		p->bytes_read += u->list[i].t[WS_UPDATE_A]->size_bytes;
		p->bytes_written += u->list[i].t[WS_UPDATE_OUT]->size_bytes;
	}
	if (u->count > 1) {
		p->m = 1;
		p->n = dim32(count);
	}
	p->flops = ws_sub_info(op->sub)->flops * (uint64_t)count;
}

/* A query sees the keys up to its own: T (T + 1) / 2 pairs in each head. */
static void cost_attention(struct ws_op *op)
{
	const struct ws_heads *h = &op->u.attention.head;
	struct wsnvtx_op *p = &op->payload;

	p->batch = dim32(h->batch * h->heads);
	p->m = p->n = dim32(h->time);
	p->k = dim32(h->width);
	p->flops = ws_sub_info(op->sub)->flops *
	           (uint64_t)(h->batch * h->heads * (h->time * (h->time + 1) / 2) * h->width);
	cost_bytes(op);
}

/* Products of causal attention compute T^2 pairs, where the result needs T (T + 1) / 2 of them; a
 * fused one computes what it needs. */
static uint64_t flops_needed(const struct ws_op *op)
{
	const uint64_t flops = op->payload.flops, t = (uint64_t)op->scope->causal;

	if (!t || op->payload.op == WSNVTX_OP_attention)
		return flops;
	return op->payload.op == WSNVTX_OP_gemm ? flops / t * (t + 1) / 2 : 0;
}

void ws_cost_op(struct ws_op *op)
{
	static void (*const rules[])(struct ws_op *) = {
#define WS_OP(KIND, name, class, payload, cost, ...) [WS_OP_##KIND] = cost_##cost,
#include "kernels/graph/op.def"
	};
	struct wsnvtx_op *p = &op->payload;

	p->flops = p->bytes_read = p->bytes_written = 0;
	p->batch = p->groups = 1;
	rules[op->kind](op);
	p->flops_needed = flops_needed(op);
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
