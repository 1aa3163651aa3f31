/*
 * One pass over the blocks of a trace in order of time, which joins kernels
 * to calls, calls to ranges and ranges to steps as they come, and leaves a
 * digest. Memory depends on what is in flight and on how many different
 * values there are, not on rows. docs/engine.md
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/pass/digest.h"
#include "report/pass/joined.h"

/*
 * parts: enum ws_digest_part, counted in this scope; with WS_DIGEST_ROWS rows of any scope go to
 * the sink; where no name of the trace can be a step's, STEPS is ALL. *m gets all but the rows of
 * the trace: texts, configurations, devices, threads, facts, paths, steps, copies. *m is NULL where
 * sums are asked for that need more than a pass knows of a kernel when it comes (operations of a
 * framework, ranges that cross): ask for rows alone then, sums are made of those. CORRUPT: also of
 * times out of bounds, sums that overflow and blocks that are not what their headers say. Free *m
 * and d, also after a failure.
 */
enum ws_status ws_pass_run(const struct ws_trace_reader *r, const char *name,
                           const struct ws_model_opts *opts, enum ws_scope scope, unsigned parts,
                           const struct ws_joined_sink *sink, struct ws_model **m,
                           struct ws_digest *d, struct ws_err *err);
