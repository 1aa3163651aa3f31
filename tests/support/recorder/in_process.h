/* The collector and the drain in one process: what a program emits, and what arrives. */
#pragma once

#include "recorder/drain/drain.h"
#include "tests/support/recorder/nvtx_module.h"
#include "tests/support/recorder/probe.h"

extern struct ws_seg_header *collect_seg;
extern struct ws_drain *collect_drain;

/* When to record; set before collect_start(), zero: always. */
extern struct ws_seg_window collect_window;

/* Make a segment of these sizes and the environment that the launcher would set. */
void collect_start(uint32_t thread_buffers, uint32_t ring_size, uint64_t defs_size);
void collect_stop(void);
/* Drain what is left and read the trace. */
struct probe collect_finish(void);

uint64_t collect_lost(enum ws_dropped cause);
void collect_expect_no_loss(void);

/* Event attributes with an ASCII message, which may be NULL. */
struct wsn_event collect_attr(const char *message);
