/*
 * Softmax versus matmul: inside self-attention, and over the whole model.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/attention_ops.h"
#include "report/stat.h"
#include "report/tables.h"

enum part {
	PART_SCORES,
	PART_SCALE_MASK,
	PART_SOFTMAX,
	PART_FINAL,
	PART_FUSED, /* all of attention in one operation */
	PART_OTHER, /* in attention, but in none of these */
	PARTS,
	PART_NONE = PARTS,
};
static const char *const part_names[PARTS] = {
        [PART_SCORES] = "computing attention scores",
        [PART_SCALE_MASK] = "scale and mask",
        [PART_SOFTMAX] = "computing softmax",
        [PART_FINAL] = "final matmul",
        [PART_FUSED] = "fused attention",
        [PART_OTHER] = "other kernels of attention",
};

enum model_class { CLASS_SOFTMAX, CLASS_MATMUL, CLASS_CONV, CLASS_FUSED, CLASS_OTHER, CLASSES };
static const char *const class_names[CLASSES] = {
        [CLASS_SOFTMAX] = "all softmax kernels",  [CLASS_MATMUL] = "all matmul kernels",
        [CLASS_CONV] = "all convolution kernels", [CLASS_FUSED] = "all fused attention kernels",
        [CLASS_OTHER] = "all other kernels",
};

enum direction { DIRECTION_FORWARD, DIRECTION_BACKWARD, DIRECTION_UNKNOWN, DIRECTIONS };
static const char *const direction_names[DIRECTIONS] = {"forward", "backward", ""};

/* What a row says, over all steps. */
struct bucket {
	uint64_t kernels, ops;
	int64_t gpu_ns, flops, bytes;
	int flops_unknown, bytes_unknown; /* some kernel's operation does not say */
	/* least time that the device needs by its arithmetic and by its memory */
	double compute_s, memory_s;
	int roof_unknown;
};

/* A layer of the model, by its number; -1 = attention outside every layer. */
struct scope {
	int64_t layer;
	struct bucket parts[DIRECTIONS][PARTS];
};

struct softmax {
	const struct ws_tab *tab;
	uint64_t basis; /* steps that the numbers are the mean of */
	uint8_t *part;  /* range -> enum part */
	int64_t *layer; /* range -> layer, -1 */
	struct ws_cost_ops costs;
	struct ws_attention_op *attention; /* operation of costs -> part and layer */
	uint8_t *runs_backward;            /* thread -> some operation on it is backward */
	struct scope *scopes;
	size_t nscopes, scopes_allocated;
	struct ws_idmap scope_of; /* layer -> scope */
	struct scope all;         /* all layers */
	struct bucket model[DIRECTIONS][CLASSES];
};

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the table softmax-matmul");
}

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

static enum part part_of_name(uint32_t name, enum part around)
{
	switch (name) {
	case WS_TEXT_ATTENTION:
		return PART_OTHER;
	case WS_TEXT_SCORES:
		return PART_SCORES;
	case WS_TEXT_COMPUTING_SOFTMAX:
		return PART_SOFTMAX;
	case WS_TEXT_FINAL_MATMUL:
		return PART_FINAL;
	default:
		return around;
	}
}

static enum ws_status label_ranges(struct softmax *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_ranges *r = &m->ranges;

	s->part = calloc(r->n ? r->n : 1, sizeof(*s->part));
	s->layer = calloc(r->n ? r->n : 1, sizeof(*s->layer));
	if (!s->part || !s->layer)
		return no_memory(err);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = r->parent[i];
		const struct ws_op *op = ws_range_op(m, i);

		s->part[i] = (uint8_t)part_of_name(r->name[i],
		                                   parent == WS_NONE ? PART_NONE
		                                                     : (enum part)s->part[parent]);
		s->layer[i] = layer_of_name(m->texts[r->name[i]]);
		if (s->layer[i] < 0 && parent != WS_NONE)
			s->layer[i] = s->layer[parent];
		if (s->layer[i] < 0 && op)
			s->layer[i] = op->layer;
	}
	return WS_OK;
}

