/*
 * NVTX ranges: what the kernels cost that each range path launched.
 */
#include <stdlib.h>
#include <string.h>

#include "report/analysis/cost_ops.h"
#include "report/analysis/group.h"
#include "report/base/interval.h"
#include "tests/report/tables/oracle/oracle.h"

/* Sums of one path. */
struct sums {
	int64_t inclusive_ns, exclusive_ns, projected_ns;
	uint64_t ops_inclusive, ops_exclusive, open;
	struct ws_union busy;
	int64_t flops, bytes;
	uint8_t says_flops, says_bytes;
	uint32_t stamp; /* the last kernel counted, plus 1 */
};

struct ranges {
	const struct oracle_tab *tab;
	size_t npaths; /* with the two rows for kernels in no range */
	struct sums *sums;
	struct ws_stat *times;       /* of the instances of each path */
	int64_t *first_ns, *last_ns; /* range -> start of its first and end of its last kernel */
	uint32_t *order;
};

static void release(struct ranges *s)
{
	free(s->sums);
	free(s->times);
	free(s->first_ns);
	free(s->last_ns);
	free(s->order);
}

static enum ws_status allocate(struct ranges *s, struct ws_err *err)
{
	const struct loaded_ranges *r = &s->tab->l->ranges;
	size_t n = r->n ? r->n : 1;

	s->npaths = r->npaths + 2;
	s->sums = calloc(s->npaths, sizeof(*s->sums));
	s->times = calloc(s->npaths, sizeof(*s->times));
	s->first_ns = calloc(n, sizeof(*s->first_ns));
	s->last_ns = calloc(n, sizeof(*s->last_ns));
	s->order = calloc(s->npaths, sizeof(*s->order));
	if (!s->sums || !s->times || !s->first_ns || !s->last_ns || !s->order)
		return WS_FAIL(err, NO_MEMORY, "no memory for the table of ranges");
	for (size_t i = 0; i < r->n; i++) {
		s->first_ns[i] = INT64_MAX;
		s->last_ns[i] = INT64_MIN;
	}
	return WS_OK;
}

/* Count kernel k in path p, unless another way has led there before. */
static void count_in_path(struct ranges *s, uint32_t p, size_t k)
{
	const struct loaded_kernels *kernels = &s->tab->l->kernels;
	struct sums *sums = &s->sums[p];

	if (sums->stamp == (uint32_t)k + 1)
		return;
	sums->stamp = (uint32_t)k + 1;
	sums->ops_inclusive++;
	if (kernels->flags[k] & WS_KERNEL_NO_TIME)
		return;
	sums->inclusive_ns += kernels->dur_ns[k];
	ws_union_add(&sums->busy, kernels->start_ns[k], kernels->start_ns[k] + kernels->dur_ns[k]);
}

static void widen(struct ranges *s, uint32_t range, int64_t first_ns, int64_t last_ns)
{
	if (first_ns < s->first_ns[range])
		s->first_ns[range] = first_ns;
	if (last_ns > s->last_ns[range])
		s->last_ns[range] = last_ns;
}

static void count_kernel(struct ranges *s, size_t k)
{
	const struct ws_model *m = s->tab->m;
	const struct loaded *l = s->tab->l;
	const struct loaded_kernels *kernels = &l->kernels;
	uint32_t own = oracle_path(l, k), range = kernels->range[k];
	int64_t start = kernels->start_ns[k], end = start + kernels->dur_ns[k];
	int timed = !(kernels->flags[k] & WS_KERNEL_NO_TIME);

	s->sums[own].ops_exclusive++;
	s->sums[own].exclusive_ns += kernels->dur_ns[k];
	count_in_path(s, own, k);
	/* launched by another thread in the time of a step */
	if (kernels->step[k] != WS_NONE &&
	    (range == WS_NONE || l->range_step[range] != kernels->step[k])) {
		uint32_t step = m->steps[kernels->step[k]].range;

		for (uint32_t p = l->ranges.path[step]; p != WS_NONE; p = m->ranges.paths[p].parent)
			count_in_path(s, p, k);
		if (timed)
			widen(s, step, start, end);
	}
	if (range == WS_NONE)
		return;
	for (uint32_t p = m->ranges.paths[own].parent; p != WS_NONE; p = m->ranges.paths[p].parent)
		count_in_path(s, p, k);
	if (timed)
		widen(s, range, start, end);
	for (uint32_t c = kernels->crossing ? kernels->crossing[k] : WS_NONE; c != WS_NONE;
	     c = m->attribution.crossings[c].next) {
		uint32_t other = m->attribution.crossings[c].range;

		count_in_path(s, l->ranges.path[other], k);
		if (timed)
			widen(s, other, start, end);
	}
}

