/*
 * Tables by SQL: docs/dev/query.md.
 *
 * C folds the rows of a trace into some hundred cells, and provides them as relations. A table is
 * one SELECT over relations, which SQLite runs in memory. Nothing is copied into the database:
 * SQLite calls a relation for the value of a column of a row when it needs it.
 *
 * A relation of fruits, and a table of it:
 *
 *	struct basket {
 *		struct fruit {
 *			const char *kind;
 *			double price;
 *			struct ws_values grams; // of each piece
 *		} *fruit;
 *		size_t n;
 *	};
 *
 *	// X(name of the column, statement that puts its value)
 *	#define FRUIT(X)                             \
 *		X(kind, ws_put_str(out, f->kind))    \
 *		X(price, ws_put_real(out, f->price)) \
 *		X(grams, ws_put_samples(out, &f->grams))
 *
 *	static size_t count_fruit(void *basket)
 *	{
 *		return ((const struct basket *)basket)->n;
 *	}
 *
 *	static void put_fruit(void *basket, size_t row, int column, struct ws_put *out)
 *	{
 *		const struct fruit *f = &((const struct basket *)basket)->fruit[row];
 *
 *		WS_PUT_COLUMN(column, FRUIT);
 *	}
 *
 *	static const struct ws_relation fruit = {
 *	        "fruit", FRUIT(WS_COLUMN_NAME), count_fruit, put_fruit};
 *
 *	// value and total of the columns kind, pieces and grams of the table's definition
 *	static const char *const columns[][2] = {
 *	        {"kind"}, {"count_of(grams)", "sum(pieces)"}, {"median_of(grams)"}};
 *	static const struct ws_table_query of = {
 *	        &def, "FROM fruit GROUP BY kind ORDER BY kind", columns};
 *
 *	WS_FORWARD(ws_query_open(&q, err));
 *	ws_query_add(q, &fruit, &basket);
 *	status = ws_query_table(q, t, &of, NULL, err);
 *	ws_query_close(q);
 *
 * In tables.def each column's line has its expression, and the table's line the rest of the query.
 */
#pragma once

#include "formats/schema/schema.h"
#include "report/base/stat.h"
#include "report/table/table.h"

/* A database in memory. Not thread-safe. */
struct ws_query;

/* --- relations ------------------------------------------------------------------------------ */

#define WS_RELATION_COLUMNS 63 /* at most */

/* Receives the value of a column. Without a call of ws_put_… the value is NULL: unknown. */
struct ws_put;

struct ws_relation {
	const char *name;    /* name in queries */
	const char *columns; /* their names, each followed by a comma */
	/* ctx is the argument of ws_query_add. Both are called only while a query runs. */
	size_t (*count)(void *ctx);
	void (*put)(void *ctx, size_t row, int column, struct ws_put *out);
};

/* For lists of columns, X(name, statement that puts the value). */
#define WS_COLUMN_NAME(name, ...) #name ","
#define WS_COLUMN_ID(name, ...)   WS_AT_##name,
#define WS_COLUMN_CASE(name, put, ...) \
	case WS_AT_##name:             \
		put;                   \
		break;
/* Puts the value of the column with this number in the list. */
#define WS_PUT_COLUMN(column, LIST)          \
	do {                                 \
		enum { LIST(WS_COLUMN_ID) }; \
		switch (column) {            \
			LIST(WS_COLUMN_CASE) \
		default:                     \
			break;               \
		}                            \
	} while (0)

void ws_put_int(struct ws_put *out, int64_t value);
/* A value over INT64_MAX becomes NULL. */
void ws_put_count(struct ws_put *out, uint64_t value);
void ws_put_real(struct ws_put *out, double value); /* not finite: NULL */
/* A text that lives as long as the relation; the empty one is NULL. */
void ws_put_text(struct ws_put *out, struct ws_bytes text);
void ws_put_str(struct ws_put *out, const char *text); /* "" stays a text; NULL is NULL */
/* A copy of a text, which may be empty. */
void ws_put_copy(struct ws_put *out, const char *text, size_t len);
/*
 * A list of samples, for the aggregates whose names end in _of. It must live as long as the
 * relation. In a query its value is a number without meaning elsewhere.
 */
