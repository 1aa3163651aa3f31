/*
 * Names of traces: by the pattern of -o and the process, by what a segment says, and by what of
 * that is believed.
 */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "formats/base/memory.h"
#include "formats/base/options.h"
#include "formats/base/status.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/segment.h"
#include "recorder/shared/segment_file.h"
#include "recorder/shared/system.h"

/* Strings side by side, each ended by a NUL, as /proc and the segment have them. */
struct ws_strings {
	const char *text; /* borrowed; the last byte is a NUL */
	size_t size;      /* bytes, 0 = no string */
};

/* What lies in a field of this many bytes: everything up to its last NUL. */
struct ws_strings ws_strings_in(const char *field, size_t field_size);
/* VALUE of the string NAME=VALUE, its name the len bytes at name; NULL when it is not there. */
const char *ws_strings_value(struct ws_strings list, const char *name, size_t len);
/* As an array that ends with NULL; its strings stay where they are. For free(). */
char **ws_strings_array(struct ws_strings list);

/* --- names of traces --- */

/* What stands for %p, %h and %q{NAME}. */
struct ws_output_vars {
	uint32_t pid;
	const struct ws_strings *env; /* NULL: the environment of this program */
	char *unset; /* room for the name of the first variable that is not set; NULL: not asked */
};
#define WS_OUTPUT_VARIABLE 256 /* bytes of a name of a variable, with a NUL */

/*
 * Expand a pattern: %p the process id, %h the host's name without its domain,
 * %q{NAME} the variable NAME ("unset" when there is none), %% a percent sign.
 * A slash in what is put in becomes _. USAGE for anything else behind a
 * percent sign, for a percent pattern in the folder, and for a name too long.
 */
enum ws_status ws_output_expand(const char *pattern, const struct ws_output_vars *vars, char *out,
                                size_t size, struct ws_err *err);

/*
 * Under a launcher of several ranks (srun, mpirun, torchrun) a pattern without a percent sign gets
 * the rank before its extension: x.rank3.wtrace. One of a device or pipe stays. USAGE: too long.
 */
enum ws_status ws_output_add_rank(char *pattern, size_t size, struct ws_err *err);

/* A pattern that stands for this path: percent signs doubled. 0 = done, -1 = too long. */
int ws_output_escape(const char *path, char *out, size_t size);

/* 1 when the path must not be taken. */
typedef bool (*ws_output_taken_fn)(void *ctx, const char *path);

/*
 * A name that is not taken: the path itself, else with .PID before its last
 * extension, else with a number too: x.wtrace, x.77.wtrace, x.77-2.wtrace …
 * With pid 0 only the number: x-2.wtrace. USAGE when it gets too long.
 */
enum ws_status ws_output_choose(char *path, size_t size, uint32_t pid, ws_output_taken_fn taken,
                                void *ctx, struct ws_err *err);

/* --- by a segment --- */

/* Behind its last slash; borrowed. */
const char *ws_trace_path_name(const char *path);
/* Has anything in this open folder, if only a link, the name that the path ends with? */
bool ws_trace_path_exists(int folder, const char *path);

/* The variables of the process, of its segment: a copy, as the program can write there at any time.
 */
struct ws_strings ws_trace_path_environment(const struct ws_seg_header *seg,
                                            char copy[WS_MAX_ENVIRONMENT]);
/* The name by the pattern, when no other process of the recording has it; unset: as in struct
 * ws_output_vars. USAGE: it is too long. */
enum ws_status ws_trace_path_plain(const struct ws_seg_header *seg, const char *pattern,
                                   uint32_t pid, char out[PATH_MAX], char *unset,
                                   struct ws_err *err);
/*
 * Where the trace of a further segment is begun: in the folder of the
 * pattern's names, under the segment's own name, which is nobody else's.
 */
enum ws_status ws_trace_path_part(const struct ws_segment_file *file, const char *pattern,
                                  uint32_t pid, char out[PATH_MAX], struct ws_err *err);
/*
 * Where a launcher that is gone left the trace of a further segment of process
 * pid. The segment tells, but is believed only what the pattern can give:
 * CORRUPT for any other name. folder is the open one of the pattern's names.
 */
