/*
 * An exporter: one of these, ws_exporter_NAME, in a file of its own, and its name in the list
 * below.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "formats/base/bytes.h"
#include "formats/base/status.h"
#include "formats/base/memory.h"
#include "formats/trace/reader.h"

/* --- from a trace to other tools' files ------------------------------------------------------ */

/*
 * From a trace to other tools' files. docs/reference/export.md says what becomes of
 * every record, and what a format has no place for.
 *
 * The same trace gives the same bytes. A file is written from its beginning
 * under the name given: making it appear whole or not at all is the caller's.
 */

struct ws_export_opts {
	/* told how many of how many rows are done; may be NULL */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
};

/* What is not in the file; all zeros before an export. */
struct ws_export_stats {
	uint64_t skipped[WS_KIND_END]; /* rows that the format has no place for, by kind */
	uint64_t without_time;         /* device work whose time was not recorded */
	uint64_t dangling;             /* pops and ends without a begin */
};

/* How far an export is. */
struct ws_export_progress {
	const struct ws_export_opts *opts;
	uint64_t done, total; /* rows */
};
void ws_export_progress_begin(struct ws_export_progress *p, const struct ws_trace_reader *r,
                              const struct ws_export_opts *opts);
/* More are done. Tells now and then. */
void ws_export_progress_tell(struct ws_export_progress *p, uint64_t rows);

/* Was the time of this row recorded? It is always but of kernels, copies and fills. */
bool ws_export_has_time(enum ws_kind kind, const void *row);

/* "cuLaunchKernel" is the driver's; "cudaLaunchKernel", and what is no CUDA call, runtime's. */
bool ws_export_is_driver_call(struct ws_bytes name);

/* A number that nobody has in the group: `wanted`, or where that is `from` or more, or taken, the
 * next from *made on. used: key and number of all that were given. */
uint64_t ws_export_unique(struct ws_strtab *used, uint64_t group, uint64_t wanted, uint64_t from,
                          uint64_t *made);

/* UTF-8 without NUL: broken sequences and NUL as U+FFFD. Borrowed from text or room. */
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
 * What is written to *f appears in an open file in gzip format, without name or time: the same text
 * gives the same bytes. Errors are those of stdio; ws_stream_close ends *f. IO_WRITE when it cannot
 * be opened.
 */
enum ws_status ws_export_gzip_open(FILE **f, FILE *to, struct ws_err *err);

struct ws_export_job {
	const char *trace; /* its name */
	const char *to;    /* file or folder to write; it appears whole or not at all */
	const struct ws_export_opts *opts;
	/* of those that have_ranks */
	int64_t rank;                   /* -1 = as the trace says */
	bool rollup;                    /* sums instead of records */
	struct ws_parquet_fleet *fleet; /* rows go there, under the trace's name `to`; or NULL */
};

struct ws_exporter {
	const char *name;          /* --format NAME */
	const char *extensions[2]; /* of files or folders that are meant for it; NULL: no more */
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
