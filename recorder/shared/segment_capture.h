/*
 * What is to be recorded of CUDA, and what came of it: the two parts of the
 * segment's header through which launcher and CUPTI source talk.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* What is recorded of PyTorch's operations. */
enum ws_capture_pytorch {
	WS_PYTORCH_OFF,
	WS_PYTORCH_NAMES,
	WS_PYTORCH_SHAPES, /* shapes, types and scalars of their inputs as well */
};

enum ws_capture_api {
	WS_CAPTURE_LAUNCHES, /* calls that launch, copy, wait, allocate or load; the default */
	WS_CAPTURE_ALL,
	WS_CAPTURE_NO_API, /* then nothing tells which call launched a kernel */
};

/* Written by the launcher before the program starts; all 0 is the default. */
struct ws_seg_capture {
	uint32_t no_cupti;            /* 1: no CUPTI at all; NVTX is recorded */
	uint32_t api;                 /* enum ws_capture_api */
	uint32_t graph_level;         /* 1: a graph launch is one row; 0: each node is */
	uint32_t kernels_only;        /* no copies, waits, allocations, overhead */
	uint32_t flush_interval_ms;   /* 0 = WS_CAPTURE_FLUSH_MS */
	uint32_t cpu_time_quantum_ns; /* API and NVTX times are rounded to it, 0 = as they are */
	uint32_t pytorch;             /* enum ws_capture_pytorch */
};
#define WS_CAPTURE_FLUSH_MS 1000

/* How it went. X(NAME) */
#define WS_GPU_STATE_LIST(X)                                                              \
	X(NONE)          /* the program never initialized CUDA, or not before it ended */ \
	X(ON)            /* recorded */                                                   \
	X(CUPTI_MISSING) /* text: where it was looked for */                              \
	X(CUPTI_TOO_OLD) /* text: its path */                                             \
	X(CUPTI_LACKS)   /* text: its path, and the function */                           \
	X(OTHER_TOOL)    /* text: its name, may be empty */                               \
	X(NOT_PERMITTED) /* text: the function that was refused */                        \
	X(CUPTI_FAILED)  /* text: the function, and CUPTI's words */

enum ws_gpu_state {
#define X(name) WS_GPU_##name,
	WS_GPU_STATE_LIST(X)
#undef X
};

/* Why some of what the GPU did is not told, or not well: bits. */
enum ws_gpu_stop {
	WS_GPU_STOP_TAKEN = 1,   /* another profiler registered its buffers in the place of ours */
	WS_GPU_STOP_FATAL = 2,   /* CUPTI met a fatal error and tore itself down */
	WS_GPU_STOP_CLOCK = 4,   /* somebody gave CUPTI another clock */
	WS_GPU_STOP_FOREIGN = 8, /* buffers of another profiler came to us */
	WS_GPU_STOP_SECOND = 16, /* the program has loaded another CUPTI, too: second */
	WS_GPU_STOP_FLAWED = 32, /* this version of CUPTI has faults of its own */
	WS_GPU_STOP_LAST = WS_GPU_STOP_FLAWED,
};

/*
 * Bytes of a record of each kind of activity (CUpti_ActivityKind), by the iterator of the CUPTI
 * that one image of the process has. Set before the first buffer of that image.
 */
#define WS_SEG_KINDS      64
#define WS_SEG_MAX_RECORD 2048
#define WS_SEG_IMAGES     4 /* the newest ones: buffers of those before are read by then */
struct ws_seg_sizes {
	_Atomic uint32_t image;         /* 0: none */
	uint16_t of_kind[WS_SEG_KINDS]; /* 0: there are no records of it */
};

/*
 * CUPTI's clock while it was this far ahead of CLOCK_MONOTONIC: read so first before from_ns and
 * last after until_ns. It is CLOCK_REALTIME as a rule, so each step of that begins another. Where
 * it is a clock that drifts, the distance is that of from_ns and grows by drift_ppb; each change
 * of the drift that counts begins another.
 */
#define WS_SEG_GPU_CLOCKS 64
struct ws_seg_gpu_clock {
	int64_t apart_ns;
	int64_t drift_ppb;
	int64_t from_ns;
	_Atomic int64_t until_ns;
};

/* Written by the collector; state last. */
struct ws_seg_gpu {
	_Atomic uint32_t state;         /* enum ws_gpu_state */
	int32_t result;                 /* CUptiResult that decided, 0 = none */
	_Atomic uint32_t cupti_version; /* 0 = not loaded */
	_Atomic uint32_t stopped;       /* bits of enum ws_gpu_stop */
	_Atomic uint32_t flush_thread;  /* the system's id of ours, whose calls make no rows */
	uint32_t reserved;
	/* what handing over cost; CUPTI has no records of it */
	_Atomic uint64_t flushes, flush_ns, flush_longest_ns;
	struct ws_seg_sizes sizes[WS_SEG_IMAGES]; /* of image n at n % WS_SEG_IMAGES */
	_Atomic uint32_t nclocks;
	_Atomic int64_t realtime_apart_ns; /* CUPTI's clock less CLOCK_REALTIME: the farthest */
	struct ws_seg_gpu_clock clocks[WS_SEG_GPU_CLOCKS];
	char text[1024];
	char last_error[256]; /* what CUPTI last reported while recording */
	char second[256];     /* path of another CUPTI that the program has loaded */
};
