#include "report/export/nsys/nsys.h"

#include <stdio.h>

static const struct {
	const char *name;
	int first;
} tables[] = {
#define TABLE(ID, name, first)   {name, WS_OUT_##ID##_##first},
#define WRITTEN(ID, name, first) TABLE(ID, name, first)
#include "formats/nsys/nsys.def"
};

static const struct {
	enum ws_nsys_out_table table;
	const char *name, *type;
} columns[] = {
#define COLUMN(ID, column, type, READ) {WS_OUT_##ID, #column, type},
#include "formats/nsys/nsys.def"
};

/* --- tables of names --- */

static enum ws_status write_enums(struct ws_nsys_out *o, struct ws_err *err)
{
	static const struct {
		const char *table;
		int id;
		const char *name, *label;
	} rows[] = {
#define ENUM(table, id, name, label) {table, id, name, label},
#include "formats/nsys/nsys.def"
	};
	static const char columns_of_names[] =
	        "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT";
	struct ws_sqlite_table *t = NULL;
	const char *before = "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ws_sqlite_value row[] = {
		        {.type = WS_SQLITE_NULL},
		        {WS_SQLITE_TEXT, .bytes = {rows[i].name, strlen(rows[i].name)}},
		        {WS_SQLITE_TEXT, .bytes = {rows[i].label, strlen(rows[i].label)}},
		};

		if (strcmp(before, rows[i].table) != 0)
			WS_FORWARD(
			        ws_sqlite_table(o->db, rows[i].table, columns_of_names, &t, err));
		before = rows[i].table;
		WS_FORWARD(ws_sqlite_put(o->db, t, rows[i].id, row, 3, err));
	}
	return WS_OK;
}

static enum ws_status create(struct ws_nsys_out *o, enum ws_nsys_out_table table,
                             struct ws_err *err)
{
	char sql[2048];
	size_t len = 0;

	for (int c = tables[table].first; c < WS_OUT_COLUMNS && columns[c].table == table; c++)
		len += (size_t)snprintf(sql + len, sizeof(sql) - len, "%s\"%s\" %s",
		                        len ? ", " : "", columns[c].name, columns[c].type);
	return ws_sqlite_table(o->db, tables[table].name, sql, &o->table[table], err);
}

enum ws_status ws_nsys_out_open(struct ws_nsys_out *o, const char *path, struct ws_err *err)
{
	WS_FORWARD(ws_sqlite_create(&o->db, path, err));
	WS_FORWARD(write_enums(o, err));
	/* queries join these, with or without rows */
	WS_FORWARD(create(o, WS_OUT_STRING, err));
	return create(o, WS_OUT_THREAD, err);
}

/* --- rows --- */

void ws_nsys_set(struct ws_nsys_out *o, enum ws_nsys_out_column c, int64_t value)
{
	o->value[c].type = WS_SQLITE_INTEGER;
	o->value[c].integer = value;
}

void ws_nsys_set_known(struct ws_nsys_out *o, enum ws_nsys_out_column c, uint64_t value)
{
	if (value)
		ws_nsys_set(o, c, (int64_t)value);
}

void ws_nsys_set_real(struct ws_nsys_out *o, enum ws_nsys_out_column c, double value)
{
	o->value[c].type = WS_SQLITE_REAL;
	o->value[c].real = value;
}

void ws_nsys_set_text(struct ws_nsys_out *o, enum ws_nsys_out_column c, struct ws_bytes text)
{
	o->value[c].type = WS_SQLITE_TEXT;
	o->value[c].bytes = text;
}

/* Where a table has a key, StringIds.id and NVTX_EVENTS.eventId, it is the number of the row. */
enum ws_status ws_nsys_put(struct ws_nsys_out *o, enum ws_nsys_out_table table, struct ws_err *err)
{
	const int first = tables[table].first;
	struct ws_sqlite_value *row = &o->value[first];
	unsigned n = 0;

	if (!o->table[table])
		WS_FORWARD(create(o, table, err));
	while (first + (int)n < WS_OUT_COLUMNS && columns[first + (int)n].table == table)
		n++;
	WS_FORWARD(ws_sqlite_put(o->db, o->table[table], ++o->rows[table], row, n, err));
	ws_export_progress_tell(&o->progress, 1);
	memset(row, 0, n * sizeof(*row));
	return WS_OK;
}
