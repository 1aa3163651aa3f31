/* Running a graph on a backend: buffers by lifetime, first values, NVTX ranges, ops. */
#pragma once

#include "kernels/base/rng.h"
#include "kernels/base/tensor.h"
#include "kernels/exec/backend.h"
#include "kernels/graph/graph.h"

struct ws_exec;

/* graph and backend are borrowed and must outlive the exec. The graph must be complete. */
enum ws_status ws_exec_create(struct ws_graph *graph, struct ws_backend *backend,
                              struct ws_exec **exec, struct ws_err *err);
/* Releases the data of all tensors. */
void ws_exec_destroy(struct ws_exec *exec);

/*
 * Allocate parameters, constants, optimizer state and inputs, and give them
 * their first values from the seed. pool draws the random numbers.
 */
enum ws_status ws_exec_init(struct ws_exec *exec, struct ws_pool *pool, uint64_t seed,
                            struct ws_err *err);

/* Release what the step before left: kept tensors, and all if it was not run to its end. */
void ws_exec_step_begin(struct ws_exec *exec);

/*
 * Run the ops of a phase in order, within an NVTX range of its name, each op in
 * its scopes and in a range of its own. Buffers are released after their last
 * use. Phases must be run in the order of the graph.
 */
enum ws_status ws_exec_phase(struct ws_exec *exec, enum wsnvtx_phase phase, struct ws_err *err);

/* Ops of the last phase that their `unless` (op.h) kept from running. */
int64_t ws_exec_skipped(const struct ws_exec *exec);

/* Copy a tensor that is alive from and to the host, in its own dtype. */
enum ws_status ws_exec_upload(struct ws_exec *exec, struct ws_tensor *t, const void *host,
                              struct ws_err *err);
/* The same, converted from and to double: t->count values. */
enum ws_status ws_exec_write(struct ws_exec *exec, struct ws_tensor *t, const double *values,
                             struct ws_err *err);
enum ws_status ws_exec_read(struct ws_exec *exec, const struct ws_tensor *t, double *values,
                            struct ws_err *err);

/* A synthetic batch into a tensor, by the device where it can. planes: ws_data_image_planes(). */
enum ws_status ws_exec_draw_images(struct ws_exec *exec, const struct ws_image_batch *batch,
                                   const struct ws_plane *planes, struct ws_tensor *t,
                                   struct ws_err *err);

/* --- first values -------------------------------------------------------------------------- */

/* The rule of first values: what an element of a tensor is before the first step. */

#define WS_INIT_CUT 3 /* standard deviations that TRUNC_NORMAL keeps within */

/* A tensor's first values on the way. */
struct ws_first_values {
	const struct ws_tensor *t;       /* borrowed */
	struct ws_rng rng[WS_PARTS_MAX]; /* of each part of t */
	int64_t part_count;              /* elements of a part */
};

void ws_first_values(const struct ws_tensor *t, uint64_t seed, struct ws_first_values *values);
/* Element i, before it is rounded to the tensor's dtype. */
double ws_first_value(const struct ws_first_values *values, int64_t i);

/* --- the memory plan ----------------------------------------------------------------------- */

/*
 * What a graph needs in device memory, and where each tensor lies in it, known before a byte is
 * allocated. Parameters, constants, optimizer state and inputs live for the whole session;
 * everything else from the op that writes it first to the op that touches it last, but for kept
 * tensors and the gradients of parameters, which stay until the next step.
 */

#define WS_MEMORY_ALIGN 256 /* of each place, as cudaMalloc() aligns */

struct ws_memory_plan {
	uint64_t by_role_bytes[WS_ROLE_COUNT]; /* of tensors that live for the session */
	uint64_t gradient_bytes;               /* gradients of parameters, all of them */
	uint64_t peak_bytes;                   /* the most at once, everything included */
	uint64_t block_bytes;                  /* of one block with a place for all of it */
	const struct ws_op *peak_op;           /* while this op runs; NULL: there are no ops */
	const struct ws_tensor *unwritten;     /* read before that; NULL: none */
};

/* Sets last_use and offset of each tensor: those alive at the same time lie apart. */
struct ws_memory_plan ws_memory_plan(const struct ws_graph *graph);
