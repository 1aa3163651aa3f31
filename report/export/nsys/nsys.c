/*
 * From a trace to the tables of an Nsight Systems export. docs/reference/export.md describes the
 * conversion of each record.
 */
#include <sqlite3.h>

#include "formats/base/outfile.h"
#include "formats/nsys/nsys.h"
#include "report/base/names.h"
#include "report/export/exporter.h"
#include "report/pass/pass.h"

/* Writes tables in the schema of Nsight Systems by name, through SQLite. For this folder. */

/* A value of a row. All zero is NULL. */
struct ws_nsys_value {
	int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB */
	union {
		int64_t integer;
		double real;
		struct ws_bytes bytes; /* borrowed until the row is put; a text is UTF-8 */
	};
};

struct ws_nsys_config; /* StringIds of a launch configuration's names */

struct ws_nsys_out {
	const struct ws_trace_reader *r;
	struct ws_export_stats *stats;
	struct ws_export_progress progress;
	sqlite3_vfs files; /* SQLite's access to the opened file */
	sqlite3 *db;
	enum ws_status status; /* the first failure, returned by ws_export_nsys */
	struct ws_err err;
	sqlite3_stmt *table[WS_NSYS_TABLES]; /* insert a row; NULL: the table does not exist yet */
	unsigned ncolumns[WS_NSYS_TABLES];   /* of those */
	int64_t rows[WS_NSYS_TABLES];
	struct ws_nsys_value value[WS_NSYS_COLUMNS]; /* values of unfinished rows */

	struct ws_records strings, threads, configs, processes, devices, attrs, losses;
	struct ws_nsys_config *config;   /* one per row of configs */
	struct ws_strtab texts;          /* as in StringIds; ids are those of the rows */
	struct ws_map string_ids;        /* string of the trace -> StringIds */
	struct ws_map thread_ids;        /* thread of the trace -> globalTid */
	struct ws_map process_ids;       /* pid -> number of 24 bits */
	struct ws_strtab used_threads;   /* globalTid */
	struct ws_strtab used_processes; /* number of 24 bits */
	struct ws_buf scratch, readable;
	struct ws_arena row_texts; /* repaired texts of the current row */
	int64_t first_ns, last_ns;
};

/* --- ids --- */

/* The names of a kernel as StringIds. */
struct ws_nsys_config {
	int64_t demangled, base, mangled; /* mangled 0: the recorded name is readable */
};

/* Extends the time span of the export. */
static inline void ws_nsys_extend(struct ws_nsys_out *o, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < o->first_ns)
		o->first_ns = from_ns;
	if (to_ns > o->last_ns)
		o->last_ns = to_ns;
}

#define SET_KNOWN(c, value) ws_nsys_set_known(o, WS_NSYS_##c, (uint64_t)(value))

/* For functions with a variable `o`, the export. */
#define SET(c, value) ws_nsys_set(o, WS_NSYS_##c, (int64_t)(value))

static enum ws_status write_table(struct ws_nsys_out *o, enum ws_nsys_table table,
                                  struct ws_err *err);

/* --- tables and rows ------------------------------------------------------------------------- */

#define PAGE_SETUP                                                                              \
	"PRAGMA page_size = 4096; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; " \
	"PRAGMA synchronous = OFF; BEGIN"

/* --- the database --- */

/* Stores the first failure, which is returned at the end. */
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

/* Opens the file by its descriptor, because others may have changed its name. */
static int open_for_sqlite(const char *path, int flags, int mode)
{
	(void)flags, (void)mode;
	return ws_file_copy_handle(ws_own_file_descriptor(path), true);
}

/* Prevents SQLite from resolving the descriptor's name. */
static int keep_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
	(void)vfs;
	sqlite3_snprintf(size, out, "%s", path);
	return strlen(path) < (size_t)size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* definitions: column definitions for CREATE TABLE, n of them. */
static void create_table(struct ws_nsys_out *o, const char *name, const char *definitions,
                         unsigned n, sqlite3_stmt **insert)
{
	char *create = sqlite3_mprintf("CREATE TABLE %s (%s)", name, definitions);
	sqlite3_str *sql = sqlite3_str_new(o->db);

	sqlite3_str_appendf(sql, "INSERT INTO %s VALUES (?", name);
	for (unsigned i = 1; i < n; i++)
		sqlite3_str_appendall(sql, ",?");
	sqlite3_str_appendall(sql, ")");
	char *add = sqlite3_str_finish(sql);
	if (!create || !add)
		ws_out_of_memory(strlen(definitions));
	execute(o, create);
	check(o, sqlite3_prepare_v3(o->db, add, -1, SQLITE_PREPARE_PERSISTENT, insert, NULL));
	sqlite3_free(create);
	sqlite3_free(add);
}

/* Finalize *insert. */
static void ws_nsys_create(struct ws_nsys_out *o, const char *name,
                           const struct ws_nsys_column_def *columns, unsigned n,
                           sqlite3_stmt **insert)
{
	char definitions[2048];
	size_t len = 0;

	for (unsigned i = 0; i < n; i++)
		len += (size_t)snprintf(definitions + len, sizeof(definitions) - len, "%s\"%s\" %s",
		                        i ? ", " : "", columns[i].name, columns[i].type);
	create_table(o, name, definitions, n, insert);
}

