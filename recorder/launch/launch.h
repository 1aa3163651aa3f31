/*
 * The launcher: names of traces, GPUs, provenance, recordings, child processes, command line, and
 * series.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "formats/base/memory.h"
#include "formats/base/options.h"
#include "formats/base/system/system.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/segment_file.h"

/* A list of strings one after the other, each with a NUL at its end, as in /proc and in the
 * segment. */
struct ws_strings {
	const char *text; /* borrowed; the last byte is a NUL */
	size_t size;      /* bytes; 0: no string */
};

/* The strings in a field of this many bytes: everything up to its last NUL. */
struct ws_strings ws_strings_in(const char *field, size_t field_size);
/* VALUE of the string NAME=VALUE. NAME: the len bytes at name. NULL: there is no such string. */
const char *ws_strings_value(struct ws_strings list, const char *name, size_t len);
/* The list as an array that ends with NULL, for free(). The strings are not copied. */
char **ws_strings_array(struct ws_strings list);

/* --- names of traces --- */

/* The values of %p, %h and %q{NAME}. */
struct ws_output_vars {
	uint32_t pid;
	const struct ws_strings *env; /* NULL: the environment of this program */
	char *unset; /* receives the name of the first variable that is not set; may be NULL */
};
#define WS_OUTPUT_VARIABLE 256 /* bytes of a variable's name, with its NUL */

/*
 * Expands a pattern: %p is the process id, %h the host's name without its domain, %q{NAME} the
 * variable NAME ("unset" if it is not set), %% a percent sign. A slash in an inserted value becomes
 * _. USAGE: another character after a percent sign, a % pattern in the folder, or a name that is
 * too long.
 */
enum ws_status ws_output_expand(const char *pattern, const struct ws_output_vars *vars, char *out,
                                size_t size, struct ws_err *err);

/*
 * Under a launcher of several ranks (srun, mpirun, torchrun), adds the rank before the extension of
 * a pattern without a percent sign: x.rank3.wtrace. The path of a device or pipe is not changed.
 * USAGE: too long.
 */
enum ws_status ws_output_add_rank(char *pattern, size_t size, struct ws_err *err);

/* Makes a pattern that expands to this path, by doubling percent signs. 0: success; -1: too
 * long. */
int ws_output_escape(const char *path, char *out, size_t size);

/* True if the path must not be used. */
typedef bool (*ws_output_taken_fn)(void *ctx, const char *path);

/*
 * Changes the path to a free name: the path itself, else with .PID before its last extension, else
 * with a number too: x.wtrace, x.77.wtrace, x.77-2.wtrace … With pid 0 only the number:
 * x-2.wtrace.
 * USAGE: the name is too long.
 */
enum ws_status ws_output_choose(char *path, size_t size, uint32_t pid, ws_output_taken_fn taken,
                                void *ctx, struct ws_err *err);

/* --- names from a segment --- */

/* Whether the open folder has an entry (or a link) with the file name of the path. */
bool ws_trace_path_exists(int folder, const char *path);

/* A copy of the process's variables in its segment. The program can change the originals at any
 * time.
 */
struct ws_strings ws_trace_path_environment(const struct ws_seg_header *seg,
                                            char copy[WS_MAX_ENVIRONMENT]);
/* The name by the pattern, for a process that is alone in having it. unset: as in struct
 * ws_output_vars. USAGE: too long. */
enum ws_status ws_trace_path_plain(const struct ws_seg_header *seg, const char *pattern,
                                   uint32_t pid, char out[PATH_MAX], char *unset,
                                   struct ws_err *err);
/*
 * The first path of the trace of a further segment: in the folder of the pattern, with the name of
 * the segment, which is unique.
 */
enum ws_status ws_trace_path_part(const struct ws_segment_file *file, const char *pattern,
                                  uint32_t pid, char out[PATH_MAX], struct ws_err *err);
/*
 * The path at which an earlier launcher left the trace of a further segment of process pid. It is
 * read from the segment, and accepted only if the pattern can produce it; CORRUPT for any other
 * name. folder: the open folder of the pattern.
 */
enum ws_status ws_trace_path_left_at(const struct ws_segment_file *file, int folder,
                                     const char *pattern, uint32_t pid, char out[PATH_MAX],
                                     struct ws_err *err);
