/*
 * An exporter: one of these, ws_exporter_NAME, in a file of its own, and its name in the list
 * below.
 */
#pragma once

#include <stdbool.h>

#include "report/export/source.h"

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
