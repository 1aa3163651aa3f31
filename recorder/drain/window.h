/*
 * When to record: a span of time, and inside it the ranges that were asked
 * for. Pure: knows neither rings nor files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All times are CLOCK_MONOTONIC ns. */
struct ws_capture_window {
	int64_t begin_ns, end_ns; /* the span, both inside */
	bool has_ranges;          /* only what lies in ranges is kept */
	int open;                 /* ranges that have begun and not ended */
	struct ws_capture_window_range {
		int64_t begin_ns, end_ns; /* end INT64_MAX: not yet */
	} * ranges;                       /* one after the other; those that overlap are one */
	size_t nranges, size;
};

/* From begin_ns for duration_ns (0 or less: for ever). */
void ws_capture_window_init(struct ws_capture_window *w, int64_t begin_ns, int64_t duration_ns,
                            int has_ranges);
void ws_capture_window_release(struct ws_capture_window *w);

/* Nothing after this time is kept. */
void ws_window_stop(struct ws_capture_window *w, int64_t time_ns);

/* A range begins or ends; in the order of their times. */
void ws_capture_window_begin_range(struct ws_capture_window *w, int64_t time_ns);
void ws_capture_window_end_range(struct ws_capture_window *w, int64_t time_ns);

/* 1 when any part of start … end is to be kept. */
bool ws_capture_window_keeps(const struct ws_capture_window *w, int64_t start_ns, int64_t end_ns);
