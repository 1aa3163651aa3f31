/*
 * The shared segment: memory that the traced program fills and the launcher reads. This header is
 * its layout; docs/dev/recorder.md describes its use. Nothing here opens, maps or allocates. It
 * needs only libc, because the collector is built from it too. Change WS_SEG_VERSION with the
 * layout.
 */
#pragma once

#include <limits.h>

#include "formats/schema/loss.h"
#include "recorder/shared/record.h"
#include "recorder/shared/system.h"

/* --- options of a recording, and the state of CUDA --- */

/* What is recorded of PyTorch's operations. */
enum ws_capture_pytorch {
	WS_PYTORCH_OFF,
	WS_PYTORCH_NAMES,
	WS_PYTORCH_SHAPES,  /* names, and shapes, types and scalars of the inputs … */
	WS_PYTORCH_SAMPLED, /* … but not of steps that repeat those before */
};

enum ws_capture_api {
	WS_CAPTURE_LAUNCHES, /* calls that launch, copy, wait, allocate or load code; the default */
	WS_CAPTURE_ALL,
	WS_CAPTURE_NO_API, /* no calls; kernels are then not linked to their launches */
};

/* Written by the launcher before the program starts. All 0 is the default. */
struct ws_seg_capture {
	uint32_t no_cupti;            /* 1: no CUPTI at all; NVTX is recorded */
	uint32_t api;                 /* enum ws_capture_api */
	uint32_t graph_level;         /* 1: a graph launch is one row; 0: each node is */
	uint32_t hw_trace;            /* 1: on GPUs and versions that have it */
	uint32_t kernels_only;        /* no copies, waits, allocations, overhead */
	uint32_t flush_interval_ms;   /* 0 = WS_CAPTURE_FLUSH_MS */
	uint32_t cpu_time_quantum_ns; /* API and NVTX times are rounded to it; 0: not rounded */
	uint32_t pytorch;             /* enum ws_capture_pytorch */
	uint32_t no_source;           /* 1: no lines of the program that called operations */
	uint32_t calibrate;           /* percent of steps that are not recorded */
	uint32_t standby;             /* 1: nothing is recorded until `warpsheet ctl start` */
	uint32_t keeps;               /* 1: the launcher keeps the last events for `ctl dump` */
};
/* Why --calibrate left out no step. X(NAME, text) */
#define WS_CALIBRATE_LIST(X)                                                                      \
	X(NO_STEPS, "the program has no step that the recorder knows (a range `step`, a step of " \
	            "PyTorch's profiler, or --pytorch)")                                          \
	X(FEW_STEPS, "the program has 20 steps or fewer")                                         \
	X(OLD_CUPTI, "CUPTI before 13.1 Update 1 cannot switch records off; set "                 \
	             "WARPSHEET_CUPTI_PATH to a later one")                                       \
	X(NESTED, "a step of the program begins inside another one")                              \
	X(UNALIKE, "few steps follow the first 20, or none was expected to repeat one before it")
enum ws_calibrate_obstacle {
	WS_CALIBRATE_DONE,
#define X(name, text) WS_CALIBRATE_##name,
	WS_CALIBRATE_LIST(X)
#undef X
};
#define WS_CAPTURE_FLUSH_MS 1000

/* X(NAME): whether GPU work of a process is recorded, and why not. */
#define WS_GPU_STATE_LIST(X)                                                       \
	X(NONE)          /* the program did not initialize CUDA before it ended */ \
	X(ON)            /* recorded */                                            \
	X(CUPTI_MISSING) /* text: the places searched */                           \
	X(CUPTI_TOO_OLD) /* text: its path */                                      \
	X(CUPTI_LACKS)   /* text: its path, and the function */                    \
	X(OTHER_TOOL)    /* text: the tool's name, may be empty */                 \
	X(NOT_PERMITTED) /* text: the function that was refused */                 \
	X(CUPTI_FAILED)  /* text: the function, and CUPTI's message */

enum ws_gpu_state {
#define X(name) WS_GPU_##name,
	WS_GPU_STATE_LIST(X)
#undef X
};

/* Why GPU work is missing or lacks times: bits. */
enum ws_gpu_stop {
	WS_GPU_STOP_TAKEN = 1,   /* another profiler replaced our buffers by its own */
	WS_GPU_STOP_FATAL = 2,   /* CUPTI met a fatal error and shut down */
	WS_GPU_STOP_CLOCK = 4,   /* another tool gave CUPTI another clock */
	WS_GPU_STOP_FOREIGN = 8, /* buffers of another profiler were handed to us */
	WS_GPU_STOP_SECOND = 16, /* the program has loaded a second CUPTI (ws_seg_gpu.second) */
	WS_GPU_STOP_FLAWED = 32, /* this version of CUPTI has known faults */
	WS_GPU_STOP_LAST = WS_GPU_STOP_FLAWED,
};

/*
 * Sizes of CUPTI's records by kind (CUpti_ActivityKind) in one image of the process. Set before the
 * first buffer of that image.
 */
