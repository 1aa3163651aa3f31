/*
 * The call that launched a kernel: the one of its process with its correlation id. Where a process
 * used an id twice (it ran exec), it is the last of those that began before the kernel; where none
 * did (clocks disagree), the first.
 */
#pragma once

#include "formats/base/arena.h"
#include "report/base/order.h"

struct ws_launch_key {
	uint32_t process; /* number of the process, not its pid */
	uint64_t correlation;
	int64_t start_ns; /* of a kernel: INT64_MAX when unknown */
};

/* Calls, in the order of the file; ws_launch_order_make sets what is not const. */
struct ws_launch_order {
	size_t n;
	const int64_t *start_ns;
	const uint32_t *process;
	const uint64_t *correlation;
	uint32_t *order;
	size_t at; /* what was found last: kernels mostly come in the order of their launches */
};

/* order is in the arena. O(n). */
enum ws_status ws_launch_order_make(struct ws_launch_order *calls, struct ws_arena *arena,
                                    struct ws_err *err);
/* WS_NONE where no call has the process and id, and for id 0, which is none. O(log n). */
uint32_t ws_launch_order_find(struct ws_launch_order *calls, struct ws_launch_key kernel);
