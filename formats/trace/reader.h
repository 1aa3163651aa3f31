/*
 * Reads a trace file, or the intact part of one. The parser sees (pointer, size) only;
 * ws_trace_reader_open() maps a file and calls it. A reader is for one thread at a time. Decoded
 * blocks and tables own their values and may outlive it.
 */
#pragma once

#include <pthread.h>

#include "formats/schema/schema.h"

struct ws_trace_reader;

/*
 * Open a trace. CORRUPT when the file is not a trace or its header is damaged, TOO_NEW when it
 * needs features that this program lacks. A missing trailer or index is no error: the blocks are
 * found by walking through the file. Damaged stretches are skipped, and ws_trace_reader_summary
 * counts them.
 */
enum ws_status ws_trace_reader_open(struct ws_trace_reader **out, const char *path,
                                    struct ws_err *err);
/* The same of a file that is open, at its beginning; path is for messages. */
enum ws_status ws_trace_reader_open_file(struct ws_trace_reader **out, int fd, const char *path,
                                         struct ws_err *err);
/* data must outlive the reader. */
enum ws_status ws_trace_reader_open_mem(struct ws_trace_reader **out, const void *data, size_t size,
                                        struct ws_err *err);
void ws_trace_reader_free(struct ws_trace_reader *r); /* NULL is legal */

/*
 * From now on a mapped file that is cut while it is read ends the process with exit code 3, after a
 * message and after removing unfinished output. Called once, where a program begins to read.
 */
void ws_trace_map_end_well_when_cut(void);

struct ws_trace_summary {
	uint64_t file_size; /* bytes, of ws_trace_reader_made_of */
	uint64_t file_hash; /* XXH3-64 of the whole file, the same */
	int64_t base_ns;    /* CLOCK_REALTIME ns of time 0 */
	uint16_t version_major, version_minor;
	uint64_t required_features, optional_features;
	uint64_t blocks;         /* whole blocks found */
	uint64_t damaged_blocks; /* damaged stretches: of one block, or of adjacent ones */
	uint64_t skipped_bytes;  /* bytes that belong to no whole block */
	uint64_t unknown_blocks; /* whole blocks of kinds that this program lacks */
	int closed;              /* index and trailer exist and are right */
};
const struct ws_trace_summary *ws_trace_reader_summary(const struct ws_trace_reader *r);
/* The trace was made of another profiler's file: a report names that file's size and hash, which
 * stay the same, however the trace is compressed. IO_READ. */
enum ws_status ws_trace_reader_made_of(struct ws_trace_reader *r, const char *path,
                                       struct ws_err *err);

/*
 * Rows of one kind that lie together. A stored block that holds rows of two kinds (thread_event) is
 * listed as two of these: offset, sequence and times are those of the stored block, size is a share
 * of its size.
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

/* The name of a kind in the file's own schema, also of a kind that this program lacks; NULL when
 * absent. Borrowed from the reader. */
const char *ws_trace_reader_kind_name(const struct ws_trace_reader *r, unsigned kind);

/* One column of decoded rows. Fixed types: v[i]. BLOB: bytes b[i]. */
struct ws_column {
	uint16_t id;
	uint8_t type;    /* enum ws_type */
	uint8_t present; /* 0: the file lacks it, v and b are NULL */
	uint8_t encoding;
	uint64_t stored_bytes; /* in the file */
	uint64_t *v;           /* I64 and TIME as two's complement, F64 as bits */
	struct ws_bytes *b;
	uint8_t *bytes; /* of one block: what b borrows from */
};
static inline int64_t ws_column_i64(const struct ws_column *c, size_t i)
{
	return (int64_t)c->v[i];
}

/* A decoded block with the columns that the file has, unknown ones too; of a thread_event block,
 * those of its kind. */
struct ws_block {
	struct ws_block_info info;
	uint16_t ncolumns;
	struct ws_column *columns;
};
/* Decode block i. CORRUPT names block and column; TOO_NEW an encoding that this program lacks. */
enum ws_status ws_trace_reader_decode(const struct ws_trace_reader *r, size_t i,
                                      struct ws_block *out, struct ws_err *err);
