/*
 * softmax-matmul: compares softmax with the two matrix products of self-attention. A sentence for
 * each direction, then five rows, over all layers; notes name the rest of attention.
 */

#include "report/base/names.h"
#include "report/tables/tables.h"

enum direction { FORWARD, BACKWARD, UNKNOWN, DIRECTIONS };

static const char *const direction_names[DIRECTIONS] = {"forward", "backward", "phase unknown"};

/* Work of one part, over all steps. */
struct work {
	uint64_t kernels, ops; /* ops: a kernel without a known operation counts as one */
	int64_t gpu_ns, flops, bytes;
	double scores; /* for fused attention: scores that are not stored in memory */
	bool flops_unknown, bytes_unknown;
	/* for products and fused attention: FLOPs of the needed pairs of query and key */
	uint64_t products;
	int64_t needed;
	bool needed_unknown;
	/* minimum time by the device's arithmetic and by its memory */
	double compute_s, memory_s;
	bool roof_unknown;
};

struct softmax {
	const struct ws_table_context *tab;
	uint64_t basis;         /* number of steps for means */
	uint8_t *named;         /* by path: enum ws_attention_part from the words of its names */
	uint8_t *attention;     /* by framework operation: enum ws_attention_part */
	uint8_t *runs_backward; /* by thread: it runs backward operations */
	struct ws_cost_ops *costs;
	/* by kernel row: enum ws_attention_part from the neighbouring kernels; and the same by
	 * operation that launched such kernels */
	uint8_t *by_chain, *op_by_chain;
	uint64_t chains;       /* softmax chains between two products of attention */
	uint64_t loose_chains; /* chains like a softmax, but not between products of attention */
	struct work parts[DIRECTIONS][WS_ATTENTION_NONE];
	struct work model_softmax[DIRECTIONS], model_products[DIRECTIONS];
};

/* --- which part of attention, in which direction ------------------------------------------ */

/* around: part of the parent path; beside: a sibling path is a product. */
static uint8_t part_of_word(enum ws_attention_word word, uint8_t around, bool beside)
{
	const bool surely = around != WS_ATTENTION_NONE || beside;

	switch (word) {
	case WS_WORD_ATTENTION:
		return WS_ATTENTION_OTHER;
	case WS_WORD_SCORES:
		return WS_ATTENTION_SCORES;
	case WS_WORD_SOFTMAX:
		return WS_ATTENTION_SOFTMAX;
	case WS_WORD_FINAL:
		return WS_ATTENTION_FINAL;
	case WS_WORD_MAYBE_SCORES:
		return surely ? WS_ATTENTION_SCORES : around;
	case WS_WORD_MAYBE_SOFTMAX:
		return surely ? WS_ATTENTION_SOFTMAX : around;
	default:
		return around;
	}
}

/*
 * The words of a path determine the part, together with the class of the work: a product's range
 * may also contain kernels for scale and mask, and its word is used alone if the class is unknown.
 * Without such words, order and sizes of a framework's operations determine the part. i: number of
 * the operation, WS_NONE.
 */
static uint8_t part_of(const struct softmax *s, const struct ws_cost_op *op, uint32_t i,
                       uint8_t by_chain)
{
	const uint8_t named = op->path == WS_NONE ? WS_ATTENTION_NONE : s->named[op->path];
	const uint8_t by_sizes =
	        i == WS_NONE || i < s->costs->nranges ||
	                        s->attention[i - s->costs->nranges] == WS_ATTENTION_NONE
	                ? by_chain
	                : s->attention[i - s->costs->nranges];
	const bool may_multiply = !op->class || ws_bytes_begin(s->tab->m->texts[op->class], "gemm");

	if (by_sizes != WS_ATTENTION_NONE &&
	    (named == WS_ATTENTION_NONE || named == WS_ATTENTION_OTHER))
		return by_sizes;
	if (op->class == WS_TEXT_FUSED_ATTENTION)
		return WS_ATTENTION_FUSED;
	if (named != WS_ATTENTION_NONE && (op->class == WS_TEXT_SCALE || op->class == WS_TEXT_MASK))
		return WS_ATTENTION_SCALE_MASK;
	switch (named) {
	case WS_ATTENTION_SCORES:
		return may_multiply ? named : WS_ATTENTION_SCALE_MASK;
	case WS_ATTENTION_SOFTMAX:
		return op->class && may_multiply ? WS_ATTENTION_OTHER : named;
	case WS_ATTENTION_FINAL:
		return may_multiply ? named : WS_ATTENTION_OTHER;
	default:
		return named;
	}
}

