
#include "kernels/run/step.h"

static const char *const phase_names[] = {
#define X(name, value) [value] = #name,
        WSNVTX_PHASE_LIST(X)
#undef X
};
#define PHASES (sizeof(phase_names) / sizeof(*phase_names))

static const char *const role_names[WS_ROLE_COUNT] = {
        [WS_ROLE_INPUT] = "inputs",
        [WS_ROLE_PARAM] = "parameters",
        [WS_ROLE_CONST] = "constants",
        [WS_ROLE_STATE] = "optimizer_state",
};

/* "fp32[4x128x768]" */
static void print_tensor(FILE *out, const struct ws_tensor *t)
{
	fprintf(out, "%s[", ws_dtype_name(t->dtype));
	for (int i = 0; i < t->shape.ndim; i++)
		fprintf(out, "%s%" PRId64, i ? "x" : "", t->shape.dim[i]);
	fputc(']', out);
}

/* The path of a scope below its phase: "layer 3/computing softmax". */
static void print_scope(FILE *out, const struct ws_scope *scope)
{
	if (!scope || !scope->depth)
		return;
	print_scope(out, scope->parent);
	fprintf(out, "%s%s", scope->depth > 1 ? "/" : "", scope->name);
}

enum ws_status ws_describe(const struct ws_step_options *options, FILE *out, struct ws_err *err)
{
	struct ws_cost phase[PHASES];
	const struct ws_graph *graph;
	int parameter_tensors = 0;
	struct ws_step *step;
	char kernel[128];

	WS_FORWARD(ws_step_build(options, &step, err));
	graph = step->graph;
	struct ws_memory_plan memory = ws_memory_plan(graph);
	for (size_t i = 0; i < PHASES; i++)
		phase[i] = ws_cost_phase(graph, (enum wsnvtx_phase)i);
	for (int i = 0; i < graph->tensor_count; i++)
		parameter_tensors += graph->tensors[i]->role == WS_ROLE_PARAM;
	fprintf(out, "%s, %s, fusion %s, %s, batch %" PRId64, options->model->name,
	        options->precision->name, ws_fusion_name(options->fusion),
	        ws_step_phase_name(options->phase), options->batch);
	if (!options->model->image)
		fprintf(out, ", context %" PRId64 ", attention %s", options->context,
		        ws_attention_mode_name(options->attention));
	fprintf(out, "\n\nparameters        %15" PRId64 " in %d tensors\n",
	        ws_graph_param_count(graph), parameter_tensors);
	fprintf(out, "\n%-12s %8s %20s %20s %16s %16s\n", "phase", "ops", "FLOPs", "of them matmul",
	        "bytes read", "bytes written");
	for (size_t i = 0; i < PHASES; i++)
		if (phase[i].ops)
			fprintf(out,
			        "%-12s %8d %20" PRIu64 " %20" PRIu64 " %16" PRIu64 " %16" PRIu64
			        "\n",
			        phase_names[i], phase[i].ops, phase[i].flops, phase[i].matmul_flops,
			        phase[i].bytes_read, phase[i].bytes_written);
	fprintf(out, "\ndevice memory                 bytes\n");
	for (int i = 0; i < WS_ROLE_COUNT; i++)
		if (role_names[i])
			fprintf(out, "%-17s %17" PRIu64 "\n", role_names[i],
			        memory.by_role_bytes[i]);
	fprintf(out, "%-17s %17" PRIu64 "\n", "gradients", memory.gradient_bytes);
	fprintf(out, "%-17s %17" PRIu64 "  everything at once", "peak", memory.peak_bytes);
	if (memory.peak_op)
		fprintf(out, ", at op %s of %s", memory.peak_op->message,
		        phase_names[memory.peak_op->payload.phase]);
	fprintf(out,
	        "\n%-17s %17" PRIu64 "  all in their places: a step needs this and workspaces\n",
	        "block", memory.block_bytes);
	fprintf(out, "\nparameter tensors\n");
	for (int i = 0; i < graph->tensor_count; i++) {
		const struct ws_tensor *t = graph->tensors[i];

		if (t->role != WS_ROLE_PARAM)
			continue;
		fprintf(out, "  %-32s ", t->name);
		print_tensor(out, t);
		fputc('\n', out);
	}
	fprintf(out, "\nops\n");
	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		fprintf(out, "  %-9s ", phase_names[op->payload.phase]);
		print_scope(out, op->scope);
		fprintf(out, "/%s  %s  ", op->message,
		        ws_op_kernel_name(op, kernel, sizeof(kernel)));
		for (int j = 0; j < op->in_count; j++) {
			fputs(j ? ", " : "", out);
			print_tensor(out, op->in[j]);
		}
		fputs(" -> ", out);
		for (int j = 0; j < op->out_count; j++) {
			fputs(j ? ", " : "", out);
			print_tensor(out, op->out[j]);
		}
		fprintf(out, "  %" PRIu64 " FLOPs\n", op->payload.flops);
	}
	ws_step_close(step);
	return WS_OK;
}

