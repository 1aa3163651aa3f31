/*
 * Operations as in PyTorch's profiler: time of each on the CPU and on devices, by itself and
 * including nested ones. Operations are the framework's, if the trace has any, with the program's
 * annotations around them; else the NVTX ranges.
 */

#include "report/analysis/steps.h"
#include "report/tables/tables.h"

enum ws_ops_kind { WS_OPS_OP, WS_OPS_RANGE, WS_OPS_CALL, WS_OPS_KINDS };

/* All operations or calls of one name. */
struct ws_ops_sums {
	uint64_t calls, device_work;
	int64_t self_cpu_ns, cpu_ns, self_cuda_ns, cuda_ns, flops;
	int flops_unknown;
};

/* The line that most of an operation's time is called by. */
struct ws_ops_source {
	uint32_t source, nothers; /* text; number of other lines */
	int64_t ns;
};

/* A call of an operation. Parents come before their children. */
struct ws_ops_node {
	int64_t dur_ns;
	uint32_t parent; /* WS_NONE */
	uint32_t name;
	uint32_t cost;    /* source of its FLOPs: an operation of the framework, or a payload */
	uint8_t children; /* 2: more than one */
	uint8_t kind;     /* enum ws_ops_kind */
	bool selected;
	bool has_captured; /* work that a CUDA graph captured in it, or in operations in it */
};

struct ws_ops_table {
	const struct ws_table_context *tab;
	bool are_ranges;       /* nodes are the ranges, with the same numbers */
	struct ws_spill nodes; /* struct ws_ops_node */
	/* int64_t per node, including nested ones; separate, because each changed page costs a
	 * fault */
	struct ws_spill cuda_ns;
	size_t nnodes;
	uint32_t *node; /* unless are_ranges: operation, then range -> node or WS_NONE */
	struct ws_ops_sums *sums[WS_OPS_KINDS]; /* by text */
	struct ws_ops_sums without_op;          /* device work outside operations */
	struct ws_ops_source *sources;          /* of the framework's operations, by text */
	/* by node: how often a CUDA graph replayed it, and the launch of the last one; NULL */
	uint32_t *replays, *launched_by;
	int64_t all_cpu_ns, all_cuda_ns;
};

/* NULL for WS_NONE; valid until the next call. */
static inline struct ws_ops_node *ws_ops_node_at(struct ws_ops_table *s, uint32_t i)
{
	return i == WS_NONE ? NULL : ws_spill_row(&s->nodes, sizeof(struct ws_ops_node), i);
}
static inline int64_t *ws_ops_cuda_ns(struct ws_ops_table *s, uint32_t i)
{
	return ws_spill_row(&s->cuda_ns, sizeof(int64_t), i);
}
/* The sums in which a node counts; NULL: not in the report, or no node. */
static inline struct ws_ops_sums *ws_ops_sums_of(struct ws_ops_table *s,
                                                 const struct ws_ops_node *node)
{
	return node && node->selected ? &s->sums[node->kind][node->name] : NULL;
}

#define ALL_STEPS "ProfilerStep*" /* name of the row of steps in PyTorch's own tables */

/* --- calls as one tree: ranges, or operations with the ranges around them --------------------- */

/* Adds the next node. Its time is subtracted from its parent's own time. */
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

/* An operation or range, its number, and its node once there is one. */
struct placed {
	int64_t start_ns, end_ns;
	uint32_t thread, number, parent;
	bool is_range;
};

/* By thread, then begin; at equal begins the longer first, then the range. */
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

