/*
 * What CUDA refuses to launch: grids, blocks and shared memory beyond its limits.
 */
#pragma once

#include "tests/cuda_host/emulation.h"

#define WS_HOST_THREADS_MAX 1024 /* of a block */

/* Shared memory that a kernel may opt in to; 0: that of sm_90. */
void ws_host_limit_shared(uint64_t size_bytes);
/* ENVIRONMENT: CUDA would refuse it. */
enum ws_status ws_host_check_launch(const struct ws_host_launch *launch, struct ws_err *err);
