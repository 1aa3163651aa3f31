#include "report/pass/framework.h"

#include <string.h>

#include "report/pass/private.h"

bool ws_framework_is_in(const struct ws_trace_reader *r)
{
	return ws_trace_reader_count(r, WS_KIND_CPU_OP) ||
	       ws_trace_reader_count(r, WS_KIND_PYTHON_CALL) ||
	       ws_trace_reader_count(r, WS_KIND_COLLECTIVE);
}

enum ws_status ws_framework_load(struct ws_framework *f, struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;

	f->is_present = true;
	WS_FORWARD(ws_load_cpu_ops(l, err));
	WS_FORWARD(ws_load_op_links(l, &f->op_of, err));
	WS_FORWARD(ws_load_collectives(l, &f->collective_of, err));
	WS_FORWARD(ws_load_module_events(l, &f->arena, &f->events, &f->nevents, err));
	for (size_t i = 0; i < m->nwork; i++)
		if (m->work[i].correlation)
			m->work[i].op = ws_idmap_get(&f->op_of, m->work[i].correlation);
	f->nops = m->cpu_ops.tree.n;
	WS_NEW(&f->arena, f->op_order, f->nops);
	ws_order_identity(f->op_order, f->nops);
	ws_order_by(f->op_order, m->cpu_ops.tree.end_ns, f->nops);
	return WS_OK;
}

void ws_framework_free(struct ws_framework *f)
{
	ws_idmap_free(&f->op_of);
	ws_idmap_free(&f->collective_of);
	ws_arena_free(&f->arena);
	*f = (struct ws_framework){0};
}

/* --- rows of the join ---------------------------------------------------------------------- */

/* Behind what the file has of the same time. */
#define AT_FRAMEWORK (UINT64_C(1) << 60)

static void put_event(struct ws_pass *p, const struct ws_module_event *e, struct ws_pass_row *row)
{
	const struct ws_event_descriptor shape = {
	        .type = e->begins ? WS_NVTX_PUSH : WS_NVTX_POP,
	        .thread = e->thread,
	        .process = p->m->threads[e->thread].process,
	        .domain = WS_TEXT_MODULE_DOMAIN,
	        .name = p->m->steady_of[e->name],
	        .payload = WS_NONE,
	};

	row->time_ns = e->time_ns;
	row->position = AT_FRAMEWORK | e->position;
	row->recorded = e->name;
	row->shape = ws_pass_number_shape(p, &shape);
}

/* An operation is joined when it ends, like a call. */
static void put_op(struct ws_pass *p, uint32_t op, struct ws_pass_row *row)
{
	const struct ws_op_tree *ops = &p->m->cpu_ops.tree;
	const struct ws_event_descriptor shape = {.type = WS_PASS_CPU_OP,
	                                          .thread = ops->thread[op],
	                                          .process = p->m->threads[ops->thread[op]].process,
	                                          .payload = WS_NONE};

	row->time_ns = ops->end_ns[op];
	row->start_ns = ops->start_ns[op];
	row->position = WS_PASS_AT_CALL | AT_FRAMEWORK | op;
	row->id = op;
	row->shape = ws_pass_number_shape(p, &shape);
}

void ws_pass_take_framework(struct ws_pass *p, int64_t until_ns, struct ws_pass_rows *to)
{
	struct ws_framework *f = &p->framework;
	const size_t first_event = f->next_event, first_op = f->next_op;
	const int64_t *end_ns = p->m->cpu_ops.tree.end_ns;
	struct ws_pass_row *row;
	size_t n;

	while (f->next_event < f->nevents && f->events[f->next_event].time_ns < until_ns)
		f->next_event++;
	while (f->next_op < f->nops && end_ns[f->op_order[f->next_op]] < until_ns)
		f->next_op++;
	n = f->next_event - first_event + f->next_op - first_op;
	if (!n)
		return;
	row = ws_pass_rows_reserve(to, n);
	memset(row, 0, n * sizeof(*row));
	for (size_t i = first_event; i < f->next_event; i++)
		put_event(p, &f->events[i], row++);
	for (size_t i = first_op; i < f->next_op; i++)
		put_op(p, f->op_order[i], row++);
	ws_pass_rows_filled(to, n, true);
}
