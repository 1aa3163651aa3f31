/* What the program named by NVTX, but threads. */
#include <inttypes.h>
#include <stdio.h>

#include "report/tables/tables.h"

static void set_number(struct ws_cell *cell, int64_t number)
{
	if (number >= 0)
		ws_cell_set_int(cell, number);
}

void ws_tab_resources(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_kind_def *def = ws_schema_kind(WS_KIND_RESOURCE);
	const struct ws_model *m = tab->m;

	for (size_t i = 0; i < m->resources.rows.n; i++) {
		const struct ws_row_resource *r = ws_records_row(&m->resources.rows, i);
		struct ws_bytes type =
		        ws_enum_name(def->columns[WS_COL_resource_type].unit, r->type);
		struct ws_cell *row = ws_table_row(t);
		char handle[32];

		if (!type.len)
			type = ws_bytes_of("other");
		snprintf(handle, sizeof(handle), "0x%" PRIx64, r->handle);
		ws_cell_set_text(t, &row[WS_TC_resources_type], type.ptr, type.len);
		ws_cell_set_model_text(t, &row[WS_TC_resources_name], m, ws_model_text(m, r->name));
		set_number(&row[WS_TC_resources_number],
		           r->type == WS_RESOURCE_CUDA_DEVICE ? (int64_t)r->device : r->number);
		ws_cell_set_str(t, &row[WS_TC_resources_handle], handle);
		if (r->domain)
			ws_cell_set_model_text(t, &row[WS_TC_resources_domain], m,
			                       ws_model_text(m, r->domain));
		set_number(&row[WS_TC_resources_pid], (int64_t)r->pid);
	}
	if (!m->resources.rows.n)
		ws_table_set_not_recorded(t, "The program named nothing but threads, or the trace "
		                             "is of a recorder that keeps no names.");
	ws_table_note(t, "These names are of the whole trace, whatever the filter.");
}
