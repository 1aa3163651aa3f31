/*
 * Between gathering softmax and matrix products (matmul.c) and
 * printing them (rows.c).
 */
#pragma once

#include "report/analysis/attention_ops.h"
#include "report/tables/tables.h"

/* Parts of self-attention. */
enum ws_part {
	WS_PART_SCORES,
	WS_PART_SCALE_MASK,
	WS_PART_SOFTMAX,
	WS_PART_FINAL,
	WS_PART_FUSED, /* all of attention in one operation */
	WS_PART_OTHER, /* in attention, but in none of these */
	WS_PARTS,
	WS_PART_NONE = WS_PARTS,
};

enum ws_share {
	WS_SHARE_SOFTMAX,
	WS_SHARE_MATMUL,
	WS_SHARE_CONV,
	WS_SHARE_FUSED,
	WS_SHARE_OTHER,
	WS_SHARES
};

enum ws_direction {
	WS_DIRECTION_FORWARD,
	WS_DIRECTION_BACKWARD,
	WS_DIRECTION_UNKNOWN,
	WS_DIRECTIONS
};

/* What a row says, over all steps. */
struct ws_softmax_bucket {
	uint64_t kernels, ops;
	int64_t gpu_ns, flops, bytes;
	double scores;                    /* of fused attention: those that lie in no memory */
	int flops_unknown, bytes_unknown; /* some kernel's operation does not say */
	/* of products, convolutions and fused attention: FLOPs by the pairs that are needed */
	uint64_t products;
	int64_t needed;
	bool needed_unknown;
	/* least time that the device needs by its arithmetic and by its memory */
	double compute_s, memory_s;
	int roof_unknown;
};

/* A layer of the model, by its number; -1 = attention outside every layer. */
struct ws_softmax_scope {
	int64_t layer;
	struct ws_softmax_bucket parts[WS_DIRECTIONS][WS_PARTS];
};

struct ws_softmax {
	const struct ws_table_context *tab;
	uint64_t basis; /* steps that the numbers are the mean of */
	uint8_t *part;  /* path -> enum ws_part */
	int64_t *layer; /* path -> layer by its names, -1 */
	struct ws_cost_ops *costs;
	struct ws_attention_op *attention; /* operation of a framework -> part and layer */
	uint8_t *runs_backward;            /* thread -> some operation on it is backward */
	struct ws_softmax_scope *scopes;
	size_t nscopes, scopes_capacity;
	struct ws_idmap scope_of;    /* layer -> scope */
	struct ws_softmax_scope all; /* all layers */
	struct ws_softmax_bucket model[WS_DIRECTIONS][WS_SHARES];
};

/* Only a softmax that was asked to count for more can overflow. */
static inline void ws_softmax_add_flops(struct ws_softmax_bucket *b, int64_t flops)
{
	int64_t sum;

	if (__builtin_add_overflow(b->flops, flops, &sum))
		b->flops_unknown = 1;
	else
		b->flops = sum;
}

/* All rows and notes of the table. Sorts the scopes. */
void ws_softmax_rows(struct ws_softmax *s, struct ws_table *t);