void ws_block_release(struct ws_block *block);

/*
 * All rows of one kind in file order, columns in the order of schema.def (index with
 * WS_COL_<kind>_<column>). A column that no block has is not present; in rows of blocks without it,
 * a column that others have is 0.
 */
struct ws_column_data {
	const struct ws_kind_def *def;
	uint64_t rows;
	struct ws_column *columns; /* def->ncolumns of them */
	void **kept;               /* memory that BLOBs borrow from */
	size_t nkept, capacity;
};
enum ws_status ws_trace_reader_load(const struct ws_trace_reader *r, enum ws_kind kind,
                                    struct ws_column_data *out, struct ws_err *err);
void ws_column_data_release(struct ws_column_data *t);

/* --- some columns of some kinds, block after block --- */

/* Which columns: bit WS_COL_<kind>_<column>. For kinds of at most 64 columns, and columns of fixed
 * types. */
typedef uint64_t ws_column_set;
#define WS_COLUMN(kind, column) ((ws_column_set)1 << WS_COL_##kind##_##column)

/* Rows of one stored block: API calls and NVTX events that were stored as one block are one of
 * these, of kind thread_event. */
struct ws_block_rows {
	struct ws_block_info info;
	uint64_t *v[64]; /* by position; NULL: not asked for. 0 in columns that the file lacks */
	/* columns stored by token are not spread to rows, except times and durations */
	const uint16_t *token; /* of each row; NULL: the block has no tokens */
	uint32_t ntokens;
	ws_column_set by_token; /* columns with a value per token instead of per row */
	uint64_t *memory;
	size_t capacity; /* values */
};
static inline uint64_t ws_block_value(const struct ws_block_rows *b, unsigned column, uint32_t row)
{
	return b->v[column][b->by_token >> column & 1 ? b->token[row] : row];
}

/* Does any block of the kind have the column? */
bool ws_trace_reader_has_column(const struct ws_trace_reader *r, enum ws_kind kind, int column);
/* The position in thread_event of the column at a position of api or nvtx. */
unsigned ws_thread_events_column(enum ws_kind kind, unsigned position);

/*
 * Reads stored blocks one after the other, in the order of their first times. The next block is
 * decoded ahead, on a second thread if the machine has a second core.
 */
struct ws_feed;

/* columns[kind]: wanted columns of the kind, 0 = none of its blocks. r must outlive the feed. */
void ws_feed_open(struct ws_feed **out, const struct ws_trace_reader *r,
                  const ws_column_set columns[WS_KIND_END]);
void ws_feed_close(struct ws_feed *f); /* NULL is legal */
/*
 * The next block, NULL after the last; borrowed until the next call. No later block has a row
 * before *until_ns (INT64_MAX after the last), if the headers in the file are right. CORRUPT and
 * TOO_NEW as ws_trace_reader_decode, for the columns wanted.
 */
enum ws_status ws_feed_next(struct ws_feed *f, const struct ws_block_rows **rows, int64_t *until_ns,
                            struct ws_err *err);

/* Calls take(ctx) for each block, as ws_feed_next returns it, with its number in the file; ends at
 * the first failure. */
typedef enum ws_status (*ws_feed_fn)(void *ctx, const struct ws_block_rows *rows, uint32_t block,
                                     int64_t until_ns, struct ws_err *err);
enum ws_status ws_feed_each(const struct ws_trace_reader *r,
                            const ws_column_set columns[WS_KIND_END], ws_feed_fn take, void *ctx,
                            struct ws_err *err);

/* --- work for another thread --- */

/* A function that runs on a second thread if the machine has a second core and a thread to spare,
 * else when it is waited for: the results are the same. Starts as all zeros. */
struct ws_task {
	void (*fn)(void *ctx); /* NULL: none was begun */
	void *ctx;
	bool has_thread;
	pthread_t thread;
};

/* Begin fn(ctx); each task that was begun must be ended once. */
void ws_task_begin(struct ws_task *t, void (*fn)(void *ctx), void *ctx);
/* Wait until it is done; legal for one that was not begun. */
void ws_task_end(struct ws_task *t);
