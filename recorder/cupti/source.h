/*
 * CUPTI inside the traced program: found, asked for what is to be recorded,
 * given buffers of the segment. docs/dev/recorder.md, "CUDA".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/collect/collector.h"
#include "recorder/shared/cupti_abi.h"
#include "recorder/shared/segment.h"

/*
 * Begin to record CUDA, once in each process image; called while the driver
 * initializes, so before anything can be launched. How it went is in the
 * segment's header. The program goes on in any case.
 */
void ws_cupti_start(void);
/* CUPTI's number of a context or stream with this handle; -1: unknown. */
int64_t ws_cupti_context_number(uint64_t handle);
int64_t ws_cupti_stream_number(uint64_t handle);
/* After fork: the child has no flushing thread, and must not use its CUPTI. */
void ws_cupti_forked(void);

#define WS_CUDART "libcudart.so" /* the runtime, where it is not linked into the program */

/* --- interface.c --- */

extern struct ws_cupti ws_cupti;              /* every function that is needed, once loaded */
extern int ws_cupti_has_thread_buffers;       /* each thread that launches has its own (13.0) */
extern _Atomic int ws_cupti_may_flush;        /* there is a context, so cuInit is done */
extern _Atomic int ws_cupti_is_parents;       /* a fork left CUPTI behind: nothing of it counts */
extern _Atomic int ws_cupti_is_final;         /* CUPTI shut down: nothing of it may be called */
extern _Atomic uint64_t ws_cupti_own_records; /* of calls by the flushing thread */

/* Count a failure of one of CUPTI's functions; its name is a format with values. */
void ws_cupti_count_error(int result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Keep an error in CUPTI's own words, which may be NULL; uncounted. */
void ws_cupti_keep_error(const char *what, const char *words, int result);

/*
 * Load CUPTI into ws_cupti: the copy that is loaded already, else the one
 * beside the program's CUDA runtime, else an installed one. 0, or -1 with the
 * state and text of the segment's header set.
 */
int ws_cupti_load(struct ws_seg_gpu *gpu);

/* What CUPTI calls for buffers; _v2: where each subscriber has its own. */
struct ws_cupti_buffers {
	ws_cupti_request request;
	ws_cupti_complete complete;
	ws_cupti_scoped_request request_v2;
	ws_cupti_scoped_complete complete_v2;
};
struct ws_cupti_subscription {
	ws_cupti_callback callback;
	const struct ws_cupti_buffers *buffers;
	void (*set_attributes)(void); /* before buffers are registered, as the header asks for */
	char *other_tool;             /* room for the name of another tool, if the result is
	                                 MULTIPLE_SUBSCRIBERS */
	size_t other_size;
	const char *function; /* what failed */
};
/* Each returns a CUptiResult, or WS_CUPTI_NO_FUNCTION where this version lacks the function. */
#define WS_CUPTI_NO_FUNCTION (-1)
int ws_cupti_subscribe(struct ws_cupti_subscription *s);
int ws_cupti_set(int attribute); /* to 1 */
int ws_cupti_enable(int kind);
int ws_cupti_enable_call(uint32_t domain, uint32_t cbid);
int ws_cupti_enable_callback(uint32_t domain, uint32_t cbid);
int ws_cupti_next(uint8_t *buffer, size_t valid_size, uint8_t **record);
int ws_cupti_time(uint64_t *now);

/*
 * Tell the launcher how long records are: it steps from one to the next by these sizes, and opens
 * no library of the program's. CUPTI of 13.2 and later knows the sizes only with a driver, and
 * maybe not while that initializes. So this is called before each buffer is handed over, until they
 * are known.
 */
void ws_cupti_tell_sizes(void);
/* Define versions and device limits that no record has; once a context exists. */
void ws_cupti_define_facts(void);

/* Note which calls launch; before the next two. */
void ws_cupti_find_launches(void);
/* CUPTI's records go to somebody else from now on: say so, and count the launches. */
void ws_cupti_taken(void);
/* Is this a launch of which there will be no record? */
bool ws_cupti_is_untold_launch(uint32_t domain, uint32_t cbid);

/* Is this process recorded, and CUPTI this process's own? */
static inline bool ws_cupti_is_ours(void)
{
	return atomic_load_explicit(&ws_collector.is_recording, memory_order_relaxed) &&
	       !atomic_load_explicit(&ws_cupti_is_parents, memory_order_relaxed);
}

/* --- flushing --- */

/* A function of the driver without effect: its record shows that records come. */
#define WS_CUPTI_PROBE_CALL "cuDriverGetVersion"

/* --- which calls of the CUDA API are worth a record each ------------------------------------- */

/*
 * 1 for a function of this domain (enum ws_cupti_domain) with this name, as
 * CUPTI has it: those that launch, capture launches, copy, fill, wait, allocate or
 * load code, of the driver too, as some programs have no runtime (of a runtime call and the
 * driver call in it the launcher keeps one). kernels_only: launches and captures alone. By
 * name, as each CUPTI has more of them than the one before.
 */
bool ws_cupti_wants_call(uint32_t domain, const char *name, int kernels_only);
/* 1 when the function of this name launches a kernel or a graph on a device. */
bool ws_cupti_is_launch(const char *name);

/* --- sizes of records --- */

/* How long a record of each kind is, by the iterator of the CUPTI that writes it. */

/* sizes: bytes by kind, 0 where CUPTI has no such records. It needs neither driver nor context. */
void ws_cupti_find_sizes(ws_cupti_fn_ActivityGetNextRecord next, uint16_t sizes[WS_SEG_KINDS]);
