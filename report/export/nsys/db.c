#include "report/export/nsys/nsys.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "formats/base/own_file.h"
#include "formats/base/xalloc.h"

#define PAGE_SETUP                                                                              \
	"PRAGMA page_size = 4096; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; " \
	"PRAGMA synchronous = OFF; BEGIN"

/* --- the database --- */

/* The first failure is told at the end. */
static void check(struct ws_nsys_out *o, int code)
{
	if (code != SQLITE_OK && code != SQLITE_DONE)
		WS_THEN(o->status,
		        WS_FAIL(&o->err, IO_WRITE, "the database: %s", sqlite3_errmsg(o->db)));
}

static void execute(struct ws_nsys_out *o, const char *sql)
{
	check(o, sqlite3_exec(o->db, sql, NULL, NULL, NULL));
}

/* What is open already is not opened by its name, which others may have changed. */
static int open_for_sqlite(const char *path, int flags, int mode)
{
	const int fd = ws_own_file_descriptor(path);

	return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : open(path, flags | O_CLOEXEC, mode);
}

/* SQLite would look where /proc/self/fd/N leads and take that name. */
static int keep_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
	(void)vfs;
	sqlite3_snprintf(size, out, "%s", path);
	return strlen(path) < (size_t)size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static enum ws_status open_file(struct ws_nsys_out *o, const char *path, struct ws_err *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	sqlite3_vfs *unix_files = sqlite3_vfs_find("unix-none");
	struct stat st;

	WS_FAIL_IF(stat(path, &st) == 0 && !S_ISREG(st.st_mode), err, IO_WRITE,
	           "a database needs a regular file: give -o the name of one");
	WS_FAIL_IF(!unix_files, err, ENVIRONMENT, "this SQLite cannot write files");
	o->files = *unix_files;
	o->files.zName = "warpsheet";
	o->files.xFullPathname = keep_path;
	if (o->files.xSetSystemCall(unix_files, "open", (sqlite3_syscall_ptr)open_for_sqlite) !=
	            SQLITE_OK ||
	    sqlite3_vfs_register(&o->files, 0) != SQLITE_OK)
		return WS_FAIL(err, ENVIRONMENT, "this SQLite takes no file that is open");
	WS_FAIL_IF(sqlite3_open_v2(path, &o->db, flags, o->files.zName) != SQLITE_OK, err, IO_WRITE,
	           "the database: %s", sqlite3_errmsg(o->db));
	execute(o, PAGE_SETUP);
	return WS_OK;
}

/* definitions: what stands between the parentheses of CREATE TABLE, n of them. */
static void create_table(struct ws_nsys_out *o, const char *name, const char *definitions,
                         unsigned n, sqlite3_stmt **insert)
{
	char *create = sqlite3_mprintf("CREATE TABLE %s (%s)", name, definitions);
	sqlite3_str *sql = sqlite3_str_new(o->db);
	char *add;

	sqlite3_str_appendf(sql, "INSERT INTO %s VALUES (?", name);
	for (unsigned i = 1; i < n; i++)
		sqlite3_str_appendall(sql, ",?");
	sqlite3_str_appendall(sql, ")");
	add = sqlite3_str_finish(sql);
	if (!create || !add)
		ws_out_of_memory(strlen(definitions));
	execute(o, create);
	check(o, sqlite3_prepare_v3(o->db, add, -1, SQLITE_PREPARE_PERSISTENT, insert, NULL));
	sqlite3_free(create);
	sqlite3_free(add);
}

void ws_nsys_create(struct ws_nsys_out *o, const char *name,
                    const struct ws_nsys_column_def *columns, unsigned n, sqlite3_stmt **insert)
{
	char definitions[2048];
	size_t len = 0;

	for (unsigned i = 0; i < n; i++)
		len += (size_t)snprintf(definitions + len, sizeof(definitions) - len, "%s\"%s\" %s",
		                        i ? ", " : "", columns[i].name, columns[i].type);
	create_table(o, name, definitions, n, insert);
}

/* --- tables of names --- */

static struct ws_nsys_value text_value(const char *text)
{
	return (struct ws_nsys_value){SQLITE_TEXT, .bytes = ws_bytes_of(text)};
}

static void write_enums(struct ws_nsys_out *o)
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
	sqlite3_stmt *insert = NULL;
	const char *before = "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ws_nsys_value row[] = {
		        {SQLITE_INTEGER, .integer = rows[i].id},
		        text_value(rows[i].name),
		        text_value(rows[i].label),
		};

		if (strcmp(before, rows[i].table) != 0) {
			sqlite3_finalize(insert);
			insert = NULL;
			create_table(o, rows[i].table, columns_of_names, 3, &insert);
		}
		before = rows[i].table;
		ws_nsys_insert(o, insert, row, 3);
	}
	sqlite3_finalize(insert);
}

