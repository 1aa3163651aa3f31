/* A trace as the product reads it: the rows that one pass joins, and its model. */
#pragma once

#include "report/diff/diff.h"
#include "report/joined/rows.h"
#include "report/tables/tables.h"

/* The table of kernels (kernel-trace) takes the rows; others leave them. */
struct joined {
	struct ws_model *m;
	struct ws_joined_rows rows; /* of m */
};

/* opts may be NULL. Free with joined_free. */
enum ws_status joined_open_reader(struct joined **out, const struct ws_trace_reader *r,
                                  const char *name, const struct ws_model_opts *opts,
                                  struct ws_err *err);
/* data must outlive it. */
enum ws_status joined_open_mem(struct joined **out, const void *data, size_t size, const char *name,
                               struct ws_err *err);
/* A trace, or a file that is imported. */
enum ws_status joined_open(struct joined **out, const char *path, struct ws_err *err);
void joined_free(struct joined *j); /* NULL is legal */

/* One table of joined rows, by itself. The filter may be NULL. Free with ws_table_free. */
enum ws_status one_table(const struct ws_model *m, struct ws_joined_rows *rows,
                         const struct ws_table_def *def, const struct ws_filter *filter,
                         struct ws_table **out, struct ws_err *err);
/* A report of all tables. The filter may be NULL. Free with ws_report_free. */
enum ws_status all_tables(const struct ws_model *m, struct ws_joined_rows *rows,
                          const struct ws_filter *filter, struct ws_report **out,
                          struct ws_err *err);
/* Rows of m, which may be freed afterwards, on side 0 or 1 of a comparison. */
void sides_add(struct ws_sides *sides, int side, const struct ws_model *m,
               struct ws_joined_rows *rows);
