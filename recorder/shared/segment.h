/*
 * The shared segment: the memory between the traced program, which only
 * produces, and the launcher, which only consumes. docs/dev/recorder.md
 * describes how it is used; this header is its layout. Nothing here opens, maps
 * or allocates, and it needs no library but libc, because the collector
 * compiles it too. Whoever changes the layout changes WS_SEG_VERSION.
 */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/schema/loss.h"
#include "recorder/shared/record.h"
#include "recorder/shared/system.h"

/* --- what is to be recorded, and how it went with CUDA --- */

/* What is recorded of PyTorch's operations. */
enum ws_capture_pytorch {
	WS_PYTORCH_OFF,
	WS_PYTORCH_NAMES,
	WS_PYTORCH_SHAPES, /* names, and shapes, types and scalars of the inputs */
};

enum ws_capture_api {
	WS_CAPTURE_LAUNCHES, /* calls that launch, copy, wait, allocate or load; the default */
	WS_CAPTURE_ALL,
	WS_CAPTURE_NO_API, /* no calls; a kernel is then not linked to the call that launched it */
};

/* Written by the launcher before the program starts. All 0 is the default. */
struct ws_seg_capture {
	uint32_t no_cupti;            /* 1: no CUPTI at all; NVTX is recorded */
	uint32_t api;                 /* enum ws_capture_api */
	uint32_t graph_level;         /* 1: a graph launch is one row; 0: each node is */
	uint32_t kernels_only;        /* no copies, waits, allocations, overhead */
	uint32_t flush_interval_ms;   /* 0 = WS_CAPTURE_FLUSH_MS */
	uint32_t cpu_time_quantum_ns; /* API and NVTX times are rounded to it, 0 = as they are */
	uint32_t pytorch;             /* enum ws_capture_pytorch */
};
#define WS_CAPTURE_FLUSH_MS 1000

/* X(NAME): whether GPU work of a process is recorded, and why not. */
#define WS_GPU_STATE_LIST(X)                                                              \
	X(NONE)          /* the program never initialized CUDA, or not before it ended */ \
	X(ON)            /* recorded */                                                   \
	X(CUPTI_MISSING) /* text: where it was looked for */                              \
	X(CUPTI_TOO_OLD) /* text: its path */                                             \
	X(CUPTI_LACKS)   /* text: its path, and the function */                           \
	X(OTHER_TOOL)    /* text: its name, may be empty */                               \
	X(NOT_PERMITTED) /* text: the function that was refused */                        \
	X(CUPTI_FAILED)  /* text: the function, and CUPTI's words */

enum ws_gpu_state {
#define X(name) WS_GPU_##name,
	WS_GPU_STATE_LIST(X)
#undef X
};

/* Why GPU work is missing or lacks times: bits. */
enum ws_gpu_stop {
	WS_GPU_STOP_TAKEN = 1,   /* another profiler registered its buffers in place of ours */
	WS_GPU_STOP_FATAL = 2,   /* CUPTI met a fatal error and shut down */
	WS_GPU_STOP_CLOCK = 4,   /* another tool gave CUPTI another clock */
	WS_GPU_STOP_FOREIGN = 8, /* buffers of another profiler were handed to us */
	WS_GPU_STOP_SECOND = 16, /* the program has loaded a second CUPTI (ws_seg_gpu.second) */
	WS_GPU_STOP_FLAWED = 32, /* this version of CUPTI has known faults */
	WS_GPU_STOP_LAST = WS_GPU_STOP_FLAWED,
};

/*
 * Bytes of a record of each kind of activity (CUpti_ActivityKind), as the iterator of the CUPTI in
 * one image of the process steps. Set before the first buffer of that image.
 */
#define WS_SEG_KINDS      64
#define WS_SEG_MAX_RECORD 2048
#define WS_SEG_IMAGES     4 /* the newest images; the buffers of earlier ones are read by then */
struct ws_seg_sizes {
	_Atomic uint32_t image;         /* 0: none */
	uint16_t of_kind[WS_SEG_KINDS]; /* 0: there are no records of it */
};