/* The part that a range's own kernels belong to. */
static enum part part_of(const struct softmax *s, uint32_t range)
{
	uint32_t class = s->tab->m->range_class[range];

	if (s->part[range] == PART_NONE)
		return PART_NONE;
	if (class == WS_TEXT_SCALE || class == WS_TEXT_MASK)
		return PART_SCALE_MASK;
	return (enum part)s->part[range];
}

static enum direction direction_of_text(uint32_t direction)
{
	if (direction == WS_TEXT_FORWARD)
		return DIRECTION_FORWARD;
	return direction == WS_TEXT_BACKWARD ? DIRECTION_BACKWARD : DIRECTION_UNKNOWN;
}

static enum direction direction_of_range(const struct softmax *s, uint32_t range)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_op *op = ws_range_op(m, range);

	if (op && direction_of_text(op->direction) != DIRECTION_UNKNOWN)
		return direction_of_text(op->direction);
	switch (m->range_phase[range]) {
	case WS_PHASE_FORWARD:
		return DIRECTION_FORWARD;
	case WS_PHASE_BACKWARD:
		return DIRECTION_BACKWARD;
	default:
		return DIRECTION_UNKNOWN;
	}
}

/*
 * A framework's operation that does not say is forward, unless it is on a
 * thread that runs backward, where most do not say.
 */
static enum direction forward_unless_told(const struct softmax *s, uint32_t direction,
                                          uint32_t thread)
{
	enum direction d = direction_of_text(direction);

	return d == DIRECTION_UNKNOWN && !s->runs_backward[thread] ? DIRECTION_FORWARD : d;
}

static enum direction direction_of_cost(const struct softmax *s, const struct ws_cost_op *op)
{
	return forward_unless_told(s, op->direction, op->thread);
}

static enum direction direction_of_kernel(const struct softmax *s, size_t k)
{
	const struct ws_model *m = s->tab->m;
	uint32_t range = m->kernels.range[k], op = s->costs.of_kernel[k];

	if (op != WS_NONE && s->costs.op[op].cpu_op != WS_NONE)
		return direction_of_cost(s, &s->costs.op[op]);
	if (m->kernels.op[k] != WS_NONE)
		return forward_unless_told(s, ws_kernel_direction(m, k),
		                           m->cpu_ops.tree.thread[m->kernels.op[k]]);
	return range == WS_NONE ? DIRECTION_UNKNOWN : direction_of_range(s, range);
}

static enum ws_status find_backward_threads(struct softmax *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;

	s->runs_backward = calloc((size_t)m->nthreads + 1, 1);
	if (!s->runs_backward)
		return no_memory(err);
	for (uint32_t i = 0; i < m->cpu_ops.tree.n; i++)
		s->runs_backward[m->cpu_ops.tree.thread[i]] |=
		        m->cpu_ops.forward[i] != WS_NONE ||
		        ws_cpu_op_config(m, i)->direction == WS_TEXT_BACKWARD;
	return WS_OK;
}

static enum model_class model_class_of(uint32_t class)
{
	switch (class) {
	case WS_TEXT_SOFTMAX:
		return CLASS_SOFTMAX;
	case WS_TEXT_GEMM:
		return CLASS_MATMUL;
	case WS_TEXT_CONV:
		return CLASS_CONV;
	case WS_TEXT_FUSED_ATTENTION:
		return CLASS_FUSED;
	default:
		return CLASS_OTHER;
	}
}

/* The layer's scope, made when it is new. Valid until the next call. */
static enum ws_status scope_of(struct softmax *s, int64_t layer, struct scope **out,
                               struct ws_err *err)
{
	uint32_t at = ws_idmap_get(&s->scope_of, (uint64_t)layer);

	if (at == WS_NONE) {
		if (s->nscopes == s->scopes_allocated) {
			size_t want = s->scopes_allocated ? s->scopes_allocated * 2 : 16;
			void *grown = reallocarray(s->scopes, want, sizeof(*s->scopes));

			if (!grown)
				return no_memory(err);
			s->scopes = grown;
			s->scopes_allocated = want;
		}
		at = (uint32_t)s->nscopes++;
		memset(&s->scopes[at], 0, sizeof(s->scopes[at]));
		s->scopes[at].layer = layer;
		WS_FORWARD(ws_idmap_put(&s->scope_of, (uint64_t)layer, at, err));
	}
	*out = &s->scopes[at];
	return WS_OK;
}

