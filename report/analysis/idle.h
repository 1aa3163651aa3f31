/*
 * Why does a device not compute? Every nanosecond of the windows of a report
 * (ws_windows) is given to one use of each device, so the uses add up to the
 * windows exactly. Rules in words, with their sources: docs/reference/idle.md.
 */
#pragma once

#include <stdbool.h>

#include "report/analysis/device_time.h"
#include "report/base/spans.h"
#include "report/joined/rows.h"

/*
 * X(NAME, "name", "what it is", "what to do"). All after COMPUTE are time
 * without computation; all after COPY, time in which the device did nothing (PAGING: or migrated
 * pages).
 */
#define WS_USE_LIST(X)                                                                             \
	X(COMPUTE, "computing", "at least one kernel other than communication ran",                \
	  "Make the kernels faster: see kernel-summary and roofline.")                             \
	X(COLLECTIVE, "waiting for communication", "only communication kernels ran",               \
	  "Overlap communication with computation: smaller buckets, earlier launches, fewer and "  \
	  "larger messages.")                                                                      \
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
	  "Prefetch managed memory, advise where it lives, or allocate it on the device.")
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

/* Of a copy, fill or whole graph: COPY, PAGING or COMPUTE. */
enum ws_use ws_use_of_work(const struct ws_work *w);

/* A gap before a launch longer than this is the host's other work, not launching. */
#define WS_IDLE_LAUNCH_US 100
/* Queued work begins within this time; later, it waited for something. As in HTA. */
#define WS_IDLE_QUEUE_US 30
/* First steps are start-up if each takes more than so many times the median step. */
#define WS_IDLE_FIRST_TIMES 2
/* A device that computes for more than this is busy, whatever the rest is. */
#define WS_IDLE_BUSY_PERCENT 90
/* Launch-bound: launches are the largest cause, and at least this share of the time. */
#define WS_IDLE_LAUNCH_PERCENT 15

struct ws_device_use {
	int64_t window_ns; /* sum of ns */
	int64_t ns[WS_USES];
	uint64_t gaps[WS_USES];
	int64_t longest_ns[WS_USES];
	uint64_t kernels;
	int64_t kernel_median_ns; /* 0 without kernels */
};

/* The answer, in one word and its evidence. */
struct ws_idle_verdict {
	bool known; /* else `obstacle` says why not */
	const char *obstacle;
	bool busy;         /* computing for more than WS_IDLE_BUSY_PERCENT */
	enum ws_use cause; /* the largest use but computing */
	bool launch_bound;
	double percent;      /* share of the cause in the time of the devices */
	double busy_percent; /* of computing */
};

/* One of the longest gaps: a device did nothing, inside the windows. */
#define WS_IDLE_LONGEST 10
struct ws_idle_gap {
	uint32_t device;
	int64_t start_ns, end_ns;
	enum ws_use cause; /* of the longest part, where it has several */
	uint32_t next;     /* text: the kernel that ends it; WS_NONE: a copy or fill, or nothing */
	uint32_t call;     /* the launch of that, WS_NONE */
};

struct ws_idle {
	struct ws_device_use *device; /* one for each device of the model */
	size_t ndevices;
	struct ws_device_use all; /* of the devices that did anything */
	size_t nworked;           /* how many those are */
	int64_t wall_ns;          /* the windows themselves, whatever the number of devices */
	/* uses of each window (ws_windows), summed over the devices that have kernels or have yet
	 * to end their other work */
	struct ws_window_use {
		int64_t ns[WS_USES];
	} * of_window;
	struct ws_window_use **of_device; /* of each device of these its part of each window */
	/* WAIT is for no recorded work: the only device does nothing meanwhile, and no function of
	 * the host is in its streams */
	bool waits_for_unrecorded;
	struct ws_idle_verdict verdict;
	int64_t launch_before_copies_ns; /* of all.ns[WS_USE_LAUNCH]: gaps that end with a copy */
	struct ws_idle_gap longest[WS_IDLE_LONGEST]; /* longest first */
	size_t nlongest;
	/* one entry a range path and those around it: time of the gaps of a cause before work that
	 * was launched in it, and time of the kernels launched in it */
	int64_t *path_gap_ns[WS_USES], *path_kernel_ns;
};

/* What the host did in each of the longest gaps, as texts: the call that covers most of it, else
 * the deepest range on the thread of the next launch; WS_NONE. */
void ws_idle_find_hosts(const struct ws_model *m, struct ws_joined_rows *rows,
                        const struct ws_idle *idle, uint32_t names[WS_IDLE_LONGEST]);

/* Lives as long as sel. */
const struct ws_idle *ws_idle_find(const struct ws_model *m, const struct ws_selection *sel);
/* The same of all of the trace where that is the scope and the trace has steps. */
const struct ws_idle *ws_idle_find_in_scope(const struct ws_model *m,
                                            const struct ws_selection *sel);
/* What a device did for a while. */
struct ws_idle_span {
	uint32_t device;
	enum ws_use use;
	int64_t start_ns, end_ns;
};
/* All of one window, in order, device by device: as the uses of ws_idle_find, which add up to it.
 */
void ws_idle_spans(const struct ws_model *m, const struct ws_selection *sel,
                   const struct ws_time_window *window,
                   void (*tell)(void *ctx, const struct ws_idle_span *span), void *ctx);
/* The most time first, but computing before all: it is what the others are beside. */
void ws_uses_by_time(const struct ws_device_use *use, enum ws_use order[WS_USES]);
/* The verdict alone, for which nothing is read where it cannot be told. */
struct ws_idle_verdict ws_idle_verdict(const struct ws_model *m, const struct ws_selection *sel);
/*
 * The verdict in a sentence without its full stop: "the GPU computes 62.1 % of the time; the
 * largest other part is waiting for data (33.4 %)". Returns out.
 */
const char *ws_idle_words(const struct ws_idle_verdict *v, char *out, size_t size);

/* --- idle_host.c: what the host did meanwhile: waits for a device, loading of data ------------ */

/* Does a call of this name wait for the device: …Synchronize, a blocking copy? */
bool ws_call_waits(struct ws_bytes name);

struct ws_host_activity {
	struct ws_spans data;  /* when it loaded data: disjoint, by begin */
	struct ws_spans setup; /* when it did what happens once, the same */
	struct ws_spans alloc; /* when it allocated or freed memory again and again, the same */
	struct ws_spans waits; /* calls that wait for a device, by begin, not merged */
	int64_t *wait_end_ns;  /* the latest end of those up to each */
	uint64_t captured;     /* launches that were captured into a graph, and did not run */
	struct ws_spans searches; /* of setup: when a library looked for the fastest algorithm */
	size_t first_steps;       /* measured steps at the begin that are start-up, whole */
};
/* Of the joined ranges, calls and operations; once a selection: it lives as long as that. */
const struct ws_host_activity *ws_host_activity_find(const struct ws_model *m,
                                                     const struct ws_selection *sel);

/* For how long, in ns, had the host waited for the device, when that had become idle at from, and
 * was free again before the launch at call? Of several the longest wait; 0: it had not. */
int64_t ws_host_waited(const struct ws_host_activity *host, int64_t from_ns, int64_t call_ns);
