#include <stdlib.h>

#include "formats/nsys/nsys.h"

#define PROGRESS_STEP 100000 /* virtual machine instructions between two looks at the limit */

/* --- the database --- */

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

/* What a writer that was stopped left beside the database: it holds part of the content. */
static enum ws_status refuse_unfinished(sqlite3 *db, struct ws_err *err)
{
	const char *name = sqlite3_db_filename(db, "main");
	const char *beside[] = {sqlite3_filename_wal(name), sqlite3_filename_journal(name)};

	for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
		FILE *f = beside[i] ? fopen(beside[i], "rbe") : NULL;
		int first = f ? getc(f) : EOF;

		if (f)
			fclose(f);
		/* one that was emptied, or whose header is zero, holds nothing */
		WS_FAIL_IF(first != EOF && first != 0, err, CORRUPT,
		           "%s beside it holds changes that are not in the database yet. Close "
		           "the program that writes it, then run: sqlite3 FILE 'PRAGMA "
		           "wal_checkpoint(TRUNCATE)'",
		           beside[i]);
	}
	return WS_OK;
}

enum ws_status ws_import_nsys_open(sqlite3 **db, const char *path, struct ws_err *err)
{
	/* without a mutex, for one thread: it would be taken for each value of each row */
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	char *uri = sqlite3_mprintf("file:%s?mode=ro&immutable=1", path);
	enum ws_status status = WS_OK;

	*db = NULL;
	/* a path with characters that mean something in a URI is opened by its name alone */
	if (!uri || strpbrk(path, "?#%") != NULL) {
		sqlite3_free(uri);
		uri = sqlite3_mprintf("%s", path);
	}
	if (!uri || sqlite3_open_v2(uri, db, flags, NULL) != SQLITE_OK)
		status = WS_FAIL(err, IO_READ, "cannot open the database: %s",
		                 *db ? sqlite3_errmsg(*db) : "no memory");
	sqlite3_free(uri);
	WS_THEN(status, refuse_unfinished(*db, err));
	if (status != WS_OK) {
		sqlite3_close(*db);
		*db = NULL;
		return status;
	}
	ws_import_nsys_harden(*db);
	return WS_OK;
}

static int count_work(void *ctx)
{
	struct ws_nsys *n = ctx;

	return ++n->work > n->work_limit;
}

/* One number that a statement without parameters gives; 0 when it gives none. */
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

/*
 * A damaged file can hold pages that lead to each other in circles. Reading a
 * table takes some 30 instructions a row, and a row some 60 bytes.
 */
static void limit_work(struct ws_nsys *n)
{
	uint64_t pages = (uint64_t)one_number(n->db, "PRAGMA page_count");
	uint64_t bytes = (uint64_t)one_number(n->db, "PRAGMA page_size");

	if (__builtin_mul_overflow(pages, bytes, &bytes) || bytes > UINT64_MAX / 100)
		bytes = UINT64_MAX / 100;
	n->work_limit = bytes * 10 / PROGRESS_STEP + 1000;
	sqlite3_progress_handler(n->db, PROGRESS_STEP, count_work, n);
}

static void count_rows(struct ws_nsys *n)
{
	static const char *const names[] = {
#define TABLE(ID, name, first, KIND) name,
#include "formats/nsys/nsys.def"
	};

	if (!n->out->opts || !n->out->opts->progress)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *sql = sqlite3_mprintf("SELECT max(rowid) FROM main.\"%w\"", names[i]);
		int64_t rows = sql ? one_number(n->db, sql) : 0;

		n->rows_total += rows > 0 ? (uint64_t)rows : 0;
		sqlite3_free(sql);
	}
}

/* Is StringIds.id what its rows are found by? */
static bool strings_have_key(struct ws_nsys *n)
{
	return one_number(n->db, "SELECT count(*) FROM pragma_table_info('StringIds') WHERE "
	                         "lower(name) = 'id' AND pk = 1 AND upper(type) = 'INTEGER'") == 1;
}

static void map_string_rows(struct ws_nsys *n)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(n->db, "SELECT id, rowid FROM main.StringIds", -1, &stmt, NULL) !=
	    SQLITE_OK)
		return; /* no strings, then */
	while (sqlite3_step(stmt) == SQLITE_ROW)
		ws_map_add(&n->string_rows, (uint64_t)sqlite3_column_int64(stmt, 0),
		           (uint64_t)sqlite3_column_int64(stmt, 1));
	sqlite3_finalize(stmt);
	n->strings_by_row = 1;
}

