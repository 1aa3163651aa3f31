#include "kernels/exec/memory_plan.h"

#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "kernels/exec/device_arena.h"

bool ws_memory_is_transient(const struct ws_tensor *t)
{
	return t->role == WS_ROLE_ACTIVATION || t->role == WS_ROLE_GRAD;
}

int *ws_memory_last_use(const struct ws_graph *graph)
{
	int *last = ws_xarray((size_t)graph->tensor_count, sizeof(*last));

	for (int i = 0; i < graph->tensor_count; i++)
		last[i] = -1;
	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		for (int j = 0; j < ws_op_touched(op); j++)
			if (ws_op_touches(op, j))
				last[ws_op_touches(op, j)->id] = i;
	}
	return last;
}

#define NOWHERE UINT64_MAX

struct walk {
	const struct ws_graph *graph;
	int *last_use;
	uint64_t *place; /* by tensor id; NOWHERE while it has none */
	struct ws_device_arena arena;
	struct ws_memory_plan plan;
	uint64_t now_bytes;
};

static void walk_take(struct walk *w, const struct ws_tensor *t)
{
	if (w->place[t->id] != NOWHERE)
		return;
	if (ws_device_arena_take(&w->arena, t->size_bytes, &w->place[t->id], NULL) != WS_OK) {
		w->plan.peak_bytes = UINT64_MAX; /* more than can be counted: it fits nowhere */
		return;
	}
	w->now_bytes += t->size_bytes;
	if (t->role == WS_ROLE_GRAD)
		w->plan.gradient_bytes += t->size_bytes;
}

static void walk_give(struct walk *w, const struct ws_tensor *t)
{
	if (w->place[t->id] == NOWHERE)
		return;
	ws_device_arena_give(&w->arena, w->place[t->id], t->size_bytes);
	w->place[t->id] = NOWHERE;
	w->now_bytes -= t->size_bytes;
}

static void walk_op(struct walk *w, int index)
{
	const struct ws_op *op = w->graph->ops[index];

	for (int j = op->in_count; j < ws_op_touched(op); j++)
		if (ws_op_touches(op, j) && ws_memory_is_transient(ws_op_touches(op, j)))
			walk_take(w, ws_op_touches(op, j));
	if (w->now_bytes > w->plan.peak_bytes) {
		w->plan.peak_bytes = w->now_bytes;
		w->plan.peak_op = op;
	}
	for (int j = 0; j < ws_op_touched(op); j++) {
		const struct ws_tensor *t = ws_op_touches(op, j);

		if (t && ws_memory_is_transient(t) && !t->keep && w->last_use[t->id] == index)
			walk_give(w, t);
	}
}

/* As ws_exec_step_begin() does: what set-up leaves behind goes before the first step. */
static void walk_step_begin(struct walk *w)
{
	for (int i = 0; i < w->graph->tensor_count; i++)
		if (ws_memory_is_transient(w->graph->tensors[i]))
			walk_give(w, w->graph->tensors[i]);
}

/* Walk over the ops as exec.c does, giving places to tensors instead of memory. */
static void walk_ops(struct walk *w)
{
	bool in_setup = true;

	for (int i = 0; i < w->graph->op_count; i++) {
		if (in_setup && w->graph->ops[i]->payload.phase != WSNVTX_PHASE_setup) {
			walk_step_begin(w);
			in_setup = false;
		}
		walk_op(w, i);
	}
}

static void walk_session(struct walk *w)
{
	for (int i = 0; i < w->graph->tensor_count; i++) {
		const struct ws_tensor *t = w->graph->tensors[i];

		w->place[t->id] = NOWHERE;
		if (ws_memory_is_transient(t))
			continue;
		walk_take(w, t);
		w->plan.by_role_bytes[t->role] += t->size_bytes;
	}
	if (w->now_bytes > w->plan.peak_bytes)
		w->plan.peak_bytes = w->now_bytes;
}

struct ws_memory_plan ws_memory_plan(const struct ws_graph *graph)
{
	struct walk w = {.graph = graph, .last_use = ws_memory_last_use(graph)};

	w.place = ws_xarray((size_t)graph->tensor_count, sizeof(*w.place));
	ws_device_arena_open(&w.arena, UINT64_MAX);
	walk_session(&w);
	walk_ops(&w);
	w.plan.arena_bytes = w.arena.high_bytes;
	ws_device_arena_close(&w.arena);
	free(w.place);
	free(w.last_use);
	return w.plan;
}
