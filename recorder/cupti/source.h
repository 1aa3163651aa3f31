/*
 * CUPTI inside the traced program: found, asked for what is to be recorded,
 * given buffers of the segment. docs/recorder-design.md, "CUDA".
 */
#ifndef WS_RECORDER_CUPTI_SOURCE_H
#define WS_RECORDER_CUPTI_SOURCE_H

#include "recorder/collect/collector.h"
#include "recorder/shared/cupti_abi.h"

/* --- cupti_source.c --- */

extern struct ws_cupti ws_cupti; /* every function that is needed, once loaded */

/*
 * Begin to record CUDA, once in each process image; called while the driver
 * initializes, so before anything can be launched. How it went is in the
 * segment's header. The program goes on in any case.
 */
void ws_cupti_start(void);
/* After fork: the child has no flushing thread, and its CUPTI is not ours to use. */
void ws_cupti_forked(void);
/* Note a failure of one of CUPTI's functions while recording. */
void ws_cupti_count_error(const char *function, int result);

/* --- cupti_load.c --- */

/*
 * Load CUPTI into ws_cupti: the copy that is loaded already, else the one
 * beside the program's CUDA runtime, else an installed one. 0, or -1 with the
 * state and text of the segment's header set.
 */
int ws_cupti_load(struct ws_seg_gpu *gpu);
/* Path of the CUDA runtime library in this process; 0: it is linked in, or there is none. */
int ws_cudart_path(char *path, size_t size);

/* --- cupti_buffers.c: called by CUPTI --- */

void ws_cupti_request_buffer(uint8_t **buffer, size_t *size, size_t *max_records);
void ws_cupti_complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                              size_t valid_size);
/* Names may lie elsewhere now: a module was loaded. */
void ws_cupti_names_changed(void);

/* --- cupti_facts.c --- */

/* Versions and device limits that no record carries; once a context exists. */
void ws_cupti_define_facts(void);

#endif
