/* CUDA GPU Kernel Summary: all executions of one kernel name in a row. */
#include "formats/base/bytes.h"
#include "report/kernel_info/classify.h"
#include "report/analysis/digest.h"
#include "report/analysis/launch_stat.h"
#include "report/tables/tables.h"

enum attribute { CLASS, CLASS_BY_NAME, CLASS_BY_RANGE, DIRECTION, DTYPE };

struct summary {
	const struct ws_table_context *tab;
	size_t names;                  /* number of texts: a kernel name is one of them */
	uint32_t *group;               /* cell -> name */
	struct ws_rows_by_key by_name; /* cells by name, in the order of their first kernels */
	struct ws_group *groups;
	uint64_t *in_steps; /* instances launched in measured steps */
	uint8_t *tensor;    /* enum ws_tensor */
	struct ws_launch_stat *launch;
	uint32_t *seen, lists; /* text -> number of the last list that has it; lists so far */
	struct ws_row_key *rows;
	size_t nrows;
};

static void allocate(struct summary *s)
{
	struct ws_arena *temp = s->tab->temp;

	s->names = s->tab->m->ntexts;
	WS_NEW(temp, s->group, s->tab->digest->ncells);
	WS_NEW(temp, s->groups, s->names);
	WS_NEW(temp, s->in_steps, s->names);
	WS_NEW(temp, s->tensor, s->names);
	WS_NEW(temp, s->launch, s->names);
	WS_NEW(temp, s->seen, s->names);
	WS_NEW(temp, s->rows, s->names);
}

/* by_name.order: the cells of each name by their first kernels. */
static void order_cells(struct summary *s)
{
	const struct ws_digest *d = s->tab->digest;
	struct ws_row_key *cells;

	WS_NEW(s->tab->temp, cells, d->ncells);
	for (uint32_t i = 0; i < d->ncells; i++)
		cells[i] =
		        (struct ws_row_key){.number = {s->group[i], d->cells[i].first}, .row = i};
	ws_row_keys_sort(cells, d->ncells);
	ws_order_by_key(&s->by_name, s->tab->temp, s->group, d->ncells, s->names);
	for (size_t i = 0; i < d->ncells; i++)
		s->by_name.order[i] = cells[i].row;
}

static void gather(struct summary *s)
{
	const struct ws_digest *d = s->tab->digest;

	for (size_t i = 0; i < d->ncells; i++)
		s->group[i] = s->tab->m->configs[d->cells[i].config].name;
	order_cells(s);
	for (size_t i = 0; i < d->ncells; i++) {
		const struct ws_digest_cell *cell = &d->cells[s->by_name.order[i]];
		const struct ws_config *config = &s->tab->m->configs[cell->config];

		s->in_steps[config->name] += cell->in_steps;
		ws_launch_stat_add(&s->launch[config->name], config, ws_digest_cell_count(cell),
		                   cell->total_ns);
		s->tensor[config->name] = config->tensor;
	}
}

static uint32_t text_of(const struct summary *s, const struct ws_digest_cell *cell,
                        enum attribute a)
{
	const uint32_t by_name = s->tab->m->configs[cell->config].name_class;

	switch (a) {
	case CLASS:
		return ws_digest_class(s->tab->m, cell);
	case CLASS_BY_NAME:
		return by_name;
	case CLASS_BY_RANGE:
		return cell->place.class;
	case DIRECTION:
		return cell->place.direction;
	default:
		return cell->place.dtype;
	}
}

/* The texts that a name was seen with, e.g. its classes, in the order of first use. */
static void set_seen(struct summary *s, struct ws_table *t, struct ws_cell *cell, enum attribute a,
                     uint32_t name)
{
	const struct ws_rows_by_key *cells = &s->by_name;
	struct ws_buf list = {0};

	s->lists++;
	for (uint32_t i = cells->first[name]; i < cells->first[name + 1]; i++) {
		uint32_t text = text_of(s, &s->tab->digest->cells[cells->order[i]], a);

		if (!text || s->seen[text] == s->lists)
			continue;
		s->seen[text] = s->lists;
		if (list.len)
			ws_buf_put(&list, ", ", 2);
		ws_buf_put(&list, s->tab->m->texts[text].ptr, s->tab->m->texts[text].len);
	}
	if (list.len)
		ws_cell_set_text(t, cell, (const char *)list.data, list.len);
	ws_buf_free(&list);
}

