/*
 * The Parquet table of facts: what the trace, its devices and its workload
 * say of themselves.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/model/columns.h"
#include "report/export/parquet/parquet.def"
#include "report/export/parquet/private.h"

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
		WS_FORWARD(
		        put_fact(t, "trace", ws_bytes_of(numbers[i].key), ws_bytes_of(text), err));
	}
	return WS_OK;
}

static enum ws_status put_devices(struct ws_parquet_table *t, const struct ws_parquet_export *x,
                                  struct ws_err *err)
{
	const struct ws_model *m = x->m;
	struct ws_column_data attrs;
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < m->ndevices && status == WS_OK; i++)
		status = put_device_fact(t, m->devices[i].id, ws_bytes_of("name"),
		                         m->texts[m->devices[i].name], err);
	WS_THEN(status, ws_trace_reader_load(x->r, WS_KIND_DEVICE_ATTR, &attrs, err));
	if (status != WS_OK)
		return status;
	for (uint64_t i = 0; i < attrs.rows && status == WS_OK; i++) {
		uint32_t key = ws_model_text(m, ws_value(&attrs, WS_COL_device_attr_attr, i));
		char text[32];

		snprintf(text, sizeof(text), "%lld",
		         (long long)ws_value(&attrs, WS_COL_device_attr_value, i));
		status = put_device_fact(t, ws_value(&attrs, WS_COL_device_attr_device, i),
		                         m->texts[key], ws_bytes_of(text), err);
	}
	ws_column_data_release(&attrs);
	return status;
}

/* The counters only grow: the last reading of each cause counts. */
static enum ws_status put_losses(struct ws_parquet_table *t, const struct ws_model *m,
                                 struct ws_err *err)
{
	uint64_t *last = calloc(m->ntexts, sizeof(*last)); /* row + 1 by text */
	enum ws_status status = WS_OK;

	WS_FAIL_IF(!last, err, NO_MEMORY, "out of memory for losses");
	for (uint64_t i = 0; i < m->loss.rows; i++)
		last[ws_model_text(m, ws_value(&m->loss, WS_COL_loss_cause, i))] = i + 1;
	for (size_t text = 0; text < m->ntexts && status == WS_OK; text++) {
		char number[32];

		if (!last[text])
			continue;
		snprintf(number, sizeof(number), "%llu",
		         (unsigned long long)ws_value(&m->loss, WS_COL_loss_count, last[text] - 1));
		status = put_fact(t, "loss", m->texts[text], ws_bytes_of(number), err);
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

enum ws_status ws_parquet_export_facts(struct ws_parquet_export *x, struct ws_parquet_table *t,
                                       struct ws_err *err)
{
	static const struct ws_parquet_field fields[] = {WS_PARQUET_FACT_FIELDS(WS_PARQUET_FIELD)};
	enum ws_status status = ws_parquet_table_begin(t, &x->folder, "facts", fields,
	                                               sizeof(fields) / sizeof(fields[0]), err);

	WS_THEN(status, put_facts(t, x, err));
	return ws_parquet_table_end(t, status, err);
}
