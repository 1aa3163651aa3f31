/*
 * Nsight Systems exports made from any bytes: which tables there are, which
 * columns they have, and values of any type in them. What comes of it must be
 * a sound trace.
 *   byte 0: odd: the rest are the bytes of a database file itself; even: one table after the other,
 *   the first of strings unless bit 2 is set. A table: its number, with bit 7 columns are left out,
 *   too; then rows (fill)
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "formats/nsys/nsys.h"
#include "formats/trace/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/mutate.h"

static const char *const tables[] = {
#define TABLE(ID, name, first, KIND) name,
#include "formats/nsys/nsys.def"
        "StringIds",        "META_DATA_EXPORT", "META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV",
        "OSRT_API",
#define X(NAME, name) WS_NSYS_OWN_PREFIX #name,
        WS_NSYS_OWN_LIST(X)
#undef X
};
#define NTABLES (sizeof(tables) / sizeof(*tables))
#define STRINGS WS_NSYS_STRING /* of them: the first behind those that rows are read from */

enum { NO, INT, INDEX, TEXT, REAL };
static const struct {
	const char *table, *name;
	int read;
} columns[] = {
#define COLUMN(ID, column, type, READ) {#ID, #column, READ},
#include "formats/nsys/nsys.def"
};
#define NCOLUMNS (sizeof(columns) / sizeof(*columns))

/* The short name of a table in the list of columns; NULL for the extra ones. */
static const char *short_name(size_t table)
{
	static const char *const names[] = {
#define TABLE(ID, name, first, KIND) #ID,
#include "formats/nsys/nsys.def"
	};

	return table < sizeof(names) / sizeof(*names) ? names[table] : NULL;
}

#define MAX_TABLES 3 /* SQLite parses each: more take time, not other ways */

/* Is a column there? Each is when the input chooses none. */
static int has_column(struct fuzz_input *in)
{
	return !in || fuzz_take(in) % 16 != 15;
}

/* The columns of a table of our own. */
static int put_own(sqlite3_str *sql, const char *table, struct fuzz_input *in)
{
	const size_t prefix = strlen(WS_NSYS_OWN_PREFIX);
	const struct ws_kind_def *def = NULL;
	int n = 0;

	if (!strncmp(table, WS_NSYS_OWN_PREFIX, prefix))
		def = ws_schema_kind_by_name(table + prefix);
	for (unsigned c = 0; def && c < def->ncolumns; c++)
		if (has_column(in))
			sqlite3_str_appendf(sql, "%s\"%w\"", n++ ? "," : "", def->columns[c].name);
	return n;
}

/* Its columns, all where in is NULL. Their number; 0: it is there already. */
static int create(sqlite3 *db, size_t table, struct fuzz_input *in)
{
	const char *name = short_name(table);
	sqlite3_str *sql = sqlite3_str_new(db);
	int n = 0, failed;
	char *text;

	sqlite3_str_appendf(sql, "CREATE TABLE \"%w\" (", tables[table]);
	for (size_t c = 0; name && c < NCOLUMNS; c++)
		if (columns[c].read != NO && !strcmp(columns[c].table, name) && has_column(in))
			sqlite3_str_appendf(sql, "%s\"%w\"", n++ ? "," : "", columns[c].name);
	if (!name)
		n = put_own(sql, tables[table], in);
	if (!name && !n) {
		int key = !in || fuzz_take(in) % 2;

		sqlite3_str_appendf(sql, "id %s, name, value, start",
		                    key ? "INTEGER PRIMARY KEY" : "");
		n = 4;
	}
	sqlite3_str_appendf(sql, "%s)", n ? "" : "other");
	text = sqlite3_str_finish(sql);
	failed = sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK;
	sqlite3_free(text);
	return failed ? 0 : (n ? n : 1);
}

static void bind(sqlite3_stmt *stmt, int i, struct fuzz_input *in)
{
	static const int64_t wide[] = {INT64_MIN, INT64_MAX, UINT32_MAX, (int64_t)1 << 60, -1};
	unsigned how = fuzz_take(in);
	size_t len = how >> 3;

	switch (how % 8) {
	case 0:
		sqlite3_bind_null(stmt, i);
		break;
	case 1:
		sqlite3_bind_int64(stmt, i, wide[fuzz_take(in) % 5]);
		break;
	case 2:
		sqlite3_bind_double(stmt, i, fuzz_take(in) * 1e17);
		break;
	case 3:
	case 4:
		len = len < (size_t)(in->end - in->at) ? len : (size_t)(in->end - in->at);
		if (how % 8 == 3)
			sqlite3_bind_text(stmt, i, (const char *)in->at, (int)len, SQLITE_STATIC);
		else
			sqlite3_bind_blob(stmt, i, in->at, (int)len, SQLITE_STATIC);
		in->at += len;
		break;
	case 5: /* a thread of a process */
		sqlite3_bind_int64(stmt, i,
		                   (int64_t)1 << 48 | (int64_t)(how >> 3) << 24 |
		                           fuzz_take(in) % 4);
		break;
	case 6: /* a type of NVTX event */
		sqlite3_bind_int64(stmt, i, 33 + fuzz_take(in) % 44);
		break;
	default:
		sqlite3_bind_int64(stmt, i, (int64_t)(how >> 3) * 8 + fuzz_take(in) % 8);
	}
}

