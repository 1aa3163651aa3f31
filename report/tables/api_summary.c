/* CUDA API Summary: all calls of one function in a row. */
#include "report/base/order.h"
#include "report/tables/tables.h"

struct api_summary {
	const struct ws_table_context *tab;
	struct ws_stat *stats; /* text -> calls of that name */
	struct ws_row_key *rows;
	size_t nrows;
	int64_t total_ns;
};

static void gather(struct api_summary *s)
{
	const struct ws_digest *d = s->tab->digest;

	WS_NEW(s->tab->temp, s->stats, d->ntexts);
	WS_NEW(s->tab->temp, s->rows, d->ntexts);
	for (uint32_t name = 0; name < d->ntexts; name++) {
		ws_values_stat_of(&d->calls[name].dur_ns, &s->stats[name]);
		s->total_ns += s->stats[name].sum;
		if (s->stats[name].n)
			s->rows[s->nrows++] =
			        (struct ws_row_key){.number = {WS_DESCENDING(s->stats[name].sum),
			                                       (int64_t)s->stats[name].n},
			                            .text = {s->tab->m->texts[name]},
			                            .row = name};
	}
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

void ws_tab_api_summary(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	struct api_summary s = {.tab = tab};

	gather(&s);
	if (!tab->digest->ncalls) {
		ws_table_set_not_recorded(t,
		                          "No API calls were recorded: the program made none, or "
		                          "they were left out (`warpsheet record --api` chooses).");
		return;
	}
	ws_row_keys_sort(s.rows, s.nrows);
	for (size_t i = 0; i < s.nrows; i++)
		add_row(&s, t, s.rows[i].row);
	ws_totals_set_stat(t, s.total_ns, WS_TC_api_summary_failed);
	if (m->overheads)
		ws_table_note(t,
		              "Recording itself took %.3f ms in %s pieces (compiling, loading, "
		              "flushing buffers), some of it inside these calls.",
		              (double)m->overhead_ns / 1e6,
		              ws_say_number(tab->temp, (double)m->overheads));
}
