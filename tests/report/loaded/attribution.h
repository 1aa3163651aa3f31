/*
 * Which call launched a kernel, and in which NVTX range that call was made.
 *
 * Rule ("by launch"): a call belongs to a range when it lies wholly inside
 * it, bounds included, on the same thread; a kernel belongs where its
 * launching call does. The innermost range is the one that began last.
 */
#pragma once

#include "tests/report/loaded/tree.h"

/* API calls, one entry each. */
struct loaded_calls {
	size_t n;
	const int64_t *start_ns, *end_ns; /* end >= start */
	const uint32_t *thread;
	const uint32_t *process; /* number of the process, not its pid */
	const uint64_t *correlation;
};

struct loaded_launches {
	size_t n;
	const int64_t *start_ns; /* of the kernel; INT64_MAX when unknown */
	const uint32_t *process;
	const uint64_t *correlation; /* 0 = none recorded */
};

/*
 * call[k] = the call that launched kernel k: the one of its process with its
 * correlation id; where a process used an id twice (it ran exec), the last
 * one that began before the kernel. WS_NONE when there is none. O(n log n).
 */
enum ws_status loaded_join_launches(const struct loaded_launches *kernels,
                                    const struct loaded_calls *calls, uint32_t *call,
                                    struct ws_err *err);

struct loaded_attribution {
	uint32_t *innermost; /* a range for each call, WS_NONE = in no range */
	/* Where ranges cross: beside the innermost range and its ancestors a call may lie in
	 * others. first[call], WS_NONE = none; NULL when nothing crosses. */
	uint32_t *first;
	struct ws_crossing *crossings;
	size_t ncrossings, crossings_capacity;
	struct ws_arena arena; /* of innermost and first */
	uint64_t not_followed; /* calls past WS_MAX_CROSSINGS whose crossing ranges were left out */
};

/* O(n log n), and the number of crossings. Free with loaded_attribution_release, also after a
 * failure.
 */
enum ws_status loaded_attribute(const struct loaded_calls *calls,
                                const struct loaded_ranges *ranges, struct loaded_attribution *out,
                                struct ws_err *err);
void loaded_attribution_release(struct loaded_attribution *a);
