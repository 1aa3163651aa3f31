/*
 * The tables that the product makes, asserted to be those of the oracle. where: what is compared,
 * for messages.
 */
#pragma once

#include "report/tables/tables.h"
#include "tests/report/loaded/loaded.h"

/* Tables that the pass makes; a whole trace is made once more, of all of them at once. */
enum { ORACLE_STREAMED = 9 };

/* A table that the product makes of the loaded rows; free with ws_table_free. */
struct ws_table *oracle_product_table(struct loaded *l, const char *name,
                                      const struct ws_filter *filter);
/* Of those rows. */
void oracle_compare_loaded(struct loaded *l, const struct ws_filter *filter, const char *where);
/*
 * Of the pass, each table alone, then all at once; returns how many were made so of the whole
 * trace. Those of a scope come from the pass unless a measured step never ended: *of_scopes grows
 * by them.
 */
unsigned oracle_compare_streamed(const struct ws_trace_reader *r, struct loaded *l,
                                 const char *where, unsigned *of_scopes);
/* Every table of a report that the pass makes, all at once, beside those of the loaded rows. */
void oracle_compare_tables(const struct ws_trace_reader *r, struct loaded *l, const char *where);
/* The same of what passes a filter; which: any number stands for one. 1 when the pass made them,
 * 0 when nothing passes: it says then what loaded rows do. */
unsigned oracle_compare_filtered(const struct ws_trace_reader *r, struct loaded *l, unsigned which,
                                 const char *where);
/* The trace compared with itself, swept, and as a rank. */
void oracle_compare_runs(const struct ws_trace_reader *r, struct loaded *l, const char *where);
/* The roll-up; returns how many rows it has. */
size_t oracle_compare_rollup(const struct ws_trace_reader *r, const struct loaded *l,
                             const char *where);
/* Joined rows. */
void oracle_compare_joined(const struct ws_trace_reader *r, struct loaded *l, const char *where);
/* What --nvtx keeps of a pattern without instances; returns how many ranges it names as they were
 * recorded, where it is of no path. */
unsigned oracle_compare_recorded(const struct ws_trace_reader *r, const char *pattern,
                                 const char *where);
/* Each column alone: what it does not need is not read, and it is the same all the same. */
void oracle_compare_columns(const struct ws_trace_reader *r, struct loaded *l, size_t which);
/* Without the columns that the oracle has not. */
void oracle_same_rows(const struct ws_table *oracle, const struct ws_table *table,
                      const char *where);
