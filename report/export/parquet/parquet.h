/*
 * A trace as Parquet files, for query engines. One flat file per table; files of a table have the
 * same columns in every trace, so a glob over many traces is one table. docs/reference/parquet.md
 * lists tables and columns.
 *
 * This is in report/ and not in formats/, because a kernel's row has results of analysis: its
 * launching call, NVTX path, step and class.
 */
#pragma once

#include "formats/base/outfile.h"
#include "formats/parquet/writer.h"
#include "report/export/exporter.h"
#include "report/joined/rows.h"

/*
 * The exporter writes every table of the trace under job->to, which is made when it does not exist;
 * its parent must. Files appear under their names, replacing those of an earlier export, once all
 * are complete; a failure leaves none. IO_WRITE names the file. If the rank is known, the files go
 * into a subfolder rank=NNNN. With job->fleet the rows go there, and job->to is the name of the
 * trace in it.
 */

/*
 * Many traces in one folder, one file per table: it has the rows of all traces, one trace after the
 * other, with two more columns, `trace` and `rank`. Row groups hold rows of many traces, so a query
 * over a thousand ranks opens one file. All files appear when the fleet is closed with status
 * WS_OK, and none otherwise; the status is passed on.
 */
enum ws_status ws_parquet_fleet_open(struct ws_parquet_fleet **out, const char *dir,
                                     struct ws_err *err);
enum ws_status ws_parquet_fleet_close(struct ws_parquet_fleet *fleet, enum ws_status status,
                                      struct ws_err *err);

/*
 * Roll-ups: a trace as sums that can be added to those of other traces. One
 * row for each step, launch configuration and NVTX path, and the times of its
 * kernels as count, sums, extrema and histogram. docs/reference/parquet.md has the
 * columns, docs/reference/at-scale.md how to merge them.
 */

/*
 * The histogram's buckets are as in HdrHistogram: each time below 128 ns has its own; each octave
 * above is divided into 128 of equal width, so the width of a bucket is at most 1/128 of its times.
 * Times of 0 to 2^63 - 1 ns fall into buckets 0 to WS_ROLLUP_BUCKETS - 1.
 */
#define WS_ROLLUP_BUCKETS 7296u
uint32_t ws_rollup_bucket(uint64_t dur_ns);
/* The smallest time of a bucket; for WS_ROLLUP_BUCKETS: 2^63. */
uint64_t ws_rollup_bucket_from(uint32_t bucket);

/* --- folder ---------------------------------------------------------------------------------- */

/*
 * The Parquet files of one trace in a folder: their metadata, and their appearing together or not
 * at all.
 */

#define WS_PARQUET_MAX_FIELDS 64u

/* A column. Texts are borrowed. */
struct ws_parquet_field {
	const char *name;
	enum ws_parquet_type type;
	uint8_t optional;
	const char *unit; /* "" = none */
};

struct ws_parquet_folder {
	const struct ws_model *m;
	const struct ws_export_job *job;
	struct ws_export_progress progress;
	int64_t rank; /* -1 = unknown */
	struct ws_outfolder out;
};

/* An unfinished file. */
struct ws_parquet_table {
	struct ws_parquet_folder *folder;
	struct ws_parquet_column columns[WS_PARQUET_MAX_FIELDS];
	struct ws_outfile out;
	struct ws_parquet_writer *w;
	struct ws_parquet_table *of_fleet; /* table whose writer is used; NULL: its own */
};

/* Writes all rows of a table. */
typedef enum ws_status (*ws_parquet_fill_fn)(void *ctx, struct ws_parquet_table *t,
                                             struct ws_err *err);

/* Texts of all paths of the model's ranges; free with ws_parquet_paths_free. */
struct ws_parquet_paths {
	struct ws_bytes *text;
	size_t n;
};