/*
 * The same for the first segment, whose unfinished trace has another form of name. A program that
 * overwrote its segment must not make us open another file. CORRUPT: the message recommends -o.
 */
enum ws_status ws_trace_path_first_left_at(const struct ws_segment_file *file, int folder,
                                           const char *pattern, char out[PATH_MAX],
                                           struct ws_err *err);

/* --- is a program one of CUDA? --- */

/*
 * Whether a program uses CUDA, found without running it. If no GPU work was recorded, this
 * separates a program that needed a GPU from one like `ls`.
 */

/*
 * 1: the program in this file contains device code (nvcc's section .nv_fatbin) or the name of a
 * CUDA library. Of a file over 64 MiB the first and the last 64 MiB are read.
 */
int ws_cuda_use_of_file(const char *path);

/* 1: the process has loaded a CUDA library. */
int ws_cuda_use_of_process(uint32_t pid);

/* --- why GPU work is missing in a trace, and what to do --------------------------------------- */

/* The collector's report about CUDA in a process, copied from its segment. */
struct ws_gpu_report {
	enum ws_gpu_state state;
	int result;             /* CUptiResult of the failure; 0: none */
	uint32_t cupti_version; /* 0 = not loaded */
	uint32_t stopped;       /* bits of enum ws_gpu_stop */
	char text[1024];
	char last_error[256];
	char second[256];
};

struct ws_gpu_report ws_gpu_report(const struct ws_seg_gpu *gpu);

/* One line about a process whose GPU work was not recorded; NULL: it was recorded, or there was
 * none. */
const char *ws_gpu_problem(const struct ws_gpu_report *report, char *out, size_t size);
/* Why --calibrate left out no step; "": it did, or was not given. why: enum
 * ws_calibrate_obstacle. */
const char *ws_calibrate_words(uint32_t why);

/* One line about a reason why only part of the GPU work was recorded; NULL: there is no message for
 * it. */
const char *ws_gpu_warning(enum ws_gpu_stop stop, const struct ws_gpu_report *report, char *out,
                           size_t size);

/*
 * One line about this machine, for a program that ended before it initialized CUDA. Loads the
 * driver to ask it.
 */
const char *ws_gpu_absence(char *out, size_t size);

/* --- readings of the GPUs --- */

/*
 * Clocks and temperatures of this machine's GPUs, from NVIDIA's management library. The library is
 * loaded if it exists, and never linked.
 */

/*
 * Adds `meta` rows gpu.N.WHEN.…: clocks, power, temperature and the reasons for reduced clocks of
 * each GPU. N is the number in nvidia-smi. With is_first also adds values that do not change, or
 * the reason why there are none. The first call loads the library, which takes some time.
 */
void ws_gpu_readings_add(struct ws_drain *d, const char *when, int is_first);
/* Locks the clocks of all GPUs to their rated ones (--lock-clocks), all or none; until unlocked. */
enum ws_status ws_gpu_lock_clocks(struct ws_err *err);
void ws_gpu_unlock_clocks(void);

/* --- samples of the GPUs in use --- */

/*
 * A thread of its own reads them, because a call of NVML can take milliseconds, and the launcher
 * must empty the rings meanwhile. docs/dev/energy.md
 */

struct ws_gpu_sample {
	struct ws_gpu_address gpu;
	struct ws_row_gpu_sample row; /* its time is CLOCK_MONOTONIC; the device is unset */
	unsigned ngiven;              /* values in the row */
	unsigned nfailed;             /* values that earlier samples had, and this one lacks */
	const char *failed;           /* name of the first of them; NULL: none */
	int result;                   /* NVML's error code for it */
};

/* From now on samples these GPUs. The first call starts the thread; nothing without NVML. */
void ws_gpu_samples_watch(const struct ws_gpu_address *gpus, size_t n, int64_t every_ms);
/* Removes up to `most` samples, oldest first. Returns their number. *late: adds the number of
 * samples that did not fit since the last call. */
size_t ws_gpu_samples_take(struct ws_gpu_sample *out, size_t most, uint64_t *late);
/* Takes a last sample and ends the thread. False: NVML does not return. Legal without a thread. */
bool ws_gpu_samples_end(void);

/* --- where a trace comes from (docs/reference/keys.md) ---------------------------------------- */

#define WS_FACT_KEY_MAX 128 /* with "workload." and the end */

