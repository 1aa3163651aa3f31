/* Many traces as one table: a row per configuration, with all its recordings; and as a pivot. */
#pragma once

#include "report/diff/diff.h"

struct ws_sweep;
struct ws_query;
struct ws_sweep *ws_sweep_new(void);
void ws_sweep_free(struct ws_sweep *s); /* after the report; NULL is legal */

/* A trace, as for ws_sides_add: one of the same bytes as another counts once. reason: why its run
 * failed, NULL = it did not, unless the trace says so. */
void ws_sweep_add(struct ws_sweep *s, const struct ws_model *m, struct ws_joined_rows *rows,
                  const char *reason);
/* A run that left no trace: lines "key=value" of its configuration. */
void ws_sweep_add_failed(struct ws_sweep *s, const char *facts, const char *reason);

struct ws_sweep_opts {
	const char *baseline; /* "dtype=fp32"; NULL: dtype=fp32 where there is one */
	/* of the pivot: facts, and a column of the table by title or id; NULL: model, context, and
	 * the means and deviations of forward and backward, and the ratio of the two */
	const char *rows, *columns, *value;
	struct ws_diff_opts grade; /* of the speed-up's interval */
};

/* The tables of WS_SWEEP_TABLES. USAGE: a key or column that is none. Once only. */
enum ws_status ws_sweep_make(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                             struct ws_report **out, struct ws_err *err);

/* The relation `configuration`, of the queries of these tables; s NULL: they are only checked. */
void ws_sweep_relations(struct ws_query *q, struct ws_sweep *s);
