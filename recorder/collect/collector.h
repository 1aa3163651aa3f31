/*
 * The collector's parts among themselves. Everything here runs on the traced
 * program's threads: no allocation, no I/O after attaching, no signals, no
 * lock but the one of the definition log.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/nvtx/abi.h"
#include "recorder/shared/record.h"
#include "recorder/shared/segment.h"
#include "recorder/shared/system.h"

/* --- text.c --- */

/*
 * Text as a program hands it to NVTX, on its way into the segment: bytes are
 * kept as they are, wide characters become UTF-8. No allocation, any length.
 */

enum ws_text_kind {
	WS_TEXT_BYTES, /* char */
	WS_TEXT_UTF16, /* uint16_t */
	WS_TEXT_UTF32, /* uint32_t, and wchar_t on Linux */
};

/* NUL-terminated text in the program's memory. ptr NULL: none. */
struct ws_event_text {
	const void *ptr;
	enum ws_text_kind kind;
	uint32_t size; /* bytes in UTF-8 after ws_text_measure(), without NUL */
};

/* Set text->size, at most max, never cutting a character. 1 when it had to be cut. */
bool ws_text_measure(struct ws_event_text *text, uint32_t max);

/* Copy of a measured text, piece by piece. */
struct ws_text_cursor {
	const void *ptr;
	enum ws_text_kind kind;
	uint32_t rest; /* bytes still to come */
};
/* The next piece, at most cap (>= 4) bytes, in buf; 0 at the end. */
uint32_t ws_text_next(struct ws_text_cursor *cursor, char *buf, uint32_t capacity);

#define WS_LIKELY(x)   __builtin_expect(!!(x), 1)
#define WS_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct ws_collector {
	_Atomic int is_recording;  /* 1 while this process is recorded */
	struct ws_seg_header *seg; /* NULL until attached */
	uint32_t image;            /* of the process: 1, and one more for each exec */
	uint32_t ring_size;        /* a copy: not even a stray write in the header moves it */
};
extern struct ws_collector ws_collector;

/* --- inject.c --- */

/* Called for an event while off: at the first one of a forked child it gets a segment of its own.
 * Is this process recorded now? */
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
 * Our locks are held with all signals blocked: a handler that records would wait for its own
 * thread, and one that is left by siglongjmp would leave the lock held for ever.
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

/* The time of an event. */
static inline int64_t ws_now_ns(void)
{
	return ws_clock_ns(CLOCK_MONOTONIC);
}

/* --- thread buffer.c --- */

/* What a thread keeps in thread-local storage, which is scarce in a late-loaded library. */
struct ws_self {
	struct ws_thread_buffer *thread_buffer; /* NULL: none yet, or none left */
	uint32_t depth;                         /* pushes that are open without a thread buffer */
	uint32_t looked; /* thread_buffers_freed at the last search that found none, plus 1 */
};
extern __thread struct ws_self ws_self;

/* Prepare thread-exit handling; once, before the first thread buffer. 0 = done. */
int ws_thread_buffer_setup(void);
/* Of a forked child, in its only thread: it has no buffer any more. */
void ws_thread_buffer_forked(void);
/* Find a thread buffer for the calling thread; NULL when none is free. */
struct ws_thread_buffer *ws_thread_buffer_find(void);

/* Have more of its ring written. 0; -1: there is no more, or no room. */
int ws_thread_buffer_grow(struct ws_thread_buffer *thread_buffer);

static inline struct ws_thread_buffer *ws_thread_buffer_self(void)
{
	return WS_LIKELY(ws_self.thread_buffer != NULL) ? ws_self.thread_buffer
	                                                : ws_thread_buffer_find();
}

/* --- thread.c --- */

/*
 * Id in the trace of the thread with this system id, defined under the name
 * that the system has for it when it is new. 0: there was no room for it.
 */
