/*
 * The values of one column as bytes: the encodings of docs/dev/trace-format.md, section 2, and zstd
 * frames around them. A value of a fixed type travels as uint64_t: I64, TIME and DUR as two's
 * complement, F64 as its bits.
 */
#pragma once

#include "formats/schema/schema.h"

/* X(NAME, id, name, types): the column types that may have the encoding: FIXED types, INTEGERS
 * (the fixed types but F64) or BLOBS */
#define WS_ENCODING_LIST(X)                  \
	X(CONSTANT, 1, "constant", FIXED)    \
	X(VARINT, 2, "varint", INTEGERS)     \
	X(DELTA, 3, "delta", INTEGERS)       \
	X(BYTES, 4, "bytes", BLOBS)          \
	X(RAW, 5, "raw", FIXED)              \
	X(TOKEN, 6, "token", INTEGERS)       \
	X(BY_TOKEN, 7, "by_token", INTEGERS) \
	X(RESIDUAL, 8, "residual", INTEGERS)

enum ws_encoding {
#define X(NAME, id, name, types) WS_ENCODING_##NAME = (id),
	WS_ENCODING_LIST(X)
#undef X
	        WS_ENCODING_END
};

/* "varint" for WS_ENCODING_VARINT; NULL for an encoding this program does not know. */
const char *ws_encoding_name(unsigned encoding);

/* Are values of this type zigzag-mapped before they become LEB128? */
static inline bool ws_type_is_signed(enum ws_type type)
{
	return type == WS_TYPE_I64 || type == WS_TYPE_TIME || type == WS_TYPE_DUR;
}

/* May a column of this type have this encoding? Both known. */
bool ws_encoding_fits(enum ws_encoding encoding, enum ws_type type);

/* --- encodings that need nothing but their column: constant, varint, delta, bytes, raw --- */

/* The bytes that some values take in each encoding; 0 for an encoding that cannot hold them. */
struct ws_encoded_sizes {
	size_t bytes[WS_ENCODING_END];
};

/* Fixed types, n >= 1: measures all encodings in one pass over the values. */
void ws_codec_measure(enum ws_type type, const uint64_t *v, size_t n,
                      struct ws_encoded_sizes *sizes);

/* Fixed types: encode to out, which has room for the measured size. Returns the end. */
uint8_t *ws_codec_encode(enum ws_encoding encoding, enum ws_type type, const uint64_t *v, size_t n,
                         uint8_t *out);

/* Fixed types: decode n values, which must take all of the size bytes, else CORRUPT. */
enum ws_status ws_codec_decode(enum ws_encoding encoding, enum ws_type type, const uint8_t *data,
                               size_t size, size_t n, uint64_t *v, struct ws_err *err);

/* BLOB: append n lengths, then the bytes of all rows, to out. */
void ws_codec_encode_blobs(const uint64_t *lengths, size_t n, const void *bytes, size_t nbytes,
                           struct ws_buf *out);

/* BLOB: decode n rows, which must take all of the size bytes, else CORRUPT; b borrows from data. */
enum ws_status ws_codec_decode_blobs(const uint8_t *data, size_t size, size_t n, struct ws_bytes *b,
                                     struct ws_err *err);

/*
 * --- tokens (section 2.1): encodings token and by_token ---
 *
 * A token is a number for each distinct combination of a block's descriptive columns, counted 0, 1,
 * 2 … in order of first use. One column, the carrier, stores the token of each row. A column whose
 * value follows from the token stores one value per token.
 */

/* Tokens are used where they average at least this many rows: with fewer, little repeats. */
#define WS_TOKENS_ROWS_EACH   8u
#define WS_TOKENS_MAX_COLUMNS 4u

/* The tokens of a block's rows. All zero is empty; free with ws_tokens_free. */
struct ws_tokens {
	uint32_t count;      /* 1..65,536; 0 = the block has none */
	uint16_t *of_row;    /* the token of each row; room for WS_MAX_BLOCK_ROWS */
	uint32_t *first_row; /* writing: the first row of each token */
	uint32_t *rows;      /* how many rows each token has */
	uint32_t *slots;     /* writing: hash table */
};

void ws_tokens_init(struct ws_tokens *t, int writing);
void ws_tokens_free(struct ws_tokens *t);

/*
 * Give each distinct combination of ncolumns columns, of `rows` values each, a token. Sets
 * t->count to 0 when there are more than rows / WS_TOKENS_ROWS_EACH combinations.
 */
void ws_tokens_build(struct ws_tokens *t, const uint64_t *const *columns, unsigned ncolumns,
                     uint32_t rows);
/* Do all rows of one token have the same value in v? */
bool ws_tokens_determine(const struct ws_tokens *t, const uint64_t *v, uint32_t rows);

/* Append to out, as `by_token`, the value of each token; v must follow from the token. */
void ws_tokens_put_values(const struct ws_tokens *t, enum ws_type type, const uint64_t *v,
                          struct ws_buf *out);