enum ws_status ws_trace_path_left_at(const struct ws_segment_file *file, int folder,
                                     const char *pattern, uint32_t pid, char out[PATH_MAX],
                                     struct ws_err *err);
/*
 * The same of the first segment, whose unfinished trace is called in another way: nobody is sent
 * to another file by a program that wrote over its segment. CORRUPT, with -o as the cure.
 */
enum ws_status ws_trace_path_first_left_at(const struct ws_segment_file *file, int folder,
                                           const char *pattern, char out[PATH_MAX],
                                           struct ws_err *err);

/* --- GPUs, as the launcher sees them -----------------------------------------------------------
 */

/* --- is a program one of CUDA? --- */

/*
 * Whether a program is one of CUDA, seen from outside: where nothing of a GPU
 * was recorded, that tells a program that wanted one from `ls`.
 */

/*
 * 1 when the program in this file holds device code (nvcc's section .nv_fatbin) or names a
 * library of CUDA, to be linked to or loaded. Of a file over 64 MiB its first 64 and its last are
 * looked at.
 */
int ws_cuda_use_of_file(const char *path);

/* 1 when the process has a library of CUDA in its memory now. */
int ws_cuda_use_of_process(uint32_t pid);

/* --- why GPU work is missing --- */

/* Why nothing of a GPU, or not all, is in a trace, in words and with the cure. */

/* What the collector said of CUDA in a process, copied from its segment. */
struct ws_gpu_report {
	enum ws_gpu_state state;
	int result;             /* CUptiResult that decided, 0 = none */
	uint32_t cupti_version; /* 0 = not loaded */
	uint32_t stopped;       /* bits of enum ws_gpu_stop */
	char text[1024];
	char last_error[256];
	char second[256];
};

struct ws_gpu_report ws_gpu_report(const struct ws_seg_gpu *gpu);

/* One line about a process whose GPU work was not recorded; NULL when it was, or there was none. */
const char *ws_gpu_problem(const struct ws_gpu_report *report, char *out, size_t size);

/* One line about a reason why GPU work is recorded in part only; NULL for no such reason. */
const char *ws_gpu_warning(enum ws_gpu_stop stop, const struct ws_gpu_report *report, char *out,
                           size_t size);

/*
 * One line about this machine, for when the program never got as far as
 * initializing CUDA: asks the driver, which is loaded for that.
 */
const char *ws_gpu_absence(char *out, size_t size);

/* --- readings of the GPUs --- */

/*
 * What the GPUs of this machine were doing, by NVIDIA's management library,
 * which is loaded when it is there and never linked.
 */

/*
 * Add `meta` rows gpu.N.WHEN.…: clocks, power, temperature and what holds the
 * clocks down, of each GPU as nvidia-smi numbers them; with is_first also what
 * does not change, and why there is nothing when there is nothing. The library
 * is loaded at the first call, which takes its time, and stays.
 */
void ws_gpu_readings_add(struct ws_drain *d, const char *when, int is_first);

/* --- where a trace comes from ------------------------------------------------------------------
 */

/* What a trace says about where it comes from; docs/reference/keys.md lists the keys. */

#define WS_FACT_KEY_MAX 128 /* with "workload." and the end */

struct ws_provenance {
	const char *program;          /* path; NULL: not known */
	char *const *arguments;       /* of the program, NULL-terminated; NULL: not to be told */
	const char *options;          /* of the recording, quoted; NULL: not known */
	const struct ws_opt_texts *facts; /* of the workload: "KEY=VALUE" */
	bool no_gpu;                  /* GPUs are not to be asked */
	uint32_t cpu_time_quantum_ns; /* 0 = none */
};

/* The rows known before the program starts. Returns how many arguments had secrets, which are
 * masked there. */
unsigned ws_provenance_begin(struct ws_drain *d, const struct ws_provenance *p,
                             const struct ws_seg_header *seg);
/*
 * The rows known of the process that attached, by its environment: ranks, as
 * numbers of at most nine digits; anything else is not taken.
 */
void ws_provenance_process(struct ws_drain *d, struct ws_strings env);
/* The rows known when it has ended. */
void ws_provenance_end(struct ws_drain *d, const struct ws_seg_header *seg, int salvaged);

