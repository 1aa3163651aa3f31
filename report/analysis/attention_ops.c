#include "report/analysis/attention_ops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/op_cost/op_cost.h"

/* How many operations may lie between a product and the softmax. */
#define REACH 12

struct finder {
	const struct ws_model *m;
	struct ws_cost_ops *costs;
	size_t n; /* operations of a framework; they are numbered from 0 here */
	struct ws_attention_op *out;
	uint32_t *of_cpu_op; /* cpu_op -> the operation of attention in or around it, WS_NONE */
	uint32_t *block;     /* operation -> the softmax that it belongs to */
};

static struct ws_cost_op op_at(const struct finder *f, size_t i)
{
	return ws_cost_ops_at(f->costs, f->costs->nranges + i);
}

static bool is_class(const struct ws_cost_op *op, uint32_t class)
{
	return op->class == class;
}

static bool is_backward(const struct ws_cost_op *op)
{
	return op->direction == WS_TEXT_BACKWARD;
}

static bool is_product(const struct ws_cost_op *op)
{
	return is_class(op, WS_TEXT_GEMM) && op->batch > 1;
}

/* May it stand between a product and the softmax? Anything but work of another layer. */
static bool may_separate(const struct ws_cost_op *op)
{
	return !is_class(op, WS_TEXT_GEMM) && !is_class(op, WS_TEXT_SOFTMAX) &&
	       !is_class(op, WS_TEXT_CONV) && !is_class(op, WS_TEXT_FUSED_ATTENTION);
}

/* The n-th batched product from i in direction `by` (1 or -1) on its thread; WS_NONE. */
static uint32_t product_near(const struct finder *f, size_t i, int by, int n)
{
	const uint32_t *thread = f->m->cpu_ops.tree.thread, on = thread[op_at(f, i).cpu_op];
	size_t at = i;

	for (int steps = 0; steps < REACH; steps++) {
		struct ws_cost_op op;

		if ((by < 0 && at == 0) || (by > 0 && at + 1 == f->n))
			return WS_NONE;
		at = by < 0 ? at - 1 : at + 1;
		op = op_at(f, at);
		if (thread[op.cpu_op] != on)
			return WS_NONE;
		if (is_product(&op)) {
			if (--n == 0)
				return (uint32_t)at;
		} else if (!may_separate(&op)) {
			return WS_NONE;
		}
	}
	return WS_NONE;
}

static void set(struct finder *f, size_t i, enum ws_attention_part part, size_t block)
{
	if (f->out[i].part != WS_ATTENTION_NONE)
		return;
	f->out[i].part = (uint8_t)part;
	f->block[i] = (uint32_t)block;
}

/* What lies between: before the softmax scale and mask, behind it anything else. */
static void set_between(struct finder *f, size_t from, size_t to, enum ws_attention_part part,
                        size_t block)
{
	for (size_t i = from + 1; i < to; i++)
		set(f, i, part, block);
}

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
	set(f, scores, WS_ATTENTION_SCORES, i);
	set(f, i, WS_ATTENTION_SOFTMAX, i);
	set(f, final, WS_ATTENTION_FINAL, i);
	set_between(f, scores, i, WS_ATTENTION_SCALE_MASK, i);
	set_between(f, i, final, WS_ATTENTION_OTHER, i);
}

