/*
 * The drain: turns rings and definitions of the segment into rows of the trace. The same code is
 * used while a program runs, after its end, and by --salvage. docs/dev/recorder.md explains why
 * nothing is lost or written twice.
 */
#pragma once

#include "formats/trace/writer.h"
#include "recorder/shared/segment.h"

struct ws_drain;
#define WS_MAX_GPUS 64 /* devices of a process */

/*
 * Begins, or continues after the segment's last commit. To continue, the writer must come from
 * ws_trace_writer_resume() at ws_drain_file_size(). Borrows both.
 */
struct ws_drain *ws_drain_new(struct ws_seg_header *seg, struct ws_trace_writer *writer);
void ws_drain_free(struct ws_drain *d); /* NULL is legal */

/* Committed bytes of the trace file; 0: nothing was committed. */
uint64_t ws_drain_file_size(const struct ws_seg_header *seg);
/* True if everything recorded is in the file and a launcher has closed it. Checks the commit too,
 * as a faulty program may overwrite the state but hardly a whole commit. */
bool ws_drain_is_finished(const struct ws_seg_header *seg);

/*
 * Turns everything in the segment into rows. Returns the number of records and definitions. Never
 * fails: after an error of the writer, further records are read and counted as lost (see
 * ws_drain_error). So the program never waits, and the counters stay right.
 */
uint64_t ws_drain_pass(struct ws_drain *d);
/*
 * Called once the recorded process has ended. Further passes also read the buffers that CUPTI had
 * not handed over, as far as they were written. Legal twice.
 */
void ws_drain_program_ended(struct ws_drain *d);
/* The last pass. Records that were held back until their end was known are now written or left
 * out. */
void ws_drain_last_pass(struct ws_drain *d);
/* True if more than half of a ring is not committed, or few rings are free. */
bool ws_drain_wants_commit(const struct ws_drain *d);
/* Writes the rows so far to the file, and frees the ring space that they used. */
void ws_drain_commit(struct ws_drain *d);
/*
 * For salvage: after an error of the writer the segment stays as it was at the last commit, so that
 * it can be drained again. Meanwhile the program's rings may become full.
 */
void ws_drain_make_repeatable(struct ws_drain *d);

/*
 * For a flight recording: from the begin, watch which ranges are open; and begin the next piece of
 * the trace with them, and commit it.
 */
void ws_drain_watch(struct ws_drain *d);
void ws_drain_begin_piece(struct ws_drain *d);
/* A step: a range of a thread, or if there are none a period of PyTorch. */
struct ws_drain_step {
	uint64_t thread, number; /* its number of this thread, from 0 */
	int64_t start_ns, dur_ns;
};
/* The next step that ended while the watch was on. False: none has since the last call. */
bool ws_drain_take_step(struct ws_drain *d, struct ws_drain_step *out);

/* Adds a clock row and the present value of every loss counter: the statistics block. */
void ws_drain_statistics(struct ws_drain *d);
/* Writes the final counters when the disk is full, in file space reserved for that. */
void ws_drain_last_words(struct ws_drain *d);
/* CLOCK_REALTIME less CLOCK_MONOTONIC when last read (0: never), and the largest step. */
struct ws_drain_real_time {
	int64_t apart_ns, largest_step_ns;
};
struct ws_drain_real_time ws_drain_real_time(const struct ws_drain *d);
/* Checks whether the real-time clock was set since the last check. ws_drain_statistics() checks it
 * too. */
void ws_drain_look_for_step(struct ws_drain *d);
/* The time now by the segment's clock: CLOCK_MONOTONIC of the boot in which the segment was
 * made. */
int64_t ws_drain_now_ns(const struct ws_drain *d);
/* The value of a loss counter, counted by program and launcher together. */
uint64_t ws_drain_lost(const struct ws_drain *d, enum ws_dropped cause);
/* Counts n parts of the segment that could not be read, as unknown_record. */
void ws_drain_count_damage(struct ws_drain *d, uint64_t n);
/* "ring_overflow", … */
const char *ws_dropped_name(enum ws_dropped cause);

/* Nothing after this time is recorded; the program may stop recording then. */
void ws_drain_stop(struct ws_drain *d, int64_t time_ns);
bool ws_drain_is_stopped(const struct ws_drain *d);

/* Flags of a trace that survive a restart of the launcher. They take effect with the next
 * commit. */
bool ws_drain_flag(const struct ws_drain *d, enum ws_commit_flag flag);
void ws_drain_set_flag(struct ws_drain *d, enum ws_commit_flag flag);
/* Adds a row. ws_drain_error() returns an error. */
void ws_drain_add(struct ws_drain *d, enum ws_kind kind, const void *row);
/* The same for a meta row; the value is a format with its arguments. */
void ws_drain_add_meta(struct ws_drain *d, const char *key, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* Where a GPU is on the PCI bus: its only name that CUDA and NVML share. */
struct ws_gpu_address {
	int64_t domain, bus, device;
};
/* The address of a device that the process uses, or sees while no use is known yet. False: it is
 * not one of these, or its address is unknown. */
bool ws_drain_gpu_address(const struct ws_drain *d, uint32_t device, struct ws_gpu_address *out);

struct ws_drain_counts {
	uint64_t kernels, ranges, marks; /* counts since ws_drain_new */
	uint64_t gpu_kernels;            /* kernels on GPUs */
	uint64_t operations;             /* PyTorch operations */
};
struct ws_drain_counts ws_drain_counts(const struct ws_drain *d);

/* WS_OK, or the writer's first error. */
enum ws_status ws_drain_error(const struct ws_drain *d, struct ws_err *err);
