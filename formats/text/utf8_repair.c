#include "formats/text/utf8_repair.h"

#include "formats/base/utf8.h"

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
