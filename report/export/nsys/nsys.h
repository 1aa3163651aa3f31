/* Writing tables in the schema of Nsight Systems by name, through SQLite. Internal to this folder.
 */
#pragma once

#include <sqlite3.h>
#include "formats/base/strtab.h"
#include "formats/nsys/nsys.h"
#include "report/export/source.h"
#include "report/records/records.h"

/* A value of a row. All zero is NULL. */
struct ws_nsys_value {
	int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB */
	union {
		int64_t integer;
		double real;
		struct ws_bytes bytes; /* borrowed until the row is put; a text is UTF-8 */
	};
};

struct ws_nsys_config; /* what the names of a launch configuration became */

struct ws_nsys_out {
	const struct ws_trace_reader *r;
	struct ws_export_stats *stats;
	struct ws_export_progress progress;
	sqlite3_vfs files; /* how SQLite gets at a file: through what is open */
	sqlite3 *db;
	enum ws_status status; /* the first failure, which ws_nsys_out_finish tells */
	struct ws_err err;
	sqlite3_stmt
	        *table[WS_NSYS_TABLES]; /* that insert a row; NULL: the table does not exist yet */
	unsigned ncolumns[WS_NSYS_TABLES]; /* of those */
	int64_t rows[WS_NSYS_TABLES];
	struct ws_nsys_value value[WS_NSYS_COLUMNS]; /* of the rows that are begun */

	struct ws_records strings, threads, configs;
	struct ws_nsys_config *config;   /* one a row of configs */
	struct ws_strtab texts;          /* as they are in StringIds; the id is the row's */
	struct ws_map string_ids;        /* string of the trace -> StringIds */
	struct ws_map thread_ids;        /* thread of the trace -> globalTid */
	struct ws_map process_ids;       /* pid -> number of 24 bits */
	struct ws_strtab used_threads;   /* globalTid */
	struct ws_strtab used_processes; /* number of 24 bits */
	struct ws_buf scratch, readable;
	struct ws_arena row_texts; /* of the row at hand: those that were not readable */
	int64_t first_ns, last_ns;
};

/* --- the database: db.c --- */

/* path: of an empty file, or none. IO_WRITE. What fails later is told by ws_nsys_out_finish. */
enum ws_status ws_nsys_out_open(struct ws_nsys_out *o, const char *path, struct ws_err *err);

/* Write what is left. IO_WRITE. */
enum ws_status ws_nsys_out_finish(struct ws_nsys_out *o, struct ws_err *err);
void ws_nsys_out_close(struct ws_nsys_out *o);

/* Finalize *insert. */
void ws_nsys_create(struct ws_nsys_out *o, const char *name,
                    const struct ws_nsys_column_def *columns, unsigned n, sqlite3_stmt **insert);

/* Add a row. A key that is NULL becomes the number of the row. */
void ws_nsys_insert(struct ws_nsys_out *o, sqlite3_stmt *insert, const struct ws_nsys_value *values,
                    unsigned n);

/*
 * A row: set its columns (those not set are NULL), put it. A table is created
 * with its first row, as exports leave out empty ones.
 */
void ws_nsys_set(struct ws_nsys_out *o, enum ws_nsys_column c, int64_t value);

/* NULL for 0. */
void ws_nsys_set_known(struct ws_nsys_out *o, enum ws_nsys_column c, uint64_t value);
void ws_nsys_set_real(struct ws_nsys_out *o, enum ws_nsys_column c, double value);

/* Borrowed until the row is put; what is no UTF-8 as U+FFFD. */
void ws_nsys_set_text(struct ws_nsys_out *o, enum ws_nsys_column c, struct ws_bytes text);
void ws_nsys_put(struct ws_nsys_out *o, enum ws_nsys_table table);

/* --- ids: ids.c --- */

enum ws_status ws_nsys_ids_load(struct ws_nsys_out *o, struct ws_err *err);
void ws_nsys_ids_free(struct ws_nsys_out *o);

/* The StringIds row of a string of the trace, added when it is new. */
void ws_nsys_string_id(struct ws_nsys_out *o, uint64_t string, int64_t *id);

/* globalPid and globalTid; see docs/reference/export.md for numbers over 24 bits. */
void ws_nsys_global_pid(struct ws_nsys_out *o, uint64_t pid, int64_t *id);
void ws_nsys_global_tid(struct ws_nsys_out *o, uint64_t thread, int64_t *id);

/* The names of a kernel as StringIds. */
struct ws_nsys_config {
	int64_t demangled, base, mangled; /* mangled 0: the recorded name is the readable one */
};

void ws_nsys_config_of(struct ws_nsys_out *o, uint64_t config,
                       const struct ws_row_launch_config **row,
                       const struct ws_nsys_config **names);
