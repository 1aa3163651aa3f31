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
	const struct ws_ranges *tree = &l->m->cpu_ops.tree;

	return (struct loaded_ranges){.n = tree->n,
	                              .start_ns = tree->start_ns,
	                              .end_ns = tree->end_ns,
	                              .thread = tree->thread,
	                              .parent = tree->parent,
	                              .depth = tree->depth,
	                              .nthreads = tree->nthreads,
	                              .thread_first = tree->thread_first,
	                              .thread_crosses = tree->thread_crosses};
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

/* --- backward operations to forward ones ------------------------------------------------------ */

/* The first, so outermost, operation that begins then on the thread; WS_NONE. */
static uint32_t op_at(const struct ws_ranges *r, uint32_t thread, int64_t start_ns)
{
	uint32_t lo, hi, end;

	if (thread >= r->nthreads)
		return WS_NONE;
	lo = r->thread_first[thread];
	hi = end = r->thread_first[thread + 1];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->start_ns[mid] < start_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < end && r->start_ns[lo] == start_ns ? lo : WS_NONE;
}

/*
 * PyTorch of 2021 recorded no flows, but the numbers they are made of. Like PyTorch's own links
 * one goes to the last operation with the number. Threads count for themselves, so numbers of
 * several forward threads tell nothing.
 */
static enum ws_status follow_sequences(struct ws_cpu_ops *ops, struct ws_err *err)
{
	struct ws_idmap last = {0};
	enum ws_status status = WS_OK;
	uint64_t thread = 0;

	for (uint32_t i = 0; i < ops->tree.n && status == WS_OK; i++) {
		const struct ws_op_sequence *s = &ops->sequence[i];

		if (s->number < 0)
			continue;
		if (!s->forward_thread)
			status = ws_idmap_put(&last, (uint64_t)s->number, i, err);
		else if (thread && s->forward_thread != thread)
			goto out;
		else
			thread = s->forward_thread;
	}
	for (uint32_t i = 0; i < ops->tree.n && status == WS_OK; i++)
		if (ops->sequence[i].number >= 0 && ops->sequence[i].forward_thread)
			ops->forward[i] = ws_idmap_get(&last, (uint64_t)ops->sequence[i].number);
out:
	ws_idmap_free(&last);
	return status;
}

/* Which operation each is the backward of; what lies inside one inherits that. */
static enum ws_status follow_flows(struct loaded *l, struct ws_loader *loader, struct ws_err *err)
{
	struct ws_cpu_ops *ops = &l->m->cpu_ops;
	struct ws_column_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(loader, WS_KIND_FLOW, &t, err));
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++) {
		uint32_t from_thread, to_thread, from, to;

		if (ws_value(&t, WS_COL_flow_kind, i) != WS_FLOW_FORWARD_BACKWARD)
			continue;
		status = ws_thread_number(loader, ws_value(&t, WS_COL_flow_from_thread, i), 0,
		                          &from_thread, err);
		WS_THEN(status, ws_thread_number(loader, ws_value(&t, WS_COL_flow_to_thread, i), 0,
		                                 &to_thread, err));
		if (status != WS_OK)
			break;
		from = op_at(&ops->tree, from_thread,
		             (int64_t)ws_value(&t, WS_COL_flow_from_ns, i));
		to = op_at(&ops->tree, to_thread, (int64_t)ws_value(&t, WS_COL_flow_to_ns, i));
		if (from != WS_NONE && to != WS_NONE)
			ops->forward[to] = from;
	}
	if (!t.rows && status == WS_OK)
		status = follow_sequences(ops, err);
	ws_column_data_release(&t);
	for (uint32_t i = 0; i < ops->tree.n; i++)
		if (ops->forward[i] == WS_NONE && ops->tree.parent[i] != WS_NONE)
			ops->forward[i] = ops->forward[ops->tree.parent[i]];
	return status;
}

/* --- device work to operations ------------------------------------------------------------- */

