/*
 * Tables that our own exports add to the schema of Nsight Systems; see
 * formats/foreign/nsys_own.h. They are trusted no more than the others: ids are
 * looked up, times and sizes checked.
 */
#include "formats/base/grow.h"
#include "formats/nsys/nsys.h"

#include "formats/foreign/nsys_own.h"

#define MAX_ROW_BYTES 1024

struct own_tables {
	struct ws_nsys *n;
	const struct ws_kind_def *def;
	struct ws_map schemas; /* payload schemas that there are */
	struct ws_map ops;     /* op_config of the table -> of the trace */
};

static void open_table(struct ws_nsys *n, const struct ws_kind_def *def, const char *table,
                       struct ws_nsys_rows *rows)
{
	sqlite3_str *sql;

	*rows = (struct ws_nsys_rows){.n = n, .table = table};
	if (!ws_nsys_has_table(n, table))
		return;
	sql = sqlite3_str_new(n->db);
	sqlite3_str_appendall(sql, "SELECT ");
	for (unsigned c = 0; c < def->ncolumns; c++) {
		const char *name = def->columns[c].name;
		int present = ws_nsys_has_column(n, table, name);

		sqlite3_str_appendf(sql, present ? "%s\"%w\"" : "%sNULL", c ? "," : "", name);
	}
	ws_nsys_begin_rows(rows, sql, 1, "");
}

/* --- cells --- */

/* The row of another kind that a number names; *ok = 0 when there is none. */
static void follow(struct own_tables *own, const struct ws_ref_column *ref, uint64_t *id, int *ok)
{
	const uint64_t *known;

	if (ref->target == WS_KIND_DEVICE && *id > INT64_MAX) {
		*ok = 0;
		return;
	}
	if (ref->target == WS_KIND_DEVICE) {
		ws_import_device_used(own->n->out, *id);
		return;
	}
	known = ws_map_get(ref->target == WS_KIND_OP_CONFIG ? &own->ops : &own->schemas, *id);
	*ok &= known != NULL;
	if (known)
		*id = *known;
}

/* What a cell means in the trace; *ok = 0 when it names something that there is not. */
static void translate(struct own_tables *own, const struct ws_nsys_rows *r, unsigned column,
                      uint64_t *out, int *ok)
{
	int type = sqlite3_column_type(r->stmt, (int)column), is_null = type == SQLITE_NULL;
	struct ws_ref_column ref = {.zero_is_none = 1};
	int is_ref = ws_ref_column_at(own->def, column, &ref);

	*ok &= is_null || type == SQLITE_INTEGER;
	*out = (uint64_t)sqlite3_column_int64(r->stmt, (int)column); /* 0 for NULL */
	switch (ws_nsys_own_value(own->def, column)) {
	case WS_NSYS_OWN_TEXT:
		if (!is_null)
			ws_nsys_string_of(own->n, *out, out);
		return;
	case WS_NSYS_OWN_THREAD:
		if (!is_null)
			ws_import_thread(own->n->out, *out >> 24 & 0xffffff, *out & 0xffffff,
			                 (struct ws_bytes){NULL, 0}, out);
		else
			*ok &= ref.zero_is_none;
		return;
	case WS_NSYS_OWN_PROCESS:
		*out = *out >> 24 & 0xffffff;
		return;
	case WS_NSYS_OWN_PLAIN:
		break;
	}
	if (!is_ref || (!*out && ref.zero_is_none))
		return;
	follow(own, &ref, out, ok);
}

static void take_blob(const struct ws_nsys_rows *r, unsigned column, uint8_t *to, int *ok)
{
	const void *bytes = sqlite3_column_blob(r->stmt, (int)column);
	struct ws_bytes blob = {bytes, (size_t)sqlite3_column_bytes(r->stmt, (int)column)};

	*ok &= blob.len <= WS_MAX_BLOB_BYTES;
	memcpy(to, &blob, sizeof(blob));
}

static void take_row(struct own_tables *own, const struct ws_nsys_rows *r, uint8_t *row, int *ok)
{
	*ok = 1;
	for (unsigned c = 0; c < own->def->ncolumns; c++) {
		const struct ws_column_def *d = &own->def->columns[c];
		uint8_t *to = row + d->row_offset;
		uint64_t value = 0;
		double real;

		if (d->type == WS_TYPE_BLOB) {
			take_blob(r, c, to, ok);
			continue;
		}
		if (d->type == WS_TYPE_F64) {
			real = sqlite3_column_double(r->stmt, (int)c);
			memcpy(&value, &real, sizeof(value));
		} else {
			translate(own, r, c, &value, ok);
		}
		if ((d->type == WS_TYPE_TIME || d->type == WS_TYPE_DUR) && *ok)
			*ok &= d->type == WS_TYPE_TIME
			               ? ws_import_time_ok(own->n->out, (int64_t)value, 0)
			               : ws_import_time_ok(own->n->out, 0, (int64_t)value);
		memcpy(to, &value, sizeof(value));
	}
}

