/*
 * Which call launched a kernel, and in which NVTX range that call was made.
 *
 * Rule ("by launch"): a call belongs to a range when it lies wholly inside
 * it, bounds included, on the same thread; a kernel belongs where its
 * launching call does. The innermost range is the one that began last.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "report/model/nvtx_tree.h"

/* API calls, one entry each. */
struct ws_calls {
	size_t n;
	const int64_t *start_ns, *end_ns; /* end >= start */
	const uint32_t *thread;
	const uint32_t *process; /* number of the process, not its pid */
	const uint64_t *correlation;
};

struct ws_launches {
	size_t n;
	const int64_t *start_ns; /* of the kernel; INT64_MAX when unknown */
	const uint32_t *process;
	const uint64_t *correlation; /* 0 = none recorded */
};

/* call[k] = the call that launched kernel k (launch_order.h), WS_NONE when there is none. O(n log
 * n).
 */
enum ws_status ws_join_launches(const struct ws_launches *kernels, const struct ws_calls *calls,
                                uint32_t *call, struct ws_err *err);

/* A range that contains a call without containing the call's innermost range. */
struct ws_crossing {
	uint32_t range;
	uint32_t next; /* in ws_attribution.crossings, WS_NONE = last */
};

struct ws_attribution {
	uint32_t *innermost; /* a range for each call, WS_NONE = in no range */
	/* Where ranges cross: beside the innermost range and its ancestors a call may lie in
	 * others. first[call], WS_NONE = none; NULL when nothing crosses. */
	uint32_t *first;
	struct ws_crossing *crossings;
	size_t ncrossings, crossings_capacity;
	struct ws_arena arena; /* of innermost and first */
	uint64_t not_followed; /* calls past WS_MAX_CROSSINGS whose crossing ranges were left out */
};

/* Ceiling of the list above: 512 MiB. Only a trace made to hurt gets there. */
#define WS_MAX_CROSSINGS ((size_t)1 << 26)

/* O(n log n), and the number of crossings. Free with ws_attribution_release, also after a failure.
 */
enum ws_status ws_attribute(const struct ws_calls *calls, const struct ws_ranges *ranges,
                            struct ws_attribution *out, struct ws_err *err);
void ws_attribution_release(struct ws_attribution *a);