static void count_kernel(struct bucket *b, int64_t gpu_ns, const struct ws_cost_op *op)
{
	b->kernels++;
	b->gpu_ns += gpu_ns;
	b->flops_unknown |= !op || op->flops < 0;
	b->bytes_unknown |= !op || op->bytes < 0;
}

/* FLOPs by the convention that was asked for. */
static int64_t flops_of(const struct softmax *s, const struct ws_cost_op *op)
{
	double scaled = (double)op->flops * s->tab->m->softmax_flops / WS_SOFTMAX_FLOPS;

	if (op->flops <= 0 || op->class != WS_TEXT_SOFTMAX ||
	    s->tab->m->softmax_flops == WS_SOFTMAX_FLOPS)
		return op->flops > 0 ? op->flops : 0;
	return scaled < 9e18 ? (int64_t)(scaled + 0.5) : INT64_MAX;
}

/* Only a softmax that was asked to count for more can overflow. */
static void add_flops(struct bucket *b, int64_t flops)
{
	int64_t sum;

	if (__builtin_add_overflow(b->flops, flops, &sum))
		b->flops_unknown = 1;
	else
		b->flops = sum;
}

static void count_op(const struct softmax *s, struct bucket *b, const struct ws_cost_op *op)
{
	struct ws_roof roof;

	b->ops++;
	add_flops(b, flops_of(s, op));
	b->bytes += op->bytes > 0 ? op->bytes : 0;
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
static int in_basis(const struct softmax *s, uint32_t step)
{
	return !s->tab->sel->measured || ws_step_selected(s->tab->m, s->tab->sel, step);
}

/* The part and layer of a framework's operation; 0 when it is not in attention. */
static int attention_of(const struct softmax *s, uint32_t op, enum part *part, int64_t *layer)
{
	static const enum part parts[] = {
	        [WS_ATTENTION_SCORES] = PART_SCORES,   [WS_ATTENTION_SCALE_MASK] = PART_SCALE_MASK,
	        [WS_ATTENTION_SOFTMAX] = PART_SOFTMAX, [WS_ATTENTION_FINAL] = PART_FINAL,
	        [WS_ATTENTION_FUSED] = PART_FUSED,     [WS_ATTENTION_OTHER] = PART_OTHER,
	};

	if (op == WS_NONE || s->attention[op].part == WS_ATTENTION_NONE)
		return 0;
	*part = parts[s->attention[op].part];
	*layer = s->attention[op].layer;
	return 1;
}

/* Named ranges say what is attention; else the framework's operations do. */
static int place_of(const struct softmax *s, uint32_t range, uint32_t op, enum part *part,
                    int64_t *layer)
{
	if (range == WS_NONE || part_of(s, range) == PART_NONE)
		return attention_of(s, op, part, layer);
	*part = part_of(s, range);
	*layer = s->layer[range];
	return 1;
}

static enum ws_status gather_kernels(struct softmax *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;

	for (size_t k = 0; k < m->kernels.n; k++) {
		uint32_t op = s->costs.of_kernel[k];
		const struct ws_cost_op *cost = op == WS_NONE ? NULL : &s->costs.op[op];
		int64_t gpu_ns = m->kernels.dur_ns[k], layer;
		uint32_t class = cost && cost->class ? cost->class : ws_kernel_class(m, k);
		enum direction d;
		enum part part;
		struct scope *scope;

		if (!s->tab->sel->kernel[k] || !in_basis(s, m->kernels.step[k]))
			continue;
		d = direction_of_kernel(s, k);
		count_kernel(&s->model[d][model_class_of(class)], gpu_ns, cost);
		if (!place_of(s, m->kernels.range[k], op, &part, &layer))
			continue;
		WS_FORWARD(scope_of(s, layer, &scope, err));
		count_kernel(&scope->parts[d][part], gpu_ns, cost);
		count_kernel(&s->all.parts[d][part], gpu_ns, cost);
	}
	return WS_OK;
}

static enum ws_status gather_ops(struct softmax *s, struct ws_err *err)
{
	for (uint32_t i = 0; i < s->costs.n; i++) {
		const struct ws_cost_op *op = &s->costs.op[i];
		enum direction d;
		enum part part;
		int64_t layer;
		struct scope *scope;

		if (!in_basis(s, op->step))
			continue;
		d = op->range != WS_NONE ? direction_of_range(s, op->range)
		                         : direction_of_cost(s, op);
		count_op(s, &s->model[d][model_class_of(op->class)], op);
		if (!place_of(s, op->range, i, &part, &layer))
			continue;
		WS_FORWARD(scope_of(s, layer, &scope, err));
		count_op(s, &scope->parts[d][part], op);
		count_op(s, &s->all.parts[d][part], op);
	}
	return WS_OK;
}

static void add_up(struct bucket *to, const struct bucket *from)
{
	to->kernels += from->kernels;
	to->ops += from->ops;
	to->gpu_ns += from->gpu_ns;
	add_flops(to, from->flops);
	to->bytes += from->bytes;
	to->flops_unknown |= from->flops_unknown;
	to->bytes_unknown |= from->bytes_unknown;
	to->compute_s += from->compute_s;
	to->memory_s += from->memory_s;
	to->roof_unknown |= from->roof_unknown;
}

static int knows_flops(const struct bucket *b)
{
	return b->ops && !b->flops_unknown;
}

static void add_row(const struct softmax *s, struct ws_table *t, const char *scope,
                    enum direction d, const char *part, const struct bucket *b,
                    const struct bucket *matmul, const struct bucket *softmax)
{
	struct ws_cell *row = ws_table_row(t);
	double ns = (double)b->gpu_ns;

	ws_cell_set_str(t, &row[WS_TC_softmax_matmul_scope], scope);
	if (d != DIRECTION_UNKNOWN)
		ws_cell_set_str(t, &row[WS_TC_softmax_matmul_phase], direction_names[d]);
	ws_cell_set_str(t, &row[WS_TC_softmax_matmul_part], part);
	ws_cell_set_mean(&row[WS_TC_softmax_matmul_kernels], (int64_t)b->kernels, s->basis);
	ws_cell_set_mean(&row[WS_TC_softmax_matmul_gpu_ns], b->gpu_ns, s->basis);
	if (knows_flops(b)) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_flops], b->flops, s->basis);
		ws_cell_set_real(&row[WS_TC_softmax_matmul_tflops],
		                 ws_stat_ratio((double)b->flops, ns) / 1e3);
	}
	if (b->ops && !b->bytes_unknown) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_bytes], b->bytes, s->basis);
		ws_cell_set_real(&row[WS_TC_softmax_matmul_gbs],
		                 ws_stat_ratio((double)b->bytes, ns));
		if (knows_flops(b))
			ws_cell_set_real(&row[WS_TC_softmax_matmul_intensity],
			                 ws_stat_ratio((double)b->flops, (double)b->bytes));
		if (knows_flops(b) && !b->roof_unknown && b->compute_s + b->memory_s > 0)
			ws_cell_set_str(t, &row[WS_TC_softmax_matmul_bound],
			                b->compute_s > b->memory_s ? "compute" : "memory");
	}
	if (!matmul)
		return;
	if (knows_flops(matmul) && knows_flops(softmax))
		ws_cell_set_real(&row[WS_TC_softmax_matmul_flop_ratio],
		                 ws_stat_ratio((double)matmul->flops, (double)softmax->flops));
	if (softmax->kernels)
		ws_cell_set_real(&row[WS_TC_softmax_matmul_time_ratio],
		                 ws_stat_ratio((double)softmax->gpu_ns, (double)matmul->gpu_ns));
}

