/*
 * Ids of launches, joined before the pass. Mostly a recorded id tells the call of a kernel, as soon
 * as that returns. Where ids are used twice, lie far apart or kernels began before their calls, it
 * does not; then calls and kernels are read once ahead. Each call gets an id of its own, 1, 2, 3
 * and so on in the order of the file, and a kernel that of the call which launch_order.h finds. The
 * pass joins those ids in place of the recorded ones, all as of one process.
 */
#pragma once

#include "report/model/load.h"

/* Starts as all zeros. 8 bytes a call, 4 a kernel or copy, and while it is made 16 a call and what
 * sorting takes. */
struct ws_ids_ahead {
	uint64_t *first_row; /* by block of the file: rows of its kind before it; NULL: not made */
	uint64_t *correlation;         /* as it was recorded, of each call */
	uint32_t *of_kernel, *of_work; /* id, 0 = none; of kernels as in the file, of m->work */
	size_t ncalls, nkernels;
	struct ws_arena arena;
};
/* Of l->m, which has its dictionaries and copies. Free with ws_ids_ahead_free, also after a
 * failure. */
enum ws_status ws_ids_ahead_make(struct ws_ids_ahead *ids, struct ws_loader *l, struct ws_err *err);
void ws_ids_ahead_free(struct ws_ids_ahead *ids);

/* The id of a call: the n-th, from 0, of a block. 0 where the block has fewer. */
static inline uint64_t ws_ids_ahead_call(const struct ws_ids_ahead *ids, uint32_t block, uint32_t n)
{
	uint64_t call = ids->first_row[block] + n;

	return call < ids->ncalls ? call + 1 : 0;
}