/* Kernels are sorted by device and start, as the unions need them. */
static void count_kernels(struct ranges *s)
{
	const struct loaded *l = s->tab->l;

	for (size_t k = 0; k < l->kernels.n; k++) {
		if (k && loaded_kernel_device(l, k) != loaded_kernel_device(l, k - 1))
			for (size_t p = 0; p < s->npaths; p++)
				ws_union_next_device(&s->sums[p].busy);
		if (oracle_keeps_kernel(s->tab, k))
			count_kernel(s, k);
	}
}

static void count_op(struct ranges *s, const struct ws_cost_op *op)
{
	const struct ws_model *m = s->tab->m;

	for (uint32_t p = op->path; p != WS_NONE; p = m->ranges.paths[p].parent) {
		if (op->flops >= 0) {
			s->sums[p].flops += op->flops;
			s->sums[p].says_flops = 1;
		}
		if (op->bytes >= 0) {
			s->sums[p].bytes += op->bytes;
			s->sums[p].says_bytes = 1;
		}
	}
}

static enum ws_status count_ops(struct ranges *s, struct ws_err *err)
{
	struct ws_cost_ops *costs;
	enum ws_status status = ws_cost_ops_find(s->tab->m, s->tab->sel, &costs, err);

	for (size_t i = 0; status == WS_OK && i < costs->n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(costs, i);

		count_op(s, &op);
	}
	return status;
}

static enum ws_status count_ranges(struct ranges *s, struct ws_err *err)
{
	const struct loaded *l = s->tab->l;
	const struct loaded_ranges *r = &l->ranges;
	size_t n = r->n ? r->n : 1;
	int64_t *time = calloc(n, sizeof(*time));
	uint32_t *group = calloc(n, sizeof(*group));
	enum ws_status status;

	if (!time || !group) {
		status = WS_FAIL(err, NO_MEMORY, "no memory for the table of ranges");
		goto out;
	}
	/* children before parents: what a child launched, its parent did */
	for (uint32_t i = (uint32_t)r->n; i-- > 0;) {
		int selected = oracle_keeps_range(s->tab, i);
		struct sums *sums = &s->sums[r->path[i]];

		if (s->first_ns[i] <= s->last_ns[i]) {
			if (r->parent[i] != WS_NONE)
				widen(s, r->parent[i], s->first_ns[i], s->last_ns[i]);
			if (selected)
				sums->projected_ns += s->last_ns[i] - s->first_ns[i];
		}
		time[i] = r->end_ns[i] - r->start_ns[i];
		group[i] = selected ? r->path[i] : WS_NONE;
		sums->open += selected && r->flags[i] & LOADED_OPEN;
	}
	status = ws_group_values(time, group, r->n, s->npaths, s->times, err);
out:
	free(time);
	free(group);
	return status;
}