enum ws_status ws_nsys_init(struct ws_nsys *n, struct ws_import_out *out,
                            struct ws_import_clock *clock, sqlite3 *db, struct ws_err *err)
{
	*n = (struct ws_nsys){.out = out, .clock = clock, .db = db};
	limit_work(n);
	count_rows(n);
	WS_FAIL_IF(one_number(db, "SELECT count(*) FROM sqlite_master") == 0, err, CORRUPT,
	           "the database has no tables");
	if (!ws_nsys_has_table(n, "StringIds"))
		return WS_OK;
	if (!strings_have_key(n))
		map_string_rows(n);
	if (sqlite3_prepare_v2(db,
	                       n->strings_by_row
	                               ? "SELECT value FROM main.StringIds WHERE rowid = ?1"
	                               : "SELECT value FROM main.StringIds WHERE id = ?1",
	                       -1, &n->string, NULL) != SQLITE_OK)
		ws_import_warn(out, "StringIds cannot be read: %s", sqlite3_errmsg(db));
	return WS_OK;
}

void ws_nsys_free(struct ws_nsys *n)
{
	sqlite3_finalize(n->string);
	sqlite3_finalize(n->table);
	sqlite3_progress_handler(n->db, 0, NULL, NULL);
	ws_map_free(&n->string_rows);
	ws_map_free(&n->strings);
	ws_map_free(&n->domains);
	ws_map_free(&n->payloads);
	ws_map_free(&n->payload_schemas);
	ws_map_free(&n->op_configs);
	free(n->event_payload);
	ws_map_free(&n->other_payloads);
	ws_map_free(&n->domain_names);
}

/* --- values --- */

/* Borrowed until the next look-up; empty when there is none. */
static struct ws_bytes look_up(struct ws_nsys *n, uint64_t key)
{
	const struct ws_bytes none = {NULL, 0};
	const uint64_t *row;

	if (!n->string)
		return none;
	if (n->strings_by_row) {
		row = ws_map_get(&n->string_rows, key);
		if (!row)
			return none;
		key = *row;
	}
	sqlite3_reset(n->string);
	sqlite3_bind_int64(n->string, 1, (int64_t)key);
	return sqlite3_step(n->string) == SQLITE_ROW ? ws_nsys_text(n->string, 0) : none;
}

struct ws_bytes ws_nsys_string_bytes(const struct ws_nsys_rows *r, enum ws_nsys_column c)
{
	if (ws_nsys_is_null(r, c))
		return (struct ws_bytes){NULL, 0};
	return look_up(r->n, (uint64_t)ws_nsys_i64(r, c));
}

static void string_of(struct ws_nsys *n, uint64_t key, uint64_t *id)
{
	const uint64_t *known = ws_map_get(&n->strings, key);

	if (known) {
		*id = *known;
		return;
	}
	ws_import_text(n->out, look_up(n, key), id);
	ws_map_add(&n->strings, key, *id);
}

void ws_nsys_string(const struct ws_nsys_rows *r, enum ws_nsys_column c, uint64_t *id)
{
	*id = 0;
	if (ws_nsys_is_null(r, c))
		return;
	string_of(r->n, (uint64_t)ws_nsys_i64(r, c), id);
}

bool ws_nsys_span(const struct ws_nsys_rows *r, enum ws_nsys_column start, enum ws_nsys_column end,
                  int64_t *start_ns, int64_t *dur_ns)
{
	*start_ns = ws_nsys_i64(r, start);
	if (ws_nsys_is_null(r, start) || ws_nsys_is_null(r, end) ||
	    __builtin_sub_overflow(ws_nsys_i64(r, end), *start_ns, dur_ns)) {
		r->n->out->lost[WS_LOST_import_bad_time]++;
		return 0;
	}
	return ws_import_time_ok(r->n->out, *start_ns, *dur_ns);
}

uint64_t ws_nsys_pid(const struct ws_nsys_rows *r, enum ws_nsys_column global_id)
{
	uint64_t id = (uint64_t)ws_nsys_i64(r, global_id), place = id >> 48;

	if (ws_nsys_is_null(r, global_id))
		return r->n->default_pid;
	if (!r->n->places)
		r->n->places = place;
	r->n->several_places |= place != r->n->places;
	return id >> 24 & 0xffffff;
}

void ws_nsys_thread(const struct ws_nsys_rows *r, enum ws_nsys_column global_tid, uint64_t *thread)
{
	const uint64_t tid = (uint64_t)ws_nsys_i64(r, global_tid) & 0xffffff;
	const uint64_t pid = ws_nsys_pid(r, global_tid);

	if (!r->n->default_pid)
		r->n->default_pid = pid;
	ws_import_thread(r->n->out, pid, tid, (struct ws_bytes){NULL, 0}, thread);
}