static void match_backward(struct finder *f, size_t i)
{
	uint32_t at[4] = {product_near(f, i, -1, 2), product_near(f, i, -1, 1),
	                  product_near(f, i, 1, 1), product_near(f, i, 1, 2)};

	for (int p = 0; p < 4; p++)
		if (at[p] == WS_NONE || op_at(f, at[p]).batch != op_at(f, at[0]).batch)
			return;
	set(f, at[0], WS_ATTENTION_FINAL, i);
	set(f, at[1], WS_ATTENTION_FINAL, i);
	set(f, i, WS_ATTENTION_SOFTMAX, i);
	set(f, at[2], WS_ATTENTION_SCORES, i);
	set(f, at[3], WS_ATTENTION_SCORES, i);
	set_between(f, at[1], i, WS_ATTENTION_OTHER, i);
	set_between(f, i, at[2], WS_ATTENTION_SCALE_MASK, i);
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

/* --- links ----------------------------------------------------------------------------------- */

/* An operation around only one of attention stands for it. */
static void spread_up(struct finder *f)
{
	const struct ws_op_tree *tree = &f->m->cpu_ops.tree;
	const uint32_t several = WS_NONE - 1;

	for (size_t i = 0; i < f->n; i++) {
		uint32_t at = op_at(f, i).cpu_op;

		if (f->out[i].part == WS_ATTENTION_NONE)
			continue;
		for (; at != WS_NONE; at = tree->parent[at])
			f->of_cpu_op[at] = f->of_cpu_op[at] == WS_NONE ? (uint32_t)i : several;
	}
	for (uint32_t i = 0; i < tree->n; i++)
		if (f->of_cpu_op[i] == several)
			f->of_cpu_op[i] = WS_NONE;
}

static void follow_links(struct finder *f)
{
	for (size_t i = 0; i < f->n; i++) {
		uint32_t forward = f->m->cpu_ops.forward[op_at(f, i).cpu_op];
		uint32_t origin = forward == WS_NONE ? WS_NONE : f->of_cpu_op[forward];

		if (origin == WS_NONE)
			continue;
		set(f, i, (enum ws_attention_part)f->out[origin].part, i);
		f->out[i].layer = f->out[origin].layer;
	}
}

/* --- layers -------------------------------------------------------------------------------- */

/* Does this operation begin a layer: the first of its block that comes? */
static bool begins_layer(const struct finder *f, size_t i)
{
	uint8_t part = f->out[i].part;

	return part == WS_ATTENTION_SOFTMAX || part == WS_ATTENTION_FUSED;
}

/*
 * Number the blocks of each step by their softmax. Backward without links
 * counts down from the layers of forward.
 */
static void number_layers(struct finder *f, int backward)
{
	int64_t count = 0, layers = 0;
	uint32_t step = WS_NONE;

	for (size_t i = 0; i < f->n && backward; i++)
		if (f->out[i].layer >= layers)
			layers = f->out[i].layer + 1;
	for (size_t i = 0; i < f->n; i++) {
		const struct ws_cost_op op = op_at(f, i);

		if (is_backward(&op) != backward || !begins_layer(f, i) || f->out[i].layer >= 0)
			continue;
		if (op.step != step)
			count = 0;
		step = op.step;
		f->out[i].layer = backward && count < layers ? layers - 1 - count : count;
		count++;
	}
	for (size_t i = 0; i < f->n; i++)
		if (f->out[i].part != WS_ATTENTION_NONE && f->out[i].layer < 0)
			f->out[i].layer = f->out[f->block[i]].layer;
}

void ws_attention_find(const struct ws_model *m, struct ws_cost_ops *costs, struct ws_arena *arena,
                       struct ws_attention_op **out)
{
	size_t nops = m->cpu_ops.tree.n;
	struct finder f = {.m = m, .costs = costs, .n = costs->n - costs->nranges};

	WS_NEW(arena, f.out, f.n);
	WS_NEW(arena, f.of_cpu_op, nops);
	WS_NEW(arena, f.block, f.n);
	*out = f.out;
	memset(f.of_cpu_op, 0xff, nops * sizeof(*f.of_cpu_op));
	for (size_t i = 0; i < f.n; i++)
		f.out[i] = (struct ws_attention_op){WS_ATTENTION_NONE, -1};
	for (size_t i = 0; i < f.n; i++) {
		const struct ws_cost_op op = op_at(&f, i);

		if (is_class(&op, WS_TEXT_FUSED_ATTENTION))
			set(&f, i, WS_ATTENTION_FUSED, i);
		else if (is_class(&op, WS_TEXT_SOFTMAX) && !is_backward(&op))
			match_forward(&f, i);
	}
	number_layers(&f, 0);
	spread_up(&f);
	follow_links(&f);
	for (size_t i = 0; i < f.n; i++) {
		const struct ws_cost_op op = op_at(&f, i);

		if (is_backward(&op) && is_class(&op, WS_TEXT_SOFTMAX) &&
		    f.out[i].part == WS_ATTENTION_NONE)
			match_backward(&f, i);
	}
	number_layers(&f, 1);
}