uint32_t ws_thread_of(uint32_t tid);
/* After fork: nobody is in the middle of anything, and the threads are gone. */
void ws_thread_forked(void);

/* --- define.c --- */

/*
 * A definition is made in place: ws_def_begin() takes the lock and gives the
 * room for the body (0 = the log is full; then only ws_def_end() may follow),
 * ws_def_publish() makes it visible, ws_def_end() gives the lock back.
 */
uint8_t *ws_def_begin(uint32_t *room);
/*
 * Publish the body. With `unique`, an equal body of the same type that is
 * already there is taken instead. Returns the definition's head.
 */
const struct ws_def_head *ws_def_publish(enum ws_def_type type, uint32_t body_size, uint64_t id,
                                         int unique);
void ws_def_end(void);
/* 1 when the log has a schema or an enumeration of this id; between begin and end. */
bool ws_def_has_schema(uint64_t id);
/* After fork: no thread holds a lock. */
void ws_def_forked(void);
/*
 * Of a forked child, in its own segment: what its parent had defined, under the same ids, as the
 * program has handles of it. 0: there is no room.
 */
bool ws_def_take_over(const struct ws_seg_header *parent);
/* Learn the definitions that an earlier image of this process left in the log. */
void ws_def_reload(void);

/* A handle for "there was no room for this definition". */
#define WS_DEF_NONE UINT32_MAX

/* Each returns the id for records, or WS_DEF_NONE; each counts its own overflow. */
uint32_t ws_define_domain(struct ws_event_text name);
uint32_t ws_define_string(struct ws_event_text text);
void ws_define_category(uint32_t domain, uint32_t category, struct ws_event_text name);
void ws_define_thread_name(uint32_t tid, struct ws_event_text name);
void ws_define_resource(const struct ws_def_resource *resource, struct ws_event_text name);
/* An operation and its inputs: struct ws_def_op and what follows. An equal one that is there
 * already is not looked for, and an overflow not counted. */
uint32_t ws_define_op(const void *body, uint32_t size);
/* found() for each operation in the log: those of an earlier image of this process, too. */
void ws_ops_defined(void (*found)(uint32_t op, const void *body, uint32_t size));
/* The same bytes, published; NULL when there is no such. */
const void *ws_op_body(uint32_t op, uint32_t *size);
/* More than so many sixteenths of the room are used: define only what is worth it. */
bool ws_definitions_fill(unsigned sixteenths);
/* A text published as a string; NULL when there is no such. */
const char *ws_string_text(uint64_t string, uint32_t *size);
void ws_define_process(int64_t start_ns, uint64_t image, const char *path);
/* A range of the window begins (1) or ends (0). */
void ws_define_window(int64_t time_ns, int is_open);
uint32_t ws_define_thread(uint32_t thread, uint32_t tid, const char *name);
void ws_define_call(uint32_t domain, uint32_t cbid, const char *name);
/* Where a kernel's name lies, for records that get no further than CUPTI. */
void ws_define_kernel(uint64_t address, uint32_t string);
/* A meta row. */
void ws_define_fact(const char *key, const char *value);
void ws_define_device(uint32_t device, const char *name);
void ws_define_device_attr(uint32_t device, const char *name, int64_t value);

/* The domain WSNVTX_CPU_DOMAIN, WS_DEF_NONE until it is made. */
extern _Atomic uint32_t ws_cpu_domain;

/* --- schema.c --- */

#define WS_SCHEMA_TEXTS 8

struct wsn_schema_attr;
struct wsn_enum_attr;
struct wsn_type_info;

/* What must be known of a schema when an event carries it. */
struct ws_schema {
	uint64_t id;     /* that the program gave, made unique by its domain */
	uint64_t traced; /* id in the trace: its own, where a program used one id twice */
	uint32_t size;   /* static size, 0 = unknown */
	uint32_t align;
	uint16_t ntexts;
	uint16_t out_of_line; /* it points to data that is not copied */
	struct {
		uint32_t offset; /* of the pointer or handle */
		uint32_t type;   /* enum wsn_entry_type */
	} text[WS_SCHEMA_TEXTS];
};

