/* What the files of the drain share. */
#pragma once

#include <stdbool.h>

#include "formats/base/map.h"
#include "recorder/drain/capture_filter.h"
#include "recorder/drain/drain.h"

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
	/* of the filter: its pushes that are open and were outside so far, in their order */
	struct ws_held_records held;
};

/* A name for a thread that has not had an event so far. */
struct ws_drain_thread_name {
	uint64_t pid, tid;
	struct ws_bytes name; /* in the segment */
};

/* What a pass has found of a thread buffer. */
enum ws_drain_seen {
	WS_UNSEEN,
	WS_SEEN,         /* it has its memory for good */
	WS_SEEN_DAMAGED, /* and the table of states said later that it has none */
};

struct ws_drain {
	struct ws_seg_header *seg;
	struct ws_trace_writer *writer;
	bool is_repeatable; /* after a failure nothing is given back */
	/* clock.c: times outside are not times; CLOCK_MONOTONIC, looked at in each pass */
	int64_t earliest_ns, latest_ns;
	bool is_other_boot; /* the segment's times are of a boot before this one */
	struct ws_drain_real_time real_time;

	/* what a commit holds; its own memory, from which it is copied */
	struct ws_seg_commit *commit;
	uint64_t defs_pos;
	uint64_t next_correlation;
	uint64_t counted[WS_DROPPED_COUNT];
	uint64_t flags;
	uint64_t gpus;        /* bit n: device n has a row */
	uint64_t *tails;      /* next position to read, by thread buffer */
	uint8_t *seen;        /* by thread buffer: enum ws_drain_seen */
	uint64_t *slots_read; /* by slot: `done` of what was last read */

	/* a definition before this position has its rows in the file */
	uint64_t defs_in_file;
	struct ws_drain_domain domains[WS_SEG_MAX_DOMAINS];
	uint64_t *strings; /* by position / 8: 0 none, 1 not in the trace yet, else its id + 1 */
	/* of operations, by position / 8: id of the row, or WS_DRAIN_MODULE and the name's; 0 none
	 */
	uint64_t *ops;
	uint64_t nops;
	struct ws_drain_thread *threads; /* in the order in which they were defined */
	size_t nthreads, threads_capacity;
	struct ws_map thread_places; /* by id */
	struct ws_drain_thread_name *names;
	size_t nnames, names_capacity;
	uint64_t causes[WS_DROPPED_COUNT]; /* ids of their names, 0: not written so far */
	uint64_t launch_schemas[WS_DRAIN_LAUNCH_SCHEMAS]; /* registered as "warpsheet.launch" */
	size_t nlaunch_schemas;

	struct ws_activity *activity;
	struct ws_capture_filter filter;
	uint8_t *scratch; /* a record that wraps around the end of its ring */
	struct ws_drain_counts counts;
};

/* Ids of a text and of a configuration, 0 for none. */
uint64_t ws_drain_intern(struct ws_drain *d, struct ws_bytes text);
uint64_t ws_drain_intern_config(struct ws_drain *d, const struct ws_row_launch_config *config);

/* Read the definition log up to its present end. Returns the number of definitions. */
uint64_t ws_drain_definitions(struct ws_drain *d);
/* String row of a domain or a registered string; 0 with *known = 0 when there is no such. */
uint64_t ws_drain_domain_id(struct ws_drain *d, uint32_t domain, int *known);
uint64_t ws_drain_string_id(struct ws_drain *d, uint32_t string, int *known);
/* The row of a PyTorch operation; behind: of its definition. 0: its inputs make no sense. */
bool ws_drain_op_config(struct ws_drain *d, uint64_t id, const struct ws_def_op *def,
                        struct ws_bytes behind);
/* NULL when no such thread was defined; borrowed until the next one is. */
struct ws_drain_thread *ws_drain_thread(const struct ws_drain *d, uint64_t id);
/* The system knows the thread of this id by these. 0: there can be none of this id. */
bool ws_drain_set_thread(struct ws_drain *d, uint64_t id, uint64_t pid, uint64_t tid);

/* Id of the thread that the system knows by these, 0: none so far. */
uint64_t ws_drain_find_thread(const struct ws_drain *d, uint64_t pid, uint64_t tid);
/* The same, with a row of its own when the collector never defined it. 0: there can be none. */
uint64_t ws_drain_thread_by_tid(struct ws_drain *d, uint64_t pid, uint64_t tid);
/* A text that the collector put into the definition log, or one it had no time for. */
uint64_t ws_drain_text(struct ws_drain *d, uint64_t text, int *known);
/* A device that something ran on has a row, if only a nameless one. 0: no such number. */
bool ws_drain_device(struct ws_drain *d, uint32_t device);

/* --- clock.c --- */

void ws_drain_clock_start(struct ws_drain *d);
void ws_drain_clock_look(struct ws_drain *d); /* at the present time, for ws_drain_time */
/* A time of the segment as the trace has it. 0: it makes no sense. */
bool ws_drain_time(const struct ws_drain *d, int64_t ns, int64_t *time_ns);
/* Add a row of all clocks, and note whether one was set. Returns the trace's time. */
int64_t ws_drain_clock_row(struct ws_drain *d);

/* The record's fixed part, of a short pop with zeros; a copy, as the program can still write into
 * its memory. 0: it has none. */
bool ws_drain_record_head(struct ws_rec_event *rec, const uint8_t *bytes, uint32_t size);
/* Turn one record of a thread into rows. 0 when it makes no sense. */
bool ws_drain_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size);