#define WS_SEG_KINDS      64
#define WS_SEG_MAX_RECORD 2048
#define WS_SEG_IMAGES     4 /* only the newest images; the buffers of earlier ones have been read */
struct ws_seg_sizes {
	_Atomic uint32_t image;         /* 0: none */
	uint16_t of_kind[WS_SEG_KINDS]; /* 0: there are no records of this kind */
};

/*
 * The difference between CUPTI's clock and CLOCK_MONOTONIC, and the time span for which it is
 * valid. It was first read just before from_ns and last just after until_ns. CUPTI's clock is
 * usually CLOCK_REALTIME, so a new entry begins whenever that clock is set. If the clock drifts,
 * apart_ns is the difference at from_ns and grows by drift_ppb. A new drift begins a new entry.
 */
#define WS_SEG_GPU_CLOCKS 64
struct ws_seg_gpu_clock {
	int64_t apart_ns;
	int64_t drift_ppb;
	int64_t from_ns;
	_Atomic int64_t until_ns;
};

/* Written by the collector. `state` is written last. */
struct ws_seg_gpu {
	_Atomic uint32_t state;         /* enum ws_gpu_state */
	int32_t result;                 /* CUptiResult of the failure; 0: none */
	_Atomic uint32_t cupti_version; /* 0 = not loaded */
	_Atomic uint32_t stopped;       /* bits of enum ws_gpu_stop */
	_Atomic uint32_t flush_thread;  /* system id of our own thread, whose calls are left out */
	uint32_t reserved;
	/* cost of the flushes, for which CUPTI has no records */
	_Atomic uint64_t flushes, flush_ns, flush_longest_ns;
	struct ws_seg_sizes sizes[WS_SEG_IMAGES]; /* of image n at n % WS_SEG_IMAGES */
	_Atomic uint32_t nclocks;
	_Atomic int64_t
	        realtime_apart_ns; /* largest difference of CUPTI's clock and CLOCK_REALTIME */
	struct ws_seg_gpu_clock clocks[WS_SEG_GPU_CLOCKS];
	char text[1024];
	char last_error[256]; /* CUPTI's last error during the recording */
	char second[256];     /* path of the second CUPTI that the program has loaded */
};

/* --- from the launcher to every recorded process --- */

/* Set by the launcher with --pytorch. The value "off" excludes a process. */
#define WS_PYTORCH_ENV "WARPSHEET_PYTORCH"

/* Bytes of an output pattern, its NUL included. */
#define WS_MAX_OUTPUT 2048
/* Bytes for the strings about a process. A string that does not fit is left out. */
#define WS_MAX_ENVIRONMENT 1024
#define WS_MAX_COMMAND     4096

/*
 * X(key, variable): environment variables with the rank of a process in a distributed program, in
 * the order of precedence. No other variables are read except those named by %q{NAME} in the output
 * pattern.
 */
#define WS_RANK_VARIABLES(X)                                  \
	X("process.rank", "RANK")                             \
	X("process.rank", "OMPI_COMM_WORLD_RANK")             \
	X("process.rank", "PMIX_RANK")                        \
	X("process.rank", "PMI_RANK")                         \
	X("process.rank", "MV2_COMM_WORLD_RANK")              \
	X("process.rank", "SLURM_PROCID")                     \
	X("process.local_rank", "LOCAL_RANK")                 \
	X("process.local_rank", "OMPI_COMM_WORLD_LOCAL_RANK") \
	X("process.local_rank", "MPI_LOCALRANKID")            \
	X("process.local_rank", "MV2_COMM_WORLD_LOCAL_RANK")  \
	X("process.local_rank", "SLURM_LOCALID")              \
	X("process.world_size", "WORLD_SIZE")                 \
	X("process.world_size", "OMPI_COMM_WORLD_SIZE")       \
	X("process.world_size", "PMI_SIZE")                   \
	X("process.world_size", "MV2_COMM_WORLD_SIZE")        \
	X("process.world_size", "SLURM_NTASKS")

/* Bytes of the pattern of --capture-range, its NUL included. */
#define WS_MAX_RANGE_PATTERN 256

enum ws_window_ranges {
	WS_RANGES_NONE,     /* the whole time span is recorded */
	WS_RANGES_NVTX,     /* only NVTX ranges whose name matches the pattern */
	WS_RANGES_PROFILER, /* only from cudaProfilerStart to cudaProfilerStop */
};

/* When to record; all 0: always. */
struct ws_seg_window {
	int64_t begin_ns;     /* CLOCK_MONOTONIC, 0 = the beginning */
	int64_t duration_ns;  /* from begin_ns; 0: no end */
	uint64_t first, last; /* numbers of the instances of ranges to record, from 1 */
	uint32_t ranges;      /* enum ws_window_ranges */
	char pattern[WS_MAX_RANGE_PATTERN];
};

