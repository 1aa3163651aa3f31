/*
 * The NVTX ranges that are open, or that something still waits for: a call
 * for its kernel, a range inside it for its end. How many there are depends
 * on what is in flight, not on the length of the trace.
 *
 * Events and calls come in order of time. A range's path is known when it
 * begins as long as ranges of a thread nest; where they do not, and where a
 * range ends on another thread, the caller is told and gives up.
 */
#ifndef WS_REPORT_PASS_LIVE_H
#define WS_REPORT_PASS_LIVE_H

#include "report/model/paths.h"
#include "report/model/range_pairs.h"

/* One event. */
struct ws_pass_event {
	int64_t time_ns;
	uint64_t at; /* its place in the file */
	uint64_t range_id;
	uint32_t thread, process;
	uint32_t domain, name; /* texts */
	uint32_t payload;      /* row, WS_NONE */
	uint32_t type;         /* enum ws_nvtx_type; others are ignored */
};

struct ws_live {
	int64_t start_ns, end_ns;  /* end_ns of a closed one */
	int64_t first_ns, last_ns; /* of the kernels launched in it: start of the first, end of the
	                              last; first > last: none yet */
	uint64_t number;           /* of its begin: the later, the greater */
	uint32_t parent;           /* WS_NONE for an outermost one; lives as long as this */
	uint32_t thread, name, payload, path, depth;
	uint32_t refs; /* what still needs it: itself while it is open, children, calls */
	uint32_t op;   /* the innermost operation around it, or itself; WS_NONE */
	uint32_t step; /* number of the step around it, WS_NONE */
	uint32_t class, direction, dtype; /* texts of its operation, as for ws_place; 0 = unknown */
	uint32_t kernel_name; /* of an operation: text all its kernels are called by, 0 = none yet,
	                         WS_NONE = several */
	uint8_t style, marks, phase;
	uint8_t counted;  /* an operation without one inside */
	uint8_t in_scope; /* of a closed one: it is in the scope of the report */
};

/* What happens to a range; the functions may change the fields from op on. */
struct ws_live_events {
	void *ctx;
	/* it begins: parent and path are known */
	enum ws_status (*begin)(void *ctx, uint32_t range, struct ws_err *err);
	/* its end is known */
	enum ws_status (*close)(void *ctx, uint32_t range, int open, struct ws_err *err);
	/* nothing can happen in it any more; its slot is free afterwards */
	void (*finish)(void *ctx, uint32_t range);
};

struct ws_live_thread {
	uint32_t *open; /* by begin */
	size_t nopen, open_capacity;
	uint32_t *ended; /* those that ended at ended_ns: a call that ends then lies in them, too */
	size_t nended, ended_capacity;
	int64_t ended_ns;
	uint32_t last_path; /* of the range that began last */
};

/* Set events, all else zero; free with ws_live_free. */
struct ws_live_ranges {
	struct ws_live_events events;
	struct ws_live *range;
	size_t nranges, capacity;
	uint32_t *free_slots;
	size_t nfree, free_capacity;
	struct ws_range_pairs pairs;
	struct ws_path_table paths;
	uint32_t *next_path; /* path -> the one that followed it last time, under the same parent */
	size_t next_capacity;
	struct ws_live_thread *threads;
	size_t nthreads;
	uint64_t begun, open_at_end;
	const char *declined; /* why these ranges need all rows at once; NULL = they do not */
};

enum ws_status ws_live_event(struct ws_live_ranges *l, const struct ws_pass_event *e,
                             struct ws_err *err);
/* The innermost range around a call that ended now, WS_NONE = none. Events up to end_ns, this
 * included, have been given. */
enum ws_status ws_live_innermost(struct ws_live_ranges *l, uint32_t thread, int64_t start_ns,
                                 int64_t end_ns, uint32_t *range, struct ws_err *err);
void ws_live_hold(struct ws_live_ranges *l, uint32_t range);
void ws_live_drop(struct ws_live_ranges *l, uint32_t range);
/* The trace ends: so do the ranges that are open. */
enum ws_status ws_live_end(struct ws_live_ranges *l, int64_t end_ns, struct ws_err *err);
void ws_live_free(struct ws_live_ranges *l);

#endif
