/*
 * The tables that the product makes, asserted to be those of the oracle. where: what is compared,
 * for messages.
 */
#pragma once

#include "report/tables/tables.h"

/* Tables that the pass makes; a whole trace is made once more, of all of them at once. */
enum { ORACLE_STREAMED = 9 };

/* Of a loaded model. */
void oracle_compare_loaded(const struct ws_model *m, const struct ws_filter *filter,
                           const char *where);
/*
 * Of the pass, each table alone, then all at once; returns how many were made so of the whole
 * trace. Those of a scope come from the pass unless a measured step never ended: *of_scopes grows
 * by them.
 */
unsigned oracle_compare_streamed(const struct ws_trace_reader *r, const struct ws_model *m,
                                 const char *where, unsigned *of_scopes);
/* Every table of a report that the pass makes, all at once, beside those of a loaded model. */
void oracle_compare_tables(const struct ws_trace_reader *r, const struct ws_model *m,
                           const char *where);
/* The same of what passes a filter; which: any number stands for one. 1 when the pass made them,
 * 0 when it declined, or nothing passes: it says then what the model does. */
unsigned oracle_compare_filtered(const struct ws_trace_reader *r, const struct ws_model *m,
                                 unsigned which, const char *where);
/* The trace compared with itself, swept, and as a rank: 1 when the pass did not decline. */
unsigned oracle_compare_runs(const struct ws_trace_reader *r, const struct ws_model *m,
                             const char *where);
/* Joined rows; 1 when the pass did not decline. */
unsigned oracle_compare_joined(const struct ws_trace_reader *r, const struct ws_model *m,
                               const char *where);
/* Each column alone: what it does not need is not read, and it is the same all the same. */
void oracle_compare_columns(const struct ws_trace_reader *r, const struct ws_model *m,
                            size_t which);
/* Without the columns that the oracle has not. */
void oracle_same_rows(const struct ws_table *oracle, const struct ws_table *table,
                      const char *where);
