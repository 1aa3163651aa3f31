/*
 * The structures of a trace file, docs/dev/trace-format.md section 1: file header, trailer and
 * blocks; and the rows of a block as bytes and back.
 */
#pragma once

#include "formats/codec/columns.h"

#define WS_FORMAT_MAJOR 2u
#define WS_FORMAT_MINOR 0u

/* Bits of required_features. */
#define WS_FEATURE_PIECES ((uint64_t)1) /* pieces, of which the oldest are gone: format, 1.5 */
#define WS_KNOWN_FEATURES WS_FEATURE_PIECES

#define WS_FILE_HEADER_BYTES  64u
#define WS_BLOCK_HEADER_BYTES 64u
#define WS_DIR_ENTRY_BYTES    16u
#define WS_TRAILER_BYTES      32u
#define WS_ALIGN_BYTES        8u /* every block starts at a multiple of this */

#define WS_MAX_COLUMNS       256u
#define WS_MAX_BODY_BYTES    ((uint64_t)1 << 30)
#define WS_MAX_ENCODED_BYTES ((uint64_t)1 << 28) /* one column after decompression */
#define WS_MAX_DECODED_BYTES ((uint64_t)1 << 30) /* all columns of a block after decompression */

/*
 * A block has at most this many rows per byte, so that a small file cannot make a reader allocate
 * much memory. The writer pads a block that would have more.
 */
#define WS_MAX_ROWS_PER_BYTE 32u
/* The size of a body whose directory and columns take `content` bytes, with its padding. */
uint64_t ws_body_size(uint64_t content, uint32_t rows);

/* --- the stored bytes --- */

struct ws_file_header {
	uint8_t magic[8];
	uint16_t version_major, version_minor;
	uint32_t header_size;
	uint64_t required_features, optional_features;
	int64_t base_ns;    /* CLOCK_REALTIME ns of time 0 */
	uint64_t kept_from; /* offset of the first piece that is kept; 0 without pieces */
	uint64_t reserved;
	uint64_t checksum; /* of the bytes before it */
};

struct ws_block_header {
	uint8_t magic[4];
	uint16_t kind;
	uint16_t ncolumns;
	uint32_t rows;
	uint32_t api_rows; /* thread_event: how many of the rows are api rows; else 0 */
	uint64_t body_size;
	int64_t time_min_ns, time_max_ns;
	uint64_t sequence;
	uint64_t body_checksum;
	uint64_t header_checksum; /* of the bytes before it */
};

struct ws_trailer {
	uint64_t index_offset, file_size;
	uint64_t checksum; /* of the bytes before it */
	uint8_t magic[8];
};

enum ws_compression {
	WS_COMPRESSION_NONE = 0,
	WS_COMPRESSION_ZSTD = 1,
};

/* One column of a block, as the directory at the start of the body lists it. */
struct ws_dir_entry {
	uint16_t column;
	uint8_t type;
	uint8_t encoding : 6, compression : 2;
	uint32_t encoded_size, stored_size;
	uint32_t parameter; /* see ws_parameter; 0 in most encodings */
};

_Static_assert(sizeof(struct ws_file_header) == WS_FILE_HEADER_BYTES &&
                       sizeof(struct ws_block_header) == WS_BLOCK_HEADER_BYTES &&
                       sizeof(struct ws_trailer) == WS_TRAILER_BYTES &&
                       sizeof(struct ws_dir_entry) == WS_DIR_ENTRY_BYTES,
               "the structures have no padding");

/* A file header as this program writes it. kept_from: 0 for a file without pieces. */
void ws_file_header_put(uint8_t out[WS_FILE_HEADER_BYTES], int64_t base_ns, uint64_t kept_from);
/* CORRUPT: not a trace, or a damaged header. TOO_NEW: the file needs a newer program. */
enum ws_status ws_file_header_get(const uint8_t *data, size_t size, struct ws_file_header *out,
                                  struct ws_err *err);

/* Magic and header_checksum of h are not used: they follow from the format and the rest. */
void ws_block_header_put(uint8_t out[WS_BLOCK_HEADER_BYTES], const struct ws_block_header *h);
/*
 * Read and verify the header at data; offset is for the message. The body, and whether it fits into
 * size, are the caller's to check.
 */
enum ws_status ws_block_header_get(const uint8_t *data, size_t size, uint64_t offset,
                                   struct ws_block_header *out, struct ws_err *err);

void ws_trailer_put(uint8_t out[WS_TRAILER_BYTES], uint64_t index_offset, uint64_t file_size);
/* The trailer that ends these size bytes, or CORRUPT. Its values are not compared with the file. */
enum ws_status ws_trailer_get(const uint8_t *data, size_t size, struct ws_trailer *out,
                              struct ws_err *err);

/* The parameter of by_token and residual: ids of the columns that carry tokens and durations, 0 =
 * none. */
static inline uint32_t ws_parameter(unsigned carrier, unsigned durations)
{
	return carrier | (uint32_t)durations << 16;
}

static inline unsigned ws_parameter_carrier(uint32_t parameter)
{
	return parameter & 0xffff;
}

static inline unsigned ws_parameter_durations(uint32_t parameter)
{
	return parameter >> 16;
}

/* The name of a block in messages: "kernel block at offset 4096". Returns buf. */
#define WS_BLOCK_LABEL_BYTES 64
const char *ws_block_label(char buf[WS_BLOCK_LABEL_BYTES], unsigned kind, uint64_t offset);

/* --- gathering rows and encoding them --- */

