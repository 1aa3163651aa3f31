/* Processes and clocks of the system. Needs only libc, because the collector is built from it
 * too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Reads the beginning of a file as text, empty if it cannot be read (false) or is empty. */
bool ws_text_read(const char *path, char *text, size_t size);

/* Identifies a process. A pid alone is not enough: pids are reused, and each PID namespace has its
 * own.
 */
struct ws_proc {
	uint32_t pid;         /* 0: none */
	uint64_t start_ticks; /* clock ticks after boot, field 22 of /proc/PID/stat; 0: unknown */
	uint64_t namespace;   /* id of the pid's namespace, valid during this boot; 0: unknown */
};

/* The calling process. */
struct ws_proc ws_proc_self(void);

/* The calling thread, as the system knows it. (glibc has had gettid since 2.30 only.) */
static inline uint32_t ws_thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/*
 * True while the process runs. Its pid must be of our namespace. A process runs as long as any of
 * its threads does. start_ticks 0: any process with this pid.
 */
bool ws_proc_alive(struct ws_proc process);

/* True if pids of that namespace are not valid here; false if unknown. */
bool ws_proc_is_elsewhere(uint64_t namespace);

/* An id of this boot, unique among all machines; 0: unknown. */
uint64_t ws_proc_boot(void);

/* --- clocks --- */

/*
 * All times in a segment are CLOCK_MONOTONIC, which cannot be set. Times of other clocks are
 * converted by their difference from it. docs/dev/recorder.md, section "Time".
 */

/* Two readings of the same difference differ by less than this. If they differ by more, the clock
 * was set. */
#define WS_CLOCK_STEP_NS 20000

static inline int64_t ws_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The drift of a clock after since_ns. */
static inline int64_t ws_clock_drift(int64_t since_ns, int64_t drift_ppb)
{
	return (int64_t)((double)since_ns * (double)drift_ppb / 1e9);
}

/* The time by CLOCK_MONOTONIC in which the drifting clock counts since_ns. */
static inline int64_t ws_clock_without_drift(int64_t since_ns, int64_t drift_ppb)
{
	return drift_ppb > -1000000000
	               ? (int64_t)((double)since_ns / (1 + (double)drift_ppb / 1e9) + 0.5)
	               : since_ns;
}

/* For ws_clock_apart_at(): reads CLOCK_REALTIME. Returns 0. */
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
 * The time of a clock minus CLOCK_MONOTONIC, with an error below WS_CLOCK_STEP_NS / 2. *at_ns: time
 * of the reading by CLOCK_MONOTONIC. Returns 0, or -1 if it cannot be read, or not so exactly
 * because this thread is interrupted again and again.
 */
static inline int ws_clock_apart_at(int (*read)(uint64_t *now_ns), int64_t *apart_ns,
                                    int64_t *at_ns)
{
	int64_t shortest = WS_CLOCK_STEP_NS;

	*apart_ns = *at_ns = 0;
	/* stop once it is exact to 1 µs, the time of one launch, as it decides which range a launch
	 * is in */
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

/* The same for CLOCK_REALTIME, less exactly if necessary. */
static inline int64_t ws_clock_realtime_apart(void)
{
	int64_t apart_ns;

	if (ws_clock_apart(ws_clock_read_realtime, &apart_ns))
		apart_ns = ws_clock_ns(CLOCK_REALTIME) - ws_clock_ns(CLOCK_MONOTONIC);
	return apart_ns;
}
