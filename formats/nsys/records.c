/*
 * Tables whose rows are records of one kind, and what rows of some mean beside their cells. The
 * mapping is documented in docs/reference/import.md. Tables of our own are trusted no more than
 * the others: ids are looked up, times and sizes checked.
 */
#include "formats/base/grow.h"
#include "formats/nsys/nsys.h"

#define MAX_ROW_BYTES (WS_NSYS_MAX_OWN_COLUMNS * sizeof(struct ws_bytes))

/* --- cells --- */

static bool lacks_field(const struct ws_nsys_rows *r)
{
	r->n->out->lost[WS_LOST_import_missing_field]++;
	return false;
}

/* What our own export names by its id there. */
static bool take_known(const struct ws_nsys_rows *r, const struct ws_map *ids, uint64_t id,
                       uint64_t *to)
{
	const uint64_t *known = ws_map_get(ids, id);

	if (!known)
		return lacks_field(r);
	*to = *known;
	return true;
}

static bool take_blob(const struct ws_nsys_rows *r, int at, void *to)
{
	const void *bytes = sqlite3_column_blob(r->stmt, at);
	const struct ws_bytes blob = {bytes, (size_t)sqlite3_column_bytes(r->stmt, at)};

	if (blob.len > WS_MAX_BLOB_BYTES)
		return lacks_field(r);
	memcpy(to, &blob, sizeof(blob));
	return true;
}

static int64_t take_choice(const struct ws_nsys_choice *choice, int64_t value, bool is_null)
{
	return is_null || value < choice->first || value > choice->last ? 0 : value + choice->shift;
}

/* What a cell that names something names in the trace. */
static bool take_name(const struct ws_nsys_rows *r, const struct ws_nsys_column_def *c,
                      enum ws_nsys_column column, uint64_t *to)
{
	switch ((enum ws_nsys_meaning)c->meaning) {
	case WS_NSYS_AS_TEXT:
		ws_nsys_string(r, column, to);
		return true;
	case WS_NSYS_AS_THREAD:
		if (!*to)
			return lacks_field(r);
		ws_nsys_thread(r, column, to);
		return true;
	case WS_NSYS_AS_THREAD_OR_NONE:
	case WS_NSYS_AS_THREAD_OR_0:
		ws_nsys_thread(r, column, to);
		return true;
	case WS_NSYS_AS_PROCESS:
		*to = ws_nsys_pid(r, column);
		return true;
	case WS_NSYS_AS_OP_CONFIG:
		return take_known(r, &r->n->op_configs, *to, to);
	case WS_NSYS_AS_PAYLOAD_SCHEMA:
		return take_known(r, &r->n->payload_schemas, *to, to);
	default:
		ws_import_device_used(r->n->out, *to);
		return true;
	}
}

/* The cell in column at; what it is in the trace goes to the row. */
static bool take_cell(const struct ws_nsys_rows *r, int at, uint8_t *row)
{
	const struct ws_nsys_column_def *c = &r->columns[at];
	const enum ws_nsys_column column = (enum ws_nsys_column)(r->first + at);
	const int64_t value = r->integer[at]; /* 0 for NULL */
	const bool is_null = r->type[at] == SQLITE_NULL;
	uint64_t *to = (uint64_t *)(void *)(row + c->row_offset);
	double real;

	*to = (uint64_t)value;
	switch ((enum ws_nsys_meaning)c->meaning) {
	case WS_NSYS_AS_NUMBER:
	case WS_NSYS_AS_NUMBER_OR_ZERO:
		*to = value < 0 ? 0 : (uint64_t)value;
		return true;
	case WS_NSYS_AS_SIGNED:
	case WS_NSYS_AS_START:
		return true;
	case WS_NSYS_AS_END:
		return ws_nsys_span(r, column - 1, column,
		                    (int64_t *)(void *)(row + c[-1].row_offset), (int64_t *)to);
	case WS_NSYS_AS_TIME:
		return ws_import_time_ok(r->n->out, value, 0);
	case WS_NSYS_AS_DUR:
		return ws_import_time_ok(r->n->out, 0, value);
	case WS_NSYS_AS_ID_OR_NONE:
		*to = is_null || value == UINT32_MAX ? UINT64_MAX : (uint64_t)value;
		return true;
	case WS_NSYS_AS_PRIORITY:
		*to = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
		return true;
	case WS_NSYS_AS_REAL:
		real = sqlite3_column_double(r->stmt, at);
		memcpy(to, &real, sizeof(real));
		return true;
	case WS_NSYS_AS_BLOB:
		return take_blob(r, at, to);
	case WS_NSYS_AS_THREAD_OR_NONE:
	case WS_NSYS_AS_DEVICE_OR_NONE:
		return !value || take_name(r, c, column, to);
	default:
		if (c->meaning < WS_NSYS_AS_LAUNCH_TYPE)
			return take_name(r, c, column, to);
		*to = (uint64_t)take_choice(&ws_nsys_choices[c->meaning], value, is_null);
		return true;
	}
}

/* The row's cells that are fields of this kind, which begins as zeros. 0 and counted: they cannot
 * be believed. */
static bool take(const struct ws_nsys_rows *r, enum ws_kind kind, void *row)
{
	for (int at = 0; at < r->ncolumns; at++)
		if (r->columns[at].kind == kind && !take_cell(r, at, row))
			return false;
	return true;
}

/* --- rows that say more than their cells --- */