/* "How does the difference in run time compare to the difference in FLOPs?" */
static void answer(struct ws_table *t, const char *where, enum direction d, const char *what,
                   const struct bucket *matmul, const struct bucket *softmax)
{
	double time = ws_stat_ratio((double)softmax->gpu_ns, (double)matmul->gpu_ns);
	double flops = ws_stat_ratio((double)matmul->flops, (double)softmax->flops);

	if (!softmax->gpu_ns || !matmul->gpu_ns)
		return;
	if (!knows_flops(matmul) || !knows_flops(softmax) || !softmax->flops || !matmul->flops)
		ws_table_note(
		        t,
		        "%s, %s: softmax takes %.2f times the GPU time of %s. Their FLOPs are "
		        "not recorded.",
		        where, *direction_names[d] ? direction_names[d] : "phase unknown", time,
		        what);
	else
		ws_table_note(t,
		              "%s, %s: softmax takes %.2f times the GPU time of %s, with 1/%.1f of "
		              "the FLOPs: for each FLOP it takes %.1f times as long.",
		              where, *direction_names[d] ? direction_names[d] : "phase unknown",
		              time, what, flops, time * flops);
}

/* Unless attention is fused and nothing else, its four parts have rows, empty or not. */
static int has_parts(const struct bucket *parts)
{
	uint64_t n = 0;

	for (int p = 0; p < PART_FUSED; p++)
		n += parts[p].kernels + parts[p].ops;
	return n || !(parts[PART_FUSED].kernels + parts[PART_FUSED].ops);
}

