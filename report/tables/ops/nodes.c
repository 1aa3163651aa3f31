/* Calls of operations as one tree: ranges, or a framework's with the ranges around them. */
#include "formats/base/grow.h"
#include "formats/base/sort.h"
#include "report/tables/ops/ops.h"

#include <string.h>

int64_t ws_ops_node_flops(const struct ws_ops_table *s, const struct ws_ops_node *node)
{
	if (node->cost == WS_NONE)
		return -1;
	return s->are_ranges ? s->tab->m->ops.op[node->cost].flops
	                     : ws_cpu_op_config(s->tab->m, node->cost)->flops;
}

/* The next node. What it takes is not its parent's own. */
static void add_node(struct ws_ops_table *s, const struct ws_ops_node *node)
{
	struct ws_ops_node *parent = ws_ops_node_at(s, node->parent);
	struct ws_ops_sums *around = ws_ops_sums_of(s, parent);

	if (parent && parent->children < 2)
		parent->children++;
	if (around)
		around->self_cpu_ns -= node->dur_ns;
	if (node->selected)
		s->sums[node->kind][node->name].self_cpu_ns += node->dur_ns;
	ws_spill_put(&s->nodes, sizeof(*node), s->nnodes++, node);
}

void ws_ops_add_ranges(struct ws_ops_table *s)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	const struct ws_model *m = s->tab->m;

	ws_spill_open(&s->nodes, rows->nranges * sizeof(struct ws_ops_node));
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);
		const bool is_op =
		        r->context->payload != WS_NONE && m->ops.is_op[r->context->payload];
		const struct ws_ops_node node = {.dur_ns = r->end_ns - r->start_ns,
		                                 .cost = is_op ? r->context->payload : WS_NONE,
		                                 .parent = r->parent,
		                                 .name = r->context->name,
		                                 .kind = WS_OPS_OP,
		                                 .selected =
		                                         ws_range_selected(m, s->tab->sel, r, i)};

		add_node(s, &node);
	}
}

/* Modules are no rows of PyTorch's table, and what another thread ends does not nest. */
static bool is_annotation(const struct ws_model *m, const struct ws_joined_range *range)
{
	const struct ws_path *path = &m->ranges.paths[range->context->path];

	return !path->style && path->domain != WS_TEXT_MODULE_DOMAIN;
}

/* An operation or range, and which; and where its node stands, once there is one. */
struct placed {
	int64_t start_ns, end_ns;
	uint32_t thread, number, parent;
	bool is_range;
};

/* By thread, then begin; of those that begin together the longer, then the range, first. */
static int by_place(const void *pa, const void *pb)
{
	const struct placed *a = pa, *b = pb;

	WS_ORDER_BY(a->thread, b->thread);
	WS_ORDER_BY(a->start_ns, b->start_ns);
	WS_ORDER_BY(b->end_ns, a->end_ns);
	if (a->is_range != b->is_range)
		return a->is_range ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static size_t place_all(const struct ws_ops_table *s, struct placed *placed)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	const struct ws_op_tree *ops = &s->tab->m->cpu_ops.tree;
	size_t n = 0;

	for (uint32_t i = 0; i < ops->n; i++)
		placed[n++] = (struct placed){ops->start_ns[i], ops->end_ns[i], ops->thread[i], i,
		                              WS_NONE,          false};
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);

		if (is_annotation(s->tab->m, r))
			placed[n++] = (struct placed){r->start_ns, r->end_ns, r->context->thread,
			                              i,           WS_NONE,   true};
	}
	ws_sort(placed, n, sizeof(*placed), by_place);
	return n;
}

static struct ws_ops_node node_of_placed(const struct ws_ops_table *s, const struct placed *at)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_selection *sel = s->tab->sel;
	const uint32_t i = at->number;
	const struct ws_joined_range *r = at->is_range ? ws_joined_rows_range(sel->rows, i) : NULL;

	return (struct ws_ops_node){.dur_ns = at->end_ns - at->start_ns,
	                            .cost = r ? WS_NONE : i,
	                            .parent = at->parent,
	                            .name = r ? r->context->name : m->cpu_ops.tree.name[i],
	                            .kind = r ? WS_OPS_RANGE : WS_OPS_OP,
	                            .selected = r ? ws_range_selected(m, sel, r, i) : sel->op[i]};
}

/* Operations of a framework, with the ranges that the program put around them. */
void ws_ops_merge(struct ws_ops_table *s)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	const size_t nops = s->tab->m->cpu_ops.tree.n, all = nops + rows->nranges;
	struct placed *placed;
	size_t n;

	WS_NEW(s->tab->temp, placed, all);
	WS_NEW(s->tab->temp, s->node, all);
	ws_spill_open(&s->nodes, all * sizeof(struct ws_ops_node));
	memset(s->node, 0xff, all * sizeof(*s->node));
	n = place_all(s, placed);
	for (uint32_t i = 0; i < n; i++) {
		struct placed *at = &placed[i];
		struct ws_ops_node node;

		at->parent = i ? i - 1 : WS_NONE;
		while (at->parent != WS_NONE && (placed[at->parent].thread != at->thread ||
		                                 placed[at->parent].end_ns < at->end_ns))
			at->parent = placed[at->parent].parent;
		s->node[at->is_range ? nops + at->number : at->number] = i;
		node = node_of_placed(s, at);
		add_node(s, &node);
	}
	/* what lies in a range without a node lies in the range around it */
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const uint32_t parent = ws_joined_rows_range(rows, i)->parent;

		if (s->node[nops + i] == WS_NONE && parent != WS_NONE)
			s->node[nops + i] = s->node[nops + parent];
	}
}

/* The node of what lies in this operation and in this range, WS_NONE. */
uint32_t ws_ops_node_of(const struct ws_ops_table *s, uint32_t op, uint32_t range)
{
	if (s->are_ranges)
		return range;
	if (op != WS_NONE)
		return s->node[op];
	return range == WS_NONE ? WS_NONE : s->node[s->tab->m->cpu_ops.tree.n + range];
}