static void add_row(struct summary *s, struct ws_table *t, uint32_t name)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_digest *d = s->tab->digest;
	const struct ws_group *g = &s->groups[name];
	struct ws_cell *row = ws_table_row(t);

	ws_cells_set_stat(row, &g->time, s->tab->sel->gpu_ns);
	ws_cell_set_text(t, &row[WS_TC_kernel_summary_name], m->texts[name].ptr,
	                 m->texts[name].len);
	ws_cell_set_short_name(t, &row[WS_TC_kernel_summary_short_name], m, name);
	set_seen(s, t, &row[WS_TC_kernel_summary_op_class], CLASS, name);
	set_seen(s, t, &row[WS_TC_kernel_summary_direction], DIRECTION, name);
	set_seen(s, t, &row[WS_TC_kernel_summary_dtype], DTYPE, name);
	set_seen(s, t, &row[WS_TC_kernel_summary_class_by_name], CLASS_BY_NAME, name);
	set_seen(s, t, &row[WS_TC_kernel_summary_class_by_range], CLASS_BY_RANGE, name);
	ws_cells_set_launch(&row[WS_TC_kernel_summary_registers], &s->launch[name]);
	if (s->tensor[name] != WS_TENSOR_NOT_APPLICABLE)
		ws_cell_set_str(t, &row[WS_TC_kernel_summary_tensor],
		                ws_tensor_shown((enum ws_tensor)s->tensor[name]));
	if (s->tab->sel->measured && s->tab->sel->scope <= WS_SCOPE_STEPS)
		ws_cell_set_mean(&row[WS_TC_kernel_summary_per_step], (int64_t)s->in_steps[name],
		                 s->tab->sel->measured);
	if (d->flops && !d->flops_unknown[name]) {
		ws_cell_set_int(&row[WS_TC_kernel_summary_flops], d->flops[name]);
		/* FLOP/ns is 10^9 FLOP/s */
		if (!g->without_time)
			ws_cell_set_real(&row[WS_TC_kernel_summary_tflops],
			                 ws_stat_ratio((double)d->flops[name],
			                               (double)g->time.sum) /
			                         1e3);
	}
	ws_cell_set_int(&row[WS_TC_kernel_summary_without_time], (int64_t)g->without_time);
}

/* Kernels of setup and warm-up are in the table; say how many. */
static void add_notes(const struct summary *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_selection *sel = s->tab->sel;
	const struct ws_digest *d = s->tab->digest;
	size_t graphs = 0;
	int64_t graph_ns = 0;

	for (size_t i = 0; i < m->nwork; i++)
		if (sel->work[i] && m->work[i].kind == WS_WORK_GRAPH) {
			graphs++;
			graph_ns += m->work[i].dur_ns;
		}
	if (graphs)
		ws_table_note(t,
		              "%s runs of CUDA graphs were traced as a whole. Their kernels (%.3f "
		              "ms) are not in this table. `warpsheet record --graph-level node` "
		              "records them.",
		              ws_say_number(s->tab->temp, (double)graphs), (double)graph_ns / 1e6);
	if (d->warm_up || d->setup)
		ws_table_note(t,
		              "Set-up and warm-up are in this table: %s kernels (%.3f ms) of "
		              "set-up, %s (%.3f ms) of warm-up. `--scope steps` leaves them out.",
		              ws_say_number(s->tab->temp, (double)d->setup),
		              (double)d->setup_ns / 1e6,
		              ws_say_number(s->tab->temp, (double)d->warm_up),
		              (double)d->warm_up_ns / 1e6);
	if (!ws_model_has_kernels(m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	else if (!sel->kernels)
		ws_table_note(t, "No kernel passes the filter.");
}

void ws_tab_kernel_summary(const struct ws_table_context *tab, struct ws_table *t)
{
	struct summary s = {.tab = tab};

	allocate(&s);
	gather(&s);
	ws_digest_group(tab->digest, s.group, s.names, s.groups);
	for (uint32_t name = 0; name < s.names; name++)
		if (s.groups[name].time.n || s.groups[name].without_time)
			s.rows[s.nrows++] =
			        ws_group_key(&s.groups[name], tab->m->texts[name], name);
	ws_row_keys_sort(s.rows, s.nrows);
	for (size_t i = 0; i < s.nrows; i++)
		add_row(&s, t, s.rows[i].row);
	ws_totals_set_stat(t, tab->sel->gpu_ns, WS_TC_kernel_summary_without_time);
	add_notes(&s, t);
}