static void add_scope(const struct softmax *s, struct ws_table *t, const char *name,
                      const struct scope *scope)
{
	for (int d = 0; d < DIRECTIONS; d++) {
		const struct bucket *parts = scope->parts[d];
		const struct bucket *softmax = &parts[PART_SOFTMAX];
		struct bucket whole = {0}, matmul = parts[PART_SCORES];
		int all = scope == &s->all;

		for (int p = 0; p < PARTS; p++)
			add_up(&whole, &parts[p]);
		add_up(&matmul, &parts[PART_FINAL]);
		if (!whole.kernels && !whole.ops)
			continue;
		for (int p = 0; p < PARTS; p++) {
			int is_matmul = p == PART_SCORES || p == PART_FINAL;

			if (p < PART_FUSED ? has_parts(parts) : parts[p].kernels || parts[p].ops)
				add_row(s, t, name, (enum direction)d, part_names[p], &parts[p],
				        is_matmul ? &parts[p] : NULL, softmax);
		}
		add_row(s, t, name, (enum direction)d, "whole attention", &whole, &matmul, softmax);
		if (!all)
			continue;
		answer(t, "Self-attention of all layers", (enum direction)d,
		       "computing attention scores (QK^T)", &parts[PART_SCORES], softmax);
		answer(t, "Self-attention of all layers", (enum direction)d,
		       "its two matrix multiplications (QK^T and PV) together", &matmul, softmax);
	}
}

static void add_model(const struct softmax *s, struct ws_table *t)
{
	for (int d = 0; d < DIRECTIONS; d++) {
		const struct bucket *classes = s->model[d];
		struct bucket all = {0};

		for (int c = 0; c < CLASSES; c++)
			add_up(&all, &classes[c]);
		if (!all.kernels && !all.ops)
			continue;
		for (int c = 0; c < CLASSES; c++)
			if ((c != CLASS_CONV && c != CLASS_FUSED) || classes[c].kernels ||
			    classes[c].ops)
				add_row(s, t, "model", (enum direction)d, class_names[c],
				        &classes[c], c == CLASS_MATMUL ? &classes[c] : NULL,
				        &classes[CLASS_SOFTMAX]);
		add_row(s, t, "model", (enum direction)d, "all kernels", &all, NULL, NULL);
		answer(t, "Whole model", (enum direction)d, "all matrix multiplications",
		       &classes[CLASS_MATMUL], &classes[CLASS_SOFTMAX]);
	}
}

static int by_layer(const void *pa, const void *pb)
{
	const struct scope *a = pa, *b = pb;

	return (a->layer > b->layer) - (a->layer < b->layer);
}