/*
 * The direction from the operation, else from its phase. A framework's operation of unknown phase
 * is forward, unless it is on a thread that runs backward, where most operations lack it. said: a
 * text; cpu_op: WS_NONE; range: NULL.
 */
static enum direction direction_of(const struct softmax *s, uint32_t recorded, uint32_t cpu_op,
                                   const struct ws_joined_range *range)
{
	const struct ws_cpu_ops *ops = &s->tab->m->cpu_ops;
	const bool by_framework = cpu_op != WS_NONE;
	const struct ws_op_facts *op =
	        by_framework || !range ? NULL : ws_joined_range_op(s->tab->m, range);

	if (!by_framework)
		recorded = op ? op->direction : 0;
	if (recorded == WS_TEXT_FORWARD)
		return FORWARD;
	if (recorded == WS_TEXT_BACKWARD)
		return BACKWARD;
	if (!by_framework && !range)
		return UNKNOWN;
	switch (by_framework ? ops->phase[cpu_op] : range->context->phase) {
	case WS_PHASE_FORWARD:
		return FORWARD;
	case WS_PHASE_BACKWARD:
		return BACKWARD;
	case WS_PHASE_LOSS:
		return by_framework ? FORWARD : UNKNOWN;
	case WS_PHASE_OPTIMIZER:
		return UNKNOWN;
	default:
		return by_framework && !s->runs_backward[ops->tree.thread[cpu_op]] ? FORWARD
		                                                                   : UNKNOWN;
	}
}

/* --- sums --------------------------------------------------------------------------------- */

/* Only FLOPs of softmax with a user-defined factor can overflow. */
static void add_flops(struct work *w, int64_t flops)
{
	w->flops_unknown |= __builtin_add_overflow(w->flops, flops, &w->flops);
}

static void add_op(const struct softmax *s, struct work *w, const struct ws_cost_op *op,
                   bool in_attention)
{
	const int64_t bytes = op->bytes > 0 ? op->bytes : 0;
	int64_t flops = op->flops > 0 ? op->flops : 0;
	struct ws_roof roof;

	if (flops && op->class == WS_TEXT_SOFTMAX && s->tab->m->softmax_flops != WS_SOFTMAX_FLOPS) {
		/* by the requested convention */
		const double scaled = (double)flops * s->tab->m->softmax_flops / WS_SOFTMAX_FLOPS;

		flops = scaled < 9e18 ? (int64_t)(scaled + 0.5) : INT64_MAX;
	}

	w->ops++;
	w->kernels += op->kernels;
	w->gpu_ns += op->gpu_ns;
	add_flops(w, flops);
	w->bytes += bytes;
	w->flops_unknown |= op->flops < 0;
	w->bytes_unknown |= op->bytes < 0;
	if (ws_class_is_product(op->class)) {
		const int64_t needed = ws_attention_flops_needed(s->tab->m, op, in_attention);

		w->products++;
		w->needed += needed > 0 ? needed : 0; /* as sums of FLOPs: cost_ops.h */
		w->needed_unknown |= needed < 0;
	}
	if (op->class == WS_TEXT_FUSED_ATTENTION)
		w->scores += (double)op->batch * (double)op->m * (double)op->n;
	if (!op->kernels)
		return;
	ws_roof_find(s->tab->m, op->device, op->class, op->dtype, op->tensor, &roof);
	if (roof.flops_per_s > 0 && roof.bytes_per_s > 0) {
		w->compute_s += (double)flops / roof.flops_per_s;
		w->memory_s += (double)bytes / roof.bytes_per_s;
	} else {
		w->roof_unknown = true;
	}
}

