/*
 * What the launcher tells every process that it records, beside what lies in
 * the rings, and how further processes find their way into the recording.
 * docs/recorder-design.md, section "Several processes".
 */
#ifndef WS_RECORDER_CONTROL_H
#define WS_RECORDER_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

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

/* Part of the segment's header. */
struct ws_seg_control {
	/* fixed by the launcher before the program starts; further segments get a copy */
	char output[WS_MAX_OUTPUT]; /* absolute pattern of the traces' names */
	uint32_t keep_existing;     /* 1: a name that a file has is not taken */

	/* written by the collector before `attached`: the process may be gone when it is asked for.
	   Strings that end with a NUL each; an empty one ends the list. */
	char environment[WS_MAX_ENVIRONMENT]; /* NAME=VALUE */
	char command[WS_MAX_COMMAND];         /* path of the program, its arguments */

	/* written by the collector, in the first segment only */
	_Atomic uint32_t processes; /* further segments that were made */
	_Atomic uint32_t no_room;   /* pid of a process for whose segment there was no room */
};

#endif
