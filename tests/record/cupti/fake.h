/*
 * A CUDA driver and a CUPTI for tests: libcuda.so.1 loads the tool as the real
 * one does and "launches" by telling the fake CUPTI, which writes records as
 * the real one does: a buffer for each thread, handed over by a thread of its
 * own. What they do otherwise is said by the environment:
 *
 *   FAKE_CUPTI_VERSION      130001
 *   FAKE_CUPTI_KERNEL_SIZE  216; 232: fields were appended; 208: of 12.x
 *   FAKE_CUPTI_SUBSCRIBE    result of cuptiSubscribe: 39: another tool is there
 *   FAKE_CUPTI_ZERO_EVERY   each n-th kernel has no times
 *   FAKE_CUPTI_LOSE_EVERY   each n-th kernel is not told of
 */
#ifndef WS_TESTS_RECORD_CUPTI_FAKE_H
#define WS_TESTS_RECORD_CUPTI_FAKE_H

#include <stdint.h>

/* The driver: found with dlsym in libcuda.so.1. */
typedef int (*fake_init)(unsigned flags);                                   /* cuInit */
typedef int (*fake_launch)(const char *name, uint64_t node, unsigned grid); /* cuLaunchKernel */
typedef int (*fake_reset)(void); /* cudaDeviceReset: what was not flushed is gone */

/* CUPTI: what the driver tells it, found with dlsym too. */
void fake_cupti_context(void);
void fake_cupti_launched(const char *name, uint64_t node, unsigned grid);
void fake_cupti_reset(void);
void fake_cupti_profiler(int start);

#endif
