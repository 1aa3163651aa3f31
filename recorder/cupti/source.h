/*
 * CUPTI inside the traced program: loads it, enables the records wanted, and gives it buffers of
 * the segment. docs/dev/recorder.md, "CUDA".
 */
#pragma once

#include "recorder/collect/collector.h"
#include "recorder/shared/cupti_abi.h"

/*
 * Starts recording of CUDA, once in each process image. Called while the driver initializes, before
 * anything can be launched. The result is in the segment's header. The program continues in any
 * case.
 */
void ws_cupti_start(void);
/* CUPTI's number for the context or stream with this handle; -1: unknown. */
int64_t ws_cupti_context_number(uint64_t handle);
int64_t ws_cupti_stream_number(uint64_t handle);
/* After fork: the child has no flushing thread, and must not use its CUPTI. */
void ws_cupti_forked(void);

#define WS_CUDART "libcudart.so" /* the CUDA runtime, unless it is linked into the program */

/* --- interface.c --- */

extern struct ws_cupti ws_cupti;        /* CUPTI's functions, once loaded */
extern int ws_cupti_has_thread_buffers; /* CUPTI uses one buffer per launching thread (13.0) */
extern _Atomic int ws_cupti_may_flush;  /* there is a context, so cuInit is done */
extern _Atomic int ws_cupti_is_parents; /* 1 after fork: CUPTI belongs to the parent, and its
                                           callbacks are ignored */
extern _Atomic int ws_cupti_is_final;   /* 1: CUPTI shut down and must not be called */
extern _Atomic uint64_t ws_cupti_own_records; /* records of calls by the flushing thread */

/* Counts a failure of a CUPTI function. fmt and its values: the function's name. */
void ws_cupti_count_error(int result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Stores an error and CUPTI's text for it, which may be NULL. Does not count it. */
void ws_cupti_keep_error(const char *what, const char *words, int result);

/*
 * Loads CUPTI into ws_cupti: the copy that is already loaded, else the copy in the folder of the
 * program's CUDA runtime, else an installed one. 0: success; -1: state and text in the segment's
 * header are set.
 */
int ws_cupti_load(struct ws_seg_gpu *gpu);

/* Functions that CUPTI calls for buffers; _v2: for CUPTI with separate buffers per subscriber. */
struct ws_cupti_buffers {
	ws_cupti_request request;
	ws_cupti_complete complete;
	ws_cupti_scoped_request request_v2;
	ws_cupti_scoped_complete complete_v2;
};
struct ws_cupti_subscription {
	ws_cupti_callback callback;
	const struct ws_cupti_buffers *buffers;
	void (*set_attributes)(void); /* sets attributes, before buffers are registered */
	char *other_tool;             /* the name of another tool, if MULTIPLE_SUBSCRIBERS */
	size_t other_size;
	const char *function; /* the function that failed */
};
/* Each returns a CUptiResult, or WS_CUPTI_NO_FUNCTION if this version does not have the
 * function. */
#define WS_CUPTI_NO_FUNCTION (-1)
int ws_cupti_subscribe(struct ws_cupti_subscription *s);
int ws_cupti_set(int attribute); /* to 1 */
int ws_cupti_enable(int kind);
int ws_cupti_disable(int kind);
int ws_cupti_enable_call(uint32_t domain, uint32_t cbid, bool on);
int ws_cupti_enable_callback(uint32_t domain, uint32_t cbid);
int ws_cupti_next(uint8_t *buffer, size_t valid_size, uint8_t **record);
int ws_cupti_time(uint64_t *now);

/*
 * Writes the sizes of records to the segment's header. The launcher needs them to go from one
 * record to the next without loading CUPTI. CUPTI 13.2 and later can give them only with a driver,
 * and perhaps not while it initializes. So this is called before each buffer is handed over, until
 * it succeeds.
 */
void ws_cupti_tell_sizes(void);
/* Defines versions and device limits that no record contains. Called once a context exists. */
void ws_cupti_define_facts(void);

/* Asks for times of kernels by the GPU's own events (--hw-trace auto), and notes whether it has
 * them. Called when the driver has initialized, before there is a context. */
void ws_cupti_trace_by_hardware(void);

/* Finds which calls launch work. Called before the next two functions. */
void ws_cupti_find_launches(void);
/* Another profiler receives CUPTI's records from now on: reports that, and counts the launches. */
void ws_cupti_taken(void);
/* True for a launch that will have no record. */
bool ws_cupti_is_untold_launch(uint32_t domain, uint32_t cbid);

/* True if this process is recorded and CUPTI was started in it, not in a parent. */
static inline bool ws_cupti_is_ours(void)
{
	return atomic_load_explicit(&ws_collector.is_recording, memory_order_relaxed) &&
	       !atomic_load_explicit(&ws_cupti_is_parents, memory_order_relaxed);
}

/* --- flushing --- */

/* A driver function without effect. Its record proves that CUPTI delivers records. */
#define WS_CUPTI_PROBE_CALL "cuDriverGetVersion"

/* --- which calls of the CUDA API are recorded ------------------------------------- */

/*
 * True for functions that launch, capture launches, copy, fill, wait, allocate or load code.
 * domain: enum ws_cupti_domain. name: CUPTI's name of the function. Driver functions are included
 * because some programs do not use the runtime; of a runtime call and the driver call inside it the
 * launcher keeps one. kernels_only: only launches and captures. Functions are chosen by name
 * because each version of CUPTI adds more.
 */
bool ws_cupti_wants_call(uint32_t domain, const char *name, int kernels_only);
/* True if the function with this name launches a kernel or a graph on a device. */
bool ws_cupti_is_launch(const char *name);

/* --- sizes of records --- */

/* Finds the size of each kind of record with the iterator of the loaded CUPTI. */

/* sizes: bytes by kind; 0: CUPTI has no records of this kind. Needs neither driver nor context. */
void ws_cupti_find_sizes(ws_cupti_fn_ActivityGetNextRecord next, uint16_t sizes[WS_SEG_KINDS]);
