/* What /proc says about a process. Plain libc: the collector compiles it too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ws_proc_stat {
	char state;           /* R, S, D, Z … */
	uint32_t threads;     /* a zombie leader is one of them until it is reaped */
	uint64_t start_ticks; /* clock ticks after boot */
};

/* Read /proc/PID/stat (pid 0: the caller's). 0 = done, -1 = no such process. */
int ws_proc_stat(uint32_t pid, struct ws_proc_stat *out);

/*
 * 1 while the process with this pid and start time runs. A process whose main
 * thread ended lives as long as any of its threads does. start_ticks 0: any.
 */
bool ws_proc_alive(uint32_t pid, uint64_t start_ticks);

/*
 * The PID namespace of the calling process, a number of this boot; 0: unknown. A pid means a
 * process in its namespace only.
 */
uint64_t ws_proc_namespace(void);
/* 1 when a pid of that namespace means nothing here; 0 also when it is not known whether it does.
 */
bool ws_proc_is_elsewhere(uint64_t namespace);

/* A number that no other boot of any machine has; 0: unknown. */
uint64_t ws_proc_boot(void);
