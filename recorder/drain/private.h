/* Declarations shared by the files of the drain. */
#pragma once

#include "formats/base/memory.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/cupti_abi.h"

/* --- when to record: a span of time, and the chosen ranges inside it --- */

/* All times are CLOCK_MONOTONIC ns. */
struct ws_capture_window {
	int64_t begin_ns, end_ns; /* the span, both inside */
	bool has_ranges;          /* only records inside ranges are kept */
	int open;                 /* number of open ranges */
	struct ws_capture_window_range {
		int64_t begin_ns, end_ns; /* end INT64_MAX: not yet */
	} * ranges;                       /* in order of time; overlapping ones are merged */
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

/* True if any part of start … end is inside the window. */
bool ws_capture_window_keeps(const struct ws_capture_window *w, int64_t start_ns, int64_t end_ns);

/* --- the filter: the window, applied to records --- */

/*
 * Records outside the window are counted and not written. An NVTX range is kept whole if any part
 * of it is inside, so that all kept work has its full path. docs/dev/recorder.md, "When to record".
 */
#define WS_FILTER_CALLS 65536 /* number of newest API calls for which the decision is stored */

struct ws_held_records {
	struct ws_held_record *records;
	size_t n, size;
};

struct ws_capture_filter {
	bool is_active;  /* 0: everything is kept */
	int64_t stop_ns; /* records after it are left out; 0: no limit */
	struct ws_capture_window window;
	uint64_t nexcluded;   /* records left out but not yet added to the segment's counter */
	int64_t last_node_ns; /* when the last node of a graph was made; INT64_MIN: none yet */
	/* starts of open ranges that were outside the window until now (pushes are held by
	 * thread) */
	struct ws_held_records starts;
	uint64_t *inside_calls, *outside_calls; /* by correlation id */
};

/* --- the watch of a flight recording --- */

#define WS_WATCH_MAX_OPEN 4096 /* open ranges of a thread, and of the process */

/* Pushes or starts that have not ended, in the order of their times. */
struct ws_open_ranges {
	struct ws_row_nvtx *rows;
	size_t n, capacity;
};

struct ws_watch {
	bool is_watching;
	struct ws_open_ranges starts; /* pushes are in their threads */
	bool has_steps;               /* ranges name the steps */
	/* the last period of PyTorch: not a step yet */
	uint64_t period_thread; /* 0: none yet */
	int64_t period_start_ns, period_end_ns;
	bool has_period, has_begin; /* whole; up to where recording was switched */
	uint64_t nperiods;
	struct ws_drain_step *steps; /* ended, not yet taken */
	size_t nended, ntaken, capacity;
};

/* --- the drain --- */

#define WS_DRAIN_LAUNCH_SCHEMAS 16
#define WS_DRAIN_MAX_THREADS    (1u << 24)
#define WS_DRAIN_MODULE \
	(UINT64_C(1) << 63) /* a call of a torch.nn module instead of an operation */

struct ws_drain_domain {
	int known;
	struct ws_bytes name; /* in the segment */
	uint64_t id;          /* id of the string row; 0: not yet written */
};

struct ws_drain_thread {
	uint64_t id, pid, tid;
	/* open pushes that were outside the window until now, in their order */
	struct ws_held_records held;
	struct ws_open_ranges open; /* if the watch is on: all that are written */
	int64_t last_node_ns;       /* when it made its last node of a graph; 0: it made none */
	int64_t step_start_ns;      /* of its open step, if the watch is on and it has one */
	bool has_step;
	uint64_t nsteps; /* ended ones */
};

/* A name for a thread that has had no event yet. */
struct ws_drain_thread_name {
	uint64_t pid, tid;
	struct ws_bytes name; /* in the segment */
};

/* What earlier passes found out about a thread buffer. */
enum ws_drain_seen {
	WS_UNSEEN,
	WS_SEEN,         /* it has memory and keeps it */
	WS_SEEN_DAMAGED, /* the same, but later the table of states says that it has no memory */
};

/* A number in the samples of a counter. */
struct ws_drain_field {
	uint64_t series; /* id of the row */
	uint64_t type;   /* NVTX entry type */
	uint64_t offset;
	bool is_normalized;
};

/* A counter of NVTX: its numbers in the samples. */
struct ws_drain_counter {
	size_t first, n;
};

struct ws_drain {
	struct ws_seg_header *seg;
	struct ws_trace_writer *writer;
	bool is_repeatable; /* after an error of the writer no space is freed */
	bool has_ended;     /* the recorded process is gone */
	/* limits of valid times of the segment: CLOCK_MONOTONIC, read in each pass */
	int64_t earliest_ns, latest_ns;
	bool is_other_boot; /* the segment was made before the last boot */
	struct ws_drain_real_time real_time;