static void add_up(struct work *to, const struct work *from)
{
	to->kernels += from->kernels;
	to->ops += from->ops;
	to->gpu_ns += from->gpu_ns;
	add_flops(to, from->flops);
	to->bytes += from->bytes;
	to->products += from->products;
	to->needed += from->needed;
	to->needed_unknown |= from->needed_unknown;
	to->flops_unknown |= from->flops_unknown;
	to->bytes_unknown |= from->bytes_unknown;
	to->compute_s += from->compute_s;
	to->memory_s += from->memory_s;
	to->roof_unknown |= from->roof_unknown;
}

static bool holds_word(struct ws_bytes name, const char *const *words)
{
	for (; *words; words++)
		if (ws_name_has(name, *words))
			return true;
	return false;
}

/* Is it a log-softmax, by the name of an operation or kernel, and so a loss instead of
 * attention? */
static bool is_of_loss(struct ws_bytes name)
{
	static const char *const words[] = {"log_kernel", "LogSoftMax", "logsoftmax", "log_softmax",
	                                    NULL};

	/* softmax_warp_forward<T, T, T, log2 of the elements, is it a LogSoftmax?, …> */
	static const char begin[] = "softmax_warp_forward<";
	const char *at = memmem(name.ptr, name.len, begin, sizeof(begin) - 1);
	const char *end = (const char *)name.ptr + name.len;

	for (int commas = 0; at && commas < 4; commas++) {
		at = memchr(at, ',', (size_t)(end - at));
		at += at != NULL;
	}
	return holds_word(name, words) ||
	       (at && (ws_name_begins(at, end, " true") || ws_name_begins(at, end, " (bool)1")));
}

/* Adds an operation with its kernels to its part, and to the sums of its class in the whole
 * model. */
static void count(struct softmax *s, const struct ws_cost_op *op, uint32_t i, uint8_t by_chain)
{
	const struct ws_joined_range *range = ws_joined_rows_range(s->tab->sel->rows, op->range);
	const enum direction found = direction_of(s, op->direction, op->cpu_op, range);
	/* backward does not compute exp of scores */
	const enum direction d =
	        found == UNKNOWN && by_chain != WS_ATTENTION_NONE ? FORWARD : found;
	const uint8_t part = part_of(s, op, i, by_chain);

	if (s->tab->sel->measured && !ws_step_selected(s->tab->m, s->tab->sel, op->step))
		return;
	if ((op->class == WS_TEXT_SOFTMAX && !is_of_loss(s->tab->m->texts[op->name])) ||
	    by_chain == WS_ATTENTION_SOFTMAX)
		add_op(s, &s->model_softmax[found], op, false);
	if (op->class == WS_TEXT_GEMM)
		add_op(s, &s->model_products[found], op, false);
	if (part != WS_ATTENTION_NONE)
		add_op(s, &s->parts[d][part], op,
		       part == WS_ATTENTION_SCORES || part == WS_ATTENTION_FINAL);
}

/* --- a softmax of several kernels --------------------------------------------------------- */

/* The role of a kernel in `Q K^T, [scale, mask,] max, subtract, exp, sum, divide, P V`. */
enum link {
	CHAIN_OTHER,
	CHAIN_MAX,
	CHAIN_EXP,
	CHAIN_SUM,
	CHAIN_DIVIDE,
	CHAIN_SOFTMAX, /* all of these in one kernel */
	CHAIN_PRODUCT, /* batched matrix products */
	CHAIN_BREAK,   /* ends a chain */
};

#define LINKS_MOST 16 /* maximum number of kernels between the two products */

/* Per stream: the product that may be Q K^T, and the kernels since then. */
struct chain {
	bool is_open;
	uint64_t matrices;
	size_t scores, row[LINKS_MOST], n;
	enum link reached; /* of max, exp, sum and divide; CHAIN_OTHER: none */
	size_t first, end; /* rows of the softmax */
};