struct ws_record_opts;
/*
 * Adds the rows known before the program starts. program: its path; NULL: unknown. arguments:
 * NULL-terminated; NULL: they must not be stored. Secrets in arguments are masked. Returns the
 * number of arguments with secrets.
 */
unsigned ws_provenance_begin(struct ws_drain *d, const struct ws_record_opts *opts,
                             const char *program, char *const *arguments,
                             const struct ws_seg_header *seg);
/*
 * Adds the rows known from the environment of the attached process: its ranks. Values that are not
 * numbers of at most nine digits are ignored.
 */
void ws_provenance_process(struct ws_drain *d, struct ws_strings env);
/* Adds the rows known after the process ended. */
void ws_provenance_end(struct ws_drain *d, const struct ws_seg_header *seg, int salvaged);

/* Arguments quoted for a POSIX shell, joined by blanks; for free(). */
char *ws_quote(char *const *arguments);

/*
 * Secrets in a program's arguments, which a trace must not contain. They are recognized by their
 * form only; docs/record.md lists the forms.
 */

/* State between arguments. Initialize `program`, and the other fields with 0. */
struct ws_secrets {
	const char
	        *program;   /* some programs have options of their own for secrets; NULL: unknown */
	const char *before; /* the argument before this one; NULL: this is the first */
	unsigned masked;    /* number of arguments with a secret so far */
};

/* A copy of the next argument with "***" instead of each secret; for free(). */
char *ws_secrets_mask(struct ws_secrets *s, const char *argument);

/* --- a recording ------------------------------------------------------------------------------ */

/*
 * Recording: runs a program with the collector in it, drains the segment while the program runs,
 * and finishes the trace after its end. Salvage: the same for a segment whose launcher was killed.
 */

enum ws_library_ranges {
	WS_LIBRARY_RANGES_DEFAULT, /* on for the native steps, else off */
	WS_LIBRARY_RANGES_ON,
	WS_LIBRARY_RANGES_OFF,
};

/*
 * X(variable, value): environment variables that make NVIDIA's libraries mark their calls as NVTX
 * ranges. A variable that is already set is not changed.
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
	                       present path of the trace; NULL: its original path */
	/* Required id of the trace's folder, as printed by ws_record_folder_id(); NULL: any
	 * folder. */
	const char *folder_id;
	bool keep_existing;      /* adds a number to the name rather than replace a file */
	const char *segment_dir; /* readable by this user only; NULL: see ws_segment_folder_make().
	                            If it does not exist or has no room, segments are made beside
	                            the trace */
	struct ws_seg_opts segment;
	struct ws_seg_capture capture;
	struct ws_seg_window window; /* begin_ns is set when the program starts */
	int64_t delay_ns;            /* time until the window begins */
	int64_t keep_ns;    /* flight recording: span that is kept; 0: everything is kept */
	double slow_factor; /* a step longer than this times the median is slow; 0: none */
	bool dumps_on_signal;
	uint64_t max_size; /* recording stops at this size of the trace in bytes; 0: no limit */
	enum ws_library_ranges library_ranges;
	int64_t flush_interval_ns;
	int zstd_level;            /* 0 = the writer's default */
	bool lock_clocks;          /* to the rated ones, while the program runs */
	int64_t gpu_sample_ms;     /* time between samples of the GPUs; 0: none */
	bool no_args;              /* keep the program's arguments out of the trace */
	bool force;                /* record even if another tool's injection is set */
	bool stop_on_exit;         /* stop when the program ends, even if its children still run */
	bool expect_usage_error;   /* no trace if a program ends with 2 and never attached */
	const char *job;           /* folder of the ranks of a job; NULL: none */
	bool tell_progress;        /* print progress while the program runs, in growing intervals */
	struct ws_opt_texts facts; /* of the workload: "KEY=VALUE" */
	const char *options_text;  /* for the trace's provenance */
};

/* The result of one recorded process. */
struct ws_trace_result {
	char *path;         /* of its trace */
	uint32_t pid;       /* 0: no process attached */
	uint64_t file_size; /* bytes of the trace */
	struct ws_drain_counts counts;
	uint64_t lost[WS_DROPPED_COUNT];
	struct ws_gpu_report gpu;
	uint64_t noutside;  /* events outside the window */
	uint32_t calibrate; /* enum ws_calibrate_obstacle */
	unsigned masked;    /* number of program arguments with masked secrets */
};

