/*
 * Operations in the way of PyTorch's profiler: what each cost on the CPU and
 * on devices, by itself and with what it called. Operations are the
 * framework's where the trace has them, with what the program annotated around
 * them; else the NVTX ranges.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/base/names.h"
#include "report/tables/tables.h"

enum row_kind { ROW_OP, ROW_RANGE, ROW_CALL, ROW_KINDS };

#define ALL_STEPS "ProfilerStep*" /* what PyTorch's own tables call the row of its steps */

/* All operations or calls of one name. */
struct sums {
	uint64_t calls, device_work;
	int64_t self_cpu_ns, cpu_ns, self_cuda_ns, cuda_ns, flops;
	int flops_unknown;
};

/* A call of an operation. Parents stand before what is in them. */
struct node {
	int64_t dur_ns, cuda_ns; /* cuda_ns: with what it called */
	int64_t flops;           /* -1 = not known */
	uint32_t parent;         /* WS_NONE */
	uint32_t name, children; /* children: how many */
	uint8_t kind;            /* enum row_kind */
	bool selected;
};

struct ops {
	const struct ws_table_context *tab;
	bool are_ranges;       /* nodes are the ranges, by their numbers */
	struct ws_spill nodes; /* struct node */
	size_t nnodes;
	uint32_t *node; /* unless are_ranges: operation, then range -> node or WS_NONE */
	struct sums *sums[ROW_KINDS]; /* by text */
	struct sums outside;          /* device work in no operation */
	uint32_t *order;              /* kind * ntexts + text */
	size_t rows;
	int64_t all_cpu_ns, all_cuda_ns;
};

static struct node *node_at(struct ops *s, uint32_t i)
{
	return i == WS_NONE ? NULL : ws_spill_row(&s->nodes, sizeof(struct node), i);
}

/* What a node counts in; NULL: it is not in the report. */
static struct sums *sums_of_node(struct ops *s, uint32_t i)
{
	const struct node *node = node_at(s, i);

	return node && node->selected ? &s->sums[node->kind][node->name] : NULL;
}

/* The next node. What it takes is not its parent's own. */
static enum ws_status add_node(struct ops *s, const struct node *node, struct ws_err *err)
{
	struct node *parent = node_at(s, node->parent);
	struct sums *around = sums_of_node(s, node->parent);

	if (parent)
		parent->children++;
	if (around)
		around->self_cpu_ns -= node->dur_ns;
	if (node->selected)
		s->sums[node->kind][node->name].self_cpu_ns += node->dur_ns;
	return ws_spill_put(&s->nodes, sizeof(*node), s->nnodes++, node, err);
}

/* --- one tree ------------------------------------------------------------------------------- */

static enum ws_status add_ranges(struct ops *s, struct ws_err *err)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	const struct ws_model *m = s->tab->m;

	WS_FORWARD(ws_spill_open(&s->nodes, rows->nranges * sizeof(struct node), err));
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);
		const bool is_op = r->payload != WS_NONE && m->ops.is_op[r->payload];
		const struct node node = {.dur_ns = r->end_ns - r->start_ns,
		                          .flops = is_op ? m->ops.op[r->payload].flops : -1,
		                          .parent = r->parent,
		                          .name = r->name,
		                          .kind = ROW_OP,
		                          .selected = ws_range_selected(m, s->tab->sel, r)};

		WS_FORWARD(add_node(s, &node, err));
	}
	return WS_OK;
}

/* Modules are no rows of PyTorch's table, and what another thread ends does not nest. */
static bool is_annotation(const struct ws_model *m, const struct ws_joined_range *range)
{
	const struct ws_path *path = &m->ranges.paths[range->path];

	return !path->style && path->domain != WS_TEXT_MODULE_DOMAIN;
}

static bool is_numbered_step(struct ws_bytes name)
{
	const size_t stem = sizeof(WS_PYTORCH_STEP) - 1;

	return name.len >= stem && !memcmp(name.ptr, WS_PYTORCH_STEP, stem);
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

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if (a->is_range != b->is_range)
		return a->is_range ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static size_t place_all(const struct ops *s, struct placed *placed)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	const struct ws_ranges *ops = &s->tab->m->cpu_ops.tree;
	size_t n = 0;

	for (uint32_t i = 0; i < ops->n; i++)
		placed[n++] = (struct placed){ops->start_ns[i], ops->end_ns[i], ops->thread[i], i,
		                              WS_NONE,          false};
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);

		if (is_annotation(s->tab->m, r))
			placed[n++] = (struct placed){r->start_ns, r->end_ns, r->thread,
			                              i,           WS_NONE,   true};
	}
	ws_sort(placed, n, sizeof(*placed), by_place);
	return n;
}

