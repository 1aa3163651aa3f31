/*
 * Operations in the way of PyTorch's profiler: what each cost on the CPU and
 * on devices, by itself and with what it called. Operations are the
 * framework's where the trace has them, with what the program annotated around
 * them; else the NVTX ranges.
 */
#include "report/tables/ops/ops.h"

#include "report/base/order.h"

#define ALL_STEPS "ProfilerStep*" /* what PyTorch's own tables call the row of its steps */

/* --- sums ----------------------------------------------------------------------------------- */

static void add_work(struct ws_ops_table *s, uint32_t i, int64_t ns)
{
	struct ws_ops_sums *sums = ws_ops_sums_of(s, ws_ops_node_at(s, i));

	if (sums)
		*ws_ops_cuda_ns(s, i) += ns;
	else
		sums = &s->without_op;
	sums->self_cuda_ns += ns;
	sums->device_work++;
}

static void add_all_work(struct ws_ops_table *s)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_selection *sel = s->tab->sel;

	for (size_t i = 0; i < sel->rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(sel->rows, i);

		if (ws_kernel_selected(m, sel, k, i))
			add_work(s, ws_ops_node_of(s, k->cpu_op, k->range),
			         k->kind->timed ? k->dur_ns : 0);
	}
	for (size_t i = 0; i < m->nwork; i++)
		if (sel->work[i])
			add_work(s, ws_ops_node_of(s, m->work[i].op, m->work[i].range),
			         m->work[i].dur_ns);
}

/* An only child with its parent's name is the same operation, seen twice. */
static bool repeats_parent(const struct ws_ops_node *node, const struct ws_ops_node *parent)
{
	return parent && parent->selected && parent->children == 1 && parent->name == node->name;
}

/* Children stand behind their parents: the last first, each adds to its parent. */
static void add_up(struct ws_ops_table *s)
{
	for (uint32_t i = (uint32_t)s->nnodes; i-- > 0;) {
		const struct ws_ops_node *node = ws_ops_node_at(s, i);
		const struct ws_ops_node *parent = ws_ops_node_at(s, node->parent);
		struct ws_ops_sums *sums = &s->sums[node->kind][node->name];
		const int64_t cuda_ns = *ws_ops_cuda_ns(s, i);
		int64_t flops;

		if (parent && cuda_ns)
			*ws_ops_cuda_ns(s, node->parent) += cuda_ns;
		if (!node->selected || repeats_parent(node, parent))
			continue;
		sums->calls++;
		sums->cpu_ns += node->dur_ns;
		sums->cuda_ns += cuda_ns;
		flops = ws_ops_node_flops(s, node);
		sums->flops_unknown |=
		        flops < 0 || __builtin_add_overflow(sums->flops, flops, &sums->flops);
	}
	s->all_cuda_ns = s->without_op.self_cuda_ns;
	for (int kind = 0; kind < WS_OPS_KINDS; kind++)
		for (size_t text = 0; text < s->tab->m->ntexts; text++) {
			s->all_cpu_ns += s->sums[kind][text].self_cpu_ns;
			s->all_cuda_ns += s->sums[kind][text].self_cuda_ns;
		}
}

static const struct ws_ops_sums *sums_of(const struct ws_ops_table *s, uint32_t row)
{
	size_t ntexts = s->tab->m->ntexts;

	return &s->sums[row / ntexts][row % ntexts];
}

/* --- rows ----------------------------------------------------------------------------------- */

/* Empty where the trace has nothing of devices. */
static void set_cuda(const struct ws_ops_table *s, struct ws_cell *row,
                     const struct ws_ops_sums *sums)
{
	if (!ws_model_has_work(s->tab->m))
		return;
	ws_cell_set_int(&row[WS_TC_ops_self_cuda_ns], sums->self_cuda_ns);
	ws_cell_set_share(&row[WS_TC_ops_self_cuda_percent], sums->self_cuda_ns, s->all_cuda_ns);
	ws_cell_set_int(&row[WS_TC_ops_device_work], (int64_t)sums->device_work);
}

