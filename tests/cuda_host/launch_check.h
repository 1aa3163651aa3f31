/*
 * What CUDA refuses to launch: grids, blocks and shared memory beyond its limits.
 */
#pragma once

#include "tests/cuda_host/emulation.h"

#define WS_HOST_THREADS_MAX 1024 /* of a block */

/* ENVIRONMENT: CUDA would refuse it. */
enum ws_status ws_host_check_launch(const struct ws_host_launch *launch, struct ws_err *err);
