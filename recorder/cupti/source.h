/*
 * CUPTI inside the traced program: found, asked for what is to be recorded,
 * given buffers of the segment. docs/dev/recorder.md, "CUDA".
 */
#pragma once

#include <stdbool.h>

#include "recorder/collect/collector.h"
#include "recorder/shared/cupti_abi.h"

/* --- state.c --- */

extern struct ws_cupti ws_cupti;              /* every function that is needed, once loaded */
extern int ws_cupti_has_thread_buffers;       /* each thread that launches has its own (13.0) */
extern _Atomic int ws_cupti_may_flush;        /* there is a context, so cuInit is done */
extern _Atomic int ws_cupti_is_final;         /* CUPTI tore itself down */
extern _Atomic uint64_t ws_cupti_own_records; /* of calls by the flushing thread */

/* Note a failure of one of CUPTI's functions while recording; its name is a format with values. */
void ws_cupti_count_error(int result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same in CUPTI's own words, which may be NULL; uncounted. */
void ws_cupti_keep_error(const char *what, const char *words, int result);

/* --- source.c --- */

/*
 * Begin to record CUDA, once in each process image; called while the driver
 * initializes, so before anything can be launched. How it went is in the
 * segment's header. The program goes on in any case.
 */
void ws_cupti_start(void);

/* --- launches.c --- */

/* Which calls launch; before the next two. */
void ws_cupti_find_launches(void);
/* CUPTI's records go to somebody else from now on: say so, and count the launches. */
void ws_cupti_taken(void);
/* Is it a launch of which no record will tell? */
bool ws_cupti_is_untold_launch(uint32_t domain, uint32_t cbid);

/* --- flush.c --- */

/* A function of the driver without effect, whose record shows that records come. */
#define WS_CUPTI_PROBE_CALL "cuDriverGetVersion"

/* Make CUPTI hand over what it has; flag: 0 or WS_CUPTI_FLUSH_FORCED. No lock may be held. */
void ws_cupti_flush(uint32_t flag);
/* The thread that flushes from time to time. 0, or -1 when there is none. */
int ws_cupti_start_thread(void);
void ws_cupti_wake(void);       /* flush now */
void ws_cupti_slot_taken(void); /* get memory for another, when few are free */
/* Note how far CUPTI's clock is from ours. One thread at a time. */
void ws_cupti_look_at_clock(void);
void ws_cupti_at_exit(void);
/* After fork: the child has no flushing thread, and its CUPTI is not ours to use. */
void ws_cupti_forked(void);

/* --- load.c --- */

/*
 * Load CUPTI into ws_cupti: the copy that is loaded already, else the one
 * beside the program's CUDA runtime, else an installed one. 0, or -1 with the
 * state and text of the segment's header set.
 */
int ws_cupti_load(struct ws_seg_gpu *gpu);
#define WS_CUDART "libcudart.so" /* where the program has not linked it in */

/* --- buffers.c --- */

struct ws_cupti_buffers;
extern const struct ws_cupti_buffers ws_cupti_buffers; /* what CUPTI calls; scope.h */
/* Names may lie elsewhere now: a module was loaded. */
void ws_cupti_names_changed(void);

/* --- facts.c --- */

/* CUPTI's number of a context or a stream that the program has the handle of; -1: not told. */
int64_t ws_cupti_context_number(uint64_t handle);
int64_t ws_cupti_stream_number(uint64_t handle);
/* Versions and device limits that no record carries; once a context exists. */
void ws_cupti_define_facts(void);
