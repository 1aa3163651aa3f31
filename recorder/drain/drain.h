/*
 * The launcher's side of the segment: rings and definitions become rows of
 * the trace. The same code serves a living program, a dead one and --salvage;
 * docs/dev/recorder.md says why nothing is lost or doubled between them.
 */
#pragma once

#include <stdbool.h>

#include "formats/trace/writer.h"
#include "recorder/shared/segment.h"

struct ws_drain;

/*
 * Begin, or go on after the segment's last commit: then the writer must be one
 * of ws_trace_writer_resume() at ws_drain_file_size(). Borrows both.
 */
struct ws_drain *ws_drain_new(struct ws_seg_header *seg, struct ws_trace_writer *writer);
void ws_drain_free(struct ws_drain *d); /* NULL is legal */

/* Bytes of the trace file that are committed; 0 = nothing ever was. */
uint64_t ws_drain_file_size(const struct ws_seg_header *seg);
/* 1 when all that was recorded is in the file, and a launcher says that it is closed. The program
 * can write there that it is, but does not make a commit of it by accident. */
bool ws_drain_is_finished(const struct ws_seg_header *seg);

/*
 * Turn everything that lies in the segment now into rows. Returns the number
 * of records and definitions. Never fails: when the writer does, the rest is
 * read and counted as lost (see ws_drain_error), so that the program is never
 * held up and the counters stay true.
 */
uint64_t ws_drain_pass(struct ws_drain *d);
/*
 * The recorded process is gone, so what CUPTI still had in hand is read by the
 * passes that follow, as far as it was written. Legal twice.
 */
void ws_drain_program_ended(struct ws_drain *d);
/* A pass after which none follows: what waited for its end to be decided becomes rows, or not. */
void ws_drain_last_pass(struct ws_drain *d);
/* 1 when a ring is more than half full of what is not committed, or few rings are free. */
bool ws_drain_wants_commit(const struct ws_drain *d);
/* Make the rows so far part of the file, and give the ring space back. */
void ws_drain_commit(struct ws_drain *d);
/*
 * For salvage: when the writer fails the segment stays as of the last commit,
 * so that it can be drained again; the program's rings may run full meanwhile.
 */
void ws_drain_make_repeatable(struct ws_drain *d);

/* A clock row and every loss counter, as of now: the statistics block. */
void ws_drain_statistics(struct ws_drain *d);
/* What the counters are in the end, when the disk was full before: in the room kept for that. */
void ws_drain_last_words(struct ws_drain *d);
/* CLOCK_REALTIME's distance from CLOCK_MONOTONIC when last read, 0: never; the largest step seen.
 */
struct ws_drain_real_time {
	int64_t apart_ns, largest_step_ns;
};
struct ws_drain_real_time ws_drain_real_time(const struct ws_drain *d);
/* Note whether somebody set the real-time clock since the last look; statistics look, too. */
void ws_drain_look_for_step(struct ws_drain *d);
/* CLOCK_MONOTONIC of the boot that the segment is of: what its times are. */
int64_t ws_drain_now_ns(const struct ws_drain *d);
/* The value of a loss counter, whoever counts it. */
uint64_t ws_drain_lost(const struct ws_drain *d, enum ws_dropped cause);
/* So many parts of the segment that could not be read: unknown_record. */
void ws_drain_count_damage(struct ws_drain *d, uint64_t n);
/* "ring_overflow", … */
const char *ws_dropped_name(enum ws_dropped cause);

/* Nothing after this time is recorded, and the program need not tell of it. */
void ws_drain_stop(struct ws_drain *d, int64_t time_ns);
bool ws_drain_is_stopped(const struct ws_drain *d);

/* Things to know of a trace that is continued; they become true with the next commit. */
bool ws_drain_flag(const struct ws_drain *d, enum ws_commit_flag flag);
void ws_drain_set_flag(struct ws_drain *d, enum ws_commit_flag flag);
/* Add a row of the caller's. A failure shows in ws_drain_error. */
void ws_drain_add(struct ws_drain *d, enum ws_kind kind, const void *row);
/* The same of a meta row; the value is a format and what belongs to it. */
void ws_drain_add_meta(struct ws_drain *d, const char *key, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

struct ws_drain_counts {
	uint64_t kernels, ranges, marks; /* since ws_drain_new */
	uint64_t gpu_kernels;            /* of the kernels, those of GPUs */
	uint64_t operations;             /* of PyTorch */
};
struct ws_drain_counts ws_drain_counts(const struct ws_drain *d);

/* WS_OK, or what the writer's first failure was. */
enum ws_status ws_drain_error(const struct ws_drain *d, struct ws_err *err);