/* Append to out, as `token`, the carrier v: its value of each token, then the token of each row. */
void ws_tokens_put(const struct ws_tokens *t, enum ws_type type, const uint64_t *v, uint32_t rows,
                   struct ws_buf *out);

/* Can `token` data of this many rows take size bytes? Asked before memory is allocated. */
bool ws_tokens_size_is_possible(uint64_t size, uint64_t rows);
/*
 * Read `token` data. values, with room for WS_MAX_BLOCK_ROWS, gets the value of each token. CORRUPT
 * when a row names a token that does not exist.
 */
enum ws_status ws_tokens_get(struct ws_tokens *t, enum ws_type type, const uint8_t *data,
                             size_t size, uint32_t rows, uint64_t *values, struct ws_err *err);
/* Read `by_token` data: t->count values. */
enum ws_status ws_tokens_get_values(const struct ws_tokens *t, enum ws_type type,
                                    const uint8_t *data, size_t size, uint64_t *values,
                                    struct ws_err *err);
/* v[row] = values[token of the row] */
void ws_tokens_spread(const struct ws_tokens *t, const uint64_t *values, uint32_t rows,
                      uint64_t *v);

/*
 * --- residuals (section 2.2): encoding residual ---
 *
 * Each value is predicted from the row before it in its lane (rows that follow each other in time:
 * those of one stream or thread). What the prediction misses, the residual, is stored with the
 * range of symbols that suits the row's token.
 */

enum ws_predictor {
	WS_PREDICT_NOTHING = 0,    /* the value itself is stored */
	WS_PREDICT_BEFORE = 1,     /* the value of the row before in the lane */
	WS_PREDICT_END_BEFORE = 2, /* that value plus that row's duration */
	WS_PREDICTOR_END,
};

/* How a column is coded. */
struct ws_residual_how {
	enum ws_predictor predictor;    /* used for writing only; reading finds it in the bytes */
	const struct ws_tokens *tokens; /* count 0: the rows are coded as if all had one token */
	const uint64_t *durations;      /* of each row, for END_BEFORE; NULL = unknown */
	const uint64_t *lanes;          /* writing: a column that follows from the token; tokens
	                                   of equal value share a lane. NULL = one lane */
};

/* Working memory for one block of any size. Free with free(). */
struct ws_residual *ws_residual_new(void);

/* Offsets at which the statistics of the bytes change, so that a compressor should begin anew. */
#define WS_RESIDUAL_MAX_PARTS 64u
struct ws_residual_parts {
	unsigned count;
	size_t end[WS_RESIDUAL_MAX_PARTS]; /* ascending, from the first byte of the residuals */
};

/* Append n >= 1 values to out. */
void ws_residual_put(struct ws_residual *r, const struct ws_residual_how *how, const uint64_t *v,
                     uint32_t n, struct ws_buf *out, struct ws_residual_parts *parts);

/* Can n residuals take size bytes? */
bool ws_residual_size_is_possible(uint64_t size, uint64_t n);
/* Decode n values, which must take all of the size bytes, else CORRUPT. */
enum ws_status ws_residual_get(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint8_t *data, size_t size, uint32_t n, uint64_t *v,
                               struct ws_err *err);

/* --- one zstd frame at a time, with content size and content checksum --- */

struct ws_zframe_encoder;
struct ws_zframe_decoder;

#define WS_ZFRAME_MIN_BYTES 12u /* no frame is smaller: header, one block, checksum */

struct ws_zframe_encoder *ws_zframe_encoder_new(int level);
void ws_zframe_encoder_free(struct ws_zframe_encoder *z); /* NULL is legal */
/*
 * Compress size bytes to dst. Returns the size of the frame, or 0 when it has more than `limit`
 * bytes: so a caller asks for a frame that is smaller than something else.
 */
size_t ws_zframe_encode(struct ws_zframe_encoder *z, const void *src, size_t size, void *dst,
                        size_t limit);
/* The same with much more work: for texts, which are small and read often. */
size_t ws_zframe_encode_hard(struct ws_zframe_encoder *z, const void *src, size_t size, void *dst,
                             size_t limit);
/* The same for residuals: zstd begins a block, with tables of its own, where each part ends. */
size_t ws_zframe_encode_parts(struct ws_zframe_encoder *z, const void *src, size_t size,
                              const struct ws_residual_parts *parts, void *dst, size_t limit);

struct ws_zframe_decoder *ws_zframe_decoder_new(void);
void ws_zframe_decoder_free(struct ws_zframe_decoder *z); /* NULL is legal */
/*
 * Decompress the one frame that fills src into exactly size bytes of dst. CORRUPT when src is no
 * frame, has bytes behind the frame, or the frame has another content size or a wrong checksum.
 */
enum ws_status ws_zframe_decode(struct ws_zframe_decoder *z, const void *src, size_t stored,
                                void *dst, size_t size, struct ws_err *err);
