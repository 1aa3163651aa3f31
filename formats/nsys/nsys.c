/*
 * Nsight Systems SQLite exports. In this order: the tables, the database, rows, session and
 * devices, tables whose rows are records of one kind, NVTX, names, and the importer.
 * docs/reference/import.md documents what becomes of every column.
 *
 * The database is not trusted: it is opened read-only, its pages are checked, nothing of its schema
 * is executed, only real tables are read (no view or virtual table in their place), and the work is
 * limited. Strings are read one by one, so that strings without a kept record, such as whole
 * environments, are never read.
 */
#include "formats/nsys/nsys.h"

#include <ctype.h>
#include <sqlite3.h>

/* --- tables, also used by our export --- */

/* WS_NSYS_KIND_launch_config … */
enum {
#define K(NAME, name, id, class, meaning) WS_NSYS_KIND_##name = WS_KIND_##NAME,
	WS_KIND_LIST(K)
#undef K
};
const struct ws_nsys_table_def ws_nsys_tables[WS_NSYS_TABLES] = {
#define TABLE(ID, name, first, KIND) {name, WS_NSYS_##ID##_##first, KIND},
#define WRITTEN(ID, name, first)     {name, WS_NSYS_##ID##_##first, 0},
#include "formats/nsys/nsys.def"
};

