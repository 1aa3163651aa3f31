/*
 * Records that the schema of Nsight Systems has no table for, in tables of
 * our own; see formats/foreign/nsys_own.h.
 */
#include "report/export/nsys/nsys.h"
#include "formats/foreign/nsys_own.h"

struct own_table {
	struct ws_nsys_out *o;
	const struct ws_kind_def *def;
	sqlite3_stmt *insert;
};

static const char *column_type(const struct ws_column_def *c)
{
	switch (c->type) {
	case WS_TYPE_BLOB:
		return "BLOB";
	case WS_TYPE_F64:
		return "REAL";
	default:
		return "INTEGER";
	}
}

static enum ws_status create(struct own_table *t, struct ws_err *err)
{
	struct ws_nsys_new_table table;

	ws_nsys_table_begin(&table, t->o, WS_NSYS_OWN_PREFIX, t->def->name);
	for (unsigned c = 0; c < t->def->ncolumns; c++)
		ws_nsys_table_column(&table, t->def->columns[c].name,
		                     column_type(&t->def->columns[c]));
	return ws_nsys_table_create(&table, &t->insert, err);
}

static enum ws_status bind_number(struct own_table *t, unsigned column, uint64_t value,
                                  struct ws_err *err)
{
	enum ws_nsys_own_value meaning = ws_nsys_own_value(t->def, column);
	int64_t id = (int64_t)value;

	if (!value && meaning != WS_NSYS_OWN_PLAIN && meaning != WS_NSYS_OWN_PROCESS) {
		sqlite3_bind_null(t->insert, (int)column + 1);
		return WS_OK;
	}
	if (meaning == WS_NSYS_OWN_TEXT)
		WS_FORWARD(ws_nsys_string_id(t->o, value, &id, err));
	else if (meaning == WS_NSYS_OWN_THREAD)
		WS_FORWARD(ws_nsys_global_tid(t->o, value, &id, err));
	else if (meaning == WS_NSYS_OWN_PROCESS)
		WS_FORWARD(ws_nsys_global_pid(t->o, value, &id, err));
	sqlite3_bind_int64(t->insert, (int)column + 1, id);
	return WS_OK;
}

static enum ws_status on_row(void *ctx, const void *row, struct ws_err *err)
{
	struct own_table *t = ctx;

	for (unsigned c = 0; c < t->def->ncolumns; c++) {
		const uint8_t *at = (const uint8_t *)row + t->def->columns[c].row_offset;
		struct ws_bytes bytes;
		double real;

		switch (t->def->columns[c].type) {
		case WS_TYPE_BLOB:
			memcpy(&bytes, at, sizeof(bytes));
			sqlite3_bind_blob64(t->insert, (int)c + 1, bytes.len ? bytes.ptr : "",
			                    bytes.len, SQLITE_STATIC);
			break;
		case WS_TYPE_F64:
			memcpy(&real, at, sizeof(real));
			sqlite3_bind_double(t->insert, (int)c + 1, real);
			break;
		default:
			WS_FORWARD(bind_number(t, c, ws_load_u64(at), err));
		}
	}
	return ws_nsys_out_step(t->o, t->insert, err);
}

enum ws_status ws_nsys_write_own(struct ws_nsys_out *o, struct ws_err *err)
{
	static const enum ws_kind kinds[] = {
#define X(NAME, name) WS_KIND_##NAME,
	        WS_NSYS_OWN_LIST(X)
#undef X
	};
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && status == WS_OK; i++) {
		struct own_table t = {.o = o, .def = ws_schema_kind(kinds[i])};

		if (!ws_trace_reader_count(o->r, kinds[i]))
			continue;
		status = create(&t, err);
		WS_THEN(status, ws_export_each(o->r, kinds[i], &o->progress, on_row, &t, err));
		sqlite3_finalize(t.insert);
	}
	return status;
}