enum ws_profiler_state {
	WS_PROFILER_OFF,
	WS_PROFILER_ON,   /* started; this instance is not to be recorded */
	WS_PROFILER_KEPT, /* started; this instance is to be recorded */
};

/* Set by the launcher before the program starts. Further segments get a copy. */
struct ws_seg_plan {
	uint32_t no_args; /* 1: arguments of programs are not stored, not even in the segment */
	char output[WS_MAX_OUTPUT]; /* pattern of the traces' names; absolute */
	uint32_t keep_existing;     /* 1: no file is replaced; the trace gets a number instead */
	struct ws_seg_window window;
};

/* What `warpsheet ctl` wants of a process started with --standby. In one word, so that it is always
 * whole. */
union ws_seg_request {
	struct {
		uint64_t number : 16;  /* another one with each request */
		uint64_t is_start : 1; /* 0: stop */
		uint64_t is_now : 1;   /* 1: do not wait for a step */
		uint64_t steps : 14;   /* to record; 0: until it is stopped */
		uint64_t first : 32; /* the first of them, or of those left out; 0: the next one */
	};
	uint64_t word;
};
#define WS_STANDBY_MAX_STEPS 9999

/* Of a process started with --standby. docs/dev/recorder.md, 11. */
struct ws_seg_standby {
	_Atomic uint64_t
	        request; /* union ws_seg_request; written by `warpsheet ctl` and launchers */
	/* written by the collector */
	_Atomic uint64_t steps;       /* begun so far, recorded or not */
	_Atomic uint64_t windows;     /* begun so far */
	_Atomic uint64_t first, last; /* the steps to be recorded; last UINT64_MAX: no limit */
	_Atomic int64_t since_ns;     /* of the present state, CLOCK_MONOTONIC; 0: the beginning */
	_Atomic uint32_t is_recording;
	_Atomic uint32_t taken;  /* number of the last request that was read */
	_Atomic uint32_t missed; /* number of the last request whose first step had passed */
	_Atomic uint32_t dumps;  /* requests of `warpsheet ctl dump`, which writes it */
	/* written by the launcher, for `warpsheet ctl status` */
	_Atomic uint64_t kernels, ranges, lost;
};

/* Part of the segment's header. */
struct ws_seg_control {
	/* written by the collector before `attached`, as the process may have ended when the
	   launcher reads them. Each string ends with a NUL; an empty string ends the list. */
	char environment[WS_MAX_ENVIRONMENT]; /* NAME=VALUE */
	char command[WS_MAX_COMMAND];         /* path of the program, its arguments */

	_Atomic uint64_t instances;       /* ranges of --capture-range begun so far */
	_Atomic uint64_t instances_ended; /* ended ranges among those to be recorded */
	_Atomic uint32_t profiler;        /* enum ws_profiler_state */

	/* written by both sides */
	_Atomic uint32_t has_ended; /* 1: work that begins later is not recorded */
	_Atomic uint64_t noutside;  /* events left out because they are outside the window */
	_Atomic uint32_t calibrate; /* enum ws_calibrate_obstacle, of the program's steps so far */

	/* written by the launcher */
	_Atomic int64_t stop_ns; /* CLOCK_MONOTONIC: later work is not recorded; 0: no limit */

	struct ws_seg_standby standby;

	/* written by the collector, in the first segment only */
	_Atomic uint32_t processes; /* number of further segments */
	_Atomic uint32_t no_room;   /* pid of a process whose segment had no room */
};

/* --- the layout --- */

#define WS_SEG_MAGIC   UINT64_C(0x31474553534c5157) /* "WQLSSEG1" */
#define WS_SEG_VERSION 20
/* Bytes of the part of the header that does not change after the segment is made. It fills whole
 * pages of any size in use, so that each side can map a private copy of it. */
#define WS_SEG_FIXED_SIZE         65536
#define WS_SEG_SPARE              32768 /* position of its copy in the file */
#define WS_SEG_HEADER_SIZE        (WS_SEG_FIXED_SIZE + 20480)
#define WS_SEG_ENV                "WARPSHEET_SEGMENT"
#define WS_SEG_PAGE               4096u
#define WS_SEG_MAX_THREAD_BUFFERS 8192
#define WS_SEG_MIN_RING           4096u
#define WS_SEG_MAX_RING           (UINT32_C(1) << 30)
#define WS_SEG_MAX_DEFS           (UINT64_C(1) << 28)
#define WS_SEG_SLOTS              128 /* buffers for CUPTI: enough for some 450,000 launches … */
#define WS_SEG_SLOT_SIZE \
	(UINT64_C(1) << 20) /* … bytes of a buffer; each launching thread uses one */
#define WS_SEG_MAX_SLOTS    1024
#define WS_SEG_MIN_SLOT     4096u
#define WS_SEG_MAX_SLOT     (UINT64_C(1) << 26)
#define WS_SEG_MAX_DOMAINS  256 /* domain 0 is the default domain */
#define WS_SEG_MAX_KERNELS  8   /* CPU kernels open at once on a thread */
#define WS_SEG_KERNEL_TEXT  256 /* bytes of a CPU kernel's name */
#define WS_SEG_KERNEL_BYTES 224 /* bytes of a CPU kernel's payload */

