/*
 * Causes of idle time. Every nanosecond of the windows of a report (ws_windows) is assigned to one
 * use of each device, so the uses add up to the windows exactly. Rules in words, with their
 * sources: docs/reference/idle.md.
 */
#pragma once

#include "report/analysis/device_time.h"

/*
 * X(NAME, "name", "what it is", "what to do"). All after COMPUTE are time without computation; all
 * after COPY, time in which the device did nothing (or, for PAGING, migrated pages).
 */
#define WS_USE_LIST(X)                                                                             \
	X(COMPUTE, "computing", "at least one kernel other than communication ran",                \
	  "Make the kernels faster: see kernel-summary and roofline.")                             \
	X(COLLECTIVE, "waiting for communication", "only communication kernels ran",               \
	  "Compare the traces of all ranks: this time also has the wait for late ranks. What "     \
	  "remains, overlap with computation: launch it earlier, in fewer, larger messages.")      \
	X(COPY, "waiting for copies", "only copies or fills ran",                                  \
	  "Copy less, from pinned memory, overlapped with computation "                            \
	  "on a stream of its own, or once before the loop.")                                      \
	X(LAUNCH, "waiting for launches",                                                          \
	  "the next work had not been launched, and the gap is as short as making a launch takes", \
	  "Fuse operations, capture CUDA graphs, compile the model, or make batches larger. "      \
	  "Faster kernels or another dtype do not shorten this wait.")                             \
	X(HOST, "waiting for the host",                                                            \
	  "the next work had not been launched, and the host did other things for longer than a "  \
	  "launch takes",                                                                          \
	  "Move host work out of the loop or into the background.")                                \
	X(SYNC, "after a host synchronisation",                                                    \
	  "the host waited for the device and launched the next work only then",                   \
	  "Synchronise less: no .item(), .cpu() or print in the loop; copy asynchronously, read "  \
	  "results one step later.")                                                               \
	X(DATA, "waiting for data", "the host was loading data",                                   \
	  "Load data in the background: more workers, prefetching, faster decoding or storage.")   \
	X(WAIT, "waiting for a stream or event",                                                   \
	  "the next work had been launched, but began late: it waited for an event, another "      \
	  "stream or another device",                                                              \
	  "Launch the awaited work earlier, or remove the wait.")                                  \
	X(DEVICE, "between queued kernels",                                                        \
	  "the next work was queued, and the device took this long to start it",                   \
	  "Use fewer, larger kernels, or CUDA graphs.")                                            \
	X(START, "before the first work",                                                          \
	  "the device had done nothing yet, and nothing that was recorded says what the host did", \
	  "Leave start-up out with warm-up steps, or launch earlier.")                             \
	X(END, "after the last work", "nothing more came for the device",                          \
	  "Move the host's work after the last kernel out of the step.")                           \
	X(UNKNOWN, "unknown",                                                                      \
	  "the next work has no record of its launch, or it began late and nothing that was "      \
	  "recorded held it back",                                                                 \
	  "Record API calls. If they are recorded, look for what is not: module loading, clocks, " \
	  "another process on the device.")                                                        \
	X(SETUP, "starting up",                                                                    \
	  "the host did what happens once: it loaded a module, captured a graph, or made a call "  \
	  "that does not recur",                                                                   \
	  "Warm up before measuring: it happens once.")                                            \
	X(PAGING, "page faults of managed memory",                                                 \
	  "pages of managed memory migrated, or the device did nothing until they did: the host "  \
	  "or a kernel touched them",                                                              \
	  "Prefetch managed memory, advise where it lives, or allocate it on the device. What "    \
	  "the "                                                                                   \
	  "host does with the pages is in this time, too.")                                        \
	X(SHARED, "another process had the GPU",                                                   \
	  "the next work had been launched, but began late, and the GPU turned from one context "  \
	  "to another meanwhile",                                                                  \
	  "Run alone on the GPU, or share it by MPS or MIG.")                                      \
	X(RECORDING, "recording",                                                                  \
	  "the host recorded instead of launching: the part of the other waits that record "       \
	  "--calibrate measured, or else the known cost of the launches, ranges and operations "   \
	  "in waits for launches",                                                                 \
	  "Nothing: without the recorder it does not arise.")
enum ws_use {
#define X(NAME, name, what, cure) WS_USE_##NAME,
	WS_USE_LIST(X)
#undef X
	        WS_USES,
};
struct ws_use_def {
	const char *name, *meaning, *cure;
};
extern const struct ws_use_def ws_use_defs[WS_USES];

/* Does the device wait because the host is late? */
bool ws_use_is_of_host(enum ws_use use);
/* The use of a copy, fill or whole graph: COPY, PAGING or COMPUTE. */
enum ws_use ws_use_of_work(const struct ws_work *w);

/* A longer gap before a launch counts as other work of the host, not as launching. */
#define WS_IDLE_LAUNCH_US 100
/* Queued work begins within this time; later, it waited for something. As in HTA. */
#define WS_IDLE_QUEUE_US 30
/* The first steps are start-up if each takes more than this many times the median step. */
#define WS_IDLE_FIRST_TIMES 2
/* A device that computes for more than this share is busy, whatever its other uses are. */
#define WS_IDLE_BUSY_PERCENT 90
/* Launch-bound: launches are the largest cause, and at least this share of the time. */
#define WS_IDLE_LAUNCH_PERCENT 15

struct ws_device_use {
	int64_t window_ns; /* sum of ns */
	int64_t ns[WS_USES];
	uint64_t gaps[WS_USES];
	int64_t longest_ns[WS_USES];
	uint64_t kernels;
	int64_t kernel_median_ns;      /* 0 without kernels */
	int64_t recording_ns[WS_USES]; /* parts of ns[WS_USE_RECORDING], by the use that has the
	                                  rest of the gap */
};

