#include "kernels/memory_plan.h"

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

		for (int j = 0; j < op->in_count; j++)
			last[op->in[j]->id] = i;
		for (int j = 0; j < op->out_count; j++)
			last[op->out[j]->id] = i;
	}
	*last_use = last;
	return WS_OK;
}

/* Walk over the ops as exec.c does, counting bytes instead of allocating them. */
static void walk(const struct ws_graph *graph, const int *last_use, bool *alive,
                 struct ws_memory_plan *plan, uint64_t now_bytes)
{
	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		for (int j = 0; j < op->out_count; j++) {
			const struct ws_tensor *t = op->out[j];

			if (!ws_memory_is_transient(t) || alive[t->id])
				continue;
			alive[t->id] = true;
			now_bytes += t->size_bytes;
			if (t->role == WS_ROLE_GRAD)
				plan->gradient_bytes += t->size_bytes;
		}
		if (now_bytes > plan->peak_bytes) {
			plan->peak_bytes = now_bytes;
			plan->peak_op = op;
		}
		for (int j = 0; j < op->in_count + op->out_count; j++) {
			const struct ws_tensor *t =
			        j < op->in_count ? op->in[j] : op->out[j - op->in_count];

			if (!ws_memory_is_transient(t) || t->keep || !alive[t->id] ||
			    last_use[t->id] != i)
				continue;
			alive[t->id] = false;
			now_bytes -= t->size_bytes;
		}
	}
}

enum ws_status ws_memory_plan(const struct ws_graph *graph, struct ws_memory_plan *plan,
                              struct ws_err *err)
{
	uint64_t session_bytes = 0;
	bool *alive;
	int *last_use;

	memset(plan, 0, sizeof(*plan));
	WS_FORWARD(ws_memory_last_use(graph, &last_use, err));
	alive = calloc((size_t)graph->tensor_count + 1, sizeof(*alive));
	if (!alive) {
		free(last_use);
		return WS_FAIL(err, NO_MEMORY, "no memory to plan a graph");
	}
	for (int i = 0; i < graph->tensor_count; i++) {
		const struct ws_tensor *t = graph->tensors[i];

		if (ws_memory_is_transient(t))
			continue;
		plan->by_role_bytes[t->role] += t->size_bytes;
		session_bytes += t->size_bytes;
	}
	plan->peak_bytes = session_bytes;
	walk(graph, last_use, alive, plan, session_bytes);
	free(alive);
	free(last_use);
	return WS_OK;
}
