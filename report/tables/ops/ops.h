/* What the parts of the table `ops` share. */
#pragma once

#include <stdbool.h>

#include "report/tables/tables.h"

enum ws_ops_kind { WS_OPS_OP, WS_OPS_RANGE, WS_OPS_CALL, WS_OPS_KINDS };

/* All operations or calls of one name. */
struct ws_ops_sums {
	uint64_t calls, device_work;
	int64_t self_cpu_ns, cpu_ns, self_cuda_ns, cuda_ns, flops;
	int flops_unknown;
};

/* A call of an operation. Parents stand before what is in them. */
struct ws_ops_node {
	int64_t dur_ns;
	uint32_t parent; /* WS_NONE */
	uint32_t name;
	uint32_t cost;     /* what tells its FLOPs: an operation of the framework's, or a payload */
	uint16_t children; /* 2: more than one */
	uint8_t kind;      /* enum ws_ops_kind */
	bool selected;
};

struct ws_ops_table {
	const struct ws_table_context *tab;
	bool are_ranges;       /* nodes are the ranges, by their numbers */
	struct ws_spill nodes; /* struct ws_ops_node */
	/* int64_t, of each node, with what it called: apart, as a page that is changed costs a
	 * fault of its own */
	struct ws_spill cuda_ns;
	size_t nnodes;
	uint32_t *node; /* unless are_ranges: operation, then range -> node or WS_NONE */
	struct ws_ops_sums *sums[WS_OPS_KINDS]; /* by text */
	struct ws_ops_sums without_op;          /* device work in no operation */
	int64_t all_cpu_ns, all_cuda_ns;
};

/* --- nodes.c --- */

/* NULL for WS_NONE; to be used before the next is asked for. */
static inline struct ws_ops_node *ws_ops_node_at(struct ws_ops_table *s, uint32_t i)
{
	return i == WS_NONE ? NULL : ws_spill_row(&s->nodes, sizeof(struct ws_ops_node), i);
}
static inline int64_t *ws_ops_cuda_ns(struct ws_ops_table *s, uint32_t i)
{
	return ws_spill_row(&s->cuda_ns, sizeof(int64_t), i);
}
/* What a node counts in; NULL: it is not in the report, or none. */
static inline struct ws_ops_sums *ws_ops_sums_of(struct ws_ops_table *s,
                                                 const struct ws_ops_node *node)
{
	return node && node->selected ? &s->sums[node->kind][node->name] : NULL;
}
/* -1 = not known */
int64_t ws_ops_node_flops(const struct ws_ops_table *s, const struct ws_ops_node *node);
/* Nodes of ranges. */
void ws_ops_add_ranges(struct ws_ops_table *s);
/* Nodes of a framework's operations, with the ranges that the program put around them. */
void ws_ops_merge(struct ws_ops_table *s);
/* The node of what lies in this operation and in this range, WS_NONE. */
uint32_t ws_ops_node_of(const struct ws_ops_table *s, uint32_t op, uint32_t range);

/* --- calls.c --- */

/* Sums of API calls by name. They take their time from the operations around them. */
void ws_ops_share_out_calls(struct ws_ops_table *s);
