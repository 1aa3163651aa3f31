/* NVTX events of a trace as ranges and marks, for exporters. */
#pragma once

#include "report/records/records.h"
#include "report/base/spill.h"

enum {
	WS_EXPORT_RANGE_START_END = 1u << 0,
	WS_EXPORT_RANGE_OPEN = 1u << 1, /* never ended; end_ns is the begin */
};

struct ws_export_range {
	int64_t start_ns, end_ns;
	uint64_t thread, end_thread; /* thread ids */
	uint64_t domain, name;       /* string ids */
	uint64_t range, category, color, payload;
	uint8_t flags;
};

struct ws_export_ranges {
	/* by thread, then begin, an outer range before those inside */
	struct ws_export_range *range; /* in `room` */
	size_t n;
	struct ws_row_nvtx *mark;
	size_t nmarks;
	uint64_t dangling; /* pops and ends without a begin */
	struct ws_spill room;
};
/*
 * Push and pop pair up per thread and domain, start and end by the range's id
 * within its process. Free with ws_export_ranges_free, also after a failure.
 */
enum ws_status ws_export_ranges_load(struct ws_export_ranges *out, const struct ws_trace_reader *r,
                                     const struct ws_records *threads, struct ws_err *err);
/* The next range, from one end to the other: those behind are let go of. NULL: no more. */
const struct ws_export_range *ws_export_ranges_next(struct ws_export_ranges *ranges, size_t *i);
void ws_export_ranges_free(struct ws_export_ranges *ranges);
