/* The long tables, whose rows are made when they are written: every kernel, and all range paths. */

#include "report/tables/tables.h"

/* --- kernel-trace: every execution of every kernel, made only if requested by name ------------ */

/* Data from which rows are made when they are written, after the selection was freed. */
struct kept {
	struct ws_relations relations; /* must be first: free_kept gets its address */
	struct ws_joined_rows rows;
};

static void free_kept(void *ctx)
{
	struct kept *k = ctx;

	ws_relations_release(&k->relations);
	ws_joined_rows_free(&k->rows);
	free(k);
}

void ws_tab_kernel_trace(const struct ws_table_context *tab, struct ws_table *t)
{
	struct kept *k = ws_xarray(1, sizeof(*k));

	k->relations.tab = tab;
	size_t n = ws_relation_kernel.count(&k->relations);
	k->rows = *tab->sel->rows;
	*tab->sel->rows = (struct ws_joined_rows){0};
	k->relations.kernels.rows = &k->rows;
	ws_table_show_relation(t,
	                       &(struct ws_relation_rows){&ws_relation_kernel, &k->relations, NULL,
	                                                  free_kept},
	                       n);
	if (!ws_model_has_kernels(tab->m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	if (tab->sel->kernels)
		ws_cell_set_int(&ws_table_totals(t)[WS_TC_kernel_trace_dur_ns], tab->sel->gpu_ns);
}

/* --- ranges: GPU time of each range path ------------------------------ */

static void add_notes(const struct ws_model *m, int64_t gpu_ns, struct ws_table *t)
{
	const struct ws_ranges *r = &m->ranges;
	struct ws_arena temp = {0};

	if (!r->npaths)
		ws_table_set_not_recorded(t, "The program made no NVTX ranges, or they were not "
		                             "recorded.");
	if (!ws_model_has_work(m))
		ws_table_note(t, WS_NO_KERNELS);
	else
		ws_table_note(t,
		              "Share (%%) is of %.3f ms, the GPU time of all kernels in the "
		              "report. The exclusive columns add up to all kernels; the inclusive "
		              "ones count a kernel in every range around its launch.",
		              (double)gpu_ns / 1e6);
	if (r->open)
		ws_table_note(t,
		              "Ranges still open when the trace ended, and taken to end with its "
		              "last record: %s.",
		              ws_say_number(&temp, (double)r->open));
	ws_arena_free(&temp);
}

/* Changes the title of a table of ranges, and of its sheet, if all ranges are modules of
 * PyTorch. */
static void name_modules(const struct ws_model *m, struct ws_table *t, const char *title,
                         const char *sheet)
{
	bool has_modules = false;

	for (size_t p = 0; p < m->ranges.npaths; p++) {
		struct ws_bytes domain = m->texts[m->ranges.paths[p].domain];

		/* other ranges of the framework: its steps */
		if (domain.len < 7 || memcmp(domain.ptr, "pytorch", 7) != 0)
			return;
		has_modules |= m->ranges.paths[p].domain == WS_TEXT_MODULE_DOMAIN;
	}
	if (has_modules)
		ws_table_set_title(t, title, sheet);
}

/* Data from which rows are made when they are read. */
struct kept_ranges {
	struct ws_relations relations; /* must be first: free_kept_ranges gets its address */
	struct ws_table_context tab;
	uint32_t *row; /* path of each row */
};

static void free_kept_ranges(void *ctx)
{
	struct kept_ranges *k = ctx;

	ws_relations_release(&k->relations);
	free(k->row);
	free(k);
}

/* There is one row per path; rows are not stored. */
void ws_tab_ranges(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const size_t npaths = m->ranges.npaths + 2;
	struct kept_ranges *k = ws_xarray(1, sizeof(*k));
	int64_t exclusive_ns = 0, ops_exclusive = 0;
	size_t nrows = 0;

	k->tab = *tab;
	k->relations.tab = &k->tab;
	k->row = ws_xarray(npaths, sizeof(*k->row));
	const uint32_t *order = ws_paths_in_order(&k->relations);
	for (size_t i = 0; i < npaths; i++)
		if (ws_path_is_shown(&k->relations, order[i]))
			k->row[nrows++] = order[i];
	for (size_t i = 0; i < tab->digest->npaths; i++) {
		exclusive_ns += tab->digest->paths[i].exclusive_ns;
		ops_exclusive += (int64_t)tab->digest->paths[i].ops_exclusive;
	}
	ws_table_show_relation(t,
	                       &(struct ws_relation_rows){&ws_relation_path, &k->relations, k->row,
	                                                  free_kept_ranges},
	                       nrows);
	if (ws_model_has_work(m)) {
		ws_cell_set_int(&ws_table_totals(t)[WS_TC_ranges_exclusive_ns], exclusive_ns);
		ws_cell_set_int(&ws_table_totals(t)[WS_TC_ranges_ops_exclusive], ops_exclusive);
	}
	name_modules(m, t, "Modules, each by itself", "All Modules");
	add_notes(m, tab->sel->gpu_ns, t);
}

void ws_tab_ranges_rollup(const struct ws_table_context *tab, struct ws_table *t)
{
	name_modules(tab->m, t, "Modules", "Modules");
	if (t->nrows || !tab->m->ranges.npaths)
		add_notes(tab->m, tab->sel->gpu_ns, t);
}
