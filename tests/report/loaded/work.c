/*
 * What happens on a host or device beside kernels and calls, joined: framework operations,
 * collectives, copies and allocations.
 */
#include <stdlib.h>
#include <string.h>

#include "report/model/columns.h"
#include "tests/report/loaded/private.h"

/* --- copies and allocations ------------------------------------------------------------------ */

/* The operations' tree as ranges. Nothing crosses in it. */
static struct loaded_ranges ops_of(const struct loaded *l)
{
	const struct ws_op_tree *tree = &l->m->cpu_ops.tree;

	return (struct loaded_ranges){.n = tree->n,
	                              .start_ns = tree->start_ns,
	                              .end_ns = tree->end_ns,
	                              .thread = tree->thread,
	                              .parent = tree->parent,
	                              .nthreads = tree->nthreads,
	                              .thread_first = tree->thread_first};
}

static enum ws_status join_memory(struct ws_arena *temp, struct loaded *l, struct ws_err *err)
{
	const struct loaded_ranges ops = ops_of(l);
	struct ws_model *m = l->m;
	struct loaded_attribution in_range = {0}, in_op = {0};
	enum ws_status status;
	uint32_t *thread;
	int64_t *time;

	WS_NEW(temp, time, m->nmemory);
	WS_NEW(temp, thread, m->nmemory);
	WS_FORWARD(ws_arena_check(temp, "the allocations of the trace", err));
	for (size_t i = 0; i < m->nmemory; i++) {
		time[i] = m->memory[i].time_ns;
		thread[i] = m->memory[i].thread;
	}

	const struct loaded_calls moments = {m->nmemory, time, time, thread, NULL, NULL};

	status = loaded_attribute(&moments, &l->ranges, &in_range, err);
	WS_THEN(status, loaded_attribute(&moments, &ops, &in_op, err));
	for (size_t i = 0; i < m->nmemory && status == WS_OK; i++) {
		m->memory[i].range = in_range.innermost[i];
		m->memory[i].cpu_op = in_op.innermost[i];
	}
	loaded_attribution_release(&in_range);
	loaded_attribution_release(&in_op);
	return status;
}

static enum ws_status join_copies(struct ws_arena *temp, struct loaded *l,
                                  const struct loaded_calls *calls, struct ws_err *err)
{
	struct ws_model *m = l->m;
	int64_t *start;
	uint32_t *process, *call;
	uint64_t *correlation;

	WS_NEW(temp, start, m->nwork);
	WS_NEW(temp, process, m->nwork);
	WS_NEW(temp, call, m->nwork);
	WS_NEW(temp, correlation, m->nwork);
	WS_FORWARD(ws_arena_check(temp, "the memory copies of the trace", err));
	for (size_t i = 0; i < m->nwork; i++) {
		start[i] = m->work[i].no_time ? INT64_MAX : m->work[i].start_ns;
		process[i] = m->work[i].process;
		correlation[i] = m->work[i].correlation;
	}

	const struct loaded_launches launches = {m->nwork, start, process, correlation};

	WS_FORWARD(loaded_join_launches(&launches, calls, call, err));
	for (size_t i = 0; i < m->nwork; i++) {
		m->work[i].call = call[i];
		m->work[i].range = call[i] == WS_NONE ? WS_NONE : l->api.range[call[i]];
	}
	return WS_OK;
}

enum ws_status loaded_join_work(struct loaded *l, const struct loaded_calls *calls,
                                struct ws_err *err)
{
	struct ws_arena temp = {0};
	enum ws_status status = join_copies(&temp, l, calls, err);

	WS_THEN(status, join_memory(&temp, l, err));
	ws_arena_free(&temp);
	return status;
}

/* --- device work to operations ------------------------------------------------------------- */

static uint32_t op_of_work(const struct loaded *l, const struct ws_idmap *op_of,
                           uint64_t correlation, uint32_t call)
{
	uint32_t op = correlation ? ws_idmap_get(op_of, correlation) : WS_NONE;

	if (op != WS_NONE)
		return op;
	return call == WS_NONE ? WS_NONE : l->api.op[call];
}

