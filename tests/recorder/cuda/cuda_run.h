/* Recording the victim of CUDA, and what is in its trace. */
#pragma once

#include "tests/support/paths.h"
#include "tests/support/recorder/run.h"

/* From the start of a launch's call to that of its kernel, as the fake makes them. */
#define CUDA_CALL_TO_KERNEL_NS 1940

/* Make the environment in which the fakes are found. Each returns what run_end() undoes. */
void cuda_begin(struct run *r);

/* Record the victim in this mode, with further options before the program. */
#define RECORD_CUDA(r, mode, count, threads, pause, ...)                              \
	RUN(r, "-o", (r)->trace, "--segment-dir", (r)->segments, ##__VA_ARGS__, "--", \
	    WS_TEST_VICTIM_CUDA, mode, count, threads, pause)

/*
 * Launches 1 … n are in the trace, each once, with the kernel, grid, times and
 * call that belong together.
 */
void cuda_check_launches(const struct probe *p, uint64_t n);