/* By the names of PyTorch's kernels. */
static enum link link_of(const struct ws_model *m, const struct ws_config *c)
{
	static const char *const max[] = {"MaxOps", "MaxNan", NULL},
	                         *const exp[] = {"exp_kernel", NULL},
	                         *const sum[] = {"sum_functor", "SumOps", NULL},
	                         *const divide[] = {"DivFunctor", "div_true", "div_kernel", NULL},
	                         *const backward[] = {"ackward", NULL};
	const struct ws_bytes name = m->texts[c->name];

	if (c->name_class == WS_TEXT_GEMM && c->shape.grid_z > 1)
		return CHAIN_PRODUCT;
	if (ws_class_is_product(c->name_class) || is_of_loss(name))
		return CHAIN_BREAK;
	if (c->name_class == WS_TEXT_SOFTMAX)
		return holds_word(name, backward) ? CHAIN_BREAK : CHAIN_SOFTMAX;
	return holds_word(name, max)      ? CHAIN_MAX
	       : holds_word(name, exp)    ? CHAIN_EXP
	       : holds_word(name, sum)    ? CHAIN_SUM
	       : holds_word(name, divide) ? CHAIN_DIVIDE
	                                  : CHAIN_OTHER;
}

static void set_chain(struct softmax *s, size_t row, enum ws_attention_part part)
{
	const struct ws_joined_kernel *k = ws_joined_rows_kernel(s->tab->sel->rows, row);
	const uint32_t op = ws_cost_ops_of_kernel(s->costs, k);

	s->by_chain[row] = (uint8_t)part;
	if (op != WS_NONE)
		s->op_by_chain[op] = (uint8_t)part;
}

static void go_on(struct softmax *s, struct chain *c, size_t row, enum link link, uint64_t matrices)
{
	bool is_whole = false;

	if (link == CHAIN_PRODUCT) {
		if (c->is_open && c->matrices == matrices && c->end) {
			/* Its second product follows. */
			s->chains++;
			s->loose_chains -= c->reached == CHAIN_DIVIDE;
			set_chain(s, c->scores, WS_ATTENTION_SCORES);
			for (size_t i = 0; i < c->n; i++)
				set_chain(s, c->row[i],
				          i < c->first ? WS_ATTENTION_SCALE_MASK
				          : i < c->end ? WS_ATTENTION_SOFTMAX
				                       : WS_ATTENTION_OTHER);
			set_chain(s, row, WS_ATTENTION_FINAL);
		}
		*c = (struct chain){.is_open = true, .matrices = matrices, .scores = row};
		return;
	}
	if (link == CHAIN_BREAK)
		*c = (struct chain){0};
	if (link == CHAIN_MAX ||
	    (link > CHAIN_MAX && link < CHAIN_SOFTMAX && link == c->reached + 1)) {
		c->reached = link;
		is_whole = link == CHAIN_DIVIDE;
	}
	s->loose_chains += is_whole;
	c->is_open &= c->n < LINKS_MOST;
	if (!c->is_open)
		return;
	c->row[c->n++] = row;
	if (link == CHAIN_SOFTMAX || link == CHAIN_MAX)
		c->first = c->n - 1;
	if (link == CHAIN_SOFTMAX || is_whole)
		c->end = c->n;
}

/* --- rows and sentences ------------------------------------------------------------------- */

static bool has_work(const struct work *w)
{
	return w->kernels || w->ops;
}

static bool knows_flops(const struct work *w)
{
	return w->ops && !w->flops_unknown;
}

/* "compute", "memory"; NULL: not known. */
static const char *bound_of(const struct work *w)
{
	if (!knows_flops(w) || w->bytes_unknown || w->roof_unknown ||
	    w->compute_s + w->memory_s <= 0)
		return NULL;
	return w->compute_s > w->memory_s ? "compute" : "memory";
}

/* Adds a row for work that ran or was recorded. softmax: for comparison with the row's products,
 * NULL. */
