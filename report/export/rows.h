/*
 * The rows of a trace as structs, for exporters: a kind block by block, or
 * rows that others name in memory; texts by their ids; NVTX events as ranges.
 */
#ifndef WS_REPORT_EXPORT_ROWS_H
#define WS_REPORT_EXPORT_ROWS_H

#include "report/export/source.h"
#include "formats/base/map.h"

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
	struct ws_table_data table;
	void *rows; /* struct ws_row_<kind>[n] */
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
/* NULL when no row has this id. */
const void *ws_export_dict_find(const struct ws_export_dict *d, uint64_t id);
/* Text of a string row in a dictionary of strings; len 0 when there is none. */
struct ws_bytes ws_export_text(const struct ws_export_dict *strings, uint64_t id);

/* UTF-8 without NUL: broken sequences and NUL as U+FFFD. Borrowed from text or room. */
enum ws_status ws_export_readable(struct ws_buf *room, struct ws_bytes text, struct ws_bytes *out,
                                  struct ws_err *err);

/* --- ranges --- */

enum {
	WS_EXPORT_RANGE_START_END = 1u << 0,
	WS_EXPORT_RANGE_OPEN = 1u << 1, /* never ended; end_ns is the begin */
};

struct ws_export_range {
	int64_t start_ns, end_ns;
	uint64_t thread, end_thread; /* thread ids */
	uint64_t domain, name;       /* string ids */
	uint64_t range, category, color, payload;
	uint8_t flags;
};

struct ws_export_ranges {
	/* by thread, then begin, an outer range before those inside */
	struct ws_export_range *range;
	size_t n;
	struct ws_row_nvtx *mark;
	size_t nmarks;
	uint64_t dangling; /* pops and ends without a begin */
};
/*
 * Push and pop pair up per thread and domain, start and end by the range's id
 * within its process. Free with ws_export_ranges_free, also after a failure.
 */
enum ws_status ws_export_ranges_load(struct ws_export_ranges *out, const struct ws_trace_reader *r,
                                     const struct ws_export_dict *threads, struct ws_err *err);
void ws_export_ranges_free(struct ws_export_ranges *ranges);

#endif
