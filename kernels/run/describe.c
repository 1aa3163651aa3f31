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

static const char *const kind_names[] = {
#define X(name, value) [value] = #name,
        WSNVTX_OP_KIND_LIST(X)
#undef X
};

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

/* --- text ------------------------------------------------------------------------------ */

static void text_head(const struct description *d)
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
	fputc('\n', out);
}

static void text_ops(const struct description *d)
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

/* --- JSON: all names are our own, ASCII without quotes ------------------------------------- */

static void json_tensor(FILE *out, const struct ws_tensor *t, bool with_name)
{
	fputc('{', out);
	if (with_name)
		fprintf(out, "\"name\": \"%s\", ", t->name);
	fprintf(out, "\"dtype\": \"%s\", \"shape\": [", ws_dtype_name(t->dtype));
	for (int i = 0; i < t->shape.ndim; i++)
		fprintf(out, "%s%" PRId64, i ? ", " : "", t->shape.dim[i]);
	fputs("]}", out);
}

static void json_head(const struct description *d)
{
	const struct ws_step_options *o = d->options;
	FILE *out = d->out;
	bool first = true;

	fprintf(out,
	        "{\"model\": \"%s\", \"dtype\": \"%s\", \"fusion\": \"%s\", \"phase\": \"%s\", "
	        "\"batch\": %" PRId64,
	        o->model->name, o->precision->name, ws_fusion_name(o->fusion),
	        ws_step_phase_name(o->phase), o->batch);
	if (!o->model->image)
		fprintf(out, ", \"context\": %" PRId64 ", \"attention\": \"%s\"", o->context,
		        ws_attention_mode_name(o->attention));
	fprintf(out, ",\n \"parameters\": %" PRId64 ", \"parameter_tensors\": %d,\n \"phases\": {",
	        d->parameters, d->parameter_tensors);
	for (size_t i = 0; i < PHASES; i++) {
		const struct ws_cost *t = &d->phase[i];

		if (!t->ops)
			continue;
		fprintf(out,
		        "%s\n  \"%s\": {\"ops\": %d, \"flops\": %" PRIu64
		        ", \"matmul_flops\": %" PRIu64 ", \"bytes_read\": %" PRIu64
		        ", \"bytes_written\": %" PRIu64 "}",
		        first ? "" : ",", phase_names[i], t->ops, t->flops, t->matmul_flops,
		        t->bytes_read, t->bytes_written);
		first = false;
	}
	fprintf(out, "},\n \"device_bytes\": {");
	for (int i = 0; i < WS_ROLE_COUNT; i++)
		if (role_names[i])
			fprintf(out, "\"%s\": %" PRIu64 ", ", role_names[i],
			        d->memory.by_role_bytes[i]);
	fprintf(out, "\"gradients\": %" PRIu64 ", \"peak\": %" PRIu64 "},\n",
	        d->memory.gradient_bytes, d->memory.peak_bytes);
}

static void json_tensors(FILE *out, const char *key, struct ws_tensor *const *tensors, int count)
{
	fprintf(out, ", \"%s\": [", key);
	for (int i = 0; i < count; i++) {
		fputs(i ? ", " : "", out);
		json_tensor(out, tensors[i], false);
	}
	fputc(']', out);
}

static void json_ops(const struct description *d)
{
	bool first = true;
	char kernel[128];

	fprintf(d->out, " \"tensors\": [");
	for (int i = 0; i < d->graph->tensor_count; i++) {
		if (d->graph->tensors[i]->role != WS_ROLE_PARAM)
			continue;
		fputs(first ? "\n  " : ",\n  ", d->out);
		json_tensor(d->out, d->graph->tensors[i], true);
		first = false;
	}
	fprintf(d->out, "],\n \"ops\": [");
	for (int i = 0; i < d->graph->op_count; i++) {
		const struct ws_op *op = d->graph->ops[i];

		fprintf(d->out, "%s\n  {\"phase\": \"%s\", \"scope\": \"", i ? "," : "",
		        phase_names[op->payload.phase]);
		ws_describe_scope(d->out, op->scope);
		fprintf(d->out,
		        "\", \"op\": \"%s\", \"kind\": \"%s\", \"kernel\": \"%s\", \"layer\": %d, "
		        "\"flops\": %" PRIu64 ", \"bytes_read\": %" PRIu64
		        ", \"bytes_written\": %" PRIu64,
		        op->message, kind_names[op->payload.op],
		        ws_op_kernel_name(op, kernel, sizeof(kernel)), op->payload.layer,
		        op->payload.flops, op->payload.bytes_read, op->payload.bytes_written);
		json_tensors(d->out, "in", op->in, op->in_count);
		json_tensors(d->out, "out", op->out, op->out_count);
		fputc('}', d->out);
	}
	fputs("]}\n", d->out);
}

enum ws_status ws_describe(const struct ws_step_options *options, enum ws_describe_format format,
                           FILE *out, struct ws_err *err)
{
	struct description d = {.options = options, .out = out};
	struct ws_step *step;
	enum ws_status status;

	WS_FORWARD(ws_step_build(options, &step, err));
	d.graph = ws_step_graph(step);
	status = ws_memory_plan(d.graph, &d.memory, err);
	if (status == WS_OK) {
		sum_up(&d);
		(format == WS_DESCRIBE_JSON ? json_head : text_head)(&d);
		(format == WS_DESCRIBE_JSON ? json_ops : text_ops)(&d);
	}
	ws_step_close(step);
	return status;
}