/* The printed name; exports without it have one of the others. */
static void kernel_name(const struct ws_nsys_rows *r, uint64_t *name)
{
	ws_nsys_string(r, WS_NSYS_KERNEL_demangledName, name);
	if (!*name)
		ws_nsys_string(r, WS_NSYS_KERNEL_shortName, name);
	if (!*name)
		ws_nsys_string(r, WS_NSYS_KERNEL_mangledName, name);
}

static bool take_config(const struct ws_nsys_rows *r, struct ws_row_kernel *row)
{
	struct ws_row_launch_config c = {0};

	if (!take(r, WS_KIND_LAUNCH_CONFIG, &c))
		return false;
	kernel_name(r, &c.name);
	ws_trace_writer_intern_config(r->n->out->w, &c, &row->config, NULL);
	return true;
}

static void take_peers(const struct ws_nsys_rows *r, struct ws_row_memcpy *row)
{
	if (row->kind != WS_MEMCPY_PTOP)
		return;
	row->src_device = ws_nsys_u64(r, WS_NSYS_MEMCPY_srcDeviceId);
	row->dst_device = ws_nsys_u64(r, WS_NSYS_MEMCPY_dstDeviceId);
	ws_import_device_used(r->n->out, row->src_device);
	ws_import_device_used(r->n->out, row->dst_device);
}

static void put_payload(struct ws_nsys *n, const struct ws_row_payload *row)
{
	uint64_t id;

	ws_import_keep(n->out, 1);
	ws_trace_writer_intern_payload(n->out->w, row->schema, row->bytes.ptr, row->bytes.len, &id,
	                               NULL);
	ws_map_add(&n->payloads, row->id, id);
}

/* The id of a definition, which is told once. */
static bool is_new(struct ws_nsys *n, struct ws_map *ids, uint64_t id, uint64_t in_trace)
{
	if (!ws_map_get(ids, id)) {
		ws_map_add(ids, id, in_trace);
		return true;
	}
	ws_import_skip(n->out, "definitions that were told before", 1);
	return false;
}

static bool is_wanted(struct ws_nsys *n, const struct ws_row_meta *meta)
{
	if (!ws_bytes_begin(meta->key, "tool.") && !ws_bytes_begin(meta->key, "import."))
		return true;
	ws_import_skip(n->out, "facts about the tool that wrote the export", 1);
	return false;
}

/* Beside what its cells say. 0: it is no row of the trace. */
static bool complete_row(const struct ws_nsys_rows *r, enum ws_kind kind, void *row)
{
	struct ws_nsys *n = r->n;
	struct ws_row_op_config *op = row;
	uint64_t id;

	switch (kind) {
	case WS_KIND_KERNEL:
		return take_config(r, row);
	case WS_KIND_MEMCPY:
		take_peers(r, row);
		return true;
	case WS_KIND_SYNC:
		((struct ws_row_sync *)row)->event_stream = -1;
		return true;
	case WS_KIND_PAYLOAD:
		put_payload(n, row);
		return false;
	case WS_KIND_PAYLOAD_SCHEMA:
		id = ((const struct ws_row_payload_schema *)row)->id;
		return is_new(n, &n->payload_schemas, id, id);
	case WS_KIND_OP_CONFIG:
		id = op->id;
		op->id = n->op_configs.n + 1;
		return is_new(n, &n->op_configs, id, op->id);
	case WS_KIND_META:
		return is_wanted(n, row);
	case WS_KIND_DEVICE:
		ws_import_device_used(n->out, ((const struct ws_row_device *)row)->id);
		return true;
	default:
		return true;
	}
}

/* --- tables --- */

static void import_rows(struct ws_nsys_rows *rows, enum ws_kind kind)
{
	_Alignas(8) uint8_t row[MAX_ROW_BYTES];
	const size_t size = ws_schema_kind(kind)->row_size;

	while (ws_nsys_next(rows)) {
		memset(row, 0, size);
		if (take(rows, kind, row) && complete_row(rows, kind, row))
			ws_import_record(rows->n->out, kind, row);
	}
	ws_nsys_close(rows);
}

/* Our own exports have tables of some kinds that say more. */
static void import_table(struct ws_nsys *n, enum ws_nsys_table table)
{
	const enum ws_kind kind = ws_nsys_tables[table].kind;
	struct ws_nsys_rows rows;
	char own[64];

	ws_nsys_own_name(kind, own);
	if (ws_nsys_is_own_kind(kind) && ws_nsys_has_table(n, own)) {
		ws_nsys_leave_out(n, ws_nsys_tables[table].name);
		return;
	}
	ws_nsys_open_rows(n, table, "", &rows);
	import_rows(&rows, kind);
}

static void import_own_table(struct ws_nsys *n, enum ws_kind kind)
{
	struct ws_nsys_column_def columns[WS_NSYS_MAX_OWN_COLUMNS];
	struct ws_nsys_rows rows;
	char table[64];

	ws_nsys_own_name(kind, table);
	ws_nsys_open_own(n, table, columns, ws_nsys_own_columns(kind, columns), &rows);
	import_rows(&rows, kind);
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

void ws_nsys_import_records(struct ws_nsys *n)
{
	import_table(n, WS_NSYS_CONTEXT);
	import_table(n, WS_NSYS_STREAM);
	/* calls first: they tell the process where other tables do not */
	for (enum ws_nsys_table table = WS_NSYS_RUNTIME; table <= WS_NSYS_OVERHEAD; table++)
		import_table(n, table);
	for (size_t i = 0; i < ws_nsys_own_kinds_count; i++)
		import_own_table(n, ws_nsys_own_kinds[i]);
	ws_nsys_each(n, WS_NSYS_OWN_PAYLOAD, on_nvtx_payload);
}
