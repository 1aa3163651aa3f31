/* Running a graph on a backend: buffers by lifetime, NVTX ranges, ops. */
#pragma once

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