	/* memory for the next commit */
	struct ws_seg_commit *commit;
	uint64_t defs_pos;
	uint64_t next_correlation;
	uint64_t counted[WS_DROPPED_COUNT];
	uint64_t flags;
	uint64_t gpus;                                /* bit n: device n has a row */
	uint64_t gpus_used;                           /* bit n: work of device n was recorded */
	struct ws_gpu_address addresses[WS_MAX_GPUS]; /* -1: unknown */
	uint64_t *tails;                              /* next position to read, by thread buffer */
	uint8_t *seen;                                /* by thread buffer: enum ws_drain_seen */
	uint64_t *slots_read;                         /* by slot: `done` of what was last read */

	uint64_t defs_in_file; /* definitions before this position are in the file */
	struct ws_drain_domain domains[WS_SEG_MAX_DOMAINS];
	uint64_t *strings; /* by position / 8: 0: none; 1: not yet in the trace; else id + 1 */
	/* operations by position / 8: id of the op_config row. For a module's call: WS_DRAIN_MODULE
	   and the id of its name. 0: none */
	uint64_t *ops;
	uint64_t nops;
	struct ws_map collective_of_op; /* op_config -> place in `collectives` */
	struct ws_row_collective
	        *collectives; /* of operations of torch.distributed, without times */
	size_t ncollectives, collectives_capacity;
	struct ws_map schema_places;  /* in the log, by id of schema or enumeration */
	struct ws_map counter_places; /* in `counters`, by id of the definition */
	struct ws_drain_counter *counters;
	size_t ncounters, counters_capacity;
	struct ws_drain_field *fields; /* of all counters */
	size_t nfields, fields_capacity;
	uint64_t nseries;                /* rows of counter_series so far */
	struct ws_drain_thread *threads; /* in the order of their definition */
	size_t nthreads, threads_capacity;
	struct ws_map thread_places; /* by id */
	struct ws_drain_thread_name *names;
	size_t nnames, names_capacity;
	uint64_t causes[WS_DROPPED_COUNT]; /* ids of the names of causes; 0: not yet written */
	uint64_t launch_schemas[WS_DRAIN_LAUNCH_SCHEMAS]; /* registered as "warpsheet.launch" */
	size_t nlaunch_schemas;

	struct ws_activity *activity;
	struct ws_capture_filter filter;
	struct ws_watch watch;
	uint8_t *scratch; /* a record that wraps around the end of its ring */
	struct ws_drain_counts counts;
};

/* --- rows, and ids in records --- */

/* Each returns an id of a text or configuration; 0: none. */
uint64_t ws_drain_intern(struct ws_drain *d, struct ws_bytes text);
uint64_t ws_drain_intern_config(struct ws_drain *d, const struct ws_row_launch_config *config);
/* Id of the string row of a domain or registered string. 0 with *known = 0: undefined. */
uint64_t ws_drain_domain_id(struct ws_drain *d, uint32_t domain, int *known);
uint64_t ws_drain_string_id(struct ws_drain *d, uint32_t string, int *known);
/* The same for a text in a CUPTI record: *known = 0 also for a pointer that was not replaced by an
 * id. */
uint64_t ws_drain_text(struct ws_drain *d, uint64_t text, int *known);

/* NULL: no thread with this id is defined. Borrowed until the next thread is defined. */
struct ws_drain_thread *ws_drain_thread(const struct ws_drain *d, uint64_t id);
/* Sets pid and tid of the thread with this id. False: invalid id. */
bool ws_drain_set_thread(struct ws_drain *d, uint64_t id, uint64_t pid, uint64_t tid);
/* Id of the thread with these pid and tid; 0: none yet. */
uint64_t ws_drain_find_thread(const struct ws_drain *d, uint64_t pid, uint64_t tid);
/* The same, but adds a row for a thread that the collector did not define. 0: invalid. */
uint64_t ws_drain_thread_by_tid(struct ws_drain *d, uint64_t pid, uint64_t tid);
/* Adds a row for a device that ran work, without a name if it is unknown. False: invalid number. */
bool ws_drain_device(struct ws_drain *d, uint32_t device);

void ws_drain_start_clocks(struct ws_drain *d);
/* Before each pass: reads the limits of valid times. */
void ws_drain_read_clock(struct ws_drain *d);
/* Adds a row with all clocks, and checks whether one was set. Returns the time in the trace. */
int64_t ws_drain_add_clock_row(struct ws_drain *d);
/* Converts a time of the segment to a time of the trace. False: it is outside the valid times. */
bool ws_drain_time(const struct ws_drain *d, int64_t ns, int64_t *time_ns);

/* State of a slot while its records are read. */
struct ws_activity_slot {
	uint64_t image;
	int unfinished; /* its process ended while it was being filled */
	int64_t taken_ns,
	        done_ns; /* it was written between these times, CLOCK_MONOTONIC; 0: unknown */
};
/*
 * Converts times of CUPTI's clock to times of the trace. False: they are invalid. Counts times that
 * are uncertain because the clock was set.
 */
bool ws_drain_gpu_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                        uint64_t end, int64_t *start_ns, int64_t *dur_ns);

