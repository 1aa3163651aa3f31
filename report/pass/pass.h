/*
 * One pass over the blocks of a trace in order of time, which joins calls to
 * ranges and ranges to steps as they come; then its kernels. docs/dev/engine.md
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/base/spill.h"
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

/* --- recorded -------------------------------------------------------------------------------- */

/*
 * NVTX ranges and marks with all that was recorded of them, for exports: what rows of the join
 * leave out is most of it.
 */

/* What events share, as recorded: ids of the trace. */
struct ws_recorded_event {
	uint64_t type; /* enum ws_nvtx_type */
	uint64_t thread, domain, name, category, color, payload;
};

struct ws_recorded_range {
	int64_t start_ns, end_ns; /* the same of a mark, and of what never ended */
	uint64_t id;              /* of what START and END share */
	uint32_t begin, end;      /* events; end: WS_NONE of a mark, and of what never ended */
};

/* Each by thread id, then begin: an outer range before those inside. */
struct ws_recorded_ranges {
	struct ws_spill ranges, marks; /* of struct ws_recorded_range */
	size_t nranges, nmarks;
	struct ws_recorded_event *events;
	size_t nevents, events_capacity;
	uint64_t dangling; /* pops and ends without a begin */
};

/*
 * One pass over the events alone. *m gets what records refer to: texts, configurations, devices,
 * threads, payloads. CORRUPT: of a block whose header has other times than its rows. Free both,
 * also after a failure.
 */
enum ws_status ws_recorded_ranges_read(struct ws_recorded_ranges *ranges,
                                       const struct ws_trace_reader *r, struct ws_model **m,
                                       struct ws_err *err);
void ws_recorded_ranges_free(struct ws_recorded_ranges *ranges);
/* Row i of the ranges or marks, to be used before the next is asked for. */
static inline const struct ws_recorded_range *ws_recorded_range(struct ws_spill *rows, size_t i)
{
	return ws_spill_row(rows, sizeof(struct ws_recorded_range), i);
}
