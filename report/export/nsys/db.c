/* The database of an export: tables, rows, and the ids that stand for strings, processes and
 * threads. */
#include <stdio.h>
#include <stdlib.h>
#include "formats/base/own_file.h"
#include "formats/base/system/files.h"
#include "formats/base/xalloc.h"
#include "report/base/signature.h"
#include "report/export/nsys/nsys.h"
#include "report/kernel_info/demangle.h"

/* --- tables and rows ------------------------------------------------------------------------- */

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

/* The file is open, and is not opened by its name, which others may have changed. */
static int open_for_sqlite(const char *path, int flags, int mode)
{
	(void)flags, (void)mode;
	return ws_file_copy_handle(ws_own_file_descriptor(path), true);
}

/* SQLite would look where the descriptor's name leads and take that name. */
static int keep_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
	(void)vfs;
	sqlite3_snprintf(size, out, "%s", path);
	return strlen(path) < (size_t)size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* Files of SQLite that are opened by their descriptors. */
static enum ws_status take_descriptors(struct ws_nsys_out *o, struct ws_err *err)
{
	sqlite3_vfs *unix_files = sqlite3_vfs_find("unix-none");

	WS_FAIL_IF(!unix_files, err, ENVIRONMENT, "this SQLite cannot write files");
	o->files = *unix_files;
	o->files.zName = "warpsheet";
	o->files.xFullPathname = keep_path;
	WS_FAIL_IF(o->files.xSetSystemCall(unix_files, "open",
	                                   (sqlite3_syscall_ptr)open_for_sqlite) != SQLITE_OK ||
	                   sqlite3_vfs_register(&o->files, 0) != SQLITE_OK,
	           err, ENVIRONMENT, "this SQLite takes no file that is open");
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
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	struct ws_file_info file;

	WS_FAIL_IF(!ws_file_look(WS_HERE, path, true, &file) && file.type != WS_FILE_REGULAR, err,
	           IO_WRITE, "a database needs a regular file: give -o the name of one");
	if (ws_own_file_descriptor(path) >= 0)
		WS_FORWARD(take_descriptors(o, err));
	WS_FAIL_IF(sqlite3_open_v2(path, &o->db, flags, o->files.zName) != SQLITE_OK, err, IO_WRITE,
	           "the database: %s", sqlite3_errmsg(o->db));
	execute(o, PAGE_SETUP);
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

/* --- ids ------------------------------------------------------------------------------------- */

/* A global id holds process and thread in so many bits each. */
#define ID_BITS 24
#define ID_MASK ((UINT64_C(1) << ID_BITS) - 1)

/* The first number given to what has none that fits: Linux gives none over 2^22. */
#define FIRST_MADE (UINT64_C(1) << 23)

/* The machine: one, the first. */
#define VM_BITS (UINT64_C(1) << 48)

/* --- texts --- */

static void intern(struct ws_nsys_out *o, struct ws_bytes text, int64_t *id)
{
	const struct ws_bytes readable = ws_export_readable(&o->readable, text);
	uint64_t known = ws_strtab_find(&o->texts, readable.ptr, readable.len);

	if (!known) {
		known = ws_strtab_add(&o->texts, readable.ptr, readable.len);
		ws_nsys_set_text(o, WS_NSYS_STRING_value, readable);
		ws_nsys_put(o, WS_NSYS_STRING);
	}
	*id = (int64_t)known;
}

void ws_nsys_string_id(struct ws_nsys_out *o, uint64_t string, int64_t *id)
{
	const uint64_t *known = ws_map_get(&o->string_ids, string);

	if (known) {
		*id = (int64_t)*known;
		return;
	}
	intern(o, ws_records_text(&o->strings, string), id);
	ws_map_add(&o->string_ids, string, (uint64_t)*id);
}

/* --- processes and threads --- */

/* `number` under `above`, or one made up when it does not fit or is taken. */
static uint64_t unique(struct ws_nsys_out *o, struct ws_strtab *used, uint64_t above,
                       uint64_t number)
{
	uint64_t made = FIRST_MADE, id = ws_export_unique(used, above, number, ID_MASK + 1, &made);

	if (id > ID_MASK)
		WS_THEN(o->status, WS_FAIL(&o->err, CORRUPT,
		                           "more processes or threads than an export can tell "
		                           "apart"));
	return id;
}

void ws_nsys_global_pid(struct ws_nsys_out *o, uint64_t pid, int64_t *id)
{
	const uint64_t *known = ws_map_get(&o->process_ids, pid);
	const uint64_t number = known ? *known : unique(o, &o->used_processes, 0, pid);

	if (!known)
		ws_map_add(&o->process_ids, pid, number);
	*id = (int64_t)(VM_BITS | number << ID_BITS);
}

/* Threads whose row is lost are the thread 0 of process 0, as their records are kept. */
void ws_nsys_global_tid(struct ws_nsys_out *o, uint64_t thread, int64_t *id)
{
	const uint64_t *known = ws_map_get(&o->thread_ids, thread);
	const struct ws_row_thread *row;

	if (known) {
		*id = (int64_t)*known;
		return;
	}
	row = ws_records_find(&o->threads, thread);
	ws_nsys_global_pid(o, row ? row->pid : 0, id);
	*id |= (int64_t)unique(o, &o->used_threads, (uint64_t)*id >> ID_BITS, row ? row->tid : 0);
	ws_map_add(&o->thread_ids, thread, (uint64_t)*id);
}

/* --- kernels --- */

/* "at::native::reduce_kernel" is "reduce_kernel": exports have no name spaces here. */
static struct ws_bytes last_name(struct ws_bytes name)
{
	const char *p = name.ptr;