static struct node node_of_placed(const struct ops *s, const struct placed *at)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_selection *sel = s->tab->sel;
	const uint32_t i = at->number;
	const struct ws_joined_range *r = at->is_range ? ws_joined_rows_range(sel->rows, i) : NULL;

	return (struct node){.dur_ns = at->end_ns - at->start_ns,
	                     .flops = r ? -1 : ws_cpu_op_config(m, i)->flops,
	                     .parent = at->parent,
	                     .name = r ? r->name : m->cpu_ops.tree.name[i],
	                     .kind = r ? ROW_RANGE : ROW_OP,
	                     .selected = r ? ws_range_selected(m, sel, r) : sel->op[i]};
}

/* Operations of a framework, with the ranges that the program put around them. */
static enum ws_status merge(struct ops *s, struct ws_err *err)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	const size_t nops = s->tab->m->cpu_ops.tree.n, all = nops + rows->nranges;
	struct placed *placed;
	size_t n;

	WS_NEW(s->tab->temp, placed, all);
	WS_NEW(s->tab->temp, s->node, all);
	WS_FORWARD(ws_arena_check(s->tab->temp, "the operations", err));
	WS_FORWARD(ws_spill_open(&s->nodes, all * sizeof(struct node), err));
	memset(s->node, 0xff, all * sizeof(*s->node));
	n = place_all(s, placed);
	for (uint32_t i = 0; i < n; i++) {
		struct placed *at = &placed[i];
		struct node node;

		at->parent = i ? i - 1 : WS_NONE;
		while (at->parent != WS_NONE && (placed[at->parent].thread != at->thread ||
		                                 placed[at->parent].end_ns < at->end_ns))
			at->parent = placed[at->parent].parent;
		s->node[at->is_range ? nops + at->number : at->number] = i;
		node = node_of_placed(s, at);
		WS_FORWARD(add_node(s, &node, err));
	}
	/* what lies in a range without a node lies in the range around it */
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const uint32_t parent = ws_joined_rows_range(rows, i)->parent;

		if (s->node[nops + i] == WS_NONE && parent != WS_NONE)
			s->node[nops + i] = s->node[nops + parent];
	}
	return WS_OK;
}

/* The node of what lies in this operation and in this range, WS_NONE. */
static uint32_t node_of(const struct ops *s, uint32_t op, uint32_t range)
{
	if (s->are_ranges)
		return range;
	if (op != WS_NONE)
		return s->node[op];
	return range == WS_NONE ? WS_NONE : s->node[s->tab->m->cpu_ops.tree.n + range];
}

/* Of an operation and a range around a call the inner one stands behind the other. */
static uint32_t node_of_call(const struct ops *s, const struct ws_joined_call *call)
{
	uint32_t a = node_of(s, call->cpu_op, call->range);
	uint32_t b = node_of(s, WS_NONE, call->range);

	return a == WS_NONE || (b != WS_NONE && b > a) ? b : a;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* A call that returned, and may yet lie in another. */
struct returned {
	int64_t start_ns, end_ns;
	struct sums *sums;   /* of its name; NULL: it is not in the report */
	struct sums *around; /* of the operation that it takes its time from; NULL */
};

struct calls {
	struct ops *s;
	struct returned_of {
		struct returned *call; /* in the order in which they returned, and began */
		size_t n, capacity;
	} * threads;
	uint32_t *order; /* in which they returned; NULL: as they stand */
	int64_t longest_ns;
};

/* Calls of a loaded model stand as in the file. */
static enum ws_status order_calls(struct calls *c, struct ws_err *err)
{
	struct ws_joined_rows *rows = c->s->tab->sel->rows;
	struct ws_arena *temp = c->s->tab->temp;
	int64_t *end_ns, last_ns = INT64_MIN;
	bool is_sorted = true;

	WS_NEW(temp, c->threads, c->s->tab->m->nthreads);
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, i);

		is_sorted &= call->start_ns + call->dur_ns >= last_ns;
		last_ns = call->start_ns + call->dur_ns;
		c->longest_ns = call->dur_ns > c->longest_ns ? call->dur_ns : c->longest_ns;
	}
	if (is_sorted)
		return ws_arena_check(temp, "the operations", err);
	WS_NEW(temp, c->order, rows->ncalls);
	WS_NEW(temp, end_ns, rows->ncalls);
	WS_FORWARD(ws_arena_check(temp, "the operations", err));
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, i);

		end_ns[i] = call->start_ns + call->dur_ns;
	}
	ws_order_identity(c->order, rows->ncalls);
	return ws_order_by(c->order, end_ns, rows->ncalls, err);
}

