/*
 * The ranks of one distributed run, a trace each: time and communication of
 * each, collectives matched over them, and who makes the others wait. docs/reference/ranks.md
 */
#pragma once

#include "report/joined/rows.h"
#include "report/table/table.h"

struct ws_ranks;
struct ws_query;
struct ws_ranks *ws_ranks_new(void);
void ws_ranks_free(struct ws_ranks *r); /* after the report; NULL is legal */

/* A rank's trace, and its rows. Neither is needed any more. */
void ws_ranks_add(struct ws_ranks *r, const struct ws_model *m, struct ws_joined_rows *rows);
/* A trace that cannot be read, and why. */
void ws_ranks_add_failed(struct ws_ranks *r, const char *why);

/* Nothing says that these are ranks of one run: no world size, no communication. */
bool ws_ranks_are_unrelated(const struct ws_ranks *r);

/*
 * The tables of WS_RANKS_TABLES. *alarm: what must not be missed, as a
 * sentence that lives as long as r; NULL = nothing. USAGE: two traces of one rank. Once only.
 */
enum ws_status ws_ranks_make(struct ws_ranks *r, struct ws_report **out, const char **alarm,
                             struct ws_err *err);

/* The relations that the tables are made of; r may be NULL where no query runs. */
void ws_ranks_relations(struct ws_query *q, struct ws_ranks *r);
