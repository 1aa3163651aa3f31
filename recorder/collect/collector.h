/*
 * Interfaces between the files of the collector. All of this runs on the traced program's threads.
 * It does not allocate, does no I/O after attaching, uses no signals, and takes only one lock, that
 * of the definition log.
 */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "formats/schema/schema.h"
#include "kernels/nvtx/abi.h"
#include "recorder/shared/segment.h"

/* --- text.c --- */

/*
 * Copies a text that the program passed to NVTX into the segment. Bytes are kept unchanged, wide
 * characters become UTF-8. Texts of any length, without allocation.
 */

enum ws_text_kind {
	WS_TEXT_BYTES, /* char */
	WS_TEXT_UTF16, /* uint16_t */
	WS_TEXT_UTF32, /* uint32_t, and wchar_t on Linux */
};

/* NUL-terminated text in the program's memory. ptr NULL: no text. */
struct ws_event_text {
	const void *ptr;
	enum ws_text_kind kind;
	uint32_t size; /* bytes in UTF-8 after ws_text_measure(), without NUL */
};

/* Set text->size, at most max, never cutting a character. Returns true if the text had to be
 * cut. */
bool ws_text_measure(struct ws_event_text *text, uint32_t max);

/* Copy of a measured text, piece by piece. */
struct ws_text_cursor {
	const void *ptr;
	enum ws_text_kind kind;
	uint32_t rest; /* bytes not yet copied */
};
/* The next piece, at most cap (>= 4) bytes, in buf; 0 at the end. */
uint32_t ws_text_next(struct ws_text_cursor *cursor, char *buf, uint32_t capacity);

#define WS_LIKELY(x)   __builtin_expect(!!(x), 1)
#define WS_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct ws_collector {
	_Atomic int is_recording;  /* 1 while this process is recorded */
	struct ws_seg_header *seg; /* NULL until attached */
	uint32_t image;            /* image of the process: 1, and one more after each exec */
	uint32_t ring_size;        /* a copy, safe from stray writes to the header */
};
extern struct ws_collector ws_collector;

/* --- inject.c --- */

/* Called for an event while is_recording is 0. At its first event a forked child gets a segment of
 * its own. Returns true if the process is recorded now. */
bool ws_attach_off(void);

static inline bool ws_collector_on(void)
{
	if (WS_LIKELY(atomic_load_explicit(&ws_collector.is_recording, memory_order_relaxed)))
		return 1;
	return ws_attach_off();
}

static inline void ws_lost(enum ws_dropped cause, uint64_t n)
{
	ws_seg_count(ws_collector.seg, cause, n);
}

/*
 * Takes a lock, with all signals blocked until it is released. Otherwise a signal handler that
 * records could wait for its own thread, and one that leaves by siglongjmp would never release the
 * lock.
 */
static inline void ws_lock(pthread_mutex_t *lock, sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
	pthread_mutex_lock(lock);
}

