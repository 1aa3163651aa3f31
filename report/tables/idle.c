/* Why the devices are idle: the uses of each device's time, and the longest gaps. */

#include "report/analysis/idle.h"
#include "report/tables/tables.h"

void ws_tab_idle(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	char text[256];

	if (!tab->sel->rows->nkernels && !m->nwork) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	const struct ws_idle *idle = ws_idle_find_in_scope(m, tab->sel);
	ws_idle_words(&idle->verdict, text, sizeof(text));
	ws_table_answer(t, "In one sentence: %s.", text);
	if (idle->all.ns[WS_USE_RECORDING])
		ws_table_note(t, "%s", ws_idle_recording_words(tab->m, idle, tab->temp));
	if (!tab->sel->measured)
		ws_table_note(t, "The trace has no measured step: the time is that from its "
		                 "first record to its last, start-up included.");
}

/* The longest gaps of the devices: when, why, activity of the host, next work. */
void ws_tab_idle_gaps(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	uint32_t host[WS_IDLE_LONGEST];
	const struct ws_idle *idle = ws_idle_find_in_scope(tab->m, tab->sel);

	if (!idle->all.kernels) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	ws_idle_find_hosts(tab->m, tab->sel->rows, idle, host);
	for (size_t i = 0; i < idle->nlongest; i++) {
		const struct ws_idle_gap *gap = &idle->longest[i];
		const struct ws_joined_call *call = ws_joined_rows_call(tab->sel->rows, gap->call);
		const struct ws_joined_range *range =
		        call ? ws_joined_rows_range(tab->sel->rows, call->range) : NULL;
		struct ws_cell *row = ws_table_row(t);
		char *path;
		size_t len;

		if (host[i] != WS_NONE)
			ws_cell_set_model_text(t, &row[WS_TC_idle_gaps_host], m, host[i]);
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
			continue;
		ws_path_text(&m->ranges, range->context->path, m->texts, &path, &len);
		ws_cell_set_text(t, &row[WS_TC_idle_gaps_path], path, len);
		free(path);
	}
}