/* The state in which --salvage found a trace. */
enum ws_salvage {
	WS_SALVAGE_UNFINISHED,
	WS_SALVAGE_FINISHED, /* closed and complete */
	WS_SALVAGE_REPLACED, /* another recording has since completed a trace of this name */
};

struct ws_record_result {
	int exit_code;         /* for warpsheet-record; for a program that ran, as a shell's */
	int term_signal;       /* signal that killed the program; 0: none */
	bool is_hidden;        /* a process of the program could not see the segment */
	enum ws_salvage found; /* unless it is unfinished, the segment was removed */
	const char
	        *obstacle; /* why the program itself cannot be recorded, see ws_child_obstacle() */
	int uses_cuda;     /* the program's file or a loaded library uses CUDA (gpu.c) */
	size_t ntraces;    /* at least one if the program ran, except as in expect_usage_error */
	struct ws_trace_result *traces; /* in the order in which the processes attached */
};
void ws_record_result_release(struct ws_record_result *result);

/* Prints an id of an open folder, "DEVICE:INODE", which is unique while it is open. */
void ws_record_folder_id(int folder, char out[48]);

/*
 * Runs argv (NULL-terminated; argv[0] is found as by a shell) and records it. OK: the trace is
 * complete, and result->exit_code is the program's. Otherwise the status is the recording's error,
 * and result->exit_code is set, too.
 */
enum ws_status ws_record_run(const struct ws_record_opts *opts, char *const argv[],
                             struct ws_record_result *result, struct ws_err *err);

/*
 * Finishes the trace of a killed launcher and removes its segment. With the first segment of a
 * recording, does so for all of its processes. Waits for programs that still run. USAGE: the
 * segment is in use.
 */
enum ws_status ws_record_salvage(const struct ws_record_opts *opts, const char *segment,
                                 struct ws_record_result *result, struct ws_err *err);

/* Calls found(ctx, path) for each file with this prefix in a folder of segments. */
void ws_segments_with_prefix(const char *dir, const char *prefix,
                             void (*found)(void *ctx, const char *path), void *ctx);
/* Calls found() for each segment in dir; NULL: in the folders of ws_segment_folder_default(). */
void ws_segments_each(const char *dir, void (*found)(void *ctx, const char *path), void *ctx);
/*
 * Names to the user each of this user's segments in dir whose launcher is gone and that --salvage
 * can use. dir NULL: the folders of ws_segment_folder_default().
 */
void ws_segments_tell_abandoned(const char *dir);

/* --- control from outside (--standby) --- */

/*
 * --job: a folder that the launchers of a job's ranks share. Each has files there with the state of
 * its processes, and reads commands. ENVIRONMENT: others may write into the folder.
 */
struct ws_job;
struct ws_process;
enum ws_status ws_job_open(struct ws_job **out, const char *dir, struct ws_err *err);
/* Called in each round of the loop: reads a command and writes the state, if they are due. */
void ws_job_step(struct ws_job *job, struct ws_process *const *processes, size_t n);
void ws_job_close(struct ws_job *job, struct ws_process *const *processes, size_t n);
/* `warpsheet ctl`; argv[0] is "ctl". Returns the exit code. */
int ws_ctl(int argc, char **argv);

/* --- the traced program as a child process --------------------------------------------------- */

/* Exit codes of a shell that cannot run a command. */
#define WS_EXIT_NOT_EXECUTABLE 126
#define WS_EXIT_NOT_FOUND      127

/*
 * Finds the file of a command as a shell does (PATH). ENVIRONMENT: there is none, and *exit_code is
 * a shell's exit code for that.
 */
enum ws_status ws_child_find(const char *command, char *out, size_t out_size, int *exit_code,
                             struct ws_err *err);

/*
 * The reason why the collector cannot be loaded into the program in this file: it is linked
 * statically, or runs with other rights than ours. NULL: no reason found (programs that it starts
 * may have one).
 */
const char *ws_child_obstacle(const char *path);

/* A variable to add to the child's environment. */
struct ws_child_env {
	const char *name;
	const char *value;
};

/*
 * Runs path with argv, the signal mask `mask`, and our environment with n changed variables. Before
 * the program runs, *who names its process, and *witness is started (see below). ENVIRONMENT: it
 * could not be started; *exit_code as above. NO_MEMORY.
 */
