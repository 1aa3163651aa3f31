/*
 * CUPTI's buffers become rows. Slots are read once they are done, in the order
 * in which they were; what they name was defined before.
 */
#pragma once

#include "recorder/drain/cupti_steps.h"
#include "recorder/drain/graph_captures.h"
#include "recorder/drain/private.h"
#include "recorder/shared/cupti_abi.h"

#define WS_ACTIVITY_CALLS    4096   /* callback ids that can have a name */
#define WS_ACTIVITY_KEPT     65536  /* at most */
#define WS_ACTIVITY_PAIRS    262144 /* at most */
#define WS_ACTIVITY_CONTEXTS 256

struct ws_activity {
	struct ws_cupti_steps steps;

	uint64_t *looked; /* by slot: `done` when this pass began */

	/* names of API calls, in the segment: driver, runtime */
	struct ws_activity_api {
		struct ws_bytes name;
		uint8_t effect; /* enum ws_activity_effect */
	} * calls[2];           /* by callback id; NULL: none has a name so far */
	/* kernel names by address, for records whose process died before they were done */
	struct ws_map kernels;

	/* API calls: one row for each correlation id, the outermost call */
	uint32_t *kept; /* ids that have a row */
	size_t nkept;   /* a power of two, by what the segment's buffers can hold */
	uint32_t kept_image;
	struct ws_activity_call {
		uint32_t correlation,
		        slot; /* slot: of the number, so that nothing need be cleared */
	} * runtime;          /* runtime calls of a slot */
	size_t runtime_size;  /* a power of two */
	uint32_t runtime_slot;

	/* launches and the work they became, by correlation id; an older one gives way */
	struct ws_activity_pair {
		uint32_t correlation; /* 0: unused */
		uint32_t image;
		uint32_t seen;    /* enum ws_activity_seen */
		int64_t start_ns; /* of the launch */
	} * pairs;
	size_t npairs;    /* a power of two, by what the segment's buffers can hold */
	size_t pairs_end; /* those from here on were never used, and have no memory yet */
	struct ws_graph_captures captures;
	bool has_ended; /* so nothing becomes of launches that wait */

	struct ws_activity_context {
		uint32_t image, id, device;
	} contexts[WS_ACTIVITY_CONTEXTS]; /* by id: the newest */

	struct ws_row_launch_config last_config;
	uint64_t last_config_id; /* 0: none */
};

/* What is known while one slot is read. */
struct ws_activity_slot {
	uint64_t image;
	int unfinished;
	int64_t taken_ns, done_ns; /* written between them, CLOCK_MONOTONIC; 0: unknown */
};

/* --- clock.c --- */

/*
 * Times of CUPTI's clock on the trace's. 0: they make no sense. What a step of that clock leaves
 * uncertain is counted.
 */
bool ws_drain_gpu_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                        uint64_t end, int64_t *start_ns, int64_t *dur_ns);

struct ws_activity *ws_activity_new(const struct ws_seg_header *seg);
void ws_activity_free(struct ws_activity *a);

/* --- activity_pass.c --- */

/* Note which slots are done; to be called before the definitions are read. */
void ws_activity_look(struct ws_drain *d);
/* Read those slots. Returns the number of records. */
uint64_t ws_activity_pass(struct ws_drain *d);
/*
 * What CUPTI has in hand in a process that runs on, as far as it is written: after the last
 * pass, as a slot that is finished later is not to be read again.
 */
void ws_activity_pass_in_hand(struct ws_drain *d);

/* --- activity.c --- */

/* A definition of the collector's; 0 when it makes no sense. */
bool ws_activity_name_call(struct ws_activity *a, uint32_t domain, uint32_t cbid,
                           struct ws_bytes name);
bool ws_activity_name_kernel(struct ws_activity *a, uint64_t address, uint32_t string);

/* --- activity_rows.c --- */

enum ws_activity_fate {
	WS_ACTIVITY_ROW,     /* understood */
	WS_ACTIVITY_DAMAGED, /* makes no sense */
	WS_ACTIVITY_UNKNOWN, /* of a kind that is not read */
};

/* What follows from a call of the CUDA API. */
enum ws_activity_effect {
	WS_EFFECT_NONE,
	WS_EFFECT_LAUNCH, /* work on a device, unless it is captured */
	WS_EFFECT_CAPTURE_BEGINS,
	WS_EFFECT_CAPTURE_ENDS,
};

/* One record of `size` bytes to rows. */
enum ws_activity_fate ws_activity_record(struct ws_drain *d, const struct ws_activity_slot *slot,
                                         const uint8_t *record, size_t size);
static inline uint64_t ws_activity_pid(const struct ws_drain *d)
{
	return atomic_load(&d->seg->owner.pid);
}

/* --- activity_named.c --- */

enum ws_activity_fate ws_activity_add_device(struct ws_drain *d,
                                             const struct ws_activity_slot *slot,
                                             const struct ws_cupti_device *c);
enum ws_activity_fate ws_activity_add_context(struct ws_drain *d,
                                              const struct ws_activity_slot *slot,
                                              const struct ws_cupti_context *c);
enum ws_activity_fate ws_activity_add_green_context(struct ws_drain *d,
                                                    const struct ws_activity_slot *slot,
                                                    const struct ws_cupti_green *c);
enum ws_activity_fate ws_activity_add_stream(struct ws_drain *d,
                                             const struct ws_activity_slot *slot,
                                             const struct ws_cupti_stream *s);

enum ws_activity_seen {
	WS_ACTIVITY_LAUNCH = 1,
	WS_ACTIVITY_WORK = 2,
};

/* --- activity.c, for the rows --- */

/* A launch that began at start_ns, or what became of one (start_ns: 0). */
void ws_activity_note(struct ws_drain *d, const struct ws_activity_slot *slot, uint32_t correlation,
                      enum ws_activity_seen what, int64_t start_ns);
/* Launches that were done, not captured, and of which no work is known by now. */
uint64_t ws_activity_waiting(const struct ws_activity *a);

/* String of the definition log that is the name of the kernel at this address; 0: unknown. */
uint32_t ws_activity_kernel_at(const struct ws_activity *a, uint64_t address);

/* 1 when the call is to have a row; there is one for each correlation id. */
bool ws_activity_keep_call(struct ws_activity *a, const struct ws_activity_slot *slot, int runtime,
                           uint32_t correlation);

/* Note which runtime calls a buffer holds, for ws_activity_keep_call. */
void ws_activity_note_runtime_calls(struct ws_activity *a, const uint8_t *buffer, size_t valid);
