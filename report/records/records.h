/*
 * The records of a trace as structs: iterating over a kind, or loading a kind to look up rows by
 * id; texts by their ids.
 */
#pragma once

#include "formats/base/memory.h"
#include "formats/trace/reader.h"
#include "report/base/spill.h"

/* row is the struct ws_row_<kind> of the kind. It and its BLOBs are valid until the function
 * returns. */
typedef void (*ws_record_fn)(void *ctx, const void *row);

/* Call fn for each row of a kind in the order of the file; a column that a block lacks is 0. */
enum ws_status ws_records_each(const struct ws_trace_reader *r, enum ws_kind kind, ws_record_fn fn,
                               void *ctx, struct ws_err *err);

/* All rows of a kind, in memory. BLOBs stay valid. */
struct ws_records {
	struct ws_block *blocks; /* storage of BLOBs, for kinds that have some */
	size_t nblocks, capacity;
	struct ws_spill *room;
	void *rows; /* struct ws_row_<kind>[n], in room; for large kinds see ws_records_row */
	size_t n, row_size;
	struct ws_map places; /* id -> its last row */
};
/* Free with ws_records_free, also after a failure. */
enum ws_status ws_records_load(struct ws_records *d, const struct ws_trace_reader *r,
                               enum ws_kind kind, struct ws_err *err);
/* The same for a kind whose rows are looked up by an id in a column. */
enum ws_status ws_records_load_by(struct ws_records *d, const struct ws_trace_reader *r,
                                  enum ws_kind kind, unsigned column, struct ws_err *err);
void ws_records_free(struct ws_records *d);
/* Row i of a large kind; valid until the next call. */
static inline const void *ws_records_row(const struct ws_records *d, size_t i)
{
	return ws_spill_row(d->room, d->row_size, i);
}
/* The last row with this id; NULL if there is none. */
const void *ws_records_find(const struct ws_records *d, uint64_t id);
/* Text of a string row among strings; len 0 if there is none. */
struct ws_bytes ws_records_text(const struct ws_records *strings, uint64_t id);

/* Names of devices, contexts and streams that a program set by NVTX. */

struct ws_resources {
	struct ws_records rows; /* rows of all named objects */
	struct ws_strtab keys;  /* type, process and number -> index in names, from 1 */
	uint64_t *names; /* ids of string rows; the last one if an object was named several times */
	size_t n, capacity;
};
/* Free with ws_resources_free, also after a failure. */
enum ws_status ws_resources_load(struct ws_resources *s, const struct ws_trace_reader *r,
                                 struct ws_err *err);
void ws_resources_free(struct ws_resources *s);

/* Id of the string row with the name of a device, a context or a stream; 0: no name. */
uint64_t ws_resources_device(const struct ws_resources *s, uint64_t device);
uint64_t ws_resources_context(const struct ws_resources *s, uint64_t pid, uint64_t context);
uint64_t ws_resources_stream(const struct ws_resources *s, uint64_t pid, uint64_t stream);
