/*
 * What the launcher tells every process that it records, beside what lies in
 * the rings, and how further processes find their way into the recording.
 * docs/dev/recorder.md, section "Several processes".
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Set by the launcher with --pytorch; "off" in it keeps a process out. */
#define WS_PYTORCH_ENV "WARPSHEET_PYTORCH"

/* Bytes of an output pattern, its NUL included. */
#define WS_MAX_OUTPUT 2048
/* Bytes of what is told of a process; a string that does not fit is left out. */
#define WS_MAX_ENVIRONMENT 1024
#define WS_MAX_COMMAND     4096

/*
 * X(key, variable): the variables of a process's environment that tell its
 * place in a distributed program, in the order of precedence. Nothing else of
 * the environment is looked at, but what %q{NAME} of the output pattern names.
 */
#define WS_RANK_VARIABLES(X)                                  \
	X("process.rank", "RANK")                             \
	X("process.rank", "OMPI_COMM_WORLD_RANK")             \
	X("process.rank", "PMIX_RANK")                        \
	X("process.rank", "PMI_RANK")                         \
	X("process.rank", "MV2_COMM_WORLD_RANK")              \
	X("process.rank", "SLURM_PROCID")                     \
	X("process.local_rank", "LOCAL_RANK")                 \
	X("process.local_rank", "OMPI_COMM_WORLD_LOCAL_RANK") \
	X("process.local_rank", "MPI_LOCALRANKID")            \
	X("process.local_rank", "MV2_COMM_WORLD_LOCAL_RANK")  \
	X("process.local_rank", "SLURM_LOCALID")              \
	X("process.world_size", "WORLD_SIZE")                 \
	X("process.world_size", "OMPI_COMM_WORLD_SIZE")       \
	X("process.world_size", "PMI_SIZE")                   \
	X("process.world_size", "MV2_COMM_WORLD_SIZE")        \
	X("process.world_size", "SLURM_NTASKS")

/* Bytes of the pattern of --capture-range, its NUL included. */
#define WS_MAX_RANGE_PATTERN 256

enum ws_window_ranges {
	WS_RANGES_NONE,     /* everything in the span is recorded */
	WS_RANGES_NVTX,     /* only in NVTX ranges whose name fits the pattern */
	WS_RANGES_PROFILER, /* only from cudaProfilerStart to cudaProfilerStop */
};

/* When to record; all 0: always. */
struct ws_seg_window {
	int64_t begin_ns;     /* CLOCK_MONOTONIC, 0 = the beginning */
	int64_t duration_ns;  /* from then, 0 = for ever */
	uint64_t first, last; /* instances of ranges, from 1 */
	uint32_t ranges;      /* enum ws_window_ranges */
	char pattern[WS_MAX_RANGE_PATTERN];
};

enum ws_profiler_state {
	WS_PROFILER_OFF,
	WS_PROFILER_ON,   /* started, an instance that is not asked for */
	WS_PROFILER_KEPT, /* an instance that is */
};

/* Fixed by the launcher before the program starts; further segments get a copy. */
struct ws_seg_plan {
	uint32_t no_args;           /* 1: arguments of programs are not kept, not even here */
	char output[WS_MAX_OUTPUT]; /* absolute pattern of the traces' names */
	uint32_t keep_existing;     /* 1: a name that a file has is not taken */
	struct ws_seg_window window;
};

/* Part of the segment's header. */
struct ws_seg_control {
	/* written by the collector before `attached`: the process may be gone when it is asked for.
	   Strings that end with a NUL each; an empty one ends the list. */
	char environment[WS_MAX_ENVIRONMENT]; /* NAME=VALUE */
	char command[WS_MAX_COMMAND];         /* path of the program, its arguments */

	_Atomic uint64_t instances;       /* ranges that began */
	_Atomic uint64_t instances_ended; /* of those to be recorded */
	_Atomic uint32_t profiler;        /* enum ws_profiler_state */

	/* written by both sides */
	_Atomic uint32_t has_ended; /* 1: nothing that begins from now on is recorded */
	_Atomic uint64_t noutside;  /* events outside the window, which were left out */

	/* written by the launcher */
	_Atomic int64_t
	        stop_ns; /* CLOCK_MONOTONIC: nothing after it is recorded; 0 = no such time */

	/* written by the collector, in the first segment only */
	_Atomic uint32_t processes; /* further segments that were made */
	_Atomic uint32_t no_room;   /* pid of a process for whose segment there was no room */
};
