#include "kernels/exec/memory_plan.h"

#include <stdlib.h>

#include "kernels/exec/device_arena.h"

bool ws_memory_is_transient(const struct ws_tensor *t)
{
	return t->role == WS_ROLE_ACTIVATION || t->role == WS_ROLE_GRAD;
}

enum ws_status ws_memory_last_use(const struct ws_graph *graph, int **last_use, struct ws_err *err)
{
	int *last = malloc(((size_t)graph->tensor_count + 1) * sizeof(*last));

	WS_FAIL_IF(!last, err, NO_MEMORY, "no memory to plan a graph");
	for (int i = 0; i < graph->tensor_count; i++)
		last[i] = -1;
	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		for (int j = 0; j < op->in_count + op->out_count; j++)
			last[ws_op_tensor(op, j)->id] = i;
	}
	*last_use = last;
	return WS_OK;
}

#define NOWHERE UINT64_MAX

struct walk {
	const struct ws_graph *graph;
	const int *last_use;
	uint64_t *place; /* by tensor id; NOWHERE while it has none */
	struct ws_device_arena arena;
	struct ws_memory_plan *plan;
	uint64_t now_bytes;
};

static enum ws_status walk_take(struct walk *w, const struct ws_tensor *t, struct ws_err *err)
{
	if (w->place[t->id] != NOWHERE)
		return WS_OK;
	WS_FORWARD(ws_device_arena_take(&w->arena, t->size_bytes, &w->place[t->id], err));
	w->now_bytes += t->size_bytes;
	if (t->role == WS_ROLE_GRAD)
		w->plan->gradient_bytes += t->size_bytes;
	return WS_OK;
}

static enum ws_status walk_give(struct walk *w, const struct ws_tensor *t, struct ws_err *err)
{
	if (w->place[t->id] == NOWHERE)
		return WS_OK;
	WS_FORWARD(ws_device_arena_give(&w->arena, w->place[t->id], t->size_bytes, err));
	w->place[t->id] = NOWHERE;
	w->now_bytes -= t->size_bytes;
	return WS_OK;
}

static enum ws_status walk_outputs(struct walk *w, const struct ws_op *op, struct ws_err *err)
{
	for (int j = 0; j < op->out_count; j++)
		if (ws_memory_is_transient(op->out[j]))
			WS_FORWARD(walk_take(w, op->out[j], err));
	if (w->now_bytes > w->plan->peak_bytes) {
		w->plan->peak_bytes = w->now_bytes;
		w->plan->peak_op = op;
	}
	return WS_OK;
}

static enum ws_status walk_dead(struct walk *w, int index, struct ws_err *err)
{
	const struct ws_op *op = w->graph->ops[index];

	for (int j = 0; j < op->in_count + op->out_count; j++) {
		const struct ws_tensor *t = ws_op_tensor(op, j);

		if (ws_memory_is_transient(t) && !t->keep && w->last_use[t->id] == index)
			WS_FORWARD(walk_give(w, t, err));
	}
	return WS_OK;
}

/* As ws_exec_step_begin() does: what set-up leaves behind goes before the first step. */
static enum ws_status walk_step_begin(struct walk *w, struct ws_err *err)
{
	for (int i = 0; i < w->graph->tensor_count; i++)
		if (ws_memory_is_transient(w->graph->tensors[i]))
			WS_FORWARD(walk_give(w, w->graph->tensors[i], err));
	return WS_OK;
}

/* Walk over the ops as exec.c does, giving places to tensors instead of memory. */
static enum ws_status walk_ops(struct walk *w, struct ws_err *err)
{
	bool in_setup = true;

	for (int i = 0; i < w->graph->op_count; i++) {
		const struct ws_op *op = w->graph->ops[i];

		if (in_setup && op->payload.phase != WSNVTX_PHASE_setup) {
			WS_FORWARD(walk_step_begin(w, err));
			in_setup = false;
		}
		WS_FORWARD(walk_outputs(w, op, err));
		WS_FORWARD(walk_dead(w, i, err));
	}
	return WS_OK;
}

static enum ws_status walk_session(struct walk *w, struct ws_err *err)
{
	for (int i = 0; i < w->graph->tensor_count; i++) {
		const struct ws_tensor *t = w->graph->tensors[i];

		w->place[t->id] = NOWHERE;
		if (ws_memory_is_transient(t))
			continue;
		WS_FORWARD(walk_take(w, t, err));
		w->plan->by_role_bytes[t->role] += t->size_bytes;
	}
	w->plan->peak_bytes = w->now_bytes;
	return WS_OK;
}

enum ws_status ws_memory_plan(const struct ws_graph *graph, struct ws_memory_plan *plan,
                              struct ws_err *err)
{
	struct walk w = {.graph = graph, .plan = plan};
	enum ws_status status;
	int *last_use = NULL;

	memset(plan, 0, sizeof(*plan));
	WS_FORWARD(ws_device_arena_open(&w.arena, UINT64_MAX, err));
	status = ws_memory_last_use(graph, &last_use, err);
	w.last_use = last_use;
	w.place = malloc(((size_t)graph->tensor_count + 1) * sizeof(*w.place));
	if (status == WS_OK && !w.place)
		status = WS_FAIL(err, NO_MEMORY, "no memory to plan a graph");
	WS_THEN(status, walk_session(&w, err));
	WS_THEN(status, walk_ops(&w, err));
	plan->arena_bytes = w.arena.high_bytes;
	ws_device_arena_close(&w.arena);
	free(w.place);
	free(last_use);
	return status;
}
