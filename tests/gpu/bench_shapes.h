/*
 * What gpu_bench times own kernels on: graphs in which each kernel that a step of any model's
 * kind needs moves 256 MiB or more, so that no cache holds what it touches.
 */
#pragma once

#include "kernels/run/step.h"

/* A kernel must move this much before its speed says anything: several times an L2 cache. */
#define WS_BENCH_BYTES ((uint64_t)256 << 20)

/* The i-th of the steps, in all of precision.def's modes that GPUs train in; false after the last.
 */
bool ws_bench_step(int i, struct ws_step_options *options);

/*
 * In fp32, what has a number for each row of the steps above, on as many rows as that takes: a
 * graph of three phases, to be run in their order.
 */
enum ws_status ws_bench_rows(struct ws_graph **graph, struct ws_err *err);

/* Why no shape makes the kernel's speed a matter of bytes; NULL: none is known. */
const char *ws_bench_bounded(const struct ws_op *op);
