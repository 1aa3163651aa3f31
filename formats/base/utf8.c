#include "formats/base/bytes.h"

/*
 * Table by first byte: length of the sequence, and range of the second byte, which is narrower for
 * first bytes of overlong forms, surrogates and too large values (Unicode 15, table 3-7). Length 0:
 * invalid first byte.
 */
struct lead {
	unsigned bytes;
	uint8_t low, high;
};

static struct lead lead_of(uint8_t first)
{
	if (first < 0x80)
		return (struct lead){1, 0, 0};
	if (first >= 0xc2 && first <= 0xdf)
		return (struct lead){2, 0x80, 0xbf};
	if (first >= 0xe0 && first <= 0xef)
		return (struct lead){3, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf};
	if (first >= 0xf0 && first <= 0xf4)
		return (struct lead){4, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf};
	return (struct lead){0, 0, 0};
}

unsigned ws_utf8_get(const void *p, size_t len, uint32_t *code_point)
{
	const uint8_t *s = p;
	struct lead lead = lead_of(s[0]);
	uint32_t value = lead.bytes > 1 ? s[0] & (0x7fu >> lead.bytes) : s[0];

	*code_point = WS_UTF8_REPLACEMENT;
	if (!lead.bytes)
		return 1;
	for (unsigned i = 1; i < lead.bytes; i++) {
		uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;

		if (i >= len || s[i] < low || s[i] > high)
			return i;
		value = value << 6 | (s[i] & 0x3f);
	}
	*code_point = value;
	return lead.bytes;
}

unsigned ws_utf8_put(uint32_t code_point, char out[WS_UTF8_MAX_BYTES])
{
	static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
	unsigned bytes = code_point < 0x80      ? 1
	                 : code_point < 0x800   ? 2
	                 : code_point < 0x10000 ? 3
	                                        : 4;

	for (unsigned i = bytes - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (code_point & 0x3f));
		code_point >>= 6;
	}
	out[0] = (char)(marks[bytes] | code_point);
	return bytes;
}
