/*
 * The rows of a trace as structs, for exporters: a kind block by block, or
 * rows that others name in memory; texts by their ids.
 */
#pragma once

#include "report/export/source.h"
#include "formats/base/map.h"
#include "report/base/spill.h"

/* row is the struct ws_row_<kind> of the kind; BLOBs are borrowed until the function returns. */
typedef enum ws_status (*ws_export_row_fn)(void *ctx, const void *row, struct ws_err *err);

/* How far an export is. */
struct ws_export_progress {
	const struct ws_export_opts *opts;
	uint64_t done, total;
};
void ws_export_progress_begin(struct ws_export_progress *p, const struct ws_trace_reader *r,
                              const struct ws_export_opts *opts);

void ws_export_progress_tell(struct ws_export_progress *p, uint64_t rows); /* more are done */

/*
 * Call fn for each row of a kind in the order of the file; a column that a
 * block lacks, or has in another type, reads as 0. p may be NULL.
 */
enum ws_status ws_export_each(const struct ws_trace_reader *r, enum ws_kind kind,
                              struct ws_export_progress *p, ws_export_row_fn fn, void *ctx,
                              struct ws_err *err);

/* --- rows in memory --- */

/* All rows of a kind. BLOBs stay valid. */
struct ws_export_dict {
	struct ws_column_data table; /* of kinds with BLOBs only */
	struct ws_spill *room;
	void *rows; /* struct ws_row_<kind>[n], in room; of many, see ws_export_row */
	size_t n, row_size;
	struct ws_map places; /* id -> its last row */
};
/* Free with ws_export_dict_free, also after a failure. */
enum ws_status ws_export_rows_load(struct ws_export_dict *d, const struct ws_trace_reader *r,
                                   enum ws_kind kind, struct ws_err *err);
/* The same of a kind whose first column is an id, to be found by it. */
enum ws_status ws_export_dict_load(struct ws_export_dict *d, const struct ws_trace_reader *r,
                                   enum ws_kind kind, struct ws_err *err);
void ws_export_dict_free(struct ws_export_dict *d);
/* Row i of many, to be used now: those used before are let go of. */
static inline const void *ws_export_row(const struct ws_export_dict *d, size_t i)
{
	return ws_spill_row(d->room, d->row_size, i);
}
/* NULL when no row has this id. */
const void *ws_export_dict_find(const struct ws_export_dict *d, uint64_t id);
/* Text of a string row in a dictionary of strings; len 0 when there is none. */
struct ws_bytes ws_export_text(const struct ws_export_dict *strings, uint64_t id);

/* UTF-8 without NUL: broken sequences and NUL as U+FFFD. Borrowed from text or room. */
enum ws_status ws_export_readable(struct ws_buf *room, struct ws_bytes text, struct ws_bytes *out,
                                  struct ws_err *err);