static void add_row(const struct softmax *s, struct ws_table *t, enum direction d, const char *part,
                    const struct work *w, const struct work *softmax)
{
	const double ns = (double)w->gpu_ns;
	const char *over, *bound = bound_of(w);

	if (!has_work(w))
		return;
	struct ws_cell *row = ws_table_row(t);
	ws_cell_set_str(t, &row[WS_TC_softmax_matmul_scope], "all layers");
	if (d != UNKNOWN)
		ws_cell_set_str(t, &row[WS_TC_softmax_matmul_phase], direction_names[d]);
	ws_cell_set_str(t, &row[WS_TC_softmax_matmul_part], part);
	if (ws_model_has_kernels(s->tab->m)) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_kernels], (int64_t)w->kernels, s->basis);
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_gpu_ns], w->gpu_ns, s->basis);
	}
	if (knows_flops(w)) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_flops], w->flops, s->basis);
		ws_cell_set_real(&row[WS_TC_softmax_matmul_tflops],
		                 ws_stat_ratio((double)w->flops, ns) / 1e3);
	}
	if (w->ops && !w->bytes_unknown) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_bytes], w->bytes, s->basis);
		ws_cell_set_real(&row[WS_TC_softmax_matmul_gbs],
		                 ws_stat_ratio((double)w->bytes, ns));
		if (knows_flops(w))
			ws_cell_set_real(&row[WS_TC_softmax_matmul_intensity],
			                 ws_stat_ratio((double)w->flops, (double)w->bytes));
	}
	if (bound)
		ws_cell_set_str(t, &row[WS_TC_softmax_matmul_bound], bound);
	if (w->products && !w->needed_unknown) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_flops_needed], w->needed, s->basis);
		ws_cell_set_real(&row[WS_TC_softmax_matmul_tflops_needed],
		                 ws_stat_ratio((double)w->needed, ns) / 1e3);
	}
	/* work of unknown cost adds nothing, so a share over 100 % is wrong in any case */
	over = ws_over_peak(ws_stat_percent(1e9 * fmax(w->compute_s, w->memory_s), ns));
	if (over)
		ws_cell_set_str(t, &row[WS_TC_softmax_matmul_check], over);
	if (softmax && knows_flops(w) && knows_flops(softmax))
		ws_cell_set_real(&row[WS_TC_softmax_matmul_flop_ratio],
		                 ws_stat_ratio((double)w->flops, (double)softmax->flops));
	if (softmax && softmax->kernels)
		ws_cell_set_real(&row[WS_TC_softmax_matmul_time_ratio],
		                 ws_stat_ratio((double)softmax->gpu_ns, ns));
}

/*
 * "Forward: softmax takes 1.6× as long as QK^T (61.6 vs 38 µs) with 1/21 of its FLOPs: it is bound
 * by memory." its: of the products.
 */
static void compare(const struct softmax *s, struct ws_table *t,
                    void (*say)(struct ws_table *, const char *, ...), const char *subject,
                    const char *products, const char *its, const struct work *matmul,
                    const struct work *softmax)
{
	struct ws_arena *texts = s->tab->temp;
	const double time = ws_stat_ratio((double)softmax->gpu_ns, (double)matmul->gpu_ns),
	             ratio = ws_stat_ratio((double)matmul->flops, (double)softmax->flops),
	             steps = (double)s->basis;
	const char *bound = bound_of(softmax), *flops = ". Their FLOPs are not recorded";

	if (!softmax->gpu_ns || !matmul->gpu_ns)
		return;
	if (knows_flops(matmul) && knows_flops(softmax) && softmax->flops && matmul->flops)
		flops = ws_arena_format(texts, " with %s%s%s FLOPs%s%s", ratio < 1 ? "" : "1/",
		                        ws_say_number(texts, ratio < 1     ? 1 / ratio
		                                             : ratio >= 10 ? round(ratio)
		                                                           : ratio),
		                        ws_arena_format(texts, ratio < 1 ? "× %s" : " of %s", its),
		                        bound ? ": it is bound by " : "", bound ? bound : "");
	say(t, "%s: softmax takes %s %s (%s)%s.", subject,
	    time < WS_SAY_TIMES_FROM
	            ? ws_arena_format(texts, "%s of the time of", ws_say_percent(texts, 100 * time))
	            : ws_arena_format(texts, "%s as long as", ws_say_amount(texts, time)),
	    products,
	    ws_say_times(texts, (double)softmax->gpu_ns / steps, "vs",
	                 (double)matmul->gpu_ns / steps),
	    flops);
}

