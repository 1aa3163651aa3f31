/* What the files of the drain share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/memory.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/cupti_abi.h"
#include "recorder/shared/record.h"
#include "recorder/shared/segment.h"

/* --- when to record: a span of time, and inside it the ranges that were asked for --- */

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

/* --- the filter: the window, applied to records --- */

/*
 * What lies outside the window makes no rows and is counted. NVTX ranges are kept whole when any
 * part of them is inside, so that everything that is kept has its true path. docs/dev/recorder.md,
 * "When to record".
 */
#define WS_FILTER_CALLS 65536 /* newest API calls of which it is known whether they were kept */

struct ws_held_records {
	struct ws_held_record *records;
	size_t n, size;
};

struct ws_capture_filter {
	bool is_active;  /* 0: everything is kept */
	int64_t stop_ns; /* nothing after it is kept; 0: no such time */
	struct ws_capture_window window;
	uint64_t nexcluded; /* records left out that the segment's counter lacks so far */
	/* starts of ranges that are open and have been outside so far (pushes: by thread) */
	struct ws_held_records starts;
	uint64_t *inside_calls, *outside_calls; /* by correlation id */
};

/* --- the drain --- */

#define WS_DRAIN_LAUNCH_SCHEMAS 16
#define WS_DRAIN_MAX_THREADS    (1u << 24)
#define WS_MAX_GPUS             64
#define WS_DRAIN_MODULE         (UINT64_C(1) << 63) /* no operation: a call of a module of torch.nn */

struct ws_drain_domain {
	int known;
	struct ws_bytes name; /* in the segment */
	uint64_t id;          /* of the string row, 0 = not yet */
};

struct ws_drain_thread {
	uint64_t id, pid, tid;
	/* pushes that are open and have been outside the window so far, in their order */
	struct ws_held_records held;
};

/* A name for a thread that has had no event so far. */
struct ws_drain_thread_name {
	uint64_t pid, tid;
	struct ws_bytes name; /* in the segment */
};

/* What passes have found of a thread buffer. */
enum ws_drain_seen {
	WS_UNSEEN,
	WS_SEEN,         /* it has its memory for good */
	WS_SEEN_DAMAGED, /* the same; later the table of states said that it has none */
};

struct ws_drain {
	struct ws_seg_header *seg;
	struct ws_trace_writer *writer;
	bool is_repeatable; /* after a failure of the writer nothing is given back */
	bool has_ended;     /* the recorded process is gone */
	/* no time of the segment lies outside these; CLOCK_MONOTONIC, read in each pass */
	int64_t earliest_ns, latest_ns;
	bool is_other_boot; /* the segment's times are of a boot before this one */
	struct ws_drain_real_time real_time;

	/* what a commit holds, and the memory in which it is made */
	struct ws_seg_commit *commit;
	uint64_t defs_pos;
	uint64_t next_correlation;
	uint64_t counted[WS_DROPPED_COUNT];
	uint64_t flags;
	uint64_t gpus;        /* bit n: device n has a row */
	uint64_t *tails;      /* next position to read, by thread buffer */
	uint8_t *seen;        /* by thread buffer: enum ws_drain_seen */
	uint64_t *slots_read; /* by slot: `done` of what was last read */

	uint64_t defs_in_file; /* definitions before this position have their rows in the file */
	struct ws_drain_domain domains[WS_SEG_MAX_DOMAINS];
	uint64_t *strings; /* by position / 8: 0 none, 1 not in the trace yet, else its id + 1 */
	/* operations by position / 8: id of the op_config row; of a module's call WS_DRAIN_MODULE
	   and the id of its name; 0: none */
	uint64_t *ops;
	uint64_t nops;
	struct ws_drain_thread *threads; /* in the order in which they were defined */
	size_t nthreads, threads_capacity;
	struct ws_map thread_places; /* by id */
	struct ws_drain_thread_name *names;
	size_t nnames, names_capacity;
	uint64_t causes[WS_DROPPED_COUNT]; /* ids of the names of losses; 0: not written so far */
	uint64_t launch_schemas[WS_DRAIN_LAUNCH_SCHEMAS]; /* registered as "warpsheet.launch" */
	size_t nlaunch_schemas;

	struct ws_activity *activity;
	struct ws_capture_filter filter;
	uint8_t *scratch; /* a record that wraps around the end of its ring */
	struct ws_drain_counts counts;
};

/* --- rows, and what the numbers in records stand for --- */

