/* Kernels and copies joined to the calls that launched them, once all calls and ranges are there.
 */
#pragma once

#include "report/joined/launches.h"
#include "report/joined/rows.h"
#include "report/joined/soundness.h"

/* Starts with rows, all else zero. */
struct ws_kernel_join {
	struct ws_joined_rows *rows;
	struct ws_model *m;
	struct ws_launches launches;
	uint64_t counted_ops; /* ranges with is_counted */
	uint8_t *launched;    /* by range: it is an operation that a kernel has as its own */
	/* of each step: kernels, copies and fills that it launched, and kernels alone */
	uint64_t *work_of_step, *kernels_of_step;
	int64_t *gpu_ns_of_step;
	struct ws_judge judge;
	struct ws_strtab kinds;
	struct ws_kernel_kind **kind; /* by number of a kind */
	size_t kinds_capacity;
	struct ws_kernel_kind *without_range; /* the last kind of a kernel in no range, NULL */
	struct ws_arena temp;
};

/* All calls and ranges are told, steps and the framework's phases known: the model's copies are
 * joined. */
void ws_kernel_join_begin(struct ws_kernel_join *j, struct ws_model *m);
/* The next kernel becomes a row, and the model knows what the join left over. */
void ws_kernel_join_add(struct ws_kernel_join *j, const struct ws_pass_kernel *kernel);
/* All kernels are rows, and the model has its time: the steps in which recording ended, and those that
 * hold what cannot be true, are no measured ones. */
void ws_kernel_join_end(struct ws_kernel_join *j);
void ws_kernel_join_free(struct ws_kernel_join *j);