enum ws_seg_state {
	WS_SEG_OPEN = 1,   /* processes may attach */
	WS_SEG_CLOSED = 2, /* the trace is finished */
	WS_SEG_ENDING = 3, /* not finished, but no more processes may attach */
};

/* An array of parts of equal size; count 0: absent. */
struct ws_seg_region {
	uint64_t offset;
	uint64_t stride; /* bytes from the start of one to the start of the next */
	uint32_t count;
	uint32_t reserved;
};

/* The fields of a struct ws_proc. */
struct ws_seg_process {
	_Atomic uint32_t pid; /* 0: none; written last */
	uint32_t reserved;
	uint64_t start_ticks;
	uint64_t namespace;
};

static inline struct ws_proc ws_seg_process(const struct ws_seg_process *p)
{
	return (struct ws_proc){atomic_load(&p->pid), p->start_ticks, p->namespace};
}

static inline void ws_seg_set_process(struct ws_seg_process *p, struct ws_proc process)
{
	p->start_ticks = process.start_ticks;
	p->namespace = process.namespace;
	atomic_store(&p->pid, process.pid);
}

/* Positions of all parts. They depend only on struct ws_seg_opts. */
#define WS_SEG_LAYOUT                                                                         \
	uint64_t total_size;                                                                  \
	uint64_t commit_offset, commit_stride; /* two struct ws_seg_commit */                 \
	uint64_t threads_offset; /* one enum ws_thread_buffer_state for each thread buffer */ \
	uint64_t slots_offset;   /* one struct ws_slot for each buffer for CUPTI */           \
	uint64_t defs_offset, defs_size;                                                      \
	uint64_t thread_buffers_offset, thread_buffer_stride;                                 \
	uint32_t thread_buffer_count;                                                         \
	uint32_t ring_size;            /* bytes, a power of two */                            \
	struct ws_seg_region activity; /* buffers for CUPTI: slots */
struct ws_seg_layout {
	WS_SEG_LAYOUT
};

struct ws_seg_header {
	union {
		struct { /* fixed when the segment is made */
			uint64_t magic;
			uint32_t version;
			uint32_t header_size;
			union {
				struct {
					WS_SEG_LAYOUT
				};
				struct ws_seg_layout layout;
			};
			uint64_t grows;  /* 1: pages get memory by ws_seg_populate(), not all at the
			                    start */
			int64_t base_ns; /* CLOCK_MONOTONIC at time 0 of the trace */
			int64_t base_realtime_ns; /* CLOCK_REALTIME at time 0 */
			int64_t base_raw_ns;      /* CLOCK_MONOTONIC_RAW at time 0 */
			uint64_t boot; /* id of the boot whose clocks these are; 0: unknown */
			struct ws_seg_capture capture;
			struct ws_seg_plan plan;
			uint64_t fixed_check; /* of all fields before it; 0 until ws_seg_seal() */
		};
		uint8_t fixed_pages[WS_SEG_FIXED_SIZE];
	};

	/* written by the collector */
	_Alignas(64) struct ws_seg_process owner; /* the process that is recorded */
	_Atomic uint64_t owner_image;             /* bytes of AT_RANDOM, which change with exec */
	_Atomic uint32_t attached;                /* 1 once the owner's fields are all set */
	_Atomic uint32_t images;                  /* 1, and one more after each exec */
	_Atomic uint32_t modules;     /* number of ELF modules that called the collector */
	_Atomic uint32_t next_thread; /* last thread id used; ids start at 1 */
	_Atomic uint32_t next_domain;
	_Atomic uint64_t next_schema; /* number of dynamic schema and enum ids used */
	_Atomic uint64_t next_range;
	_Alignas(64) _Atomic uint64_t defs_head; /* bytes of complete definitions in the log */
	uint64_t defs_ready;                     /* bytes of the log that have memory */
	_Alignas(64) _Atomic uint64_t lost[WS_DROPPED_COUNT];
	struct ws_seg_gpu gpu;

	/* written by both sides */
	_Alignas(64) _Atomic uint64_t slots_free[WS_SEG_MAX_SLOTS / 64]; /* bit set: free */
	_Atomic uint64_t slots_done;    /* number of slots finished so far */
	_Atomic uint32_t slots_no_room; /* 1: no memory for another slot, or all exist */

	/* written by the launcher */
	_Alignas(64) _Atomic uint32_t state; /* enum ws_seg_state */
	struct ws_seg_process launcher;
	_Atomic uint32_t thread_buffers_freed; /* when it grows, searching again makes sense */
	int64_t realtime_apart_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC, last read; 0: never */
	int64_t realtime_largest_step_ns; /* largest step seen so far */
	struct ws_seg_process started;    /* the started program, which may not have attached */
	char trace_path[PATH_MAX];        /* absolute */
	char renamed_path[PATH_MAX];      /* the new path while it is being renamed; else "" */