/* Operations of a framework, with the ranges that the program put around them. */
static void ws_ops_merge(struct ws_ops_table *s)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_selection *sel = s->tab->sel;
	struct ws_joined_rows *rows = sel->rows;
	const struct ws_op_tree *ops = &m->cpu_ops.tree;
	const size_t nops = ops->n, all = nops + rows->nranges;
	size_t n = 0;

	struct placed *placed = ws_arena_array(s->tab->temp, all, sizeof(*placed));
	WS_NEW(s->tab->temp, s->node, all);
	ws_spill_open(&s->nodes, all * sizeof(struct ws_ops_node));
	memset(s->node, 0xff, all * sizeof(*s->node));
	for (uint32_t i = 0; i < ops->n; i++)
		placed[n++] = (struct placed){ops->start_ns[i], ops->end_ns[i], ops->thread[i], i,
		                              WS_NONE,          false};
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *range = ws_joined_rows_range(rows, i);
		const struct ws_path *path = &m->ranges.paths[range->context->path];

		/* annotations: modules are not rows of PyTorch's table, and ranges ended by another
		 * thread do not nest */
		if (!path->style && path->domain != WS_TEXT_MODULE_DOMAIN)
			placed[n++] = (struct placed){
			        range->start_ns, range->end_ns, range->context->thread, i,
			        WS_NONE,         true};
	}
	ws_sort(placed, n, sizeof(*placed), by_place);
	for (uint32_t i = 0; i < n; i++) {
		struct placed *at = &placed[i];

		at->parent = i ? i - 1 : WS_NONE;
		while (at->parent != WS_NONE && (placed[at->parent].thread != at->thread ||
		                                 placed[at->parent].end_ns < at->end_ns))
			at->parent = placed[at->parent].parent;
		s->node[at->is_range ? nops + at->number : at->number] = i;
		const uint32_t number = at->number;
		const struct ws_joined_range *r =
		        at->is_range ? ws_joined_rows_range(rows, number) : NULL;
		const struct ws_ops_node node = {.dur_ns = at->end_ns - at->start_ns,
		                                 .cost = r ? WS_NONE : number,
		                                 .parent = at->parent,
		                                 .name = r ? r->context->name : ops->name[number],
		                                 .kind = r ? WS_OPS_RANGE : WS_OPS_OP,
		                                 .selected =
		                                         r ? ws_range_selected(m, sel, r, number)
		                                           : sel->op[number]};
		add_node(s, &node);
	}
	/* a range without a node is replaced by its parent */
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const uint32_t parent = ws_joined_rows_range(rows, i)->parent;

		if (s->node[nops + i] == WS_NONE && parent != WS_NONE)
			s->node[nops + i] = s->node[nops + parent];
	}
}

/* The innermost node of this operation and this range, WS_NONE. */
static uint32_t ws_ops_node_of(const struct ws_ops_table *s, uint32_t op, uint32_t range)
{
	if (s->are_ranges)
		return range;
	if (op != WS_NONE)
		return s->node[op];
	return range == WS_NONE ? WS_NONE : s->node[s->tab->m->cpu_ops.tree.n + range];
}

/* --- API calls: their own time, which operations around them lack ----------------------------- */

/* A call that returned, but may be nested in another one. */
struct returned {
	int64_t start_ns, end_ns;
	struct ws_ops_sums *sums; /* sums of its name; NULL: not in the report */
	struct ws_ops_sums
	        *owner; /* sums of the operation from which its time is subtracted; NULL */
};

struct calls {
	struct ws_ops_table *s;
	struct returned_of {
		struct returned *call; /* in the order of returns, and of begins */
		size_t n, capacity;
	} * threads;
};

/*
 * The time of a call is subtracted from the operation around it, or, for a nested call (a driver
 * function in a runtime function), from the outer call. Of two calls with equal begin and return
 * the first is the outer one.
 */