/* A block is full at this many bytes of BLOBs, too, so that it decodes in modest memory. */
#define WS_BLOCK_BLOB_BYTES ((size_t)4 << 20)

struct ws_row_column {
	uint64_t *v;         /* values, or lengths of a BLOB */
	struct ws_buf bytes; /* BLOB: the bytes of all rows */
};

/* Rows of one kind, gathered by column. Empty: def is set, all else is zero. */
struct ws_row_buf {
	const struct ws_kind_def *def;
	uint32_t rows;
	bool has_blobs; /* set by the first ws_row_buf_reserve */
	size_t capacity;
	size_t blob_bytes;
	struct ws_row_column *columns; /* def->ncolumns of them */
};

/* Copy a struct ws_row_<kind> into a buffer with room. BLOBs are cut at WS_MAX_BLOB_BYTES. */
void ws_row_buf_add(struct ws_row_buf *b, const void *row);
/* Room for n rows, at most WS_MAX_BLOCK_ROWS, whose columns the caller fills. */
void ws_row_buf_reserve(struct ws_row_buf *b, uint32_t n);
bool ws_row_buf_is_full(const struct ws_row_buf *b);
void ws_row_buf_clear(struct ws_row_buf *b); /* drops the rows, keeps the memory */
void ws_row_buf_free(struct ws_row_buf *b);

/* Working memory of encoding, kept from block to block. */
struct ws_block_encoder {
	struct ws_zframe_encoder *z;
	struct ws_buf encoded, frame;
	struct ws_tokens tokens;
	struct ws_residual *residual;
	uint64_t *lanes; /* by row, set at the first row of each token */
	/* set by the caller: for each launch_config id below config_count a number that is equal
	   for configurations of one stream */
	const uint64_t *config_lanes;
	uint64_t config_count;
};

void ws_block_encoder_init(struct ws_block_encoder *e, int zstd_level);
void ws_block_encoder_free(struct ws_block_encoder *e);

/* Replace what out holds by the block of at least one row; *header gets its header. */
void ws_block_encode(struct ws_block_encoder *e, const struct ws_row_buf *rows, uint64_t sequence,
                     struct ws_buf *out, struct ws_block_header *header);

/* Add the rows of the schema block: the kinds and columns of this program. */
void ws_block_schema_rows(struct ws_row_buf *b);

/* --- looking into a block and decoding its columns --- */

struct ws_block_column {
	struct ws_dir_entry entry;
	const uint8_t *stored; /* entry.stored_size bytes */
	int position;          /* in the kind's definition; -1: this program lacks the column */
};

/* Where the columns of a block lie. Borrows the block. */
struct ws_block_view {
	const struct ws_kind_def *def; /* NULL: this program lacks the kind */
	uint64_t offset;               /* in the file */
	char label[WS_BLOCK_LABEL_BYTES];
	struct ws_block_header header;
	struct ws_block_column columns[WS_MAX_COLUMNS]; /* header.ncolumns of them */
};

/*
 * Read the directory. body has header->body_size bytes. CORRUPT when entries contradict each other
 * or the body, so that nobody can tell which bytes belong to which column.
 */
enum ws_status ws_block_view_open(struct ws_block_view *view, const struct ws_block_header *header,
                                  const uint8_t *body, uint64_t offset, struct ws_err *err);
/* The block's column for this position of the kind's definition, or -1. */
int ws_block_view_column(const struct ws_block_view *view, unsigned position);
/*
 * Check directory entry i, before its data is read. CORRUPT, or TOO_NEW for a type, encoding or
 * compression that this program lacks.
 */
enum ws_status ws_block_column_check(const struct ws_block_view *view, unsigned i,
                                     struct ws_err *err);

/* Working memory of decoding, for one thread. */
struct ws_block_decoder {
	struct ws_zframe_decoder *z;
	struct ws_buf scratch;
	struct ws_tokens tokens;
	struct ws_residual *residual;
	uint64_t *values; /* by token: the column that is decoded */
	/* what other columns of the block are decoded with, kept while the same block is read */
	struct ws_kept_column {
		uint64_t *v; /* the carrier's value of each token; the durations of the rows */
		const uint8_t *stored; /* the column that v is from, NULL = none */
		uint64_t checksum;     /* of its block's body */
	} carrier, durations;
};
void ws_block_decoder_init(struct ws_block_decoder *d);
void ws_block_decoder_free(struct ws_block_decoder *d);

/* Check column i, of a fixed type, and decode it to header.rows values. */
enum ws_status ws_block_column_decode(const struct ws_block_view *view, unsigned i,
                                      struct ws_block_decoder *d, uint64_t *v, struct ws_err *err);
/* Decode the block's tokens into d->tokens; count 0 in a block where not exactly one column carries
 * some. */
enum ws_status ws_block_tokens(const struct ws_block_view *view, struct ws_block_decoder *d,
                               struct ws_err *err);
/*
 * As ws_block_column_decode, after ws_block_tokens, but a column that is stored by token stays so:
 * *by_token: v has a value for each token instead of each row.
 */
enum ws_status ws_block_column_decode_stored(const struct ws_block_view *view, unsigned i,
                                             struct ws_block_decoder *d, uint64_t *v,
                                             bool *by_token, struct ws_err *err);
/* Check and decode column i of type BLOB. b borrows from bytes, which has room for encoded_size. */
enum ws_status ws_block_column_decode_blobs(const struct ws_block_view *view, unsigned i,
                                            struct ws_block_decoder *d, uint8_t *bytes,
                                            struct ws_bytes *b, struct ws_err *err);