	struct ws_seg_control control;
};

/* A buffer of CUPTI's. */
struct ws_slot {
	_Alignas(64) _Atomic uint64_t
	        done;   /* 0: free or used by CUPTI; else its number in the order of finishing */
	uint64_t valid; /* bytes of records, once done */
	_Atomic uint32_t room; /* enum ws_seg_room */
	uint32_t image;        /* image of the process that took it */
	uint32_t unfinished; /* 1: its process ended while filling it, so the end of the records is
	                        unknown */
	int64_t taken_ns;    /* CLOCK_MONOTONIC: its records were written after this time … */
	int64_t done_ns;     /* … and before; 0: not done */
};

/* State of the trace file. Followed by tails[thread_buffer_count], and for each slot the `done` of
 * the last slot read. Of two complete commits the one with the higher number is valid. */
struct ws_seg_commit {
	uint64_t number;    /* from 1; commit n is in slot n % 2 */
	uint64_t check;     /* checksum of the number and of all bytes after this field */
	uint64_t file_size; /* committed bytes of the trace */
	uint64_t defs_pos;  /* definitions before it are in the file */
	uint64_t next_correlation;
	uint64_t counted[WS_DROPPED_COUNT]; /* losses of the launcher, restored from a commit */
	uint64_t flags;                     /* enum ws_commit_flag */
	uint64_t gpus;                      /* bit n: device n has a row */
	uint64_t tails[];
};

enum ws_commit_flag {
	WS_COMMIT_CPU_DEVICE = 1, /* the row of the CPU reference device is written */
	WS_COMMIT_ENDED = 2,      /* the rows at the end of the trace are written */
	WS_COMMIT_SETTLED = 4,    /* the name of the trace is final */
};

/* State of a part of a growing segment. Only parts that are ready may be read or written. */
enum ws_seg_room {
	WS_ROOM_NONE,
	WS_ROOM_COMING, /* a thread is getting its memory, or giving it back */
	WS_ROOM_READY,
};

/*
 * All transitions. Only one side may change a given state:
 *
 *   NONE   -> COMING   program: a thread without a buffer, by compare-and-swap
 *   COMING -> OWNED    program: the same thread, once the buffer has its memory
 *   COMING -> NONE     program: the same thread, when there is no room for it; or the next image
 *                      of the process, when exec ended that thread
 *   OWNED  -> LEFT     program: the owner, as it ends; or the next image, when exec ended it
 *   OWNED  -> FREE     program: the owner, when the thread cannot be defined; its ring is empty
 *   FREE   -> OWNED    program: a thread without a buffer, by compare-and-swap
 *   LEFT   -> FREE     launcher: everything in the ring is committed
 *
 * 1. Memory: OWNED is first entered from COMING, by a thread that has fetched the memory. From
 *    OWNED, LEFT and FREE no transition leads to NONE or COMING. So a buffer that was once FREE or
 *    above keeps its memory, and the launcher may read it whatever state follows.
 * 2. No lost update: the launcher writes a state in LEFT only. There the program writes none: its
 *    threads take FREE and NONE buffers, and the owner is gone. So neither side ever overwrites a
 *    transition of the other one.
 * 3. Nothing is read twice or skipped: the launcher loads the state before the head. LEFT means
 *    that the head is final, since the owner stored it before LEFT (release, acquire). The next
 * owner starts at that head, in a ring of which the launcher has committed everything.
 *
 * A NONE or COMING buffer that the launcher has seen at FREE or above is therefore damage.
 */
enum ws_thread_buffer_state {
	WS_THREAD_BUFFER_NONE = WS_ROOM_NONE,
	WS_THREAD_BUFFER_COMING = WS_ROOM_COMING,
	WS_THREAD_BUFFER_FREE = WS_ROOM_READY,
	WS_THREAD_BUFFER_OWNED,
	WS_THREAD_BUFFER_LEFT, /* its thread ended */
	WS_THREAD_BUFFER_STATES,
};

/* An open CPU kernel, between its push and its pop. */
struct ws_thread_buffer_kernel {
	int64_t start_ns;
	uint64_t schema; /* of the payload, 0 = none */
	uint32_t string; /* registered name, 0: text */
	uint16_t text_size;
	uint16_t payload_size;
	char text[WS_SEG_KERNEL_TEXT];
	uint8_t payload[WS_SEG_KERNEL_BYTES];
};

/*
 * A thread's ring, and the counts that keep its ranges properly nested. The ring's bytes follow the
 * struct. The launcher reads only `thread` and the ring; the other fields are used by the thread
 * only.
 */
