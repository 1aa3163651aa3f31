/*
 * Reads a trace file, or what is left of one. The parser sees (pointer,
 * size) only; ws_trace_reader_open() maps a file and calls it. A reader is
 * for one thread at a time; decoded blocks and tables own their values and
 * may outlive it.
 */
#pragma once

#include "formats/schema/schema.h"
#include "formats/base/status.h"

struct ws_trace_reader;

/*
 * Open a trace. CORRUPT when the file header is damaged or the file is no
 * trace, TOO_NEW when it needs features this program lacks. A missing trailer
 * or index is no error: the blocks are found by scanning, damaged stretches
 * are skipped and ws_trace_reader_summary tells so.
 */
enum ws_status ws_trace_reader_open(struct ws_trace_reader **out, const char *path,
                                    struct ws_err *err);
/* data must outlive the reader. */
enum ws_status ws_trace_reader_open_mem(struct ws_trace_reader **out, const void *data, size_t size,
                                        struct ws_err *err);
void ws_trace_reader_free(struct ws_trace_reader *r); /* NULL is legal */

struct ws_trace_summary {
	uint64_t file_size; /* bytes */
	uint64_t file_hash; /* XXH3-64 of the whole file */
	int64_t base_ns;    /* CLOCK_REALTIME ns of time 0 */
	uint16_t version_major, version_minor;
	uint64_t required_features, optional_features;
	uint64_t blocks;         /* whole blocks found */
	uint64_t damaged_blocks; /* damaged stretches: a block, or what cannot be told apart */
	uint64_t skipped_bytes;  /* bytes that belong to no whole block */
	uint64_t unknown_blocks; /* whole blocks of kinds this program does not know */
	int closed;              /* index and trailer are present and right */
};
const struct ws_trace_summary *ws_trace_reader_summary(const struct ws_trace_reader *r);

/*
 * Rows of one kind that lie together. A stored block that holds rows of two
 * kinds (thread_event) is two of them: offset, sequence and times are those of
 * the stored block, size is a share of it.
 */
struct ws_block_info {
	uint64_t offset;   /* bytes from the start of the file */
	uint64_t size;     /* bytes, header and padding included */
	uint64_t sequence; /* number that the writer gave it */
	uint16_t kind;     /* may be unknown to this program */
	uint32_t rows;
	uint32_t api_rows; /* of a stored block of two kinds */
	uint16_t ncolumns;
	int64_t time_min_ns, time_max_ns;
};
/* In file order. */
size_t ws_trace_reader_block_count(const struct ws_trace_reader *r);
const struct ws_block_info *ws_trace_reader_block(const struct ws_trace_reader *r, size_t i);

/* Rows of a kind in all whole blocks. */
uint64_t ws_trace_reader_count(const struct ws_trace_reader *r, enum ws_kind kind);

/* Names from the file's own schema, for kinds and columns this program may not know; NULL when
 * absent. Borrowed from the reader. */
const char *ws_trace_reader_kind_name(const struct ws_trace_reader *r, unsigned kind);
const char *ws_trace_reader_column_name(const struct ws_trace_reader *r, unsigned kind,
                                        unsigned column);
const char *ws_trace_reader_column_unit(const struct ws_trace_reader *r, unsigned kind,
                                        unsigned column);

/* One column of decoded rows. Fixed types: v[i]. BLOB: bytes b[i]. */
struct ws_column {
	uint16_t id;
	uint8_t type;    /* enum ws_type */
	uint8_t present; /* 0: the file lacks it, v/b are NULL */
	uint8_t encoding;
	uint64_t stored_bytes; /* in the file */
	uint64_t *v;           /* I64 and TIME as two's complement, F64 as bits */
	struct ws_bytes *b;
};
static inline int64_t ws_column_i64(const struct ws_column *c, size_t i)
{
	return (int64_t)c->v[i];
}

/* A decoded block with the columns as the file has them (unknown ones too), or, of a thread_event
 * block, those of its kind. */
struct ws_block {
	struct ws_block_info info;
	uint16_t ncolumns;
	struct ws_column *columns;
	void *arena; /* owns the values */
};
/* Decode block i. CORRUPT names block and column; TOO_NEW an encoding this program lacks. */
enum ws_status ws_trace_reader_decode(const struct ws_trace_reader *r, size_t i,
                                      struct ws_block *out, struct ws_err *err);
void ws_block_release(struct ws_block *block);

/*
 * All rows of one kind in file order, columns in the order of schema.def
 * (index with WS_COL_<kind>_<column>). A column that no block has is not
 * present; where only some blocks have it the others give 0.
 */
struct ws_column_data {
	const struct ws_kind_def *def;
	uint64_t rows;
	struct ws_column *columns; /* def->ncolumns of them */
	void **arenas;             /* what BLOBs borrow from */
	size_t narenas, capacity;
};
enum ws_status ws_trace_reader_load(const struct ws_trace_reader *r, enum ws_kind kind,
                                    struct ws_column_data *out, struct ws_err *err);
void ws_column_data_release(struct ws_column_data *t);
