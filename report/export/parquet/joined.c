/*
 * The Parquet tables that hold what analysis knows: kernels with their launch
 * and place, NVTX ranges, and facts about the trace.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/trace/block_reader.h"
#include "report/model/columns.h"
#include "report/export/parquet/parquet.def"
#include "report/export/parquet/private.h"
#include "report/base/names.h"

/* A text of the model; the empty one is null. */
static void put_text(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t text)
{
	ws_parquet_text_or_null(w, m->texts[text]);
}

/* The path of a range, which may be an empty name; null outside ranges. */
static void put_path(struct ws_parquet_writer *w, const struct ws_parquet_export *x, uint32_t range)
{
	struct ws_bytes path;

	if (range == WS_NONE) {
		ws_parquet_null(w);
		return;
	}
	path = x->paths.text[x->m->ranges.path[range]];
	ws_parquet_text(w, path.ptr, path.len);
}

/* --- kernels ---------------------------------------------------------------------------------- */

struct kernels_export {
	const struct ws_parquet_export *x;
	struct ws_table_data configs; /* launch configurations as recorded */
	uint64_t *correlations;       /* of API calls, in the order of the file */
	size_t ncalls;
	char *short_name; /* room for the longest name */
};

static enum ws_status load_correlations(struct kernels_export *k, struct ws_err *err)
{
	const struct ws_trace_reader *r = k->x->r;
	const size_t n = (size_t)ws_trace_reader_count(r, WS_KIND_API);
	struct ws_block_rows rows = {0};
	struct ws_block_reader *reader;
	enum ws_status status = WS_OK;

	k->correlations = calloc(n ? n : 1, sizeof(*k->correlations));
	WS_FAIL_IF(!k->correlations, err, NO_MEMORY, "no memory for %zu calls", n);
	WS_FORWARD(ws_block_reader_new(&reader, r, err));
	for (size_t i = 0; i < ws_trace_reader_block_count(r) && status == WS_OK; i++) {
		if (ws_trace_reader_block(r, i)->kind != WS_KIND_API)
			continue;
		status = ws_block_reader_read(reader, i, WS_COLUMN(api, correlation), &rows, err);
		if (status != WS_OK)
			break;
		memcpy(k->correlations + k->ncalls, rows.v[WS_COL_api_correlation],
		       rows.info.rows * sizeof(*k->correlations));
		k->ncalls += rows.info.rows;
	}
	ws_block_rows_release(&rows);
	ws_block_reader_free(reader);
	return status;
}

static enum ws_status kernels_load(struct kernels_export *k, struct ws_err *err)
{
	const struct ws_model *m = k->x->m;
	size_t longest = 0;

	WS_FORWARD(ws_trace_reader_load(k->x->r, WS_KIND_LAUNCH_CONFIG, &k->configs, err));
	WS_FORWARD(load_correlations(k, err));
	/* the model numbers both in the order of the file, configurations from 1 */
	WS_FAIL_IF(k->configs.rows + 1 != m->nconfigs || k->ncalls != m->api.n, err, BUG,
	           "the model has %zu launch configurations and %zu calls, the trace others",
	           m->nconfigs, m->api.n);
	for (size_t i = 0; i < m->nconfigs; i++)
		if (m->texts[m->configs[i].name].len > longest)
			longest = m->texts[m->configs[i].name].len;
	k->short_name = malloc(longest + 1);
	WS_FAIL_IF(!k->short_name, err, NO_MEMORY, "no memory for kernel names");
	return WS_OK;
}