/* Adds the sentence with the answer, and at most five rows. */
static bool add_direction(const struct softmax *s, struct ws_table *t, enum direction d)
{
	static const char *const names[DIRECTIONS] = {"Forward", "Backward", "Phase unknown"};
	const struct work *parts = s->parts[d], *scores = &parts[WS_ATTENTION_SCORES],
	                  *softmax = &parts[WS_ATTENTION_SOFTMAX],
	                  *final = &parts[WS_ATTENTION_FINAL], *fused = &parts[WS_ATTENTION_FUSED];
	struct work both = *scores, whole = {0};

	add_up(&both, final);
	for (int p = 0; p < WS_ATTENTION_NONE; p++)
		add_up(&whole, &parts[p]);
	if (!has_work(&whole))
		return false;
	add_row(s, t, d, "computing attention scores", scores, softmax);
	add_row(s, t, d, "computing softmax", softmax, NULL);
	add_row(s, t, d, "final matmul", final, softmax);
	if (has_work(scores) && has_work(final))
		add_row(s, t, d, "both products", &both, softmax);
	add_row(s, t, d, "whole attention", &whole, NULL);
	if (scores->gpu_ns || final->gpu_ns)
		compare(s, t, ws_table_answer, names[d], scores->gpu_ns ? "QK^T" : "PV", "its",
		        scores->gpu_ns ? scores : final, softmax);
	else if (softmax->gpu_ns)
		ws_table_answer(
		        t,
		        "%s: cannot tell: no kernel of QK^T or PV was found. Put their "
		        "kernels in ranges `computing attention scores` and `final matmul`.",
		        names[d]);
	else if (fused->kernels)
		ws_table_answer(t,
		                "%s: cannot tell: fused attention computes QK^T, softmax and PV in "
		                "one kernel. Its FLOPs are those of its products.",
		                names[d]);
	if (softmax->kernels && has_work(scores) != has_work(final))
		ws_table_note(t, "No kernel of %s was found, %s. Put its kernels in a range `%s`.",
		              has_work(scores) ? "PV" : "QK^T", direction_names[d],
		              has_work(scores) ? "final matmul" : "computing attention scores");

	/* Work without a row of its own: "Whole attention, forward, has 12 µs of scale and
	 * mask". */
	static const struct {
		enum ws_attention_part part;
		const char *name;
	} rest[] = {{WS_ATTENTION_SCALE_MASK, "scale and mask"},
	            {WS_ATTENTION_FUSED, "fused attention"},
	            {WS_ATTENTION_OTHER, "other kernels"}};
	char text[160] = "";

	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
		const struct work *w = &s->parts[d][rest[i].part];

		if (w->kernels)
			ws_say_add(text, sizeof(text), "%s%s of %s", *text ? ", " : "",
			           WS_SHOWN_TIME((double)w->gpu_ns / (double)s->basis),
			           rest[i].name);
	}
	if (*text)
		ws_table_note(t, "Whole attention, %s, includes %s.", direction_names[d], text);
	if (fused->scores > 0 && !fused->bytes_unknown)
		ws_table_note(t,
		              "Fused attention, %s, keeps the T x T scores, %.0f per step, out of "
		              "memory. Eager attention writes and reads them: in 16 bits, %.1f MB "
		              "in each pass. Fused attention moves %.1f MB in all.",
		              direction_names[d], fused->scores / (double)s->basis,
		              2 * fused->scores / (double)s->basis / 1e6,
		              (double)fused->bytes / (double)s->basis / 1e6);
	return true;
}