/*
 * Autograd runs backward on a thread of its own, where no range of the
 * program's is open. What is launched there belongs to the range of the
 * forward operation that it is the backward of.
 */
static uint32_t inherited_range(const struct ws_model *m, uint32_t op, uint32_t range)
{
	uint32_t forward = op == WS_NONE ? WS_NONE : m->cpu_ops.forward[op];

	return range == WS_NONE && forward != WS_NONE ? m->cpu_ops.range[forward] : range;
}

static void join_device_work(struct loaded *l, const struct ws_idmap *op_of)
{
	struct loaded_kernels *k = &l->kernels;
	struct ws_model *m = l->m;

	for (size_t i = 0; i < k->n; i++) {
		k->op[i] = op_of_work(l, op_of, k->correlation[i], k->call[i]);
		if (k->op[i] != WS_NONE && m->cpu_ops.forward[k->op[i]] != WS_NONE)
			k->flags[i] |= LOADED_BACKWARD;
		k->range[i] = inherited_range(m, k->op[i], k->range[i]);
	}
	for (size_t i = 0; i < m->nwork; i++) {
		struct ws_work *w = &m->work[i];

		w->op = op_of_work(l, op_of, w->correlation, w->call);
		w->range = inherited_range(m, w->op, w->range);
	}
}

static enum ws_status join_ops(struct loaded *l, struct ws_loader *loader, struct ws_err *err)
{
	struct ws_cpu_ops *ops = &l->m->cpu_ops;
	const struct loaded_ranges r = ops_of(l);
	const struct loaded_api *a = &l->api;
	const struct loaded_calls calls = {a->n,      a->start_ns, a->end_ns,
	                                   a->thread, a->process,  NULL};
	const struct loaded_calls as_calls = {r.n, r.start_ns, r.end_ns, r.thread, NULL, NULL};
	struct loaded_attribution in_op = {0}, in_range = {0};
	struct ws_idmap op_of = {0};
	enum ws_status status;

	status = loaded_attribute(&as_calls, &l->ranges, &in_range, err);
	if (status == WS_OK)
		memcpy(ops->range, in_range.innermost, r.n * sizeof(*ops->range));
	WS_THEN(status, loaded_attribute(&calls, &r, &in_op, err));
	if (status == WS_OK && a->n)
		memcpy(a->op, in_op.innermost, a->n * sizeof(*a->op));
	WS_THEN(status, ws_load_op_links(loader, &op_of, err));
	if (status == WS_OK)
		join_device_work(l, &op_of);
	loaded_attribution_release(&in_range);
	loaded_attribution_release(&in_op);
	ws_idmap_free(&op_of);
	return status;
}

/* --- collectives --------------------------------------------------------------------------- */

/* By its own id, else by the operation around its launch that says so. */
static enum ws_status join_collectives(struct loaded *l, struct ws_loader *loader,
                                       struct ws_err *err)
{
	struct ws_idmap by_correlation = {0};
	const struct ws_cpu_ops *ops = &l->m->cpu_ops;
	struct loaded_kernels *k = &l->kernels;
	enum ws_status status = ws_load_collectives(loader, &by_correlation, err);

	if (status == WS_OK && l->m->ncollectives) {
		WS_NEW(&l->arena, k->collective, k->n);
		status = ws_arena_check(&l->arena, "the collectives of the trace", err);
	}
	for (size_t i = 0; i < k->n && k->collective && status == WS_OK; i++) {
		k->collective[i] = k->correlation[i]
		                           ? ws_idmap_get(&by_correlation, k->correlation[i])
		                           : WS_NONE;
		if (k->collective[i] == WS_NONE && k->op[i] != WS_NONE)
			k->collective[i] = ops->collective[k->op[i]];
	}
	ws_idmap_free(&by_correlation);
	return status;
}

enum ws_status loaded_join_cpu_ops(struct loaded *l, struct ws_loader *loader, struct ws_err *err)
{
	if (l->m->cpu_ops.tree.n)
		WS_FORWARD(join_ops(l, loader, err));
	return join_collectives(l, loader, err);
}