/* --- dtypes -------------------------------------------------------------------------------- */

static const char *const read_names[] = {
#define X(name, value) [value] = #name,
        WSNVTX_DTYPE_LIST(X)
#undef X
};

/* One row; a dtype is NULL where the row has none. */
struct dtype_row {
	const char *role;
	const char *dtype, *reads, *gradient, *optimizer;
	const struct ws_scope *scope; /* of an op */
	const char *name;
};

static void print_dtype_row(FILE *out, const struct dtype_row *row)
{
	const char *const cells[] = {row->dtype, row->reads, row->gradient, row->optimizer};

	fprintf(out, "%-10s", row->role);
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		fprintf(out, "  %-9s", cells[i] ? cells[i] : "-");
	fputs("  ", out);
	print_scope(out, row->scope);
	fprintf(out, "%s%s\n", row->scope && row->scope->depth ? "/" : "", row->name);
}

static void print_op_dtypes(FILE *out, const struct ws_graph *graph, enum wsnvtx_phase phase,
                            const struct ws_model_io *io)
{
	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];
		struct dtype_row row = {.scope = op->scope, .name = op->message};

		if (op->payload.phase != phase)
			continue;
		row.role = op->out[0] == io->loss     ? "loss"
		           : op->out[0] == io->logits ? "logits"
		                                      : "activation";
		row.dtype = ws_dtype_name(op->out[0]->dtype);
		row.reads = read_names[op->payload.dtype];
		print_dtype_row(out, &row);
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
	for (int i = 0; i < graph->tensor_count; i++) {
		const struct ws_tensor *t = graph->tensors[i];
		const struct ws_tensor *target = NULL;
		struct dtype_row row = {.role = "weight"};

		if (t->role != WS_ROLE_PARAM)
			continue;
		/* What the optimizer updates: the master of the parameter, or itself. */
		for (int j = 0; t->grad && j < graph->op_count; j++) {
			const struct ws_op *op = graph->ops[j];

			if (op->payload.phase == WSNVTX_PHASE_setup && op->in[0] == t) {
				target = op->out[0];
				break;
			}
			if (op->payload.phase == WSNVTX_PHASE_optimizer)
				target = t;
		}
		row.dtype = ws_dtype_name(t->dtype);
		row.gradient = t->grad ? ws_dtype_name(t->grad->dtype) : NULL;
		row.optimizer = target ? ws_dtype_name(target->dtype) : NULL;
		row.name = t->name;
		print_dtype_row(out, &row);
	}
	print_op_dtypes(out, graph, WSNVTX_PHASE_forward, &step->io);
	print_op_dtypes(out, graph, WSNVTX_PHASE_loss, &step->io);
	ws_step_close(step);
	return WS_OK;
}