static void share_out(struct calls *c, const struct ws_joined_call *call, bool selected)
{
	struct ws_ops_table *s = c->s;
	struct returned_of *t = &c->threads[call->kind->thread];
	const uint32_t op = ws_ops_node_of(s, ws_joined_call_op(s->tab->m, call), call->range),
	               range = ws_ops_node_of(s, WS_NONE, call->range);
	/* of an operation and a range around a call, the inner one comes after the other */
	const bool is_in_range =
	        !s->are_ranges && (op == WS_NONE || (range != WS_NONE && range > op));
	struct returned new = {.start_ns = call->start_ns,
	                       .end_ns = call->start_ns + call->dur_ns,
	                       .sums = selected ? &s->sums[WS_OPS_CALL][call->kind->name] : NULL,
	                       .owner = ws_ops_sums_of(s, ws_ops_node_at(s, is_in_range ? range
	                                                                                : op))};
	int64_t self_ns = call->dur_ns;

	for (; t->n; t->n--) {
		const struct returned *in = &t->call[t->n - 1];

		if (in->start_ns < new.start_ns ||
		    (in->start_ns == new.start_ns && in->end_ns == new.end_ns))
			break;
		self_ns -= in->end_ns - in->start_ns;
		if (in->owner)
			in->owner->self_cpu_ns += in->end_ns - in->start_ns;
	}
	if (new.sums) {
		new.sums->calls++;
		new.sums->flops_unknown = 1;
		new.sums->self_cpu_ns += self_ns;
		new.sums->cpu_ns += call->dur_ns;
	}
	if (t->n && t->call[t->n - 1].end_ns == new.end_ns) {
		if (t->call[t->n - 1].sums)
			t->call[t->n - 1].sums->self_cpu_ns -= call->dur_ns;
		return;
	}
	if (new.owner)
		new.owner->self_cpu_ns -= call->dur_ns;

	/* Calls before the earliest possible begin of a pending call are not nested. */
	const int64_t longest_ns = c->s->tab->sel->rows->longest_call_ns;
	size_t old = 0;

	if (t->n == t->capacity) {
		while (old < t->n && t->call[old].start_ns < new.end_ns - longest_ns)
			old++;
		t->n -= old;
		if (old)
			memmove(t->call, t->call + old, t->n * sizeof(*t->call));
		WS_GROW(t->call, 2 * t->n + 1, t->capacity);
	}
	t->call[t->n++] = new;
}

/* --- sums ----------------------------------------------------------------------------------- */

/* launched_by: of work that a CUDA graph captured, the call that launched the graph. It counts for
 * the operation, though the capture itself is start-up, and so not in the report. */
static void add_work(struct ws_ops_table *s, uint32_t i, int64_t ns, bool is_captured,
                     uint32_t launched_by)
{
	struct ws_ops_node *node = ws_ops_node_at(s, i);
	struct ws_ops_sums *sums =
	        is_captured && node ? &s->sums[node->kind][node->name] : ws_ops_sums_of(s, node);

	if (is_captured && node) {
		node->has_captured = true;
		s->replays[i] += s->launched_by[i] != launched_by || !s->replays[i];
		s->launched_by[i] = launched_by;
	}
	if (sums)
		*ws_ops_cuda_ns(s, i) += ns;
	else
		sums = &s->without_op;
	sums->self_cuda_ns += ns;
	sums->device_work++;
}

static const struct ws_ops_sums *sums_of(const struct ws_ops_table *s, uint32_t row)
{
	size_t ntexts = s->tab->m->ntexts;

	return &s->sums[row / ntexts][row % ntexts];
}

/* --- rows ----------------------------------------------------------------------------------- */

/* Sets device times; empty if the trace has no device data. */
static void set_cuda(const struct ws_ops_table *s, struct ws_cell *row,
                     const struct ws_ops_sums *sums)
{
	if (!ws_model_has_work(s->tab->m))
		return;
	ws_cell_set_int(&row[WS_TC_ops_self_cuda_ns], sums->self_cuda_ns);
	ws_cell_set_share(&row[WS_TC_ops_self_cuda_percent], sums->self_cuda_ns, s->all_cuda_ns);
	ws_cell_set_int(&row[WS_TC_ops_device_work], (int64_t)sums->device_work);
}

