/*
 * Self-attention among the operations of a framework: which of them is QK^T,
 * softmax or PV, told by their order and sizes alone.
 */
#pragma once

#include "report/analysis/cost_ops.h"

enum ws_attention_part {
	WS_ATTENTION_SCORES,
	WS_ATTENTION_SCALE_MASK,
	WS_ATTENTION_SOFTMAX,
	WS_ATTENTION_FINAL,
	WS_ATTENTION_FUSED, /* all of it in one operation */
	WS_ATTENTION_OTHER, /* in attention, but none of these: dropout, casts */
	WS_ATTENTION_NONE,
};

/*
 * The FLOPs of a product, convolution or fused attention by the pairs of query and key that the
 * result needs: of causal self-attention n (n + 1) / 2 of n^2. -1: its mask is not known.
 * in_attention: it is QK^T or PV of attention that is not fused.
 */
int64_t ws_attention_flops_needed(const struct ws_model *m, const struct ws_cost_op *op,
                                  bool in_attention);

/*
 * The enum ws_attention_part of each operation of a framework, in the arena; costs->nranges is the
 * first of them.
 *
 * Forward: a softmax with the batched matrix product before it on its thread,
 * at most elementwise work between, and one behind it, where the batches are
 * equal and the second sums over the columns of the first. Backward: what is
 * linked to such an operation, else a softmax gradient between two pairs of
 * batched products with equal batches. An operation of class attention is all
 * of it at once.
 */
uint8_t *ws_attention_find(const struct ws_model *m, struct ws_cost_ops *costs,
                           struct ws_arena *arena);
