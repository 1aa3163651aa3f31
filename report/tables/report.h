/* From a trace to typed tables: what the commands ask for. */
#pragma once

#include "formats/trace/reader.h"
#include "report/joined/rows.h"
#include "report/table/table.h"

/* Every table of a report of all tables, in workbook order. */
const struct ws_table_def *const *ws_table_defs(size_t *count);
/* The same of a diff. */
const struct ws_table_def *const *ws_diff_defs(size_t *count);
const struct ws_table_def *const *ws_aa_defs(size_t *count);
const struct ws_table_def *const *ws_gate_defs(size_t *count);
const struct ws_table_def *const *ws_sweep_defs(size_t *count);
const struct ws_table_def *const *ws_ranks_defs(size_t *count);
/*
 * Also those made only on request. Names of nsys and unique beginnings are understood; NULL when no
 * table has this name.
 */
const struct ws_table_def *ws_table_def_by_name(const char *name);

/* These tables, in this order, of rows. The filter may be NULL. Free with ws_report_free. */
enum ws_status ws_report_make_tables(const struct ws_model *m, struct ws_joined_rows *rows,
                                     const struct ws_filter *filter,
                                     const struct ws_table_def *const *defs, size_t ndefs,
                                     struct ws_report **out, struct ws_err *err);
/*
 * These tables of what passes a filter. columns: of the only table, those that are wanted (others
 * may be empty); NULL = all. opts may be NULL. USAGE, with what comes near: nothing passes.
 */
enum ws_status ws_report_stream(const struct ws_trace_reader *r, const char *name,
                                const struct ws_model_opts *opts, const struct ws_filter *filter,
                                const struct ws_table_def *const *defs, size_t ndefs,
                                const uint8_t *columns, struct ws_report **out, struct ws_err *err);
/* The same, and a table for each query in sql (docs/reference/query.md); defs may be none. */
enum ws_status ws_report_query(const struct ws_trace_reader *r, const char *name,
                               const struct ws_model_opts *opts, const struct ws_filter *filter,
                               const struct ws_table_def *const *defs, size_t ndefs,
                               const char *sql, struct ws_report **out, struct ws_err *err);
/* What queries can read, as a report of one table. */
struct ws_report *ws_report_relations(const char *trace);
/* A report of more than one trace. */
struct ws_query;
struct ws_report_plan {
	const char *title, *trace;
	int64_t created_ns;
	const struct ws_table_def *const *defs; /* the last is the method, which comes by itself */
	size_t ndefs;
	struct ws_query *query; /* has the relations of the tables that are queries; NULL: none is */
	/* fills table `which` of defs, which has the rows of its query and is else empty, or puts
	 * another in its place */
	enum ws_status (*fill)(void *ctx, size_t which, struct ws_table **t, struct ws_err *err);
	void *ctx;
};
/* Free with ws_report_free. */
enum ws_status ws_report_of_plan(const struct ws_report_plan *plan, struct ws_report **out,
                                 struct ws_err *err);
void ws_report_free(struct ws_report *report); /* frees the tables too; NULL is legal */