/* Adds a row. A key that is NULL becomes the number of the row. */
static void ws_nsys_insert(struct ws_nsys_out *o, sqlite3_stmt *insert,
                           const struct ws_nsys_value *values, unsigned n)
{
	int code = SQLITE_OK;

	if (o->status != WS_OK) /* the table may not exist */
		return;
	sqlite3_clear_bindings(insert); /* to NULL */
	for (unsigned i = 0; i < n && code == SQLITE_OK; i++) {
		const struct ws_nsys_value *v = &values[i];
		const char *bytes = v->bytes.ptr ? v->bytes.ptr : ""; /* a NULL pointer is NULL */
		const int at = (int)i + 1;

		if (v->type == SQLITE_INTEGER)
			code = sqlite3_bind_int64(insert, at, v->integer);
		else if (v->type == SQLITE_FLOAT)
			code = sqlite3_bind_double(insert, at, v->real);
		else if (v->type == SQLITE_TEXT)
			code = sqlite3_bind_text64(insert, at, bytes, v->bytes.len, SQLITE_STATIC,
			                           SQLITE_UTF8);
		else if (v->type)
			code = sqlite3_bind_blob64(insert, at, bytes, v->bytes.len, SQLITE_STATIC);
	}
	if (code == SQLITE_OK)
		code = sqlite3_step(insert);
	sqlite3_reset(insert);
	check(o, code);
}

/* --- tables of names --- */

static struct ws_nsys_value text_value(const char *text)
{
	return (struct ws_nsys_value){SQLITE_TEXT, .bytes = ws_bytes_of(text)};
}

static void create(struct ws_nsys_out *o, enum ws_nsys_table table)
{
	const struct ws_nsys_table_def *def = &ws_nsys_tables[table];

	o->ncolumns[table] = ws_nsys_count_columns(table);
	ws_nsys_create(o, def->name, &ws_nsys_columns[def->first], o->ncolumns[table],
	               &o->table[table]);
}

/* Sets columns to NULL, or to 0 if the schema requires a number. */
static void clear(struct ws_nsys_out *o, unsigned first, unsigned n)
{
	for (unsigned c = first; c < first + n; c++)
		o->value[c] = (struct ws_nsys_value){
		        .type = ws_nsys_columns[c].has_number ? SQLITE_INTEGER : 0};
}

/* path: an empty or new file. IO_WRITE. ws_export_nsys returns later failures. */
static enum ws_status ws_nsys_out_open(struct ws_nsys_out *o, const char *path, struct ws_err *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	struct ws_file_info file;

	WS_FAIL_IF(!ws_file_look(WS_HERE, path, true, &file) && file.type != WS_FILE_REGULAR, err,
	           IO_WRITE, "a database needs a regular file: give -o the name of one");
	if (ws_own_file_descriptor(path) >= 0) {
		/* Makes SQLite open files by descriptors. */
		sqlite3_vfs *unix_files = sqlite3_vfs_find("unix-none");

		WS_FAIL_IF(!unix_files, err, ENVIRONMENT, "this SQLite cannot write files");
		o->files = *unix_files;
		o->files.zName = "warpsheet";
		o->files.xFullPathname = keep_path;
		WS_FAIL_IF(o->files.xSetSystemCall(unix_files, "open",
		                                   (sqlite3_syscall_ptr)open_for_sqlite) !=
		                           SQLITE_OK ||
		                   sqlite3_vfs_register(&o->files, 0) != SQLITE_OK,
		           err, ENVIRONMENT, "this SQLite takes no file that is open");
	}
	WS_FAIL_IF(sqlite3_open_v2(path, &o->db, flags, o->files.zName) != SQLITE_OK, err, IO_WRITE,
	           "the database: %s", sqlite3_errmsg(o->db));
	execute(o, PAGE_SETUP);
	clear(o, 0, WS_NSYS_COLUMNS);

	/* Tables of names. */
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
		const struct ws_nsys_value values[] = {
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
		ws_nsys_insert(o, insert, values, 3);
	}
	sqlite3_finalize(insert);

	/* queries join these tables even without rows */
	create(o, WS_NSYS_STRING);
	create(o, WS_NSYS_THREAD);
	return WS_OK;
}

/* --- rows --- */

/*
 * To write a row, set its columns (others are NULL), then put it. A table is created with its first
 * row, because exports leave out empty tables.
 */
static void ws_nsys_set(struct ws_nsys_out *o, enum ws_nsys_column c, int64_t value)
{
	o->value[c].type = SQLITE_INTEGER;
	o->value[c].integer = value;
}

/* NULL for 0. */
static void ws_nsys_set_known(struct ws_nsys_out *o, enum ws_nsys_column c, uint64_t value)
{
	if (value)
		ws_nsys_set(o, c, (int64_t)value);
}

static void ws_nsys_set_text(struct ws_nsys_out *o, enum ws_nsys_column c, struct ws_bytes text)
{
	struct ws_bytes *value = &o->value[c].bytes;

	o->value[c].type = SQLITE_TEXT;
	*value = ws_export_readable(&o->readable, text);
	if (value->len && value->ptr == o->readable.data)
		value->ptr = ws_arena_copy(&o->row_texts, value->ptr, value->len);
}

