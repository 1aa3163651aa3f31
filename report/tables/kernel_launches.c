/* Kernels by name, grid and block: how often each shape was launched. */
#include <inttypes.h>
#include <string.h>

#include "formats/base/strtab.h"
#include "report/analysis/digest.h"
#include "report/analysis/launch_stat.h"
#include "report/tables/tables.h"

struct launches {
	const struct ws_table_context *tab;
	struct ws_strtab shapes; /* name, grid and block -> group, from 1 */
	uint32_t *first;         /* group -> a configuration of it */
	size_t ngroups;
	uint32_t *group; /* cell -> group */
	struct ws_group *groups;
	struct ws_launch_stat *stats;
	struct ws_row_key *rows;
	size_t nrows;
};

static uint32_t find_group(struct launches *s, uint32_t config)
{
	const struct ws_config *c = &s->tab->m->configs[config];
	const uint64_t key[] = {c->name,         c->shape.grid_x,  c->shape.grid_y,
	                        c->shape.grid_z, c->shape.block_x, c->shape.block_y,
	                        c->shape.block_z};
	const uint64_t number = ws_strtab_add(&s->shapes, key, sizeof(key));

	if (number > s->ngroups)
		s->first[s->ngroups++] = config;
	return (uint32_t)number - 1;
}

static void find_groups(struct launches *s)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_digest *d = s->tab->digest;
	struct ws_arena *temp = s->tab->temp;
	size_t n = m->nconfigs;

	WS_NEW(temp, s->first, n);
	WS_NEW(temp, s->group, d->ncells);
	WS_NEW(temp, s->groups, n);
	WS_NEW(temp, s->stats, n);
	WS_NEW(temp, s->rows, n);
	for (size_t i = 0; i < d->ncells; i++) {
		const struct ws_digest_cell *cell = &d->cells[i];

		s->group[i] = find_group(s, cell->config);
		ws_launch_stat_add(&s->stats[s->group[i]], &m->configs[cell->config],
		                   ws_digest_cell_count(cell), cell->total_ns);
	}
	ws_digest_group(d, s->group, s->ngroups, s->groups);
}

/* As the kernel summary, then by grid and block as numbers. */
static void order_rows(struct launches *s)
{
	const struct ws_model *m = s->tab->m;

	for (uint32_t g = 0; g < s->ngroups; g++) {
		const struct ws_config *config = &m->configs[s->first[g]];
		const struct ws_launch_shape *shape = &config->shape;
		const uint64_t tie[] = {shape->grid_x,  shape->grid_y,  shape->grid_z,
		                        shape->block_x, shape->block_y, shape->block_z};

		if (!s->groups[g].time.n && !s->groups[g].without_time)
			continue;
		s->rows[s->nrows] = ws_group_key(&s->groups[g], m->texts[config->name], g);
		memcpy(s->rows[s->nrows++].tie, tie, sizeof(tie));
	}
	ws_row_keys_sort(s->rows, s->nrows);
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

	ws_cells_set_stat(row, &g->time, s->tab->sel->gpu_ns);
	set_triple(t, &row[WS_TC_kernel_launches_grid], shape->grid_x, shape->grid_y,
	           shape->grid_z);
	set_triple(t, &row[WS_TC_kernel_launches_block], shape->block_x, shape->block_y,
	           shape->block_z);
	ws_cell_set_model_text(t, &row[WS_TC_kernel_launches_name], m, config->name);
	ws_cells_set_launch(&row[WS_TC_kernel_launches_registers], &s->stats[group]);
	ws_cell_set_int(&row[WS_TC_kernel_launches_without_time], (int64_t)g->without_time);
	ws_cell_set_short_name(t, &row[WS_TC_kernel_launches_short_name], m, config->name);
}

void ws_tab_kernel_launches(const struct ws_table_context *tab, struct ws_table *t)
{
	struct launches s = {.tab = tab};

	if (!ws_model_has_kernels(tab->m)) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	find_groups(&s);
	ws_strtab_free(&s.shapes);
	order_rows(&s);
	for (size_t i = 0; i < s.nrows; i++)
		add_row(&s, t, s.rows[i].row);
	ws_totals_set_stat(t, tab->sel->gpu_ns, WS_TC_kernel_launches_without_time);
}
