#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "formats/base/bytes.h"

Test(utf8, every_code_point_comes_back)
{
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		uint32_t back;
		char bytes[WS_UTF8_MAX_BYTES];
		unsigned n;

		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		n = ws_utf8_put(c, bytes);
		if (ws_utf8_get(bytes, n, &back) != n || back != c)
			cr_fatal("U+%04X does not come back", c);
	}
}

Test(utf8, code_points_have_the_bytes_of_the_standard)
{
	char bytes[WS_UTF8_MAX_BYTES];

	cr_assert(eq(uint, ws_utf8_put(0x24, bytes), 1));
	cr_assert_arr_eq(bytes, "\x24", 1);
	cr_assert(eq(uint, ws_utf8_put(0xa3, bytes), 2));
	cr_assert_arr_eq(bytes, "\xc2\xa3", 2);
	cr_assert(eq(uint, ws_utf8_put(0x20ac, bytes), 3));
	cr_assert_arr_eq(bytes, "\xe2\x82\xac", 3);
	cr_assert(eq(uint, ws_utf8_put(0x10348, bytes), 4));
	cr_assert_arr_eq(bytes, "\xf0\x90\x8d\x88", 4);
}

/* Decode all; code points as text, U+FFFD as '?'. */
static void decode(const char *bytes, size_t len, char *out)
{
	while (len) {
		uint32_t c;
		unsigned took = ws_utf8_get(bytes, len, &c);

		cr_assert(ge(uint, took, 1));
		cr_assert(le(sz, took, len));
		*out++ = c == WS_UTF8_REPLACEMENT ? '?' : c < 0x80 ? (char)c : '*';
		bytes += took;
		len -= took;
	}
	*out = 0;
}

Test(utf8, broken_sequences_become_one_replacement_for_each_maximal_subpart)
{
	static const struct {
		const char *bytes, *expected;
	} known[] = {
	        /* Unicode 15, section 3.9, tables 3-8 to 3-11 */
	        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "????????A"},
	        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "????????A"},
	        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "?????A??B"},
	        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "????A"},
	        /* cut off at the end */
	        {"a\xe2\x82", "a?"},
	        {"a\xf0\x9f\x98", "a?"},
	        {"\xc3", "?"},
	        {"\xfe\xff", "??"},
	        {"\xf5\x80\x80\x80", "????"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char out[32];

		decode(known[i].bytes, strlen(known[i].bytes), out);
		cr_assert_str_eq(out, known[i].expected);
	}
}
