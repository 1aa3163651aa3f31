/*
 * Column encodings of docs/dev/trace-format.md, and those that need nothing but
 * their column (1 to 5): tokens.h and residual.h have the others. A value of a fixed
 * type travels as uint64_t: I64, TIME and DUR as two's complement, F64 as its bits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/bytes.h"
#include "formats/schema/schema.h"
#include "formats/base/status.h"

/* X(NAME, id, name, types): which columns may have it: FIXED types, INTEGERS (all of them but F64),
 * BLOBS */
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

/* Bytes of each encoding for some values; 0 where the encoding does not fit them. */
struct ws_encoded_sizes {
	size_t bytes[WS_ENCODING_END];
};

/* Fixed types, n >= 1: one pass over the values. */
void ws_codec_measure(enum ws_type type, const uint64_t *v, size_t n,
                      struct ws_encoded_sizes *sizes);

/* Fixed types: encode to out, which has room for the measured size; the end. */
uint8_t *ws_codec_encode(enum ws_encoding encoding, enum ws_type type, const uint64_t *v, size_t n,
                         uint8_t *out);

/* Fixed types: decode n values from exactly these bytes. CORRUPT when they are not that. */
enum ws_status ws_codec_decode(enum ws_encoding encoding, enum ws_type type, const uint8_t *data,
                               size_t size, size_t n, uint64_t *v, struct ws_err *err);

/* BLOB: append n lengths and then the bytes of all rows to out. */
void ws_codec_encode_blobs(const uint64_t *lengths, size_t n, const void *bytes, size_t nbytes,
                           struct ws_buf *out);

/* BLOB: n rows from exactly these bytes; b borrows from data. */
enum ws_status ws_codec_decode_blobs(const uint8_t *data, size_t size, size_t n, struct ws_bytes *b,
                                     struct ws_err *err);
