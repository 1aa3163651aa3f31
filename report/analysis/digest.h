/*
 * A digest of a loaded model: for filters and for traces that the streaming
 * pass declines. The tables are the same views of both.
 */
#pragma once

#include "report/analysis/filter.h"
#include "report/pass/digest.h"

/* Of what the selection lets through. Free with ws_digest_release, also after a failure. */
enum ws_status ws_digest_of_model(struct ws_digest *d, const struct ws_model *m,
                                  const struct ws_selection *sel, unsigned parts,
                                  struct ws_err *err);
