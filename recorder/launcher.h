/*
 * Recording: run a program with the collector in it, drain the segment while
 * it lives, finish the trace when it is gone. And salvage: the same loop over
 * a segment whose launcher was killed.
 */
#ifndef WS_RECORDER_LAUNCHER_H
#define WS_RECORDER_LAUNCHER_H

#include "recorder/drain.h"

struct ws_record_opts {
	const char *output; /* trace to make; salvage: where it is now, NULL: where it was made */
	const char *segment_dir; /* NULL: WS_SEG_DIR, and beside the trace when that has no room */
	struct ws_seg_opts segment;
	int64_t flush_interval_ns;
	int zstd_level;           /* 0 = the writer's default */
	int no_args;              /* keep the program's arguments out of the trace */
	int force;                /* also when another tool's injection is set up */
	const char *options_text; /* for the trace's provenance */
	/* A line for the user while it goes on: no full stop, no newline. NULL: say nothing. */
	void (*notice)(const char *line);
};

struct ws_record_result {
	int exit_code;      /* what to end with; for a program that ran, what a shell would */
	int term_signal;    /* that killed the program, 0 = none */
	int was_attached;   /* the program used NVTX */
	uint64_t file_size; /* bytes of the trace */
	struct ws_drain_counts counts;
	uint64_t lost[WS_LOSS_COUNT];
};

/*
 * Run argv (NULL-terminated, argv[0] found as a shell does) and record it.
 * Status OK: the trace is whole and result->exit_code is the program's. Else
 * what went wrong with the recording; result->exit_code is set all the same.
 */
enum ws_status ws_record_run(const struct ws_record_opts *opts, char *const argv[],
                             struct ws_record_result *result, struct ws_err *err);

/*
 * Finish the trace of a launcher that was killed, and remove its segment.
 * Waits for the program when that still runs. USAGE when the segment is in use.
 */
enum ws_status ws_record_salvage(const struct ws_record_opts *opts, const char *segment,
                                 struct ws_record_result *result, struct ws_err *err);

#endif
