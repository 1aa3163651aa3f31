/*
 * The Parquet table of facts: what the trace, its devices and its workload
 * say of themselves.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/model/columns.h"
#include "report/export/parquet/parquet.def"
#include "report/export/parquet/private.h"

/* A value that is a whole number in decimal is a number, too. */
static bool parse_number(struct ws_bytes value, int64_t *number)
{
	char text[24], *end;

	*number = 0;
	if (!value.len || value.len >= sizeof(text) ||
	    !memchr("-0123456789", *(const char *)value.ptr, 11))
		return false;
	memcpy(text, value.ptr, value.len);
	text[value.len] = 0;
	errno = 0;
	*number = strtoll(text, &end, 10);
	return !errno && end == text + value.len;
}

/* device: NULL = of none */
static void put_fact(struct ws_parquet_table *t, const char *source, const uint64_t *device,
                     struct ws_bytes key, struct ws_bytes value)
{
	struct ws_parquet_writer *w = t->w;
	int64_t number;
	const bool is_number = parse_number(value, &number);

	WS_PARQUET_FACT_FIELDS(WS_PARQUET_PUT)
	ws_parquet_table_end_row(t);
}

static void put_trace_facts(struct ws_parquet_table *t, const struct ws_model *m)
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
		put_fact(t, "trace", NULL, ws_bytes_of(numbers[i].key), ws_bytes_of(text));
	}
}

struct attrs {
	struct ws_parquet_table *t;
	const struct ws_model *m;
};

static void put_attr(void *ctx, const void *row)
{
	const struct ws_row_device_attr *r = row;
	const struct attrs *a = ctx;
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)r->value);
	put_fact(a->t, "device", &r->device, a->m->texts[ws_model_text(a->m, r->attr)],
	         ws_bytes_of(text));
}

static enum ws_status put_devices(struct ws_parquet_table *t, const struct ws_parquet_export *x,
                                  struct ws_err *err)
{
	const struct ws_model *m = x->m;
	struct attrs attrs = {t, m};

	for (size_t i = 0; i < m->ndevices; i++)
		put_fact(t, "device", &m->devices[i].id, ws_bytes_of("name"),
		         m->texts[m->devices[i].name]);
	return ws_records_each(x->r, WS_KIND_DEVICE_ATTR, put_attr, &attrs, err);
}

/* The counters only grow: the last reading of each cause counts. */
static void put_losses(struct ws_parquet_table *t, const struct ws_model *m)
{
	uint64_t *last = ws_xarray(m->ntexts, sizeof(*last)); /* row + 1 by text */

	for (uint64_t i = 0; i < m->loss.rows; i++)
		last[ws_model_text(m, ws_value(&m->loss, WS_COL_loss_cause, i))] = i + 1;
	for (size_t text = 0; text < m->ntexts; text++) {
		char number[32];

		if (!last[text])
			continue;
		snprintf(number, sizeof(number), "%llu",
		         (unsigned long long)ws_value(&m->loss, WS_COL_loss_count, last[text] - 1));
		put_fact(t, "loss", NULL, m->texts[text], ws_bytes_of(number));
	}
	free(last);
}

static enum ws_status put_facts(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	const struct ws_parquet_export *x = ctx;
	const struct ws_model *m = x->m;

	put_trace_facts(t, m);
	for (uint64_t i = 0; i < m->meta.rows; i++)
		put_fact(t, "meta", NULL, ws_blob(&m->meta, WS_COL_meta_key, i),
		         ws_blob(&m->meta, WS_COL_meta_value, i));
	for (size_t i = 0; i < m->nfacts; i++)
		put_fact(t, "workload", NULL, m->facts[i].key, m->facts[i].value);
	WS_FORWARD(put_devices(t, x, err));
	put_losses(t, m);
	return WS_OK;
}

enum ws_status ws_parquet_export_facts(struct ws_parquet_export *x, struct ws_err *err)
{
	return WS_PARQUET_TABLE_WRITE(&x->folder, "facts", WS_PARQUET_FACT_FIELDS, put_facts, x,
	                              err);
}