struct ws_thread_buffer {
	struct ws_ring ring;
	uint32_t ready;     /* bytes of the ring that have memory */
	uint32_t thread;    /* id in the trace; changes only while the ring is empty */
	uint32_t pops_owed; /* open recorded pushes: room for their pops is reserved */
	uint32_t kernels;   /* open CPU kernels, dropped ones included */
	/* stack address of the code that is writing a record; 0: none */
	_Atomic uintptr_t writer;
	struct {
		uint32_t open;    /* pushes without a pop yet, dropped ones included */
		uint32_t dropped; /* how many of them, the innermost ones, were dropped */
	} domains[WS_SEG_MAX_DOMAINS];
	/* a bit per domain: they were dropped because a step is not recorded, which is no loss */
	uint64_t unrecorded[WS_SEG_MAX_DOMAINS / 64];
	struct {
		uint32_t is_open;       /* 1: inside a range of --capture-range */
		uint32_t domain, level; /* of that range */
		uint32_t is_kept;       /* 1: this instance is to be recorded */
	} range;
	struct ws_thread_buffer_kernel kernel[WS_SEG_MAX_KERNELS];
};
#define WS_THREAD_BUFFER_HEADER_SIZE 8192

_Static_assert(sizeof(struct ws_seg_header) <= WS_SEG_HEADER_SIZE, "header grew");
_Static_assert(offsetof(struct ws_seg_header, fixed_check) + 8 <= WS_SEG_PAGE,
               "the fixed part of the header grew");
_Static_assert(sizeof(union ws_seg_request) == 8, "a request is one word");
_Static_assert(sizeof(struct ws_thread_buffer) <= WS_THREAD_BUFFER_HEADER_SIZE,
               "the header of a thread buffer grew");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
               "atomics in shared memory must be lock-free");

struct ws_seg_opts {
	uint32_t thread_buffers; /* 1 … WS_SEG_MAX_THREAD_BUFFERS */
	uint32_t ring_size;      /* bytes, a power of two, WS_SEG_MIN_RING … WS_SEG_MAX_RING */
	uint64_t defs_size;      /* bytes, a multiple of 4096, 4096 … WS_SEG_MAX_DEFS */
	uint32_t slots;          /* 0 … WS_SEG_MAX_SLOTS; 0: no CUPTI */
	uint64_t slot_size; /* bytes, a multiple of 4096, WS_SEG_MIN_SLOT … WS_SEG_MAX_SLOT */
	/* number of thread buffers and size of their rings in a segment that cannot grow, where all
	 * memory is reserved; 0: as above */
	uint32_t reserved_thread_buffers, reserved_ring_size;
	uint32_t grows; /* 1: only the first ws_seg_first_size() bytes have memory */
};

static inline struct ws_seg_opts ws_seg_opts_of(const struct ws_seg_header *seg)
{
	return (struct ws_seg_opts){
	        .thread_buffers = seg->thread_buffer_count,
	        .ring_size = seg->ring_size,
	        .defs_size = seg->defs_size,
	        .slots = seg->activity.count,
	        .slot_size = seg->activity.stride,
	        .grows = seg->grows != 0,
	};
}

/* Bytes of a segment with these options; 0: an option is out of range. */
uint64_t ws_seg_size(const struct ws_seg_opts *opts);
/* Bytes of it that a normal recording may need. A recording does not start without room for
 * them. */
uint64_t ws_seg_room(const struct ws_seg_opts *opts);
/* Bytes of a growing segment that need memory from the start. */
uint64_t ws_seg_first_size(const struct ws_seg_opts *opts);
/* Initializes a segment in ws_seg_size(opts) zeroed bytes. */
void ws_seg_init(void *mem, const struct ws_seg_opts *opts);
/* Gets memory for size bytes at `from`, so that writing there cannot fail. 0: success; -1: no
 * room. */
int ws_seg_populate(const struct ws_seg_header *seg, void *from, uint64_t size);
/* The same without a header; -1 also on systems that cannot do it (Linux before 5.14). */
int ws_seg_populate_pages(void *from, uint64_t size);
/* Gives their memory back. They read as zeros then, and must be populated before they are used
 * again. 0: success; -1: a segment that does not grow, or the system cannot do it. */
int ws_seg_give_back(const struct ws_seg_header *seg, void *from, uint64_t size);
/* Called once all fixed fields are set: adds their checksum and makes the second copy. */
void ws_seg_seal(struct ws_seg_header *seg);
/*
 * Checks the fixed part of a header. NULL: it is sealed and undamaged, and all regions are inside a
 * file of size bytes (before it was cut short, if it was). Otherwise a text with the reason.
 */
const char *ws_seg_problem(const struct ws_seg_header *seg, uint64_t size);

/* Whether a time is small enough that sums and differences of a few such times fit in 64 bits. */
bool ws_seg_is_time(int64_t ns);

/* Used bytes of a commit. */
uint64_t ws_seg_commit_size(const struct ws_seg_header *seg);
/* Stores a commit and gives it the next number. If the process is killed meanwhile, the previous
 * commit stays valid. */
void ws_seg_commit_write(const struct ws_seg_header *seg, struct ws_seg_commit *commit);
/* Copies the last complete commit, ws_seg_commit_size() bytes. False: there is none. */
bool ws_seg_commit_read(const struct ws_seg_header *seg, struct ws_seg_commit *out);

