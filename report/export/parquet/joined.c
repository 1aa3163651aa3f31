/*
 * The Parquet tables that hold what analysis knows: kernels with their launch
 * and place, and NVTX ranges.
 */
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/model/columns.h"
#include "report/export/parquet/parquet.def"
#include "report/export/parquet/private.h"
#include "report/names/names.h"
#include "report/base/signature.h"

/* A text of the model; the empty one is null. */
static void put_text(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t text)
{
	ws_parquet_text_or_null(w, m->texts[text]);
}

/* --- kernels ---------------------------------------------------------------------------------- */

struct kernels_export {
	const struct ws_parquet_export *x;
	struct ws_column_data configs; /* launch configurations as recorded */
	char *short_name;              /* room for the longest name */
};

static enum ws_status kernels_load(struct kernels_export *k, struct ws_err *err)
{
	const struct ws_model *m = k->x->m;
	size_t longest = 0;

	WS_FORWARD(ws_trace_reader_load(k->x->r, WS_KIND_LAUNCH_CONFIG, &k->configs, err));
	/* the model numbers them in the order of the file, from 1 */
	for (size_t i = 0; i < m->nconfigs; i++)
		if (m->texts[m->configs[i].name].len > longest)
			longest = m->texts[m->configs[i].name].len;
	k->short_name = ws_xmalloc(longest + 1);
	return WS_OK;
}

static void put_identity(struct ws_parquet_writer *w, const struct kernels_export *k,
                         const struct ws_joined_kernel *row)
{
	const struct ws_model *m = k->x->m;
	struct ws_bytes name = m->texts[m->configs[row->kind->config].name];

	ws_parquet_text(w, name.ptr, name.len);
	ws_parquet_text(w, k->short_name, ws_name_function(name, k->short_name));
	put_text(w, m, row->kind->class);
	put_text(w, m, row->kind->direction);
	put_text(w, m, row->kind->dtype);
}

/* The configuration's name of how it was launched; a trace without that column says nothing. */
static void put_launch_type(struct ws_parquet_writer *w, const struct kernels_export *k,
                            uint32_t config)
{
	const struct ws_column_def *def =
	        &k->configs.def->columns[WS_COL_launch_config_launch_type];
	struct ws_bytes name = {"", 0};

	if (config && k->configs.columns[WS_COL_launch_config_launch_type].present)
		name = ws_enum_name(def->unit,
		                    ws_value(&k->configs, WS_COL_launch_config_launch_type,
		                             config - 1u));
	ws_parquet_text_or_null(w, name);
}

/* From pid to launch_type: a column of the configuration each, and the device's name. */
static void put_config(struct ws_parquet_writer *w, const struct kernels_export *k, uint32_t config)
{
	static const struct {
		int column, zero_is_unknown;
	} numbers[] = {
	        {WS_COL_launch_config_context, 0},
	        {WS_COL_launch_config_stream, 0},
	        {WS_COL_launch_config_grid_x, 0},
	        {WS_COL_launch_config_grid_y, 0},
	        {WS_COL_launch_config_grid_z, 0},
	        {WS_COL_launch_config_block_x, 0},
	        {WS_COL_launch_config_block_y, 0},
	        {WS_COL_launch_config_block_z, 0},
	        {WS_COL_launch_config_cluster_x, 1},
	        {WS_COL_launch_config_cluster_y, 1},
	        {WS_COL_launch_config_cluster_z, 1},
	        {WS_COL_launch_config_registers, 1},
	        {WS_COL_launch_config_shared_static_bytes, 0},
	        {WS_COL_launch_config_shared_dynamic_bytes, 0},
	        {WS_COL_launch_config_local_bytes, 0},
	        {WS_COL_launch_config_shared_executed_bytes, 1},
	};
	const struct ws_model *m = k->x->m;
	uint64_t row = config ? config - 1u : 0;
	const struct ws_config *c = &m->configs[config];

	ws_parquet_u64_or_null(w, ws_value(&k->configs, WS_COL_launch_config_pid, row), config > 0);
	ws_parquet_u64_or_null(w, m->devices[c->device].id, config > 0);
	put_text(w, m, config ? m->devices[c->device].name : WS_TEXT_EMPTY);
	for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
		uint64_t value = config ? ws_value(&k->configs, numbers[n].column, row) : 0;

		ws_parquet_u64_or_null(w, value, config && (value || !numbers[n].zero_is_unknown));
	}
	put_launch_type(w, k, config);
	if (c->has_occupancy)
		ws_parquet_f64(w, c->occupancy.percent);
	else
		ws_parquet_null(w);
}

