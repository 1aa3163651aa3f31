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
/*
 * The order of the kernel summaries: total time descending, instances ascending, name. A group
 * without any known time comes last. number[0] is left for what comes before that.
 */
struct ws_row_key ws_group_key(const struct ws_group *g, struct ws_bytes name, uint32_t row);