/* --- define.c --- */

/* Reads the definition log up to its present end. Returns the number of definitions. */
uint64_t ws_drain_definitions(struct ws_drain *d);

/* A name in the body of a definition. */
static inline struct ws_bytes ws_drain_name(struct ws_bytes body, struct ws_def_name name)
{
	if (name.offset > body.len || name.size > body.len - name.offset)
		return (struct ws_bytes){"", 0};
	return (struct ws_bytes){(const uint8_t *)body.ptr + name.offset, name.size};
}

/* --- counters.c --- */

/* A counter is defined: the rows of its series, unless they are in the file. False: invalid. */
bool ws_counter_define(struct ws_drain *d, uint64_t id, const struct ws_def_counter *def,
                       struct ws_bytes body, bool in_file);
/* The path of a scope, as struct ws_def_semantics has it; 0: none. */
uint64_t ws_counter_scope(struct ws_drain *d, uint64_t scope);

/* --- events.c --- */

void ws_filter_init(struct ws_capture_filter *f, const struct ws_seg_header *seg);
void ws_filter_release(struct ws_drain *d); /* also the held records of threads */
/* Before a pass: reads the present end of the window. */
void ws_filter_look(struct ws_drain *d);
/* The collector reported the begin or end of a range of the window. */
void ws_filter_range(struct ws_drain *d, const struct ws_def_window *range);
/* Writes a record of a ring as rows, now or later, or leaves it out. False: it is invalid. */
bool ws_filter_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size);
/* Whether to keep an API call that begins at this time of the trace. correlation: its id; 0:
 * none. */
int ws_filter_keeps_call(struct ws_drain *d, uint64_t correlation, int64_t start_ns);
/*
 * Whether to keep work with this correlation id. The launching call decides, though the work may
 * run later. If that call is unknown, the work's own time decides.
 */
int ws_filter_keeps_work(struct ws_drain *d, uint64_t correlation, int64_t start_ns,
                         int64_t dur_ns);
/* No more records follow: decides about all held records. */
void ws_filter_finish(struct ws_drain *d);
/* With each commit: adds the records left out to the segment's counter. */
void ws_filter_commit(struct ws_drain *d);

/* --- activity.c: CUPTI's buffers --- */

struct ws_activity *ws_activity_new(const struct ws_seg_header *seg);
void ws_activity_free(struct ws_activity *a);
/* Finds the slots that are done. Called before the definitions are read. */
void ws_activity_look(struct ws_drain *d);
/* Reads those slots in the order in which they were finished. Returns the number of records. */
uint64_t ws_activity_pass(struct ws_drain *d);
/*
 * After the last pass, for a process that continues: reads the slots that CUPTI is still filling,
 * as far as they are written. A slot that is finished later must not be read again.
 */
void ws_activity_pass_in_hand(struct ws_drain *d);
/* Number of launches without a record of their work until now, without captured ones. */
uint64_t ws_activity_waiting(const struct ws_activity *a);
/* Definitions by the collector: the name of an API call, and the address of a kernel's name. False:
 * invalid. */
bool ws_activity_name_call(struct ws_activity *a, uint32_t domain, uint32_t cbid,
                           struct ws_bytes name);
bool ws_activity_name_kernel(struct ws_activity *a, uint64_t address, uint32_t string);
