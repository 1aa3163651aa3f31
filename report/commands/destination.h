/* Where tables go: the format that a path or an option names, the file or the terminal. */
#pragma once

#include <stdbool.h>

#include "report/table/table.h"

#define WS_FORMAT_CHOICES "text|csv|json|md|html"
enum ws_format {
	WS_FORMAT_TEXT,
	WS_FORMAT_CSV,
	WS_FORMAT_JSON,
	WS_FORMAT_MD,
	WS_FORMAT_HTML,
	WS_FORMAT_XLSX,
};

struct ws_destination {
	const char *path; /* NULL = stdout */
	int format;       /* enum ws_format, -1 = by the extension of path, else text */
	int colour;       /* enum ws_ui_when */
	bool no_pager;
	int64_t rows;       /* of each table as text, CSV, JSON or Markdown; 0 = all */
	bool takes_columns; /* the command has --columns */
	bool has_front;     /* text begins with the first screen */
};
/* Settle the format. USAGE when path and format do not go together, or CSV has not one table. */
enum ws_status ws_destination_resolve(struct ws_destination *d, const char *table,
                                      struct ws_err *err);
/* USAGE when writing to path (NULL: stdout) would destroy the input. */
enum ws_status ws_output_check(const char *path, const char *input, struct ws_err *err);
enum ws_status ws_destination_write(const struct ws_destination *d, const struct ws_report *report,
                                    struct ws_err *err);

/* Only the table of this name; of NULL all, or, for people to read at once on a terminal, those of
 * `brief` (NULL behind the last, at most WS_BRIEF_TABLES) that there are. */
#define WS_BRIEF_TABLES 8
enum ws_status ws_destination_show(const struct ws_destination *d, const struct ws_report *report,
                                   const char *table, const char *const *brief, struct ws_err *err);

/* Text for people to read at once: not all tables then. */
bool ws_destination_is_terminal(const struct ws_destination *d);
/* The report with only the named tables that it has, NULL behind the last; they are borrowed, slots
 * holds them. */
void ws_report_shorten(const struct ws_report *report, const char *const *names,
                       struct ws_report *out, struct ws_table **slots);

/*
 * The report with only the table of this name, borrowed from `report`; its
 * `tables` points to *slot. USAGE lists the names when there is none.
 */
enum ws_status ws_report_select(const struct ws_report *report, const char *name,
                                struct ws_report *out, struct ws_table **slot, struct ws_err *err);

/* USAGE: the tables that begin so, where there are several; else the nearest name. names: NULL
 * behind the last. */
enum ws_status ws_table_unknown(const char *name, const char *(*names)(const void *ctx, size_t i),
                                const void *ctx, struct ws_err *err);

/* --columns: some columns of a table, in the order asked for. */

struct ws_column_choice {
	size_t *index; /* columns of the table */
	size_t n;
	uint8_t *wanted; /* one a column of the table: is it among them? */
	struct ws_table_def def;
	const struct ws_table *source;
	struct ws_table *table; /* its rows are those of `source` */
};

/* The column of this id or title, with or without its unit. USAGE when there is none. */
enum ws_status ws_column_find(const char *name, size_t len, const struct ws_table_def *def,
                              size_t *out, struct ws_err *err);
/*
 * list: ids or titles, with commas between them. USAGE when the table has no
 * such column, or one is there twice. Free with ws_columns_release, also
 * after a failure.
 */
enum ws_status ws_columns_parse(const char *list, const struct ws_table_def *def,
                                struct ws_column_choice *out, struct ws_err *err);
/* The table with these columns only, as long as both live. */
struct ws_table *ws_columns_take(struct ws_column_choice *c, const struct ws_table *table);
void ws_columns_release(struct ws_column_choice *c);