static void set_name(const struct ws_ops_table *s, struct ws_table *t, struct ws_cell *row,
                     enum ws_ops_kind kind, struct ws_bytes text)
{
	if (kind == WS_OPS_RANGE && ws_bytes_begin(text, WS_PYTORCH_STEP))
		text = ws_bytes_of(ALL_STEPS);
	else if (!text.len)
		text = ws_bytes_of("(no name)");
	ws_cell_set_text(t, &row[WS_TC_ops_name], text.ptr, text.len);
	ws_cell_share_str(&row[WS_TC_ops_kind], kind == WS_OPS_CALL ? "API call"
	                                        : kind == WS_OPS_RANGE || s->are_ranges
	                                                ? "range"
	                                                : "operation");
}

static void add_row(const struct ws_ops_table *s, struct ws_table *t, uint32_t number)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_ops_sums *sums = sums_of(s, number);
	const enum ws_ops_kind kind = (enum ws_ops_kind)(number / m->ntexts);
	struct ws_cell *row = ws_table_row(t);

	set_name(s, t, row, kind, m->texts[number % m->ntexts]);
	ws_cell_set_int(&row[WS_TC_ops_calls], (int64_t)sums->calls);
	ws_cell_set_int(&row[WS_TC_ops_self_cpu_ns], sums->self_cpu_ns);
	ws_cell_set_int(&row[WS_TC_ops_cpu_ns], sums->cpu_ns);
	ws_cell_set_share(&row[WS_TC_ops_self_cpu_percent], sums->self_cpu_ns, s->all_cpu_ns);
	ws_cell_set_share(&row[WS_TC_ops_cpu_percent], sums->cpu_ns, s->all_cpu_ns);
	ws_cell_set_mean(&row[WS_TC_ops_cpu_avg_ns], sums->cpu_ns, sums->calls);
	if (kind == WS_OPS_CALL)
		return;
	set_cuda(s, row, sums);
	if (ws_model_has_work(m)) {
		ws_cell_set_int(&row[WS_TC_ops_cuda_ns], sums->cuda_ns);
		ws_cell_set_mean(&row[WS_TC_ops_cuda_avg_ns], sums->cuda_ns, sums->calls);
	}
	if (!sums->flops_unknown)
		ws_cell_set_int(&row[WS_TC_ops_flops], sums->flops);
}

static void add_rows(const struct ws_ops_table *s, struct ws_table *t)
{
	struct ws_ops_sums total = s->without_op;
	const size_t all = s->tab->m->ntexts * WS_OPS_KINDS;
	struct ws_row_key *order;
	struct ws_cell *row;
	size_t n = 0;

	WS_NEW(s->tab->temp, order, all);
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
	for (size_t i = 0; i < n; i++)
		add_row(s, t, order[i].row);
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

static void fill(struct ws_ops_table *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;

	for (int kind = 0; kind < WS_OPS_KINDS; kind++)
		WS_NEW(s->tab->temp, s->sums[kind], m->ntexts);
	if (s->are_ranges)
		ws_ops_add_ranges(s);
	else
		ws_ops_merge(s);
	ws_spill_open(&s->cuda_ns, s->nnodes * sizeof(int64_t));
	ws_spill_reserve(&s->cuda_ns, s->nnodes * sizeof(int64_t));
	ws_ops_share_out_calls(s);
	add_all_work(s);
	add_up(s);
	add_rows(s, t);
}

void ws_tab_ops(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	struct ws_ops_table s = {.tab = tab, .are_ranges = !m->cpu_ops.tree.n};

	if (s.are_ranges && !tab->sel->rows->nranges) {
		ws_table_set_not_recorded(t, "Neither framework operations nor NVTX ranges were "
		                             "recorded. Annotate the program with NVTX, or import "
		                             "a trace of PyTorch's profiler.");
		return;
	}
	fill(&s, t);
	ws_spill_close(&s.nodes);
	ws_spill_close(&s.cuda_ns);
	ws_table_note(t,
	              "Operations are %s. Self columns add up; totals count nested "
	              "operations in every row that contains them, and so do FLOPs.",
	              s.are_ranges ? "the NVTX ranges: the trace has no framework operations"
	                           : "the framework's, with the ranges around them");
	if (!ws_model_has_work(m))
		ws_table_note(t, WS_NO_KERNELS);
	if (!s.are_ranges && !m->cpu_ops.with_shapes)
		ws_table_note(t, "FLOPs are not recorded: PyTorch's profiler records shapes "
		                 "with record_shapes=True.");
	if (tab->sel->has_launched)
		ws_table_note(t, "The filter of device work applies to the CUDA columns and "
		                 "to the calls; CPU times of operations are unfiltered.");
}
