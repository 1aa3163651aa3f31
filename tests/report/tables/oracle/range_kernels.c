/*
 * Kernels by NVTX range: which kernels each range path launched itself.
 */
#include <stdlib.h>

#include "report/analysis/group.h"
#include "tests/report/tables/oracle/oracle.h"

/* A row: one kernel name in one path. */
struct pair {
	uint32_t path, name;
};

struct range_kernels {
	const struct oracle_tab *tab;
	uint32_t *group; /* kernel -> pair */
	struct pair *pairs;
	size_t npairs, capacity;
	struct ws_idmap map; /* path << 32 | name -> pair */
	struct ws_group *groups;
	uint32_t *place;     /* path -> its place in reading order */
	uint64_t *instances; /* path -> selected ranges */
	uint32_t *order;
};

static void release(struct range_kernels *s)
{
	free(s->group);
	free(s->pairs);
	ws_idmap_free(&s->map);
	free(s->groups);
	free(s->place);
	free(s->instances);
	free(s->order);
}

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the kernels by range");
}

static enum ws_status find_pairs(struct range_kernels *s, struct ws_err *err)
{
	const struct loaded *l = s->tab->l;

	s->group = calloc(l->kernels.n ? l->kernels.n : 1, sizeof(*s->group));
	if (!s->group)
		return no_memory(err);
	for (size_t k = 0; k < l->kernels.n; k++) {
		struct pair pair = {oracle_path(l, k), loaded_kernel_name(l, k)};
		uint64_t key = (uint64_t)pair.path << 32 | pair.name;

		s->group[k] = WS_NONE;
		if (!oracle_keeps_kernel(s->tab, k))
			continue;
		s->group[k] = ws_idmap_get(&s->map, key);
		if (s->group[k] != WS_NONE)
			continue;
		if (s->npairs == s->capacity) {
			size_t want = s->capacity ? s->capacity * 2 : 256;
			void *grown = reallocarray(s->pairs, want, sizeof(*s->pairs));

			if (!grown)
				return no_memory(err);
			s->pairs = grown;
			s->capacity = want;
		}
		s->pairs[s->npairs] = pair;
		s->group[k] = (uint32_t)s->npairs++;
		WS_FORWARD(ws_idmap_put(&s->map, key, s->group[k], err));
	}
	return WS_OK;
}

static enum ws_status prepare_rows(struct range_kernels *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct loaded *l = s->tab->l;
	size_t npaths = m->ranges.npaths + 2, npairs = s->npairs ? s->npairs : 1;
	uint32_t *paths = calloc(npaths, sizeof(*paths));
	enum ws_status status = WS_OK;

	s->groups = calloc(npairs, sizeof(*s->groups));
	s->place = calloc(npaths, sizeof(*s->place));
	s->instances = calloc(npaths, sizeof(*s->instances));
	s->order = calloc(npairs, sizeof(*s->order));
	if (!paths || !s->groups || !s->place || !s->instances || !s->order)
		status = no_memory(err);
	if (status == WS_OK)
		status = oracle_group_kernels(l, s->group, s->npairs, s->groups, err);
	if (status == WS_OK)
		status = ws_paths_order(&m->ranges, m->texts, paths, err);
	if (status == WS_OK) {
		for (uint32_t i = 0; i < m->ranges.npaths; i++)
			s->place[paths[i]] = i;
		s->place[ws_path_no_range(m)] = ws_path_no_range(m);
		s->place[ws_path_no_launch(m)] = ws_path_no_launch(m);
		for (uint32_t i = 0; i < l->ranges.n; i++)
			s->instances[l->ranges.path[i]] += oracle_keeps_range(s->tab, i);
		ws_order_identity(s->order, s->npairs);
	}
	free(paths);
	return status;
}

static int by_row_order(const void *pa, const void *pb, void *arg)
{
	const struct range_kernels *s = arg;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct pair *a = &s->pairs[ia], *b = &s->pairs[ib];
	const struct ws_bytes *texts = s->tab->m->texts;

	if (s->place[a->path] != s->place[b->path])
		return s->place[a->path] < s->place[b->path] ? -1 : 1;
	return oracle_group_compare(&s->groups[ia], texts[a->name], &s->groups[ib], texts[b->name]);
}

static enum ws_status add_row(const struct range_kernels *s, struct ws_table *t, uint32_t which,
                              struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct pair *pair = &s->pairs[which];
	const struct ws_stat *time = &s->groups[which].time;
	struct ws_bytes name = m->texts[pair->name];
	struct ws_cell *row = ws_table_row(t);

	WS_FORWARD(ws_cells_set_path(t, &row[WS_TC_range_kernels_path], m, pair->path, err));
	if (pair->path < m->ranges.npaths)
		ws_cell_set_int(&row[WS_TC_range_kernels_instances],
		                (int64_t)s->instances[pair->path]);
	ws_cell_set_int(&row[WS_TC_range_kernels_kernels], (int64_t)time->n);
	if (time->n) {
		ws_cell_set_int(&row[WS_TC_range_kernels_total_ns], time->sum);
		ws_cell_set_real(&row[WS_TC_range_kernels_avg_ns], time->mean);
		ws_cell_set_real(&row[WS_TC_range_kernels_med_ns], time->median);
		ws_cell_set_int(&row[WS_TC_range_kernels_min_ns], time->min);
		ws_cell_set_int(&row[WS_TC_range_kernels_max_ns], time->max);
		ws_cell_set_real(&row[WS_TC_range_kernels_std_ns], time->std);
	}
	ws_cell_set_text(t, &row[WS_TC_range_kernels_name], name.ptr, name.len);
	ws_cell_set_int(&row[WS_TC_range_kernels_without_time],
	                (int64_t)s->groups[which].without_time);
	ws_cell_set_short_name(t, &row[WS_TC_range_kernels_short_name], m, pair->name);
	return WS_OK;
}

static void add_totals(const struct range_kernels *s, struct ws_table *t)
{
	struct ws_cell *row = ws_table_totals(t);
	int64_t kernels = 0, total_ns = 0, without_time = 0;

	for (size_t i = 0; i < s->npairs; i++) {
		kernels += (int64_t)s->groups[i].time.n;
		total_ns += s->groups[i].time.sum;
		without_time += (int64_t)s->groups[i].without_time;
	}
	ws_cell_set_int(&row[WS_TC_range_kernels_kernels], kernels);
	ws_cell_set_int(&row[WS_TC_range_kernels_total_ns], total_ns);
	ws_cell_set_int(&row[WS_TC_range_kernels_without_time], without_time);
}

enum ws_status oracle_range_kernels(const struct oracle_tab *tab, struct ws_table *t,
                                    struct ws_err *err)
{
	struct range_kernels s = {.tab = tab};
	enum ws_status status = find_pairs(&s, err);

	if (status == WS_OK)
		status = prepare_rows(&s, err);
	if (status == WS_OK && !tab->l->kernels.n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	if (status == WS_OK) {
		qsort_r(s.order, s.npairs, sizeof(*s.order), by_row_order, &s);
		add_totals(&s, t);
		ws_table_note(t,
		              "A kernel counts once, in the innermost range around its launch, so "
		              "the rows add up to all kernels. `ranges` has the inclusive times.");
	}
	for (size_t i = 0; i < s.npairs && status == WS_OK; i++)
		status = add_row(&s, t, s.order[i], err);
	release(&s);
	return status;
}