void ws_tab_softmax_matmul(const struct ws_table_context *tab, struct ws_table *t)
{
	struct softmax s = {.tab = tab, .basis = tab->sel->measured ? tab->sel->measured : 1};
	const struct ws_model *m = tab->m;
	const bool has_kernels = ws_model_has_kernels(m);
	bool some = false;

	struct ws_joined_rows *rows = tab->sel->rows;

	/* The part that the words of each path name. */
	const size_t npaths = m->ranges.npaths;
	uint8_t *word, *holds_product; /* the last entry: for outermost paths */

	WS_NEW(tab->temp, s.named, npaths);
	WS_NEW(tab->temp, word, npaths);
	WS_NEW(tab->temp, holds_product, npaths + 1);
	for (uint32_t i = 0; i < npaths; i++) {
		const struct ws_path *path = &m->ranges.paths[i];

		word[i] = (uint8_t)ws_label_attention(m->texts[path->name]);
		if (word[i] == WS_WORD_SCORES || word[i] == WS_WORD_FINAL)
			holds_product[path->parent == WS_NONE ? npaths : path->parent] = 1;
	}
	for (uint32_t i = 0; i < npaths; i++) {
		const uint32_t parent = m->ranges.paths[i].parent;

		s.named[i] = part_of_word((enum ws_attention_word)word[i],
		                          parent == WS_NONE ? WS_ATTENTION_NONE : s.named[parent],
		                          holds_product[parent == WS_NONE ? npaths : parent]);
	}

	WS_NEW(tab->temp, s.runs_backward, m->nthreads);
	for (uint32_t i = 0; i < m->cpu_ops.tree.n; i++)
		s.runs_backward[m->cpu_ops.tree.thread[i]] |=
		        m->cpu_ops.forward[i] != WS_NONE ||
		        ws_cpu_op_config(m, i)->direction == WS_TEXT_BACKWARD;
	s.costs = ws_cost_ops_find(m, tab->sel);
	s.attention = ws_attention_find(m, s.costs, tab->temp);

	/* The parts that neighbouring kernels show. Kernels are ordered by device, then begin. */
	struct ws_strtab streams = {0};

	WS_NEW(tab->temp, s.by_chain, rows->nkernels);
	WS_NEW(tab->temp, s.op_by_chain, s.costs->n);
	memset(s.by_chain, WS_ATTENTION_NONE, rows->nkernels);
	memset(s.op_by_chain, WS_ATTENTION_NONE, s.costs->n);
	uint32_t *stream_of = ws_arena_array(tab->temp, m->nconfigs, sizeof(*stream_of));
	struct chain *chain = ws_arena_array(tab->temp, m->nconfigs, sizeof(*chain));
	uint8_t *link = ws_arena_array(tab->temp, m->nconfigs, sizeof(*link));
	for (size_t i = 0; i < m->nconfigs; i++) {
		const struct ws_config *config = &m->configs[i];
		const uint64_t key[] = {config->process, config->device, config->stream};

		stream_of[i] = (uint32_t)ws_strtab_add(&streams, key, sizeof(key)) - 1;
		link[i] = (uint8_t)link_of(m, config);
	}
	ws_strtab_free(&streams);
	WS_EACH_KERNEL(rows, i, k) {
		const uint32_t config = k->kind->config;

		if (ws_kernel_selected(m, tab->sel, k, i))
			go_on(&s, &chain[stream_of[config]], i, (enum link)link[config],
			      m->configs[config].shape.grid_z);
	}
	for (uint32_t i = 0; i < s.costs->n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(s.costs, i);

		count(&s, &op, i, s.op_by_chain[i]);
	}
	WS_EACH_KERNEL(rows, i, k) {
		const struct ws_joined_range *range = ws_joined_rows_range(rows, k->range);

		/* a kernel without an operation of known cost has unknown cost */
		if (ws_kernel_selected(m, tab->sel, k, i) &&
		    ws_cost_ops_of_kernel(s.costs, k) == WS_NONE)
			count(&s,
			      &(struct ws_cost_op){.name = m->configs[k->kind->config].name,
			                           .class = k->kind->class,
			                           .direction = k->kind->direction,
			                           .flops = -1,
			                           .bytes = -1,
			                           .flops_needed = -1,
			                           .kernels = 1,
			                           .gpu_ns = k->dur_ns,
			                           .range = k->range,
			                           .cpu_op = k->cpu_op,
			                           .path = range ? range->context->path : WS_NONE,
			                           .step = k->step,
			                           .device = WS_NONE},
			      WS_NONE, s.by_chain[i]);
	}
	if (!has_kernels && !s.costs->n) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	for (int d = 0; d < DIRECTIONS; d++)
		some |= add_direction(&s, t, (enum direction)d);
	if (!some && s.loose_chains)
		ws_table_answer(t,
		                "Cannot tell: the trace names no attention. %s exp and %s max "
		                "kernels look like its softmax. Add the NVTX range `computing "
		                "softmax` around them, and `computing attention scores` and `final "
		                "matmul` around the products.",
		                ws_say_number(tab->temp, (double)s.loose_chains),
		                ws_say_number(tab->temp, (double)s.loose_chains));
	else if (!some)
		ws_table_answer(t, "Cannot tell: the trace names no attention. Add the NVTX ranges "
		                   "`computing attention scores`, `computing softmax` and `final "
		                   "matmul` around its parts; with PyTorch's profiler, "
		                   "record_shapes=True is enough.");

	bool no_peaks = false, no_scale_mask = false;

	for (int d = 0; d < DIRECTIONS; d++) {
		/* if some kernels may be softmax, the others are not all of it */
		if (!s.loose_chains)
			compare(&s, t, ws_table_note,
			        ws_arena_format(tab->temp, "Whole model, %s", direction_names[d]),
			        "all matrix products", "their", &s.model_products[d],
			        &s.model_softmax[d]);
		no_scale_mask |= s.parts[d][WS_ATTENTION_SOFTMAX].kernels &&
		                 !s.parts[d][WS_ATTENTION_SCALE_MASK].kernels;
	}
	if (!has_kernels)
		ws_table_note(t, WS_NO_KERNELS);
	if (tab->sel->measured)
		ws_table_note(t, "%s are those of one step: the mean over %zu measured step%s.",
		              has_kernels ? "Kernels, time, FLOPs and bytes" : "FLOPs and bytes",
		              tab->sel->measured, WS_PLURAL(tab->sel->measured));
	else
		ws_table_note(t,
		              "The trace has no finished range `step`, so the numbers are of all "
		              "%s in the report.",
		              has_kernels ? "kernels" : "operations");
	if (s.chains)
		ws_table_note(
		        t,
		        "%s time%s no range or operation names the parts of attention: the "
		        "kernels between two products of equally many matrices count as softmax.",
		        ws_say_number(tab->temp, (double)s.chains), WS_PLURAL(s.chains));

	/* Adds notes about the counted pairs of query and key. */
	bool unknown = false, fewer = false;

	for (int d = 0; d < DIRECTIONS; d++)
		for (int p = 0; p < WS_ATTENTION_NONE; p++) {
			const struct work *w = &s.parts[d][p];

			unknown |= w->products && w->needed_unknown && knows_flops(w);
			fewer |= w->products && !w->needed_unknown && w->needed < w->flops &&
			         (p == WS_ATTENTION_SCORES || p == WS_ATTENTION_FINAL);
		}
	if (unknown)
		ws_table_note(t, "FLOPs Needed is empty: the mask of attention was not recorded. "
		                 "FLOPs counts the pairs that kernels compute.");
	if (fewer)
		ws_table_note(t, "Attention is causal: FLOPs counts all pairs that eager kernels "
		                 "compute, FLOPs Needed those that the mask keeps. TFLOP/s Needed "
		                 "compares eager and fused attention.");
	if (no_scale_mask)
		ws_table_note(t, "No separate kernel scales or masks: if attention does, the "
		                 "kernels of softmax include that work and its FLOPs.");
	if (t->nrows)
		ws_table_note(t,
		              "FLOPs as recorded: a multiply-add is 2, an element of softmax %g "
		              "(`--softmax-flops N` changes it). Attention counts all T x T pairs "
		              "unless its kernel skips half of them.",
		              m->softmax_flops);
	for (size_t i = 0; i < m->ndevices; i++)
		no_peaks |= m->devices[i].kernels && !m->devices[i].has_peaks;
	if (no_peaks)
		ws_table_note(t, "Bound is empty where the device's peak rates are not known: "
		                 "`--peaks FILE` adds them.");
}
