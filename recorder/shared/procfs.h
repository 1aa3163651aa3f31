/* What /proc says about a process. Plain libc: the collector compiles it too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A process: pids are used again, start times are not, and each PID namespace has pids of its own.
 */
struct ws_proc {
	uint32_t pid;         /* 0: none */
	uint64_t start_ticks; /* clock ticks after boot, field 22 of /proc/PID/stat; 0: unknown */
	uint64_t namespace;   /* in which the pid is one, a number of this boot; 0: unknown */
};

/* The caller's own. */
struct ws_proc ws_proc_self(void);

/* The calling thread, as the system knows it. (glibc has had gettid since 2.30 only.) */
static inline uint32_t ws_thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/*
 * 1 while it runs; its pid is of our own namespace. A process whose main thread ended lives as long
 * as any of its threads does. start_ticks 0: any of this pid.
 */
bool ws_proc_alive(struct ws_proc process);

/* 1 when a pid of that namespace means nothing here; 0 also when it is not known whether it does.
 */
bool ws_proc_is_elsewhere(uint64_t namespace);

/* A number that no other boot of any machine has; 0: unknown. */
uint64_t ws_proc_boot(void);
