/*
 * Kernels by name, grid and block: how often each shape was launched.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/analysis/group.h"
#include "report/analysis/launch_stat.h"
#include "report/base/names.h"
#include "tests/report/tables/oracle/oracle.h"

struct launches {
	const struct oracle_tab *tab;
	uint32_t *configs;  /* configs, equal shapes beside each other */
	uint32_t *group_of; /* config -> group */
	uint32_t *first;    /* group -> a config of it */
	size_t ngroups;
	uint32_t *group; /* kernel -> group */
	struct ws_group *groups;
	struct ws_launch_stat *stats;
	uint32_t *order;
	size_t rows;
};

static void release(struct launches *s)
{
	free(s->configs);
	free(s->group_of);
	free(s->first);
	free(s->group);
	free(s->groups);
	free(s->stats);
	free(s->order);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By name, then grid and block as numbers. */
static int by_shape(const void *pa, const void *pb, void *arg)
{
	const struct ws_model *m = arg;
	const struct ws_config *a = &m->configs[*(const uint32_t *)pa];
	const struct ws_config *b = &m->configs[*(const uint32_t *)pb];
	const struct ws_launch_shape *s = &a->shape, *t = &b->shape;
	int c = compare(a->name, b->name);

	c = c ? c : compare(s->grid_x, t->grid_x);
	c = c ? c : compare(s->grid_y, t->grid_y);
	c = c ? c : compare(s->grid_z, t->grid_z);
	c = c ? c : compare(s->block_x, t->block_x);
	c = c ? c : compare(s->block_y, t->block_y);
	return c ? c : compare(s->block_z, t->block_z);
}

static enum ws_status find_groups(struct launches *s, struct ws_err *err)
{
	struct ws_model *m = (struct ws_model *)s->tab->m; /* qsort_r's argument has no const */
	const struct loaded *l = s->tab->l;
	size_t n = m->nconfigs;

	s->configs = calloc(n, sizeof(*s->configs));
	s->group_of = calloc(n, sizeof(*s->group_of));
	s->first = calloc(n, sizeof(*s->first));
	s->group = calloc(l->kernels.n + 1, sizeof(*s->group));
	s->groups = calloc(n, sizeof(*s->groups));
	s->stats = calloc(n, sizeof(*s->stats));
	s->order = calloc(n, sizeof(*s->order));
	if (!s->configs || !s->group_of || !s->first || !s->group || !s->groups || !s->stats ||
	    !s->order)
		return WS_FAIL(err, NO_MEMORY, "no memory for the kernels by shape");
	ws_order_identity(s->configs, n);
	qsort_r(s->configs, n, sizeof(*s->configs), by_shape, m);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_shape(&s->configs[i - 1], &s->configs[i], m))
			s->first[s->ngroups++] = s->configs[i];
		s->group_of[s->configs[i]] = (uint32_t)s->ngroups - 1;
	}
	for (size_t k = 0; k < l->kernels.n; k++) {
		uint32_t config = l->kernels.config[k];

		s->group[k] = oracle_keeps_kernel(s->tab, k) ? s->group_of[config] : WS_NONE;
		if (s->group[k] != WS_NONE)
			ws_launch_stat_add(&s->stats[s->group[k]], &m->configs[config], 1,
			                   l->kernels.dur_ns[k]);
	}
	return oracle_group_kernels(l, s->group, s->ngroups, s->groups, err);
}

static int by_rank(const void *pa, const void *pb, void *arg)
{
	const struct launches *s = arg;
	const struct ws_model *m = s->tab->m;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = oracle_group_compare(&s->groups[a], m->texts[m->configs[s->first[a]].name],
	                             &s->groups[b], m->texts[m->configs[s->first[b]].name]);

	/* groups are numbered by shape */
	return c ? c : compare(a, b);
}

static void set_triple(struct ws_table *t, struct ws_cell *cell, uint64_t x, uint64_t y, uint64_t z)
{
	char text[80];

	if (!x || !y || !z)
		return; /* not recorded */
	snprintf(text, sizeof(text), "%4" PRIu64 " %4" PRIu64 " %4" PRIu64, x, y, z);
	ws_cell_set_str(t, cell, text);
}

static void add_row(const struct launches *s, struct ws_table *t, uint32_t group)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_config *config = &m->configs[s->first[group]];
	const struct ws_launch_shape *shape = &config->shape;
	const struct ws_group *g = &s->groups[group];
	struct ws_cell *row = ws_table_row(t);

	if (g->time.n)
		ws_cells_set_stat(row, &g->time, s->tab->sel->gpu_ns);
	else
		ws_cell_set_int(&row[WS_TC_kernel_launches_instances], 0);
	set_triple(t, &row[WS_TC_kernel_launches_grid], shape->grid_x, shape->grid_y,
	           shape->grid_z);
	set_triple(t, &row[WS_TC_kernel_launches_block], shape->block_x, shape->block_y,
	           shape->block_z);
	ws_cell_set_model_text(t, &row[WS_TC_kernel_launches_name], m, config->name);
	ws_cells_set_launch(&row[WS_TC_kernel_launches_registers], &s->stats[group]);
	ws_cell_set_int(&row[WS_TC_kernel_launches_without_time], (int64_t)g->without_time);
	ws_cell_set_short_name(t, &row[WS_TC_kernel_launches_short_name], m, config->name);
}

static void add_totals(const struct launches *s, struct ws_table *t)
{
	struct ws_cell *row = ws_table_totals(t);
	uint64_t instances = 0, without_time = 0;

	for (size_t i = 0; i < s->rows; i++) {
		instances += s->groups[s->order[i]].time.n;
		without_time += s->groups[s->order[i]].without_time;
	}
	if (s->tab->sel->gpu_ns)
		ws_cell_set_real(&row[WS_TC_kernel_launches_time_percent], 100);
	ws_cell_set_int(&row[WS_TC_kernel_launches_total_ns], s->tab->sel->gpu_ns);
	ws_cell_set_int(&row[WS_TC_kernel_launches_instances], (int64_t)instances);
	ws_cell_set_int(&row[WS_TC_kernel_launches_without_time], (int64_t)without_time);
}

enum ws_status oracle_kernel_launches(const struct oracle_tab *tab, struct ws_table *t,
                                      struct ws_err *err)
{
	struct launches s = {.tab = tab};
	enum ws_status status = find_groups(&s, err);

	if (status != WS_OK || !tab->l->kernels.n)
		goto out;
	for (uint32_t g = 0; g < s.ngroups; g++)
		if (s.groups[g].time.n || s.groups[g].without_time)
			s.order[s.rows++] = g;
	qsort_r(s.order, s.rows, sizeof(*s.order), by_rank, &s);
	for (size_t i = 0; i < s.rows && status == WS_OK; i++)
		add_row(&s, t, s.order[i]);
	add_totals(&s, t);
out:
	if (status == WS_OK && !tab->l->kernels.n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	release(&s);
	return status;
}
