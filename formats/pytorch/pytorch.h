/*
 * The PyTorch importer: import_pytorch.c finds metadata and events in the
 * text, _parse.c reads an event, _event.c and _gpu.c turn it into rows.
 * Internal to them.
 */
#pragma once

#include <stdbool.h>

#include "formats/base/map.h"
#include "formats/foreign/importer.h"
#include "formats/text/json_reader.h"

enum ws_pytorch_arg {
#define ARG(ID, text) WS_ARG_##ID,
#include "formats/pytorch/pytorch.def"
	WS_PYTORCH_ARGS
};

enum ws_pytorch_dropped {
#define DROPPED(ID, words) WS_DROPPED_##ID,
#include "formats/pytorch/pytorch.def"
	WS_PYTORCH_DROPPED
};

/* One element of traceEvents; slices of the text. */
struct ws_pytorch_event {
	struct ws_bytes text; /* all of it */
	struct ws_json_value ph, cat, name, pid, tid, ts, dur, id;
	struct ws_json_value arg[WS_PYTORCH_ARGS];
};

/* Rows of device work wait here until it is known which process launched it. */
struct ws_gpu_row {
	enum ws_kind kind;
	struct ws_row_launch_config config; /* of a kernel */
	union {
		uint64_t row; /* its first column, as all of them begin */
		struct ws_row_kernel kernel;
		struct ws_row_memcpy copy;
		struct ws_row_memset set;
		struct ws_row_sync sync;
		struct ws_row_gpu_range range;
		struct ws_row_external_link link;
		struct ws_row_collective collective;
	};
};

/* The begun half of a flow, or the ended one when that came first. */
struct ws_flow_end {
	int64_t time_ns;
	uint64_t thread;
	char phase; /* 's', 'f', or 0: both were seen */
};

/* What a call launches, or device work is: what External ids tell apart. */
enum ws_pytorch_work {
	WS_PYTORCH_NO_WORK,
	WS_PYTORCH_KERNEL,
	WS_PYTORCH_COPY,
	WS_PYTORCH_SET,
};

/* An event that is understood at the end of the file only; its text is kept. */
struct ws_pytorch_deferred {
	size_t text, len; /* in `deferred_text` */
	size_t name, name_len;
	uint64_t row; /* of pid and tid */
	int64_t time_ns;
	size_t end;           /* of a begin: 1 + the place of its end */
	uint64_t external_id; /* of one without a correlation id, */
	uint64_t correlation; /* and what it turns out to be */
	uint8_t work;         /* enum ws_pytorch_work */
	bool is_call, lacks_id;
	char phase; /* 'B', 'E', or 'X' without a correlation id */
};

/* Where an arrow from a call to device work touches one of them. */
struct ws_pytorch_arrow {
	uint64_t id; /* 0: several arrows are here */
	uint64_t events;
	bool is_used;
};

/* A correlation id of device work, and whether an External id names its operation. */
struct ws_pytorch_id {
	uint64_t correlation;
	bool has_operation;
};

#define WS_PYTORCH_DOMAIN          "pytorch" /* NVTX domain of annotations */
#define WS_PYTORCH_ARG_SLOTS       256u      /* a hash table for about 40 keys */
#define WS_PYTORCH_MAX_NAMES_BYTES (1u << 24)
#define WS_PYTORCH_MAX_WAITING     262144u /* device rows; more go on with process 0 */

struct ws_pytorch {
	struct ws_import_out *out;
	struct ws_json_stream *text;
	struct ws_import_clock *clock;
	uint8_t arg_slots[WS_PYTORCH_ARG_SLOTS]; /* 1 + enum ws_pytorch_arg, 0 = free */

	int64_t origin_ns; /* what times are relative to, in the times of the file */
	bool has_origin;
	int64_t base_ns; /* baseTimeNanoseconds */
	uint64_t host_pid;
	bool has_host_pid;
	uint64_t other_host_calls; /* calls of a second process */
	struct ws_gpu_row *waiting;
	size_t nwaiting, waiting_capacity;
	int gave_up_waiting;

	uint64_t domain; /* of annotations */
	struct ws_import_range *ranges;
	size_t nranges, ranges_capacity;
	struct ws_strtab rows; /* key: pid and tid as written */
	struct ws_pytorch_deferred *deferred;
	size_t ndeferred, deferred_capacity;
	struct ws_buf deferred_text;
	struct ws_strtab arrow_ends; /* key: row and time; id - 1 is the index below */
	struct ws_pytorch_arrow *arrows;
	size_t narrows, arrows_capacity;
	bool has_ids;                   /* device work with a correlation id was seen, */
	uint64_t without_id;            /* and some without */
	struct ws_map call_ids;         /* 64 correlation ids of calls to an entry, a bit each */
	struct ws_pytorch_id *work_ids; /* of device work that came before its call */
	size_t nwork_ids, work_ids_capacity;
	struct ws_strtab flow_ids; /* key: kind and id; id - 1 is the index below */
	struct ws_flow_end *flows;
	size_t nflows, flows_capacity;