/* enum ws_thread_buffer_state of a thread buffer */
static inline _Atomic uint32_t *ws_seg_thread_state(const struct ws_seg_header *seg, uint32_t i)
{
	return (_Atomic uint32_t *)((char *)seg + seg->threads_offset) + i;
}

/* Whether a buffer has memory. Acquire: everything written by a thread that released it is
 * visible. */
static inline bool ws_seg_has_thread_buffer(const struct ws_seg_header *seg, uint32_t i)
{
	const uint32_t state =
	        atomic_load_explicit(ws_seg_thread_state(seg, i), memory_order_acquire);

	return state >= WS_THREAD_BUFFER_FREE && state < WS_THREAD_BUFFER_STATES;
}

static inline struct ws_thread_buffer *ws_seg_thread_buffer(const struct ws_seg_header *seg,
                                                            uint32_t i)
{
	return (struct ws_thread_buffer *)((char *)seg + seg->thread_buffers_offset +
	                                   i * seg->thread_buffer_stride);
}

static inline uint8_t *ws_thread_buffer_bytes(struct ws_thread_buffer *thread_buffer)
{
	return (uint8_t *)thread_buffer + WS_THREAD_BUFFER_HEADER_SIZE;
}

static inline uint8_t *ws_seg_defs(const struct ws_seg_header *seg)
{
	return (uint8_t *)seg + seg->defs_offset;
}

static inline struct ws_seg_commit *ws_seg_commit_slot(const struct ws_seg_header *seg, uint32_t i)
{
	return (struct ws_seg_commit *)((char *)seg + seg->commit_offset + i * seg->commit_stride);
}

static inline struct ws_slot *ws_seg_slot(const struct ws_seg_header *seg, uint32_t i)
{
	return (struct ws_slot *)((char *)seg + seg->slots_offset) + i;
}

static inline uint8_t *ws_slot_bytes(const struct ws_seg_header *seg, uint32_t i)
{
	return (uint8_t *)seg + seg->activity.offset + i * seg->activity.stride;
}

static inline void ws_seg_count(struct ws_seg_header *seg, enum ws_dropped cause, uint64_t n)
{
	atomic_fetch_add_explicit(&seg->lost[cause], n, memory_order_relaxed);
}

/* --- slots --- */

/*
 * The pool of buffers that CUPTI fills. A slot with memory is free (its bit is set), used by CUPTI
 * (bit clear, done 0) or done (done is its number). Free ones beyond need lose their memory. Any
 * thread can take one in a few instructions without a lock. The launcher reads slots that are done.
 * Once their rows are committed it clears and frees them.
 *
 * If a launcher is killed between clearing `done` and setting the bit, the slot is lost until the
 * program ends.
 */

/*
 * Marks in records: a pointer to text is replaced by the text's id in the definition log, and the
 * system's id of a thread by its id in the trace. The collector does this while the pointers are
 * valid. No address has the first bit, no thread id of Linux the second.
 */
#define WS_SLOT_TEXT_ID   (UINT64_C(1) << 63)
#define WS_SLOT_THREAD_ID (UINT32_C(1) << 31)

/* --- producer --- */

/* Gets memory for one more slot, which the caller owns. -1: all exist, or no room. */
static inline int ws_slot_grow(struct ws_seg_header *seg)
{
	for (uint32_t i = 0; i < seg->activity.count; i++) {
		_Atomic uint32_t *room = &ws_seg_slot(seg, i)->room;
		uint32_t none = WS_ROOM_NONE;

		if (!atomic_compare_exchange_strong(room, &none, WS_ROOM_COMING))
			continue;
		int failed = ws_seg_populate(seg, ws_slot_bytes(seg, i), seg->activity.stride);
		atomic_store(&seg->slots_no_room, failed != 0);
		atomic_store(room, failed ? WS_ROOM_NONE : WS_ROOM_READY);
		return failed ? -1 : (int)i;
	}
	atomic_store(&seg->slots_no_room, 1);
	return -1;
}

/*
 * Gives the memory of the last free slot back; slots are taken from the first one on. Only the
 * program does this, as it alone makes slots: it has the slot like one that CUPTI uses, so if it is
 * killed meanwhile the slot is read as empty, or does not exist. False: none is free, or its memory
 * stays.
 */
static inline bool ws_slot_shrink(struct ws_seg_header *seg)
{
	for (uint32_t i = seg->activity.count; i--;) {
		const uint64_t bit = UINT64_C(1) << (i % 64);
		_Atomic uint32_t *room = &ws_seg_slot(seg, i)->room;

		if (!(atomic_load(&seg->slots_free[i / 64]) & bit) ||
		    !(atomic_fetch_and(&seg->slots_free[i / 64], ~bit) & bit))
			continue;
		atomic_store(room, WS_ROOM_COMING);
		if (ws_seg_give_back(seg, ws_slot_bytes(seg, i), seg->activity.stride)) {
			atomic_store(room, WS_ROOM_READY);
			atomic_fetch_or(&seg->slots_free[i / 64], bit);
			return false;
		}
		atomic_store(room, WS_ROOM_NONE);
		atomic_store(&seg->slots_no_room, 0);
		return true;
	}
	return false;
}

