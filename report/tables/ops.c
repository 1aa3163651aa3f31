/*
 * Operations in the way of PyTorch's profiler: what each cost on the CPU and
 * on devices, by itself and with what it called. Operations are the
 * framework's where the trace has them, with what the program annotated around
 * them; else the NVTX ranges.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

struct ops {
	const struct ws_table_context *tab;
	const struct ws_ranges *tree;
	const uint8_t *selected; /* node -> in the report */
	bool are_ranges;
	/* operations and ranges in one tree, unless are_ranges */
	struct ws_ranges both;
	uint8_t *both_selected;
	uint32_t *node, *from; /* operation, then range -> node or WS_NONE; and back */
	int64_t *self_cpu_ns, *self_cuda_ns, *cuda_ns;
	uint64_t *device_work;
	uint32_t *children; /* node -> number of them */
	int64_t *call_self_ns;
	struct sums *sums[ROW_KINDS]; /* by text */
	struct sums outside;          /* device work in no operation */
	uint32_t *order;              /* kind * ntexts + text */
	size_t rows;
	int64_t all_cpu_ns, all_cuda_ns;
};

static enum ws_status allocate(struct ops *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	struct ws_arena *temp = s->tab->temp;
	size_t n = s->tree->n;

	WS_NEW(temp, s->self_cpu_ns, n);
	WS_NEW(temp, s->self_cuda_ns, n);
	WS_NEW(temp, s->cuda_ns, n);
	WS_NEW(temp, s->device_work, n);
	WS_NEW(temp, s->children, n);
	WS_NEW(temp, s->call_self_ns, m->api.n);
	for (int kind = 0; kind < ROW_KINDS; kind++)
		WS_NEW(temp, s->sums[kind], m->ntexts);
	WS_NEW(temp, s->order, m->ntexts * ROW_KINDS);
	return ws_arena_check(temp, "the operations", err);
}

/* --- one tree ------------------------------------------------------------------------------- */

/* Modules are no rows of PyTorch's table, and what another thread ends does not nest. */
static bool is_annotation(const struct ws_model *m, uint32_t range)
{
	const struct ws_path *path = &m->ranges.paths[m->ranges.path[range]];

	return !path->style && path->domain != WS_TEXT_MODULE_DOMAIN;
}

static bool is_numbered_step(struct ws_bytes name)
{
	const size_t stem = sizeof(WS_PYTORCH_STEP) - 1;

	return name.len >= stem && !memcmp(name.ptr, WS_PYTORCH_STEP, stem);
}

static enum ws_status allocate_both(struct ops *s, size_t n, struct ws_err *err)
{
	struct ws_arena *temp = s->tab->temp;

	WS_NEW(temp, s->both.start_ns, n);
	WS_NEW(temp, s->both.end_ns, n);
	WS_NEW(temp, s->both.thread, n);
	WS_NEW(temp, s->both.parent, n);
	WS_NEW(temp, s->both.name, n);
	WS_NEW(temp, s->both_selected, n);
	WS_NEW(temp, s->node, n);
	WS_NEW(temp, s->from, n);
	return ws_arena_check(temp, "the operations", err);
}

/* By thread, then begin; of those that begin together the longer, then the range, first. */
static int by_place(const void *pa, const void *pb, void *arg)
{
	const struct ws_model *m = arg;
	size_t nops = m->cpu_ops.tree.n;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const struct ws_ranges *ta = a < nops ? &m->cpu_ops.tree : &m->ranges;
	const struct ws_ranges *tb = b < nops ? &m->cpu_ops.tree : &m->ranges;
	uint32_t i = a < nops ? a : a - (uint32_t)nops, j = b < nops ? b : b - (uint32_t)nops;

	if (ta->thread[i] != tb->thread[j])
		return ta->thread[i] < tb->thread[j] ? -1 : 1;
	if (ta->start_ns[i] != tb->start_ns[j])
		return ta->start_ns[i] < tb->start_ns[j] ? -1 : 1;
	if (ta->end_ns[i] != tb->end_ns[j])
		return ta->end_ns[i] > tb->end_ns[j] ? -1 : 1;
	if (ta != tb)
		return ta == &m->ranges ? -1 : 1;
	return i < j ? -1 : i > j;
}