static void put_identity(struct ws_parquet_writer *w, const struct kernels_export *k, size_t i)
{
	const struct ws_model *m = k->x->m;
	struct ws_bytes name = m->texts[ws_kernel_name(m, i)];

	ws_parquet_text(w, name.ptr, name.len);
	ws_parquet_text(w, k->short_name, ws_name_short(name, k->short_name));
	put_text(w, m, ws_kernel_class(m, i));
	put_text(w, m, ws_kernel_direction(m, i));
	put_text(w, m, ws_kernel_dtype(m, i));
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
static void put_config(struct ws_parquet_writer *w, const struct kernels_export *k, size_t i)
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
	uint32_t config = m->kernels.config[i];
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

static void put_launch(struct ws_parquet_writer *w, const struct kernels_export *k, size_t i)
{
	const struct ws_model *m = k->x->m;
	const struct ws_api *api = &m->api;
	uint32_t call = m->kernels.call[i];

	if (call == WS_NONE) {
		for (int column = 0; column < 5; column++)
			ws_parquet_null(w);
		return;
	}
	ws_parquet_u64(w, k->correlations[call]);
	put_text(w, m, api->name[call]);
	ws_parquet_i64(w, api->start_ns[call]);
	ws_parquet_i64(w, api->end_ns[call] - api->start_ns[call]);
	ws_parquet_u64(w, m->threads[api->thread[call]].tid);
}

static enum ws_status put_kernel(struct ws_parquet_table *t, const struct kernels_export *k,
                                 size_t i, struct ws_err *err)
{
	const struct ws_model *m = k->x->m;
	const struct ws_kernels *kernels = &m->kernels;
	const struct ws_op_config *op = ws_cpu_op_config(m, kernels->op[i]);
	int has_time = !(kernels->flags[i] & WS_KERNEL_NO_TIME);
	struct ws_parquet_writer *w = t->w;

	ws_parquet_i64_or_null(w, kernels->start_ns[i], has_time);
	ws_parquet_i64_or_null(w, kernels->dur_ns[i], has_time);
	put_identity(w, k, i);
	put_config(w, k, i);
	ws_parquet_i64(w, (kernels->flags[i] & WS_KERNEL_CUT_OFF) != 0);
	put_launch(w, k, i);
	put_text(w, m, op ? op->name : WS_TEXT_EMPTY);
	put_path(w, k->x, kernels->range[i]);
	ws_parquet_str(w, ws_phase_name(ws_kernel_phase(m, i)));
	ws_parquet_step(w, m, ws_kernel_step(m, i));
	return ws_parquet_table_end_row(t, err);
}

static enum ws_status export_kernels(struct ws_parquet_export *x, struct ws_parquet_table *t,
                                     struct ws_err *err)
{
	static const struct ws_parquet_field fields[] = {
	        WS_PARQUET_KERNEL_FIELDS(WS_PARQUET_FIELD)};
	struct kernels_export k = {.x = x};
	enum ws_status status = ws_parquet_table_begin(t, &x->folder, "kernels", fields,
	                                               sizeof(fields) / sizeof(fields[0]), err);

	if (status == WS_OK)
		status = kernels_load(&k, err);
	for (size_t i = 0; i < x->m->kernels.n && status == WS_OK; i++)
		status = put_kernel(t, &k, i, err);
	ws_table_data_release(&k.configs);
	free(k.correlations);
	free(k.short_name);
	return ws_parquet_table_end(t, status, err);
}

/* --- NVTX ranges ------------------------------------------------------------------------------ */

static void put_op(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t range)
{
	uint32_t payload = m->ranges.payload[range];
	const struct ws_op_facts *op =
	        payload != WS_NONE && m->ops.is_op[payload] ? &m->ops.op[payload] : NULL;

	put_text(w, m, op ? op->kind : WS_TEXT_EMPTY);
	put_text(w, m, op ? op->direction : WS_TEXT_EMPTY);
	put_text(w, m, op ? op->dtype : WS_TEXT_EMPTY);
	ws_parquet_i64_or_null(w, op ? op->layer : 0, op && op->layer >= 0);
	ws_parquet_i64_or_null(w, op ? op->flops : 0, op && op->flops >= 0);
	ws_parquet_i64_or_null(w, op ? op->bytes : 0, op && op->bytes >= 0);
}

static enum ws_status put_range(struct ws_parquet_table *t, const struct ws_parquet_export *x,
                                uint32_t i, struct ws_err *err)
{
	const struct ws_model *m = x->m;
	const struct ws_ranges *r = &m->ranges;
	const struct ws_thread *thread = &m->threads[r->thread[i]];
	struct ws_bytes name = m->texts[r->name[i]];
	struct ws_parquet_writer *w = t->w;

	ws_parquet_i64(w, r->start_ns[i]);
	ws_parquet_i64(w, r->end_ns[i] - r->start_ns[i]);
	ws_parquet_text(w, name.ptr, name.len);
	put_text(w, m, r->paths[r->path[i]].domain);
	put_path(w, x, i);
	ws_parquet_i64(w, r->depth[i]);
	ws_parquet_u64(w, thread->pid);
	ws_parquet_u64(w, thread->tid);
	ws_parquet_str(w, r->flags[i] & WS_RANGE_START_END ? "start-end" : "push-pop");
	ws_parquet_i64(w, (r->flags[i] & WS_RANGE_OPEN) != 0);
	ws_parquet_str(w, ws_phase_name((enum ws_phase)m->range_phase[i]));
	ws_parquet_step(w, m, m->range_step[i]);
	put_op(w, m, i);
	return ws_parquet_table_end_row(t, err);
}

static enum ws_status export_ranges(struct ws_parquet_export *x, struct ws_parquet_table *t,
                                    struct ws_err *err)
{
	static const struct ws_parquet_field fields[] = {WS_PARQUET_NVTX_FIELDS(WS_PARQUET_FIELD)};
	enum ws_status status = ws_parquet_table_begin(t, &x->folder, "nvtx", fields,
	                                               sizeof(fields) / sizeof(fields[0]), err);

	for (uint32_t i = 0; i < x->m->ranges.n && status == WS_OK; i++)
		status = put_range(t, x, i, err);
	return ws_parquet_table_end(t, status, err);
}

/* --- facts ------------------------------------------------------------------------------------ */

/* A value that is a whole number in decimal is a number, too. */
static void put_number(struct ws_parquet_writer *w, struct ws_bytes value)
{
	char text[24], *end;
	long long number;

	if (!value.len || value.len >= sizeof(text) ||
	    !memchr("-0123456789", *(const char *)value.ptr, 11)) {
		ws_parquet_null(w);
		return;
	}
	memcpy(text, value.ptr, value.len);
	text[value.len] = 0;
	errno = 0;
	number = strtoll(text, &end, 10);
	ws_parquet_i64_or_null(w, number, !errno && end == text + value.len);
}

static enum ws_status put_fact(struct ws_parquet_table *t, const char *source, struct ws_bytes key,
                               struct ws_bytes value, struct ws_err *err)
{
	ws_parquet_str(t->w, source);
	ws_parquet_null(t->w);
	ws_parquet_text(t->w, key.ptr, key.len);
	ws_parquet_text(t->w, value.ptr, value.len);
	put_number(t->w, value);
	return ws_parquet_table_end_row(t, err);
}

static enum ws_status put_device_fact(struct ws_parquet_table *t, uint64_t device,
                                      struct ws_bytes key, struct ws_bytes value,
                                      struct ws_err *err)
{
	ws_parquet_str(t->w, "device");
	ws_parquet_u64(t->w, device);
	ws_parquet_text(t->w, key.ptr, key.len);
	ws_parquet_text(t->w, value.ptr, value.len);
	put_number(t->w, value);
	return ws_parquet_table_end_row(t, err);
}

static struct ws_bytes bytes_of(const char *text)
{
	return (struct ws_bytes){text, strlen(text)};
}

static enum ws_status put_trace_facts(struct ws_parquet_table *t, const struct ws_model *m,
                                      struct ws_err *err)
{
	const struct ws_trace_summary *s = &m->file;
	const struct {
		const char *key;
		long long value;
	} numbers[] = {
	        {"base_ns", s->base_ns},
	        {"file_bytes", (long long)s->file_size},
	        {"closed", s->closed},
	        {"damaged_blocks", (long long)s->damaged_blocks},
	        {"skipped_bytes", (long long)s->skipped_bytes},
	};
	char text[32];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(text, sizeof(text), "%lld", numbers[i].value);
		WS_FORWARD(put_fact(t, "trace", bytes_of(numbers[i].key), bytes_of(text), err));
	}
	return WS_OK;
}