static enum ws_status add_row(const struct ranges *s, struct ws_table *t, uint32_t p,
                              struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct sums *sums = &s->sums[p];
	const struct ws_stat *time = &s->times[p];
	struct ws_cell *row = ws_table_row(t);

	WS_FORWARD(ws_cells_set_path(t, &row[WS_TC_ranges_path], m, p, err));
	if (p < m->ranges.npaths) {
		ws_cell_set_int(&row[WS_TC_ranges_instances], (int64_t)time->n);
		ws_cell_set_int(&row[WS_TC_ranges_range_ns], time->sum);
		ws_cell_set_int(&row[WS_TC_ranges_projected_ns], sums->projected_ns);
		ws_cell_set_int(&row[WS_TC_ranges_open], (int64_t)sums->open);
	}
	if (time->n) {
		ws_cell_set_real(&row[WS_TC_ranges_avg_ns], time->mean);
		ws_cell_set_real(&row[WS_TC_ranges_med_ns], time->median);
		ws_cell_set_real(&row[WS_TC_ranges_std_ns], time->std);
	}
	ws_cell_set_int(&row[WS_TC_ranges_busy_ns], sums->busy.busy_ns);
	ws_cell_set_int(&row[WS_TC_ranges_inclusive_ns], sums->inclusive_ns);
	ws_cell_set_int(&row[WS_TC_ranges_exclusive_ns], sums->exclusive_ns);
	ws_cell_set_int(&row[WS_TC_ranges_ops_inclusive], (int64_t)sums->ops_inclusive);
	ws_cell_set_int(&row[WS_TC_ranges_ops_exclusive], (int64_t)sums->ops_exclusive);
	if (sums->says_flops) {
		ws_cell_set_int(&row[WS_TC_ranges_flops], sums->flops);
		ws_cell_set_real(&row[WS_TC_ranges_tflops],
		                 ws_stat_ratio((double)sums->flops, (double)sums->inclusive_ns) /
		                         1e3);
	}
	if (sums->says_bytes)
		ws_cell_set_int(&row[WS_TC_ranges_bytes], sums->bytes);
	ws_cell_set_real(&row[WS_TC_ranges_share],
	                 ws_stat_percent((double)sums->inclusive_ns, (double)s->tab->sel->gpu_ns));
	return WS_OK;
}

static enum ws_status add_rows(struct ranges *s, struct ws_table *t, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	int filtered = s->tab->sel->has_nvtx || s->tab->sel->has_steps;
	int64_t exclusive_ns = 0, ops_exclusive = 0;

	WS_FORWARD(ws_paths_order(&m->ranges, m->texts, s->order, err));
	s->order[s->npaths - 2] = ws_path_no_range(m);
	s->order[s->npaths - 1] = ws_path_no_launch(m);
	for (size_t i = 0; i < s->npaths; i++) {
		uint32_t p = s->order[i];

		exclusive_ns += s->sums[p].exclusive_ns;
		ops_exclusive += (int64_t)s->sums[p].ops_exclusive;
		if (s->times[p].n || s->sums[p].ops_exclusive ||
		    (p >= m->ranges.npaths && !filtered))
			WS_FORWARD(add_row(s, t, p, err));
	}
	ws_cell_set_int(&ws_table_totals(t)[WS_TC_ranges_exclusive_ns], exclusive_ns);
	ws_cell_set_int(&ws_table_totals(t)[WS_TC_ranges_ops_exclusive], ops_exclusive);
	return WS_OK;
}

static void add_notes(const struct ranges *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;
	const struct loaded *l = s->tab->l;

	if (!l->ranges.n)
		ws_table_set_not_recorded(t, "The program made no NVTX ranges, or they were not "
		                             "recorded.");
	ws_table_note(t,
	              "Share (%%) is of %.3f ms, the GPU time of all kernels in the report. The "
	              "exclusive columns add up to all kernels; the inclusive ones count a "
	              "kernel in every range around its launch.",
	              (double)s->tab->sel->gpu_ns / 1e6);
	if (m->ranges.open)
		ws_table_note(t,
		              "%llu ranges were still open when the trace ended; they are taken to "
		              "end with its last record.",
		              (unsigned long long)m->ranges.open);
}

enum ws_status oracle_ranges(const struct oracle_tab *tab, struct ws_table *t, struct ws_err *err)
{
	struct ranges s = {.tab = tab};
	enum ws_status status = allocate(&s, err);

	if (status == WS_OK) {
		count_kernels(&s);
		status = count_ranges(&s, err);
	}
	if (status == WS_OK)
		status = count_ops(&s, err);
	if (status == WS_OK)
		status = add_rows(&s, t, err);
	if (status == WS_OK)
		add_notes(&s, t);
	release(&s);
	return status;
}
