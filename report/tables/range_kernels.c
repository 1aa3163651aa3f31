/* Kernels by NVTX range: which kernels each range path launched itself. */
#include "formats/base/strtab.h"
#include "report/analysis/digest.h"
#include "report/tables/tables.h"

/* A row: one kernel name in one path. */
struct pair {
	uint32_t path, name;
};

struct range_kernels {
	const struct ws_table_context *tab;
	uint32_t *group; /* cell -> pair */
	struct pair *pairs;
	size_t npairs;
	struct ws_strtab known; /* pair -> its number, from 1 */
	struct ws_group *groups;
	uint32_t *place;     /* path -> its place in reading order */
	uint64_t *instances; /* path -> selected ranges */
	struct ws_row_key *rows;
};

/* Numbered as tables number them: the kernels in no range behind all paths. */
static uint32_t table_path(const struct ws_model *m, uint32_t path)
{
	if (path == WS_PATH_NO_RANGE)
		return ws_path_no_range(m);
	return path == WS_PATH_NO_LAUNCH ? ws_path_no_launch(m) : path;
}

static void find_pairs(struct range_kernels *s)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_digest *d = s->tab->digest;

	WS_NEW(s->tab->temp, s->group, d->ncells);
	WS_NEW(s->tab->temp, s->pairs, d->ncells);
	for (size_t i = 0; i < d->ncells; i++) {
		const struct ws_digest_cell *cell = &d->cells[i];
		struct pair pair = {table_path(m, cell->place.path), m->configs[cell->config].name};
		uint64_t number;

		number = ws_strtab_add(&s->known, &pair, sizeof(pair));
		s->group[i] = (uint32_t)number - 1;
		if (number > s->npairs)
			s->pairs[s->npairs++] = pair;
	}
}

static void prepare_rows(struct range_kernels *s)
{
	const struct ws_model *m = s->tab->m;
	struct ws_arena *temp = s->tab->temp;
	size_t npaths = m->ranges.npaths + 2;
	uint32_t *paths;

	WS_NEW(temp, paths, npaths);
	WS_NEW(temp, s->groups, s->npairs);
	WS_NEW(temp, s->place, npaths);
	WS_NEW(temp, s->instances, npaths);
	WS_NEW(temp, s->rows, s->npairs);
	ws_digest_group(s->tab->digest, s->group, s->npairs, s->groups);
	ws_paths_order(&m->ranges, m->texts, paths);
	for (uint32_t i = 0; i < m->ranges.npaths; i++)
		s->place[paths[i]] = i;
	s->place[ws_path_no_range(m)] = ws_path_no_range(m);
	s->place[ws_path_no_launch(m)] = ws_path_no_launch(m);
	for (uint32_t i = 0; i < m->ranges.npaths; i++)
		s->instances[i] = ws_values_count(&ws_digest_path(s->tab->digest, i)->dur_ns);
	for (uint32_t i = 0; i < s->npairs; i++) {
		s->rows[i] = ws_group_key(&s->groups[i], m->texts[s->pairs[i].name], i);
		s->rows[i].number[0] = s->place[s->pairs[i].path];
	}
	ws_row_keys_sort(s->rows, s->npairs);
}

static void add_row(const struct range_kernels *s, struct ws_table *t, uint32_t which)
{
	const struct ws_model *m = s->tab->m;
	const struct pair *pair = &s->pairs[which];
	const struct ws_stat *time = &s->groups[which].time;
	struct ws_bytes name = m->texts[pair->name];
	struct ws_cell *row = ws_table_row(t);

	ws_cells_set_path(t, &row[WS_TC_range_kernels_path], m, pair->path);
	if (pair->path < m->ranges.npaths)
		ws_cell_set_int(&row[WS_TC_range_kernels_instances],
		                (int64_t)s->instances[pair->path]);
	ws_cell_set_int(&row[WS_TC_range_kernels_kernels], (int64_t)time->n);
	if (time->n)
		ws_cell_set_int(&row[WS_TC_range_kernels_total_ns], time->sum);
	ws_cells_set_spread(&row[WS_TC_range_kernels_avg_ns], time);
	ws_cell_set_text(t, &row[WS_TC_range_kernels_name], name.ptr, name.len);
	ws_cell_set_int(&row[WS_TC_range_kernels_without_time],
	                (int64_t)s->groups[which].without_time);
	ws_cell_set_short_name(t, &row[WS_TC_range_kernels_short_name], m, pair->name);
}

void ws_tab_range_kernels(const struct ws_table_context *tab, struct ws_table *t)
{
	struct range_kernels s = {.tab = tab};

	find_pairs(&s);
	prepare_rows(&s);
	if (!ws_model_has_kernels(tab->m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	ws_table_note(t, "A kernel counts once, in the innermost range around its launch, so "
	                 "the rows add up to all kernels. `ranges` has the inclusive times.");

	for (size_t i = 0; i < s.npairs; i++) {
		add_row(&s, t, s.rows[i].row);
	}
	ws_totals_add_up(t, WS_TC_range_kernels_kernels);
	ws_totals_add_up(t, WS_TC_range_kernels_total_ns);
	ws_totals_add_up(t, WS_TC_range_kernels_without_time);
	ws_strtab_free(&s.known);
}