static enum ws_status put_devices(struct ws_parquet_table *t, const struct ws_parquet_export *x,
                                  struct ws_err *err)
{
	const struct ws_model *m = x->m;
	struct ws_table_data attrs;
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < m->ndevices && status == WS_OK; i++)
		status = put_device_fact(t, m->devices[i].id, bytes_of("name"),
		                         m->texts[m->devices[i].name], err);
	if (status == WS_OK)
		status = ws_trace_reader_load(x->r, WS_KIND_DEVICE_ATTR, &attrs, err);
	if (status != WS_OK)
		return status;
	for (uint64_t i = 0; i < attrs.rows && status == WS_OK; i++) {
		uint32_t key = ws_model_text(m, ws_value(&attrs, WS_COL_device_attr_attr, i));
		char text[32];

		snprintf(text, sizeof(text), "%lld",
		         (long long)ws_value(&attrs, WS_COL_device_attr_value, i));
		status = put_device_fact(t, ws_value(&attrs, WS_COL_device_attr_device, i),
		                         m->texts[key], bytes_of(text), err);
	}
	ws_table_data_release(&attrs);
	return status;
}

/* The counters only grow: the last reading of each cause counts. */
static enum ws_status put_losses(struct ws_parquet_table *t, const struct ws_model *m,
                                 struct ws_err *err)
{
	uint64_t *last = calloc(m->ntexts, sizeof(*last)); /* row + 1 by text */
	enum ws_status status = WS_OK;