static void fill_table(struct ws_ops_table *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_selection *sel = s->tab->sel;
	struct ws_joined_rows *rows = sel->rows;

	for (int kind = 0; kind < WS_OPS_KINDS; kind++)
		WS_NEW(s->tab->temp, s->sums[kind], m->ntexts);
	if (s->are_ranges) {
		ws_spill_open(&s->nodes, rows->nranges * sizeof(struct ws_ops_node));
		for (uint32_t i = 0; i < rows->nranges; i++) {
			const struct ws_joined_range *r = ws_joined_rows_range(rows, i);
			const bool is_op =
			        r->context->payload != WS_NONE && m->ops.is_op[r->context->payload];
			const struct ws_ops_node node = {
			        .dur_ns = r->end_ns - r->start_ns,
			        .cost = is_op ? r->context->payload : WS_NONE,
			        .parent = r->parent,
			        .name = r->context->name,
			        .kind = WS_OPS_OP,
			        .selected = ws_range_selected(m, s->tab->sel, r, i)};

			add_node(s, &node);
		}
	} else {
		ws_ops_merge(s);
	}
	ws_spill_open(&s->cuda_ns, s->nnodes * sizeof(int64_t));
	ws_spill_reserve(&s->cuda_ns, s->nnodes * sizeof(int64_t));

	/* Sums API calls by name, and subtracts their time from the operations around them. */
	struct calls c = {.s = s};

	WS_NEW(s->tab->temp, c.threads, s->tab->m->nthreads);
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, i);

		share_out(&c, call, ws_call_selected(s->tab->m, s->tab->sel, call, i));
	}
	for (size_t i = 0; i < s->tab->m->nthreads; i++)
		free(c.threads[i].call);
	if (m->ngraph_nodes) {
		WS_NEW(s->tab->temp, s->replays, s->nnodes);
		WS_NEW(s->tab->temp, s->launched_by, s->nnodes);
	}
	for (size_t i = 0; i < rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);

		if (ws_kernel_selected(m, sel, k, i))
			add_work(s, ws_ops_node_of(s, k->cpu_op, k->range),
			         k->kind->timed ? k->dur_ns : 0, k->kind->is_captured, k->call);
	}
	for (size_t i = 0; i < m->nwork; i++)
		if (sel->work[i])
			add_work(s, ws_ops_node_of(s, m->work[i].op, m->work[i].range),
			         m->work[i].dur_ns, m->work[i].is_captured, m->work[i].call);

	/* Children come after their parents: in reverse order, each adds to its parent. */
	for (uint32_t i = (uint32_t)s->nnodes; i-- > 0;) {
		const struct ws_ops_node *node = ws_ops_node_at(s, i);
		struct ws_ops_node *parent = ws_ops_node_at(s, node->parent);
		struct ws_ops_sums *sums = &s->sums[node->kind][node->name];
		const int64_t cuda_ns = *ws_ops_cuda_ns(s, i);

		if (parent && cuda_ns)
			*ws_ops_cuda_ns(s, node->parent) += cuda_ns;
		if (parent && node->has_captured) {
			parent->has_captured = true;
			if (s->replays[node->parent] < s->replays[i])
				s->replays[node->parent] = s->replays[i];
		}
		/* an only child with its parent's name is the same operation, recorded twice */
		if (!(node->selected || node->has_captured) ||
		    (parent && parent->selected == node->selected && parent->children == 1 &&
		     parent->name == node->name))
			continue;

		/* a range around a capture is not replayed */
		const uint64_t times = node->has_captured && node->kind == WS_OPS_OP
		                               ? s->replays[i]
		                               : node->selected;

		sums->cuda_ns += cuda_ns;
		sums->calls += times;
		if (node->selected)
			sums->cpu_ns += node->dur_ns;
		int64_t flops = node->cost == WS_NONE ? -1
		                : s->are_ranges       ? m->ops.op[node->cost].flops
		                                      : ws_cpu_op_config(m, node->cost)->flops;
		sums->flops_unknown |= flops < 0 ||
		                       __builtin_mul_overflow(flops, (int64_t)times, &flops) ||
		                       __builtin_add_overflow(sums->flops, flops, &sums->flops);
	}

	/* Sets for each operation the line that makes most of its time: on devices, if they have
	 * recorded work, else on the CPU. */
	const struct ws_cpu_ops *ops = &s->tab->m->cpu_ops;
	const bool has_work = ws_model_has_work(s->tab->m);
	struct ws_idmap at_of = {0};
	struct of_line {
		uint32_t name, source;
		int64_t ns;
	} *lines = NULL;
	size_t nlines = 0, capacity = 0;

	WS_NEW(s->tab->temp, s->sources, s->tab->m->ntexts);
	for (uint32_t i = 0; i < s->nnodes && !s->are_ranges; i++) {
		const struct ws_ops_node *node = ws_ops_node_at(s, i);
		const int64_t cuda_ns = *ws_ops_cuda_ns(s, i);
		const uint32_t source = node->kind == WS_OPS_OP ? ops->source[node->cost] : 0;
		const uint64_t key = (uint64_t)node->name << 32 | source;

		if (!source || !(node->selected || node->has_captured))
			continue;
		uint32_t at = ws_idmap_get(&at_of, key);
		if (at == WS_NONE) {
			WS_GROW(lines, nlines + 1, capacity);
			at = (uint32_t)nlines;
			lines[nlines++] = (struct of_line){node->name, source, 0};
			ws_idmap_put(&at_of, key, at);
		}
		lines[at].ns += has_work ? cuda_ns : node->dur_ns;
	}
	for (size_t i = 0; i < nlines; i++) {
		struct ws_ops_source *to = &s->sources[lines[i].name];

		to->nothers += to->source != 0;
		if (!to->source || lines[i].ns > to->ns) {
			to->source = lines[i].source;
			to->ns = lines[i].ns;
		}
	}
	free(lines);
	ws_idmap_free(&at_of);
	s->all_cuda_ns = s->without_op.self_cuda_ns;
	for (int kind = 0; kind < WS_OPS_KINDS; kind++)
		for (size_t text = 0; text < s->tab->m->ntexts; text++) {
			s->all_cpu_ns += s->sums[kind][text].self_cpu_ns;
			s->all_cuda_ns += s->sums[kind][text].self_cuda_ns;
		}
	struct ws_ops_sums total = s->without_op;
	const size_t all = m->ntexts * WS_OPS_KINDS;
	struct ws_cell *row;
	size_t n = 0;

	struct ws_row_key *order = ws_arena_array(s->tab->temp, all, sizeof(*order));
	for (uint32_t i = 0; i < all; i++) {
		if (!sums_of(s, i)->calls && !sums_of(s, i)->device_work)
			continue;
		order[n++] =
		        (struct ws_row_key){.number = {WS_DESCENDING(sums_of(s, i)->self_cuda_ns),
		                                       WS_DESCENDING(sums_of(s, i)->self_cpu_ns)},
		                            .text = {s->tab->m->texts[i % s->tab->m->ntexts]},
		                            .row = i};
		total.calls += sums_of(s, i)->calls;
		total.device_work += sums_of(s, i)->device_work;
	}
	ws_row_keys_sort(order, n);
	for (size_t i = 0; i < n; i++) {
		const struct ws_ops_sums *sums = sums_of(s, order[i].row);
		const enum ws_ops_kind kind = (enum ws_ops_kind)(order[i].row / m->ntexts);
		const struct ws_ops_source *source = &s->sources[order[i].row % m->ntexts];
		struct ws_bytes text = m->texts[order[i].row % m->ntexts];

		row = ws_table_row(t);
		if (kind == WS_OPS_RANGE && ws_bytes_begin(text, WS_PYTORCH_STEP))
			text = ws_bytes_of(ALL_STEPS);
		else if (!text.len)
			text = ws_bytes_of("(no name)");
		ws_cell_set_text(t, &row[WS_TC_ops_name], text.ptr, text.len);
		ws_cell_share_str(&row[WS_TC_ops_kind], kind == WS_OPS_CALL ? "API call"
		                                        : kind == WS_OPS_RANGE || s->are_ranges
		                                                ? "range"
		                                                : "operation");
		ws_cell_set_int(&row[WS_TC_ops_calls], (int64_t)sums->calls);
		ws_cell_set_int(&row[WS_TC_ops_self_cpu_ns], sums->self_cpu_ns);
		ws_cell_set_int(&row[WS_TC_ops_cpu_ns], sums->cpu_ns);
		ws_cell_set_share(&row[WS_TC_ops_self_cpu_percent], sums->self_cpu_ns,
		                  s->all_cpu_ns);
		ws_cell_set_share(&row[WS_TC_ops_cpu_percent], sums->cpu_ns, s->all_cpu_ns);
		ws_cell_set_mean(&row[WS_TC_ops_cpu_avg_ns], sums->cpu_ns, sums->calls);
		if (kind == WS_OPS_CALL)
			continue;
		if (kind == WS_OPS_OP && source->source) {
			const struct ws_bytes line = m->texts[source->source];
			char others[16] = "";
			struct ws_buf shown = {0};

			ws_buf_put(&shown, line.ptr, line.len);
			if (source->nothers)
				ws_buf_put(&shown, others,
				           (size_t)snprintf(others, sizeof(others), " (+%u)",
				                            source->nothers));
			ws_cell_set_text(t, &row[WS_TC_ops_source], (const char *)shown.data,
			                 shown.len);
			ws_buf_free(&shown);
		}
		set_cuda(s, row, sums);
		if (ws_model_has_work(m)) {
			ws_cell_set_int(&row[WS_TC_ops_cuda_ns], sums->cuda_ns);
			ws_cell_set_mean(&row[WS_TC_ops_cuda_avg_ns], sums->cuda_ns, sums->calls);
		}
		if (!sums->flops_unknown)
			ws_cell_set_int(&row[WS_TC_ops_flops], sums->flops);
	}
	if (s->without_op.device_work) {
		row = ws_table_row(t);
		ws_cell_share_str(&row[WS_TC_ops_name], "(in no operation)");
		ws_cell_share_str(&row[WS_TC_ops_kind], "device work");
		set_cuda(s, row, &s->without_op);
	}
	row = ws_table_totals(t);
	total.self_cuda_ns = s->all_cuda_ns;
	ws_cell_set_int(&row[WS_TC_ops_calls], (int64_t)total.calls);
	ws_cell_set_int(&row[WS_TC_ops_self_cpu_ns], s->all_cpu_ns);
	ws_cell_set_share(&row[WS_TC_ops_self_cpu_percent], s->all_cpu_ns, s->all_cpu_ns);
	set_cuda(s, row, &total);
}