static void create(struct ws_nsys_out *o, enum ws_nsys_table table)
{
	const struct ws_nsys_table_def *def = &ws_nsys_tables[table];

	o->ncolumns[table] = ws_nsys_count_columns(table);
	ws_nsys_create(o, def->name, &ws_nsys_columns[def->first], o->ncolumns[table],
	               &o->table[table]);
}

/* NULL, or 0 where the schema wants a number. */
static void clear(struct ws_nsys_out *o, unsigned first, unsigned n)
{
	for (unsigned c = first; c < first + n; c++)
		o->value[c] = (struct ws_nsys_value){
		        .type = ws_nsys_columns[c].has_number ? SQLITE_INTEGER : 0};
}

enum ws_status ws_nsys_out_open(struct ws_nsys_out *o, const char *path, struct ws_err *err)
{
	WS_FORWARD(open_file(o, path, err));
	clear(o, 0, WS_NSYS_COLUMNS);
	write_enums(o);
	/* queries join these, with or without rows */
	create(o, WS_NSYS_STRING);
	create(o, WS_NSYS_THREAD);
	return WS_OK;
}

enum ws_status ws_nsys_out_finish(struct ws_nsys_out *o, struct ws_err *err)
{
	execute(o, "COMMIT");
	if (o->status != WS_OK && err)
		*err = o->err;
	return o->status;
}

void ws_nsys_out_close(struct ws_nsys_out *o)
{
	for (size_t i = 0; i < WS_NSYS_TABLES; i++)
		sqlite3_finalize(o->table[i]);
	sqlite3_close(o->db);
	if (o->files.zName) {
		o->files.xSetSystemCall(&o->files, "open", NULL);
		sqlite3_vfs_unregister(&o->files);
	}
}

/* --- rows --- */

void ws_nsys_set(struct ws_nsys_out *o, enum ws_nsys_column c, int64_t value)
{
	o->value[c].type = SQLITE_INTEGER;
	o->value[c].integer = value;
}

void ws_nsys_set_known(struct ws_nsys_out *o, enum ws_nsys_column c, uint64_t value)
{
	if (value)
		ws_nsys_set(o, c, (int64_t)value);
}

void ws_nsys_set_real(struct ws_nsys_out *o, enum ws_nsys_column c, double value)
{
	o->value[c].type = SQLITE_FLOAT;
	o->value[c].real = value;
}

void ws_nsys_set_text(struct ws_nsys_out *o, enum ws_nsys_column c, struct ws_bytes text)
{
	struct ws_bytes *value = &o->value[c].bytes;

	o->value[c].type = SQLITE_TEXT;
	*value = ws_export_readable(&o->readable, text);
	if (value->len && value->ptr == o->readable.data)
		value->ptr = ws_arena_copy(&o->row_texts, value->ptr, value->len);
}

static int bind(sqlite3_stmt *insert, int i, const struct ws_nsys_value *v)
{
	const char *bytes = v->bytes.ptr ? v->bytes.ptr : ""; /* NULL would become one */

	switch (v->type) {
	case SQLITE_INTEGER:
		return sqlite3_bind_int64(insert, i, v->integer);
	case SQLITE_FLOAT:
		return sqlite3_bind_double(insert, i, v->real);
	case SQLITE_TEXT:
		return sqlite3_bind_text64(insert, i, bytes, v->bytes.len, SQLITE_STATIC,
		                           SQLITE_UTF8);
	default:
		return sqlite3_bind_blob64(insert, i, bytes, v->bytes.len, SQLITE_STATIC);
	}
}

void ws_nsys_insert(struct ws_nsys_out *o, sqlite3_stmt *insert, const struct ws_nsys_value *values,
                    unsigned n)
{
	int code = SQLITE_OK;

	if (o->status != WS_OK) /* there may be no such table */
		return;
	sqlite3_clear_bindings(insert); /* to NULL */
	for (unsigned i = 0; i < n && code == SQLITE_OK; i++)
		if (values[i].type)
			code = bind(insert, (int)i + 1, &values[i]);
	if (code == SQLITE_OK)
		code = sqlite3_step(insert);
	sqlite3_reset(insert);
	check(o, code);
}

void ws_nsys_put(struct ws_nsys_out *o, enum ws_nsys_table table)
{
	const enum ws_nsys_column first = ws_nsys_tables[table].first;

	if (!o->table[table] && o->status == WS_OK)
		create(o, table);
	ws_nsys_insert(o, o->table[table], &o->value[first], o->ncolumns[table]);
	o->rows[table]++;
	ws_export_progress_tell(&o->progress, 1);
	clear(o, first, o->ncolumns[table]);
	if (table != WS_NSYS_STRING) /* which is put while others are made */
		ws_arena_free(&o->row_texts);
}
