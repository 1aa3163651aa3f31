/*
 * A trace as Parquet files, for engines that outgrow one machine. One flat
 * file a table; every file of every trace has the same columns, so a glob
 * over many traces is one table. docs/reference/parquet.md lists tables and columns.
 *
 * Here and not in formats/, as a kernel's row holds what only analysis knows:
 * its launching call, NVTX path, step and class.
 */
#pragma once

#include "report/export/exporter.h"
#include "report/joined/rows.h"

/*
 * The exporter writes every table of the trace under job->to, which is made when it does not
 * exist; its parent must. Files appear under their names, over those of an earlier export, when all
 * are written whole; a failure leaves none. IO_WRITE names the file. Where a rank is known the
 * files go into a folder rank=NNNN there. With job->fleet the rows go there, and job->to is what
 * the trace is called in it.
 */

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