static void put_launch(struct ws_parquet_writer *w, const struct kernels_export *k, uint32_t number)
{
	const struct ws_model *m = k->x->m;
	const struct ws_joined_call *call = ws_joined_rows_call(k->x->rows, number);

	if (!call) {
		for (int column = 0; column < 5; column++)
			ws_parquet_null(w);
		return;
	}
	ws_parquet_u64(w, call->correlation);
	put_text(w, m, call->kind->name);
	ws_parquet_i64(w, call->start_ns);
	ws_parquet_i64(w, call->dur_ns);
	ws_parquet_u64(w, m->threads[call->kind->thread].tid);
}

static void put_kernel(struct ws_parquet_table *t, const struct kernels_export *k,
                       const struct ws_joined_kernel *row)
{
	const struct ws_model *m = k->x->m;
	const struct ws_op_config *op = ws_cpu_op_config(m, row->cpu_op);
	struct ws_parquet_writer *w = t->w;

	ws_parquet_i64_or_null(w, row->start_ns, row->kind->timed);
	ws_parquet_i64_or_null(w, row->dur_ns, row->kind->timed);
	put_identity(w, k, row);
	put_config(w, k, row->kind->config);
	ws_parquet_i64(w, row->kind->cut_off);
	put_launch(w, k, row->call);
	put_text(w, m, op ? op->name : WS_TEXT_EMPTY);
	ws_parquet_path_or_null(w, &k->x->paths, row->kind->path);
	ws_parquet_str(w, ws_phase_name((enum ws_phase)row->kind->phase));
	ws_parquet_step(w, m, row->step);
	ws_parquet_table_end_row(t);
}

static enum ws_status put_kernels(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	struct ws_parquet_export *x = ctx;
	struct kernels_export k = {.x = x};
	enum ws_status status = kernels_load(&k, err);

	for (size_t i = 0; i < x->rows->nkernels && status == WS_OK; i++)
		put_kernel(t, &k, ws_joined_rows_kernel(x->rows, i));
	ws_column_data_release(&k.configs);
	free(k.short_name);
	return status;
}

/* --- NVTX ranges ------------------------------------------------------------------------------ */

static void put_op(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t payload)
{
	const struct ws_op_facts *op =
	        payload != WS_NONE && m->ops.is_op[payload] ? &m->ops.op[payload] : NULL;

	put_text(w, m, op ? op->kind : WS_TEXT_EMPTY);
	put_text(w, m, op ? op->direction : WS_TEXT_EMPTY);
	put_text(w, m, op ? op->dtype : WS_TEXT_EMPTY);
	ws_parquet_i64_or_null(w, op ? op->layer : 0, op && op->layer >= 0);
	ws_parquet_i64_or_null(w, op ? op->flops : 0, op && op->flops >= 0);
	ws_parquet_i64_or_null(w, op ? op->bytes : 0, op && op->bytes >= 0);
}

static void put_range(struct ws_parquet_table *t, const struct ws_parquet_export *x,
                      const struct ws_joined_range *row)
{
	const struct ws_model *m = x->m;
	const struct ws_thread *thread = &m->threads[row->context->thread];
	struct ws_bytes name = m->texts[row->context->name];
	struct ws_parquet_writer *w = t->w;

	ws_parquet_i64(w, row->start_ns);
	ws_parquet_i64(w, row->end_ns - row->start_ns);
	ws_parquet_text(w, name.ptr, name.len);
	put_text(w, m, m->ranges.paths[row->context->path].domain);
	ws_parquet_path_or_null(w, &x->paths, row->context->path);
	ws_parquet_i64(w, row->context->depth);
	ws_parquet_u64(w, thread->pid);
	ws_parquet_u64(w, thread->tid);
	ws_parquet_str(w, row->context->style ? "start-end" : "push-pop");
	ws_parquet_i64(w, row->is_open);
	ws_parquet_str(w, ws_phase_name((enum ws_phase)row->context->phase));
	ws_parquet_step(w, m, ws_joined_range_step(x->rows, row));
	put_op(w, m, row->context->payload);
	ws_parquet_table_end_row(t);
}

static enum ws_status put_ranges(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	const struct ws_parquet_export *x = ctx;

	(void)err;
	for (uint32_t i = 0; i < x->rows->nranges; i++)
		put_range(t, x, ws_joined_rows_range(x->rows, i));
	return WS_OK;
}

enum ws_status ws_parquet_export_joined(struct ws_parquet_export *x, struct ws_err *err)
{
	WS_FORWARD(WS_PARQUET_TABLE_WRITE(&x->folder, "kernels", WS_PARQUET_KERNEL_FIELDS,
	                                  put_kernels, x, err));
	WS_FORWARD(WS_PARQUET_TABLE_WRITE(&x->folder, "nvtx", WS_PARQUET_NVTX_FIELDS, put_ranges, x,
	                                  err));
	return ws_parquet_export_facts(x, err);
}
