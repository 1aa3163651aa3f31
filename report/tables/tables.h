/* tables.def as data, and declarations shared by the builders of tables. */
#pragma once

#include "report/analysis/digest.h"
#include "report/analysis/device_time.h"
#include "report/base/ui.h"

/* From a trace to typed tables, for commands. */

/* Every table of a report of all tables, in workbook order. */
const struct ws_table_def *const *ws_table_defs(size_t *count);
/* The same of a diff. */
const struct ws_table_def *const *ws_diff_defs(size_t *count);
const struct ws_table_def *const *ws_aa_defs(size_t *count);
const struct ws_table_def *const *ws_gate_defs(size_t *count);
const struct ws_table_def *const *ws_referee_defs(size_t *count);
const struct ws_table_def *const *ws_sweep_defs(size_t *count);
const struct ws_table_def *const *ws_ranks_defs(size_t *count);
/*
 * Includes tables made only on request. Accepts names of nsys and unique prefixes; NULL if no table
 * has this name.
 */
const struct ws_table_def *ws_table_def_by_name(const char *name);

/* Makes these tables, in this order, from rows. The filter may be NULL. Free with
 * ws_report_free. */
enum ws_status ws_report_make_tables(const struct ws_model *m, struct ws_joined_rows *rows,
                                     const struct ws_filter *filter,
                                     const struct ws_table_def *const *defs, size_t ndefs,
                                     struct ws_report **out, struct ws_err *err);
/*
 * Makes these tables for records that pass a filter, and a table for each query in sql, which may
 * be NULL (docs/reference/query.md; then defs may be empty). columns: needed columns of the only
 * table (others may stay empty); NULL = all. opts may be NULL. USAGE, with the nearest names, if
 * nothing passes.
 */
enum ws_status ws_report_stream(const struct ws_trace_reader *r, const char *name,
                                const struct ws_model_opts *opts, const struct ws_filter *filter,
                                const struct ws_table_def *const *defs, size_t ndefs,
                                const uint8_t *columns, const char *sql, struct ws_report **out,
                                struct ws_err *err);
/* A report with one table that lists the relations for queries. */
struct ws_report *ws_report_relations(const char *trace);
/* A report of more than one trace. */
struct ws_query;
struct ws_report_plan {
	const char *title, *trace;
	int64_t created_ns;
	const struct ws_table_def *const
	        *defs; /* the last is the table `method`, which is filled automatically */
	size_t ndefs;
	struct ws_query
	        *query; /* has the relations for tables made by queries; NULL: there are none */
	/* completes table `which` of defs, which has the rows of its query or is empty, or replaces
	 * it */
	enum ws_status (*fill)(void *ctx, size_t which, struct ws_table **t, struct ws_err *err);
	void *ctx;
};
/* Free with ws_report_free. */
enum ws_status ws_report_of_plan(const struct ws_report_plan *plan, struct ws_report **out,
                                 struct ws_err *err);
void ws_report_free(struct ws_report *report); /* frees the tables too; NULL is legal */

#include "report/tables/tables.def"

/* WS_TC_kernel_summary_total_ns = 1, …: position of a column in its table. */
#define C(table, column, ...) WS_TC_##table##_##column,
#define T(id, ...)            enum { WS_TCOLS_##id(C) WS_NTC_##id /* number of columns */ };
WS_ALL_TABLES(T)
#undef T
#undef C

/* ws_def_kernel_summary, …; ws_sql_kernel_summary, … */
#define T(id, ...)                                    \
	extern const struct ws_table_def ws_def_##id; \
	extern const struct ws_table_query ws_sql_##id;
WS_ALL_TABLES(T)
#undef T

/* How the rows of a table of tables.def are made. */
const struct ws_table_query *ws_table_query_of(const struct ws_table_def *def);

/* Adds the relations `rung` and `stretch` of the replay; tab NULL: queries are only checked. The
 * second function returns the parts of a digest that their queries read. */
void ws_replay_relations_add(struct ws_query *q, const struct ws_table_context *tab);
unsigned ws_replay_relations_parts(const struct ws_query *q);

/*
 * A line of tables.def with the columns WS_TCOLS_<id> as data: ws_def_<id> and ws_sql_<id>. What
 * follows a line's fixed places is its words, and then its SQL.
 */