/*
 * One distance of CUPTI's clock from CLOCK_MONOTONIC, and the span in which it held: it was first
 * read just before from_ns and last just after until_ns. CUPTI's clock mostly is CLOCK_REALTIME, so
 * each step of that clock begins another entry. If the clock drifts, apart_ns is the distance at
 * from_ns and grows by drift_ppb; a new drift begins another entry.
 */
#define WS_SEG_GPU_CLOCKS 64
struct ws_seg_gpu_clock {
	int64_t apart_ns;
	int64_t drift_ppb;
	int64_t from_ns;
	_Atomic int64_t until_ns;
};

/* Written by the collector; state last. */
struct ws_seg_gpu {
	_Atomic uint32_t state;         /* enum ws_gpu_state */
	int32_t result;                 /* CUptiResult that decided, 0 = none */
	_Atomic uint32_t cupti_version; /* 0 = not loaded */
	_Atomic uint32_t stopped;       /* bits of enum ws_gpu_stop */
	_Atomic uint32_t flush_thread;  /* system id of our own thread, whose calls make no rows */
	uint32_t reserved;
	/* what the flushes cost; CUPTI has no records of that */
	_Atomic uint64_t flushes, flush_ns, flush_longest_ns;
	struct ws_seg_sizes sizes[WS_SEG_IMAGES]; /* of image n at n % WS_SEG_IMAGES */
	_Atomic uint32_t nclocks;
	_Atomic int64_t realtime_apart_ns; /* CUPTI's clock less CLOCK_REALTIME: the largest */
	struct ws_seg_gpu_clock clocks[WS_SEG_GPU_CLOCKS];
	char text[1024];
	char last_error[256]; /* what CUPTI last reported while recording */
	char second[256];     /* path of the second CUPTI that the program has loaded */
};

/* --- what the launcher says to every process that it records --- */

/* Set by the launcher with --pytorch; "off" in it keeps a process out. */
#define WS_PYTORCH_ENV "WARPSHEET_PYTORCH"

/* Bytes of an output pattern, its NUL included. */
#define WS_MAX_OUTPUT 2048
/* Bytes of the strings about a process; one that does not fit is left out. */
#define WS_MAX_ENVIRONMENT 1024
#define WS_MAX_COMMAND     4096

/*
 * X(key, variable): the variables of a process's environment that hold its
 * place in a distributed program, in the order of precedence. Of the rest of
 * the environment only what %q{NAME} of the output pattern names is read.
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
	WS_RANGES_NONE,     /* everything in the span is recorded */
	WS_RANGES_NVTX,     /* only in NVTX ranges whose name fits the pattern */
	WS_RANGES_PROFILER, /* only from cudaProfilerStart to cudaProfilerStop */
};

/* When to record; all 0: always. */
struct ws_seg_window {
	int64_t begin_ns;     /* CLOCK_MONOTONIC, 0 = the beginning */
	int64_t duration_ns;  /* from then, 0 = for ever */
	uint64_t first, last; /* instances of ranges, from 1 */
	uint32_t ranges;      /* enum ws_window_ranges */
	char pattern[WS_MAX_RANGE_PATTERN];
};

enum ws_profiler_state {
	WS_PROFILER_OFF,
	WS_PROFILER_ON,   /* started; this instance is not to be recorded */
	WS_PROFILER_KEPT, /* started; this instance is to be recorded */
};

/* Fixed by the launcher before the program starts; further segments get a copy. */
struct ws_seg_plan {
	uint32_t no_args;           /* 1: arguments of programs are not kept, not even here */
	char output[WS_MAX_OUTPUT]; /* absolute pattern of the traces' names */
	uint32_t keep_existing;     /* 1: no file is replaced; the trace gets another name */
	struct ws_seg_window window;
};

/* Part of the segment's header. */
struct ws_seg_control {
	/* written by the collector before `attached`, as the process may be gone when the launcher
	   looks. Strings that end with a NUL each; an empty one ends the list. */
	char environment[WS_MAX_ENVIRONMENT]; /* NAME=VALUE */
	char command[WS_MAX_COMMAND];         /* path of the program, its arguments */