	WS_FAIL_IF(!last, err, NO_MEMORY, "no memory for losses");
	for (uint64_t i = 0; i < m->loss.rows; i++)
		last[ws_model_text(m, ws_value(&m->loss, WS_COL_loss_cause, i))] = i + 1;
	for (size_t text = 0; text < m->ntexts && status == WS_OK; text++) {
		char number[32];

		if (!last[text])
			continue;
		snprintf(number, sizeof(number), "%llu",
		         (unsigned long long)ws_value(&m->loss, WS_COL_loss_count, last[text] - 1));
		status = put_fact(t, "loss", m->texts[text], bytes_of(number), err);
	}
	free(last);
	return status;
}

static enum ws_status put_facts(struct ws_parquet_table *t, const struct ws_parquet_export *x,
                                struct ws_err *err)
{
	const struct ws_model *m = x->m;

	WS_FORWARD(put_trace_facts(t, m, err));
	for (uint64_t i = 0; i < m->meta.rows; i++)
		WS_FORWARD(put_fact(t, "meta", ws_blob(&m->meta, WS_COL_meta_key, i),
		                    ws_blob(&m->meta, WS_COL_meta_value, i), err));
	for (size_t i = 0; i < m->nfacts; i++)
		WS_FORWARD(put_fact(t, "workload", m->facts[i].key, m->facts[i].value, err));
	WS_FORWARD(put_devices(t, x, err));
	return put_losses(t, m, err);
}

static enum ws_status export_facts(struct ws_parquet_export *x, struct ws_parquet_table *t,
                                   struct ws_err *err)
{
	static const struct ws_parquet_field fields[] = {WS_PARQUET_FACT_FIELDS(WS_PARQUET_FIELD)};
	enum ws_status status = ws_parquet_table_begin(t, &x->folder, "facts", fields,
	                                               sizeof(fields) / sizeof(fields[0]), err);

	if (status == WS_OK)
		status = put_facts(t, x, err);
	return ws_parquet_table_end(t, status, err);
}

enum ws_status ws_parquet_export_joined(struct ws_parquet_export *x, struct ws_err *err)
{
	struct ws_parquet_table *t = calloc(1, sizeof(*t));
	enum ws_status status;

	WS_FAIL_IF(!t, err, NO_MEMORY, "out of memory");
	status = export_kernels(x, t, err);
	if (status == WS_OK)
		status = export_ranges(x, t, err);
	if (status == WS_OK)
		status = export_facts(x, t, err);
	free(t);
	return status;
}
