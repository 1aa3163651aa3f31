/*
 * Code shared by importers of other profilers' files. An importer is a struct ws_importer, called
 * ws_importer_NAME, in a folder formats/NAME, and its name in WS_IMPORTERS below. It writes through
 * struct ws_import_out, which gives ids to threads, texts, devices and operations, and counts
 * losses and warnings.
 */
#pragma once

#include "formats/base/memory.h"
#include "formats/schema/loss.h"
#include "formats/trace/writer.h"

/* --- what an import counts --- */

#define WS_IMPORT_MAX_SKIPS    48
#define WS_IMPORT_MAX_WARNINGS 32
#define WS_IMPORT_TEXT_BYTES   192

enum ws_import_loss {
#define X(name, meaning) WS_LOST_##name,
	WS_IMPORT_LOSS_LIST(X)
#undef X
	        WS_IMPORT_LOSSES
};

/* Why records of the input are not in the trace. */
struct ws_import_skip {
	char reason[WS_IMPORT_TEXT_BYTES];
	uint64_t count;
	bool is_summed; /* of a loss: of records that are counted nowhere else */
};

struct ws_import_stats {
	const char *source;                /* the importer's name */
	char format[WS_IMPORT_TEXT_BYTES]; /* "2024 generation", "schema 3.16.1" … */
	/* records of the input: events = kept + ws_import_left_out() */
	uint64_t events;
	uint64_t kept;              /* became rows of the trace, or names in them */
	uint64_t rows[WS_KIND_END]; /* rows written, by record kind */
	struct ws_import_skip losses[WS_IMPORT_LOSSES];   /* damage of the input; count may be 0 */
	struct ws_import_skip skips[WS_IMPORT_MAX_SKIPS]; /* the trace has no place for these */
	size_t nskips;
	char warnings[WS_IMPORT_MAX_WARNINGS][WS_IMPORT_TEXT_BYTES];
	size_t nwarnings;
	uint64_t warnings_more; /* those that did not fit */
};

/* Records that are not in the trace, for whatever reason. */
uint64_t ws_import_left_out(const struct ws_import_stats *stats);

/* Progress of an import in bytes or rows of the input; `total` is an estimate. */
typedef void (*ws_import_progress_fn)(void *ctx, uint64_t done, uint64_t total);

struct ws_import_opts {
	ws_import_progress_fn progress; /* called often; may be NULL */
	void *progress_ctx;
};

/* --- writing what is imported --- */

/* Times further from the trace's base are taken for damage. 73 years leave room to add and
 * subtract. */
#define WS_IMPORT_MAX_TIME_NS ((int64_t)1 << 61)

struct ws_import_process {
	uint64_t pid;
	uint64_t name; /* string id */
};

struct ws_import_out {
	struct ws_trace_writer *w;
	struct ws_import_stats *stats;
	const struct ws_import_opts *opts; /* NULL = the defaults */
	struct ws_strtab threads;          /* key: pid, tid, label */
	struct ws_strtab ops;              /* key: the texts of an op_config */
	struct ws_strtab processes;        /* key: pid; id - 1 is the index in process */
	struct ws_import_process *process;
	size_t nprocesses, processes_capacity;
	struct ws_strtab devices; /* key: id */
	uint64_t next_range;      /* id of the next start/end range */
	uint64_t lost[WS_IMPORT_LOSSES];
	struct ws_buf key, compact;
};

void ws_import_out_init(struct ws_import_out *o, struct ws_trace_writer *w,
                        struct ws_import_stats *stats);
/* Write processes, losses, and facts about the import. */
void ws_import_out_finish(struct ws_import_out *o);
void ws_import_out_free(struct ws_import_out *o); /* not the writer */

/* Add a row. If the trace cannot be written, closing its writer fails. */
void ws_import_row(struct ws_import_out *o, enum ws_kind kind, const void *row);
/* Count records of the input as being in the trace. */
static inline void ws_import_keep(struct ws_import_out *o, uint64_t records)
{
	o->stats->kept += records;
}
/* Add the row that a record of the input becomes. */
static inline void ws_import_record(struct ws_import_out *o, enum ws_kind kind, const void *row)
{
	ws_import_keep(o, 1);
	ws_import_row(o, kind, row);
}
/* Count records that were read and lost. */
static inline void ws_import_lose(struct ws_import_out *o, enum ws_import_loss loss,
                                  uint64_t records)
{
	o->stats->events += records;
	o->lost[loss] += records;
}
/* Count records that the trace has no place for, by design. */
void ws_import_skip(struct ws_import_out *o, const char *reason, uint64_t count);
/* The reason for which most records were left out, of those that begin with a or b; or NULL. */
const struct ws_import_skip *ws_import_most_skipped(const struct ws_import_stats *s, const char *a,
                                                    const char *b);
