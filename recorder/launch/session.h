/* The loop that record and salvage share: all processes of a recording. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "recorder/launch/process.h"

struct ws_session {
	const struct ws_record_opts *opts;
	struct ws_process **processes; /* [0]: the first segment's */
	size_t nprocesses, capacity;
	int signals;                 /* signalfd, -1 = none */
	pid_t child;                 /* our child while it is not reaped, else 0 */
	pid_t witness;               /* of signals to our process group; 0: none */
	uint32_t started;            /* pid of the program we started, 0 for salvage */
	int wait_status;             /* of the child, once reaped */
	int folder;                  /* of the traces' names, opened once; -1: it cannot be */
	char pattern[WS_MAX_OUTPUT]; /* of the traces' names, absolute: the launcher's own, or of
	                                the first segment for salvage; never of another one */
	int keep_existing;           /* as in struct ws_record_opts, from the same place */
	bool no_args;                /* the same; for salvage also when it is asked for there */
	/* files beside the first segment that are not to be trusted: at this look, at the last
	   one that the user was told of, and why the first of them */
	unsigned foreign, foreign_told;
	struct ws_err foreign_why;
	int stop;              /* the user wants an end, though the program still runs */
	uint32_t scanned;      /* further segments there were at the last look for them */
	int look_again;        /* and one of them was not ready */
	int uses_cuda;         /* a process has a library of CUDA in its memory, or had */
	int64_t cuda_look_ns;  /* when to look next, by CLOCK_MONOTONIC */
	int64_t cuda_pause_ns; /* from that look to the one after it */
	bool is_hidden;        /* a process of the program cannot see the segment */
	int64_t hidden_look_ns, hidden_pause_ns; /* the same of looking for such a one */
	uint64_t records;      /* read so far */
	int64_t begin_ns;      /* of the loop, by CLOCK_MONOTONIC */
	int64_t tell_after_ns; /* from there: when to say that it goes on */
	enum ws_status status; /* the first failure of any trace */
	struct ws_err failure;
};

/* Add the process of the first segment, which belongs to the session then. */
void ws_session_add(struct ws_session *s, struct ws_process *p);
/* Block the signals that are forwarded; *before is the mask for the child. */
enum ws_status ws_session_signals(struct ws_session *s, sigset_t *before, struct ws_err *err);
/* Drain until all recorded processes are gone, those that attach meanwhile included. */
void ws_session_loop(struct ws_session *s);
/* Finish the traces that are not, and move what is known of all into the result. */
enum ws_status ws_session_finish(struct ws_session *s, struct ws_record_result *result,
                                 struct ws_err *err);
/* Free everything; segments that are still there are removed unless they are to be kept. */
void ws_session_close(struct ws_session *s, int keep_segments);
