/*
 * Records that the schema of Nsight Systems has no table for, in tables of
 * our own; see formats/foreign/nsys_own.h.
 */
#include <stdbool.h>
#include <stdio.h>

#include "report/export/nsys/nsys.h"

#define MAX_COLUMNS 64u

struct own_table {
	struct ws_nsys_out *o;
	const struct ws_kind_def *def;
	sqlite3_stmt *insert;
	struct ws_nsys_value value[MAX_COLUMNS];
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

static void create(struct own_table *t)
{
	char name[64], sql[2048];
	size_t len = 0;

	snprintf(name, sizeof(name), WS_NSYS_OWN_PREFIX "%s", t->def->name);
	for (unsigned c = 0; c < t->def->ncolumns; c++)
		len += (size_t)snprintf(sql + len, sizeof(sql) - len, "%s\"%s\" %s", c ? ", " : "",
		                        t->def->columns[c].name, column_type(&t->def->columns[c]));
	ws_nsys_create(t->o, name, sql, t->def->ncolumns, &t->insert);
}

static void set_number(struct own_table *t, unsigned column, uint64_t value)
{
	enum ws_nsys_own_value meaning = ws_nsys_own_value(t->def, column);
	struct ws_nsys_value *v = &t->value[column];

	const bool is_none =
	        !value && meaning != WS_NSYS_OWN_PLAIN && meaning != WS_NSYS_OWN_PROCESS;

	v->type = is_none ? 0 : SQLITE_INTEGER;
	if (!is_none)
		ws_nsys_number(t->o, meaning, value, &v->integer);
}

static void on_row(void *ctx, const void *row)
{
	struct own_table *t = ctx;

	for (unsigned c = 0; c < t->def->ncolumns; c++) {
		const uint8_t *at = (const uint8_t *)row + t->def->columns[c].row_offset;

		switch (t->def->columns[c].type) {
		case WS_TYPE_BLOB:
			t->value[c].type = SQLITE_BLOB;
			memcpy(&t->value[c].bytes, at, sizeof(t->value[c].bytes));
			break;
		case WS_TYPE_F64:
			t->value[c].type = SQLITE_FLOAT;
			memcpy(&t->value[c].real, at, sizeof(t->value[c].real));
			break;
		default:
			set_number(t, c, ws_load_u64(at));
		}
	}
	ws_nsys_insert(t->o, t->insert, t->value, t->def->ncolumns);
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
		create(&t);
		WS_THEN(status, ws_records_each(o->r, kinds[i], on_row, &t, err));
		sqlite3_finalize(t.insert);
	}
	return status;
}