static void fill(sqlite3 *db, size_t table, int n, struct fuzz_input *in)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	unsigned rows = fuzz_take(in) % 12;
	sqlite3_stmt *stmt;
	char *text;

	sqlite3_str_appendf(sql, "INSERT OR IGNORE INTO \"%w\" VALUES (?", tables[table]);
	for (int c = 1; c < n; c++)
		sqlite3_str_appendall(sql, ",?");
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	if (sqlite3_prepare_v2(db, text, -1, &stmt, NULL) == SQLITE_OK)
		for (unsigned row = 0; row < rows; row++) {
			for (int c = 0; c < n; c++)
				bind(stmt, c + 1, in);
			sqlite3_step(stmt);
			sqlite3_reset(stmt);
		}
	sqlite3_finalize(stmt);
	sqlite3_free(text);
}

static void generate(sqlite3 *db, struct fuzz_input in, int with_strings)
{
	for (unsigned n = 0; n < MAX_TABLES && in.at < in.end; n++) {
		unsigned take = n || !with_strings ? fuzz_take(&in) : STRINGS;
		size_t table = take % 128 % NTABLES;
		int ncolumns = create(db, table, take < 128 ? NULL : &in);

		if (ncolumns)
			fill(db, table, ncolumns, &in);
	}
}

/* How the importer opens a file, but in memory. NULL: it is none. */
static sqlite3 *load(const uint8_t *data, size_t size)
{
	uint8_t *copy = sqlite3_malloc64(size ? size : 1);
	sqlite3 *db = NULL;

	if (!copy || sqlite3_open(":memory:", &db) != SQLITE_OK)
		abort();
	if (size)
		memcpy(copy, data, size);
	sqlite3_deserialize(db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
	                    SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
	ws_import_nsys_harden(db);
	return db;
}

/* Of whole and closed: to look takes as long as a third of an import. */
static void check(const struct ws_trace_writer *w)
{
	struct ws_bytes trace = ws_trace_writer_mem(w);
	struct ws_check_result result;
	struct ws_err err;

	if (ws_trace_check_mem(trace.ptr, trace.len, NULL, NULL, &result, &err) != WS_OK ||
	    result.damage || !result.closed)
		abort();
}

static void import(sqlite3 *db, int is_checked)
{
	static struct ws_import_stats stats;
	const struct ws_trace_writer_opts opts = {.zstd_level = FUZZ_ZSTD_LEVEL};
	struct ws_import_clock clock = {0};
	struct ws_trace_writer *w;
	struct ws_import_out out;
	struct ws_err err;

	stats = (struct ws_import_stats){.source = ws_importer_nsys.name};
	if (ws_trace_writer_create_mem(&w, &opts, &err) != WS_OK)
		return;
	ws_import_out_init(&out, w, &stats);
	if (ws_import_nsys(&out, db, &clock, &err) == WS_OK) {
		ws_import_out_finish(&out);
		if (ws_trace_writer_close(w, &err) != WS_OK)
			abort();
		if (stats.events != stats.kept + ws_import_left_out(&stats))
			abort();
		if (is_checked)
			check(w);
	} else if (err.status == WS_BUG) {
		abort();
	}
	ws_import_out_free(&out);
	ws_trace_writer_free(w);
}

/* One database for all runs: what a run makes in it is rolled back. */
static sqlite3 *of_all_runs(void)
{
	static sqlite3 *db;

	if (!db) {
		sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
		sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
		sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 512, 512);
		if (sqlite3_open(":memory:", &db) != SQLITE_OK)
			abort();
		ws_import_nsys_harden(db);
	}
	return db;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sqlite3 *db = of_all_runs();

	if (!size)
		return 0;
	if (data[0] % 2) {
		db = load(data + 1, size - 1);
		import(db, 1);
		sqlite3_close(db);
		return 0;
	}
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	generate(db, (struct fuzz_input){data + 1, data + size}, !(data[0] & 4));
	import(db, size % 8 == 0);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return 0;
}