/* Arguments quoted for a POSIX shell, joined by blanks; for free(). */
char *ws_quote(char *const *arguments);

/*
 * Secrets in a program's arguments, which a trace must not hold. They are known by their shapes
 * alone, which docs/record.md lists.
 */

/* Begin with the program's path, and zeros. */
struct ws_secrets {
	const char *program; /* a few clients have options of their own; NULL: not known */
	const char *before;  /* the argument before this one; NULL: this is the first */
	unsigned masked;     /* arguments so far that had a secret */
};

/* The next argument, with "***" for each secret in it; for free(). */
char *ws_secrets_mask(struct ws_secrets *s, const char *argument);

/* --- a recording -------------------------------------------------------------------------------
 */

/*
 * Recording: run a program with the collector in it, drain the segment while
 * it lives, finish the trace when it is gone. And salvage: the same loop over
 * a segment whose launcher was killed.
 */

enum ws_library_ranges {
	WS_LIBRARY_RANGES_DEFAULT, /* on for the native steps, else off */
	WS_LIBRARY_RANGES_ON,
	WS_LIBRARY_RANGES_OFF,
};

/*
 * X(variable, value): what makes NVIDIA's libraries mark their calls as NVTX
 * ranges; a variable that is set stays.
 */
#define WS_LIBRARY_RANGES_LIST(X)     \
	X("CUBLAS_NVTX_LEVEL", "2")   \
	X("CUBLASLT_NVTX_LEVEL", "2") \
	X("CUBLASXT_NVTX_LEVEL", "2") \
	X("CUDNN_NVTX_LEVEL", "1")    \
	X("CUSPARSE_NVTX_LEVEL", "1") \
	X("CUSOLVERDN_NVTX_LEVEL", "1")

struct ws_record_opts {
	const char *output; /* pattern of the trace's name (recorder/launch/launch.h); salvage:
	                       where the trace is now, NULL: where it was made */
	/* That the folder of the trace must have, as ws_record_folder_id() prints it; NULL: any. */
	const char *folder_id;
	bool keep_existing;      /* the name may get a number, so that no file is replaced */
	const char *segment_dir; /* this user's alone; NULL: see ws_segment_folder_make().
	                            Beside the trace when there is none or it has no room */
	struct ws_seg_opts segment;
	struct ws_seg_capture capture;
	struct ws_seg_window window; /* its begin_ns is set when the program starts */
	int64_t delay_ns;            /* until the window begins */
	uint64_t max_size;           /* bytes of a trace after which it ends, 0 = no limit */
	enum ws_library_ranges library_ranges;
	int64_t flush_interval_ns;
	int zstd_level;          /* 0 = the writer's default */
	bool no_args;            /* keep the program's arguments out of the trace */
	bool force;              /* also when another tool's injection is set up */
	bool stop_on_exit;       /* end with the program, whatever it left running */
	bool expect_usage_error; /* a program that ends with 2 and attached never leaves no trace */
	bool tell_progress;      /* by notices while the program runs, fewer and fewer */
	struct ws_opt_texts facts; /* of the workload: "KEY=VALUE" */
	const char *options_text; /* for the trace's provenance */
	/* A line for the user while it goes on: no full stop, no newline. NULL: say nothing. */
	void (*notice)(const char *line);
};

/* What one recorded process left. */
struct ws_trace_result {
	char *path;         /* of its trace */
	uint32_t pid;       /* 0: no process attached */
	uint64_t file_size; /* bytes of the trace */
	struct ws_drain_counts counts;
	uint64_t lost[WS_DROPPED_COUNT];
	struct ws_gpu_report gpu;
	uint64_t noutside; /* events outside the window */
	unsigned masked;   /* arguments of the program whose secrets are not in the trace */
};

/* What --salvage found of the trace. */
enum ws_salvage {
	WS_SALVAGE_UNFINISHED,
	WS_SALVAGE_FINISHED, /* closed and whole */
	WS_SALVAGE_REPLACED, /* a whole trace of another recording has its name by now */
};

