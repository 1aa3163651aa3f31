/* Many traces as one table, with one row per configuration over all its recordings; and as a
 * pivot. */
#pragma once

#include "report/diff/diff.h"

struct ws_sweep;
struct ws_query;
struct ws_sweep *ws_sweep_new(void);
void ws_sweep_free(struct ws_sweep *s); /* after the report; NULL is legal */

/* Adds a trace as ws_sides_add does: copies of another trace are ignored. reason: why its run
 * failed; NULL = it did not fail, unless the trace says so. */
void ws_sweep_add(struct ws_sweep *s, const struct ws_model *m, struct ws_joined_rows *rows,
                  const char *reason);
/* Adds a run without a trace: lines "key=value" of its configuration. */
void ws_sweep_add_failed(struct ws_sweep *s, const char *facts, const char *reason);

struct ws_sweep_opts {
	const char *baseline; /* "dtype=fp32"; NULL: dtype=fp32 if there is one */
	/* for the pivot: facts, and a column of the table by title or id; NULL: model, context, and
	 * the means and deviations of forward and backward with their ratio */
	const char *rows, *columns, *value;
	struct ws_diff_opts grade; /* options for the speed-up's interval */
};

/* Makes the tables of WS_SWEEP_TABLES. USAGE: unknown key or column. Call only once. */
enum ws_status ws_sweep_make(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                             struct ws_report **out, struct ws_err *err);

/* Adds the relation `configuration` for the queries of these tables; s NULL: queries are only
 * checked. */
void ws_sweep_relations(struct ws_query *q, struct ws_sweep *s);