/* The id that the program is to use, 0 = not recorded. */
uint64_t ws_schema_register(uint32_t domain, const struct wsn_schema_attr *attr);
uint64_t ws_enum_register(uint32_t domain, const struct wsn_enum_attr *attr);
/* What the program now calls so; NULL when it never registered that. id: by ws_schema_id(). */
struct ws_schema *ws_schema_find(uint64_t id);
/* Size in bytes of a predefined entry type, 0 = it has none. */
uint32_t ws_entry_size(uint64_t type);

/* --- event.c --- */

/* An NVTX event on its way into the ring of its thread. */

/* A payload, ready to be copied. */
struct ws_payload {
	uint64_t schema;   /* as in the trace; 0: no payload */
	const void *bytes; /* in the program's memory, or &number */
	uint32_t size;     /* of bytes */
	uint32_t total;    /* with the texts that follow them */
	uint64_t number;
	const struct ws_schema *layout;             /* NULL: nothing to follow */
	struct ws_event_text text[WS_SCHEMA_TEXTS]; /* set as far as the layout has texts */
};

struct ws_event {
	uint32_t domain; /* WS_DEF_NONE: one that found no room; the event is counted only */
	uint32_t category;
	uint32_t color;
	uint32_t string; /* registered message, 0 = text */
	struct ws_event_text text;
	struct ws_payload payload;
};

/* Domain number of a handle, WS_DEF_NONE when it is none of ours. */
uint32_t ws_event_domain(wsn_domain handle);
/* An event without attributes but this message, which may be NULL. */
void ws_event_init(struct ws_event *ev, uint32_t domain, const void *text, enum ws_text_kind kind);
/* An event with these attributes; attr may be NULL. */
void ws_event_attributes(struct ws_event *ev, wsn_domain domain, const struct wsn_event *attr);
/* The first of n payloads; the others are counted as left out. */
void ws_event_payloads(struct ws_event *ev, const struct wsn_payload_data *payload, size_t n);

/* A call of an operation that ended: its times, numbers and config; size and type are ours. */
void ws_event_op(struct ws_rec_op *rec);

/* Each returns what NVTX prescribes: the level, from 0; -1 for a pop without a push. */
int ws_event_push(struct ws_event *ev);
int ws_event_pop(struct ws_event *ev);
void ws_event_mark(struct ws_event *ev);
uint64_t ws_event_start(struct ws_event *ev);
void ws_event_end(struct ws_event *ev, uint64_t range);

/* --- control.c --- */

/* Finding the segment that this process records into. */

/*
 * The segment that belongs to this process now, mapped: the one that WS_SEG_ENV
 * names for the first process that asks and for its later images, one of its
 * own beside it for each further process. NULL: this process is not recorded;
 * where there was a recording it is counted as process_not_recorded. Called
 * once in each copy of the library.
 */
struct ws_seg_header *ws_control_claim(void);

/* --- thread.c: ranges of --capture-range --- */

/*
 * The ranges that the user wants recorded (--capture-range): recognized on the
 * thread that is in them, told to the launcher through the definition log.
 */

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

/* --- control.c: libraries --- */

/* Versions of NVIDIA's libraries in the traced program, as facts of the trace. */

/* Path of a library of this process whose file's name begins so; 0: there is none. */
bool ws_library_path(const char *file, char *path, size_t size);
/*
 * Path of another library whose file's name begins so than the one that `function` is of; 0: there
 * is none. One file under two names is one library.
 */
bool ws_library_second(const char *file, const void *function, char *path, size_t size);
/*
 * Ask each library that was loaded since the last call for its version. Not
 * for the program's own threads: it waits while a library is being loaded.
 * One thread at a time. 1 when any was loaded.
 */
bool ws_libraries_define(void);
