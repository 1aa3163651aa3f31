/* What a framework said of its collective operations, joined to their kernels. */
#include "report/base/names.h"
#include "report/model/load.h"

struct taking {
	struct ws_model *m;
	struct ws_idmap by_external, *by_correlation;
};

static void on_collective(void *ctx, const void *row)
{
	const struct ws_row_collective *r = row;
	struct taking *t = ctx;
	uint32_t at;

	/* what follows a collective, and is none */
	if (ws_name_is(t->m->texts[ws_model_text(t->m, r->name)], "wait"))
		return;
	at = (uint32_t)t->m->ncollectives++;
	t->m->collectives[at] = (struct ws_collective){
	        .name = ws_model_text(t->m, r->name),
	        .group = ws_model_text(t->m, r->group),
	        .ranks = ws_model_text(t->m, r->ranks),
	        .dtype = ws_model_text(t->m, r->dtype),
	        .group_size = r->group_size,
	        .in_elements = r->in_elements,
	        .out_elements = r->out_elements,
	        .sequence = r->sequence,
	};
	if (r->correlation) {
		ws_idmap_put(t->by_correlation, r->correlation, at);
		return;
	}
	if (r->external_id)
		ws_idmap_put(&t->by_external, r->external_id, at);
}

enum ws_status ws_load_collectives(struct ws_loader *l, struct ws_idmap *by_correlation,
                                   struct ws_err *err)
{
	const uint64_t n = ws_trace_reader_count(l->r, WS_KIND_COLLECTIVE);
	struct taking t = {.m = l->m, .by_correlation = by_correlation};
	enum ws_status status;

	if (!n)
		return WS_OK;
	WS_NEW(&t.m->arena, t.m->collectives, n);
	WS_NEW(&t.m->arena, t.m->cpu_ops.collective, t.m->cpu_ops.tree.n);
	status = ws_load_each(l, WS_KIND_COLLECTIVE, on_collective, &t, err);
	if (status == WS_OK) {
		/* By the id of an operation, or of one around it: parents stand before their
		 * children. */
		for (uint32_t i = 0; i < t.m->cpu_ops.tree.n; i++) {
			uint32_t parent = t.m->cpu_ops.tree.parent[i];

			t.m->cpu_ops.collective[i] =
			        t.m->cpu_ops.external[i]
			                ? ws_idmap_get(&t.by_external, t.m->cpu_ops.external[i])
			                : WS_NONE;
			if (t.m->cpu_ops.collective[i] == WS_NONE && parent != WS_NONE)
				t.m->cpu_ops.collective[i] = t.m->cpu_ops.collective[parent];
		}
	}
	ws_idmap_free(&t.by_external);
	return status;
}
