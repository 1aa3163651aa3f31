#include "kernels/exec/exec.h"

#include <stdlib.h>

#include "formats/base/xalloc.h"

bool ws_memory_is_transient(const struct ws_tensor *t)
{
	return t->role == WS_ROLE_ACTIVATION || t->role == WS_ROLE_GRAD;
}

struct walk {
	const struct ws_graph *graph;
	struct ws_tensor **alive; /* in the order of their places */
	int count;
	bool *is_alive; /* by tensor id */
	struct ws_memory_plan plan;
	uint64_t now_bytes;
};

static uint64_t place_bytes(const struct ws_tensor *t)
{
	return (t->size_bytes + WS_MEMORY_ALIGN - 1) / WS_MEMORY_ALIGN * WS_MEMORY_ALIGN;
}

/* The smallest hole that is large enough, the first of equals; else behind all. */
static int find_place(const struct walk *w, uint64_t size_bytes, uint64_t *offset)
{
	uint64_t end = 0, smallest = UINT64_MAX;
	int at = w->count;

	for (int i = 0; i < w->count; i++) {
		uint64_t hole = w->alive[i]->offset - end;

		if (hole >= size_bytes && hole < smallest) {
			smallest = hole;
			*offset = end;
			at = i;
		}
		end = w->alive[i]->offset + place_bytes(w->alive[i]);
	}
	if (at == w->count)
		*offset = end;
	return at;
}

static void take(struct walk *w, struct ws_tensor *t)
{
	uint64_t end;
	int at;

	if (w->is_alive[t->id])
		return;
	at = find_place(w, place_bytes(t), &t->offset);
	if (__builtin_add_overflow(t->offset, place_bytes(t), &end)) {
		/* more than can be counted: it fits nowhere */
		w->plan.peak_bytes = w->plan.block_bytes = UINT64_MAX;
		return;
	}
	memmove(&w->alive[at + 1], &w->alive[at], (size_t)(w->count - at) * sizeof(*w->alive));
	w->alive[at] = t;
	w->count++;
	w->is_alive[t->id] = true;
	if (end > w->plan.block_bytes)
		w->plan.block_bytes = end;
	w->now_bytes += t->size_bytes;
	if (t->role == WS_ROLE_GRAD)
		w->plan.gradient_bytes += t->size_bytes;
}

static void give(struct walk *w, const struct ws_tensor *t)
{
	int at = 0;

	if (!w->is_alive[t->id])
		return;
	while (w->alive[at] != t)
		at++;
	w->is_alive[t->id] = false;
	w->count--;
	memmove(&w->alive[at], &w->alive[at + 1], (size_t)(w->count - at) * sizeof(*w->alive));
	w->now_bytes -= t->size_bytes;
}

static void walk_op(struct walk *w, int index)
{
	const struct ws_op *op = w->graph->ops[index];

	for (int j = 0; j < op->in_count; j++)
		if (!w->is_alive[op->in[j]->id])
			w->plan.unwritten = op->in[j];
	for (int j = op->in_count; j < ws_op_touched(op); j++)
		if (ws_op_touches(op, j) && ws_memory_is_transient(ws_op_touches(op, j)))
			take(w, ws_op_touches(op, j));
	if (w->now_bytes > w->plan.peak_bytes) {
		w->plan.peak_bytes = w->now_bytes;
		w->plan.peak_op = op;
	}
	for (int j = 0; j < ws_op_touched(op); j++) {
		const struct ws_tensor *t = ws_op_touches(op, j);

		if (t && ws_memory_is_transient(t) && !t->keep && t->last_use == index)
			give(w, t);
	}
}

/* As ws_exec_step_begin() does: what set-up leaves behind goes before the first step. */
static void walk_step_begin(struct walk *w)
{
	for (int i = 0; i < w->graph->tensor_count; i++)
		if (ws_memory_is_transient(w->graph->tensors[i]))
			give(w, w->graph->tensors[i]);
}

static void walk_session(struct walk *w)
{
	for (int i = 0; i < w->graph->tensor_count; i++) {
		struct ws_tensor *t = w->graph->tensors[i];

		if (ws_memory_is_transient(t))
			continue;
		take(w, t);
		w->plan.by_role_bytes[t->role] += t->size_bytes;
	}
	if (w->now_bytes > w->plan.peak_bytes)
		w->plan.peak_bytes = w->now_bytes;
}

struct ws_memory_plan ws_memory_plan(const struct ws_graph *graph)
{
	struct walk w = {.graph = graph};
	bool in_setup;

	w.alive = ws_xarray((size_t)graph->tensor_count, sizeof(struct ws_tensor *));
	w.is_alive = ws_xarray((size_t)graph->tensor_count, sizeof(*w.is_alive));
	for (int i = 0; i < graph->tensor_count; i++)
		graph->tensors[i]->last_use = -1;
	for (int i = 0; i < graph->op_count; i++)
		for (int j = 0; j < ws_op_touched(graph->ops[i]); j++)
			if (ws_op_touches(graph->ops[i], j))
				ws_op_touches(graph->ops[i], j)->last_use = i;
	walk_session(&w);
	/* Walk over the ops as exec.c does, giving places to tensors instead of memory. */
	in_setup = true;
	for (int k = 0; k < w.graph->op_count; k++) {
		if (in_setup && w.graph->ops[k]->payload.phase != WSNVTX_PHASE_setup) {
			walk_step_begin(&w);
			in_setup = false;
		}
		walk_op(&w, k);
	}
	free(w.alive);
	free(w.is_alive);
	return w.plan;
}
