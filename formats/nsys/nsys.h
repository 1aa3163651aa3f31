/*
 * Reading tables of an Nsight Systems export by name. Internal to
 * import_nsys*.c.
 *
 * The database is not trusted: it is opened read-only, its pages are checked,
 * nothing of its schema is executed, only real tables are read (no view or virtual table can stand
 * in for one), and work is limited. Strings are looked up one by one, so that
 * those that no kept record names, whole environments among them, are never
 * read.
 */
#pragma once

#include <sqlite3.h>

#include <stdbool.h>

#include "formats/base/map.h"
#include "formats/foreign/importer.h"
#include "formats/nsys/tables.h"

struct ws_nsys {
	struct ws_import_out *out;
	struct ws_import_clock *clock;
	sqlite3 *db;
	uint64_t work, work_limit; /* in units of the progress handler */
	uint64_t rows_total;       /* about so many rows will be read */
	uint64_t default_pid;      /* where a record has none: of the first thread that
	                            * another names
	                            */
	sqlite3_stmt *table;       /* is there one of this name? */
	sqlite3_stmt *string;      /* of a StringIds key */
	struct ws_map string_rows; /* id -> rowid, where id is no primary key */
	int strings_by_row;
	struct ws_map strings; /* id -> string id of the trace */
	struct ws_map domains; /* pid and domainId -> string id of the trace */
	/* of our own exports: id there -> of the trace */
	struct ws_map payloads, payload_schemas, op_configs;
	/* eventId -> payload of the trace: those that came in order, of half the size, and others
	 */
	struct ws_map_entry *event_payload;
	size_t nevent_payloads, event_payloads_capacity, event_payload_at;
	struct ws_map other_payloads;
	struct ws_map domain_names; /* pid and string id -> the domain that has it */
	uint64_t places;            /* bits above pid and tid of a global id: one machine */
	int several_places;
};

enum ws_status ws_nsys_init(struct ws_nsys *n, struct ws_import_out *out,
                            struct ws_import_clock *clock, sqlite3 *db, struct ws_err *err);
void ws_nsys_free(struct ws_nsys *n);

/* --- rows of a table --- */

#define WS_NSYS_MAX_COLUMNS 64 /* of a table; that of kernels is the widest */
_Static_assert(WS_NSYS_KERNEL_clusterZ - WS_NSYS_KERNEL_start < WS_NSYS_MAX_COLUMNS,
               "a row has room for them");

struct ws_nsys_rows {
	struct ws_nsys *n;
	sqlite3_stmt *stmt; /* NULL: no such table */
	const char *table;
	const struct ws_nsys_column_def *columns; /* that the result has */
	int first, ncolumns; /* enum ws_nsys_column of column 0, where it is of nsys.def */
	/* of the row: to ask SQLite again for each use of a value took a tenth of an import */
	uint8_t type[WS_NSYS_MAX_COLUMNS];
	int64_t integer[WS_NSYS_MAX_COLUMNS]; /* where the type is SQLITE_INTEGER */
};

/* 1 when a real table has this name. */
int ws_nsys_has_table(struct ws_nsys *n, const char *name);
/* column NULL: whether there is such a table, maybe a virtual one. */
bool ws_nsys_has_column(struct ws_nsys *n, const char *table, const char *column);
/*
 * Read a table in the order of its rows; tail is more SQL after the table's
 * name, or "". No table, no rows. Close with ws_nsys_close.
 */
void ws_nsys_open_rows(struct ws_nsys *n, enum ws_nsys_table table, const char *tail,
                       struct ws_nsys_rows *rows);
/* The same of a table of our own, with these columns. */
void ws_nsys_open_own(struct ws_nsys *n, const char *table,
                      const struct ws_nsys_column_def *columns, unsigned ncolumns,
                      struct ws_nsys_rows *rows);
/*
 * 1: a row, 0: no more. Damage ends the table and is counted. Rows are passed
 * over and counted whose integers are none, or whose device is negative.
 */
bool ws_nsys_next(struct ws_nsys_rows *rows);
void ws_nsys_close(struct ws_nsys_rows *rows);
/* Turn each row of a table, in their order, into what it becomes. */
typedef void (*ws_nsys_row_fn)(const struct ws_nsys_rows *r);
void ws_nsys_each(struct ws_nsys *n, enum ws_nsys_table table, ws_nsys_row_fn fn);

static inline int64_t ws_nsys_i64(const struct ws_nsys_rows *r, enum ws_nsys_column c)
{
	return r->integer[(int)c - r->first];
}
/* Negative numbers read as 0. */
static inline uint64_t ws_nsys_u64(const struct ws_nsys_rows *r, enum ws_nsys_column c)
{
	int64_t v = ws_nsys_i64(r, c);

	return v < 0 ? 0 : (uint64_t)v;
}
static inline bool ws_nsys_is_null(const struct ws_nsys_rows *r, enum ws_nsys_column c)
{
	return r->type[(int)c - r->first] == SQLITE_NULL;
}
/* Of a statement's row, borrowed until the next; may hold NUL and broken UTF-8. */
struct ws_bytes ws_nsys_text(sqlite3_stmt *stmt, int column);
double ws_nsys_real(const struct ws_nsys_rows *r, enum ws_nsys_column c);
struct ws_bytes ws_nsys_bytes(const struct ws_nsys_rows *r, enum ws_nsys_column c);
/* The string that a column names by its StringIds id; 0 for NULL and unknown ids. */
void ws_nsys_string(const struct ws_nsys_rows *r, enum ws_nsys_column c, uint64_t *id);

/* The same as bytes, borrowed until the next look-up; empty when it cannot be read. */
struct ws_bytes ws_nsys_string_bytes(const struct ws_nsys_rows *r, enum ws_nsys_column c);

/* Start and duration; 0 and counted when they cannot be believed. */
bool ws_nsys_span(const struct ws_nsys_rows *r, enum ws_nsys_column start, enum ws_nsys_column end,
                  int64_t *start_ns, int64_t *dur_ns);
/* HW:8, VM:8, PID:24, TID:24 */
uint64_t ws_nsys_pid(const struct ws_nsys_rows *r, enum ws_nsys_column global_id);
void ws_nsys_thread(const struct ws_nsys_rows *r, enum ws_nsys_column global_tid, uint64_t *thread);

/* --- the parts of an import --- */

void ws_nsys_import_nvtx(struct ws_nsys *n);
/* Session, versions, devices. Before the events. */
void ws_nsys_import_info(struct ws_nsys *n);
/* Tables whose rows are records of one kind: those of events, of contexts, and, before NVTX, what
 * our own exports have in tables of their own. */
void ws_nsys_import_records(struct ws_nsys *n);
/* Count a table's rows as read and left out. */
void ws_nsys_leave_out(struct ws_nsys *n, const char *table);
/* Names of the threads and processes that some record named; what was left out. After the events.
 */
void ws_nsys_import_names(struct ws_nsys *n);

/* --- nsys.c, db.c --- */

enum ws_status ws_import_nsys(struct ws_import_out *o, sqlite3 *db, struct ws_import_clock *clock,
                              struct ws_err *err);
/* For a database that nobody vouches for: limits, and nothing of its schema is executed. */
void ws_import_nsys_harden(sqlite3 *db);
/* Open a file read-only, and harden it. */
enum ws_status ws_import_nsys_open(sqlite3 **db, const char *path, struct ws_err *err);
