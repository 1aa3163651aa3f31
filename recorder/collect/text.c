#include "recorder/collect/collector.h"

#include <wchar.h>

_Static_assert(sizeof(wchar_t) == 4, "wide characters are UTF-32 on Linux");

/* Returns the character at *ptr and moves *ptr past it. At the terminator returns 0 and does not
 * move. */
static uint32_t next_char(const void **ptr, enum ws_text_kind kind)
{
	uint32_t c;

	if (kind == WS_TEXT_UTF32) {
		const uint32_t *p = *ptr;

		c = *p;
		if (c)
			*ptr = p + 1;
	} else {
		const uint16_t *p = *ptr;

		c = *p;
		if (!c)
			return 0;
		p++;
		if (c >= 0xD800 && c < 0xDC00 && *p >= 0xDC00 && *p < 0xE000)
			c = 0x10000 + ((c - 0xD800) << 10) + (*p++ - 0xDC00u);
		*ptr = p;
	}
	if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		return WS_UTF8_REPLACEMENT;
	return c;
}

static uint32_t encoded_size(uint32_t c)
{
	return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

bool ws_text_measure(struct ws_event_text *text, uint32_t max)
{
	const void *p = text->ptr;

	text->size = 0;
	if (!p)
		return 0;
	if (text->kind == WS_TEXT_BYTES) {
		const unsigned char *s = p;
		uint32_t n = (uint32_t)strnlen(text->ptr, (size_t)max + 1);

		if (n <= max) {
			text->size = n;
			return 0;
		}
		/* step back to the start of the character that does not fit */
		for (n = max; n && n + 3 > max && (s[n] & 0xC0) == 0x80; n--)
			;
		text->size = n;
		return 1;
	}
	for (uint32_t c; (c = next_char(&p, text->kind));) {
		if (text->size + encoded_size(c) > max)
			return 1;
		text->size += encoded_size(c);
	}
	return 0;
}

uint32_t ws_text_next(struct ws_text_cursor *cursor, char *buf, uint32_t capacity)
{
	uint32_t n = 0;

	if (!cursor->rest)
		return 0;
	if (cursor->kind == WS_TEXT_BYTES) {
		n = cursor->rest < capacity ? cursor->rest : capacity;
		memcpy(buf, cursor->ptr, n);
		cursor->ptr = (const char *)cursor->ptr + n;
	} else {
		while (n + 4 <= capacity && n < cursor->rest) {
			uint32_t c = next_char(&cursor->ptr, cursor->kind);

			/* the program changed the text meanwhile: keep the measured size */
			if (!c || n + encoded_size(c) > cursor->rest)
				c = '?';
			n += ws_utf8_put(c, buf + n);
		}
	}
	cursor->rest -= n;
	return n;
}