static enum ws_status merge(struct ops *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_cpu_ops *ops = &m->cpu_ops;
	uint32_t nops = (uint32_t)ops->tree.n;
	struct ws_ranges *both = &s->both;

	WS_FORWARD(allocate_both(s, nops + m->ranges.n, err));
	for (uint32_t i = 0; i < nops + m->ranges.n; i++)
		if (i < nops || is_annotation(m, i - nops))
			s->from[both->n++] = i;
	qsort_r(s->from, both->n, sizeof(*s->from), by_place, (void *)m);
	memset(s->node, 0xff, (nops + m->ranges.n) * sizeof(*s->node));
	for (uint32_t i = 0; i < both->n; i++) {
		bool is_op = s->from[i] < nops;
		uint32_t at = is_op ? s->from[i] : s->from[i] - nops;
		const struct ws_ranges *tree = is_op ? &ops->tree : &m->ranges;
		uint32_t parent = i ? i - 1 : WS_NONE;

		both->start_ns[i] = tree->start_ns[at];
		both->end_ns[i] = tree->end_ns[at];
		both->thread[i] = tree->thread[at];
		both->name[i] = tree->name[at];
		s->both_selected[i] = is_op ? s->tab->sel->op[at] : s->tab->sel->range[at];
		s->node[s->from[i]] = i;
		while (parent != WS_NONE && (both->thread[parent] != both->thread[i] ||
		                             both->end_ns[parent] < both->end_ns[i]))
			parent = both->parent[parent];
		both->parent[i] = parent;
	}
	/* what lies in a range without a node lies in the range around it */
	for (uint32_t r = 0; r < m->ranges.n; r++)
		if (s->node[nops + r] == WS_NONE && m->ranges.parent[r] != WS_NONE)
			s->node[nops + r] = s->node[nops + m->ranges.parent[r]];
	s->tree = both;
	s->selected = s->both_selected;
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
static uint32_t node_of_call(const struct ops *s, uint32_t call)
{
	const struct ws_api *api = &s->tab->m->api;
	uint32_t a = node_of(s, api->op[call], api->range[call]);
	uint32_t b = node_of(s, WS_NONE, api->range[call]);

	return a == WS_NONE || (b != WS_NONE && b > a) ? b : a;
}

static enum row_kind kind_of(const struct ops *s, uint32_t node)
{
	return s->are_ranges || s->from[node] < s->tab->m->cpu_ops.tree.n ? ROW_OP : ROW_RANGE;
}

/* --- sums ----------------------------------------------------------------------------------- */

/*
 * Calls take their time from the operation around them, but a call inside a
 * call (a driver function in a runtime function) from that call.
 */
static enum ws_status share_out_calls(struct ops *s, struct ws_err *err)
{
	const struct ws_api *a = &s->tab->m->api;
	uint32_t *order, *stack;
	int64_t *later_end;
	size_t height = 0;

	WS_NEW(s->tab->temp, order, a->n);
	WS_NEW(s->tab->temp, stack, a->n);
	WS_NEW(s->tab->temp, later_end, a->n);
	WS_FORWARD(ws_arena_check(s->tab->temp, "the operations", err));
	for (size_t i = 0; i < a->n; i++)
		later_end[i] = -a->end_ns[i];
	ws_order_identity(order, a->n);
	WS_FORWARD(ws_order_by(order, later_end, a->n, err));
	WS_FORWARD(ws_order_by(order, a->start_ns, a->n, err));
	WS_FORWARD(ws_order_by_u32(order, a->thread, a->n, a->n, err));
	for (size_t i = 0; i < a->n; i++) {
		uint32_t call = order[i], node = node_of_call(s, call);
		int64_t ns = a->end_ns[call] - a->start_ns[call];

		while (height && (a->thread[stack[height - 1]] != a->thread[call] ||
		                  a->end_ns[stack[height - 1]] < a->end_ns[call]))
			height--;
		s->call_self_ns[call] += ns;
		if (height)
			s->call_self_ns[stack[height - 1]] -= ns;
		else if (node != WS_NONE)
			s->self_cpu_ns[node] -= ns;
		stack[height++] = call;
	}
	return WS_OK;
}

static void add_work(struct ops *s, uint32_t node, int64_t ns)
{
	if (node == WS_NONE || !s->selected[node]) {
		s->outside.device_work++;
		s->outside.self_cuda_ns += ns;
		return;
	}
	s->self_cuda_ns[node] += ns;
	s->device_work[node]++;
}

/* Children stand behind their parents: the last first, each adds to its parent. */
static void add_up_nodes(struct ops *s)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_ranges *tree = s->tree;
	const struct ws_selection *sel = s->tab->sel;

	for (size_t k = 0; k < m->kernels.n; k++)
		if (sel->kernel[k])
			add_work(s, node_of(s, m->kernels.op[k], m->kernels.range[k]),
			         m->kernels.dur_ns[k]);
	for (size_t i = 0; i < m->nwork; i++)
		if (sel->work[i])
			add_work(s, node_of(s, m->work[i].op, m->work[i].range), m->work[i].dur_ns);
	for (uint32_t i = (uint32_t)tree->n; i-- > 0;) {
		uint32_t parent = tree->parent[i];
		int64_t ns = tree->end_ns[i] - tree->start_ns[i];

		s->self_cpu_ns[i] += ns;
		s->cuda_ns[i] += s->self_cuda_ns[i];
		if (parent == WS_NONE)
			continue;
		s->children[parent]++;
		s->self_cpu_ns[parent] -= ns;
		s->cuda_ns[parent] += s->cuda_ns[i];
	}
}