/* Borrowed until the row is put; invalid UTF-8 becomes U+FFFD. */
static void ws_nsys_put(struct ws_nsys_out *o, enum ws_nsys_table table)
{
	const enum ws_nsys_column first = ws_nsys_tables[table].first;

	if (!o->table[table] && o->status == WS_OK)
		create(o, table);
	ws_nsys_insert(o, o->table[table], &o->value[first], o->ncolumns[table]);
	o->rows[table]++;
	ws_export_progress_tell(&o->progress, 1);
	clear(o, first, o->ncolumns[table]);
	if (table != WS_NSYS_STRING) /* which is written while others are made */
		ws_arena_free(&o->row_texts);
}

/* --- ids ------------------------------------------------------------------------------------- */

/* A global id has process and thread in this number of bits each. */
#define ID_BITS 24
#define ID_MASK ((UINT64_C(1) << ID_BITS) - 1)

/* First number for processes and threads whose number does not fit: Linux assigns none over
 * 2^22. */
#define FIRST_MADE (UINT64_C(1) << 23)

/* The machine: always the first. */
#define VM_BITS (UINT64_C(1) << 48)

/* --- texts --- */

static int64_t intern(struct ws_nsys_out *o, struct ws_bytes text)
{
	const struct ws_bytes readable = ws_export_readable(&o->readable, text);
	uint64_t known = ws_strtab_find(&o->texts, readable.ptr, readable.len);

	if (!known) {
		known = ws_strtab_add(&o->texts, readable.ptr, readable.len);
		ws_nsys_set_text(o, WS_NSYS_STRING_value, readable);
		ws_nsys_put(o, WS_NSYS_STRING);
	}
	return (int64_t)known;
}

/* The StringIds row of a string of the trace, added when it is new. */
static int64_t ws_nsys_string_id(struct ws_nsys_out *o, uint64_t string)
{
	const uint64_t *known = ws_map_get(&o->string_ids, string);

	if (known)
		return (int64_t)*known;
	const int64_t id = intern(o, ws_records_text(&o->strings, string));
	ws_map_add(&o->string_ids, string, (uint64_t)id);
	return id;
}

/* --- processes and threads --- */

/* `number` under `above`, or a new one if it does not fit or is taken. */
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

static int64_t ws_nsys_global_pid(struct ws_nsys_out *o, uint64_t pid)
{
	const uint64_t *known = ws_map_get(&o->process_ids, pid);
	const uint64_t number = known ? *known : unique(o, &o->used_processes, 0, pid);

	if (!known)
		ws_map_add(&o->process_ids, pid, number);
	return (int64_t)(VM_BITS | number << ID_BITS);
}

/* Threads with a lost row become thread 0 of process 0, so that their records are kept. */
static int64_t ws_nsys_global_tid(struct ws_nsys_out *o, uint64_t thread)
{
	const uint64_t *known = ws_map_get(&o->thread_ids, thread);

	if (known)
		return (int64_t)*known;
	const struct ws_row_thread *row = ws_records_find(&o->threads, thread);
	int64_t id = ws_nsys_global_pid(o, row ? row->pid : 0);
	id |= (int64_t)unique(o, &o->used_threads, (uint64_t)id >> ID_BITS, row ? row->tid : 0);
	ws_map_add(&o->thread_ids, thread, (uint64_t)id);
	return id;
}

/* --- tables of names and values --- */

static void put_pair(struct ws_nsys_out *o, enum ws_nsys_table table, enum ws_nsys_column name,
                     struct ws_bytes key, struct ws_bytes value)
{
	ws_nsys_set_text(o, name, key);
	ws_nsys_set_text(o, name + 1, value);
	ws_nsys_put(o, table);
}

/* Writes facts where an import looks for them; META_DATA_CAPTURE has all of them by key. */
static void on_meta(void *ctx, const void *data)
{
	static const struct {
		const char *table, *name, *key;
	} facts[] = {
#define FACT(table, name, key) {table, name, key},
#include "formats/nsys/nsys.def"
	};
	const struct ws_row_meta *row = data;
	struct ws_nsys_out *o = ctx;

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (!ws_name_is(row->key, facts[i].key))
			continue;
		if (!strcmp(facts[i].table, "TARGET_INFO_SYSTEM_ENV")) {
			ws_nsys_set_text(o, WS_NSYS_SYSTEM_devStateName, ws_bytes_of("Warpsheet"));
			ws_nsys_set_text(o, WS_NSYS_SYSTEM_name, ws_bytes_of(facts[i].name));
			ws_nsys_set_text(o, WS_NSYS_SYSTEM_value, row->value);
			ws_nsys_put(o, WS_NSYS_SYSTEM);
			return;
		}
		put_pair(o, WS_NSYS_CAPTURE, WS_NSYS_CAPTURE_name, ws_bytes_of(facts[i].name),
		         row->value);
	}
	put_pair(o, WS_NSYS_CAPTURE, WS_NSYS_CAPTURE_name, row->key, row->value);
}

/* --- diagnostics --- */

static void warn(struct ws_nsys_out *o, int64_t time_ns, const char *text)
{
	enum { FROM_TARGET = 1, ANALYSIS = 3, WARNING = 2 };

	SET(DIAGNOSTIC_timestamp, time_ns);
	SET(DIAGNOSTIC_timestampType, FROM_TARGET);
	SET(DIAGNOSTIC_source, ANALYSIS);
	SET(DIAGNOSTIC_severity, WARNING);
	ws_nsys_set_text(o, WS_NSYS_DIAGNOSTIC_text, ws_bytes_of(text));
	ws_nsys_put(o, WS_NSYS_DIAGNOSTIC);
}

