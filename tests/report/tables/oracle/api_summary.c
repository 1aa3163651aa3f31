/*
 * CUDA API Summary: all calls of one function in a row.
 */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/group.h"
#include "report/base/names.h"
#include "tests/report/tables/oracle/oracle.h"

struct api_summary {
	const struct oracle_tab *tab;
	uint32_t *group; /* call -> text of its name */
	int64_t *dur_ns;
	struct ws_stat *stats; /* text -> calls of that name */
	uint64_t *failed;
	uint32_t *order;
	size_t rows;
	int64_t total_ns;
};

static void release(struct api_summary *s)
{
	free(s->group);
	free(s->dur_ns);
	free(s->stats);
	free(s->failed);
	free(s->order);
}

static enum ws_status gather(struct api_summary *s, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	const struct loaded *l = s->tab->l;
	const struct loaded_api *a = &l->api;

	s->group = calloc(a->n + 1, sizeof(*s->group));
	s->dur_ns = calloc(a->n + 1, sizeof(*s->dur_ns));
	s->stats = calloc(m->ntexts, sizeof(*s->stats));
	s->failed = calloc(m->ntexts, sizeof(*s->failed));
	s->order = calloc(m->ntexts, sizeof(*s->order));
	if (!s->group || !s->dur_ns || !s->stats || !s->failed || !s->order)
		return WS_FAIL(err, NO_MEMORY, "no memory for the API summary");
	for (size_t i = 0; i < a->n; i++) {
		s->group[i] = oracle_keeps_call(s->tab, i) ? a->name[i] : WS_NONE;
		s->dur_ns[i] = a->end_ns[i] - a->start_ns[i];
		if (!oracle_keeps_call(s->tab, i))
			continue;
		s->failed[a->name[i]] += a->failed[i];
		s->total_ns += s->dur_ns[i];
	}
	return ws_group_values(s->dur_ns, s->group, a->n, m->ntexts, s->stats, err);
}

static int by_total(const void *pa, const void *pb, void *arg)
{
	const struct api_summary *s = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const struct ws_stat *sa = &s->stats[a], *sb = &s->stats[b];

	if (sa->sum != sb->sum)
		return sa->sum > sb->sum ? -1 : 1;
	if (sa->n != sb->n)
		return sa->n < sb->n ? -1 : 1;
	return ws_name_compare(s->tab->m->texts[a], s->tab->m->texts[b]);
}

/* Without "_v" and exactly four characters at the end. */
static struct ws_bytes shown_name(struct ws_bytes name)
{
	const char *p = name.ptr;

	if (name.len > 6 && p[name.len - 6] == '_' && p[name.len - 5] == 'v')
		name.len -= 6;
	return name;
}

static void add_row(const struct api_summary *s, struct ws_table *t, uint32_t name)
{
	struct ws_cell *row = ws_table_row(t);
	struct ws_bytes text = s->tab->m->texts[name], shown = shown_name(text);

	ws_cells_set_stat(row, &s->stats[name], s->total_ns);
	if (text.len)
		ws_cell_set_text(t, &row[WS_TC_api_summary_name], shown.ptr, shown.len);
	else
		ws_cell_set_str(t, &row[WS_TC_api_summary_name], "(unknown function)");
	ws_cell_set_int(&row[WS_TC_api_summary_failed], (int64_t)s->failed[name]);
	ws_cell_set_text(t, &row[WS_TC_api_summary_recorded_name], text.ptr, text.len);
}

static void add_totals(const struct api_summary *s, struct ws_table *t)
{
	struct ws_cell *row = ws_table_totals(t);
	uint64_t calls = 0, failed = 0;

	for (size_t i = 0; i < s->rows; i++) {
		calls += s->stats[s->order[i]].n;
		failed += s->failed[s->order[i]];
	}
	ws_cell_set_real(&row[WS_TC_api_summary_time_percent], s->total_ns ? 100 : NAN);
	ws_cell_set_int(&row[WS_TC_api_summary_total_ns], s->total_ns);
	ws_cell_set_int(&row[WS_TC_api_summary_calls], (int64_t)calls);
	ws_cell_set_int(&row[WS_TC_api_summary_failed], (int64_t)failed);
}

enum ws_status oracle_api_summary(const struct oracle_tab *tab, struct ws_table *t,
                                  struct ws_err *err)
{
	const struct ws_model *m = tab->m;
	const struct loaded *l = tab->l;
	struct api_summary s = {.tab = tab};
	enum ws_status status = gather(&s, err);

	if (status != WS_OK || !l->api.n)
		goto out;
	for (uint32_t name = 0; name < m->ntexts; name++)
		if (s.stats[name].n)
			s.order[s.rows++] = name;
	qsort_r(s.order, s.rows, sizeof(*s.order), by_total, &s);
	for (size_t i = 0; i < s.rows; i++)
		add_row(&s, t, s.order[i]);
	add_totals(&s, t);
	if (m->overheads)
		ws_table_note(t,
		              "Recording itself took %.3f ms in %llu pieces (compiling, loading, "
		              "flushing buffers), some of it inside these calls.",
		              (double)m->overhead_ns / 1e6, (unsigned long long)m->overheads);
out:
	if (status == WS_OK && !l->api.n)
		ws_table_set_not_recorded(t,
		                          "No API calls were recorded: the program made none, or "
		                          "they were left out (`warpsheet record --api` chooses).");
	release(&s);
	return status;
}