/* Takes a free slot; -1: none. */
static inline int ws_slot_take_free(struct ws_seg_header *seg)
{
	for (uint32_t w = 0; w < WS_SEG_MAX_SLOTS / 64; w++) {
		uint64_t bits = atomic_load_explicit(&seg->slots_free[w], memory_order_relaxed);

		while (bits) {
			uint64_t lowest = bits & -bits;
			uint64_t before = atomic_fetch_and_explicit(&seg->slots_free[w], ~lowest,
			                                            memory_order_acquire);

			if (before & lowest)
				return (int)w * 64 + __builtin_ctzll(lowest);
			bits = before & ~lowest;
		}
	}
	return -1;
}

/*
 * Takes a slot; -1: none. If none is free, makes one more, which takes time. After a failure this
 * is not tried at every launch.
 */
static inline int ws_slot_take(struct ws_seg_header *seg, uint32_t image)
{
	int i = ws_slot_take_free(seg);

	if (i < 0 && !atomic_load_explicit(&seg->slots_no_room, memory_order_relaxed))
		i = ws_slot_grow(seg);
	if (i < 0)
		return -1;
	ws_seg_slot(seg, (uint32_t)i)->image = image;
	ws_seg_slot(seg, (uint32_t)i)->taken_ns = ws_clock_ns(CLOCK_MONOTONIC);
	return i;
}

/* Number of free slots. */
static inline uint32_t ws_slots_free(const struct ws_seg_header *seg)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < WS_SEG_MAX_SLOTS / 64; w++)
		n += (uint32_t)__builtin_popcountll(
		        atomic_load_explicit(&seg->slots_free[w], memory_order_relaxed));
	return n;
}

/* Returns an unused slot. */
static inline void ws_slot_put_back(struct ws_seg_header *seg, uint32_t i)
{
	atomic_fetch_or_explicit(&seg->slots_free[i / 64], UINT64_C(1) << (i % 64),
	                         memory_order_release);
}

/* Hands a slot to the launcher. Its first `valid` bytes are records. */
static inline void ws_slot_finish(struct ws_seg_header *seg, uint32_t i, uint64_t valid)
{
	struct ws_slot *slot = ws_seg_slot(seg, i);

	slot->valid = valid;
	slot->done_ns = ws_clock_ns(CLOCK_MONOTONIC);
	atomic_store_explicit(&slot->done, atomic_fetch_add(&seg->slots_done, 1) + 1,
	                      memory_order_release);
}

static inline int ws_slot_is_free(const struct ws_seg_header *seg, uint32_t i)
{
	return (int)(atomic_load(&seg->slots_free[i / 64]) >> (i % 64) & 1);
}

/* Whether a slot exists and is used by CUPTI or done. */
static inline bool ws_slot_is_used(const struct ws_seg_header *seg, uint32_t i)
{
	return atomic_load(&ws_seg_slot(seg, i)->room) == WS_ROOM_READY && !ws_slot_is_free(seg, i);
}

/*
 * Marks the slots that CUPTI used when its process or image ended as done, as far as they were
 * written. Called only when nothing can write into them any more.
 */
static inline void ws_slots_give_up(struct ws_seg_header *seg)
{
	for (uint32_t i = 0; i < seg->activity.count; i++) {
		struct ws_slot *slot = ws_seg_slot(seg, i);
		uint32_t coming = WS_ROOM_COMING;

		atomic_compare_exchange_strong(&slot->room, &coming, WS_ROOM_NONE);
		if (!ws_slot_is_used(seg, i) || atomic_load(&slot->done))
			continue;
		slot->unfinished = 1;
		ws_slot_finish(seg, i, seg->activity.stride);
	}
}

/* --- consumer --- */

/* Bytes of records in a slot. Read only once, as the program can change it at any time. */
static inline uint64_t ws_slot_valid(const struct ws_seg_header *seg, uint32_t i)
{
	const uint64_t valid = *(const volatile uint64_t *)&ws_seg_slot(seg, i)->valid;

	return valid < seg->activity.stride ? valid : seg->activity.stride;
}

/* Clears a slot, as CUPTI requires, and frees it. Called once its rows are in the file. */
static inline void ws_slot_return(struct ws_seg_header *seg, uint32_t i)
{
	struct ws_slot *slot = ws_seg_slot(seg, i);
	const uint64_t used = ws_slot_valid(seg, i);

	memset(ws_slot_bytes(seg, i), 0, used);
	slot->valid = 0;
	slot->unfinished = 0;
	slot->done_ns = 0;
	atomic_store_explicit(&slot->done, 0, memory_order_relaxed);
	ws_slot_put_back(seg, i);
}
