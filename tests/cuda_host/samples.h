/*
 * The kernels of samples.cu, as the tests of the emulator start them.
 */
#pragma once

#include "formats/base/status.h"

#define SAMPLE_THREADS 96

enum ws_sample {
	WS_SAMPLE_WHERE,
	WS_SAMPLE_REVERSE,
	WS_SAMPLE_NO_BARRIER,
	WS_SAMPLE_WARP,
	WS_SAMPLE_BLOCK_SUM,
	WS_SAMPLE_UNSET,
	WS_SAMPLE_LEAVE_BEFORE_BARRIER,
	WS_SAMPLE_TWO_BARRIERS,
	WS_SAMPLE_MISSING_LANE,
	WS_SAMPLE_BARRIER_AND_SHUFFLE,
	WS_SAMPLE_HALF,
	WS_SAMPLE_FOREIGN_MASK,
	WS_SAMPLE_PARTIAL_WARP,
	WS_SAMPLE_SHARED_OVERRUN,
	WS_SAMPLE_DYNAMIC_OVERRUN,
	WS_SAMPLE_PACK,
	WS_SAMPLE_COUNT,
	WS_SAMPLE_EMPTY_GRID,
	WS_SAMPLE_TALL_GRID,
	WS_SAMPLE_LARGE_BLOCK,
	WS_SAMPLE_MUCH_SHARED,
};

#ifdef __cplusplus
extern "C"
#endif
        /* data: what the kernel reads and writes; at: a place in it. */
        enum ws_status
        ws_sample(enum ws_sample sample, void *data, int at, struct ws_err *err);
