/*
 * NVTX ranges and marks with all that was recorded of them, for exports: what rows of the join
 * leave out is most of it.
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/base/spill.h"
#include "report/model/model.h"

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