static void on_process_end(void *ctx, const void *data)
{
	const struct ws_row_process_end *row = data;
	char text[100];

	if (row->how != WS_END_SIGNALED && row->code == 0)
		return;
	snprintf(text, sizeof(text), "process %" PRIu64 " %s %" PRId64, row->pid,
	         row->how == WS_END_SIGNALED ? "was ended by signal" : "ended with status",
	         row->code);
	warn(ctx, row->time_ns, text);
}

static enum ws_status write_info(struct ws_nsys_out *o, struct ws_err *err)
{
	char text[200];

	WS_FORWARD(ws_records_load_by(&o->processes, o->r, WS_KIND_PROCESS, 0, err));
	WS_FORWARD(ws_records_load_by(&o->devices, o->r, WS_KIND_DEVICE, 0, err));
	WS_FORWARD(ws_records_load(&o->attrs, o->r, WS_KIND_DEVICE_ATTR, err));
	WS_FORWARD(ws_records_load_by(&o->losses, o->r, WS_KIND_LOSS, WS_COL_loss_cause, err));
	static const struct {
		const char *name, *value;
	} rows[] = {
	        {"EXPORT_PRODUCT_NAME", "Warpsheet"},  {"EXPORT_PRODUCT_VERSION", WS_VERSION},
	        {"EXPORT_SCHEMA_VERSION", "3.17.2"},   {"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
	        {"EXPORT_SCHEMA_VERSION_MINOR", "17"}, {"EXPORT_SCHEMA_VERSION_MICRO", "2"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		put_pair(o, WS_NSYS_EXPORT, WS_NSYS_EXPORT_name, ws_bytes_of(rows[i].name),
		         ws_bytes_of(rows[i].value));
	WS_FORWARD(ws_records_each(o->r, WS_KIND_META, on_meta, o, err));

	const struct ws_trace_summary *s = ws_trace_reader_summary(o->r);
	time_t seconds = (time_t)(s->base_ns / 1000000000);
	struct tm tm;

	if (o->first_ns <= o->last_ns) {
		int64_t duration;

		if (__builtin_sub_overflow(o->last_ns, o->first_ns, &duration))
			duration = INT64_MAX;
		SET(DETAILS_globalVid, INT64_C(1) << 48);
		SET(DETAILS_duration, duration);
		SET(DETAILS_startTime, o->first_ns);
		SET(DETAILS_stopTime, o->last_ns);
		ws_nsys_put(o, WS_NSYS_DETAILS);
	}
	if (s->base_ns) {
		SET(SESSION_utcEpochNs, s->base_ns);
		if (gmtime_r(&seconds, &tm) &&
		    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
			ws_nsys_set_text(o, WS_NSYS_SESSION_utcTime, ws_bytes_of(text));
		ws_nsys_put(o, WS_NSYS_SESSION);
	}
	const struct ws_row_process *p = o->processes.rows;

	for (size_t i = 0; i < o->processes.n; i++) {
		if (ws_records_find(&o->processes, p[i].pid) != &p[i])
			continue; /* the last image's program */
		SET(PROCESS_globalPid, ws_nsys_global_pid(o, p[i].pid));
		SET(PROCESS_pid, p[i].pid);
		ws_nsys_set_text(o, WS_NSYS_PROCESS_name,
		                 ws_records_text(&o->strings, p[i].program));
		ws_nsys_put(o, WS_NSYS_PROCESS);
	}
	const struct ws_row_device *d = o->devices.rows;

	for (size_t i = 0; i < o->devices.n; i++) {
		if (ws_records_find(&o->devices, d[i].id) != &d[i])
			continue; /* a later row says more */

		const struct ws_row_device_attr *attr = o->attrs.rows;
		int64_t sm_count = 0;

		SET(GPU_vmId, INT64_C(1) << 48);
		SET(GPU_id, d[i].id);
		ws_nsys_set_text(o, WS_NSYS_GPU_name, ws_records_text(&o->strings, d[i].name));
		SET(GPU_cuDevice, d[i].id);
		for (size_t k = 0; k < o->attrs.n; k++) {
			struct ws_bytes attr_name = ws_records_text(&o->strings, attr[k].attr);

			if (attr[k].device != d[i].id)
				continue;
			static const struct {
				enum ws_nsys_column column;
				const char *attr;
			} attrs[] = {
#define GPU(column, attr) {WS_NSYS_GPU_##column, attr},
#include "formats/nsys/nsys.def"
			};
			const int64_t threads_per_warp = 32;

			for (size_t c = 0; c < sizeof(attrs) / sizeof(*attrs); c++)
				if (ws_name_is(attr_name, attrs[c].attr))
					ws_nsys_set(o, attrs[c].column, attr[k].value);
			if (ws_name_is(attr_name, "max_threads_per_sm"))
				ws_nsys_set(o, WS_NSYS_GPU_maxWarpsPerSm,
				            attr[k].value / threads_per_warp);
			if (ws_name_is(attr_name, "sm_count"))
				sm_count = attr[k].value;
		}
		ws_nsys_put(o, WS_NSYS_GPU);
		/* Devices have the same number in each process, as in traces. */
		for (size_t k = 0; k < o->processes.n; k++) {
			if (ws_records_find(&o->processes, p[k].pid) != &p[k])
				continue;
			SET(CUDA_DEVICE_gpuId, d[i].id);
			SET(CUDA_DEVICE_cudaId, d[i].id);
			SET(CUDA_DEVICE_pid, p[k].pid);
			SET_KNOWN(CUDA_DEVICE_numMultiprocessors, sm_count);
			ws_nsys_put(o, WS_NSYS_CUDA_DEVICE);
		}
	}
	WS_FORWARD(write_table(o, WS_NSYS_CONTEXT, err));
	WS_FORWARD(write_table(o, WS_NSYS_STREAM, err));

	const struct ws_row_thread *t = o->threads.rows;

	/* some reports need the table even if it is empty */
	for (size_t i = 0; i < o->threads.n; i++) {
		if (!t[i].name || ws_records_find(&o->threads, t[i].id) != &t[i])
			continue;
		SET(THREAD_globalTid, ws_nsys_global_tid(o, t[i].id));
		SET(THREAD_nameId, ws_nsys_string_id(o, t[i].name));
		ws_nsys_put(o, WS_NSYS_THREAD);
	}

	/* The last reading of each cause counts. */
	const struct ws_row_loss *row = o->losses.rows;

	for (size_t i = 0; i < o->losses.n; i++) {
		struct ws_bytes cause = ws_records_text(&o->strings, row[i].cause);

		if (ws_records_find(&o->losses, row[i].cause) != &row[i] || !row[i].count)
			continue;
		snprintf(text, sizeof(text), "lost in the recording: %.*s: %" PRIu64,
		         cause.len > 100 ? 100 : WS_SHOWN(cause), row[i].count);
		warn(o, row[i].time_ns, text);
	}
	if (o->stats->without_time) {
		snprintf(text, sizeof(text),
		         "not in this export: kernels and copies without time: %" PRIu64,
		         o->stats->without_time);
		warn(o, 0, text);
	}
	return ws_records_each(o->r, WS_KIND_PROCESS_END, on_process_end, o, err);
}

/* --- cells --- */

/* Times of a hostile trace may overflow; truncated calls have a negative duration. */
static int64_t end_ns(int64_t start_ns, int64_t dur_ns)
{
	int64_t end;

	if (dur_ns < 0)
		return start_ns;
	return __builtin_add_overflow(start_ns, dur_ns, &end) ? INT64_MAX : end;
}

/* A converted number; row: the record that contains it. */
static int64_t number_of(struct ws_nsys_out *o, const struct ws_nsys_column_def *c,
                         const uint8_t *row, uint64_t value)
{
	const struct ws_nsys_choice *choice;
	int64_t start_ns, end;

	switch ((enum ws_nsys_meaning)c->meaning) {
	case WS_NSYS_AS_TEXT:
		return ws_nsys_string_id(o, value);
	case WS_NSYS_AS_THREAD:
	case WS_NSYS_AS_THREAD_OR_NONE:
	case WS_NSYS_AS_THREAD_OR_0:
		return ws_nsys_global_tid(o, value);
	case WS_NSYS_AS_PROCESS:
		return ws_nsys_global_pid(o, value);
	case WS_NSYS_AS_END:
		start_ns = (int64_t)ws_load_u64(row + c[-1].row_offset);
		end = end_ns(start_ns, (int64_t)value);
		ws_nsys_extend(o, start_ns, end);
		return end;
	case WS_NSYS_AS_ID_OR_NONE:
		return (int64_t)value < 0 ? UINT32_MAX : (int64_t)value;
	default:
		if (c->meaning < WS_NSYS_AS_LAUNCH_TYPE)
			return (int64_t)value;
		choice = &ws_nsys_choices[c->meaning];
		return (int64_t)value < choice->first + choice->shift ||
		                       (int64_t)value > choice->last + choice->shift
		               ? choice->unlisted
		               : (int64_t)value - choice->shift;
	}
}

struct table {
	struct ws_nsys_out *o;
	enum ws_nsys_table table;
	const struct ws_nsys_column_def *columns;
	unsigned n;
	struct ws_nsys_value *values;
	enum ws_kind kind;
	sqlite3_stmt *insert; /* of a table of our own */
};

/* The columns that are fields of this kind. */
static void set_fields(const struct table *t, enum ws_kind kind, const void *row)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->columns[i].kind == kind) {
			const struct ws_nsys_column_def *c = &t->columns[i];
			struct ws_nsys_value *to = &t->values[i];
			const uint8_t *at = (const uint8_t *)row + c->row_offset;
			uint64_t value;

			switch ((enum ws_nsys_meaning)c->meaning) {
			case WS_NSYS_AS_BLOB:
				to->type = SQLITE_BLOB;
				memcpy(&to->bytes, at, sizeof(to->bytes));
				break;
			case WS_NSYS_AS_REAL:
				to->type = SQLITE_FLOAT;
				memcpy(&to->real, at, sizeof(to->real));
				break;
			default:
				value = ws_load_u64(at);
				to->type = (!value && !c->has_number &&
				            (c->meaning == WS_NSYS_AS_NUMBER ||
				             c->meaning == WS_NSYS_AS_TEXT ||
				             c->meaning == WS_NSYS_AS_THREAD_OR_NONE))
				                   ? 0
				                   : SQLITE_INTEGER;
				if (to->type)
					to->integer = number_of(t->o, c, row, value);
			}
		}
}

/* --- tables of Nsight Systems --- */

static void put_row(void *ctx, const void *row)
{
	const struct table *t = ctx;

	/* failures and pools of memory have a place only in our own table */
	if (t->kind == WS_KIND_MEMORY) {
		const uint64_t op = ((const struct ws_row_memory *)row)->op;

		if (op != WS_MEMORY_OP_ALLOC && op != WS_MEMORY_OP_FREE)
			return;
	} else if (!ws_export_has_time(t->kind, row)) {
		t->o->stats->without_time++;
		return;
	}
	set_fields(t, t->kind, row);
	/* Sets columns that are not fields of the record. */
	const struct ws_row_memcpy *copy = row;
	struct ws_nsys_out *o = t->o;

	switch (t->table) {
	case WS_NSYS_RUNTIME:
		SET(RUNTIME_eventClass,
		    ws_export_is_driver_call(
		            ws_records_text(&o->strings, ((const struct ws_row_api *)row)->name)));
		break;
	case WS_NSYS_KERNEL: {
		static const struct ws_row_launch_config lost;
		const uint64_t *place =
		        ws_map_get(&o->configs.places, ((const struct ws_row_kernel *)row)->config);
		const struct ws_row_launch_config *c =
		        place ? (const struct ws_row_launch_config *)o->configs.rows + *place
		              : &lost;
		struct ws_nsys_config *names = &o->config[place ? *place : o->configs.n];

		if (!names->demangled) {
			struct ws_bytes recorded = ws_records_text(&o->strings, c->name), readable;
			struct ws_bytes shorter;

			o->scratch.len = 0;
			ws_demangle(recorded.ptr, recorded.len, &o->scratch);
			/* after it, room for the short form */
			size_t len = o->scratch.len;
			ws_buf_reserve(&o->scratch, len + 1);
			readable = (struct ws_bytes){o->scratch.data, len};
			names->demangled = intern(o, readable);
			shorter.ptr = o->scratch.data + len;
			shorter.len = ws_name_function(readable, (char *)o->scratch.data + len);
			/* "at::native::reduce_kernel" is "reduce_kernel": exports have no name
			 * spaces here
			 */
			const char *whole = shorter.ptr;
			size_t begin = shorter.len;

			while (begin >= 2 && (whole[begin - 1] != ':' || whole[begin - 2] != ':'))
				begin--;
			begin = begin >= 2 ? begin : 0;
			names->base =
			        intern(o, (struct ws_bytes){whole + begin, shorter.len - begin});
			if (len != recorded.len || memcmp(o->scratch.data, recorded.ptr, len))
				names->mangled = intern(o, recorded);
		}
		set_fields(t, WS_KIND_LAUNCH_CONFIG, c);
		SET(KERNEL_demangledName, names->demangled);
		SET(KERNEL_shortName, names->base);
		SET_KNOWN(KERNEL_mangledName, names->mangled);
		break;
	}
	case WS_NSYS_MEMCPY:
		if (copy->kind == WS_MEMCPY_PTOP) {
			SET(MEMCPY_srcDeviceId, copy->src_device);
			SET(MEMCPY_dstDeviceId, copy->dst_device);
		}
		break;
	case WS_NSYS_MEMORY:
		ws_nsys_extend(o, ((const struct ws_row_memory *)row)->time_ns,
		               ((const struct ws_row_memory *)row)->time_ns);
		break;
	case WS_NSYS_CONTEXT:
		SET(CONTEXT_vmId, 1);
		SET(CONTEXT_isGreenContext, ((const struct ws_row_context *)row)->parent != 0);
		break;
	case WS_NSYS_STREAM:
		SET(STREAM_vmId, 1);
		break;
	default:
		break;
	}
	ws_nsys_put(t->o, t->table);
}

/* Rows of a table of nsys.def; rows of tables of our own. */
static enum ws_status write_table(struct ws_nsys_out *o, enum ws_nsys_table table,
                                  struct ws_err *err)
{
	const struct ws_nsys_table_def *def = &ws_nsys_tables[table];
	struct table t = {.o = o,
	                  .table = table,
	                  .columns = &ws_nsys_columns[def->first],
	                  .n = ws_nsys_count_columns(table),
	                  .values = &o->value[def->first],
	                  .kind = def->kind};

	return ws_records_each(o->r, t.kind, put_row, &t, err);
}

/* --- tables of our own --- */

static void put_own_row(void *ctx, const void *row)
{
	const struct table *t = ctx;

	set_fields(t, t->kind, row);
	ws_nsys_insert(t->o, t->insert, t->values, t->n);
}

/* --- ranges and marks ------------------------------------------------------------------------ */

struct nvtx {
	struct ws_nsys_out *o;
	struct ws_strtab domains; /* string id of the name; its id is the domain's number */
	struct ws_strtab created; /* process and domain that have their event */
	struct ws_records payloads;
};

static void begin_event(struct nvtx *n, enum ws_nsys_event_type type, int64_t start_ns, int64_t tid)
{
	struct ws_nsys_out *o = n->o;

	SET(NVTX_start, start_ns);
	SET(NVTX_eventType, type);
	SET(NVTX_globalTid, tid);
}

/* Texts are in the row, because traces do not record whether a program registered them. */
static void put_event(struct nvtx *n, uint64_t text)
{
	if (text)
		ws_nsys_set_text(n->o, WS_NSYS_NVTX_text, ws_records_text(&n->o->strings, text));
	ws_nsys_put(n->o, WS_NSYS_NVTX);
}

/* The number of a domain, 0 for the default one; its event comes before its first use. */
static uint64_t domain_of(struct nvtx *n, uint64_t domain, int64_t time_ns, int64_t tid)
{
	uint64_t key[2] = {(uint64_t)tid >> 24, domain};
	struct ws_nsys_out *o = n->o;

	if (!domain)
		return 0;
	const uint64_t number = ws_strtab_add(&n->domains, &domain, sizeof(domain));
	if (!ws_strtab_find(&n->created, key, sizeof(key))) {
		ws_strtab_add(&n->created, key, sizeof(key));
		begin_event(n, WS_NSYS_DOMAIN_CREATE, time_ns, tid);
		SET(NVTX_domainId, number);
		put_event(n, domain);
	}
	return number;
}

/* Sets a payload that is a number of one of NVTX's own types. False: other payloads have no
 * column. */
static bool set_payload_number(struct nvtx *n, uint64_t id)
{
	const struct ws_row_payload *row = ws_records_find(&n->payloads, id);
	const struct ws_nsys_payload *p = ws_nsys_payloads;
	uint64_t bits = 0;
	float single;
	double real;

	if (!row)
		return false;
	while (p->schema != row->schema || p->bytes != row->bytes.len)
		if (++p == ws_nsys_payloads + WS_NSYS_PAYLOADS)
			return false;
	memcpy(&bits, row->bytes.ptr, p->bytes);
	memcpy(&real, &bits, sizeof(real));
	memcpy(&single, &bits, sizeof(single));
	if (p->is_real) {
		n->o->value[p->column].type = SQLITE_FLOAT;
		n->o->value[p->column].real = p->bytes == 8 ? real : (double)single;
	} else if (p->is_signed && p->bytes == 4)
		ws_nsys_set(n->o, p->column, (int32_t)(uint32_t)bits);
	else
		ws_nsys_set(n->o, p->column, (int64_t)bits);
	return true;
}

/* A range, or a mark. */
static void put_range(struct nvtx *n, const struct ws_recorded_ranges *ranges,
                      const struct ws_recorded_range *range)
{
	static const enum ws_nsys_event_type types[] = {[WS_NVTX_PUSH] = WS_NSYS_PUSH_POP,
	                                                [WS_NVTX_START] = WS_NSYS_START_END,
	                                                [WS_NVTX_MARK] = WS_NSYS_MARK};
	const struct ws_recorded_event *begin = &ranges->events[range->begin];
	const struct ws_recorded_event *end =
	        range->end == WS_NONE ? NULL : &ranges->events[range->end];
	struct ws_nsys_out *o = n->o;
	const int64_t tid = ws_nsys_global_tid(o, begin->thread);
	const int64_t end_tid =
	        end && end->thread != begin->thread ? ws_nsys_global_tid(o, end->thread) : 0;
	const uint64_t domain = domain_of(n, begin->domain, range->start_ns, tid);

	begin_event(n, types[begin->type], range->start_ns, tid);
	if (end)
		SET(NVTX_end, range->end_ns);
	if (begin->type == WS_NVTX_START)
		SET(NVTX_rangeId, range->id);
	SET_KNOWN(NVTX_category, begin->category);
	SET_KNOWN(NVTX_color, begin->color);
	SET_KNOWN(NVTX_endGlobalTid, end_tid);
	SET(NVTX_domainId, domain);
	bool is_set = !begin->payload || set_payload_number(n, begin->payload);
	ws_nsys_extend(o, range->start_ns, range->end_ns);
	put_event(n, begin->name);
	if (!is_set) {
		/* After the event: its payload, where that did not fit into it. */
		SET(OWN_PAYLOAD_eventId, o->rows[WS_NSYS_NVTX]);
		SET(OWN_PAYLOAD_payload, (int64_t)begin->payload);
		ws_nsys_put(o, WS_NSYS_OWN_PAYLOAD);
	}
}

/* Categories have no thread: uses the first one of the trace. */
static void on_category(void *ctx, const void *data)
{
	const struct ws_row_category *row = data;
	struct nvtx *n = ctx;
	struct ws_nsys_out *o = n->o;
	const uint64_t first = o->threads.n ? ((struct ws_row_thread *)o->threads.rows)->id : 0;
	const int64_t tid = ws_nsys_global_tid(o, first);
	const uint64_t domain = domain_of(n, row->domain, 0, tid);

	begin_event(n, WS_NSYS_CATEGORY, 0, tid);
	SET(NVTX_category, row->id);
	SET(NVTX_domainId, domain);
	put_event(n, row->name);
}

/* --- the export ------------------------------------------------------------------------------ */

static enum ws_status write_events(struct ws_nsys_out *o, struct ws_err *err)
{
	for (enum ws_nsys_table table = WS_NSYS_RUNTIME; table <= WS_NSYS_MEMORY; table++)
		WS_FORWARD(write_table(o, table, err));
	/* tables of our own */
	for (size_t i = 0; i < ws_nsys_own_kinds_count; i++) {
		struct ws_nsys_column_def columns[WS_NSYS_MAX_OWN_COLUMNS];
		struct ws_nsys_value values[WS_NSYS_MAX_OWN_COLUMNS];
		const enum ws_kind kind = ws_nsys_own_kinds[i];
		struct table t = {.o = o, .columns = columns, .values = values, .kind = kind};
		char name[64];

		if (!ws_trace_reader_count(o->r, kind))
			continue;
		t.n = ws_nsys_own_columns(kind, columns);
		ws_nsys_own_name(kind, name);
		ws_nsys_create(o, name, columns, t.n, &t.insert);
		enum ws_status written = ws_records_each(o->r, kind, put_own_row, &t, err);
		sqlite3_finalize(t.insert);
		WS_FORWARD(written);
	}
	/* NVTX_EVENTS */
	struct nvtx n = {.o = o};
	struct ws_recorded_ranges ranges;
	struct ws_model *m;
	enum ws_status status = ws_recorded_ranges_read(&ranges, o->r, &m, err);

	WS_THEN(status, ws_records_load_by(&n.payloads, o->r, WS_KIND_PAYLOAD, 0, err));
	for (size_t i = 0; i < ranges.nranges && status == WS_OK; i++)
		put_range(&n, &ranges, ws_recorded_range(&ranges.ranges, i));
	for (size_t i = 0; i < ranges.nmarks && status == WS_OK; i++)
		put_range(&n, &ranges, ws_recorded_range(&ranges.marks, i));
	WS_THEN(status, ws_records_each(o->r, WS_KIND_CATEGORY, on_category, &n, err));
	o->stats->dangling = ranges.dangling;
	ws_recorded_ranges_free(&ranges);
	ws_model_free(m);
	ws_records_free(&n.payloads);
	ws_strtab_free(&n.domains);
	ws_strtab_free(&n.created);
	return status;
}

enum ws_status ws_export_nsys(const struct ws_trace_reader *r, const char *path,
                              const struct ws_export_opts *opts, struct ws_export_stats *stats,
                              struct ws_err *err)
{
	struct ws_nsys_out o = {.r = r,
	                        .stats = stats,
	                        .first_ns = INT64_MAX,
	                        .last_ns = INT64_MIN};

	ws_export_progress_begin(&o.progress, r, opts);
	enum ws_status status = ws_nsys_out_open(&o, path, err);
	WS_THEN(status, ws_records_load_by(&o.strings, r, WS_KIND_STRING, 0, err));
	WS_THEN(status, ws_records_load_by(&o.threads, r, WS_KIND_THREAD, 0, err));
	WS_THEN(status, ws_records_load_by(&o.configs, r, WS_KIND_LAUNCH_CONFIG, 0, err));
	if (status == WS_OK) {
		const struct ws_row_thread *t = o.threads.rows;

		o.config = ws_xarray(o.configs.n + 1, sizeof(*o.config)); /* the last one: lost */
		/* numbers that fit are unique */
		for (size_t i = 0; i < o.threads.n; i++)
			if (t[i].pid <= ID_MASK)
				ws_nsys_global_pid(&o, t[i].pid);
		for (size_t i = 0; i < o.threads.n; i++)
			if (t[i].tid <= ID_MASK)
				ws_nsys_global_tid(&o, t[i].id);
	}
	WS_THEN(status, write_events(&o, err));
	WS_THEN(status, write_info(&o, err));
	if (status == WS_OK) {
		execute(&o, "COMMIT");
		status = o.status;
		if (status != WS_OK && err)
			*err = o.err;
	}

	for (size_t i = 0; i < WS_NSYS_TABLES; i++)
		sqlite3_finalize(o.table[i]);
	sqlite3_close(o.db);
	if (o.files.zName) {
		o.files.xSetSystemCall(&o.files, "open", NULL);
		sqlite3_vfs_unregister(&o.files);
	}
	ws_records_free(&o.strings);
	ws_records_free(&o.threads);
	ws_records_free(&o.configs);
	ws_records_free(&o.processes);
	ws_records_free(&o.devices);
	ws_records_free(&o.attrs);
	ws_records_free(&o.losses);
	free(o.config);
	ws_strtab_free(&o.texts);
	ws_strtab_free(&o.used_threads);
	ws_strtab_free(&o.used_processes);
	ws_map_free(&o.string_ids);
	ws_map_free(&o.thread_ids);
	ws_map_free(&o.process_ids);
	ws_buf_free(&o.scratch);
	ws_buf_free(&o.readable);
	ws_arena_free(&o.row_texts);
	return status;
}

static enum ws_status write_export(const struct ws_trace_reader *r, const struct ws_export_job *job,
                                   struct ws_export_stats *stats, struct ws_err *err)
{
	struct ws_outfile out;
	struct ws_err cause;

	WS_FORWARD(ws_outfile_open(&out, job->to, err));
	enum ws_status status = ws_export_nsys(r, ws_outfile_name(&out), job->opts, stats, &cause);
	return ws_outfile_end(&out, status, &cause, err);
}

const struct ws_exporter ws_exporter_sqlite = {
        .name = "sqlite",
        .extensions = {".sqlite", ".db"},
        .write = write_export,
};
