/* Processes and clocks, as the system has them. Plain libc: the collector compiles it too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
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

/* --- clocks --- */

/*
 * Every time in a segment is CLOCK_MONOTONIC, which nobody can set. Times of other clocks are
 * converted by their distance from it. docs/dev/recorder.md, section "Time".
 */

/* Two readings of one distance differ by less; what differs by more, somebody set. */
#define WS_CLOCK_STEP_NS 20000

static inline int64_t ws_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* How much farther a clock that drifts is ahead after so long. */
static inline int64_t ws_clock_drift(int64_t since_ns, int64_t drift_ppb)
{
	return (int64_t)((double)since_ns * (double)drift_ppb / 1e9);
}

/* What CLOCK_MONOTONIC counts while such a clock counts so much. */
static inline int64_t ws_clock_without_drift(int64_t since_ns, int64_t drift_ppb)
{
	return drift_ppb > -1000000000
	               ? (int64_t)((double)since_ns / (1 + (double)drift_ppb / 1e9) + 0.5)
	               : since_ns;
}

/* For ws_clock_apart: 0, and the clock's time. */
static inline int ws_clock_read_realtime(uint64_t *now_ns)
{
	*now_ns = (uint64_t)ws_clock_ns(CLOCK_REALTIME);
	return 0;
}

static inline int ws_clock_read_raw(uint64_t *now_ns)
{
	*now_ns = (uint64_t)ws_clock_ns(CLOCK_MONOTONIC_RAW);
	return 0;
}

/*
 * How far a clock is ahead of CLOCK_MONOTONIC, to less than WS_CLOCK_STEP_NS / 2. 0, or -1 when
 * it cannot be read, or not so exactly as this thread is interrupted all the time. *at_ns: when it
 * was so far, by CLOCK_MONOTONIC.
 */
static inline int ws_clock_apart_at(int (*read)(uint64_t *now_ns), int64_t *apart_ns,
                                    int64_t *at_ns)
{
	int64_t shortest = WS_CLOCK_STEP_NS;

	*apart_ns = *at_ns = 0;
	/* launches lie in ranges by it, and one launch takes a microsecond */
	for (int i = 0; i < 16 && shortest > 1000; i++) {
		int64_t before = ws_clock_ns(CLOCK_MONOTONIC), took;
		uint64_t now;

		if (read(&now))
			return -1;
		took = ws_clock_ns(CLOCK_MONOTONIC) - before;
		if (took >= shortest)
			continue;
		shortest = took;
		*at_ns = before + took / 2;
		*apart_ns = (int64_t)(now - (uint64_t)*at_ns);
	}
	return shortest < WS_CLOCK_STEP_NS ? 0 : -1;
}

static inline int ws_clock_apart(int (*read)(uint64_t *now_ns), int64_t *apart_ns)
{
	int64_t at_ns;

	return ws_clock_apart_at(read, apart_ns, &at_ns);
}

/* The same, less exactly where it must be. */
static inline int64_t ws_clock_realtime_apart(void)
{
	int64_t apart_ns;

	if (ws_clock_apart(ws_clock_read_realtime, &apart_ns))
		apart_ns = ws_clock_ns(CLOCK_REALTIME) - ws_clock_ns(CLOCK_MONOTONIC);
	return apart_ns;
}
