/* The traced program as a child process. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "formats/base/status.h"
#include "recorder/shared/segment.h"

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
 * variables. Before it runs *who says which process it is.
 * ENVIRONMENT when it could not be started, *exit_code as above. NO_MEMORY.
 */
enum ws_status ws_child_start(pid_t *out, const char *path, char *const argv[],
                              const struct ws_child_env *env, size_t n, const sigset_t *mask,
                              struct ws_seg_process *who, int *exit_code, struct ws_err *err);
