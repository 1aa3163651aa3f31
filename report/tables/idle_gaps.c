/* The longest gaps of the devices: when, why, what the host did, what came next. */
#include <stdlib.h>

#include "report/analysis/idle.h"
#include "report/base/spans.h"
#include "report/tables/tables.h"

/* The call that covers most of each gap, and at least half of it; WS_NONE. */
static void find_calls(const struct ws_table_context *tab, const struct ws_idle *idle,
                       uint32_t names[WS_IDLE_LONGEST])
{
	struct ws_joined_rows *rows = tab->sel->rows;
	int64_t most[WS_IDLE_LONGEST];

	for (size_t g = 0; g < idle->nlongest; g++) {
		most[g] = (idle->longest[g].end_ns - idle->longest[g].start_ns) / 2;
		names[g] = WS_NONE;
	}
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, i);

		for (size_t g = 0; g < idle->nlongest; g++) {
			const int64_t ns =
			        ws_span_overlap(idle->longest[g].start_ns, idle->longest[g].end_ns,
			                        call->start_ns, call->start_ns + call->dur_ns);

			if (ns <= most[g])
				continue;
			most[g] = ns;
			names[g] = call->kind->name;
		}
	}
}

/* The deepest range in the middle of each gap on the thread of the next launch; WS_NONE. */
static void find_ranges(const struct ws_table_context *tab, const struct ws_idle *idle,
                        uint32_t names[WS_IDLE_LONGEST])
{
	struct ws_joined_rows *rows = tab->sel->rows;
	uint32_t depth[WS_IDLE_LONGEST] = {0}, thread[WS_IDLE_LONGEST];

	/* asked once: calls lie in a file, far from each other */
	for (size_t g = 0; g < idle->nlongest; g++) {
		const struct ws_joined_call *call =
		        ws_joined_rows_call(rows, idle->longest[g].call);

		thread[g] = call ? call->kind->thread : WS_NONE;
	}
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);

		for (size_t g = 0; g < idle->nlongest; g++) {
			const struct ws_idle_gap *gap = &idle->longest[g];
			const int64_t middle_ns = gap->start_ns + (gap->end_ns - gap->start_ns) / 2;

			if (thread[g] == WS_NONE || thread[g] != r->context->thread ||
			    r->start_ns > middle_ns || r->end_ns < middle_ns ||
			    r->context->depth + 1 <= depth[g])
				continue;
			depth[g] = r->context->depth + 1;
			names[g] = r->context->name;
		}
	}
}

static void add_gap(const struct ws_table_context *tab, struct ws_table *t,
                    const struct ws_idle_gap *gap, uint32_t host)
{
	const struct ws_model *m = tab->m;
	const struct ws_joined_call *call = ws_joined_rows_call(tab->sel->rows, gap->call);
	const struct ws_joined_range *range =
	        call ? ws_joined_rows_range(tab->sel->rows, call->range) : NULL;
	struct ws_cell *row = ws_table_row(t);
	char *path;
	size_t len;

	if (host != WS_NONE)
		ws_cell_set_model_text(t, &row[WS_TC_idle_gaps_host], m, host);
	ws_cell_set_int(&row[WS_TC_idle_gaps_start_ns], gap->start_ns - m->begin_ns);
	ws_cell_set_int(&row[WS_TC_idle_gaps_dur_ns], gap->end_ns - gap->start_ns);
	ws_cell_set_str(t, &row[WS_TC_idle_gaps_cause], ws_use_defs[gap->cause].name);
	ws_cell_set_str(t, &row[WS_TC_idle_gaps_cure], ws_use_defs[gap->cause].cure);
	ws_cell_set_int(&row[WS_TC_idle_gaps_device], (int64_t)m->devices[gap->device].id);
	if (gap->next != WS_NONE) {
		const struct ws_bytes name = ws_model_short_name(m, gap->next);

		ws_cell_set_text(t, &row[WS_TC_idle_gaps_next], name.ptr, name.len);
	}
	if (!range)
		return;
	ws_path_text(&m->ranges, range->context->path, m->texts, &path, &len);
	ws_cell_set_text(t, &row[WS_TC_idle_gaps_path], path, len);
	free(path);
}

void ws_tab_idle_gaps(const struct ws_table_context *tab, struct ws_table *t)
{
	uint32_t calls[WS_IDLE_LONGEST], ranges[WS_IDLE_LONGEST];
	const struct ws_idle *idle;

	idle = ws_idle_find_in_scope(tab->m, tab->sel);
	if (!idle->all.kernels) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	for (size_t i = 0; i < WS_IDLE_LONGEST; i++)
		ranges[i] = WS_NONE;
	find_calls(tab, idle, calls);
	find_ranges(tab, idle, ranges);
	for (size_t i = 0; i < idle->nlongest; i++)
		add_gap(tab, t, &idle->longest[i], calls[i] != WS_NONE ? calls[i] : ranges[i]);
}