#define WS_WORDS_OF(words, ...) words
#define WS_SQL_OF(words, ...)   __VA_ARGS__
#define WS_COLUMN_DEF(table, column, title, unit, type, display, rank, ...) \
	{#column,                                                           \
	 title,                                                             \
	 unit,                                                              \
	 WS_CELL_##type,                                                    \
	 WS_DISPLAY_##display,                                              \
	 WS_WORDS_OF(__VA_ARGS__, ),                                        \
	 WS_RANK_##rank},
#define WS_COLUMN_SQL(table, column, title, unit, type, display, rank, ...) \
	{WS_SQL_OF(__VA_ARGS__)},
#define WS_TABLE_MADE(id, name, title, sheet, ...)                                           \
	static const struct ws_table_column columns_##id[] = {WS_TCOLS_##id(WS_COLUMN_DEF)}; \
	const struct ws_table_def ws_def_##id = {                                            \
	        name,         title,                                                         \
	        sheet,        WS_WORDS_OF(__VA_ARGS__, ),                                    \
	        columns_##id, sizeof(columns_##id) / sizeof(*columns_##id),                  \
	};                                                                                   \
	static const char *const sql_##id[][2] = {WS_TCOLS_##id(WS_COLUMN_SQL)};             \
	const struct ws_table_query ws_sql_##id = {.def = &ws_def_##id,                      \
	                                           .columns = sql_##id,                      \
	                                           .from = "" WS_SQL_OF(__VA_ARGS__)};

/* Text in tables of kernels for a trace without kernels. */
#define WS_NO_KERNELS \
	"The trace holds no kernel: the program launched none, or its GPU was not recorded."

/* ws_tab_kernel_summary(), …: fill an empty table of their kind. If the table has a query, its
 * rows are already there, and these functions add the rest, such as notes. */
#define T(id, ...) void ws_tab_##id(const struct ws_table_context *tab, struct ws_table *t);
WS_REPORT_TABLES(T)
WS_REQUEST_TABLES(T)
#undef T

/* Tables of a report, and tables made only on request. */
const struct ws_table_def *const *ws_table_defs_all(size_t *count);

/* --- user_query.c: queries of users, over relations, tables and records --------------------- */

/* All tables as relations, their names with _ for -; all kinds of records, such as kernel_record.
 * All zero but for the first three; free with ws_user_tables_release, behind the queries. */
struct ws_user_tables {
	const struct ws_trace_reader *r; /* kind of these records; NULL if none is read */
	/* Makes a table with all that a report adds; columns: those that are wanted, NULL = all.
	 * *out is made also where this fails. */
	enum ws_status (*make)(struct ws_relations *relations, struct ws_query *q,
	                       const struct ws_table_def *def, const uint8_t *columns,
	                       struct ws_table **out, struct ws_err *err);
	/* Adds the parts of a digest that a table takes; those of its query are what q has read. */
	enum ws_status (*needs)(struct ws_query *q, const struct ws_table_def *def,
	                        const uint8_t *columns, unsigned *parts, struct ws_err *err);
	struct ws_query *q;
	struct ws_relations *relations;
	struct ws_user_table *table;
	size_t n;
	struct ws_user_records *records; /* by kind */
	struct ws_user_payloads *payloads;
	struct ws_records strings;
	struct ws_arena arena;
	enum ws_status status; /* result of making the relations that queries read */
	struct ws_err err;
};
/* relations: NULL if queries are only checked. */
void ws_user_tables_add(struct ws_user_tables *all, struct ws_query *q,
                        struct ws_relations *relations);
/* Adds the parts of a digest for those tables that queries have read. */
enum ws_status ws_user_tables_parts(struct ws_user_tables *all, unsigned *parts,
                                    struct ws_err *err);
void ws_user_tables_release(struct ws_user_tables *all);

enum ws_status ws_user_queries_check(struct ws_user_tables *all, const char *sql,
                                     struct ws_err *err);
/* Appends a table for each query in sql to the report; arena: for their data, which lives as long
 * as the report. */
enum ws_status ws_user_queries_make(struct ws_user_tables *all, const char *sql,
                                    struct ws_arena *arena, struct ws_report *report,
                                    struct ws_err *err);

/* The table `method` for these tables. */
void ws_method_fill(struct ws_table *t, const struct ws_table_def *const *defs, size_t ndefs);

/* Adds a note with denominator, source and conventions of MFU and HFU, or why they are unknown. */
void ws_note_utilization(struct ws_table *t, const struct ws_utilization *use);

/* Puts a text of the model into a cell; the empty text leaves the cell empty. */
void ws_cell_set_model_text(struct ws_table *t, struct ws_cell *cell, const struct ws_model *m,
                            uint32_t text);
/* sum / n, an integer if n divides the sum, so that exact counts stay exact. Empty if n = 0. */
void ws_cell_set_mean(struct ws_cell *cell, int64_t sum, uint64_t n);
/* Share of a whole, in percent. Empty if the whole is 0. */
void ws_cell_set_share(struct ws_cell *cell, int64_t part, int64_t whole);
/* Notes about how the recording ended. */
void ws_note_origin(const struct ws_model *m, struct ws_table *t);
/* How many kernels count where a CUDA graph captured them, if any. */
void ws_note_captured(const struct ws_table_context *tab, struct ws_table *t);
/* Adds a note about drift, disagreement and steps of the clocks, if the trace has data about
 * these. */
void ws_note_clocks(const struct ws_model *m, struct ws_table *t);