	_Atomic uint64_t instances;       /* ranges of --capture-range that began */
	_Atomic uint64_t instances_ended; /* of those to be recorded, the ones that ended */
	_Atomic uint32_t profiler;        /* enum ws_profiler_state */

	/* written by both sides */
	_Atomic uint32_t has_ended; /* 1: nothing that begins from now on is recorded */
	_Atomic uint64_t noutside;  /* events outside the window, which were left out */

	/* written by the launcher */
	_Atomic int64_t stop_ns; /* CLOCK_MONOTONIC: nothing later is recorded; 0: no limit */

	/* written by the collector, in the first segment only */
	_Atomic uint32_t processes; /* further segments that were made */
	_Atomic uint32_t no_room;   /* pid of a process for whose segment there was no room */
};

/* --- the layout --- */

#define WS_SEG_MAGIC   UINT64_C(0x31474553534c5157) /* "WQLSSEG1" */
#define WS_SEG_VERSION 13
/* The part of the header that is fixed when the segment is made. It has pages of its own, whatever
 * the size of a page is, so that each side can put a private copy in its place. */
#define WS_SEG_FIXED_SIZE         65536
#define WS_SEG_SPARE              32768 /* position of its second copy in the file */
#define WS_SEG_HEADER_SIZE        (WS_SEG_FIXED_SIZE + 20480)
#define WS_SEG_ENV                "WARPSHEET_SEGMENT"
#define WS_SEG_PAGE               4096u
#define WS_SEG_MAX_THREAD_BUFFERS 8192
#define WS_SEG_MIN_RING           4096u
#define WS_SEG_MAX_RING           (UINT32_C(1) << 30)
#define WS_SEG_MAX_DEFS           (UINT64_C(1) << 28)
#define WS_SEG_SLOTS              128 /* CUPTI's buffers: enough for some 450,000 launches … */
#define WS_SEG_SLOT_SIZE          (UINT64_C(1) << 20) /* … of which each launching thread holds one */
#define WS_SEG_MAX_SLOTS          1024
#define WS_SEG_MIN_SLOT           4096u
#define WS_SEG_MAX_SLOT           (UINT64_C(1) << 26)
#define WS_SEG_MAX_DOMAINS        256 /* domain 0 is the default domain */
#define WS_SEG_MAX_KERNELS        8   /* CPU kernels open at once on a thread */
#define WS_SEG_KERNEL_TEXT        256 /* bytes of a CPU kernel's name */
#define WS_SEG_KERNEL_BYTES       224 /* bytes of a CPU kernel's payload */

enum ws_seg_state {
	WS_SEG_OPEN = 1,   /* processes may attach */
	WS_SEG_CLOSED = 2, /* the trace is finished */
	WS_SEG_ENDING = 3, /* it is not, but no process may attach any more */
};

/* Equal parts side by side; count 0: absent. */
struct ws_seg_region {
	uint64_t offset;
	uint64_t stride; /* bytes from one to the next */
	uint32_t count;
	uint32_t reserved;
};

/* A struct ws_proc. */
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