/* --- rows --- */

static void put_payload(struct own_tables *own, const struct ws_row_payload *row)
{
	uint64_t id;

	ws_import_keep(own->n->out, 1);
	ws_trace_writer_intern_payload(own->n->out->w, row->schema, row->bytes.ptr, row->bytes.len,
	                               &id, NULL);
	ws_map_add(&own->n->payloads, row->id, id);
}

static void twice(struct ws_import_out *out)
{
	ws_import_skip(out, "definitions that were told before", 1);
}

/* Rows whose id must be counted, or must be the only one, or that an import has of its own. */
static void put_row(struct own_tables *own, void *row)
{
	struct ws_import_out *out = own->n->out;
	struct ws_row_op_config *op = row;
	const struct ws_row_meta *meta = row;
	uint64_t id;

	switch (own->def->id) {
	case WS_KIND_PAYLOAD:
		put_payload(own, row);
		return;
	case WS_KIND_PAYLOAD_SCHEMA:
		id = ((const struct ws_row_payload_schema *)row)->id;
		if (ws_map_get(&own->schemas, id)) {
			twice(out);
			return;
		}
		ws_map_add(&own->schemas, id, id);
		break;
	case WS_KIND_OP_CONFIG:
		if (ws_map_get(&own->ops, op->id)) {
			twice(out);
			return;
		}
		id = own->ops.n + 1;
		ws_map_add(&own->ops, op->id, id);
		op->id = id;
		break;
	case WS_KIND_META:
		if (ws_bytes_begin(meta->key, "tool.") || ws_bytes_begin(meta->key, "import.")) {
			ws_import_skip(out, "facts about the tool that wrote the export", 1);
			return;
		}
		break;
	case WS_KIND_DEVICE:
		ws_import_device_used(out, ((const struct ws_row_device *)row)->id);
		break;
	}
	ws_import_record(out, (enum ws_kind)own->def->id, row);
}

static enum ws_status import_kind(struct own_tables *own, struct ws_err *err)
{
	_Alignas(8) uint8_t row[MAX_ROW_BYTES];
	struct ws_nsys_rows rows;
	char table[64];
	int ok;

	WS_FAIL_IF(own->def->row_size > sizeof(row), err, BUG, "a row of %s is too large",
	           own->def->name);
	snprintf(table, sizeof(table), WS_NSYS_OWN_PREFIX "%s", own->def->name);
	open_table(own->n, own->def, table, &rows);
	while (ws_nsys_next(&rows)) {
		uint64_t *lost = own->n->out->lost, bad_times = lost[WS_LOST_import_bad_time];

		memset(row, 0, own->def->row_size);
		take_row(own, &rows, row, &ok);
		if (ok)
			put_row(own, row);
		else if (lost[WS_LOST_import_bad_time] == bad_times)
			lost[WS_LOST_import_missing_field]++;
	}
	ws_nsys_close(&rows);
	return WS_OK;
}

static void add_event(struct ws_nsys *n, uint64_t event, uint64_t payload)
{
	if (n->nevent_payloads && n->event_payload[n->nevent_payloads - 1].key >= event) {
		ws_map_add(&n->other_payloads, event, payload);
		return;
	}
	WS_GROW(n->event_payload, n->nevent_payloads + 1, n->event_payloads_capacity);
	n->event_payload[n->nevent_payloads++] = (struct ws_map_entry){event, payload};
}

static void on_nvtx_payload(const struct ws_nsys_rows *r)
{
	const uint64_t *payload =
	        ws_map_get(&r->n->payloads, (uint64_t)ws_nsys_i64(r, WS_NSYS_OWN_PAYLOAD_payload));

	if (payload) {
		ws_import_keep(r->n->out, 1);
		add_event(r->n, (uint64_t)ws_nsys_i64(r, WS_NSYS_OWN_PAYLOAD_eventId), *payload);
		return;
	}
	r->n->out->lost[WS_LOST_import_missing_field]++;
}

enum ws_status ws_nsys_import_own(struct ws_nsys *n, struct ws_err *err)
{
	static const enum ws_kind kinds[] = {
#define X(NAME, name) WS_KIND_##NAME,
	        WS_NSYS_OWN_LIST(X)
#undef X
	};
	struct own_tables own = {.n = n};
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && status == WS_OK; i++) {
		own.def = ws_schema_kind(kinds[i]);
		status = import_kind(&own, err);
	}
	ws_map_free(&own.schemas);
	ws_map_free(&own.ops);
	if (status == WS_OK)
		ws_nsys_each(n, WS_NSYS_OWN_PAYLOAD, on_nvtx_payload);
	return status;
}
