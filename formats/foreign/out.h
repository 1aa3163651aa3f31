/*
 * What both importers write through: threads, texts, devices and operations
 * by their own names become ids of the trace; losses and warnings are kept.
 * Internal to formats/import*.c.
 */
#pragma once

#include <stdbool.h>

#include "formats/base/bytes.h"
#include "formats/foreign/stats.h"
#include "formats/schema/loss.h"
#include "formats/base/strtab.h"
#include "formats/trace/writer.h"

/* Times further from the trace's base are not believed: room to add and subtract, 73 years. */
#define WS_IMPORT_MAX_TIME_NS ((int64_t)1 << 61)

enum ws_import_loss {
#define X(name, meaning) WS_LOST_##name,
	WS_IMPORT_LOSS_LIST(X)
#undef X
	        WS_IMPORT_LOSSES
};
_Static_assert((int)WS_IMPORT_LOSSES <= WS_IMPORT_MAX_LOSSES, "struct ws_import_stats holds them");

struct ws_import_process {
	uint64_t pid;
	uint64_t name; /* string id */
};

struct ws_import_out {
	struct ws_trace_writer *w;
	struct ws_import_stats *stats;
	const struct ws_import_opts *opts; /* NULL = the defaults */
	struct ws_strtab threads;          /* key: struct thread_key */
	struct ws_strtab ops;              /* key: the texts of an op_config */
	struct ws_strtab processes;        /* key: pid; id - 1 is the index below */
	struct ws_import_process *process;
	size_t nprocesses, processes_capacity;
	struct ws_strtab devices; /* key: id */
	uint64_t next_range;      /* id of the next start/end range */
	uint64_t lost[WS_IMPORT_LOSSES];
	struct ws_buf key, compact;
};

void ws_import_out_init(struct ws_import_out *o, struct ws_trace_writer *w,
                        struct ws_import_stats *stats);
void ws_import_out_free(struct ws_import_out *o); /* not the writer */

/* Add a row. That the trace could not be written is told when its writer is closed. */
void ws_import_row(struct ws_import_out *o, enum ws_kind kind, const void *row);
/* So many records of the input are in the trace. */
static inline void ws_import_keep(struct ws_import_out *o, uint64_t records)
{
	o->stats->kept += records;
}
/* The row that a record of the input becomes. */
static inline void ws_import_record(struct ws_import_out *o, enum ws_kind kind, const void *row)
{
	ws_import_keep(o, 1);
	ws_import_row(o, kind, row);
}
/* Records whose text was found and lost: they were read, too. */
static inline void ws_import_lose(struct ws_import_out *o, enum ws_import_loss loss,
                                  uint64_t records)
{
	o->stats->events += records;
	o->lost[loss] += records;
}
void ws_import_text(struct ws_import_out *o, struct ws_bytes text, uint64_t *id);

/* The thread of a process; `label` tells threads apart that have no number, else it is empty. */
void ws_import_thread(struct ws_import_out *o, uint64_t pid, uint64_t tid, struct ws_bytes label,
                      uint64_t *id);
/* Known only: names are kept for threads and processes that some record names. 0 = not known. */
uint64_t ws_import_thread_known(const struct ws_import_out *o, uint64_t pid, uint64_t tid);
void ws_import_thread_name(struct ws_import_out *o, uint64_t thread, uint64_t pid, uint64_t tid,
                           struct ws_bytes name);
/* Note a process; its row is written by ws_import_out_finish, when its name is known. */
struct ws_import_process *ws_import_process(struct ws_import_out *o, uint64_t pid);

bool ws_import_process_known(const struct ws_import_out *o, uint64_t pid);

/* A device that some record names: a row without a name unless there is one already. */
void ws_import_device_used(struct ws_import_out *o, uint64_t id);
void ws_import_device(struct ws_import_out *o, uint64_t id, struct ws_bytes name);
void ws_import_device_attr(struct ws_import_out *o, uint64_t id, const char *attr, int64_t value);

/* The op_config of these texts (JSON arrays, may be empty), costed when it is new. */
struct ws_op_desc;
void ws_import_op(struct ws_import_out *o, const struct ws_op_desc *op, uint64_t *id);

/* Count records that the trace has no place for, on purpose. */
void ws_import_skip(struct ws_import_out *o, const char *reason, uint64_t count);
void ws_import_warn(struct ws_import_out *o, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
void ws_import_meta(struct ws_import_out *o, const char *key, struct ws_bytes value);

/* Tell whoever wants to know how far it is. */
static inline void ws_import_tell(const struct ws_import_out *o, uint64_t done, uint64_t total)
{
	if (o->opts && o->opts->progress)
		o->opts->progress(o->opts->progress_ctx, done, total);
}

/* 1 when start and duration are believable; otherwise counts the record as lost. */
bool ws_import_time_ok(struct ws_import_out *o, int64_t start_ns, int64_t dur_ns);

/* Processes, losses, and what the import itself is. */
void ws_import_out_finish(struct ws_import_out *o);

/* --- ranges: import_ranges.c --- */

#define WS_IMPORT_OPEN INT64_MAX /* end of a range that never ended */

struct ws_import_range {
	int64_t start_ns, end_ns;
	uint64_t thread, domain, name; /* ids of the trace */
	uint64_t category, color, payload;
	uint64_t sequence; /* of equal ones the earlier is outside */
};

/*
 * Turns intervals into push and pop events. Ranges must come sorted by
 * ws_import_range_compare. One that crosses another cannot be a push and a pop
 * of the same stack; it becomes a start and an end, and is counted.
 */
struct ws_import_nest {
	struct ws_import_out *out;
	struct ws_import_range *stack;
	size_t depth, capacity;
	uint64_t crossing;
};
int ws_import_range_compare(const void *a,
                            const void *b); /* thread, domain, start, longest first */
void ws_import_nest_add(struct ws_import_nest *n, const struct ws_import_range *r);
/* Pop what is left, free, and warn of crossings. */
void ws_import_nest_finish(struct ws_import_nest *n);
void ws_import_nest_free(struct ws_import_nest *n);
/* A start and an end event; no end for an open range. */
void ws_import_start_end(struct ws_import_out *o, const struct ws_import_range *r,
                         uint64_t end_thread);