static void add_rows(struct softmax *s, struct ws_table *t)
{
	if (s->nscopes)
		qsort(s->scopes, s->nscopes, sizeof(*s->scopes), by_layer);
	for (size_t i = 0; i < s->nscopes; i++) {
		char name[40];

		snprintf(name, sizeof(name),
		         s->scopes[i].layer < 0 ? "(no layer)" : "layer %" PRId64,
		         s->scopes[i].layer);
		add_scope(s, t, name, &s->scopes[i]);
	}
	add_scope(s, t, "all layers", &s->all);
	add_model(s, t);
}

static void add_notes(const struct softmax *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;
	int fused_parts = 0, fused_softmax = 0, no_peaks = 0;

	if (s->tab->sel->measured)
		ws_table_note(t,
		              "Kernels, time, FLOPs and bytes are those of one step: the mean over "
		              "%zu measured steps.",
		              s->tab->sel->measured);
	else
		ws_table_note(t,
		              "The trace has no finished range `step`, so the numbers are of all "
		              "kernels in the report.");
	if (!s->nscopes)
		ws_table_note(t, "No range `scaled dot product attention`, `computing attention "
		                 "scores`, `computing softmax` or `final matmul` was recorded, so "
		                 "there are no rows for attention. PyTorch's profiler tells its "
		                 "matrix products from each other with record_shapes=True.");
	for (int d = 0; d < DIRECTIONS; d++) {
		const struct bucket *parts = s->all.parts[d];

		fused_parts |= parts[PART_FUSED].kernels > 0;
		fused_softmax |= parts[PART_SOFTMAX].kernels && !parts[PART_SCALE_MASK].kernels;
	}
	if (fused_softmax)
		ws_table_note(t, "No kernel of its own scales or masks: that is in the kernels of "
		                 "softmax, or left out, and so are its FLOPs.");
	if (fused_parts)
		ws_table_note(t,
		              "Fused attention has no softmax of its own: its FLOPs are those of "
		              "its matrix products, and no time ratio can be told.");
	ws_table_note(
	        t,
	        "FLOPs as recorded; a multiply-add is 2, softmax %g an element, attention the "
	        "full T x T unless the kernel skips half of it. With softmax counted as 1, 3, "
	        "5 or 40 an element the FLOP ratio would be %g, %g, %g or %g times what is "
	        "shown (`--softmax-flops N` counts so).",
	        m->softmax_flops, m->softmax_flops, m->softmax_flops / 3, m->softmax_flops / 5,
	        m->softmax_flops / 40);
	for (size_t i = 0; i < m->ndevices; i++)
		no_peaks |= m->devices[i].kernels && !m->devices[i].has_peaks;
	if (no_peaks)
		ws_table_note(
		        t, "Bound is empty where the device's peak rates are not known: `--peaks "
		           "FILE` adds them (docs/devices.md).");
}

enum ws_status ws_tab_softmax_matmul(const struct ws_tab *tab, struct ws_table *t,
                                     struct ws_err *err)
{
	struct softmax s = {.tab = tab};
	enum ws_status status;

	s.basis = tab->sel->measured ? tab->sel->measured : 1;
	status = find_backward_threads(&s, err);
	if (status == WS_OK)
		status = label_ranges(&s, err);
	if (status == WS_OK)
		status = ws_cost_ops_find(tab->m, tab->sel, &s.costs, err);
	if (status == WS_OK)
		status = ws_attention_find(tab->m, &s.costs, &s.attention, err);
	if (status == WS_OK)
		status = gather_kernels(&s, err);
	if (status == WS_OK)
		status = gather_ops(&s, err);
	if (status == WS_OK && !tab->m->kernels.n && !s.costs.n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	else if (status == WS_OK) {
		add_rows(&s, t);
		add_notes(&s, t);
	}
	free(s.part);
	free(s.layer);
	free(s.scopes);
	free(s.attention);
	free(s.runs_backward);
	ws_cost_ops_release(&s.costs);
	ws_idmap_free(&s.scope_of);
	return status;
}
