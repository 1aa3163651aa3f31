/*
 * The call that launched a kernel: the one of its process with its correlation id. Where a process
 * used an id twice (it ran exec), it is the last of those that began before the kernel; where none
 * did (clocks disagree), the first.
 */
#pragma once

#include "report/base/order.h"
#include "report/joined/rows.h"

/* A call, or what looks for one. Calls are in this order. */
struct ws_launch_key {
	uint64_t correlation;
	uint32_t process; /* number of the process, not its pid */
	uint32_t call;    /* number of its row */
	int64_t start_ns; /* of a kernel: INT64_MAX when unknown */
};

/* Calls that have an id. Starts as all zeros. */
struct ws_launches {
	struct ws_joined_rows *rows; /* calls in the order of their ids, where they are; NULL */
	const struct ws_model *m;    /* … theirs */
	struct ws_spill keys;        /* else all of them, sorted */
	size_t n;
	size_t next; /* behind what was found last: kernels mostly come in the order of their
	              * launches
	              */
};

/* Room for so many calls. Free with ws_launches_free. */
void ws_launches_open(struct ws_launches *l, uint64_t calls);
void ws_launches_add(struct ws_launches *l, const struct ws_launch_key *call);
/* Instead of these: the calls of joined rows, in the order of their ids or to be sorted. */
void ws_launches_of_rows(struct ws_launches *l, struct ws_joined_rows *rows,
                         const struct ws_model *m);
/* All were added. */
void ws_launches_sort(struct ws_launches *l);
/* The row of a call; WS_NONE where none has the process and id, and for id 0, which is none. */
uint32_t ws_launches_find(struct ws_launches *l, struct ws_launch_key kernel);
void ws_launches_free(struct ws_launches *l);
