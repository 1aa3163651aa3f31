/*
 * Clocks of a recording. Every time in a segment is CLOCK_MONOTONIC, which
 * nobody can set; what other clocks say is brought onto it by how far apart
 * they are. docs/dev/recorder.md, section "Time".
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Two readings of one distance differ by less; what differs by more, somebody set. */
#define WS_CLOCK_STEP_NS 20000

static inline int64_t ws_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* For ws_clock_apart: 0, and the clock's time. */
static inline int ws_clock_read_realtime(uint64_t *now_ns)
{
	*now_ns = (uint64_t)ws_clock_ns(CLOCK_REALTIME);
	return 0;
}

/*
 * How far a clock is ahead of CLOCK_MONOTONIC, to less than WS_CLOCK_STEP_NS / 2. 0, or -1 when
 * it cannot be read, or not so exactly as this thread is interrupted all the time.
 */
static inline int ws_clock_apart(int (*read)(uint64_t *now_ns), int64_t *apart_ns)
{
	int64_t shortest = WS_CLOCK_STEP_NS;

	for (int i = 0; i < 16 && shortest > 1000; i++) {
		int64_t before = ws_clock_ns(CLOCK_MONOTONIC), took;
		uint64_t now;

		if (read(&now))
			return -1;
		took = ws_clock_ns(CLOCK_MONOTONIC) - before;
		if (took >= shortest)
			continue;
		shortest = took;
		*apart_ns = (int64_t)(now - (uint64_t)(before + took / 2));
	}
	return shortest < WS_CLOCK_STEP_NS ? 0 : -1;
}

/* The same, less exactly where it must be. */
static inline int64_t ws_clock_realtime_apart(void)
{
	int64_t apart_ns;

	if (ws_clock_apart(ws_clock_read_realtime, &apart_ns))
		apart_ns = ws_clock_ns(CLOCK_REALTIME) - ws_clock_ns(CLOCK_MONOTONIC);
	return apart_ns;
}