static inline void ws_unlock(pthread_mutex_t *lock, const sigset_t *before)
{
	pthread_mutex_unlock(lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The time for an event: CLOCK_MONOTONIC, ns. */
static inline int64_t ws_now_ns(void)
{
	return ws_clock_ns(CLOCK_MONOTONIC);
}

/* --- thread buffer.c --- */

/* A thread's state in thread-local storage. There is little of it in a library that is loaded
 * late. */
struct ws_self {
	struct ws_thread_buffer *thread_buffer; /* NULL: none yet, or all are in use */
	uint32_t depth;                         /* open pushes while there was no thread buffer */
	uint32_t looked; /* thread_buffers_freed plus 1 at the last search without success */
	uint32_t closed; /* windows of --standby that ended this thread's open ranges */
};
extern __thread struct ws_self ws_self;

/* Prepares the handling of thread exits. Called once, before the first thread buffer. 0:
 * success. */
int ws_thread_buffer_setup(void);
/* Called in a forked child, which has one thread and no buffer. */
void ws_thread_buffer_forked(void);
/* Find a thread buffer for the calling thread; NULL when none is free. */
struct ws_thread_buffer *ws_thread_buffer_find(void);

/* Makes more of the ring usable. 0: success; -1: all of it is in use, or there is no memory. */
int ws_thread_buffer_grow(struct ws_thread_buffer *thread_buffer);

static inline struct ws_thread_buffer *ws_thread_buffer_self(void)
{
	return WS_LIKELY(ws_self.thread_buffer != NULL) ? ws_self.thread_buffer
	                                                : ws_thread_buffer_find();
}

/* --- thread.c --- */

/*
 * Id in the trace of the thread with this system id. A new thread is defined with the system's name
 * for it. 0: no room.
 */
uint32_t ws_thread_of(uint32_t tid);
/* After fork, in the child: resets locks and records in progress, as the other threads are gone. */
void ws_thread_forked(void);

/* --- define.c --- */

/*
 * A definition is written in place. ws_def_begin() takes the lock and returns the memory for the
 * body and its size in *room (0: the log is full, and only ws_def_end() may follow).
 * ws_def_publish() makes the definition visible. ws_def_end() releases the lock.
 */
uint8_t *ws_def_begin(uint32_t *room);
/*
 * Publish the body. With `unique`, an equal definition of the same type is used instead, if there
 * is one. Returns the definition's head.
 */
const struct ws_def_head *ws_def_publish(enum ws_def_type type, uint32_t body_size, uint64_t id,
                                         int unique);
void ws_def_end(void);
/* True if the log has a schema or an enumeration with this id. Only between ws_def_begin() and
 * ws_def_end(). */
bool ws_def_has_schema(uint64_t id);
/* After fork: releases the lock, which no thread holds any more. */
void ws_def_forked(void);
/*
 * In a forked child: copies the parent's definitions into the child's segment with the same ids, as
 * the program still uses their handles. False: no room.
 */
bool ws_def_take_over(const struct ws_seg_header *parent);
/* Reads the definitions that an earlier image of this process wrote to the log. */
void ws_def_reload(void);

/* A handle for "there was no room for this definition". */
#define WS_DEF_NONE UINT32_MAX

/* Each returns the id for records, or WS_DEF_NONE; each counts its own overflow. */
uint32_t ws_define_domain(struct ws_event_text name);
uint32_t ws_define_string(struct ws_event_text text);
void ws_define_category(uint32_t domain, uint32_t category, struct ws_event_text name);
void ws_define_thread_name(uint32_t tid, struct ws_event_text name);
void ws_define_resource(const struct ws_def_resource *resource, struct ws_event_text name);
/* Defines an operation and its inputs; body: struct ws_def_op with name and inputs. Does not search
 * for an equal definition, and does not count an overflow. */
uint32_t ws_define_op(const void *body, uint32_t size);
/* Calls found() for each operation in the log, including those of an earlier image of this
 * process. */
void ws_ops_defined(void (*found)(uint32_t op, const void *body, uint32_t size));
/* The published body of an operation; NULL if there is none with this id. */
const void *ws_op_body(uint32_t op, uint32_t *size);
/* True if more than this many sixteenths of the log are used. Then only important definitions
 * should be added. */
bool ws_definitions_fill(unsigned sixteenths);
/* The text of a published string; NULL if there is none with this id. */
const char *ws_string_text(uint64_t string, uint32_t *size);
void ws_define_process(int64_t start_ns, uint64_t image, const char *path);
/* A range of the window begins (1) or ends (0). */
void ws_define_window(int64_t time_ns, int is_open);
uint32_t ws_define_thread(uint32_t thread, uint32_t tid, const char *name);
void ws_define_call(uint32_t domain, uint32_t cbid, const char *name);
/* Defines the address of a kernel's name, for records that stay in CUPTI's buffers. */
void ws_define_kernel(uint64_t address, uint32_t string);
/* Defines a row of `meta`. */
void ws_define_fact(const char *key, const char *value);
void ws_define_device(uint32_t device, const char *name);
void ws_define_device_attr(uint32_t device, const char *name, int64_t value);

/* The domain WSNVTX_CPU_DOMAIN, WS_DEF_NONE until it is defined. */
extern _Atomic uint32_t ws_cpu_domain;

/* --- schema.c --- */

#define WS_SCHEMA_TEXTS 8

struct wsn_schema_attr;
struct wsn_enum_attr;
struct wsn_scope_attr;
struct wsn_counter_attr;
struct wsn_counter_batch;
struct wsn_type_info;

/* The data of a schema that is needed to record a payload. */
struct ws_schema {
	uint64_t id;     /* the program's id, made unique by ws_schema_id() */
	uint64_t traced; /* id in the trace; differs if the program used one id twice */
	uint32_t size;   /* static size, 0 = unknown */
	uint32_t align;
	uint16_t ntexts;
	uint16_t out_of_line; /* entries that point to data that is not copied */
	uint32_t time_at;   /* of a counter's sample: offset of its time, plus 1; 0: it has none */
	uint64_t time_type; /* enum wsn_timestamp_type */
	struct {
		uint32_t offset; /* offset of the pointer or handle */
		uint32_t type;   /* enum wsn_entry_type */
	} text[WS_SCHEMA_TEXTS];
};

/* Registers a schema. Returns the id for the program to use; 0: not recorded. */
uint64_t ws_schema_register(uint32_t domain, const struct wsn_schema_attr *attr);
uint64_t ws_enum_register(uint32_t domain, const struct wsn_enum_attr *attr);
/* The newest schema registered with this id; NULL: none. id: by ws_schema_id(). */
struct ws_schema *ws_schema_find(uint64_t id);
/* Size in bytes of a predefined entry type, 0: no fixed size. */
uint32_t ws_entry_size(uint64_t type);

/* Register a scope and a counter. Return their ids for the program. */
uint64_t ws_scope_register(uint32_t domain, const struct wsn_scope_attr *attr);
uint64_t ws_counter_register(uint32_t domain, const struct wsn_counter_attr *attr);
/* The counter with this id, and the id of its definition; NULL: none. */
const struct ws_def_counter *ws_counter_find(uint32_t domain, uint64_t id, uint32_t *def);

/* --- event.c --- */

/* Writes NVTX events into the ring of their thread. */

/* A payload, ready to be copied. */
struct ws_payload {
	uint64_t schema;   /* as in the trace; 0: no payload */
	const void *bytes; /* in the program's memory, or &number */
	uint32_t size;     /* of bytes */
	uint32_t total;    /* bytes with the texts that follow them */
	uint64_t number;
	const struct ws_schema *layout;             /* NULL: no texts follow */
	struct ws_event_text text[WS_SCHEMA_TEXTS]; /* as many as the layout has */
};

struct ws_event {
	uint32_t domain; /* WS_DEF_NONE: its definition had no room; the event counts as lost */
	uint32_t category;
	uint32_t color;
	uint32_t string; /* registered message, 0 = text */
	struct ws_event_text text;
	struct ws_payload payload;
};

/* Domain number of a handle; WS_DEF_NONE for a handle that we did not give out. */
uint32_t ws_event_domain(wsn_domain handle);
/* Sets an event with this message only. It may be NULL. */
void ws_event_init(struct ws_event *ev, uint32_t domain, const void *text, enum ws_text_kind kind);
/* Sets an event with these attributes; attr may be NULL. */
void ws_event_attributes(struct ws_event *ev, wsn_domain domain, const struct wsn_event *attr);
/* Adds the first of n payloads, and counts the others as left out. */
void ws_event_payloads(struct ws_event *ev, const struct wsn_payload_data *payload, size_t n);

/* Records a call of an operation at its end. The caller sets times, numbers and config; size and
 * type are set here. */
void ws_event_op(struct ws_rec_op *rec);
/* Records a node of a CUDA graph. The caller sets its ids; size, type and time are set here. */
void ws_event_node(struct ws_rec_node *rec);
void ws_event_op_period(struct ws_rec_op_period *rec);

/* Each returns what NVTX prescribes: the level, from 0; -1 for a pop without a push. */
int ws_event_push(struct ws_event *ev);
/* A range that is also recorded in a step that is not. */
int ws_event_push_mark(struct ws_event *ev);
int ws_event_pop(struct ws_event *ev);
/* While the recording is silent (ws_is_silent()): looks for a request, and ends ranges of this
 * thread that are still open in the trace. Returns whether nothing is recorded still. */
bool ws_event_skips(void);
/* The same for a push of this message: one that may be a step is not skipped. */
bool ws_event_skips_push(int32_t message_type, union wsn_message message);
void ws_event_mark(struct ws_event *ev);
/* A sample of a counter, or a batch of them. */
void ws_event_sample(uint32_t domain, uint64_t counter, enum ws_sample_form form, const void *bytes,
                     size_t size);
void ws_event_samples(uint32_t domain, const struct wsn_counter_batch *batch);
uint64_t ws_event_start(struct ws_event *ev);
/* The id of a range that began while the recording was silent, or in a step that is not
 * recorded. */
#define WS_EVENT_SILENT_RANGE (UINT64_C(1) << 63 | UINT64_C(0x3E) << 56)
void ws_event_end(struct ws_event *ev, uint64_t range);

/* --- calibrate.c: steps that are not recorded (--calibrate) --- */

/* docs/dev/recorder.md, 10. A step of the program, between ws_calibrate_begin() and _end(). */

/* Who names the steps. A later one takes over. */
enum ws_calibrate_source {
	WS_STEPS_NOBODY,
	WS_STEPS_PERIODS, /* periods of PyTorch */
	WS_STEPS_RANGES,  /* NVTX ranges */
};

/* What is done with device work, set by the recorder of CUDA. */
enum ws_calibrate_device {
	WS_DEVICE_WAIT, /* for its end */
	WS_DEVICE_OFF,  /* wait, and record no more */
	WS_DEVICE_ON,   /* record again */
	WS_DEVICE_END,  /* record no more calls; work only until launched work has surely ended */
};
extern void (*_Atomic ws_calibrate_device)(enum ws_calibrate_device what);
void ws_turn_device(enum ws_calibrate_device what);
/* Leaves out what PyTorch calls in a step that a range names, or records it again; set by the
 * recorder of PyTorch, which leaves out its periods by itself. */
extern void (*_Atomic ws_calibrate_operations)(bool is_left_out);

/* What is recorded now. */
enum ws_recorded {
	WS_RECORDED_ALL,
	WS_RECORDED_NOT,    /* a step is left out (--calibrate) */
	WS_RECORDED_SILENT, /* nothing, until a request (--standby) */
};
extern _Atomic int ws_recorded_now;
static inline bool ws_is_unrecorded(void)
{
	return WS_UNLIKELY(atomic_load_explicit(&ws_recorded_now, memory_order_relaxed));
}
static inline bool ws_step_is_left_out(void)
{
	return WS_UNLIKELY(atomic_load_explicit(&ws_recorded_now, memory_order_relaxed) ==
	                   WS_RECORDED_NOT);
}
static inline bool ws_is_silent(void)
{
	return WS_UNLIKELY(atomic_load_explicit(&ws_recorded_now, memory_order_relaxed) ==
	                   WS_RECORDED_SILENT);
}

/* Steps are looked for. */
static inline bool ws_steps_wanted(void)
{
	return WS_UNLIKELY(ws_collector.seg->capture.calibrate | ws_collector.seg->capture.standby);
}

/* A step is about to begin on this thread. is_known: it is expected to be as one before. False: it
 * does not count, and none of the following may be called for it. */
bool ws_calibrate_begin(enum ws_calibrate_source source, bool is_known);
/* It has begun. If it is not recorded, events are left out from now on. */
void ws_calibrate_begun(void);
/* It is about to end, and its end has not been read yet. */
void ws_calibrate_settle(void);
/* It has ended: all is recorded again. Returns what the step was. */
enum ws_calibration ws_calibrate_end(enum ws_calibrate_source source);
/* This thread ends, and so does its step. */
void ws_calibrate_abandoned(void);
/* No later step is left out. */
void ws_calibrate_stop(enum ws_calibrate_obstacle why);
/* A graph is being captured, so that nobody may wait for the device. */
void ws_calibrate_captures(void);
/* After fork, in the child. */
void ws_calibrate_forked(void);

/* --- standby.c: recording that is switched on from outside (--standby) --- */

/* docs/dev/recorder.md, 11. */

extern _Atomic uint32_t ws_standby_ended; /* number of windows that ended, and when the last did */
extern _Atomic int64_t ws_standby_ended_ns;

void ws_standby_start(void); /* at the begin of an image of the process */
/* A step begins, or is about to end: may_wait: for the device. Returns whether it is recorded, or
 * is the last one that is. */
bool ws_standby_step_begins(uint64_t number, bool may_wait);
bool ws_standby_ends_with(uint64_t number);
/* Recording ends with the step that just ended. */
void ws_standby_step_ended(bool may_wait);
/* Does what a request wants at once. */
void ws_standby_look(void);

/* --- control.c --- */

/* Finds the segment that this process records into. */

/*
 * The mapped segment of this process. The first process and its later images get the segment that
 * WS_SEG_ENV names; each further process gets a new one in the same folder. NULL: this process is
 * not recorded; if there is a recording, that is counted as process_not_recorded. Called once in
 * each copy of the library.
 */
struct ws_seg_header *ws_control_claim(void);

/* --- thread.c: ranges of --capture-range --- */

/*
 * The ranges of --capture-range. The thread that enters one detects it, and reports it to the
 * launcher in the definition log.
 */

/* True if the pattern matches the whole message, whose text is measured. * is any text, ? any
 * byte. */
bool ws_event_is_named(const struct ws_event *ev, const char *pattern);

/* True if NVTX ranges have to be compared with --capture-range. */
static inline int ws_range_wanted(void)
{
	return WS_UNLIKELY(ws_collector.seg->plan.window.ranges == WS_RANGES_NVTX);
}

/*
 * This thread has pushed or popped a range at this level. Inside a matching range, inner ranges are
 * not compared.
 */
void ws_range_pushed(struct ws_thread_buffer *thread_buffer, const struct ws_event *ev,
                     uint32_t level);
void ws_range_popped(struct ws_thread_buffer *thread_buffer, uint32_t domain, uint32_t level,
                     int64_t time_ns);
/* The thread of this buffer ended: ends its open ranges. */
void ws_range_abandoned(struct ws_thread_buffer *thread_buffer);

/* A range begins that any thread may end. True: its end must be reported to ws_range_ended(). */
bool ws_range_started(const struct ws_event *ev);
void ws_range_ended(int64_t time_ns);

/* The program called cudaProfilerStart (1) or cudaProfilerStop (0). */
void ws_range_profiler(int start);

/* --- control.c: libraries --- */

/* Versions of NVIDIA's libraries in the traced program, as facts of the trace. */

/* Path of a loaded library whose file name begins with `file`. False: there is none. */
bool ws_library_path(const char *file, char *path, size_t size);
/*
 * Path of a second loaded library whose file name begins with `file`: not the one that contains
 * `function`. False: there is none. One file with two names is one library.
 */
bool ws_library_second(const char *file, const void *function, char *path, size_t size);
/*
 * Reads the version of each library that was loaded since the last call. Not to be called on the
 * program's threads, as it waits while a library is being loaded. One thread at a time. True: a
 * library was loaded.
 */
bool ws_libraries_define(void);