/* Ids of a text and of a configuration, 0 for none. */
uint64_t ws_drain_intern(struct ws_drain *d, struct ws_bytes text);
uint64_t ws_drain_intern_config(struct ws_drain *d, const struct ws_row_launch_config *config);
/* String row of a domain or a registered string; 0 with *known = 0 when there is no such. */
uint64_t ws_drain_domain_id(struct ws_drain *d, uint32_t domain, int *known);
uint64_t ws_drain_string_id(struct ws_drain *d, uint32_t string, int *known);
/* The same of a text in a record of CUPTI's: *known = 0 also for a pointer that stayed one. */
uint64_t ws_drain_text(struct ws_drain *d, uint64_t text, int *known);

/* NULL when no such thread was defined; borrowed until the next one is. */
struct ws_drain_thread *ws_drain_thread(const struct ws_drain *d, uint64_t id);
/* The thread of this id is these to the system. 0: there can be no such id. */
bool ws_drain_set_thread(struct ws_drain *d, uint64_t id, uint64_t pid, uint64_t tid);
/* Id of the thread that is these to the system, 0: none so far. */
uint64_t ws_drain_find_thread(const struct ws_drain *d, uint64_t pid, uint64_t tid);
/* The same; one that the collector never defined gets a row here. 0: there can be none. */
uint64_t ws_drain_thread_by_tid(struct ws_drain *d, uint64_t pid, uint64_t tid);
/* Give a device that something ran on a row, if only a nameless one. 0: no such number. */
bool ws_drain_device(struct ws_drain *d, uint32_t device);

void ws_drain_start_clocks(struct ws_drain *d);
void ws_drain_read_clock(struct ws_drain *d); /* before a pass: what is a time until the next */
/* Add a row of all clocks, and note whether one was set. Returns the trace's time. */
int64_t ws_drain_add_clock_row(struct ws_drain *d);
/* A time of the segment as the trace has it. 0: it makes no sense. */
bool ws_drain_time(const struct ws_drain *d, int64_t ns, int64_t *time_ns);

/* What is known of a slot while its records are read. */
struct ws_activity_slot {
	uint64_t image;
	int unfinished;            /* its process died over it */
	int64_t taken_ns, done_ns; /* it was written in between, CLOCK_MONOTONIC; 0: unknown */
};
/*
 * Times of CUPTI's clock on the trace's. 0: they make no sense. What a step of that clock leaves
 * uncertain is counted.
 */
bool ws_drain_gpu_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                        uint64_t end, int64_t *start_ns, int64_t *dur_ns);

/* --- define.c --- */

/* Read the definition log up to its present end. Returns the number of definitions. */
uint64_t ws_drain_definitions(struct ws_drain *d);

/* --- events.c --- */

void ws_filter_init(struct ws_capture_filter *f, const struct ws_seg_header *seg);
void ws_filter_release(struct ws_drain *d); /* also what its threads hold */
/* Before a pass: note how far the window goes by now. */
void ws_filter_look(struct ws_drain *d);
/* A range of the window began or ended, says the collector. */
void ws_filter_range(struct ws_drain *d, const struct ws_def_window *range);
/* A record of a ring becomes rows, now or later, or is left out. 0 when it makes no sense. */
bool ws_filter_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size);
/* Keep an API call that begins at this time of rows? correlation: its id, 0 = none. */
int ws_filter_keeps_call(struct ws_drain *d, uint64_t correlation, int64_t start_ns);
/*
 * Keep work with this correlation id? It belongs to the window when the call
 * that launched it does, though it may run later; by its own time when that
 * call is not known.
 */
int ws_filter_keeps_work(struct ws_drain *d, uint64_t correlation, int64_t start_ns,
                         int64_t dur_ns);
/* Nothing comes any more: decide about everything that is held. */
void ws_filter_finish(struct ws_drain *d);
/* With each commit: add what was left out so far to the segment's counter. */
void ws_filter_commit(struct ws_drain *d);

/* --- activity.c: CUPTI's buffers --- */

struct ws_activity *ws_activity_new(const struct ws_seg_header *seg);
void ws_activity_free(struct ws_activity *a);
/* Note which slots are done; before the definitions are read. */
void ws_activity_look(struct ws_drain *d);
/* Read those slots, in the order in which they were done. Returns the number of records. */
uint64_t ws_activity_pass(struct ws_drain *d);
/*
 * After the last pass: read what CUPTI has in hand in a process that runs on, as far as it is
 * written. A slot that is finished later must not be read again.
 */
void ws_activity_pass_in_hand(struct ws_drain *d);
/* Launches that were done, not captured, and of which no work is known by now. */
uint64_t ws_activity_waiting(const struct ws_activity *a);
/* Definitions of the collector's: the name of an API call, and where the name of a kernel lies. 0
 * when they make no sense. */
bool ws_activity_name_call(struct ws_activity *a, uint32_t domain, uint32_t cbid,
                           struct ws_bytes name);
bool ws_activity_name_kernel(struct ws_activity *a, uint64_t address, uint32_t string);
