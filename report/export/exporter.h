/*
 * An exporter is a struct ws_exporter called ws_exporter_NAME in its own file, and its name in the
 * list below.
 */
#pragma once

#include "formats/base/memory.h"
#include "formats/trace/reader.h"

/* --- from a trace to other tools' files ------------------------------------------------------ */

/*
 * From a trace to other tools' files. docs/reference/export.md describes the conversion of every
 * record, and the records that a format lacks.
 *
 * The same trace gives the same bytes. A file is written from its beginning under the name given:
 * the caller makes it appear whole or not at all.
 */

struct ws_export_opts {
	/* receives the numbers of finished and of all rows; may be NULL */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
};

/* Data that is not in the file; all zeros before an export. */
struct ws_export_stats {
	uint64_t skipped[WS_KIND_END]; /* rows for which the format has no place, by kind */
	uint64_t without_time;         /* device work whose time was not recorded */
	uint64_t dangling;             /* pops and ends without a begin */
};

/* Progress of an export. */
struct ws_export_progress {
	const struct ws_export_opts *opts;
	uint64_t done, total; /* rows */
};
void ws_export_progress_begin(struct ws_export_progress *p, const struct ws_trace_reader *r,
                              const struct ws_export_opts *opts);
/* Counts finished rows, and reports progress from time to time. */
void ws_export_progress_tell(struct ws_export_progress *p, uint64_t rows);

/* Was the time of this row recorded? Only kernels, copies and fills may lack it. */
bool ws_export_has_time(enum ws_kind kind, const void *row);

/* Is this a call of the CUDA driver ("cuLaunchKernel")? "cudaLaunchKernel" and all other calls
 * count as runtime. */
bool ws_export_is_driver_call(struct ws_bytes name);

/* A number that is unused in the group: `wanted`, or, if that is taken or not below `from`, the
 * next from *made on. used: key and number of all assigned numbers. */
uint64_t ws_export_unique(struct ws_strtab *used, uint64_t group, uint64_t wanted, uint64_t from,
                          uint64_t *made);

/* Valid UTF-8 without NUL: invalid sequences and NUL become U+FFFD. Borrowed from text or room. */
static inline struct ws_bytes ws_export_readable(struct ws_buf *room, struct ws_bytes text)
{
	return ws_utf8_repair(room, text, false);
}

/* An SQLite database in the schema of Nsight Systems' export; path is empty or new. IO_WRITE. */
enum ws_status ws_export_nsys(const struct ws_trace_reader *r, const char *path,
                              const struct ws_export_opts *opts, struct ws_export_stats *stats,
                              struct ws_err *err);

/* A file of text that is compressed as it is written. */

/*
 * Opens *f, whose output is written to an open file in gzip format, without name or time, so that
 * the same text gives the same bytes. Errors are those of stdio; close *f with ws_stream_close.
 * IO_WRITE if it cannot be opened.
 */
enum ws_status ws_export_gzip_open(FILE **f, FILE *to, struct ws_err *err);

struct ws_export_job {
	const char *trace; /* its name */
	const char *to;    /* file or folder to write; it appears whole or not at all */
	const struct ws_export_opts *opts;
	/* only for formats with have_ranks */
	int64_t rank; /* -1 = from the trace */
	bool rollup;  /* sums instead of records */
	struct ws_parquet_fleet
	        *fleet; /* destination of rows, under the trace's name `to`; or NULL */
};

struct ws_exporter {
	const char *name;          /* --format NAME */
	const char *extensions[2]; /* extensions of files or folders for it; NULL: no more */
	bool has_ranks;
	/* stats: all zeros */
	enum ws_status (*write)(const struct ws_trace_reader *r, const struct ws_export_job *job,
	                        struct ws_export_stats *stats, struct ws_err *err);
};

#define WS_EXPORTERS(X) \
	X(sqlite)       \
	X(json)         \
	X(perfetto)     \
	X(parquet)      \
	X(collapsed)
#define X(name) extern const struct ws_exporter ws_exporter_##name;
WS_EXPORTERS(X)
#undef X
