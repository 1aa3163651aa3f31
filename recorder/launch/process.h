/*
 * One recorded process: its segment, and the trace that the segment is
 * emptied into. A recording has one for each process that attached.
 */
#pragma once

#include "recorder/launch/provenance.h"
#include "recorder/launch/recording.h"
#include "recorder/launch/trace_name.h"
#include "recorder/shared/segment_file.h"

struct ws_process {
	const struct ws_record_opts *opts;
	struct ws_segment_file file; /* seg NULL once everything is given back */
	struct ws_trace_writer *writer;
	struct ws_drain *drain;
	int folder;       /* the trace's, open; the caller's */
	char *trace;      /* path of the trace as it is now */
	int64_t begun_ns; /* as in struct ws_process_naming; 0: it has no name yet */
	char *final;      /* and once it is whole, where another file
	                     has that name until then; else NULL */
	bool is_settled;  /* that is its name for good */
	bool is_salvaged; /* continued after its launcher was killed */
	/* who attached: taken once, as the program can write over what the segment says; pid 0:
	   nobody so far */
	struct ws_proc owner;
	bool is_cut;            /* that pages of the segment are missing was told */
	bool is_gone;           /* nothing comes any more */
	uint32_t found_pid;     /* ours of one in another PID namespace; 0: none so far */
	int64_t next_search_ns; /* for it, CLOCK_MONOTONIC; 0: it was not looked for */
	int64_t search_pause_ns;
	bool was_unseen, is_told_unseen;            /* see ws_process_look_unseen() */
	int64_t gone_ns;                            /* when that was seen (ws_drain_now_ns) */
	int64_t next_commit_ns, next_statistics_ns; /* CLOCK_MONOTONIC */
	uint32_t warned;                            /* bits of enum ws_gpu_stop that were told */
	struct ws_trace_result result;              /* filled by ws_process_finish() */
};

/*
 * Take over a segment (also when it fails) and begin its trace at this path,
 * which is copied; or go on with the trace of its last commit, if there was
 * one. folder is the path's, which is not gone through again. When that trace is
 * done with, *found says why, the segment is removed, and there is no process.
 */
enum ws_status ws_process_begin(struct ws_process **out, const struct ws_record_opts *opts,
                                struct ws_segment_file *file, int folder, const char *trace,
                                const struct ws_provenance *provenance, struct ws_err *err);
enum ws_status ws_process_resume(struct ws_process **out, const struct ws_record_opts *opts,
                                 struct ws_segment_file *file, int folder, const char *trace,
                                 enum ws_salvage *found, struct ws_err *err);
/* Nothing was recorded, so there is no trace: one that has its name for good stays, and a device.
 */
void ws_process_remove_trace(const struct ws_process *p);

/* Pid of the process that attached, 0 = none did. */
uint32_t ws_process_pid(struct ws_process *p);
/* The same; while none did, of the program that was started, which may attach yet. */
uint32_t ws_process_who_runs(struct ws_process *p);
/* Our pid of the process that attached, which is another one in a PID namespace of its own; 0: it
 * is not known. */
uint32_t ws_process_our_pid(struct ws_process *p);

enum ws_life {
	WS_LIFE_OVER,
	WS_LIFE_ON,
	WS_LIFE_UNSEEN, /* in another PID namespace, and gone or not to be seen from here */
};
/* Of that one; looks for it where its pid is not ours. */
enum ws_life ws_process_life(struct ws_process *p);
/*
 * After each step, which read so many records: one that is unseen and goes on to record is told of
 * and counted (process_not_recorded), as we shall not see when it ends.
 */
void ws_process_look_unseen(struct ws_process *p, uint64_t records);

/* What names the traces of a recording. */
struct ws_process_naming {
	const char *pattern;
	int keep_existing;                   /* a file there is not replaced */
	struct ws_process *const *processes; /* of the recording, whose names are not given twice */
	size_t nprocesses;
	int64_t begun_ns; /* of the recording, by CLOCK_REALTIME */
};

/*
 * Give the trace the name that it has by the pattern when pid is the process.
 * A name that cannot be had is told and the present one kept. A file that was written to since
 * begun_ns is of another recording of the same time: it stays, and this trace gets a number.
 */
void ws_process_resolve(struct ws_process *p, uint32_t pid, const struct ws_process_naming *naming);
/* Empty the segment once; statistics and commits when they are due. Returns the records read. */
uint64_t ws_process_step(struct ws_process *p);

/*
 * Last rows, index, trailer; fills p->result. end: how the process ended
 * (time, and pid when one attached, are filled in here); NULL: it still runs.
 */
enum ws_status ws_process_finish(struct ws_process *p, const struct ws_row_process_end *end,
                                 struct ws_err *err);
/* Give back segment and trace; the segment's file is removed unless kept. Legal twice. */
void ws_process_close(struct ws_process *p, int keep_segment);
void ws_process_free(struct ws_process *p); /* closes too; NULL is legal */

/* A line for the user, see struct ws_record_opts. */
void ws_record_notice(const struct ws_record_opts *opts, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