void ws_import_warn(struct ws_import_out *o, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* Are start and duration plausible? If not, the record is counted as lost. */
bool ws_import_time_ok(struct ws_import_out *o, int64_t start_ns, int64_t dur_ns);
/* Report progress, if the caller asked for it. */
static inline void ws_import_tell(const struct ws_import_out *o, uint64_t done, uint64_t total)
{
	if (o->opts && o->opts->progress)
		o->opts->progress(o->opts->progress_ctx, done, total);
}

void ws_import_text(struct ws_import_out *o, struct ws_bytes text, uint64_t *id);
void ws_import_meta(struct ws_import_out *o, const char *key, struct ws_bytes value);

/* The thread of a process. `label` identifies a thread without a number; else it is empty. */
void ws_import_thread(struct ws_import_out *o, uint64_t pid, uint64_t tid, struct ws_bytes label,
                      uint64_t *id);
/* The id of a thread that some record names; 0 if none does. Names are kept only for such threads
 * and processes. */
uint64_t ws_import_thread_known(const struct ws_import_out *o, uint64_t pid, uint64_t tid);
void ws_import_thread_name(struct ws_import_out *o, uint64_t thread, uint64_t pid, uint64_t tid,
                           struct ws_bytes name);
/* Note a process. ws_import_out_finish writes its row, when its name is known. */
struct ws_import_process *ws_import_process(struct ws_import_out *o, uint64_t pid);
bool ws_import_process_known(const struct ws_import_out *o, uint64_t pid);

/* Note a device that some record names: a row without a name, unless it has one already. */
void ws_import_device_used(struct ws_import_out *o, uint64_t id);
void ws_import_device(struct ws_import_out *o, uint64_t id, struct ws_bytes name);
void ws_import_device_attr(struct ws_import_out *o, uint64_t id, const char *attr, int64_t value);

/* The op_config of these texts (JSON arrays, may be empty), with its cost. */
struct ws_op_desc;
void ws_import_op(struct ws_import_out *o, const struct ws_op_desc *op, uint64_t *id);

/* --- ranges: from intervals to NVTX events --- */

#define WS_IMPORT_OPEN INT64_MAX /* end of a range that never ended */

struct ws_import_range {
	int64_t start_ns, end_ns;
	uint64_t thread, domain, name; /* ids of the trace */
	uint64_t category, color, payload;
	uint64_t sequence; /* of ranges equal in time, the one with the lower number is outside */
};

/*
 * Turns intervals into push and pop events. Ranges must come sorted by thread, domain and start,
 * the longest first. A range that crosses another cannot be a push and a pop of the same stack: it
 * becomes a start and an end event, and is counted.
 */
struct ws_import_nest {
	struct ws_import_out *out;
	struct ws_import_range *stack;
	size_t depth, capacity;
	uint64_t crossing;
};
void ws_import_nest_add(struct ws_import_nest *n, const struct ws_import_range *r);
/* Pop the remaining ranges, warn of crossings, and free. */
void ws_import_nest_finish(struct ws_import_nest *n);
/* All of that for ranges in any order, which it sorts. */
void ws_import_ranges(struct ws_import_out *o, struct ws_import_range *ranges, size_t n);
/* A start and an end event; no end for an open range. of_thread: it was a push and a pop, and holds
 * what its thread does alone (WS_RANGE_OF_THREAD). */
void ws_import_start_end(struct ws_import_out *o, const struct ws_import_range *r,
                         uint64_t end_thread, bool of_thread);
/* A mark at the start of r. */
void ws_import_mark(struct ws_import_out *o, const struct ws_import_range *r);

/* --- a text file, or the content of one in gzip --- */

struct gzFile_s;

struct ws_text_file {
	struct gzFile_s *gz;
	bool damaged;              /* the compressed data end early or are wrong */
	struct ws_import_out *out; /* receives progress; may be NULL */
	uint64_t size_bytes;       /* of the file */
};

/* IO_READ: there is no such file, or it is a pipe, which cannot be read twice. */
enum ws_status ws_text_file_open(struct ws_text_file *f, const char *path, struct ws_err *err);
/* Read up to size bytes; *got is 0 at the end. A ws_json_read_fn, whose ctx is the file. */
enum ws_status ws_text_file_read(void *ctx, void *buf, size_t size, size_t *got,
                                 struct ws_err *err);
bool ws_text_file_is_gzip(struct ws_text_file *f); /* after the first read */
void ws_text_file_close(struct ws_text_file *f);

/* --- importers --- */

/* Values of the file header found by an importer. */
struct ws_import_clock {
	int64_t base_ns; /* CLOCK_REALTIME of time 0 of the trace; 0 = unknown */
};

struct ws_importer {
	const char *name; /* of the format, for people: "PyTorch profiler JSON" */
	/* Is a file that begins with these bytes, decompressed, of this format? */
	bool (*recognises)(const char *first, size_t len);
	bool reads_gzip;
	/* Read the file. CORRUPT: nothing of it could be read. */
	enum ws_status (*run)(struct ws_import_out *o, const char *path,
	                      struct ws_import_clock *clock, struct ws_err *err);
	/* The probable kind of a file without imported records, and what to do: "it seems to be
	 * …" */
	void (*empty)(const struct ws_import_stats *stats, char *text, size_t size);
};

/* At most so many of a file's first bytes are shown to importers. */
#define WS_IMPORT_LOOK_BYTES ((size_t)1 << 18)

/* X(NAME), in the order in which they are asked whether a file is of their format. */
#ifdef WS_HAVE_PROTOBUF_C
#define WS_IMPORTERS(X) \
	X(pytorch)      \
	X(nsys)         \
	X(xla)
#else
#define WS_IMPORTERS(X) \
	X(pytorch)      \
	X(nsys)
#endif
#define X(name) extern const struct ws_importer ws_importer_##name;
WS_IMPORTERS(X)
#undef X