struct ws_record_result {
	int exit_code;         /* what to end with; for a program that ran, what a shell would */
	int term_signal;       /* that killed the program, 0 = none */
	bool is_hidden;        /* a process of the program ran where it cannot see the segment */
	enum ws_salvage found; /* if not unfinished, the segment was removed */
	const char *obstacle;  /* to recording the program itself, see ws_child_obstacle() */
	int uses_cuda;         /* by its file, or by what it loaded (gpu.c) */
	size_t ntraces;        /* one at least when the program ran; 0: see expect_usage_error */
	struct ws_trace_result *traces; /* in the order in which the processes attached */
};
void ws_record_result_release(struct ws_record_result *result);

/* Which folder is open, in words that no other has while it is: "DEVICE:INODE". */
void ws_record_folder_id(int folder, char out[48]);

/*
 * Run argv (NULL-terminated, argv[0] found as a shell does) and record it.
 * Status OK: the trace is whole and result->exit_code is the program's. Else
 * what went wrong with the recording; result->exit_code is set all the same.
 */
enum ws_status ws_record_run(const struct ws_record_opts *opts, char *const argv[],
                             struct ws_record_result *result, struct ws_err *err);

/*
 * Finish the trace of a launcher that was killed, and remove its segment; with
 * the first segment of a recording, all of its processes' traces. Waits for
 * programs that still run. USAGE when the segment is in use.
 */
enum ws_status ws_record_salvage(const struct ws_record_opts *opts, const char *segment,
                                 struct ws_record_result *result, struct ws_err *err);

/*
 * Calls found(path) for each segment of this user's in dir (NULL: in the
 * folders of ws_segment_folder_default()) whose launcher is gone, and that has
 * something for --salvage.
 */
void ws_segments_abandoned(const char *dir, void (*found)(const char *path));

/* --- the traced program as a child process --------------------------------------------------- */

/* What a shell ends with when it cannot run a command. */
#define WS_EXIT_NOT_EXECUTABLE 126
#define WS_EXIT_NOT_FOUND      127

/*
 * The file that a command names, found as a shell does (PATH), in out.
 * ENVIRONMENT when there is none; *exit_code is what a shell would end with.
 */
enum ws_status ws_child_find(const char *command, char *out, size_t out_size, int *exit_code,
                             struct ws_err *err);

/*
 * Why no collector can get into the program in this file: it is linked
 * statically, or runs with other rights than ours. NULL: no reason is known
 * (a program that it starts may still have one).
 */
const char *ws_child_obstacle(const char *path);

/* A variable of the child's environment, beside those of ours. */
struct ws_child_env {
	const char *name;
	const char *value;
};

/*
 * Run path with argv, signal mask `mask` and our environment changed by n
 * variables. Before it runs *who says which process it is, and *witness is there (below).
 * ENVIRONMENT when it could not be started, *exit_code as above. NO_MEMORY.
 */
enum ws_status ws_child_start(pid_t *out, pid_t *witness, const char *path, char *const argv[],
                              const struct ws_child_env *env, size_t n, const sigset_t *mask,
                              struct ws_seg_process *who, int *exit_code, struct ws_err *err);

/*
 * Whoever receives a signal cannot tell whether it was sent to him or to his process group, which
 * the program is in as well. So a process that only waits stands in the same group, with the
 * signals blocked that are blocked here: what is pending there was sent to the group. It ends with
 * this process. 0: there is none, and nothing is known.
 */
pid_t ws_witness_start(void);
/* Signals that are pending there, bit n - 1 for signal n: of those received by now, the ones that
 * were sent to the group. */
uint64_t ws_witness_signals(pid_t witness);
void ws_witness_end(pid_t witness);

/* --- pids in other namespaces --- */

/*
 * A process in a PID namespace of its own (unshare, bubblewrap, Apptainer) tells us its pid there,
 * which here is another process's or nobody's.
 */

/*
 * Our pid of the process of another PID namespace; 0: there is none, or none that we see. Looks at
 * all processes.
 */
uint32_t ws_host_pid_find(struct ws_proc process);

/* --- missing pages --- */

/*
 * A traced program can cut its segment short, and memory can run out under one: then pages of it
 * are missing where the launcher reads or writes (SIGBUS).
 */