void ws_tab_ops(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	struct ws_ops_table s = {.tab = tab, .are_ranges = !m->cpu_ops.tree.n};
	size_t lacking = 0;

	if (s.are_ranges && !tab->sel->rows->nranges) {
		ws_table_set_not_recorded(t, "Neither framework operations nor NVTX ranges were "
		                             "recorded. Annotate the program with NVTX, or import "
		                             "a trace of PyTorch's profiler.");
		return;
	}
	fill_table(&s, t);
	ws_spill_close(&s.nodes);
	ws_spill_close(&s.cuda_ns);
	ws_table_note(t,
	              "Operations are %s. Self columns add up; totals count nested "
	              "operations in every row that contains them, and so do FLOPs.",
	              s.are_ranges ? "the NVTX ranges: the trace has no framework operations"
	                           : "the framework's, with the ranges around them");
	if (!ws_model_has_work(m))
		ws_table_note(t, WS_NO_KERNELS);
	ws_note_captured(tab, t);
	if (!s.are_ranges && !m->cpu_ops.with_shapes)
		ws_table_note(t, "FLOPs are not recorded: PyTorch's profiler records shapes "
		                 "with record_shapes=True.");
	if (*ws_steps_repeat_words(m, tab->temp))
		ws_table_note(t, "%s", ws_steps_repeat_words(m, tab->temp));
	for (size_t i = 0; i < m->nsteps && tab->sel->scope == WS_SCOPE_ALL; i++)
		lacking += m->steps[i].apart == WS_STEP_NO_OPS;
	if (lacking)
		ws_table_note(t,
		              "%zu %s operations, as %s no recorded step. "
		              "`warpsheet record --pytorch=full` records all.",
		              lacking, lacking == 1 ? "step lacks" : "steps lack",
		              lacking == 1 ? "it repeats" : "they repeat");
	if (tab->sel->has_launched)
		ws_table_note(t, "The filter of device work applies to the CUDA columns and "
		                 "to the calls; CPU times of operations are unfiltered.");
}