	int names_2021; /* category names of that generation were seen */
	int fractions;  /* times with digits after the point were seen */
	int has_span, has_events;
	uint64_t unreadable; /* places, not records */
	uint64_t at_zero;    /* events whose time the profiler lost */
	uint64_t dropped[WS_PYTORCH_DROPPED];
	uint64_t last_link;  /* correlation of the last external_link row */
	struct ws_buf names; /* of processes and threads, until the end */
	struct ws_buf scratch;
};

void ws_pytorch_init(struct ws_pytorch *p, struct ws_import_out *out, struct ws_json_stream *text,
                     struct ws_import_clock *clock);
/* Read the event object that comes next; the window must hold it whole. */
enum ws_json_result ws_pytorch_parse(const struct ws_pytorch *p, struct ws_json_reader *j,
                                     struct ws_pytorch_event *e);
/* Write what it becomes. */
void ws_pytorch_event(struct ws_pytorch *p, const struct ws_pytorch_event *e);
/* After the last event: ranges, waiting rows, names, counts. */
void ws_pytorch_finish(struct ws_pytorch *p);
void ws_pytorch_free(struct ws_pytorch *p);

/* --- parts of an event --- */

/* A number; `otherwise` when it is none (or negative, for the first). */
uint64_t ws_pytorch_u64(const struct ws_json_value *v, uint64_t otherwise);
int64_t ws_pytorch_i64(const struct ws_json_value *v, int64_t otherwise);
#define ARG_U64(e, ID)       ws_pytorch_u64(&(e)->arg[WS_ARG_##ID], 0)
#define ARG_I64(e, ID, none) ws_pytorch_i64(&(e)->arg[WS_ARG_##ID], (none))

void ws_pytorch_text(struct ws_pytorch *p, const struct ws_json_value *v, uint64_t *id);
/* 1 and the time, relative to the trace's base; 0 when it is none. */
bool ws_pytorch_time(struct ws_pytorch *p, const struct ws_json_value *v, int64_t *time_ns);
/* Start and duration of an event that has both. 0 and counted when they cannot be believed. */
bool ws_pytorch_span(struct ws_pytorch *p, const struct ws_pytorch_event *e, int64_t *start_ns,
                     int64_t *dur_ns);
/* The thread of an event of the host; one without a number is known by its text. */
void ws_pytorch_thread(struct ws_pytorch *p, const struct ws_pytorch_event *e, uint64_t *thread);

/* Position of the text among words (NUL-separated, the last one empty); 0 when it is not there. */
unsigned ws_pytorch_word(const char *words, const char *text, size_t len);

/*
 * What the event says of a collective operation; nothing where it says nothing.
 * correlation: of the event's kernel, 0 = the event is the call.
 */
void ws_pytorch_collective(struct ws_pytorch *p, const struct ws_pytorch_event *e, int64_t time_ns,
                           uint64_t correlation);

/* --- events that wait for the end --- */

/*
 * Keep an event for the end of the file: a begin, an end, or, with what it is, a call or device
 * work without a correlation id.
 */
void ws_pytorch_defer(struct ws_pytorch *p, const struct ws_pytorch_event *e,
                      enum ws_pytorch_work work, bool is_call);
/* One end of an arrow from a call to device work. */
void ws_pytorch_arrow(struct ws_pytorch *p, const struct ws_pytorch_event *e);
/* Correlation ids of calls and of device work; work whose id no call has is counted. */
void ws_pytorch_call_id(struct ws_pytorch *p, uint64_t correlation);
void ws_pytorch_work_id(struct ws_pytorch *p, uint64_t correlation, bool has_operation);
void ws_pytorch_count_work_without_call(struct ws_pytorch *p);
/* Device work has correlation ids: arrows say nothing new. */
void ws_pytorch_forget_arrows(struct ws_pytorch *p);
/* Pair begins and ends, find correlation ids, and complete the events, each with a duration. */
typedef void (*ws_pytorch_event_fn)(struct ws_pytorch *p, const struct ws_pytorch_event *e);
void ws_pytorch_put_deferred(struct ws_pytorch *p, ws_pytorch_event_fn complete);

/* --- device work --- */

/* An event of the host tells which process launched the device work: a file has one. */
void ws_pytorch_host_event(struct ws_pytorch *p, const struct ws_pytorch_event *e);
void ws_pytorch_put_waiting(struct ws_pytorch *p);
void ws_pytorch_on_kernel(struct ws_pytorch *p, const struct ws_pytorch_event *e);
void ws_pytorch_on_copy(struct ws_pytorch *p, const struct ws_pytorch_event *e);
void ws_pytorch_on_set(struct ws_pytorch *p, const struct ws_pytorch_event *e);
void ws_pytorch_on_sync(struct ws_pytorch *p, const struct ws_pytorch_event *e);
void ws_pytorch_on_gpu_annotation(struct ws_pytorch *p, const struct ws_pytorch_event *e);

/* --- pytorch.c --- */

/* Events of a trace, from its text. */
enum ws_status ws_import_pytorch(struct ws_import_out *o, struct ws_json_stream *text,
                                 struct ws_import_clock *clock, struct ws_err *err);
