/* CUDA API Summary: all calls of one function in a row. */
#include <math.h>
#include <stdlib.h>

#include "report/base/names.h"
#include "report/tables/tables.h"

struct api_summary {
	const struct ws_table_context *tab;
	struct ws_stat *stats; /* text -> calls of that name */
	uint32_t *order;
	size_t rows;
	int64_t total_ns;
};

static enum ws_status gather(struct api_summary *s, struct ws_err *err)
{
	const struct ws_digest *d = s->tab->digest;
	struct ws_values_scratch scratch = {0};
	enum ws_status status = WS_OK;

	WS_NEW(s->tab->temp, s->stats, d->ntexts);
	WS_NEW(s->tab->temp, s->order, d->ntexts);
	WS_FORWARD(ws_arena_check(s->tab->temp, "the API summary", err));
	for (uint32_t name = 0; name < d->ntexts && status == WS_OK; name++) {
		const struct ws_values *times = &d->calls[name].dur_ns;

		if (!ws_values_stat(&times, 1, &scratch, &s->stats[name]))
			status = WS_FAIL_MEMORY(err, "the API summary");
		s->total_ns += s->stats[name].sum;
		if (s->stats[name].n)
			s->order[s->rows++] = name;
	}
	ws_values_scratch_free(&scratch);
	return status;
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
	ws_cell_set_int(&row[WS_TC_api_summary_failed],
	                (int64_t)s->tab->digest->calls[name].failed);
	ws_cell_set_text(t, &row[WS_TC_api_summary_recorded_name], text.ptr, text.len);
}

static void add_totals(const struct api_summary *s, struct ws_table *t)
{
	struct ws_cell *row = ws_table_totals(t);
	uint64_t calls = 0, failed = 0;

	for (size_t i = 0; i < s->rows; i++) {
		calls += s->stats[s->order[i]].n;
		failed += s->tab->digest->calls[s->order[i]].failed;
	}
	ws_cell_set_real(&row[WS_TC_api_summary_time_percent], s->total_ns ? 100 : NAN);
	ws_cell_set_int(&row[WS_TC_api_summary_total_ns], s->total_ns);
	ws_cell_set_int(&row[WS_TC_api_summary_calls], (int64_t)calls);
	ws_cell_set_int(&row[WS_TC_api_summary_failed], (int64_t)failed);
}

enum ws_status ws_tab_api_summary(const struct ws_table_context *tab, struct ws_table *t,
                                  struct ws_err *err)
{
	const struct ws_model *m = tab->m;
	struct api_summary s = {.tab = tab};

	WS_FORWARD(gather(&s, err));
	if (!tab->digest->ncalls) {
		ws_table_set_not_recorded(t,
		                          "No API calls were recorded: the program made none, or "
		                          "they were left out (`warpsheet record --api` chooses).");
		return WS_OK;
	}
	qsort_r(s.order, s.rows, sizeof(*s.order), by_total, &s);
	for (size_t i = 0; i < s.rows; i++)
		add_row(&s, t, s.order[i]);
	add_totals(&s, t);
	if (m->overheads)
		ws_table_note(t,
		              "Recording itself took %.3f ms in %llu pieces (compiling, loading, "
		              "flushing buffers), some of it inside these calls.",
		              (double)m->overhead_ns / 1e6, (unsigned long long)m->overheads);
	return WS_OK;
}
