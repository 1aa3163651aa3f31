/*
 * The shared segment: the memory between the traced program (which only
 * produces) and the launcher (which only consumes). docs/dev/recorder.md
 * says how it is used; this header is its layout. Nothing here opens, maps or
 * allocates, and it needs no library, because the collector that compiles it
 * links libc alone.
 */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/schema/loss.h"
#include "recorder/shared/control.h"
#include "recorder/shared/procfs.h"
#include "recorder/shared/ring.h"
#include "recorder/shared/segment_capture.h"

#define WS_SEG_MAGIC   UINT64_C(0x31474553534c5157) /* "WQLSSEG1" */
#define WS_SEG_VERSION 13
/* The part of the header that is fixed when the segment is made. It has pages of its own, of any
 * size that there is, so that each side keeps a private copy of it in its place. */
#define WS_SEG_FIXED_SIZE         65536
#define WS_SEG_SPARE              32768 /* where it lies once more in the file */
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
#define WS_SEG_LAYOUT                                                                            \
	uint64_t total_size;                                                                     \
	uint64_t commit_offset, commit_stride; /* two struct ws_seg_commit */                    \
	uint64_t threads_offset; /* one enum ws_thread_buffer_state for each thread buffer */    \
	uint64_t slots_offset;   /* one struct ws_slot for each buffer for CUPTI */              \
	uint64_t defs_offset, defs_size;                                                         \
	uint64_t thread_buffers_offset, thread_buffer_stride;                                    \
	uint32_t thread_buffer_count;                                                            \
	uint32_t ring_size;            /* bytes, a power of two */                               \
	struct ws_seg_region activity; /* buffers for CUPTI, see recorder/shared/segment_slots.h \
	                                */
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
			uint64_t boot; /* of the machine (ws_proc_boot): the clocks are its; 0:
			                  unknown */
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
	_Atomic uint32_t
	        slots_no_room; /* 1: the last try to have one more failed, or all are there */

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
