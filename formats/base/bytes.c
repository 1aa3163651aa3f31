#define XXH_INLINE_ALL /* header only: nothing to link */
#include <xxhash.h>

#include "formats/base/bytes.h"
#include "formats/base/memory.h"

enum ws_status ws_cursor_varint(struct ws_cursor *c, uint64_t *v, struct ws_err *err)
{
	const uint8_t *p = c->pos;
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		WS_FAIL_IF(p == c->end, err, CORRUPT, "a number is cut off at the end of its data");
		uint8_t byte = *p++;
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

/* Whether the bytes are valid UTF-8, without NUL unless has_nul. */
static bool is_sound(const uint8_t *p, size_t len, bool has_nul)
{
	uint8_t all = 0;
	uint32_t code;

	for (size_t i = 0; i < len; i++)
		all |= p[i];
	if (!has_nul && memchr(p, 0, len))
		return false;
	for (size_t pos = 0; all >= 0x80 && pos < len;) {
		pos += ws_utf8_get(p + pos, len - pos, &code);
		if (code == WS_UTF8_REPLACEMENT)
			return false;
	}
	return true;
}

struct ws_bytes ws_utf8_repair(struct ws_buf *room, struct ws_bytes text, bool has_nul)
{
	const uint8_t *p = text.ptr;

	if (!text.len || is_sound(p, text.len, has_nul))
		return text;
	room->len = 0;
	for (size_t pos = 0; pos < text.len;) {
		char utf8[WS_UTF8_MAX_BYTES];
		uint32_t code;

		pos += ws_utf8_get(p + pos, text.len - pos, &code);
		if (!code && !has_nul)
			code = WS_UTF8_REPLACEMENT;
		ws_buf_put(room, utf8, ws_utf8_put(code, utf8));
	}
	return (struct ws_bytes){room->data, room->len};
}

/* --- checksum --- */

uint64_t ws_checksum(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

_Static_assert(sizeof(XXH3_state_t) <= sizeof(((struct ws_checksum *)0)->state),
               "xxhash has a larger state");

void ws_checksum_begin(struct ws_checksum *c)
{
	XXH3_64bits_reset((XXH3_state_t *)c->state);
}

void ws_checksum_add(struct ws_checksum *c, const void *data, size_t size)
{
	XXH3_64bits_update((XXH3_state_t *)c->state, data, size);
}

uint64_t ws_checksum_end(const struct ws_checksum *c)
{
	return XXH3_64bits_digest((const XXH3_state_t *)c->state);
}
