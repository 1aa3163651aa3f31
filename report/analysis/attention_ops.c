#include "report/analysis/attention_ops.h"

#include <stdbool.h>
#include <string.h>

#include "formats/op_cost/op_cost.h"

/* How many operations may lie between a product and the softmax. */
#define REACH 12

struct finder {
	const struct ws_model *m;
	struct ws_cost_ops *costs;
	size_t n; /* operations of a framework; they are numbered from 0 here */
	uint8_t *part;
};

static struct ws_cost_op op_at(const struct finder *f, size_t i)
{
	return ws_cost_ops_at(f->costs, f->costs->nranges + i);
}

/* The n-th batched product from i in direction `by` (1 or -1) on its thread; WS_NONE: it is not
 * within reach, or work of another layer lies between. */
static uint32_t product_near(const struct finder *f, size_t i, int by, int n)
{
	const uint32_t *thread = f->m->cpu_ops.tree.thread, on = thread[op_at(f, i).cpu_op];
	size_t at = i;

	for (int steps = 0; steps < REACH; steps++) {
		struct ws_cost_op op;

		at = by < 0 ? at - 1 : at + 1;
		if (at >= f->n) /* before the first, too */
			return WS_NONE;
		op = op_at(f, at);
		if (thread[op.cpu_op] != on)
			return WS_NONE;
		if (op.class == WS_TEXT_GEMM && op.batch > 1) {
			if (--n == 0)
				return (uint32_t)at;
		} else if (op.class == WS_TEXT_SOFTMAX || ws_class_is_product(op.class)) {
			return WS_NONE;
		}
	}
	return WS_NONE;
}

/* What an operation was found to be stays. */
static void set(struct finder *f, size_t from, size_t end, enum ws_attention_part part)
{
	for (size_t i = from; i < end; i++)
		if (f->part[i] == WS_ATTENTION_NONE)
			f->part[i] = (uint8_t)part;
}

/* i: a softmax. Before it lies scale and mask, behind it anything else. */
static void match_forward(struct finder *f, size_t i)
{
	uint32_t scores = product_near(f, i, -1, 1), final = product_near(f, i, 1, 1);
	struct ws_cost_op a, b;

	if (scores == WS_NONE || final == WS_NONE)
		return;
	a = op_at(f, scores);
	b = op_at(f, final);
	if (a.batch != b.batch || a.m != b.m || a.n != b.k)
		return;
	set(f, scores, scores + 1, WS_ATTENTION_SCORES);
	set(f, i, i + 1, WS_ATTENTION_SOFTMAX);
	set(f, final, final + 1, WS_ATTENTION_FINAL);
	set(f, scores, i, WS_ATTENTION_SCALE_MASK);
	set(f, i, final, WS_ATTENTION_OTHER);
}

/* i: a gradient of softmax, between the products for dV and dP and those for dQ and dK. */
static void match_backward(struct finder *f, size_t i)
{
	uint32_t at[4] = {product_near(f, i, -1, 2), product_near(f, i, -1, 1),
	                  product_near(f, i, 1, 1), product_near(f, i, 1, 2)};

	for (int p = 0; p < 4; p++)
		if (at[p] == WS_NONE || op_at(f, at[p]).batch != op_at(f, at[0]).batch)
			return;
	set(f, i, i + 1, WS_ATTENTION_SOFTMAX);
	for (int p = 0; p < 4; p++)
		set(f, at[p], at[p] + 1, p < 2 ? WS_ATTENTION_FINAL : WS_ATTENTION_SCORES);
	set(f, at[1], i, WS_ATTENTION_OTHER);
	set(f, i, at[2], WS_ATTENTION_SCALE_MASK);
}

/* --- pairs ---------------------------------------------------------------------------------- */

/* What fused attention around a product says, or around the forward one that it belongs to. */
static enum ws_op_mask mask_around(const struct ws_model *m, uint32_t cpu_op)
{
	for (int forward = 0; forward < 2 && cpu_op != WS_NONE; forward++) {
		for (uint32_t at = cpu_op; at != WS_NONE; at = m->cpu_ops.tree.parent[at]) {
			const uint8_t mask = ws_cpu_op_config(m, at)->mask;

			if (mask != WS_MASK_NOT_KNOWN)
				return (enum ws_op_mask)mask;
		}
		cpu_op = m->cpu_ops.forward[cpu_op];
	}
	return WS_MASK_NOT_KNOWN;
}

/* How many queries a product of self-attention has: of its three sizes two are that; 0. */
static uint64_t queries_of(const struct ws_cost_op *op)
{
	if (op->m == op->n || op->m == op->k)
		return op->m;
	return op->n == op->k ? op->n : 0;
}

int64_t ws_attention_flops_needed(const struct ws_model *m, const struct ws_cost_op *op,
                                  bool in_attention)
{
	const uint64_t n = queries_of(op), flops = (uint64_t)op->flops;
	enum ws_op_mask mask;

	if (op->flops_needed >= 0 || op->flops < 0 || op->class == WS_TEXT_FUSED_ATTENTION)
		return op->flops_needed;
	if (!in_attention)
		return op->flops;
	mask = mask_around(m, op->cpu_op);
	if (mask == WS_MASK_CAUSAL && n && flops % n == 0)
		return (int64_t)((flops + flops / n) / 2);
	return mask == WS_MASK_NONE ? op->flops : -1;
}

/* --- all of them ------------------------------------------------------------------------- */

/* Backward operations are what the forward operations are that they are linked to. */
static void follow_links(struct finder *f, struct ws_arena *arena)
{
	const struct ws_op_tree *tree = &f->m->cpu_ops.tree;
	const uint32_t several = WS_NONE - 1;
	uint32_t *
	        inside; /* framework operation -> the one of attention in it, WS_NONE, or several */

	WS_NEW(arena, inside, tree->n);
	memset(inside, 0xff, tree->n * sizeof(*inside));
	for (uint32_t i = 0; i < f->n; i++)
		for (uint32_t at = op_at(f, i).cpu_op;
		     f->part[i] != WS_ATTENTION_NONE && at != WS_NONE; at = tree->parent[at])
			inside[at] = inside[at] == WS_NONE ? i : several;
	for (size_t i = 0; i < f->n; i++) {
		const uint32_t forward = f->m->cpu_ops.forward[op_at(f, i).cpu_op],
		               origin = forward == WS_NONE ? WS_NONE : inside[forward];

		if (origin < several)
			set(f, i, i + 1, (enum ws_attention_part)f->part[origin]);
	}
}

uint8_t *ws_attention_find(const struct ws_model *m, struct ws_cost_ops *costs,
                           struct ws_arena *arena)
{
	struct finder f = {.m = m, .costs = costs, .n = costs->n - costs->nranges};

	WS_NEW(arena, f.part, f.n);
	memset(f.part, WS_ATTENTION_NONE, f.n);
	for (int backward = 0; backward < 2; backward++) {
		for (size_t i = 0; i < f.n; i++) {
			const struct ws_cost_op op = op_at(&f, i);

			if (op.class == WS_TEXT_FUSED_ATTENTION)
				set(&f, i, i + 1, WS_ATTENTION_FUSED);
			else if (op.class == WS_TEXT_SOFTMAX &&
			         (op.direction == WS_TEXT_BACKWARD) == backward &&
			         f.part[i] == WS_ATTENTION_NONE)
				(backward ? match_backward : match_forward)(&f, i);
		}
		if (!backward)
			follow_links(&f, arena);
	}
	return f.part;
}
