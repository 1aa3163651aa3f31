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

/* A column of the configuration as recorded; 0 where the trace lost that. */
static uint64_t config_value(const struct kernels_export *k, uint32_t config, int column)
{
	return config ? ws_value(&k->configs, column, config - 1u) : 0;
}

/* The configuration's name of how it was launched; a trace without that column says nothing. */
static struct ws_bytes launch_type(const struct kernels_export *k, uint32_t config)
{
	const int column = WS_COL_launch_config_launch_type;

	if (!config || !k->configs.columns[column].present)
		return (struct ws_bytes){"", 0};
	return ws_enum_name(k->configs.def->columns[column].unit, config_value(k, config, column));
}

static void put_kernel(struct ws_parquet_table *t, const struct kernels_export *k,
                       const struct ws_joined_kernel *row)
{
#define CONFIG(column) config_value(k, kind->config, WS_COL_launch_config_##column)
#define CALL(field)    (call ? call->field : 0)
	const struct ws_model *m = k->x->m;
	const struct ws_parquet_paths *paths = &k->x->paths;
	const struct ws_kernel_kind *kind = row->kind;
	const struct ws_config *config = &m->configs[kind->config];
	const struct ws_device *device = &m->devices[config->device];
	const bool has_config = kind->config > 0;
	const struct ws_bytes name = m->texts[config->name];
	const struct ws_joined_call *call = ws_joined_rows_call(k->x->rows, row->call);
	const struct ws_op_config *op = ws_cpu_op_config(m, row->cpu_op);
	const uint32_t step = row->step;
	struct ws_parquet_writer *w = t->w;

	WS_PARQUET_KERNEL_FIELDS(WS_PARQUET_PUT)
	ws_parquet_table_end_row(t);
#undef CONFIG
#undef CALL
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

static void put_range(struct ws_parquet_table *t, const struct ws_parquet_export *x,
                      const struct ws_joined_range *row)
{
	static const struct ws_op_facts none = {.layer = -1, .flops = -1, .bytes = -1};
	const struct ws_model *m = x->m;
	const struct ws_range_context *context = row->context;
	const struct ws_thread *thread = &m->threads[context->thread];
	const struct ws_bytes name = m->texts[context->name];
	const uint32_t step = ws_joined_range_step(x->rows, row);
	const uint32_t payload = context->payload;
	const struct ws_op_facts *op =
	        payload != WS_NONE && m->ops.is_op[payload] ? &m->ops.op[payload] : &none;
	struct ws_parquet_writer *w = t->w;

	WS_PARQUET_NVTX_FIELDS(WS_PARQUET_PUT)
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