/* An only child with its parent's name is the same operation, seen twice. */
static bool is_same_as_parent(const struct ops *s, uint32_t i)
{
	uint32_t parent = s->tree->parent[i];

	return parent != WS_NONE && s->selected[parent] && s->children[parent] == 1 &&
	       s->tree->name[parent] == s->tree->name[i];
}

static int64_t flops_of(const struct ops *s, uint32_t i)
{
	const struct ws_model *m = s->tab->m;
	uint32_t payload;

	if (!s->are_ranges)
		return kind_of(s, i) == ROW_OP ? ws_cpu_op_config(m, s->from[i])->flops : -1;
	payload = m->ranges.payload[i];
	return payload != WS_NONE && m->ops.is_op[payload] ? m->ops.op[payload].flops : -1;
}

static void add_up_names(struct ops *s)
{
	const struct ws_model *m = s->tab->m;

	for (uint32_t i = 0; i < s->tree->n; i++) {
		struct sums *sums = &s->sums[kind_of(s, i)][s->tree->name[i]];
		int64_t flops = flops_of(s, i);

		if (!s->selected[i])
			continue;
		sums->self_cpu_ns += s->self_cpu_ns[i];
		sums->self_cuda_ns += s->self_cuda_ns[i];
		sums->device_work += s->device_work[i];
		s->all_cpu_ns += s->self_cpu_ns[i];
		s->all_cuda_ns += s->self_cuda_ns[i];
		if (is_same_as_parent(s, i))
			continue;
		sums->calls++;
		sums->cpu_ns += s->tree->end_ns[i] - s->tree->start_ns[i];
		sums->cuda_ns += s->cuda_ns[i];
		sums->flops_unknown |=
		        flops < 0 || __builtin_add_overflow(sums->flops, flops, &sums->flops);
	}
	s->all_cuda_ns += s->outside.self_cuda_ns;
	for (size_t i = 0; i < m->api.n; i++) {
		struct sums *sums = &s->sums[ROW_CALL][m->api.name[i]];

		if (!s->tab->sel->call[i])
			continue;
		sums->calls++;
		sums->flops_unknown = 1;
		sums->self_cpu_ns += s->call_self_ns[i];
		sums->cpu_ns += m->api.end_ns[i] - m->api.start_ns[i];
		s->all_cpu_ns += s->call_self_ns[i];
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

enum ws_status ws_tab_ops(const struct ws_table_context *tab, struct ws_table *t,
                          struct ws_err *err)
{
	const struct ws_model *m = tab->m;
	bool are_ranges = !m->cpu_ops.tree.n;
	struct ops s = {
	        .tab = tab,
	        .tree = are_ranges ? &m->ranges : &m->cpu_ops.tree,
	        .selected = are_ranges ? tab->sel->range : tab->sel->op,
	        .are_ranges = are_ranges,
	};

	if (!s.tree->n) {
		ws_table_set_not_recorded(t, "Neither framework operations nor NVTX ranges were "
		                             "recorded. Annotate the program with NVTX, or import "
		                             "a trace of PyTorch's profiler.");
		return WS_OK;
	}
	if (!are_ranges)
		WS_FORWARD(merge(&s, err));
	WS_FORWARD(allocate(&s, err));
	WS_FORWARD(share_out_calls(&s, err));
	add_up_nodes(&s);
	add_up_names(&s);
	WS_FORWARD(add_rows(&s, t, err));
	ws_table_note(t,
	              "Operations are %s. Self columns add up; totals count nested "
	              "operations in every row that contains them, and so do FLOPs.",
	              are_ranges ? "the NVTX ranges: the trace has no framework operations"
	                         : "the framework's, with the ranges around them");
	if (!are_ranges && !m->cpu_ops.with_shapes)
		ws_table_note(t, "FLOPs are not recorded: PyTorch's profiler records shapes "
		                 "with record_shapes=True.");
	if (tab->sel->has_launched)
		ws_table_note(t, "The filter of device work applies to the CUDA columns and "
		                 "to the calls; CPU times of operations are unfiltered.");
	return WS_OK;
}