/* What began before the longest call could have begun lies in none that is still to return. */
static enum ws_status push(const struct calls *c, struct returned_of *t, struct returned call,
                           struct ws_err *err)
{
	size_t old = 0;

	if (t->n == t->capacity) {
		while (old < t->n && t->call[old].start_ns < call.end_ns - c->longest_ns)
			old++;
		t->n -= old;
		if (old)
			memmove(t->call, t->call + old, t->n * sizeof(*t->call));
		WS_FORWARD(WS_GROW(t->call, 2 * t->n + 1, t->capacity, err));
	}
	t->call[t->n++] = call;
	return WS_OK;
}

/*
 * Calls take their time from the operation around them, but a call inside a
 * call (a driver function in a runtime function) from that call. Of two that
 * begin and return together the first is around the other.
 */
static enum ws_status share_out(struct calls *c, const struct ws_joined_call *call, bool selected,
                                struct ws_err *err)
{
	struct ops *s = c->s;
	struct returned_of *t = &c->threads[call->thread];
	struct returned new = {.start_ns = call->start_ns,
	                       .end_ns = call->start_ns + call->dur_ns,
	                       .sums = selected ? &s->sums[ROW_CALL][call->name] : NULL,
	                       .around = sums_of_node(s, node_of_call(s, call))};
	int64_t self_ns = call->dur_ns;

	for (; t->n; t->n--) {
		const struct returned *in = &t->call[t->n - 1];

		if (in->start_ns < new.start_ns ||
		    (in->start_ns == new.start_ns && in->end_ns == new.end_ns))
			break;
		self_ns -= in->end_ns - in->start_ns;
		if (in->around)
			in->around->self_cpu_ns += in->end_ns - in->start_ns;
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
		return WS_OK;
	}
	if (new.around)
		new.around->self_cpu_ns -= call->dur_ns;
	return push(c, t, new, err);
}

static enum ws_status share_out_calls(struct ops *s, struct ws_err *err)
{
	struct ws_joined_rows *rows = s->tab->sel->rows;
	struct calls c = {.s = s};
	enum ws_status status = order_calls(&c, err);

	for (uint32_t i = 0; i < rows->ncalls && status == WS_OK; i++) {
		const uint32_t at = c.order ? c.order[i] : i;
		const struct ws_joined_call *call = ws_joined_rows_call(rows, at);

		status = share_out(&c, call, ws_call_selected(s->tab->m, s->tab->sel, call, at),
		                   err);
	}
	for (size_t i = 0; c.threads && i < s->tab->m->nthreads; i++)
		free(c.threads[i].call);
	return status;
}

/* --- sums ----------------------------------------------------------------------------------- */

static void add_work(struct ops *s, uint32_t i, int64_t ns)
{
	struct sums *sums = sums_of_node(s, i);

	if (sums)
		node_at(s, i)->cuda_ns += ns;
	else
		sums = &s->outside;
	sums->self_cuda_ns += ns;
	sums->device_work++;
}

static void add_all_work(struct ops *s)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_selection *sel = s->tab->sel;

	for (size_t i = 0; i < sel->rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(sel->rows, i);

		if (ws_kernel_selected(m, sel, k, i))
			add_work(s, node_of(s, k->cpu_op, k->range), k->timed ? k->dur_ns : 0);
	}
	for (size_t i = 0; i < m->nwork; i++)
		if (sel->work[i])
			add_work(s, node_of(s, m->work[i].op, m->work[i].range), m->work[i].dur_ns);
}

/* An only child with its parent's name is the same operation, seen twice. */
static bool is_same(const struct node *node, const struct node *parent)
{
	return parent && parent->selected && parent->children == 1 && parent->name == node->name;
}

/* Children stand behind their parents: the last first, each adds to its parent. */
static void add_up(struct ops *s)
{
	for (uint32_t i = (uint32_t)s->nnodes; i-- > 0;) {
		const struct node *node = node_at(s, i);
		struct node *parent = node_at(s, node->parent);
		struct sums *sums = &s->sums[node->kind][node->name];

		if (parent)
			parent->cuda_ns += node->cuda_ns;
		if (!node->selected || is_same(node, parent))
			continue;
		sums->calls++;
		sums->cpu_ns += node->dur_ns;
		sums->cuda_ns += node->cuda_ns;
		sums->flops_unknown |=
		        node->flops < 0 ||
		        __builtin_add_overflow(sums->flops, node->flops, &sums->flops);
	}
	s->all_cuda_ns = s->outside.self_cuda_ns;
	for (int kind = 0; kind < ROW_KINDS; kind++)
		for (size_t text = 0; text < s->tab->m->ntexts; text++) {
			s->all_cpu_ns += s->sums[kind][text].self_cpu_ns;
			s->all_cuda_ns += s->sums[kind][text].self_cuda_ns;
		}
}