/* From now on a page of zeros comes in the place of each that is missing, and is counted. */
void ws_missing_pages_replace(void);
/* How many there were since this was last asked. */
unsigned ws_missing_pages(void);

/* --- a recorded process ------------------------------------------------------------------------
 */

/*
 * One recorded process: its segment, and the trace that the segment is
 * emptied into. A recording has one for each process that attached.
 */

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

/* --- the command line of warpsheet-record ---------------------------------------------------- */

struct ws_record_command {
	struct ws_record_opts record;
	const char *output;  /* -o, NULL: by default */
	const char *salvage; /* NULL: record */
	const char *model;   /* value of --model, NULL: a program after -- */
	char **program;      /* with its arguments, NULL-terminated; NULL: none was given */
	char **rest;         /* options of warpsheet-step; NULL-terminated */
	int nrest;
	char **capture_options; /* as given, NULL-terminated: part of the provenance */
	int ncapture_options;
	int64_t repeat; /* recordings of each point; 1 unless has_repeat */
	bool has_repeat;
	bool require_gpu, help, version;
};

/*
 * Parse argv; strings stay where they are. USAGE says which argument is wrong.
 * With --help nothing else is looked at. Free with ws_record_command_release() in any case.
 */
enum ws_status ws_record_command_parse(struct ws_record_command *cmd, int argc, char **argv,
                                       struct ws_err *err);
void ws_record_command_release(struct ws_record_command *cmd); /* legal twice */

/* The list of options, as --help prints it. */
void ws_record_options_print(FILE *f);

/* --- series and grids of recordings ------------------------------------------------------------
 */

/* --- grids --- */

/*
 * Many recordings by one command: N of the same, or a grid of list-valued
 * options. What is recorded in which order, without recording anything.
 */

/* One configuration. */
struct ws_grid_point {
	const char *name;           /* of its files, without repetition: "mlp-batch64-fp32" */
	const char *const *options; /* of warpsheet-step, --model first; NULL-terminated; none for a
	                             * program */
	/* what is different between points: "batch" "64"; NULL-terminated */
	const char *const *facts;
};

struct ws_grid_run {
	size_t point;
	int64_t repetition; /* from 1 */
};

/* Free with ws_grid_free. */
struct ws_grid {
	struct ws_grid_point *points;
	size_t npoints;
	struct ws_grid_run *runs; /* in the order in which they are made */
	size_t nruns;
	struct ws_arena arena;
};

/*
 * The grid of a command line. rest: options of warpsheet-step, where a comma
 * in a value makes a list; model NULL: a program of this name.
 * Every point once, then every point again, in an order that seed shuffles
 * anew each time: so drift of the machine hits all points alike.
 */
enum ws_status ws_grid_plan(struct ws_grid *grid, const char *model, char *const *rest, int nrest,
                            const char *program, int64_t repeat, uint64_t seed, struct ws_err *err);
void ws_grid_free(struct ws_grid *grid);
/* Does a value of these options list several? */
bool ws_grid_has_lists(const char *model, char *const *rest, int nrest);

/* --- series --- */

/* Makes the recordings of a grid, one after the other, each by a recorder of its own. */

/* Tells the recorder of a run the folder of the series, which is opened once (launcher.h:
 * folder_id). */
#define WS_SERIES_FOLDER_ENV "WARPSHEET_SERIES_FOLDER"

struct ws_series_opts {
	const char *folder;               /* made when it is not there */
	char *const *capture_options;     /* of warpsheet-record, NULL-terminated; without -o */
	char *const *program;             /* NULL: a model */
	void (*notice)(const char *line); /* progress, for the user */
	void (*words)(const char *line);  /* what a program says on stderr, as it is */
};

/*
 * Recordings become FOLDER/NAME-rN.wtrace when they are whole; beside each is
 * FOLDER/NAME-rN.status: lines "result=ok", or what went wrong, and the facts
 * of the point. What has a status is not made again. FINDING when a run
 * failed. Interrupted (SIGINT, SIGTERM), it stops behind the run under way: *signal.
 */
enum ws_status ws_series_run(const struct ws_grid *grid, const struct ws_series_opts *opts,
                             int *signal, struct ws_err *err);