/* Correlation id -> operation, by the links that the file has. A trace has one process here. */
static enum ws_status load_links(const struct loaded *l, struct ws_loader *loader,
                                 struct ws_idmap *op_of, struct ws_err *err)
{
	struct ws_cpu_ops *ops = &l->m->cpu_ops;
	struct ws_idmap by_external = {0};
	struct ws_column_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(loader, WS_KIND_EXTERNAL_LINK, &t, err));
	for (uint32_t i = 0; i < ops->tree.n && t.rows && status == WS_OK; i++)
		if (ops->external[i])
			status = ws_idmap_put(&by_external, ops->external[i], i, err);
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++) {
		uint32_t op = ws_idmap_get(&by_external,
		                           ws_value(&t, WS_COL_external_link_external_id, i));

		if (op != WS_NONE &&
		    ws_value(&t, WS_COL_external_link_kind, i) == WS_EXTERNAL_CUSTOM0)
			status = ws_idmap_put(op_of,
			                      ws_value(&t, WS_COL_external_link_correlation, i), op,
			                      err);
	}
	ws_idmap_free(&by_external);
	ws_column_data_release(&t);
	return status;
}

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

	WS_NEW(&l->m->arena, ops->range, r.n);
	WS_FORWARD(ws_arena_check(&l->m->arena, "the operations of the trace", err));
	status = loaded_attribute(&as_calls, &l->ranges, &in_range, err);
	if (status == WS_OK)
		memcpy(ops->range, in_range.innermost, r.n * sizeof(*ops->range));
	WS_THEN(status, loaded_attribute(&calls, &r, &in_op, err));
	if (status == WS_OK && a->n)
		memcpy(a->op, in_op.innermost, a->n * sizeof(*a->op));
	WS_THEN(status, follow_flows(l, loader, err));
	WS_THEN(status, load_links(l, loader, &op_of, err));
	if (status == WS_OK)
		join_device_work(l, &op_of);
	loaded_attribution_release(&in_range);
	loaded_attribution_release(&in_op);
	ws_idmap_free(&op_of);
	return status;
}

/* --- collectives --------------------------------------------------------------------------- */

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

/* By its own id, else by the operation around its launch that says so. */
static uint32_t collective_of(const struct loaded *l, size_t kernel,
                              const struct ws_idmap *by_correlation,
                              const struct ws_idmap *by_external)
{
	const struct ws_cpu_ops *ops = &l->m->cpu_ops;
	uint32_t found = WS_NONE;

	if (l->kernels.correlation[kernel])
		found = ws_idmap_get(by_correlation, l->kernels.correlation[kernel]);
	for (uint32_t op = l->kernels.op[kernel]; op != WS_NONE && found == WS_NONE;
	     op = ops->tree.parent[op])
		if (ops->external[op])
			found = ws_idmap_get(by_external, ops->external[op]);
	return found;
}

static enum ws_status join_collectives(struct loaded *l, struct ws_loader *loader,
                                       struct ws_err *err)
{
	struct ws_idmap by_correlation = {0}, by_external = {0};
	struct ws_model *m = l->m;
	struct ws_column_data t;
	enum ws_status status = WS_OK;

	WS_FORWARD(ws_load_kind(loader, WS_KIND_COLLECTIVE, &t, err));
	if (!t.rows)
		goto out;
	WS_NEW(&m->arena, m->collectives, t.rows);
	WS_NEW(&l->arena, l->kernels.collective, l->kernels.n);
	status = ws_arena_check(&m->arena, "the collectives of the trace", err);
	WS_THEN(status, ws_arena_check(&l->arena, "the collectives of the trace", err));
	m->ncollectives = t.rows;
	for (uint32_t i = 0; i < t.rows && status == WS_OK; i++) {
		uint64_t correlation = ws_value(&t, WS_COL_collective_correlation, i);
		uint64_t external = ws_value(&t, WS_COL_collective_external_id, i);

		take(m, &t, i, &m->collectives[i]);
		if (correlation)
			status = ws_idmap_put(&by_correlation, correlation, i, err);
		else if (external)
			status = ws_idmap_put(&by_external, external, i, err);
	}
	for (size_t k = 0; k < l->kernels.n && status == WS_OK; k++)
		l->kernels.collective[k] = collective_of(l, k, &by_correlation, &by_external);
out:
	ws_idmap_free(&by_correlation);
	ws_idmap_free(&by_external);
	ws_column_data_release(&t);
	return status;
}

enum ws_status loaded_join_cpu_ops(struct loaded *l, struct ws_loader *loader, struct ws_err *err)
{
	if (l->m->cpu_ops.tree.n)
		WS_FORWARD(join_ops(l, loader, err));
	return join_collectives(l, loader, err);
}
