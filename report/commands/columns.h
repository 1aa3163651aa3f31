/* --columns: some columns of a table, in the order asked for. */
#pragma once

#include "report/table/table.h"

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
