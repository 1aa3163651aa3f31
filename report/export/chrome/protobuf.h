/*
 * Fields of protobuf messages, appended to a buffer. Source: "Encoding" of the
 * protobuf documentation (protobuf.dev/programming-guides/encoding): a field
 * is number << 3 | wire type, then a varint, 8 bytes, or a length and bytes.
 *
 * A buffer that has no memory stays as it is; the caller reserves enough
 * beforehand or looks at the status.
 */
#pragma once

#include "formats/base/bytes.h"

enum { WS_PROTOBUF_VARINT = 0, WS_PROTOBUF_64 = 1, WS_PROTOBUF_BYTES = 2 };

static inline void ws_protobuf_u64(struct ws_buf *b, unsigned field, uint64_t value)
{
	uint8_t *p;

	ws_buf_reserve(b, 2 * WS_VARINT_MAX);
	p = ws_varint_put(b->data + b->len, field << 3 | WS_PROTOBUF_VARINT);
	b->len = (size_t)(ws_varint_put(p, value) - b->data);
}

/* fixed64 and double */
static inline void ws_protobuf_64(struct ws_buf *b, unsigned field, uint64_t bits)
{
	uint8_t *p;

	ws_buf_reserve(b, WS_VARINT_MAX + sizeof(bits));
	p = ws_varint_put(b->data + b->len, field << 3 | WS_PROTOBUF_64);
	ws_store_u64(p, bits);
	b->len = (size_t)(p - b->data) + sizeof(bits);
}

/* bytes, strings, messages */
static inline void ws_protobuf_bytes(struct ws_buf *b, unsigned field, const void *bytes,
                                     size_t len)
{
	uint8_t *p;

	ws_buf_reserve(b, 2 * WS_VARINT_MAX + len);
	p = ws_varint_put(b->data + b->len, field << 3 | WS_PROTOBUF_BYTES);
	p = ws_varint_put(p, len);
	if (len)
		memcpy(p, bytes, len);
	b->len = (size_t)(p - b->data) + len;
}