enum ws_status ws_child_start(pid_t *out, pid_t *witness, const char *path, char *const argv[],
                              const struct ws_child_env *env, size_t n, const sigset_t *mask,
                              struct ws_seg_process *who, int *exit_code, struct ws_err *err);

/*
 * The receiver of a signal cannot see whether it was sent to it alone or to its process group, to
 * which the program belongs as well. So we start a witness: a process in the same group that only
 * waits, with the same signals blocked. Signals pending there were sent to the group. The witness
 * ends with this process. 0: it could not be started.
 */
pid_t ws_witness_start(void);
/* Signals pending in the witness, bit n - 1 for signal n: those sent to the whole group. */
uint64_t ws_witness_signals(pid_t witness);
void ws_witness_end(pid_t witness);

/* --- pids in other namespaces --- */

/*
 * A process in a PID namespace of its own (unshare, bubblewrap, Apptainer) reports its pid in that
 * namespace. In ours that pid belongs to another process or to none.
 */

/*
 * Pid in our namespace of a process of another PID namespace; 0: none, or not visible. Reads all
 * processes.
 */
uint32_t ws_host_pid_find(struct ws_proc process);

/* --- missing pages --- */

/*
 * Pages of a segment can be missing, because the program cut the file short or memory ran out. Then
 * a read or write by the launcher raises SIGBUS.
 */

/* From now on replaces each missing page by a page of zeros, and counts it. */
void ws_missing_pages_replace(void);
/* Number of replaced pages since the last call. */
unsigned ws_missing_pages(void);

/* --- a recorded process ----------------------------------------------------------------------- */

/*
 * One recorded process: its segment, and the trace into which the segment is drained. A recording
 * has one per attached process.
 */

/* Why a copy of a flight recording is made. */
struct ws_flight_reason {
	char trigger[64];          /* step, signal, exit 1 …; empty: none */
	struct ws_drain_step step; /* the longest slow one */
	int64_t median_ns;         /* of the steps before it */
	unsigned nslow, nafter;    /* slow steps; steps of its thread after the last trigger */
	int64_t last_ns;           /* when the last trigger came, CLOCK_MONOTONIC */
};

#define WS_FLIGHT_STEPS 101 /* the median is that of so many steps of a thread */
struct ws_flight {
	struct ws_flight_thread {
		int64_t lengths_ns[WS_FLIGHT_STEPS];
		uint64_t thread, nlengths;
	} * threads;
	size_t nthreads, capacity;
	struct ws_flight_reason reason; /* of the next copy */
	unsigned ncopies;
};

struct ws_process {
	const struct ws_record_opts *opts;
	struct ws_segment_file file; /* seg is NULL after everything was released */
	struct ws_trace_writer *writer;
	struct ws_drain *drain;
	int folder;       /* the trace's open folder; owned by the caller */
	char *trace;      /* present path of the trace */
	int64_t begun_ns; /* as in struct ws_process_naming; 0: no name yet */
	char *final;      /* path if another file has it until the trace is complete; else NULL */
	bool is_settled;  /* the name is final */
	bool is_salvaged; /* continued after its launcher was killed */
	/* the attached process: read once, as programs can overwrite segments; pid 0: none yet */
	struct ws_proc owner;
	bool is_cut;        /* the user was told that pages of the segment are missing */
	bool is_gone;       /* no more records will come */
	uint32_t found_pid; /* our pid of a process in another PID namespace; 0: not found yet */
	int64_t next_search_ns; /* of the next search for it, CLOCK_MONOTONIC; 0: none yet */
	int64_t search_pause_ns;
	bool was_unseen, is_told_unseen; /* see ws_process_look_unseen() */
	int64_t gone_ns;                 /* time at which is_gone was set (ws_drain_now_ns) */
	int64_t next_commit_ns, next_statistics_ns; /* CLOCK_MONOTONIC */
	int64_t next_piece_ns;                      /* of a flight recording; else 0 */
	struct ws_flight flight;
	uint32_t warned; /* bits of enum ws_gpu_stop already reported to the user */
	struct {
		int64_t at_ns;  /* of `steps` */
		uint64_t steps; /* when its state was last written */
		double per_s;
		bool has_missed;       /* the first step of the last command */
	} job;                         /* --job */
	bool has_lost_a_value;         /* NVML stopped giving a value, and the user was told */
	uint32_t dumps;                /* requests of `warpsheet ctl dump` so far */
	struct ws_trace_result result; /* filled by ws_process_finish() */
};