const struct ws_nsys_column_def ws_nsys_columns[WS_NSYS_COLUMNS] = {
#define DESCRIBED(ID, column, type, READ) \
#column, type, WS_NSYS_##ID, WS_NSYS_READ_##READ, sizeof(type) == sizeof("INTEGER NOT NULL")
#define COLUMN(ID, column, type, READ) {DESCRIBED(ID, column, type, READ), 0, 0, 0},
#define FIELD(ID, column, type, READ, kind, field, AS)                            \
	{DESCRIBED(ID, column, type, READ), WS_NSYS_KIND_##kind, WS_NSYS_AS_##AS, \
	 offsetof(struct ws_row_##kind, field)},
#include "formats/nsys/nsys.def"
};

unsigned ws_nsys_count_columns(enum ws_nsys_table table)
{
	const unsigned first = ws_nsys_tables[table].first;
	unsigned c = first;

	while (c < WS_NSYS_COLUMNS && ws_nsys_columns[c].table == table)
		c++;
	return c - first;
}

const struct ws_nsys_choice ws_nsys_choices[WS_NSYS_MEANINGS] = {
        /* an unknown one before the trace's, and no fourth */
        [WS_NSYS_AS_LAUNCH_TYPE] = {1, 3, -1, 0},
        /* CUPTI's numbers begin with "unknown"; the export's end with it */
        [WS_NSYS_AS_MEMORY_KIND] = {0, 6, 1, 7},
        [WS_NSYS_AS_MEMORY_OP] = {0, 1, 0, 0},
        /* undefined and unknown are apart there, and the parts of compiling are one */
        [WS_NSYS_AS_OVERHEAD_KIND] = {1, 10, -1, 2},
        [WS_NSYS_AS_STREAM_FLAG] = {0, 3, 0, 0},
        [WS_NSYS_AS_SYNC_TYPE] = {0, 4, 0, 0},
};

const struct ws_nsys_payload ws_nsys_payloads[WS_NSYS_PAYLOADS] = {
        {WS_NSYS_NVTX_uint64Value, 18, 8, false, false},
        {WS_NSYS_NVTX_int64Value, 17, 8, false, true},
        {WS_NSYS_NVTX_doubleValue, 20, 8, true, true},
        {WS_NSYS_NVTX_uint32Value, 16, 4, false, false},
        {WS_NSYS_NVTX_int32Value, 15, 4, false, true},
        {WS_NSYS_NVTX_floatValue, 19, 4, true, true},
};

const enum ws_kind ws_nsys_own_kinds[] = {
#define X(NAME, name) WS_KIND_##NAME,
        WS_NSYS_OWN_LIST(X)
#undef X
};
#define X(NAME, name) \
	_Static_assert(WS_NCOLS_##name <= WS_NSYS_MAX_OWN_COLUMNS, "columns have room for them");
WS_NSYS_OWN_LIST(X)
#undef X
const size_t ws_nsys_own_kinds_count = sizeof(ws_nsys_own_kinds) / sizeof(*ws_nsys_own_kinds);
void ws_nsys_own_name(enum ws_kind kind, char name[64])
{
	snprintf(name, 64, WS_NSYS_OWN_PREFIX "%s", ws_schema_kind(kind)->name);
}

unsigned ws_nsys_own_columns(enum ws_kind kind,
                             struct ws_nsys_column_def columns[WS_NSYS_MAX_OWN_COLUMNS])
{
	static const enum ws_nsys_meaning of_type[] = {
	        [WS_TYPE_U64] = WS_NSYS_AS_SIGNED,  [WS_TYPE_I64] = WS_NSYS_AS_SIGNED,
	        [WS_TYPE_F64] = WS_NSYS_AS_REAL,    [WS_TYPE_TIME] = WS_NSYS_AS_TIME,
	        [WS_TYPE_DUR] = WS_NSYS_AS_DUR,     [WS_TYPE_STR] = WS_NSYS_AS_TEXT,
	        [WS_TYPE_ENUM] = WS_NSYS_AS_SIGNED, [WS_TYPE_BLOB] = WS_NSYS_AS_BLOB,
	};
	const struct ws_kind_def *def = ws_schema_kind(kind);

	for (unsigned c = 0; c < def->ncolumns; c++) {
		struct ws_nsys_column_def *to = &columns[c];
		enum ws_nsys_meaning meaning = of_type[def->columns[c].type];
		struct ws_ref_column ref = {0};

		ws_ref_column_at(def, c, &ref);
		if (!strcmp(def->columns[c].name, "pid"))
			meaning = WS_NSYS_AS_PROCESS;
		else if (ref.target == WS_KIND_THREAD)
			meaning = ref.zero_is_none ? WS_NSYS_AS_THREAD_OR_NONE : WS_NSYS_AS_THREAD;
		else if (ref.target == WS_KIND_DEVICE)
			meaning = ref.zero_is_none ? WS_NSYS_AS_DEVICE_OR_NONE : WS_NSYS_AS_DEVICE;
		else if (ref.target == WS_KIND_OP_CONFIG)
			meaning = WS_NSYS_AS_OP_CONFIG;
		else if (ref.target == WS_KIND_PAYLOAD_SCHEMA)
			meaning = WS_NSYS_AS_PAYLOAD_SCHEMA;
		*to = (struct ws_nsys_column_def){.name = def->columns[c].name,
		                                  .type = "INTEGER",
		                                  .read = WS_NSYS_READ_INT,
		                                  .kind = (uint8_t)kind,
		                                  .meaning = (uint8_t)meaning,
		                                  .row_offset =
		                                          (uint16_t)def->columns[c].row_offset};
		if (to->meaning == WS_NSYS_AS_REAL) {
			to->type = "REAL";
			to->read = WS_NSYS_READ_REAL;
		} else if (to->meaning == WS_NSYS_AS_BLOB) {
			to->type = "BLOB";
			to->read = WS_NSYS_READ_TEXT;
		} else if (to->meaning == WS_NSYS_AS_DEVICE ||
		           to->meaning == WS_NSYS_AS_DEVICE_OR_NONE) {
			to->read = WS_NSYS_READ_INDEX;
		}
	}
	return def->ncolumns;
}

/* --- the database --- */

struct ws_nsys {
	struct ws_import_out *out;
	struct ws_import_clock *clock;
	sqlite3 *db;
	uint64_t work, work_limit; /* in units of the progress handler */
	uint64_t rows_total;       /* an estimate of the rows to read */
	uint64_t default_pid;      /* of records without a process: the first named thread's */
	sqlite3_stmt *table;       /* asks whether a table of this name exists */
	sqlite3_stmt *string;      /* of a StringIds key */
	struct ws_map string_rows; /* id -> rowid, if id is not the primary key */
	bool strings_by_row;
	struct ws_map strings; /* id -> string id of the trace */
	struct ws_map domains; /* pid and domainId -> string id of the trace */
	/* of our own exports: id there -> id of the trace */
	struct ws_map payloads, payload_schemas, op_configs;
	/* eventId -> payload of the trace: sorted for those that came in order, which takes half
	   the memory, and a map for the others */
	struct ws_map_entry *event_payload;
	size_t nevent_payloads, event_payloads_capacity, event_payload_at;
	struct ws_map other_payloads;
	struct ws_map domain_names;     /* pid and string id -> the domain of that name */
	struct ws_map domain_of_number; /* domainId -> string id of the first that has it */
	struct ws_strtab schema_ids;    /* domainId and schemaId -> id of the trace's schema, less
	                                   FIRST_SCHEMA - 1 */
	struct ws_map
	        place_of_pid;     /* process number -> the machine or container that has it first */
	struct ws_map process_of; /* pid of the trace -> a small number */
	struct ws_import_range last_start_end; /* equal ones stand behind each other */
	uint64_t last_range_id;
};

#define PROGRESS_STEP 100000 /* virtual machine instructions between two looks at the limit */

void ws_import_nsys_harden(sqlite3 *db)
{
	static const struct {
		int limit, value;
	} limits[] = {
	        {SQLITE_LIMIT_LENGTH, 1 << 26},     /* bytes of a text */
	        {SQLITE_LIMIT_SQL_LENGTH, 1 << 20}, /* of a schema entry */
	        {SQLITE_LIMIT_COLUMN, 2000},
	        {SQLITE_LIMIT_ATTACHED, 0},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		sqlite3_limit(db, limits[i].limit, limits[i].value);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
}

static int count_work(void *ctx)
{
	struct ws_nsys *n = ctx;

	return ++n->work > n->work_limit;
}

/* The number that a statement without parameters returns; 0 if it returns none. */
static int64_t one_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t value = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

/* Does a column exist? column NULL: does a table exist, which may be a virtual one? */
static bool has_column(struct ws_nsys *n, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(n->db, "main", table, column, NULL, NULL, NULL, NULL,
	                                     NULL) == SQLITE_OK;
}

/* Does a real table have this name? */
static int has_table(struct ws_nsys *n, const char *name)
{
	/* most exports lack most tables, and this call needs no statement */
	if (!has_column(n, name, NULL))
		return 0;
	/* a virtual table has no root page */
	if (!n->table && sqlite3_prepare_v2(n->db,
	                                    "SELECT 1 FROM main.sqlite_master WHERE type = "
	                                    "'table' AND name = ?1 AND rootpage > 0",
	                                    -1, &n->table, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_text(n->table, 1, name, -1, SQLITE_STATIC);
	int found = sqlite3_step(n->table) == SQLITE_ROW;
	sqlite3_reset(n->table);
	return found;
}

/* The tables that are imported, by their names. */
static const char *const imported[] = {
#define TABLE(ID, name, first, KIND) name,
#include "formats/nsys/nsys.def"
};
#define NIMPORTED (sizeof(imported) / sizeof(*imported))

/* --- rows of a table --- */

#define MAX_COLUMNS 64   /* columns of a table; that of kernels has the most */
#define TELL_ROWS   4096 /* rows between two reports of progress */
_Static_assert(WS_NSYS_KERNEL_clusterZ - WS_NSYS_KERNEL_start < MAX_COLUMNS,
               "a row has room for them");

struct rows {
	struct ws_nsys *n;
	sqlite3_stmt *stmt; /* NULL: no such table */
	const char *table;
	const struct ws_nsys_column_def *columns; /* of the result */
	int first, ncolumns; /* first: enum ws_nsys_column of column 0, of a table of nsys.def */
	/* values of the row: reading them from SQLite at each use took a tenth of an import */
	uint8_t type[MAX_COLUMNS];
	int64_t integer[MAX_COLUMNS]; /* if the type is SQLITE_INTEGER, else 0 */
};

/* Selects the columns that exist in the export, in the order of its rows. tail: more SQL after the
 * table's name. Without the table there are no rows. */
static void open_rows(struct rows *rows, const char *tail)
{
	struct ws_nsys *n = rows->n;
	bool any = false;

	memset(rows->type, SQLITE_NULL, sizeof(rows->type));
	if (!has_table(n, rows->table))
		return;
	sqlite3_str *sql = sqlite3_str_new(n->db);
	for (int c = 0; c < rows->ncolumns; c++) {
		const bool present = rows->columns[c].read != WS_NSYS_READ_NO &&
		                     has_column(n, rows->table, rows->columns[c].name);

		any |= present;
		sqlite3_str_appendall(sql, c ? "," : "SELECT ");
		sqlite3_str_appendf(sql, present ? "\"%w\"" : "NULL", rows->columns[c].name);
	}
	sqlite3_str_appendf(sql, " FROM main.\"%w\" %s", rows->table, *tail ? tail : "NOT INDEXED");
	char *text = sqlite3_str_finish(sql);
	if (!any || sqlite3_prepare_v2(n->db, text, -1, &rows->stmt, NULL) != SQLITE_OK) {
		ws_import_warn(n->out, "%s cannot be read: %s", rows->table,
		               any ? sqlite3_errmsg(n->db) : "it has none of the known columns");
		n->out->lost[WS_LOST_import_damaged_table]++;
		rows->stmt = NULL;
	}
	sqlite3_free(text);
}

static void open_table(struct ws_nsys *n, enum ws_nsys_table table, const char *tail,
                       struct rows *rows)
{
	const enum ws_nsys_column first = ws_nsys_tables[table].first;

	*rows = (struct rows){.n = n,
	                      .table = ws_nsys_tables[table].name,
	                      .columns = &ws_nsys_columns[first],
	                      .first = (int)first,
	                      .ncolumns = (int)ws_nsys_count_columns(table)};
	open_rows(rows, tail);
}

/*
 * Reads the integers of the row. false: a value has another type, or is negative in a column where
 * that is impossible. SQLite stores values of any type in any column, and would convert them to
 * numbers.
 */
static bool take_integers(struct rows *rows)
{
	bool is_sound = true;

	for (int i = 0; i < rows->ncolumns; i++) {
		const int read = rows->columns[i].read;
		sqlite3_value *value;

		if (read == WS_NSYS_READ_NO)
			continue;
		/* one thread has the database, so the value needs no mutex */
		value = sqlite3_column_value(rows->stmt, i);
		int type = sqlite3_value_type(value);
		rows->type[i] = (uint8_t)type;
		rows->integer[i] = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : 0;
		if ((read == WS_NSYS_READ_INT || read == WS_NSYS_READ_INDEX) && type != SQLITE_NULL)
			is_sound &= type == SQLITE_INTEGER &&
			            (read == WS_NSYS_READ_INT || rows->integer[i] >= 0);
	}
	return is_sound;
}

/* Go to the next row; false after the last. Damage ends the table, and is counted, as are rows with
 * wrong integers, which are skipped. */
static bool next_row(struct rows *rows)
{
	struct ws_import_out *out = rows->n->out;
	int code = SQLITE_DONE;

	while (rows->stmt && (code = sqlite3_step(rows->stmt)) == SQLITE_ROW &&
	       !take_integers(rows))
		ws_import_lose(out, WS_LOST_import_bad_value, 1);
	if (code == SQLITE_ROW) {
		if (++out->stats->events % TELL_ROWS == 0)
			ws_import_tell(out, out->stats->events, rows->n->rows_total);
		return true;
	}
	if (code != SQLITE_DONE) {
		ws_import_warn(out, "%s is damaged, the rest of it is lost: %s", rows->table,
		               code == SQLITE_INTERRUPT ? "its pages lead in circles"
		                                        : sqlite3_errmsg(rows->n->db));
		out->lost[WS_LOST_import_damaged_table]++;
	}
	return false;
}

static void close_rows(struct rows *rows)
{
	sqlite3_finalize(rows->stmt);
	rows->stmt = NULL;
}

/* Call fn for each row of a table. */
static void each_row(struct ws_nsys *n, enum ws_nsys_table table, void (*fn)(const struct rows *r))
{
	struct rows rows;

	open_table(n, table, "", &rows);
	while (next_row(&rows))
		fn(&rows);
	close_rows(&rows);
}

/* --- values of a row --- */

static int64_t i64_at(const struct rows *r, enum ws_nsys_column c)
{
	return r->integer[(int)c - r->first];
}

/* Negative numbers read as 0. */
static uint64_t u64_at(const struct rows *r, enum ws_nsys_column c)
{
	int64_t v = i64_at(r, c);

	return v < 0 ? 0 : (uint64_t)v;
}

static bool is_null(const struct rows *r, enum ws_nsys_column c)
{
	return r->type[(int)c - r->first] == SQLITE_NULL;
}

/* Borrowed until the next row; may hold NUL and broken UTF-8. */
static struct ws_bytes text_of(sqlite3_stmt *stmt, int column)
{
	const void *text = sqlite3_column_text(stmt, column);
	int len = sqlite3_column_bytes(stmt, column);

	return text && len > 0 ? (struct ws_bytes){text, (size_t)len} : (struct ws_bytes){NULL, 0};
}

static struct ws_bytes text_at(const struct rows *r, enum ws_nsys_column c)
{
	return text_of(r->stmt, (int)c - r->first);
}

/* A text of StringIds, borrowed until the next one is read; empty if there is none. */
static struct ws_bytes look_up(struct ws_nsys *n, uint64_t key)
{
	const struct ws_bytes none = {NULL, 0};

	if (!n->string)
		return none;
	if (n->strings_by_row) {
		const uint64_t *row = ws_map_get(&n->string_rows, key);
		if (!row)
			return none;
		key = *row;
	}
	sqlite3_reset(n->string);
	sqlite3_bind_int64(n->string, 1, (int64_t)key);
	return sqlite3_step(n->string) == SQLITE_ROW ? text_of(n->string, 0) : none;
}

/* The trace's id of the text to which a column refers by its StringIds id; 0 for NULL and unknown
 * ids. */
static void string_at(const struct rows *r, enum ws_nsys_column c, uint64_t *id)
{
	const uint64_t key = (uint64_t)i64_at(r, c);
	const uint64_t *known = ws_map_get(&r->n->strings, key);

	*id = 0;
	if (is_null(r, c))
		return;
	if (known) {
		*id = *known;
		return;
	}
	ws_import_text(r->n->out, look_up(r->n, key), id);
	ws_map_add(&r->n->strings, key, *id);
}

/* Start and duration; false, and counted, if they cannot be right. */
static bool span_at(const struct rows *r, enum ws_nsys_column start, enum ws_nsys_column end,
                    int64_t *start_ns, int64_t *dur_ns)
{
	*start_ns = i64_at(r, start);
	if (is_null(r, start) || is_null(r, end) ||
	    __builtin_sub_overflow(i64_at(r, end), *start_ns, dur_ns)) {
		r->n->out->lost[WS_LOST_import_bad_time]++;
		return 0;
	}
	return ws_import_time_ok(r->n->out, *start_ns, *dur_ns);
}

/* The process of a global id, which is HW:8, VM:8, PID:24, TID:24. Where several machines or
 * containers use a number, all but the first of its processes have the bits of their place, too. */
static uint64_t pid_at(const struct rows *r, enum ws_nsys_column global_id)
{
	const uint64_t id = (uint64_t)i64_at(r, global_id), place = id >> 48;
	const uint64_t pid = id >> 24 & 0xffffff, *first;

	if (is_null(r, global_id))
		return r->n->default_pid;
	first = ws_map_get(&r->n->place_of_pid, pid);
	if (!first)
		ws_map_add(&r->n->place_of_pid, pid, place);
	/* no place has the number 0x10000 */
	return !first || *first == place ? pid : (place ? place : 0x10000) << 24 | pid;
}

/* A small number for the process, so that a key has room for other numbers. */
static uint64_t process_at(const struct rows *r, enum ws_nsys_column global_id)
{
	struct ws_map *numbers = &r->n->process_of;
	const uint64_t pid = pid_at(r, global_id), next = numbers->n + 1;

	ws_map_add(numbers, pid + 1, next); /* an existing entry is kept */
	return *ws_map_get(numbers, pid + 1);
}

static void thread_at(const struct rows *r, enum ws_nsys_column global_tid, uint64_t *thread)
{
	const uint64_t tid = (uint64_t)i64_at(r, global_tid) & 0xffffff;
	const uint64_t pid = pid_at(r, global_tid);

	if (!r->n->default_pid)
		r->n->default_pid = pid;
	ws_import_thread(r->n->out, pid, tid, (struct ws_bytes){NULL, 0}, thread);
}

/* --- session, versions, devices. Only columns in nsys.def are read, as these tables also contain
 * whole environments --- */

/* The value of a name in a table of names and values; empty if there is none. Free with
 * ws_buf_free. */
static void fact(struct ws_nsys *n, const char *table, const char *name, struct ws_buf *value)
{
	sqlite3_stmt *stmt;

	value->len = 0;
	if (!has_table(n, table) || !has_column(n, table, "name") || !has_column(n, table, "value"))
		return;
	char *sql = sqlite3_mprintf("SELECT value FROM main.\"%w\" WHERE name = ?1 LIMIT 1", table);
	if (sqlite3_prepare_v2(n->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
			ws_buf_put(value, sqlite3_column_text(stmt, 0),
			           (size_t)sqlite3_column_bytes(stmt, 0));
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

static void import_info(struct ws_nsys *n)
{
	static const struct {
		const char *table, *name, *key;
	} facts[] = {
#define FACT(table, name, key) {table, name, key},
#include "formats/nsys/nsys.def"
	};
	struct ws_import_stats *stats = n->out->stats;
	struct ws_buf value = {0};
	struct rows rows, pairs;
	static const struct {
		enum ws_nsys_column column;
		const char *attr;
	} attrs[] = {
#define GPU(column, attr) {WS_NSYS_GPU_##column, attr},
#include "formats/nsys/nsys.def"
	};
	struct ws_map cuda_of_gpu = {0};
	struct rows gpus;
	struct ws_map gpu_of_cuda = {0};
	int differ = 0;

	/* the version of the schema; its table has had two names */
	fact(n, "META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", &value);
	if (!value.len)
		fact(n, "EXPORT_META_DATA", "EXPORT_SCHEMA_VERSION", &value);
	if (!value.len)
		snprintf(stats->format, sizeof(stats->format), "schema of unknown version");
	else
		snprintf(stats->format, sizeof(stats->format), "schema %.*s",
		         value.len > 32 ? 32 : (int)value.len, value.data);
	for (char *c = stats->format; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		fact(n, facts[i].table, facts[i].name, &value);
		if (value.len)
			ws_import_meta(n->out, facts[i].key,
			               (struct ws_bytes){value.data, value.len});
	}
	ws_buf_free(&value);

	open_table(n, WS_NSYS_SESSION, "LIMIT 1", &rows);
	if (next_row(&rows)) {
		ws_import_keep(n->out, 1);
		n->clock->base_ns = i64_at(&rows, WS_NSYS_SESSION_utcEpochNs);
	}
	close_rows(&rows);
	/* records have CUDA's numbers of devices; the table of GPUs may have other numbers */
	open_table(n, WS_NSYS_CUDA_DEVICE, "", &pairs);
	while (next_row(&pairs)) {
		uint64_t gpu = u64_at(&pairs, WS_NSYS_CUDA_DEVICE_gpuId);
		uint64_t cuda = u64_at(&pairs, WS_NSYS_CUDA_DEVICE_cudaId);
		const uint64_t *known = ws_map_get(&gpu_of_cuda, cuda);

		differ |= known && *known != gpu;
		if (known) {
			ws_import_skip(n->out, "repeated devices", 1);
			continue;
		}
		ws_import_keep(n->out, 1);
		ws_map_add(&gpu_of_cuda, cuda, gpu);
		ws_map_add(&cuda_of_gpu, gpu, cuda);
	}
	close_rows(&pairs);
	ws_map_free(&gpu_of_cuda);
	if (differ)
		ws_import_warn(n->out, "processes number the devices differently: names and sizes "
		                       "of a device number are those of the first process");
	open_table(n, WS_NSYS_GPU, "ORDER BY 2", &gpus);
	while (next_row(&gpus)) {
		const uint64_t gpu = u64_at(&gpus, WS_NSYS_GPU_id);
		const uint64_t *cuda = ws_map_get(&cuda_of_gpu, gpu);
		const uint64_t id = cuda ? *cuda : gpu;

		/* adapters of other makers are listed, too */
		if (cuda_of_gpu.n ? !cuda
		                  : !is_null(&gpus, WS_NSYS_GPU_computeMajor) &&
		                            !i64_at(&gpus, WS_NSYS_GPU_computeMajor)) {
			ws_import_skip(n->out, "adapters that are no CUDA devices", 1);
			continue;
		}
		ws_import_keep(n->out, 1);
		ws_import_device(n->out, id, text_at(&gpus, WS_NSYS_GPU_name));
		for (size_t i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
			if (!is_null(&gpus, attrs[i].column))
				ws_import_device_attr(n->out, id, attrs[i].attr,
				                      i64_at(&gpus, attrs[i].column));
	}
	close_rows(&gpus);
	ws_map_free(&cuda_of_gpu);
}

/* --- tables whose rows are records of one kind. Tables of our own are trusted no more than others:
 * ids are looked up, times and sizes checked --- */

#define MAX_ROW_BYTES (WS_NSYS_MAX_OWN_COLUMNS * sizeof(struct ws_bytes))

static bool lacks_field(const struct rows *r)
{
	r->n->out->lost[WS_LOST_import_missing_field]++;
	return false;
}

/* A reference in our own export, by the id there. */
static bool take_known(const struct rows *r, const struct ws_map *ids, uint64_t id, uint64_t *to)
{
	const uint64_t *known = ws_map_get(ids, id);

	if (!known)
		return lacks_field(r);
	*to = *known;
	return true;
}

/* Converts a cell with a reference to the id in the trace. */
static bool take_name(const struct rows *r, const struct ws_nsys_column_def *c,
                      enum ws_nsys_column column, uint64_t *to)
{
	switch ((enum ws_nsys_meaning)c->meaning) {
	case WS_NSYS_AS_TEXT:
		string_at(r, column, to);
		return true;
	case WS_NSYS_AS_THREAD:
		if (!*to)
			return lacks_field(r);
		thread_at(r, column, to);
		return true;
	case WS_NSYS_AS_THREAD_OR_NONE:
	case WS_NSYS_AS_THREAD_OR_0:
		thread_at(r, column, to);
		return true;
	case WS_NSYS_AS_PROCESS:
		*to = pid_at(r, column);
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

/* Convert the cell in column `at` to the row's field. false, and counted: it cannot be right. */
static bool take_cell(const struct rows *r, int at, uint8_t *row)
{
	const struct ws_nsys_column_def *c = &r->columns[at];
	const enum ws_nsys_column column = (enum ws_nsys_column)(r->first + at);
	const struct ws_nsys_choice *choice = &ws_nsys_choices[c->meaning];
	const int64_t value = r->integer[at]; /* 0 for NULL */
	const bool is_missing = r->type[at] == SQLITE_NULL;
	uint64_t *to = (uint64_t *)(void *)(row + c->row_offset);
	struct ws_bytes blob;
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
		return span_at(r, column - 1, column, (int64_t *)(void *)(row + c[-1].row_offset),
		               (int64_t *)to);
	case WS_NSYS_AS_TIME:
		return ws_import_time_ok(r->n->out, value, 0);
	case WS_NSYS_AS_DUR:
		return ws_import_time_ok(r->n->out, 0, value);
	case WS_NSYS_AS_ID_OR_NONE:
		*to = is_missing || value == UINT32_MAX ? UINT64_MAX : (uint64_t)value;
		return true;
	case WS_NSYS_AS_PRIORITY:
		*to = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
		return true;
	case WS_NSYS_AS_REAL:
		real = sqlite3_column_double(r->stmt, at);
		memcpy(to, &real, sizeof(real));
		return true;
	case WS_NSYS_AS_BLOB:
		blob.ptr = sqlite3_column_blob(r->stmt, at);
		blob.len = (size_t)sqlite3_column_bytes(r->stmt, at);
		if (blob.len > WS_MAX_BLOB_BYTES)
			return lacks_field(r);
		memcpy(to, &blob, sizeof(blob));
		return true;
	case WS_NSYS_AS_THREAD_OR_NONE:
	case WS_NSYS_AS_DEVICE_OR_NONE:
		return !value || take_name(r, c, column, to);
	default:
		if (c->meaning < WS_NSYS_AS_LAUNCH_TYPE)
			return take_name(r, c, column, to);
		*to = is_missing || value < choice->first || value > choice->last
		              ? 0
		              : (uint64_t)(value + choice->shift);
		return true;
	}
}

/* Converts the row's cells that are fields of this kind; other fields are 0. false, and counted: a
 * cell cannot be right. */
static bool take_row(const struct rows *r, enum ws_kind kind, void *row)
{
	for (int at = 0; at < r->ncolumns; at++)
		if (r->columns[at].kind == kind && !take_cell(r, at, row))
			return false;
	return true;
}

/* The id of a definition. The first definition is valid. */
static bool is_new(struct ws_nsys *n, struct ws_map *ids, uint64_t id, uint64_t in_trace)
{
	if (!ws_map_get(ids, id)) {
		ws_map_add(ids, id, in_trace);
		return true;
	}
	ws_import_skip(n->out, "repeated definitions", 1);
	return false;
}

/* Sets fields that need several cells. false: the row is not a row of the trace. */
static bool complete_row(const struct rows *r, enum ws_kind kind, void *row)
{
	struct ws_nsys *n = r->n;
	struct ws_row_launch_config config = {0};
	struct ws_row_kernel *kernel = row;
	struct ws_row_memcpy *copy = row;
	const struct ws_row_payload *payload = row;
	struct ws_row_op_config *op = row;
	const struct ws_row_meta *meta = row;
	uint64_t id;

	switch (kind) {
	case WS_KIND_KERNEL:
		if (!take_row(r, WS_KIND_LAUNCH_CONFIG, &config))
			return false;
		/* the name as it is printed; exports without it have one of the others */
		string_at(r, WS_NSYS_KERNEL_demangledName, &config.name);
		if (!config.name)
			string_at(r, WS_NSYS_KERNEL_shortName, &config.name);
		if (!config.name)
			string_at(r, WS_NSYS_KERNEL_mangledName, &config.name);
		ws_trace_writer_intern_config(n->out->w, &config, &kernel->config, NULL);
		return true;
	case WS_KIND_MEMCPY:
		if (copy->kind != WS_MEMCPY_PTOP)
			return true;
		copy->src_device = u64_at(r, WS_NSYS_MEMCPY_srcDeviceId);
		copy->dst_device = u64_at(r, WS_NSYS_MEMCPY_dstDeviceId);
		ws_import_device_used(n->out, copy->src_device);
		ws_import_device_used(n->out, copy->dst_device);
		return true;
	case WS_KIND_SYNC:
		((struct ws_row_sync *)row)->event_stream = -1;
		return true;
	case WS_KIND_PAYLOAD:
		ws_import_keep(n->out, 1);
		ws_trace_writer_intern_payload(n->out->w, payload->schema, payload->bytes.ptr,
		                               payload->bytes.len, &id, NULL);
		ws_map_add(&n->payloads, payload->id, id);
		return false;
	case WS_KIND_PAYLOAD_SCHEMA:
		id = ((const struct ws_row_payload_schema *)row)->id;
		return is_new(n, &n->payload_schemas, id, id);
	case WS_KIND_OP_CONFIG:
		id = op->id;
		op->id = n->op_configs.n + 1;
		return is_new(n, &n->op_configs, id, op->id);
	case WS_KIND_META:
		if (!ws_bytes_begin(meta->key, "tool.") && !ws_bytes_begin(meta->key, "import."))
			return true;
		ws_import_skip(n->out, "facts about the tool that wrote the export", 1);
		return false;
	case WS_KIND_GRAPH_NODE:
		if (r->first == WS_NSYS_GRAPH_NODE_start)
			((struct ws_row_graph_node *)row)->pid =
			        pid_at(r, WS_NSYS_GRAPH_NODE_globalTid);
		return true;
	case WS_KIND_DEVICE:
		ws_import_device_used(n->out, ((const struct ws_row_device *)row)->id);
		return true;
	default:
		return true;
	}
}

static void import_rows(struct rows *rows, enum ws_kind kind)
{
	_Alignas(8) uint8_t row[MAX_ROW_BYTES];
	const size_t size = ws_schema_kind(kind)->row_size;

	while (next_row(rows)) {
		memset(row, 0, size);
		if (take_row(rows, kind, row) && complete_row(rows, kind, row))
			ws_import_record(rows->n->out, kind, row);
	}
	close_rows(rows);
}

/* Count a table's rows as read and left out. */
static void leave_out(struct ws_nsys *n, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT count(*) FROM main.\"%w\"", table);
	const uint64_t rows = sql ? (uint64_t)one_number(n->db, sql) : 0;
	char reason[WS_IMPORT_TEXT_BYTES];

	snprintf(reason, sizeof(reason), "table %.100s", table);
	n->out->stats->events += rows;
	ws_import_skip(n->out, reason, rows);
	sqlite3_free(sql);
}

/* Our own exports have tables of some kinds with more columns. */
static void import_table(struct ws_nsys *n, enum ws_nsys_table table)
{
	const enum ws_kind kind = ws_nsys_tables[table].kind;
	bool is_own = false;
	struct rows rows;
	char own[64];

	for (size_t i = 0; i < ws_nsys_own_kinds_count; i++)
		is_own |= ws_nsys_own_kinds[i] == kind;
	ws_nsys_own_name(kind, own);
	if (is_own && has_table(n, own)) {
		leave_out(n, ws_nsys_tables[table].name);
		return;
	}
	open_table(n, table, "", &rows);
	import_rows(&rows, kind);
}

static void on_nvtx_payload(const struct rows *r)
{
	struct ws_nsys *n = r->n;
	const uint64_t event = (uint64_t)i64_at(r, WS_NSYS_OWN_PAYLOAD_eventId);
	const uint64_t *payload =
	        ws_map_get(&n->payloads, (uint64_t)i64_at(r, WS_NSYS_OWN_PAYLOAD_payload));

	if (!payload) {
		n->out->lost[WS_LOST_import_missing_field]++;
		return;
	}
	ws_import_keep(n->out, 1);
	if (n->nevent_payloads && n->event_payload[n->nevent_payloads - 1].key >= event) {
		ws_map_add(&n->other_payloads, event, *payload);
		return;
	}
	WS_GROW(n->event_payload, n->nevent_payloads + 1, n->event_payloads_capacity);
	n->event_payload[n->nevent_payloads++] = (struct ws_map_entry){event, *payload};
}

/* --- NVTX_EVENTS: ranges become pushes and pops again, in domains with their names --- */

/* A domain belongs to a process; its number is small. */
static uint64_t domain_key(const struct rows *r)
{
	return process_at(r, WS_NSYS_NVTX_globalTid) << 40 ^ u64_at(r, WS_NSYS_NVTX_domainId);
}

static void message(const struct rows *r, uint64_t *name)
{
	struct ws_bytes text = text_at(r, WS_NSYS_NVTX_text);

	if (text.len) {
		ws_import_text(r->n->out, text, name);
		return;
	}
	string_at(r, WS_NSYS_NVTX_textId, name);
}

/*
 * Name a domain. Push and pop pair up within a domain, and the trace knows domains only by name, so
 * each needs a name of its own: a domain without one, and the second of a name in a process, get a
 * name made of their number.
 */
static void name_domain(const struct rows *r, uint64_t key, struct ws_bytes name, uint64_t *id)
{
	struct ws_nsys *n = r->n;
	uint64_t number = u64_at(r, WS_NSYS_NVTX_domainId), taken;
	char text[300];
	int len;

	ws_import_text(n->out, name, id);
	taken = process_at(r, WS_NSYS_NVTX_globalTid) << 40 ^ *id;
	if (!*id || ws_map_get(&n->domain_names, taken)) {
		if (name.len > 200)
			name.len = 200;
		len = snprintf(text, sizeof(text), *id ? "%.*s (%llu)" : "%.*sdomain %llu",
		               (int)name.len, name.len ? (const char *)name.ptr : "",
		               (unsigned long long)number);
		ws_import_text(n->out, (struct ws_bytes){text, (size_t)len}, id);
	}
	ws_map_add(&n->domain_names, taken, key);
	ws_map_add(&n->domains, key, *id);
}

static void domain_of(const struct rows *r, uint64_t *id)
{
	uint64_t key = domain_key(r);
	const uint64_t *known = ws_map_get(&r->n->domains, key);

	*id = known ? *known : 0;
	if (known || !u64_at(r, WS_NSYS_NVTX_domainId))
		return;
	name_domain(r, key, (struct ws_bytes){NULL, 0}, id);
}

/* --- payloads with a schema --- */

/* Ids of schemas and enumerations are unique in their domain there, and in the whole trace here.
 * Lower numbers are types of NVTX itself. */
#define FIRST_SCHEMA      (UINT64_C(1) << 32)
#define FIRST_OF_PROGRAMS (UINT64_C(1) << 24)

/* The trace's id of a schema or enumeration. add: gives it one; else that of NVTX's type, and
 * UINT64_MAX if there is none. */
static uint64_t schema_id(struct ws_nsys *n, uint64_t domain, uint64_t schema, bool add)
{
	const uint64_t key[2] = {domain, schema};
	const uint64_t number = add ? ws_strtab_add(&n->schema_ids, key, sizeof(key))
	                            : ws_strtab_find(&n->schema_ids, key, sizeof(key));

	return number                       ? FIRST_SCHEMA + number - 1
	       : schema < FIRST_OF_PROGRAMS ? schema
	                                    : UINT64_MAX;
}

/* Counts a repeated row: the processes of a program register the same schemas. */
static bool is_repeated(struct ws_nsys *n, struct ws_strtab *told, const uint64_t key[3])
{
	const size_t before = told->used;

	(void)ws_strtab_add(told, key, 3 * sizeof(*key));
	if (told->used == before)
		ws_import_skip(n->out, "repeated definitions", 1);
	else
		ws_import_keep(n->out, 1);
	return told->used == before;
}

static void import_schemas(struct ws_nsys *n)
{
	struct ws_strtab told = {0};
	struct rows r;

	open_table(n, WS_NSYS_ENUM_ENTRY, "ORDER BY domainId, schemaId, idx", &r);
	while (next_row(&r)) {
		const uint64_t key[3] = {u64_at(&r, WS_NSYS_ENUM_ENTRY_domainId),
		                         u64_at(&r, WS_NSYS_ENUM_ENTRY_schemaId) << 1 | 1,
		                         u64_at(&r, WS_NSYS_ENUM_ENTRY_idx)};
		/* the size is not told by any known table; it is that of a C enum */
		struct ws_row_payload_enum row = {.id = schema_id(n, key[0], key[1] >> 1, true),
		                                  .size_bytes = sizeof(int),
		                                  .value = i64_at(&r, WS_NSYS_ENUM_ENTRY_value)};

		if (is_repeated(n, &told, key))
			continue;
		ws_import_text(n->out, text_at(&r, WS_NSYS_ENUM_ENTRY_name), &row.entry);
		ws_import_row(n->out, WS_KIND_PAYLOAD_ENUM, &row);
	}
	close_rows(&r);
	open_table(n, WS_NSYS_SCHEMA, "ORDER BY domainId, schemaId", &r);
	while (next_row(&r)) {
		const uint64_t key[3] = {u64_at(&r, WS_NSYS_SCHEMA_domainId),
		                         u64_at(&r, WS_NSYS_SCHEMA_schemaId) << 1, UINT64_MAX};
		const uint64_t *domain = ws_map_get(&n->domain_of_number, key[0]);
		struct ws_row_payload_schema row = {.id = schema_id(n, key[0], key[1] >> 1, true),
		                                    .domain = domain ? *domain : 0,
		                                    .type = u64_at(&r, WS_NSYS_SCHEMA_type),
		                                    .size_bytes =
		                                            u64_at(&r, WS_NSYS_SCHEMA_payloadSize)};
		char nameless[40];

		if (is_repeated(n, &told, key))
			continue;
		if (!row.domain && key[0]) {
			const int len = snprintf(nameless, sizeof(nameless), "domain %llu",
			                         (unsigned long long)key[0]);

			ws_import_text(n->out, (struct ws_bytes){nameless, (size_t)len},
			               &row.domain);
		}
		ws_import_text(n->out, text_at(&r, WS_NSYS_SCHEMA_name), &row.name);
		ws_import_row(n->out, WS_KIND_PAYLOAD_SCHEMA, &row);
	}
	close_rows(&r);
	open_table(n, WS_NSYS_ENTRY, "ORDER BY domainId, schemaId, idx", &r);
	while (next_row(&r)) {
		const uint64_t key[3] = {u64_at(&r, WS_NSYS_ENTRY_domainId),
		                         u64_at(&r, WS_NSYS_ENTRY_schemaId) << 1,
		                         u64_at(&r, WS_NSYS_ENTRY_idx)};
		struct ws_row_payload_field row = {
		        .schema = schema_id(n, key[0], key[1] >> 1, false),
		        .index = key[2],
		        .type = schema_id(n, key[0], u64_at(&r, WS_NSYS_ENTRY_type), false),
		        .flags = u64_at(&r, WS_NSYS_ENTRY_flags),
		        .array_length = u64_at(&r, WS_NSYS_ENTRY_arrayOrUnionDetail),
		        /* only the first field may stand at 0: others without an offset lie
		         * behind data of any length */
		        .offset_bytes = u64_at(&r, WS_NSYS_ENTRY_offset) || !key[2]
		                                ? u64_at(&r, WS_NSYS_ENTRY_offset)
		                                : INT64_MAX};

		if (row.schema == UINT64_MAX) {
			ws_import_skip(n->out, "fields of unknown payload schemas", 1);
			continue;
		}
		if (is_repeated(n, &told, key))
			continue;
		ws_import_text(n->out, text_at(&r, WS_NSYS_ENTRY_name), &row.name);
		ws_import_row(n->out, WS_KIND_PAYLOAD_FIELD, &row);
	}
	close_rows(&r);
	ws_strtab_free(&told);
}

/* binaryData: domainId, schemaId and size, 8 bytes each, 8 more bytes, then the payload. */
#define BINARY_HEAD_BYTES 32

static void binary_payload(const struct rows *r, uint64_t *id)
{
	const struct ws_bytes data = text_at(r, WS_NSYS_NVTX_binaryData);
	uint64_t head[3], schema = UINT64_MAX;

	if (data.len >= BINARY_HEAD_BYTES) {
		memcpy(head, data.ptr, sizeof(head));
		if (head[2] == data.len - BINARY_HEAD_BYTES && head[2] <= UINT16_MAX)
			schema = schema_id(r->n, head[0], head[1], false);
	}
	if (schema == UINT64_MAX) {
		r->n->out->stats->events++;
		ws_import_skip(r->n->out, "payloads of unknown schema or layout", 1);
	} else
		ws_trace_writer_intern_payload(r->n->out->w, schema,
		                               (const char *)data.ptr + BINARY_HEAD_BYTES, head[2],
		                               id, NULL);
}

static void payload(const struct rows *r, uint64_t *id)
{
	const uint64_t event = u64_at(r, WS_NSYS_NVTX_eventId), *own;
	struct ws_nsys *n = r->n;
	size_t at = n->event_payload_at;

	/* in one of our own exports, events mostly come in order */
	if (at == n->nevent_payloads || n->event_payload[at].key != event)
		WS_COUNT_FIRST(at, n->nevent_payloads, n->event_payload[at].key < event);
	if (at < n->nevent_payloads && n->event_payload[at].key == event) {
		own = &n->event_payload[at].value;
		n->event_payload_at = at + 1;
	} else {
		own = ws_map_get(&n->other_payloads, event);
	}
	*id = own ? *own : 0;
	for (size_t i = 0; i < WS_NSYS_PAYLOADS && !own; i++) {
		const struct ws_nsys_payload *p = &ws_nsys_payloads[i];
		const int64_t integer = i64_at(r, p->column);
		const double real =
		        p->is_real ? sqlite3_column_double(r->stmt, (int)p->column - r->first) : 0;
		const float single = (float)real;

		if (is_null(r, p->column))
			continue;
		/* little-endian: the low half of an integer comes first */
		ws_trace_writer_intern_payload(r->n->out->w, p->schema,
		                               !p->is_real     ? (const void *)&integer
		                               : p->bytes == 8 ? (const void *)&real
		                                               : &single,
		                               p->bytes, id, NULL);
		return;
	}
	if (!own && !is_null(r, WS_NSYS_NVTX_binaryData))
		binary_payload(r, id);
}

static void take_range(const struct rows *r, struct ws_import_range *range)
{
	domain_of(r, &range->domain);
	range->category = u64_at(r, WS_NSYS_NVTX_category);
	range->color = u64_at(r, WS_NSYS_NVTX_color);
	thread_at(r, WS_NSYS_NVTX_globalTid, &range->thread);
	message(r, &range->name);
	payload(r, &range->payload);
}

static void on_range(const struct rows *r, struct ws_import_nest *nest, bool push_pop)
{
	struct ws_import_range range = {.start_ns = i64_at(r, WS_NSYS_NVTX_start),
	                                .end_ns = WS_IMPORT_OPEN};
	const struct ws_import_range last = r->n->last_start_end;
	const uint64_t id = u64_at(r, WS_NSYS_NVTX_rangeId), last_id = r->n->last_range_id;
	int64_t dur_ns;

	if (!is_null(r, WS_NSYS_NVTX_end)) {
		if (!span_at(r, WS_NSYS_NVTX_start, WS_NSYS_NVTX_end, &range.start_ns, &dur_ns))
			return;
		range.end_ns = range.start_ns + dur_ns;
	} else if (!ws_import_time_ok(r->n->out, range.start_ns, 0)) {
		return;
	}
	take_range(r, &range);
	ws_import_keep(r->n->out, 1);
	if (push_pop) {
		ws_import_nest_add(nest, &range);
		return;
	}
	r->n->last_start_end = range;
	r->n->last_range_id = id;
	if (last.thread == range.thread && last.start_ns == range.start_ns &&
	    last.end_ns == range.end_ns && last.domain == range.domain && last.name == range.name &&
	    last.category == range.category && last.color == range.color &&
	    last.payload == range.payload && last_id == id) {
		r->n->out->lost[WS_LOST_import_duplicate]++;
		return;
	}
	uint64_t end_thread = range.thread;
	if (!is_null(r, WS_NSYS_NVTX_endGlobalTid))
		thread_at(r, WS_NSYS_NVTX_endGlobalTid, &end_thread);
	ws_import_start_end(r->n->out, &range, end_thread, id & WS_RANGE_OF_THREAD);
}

static void import_nvtx(struct ws_nsys *n)
{
	static const char table[] = "NVTX_EVENTS";
	struct ws_import_nest nest = {.out = n->out};
	struct rows rows, creating;
	char tail[160], creates[60];
	/* the events that name domains are counted with all others */
	const uint64_t bad = n->out->lost[WS_LOST_import_bad_value];
	const uint64_t events = n->out->stats->events;

	if (!has_column(n, table, "start") || !has_column(n, table, "eventType")) {
		import_schemas(n);
		return;
	}
	/* by thread and domain, outer ranges first, as pushed; open ranges are the longest */
	snprintf(tail, sizeof(tail), "ORDER BY %s %s start, %s %s",
	         has_column(n, table, "globalTid") ? "globalTid," : "",
	         has_column(n, table, "domainId") ? "domainId," : "",
	         has_column(n, table, "end") ? "\"end\" IS NOT NULL, \"end\" DESC," : "",
	         has_column(n, table, "eventId") ? "eventId" : "rowid");
	/* the names of domains, which are events of their own; the earliest counts */
	snprintf(creates, sizeof(creates), "WHERE eventType = %d ORDER BY start",
	         WS_NSYS_DOMAIN_CREATE);
	open_table(n, WS_NSYS_NVTX, creates, &creating);
	while (next_row(&creating)) {
		struct ws_bytes name = text_at(&creating, WS_NSYS_NVTX_text);
		uint64_t id, key = domain_key(&creating);

		if (ws_map_get(&n->domains, key))
			continue;
		if (!name.len && !is_null(&creating, WS_NSYS_NVTX_textId))
			name = look_up(n, (uint64_t)i64_at(&creating, WS_NSYS_NVTX_textId));
		name_domain(&creating, key, name, &id);
		ws_map_add(&n->domain_of_number, u64_at(&creating, WS_NSYS_NVTX_domainId), id);
	}
	close_rows(&creating);
	n->out->lost[WS_LOST_import_bad_value] = bad;
	n->out->stats->events = events;
	import_schemas(n);
	open_table(n, WS_NSYS_NVTX, tail, &rows);
	while (next_row(&rows)) {
		struct ws_import_range mark = {.start_ns = i64_at(&rows, WS_NSYS_NVTX_start)};
		struct ws_row_category category = {.id = u64_at(&rows, WS_NSYS_NVTX_category)};
		struct ws_row_thread thread = {0};

		switch (i64_at(&rows, WS_NSYS_NVTX_eventType)) {
		case WS_NSYS_PUSH_POP:
		case WS_NSYS_IMPORTED_PUSH_POP:
			on_range(&rows, &nest, true);
			continue;
		case WS_NSYS_START_END:
		case WS_NSYS_IMPORTED_START_END:
			on_range(&rows, &nest, false);
			continue;
		case WS_NSYS_MARK:
			if (!ws_import_time_ok(rows.n->out, mark.start_ns, 0))
				continue;
			take_range(&rows, &mark);
			ws_import_keep(rows.n->out, 1);
			ws_import_mark(rows.n->out, &mark);
			continue;
		case WS_NSYS_CATEGORY:
			domain_of(&rows, &category.domain);
			message(&rows, &category.name);
			ws_import_record(rows.n->out, WS_KIND_CATEGORY, &category);
			continue;
		case WS_NSYS_THREAD_NAME:
			thread.pid = pid_at(&rows, WS_NSYS_NVTX_globalTid);
			thread.tid = (uint64_t)i64_at(&rows, WS_NSYS_NVTX_globalTid) & 0xffffff;
			thread_at(&rows, WS_NSYS_NVTX_globalTid, &thread.id);
			message(&rows, &thread.name);
			ws_import_keep(n->out, 1);
			if (thread.name)
				ws_import_row(n->out, WS_KIND_THREAD, &thread);
			continue;
		case WS_NSYS_DOMAIN_CREATE: /* the names are read above */
		case WS_NSYS_DOMAIN_DESTROY:
			ws_import_keep(rows.n->out, 1);
			continue;
		default:
			ws_import_skip(rows.n->out, "NVTX events of other types", 1);
			continue;
		}
	}
	close_rows(&rows);
	ws_import_nest_finish(&nest);
}

/* --- names of threads and processes that occur in records; counts of the rest --- */

#define WITHOUT_RECORDS "names of threads and processes without records"

static void on_thread(const struct rows *r)
{
	struct ws_row_thread row = {.pid = pid_at(r, WS_NSYS_THREAD_globalTid),
	                            .tid = u64_at(r, WS_NSYS_THREAD_globalTid) & 0xffffff};

	row.id = ws_import_thread_known(r->n->out, row.pid, row.tid);
	if (row.id)
		string_at(r, WS_NSYS_THREAD_nameId, &row.name);
	if (row.name)
		ws_import_record(r->n->out, WS_KIND_THREAD, &row);
	else
		ws_import_skip(r->n->out, WITHOUT_RECORDS, 1);
}

static void on_process(const struct rows *r)
{
	uint64_t pid = pid_at(r, WS_NSYS_PROCESS_globalPid);

	if (!ws_import_process_known(r->n->out, pid)) {
		ws_import_skip(r->n->out, WITHOUT_RECORDS, 1);
		return;
	}
	ws_import_keep(r->n->out, 1);
	struct ws_import_process *process = ws_import_process(r->n->out, pid);
	ws_import_text(r->n->out, text_at(r, WS_NSYS_PROCESS_name), &process->name);
}

/* --- the importer --- */

enum ws_status ws_import_nsys(struct ws_import_out *o, sqlite3 *db, struct ws_import_clock *clock,
                              struct ws_err *err)
{
	struct ws_nsys n = {.out = o, .clock = clock, .db = db};
	enum ws_status status = WS_OK;
	sqlite3_stmt *stmt = NULL;
	const char *found = NULL;
	uint64_t pages, bytes;

	/* Are the pages sound? A damaged one gives plausible rows, so nothing in a damaged database
	 * is used. */
	/* a CHECK of the schema would be executed */
	sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
	if (sqlite3_prepare_v2(db, "PRAGMA main.quick_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		found = (const char *)sqlite3_column_text(stmt, 0);
	if (!found)
		found = sqlite3_errmsg(db);
	if (strcmp(found, "ok") != 0)
		status = WS_FAIL(err, CORRUPT,
		                 "the database is damaged, its numbers cannot be trusted (%s); "
		                 "export the report again: nsys export --type sqlite",
		                 found);
	sqlite3_finalize(stmt);
	WS_FORWARD(status);
	/* Limit the work: in a damaged file, pages can lead to each other in circles. Reading a
	 * table takes some 30 instructions per row, and a row takes some 60 bytes. */
	pages = (uint64_t)one_number(n.db, "PRAGMA page_count");
	bytes = (uint64_t)one_number(n.db, "PRAGMA page_size");
	if (__builtin_mul_overflow(pages, bytes, &bytes) || bytes > UINT64_MAX / 100)
		bytes = UINT64_MAX / 100;
	n.work_limit = bytes * 10 / PROGRESS_STEP + 1000;
	sqlite3_progress_handler(n.db, PROGRESS_STEP, count_work, &n);
	for (size_t i = 0; i < NIMPORTED && n.out->opts && n.out->opts->progress; i++) {
		char *sql = sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"", imported[i]);
		int64_t rows = sql ? one_number(n.db, sql) : 0;

		n.rows_total += rows > 0 ? (uint64_t)rows : 0;
		sqlite3_free(sql);
	}
	if (one_number(db, "SELECT count(*) FROM sqlite_master") == 0)
		status = WS_FAIL(err, CORRUPT, "the database has no tables");
	else if (!has_table(&n, "StringIds") && !has_table(&n, "CUPTI_ACTIVITY_KIND_KERNEL"))
		status = WS_FAIL(err, CORRUPT,
		                 "the database is not an Nsight Systems export: it has no "
		                 "table StringIds");
	if (status == WS_OK) {
		struct ws_nsys_column_def columns[WS_NSYS_MAX_OWN_COLUMNS];
		char table[64];

		sqlite3_stmt *ids;

		/* map StringIds.id to rows, unless SQLite finds rows by it, and prepare look-ups */
		if (has_table(&n, "StringIds") &&
		    one_number(db,
		               "SELECT count(*) FROM pragma_table_info('StringIds') WHERE "
		               "lower(name) = 'id' AND pk = 1 AND upper(type) = 'INTEGER'") != 1 &&
		    sqlite3_prepare_v2(db, "SELECT id, rowid FROM main.StringIds", -1, &ids,
		                       NULL) == SQLITE_OK) {
			while (sqlite3_step(ids) == SQLITE_ROW)
				ws_map_add(&n.string_rows, (uint64_t)sqlite3_column_int64(ids, 0),
				           (uint64_t)sqlite3_column_int64(ids, 1));
			sqlite3_finalize(ids);
			n.strings_by_row = true;
		}
		if (has_table(&n, "StringIds") &&
		    sqlite3_prepare_v2(db,
		                       n.strings_by_row
		                               ? "SELECT value FROM main.StringIds WHERE rowid = ?1"
		                               : "SELECT value FROM main.StringIds WHERE id = ?1",
		                       -1, &n.string, NULL) != SQLITE_OK)
			ws_import_warn(o, "StringIds cannot be read: %s", sqlite3_errmsg(db));
		import_info(&n);
		import_table(&n, WS_NSYS_CONTEXT);
		import_table(&n, WS_NSYS_STREAM);
		/* calls first: other tables may lack the process, and calls have it */
		for (enum ws_nsys_table t = WS_NSYS_RUNTIME; t <= WS_NSYS_GRAPH_NODE; t++)
			import_table(&n, t);
		for (size_t i = 0; i < ws_nsys_own_kinds_count; i++) {
			const enum ws_kind kind = ws_nsys_own_kinds[i];
			struct rows rows = {.n = &n, .table = table, .columns = columns};

			ws_nsys_own_name(kind, table);
			rows.ncolumns = (int)ws_nsys_own_columns(kind, columns);
			open_rows(&rows, "");
			import_rows(&rows, kind);
		}
		each_row(&n, WS_NSYS_OWN_PAYLOAD, on_nvtx_payload);
		import_nvtx(&n);
		each_row(&n, WS_NSYS_THREAD, on_thread);
		each_row(&n, WS_NSYS_PROCESS, on_process);

		/* Counts rows of tables that a trace cannot store: tables of events, and those of
		 * the program's output and names of enumerations. */
		static const char *const skipped[] = {"ProcessStreams", "NVTX_PAYLOAD_ENUMS"};
		sqlite3_stmt *rest = NULL;

		if (sqlite3_prepare_v2(
		            db,
		            "SELECT name FROM main.sqlite_master WHERE type = 'table' AND "
		            "rootpage > 0 ORDER BY name",
		            -1, &rest, NULL) == SQLITE_OK)
			while (sqlite3_step(rest) == SQLITE_ROW) {
				const char *name = (const char *)sqlite3_column_text(rest, 0);
				bool is_imported = !name || ws_bytes_begin(ws_bytes_of(name),
				                                           WS_NSYS_OWN_PREFIX);
				bool is_skipped = false;

				for (size_t i = 0; i < NIMPORTED && !is_imported; i++)
					is_imported = !strcmp(imported[i], name);
				for (size_t i = 0;
				     i < sizeof(skipped) / sizeof(*skipped) && !is_imported; i++)
					is_skipped |= !strcmp(skipped[i], name);
				if (!is_imported && (is_skipped || has_column(&n, name, "start") ||
				                     has_column(&n, name, "timestamp")))
					leave_out(&n, name);
			}
		sqlite3_finalize(rest);
		if (ws_trace_writer_rows(o->w, WS_KIND_API) &&
		    !ws_trace_writer_rows(o->w, WS_KIND_KERNEL) &&
		    !ws_trace_writer_rows(o->w, WS_KIND_GRAPH_LAUNCH) &&
		    one_number(n.db, "SELECT EXISTS(SELECT 1 FROM main.CUPTI_ACTIVITY_KIND_RUNTIME "
		                     "WHERE nameId IN (SELECT id FROM main.StringIds WHERE "
		                     "instr(value, 'LaunchKernel') OR instr(value, 'GraphLaunch') "
		                     "OR instr(value, 'LaunchCooperative')))") > 0)
			ws_import_warn(o, "there are launches but no device work: the recording "
			                  "lacked it (WSL, missing permissions)");
	}
	sqlite3_finalize(n.string);
	sqlite3_finalize(n.table);
	sqlite3_progress_handler(n.db, 0, NULL, NULL);
	ws_map_free(&n.string_rows);
	ws_map_free(&n.strings);
	ws_map_free(&n.domains);
	ws_map_free(&n.payloads);
	ws_map_free(&n.payload_schemas);
	ws_map_free(&n.op_configs);
	free(n.event_payload);
	ws_map_free(&n.other_payloads);
	ws_map_free(&n.domain_names);
	ws_map_free(&n.domain_of_number);
	ws_strtab_free(&n.schema_ids);
	ws_map_free(&n.place_of_pid);
	ws_map_free(&n.process_of);
	return status;
}

static bool recognises(const char *first, size_t len)
{
	static const char magic[16] = "SQLite format 3";

	return len >= sizeof(magic) && memcmp(first, magic, sizeof(magic)) == 0;
}

static enum ws_status run(struct ws_import_out *o, const char *path, struct ws_import_clock *clock,
                          struct ws_err *err)
{
	/* without a mutex, for one thread: it would be taken for each value of each row */
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	char *uri = sqlite3_mprintf("file:%s?mode=ro&immutable=1", path);
	enum ws_status status = WS_OK;
	sqlite3 *db = NULL;

	/* a path with characters that mean something in a URI is opened by its name alone */
	if (!uri || strpbrk(path, "?#%") != NULL) {
		sqlite3_free(uri);
		uri = sqlite3_mprintf("%s", path);
	}
	if (!uri || sqlite3_open_v2(uri, &db, flags, NULL) != SQLITE_OK)
		status = WS_FAIL(err, IO_READ, "cannot open the database: %s",
		                 db ? sqlite3_errmsg(db) : "no memory");
	sqlite3_free(uri);
	/* refuse a database if part of its content is in files of a stopped writer */
	for (int i = 0; i < 2 && status == WS_OK; i++) {
		const char *name = sqlite3_db_filename(db, "main");
		const char *beside =
		        i ? sqlite3_filename_journal(name) : sqlite3_filename_wal(name);
		FILE *f = beside ? fopen(beside, "rb") : NULL;
		int first = f ? getc(f) : EOF;

		if (f)
			fclose(f);
		/* one that was emptied, or whose header is zero, holds nothing */
		if (first != EOF && first != 0)
			status = WS_FAIL(err, CORRUPT,
			                 "%s beside it holds changes that are not in the database "
			                 "yet. Close the program that writes it, then run: sqlite3 "
			                 "FILE 'PRAGMA wal_checkpoint(TRUNCATE)'",
			                 beside);
	}
	if (status == WS_OK) {
		ws_import_nsys_harden(db);
		status = ws_import_nsys(o, db, clock, err);
	}
	sqlite3_close(db);
	return status;
}
static void empty(const struct ws_import_stats *s, char *text, size_t size)
{
	(void)s;
	snprintf(text, size,
	         "it seems to be a recording without CUDA and NVTX. Record again with 'nsys "
	         "profile --trace=cuda,nvtx'");
}
const struct ws_importer ws_importer_nsys = {
        .name = "Nsight Systems SQLite export",
        .recognises = recognises,
        .run = run,
        .empty = empty,
};
