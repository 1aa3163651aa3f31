/* Text on its way into the segment: wide characters become UTF-8, limits cut no character. */
#include <criterion/criterion.h>

#include "recorder/collect/collector.h"

static const char *encoded(const void *ptr, enum ws_text_kind kind, uint32_t max)
{
	static char out[64];
	struct ws_event_text text = {ptr, kind, 0};
	struct ws_text_cursor cursor;
	uint32_t at = 0, n;

	ws_text_measure(&text, max);
	cursor = (struct ws_text_cursor){text.ptr, text.kind, text.size};
	while ((n = ws_text_next(&cursor, out + at, 5)))
		at += n;
	cr_expect_eq(at, text.size);
	out[at] = 0;
	return out;
}

Test(collector_text, wide_characters_become_utf8_of_one_to_four_bytes)
{
	static const uint16_t half[] = {'a', 0xD83D, 'b', 0xDC0D, 0};
	static const uint32_t bad[] = {0x110000, 0xD800, 0};

	cr_expect_str_eq(encoded(L"aä☃\x1F40D", WS_TEXT_UTF32, 60), "aä☃\U0001F40D");
	cr_expect_str_eq(encoded(half, WS_TEXT_UTF16, 60), "a\uFFFDb\uFFFD");
	cr_expect_str_eq(encoded(bad, WS_TEXT_UTF32, 60), "\uFFFD\uFFFD");
	cr_expect_str_eq(encoded(L"", WS_TEXT_UTF32, 60), "");
	cr_expect_str_eq(encoded(NULL, WS_TEXT_BYTES, 60), "");
}

Test(collector_text, a_limit_never_cuts_a_character)
{
	cr_expect_str_eq(encoded(L"aä☃", WS_TEXT_UTF32, 5), "aä");
	cr_expect_str_eq(encoded(L"aä☃", WS_TEXT_UTF32, 6), "aä☃");
	cr_expect_str_eq(encoded("aä☃", WS_TEXT_BYTES, 5), "aä");
	cr_expect_str_eq(encoded("aä☃", WS_TEXT_BYTES, 4), "aä");
	cr_expect_str_eq(encoded("aä☃", WS_TEXT_BYTES, 2), "a");
	cr_expect_str_eq(encoded("abc", WS_TEXT_BYTES, 3), "abc");
}
