/*
 * Records of a trace as CSV, a file for each kind. The columns are those of
 * schema.def by name, with their unit where the name does not tell it; texts
 * stand for their ids, names of what an id names stand beside it. Unknown is
 * empty.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "report/export/source.h"
#include "report/records/records.h"

struct ws_export_csv {
	const struct ws_trace_reader *r;
	struct ws_export_progress progress;
	struct ws_records dict[WS_KIND_END]; /* of the kinds that others name */
	struct ws_buf hex;
};

/* Free with ws_export_csv_free, also after a failure. */
enum ws_status ws_export_csv_init(struct ws_export_csv *c, const struct ws_trace_reader *r,
                                  const struct ws_export_opts *opts, struct ws_err *err);
void ws_export_csv_free(struct ws_export_csv *c);

/* 1 when the kind is one of events or things: not the file's own bookkeeping. */
bool ws_export_csv_has(enum ws_kind kind);
/* Header and all rows. IO_WRITE when f has an error. */
enum ws_status ws_export_csv_kind(struct ws_export_csv *c, enum ws_kind kind, FILE *f,
                                  struct ws_err *err);
