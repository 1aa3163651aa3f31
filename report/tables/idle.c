/* Why the devices are idle: the uses of each device's time, and the longest gaps. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/analysis/idle.h"
#include "report/base/spans.h"
#include "report/tables/tables.h"

static void add_use(const struct ws_table_context *tab, struct ws_table *t, const char *device,
                    const struct ws_device_use *use, enum ws_use what)
{
	struct ws_cell *row = ws_table_row(t);
	double ns = (double)use->ns[what];

	ws_cell_set_str(t, &row[WS_TC_idle_device], device);
	ws_cell_set_str(t, &row[WS_TC_idle_use], ws_use_defs[what].name);
	ws_cell_set_int(&row[WS_TC_idle_time_ns], use->ns[what]);
	ws_cell_set_real(&row[WS_TC_idle_share], ws_stat_percent(ns, (double)use->window_ns));
	if (tab->sel->measured && !ws_is_of_all(tab->sel))
		ws_cell_set_real(&row[WS_TC_idle_per_step_ns], ns / (double)tab->sel->measured);
	if (use->gaps[what]) {
		ws_cell_set_int(&row[WS_TC_idle_gaps], (int64_t)use->gaps[what]);
		ws_cell_set_real(&row[WS_TC_idle_mean_ns], ns / (double)use->gaps[what]);
		ws_cell_set_int(&row[WS_TC_idle_longest_ns], use->longest_ns[what]);
	}
	ws_cell_set_str(t, &row[WS_TC_idle_what], ws_use_defs[what].meaning);
	ws_cell_set_str(t, &row[WS_TC_idle_cure], ws_use_defs[what].cure);
}

static void add_device(const struct ws_table_context *tab, struct ws_table *t, const char *device,
                       const struct ws_device_use *use)
{
	enum ws_use order[WS_USES];

	ws_uses_by_time(use, order);
	for (int i = 0; i < WS_USES; i++)
		if (use->ns[order[i]] || order[i] == WS_USE_COMPUTE)
			add_use(tab, t, device, use, order[i]);
}

void ws_tab_idle(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_idle *idle;
	char text[256];

	if (!tab->sel->rows->nkernels && !m->nwork) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	idle = ws_idle_find_in_scope(m, tab->sel);
	for (size_t d = 0; d < idle->ndevices; d++) {
		snprintf(text, sizeof(text), "%" PRIu64, m->devices[d].id);
		if (idle->device[d].window_ns)
			add_device(tab, t, text, &idle->device[d]);
	}
	if (idle->nworked > 1)
		add_device(tab, t, "all", &idle->all);
	ws_idle_words(&idle->verdict, text, sizeof(text));
	ws_table_answer(t, "In one sentence: %s.", text);
	if (!tab->sel->measured)
		ws_table_note(t, "The trace has no measured step: the time is that from its "
		                 "first record to its last, start-up included.");
}

/* --- gaps ------------------------------------------------------------------------------------ */

/* The longest gaps of the devices: when, why, activity of the host, next work. */

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
	uint32_t host[WS_IDLE_LONGEST];
	const struct ws_idle *idle;

	idle = ws_idle_find_in_scope(tab->m, tab->sel);
	if (!idle->all.kernels) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	ws_idle_find_hosts(tab->sel->rows, idle, host);
	for (size_t i = 0; i < idle->nlongest; i++)
		add_gap(tab, t, &idle->longest[i], host[i]);
}
