#include "report/export/nsys/nsys.h"

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

static enum ws_status fail(struct ws_nsys_out *o, struct ws_err *err)
{
	int code = o->db ? sqlite3_errcode(o->db) : SQLITE_NOMEM;

	WS_FAIL_IF(code == SQLITE_NOMEM, err, NO_MEMORY, "out of memory for the database");
	return WS_FAIL(err, IO_WRITE, "the database: %s", sqlite3_errmsg(o->db));
}

enum ws_status ws_nsys_out_run(struct ws_nsys_out *o, const char *sql, struct ws_err *err)
{
	return sqlite3_exec(o->db, sql, NULL, NULL, NULL) == SQLITE_OK ? WS_OK : fail(o, err);
}

enum ws_status ws_nsys_out_prepare(struct ws_nsys_out *o, const char *sql, sqlite3_stmt **stmt,
                                   struct ws_err *err)
{
	return sqlite3_prepare_v2(o->db, sql, -1, stmt, NULL) == SQLITE_OK ? WS_OK : fail(o, err);
}

enum ws_status ws_nsys_out_step(struct ws_nsys_out *o, sqlite3_stmt *stmt, struct ws_err *err)
{
	if (sqlite3_step(stmt) != SQLITE_DONE)
		return fail(o, err);
	sqlite3_reset(stmt);
	return WS_OK;
}

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
	const char *before = "";
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && status == WS_OK; i++) {
		char *sql = sqlite3_mprintf("INSERT INTO %s VALUES (%d, %Q, %Q)", rows[i].table,
		                            rows[i].id, rows[i].name, rows[i].label);
		char *create = sqlite3_mprintf("CREATE TABLE %s (id INTEGER NOT NULL PRIMARY KEY, "
		                               "name TEXT, label TEXT)",
		                               rows[i].table);

		if (!sql || !create)
			status = WS_FAIL_MEMORY(err, "the database");
		else if (strcmp(before, rows[i].table) != 0)
			status = ws_nsys_out_run(o, create, err);
		WS_THEN(status, ws_nsys_out_run(o, sql, err));
		before = rows[i].table;
		sqlite3_free(create);
		sqlite3_free(sql);
	}
	return status;
}

/* --- the file --- */

enum ws_status ws_nsys_out_open(struct ws_nsys_out *o, const char *path, struct ws_err *err)
{
	/* nobody reads it before it is whole, so no journal; the page size is fixed for equal bytes
	 */
	static const char settings[] = "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; "
	                               "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
	                               "PRAGMA encoding = 'UTF-8'; BEGIN";

	/* one thread uses it */
	if (sqlite3_open_v2(path, &o->db,
	                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                    NULL) != SQLITE_OK)
		return fail(o, err);
	WS_FORWARD(ws_nsys_out_run(o, settings, err));
	return write_enums(o, err);
}

enum ws_status ws_nsys_out_finish(struct ws_nsys_out *o, struct ws_err *err)
{
	WS_FORWARD(ws_nsys_out_run(o, "COMMIT", err));
	ws_nsys_out_free(o);
	return WS_OK;
}

void ws_nsys_out_free(struct ws_nsys_out *o)
{
	for (size_t i = 0; i < WS_OUT_TABLES; i++) {
		sqlite3_finalize(o->insert[i]);
		o->insert[i] = NULL;
	}
	sqlite3_close(o->db);
	o->db = NULL;
}

/* --- rows --- */

void ws_nsys_table_begin(struct ws_nsys_new_table *t, struct ws_nsys_out *o, const char *prefix,
                         const char *name)
{
	*t = (struct ws_nsys_new_table){o, sqlite3_str_new(o->db), sqlite3_str_new(o->db), 0};
	sqlite3_str_appendf(t->create, "CREATE TABLE %s%s (", prefix, name);
	sqlite3_str_appendf(t->insert, "INSERT INTO %s%s VALUES (", prefix, name);
}

void ws_nsys_table_column(struct ws_nsys_new_table *t, const char *name, const char *type)
{
	const char *comma = t->columns++ ? ", " : "";

	sqlite3_str_appendf(t->create, "%s\"%w\" %s", comma, name, type);
	sqlite3_str_appendf(t->insert, "%s?", comma);
}

enum ws_status ws_nsys_table_create(struct ws_nsys_new_table *t, sqlite3_stmt **insert,
                                    struct ws_err *err)
{
	char *create_sql, *insert_sql;
	enum ws_status status = WS_OK;

	sqlite3_str_appendall(t->create, ")");
	sqlite3_str_appendall(t->insert, ")");
	create_sql = sqlite3_str_finish(t->create);
	insert_sql = sqlite3_str_finish(t->insert);
	if (!create_sql || !insert_sql)
		status = WS_FAIL_MEMORY(err, "the database");
	WS_THEN(status, ws_nsys_out_run(t->o, create_sql, err));
	WS_THEN(status, ws_nsys_out_prepare(t->o, insert_sql, insert, err));
	sqlite3_free(create_sql);
	sqlite3_free(insert_sql);
	return status;
}

static enum ws_status create(struct ws_nsys_out *o, enum ws_nsys_out_table table,
                             struct ws_err *err)
{
	struct ws_nsys_new_table t;

	ws_nsys_table_begin(&t, o, "", tables[table].name);
	for (int c = tables[table].first; c < WS_OUT_COLUMNS && columns[c].table == table; c++)
		ws_nsys_table_column(&t, columns[c].name, columns[c].type);
	return ws_nsys_table_create(&t, &o->insert[table], err);
}

enum ws_status ws_nsys_row(struct ws_nsys_out *o, enum ws_nsys_out_table table, struct ws_err *err)
{
	if (!o->insert[table])
		return create(o, table, err);
	sqlite3_clear_bindings(o->insert[table]);
	return WS_OK;
}

static sqlite3_stmt *place(struct ws_nsys_out *o, enum ws_nsys_out_column c, int *n)
{
	*n = (int)c - tables[columns[c].table].first + 1;
	return o->insert[columns[c].table];
}

void ws_nsys_set(struct ws_nsys_out *o, enum ws_nsys_out_column c, int64_t value)
{
	int n;
	sqlite3_stmt *stmt = place(o, c, &n);

	sqlite3_bind_int64(stmt, n, value);
}

void ws_nsys_set_known(struct ws_nsys_out *o, enum ws_nsys_out_column c, uint64_t value)
{
	if (value)
		ws_nsys_set(o, c, (int64_t)value);
}

void ws_nsys_set_real(struct ws_nsys_out *o, enum ws_nsys_out_column c, double value)
{
	int n;
	sqlite3_stmt *stmt = place(o, c, &n);

	sqlite3_bind_double(stmt, n, value);
}

void ws_nsys_set_text(struct ws_nsys_out *o, enum ws_nsys_out_column c, struct ws_bytes text)
{
	int n;
	sqlite3_stmt *stmt = place(o, c, &n);

	sqlite3_bind_text(stmt, n, text.len ? text.ptr : "", (int)text.len, SQLITE_STATIC);
}

enum ws_status ws_nsys_put(struct ws_nsys_out *o, enum ws_nsys_out_table table, struct ws_err *err)
{
	return ws_nsys_out_step(o, o->insert[table], err);
}
