/*
 * Softmax versus matmul: inside self-attention, and over the whole model.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/model/label.h"
#include "report/tables/softmax/rows.h"

/* 3 of "layer 3"; -1 for any other name. */
static int64_t layer_of_name(struct ws_bytes name)
{
	static const char prefix[] = "layer ";
	const char *p = name.ptr;
	int64_t layer = 0;

	/* 9 digits are enough, and cannot overflow */
	if (name.len < sizeof(prefix) || name.len > sizeof(prefix) + 8 ||
	    memcmp(p, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	for (size_t i = sizeof(prefix) - 1; i < name.len; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		layer = layer * 10 + (p[i] - '0');
	}
	return layer;
}

/* around: of the path around it; beside: another path of the same parent is a product. */
static enum ws_part part_of_word(enum ws_attention_word word, enum ws_part around, bool beside)
{
	const bool surely = around != WS_PART_NONE || beside;

	switch (word) {
	case WS_WORD_ATTENTION:
		return WS_PART_OTHER;
	case WS_WORD_SCORES:
		return WS_PART_SCORES;
	case WS_WORD_SOFTMAX:
		return WS_PART_SOFTMAX;
	case WS_WORD_FINAL:
		return WS_PART_FINAL;
	case WS_WORD_MAYBE_SCORES:
		return surely ? WS_PART_SCORES : around;
	case WS_WORD_MAYBE_SOFTMAX:
		return surely ? WS_PART_SOFTMAX : around;
	default:
		return around;
	}
}

/* What names say of each path. */
static void label_paths(struct ws_softmax *s)
{
	const struct ws_model *m = s->tab->m;
	const size_t n = m->ranges.npaths;
	uint8_t *word, *holds_product; /* [n]: outermost paths are in no other */

	WS_NEW(s->tab->temp, s->part, n);
	WS_NEW(s->tab->temp, s->layer, n);
	WS_NEW(s->tab->temp, word, n);
	WS_NEW(s->tab->temp, holds_product, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct ws_path *path = &m->ranges.paths[i];

		word[i] = (uint8_t)ws_label_attention(m->texts[path->name]);
		if (word[i] == WS_WORD_SCORES || word[i] == WS_WORD_FINAL)
			holds_product[path->parent == WS_NONE ? n : path->parent] = 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct ws_path *path = &m->ranges.paths[i];
		const uint32_t parent = path->parent;

		s->part[i] =
		        (uint8_t)part_of_word((enum ws_attention_word)word[i],
		                              parent == WS_NONE ? WS_PART_NONE
		                                                : (enum ws_part)s->part[parent],
		                              holds_product[parent == WS_NONE ? n : parent]);
		s->layer[i] = layer_of_name(m->texts[path->name]);
		if (s->layer[i] < 0 && parent != WS_NONE)
			s->layer[i] = s->layer[parent];
	}
}

/* The part that work of a class (a text, 0 = unknown) in a range belongs to: a product's range may
 * hold what scales and masks, and the program's word counts where nothing tells the class. */
static enum ws_part part_of(const struct ws_softmax *s, const struct ws_joined_range *range,
                            uint32_t class)
{
	const enum ws_part part = (enum ws_part)s->part[range->context->path];
	const bool may_multiply = !class || ws_bytes_begin(s->tab->m->texts[class], "gemm");

	if (range->context->class == WS_TEXT_FUSED_ATTENTION)
		return WS_PART_FUSED; /* says so itself, whatever it lies in */
	if (part == WS_PART_NONE)
		return WS_PART_NONE;
	if (class == WS_TEXT_FUSED_ATTENTION)
		return WS_PART_FUSED;
	if (class == WS_TEXT_SCALE || class == WS_TEXT_MASK)
		return WS_PART_SCALE_MASK;
	switch (part) {
	case WS_PART_SCORES:
		return may_multiply ? part : WS_PART_SCALE_MASK;
	case WS_PART_SOFTMAX:
		return class && may_multiply ? WS_PART_OTHER : part;
	case WS_PART_FINAL:
		return may_multiply ? part : WS_PART_OTHER;
	default:
		return part;
	}
}

/* By name, or what the outermost operation around it tells that tells a layer; -1. */
static int64_t layer_of(const struct ws_softmax *s, const struct ws_joined_range *range)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	int64_t layer = s->layer[range->context->path];
	bool is_named = layer >= 0;

	for (; !is_named && range && range->context->op != WS_NONE;
	     range = ws_joined_rows_range(rows, range->parent)) {
		const struct ws_op_facts *op = ws_joined_range_op(s->tab->m, range);

		if (!range->context->is_op)
			range = ws_joined_rows_range(rows,
			                             ws_joined_rows_op_range(rows, range->parent));
		if (op->layer >= 0)
			layer = op->layer;
	}
	return layer;
}

static enum ws_direction direction_of_text(uint32_t direction)
{
	if (direction == WS_TEXT_FORWARD)
		return WS_DIRECTION_FORWARD;
	return direction == WS_TEXT_BACKWARD ? WS_DIRECTION_BACKWARD : WS_DIRECTION_UNKNOWN;
}

static enum ws_direction direction_of_range(const struct ws_softmax *s,
                                            const struct ws_joined_range *range)
{
	const struct ws_op_facts *op = ws_joined_range_op(s->tab->m, range);

	if (op && direction_of_text(op->direction) != WS_DIRECTION_UNKNOWN)
		return direction_of_text(op->direction);
	switch (range->context->phase) {
	case WS_PHASE_FORWARD:
		return WS_DIRECTION_FORWARD;
	case WS_PHASE_BACKWARD:
		return WS_DIRECTION_BACKWARD;
	default:
		return WS_DIRECTION_UNKNOWN;
	}
}

/*
 * A framework's operation is what it says, else what its phase tells, by links from backward to
 * forward. Without links it is forward, unless it is on a thread that runs backward, where most do
 * not say.
 */
static enum ws_direction direction_of_framework(const struct ws_softmax *s, uint32_t direction,
                                                uint32_t cpu_op)
{
	const struct ws_cpu_ops *ops = &s->tab->m->cpu_ops;
	enum ws_direction d = direction_of_text(direction);

	if (d != WS_DIRECTION_UNKNOWN)
		return d;
	switch (ops->phase[cpu_op]) {
	case WS_PHASE_FORWARD:
	case WS_PHASE_LOSS:
		return WS_DIRECTION_FORWARD;
	case WS_PHASE_BACKWARD:
		return WS_DIRECTION_BACKWARD;
	case WS_PHASE_OPTIMIZER:
		return WS_DIRECTION_UNKNOWN;
	default:
		return s->runs_backward[ops->tree.thread[cpu_op]] ? WS_DIRECTION_UNKNOWN
		                                                  : WS_DIRECTION_FORWARD;
	}
}

/* cost: its operation, NULL; range: that of its launch, NULL. */
static enum ws_direction direction_of_kernel(const struct ws_softmax *s,
                                             const struct ws_joined_kernel *k,
                                             const struct ws_cost_op *cost,
                                             const struct ws_joined_range *range)
{
	if (cost && cost->cpu_op != WS_NONE)
		return direction_of_framework(s, cost->direction, cost->cpu_op);
	if (k->cpu_op != WS_NONE)
		return direction_of_framework(s, k->kind->direction, k->cpu_op);
	return range ? direction_of_range(s, range) : WS_DIRECTION_UNKNOWN;
}

static void find_backward_threads(struct ws_softmax *s)
{
	const struct ws_model *m = s->tab->m;

	WS_NEW(s->tab->temp, s->runs_backward, m->nthreads);
	for (uint32_t i = 0; i < m->cpu_ops.tree.n; i++)
		s->runs_backward[m->cpu_ops.tree.thread[i]] |=
		        m->cpu_ops.forward[i] != WS_NONE ||
		        ws_cpu_op_config(m, i)->direction == WS_TEXT_BACKWARD;
}

static enum ws_share model_class_of(uint32_t class)
{
	switch (class) {
	case WS_TEXT_SOFTMAX:
		return WS_SHARE_SOFTMAX;
	case WS_TEXT_GEMM:
		return WS_SHARE_MATMUL;
	case WS_TEXT_CONV:
		return WS_SHARE_CONV;
	case WS_TEXT_FUSED_ATTENTION:
		return WS_SHARE_FUSED;
	default:
		return WS_SHARE_OTHER;
	}
}

/* The layer's scope, made when it is new. Valid until the next call. */
static struct ws_softmax_scope *scope_of(struct ws_softmax *s, int64_t layer)
{
	uint32_t at = ws_idmap_get(&s->scope_of, (uint64_t)layer);

	if (at == WS_NONE) {
		WS_GROW(s->scopes, s->nscopes + 1, s->scopes_capacity);
		at = (uint32_t)s->nscopes++;
		memset(&s->scopes[at], 0, sizeof(s->scopes[at]));
		s->scopes[at].layer = layer;
		ws_idmap_put(&s->scope_of, (uint64_t)layer, at);
	}
	return &s->scopes[at];
}

static void count_kernel(struct ws_softmax_bucket *b, int64_t gpu_ns, const struct ws_cost_op *op,
                         bool is_product)
{
	b->kernels++;
	b->gpu_ns += gpu_ns;
	b->flops_unknown |= !op || op->flops < 0;
	b->needed_unknown |= is_product && (!op || op->flops < 0);
	b->bytes_unknown |= !op || op->bytes < 0;
}

/* FLOPs by the convention that was asked for. */
static int64_t flops_of(const struct ws_softmax *s, const struct ws_cost_op *op)
{
	double scaled = (double)op->flops * s->tab->m->softmax_flops / WS_SOFTMAX_FLOPS;

	if (op->flops <= 0 || op->class != WS_TEXT_SOFTMAX ||
	    s->tab->m->softmax_flops == WS_SOFTMAX_FLOPS)
		return op->flops > 0 ? op->flops : 0;
	return scaled < 9e18 ? (int64_t)(scaled + 0.5) : INT64_MAX;
}

static void count_needed(const struct ws_softmax *s, struct ws_softmax_bucket *b,
                         const struct ws_cost_op *op, bool in_attention)
{
	const int64_t needed = ws_attention_flops_needed(s->tab->m, op, in_attention);

	if (!ws_class_is_product(op->class))
		return;
	b->products++;
	b->needed += needed > 0 ? needed : 0; /* as sums of FLOPs: cost_ops.h */
	b->needed_unknown |= needed < 0;
}

static void count_op(const struct ws_softmax *s, struct ws_softmax_bucket *b,
                     const struct ws_cost_op *op, bool in_attention)
{
	struct ws_roof roof;

	b->ops++;
	count_needed(s, b, op, in_attention);
	ws_softmax_add_flops(b, flops_of(s, op));
	b->bytes += op->bytes > 0 ? op->bytes : 0;
	if (op->class == WS_TEXT_FUSED_ATTENTION)
		b->scores += (double)op->batch * (double)op->m * (double)op->n;
	b->flops_unknown |= op->flops < 0;
	b->bytes_unknown |= op->bytes < 0;
	if (!op->kernels)
		return;
	ws_roof_find(s->tab->m, op->device, op->class, op->dtype, op->tensor, &roof);
	if (roof.flops_per_s > 0 && roof.bytes_per_s > 0) {
		b->compute_s += (double)flops_of(s, op) / roof.flops_per_s;
		b->memory_s += (double)(op->bytes > 0 ? op->bytes : 0) / roof.bytes_per_s;
	} else {
		b->roof_unknown = 1;
	}
}

/* Is this step, or no step, in what the table is about? */
static bool in_basis(const struct ws_softmax *s, uint32_t step)
{
	return !s->tab->sel->measured || ws_step_selected(s->tab->m, s->tab->sel, step);
}

/* The part and layer of a framework's operation; 0 when it is not in attention. */
static bool attention_of(const struct ws_softmax *s, uint32_t op, enum ws_part *part,
                         int64_t *layer)
{
	static const enum ws_part parts[] = {
	        [WS_ATTENTION_SCORES] = WS_PART_SCORES,
	        [WS_ATTENTION_SCALE_MASK] = WS_PART_SCALE_MASK,
	        [WS_ATTENTION_SOFTMAX] = WS_PART_SOFTMAX,
	        [WS_ATTENTION_FINAL] = WS_PART_FINAL,
	        [WS_ATTENTION_FUSED] = WS_PART_FUSED,
	        [WS_ATTENTION_OTHER] = WS_PART_OTHER,
	        [WS_ATTENTION_NONE] = WS_PART_NONE,
	};

	const struct ws_attention_op *attention;

	if (op == WS_NONE || op < s->costs->nranges)
		return false;
	attention = &s->attention[op - s->costs->nranges];
	*part = parts[attention->part];
	*layer = attention->layer;
	return attention->part != WS_ATTENTION_NONE;
}

/* Named ranges say what is attention; else, and where they do not say which part, the framework's
 * operations do. range may be NULL. */
static bool place_of(const struct ws_softmax *s, const struct ws_joined_range *range, uint32_t op,
                     uint32_t class, enum ws_part *part, int64_t *layer)
{
	const enum ws_part named = range ? part_of(s, range, class) : WS_PART_NONE;
	const bool told = (named == WS_PART_NONE || named == WS_PART_OTHER) &&
	                  attention_of(s, op, part, layer);

	if (named == WS_PART_NONE)
		return told;
	if (!told)
		*part = named;
	*layer = layer_of(s, range);
	return true;
}

static void gather_kernel(struct ws_softmax *s, const struct ws_joined_kernel *k)
{
	const struct ws_joined_range *range = ws_joined_rows_range(s->tab->sel->rows, k->range);
	const uint32_t op = ws_cost_ops_of_kernel(s->costs, k);
	struct ws_cost_op at;
	const struct ws_cost_op *cost = op == WS_NONE ? NULL : &at;
	enum ws_direction d;
	enum ws_part part;
	uint32_t class;
	int64_t layer;

	if (cost)
		at = ws_cost_ops_at(s->costs, op);
	d = direction_of_kernel(s, k, cost, range);
	class = cost && cost->class ? cost->class : k->kind->class;
	count_kernel(&s->model[d][model_class_of(class)], k->dur_ns, cost,
	             ws_class_is_product(class));
	if (!place_of(s, range, op, class, &part, &layer))
		return;
	count_kernel(&scope_of(s, layer)->parts[d][part], k->dur_ns, cost,
	             ws_class_is_product(class));
	count_kernel(&s->all.parts[d][part], k->dur_ns, cost, ws_class_is_product(class));
}

static void gather_op(struct ws_softmax *s, uint32_t i)
{
	const struct ws_cost_op op = ws_cost_ops_at(s->costs, i);
	const struct ws_joined_range *range = ws_joined_rows_range(s->tab->sel->rows, op.range);
	enum ws_direction d;
	enum ws_part part;
	bool placed, in_attention;
	int64_t layer;

	if (!in_basis(s, op.step))
		return;
	d = range ? direction_of_range(s, range)
	          : direction_of_framework(s, op.direction, op.cpu_op);
	placed = place_of(s, range, i, op.class, &part, &layer);
	in_attention = placed && (part == WS_PART_SCORES || part == WS_PART_FINAL);
	count_op(s, &s->model[d][model_class_of(op.class)], &op, in_attention);
	if (!placed)
		return;
	count_op(s, &scope_of(s, layer)->parts[d][part], &op, in_attention);
	count_op(s, &s->all.parts[d][part], &op, in_attention);
}

static void gather(struct ws_softmax *s)
{
	const struct ws_table_context *tab = s->tab;
	struct ws_joined_rows *rows = tab->sel->rows;

	find_backward_threads(s);
	label_paths(s);
	s->costs = ws_cost_ops_find(tab->m, tab->sel);
	ws_attention_find(tab->m, s->costs, tab->temp, &s->attention);
	for (size_t i = 0; i < rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);

		if (ws_kernel_selected(tab->m, tab->sel, k, i) && in_basis(s, k->step))
			gather_kernel(s, k);
	}
	for (uint32_t i = 0; i < s->costs->n; i++)
		gather_op(s, i);
}

void ws_tab_softmax_matmul(const struct ws_table_context *tab, struct ws_table *t)
{
	struct ws_softmax s = {.tab = tab, .basis = tab->sel->measured ? tab->sel->measured : 1};

	gather(&s);
	if (!ws_model_has_kernels(tab->m) && !s.costs->n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	else
		ws_softmax_rows(&s, t);
	free(s.scopes);
	ws_idmap_free(&s.scope_of);
}
