/*
 * The ranges that the user wants recorded (--capture-range): recognized on the
 * thread that is in them, told to the launcher through the definition log.
 */
#pragma once

#include <stdbool.h>

#include "recorder/collect/event.h"

/* 1 when NVTX ranges are to be looked at. */
static inline int ws_range_wanted(void)
{
	return WS_UNLIKELY(ws_collector.seg->plan.window.ranges == WS_RANGES_NVTX);
}

/*
 * A range of this thread has been pushed at this level, and popped. Inside a
 * range that matches no other one is looked for.
 */
void ws_range_pushed(struct ws_thread_buffer *thread_buffer, const struct ws_event *ev,
                     uint32_t level);
void ws_range_popped(struct ws_thread_buffer *thread_buffer, uint32_t domain, uint32_t level,
                     int64_t time_ns);
/* The thread of this thread buffer is gone; what it did not pop ends here. */
void ws_range_abandoned(struct ws_thread_buffer *thread_buffer);

/* A range begins that ends on any thread: 1 when that is to be told to ws_range_ended(). */
bool ws_range_started(const struct ws_event *ev);
void ws_range_ended(int64_t time_ns);

/* The program called cudaProfilerStart (1) or cudaProfilerStop (0). */
void ws_range_profiler(int start);