/*
 * Takes ownership of a segment (also on failure), and begins its trace at this path, which is
 * copied. program and arguments: as for ws_provenance_begin(). If the segment has a commit,
 * continues that trace. folder: the open folder of the path. If the trace needs no more work,
 * *found gives the reason, the segment is removed, and *out is NULL.
 */
enum ws_status ws_process_begin(struct ws_process **out, const struct ws_record_opts *opts,
                                struct ws_segment_file *file, int folder, const char *trace,
                                const char *program, char *const *arguments, struct ws_err *err);
enum ws_status ws_process_resume(struct ws_process **out, const struct ws_record_opts *opts,
                                 struct ws_segment_file *file, int folder, const char *trace,
                                 enum ws_salvage *found, struct ws_err *err);
/* Removes the trace if nothing was recorded. A final name, and a device, are kept. */
void ws_process_remove_trace(const struct ws_process *p);

/* Pid of the process that attached, 0 = none did. */
uint32_t ws_process_pid(struct ws_process *p);
/* The same, or the pid of the started program while no process has attached. */
uint32_t ws_process_who_runs(struct ws_process *p);
/* Our pid of the attached process, which differs in a PID namespace of its own; 0: unknown. */
uint32_t ws_process_our_pid(struct ws_process *p);

enum ws_life {
	WS_LIFE_OVER,
	WS_LIFE_ON,
	WS_LIFE_UNSEEN, /* in another PID namespace: ended, or not visible from here */
};
/* State of the attached process. Searches for it if its pid is of another namespace. */
enum ws_life ws_process_life(struct ws_process *p);
/*
 * Called after each step with its number of records. An invisible process that continues to record
 * is reported and counted (process_not_recorded), as we cannot see its end.
 */
void ws_process_look_unseen(struct ws_process *p, uint64_t records);

/* The data from which traces of a recording get their names. */
struct ws_process_naming {
	const char *pattern;
	int keep_existing; /* existing files are not replaced */
	struct ws_process *const
	        *processes; /* processes of the recording, which must have different names */
	size_t nprocesses;
	int64_t begun_ns; /* begin of the recording, by CLOCK_REALTIME */
};

/*
 * Renames the trace to its name by the pattern for process pid. If that fails, reports it and keeps
 * the present name. A file written since begun_ns belongs to another recording of the same time: it
 * is kept, and this trace gets a number.
 */
void ws_process_resolve(struct ws_process *p, uint32_t pid, const struct ws_process_naming *naming);
/* Drains the segment once, and writes statistics and commits when they are due. Returns the number
 * of records read. */
uint64_t ws_process_step(struct ws_process *p);

/*
 * Writes the last rows, the index and the trailer, and fills p->result. end: how the process ended
 * (its time, and the pid if one attached, are set here); NULL: it still runs.
 */
enum ws_status ws_process_finish(struct ws_process *p, const struct ws_row_process_end *end,
                                 struct ws_err *err);
/* Closes segment and trace, and removes the segment's file unless it is to be kept. Legal twice. */
void ws_process_close(struct ws_process *p, int keep_segment);
void ws_process_free(struct ws_process *p); /* closes too; NULL is legal */

/* --- a flight recording --- */

/*
 * The unfinished trace of a flight recording has pieces, of which the oldest are dropped. A copy of
 * those that are kept is a trace.
 */

/* Begins a piece and drops old ones when that is due. now_ns: CLOCK_MONOTONIC. */
void ws_flight_step(struct ws_process *p, const struct ws_trace_writer_opts *opts, int64_t now_ns);
/* What is kept becomes a trace of its own, a little later. word: see struct ws_flight_reason. */
void ws_flight_trigger(struct ws_process *p, const char *word);
/*
 * Writes a copy, with the reason: everything that was committed and kept. *size: its bytes. Each
 * copy has the same name before it is renamed, so that of a killed launcher is replaced.
 */
enum ws_status ws_flight_copy(struct ws_process *p, const struct ws_trace_writer_opts *opts,
                              char name[PATH_MAX], uint64_t *size, struct ws_err *err);

/* Prints a line for the user on stderr; without full stop and newline. */
void ws_record_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line of a run of a series, as it is. */
void ws_record_pass_on(const char *line);

