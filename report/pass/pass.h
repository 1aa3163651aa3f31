/*
 * One pass over the blocks of a trace in order of time, which joins calls to
 * ranges and ranges to steps as they come; then its kernels. docs/dev/engine.md
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/pass/digest.h"
#include "report/pass/joined.h"

/*
 * Its rows go to the sink. *m gets all but those: texts, configurations, devices, threads, facts,
 * paths, steps, copies. CORRUPT: also of times out of bounds, sums that overflow and blocks that
 * are not what their headers say. Free *m, also after a failure.
 */
enum ws_status ws_pass_run(const struct ws_trace_reader *r, const char *name,
                           const struct ws_model_opts *opts, const struct ws_joined_sink *sink,
                           struct ws_model **m, struct ws_err *err);

/*
 * Sums that need no join, many times as fast: kernels by configuration, calls by name, in all of a
 * trace. *m is NULL where parts (enum ws_digest_part), the scope or the user's own steps ask for
 * more: where a range of the trace may be a step, STEPS is not ALL. Free *m and d, also after a
 * failure.
 */
enum ws_status ws_pass_sums(const struct ws_trace_reader *r, const char *name,
                            const struct ws_model_opts *opts, enum ws_scope scope, unsigned parts,
                            struct ws_model **m, struct ws_digest *d, struct ws_err *err);
