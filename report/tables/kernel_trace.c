/* Every execution of every kernel: made only when it is asked for by name. */
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/joined/rows.h"
#include "report/tables/tables.h"

/* What its rows are made of. */
struct trace {
	const struct ws_model *m;
	struct ws_table *t;
	struct ws_joined_rows rows;
	struct ws_spill kept; /* the kernel of each row; none: all are */
	size_t nkept;
	/* Names repeat in every row; a cell that was copied into the table once is shared. */
	struct ws_cell *text;       /* text -> its cell */
	struct ws_cell *short_name; /* the same of its short form */
	struct ws_cell *path;       /* path -> cell */
};

static void set_text(struct trace *s, struct ws_cell *cell, uint32_t text)
{
	if (text && s->text[text].type == WS_CELL_EMPTY)
		ws_cell_set_model_text(s->t, &s->text[text], s->m, text);
	*cell = s->text[text];
}

static void set_names(struct trace *s, struct ws_cell *row, const struct ws_joined_kernel *k)
{
	const struct ws_model *m = s->m;
	uint32_t name = m->configs[k->kind->config].name;
	uint32_t path = k->kind->path != WS_NONE ? k->kind->path
	                : k->call == WS_NONE     ? ws_path_no_launch(m)
	                                         : ws_path_no_range(m);

	set_text(s, &row[WS_TC_kernel_trace_name], name);
	if (s->short_name[name].type == WS_CELL_EMPTY)
		ws_cell_set_short_name(s->t, &s->short_name[name], m, name);
	row[WS_TC_kernel_trace_short_name] = s->short_name[name];
	row[WS_TC_kernel_trace_path] = s->path[path];
}

static void set_launch(struct trace *s, struct ws_cell *row, const struct ws_config *config)
{
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
	ws_cell_set_int(&row[WS_TC_kernel_trace_device], (int64_t)s->m->devices[config->device].id);
	if (config->stream <= INT64_MAX)
		ws_cell_set_int(&row[WS_TC_kernel_trace_stream], (int64_t)config->stream);
	if (config->process != WS_NONE)
		set_text(s, &row[WS_TC_kernel_trace_stream_name],
		         ws_model_text(s->m, ws_resources_stream(&s->m->resources,
		                                                 s->m->pids[config->process],
		                                                 config->stream)));
	if (config->tensor != WS_TENSOR_NOT_APPLICABLE)
		ws_cell_share_str(&row[WS_TC_kernel_trace_tensor],
		                  ws_tensor_shown((enum ws_tensor)config->tensor));
}

static void set_call(struct trace *s, struct ws_cell *row, const struct ws_joined_call *call)
{
	const struct ws_thread *thread;

	if (!call)
		return;
	thread = &s->m->threads[call->kind->thread];
	ws_cell_set_int(&row[WS_TC_kernel_trace_pid], (int64_t)thread->pid);
	ws_cell_set_int(&row[WS_TC_kernel_trace_tid], (int64_t)thread->tid);
	set_text(s, &row[WS_TC_kernel_trace_api_name], call->kind->name);
	ws_cell_set_int(&row[WS_TC_kernel_trace_api_start_ns], call->start_ns - s->m->begin_ns);
	ws_cell_set_int(&row[WS_TC_kernel_trace_api_ns], call->dur_ns);
}

static void make_row(void *ctx, size_t i, struct ws_cell *row)
{
	struct trace *s = ctx;
	const struct ws_model *m = s->m;
	const size_t at =
	        s->kept.data ? *(uint32_t *)ws_spill_row(&s->kept, sizeof(uint32_t), i) : i;
	const struct ws_joined_kernel k = *ws_joined_rows_kernel(&s->rows, at);
	const struct ws_op_config *op = ws_cpu_op_config(m, k.cpu_op);
	uint32_t step = k.step;

	if (k.kind->timed) {
		ws_cell_set_int(&row[WS_TC_kernel_trace_start_ns], k.start_ns - m->begin_ns);
		ws_cell_set_int(&row[WS_TC_kernel_trace_dur_ns], k.dur_ns);
	}
	set_launch(s, row, &m->configs[k.kind->config]);
	set_call(s, row, ws_joined_rows_call(&s->rows, k.call));
	if (step != WS_NONE) {
		ws_cell_set_int(&row[WS_TC_kernel_trace_step], m->steps[step].number);
		ws_cell_share_str(&row[WS_TC_kernel_trace_warm_up],
		                  m->steps[step].warm_up ? "yes" : "no");
	}
	set_text(s, &row[WS_TC_kernel_trace_op_class], k.kind->class);
	set_text(s, &row[WS_TC_kernel_trace_direction], k.kind->direction);
	set_text(s, &row[WS_TC_kernel_trace_dtype], k.kind->dtype);
	set_text(s, &row[WS_TC_kernel_trace_operation], op ? op->name : WS_TEXT_EMPTY);
	set_names(s, row, &k);
}

static void free_trace(void *ctx)
{
	struct trace *s = ctx;

	ws_joined_rows_free(&s->rows);
	ws_spill_close(&s->kept);
	free(s->text);
	free(s->short_name);
	free(s->path);
	free(s);
}

/* Of all paths, while it can be said that one cannot be made. */
static void make_paths(struct trace *s)
{
	for (uint32_t path = 0; path < s->m->ranges.npaths + 2; path++) {
		struct ws_cell cells[3] = {{0}}; /* path, domain, style */

		ws_cells_set_path(s->t, cells, s->m, path);
		s->path[path] = cells[0];
	}
}

static void keep_selected(struct trace *s, const struct ws_selection *sel)
{
	const size_t n = sel->rows->nkernels;

	if (sel->kernels == n) {
		s->nkept = n;
		return;
	}
	ws_spill_open(&s->kept, sel->kernels * sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++)
		if (ws_kernel_selected(s->m, sel, ws_joined_rows_kernel(sel->rows, i), i))
			ws_spill_put(&s->kept, sizeof(i), s->nkept++, &i);
}

static void prepare(struct trace *s, const struct ws_table_context *tab)
{
	s->text = ws_xarray(s->m->ntexts, sizeof(*s->text));
	s->short_name = ws_xarray(s->m->ntexts, sizeof(*s->short_name));
	s->path = ws_xarray(s->m->ranges.npaths + 2, sizeof(*s->path));
	make_paths(s);
	keep_selected(s, tab->sel);
	/* rows are made of it when they are written, when the selection is gone */
	s->rows = *tab->sel->rows;
	*tab->sel->rows = (struct ws_joined_rows){0};
}

void ws_tab_kernel_trace(const struct ws_table_context *tab, struct ws_table *t)
{
	struct ws_table_source source = {make_row, free_trace, ws_xarray(1, sizeof(struct trace))};
	struct trace *s = source.ctx;

	*s = (struct trace){.m = tab->m, .t = t};
	prepare(s, tab);
	ws_table_set_source(t, &source, s->nkept);
	if (!ws_model_has_kernels(tab->m))
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	if (tab->sel->kernels)
		ws_cell_set_int(&ws_table_totals(t)[WS_TC_kernel_trace_dur_ns], tab->sel->gpu_ns);
}