/* The verdict and its evidence. */
struct ws_idle_verdict {
	bool known; /* if false, `obstacle` says why */
	const char *obstacle;
	bool busy;           /* computing for more than WS_IDLE_BUSY_PERCENT */
	enum ws_use cause;   /* the largest use but computing and recording */
	bool launch_bound;   /* whatever recording takes, within its uncertainty */
	bool may_be_bound;   /* not launch_bound, or only because of recording: cannot tell */
	double percent;      /* share of the cause in the time of the devices without recording */
	double busy_percent; /* share of computing */
	double recording_percent; /* share of recording in the time with it */
};

/* One of the longest gaps: a device did nothing, inside the windows. */
#define WS_IDLE_LONGEST 10
struct ws_idle_gap {
	uint32_t device;
	int64_t start_ns, end_ns;
	enum ws_use cause; /* cause of its longest part */
	uint32_t next;     /* text: the kernel that ends it; WS_NONE: a copy or fill, or nothing */
	uint32_t call;     /* row of its launch, WS_NONE */
};

struct ws_idle {
	struct ws_device_use *device; /* one per device of the model */
	size_t ndevices;
	struct ws_device_use all; /* sum over devices that did any work */
	size_t nworked;           /* number of these devices */
	int64_t wall_ns;          /* total length of the windows */
	/* uses of each window (ws_windows), summed over devices with kernels or with later other
	 * work */
	struct ws_window_use {
		int64_t ns[WS_USES];
	} * of_window;
	struct ws_window_use **of_device; /* for each of these devices: its uses in each window */
	/* WAIT has no recorded cause: the only device is idle, and no host function is in its
	 * streams */
	bool waits_for_unrecorded;
	struct ws_idle_verdict verdict;
	double recording_range[2]; /* least and greatest cost of recording, in times of
	                              all.ns[WS_USE_RECORDING] */
	/* record --calibrate measured it: the part of each wait for the host that is recording, by
	 * device; NULL: it is estimated, or nothing is known */
	double *measured_share;
	int64_t launch_before_copies_ns; /* part of all.ns[WS_USE_LAUNCH]: gaps before copies */
	struct ws_idle_gap longest[WS_IDLE_LONGEST]; /* longest first */
	size_t nlongest;
	/* by range path, including nested ranges: time of gaps of each cause before work launched
	 * in it, and time of the kernels launched in it */
	int64_t *path_gap_ns[WS_USES], *path_kernel_ns;
};

/* Finds the host's activity in each of the longest gaps, as a text: the call that covers most of
 * it, else the deepest range on the thread of the next launch; WS_NONE. */
void ws_idle_find_hosts(const struct ws_model *m, struct ws_joined_rows *rows,
                        const struct ws_idle *idle, uint32_t names[WS_IDLE_LONGEST]);

/* Computed once per selection, and freed with sel. */
const struct ws_idle *ws_idle_find(const struct ws_model *m, const struct ws_selection *sel);
/* The same over the whole trace if that is the scope and the trace has steps. */
const struct ws_idle *ws_idle_find_in_scope(const struct ws_model *m,
                                            const struct ws_selection *sel);
/* An interval of one use of a device. */
struct ws_idle_span {
	uint32_t device;
	enum ws_use use;
	int64_t start_ns, end_ns;
};
/* All intervals of one window, device by device, in order of time. Same uses as in ws_idle_find,
 * which add up to the window.
 */
void ws_idle_spans(const struct ws_model *m, const struct ws_selection *sel,
                   const struct ws_time_window *window,
                   void (*tell)(void *ctx, const struct ws_idle_span *span), void *ctx);
/* Sorts uses by time, largest first, with computing before all others. */
void ws_uses_by_time(const struct ws_device_use *use, enum ws_use order[WS_USES]);
/* The verdict alone. Reads nothing if it cannot be determined. */
struct ws_idle_verdict ws_idle_verdict(const struct ws_model *m, const struct ws_selection *sel);
/*
 * The verdict in a sentence without its full stop: "the GPU computes 62.1 % of the time; the
 * largest other part is waiting for data (33.4 %)". Returns out.
 */
const char *ws_idle_words(const struct ws_idle_verdict *v, char *out, size_t size);
/* How much of the time is recording, and how that is known; "" if none is. */
const char *ws_idle_recording_words(const struct ws_model *m, const struct ws_idle *idle,
                                    struct ws_arena *texts);

/* --- idle_host.c: activity of the host: waits for a device, loading of data ------------ */

/* Does a call of this name wait for the device: …Synchronize, a blocking copy? */
bool ws_call_waits(struct ws_bytes name);

struct ws_host_activity {
	struct ws_spans data;     /* times of loading data: disjoint, by begin */
	struct ws_spans setup;    /* times of start-up work, the same */
	struct ws_spans alloc;    /* times of repeated allocations and releases, the same */
	struct ws_spans waits;    /* calls that wait for a device, by begin, not merged */
	int64_t *wait_end_ns;     /* the latest end up to each of them */
	uint64_t captured;        /* launches captured into a graph, which did not run */
	struct ws_spans searches; /* part of setup: a library searched for its fastest algorithm */
	size_t first_steps;       /* measured steps at the begin that are start-up, whole */
};
/* Computed from the joined ranges, calls and operations once per selection, and freed with it. */
const struct ws_host_activity *ws_host_activity_find(const struct ws_model *m,
                                                     const struct ws_selection *sel);

/* Duration in ns of the longest wait of the host that the device's becoming idle at `from` ended,
 * before the launch at `call`; 0: the host did not wait. */
int64_t ws_host_waited(const struct ws_host_activity *host, int64_t from_ns, int64_t call_ns);
