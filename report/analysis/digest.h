/*
 * A digest of joined rows: for filters, and for traces that a pass declines. The tables are the
 * same views of it as of one that a pass sums up.
 */
#pragma once

#include "report/analysis/filter.h"

/* Of what the selection lets through, from its rows. Free with ws_digest_release. */
void ws_digest_of_rows(struct ws_digest *d, const struct ws_model *m,
                       const struct ws_selection *sel, unsigned parts);
