/*
 * The ranks of one distributed run, one trace per rank: time and communication of each rank,
 * collectives matched between ranks, and late ranks. docs/reference/ranks.md
 */
#pragma once

#include "report/joined/rows.h"
#include "report/table/table.h"

struct ws_ranks;
struct ws_query;
struct ws_ranks *ws_ranks_new(void);
void ws_ranks_free(struct ws_ranks *r); /* after the report; NULL is legal */

/* Adds a rank's trace and its rows. Both may be freed afterwards. */
void ws_ranks_add(struct ws_ranks *r, const struct ws_model *m, struct ws_joined_rows *rows);
/* Adds a trace that cannot be read, with the reason. */
void ws_ranks_add_failed(struct ws_ranks *r, const char *why);

/* Is there no evidence that these are ranks of one run: neither a world size nor communication? */
bool ws_ranks_are_unrelated(const struct ws_ranks *r);

/*
 * Makes the tables of WS_RANKS_TABLES. *alarm: a sentence that must not be missed, valid as long as
 * r; NULL = none. USAGE: two traces of one rank. Call only once.
 */
enum ws_status ws_ranks_make(struct ws_ranks *r, struct ws_report **out, const char **alarm,
                             struct ws_err *err);

/* Adds the relations of these tables; r may be NULL if no query runs. */
void ws_ranks_relations(struct ws_query *q, struct ws_ranks *r);
