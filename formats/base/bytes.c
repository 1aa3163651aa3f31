#include "formats/base/bytes.h"

#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"

enum ws_status ws_cursor_varint(struct ws_cursor *c, uint64_t *v, struct ws_err *err)
{
	const uint8_t *p = c->pos;
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte;

		WS_FAIL_IF(p == c->end, err, CORRUPT, "a number is cut off at the end of its data");
		byte = *p++;
		WS_FAIL_IF(shift == 63 && byte > 1, err, CORRUPT, "a number has more than 64 bits");
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	c->pos = p;
	*v = value;
	return WS_OK;
}

enum ws_status ws_cursor_bytes(struct ws_cursor *c, size_t len, const uint8_t **p,
                               struct ws_err *err)
{
	WS_FAIL_IF(ws_cursor_left(c) < len, err, CORRUPT, "cannot read %zu bytes: only %zu left",
	           len, ws_cursor_left(c));
	*p = c->pos;
	c->pos += len;
	return WS_OK;
}

void ws_buf_reserve(struct ws_buf *b, size_t extra)
{
	if (extra <= b->capacity - b->len)
		return;
	if (extra > SIZE_MAX / 2)
		ws_out_of_memory(extra);
	WS_GROW(b->data, b->len + extra, b->capacity);
}

void ws_buf_put(struct ws_buf *b, const void *bytes, size_t len)
{
	ws_buf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
}

void ws_buf_free(struct ws_buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}
