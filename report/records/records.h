/*
 * The records of a trace as structs: all of a kind one after the other, or
 * those that others name in memory; texts by their ids.
 */
#pragma once

#include "formats/base/memory.h"
#include "formats/trace/reader.h"
#include "report/base/spill.h"

/* row is the struct ws_row_<kind> of the kind; it and its BLOBs are borrowed until the function
 * returns. */
typedef void (*ws_record_fn)(void *ctx, const void *row);

/* Call fn for each row of a kind in the order of the file; a column that a block lacks reads as 0.
 */
enum ws_status ws_records_each(const struct ws_trace_reader *r, enum ws_kind kind, ws_record_fn fn,
                               void *ctx, struct ws_err *err);

/* All rows of a kind, in memory. BLOBs stay valid. */
struct ws_records {
	struct ws_block *blocks; /* of kinds with BLOBs only, for these */
	size_t nblocks, capacity;
	struct ws_spill *room;
	void *rows; /* struct ws_row_<kind>[n], in room; of many, see ws_records_row */
	size_t n, row_size;
	struct ws_map places; /* id -> its last row */
};
/* Free with ws_records_free, also after a failure. */
enum ws_status ws_records_load(struct ws_records *d, const struct ws_trace_reader *r,
                               enum ws_kind kind, struct ws_err *err);
/* The same of a kind whose rows are found by the number in a column, an id. */
enum ws_status ws_records_load_by(struct ws_records *d, const struct ws_trace_reader *r,
                                  enum ws_kind kind, unsigned column, struct ws_err *err);
void ws_records_free(struct ws_records *d);
/* Row i of many, to be used now: those used before are let go of. */
static inline const void *ws_records_row(const struct ws_records *d, size_t i)
{
	return ws_spill_row(d->room, d->row_size, i);
}
/* The last row with this id; NULL when none has it. */
const void *ws_records_find(const struct ws_records *d, uint64_t id);
/* Text of a string row among strings; len 0 when there is none. */
struct ws_bytes ws_records_text(const struct ws_records *strings, uint64_t id);

/* The names that a program gave by NVTX to devices, contexts and streams. */

struct ws_resources {
	struct ws_records rows; /* of everything that has a name */
	struct ws_strtab keys;  /* type, process and number -> place in names, from 1 */
	uint64_t *names;        /* ids of string rows; of several names the last */
	size_t n, capacity;
};
/* Free with ws_resources_free, also after a failure. */
enum ws_status ws_resources_load(struct ws_resources *s, const struct ws_trace_reader *r,
                                 struct ws_err *err);
void ws_resources_free(struct ws_resources *s);

/* The string row of the name of a device, a context or a stream; 0: it has none. */
uint64_t ws_resources_device(const struct ws_resources *s, uint64_t device);
uint64_t ws_resources_context(const struct ws_resources *s, uint64_t pid, uint64_t context);
uint64_t ws_resources_stream(const struct ws_resources *s, uint64_t pid, uint64_t stream);
