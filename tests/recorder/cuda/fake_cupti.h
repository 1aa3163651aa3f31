/*
 * Inside the fake CUPTI (fake.h): who is told, and the buffers of records. Its files: what a tool
 * calls (fake_cupti.c), what the driver tells (fake_records.c), buffers (fake_buffers.c).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/shared/cupti_abi.h"
#include "tests/recorder/cuda/fake.h"

#define CALL_LAUNCH         211 /* cudaLaunchKernel */
#define CALL_GET_DEVICE     17
#define CALL_SYNCHRONIZE    165 /* cudaDeviceSynchronize */
#define CALL_MEMCPY         31  /* cudaMemcpy, which nobody calls */
#define CALL_GRAPH_LAUNCH   311
#define CALL_BEGIN_CAPTURE  315
#define CALL_END_CAPTURE    319
#define DRIVER_CALL_VERSION 5
#define DRIVER_CALL_LAUNCH  307
#define CALLS               520

#define KINDS  64
#define SCOPES 2 /* subscribers that have activities of their own, from 13.3 on */

/* Somebody to be told. The first is all there is before 13.3. */
struct scope {
	int is_on, is_scoped;
	ws_cupti_callback callback;
	ws_cupti_request request;
	ws_cupti_complete complete;
	ws_cupti_scoped_request scoped_request;
	ws_cupti_scoped_complete scoped_complete;
	int kind_on[KINDS];
	_Atomic uint8_t call_on[2][CALLS], callback_on[8][CALLS];
};
extern struct scope fake_scopes[SCOPES];
#define EACH_SCOPE(s)                                                      \
	for (struct scope *s = fake_scopes; s < fake_scopes + SCOPES; s++) \
		if (s->is_on)

/* A thread's buffer. They are never freed: CUPTI's outlive the program, too. */
struct buffer {
	struct scope *scope;
	pthread_mutex_t lock;
	uint8_t *bytes;
	size_t size, used;
	int has_kernels;
	struct buffer *next;
};

/* Is there a context; has CUPTI torn itself down, or CUDA itself? */
extern _Atomic int fake_has_context, fake_is_final, fake_cuda_is_gone;
extern _Atomic int fake_has_all_sync;
extern _Atomic uint64_t fake_last_end; /* of the kernels that were launched so far */
extern int fake_system_threads;
extern uint64_t (*fake_timestamp)(void);

/* --- settings: of the environment --- */

long fake_setting(const char *name, long otherwise);
/* X(NAME): settings that are looked up once, as launches ask for them */
#define SETTINGS(X) \
	X(QUERIES)  \
	X(FATAL_AT) \
	X(FLUSH_MS) X(BUSY) X(FOREIGN) X(REQUEST_US) X(RAW_PPM) X(OVERHEAD) X(HOLD_MS) X(KERNEL_US)
enum setting {
#define X(name) SETTING_##name,
	SETTINGS(X)
#undef X
	        SETTING_COUNT
};

long fake_setting_of(enum setting which);
size_t fake_kernel_size(void);
uint64_t fake_now_ns(void);
/* What the real one would make of it, too: a program that dies of the tool. */
void fake_must(int is_legal, const char *what);

/* --- buffers: fake_buffers.c --- */

/* WS_CUPTI_OK, or 1 without a thread that hands buffers over. */
int fake_start(struct scope *s);
/* The thread's buffer of this scope, locked. */
struct buffer *fake_lock_buffer(struct scope *s);
/* Place for a record in the caller's buffer, which is locked; NULL: dropped. */
uint8_t *fake_place(struct buffer *b, size_t size);
size_t fake_take_dropped(void);

/* An overhead whose description is the tool's to free; was the last one freed? */
void fake_put_overhead(void);
int fake_overhead_is_freed(void);

/* Tell everybody who wants to know. */
void fake_call_back(uint32_t domain, uint32_t cbid, const void *data);
