#include "kernels/run/describe.h"

#include <inttypes.h>

#include "kernels/exec/memory_plan.h"
#include "kernels/graph/cost.h"

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

struct description {
	const struct ws_step_options *options;
	const struct ws_graph *graph;
	struct ws_memory_plan memory;
	struct ws_cost phase[PHASES];
	int64_t parameters;
	int parameter_tensors;
	FILE *out;
};

static void sum_up(struct description *d)
{
	for (size_t i = 0; i < PHASES; i++)
		d->phase[i] = ws_cost_phase(d->graph, (enum wsnvtx_phase)i);
	d->parameters = ws_graph_param_count(d->graph);
	for (int i = 0; i < d->graph->tensor_count; i++)
		d->parameter_tensors += d->graph->tensors[i]->role == WS_ROLE_PARAM;
}

/* "fp32[4x128x768]" */
static void print_tensor(FILE *out, const struct ws_tensor *t)
{
	fprintf(out, "%s[", ws_dtype_name(t->dtype));
	for (int i = 0; i < t->shape.ndim; i++)
		fprintf(out, "%s%" PRId64, i ? "x" : "", t->shape.dim[i]);
	fputc(']', out);
}

void ws_describe_scope(FILE *out, const struct ws_scope *scope)
{
	if (!scope || !scope->depth)
		return;
	ws_describe_scope(out, scope->parent);
	fprintf(out, "%s%s", scope->depth > 1 ? "/" : "", scope->name);
}

static void print_head(const struct description *d)
{
	const struct ws_step_options *o = d->options;
	FILE *out = d->out;

	fprintf(out, "%s, %s, fusion %s, %s, batch %" PRId64, o->model->name, o->precision->name,
	        ws_fusion_name(o->fusion), ws_step_phase_name(o->phase), o->batch);
	if (!o->model->image)
		fprintf(out, ", context %" PRId64 ", attention %s", o->context,
		        ws_attention_mode_name(o->attention));
	fprintf(out, "\n\nparameters        %15" PRId64 " in %d tensors\n", d->parameters,
	        d->parameter_tensors);
	fprintf(out, "\n%-12s %8s %20s %20s %16s %16s\n", "phase", "ops", "FLOPs", "of them matmul",
	        "bytes read", "bytes written");
	for (size_t i = 0; i < PHASES; i++)
		if (d->phase[i].ops)
			fprintf(out,
			        "%-12s %8d %20" PRIu64 " %20" PRIu64 " %16" PRIu64 " %16" PRIu64
			        "\n",
			        phase_names[i], d->phase[i].ops, d->phase[i].flops,
			        d->phase[i].matmul_flops, d->phase[i].bytes_read,
			        d->phase[i].bytes_written);
	fprintf(out, "\ndevice memory                 bytes\n");
	for (int i = 0; i < WS_ROLE_COUNT; i++)
		if (role_names[i])
			fprintf(out, "%-17s %17" PRIu64 "\n", role_names[i],
			        d->memory.by_role_bytes[i]);
	fprintf(out, "%-17s %17" PRIu64 "\n", "gradients", d->memory.gradient_bytes);
	fprintf(out, "%-17s %17" PRIu64 "  everything at once", "peak", d->memory.peak_bytes);
	if (d->memory.peak_op)
		fprintf(out, ", at op %s of %s", d->memory.peak_op->message,
		        phase_names[d->memory.peak_op->payload.phase]);
	fprintf(out,
	        "\n%-17s %17" PRIu64 "  all in their places: a step needs this and workspaces\n",
	        "block", d->memory.block_bytes);
}

static void print_ops(const struct description *d)
{
	char kernel[128];

	fprintf(d->out, "\nparameter tensors\n");
	for (int i = 0; i < d->graph->tensor_count; i++) {
		const struct ws_tensor *t = d->graph->tensors[i];

		if (t->role != WS_ROLE_PARAM)
			continue;
		fprintf(d->out, "  %-32s ", t->name);
		print_tensor(d->out, t);
		fputc('\n', d->out);
	}
	fprintf(d->out, "\nops\n");
	for (int i = 0; i < d->graph->op_count; i++) {
		const struct ws_op *op = d->graph->ops[i];

		fprintf(d->out, "  %-9s ", phase_names[op->payload.phase]);
		ws_describe_scope(d->out, op->scope);
		fprintf(d->out, "/%s  %s  ", op->message,
		        ws_op_kernel_name(op, kernel, sizeof(kernel)));
		for (int j = 0; j < op->in_count; j++) {
			fputs(j ? ", " : "", d->out);
			print_tensor(d->out, op->in[j]);
		}
		fputs(" -> ", d->out);
		for (int j = 0; j < op->out_count; j++) {
			fputs(j ? ", " : "", d->out);
			print_tensor(d->out, op->out[j]);
		}
		fprintf(d->out, "  %" PRIu64 " FLOPs\n", op->payload.flops);
	}
}

enum ws_status ws_describe(const struct ws_step_options *options, FILE *out, struct ws_err *err)
{
	struct description d = {.options = options, .out = out};
	struct ws_step *step;

	WS_FORWARD(ws_step_build(options, &step, err));
	d.graph = step->graph;
	d.memory = ws_memory_plan(d.graph);
	sum_up(&d);
	print_head(&d);
	print_ops(&d);
	ws_step_close(step);
	return WS_OK;
}