	for (size_t i = name.len; i >= 2; i--)
		if (p[i - 1] == ':' && p[i - 2] == ':')
			return (struct ws_bytes){p + i, name.len - i};
	return name;
}

static void name_config(struct ws_nsys_out *o, const struct ws_row_launch_config *row,
                        struct ws_nsys_config *names)
{
	struct ws_bytes recorded = ws_records_text(&o->strings, row->name), readable;
	struct ws_bytes shorter;
	size_t len;

	o->scratch.len = 0;
	ws_demangle(recorded.ptr, recorded.len, &o->scratch);
	/* behind it, room for the short form */
	len = o->scratch.len;
	ws_buf_reserve(&o->scratch, len + 1);
	readable = (struct ws_bytes){o->scratch.data, len};
	intern(o, readable, &names->demangled);
	shorter.ptr = o->scratch.data + len;
	shorter.len = ws_name_function(readable, (char *)o->scratch.data + len);
	intern(o, last_name(shorter), &names->base);
	if (len == recorded.len && !memcmp(o->scratch.data, recorded.ptr, len))
		return;
	intern(o, recorded, &names->mangled);
}

void ws_nsys_config_of(struct ws_nsys_out *o, uint64_t config,
                       const struct ws_row_launch_config **row, const struct ws_nsys_config **names)
{
	static const struct ws_row_launch_config lost;
	const uint64_t *place = ws_map_get(&o->configs.places, config);
	struct ws_nsys_config *c = &o->config[place ? *place : o->configs.n];

	*row = place ? (const struct ws_row_launch_config *)o->configs.rows + *place : &lost;
	*names = c;
	if (!c->demangled)
		name_config(o, *row, c);
}

/* --- loading --- */

enum ws_status ws_nsys_ids_load(struct ws_nsys_out *o, struct ws_err *err)
{
	const struct ws_row_thread *t;
	int64_t id;

	WS_FORWARD(ws_records_load_by(&o->strings, o->r, WS_KIND_STRING, 0, err));
	WS_FORWARD(ws_records_load_by(&o->threads, o->r, WS_KIND_THREAD, 0, err));
	WS_FORWARD(ws_records_load_by(&o->configs, o->r, WS_KIND_LAUNCH_CONFIG, 0, err));
	o->config = ws_xarray(o->configs.n + 1, sizeof(*o->config)); /* the last one: lost */
	/* numbers that fit are nobody else's */
	t = o->threads.rows;
	for (size_t i = 0; i < o->threads.n; i++)
		if (t[i].pid <= ID_MASK)
			ws_nsys_global_pid(o, t[i].pid, &id);
	for (size_t i = 0; i < o->threads.n; i++)
		if (t[i].tid <= ID_MASK)
			ws_nsys_global_tid(o, t[i].id, &id);
	return WS_OK;
}

void ws_nsys_ids_free(struct ws_nsys_out *o)
{
	ws_records_free(&o->strings);
	ws_records_free(&o->threads);
	ws_records_free(&o->configs);
	free(o->config);
	ws_strtab_free(&o->texts);
	ws_strtab_free(&o->used_threads);
	ws_strtab_free(&o->used_processes);
	ws_map_free(&o->string_ids);
	ws_map_free(&o->thread_ids);
	ws_map_free(&o->process_ids);
	ws_buf_free(&o->scratch);
	ws_buf_free(&o->readable);
	ws_arena_free(&o->row_texts);
}
