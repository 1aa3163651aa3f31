/* What a framework said of its collective operations, joined to their kernels. */
#include <stdlib.h>

#include "report/model/columns.h"
#include "report/model/load.h"

static void take(const struct ws_model *m, const struct ws_column_data *t, uint64_t row,
                 struct ws_collective *c)
{
	*c = (struct ws_collective){
	        .name = ws_model_text(m, ws_value(t, WS_COL_collective_name, row)),
	        .group = ws_model_text(m, ws_value(t, WS_COL_collective_group, row)),
	        .ranks = ws_model_text(m, ws_value(t, WS_COL_collective_ranks, row)),
	        .dtype = ws_model_text(m, ws_value(t, WS_COL_collective_dtype, row)),
	        .group_size = ws_value(t, WS_COL_collective_group_size, row),
	        .in_elements = ws_value(t, WS_COL_collective_in_elements, row),
	        .out_elements = ws_value(t, WS_COL_collective_out_elements, row),
	        .sequence = (int64_t)ws_value(t, WS_COL_collective_sequence, row),
	};
}

/* By the id of an operation, or of one around it: parents stand before their children. */
static void find_of_ops(struct ws_cpu_ops *ops, const struct ws_idmap *by_external)
{
	for (uint32_t i = 0; i < ops->tree.n; i++) {
		uint32_t parent = ops->tree.parent[i];

		ops->collective[i] =
		        ops->external[i] ? ws_idmap_get(by_external, ops->external[i]) : WS_NONE;
		if (ops->collective[i] == WS_NONE && parent != WS_NONE)
			ops->collective[i] = ops->collective[parent];
	}
}

enum ws_status ws_load_collectives(struct ws_loader *l, struct ws_idmap *by_correlation,
                                   struct ws_err *err)
{
	struct ws_idmap by_external = {0};
	struct ws_model *m = l->m;
	struct ws_column_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(l, WS_KIND_COLLECTIVE, &t, err));
	if (!t.rows)
		goto out;
	WS_NEW(&m->arena, m->collectives, t.rows);
	WS_NEW(&m->arena, m->cpu_ops.collective, m->cpu_ops.tree.n);
	status = ws_arena_check(&m->arena, "the collectives of the trace", err);
	m->ncollectives = t.rows;
	for (uint32_t i = 0; i < t.rows && status == WS_OK; i++) {
		uint64_t correlation = ws_value(&t, WS_COL_collective_correlation, i);
		uint64_t external = ws_value(&t, WS_COL_collective_external_id, i);

		take(m, &t, i, &m->collectives[i]);
		if (correlation)
			status = ws_idmap_put(by_correlation, correlation, i, err);
		else if (external)
			status = ws_idmap_put(&by_external, external, i, err);
	}
	if (status == WS_OK)
		find_of_ops(&m->cpu_ops, &by_external);
out:
	ws_idmap_free(&by_external);
	ws_column_data_release(&t);
	return status;
}