/* --- the command line of warpsheet-record ---------------------------------------------------- */

struct ws_record_command {
	struct ws_record_opts record;
	const char *output;  /* -o; NULL: default */
	const char *salvage; /* NULL: record */
	const char *model;   /* value of --model, NULL: a program after -- */
	char **program;      /* with its arguments, NULL-terminated; NULL: none was given */
	char **rest;         /* options of warpsheet-step; NULL-terminated */
	int nrest;
	char **capture_options; /* as typed, NULL-terminated; stored in the trace */
	int ncapture_options;
	int64_t repeat; /* number of recordings of each point; 1 unless has_repeat */
	bool has_repeat;
	char **program_b; /* --ab: the program after ---; NULL: none was given */
	bool ab, referee;
	int64_t most_ns, pause_ns; /* --time-limit, --pause */
	bool require_gpu, help, version;
};

/*
 * Parses argv; strings are not copied. USAGE: the message names the wrong argument. With --help
 * other arguments are ignored. Free with ws_record_command_release() in any case.
 */
enum ws_status ws_record_command_parse(struct ws_record_command *cmd, int argc, char **argv,
                                       struct ws_err *err);
void ws_record_command_release(struct ws_record_command *cmd); /* legal twice */

/* The list of options, as --help prints it. */
void ws_record_options_print(FILE *f);

/* --- grids --- */

/*
 * Many recordings by one command: N equal ones, or a grid of options with lists of values. These
 * functions plan the order of the recordings and record nothing.
 */

/* One configuration. */
struct ws_grid_point {
	const char *name; /* name of its files without the repetition: "mlp-batch64-fp32" */
	const char *const *options; /* options of warpsheet-step, --model first; NULL-terminated;
	                               empty for a program */
	char *const *program;       /* with its arguments, NULL-terminated; NULL: a model */
	/* pairs of option and value that differ between points: "batch" "64"; NULL-terminated */
	const char *const *facts;
};

struct ws_grid_run {
	size_t point;
	int64_t repetition; /* from 1; 0: a warm-up, whose trace is removed */
};

/* Free with ws_grid_free. */
struct ws_grid {
	struct ws_grid_point *points;
	size_t npoints;
	struct ws_grid_run *runs; /* in the order of recording */
	size_t nruns;
	struct ws_arena arena;
};

/*
 * Plans the grid of a command line. rest: options of warpsheet-step; a comma in a value makes a
 * list. model NULL: the given programs with their names. Each repetition records every point once,
 * in a new random order from seed, so that drift of the machine affects all points alike. Two
 * programs have a warm-up before.
 */
struct ws_grid_program {
	const char *name;
	char *const *argv; /* NULL-terminated */
};
enum ws_status ws_grid_plan(struct ws_grid *grid, const char *model, char *const *rest, int nrest,
                            const struct ws_grid_program *programs, size_t nprograms,
                            int64_t repeat, uint64_t seed, struct ws_err *err);
void ws_grid_free(struct ws_grid *grid);
/* Whether any of these options has a list of values. */
bool ws_grid_has_lists(const char *model, char *const *rest, int nrest);

/* --- series: recordings of a grid, each in a new process of the recorder ---------------------- */

/* Passes the id of the series' open folder to the recorder of each run (see folder_id above). */
#define WS_SERIES_FOLDER_ENV "WARPSHEET_SERIES_FOLDER"

struct ws_series_opts {
	const char *folder;           /* created if it does not exist */
	char *const *capture_options; /* of warpsheet-record, NULL-terminated; without -o */
	/* Called after each repetition of all points; false: no more are needed. NULL: always. */
	bool (*is_open)(const struct ws_series_opts *opts);
	int64_t most_ns;  /* begin no repetition after this time; 0: no limit */
	int64_t pause_ns; /* before each run */
};

/*
 * Makes the recordings. A complete one is FOLDER/NAME-rN.wtrace. Beside it is FOLDER/NAME-rN.status
 * with the line "result=ok", or the error, and the facts of the point. A run with a status is not
 * repeated. FINDING: a run failed. After SIGINT or SIGTERM, stops when the present run ends and
 * sets *signal.
 */
enum ws_status ws_series_run(const struct ws_grid *grid, const struct ws_series_opts *opts,
                             int *signal, struct ws_err *err);
