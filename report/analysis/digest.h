/*
 * A digest of joined rows: for filters, and for traces that a pass declines. The tables are the
 * same views of it as of one that a pass sums up.
 */
#pragma once

#include "report/analysis/filter.h"
#include "report/base/order.h"

/* Of what the selection lets through, from its rows. Free with ws_digest_release. */
void ws_digest_of_rows(struct ws_digest *d, const struct ws_model *m,
                       const struct ws_selection *sel, unsigned parts);
/* A text of a cell's kernels: their class, else what their name says; their name. */
typedef uint32_t (*ws_digest_text_fn)(const struct ws_model *, const struct ws_digest_cell *);
uint32_t ws_digest_class(const struct ws_model *m, const struct ws_digest_cell *cell);
uint32_t ws_digest_name(const struct ws_model *m, const struct ws_digest_cell *cell);
/* Kernels of one text: time.n and time.sum are of those whose time is known. */
struct ws_group {
	struct ws_stat time;
	uint64_t without_time;
};
/* Kernels by a text of theirs, in the order of the kernel summary; only counts and sums. */
struct ws_ranking {
	struct ws_group *groups;  /* by text */
	struct ws_row_key *order; /* n of them */
	size_t n;
};
void ws_digest_rank(const struct ws_table_context *tab, ws_digest_text_fn text_of,
                    struct ws_ranking *out);
