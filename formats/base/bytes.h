/*
 * Reading and writing bytes: a bounded cursor, a growing buffer, LEB128 and zigzag. Numbers in
 * files are little-endian, as are all machines that Warpsheet runs on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/base/status.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "loads and stores below copy as they are");

/* Borrowed bytes; not NUL-terminated. Rows have no padding, where addresses have 32 bits, too. */
struct ws_bytes {
	_Alignas(8) const void *ptr;
	_Alignas(8) size_t len;
};

/* What ends the noun behind a number: "%zu run%s". */
#define WS_PLURAL(n) ((n) == 1 ? "" : "s")

/* Arguments for "%.*s" of printf: all of it, or its begin. */
#define WS_SHOWN(bytes) (int)(bytes).len, (const char *)(bytes).ptr
#define WS_SHOWN_MOST(bytes, most) \
	(bytes).len > (most) ? (most) : (int)(bytes).len, (const char *)(bytes).ptr

static inline struct ws_bytes ws_bytes_of(const char *text)
{
	return (struct ws_bytes){text, strlen(text)};
}

static inline bool ws_bytes_begin(struct ws_bytes bytes, const char *with)
{
	return bytes.len >= strlen(with) && !memcmp(bytes.ptr, with, strlen(with));
}

static inline bool ws_bytes_is(struct ws_bytes bytes, const char *text)
{
	return bytes.len == strlen(text) && ws_bytes_begin(bytes, text);
}

/* The last byte of this value; NULL: there is none. */
static inline const void *ws_last_byte(const void *bytes, char value, size_t n)
{
	const char *p = bytes;

	while (n--)
		if (p[n] == value)
			return p + n;
	return NULL;
}

#define WS_VARINT_MAX 10u /* bytes of the longest LEB128 number */

static inline uint16_t ws_load_u16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t ws_load_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t ws_load_u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void ws_store_u32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void ws_store_u64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* Map small numbers of either sign to small unsigned ones: 0, -1, 1, -2 … to 0, 1, 2, 3 … */
static inline uint64_t ws_zigzag(uint64_t v)
{
	return (v << 1) ^ (0 - (v >> 63));
}

static inline uint64_t ws_unzigzag(uint64_t v)
{
	return (v >> 1) ^ (0 - (v & 1));
}

/* The bytes of v as LEB128, 1..10: one for each 7 bits. */
static inline unsigned ws_varint_size(uint64_t v)
{
	unsigned top_bit = 63u - (unsigned)__builtin_clzll(v | 1);

	return (top_bit * 9 + 73) / 64; /* = top_bit / 7 + 1 for 0..63, without the division */
}

/* Write v as LEB128 to p, which has room for it. Returns the end. */
static inline uint8_t *ws_varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Borrowed bytes that are read from the front. A read that fails returns CORRUPT and does not move
 * the cursor. */
struct ws_cursor {
	const uint8_t *pos;
	const uint8_t *end;
};

static inline size_t ws_cursor_left(const struct ws_cursor *c)
{
	return (size_t)(c->end - c->pos);
}

/* LEB128 of at most 10 bytes and 64 bits. */
enum ws_status ws_cursor_varint(struct ws_cursor *c, uint64_t *v, struct ws_err *err);
/* Borrow the next len bytes. */
enum ws_status ws_cursor_bytes(struct ws_cursor *c, size_t len, const uint8_t **p,
                               struct ws_err *err);

/* A growing buffer. All zero is an empty one. Free with ws_buf_free. */
struct ws_buf {
	uint8_t *data;
	size_t len, capacity;
};

/* Room for extra bytes after len. */
void ws_buf_reserve(struct ws_buf *b, size_t extra);
void ws_buf_put(struct ws_buf *b, const void *bytes, size_t len);
void ws_buf_free(struct ws_buf *b); /* empties it */

/* The text with U+FFFD for broken sequences, and for NUL unless has_nul. Borrowed from text, if
 * nothing was to be replaced, else from room. */
struct ws_bytes ws_utf8_repair(struct ws_buf *room, struct ws_bytes text, bool has_nul);

/* The checksum of trace files. Only bytes.c includes xxhash. */

/* XXH3-64 with seed 0. */
uint64_t ws_checksum(const void *data, size_t size);

/* The same for bytes that come in pieces. */
struct ws_checksum {
	_Alignas(64) unsigned char state[576];
};
void ws_checksum_begin(struct ws_checksum *c);
void ws_checksum_add(struct ws_checksum *c, const void *data, size_t size);
uint64_t ws_checksum_end(const struct ws_checksum *c);

/* Unicode for writers: names in traces may be any bytes, because other programs chose them. Broken
 * sequences become U+FFFD. */

#define WS_UTF8_REPLACEMENT 0xfffdu
#define WS_UTF8_MAX_BYTES   4u

/*
 * The code point at p, of which len >= 1 bytes can be read. Returns the 1..4 bytes that it takes. A
 * broken sequence is U+FFFD and takes its longest well-formed beginning, at least one byte (Unicode
 * 15, section 3.9, "maximal subpart"). Surrogates, overlong forms and values over U+10FFFF are
 * broken.
 */
unsigned ws_utf8_get(const void *p, size_t len, uint32_t *code_point);

/* Write a code point. Returns the bytes that it takes. */
unsigned ws_utf8_put(uint32_t code_point, char out[WS_UTF8_MAX_BYTES]);
