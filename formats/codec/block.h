/*
 * A block between memory and bytes, sections 1.2 and 1.3 of
 * docs/dev/trace-format.md: gather rows and encode them; look into a block and
 * decode its columns.
 */
#pragma once

#include <stdbool.h>

#include "formats/base/bytes.h"
#include "formats/codec/container.h"
#include "formats/codec/encodings.h"
#include "formats/codec/residual.h"
#include "formats/codec/tokens.h"
#include "formats/schema/schema.h"
#include "formats/base/status.h"
#include "formats/codec/zframe.h"

/* --- gathering and encoding: block_encode.c --- */

/* A block is full at this many bytes of BLOBs, too, so that it decodes in modest memory. */
#define WS_BLOCK_BLOB_BYTES ((size_t)4 << 20)

struct ws_row_column {
	uint64_t *v;         /* values, or lengths of a BLOB */
	struct ws_buf bytes; /* BLOB: the bytes of all rows */
};

/* Rows of one kind, gathered by column. Set def, all else zero, for an empty one. */
struct ws_row_buf {
	const struct ws_kind_def *def;
	uint32_t rows;
	bool has_blobs; /* once there is room */
	size_t capacity;
	size_t blob_bytes;
	struct ws_row_column *columns; /* def->ncolumns of them */
};

/* Copy a struct ws_row_<kind>, where it is not full. A BLOB is cut at WS_MAX_BLOB_BYTES. */
void ws_row_buf_add(struct ws_row_buf *b, const void *row);
/* Room for n rows, at most WS_MAX_BLOCK_ROWS, whose columns the caller fills. */
void ws_row_buf_reserve(struct ws_row_buf *b, uint32_t n);
bool ws_row_buf_is_full(const struct ws_row_buf *b);
void ws_row_buf_clear(struct ws_row_buf *b); /* forgets the rows, keeps the memory */
void ws_row_buf_free(struct ws_row_buf *b);

/*
 * What encoding needs besides the rows; kept from block to block. config_lanes
 * is the caller's: a number for each launch_config id below config_count, equal
 * for those of one stream.
 */
struct ws_block_encoder {
	struct ws_zframe_encoder *z;
	struct ws_buf encoded, frame;
	struct ws_tokens tokens;
	struct ws_residual *residual;
	uint64_t *lanes; /* of the first row of each token */
	const uint64_t *config_lanes;
	uint64_t config_count;
};

void ws_block_encoder_init(struct ws_block_encoder *e, int zstd_level);
void ws_block_encoder_free(struct ws_block_encoder *e);

/*
 * Make the block of at least one row in out (its former content is dropped)
 * and say in *header what it is.
 */
void ws_block_encode(struct ws_block_encoder *e, const struct ws_row_buf *rows, uint64_t sequence,
                     struct ws_buf *out, struct ws_block_header *header);

/* The rows of the schema block of this program. */
void ws_block_schema_rows(struct ws_row_buf *b);

/* --- looking into and decoding: block_decode.c --- */

struct ws_block_column {
	struct ws_dir_entry entry;
	const uint8_t *stored; /* entry.stored_size bytes */
	int position;          /* in the kind's definition; -1 = column unknown to this program */
};

/* Where the columns of a block lie. Borrows the block. */
struct ws_block_view {
	const struct ws_kind_def *def; /* NULL = kind unknown to this program */
	uint64_t offset;               /* in the file, for messages */
	struct ws_block_header header;
	struct ws_block_column columns[WS_MAX_COLUMNS]; /* header.ncolumns of them */
};

/*
 * Read the directory. body has header->body_size bytes. CORRUPT when its
 * entries do not fit together, so that columns cannot be told apart.
 */
enum ws_status ws_block_view_open(struct ws_block_view *view, const struct ws_block_header *header,
                                  const uint8_t *body, uint64_t offset, struct ws_err *err);
/*
 * Is directory entry i right, before its data is looked at? CORRUPT, or
 * TOO_NEW for a type, encoding or compression this program lacks.
 */
enum ws_status ws_block_column_check(const struct ws_block_view *view, unsigned i,
                                     struct ws_err *err);

/* Working memory of decoding, for one thread; what columns of a block share is kept. */
struct ws_block_decoder {
	struct ws_zframe_decoder *z;
	struct ws_buf scratch;
	struct ws_tokens tokens;
	struct ws_residual *residual;
	uint64_t *values;    /* of each token of one column */
	uint64_t *carried;   /* of each token of the column that carries them */
	uint64_t *durations; /* of the block's rows */
	/* the stored column that these are from, NULL = none, and its block's checksum */
	const uint8_t *tokens_from, *durations_from;
	uint64_t tokens_checksum, durations_checksum;
};
void ws_block_decoder_init(struct ws_block_decoder *d);
void ws_block_decoder_free(struct ws_block_decoder *d);

/* Decode column i of a fixed type to header.rows values. Checks it first. */
enum ws_status ws_block_column_decode(const struct ws_block_view *view, unsigned i,
                                      struct ws_block_decoder *d, uint64_t *v, struct ws_err *err);
/*
 * What rows of a block share: the tokens of its only column that carries some
 * are in d->tokens then, of which there are none (count 0) in a block without one.
 */
enum ws_status ws_block_tokens(const struct ws_block_view *view, struct ws_block_decoder *d,
                               struct ws_err *err);
/* As ws_block_column_decode, after ws_block_tokens; *by_token: v has a value for each token, not
 * for each row, for that is how it is stored. */
enum ws_status ws_block_column_decode_stored(const struct ws_block_view *view, unsigned i,
                                             struct ws_block_decoder *d, uint64_t *v,
                                             bool *by_token, struct ws_err *err);
/* Decode column i of type BLOB. b borrows from bytes, which has room for
 * encoded_size. */
enum ws_status ws_block_column_decode_blobs(const struct ws_block_view *view, unsigned i,
                                            struct ws_block_decoder *d, uint8_t *bytes,
                                            struct ws_bytes *b, struct ws_err *err);
