/*
 * Parquet's encodings of a column's values to bytes. Source: Encodings.md of
 * apache/parquet-format 2.10.
 */
#pragma once

#include <stdbool.h>

#include "formats/base/bytes.h"
#include "formats/base/status.h"

/* Bits that hold every number up to v, 0..64. */
static inline unsigned ws_bit_width(uint64_t v)
{
	return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

/*
 * RLE / bit-packed hybrid of n numbers below 2^width, width 0..32, without a
 * length in front: dictionary indices and definition levels.
 */
void ws_parquet_rle(struct ws_buf *out, const uint32_t *v, size_t n, unsigned width);

/* DELTA_BINARY_PACKED of n 64-bit integers; differences wrap around, so any values will do. */
void ws_parquet_delta(struct ws_buf *out, const uint64_t *v, size_t n);

#define WS_PARQUET_MAX_DICT 4096u

/* The distinct values of a column in order of first sight, and each row's place among them. */
struct ws_parquet_dict {
	uint32_t n;
	uint64_t values[WS_PARQUET_MAX_DICT];
	uint16_t slots[4 * WS_PARQUET_MAX_DICT]; /* by hash: place + 1; 0 = free */
};
/*
 * Fill *d and index[0..n). 0 when there are more than limit distinct values
 * (limit <= WS_PARQUET_MAX_DICT); what was filled then means nothing.
 */
bool ws_parquet_dict_make(struct ws_parquet_dict *d, const uint64_t *v, size_t n, uint32_t limit,
                          uint32_t *index);