void ws_put_samples(struct ws_put *out, const struct ws_values *samples);

/* Makes rows of a relation the rows of a table, computed on access. Column c of the table is the
 * column of the relation with the same id; empty if there is none. */
struct ws_relation_rows {
	const struct ws_relation *rel;
	void *ctx;
	const uint32_t *row; /* of the relation, in the order of the table; NULL: all, in order */
	void (*free)(void *ctx); /* called when the table is freed; NULL: nothing to free */
};
void ws_table_show_relation(struct ws_table *t, const struct ws_relation_rows *rows, size_t nrows);

/* --- a database ----------------------------------------------------------------------------- */

enum ws_status ws_query_open(struct ws_query **out, struct ws_err *err);
void ws_query_close(struct ws_query *q); /* NULL is legal */

/*
 * Adds the relation `rel` under its own name, or under `name`. rel, name and ctx must outlive q.
 * The `rowid` of a row is its number, from 0; a join by rowid needs no search: ... JOIN path ON
 * path.rowid = cell.path. ctx may be NULL if no query runs (ws_query_check).
 */
void ws_query_add(struct ws_query *q, const struct ws_relation *rel, void *ctx);

/* Sets a parameter of all queries, given without the colon: "gpu_ns" for :gpu_ns. Unset parameters
 * are NULL, and errors in queries of users. name must outlive q. */
void ws_query_set_int(struct ws_query *q, const char *name, int64_t value);

/* For queries of users: refuses all but reading; an invalid query is USAGE, not BUG. */
void ws_query_only_reads(struct ws_query *q);

/* --- queries -------------------------------------------------------------------------------- */

/* A running query. */
struct ws_query_rows {
	const struct ws_cell
	        *cells; /* cells of the current row; texts are valid until the next row */
	int ncolumns;
	struct ws_query_run *run;
};
/* sql: one SELECT. End with ws_query_end, also after a failure. */
enum ws_status ws_query_start(struct ws_query *q, const char *sql, struct ws_query_rows *rows,
                              struct ws_err *err);
/* Reads the next row into rows->cells. False: there is none, or the query failed. */
bool ws_query_next(struct ws_query_rows *rows);
const char *ws_query_column_name(const struct ws_query_rows *rows, int column);
/* Ends the query. Returns an error if that is why there was no next row. */
enum ws_status ws_query_end(struct ws_query_rows *rows, struct ws_err *err);

/* The query of a kind of table: its line and columns in tables.def. */
struct ws_table_query {
	const struct ws_table_def *def;
	const char *from; /* after the columns: "FROM … GROUP BY … ORDER BY …"; "": a table of C */
	/* For each column of def: the expression of its value (NULL: the relation's column of that
	 * name; "NULL": C fills it), and the expression of its total over the rows of the table
	 * (NULL: none). */
	const char *const (*columns)[2];
};
/*
 * Fills t with rows and totals. The row of totals exists if one of them is not NULL. If wanted[c]
 * is 0, column c stays empty, and its data is not read; wanted may be NULL: all columns.
 */
enum ws_status ws_query_table(struct ws_query *q, struct ws_table *t,
                              const struct ws_table_query *of, const uint8_t *wanted,
                              struct ws_err *err);

/* Sets *end to the position after the first statement of sql and its semicolon; to sql if there are
 * only comments. */
enum ws_status ws_query_split(struct ws_query *q, const char *sql, const char **end,
                              struct ws_err *err);

/* --- columns that queries read -------------------------------------------------------------- */

/* Prepares a query, or those of a kind of table, without running it. */
enum ws_status ws_query_check(struct ws_query *q, const char *sql, struct ws_err *err);
enum ws_status ws_query_check_table(struct ws_query *q, const struct ws_table_query *of,
                                    const uint8_t *wanted, struct ws_err *err);
/* The columns of a relation that queries of q read: bit c for column c. Bit WS_RELATION_COLUMNS:
 * the relation is read, possibly only to count its rows. 0: no query reads it. */
uint64_t ws_query_columns_read(const struct ws_query *q, const struct ws_relation *rel);

/* Makes SQLite allocate by formats/base/memory.h, which ends the program without memory, because
 * SQLite's error codes do not reach every caller. Call once before using SQLite. */
void ws_sqlite_begin(void);