static const struct sums *sums_of(const struct ops *s, uint32_t row)
{
	size_t ntexts = s->tab->m->ntexts;

	return &s->sums[row / ntexts][row % ntexts];
}

static int by_cost(const void *pa, const void *pb, void *arg)
{
	const struct ops *s = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const struct sums *sa = sums_of(s, a), *sb = sums_of(s, b);
	size_t ntexts = s->tab->m->ntexts;
	int c;

	if (sa->self_cuda_ns != sb->self_cuda_ns)
		return sa->self_cuda_ns > sb->self_cuda_ns ? -1 : 1;
	if (sa->self_cpu_ns != sb->self_cpu_ns)
		return sa->self_cpu_ns > sb->self_cpu_ns ? -1 : 1;
	c = ws_name_compare(s->tab->m->texts[a % ntexts], s->tab->m->texts[b % ntexts]);
	return c ? c : (a > b) - (a < b);
}

/* --- rows ----------------------------------------------------------------------------------- */

/* What the rows are made of when they are read. */
struct op_rows {
	const struct ws_model *m;
	bool are_ranges;
	struct op_row {
		uint32_t which; /* kind * ntexts + text */
		struct sums sums;
	} * rows; /* in the arena */
	size_t n;
	struct sums outside; /* the last row, where there is any */
	int64_t all_cpu_ns, all_cuda_ns;
	struct ws_arena arena;
};

static void set_cuda(const struct op_rows *s, struct ws_cell *row, const struct sums *sums)
{
	ws_cell_set_int(&row[WS_TC_ops_self_cuda_ns], sums->self_cuda_ns);
	ws_cell_set_real(&row[WS_TC_ops_self_cuda_percent],
	                 ws_stat_percent((double)sums->self_cuda_ns, (double)s->all_cuda_ns));
	ws_cell_set_int(&row[WS_TC_ops_device_work], (int64_t)sums->device_work);
}

static void make_row(void *ctx, size_t i, struct ws_cell *row)
{
	const struct op_rows *s = ctx;
	const struct ws_model *m = s->m;
	const struct sums *sums = i < s->n ? &s->rows[i].sums : &s->outside;
	enum row_kind kind;
	struct ws_bytes text;

	if (i == s->n) {
		ws_cell_share_str(&row[WS_TC_ops_name], "(in no operation)");
		ws_cell_share_str(&row[WS_TC_ops_kind], "device work");
		set_cuda(s, row, sums);
		return;
	}
	kind = (enum row_kind)(s->rows[i].which / m->ntexts);
	text = m->texts[s->rows[i].which % m->ntexts];
	if (kind == ROW_RANGE && is_numbered_step(text))
		ws_cell_share_str(&row[WS_TC_ops_name], ALL_STEPS);
	else if (text.len)
		ws_cell_share_text(&row[WS_TC_ops_name], text.ptr, text.len);
	else
		ws_cell_share_str(&row[WS_TC_ops_name], "(no name)");
	ws_cell_share_str(&row[WS_TC_ops_kind], kind == ROW_CALL                     ? "API call"
	                                        : kind == ROW_RANGE || s->are_ranges ? "range"
	                                                                             : "operation");
	ws_cell_set_int(&row[WS_TC_ops_calls], (int64_t)sums->calls);
	ws_cell_set_int(&row[WS_TC_ops_self_cpu_ns], sums->self_cpu_ns);
	ws_cell_set_int(&row[WS_TC_ops_cpu_ns], sums->cpu_ns);
	ws_cell_set_real(&row[WS_TC_ops_self_cpu_percent],
	                 ws_stat_percent((double)sums->self_cpu_ns, (double)s->all_cpu_ns));
	ws_cell_set_real(&row[WS_TC_ops_cpu_percent],
	                 ws_stat_percent((double)sums->cpu_ns, (double)s->all_cpu_ns));
	ws_cell_set_mean(&row[WS_TC_ops_cpu_avg_ns], sums->cpu_ns, sums->calls);
	if (kind == ROW_CALL)
		return;
	set_cuda(s, row, sums);
	ws_cell_set_int(&row[WS_TC_ops_cuda_ns], sums->cuda_ns);
	ws_cell_set_mean(&row[WS_TC_ops_cuda_avg_ns], sums->cuda_ns, sums->calls);
	if (!sums->flops_unknown)
		ws_cell_set_int(&row[WS_TC_ops_flops], sums->flops);
}