/* Where everything is: a function of struct ws_seg_opts. */
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
			uint64_t grows;  /* 1: a page has memory once ws_seg_populate() says so */
			int64_t base_ns; /* CLOCK_MONOTONIC at time 0 of the trace */
			int64_t base_realtime_ns; /* CLOCK_REALTIME then */
			int64_t base_raw_ns;      /* CLOCK_MONOTONIC_RAW then */
			uint64_t boot; /* of the machine that the clocks are of; 0: unknown */
			struct ws_seg_capture capture;
			struct ws_seg_plan plan;
			uint64_t fixed_check; /* of all before it; 0 until ws_seg_seal() */
		};
		uint8_t fixed_pages[WS_SEG_FIXED_SIZE];
	};

	/* written by the collector */
	_Alignas(64) struct ws_seg_process owner; /* the process that is recorded */
	_Atomic uint64_t owner_image;             /* AT_RANDOM bytes: another one after exec */
	_Atomic uint32_t attached;                /* 1 once the owner's fields are all set */
	_Atomic uint32_t images;                  /* 1, and one more for each exec */
	_Atomic uint32_t modules;                 /* ELF modules that called the collector */
	_Atomic uint32_t next_thread;             /* last id given out; ids start at 1 */
	_Atomic uint32_t next_domain;
	_Atomic uint64_t next_schema; /* last dynamic schema or enum id given out, less the start */
	_Atomic uint64_t next_range;
	_Alignas(64) _Atomic uint64_t defs_head; /* bytes of the definition log that are whole */
	uint64_t defs_ready;                     /* bytes of it that have memory behind them */
	_Alignas(64) _Atomic uint64_t lost[WS_DROPPED_COUNT];
	struct ws_seg_gpu gpu;

	/* written by both sides */
	_Alignas(64) _Atomic uint64_t slots_free[WS_SEG_MAX_SLOTS / 64]; /* bit set: free */
	_Atomic uint64_t slots_done;                                     /* counts them up */
	_Atomic uint32_t slots_no_room; /* 1: there is no room for another slot, or all exist */

	/* written by the launcher */
	_Alignas(64) _Atomic uint32_t state; /* enum ws_seg_state */
	struct ws_seg_process launcher;
	_Atomic uint32_t thread_buffers_freed; /* counts up with each: worth another look */
	int64_t realtime_apart_ns; /* of CLOCK_REALTIME from CLOCK_MONOTONIC when last read; 0:
	                              never */
	int64_t realtime_largest_step_ns; /* that was seen so far */
	struct ws_seg_process started;    /* the program, which need not have attached */
	char trace_path[PATH_MAX];        /* absolute */
	char renamed_path[PATH_MAX];      /* … and what it is being renamed to; "" otherwise */

	struct ws_seg_control control;
};

/* A buffer of CUPTI's. */
struct ws_slot {
	_Alignas(64) _Atomic uint64_t done; /* 0: free or in CUPTI's hands; else its number */
	uint64_t valid;                     /* bytes with records, once done */
	_Atomic uint32_t room;              /* enum ws_seg_room */
	uint32_t image;                     /* that took it */
	uint32_t unfinished;                /* its process died over it: the end is unknown */
	int64_t taken_ns; /* CLOCK_MONOTONIC: what is in it was written after … */
	int64_t done_ns;  /* … and before; 0: not done */
};

/* What is in the file. tails[thread_buffer_count] follow, then for each slot the `done` that was
 * read. Of two that are whole the one with the higher number counts. */
struct ws_seg_commit {
	uint64_t number;    /* from 1; commit n is in slot n % 2 */
	uint64_t check;     /* of all bytes behind it, and the number */
	uint64_t file_size; /* bytes of the trace that are whole */
	uint64_t defs_pos;  /* definitions before it have their rows in the file */
	uint64_t next_correlation;
	uint64_t counted[WS_DROPPED_COUNT]; /* by the launcher, so part of what a commit restores */
	uint64_t flags;                     /* enum ws_commit_flag */
	uint64_t gpus;                      /* bit n: device n has a row */
	uint64_t tails[];
};

enum ws_commit_flag {
	WS_COMMIT_CPU_DEVICE = 1, /* the row of the CPU reference device is written */
	WS_COMMIT_ENDED = 2,      /* so are those that end the trace */
	WS_COMMIT_SETTLED = 4,    /* the trace has its name for good */
};

/* Of a part of a segment that grows: nobody reads or writes one that is not ready. */
enum ws_seg_room {
	WS_ROOM_NONE,
	WS_ROOM_COMING, /* somebody is getting it */
	WS_ROOM_READY,
};

