/*
 * Every execution of every kernel: made only when it is asked for by name.
 */
#include <inttypes.h>

#include "report/tables/tables.h"

struct trace {
	const struct ws_table_context *tab;
	struct ws_table *t;
	/* Names repeat in every row; a cell that was copied into the table once is shared. */
	struct ws_cell *text;       /* text -> its cell */
	struct ws_cell *short_name; /* the same of its short form */
	struct ws_cell *path;       /* path -> cell */
};

static void set_text(struct trace *s, struct ws_cell *cell, uint32_t text)
{
	if (text && s->text[text].type == WS_CELL_EMPTY)
		ws_cell_set_model_text(s->t, &s->text[text], s->tab->m, text);
	*cell = s->text[text];
}

static enum ws_status set_names(struct trace *s, struct ws_cell *row, size_t k, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	uint32_t name = ws_kernel_name(m, k), path = ws_kernel_path(m, k);

	set_text(s, &row[WS_TC_kernel_trace_name], name);
	if (s->short_name[name].type == WS_CELL_EMPTY)
		ws_cell_set_short_name(s->t, &s->short_name[name], m, name);
	row[WS_TC_kernel_trace_short_name] = s->short_name[name];
	if (s->path[path].type == WS_CELL_EMPTY) {
		struct ws_cell cells[3] = {{0}}; /* path, domain, style */

		WS_FORWARD(ws_cells_set_path(s->t, cells, m, path, err));
		s->path[path] = cells[0];
	}
	row[WS_TC_kernel_trace_path] = s->path[path];
	return WS_OK;
}

static void set_launch(struct trace *s, struct ws_cell *row, size_t k)
{
	const struct ws_model *m = s->tab->m;
	const struct ws_config *config = &m->configs[m->kernels.config[k]];
	const uint64_t sizes[] = {config->shape.grid_x,  config->shape.grid_y,
	                          config->shape.grid_z,  config->shape.block_x,
	                          config->shape.block_y, config->shape.block_z};

	for (int i = 0; i < 6; i++)
		if (sizes[i] && sizes[i] <= INT64_MAX)
			ws_cell_set_int(&row[WS_TC_kernel_trace_grid_x + i], (int64_t)sizes[i]);
	if (config->shape.registers && config->shape.registers <= INT64_MAX)
		ws_cell_set_int(&row[WS_TC_kernel_trace_registers],
		                (int64_t)config->shape.registers);
	if (config->shape.grid_x && config->shape.shared_bytes <= INT64_MAX)
		ws_cell_set_int(&row[WS_TC_kernel_trace_shared_bytes],
		                (int64_t)config->shape.shared_bytes);
	if (config->has_occupancy)
		ws_cell_set_real(&row[WS_TC_kernel_trace_occupancy], config->occupancy.percent);
	ws_cell_set_int(&row[WS_TC_kernel_trace_device], (int64_t)m->devices[config->device].id);
	if (config->stream <= INT64_MAX)
		ws_cell_set_int(&row[WS_TC_kernel_trace_stream], (int64_t)config->stream);
	if (config->tensor != WS_TENSOR_NOT_APPLICABLE)
		ws_cell_set_str(s->t, &row[WS_TC_kernel_trace_tensor],
		                ws_tensor_shown((enum ws_tensor)config->tensor));
}

static void set_call(struct trace *s, struct ws_cell *row, size_t k)
{
	const struct ws_model *m = s->tab->m;
	uint32_t call = m->kernels.call[k];

	if (call == WS_NONE)
		return;
	ws_cell_set_int(&row[WS_TC_kernel_trace_pid], (int64_t)m->threads[m->api.thread[call]].pid);
	ws_cell_set_int(&row[WS_TC_kernel_trace_tid], (int64_t)m->threads[m->api.thread[call]].tid);
	set_text(s, &row[WS_TC_kernel_trace_api_name], m->api.name[call]);
	ws_cell_set_int(&row[WS_TC_kernel_trace_api_start_ns], m->api.start_ns[call] - m->begin_ns);
	ws_cell_set_int(&row[WS_TC_kernel_trace_api_ns],
	                m->api.end_ns[call] - m->api.start_ns[call]);
}

static enum ws_status add_row(struct trace *s, size_t k, struct ws_err *err)
{
	const struct ws_model *m = s->tab->m;
	struct ws_cell *row = ws_table_row(s->t);
	uint32_t step = ws_kernel_step(m, k), op = m->kernels.op[k];

	if (!(m->kernels.flags[k] & WS_KERNEL_NO_TIME)) {
		ws_cell_set_int(&row[WS_TC_kernel_trace_start_ns],
		                m->kernels.start_ns[k] - m->begin_ns);
		ws_cell_set_int(&row[WS_TC_kernel_trace_dur_ns], m->kernels.dur_ns[k]);
	}
	set_launch(s, row, k);
	set_call(s, row, k);
	if (step != WS_NONE) {
		ws_cell_set_int(&row[WS_TC_kernel_trace_step], m->steps[step].number);
		ws_cell_set_str(s->t, &row[WS_TC_kernel_trace_warm_up],
		                m->steps[step].warm_up ? "yes" : "no");
	}
	set_text(s, &row[WS_TC_kernel_trace_op_class], ws_kernel_class(m, k));
	set_text(s, &row[WS_TC_kernel_trace_direction], ws_kernel_direction(m, k));
	set_text(s, &row[WS_TC_kernel_trace_dtype], ws_kernel_dtype(m, k));
	if (op != WS_NONE)
		set_text(s, &row[WS_TC_kernel_trace_operation], m->cpu_ops.tree.name[op]);
	return set_names(s, row, k, err);
}

enum ws_status ws_tab_kernel_trace(const struct ws_table_context *tab, struct ws_table *t,
                                   struct ws_err *err)
{
	const struct ws_model *m = tab->m;
	struct trace s = {.tab = tab, .t = t};

	WS_NEW(tab->temp, s.text, m->ntexts);
	WS_NEW(tab->temp, s.short_name, m->ntexts);
	WS_NEW(tab->temp, s.path, m->ranges.npaths + 2);
	WS_FORWARD(ws_arena_check(tab->temp, "the trace of kernels", err));
	for (size_t k = 0; k < m->kernels.n; k++)
		if (tab->sel->kernel[k])
			WS_FORWARD(add_row(&s, k, err));
	if (!m->kernels.n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	if (tab->sel->kernels)
		ws_cell_set_int(&ws_table_totals(t)[WS_TC_kernel_trace_dur_ns], tab->sel->gpu_ns);
	return WS_OK;
}
