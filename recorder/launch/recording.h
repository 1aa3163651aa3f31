/*
 * Recording: run a program with the collector in it, drain the segment while
 * it lives, finish the trace when it is gone. And salvage: the same loop over
 * a segment whose launcher was killed.
 */
#pragma once

#include "formats/base/options.h"
#include "recorder/drain/drain.h"
#include "recorder/launch/gpu.h"

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
	const char *output; /* pattern of the trace's name (recorder/launch/trace_name.h); salvage:
	                       where the trace is now, NULL: where it was made */
	/* That the folder of the trace must have, as ws_record_folder_id() prints it; NULL: any. */
	const char *folder_id;
	bool keep_existing; /* the name may get a number, so that no file is replaced */
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
	int exit_code;        /* what to end with; for a program that ran, what a shell would */
	int term_signal;      /* that killed the program, 0 = none */
	bool is_hidden;       /* a process of the program ran where it cannot see the segment */
	enum ws_salvage found; /* if not unfinished, the segment was removed */
	const char *obstacle; /* to recording the program itself, see ws_child_obstacle() */
	int uses_cuda;        /* by its file, or by what it loaded (recorder/launch/gpu.h) */
	size_t ntraces;       /* one at least when the program ran; 0: see expect_usage_error */
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