/*
 * Each state has one side that may leave it, and these are all transitions:
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
 *    OWNED, LEFT and FREE no transition leads to NONE or COMING. So a buffer that was FREE or above
 *    once has its memory for good, and the launcher may read it whatever the table says later.
 * 2. No lost update: the launcher writes a state in LEFT only. There the program writes none: its
 *    threads take FREE and NONE buffers, and the owner is gone. So neither side ever overwrites a
 *    transition of the other one.
 * 3. Nothing is read twice or skipped: the launcher loads the state before the head. LEFT means
 * that the head is final, since the owner stored it before LEFT (release, acquire). The next owner
 *    starts at that head, in a ring of which the launcher has committed everything.
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

/* A CPU kernel between its push and its pop. */
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
 * One thread's ring and the bookkeeping that keeps its ranges properly
 * nested. The ring's bytes follow the struct. Only `thread` and the ring are
 * read by the launcher; the rest belongs to the thread.
 */
struct ws_thread_buffer {
	struct ws_ring ring;
	uint32_t ready;     /* bytes of the ring that have memory */
	uint32_t thread;    /* id in the trace; changes only while the ring is empty */
	uint32_t pops_owed; /* recorded pushes that are open: room for their pops is kept */
	uint32_t kernels;   /* open CPU kernels, dropped ones included */
	/* stack address of who is in the middle of a record, 0: nobody */
	_Atomic uintptr_t writer;
	struct {
		uint32_t open;    /* pushes without a pop yet, dropped ones included */
		uint32_t dropped; /* of them the innermost that were dropped */
	} domains[WS_SEG_MAX_DOMAINS];
	struct {
		uint32_t is_open;       /* a range of --capture-range is on */
		uint32_t domain, level; /* where */
		uint32_t is_kept;       /* its instance is asked for */
	} range;
	struct ws_thread_buffer_kernel kernel[WS_SEG_MAX_KERNELS];
};
#define WS_THREAD_BUFFER_HEADER_SIZE 8192

_Static_assert(sizeof(struct ws_seg_header) <= WS_SEG_HEADER_SIZE, "header grew");
_Static_assert(offsetof(struct ws_seg_header, fixed_check) + 8 <= WS_SEG_PAGE,
               "the fixed part of the header grew");
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
	/* thread buffers of one that cannot grow, whose memory is all reserved, and their rings'
	 * size; 0: as above */
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

/* Bytes that a segment with these options needs; 0 when an option is out of its range. */
uint64_t ws_seg_size(const struct ws_seg_opts *opts);
/* Of them, bytes that a recording may well need, so that it is not begun where they are not. */
uint64_t ws_seg_room(const struct ws_seg_opts *opts);
/* Of them, bytes of a growing one that must have memory from the start. */
uint64_t ws_seg_first_size(const struct ws_seg_opts *opts);
/* Lay out a segment in ws_seg_size(opts) zeroed bytes. */
void ws_seg_init(void *mem, const struct ws_seg_opts *opts);
/* Have memory behind size bytes of it, so that a write cannot fail any more. 0; -1: no room. */
int ws_seg_populate(const struct ws_seg_header *seg, void *from, uint64_t size);
/* The same before there is a header; -1 also where the system cannot (Linux before 5.14). */
int ws_seg_populate_pages(void *from, uint64_t size);
/* Once all that is fixed is there: makes it known as whole, and keeps a second copy of it. */
void ws_seg_seal(struct ws_seg_header *seg);
/*
 * NULL when the fixed part of a header is sealed and undamaged, and the segment's regions all lie
 * in a file of size bytes, or would if it had not been cut short; else why not.
 */
const char *ws_seg_problem(const struct ws_seg_header *seg, uint64_t size);

/* Sums and differences of a few of these stay in 64 bits. */
bool ws_seg_is_time(int64_t ns);

/* Bytes of a commit slot that mean something. */
uint64_t ws_seg_commit_size(const struct ws_seg_header *seg);
/* Make it the segment's, with its number: whoever dies meanwhile leaves the one before. */
void ws_seg_commit_write(const struct ws_seg_header *seg, struct ws_seg_commit *commit);
/* Copy the last whole one to ws_seg_commit_size() bytes. 0: there is none. */
bool ws_seg_commit_read(const struct ws_seg_header *seg, struct ws_seg_commit *out);

