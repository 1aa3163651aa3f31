#include "kernels/run/describe.h"

static const char *const read_names[] = {
#define X(name, value) [value] = #name,
        WSNVTX_DTYPE_LIST(X)
#undef X
};

/* One row; a dtype is NULL where the row has none. */
struct row {
	const char *role;
	const char *dtype, *reads, *gradient, *optimizer;
	const struct ws_scope *scope; /* of an op */
	const char *name;
};

static void print_row(FILE *out, const struct row *row)
{
	const char *const cells[] = {row->dtype, row->reads, row->gradient, row->optimizer};

	fprintf(out, "%-10s", row->role);
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		fprintf(out, "  %-9s", cells[i] ? cells[i] : "-");
	fputs("  ", out);
	ws_describe_scope(out, row->scope);
	fprintf(out, "%s%s\n", row->scope && row->scope->depth ? "/" : "", row->name);
}

/* What the optimizer updates for a parameter: its master, or itself. NULL: nothing does. */
static const struct ws_tensor *updated(const struct ws_graph *graph, const struct ws_tensor *param)
{
	const struct ws_tensor *target = NULL;

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		if (op->payload.phase == WSNVTX_PHASE_setup && op->in[0] == param)
			return op->out[0];
		if (op->payload.phase == WSNVTX_PHASE_optimizer)
			target = param;
	}
	return target;
}

static void print_params(FILE *out, const struct ws_graph *graph)
{
	for (int i = 0; i < graph->tensor_count; i++) {
		const struct ws_tensor *t = graph->tensors[i];
		const struct ws_tensor *target;
		struct row row = {.role = "weight"};

		if (t->role != WS_ROLE_PARAM)
			continue;
		target = t->grad ? updated(graph, t) : NULL;
		row.dtype = ws_dtype_name(t->dtype);
		row.gradient = t->grad ? ws_dtype_name(t->grad->dtype) : NULL;
		row.optimizer = target ? ws_dtype_name(target->dtype) : NULL;
		row.name = t->name;
		print_row(out, &row);
	}
}

static void print_ops(FILE *out, const struct ws_graph *graph, enum wsnvtx_phase phase,
                      const struct ws_model_io *io)
{
	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];
		struct row row = {.scope = op->scope, .name = op->message};

		if (op->payload.phase != phase)
			continue;
		row.role = op->out[0] == io->loss     ? "loss"
		           : op->out[0] == io->logits ? "logits"
		                                      : "activation";
		row.dtype = ws_dtype_name(op->out[0]->dtype);
		row.reads = read_names[op->payload.dtype];
		print_row(out, &row);
	}
}

enum ws_status ws_dtypes_print(const struct ws_step_options *options, FILE *out, struct ws_err *err)
{
	const struct ws_graph *graph;
	struct ws_step *step;

	WS_FORWARD(ws_step_build(options, &step, err));
	graph = step->graph;
	fprintf(out, "%-10s  %-9s  %-9s  %-9s  %-9s  %s\n", "What", "Dtype", "Reads", "Gradient",
	        "Optimizer", "Name");
	print_params(out, graph);
	print_ops(out, graph, WSNVTX_PHASE_forward, &step->io);
	print_ops(out, graph, WSNVTX_PHASE_loss, &step->io);
	ws_step_close(step);
	return WS_OK;
}
