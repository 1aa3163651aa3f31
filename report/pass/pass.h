/*
 * One pass over the blocks of a trace in order of time, which joins calls to
 * ranges and ranges to steps as they come; then its kernels. docs/dev/engine.md
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/model/model.h"
#include "report/pass/joined.h"

/*
 * Its rows go to the sink. *m gets all but those: texts, configurations, devices, threads, facts,
 * paths, steps, copies. CORRUPT: also of times out of bounds, sums that overflow and blocks that
 * are not what their headers say. Free *m, also after a failure.
 */
enum ws_status ws_pass_run(const struct ws_trace_reader *r, const char *name,
                           const struct ws_model_opts *opts, const struct ws_joined_sink *sink,
                           struct ws_model **m, struct ws_err *err);

/* What to tell of a trace whose rows nobody joins. */
struct ws_pass_unjoined {
	bool kernels, calls; /* rows of these */
	bool names;          /* what kernels' names tell of class, direction and dtype */
	enum ws_scope scope; /* that of a report */
};
/*
 * These rows as they come, without times, ranges and launches: a tenth of the work. The sink is
 * told first that the model has all. *m is NULL where the scope asks for the join: where a range of
 * the trace may be a step, STEPS is not ALL.
 */
enum ws_status ws_pass_run_unjoined(const struct ws_trace_reader *r, const char *name,
                                    const struct ws_model_opts *opts,
                                    const struct ws_pass_unjoined *wanted,
                                    const struct ws_joined_sink *sink, struct ws_model **m,
                                    struct ws_err *err);
