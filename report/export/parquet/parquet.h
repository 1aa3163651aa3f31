/*
 * A trace as Parquet files, for engines that outgrow one machine. One flat
 * file a table; every file of every trace has the same columns, so a glob
 * over many traces is one table. docs/parquet.md lists tables and columns.
 *
 * Here and not in formats/, as a kernel's row holds what only analysis knows:
 * its launching call, NVTX path, step and class.
 */
#pragma once

#include <stdint.h>

#include "formats/base/status.h"

struct ws_parquet_fleet;

struct ws_export_parquet_opts {
	/* the folder rank=NNNN that the files go into; -1 = as the trace says, no such folder
	 * when it does not */
	int64_t rank;
	/* called now and then with rows written and rows there are; may be NULL */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
	/* its tables take the rows; NULL: the trace has a folder of its own */
	struct ws_parquet_fleet *fleet;
};
#define WS_EXPORT_PARQUET_DEFAULTS   \
	{                            \
		-1, NULL, NULL, NULL \
	}

/*
 * Write every table of the trace under dir, which is made when it does not
 * exist; its parent must. Files appear under their names, over those of an
 * earlier export, when all are written whole; a failure leaves none. The same
 * trace gives the same bytes. opts may be NULL. IO_WRITE names the file.
 * With opts->fleet the rows go there, and dir is what the trace is called in it.
 */
enum ws_status ws_export_parquet(const char *trace_path, const char *dir,
                                 const struct ws_export_parquet_opts *opts, struct ws_err *err);

/*
 * Many traces in one folder, one file a table: its rows are those of all traces, one trace after
 * the other, and say theirs in two more columns, `trace` and `rank`. Row groups hold rows of many
 * traces, so a query over a thousand ranks opens one file. All files appear when the fleet is
 * closed with status WS_OK, and none otherwise; the status is passed on.
 */
enum ws_status ws_parquet_fleet_open(struct ws_parquet_fleet **out, const char *dir,
                                     struct ws_err *err);
enum ws_status ws_parquet_fleet_close(struct ws_parquet_fleet *fleet, enum ws_status status,
                                      struct ws_err *err);