/* enum ws_thread_buffer_state of a thread buffer */
static inline _Atomic uint32_t *ws_seg_thread_state(const struct ws_seg_header *seg, uint32_t i)
{
	return (_Atomic uint32_t *)((char *)seg + seg->threads_offset) + i;
}

/* The buffer has its memory. Acquire: what a thread that left it wrote is seen. */
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
 * The pool of buffers that CUPTI fills. A slot that has memory is free (its bit is set), in CUPTI's
 * hands (bit clear, done 0) or done (done is its number). Taking one takes a few instructions and
 * no lock, from any thread. The launcher reads slots that are done, and gives them back, zeroed,
 * once their rows are committed.
 *
 * A launcher that is killed between clearing `done` and setting the bit leaves the slot in nobody's
 * hands: there is one buffer less until the program ends.
 */

/*
 * In a record, instead of a pointer to text: id of the text in the definition
 * log; instead of the system's id of a thread: its id in the trace. The
 * collector puts them there while the pointers are alive. No address has the
 * first bit, no thread of Linux the second.
 */
#define WS_SLOT_TEXT_ID   (UINT64_C(1) << 63)
#define WS_SLOT_THREAD_ID (UINT32_C(1) << 31)

/* --- producer --- */

/* Get memory for one more slot, which nobody has then. -1: there are no more, or no room. */
static inline int ws_slot_grow(struct ws_seg_header *seg)
{
	for (uint32_t i = 0; i < seg->activity.count; i++) {
		_Atomic uint32_t *room = &ws_seg_slot(seg, i)->room;
		uint32_t none = WS_ROOM_NONE;
		int failed;

		if (!atomic_compare_exchange_strong(room, &none, WS_ROOM_COMING))
			continue;
		failed = ws_seg_populate(seg, ws_slot_bytes(seg, i), seg->activity.stride);
		atomic_store(&seg->slots_no_room, failed != 0);
		atomic_store(room, failed ? WS_ROOM_NONE : WS_ROOM_READY);
		return failed ? -1 : (int)i;
	}
	atomic_store(&seg->slots_no_room, 1);
	return -1;
}

/* A slot that is free, now the caller's, or -1. */
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
 * A slot, now the caller's, or -1. When none is free one more is made, which
 * takes time, but not at each launch when there was no room for it.
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

/* How many are free. */
static inline uint32_t ws_slots_free(const struct ws_seg_header *seg)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < WS_SEG_MAX_SLOTS / 64; w++)
		n += (uint32_t)__builtin_popcountll(
		        atomic_load_explicit(&seg->slots_free[w], memory_order_relaxed));
	return n;
}

/* Hand a slot of which nothing was used back. */
static inline void ws_slot_put_back(struct ws_seg_header *seg, uint32_t i)
{
	atomic_fetch_or_explicit(&seg->slots_free[i / 64], UINT64_C(1) << (i % 64),
	                         memory_order_release);
}

/* Its first `valid` bytes are records: the launcher's now. */
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

/* It is there, and CUPTI's or done. */
static inline bool ws_slot_is_used(const struct ws_seg_header *seg, uint32_t i)
{
	return atomic_load(&ws_seg_slot(seg, i)->room) == WS_ROOM_READY && !ws_slot_is_free(seg, i);
}

/*
 * What CUPTI had in hand when its process or image ended becomes done, as far
 * as it was written. Only when nobody can write into it any more.
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

/* Its bytes with records: read once, as the program can write there at any time. */
static inline uint64_t ws_slot_valid(const struct ws_seg_header *seg, uint32_t i)
{
	const uint64_t valid = *(const volatile uint64_t *)&ws_seg_slot(seg, i)->valid;

	return valid < seg->activity.stride ? valid : seg->activity.stride;
}

/* Its rows are in the file: zeroed, as CUPTI was promised, and free again. */
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
