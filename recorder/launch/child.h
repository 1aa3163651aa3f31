/* The traced program as a child process. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "formats/base/status.h"
#include "recorder/shared/segment.h"
#include "recorder/shared/system.h"

/* What a shell ends with when it cannot run a command. */
#define WS_EXIT_NOT_EXECUTABLE 126
#define WS_EXIT_NOT_FOUND      127

/*
 * The file that a command names, found as a shell does (PATH), in out.
 * ENVIRONMENT when there is none; *exit_code is what a shell would end with.
 */
enum ws_status ws_child_find(const char *command, char *out, size_t out_size, int *exit_code,
                             struct ws_err *err);

/*
 * Why no collector can get into the program in this file: it is linked
 * statically, or runs with other rights than ours. NULL: no reason is known
 * (a program that it starts may still have one).
 */
const char *ws_child_obstacle(const char *path);

/* A variable of the child's environment, beside those of ours. */
struct ws_child_env {
	const char *name;
	const char *value;
};

/*
 * Run path with argv, signal mask `mask` and our environment changed by n
 * variables. Before it runs *who says which process it is, and *witness is there (below).
 * ENVIRONMENT when it could not be started, *exit_code as above. NO_MEMORY.
 */
enum ws_status ws_child_start(pid_t *out, pid_t *witness, const char *path, char *const argv[],
                              const struct ws_child_env *env, size_t n, const sigset_t *mask,
                              struct ws_seg_process *who, int *exit_code, struct ws_err *err);

/*
 * Whoever receives a signal cannot tell whether it was sent to him or to his process group, which
 * the program is in as well. So a process that only waits stands in the same group, with the
 * signals blocked that are blocked here: what is pending there was sent to the group. It ends with
 * this process. 0: there is none, and nothing is known.
 */
pid_t ws_witness_start(void);
/* Signals that are pending there, bit n - 1 for signal n: of those received by now, the ones that
 * were sent to the group. */
uint64_t ws_witness_signals(pid_t witness);
void ws_witness_end(pid_t witness);

/* --- pids in other namespaces --- */

/*
 * A process in a PID namespace of its own (unshare, bubblewrap, Apptainer) tells us its pid there,
 * which here is another process's or nobody's.
 */

/*
 * Our pid of the process of another PID namespace; 0: there is none, or none that we see. Looks at
 * all processes.
 */
uint32_t ws_host_pid_find(struct ws_proc process);

/* --- missing pages --- */

/*
 * A traced program can cut its segment short, and memory can run out under one: then pages of it
 * are missing where the launcher reads or writes (SIGBUS).
 */

/* From now on a page of zeros comes in the place of each that is missing, and is counted. */
void ws_missing_pages_replace(void);
/* How many there were since this was last asked. */
unsigned ws_missing_pages(void);
