/*
 * Writing an SQLite database as a stream, by the file format that SQLite documents and keeps
 * (https://www.sqlite.org/fileformat2.html): each table is a B-tree whose rows come in the order of
 * their ids, so every page is written once, when it is full. SQLite itself takes a row through some
 * 30 instructions of its machine, and its tree through a search.
 */
#pragma once

#include <stdint.h>

#include "formats/base/bytes.h"
#include "formats/schema/schema.h"

#define WS_SQLITE_MAX_COLUMNS 64u

enum ws_sqlite_type {
	WS_SQLITE_NULL,
	WS_SQLITE_INTEGER,
	WS_SQLITE_REAL, /* what is no number becomes NULL, as in SQLite */
	WS_SQLITE_TEXT, /* UTF-8 without NUL */
	WS_SQLITE_BLOB,
};

struct ws_sqlite_value {
	enum ws_sqlite_type type;
	union {
		int64_t integer;
		double real;
		struct ws_bytes bytes; /* borrowed until the row is put */
	};
};

struct ws_sqlite_file;
struct ws_sqlite_table;

/* Replaces what is there. IO_WRITE, NO_MEMORY. Free it, also after finishing. */
enum ws_status ws_sqlite_create(struct ws_sqlite_file **f, const char *path, struct ws_err *err);
/* Writes what is left, the schema last, and closes: until then there is no database. */
enum ws_status ws_sqlite_finish(struct ws_sqlite_file *f, struct ws_err *err);
void ws_sqlite_free(struct ws_sqlite_file *f);

/*
 * Adds a table. columns: what stands between the parentheses of CREATE TABLE; copied, as is the
 * name. No index, no constraint that needs one. Its rows may come between those of others.
 */
enum ws_status ws_sqlite_table(struct ws_sqlite_file *f, const char *name, const char *columns,
                               struct ws_sqlite_table **t, struct ws_err *err);
/*
 * Adds a row. id is above those before (BUG); a column that is INTEGER PRIMARY KEY is this id, and
 * its value here NULL. A NULL for each column that n leaves out.
 */
enum ws_status ws_sqlite_put(struct ws_sqlite_file *f, struct ws_sqlite_table *t, int64_t id,
                             const struct ws_sqlite_value *values, unsigned n, struct ws_err *err);
