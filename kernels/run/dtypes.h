/* Which dtype everything has in a step: `warpsheet-step --print-dtypes`. */
#pragma once

#include "kernels/run/describe.h"

/*
 * A row for each parameter with the dtype of its gradient and of what the
 * optimizer updates (its master, where it has one), for the result of each op
 * of the forward and loss phases with what the op reads, for the logits and the
 * loss. Builds the graph only. Output errors are the caller's to check (ferror).
 */
enum ws_status ws_dtypes_print(const struct ws_step_options *options, FILE *out,
                               struct ws_err *err);