static void free_rows(void *ctx)
{
	struct op_rows *s = ctx;

	ws_arena_free(&s->arena);
	free(s);
}

static void set_totals(const struct op_rows *s, struct ws_table *t)
{
	struct ws_cell *row = ws_table_totals(t);
	struct sums total = s->outside;

	for (size_t i = 0; i < s->n; i++) {
		total.calls += s->rows[i].sums.calls;
		total.device_work += s->rows[i].sums.device_work;
	}
	total.self_cuda_ns = s->all_cuda_ns;
	ws_cell_set_int(&row[WS_TC_ops_calls], (int64_t)total.calls);
	ws_cell_set_int(&row[WS_TC_ops_self_cpu_ns], s->all_cpu_ns);
	ws_cell_set_real(&row[WS_TC_ops_self_cpu_percent],
	                 ws_stat_percent((double)s->all_cpu_ns, (double)s->all_cpu_ns));
	set_cuda(s, row, &total);
}

static enum ws_status add_rows(struct ops *s, struct ws_table *t, struct ws_err *err)
{
	size_t all = s->tab->m->ntexts * ROW_KINDS;
	struct op_rows *rows = calloc(1, sizeof(*rows));
	const struct ws_table_source source = {make_row, free_rows, rows};

	WS_FAIL_IF(!rows, err, NO_MEMORY, "out of memory for the operations");
	for (uint32_t i = 0; i < all; i++)
		if (sums_of(s, i)->calls || sums_of(s, i)->device_work)
			s->order[s->rows++] = i;
	qsort_r(s->order, s->rows, sizeof(*s->order), by_cost, s);
	*rows = (struct op_rows){.m = s->tab->m,
	                         .are_ranges = s->are_ranges,
	                         .n = s->rows,
	                         .outside = s->outside,
	                         .all_cpu_ns = s->all_cpu_ns,
	                         .all_cuda_ns = s->all_cuda_ns};
	WS_NEW(&rows->arena, rows->rows, s->rows);
	if (!rows->rows)
		rows->n = 0;
	for (size_t i = 0; i < rows->n; i++)
		rows->rows[i] = (struct op_row){s->order[i], *sums_of(s, s->order[i])};
	ws_table_set_source(t, &source, rows->n + (s->outside.device_work != 0));
	set_totals(rows, t);
	return ws_arena_check(&rows->arena, "the operations", err);
}

static enum ws_status fill(struct ops *s, struct ws_table *t, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;

	for (int kind = 0; kind < ROW_KINDS; kind++)
		WS_NEW(s->tab->temp, s->sums[kind], m->ntexts);
	WS_NEW(s->tab->temp, s->order, m->ntexts * ROW_KINDS);
	WS_FORWARD(ws_arena_check(s->tab->temp, "the operations", err));
	WS_FORWARD(s->are_ranges ? add_ranges(s, err) : merge(s, err));
	WS_FORWARD(share_out_calls(s, err));
	add_all_work(s);
	add_up(s);
	return add_rows(s, t, err);
}

enum ws_status ws_tab_ops(const struct ws_table_context *tab, struct ws_table *t,
                          struct ws_err *err)
{
	const struct ws_model *m = tab->m;
	struct ops s = {.tab = tab, .are_ranges = !m->cpu_ops.tree.n};
	enum ws_status status;

	if (s.are_ranges && !tab->sel->rows->nranges) {
		ws_table_set_not_recorded(t, "Neither framework operations nor NVTX ranges were "
		                             "recorded. Annotate the program with NVTX, or import "
		                             "a trace of PyTorch's profiler.");
		return WS_OK;
	}
	status = fill(&s, t, err);
	ws_spill_close(&s.nodes);
	WS_FORWARD(status);
	ws_table_note(t,
	              "Operations are %s. Self columns add up; totals count nested "
	              "operations in every row that contains them, and so do FLOPs.",
	              s.are_ranges ? "the NVTX ranges: the trace has no framework operations"
	                           : "the framework's, with the ranges around them");
	if (!s.are_ranges && !m->cpu_ops.with_shapes)
		ws_table_note(t, "FLOPs are not recorded: PyTorch's profiler records shapes "
		                 "with record_shapes=True.");
	if (tab->sel->has_launched)
		ws_table_note(t, "The filter of device work applies to the CUDA columns and "
		                 "to the calls; CPU times of operations are unfiltered.");
	return WS_OK;
}
