#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "formats/text/json_reader.h"

static struct ws_json_faults faults;

static struct ws_json_reader text_of(const char *text)
{
	return (struct ws_json_reader){text, text + strlen(text), 1, &faults};
}

static enum ws_json_result one_value(const char *text, struct ws_json_value *v)
{
	struct ws_json_reader j = text_of(text);

	return ws_json_value(&j, v);
}

static int64_t ns(const char *microseconds)
{
	int64_t out = INT64_MIN;

	cr_assert(ws_decimal(microseconds, strlen(microseconds), 3, &out), "%s", microseconds);
	return out;
}

static int no_decimal(const char *text)
{
	int64_t out;

	return !ws_decimal(text, strlen(text), 3, &out);
}

Test(json_stream, decimal_microseconds_become_exact_nanoseconds)
{
	cr_assert(eq(i64, ns("0"), 0));
	cr_assert(eq(i64, ns("1"), 1000));
	cr_assert(eq(i64, ns("3.136"), 3136));
	cr_assert(eq(i64, ns("-20182.384"), -20182384));
	/* 19 digits, more than a double holds */
	cr_assert(eq(i64, ns("1683564901540885.123"), 1683564901540885123));
	cr_assert(eq(i64, ns("1419247332596.028"), 1419247332596028));
	cr_assert(eq(i64, ns("1.75e+15"), 1750000000000000000));
	cr_assert(eq(i64, ns("1E-3"), 1));
	cr_assert(eq(i64, ns("0.0000"), 0));
}

Test(json_stream, decimal_what_is_finer_than_a_nanosecond_is_rounded_half_away_from_zero)
{
	cr_assert(eq(i64, ns("0.0005"), 1));
	cr_assert(eq(i64, ns("-0.0005"), -1));
	cr_assert(eq(i64, ns("0.00049999999999999999999"), 0));
	cr_assert(eq(i64, ns("1e-99999999999"), 0));
}

Test(json_stream, decimal_limits_of_64_bits_are_kept)
{
	int64_t out;

	cr_assert(ws_decimal("9223372036854775807", 19, 0, &out));
	cr_assert(eq(i64, out, INT64_MAX));
	cr_assert(ws_decimal("-9223372036854775808", 20, 0, &out));
	cr_assert(eq(i64, out, INT64_MIN));
	cr_assert(not(ws_decimal("9223372036854775808", 19, 0, &out)));
	cr_assert(not(ws_decimal("-9223372036854775809", 20, 0, &out)));
	cr_assert(not(ws_decimal("18446744073709551616", 20, 0, &out)));
}

Test(json_stream, decimal_other_texts_are_no_numbers)
{
	cr_assert(no_decimal(""));
	cr_assert(no_decimal("-"));
	cr_assert(no_decimal("."));
	cr_assert(no_decimal("1e"));
	cr_assert(no_decimal("1.2.3"));
	cr_assert(no_decimal("12x"));
	cr_assert(no_decimal("1e30"));
	cr_assert(no_decimal("0x10"));
}

Test(json_stream, json_value_each_type_is_told_and_given_as_its_text)
{
	const struct {
		const char *text, *inside;
		enum ws_json_type type;
	} cases[] = {
	        {" \"a b\" ", "a b", WS_JSON_STRING},
	        {"-1.5e3,", "-1.5e3", WS_JSON_NUMBER},
	        {"[1, [2, {\"a\": \"]\"}]] ", "[1, [2, {\"a\": \"]\"}]]", WS_JSON_ARRAY},
	        {"{\"a\": \"}\\\"\"}", "{\"a\": \"}\\\"\"}", WS_JSON_OBJECT},
	        {"true", "true", WS_JSON_TRUE},
	        {"false", "false", WS_JSON_FALSE},
	        {"null}", "null", WS_JSON_NULL},
	        {"NaN", "NaN", WS_JSON_NOT_A_NUMBER},
	        {"-Infinity", "-Infinity", WS_JSON_NOT_A_NUMBER},
	        {"inf", "inf", WS_JSON_NOT_A_NUMBER},
	};
	struct ws_json_value v;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert(eq(int, one_value(cases[i].text, &v), WS_JSON_OK), "%s", cases[i].text);
		cr_assert(eq(int, v.type, (int)cases[i].type), "%s", cases[i].text);
		cr_assert(ws_json_is(&v, cases[i].inside, strlen(cases[i].inside)), "%s",
		          cases[i].text);
	}
	cr_assert(eq(u64, faults.not_numbers, 3));
}

Test(json_stream, json_value_what_is_no_json_is_said_to_be_none)
{
	struct ws_json_value v;

	cr_assert(eq(int, one_value("hello", &v), WS_JSON_BAD));
	cr_assert(eq(int, one_value("'x'", &v), WS_JSON_BAD));
	cr_assert(eq(int, one_value("}", &v), WS_JSON_BAD));
	cr_assert(eq(int, one_value("-", &v), WS_JSON_BAD));
	cr_assert(eq(int, one_value("", &v), WS_JSON_MORE));
	cr_assert(eq(int, one_value("\"open", &v), WS_JSON_MORE));
	cr_assert(eq(int, one_value("[1,2", &v), WS_JSON_MORE));
}

Test(json_stream, json_value_a_number_at_the_end_of_the_window_is_not_believed_to_be_whole)
{
	struct ws_json_reader j = text_of("12");
	struct ws_json_value v;

	j.complete = 0;
	cr_assert(eq(int, ws_json_value(&j, &v), WS_JSON_MORE));
}

Test(json_stream, json_value_raw_control_characters_and_unknown_escapes_are_counted_and_kept)
{
	static const char text[] = "\"a\x01"
	                           "b\\U\\q\"";
	struct ws_json_value v;
	struct ws_buf scratch = {0};
	struct ws_bytes out;

	cr_assert(eq(int, one_value(text, &v), WS_JSON_OK));
	cr_assert(eq(u64, faults.control_chars, 1));
	cr_assert(eq(u64, faults.bad_escapes, 1));
	out = ws_json_text(&v, &scratch);
	cr_assert(eq(sz, out.len, 7));
	cr_assert(eq(int,
	             memcmp(out.ptr,
	                    "a\x01"
	                    "b\\U\\q",
	                    7),
	             0));
	ws_buf_free(&scratch);
}

static void unescapes(const char *json, const char *want, size_t len)
{
	struct ws_buf scratch = {0};
	struct ws_json_value v;
	struct ws_bytes out;

	cr_assert(eq(int, one_value(json, &v), WS_JSON_OK), "%s", json);
	out = ws_json_text(&v, &scratch);
	cr_assert(eq(sz, out.len, len), "%s", json);
	cr_assert(eq(int, memcmp(out.ptr, want, len), 0), "%s", json);
	ws_buf_free(&scratch);
}

Test(json_stream, json_text_escapes_are_resolved)
{
	unescapes("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	unescapes("\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac", 6);
	unescapes("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
	unescapes("\"x\\u0000y\"", "x\0y", 3);
	unescapes("\"\\ud800.\"", "\xef\xbf\xbd.", 4);                  /* half a pair */
	unescapes("\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd", 6); /* the wrong way round */
	unescapes("\"\\u12\"", "\\u12", 4);
	unescapes("\"end\\\\\"", "end\\", 4);
}

Test(json_stream, json_compact_white_space_goes_but_not_inside_strings)
{
	struct ws_buf scratch = {0};
	struct ws_json_value v;
	struct ws_bytes out;

	one_value("[ [1, 2] ,\n\t\"a \\\" b\" ]", &v);
	out = ws_json_compact(&v, &scratch);
	cr_assert(eq(sz, out.len, strlen("[[1,2],\"a \\\" b\"]")));
	cr_assert(eq(int, memcmp(out.ptr, "[[1,2],\"a \\\" b\"]", out.len), 0));
	ws_buf_free(&scratch);
}

Test(json_stream, json_walk_members_and_elements_come_in_order_whatever_the_commas)
{
	struct ws_json_reader j = text_of("{\"a\": [1 2,,3,], \"b\": true \"c\": {}}");
	struct ws_json_value key, v;
	char seen[32] = "";
	size_t n = 0;

	cr_assert(eq(int, ws_json_open(&j, '{'), WS_JSON_OK));
	while (ws_json_member(&j, &key) == WS_JSON_OK) {
		seen[n++] = key.text[0];
		if (key.text[0] != 'a') {
			cr_assert(eq(int, ws_json_value(&j, &v), WS_JSON_OK));
			continue;
		}
		cr_assert(eq(int, ws_json_open(&j, '['), WS_JSON_OK));
		while (ws_json_element(&j) == WS_JSON_OK) {
			cr_assert(eq(int, ws_json_value(&j, &v), WS_JSON_OK));
			seen[n++] = v.text[0];
		}
	}
	cr_assert(eq(str, seen, (char *)"a123bc"));
}

/* A source that gives a text in pieces of `piece` bytes. */
struct source {
	const char *text;
	size_t len, piece;
};

static enum ws_status read_piece(void *ctx, void *buf, size_t size, size_t *got, struct ws_err *err)
{
	struct source *s = ctx;

	(void)err;
	*got = size < s->piece ? size : s->piece;
	if (*got > s->len)
		*got = s->len;
	memcpy(buf, s->text, *got);
	s->text += *got;
	s->len -= *got;
	return WS_OK;
}

Test(json_stream, a_value_may_come_in_pieces_of_any_size)
{
	static const char text[] = "  {\"k\": [1, \"two\", {\"three\": 3}]} tail";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct source source = {text, sizeof(text) - 1, piece};
		struct ws_json_stream s;
		struct ws_json_value v;
		enum ws_json_result r;
		int full;

		ws_json_stream_init(&s, read_piece, &source);
		do {
			const char *from = s.j.pos;

			r = ws_json_value(&s.j, &v);
			if (r == WS_JSON_MORE)
				ws_json_stream_fill(&s, from, &full, NULL);
		} while (r == WS_JSON_MORE);
		cr_assert(eq(int, r, WS_JSON_OK));
		cr_assert(eq(sz, v.len, strlen("{\"k\": [1, \"two\", {\"three\": 3}]}")));
		cr_assert(eq(u64, ws_json_stream_offset(&s, s.j.pos), 2 + v.len));
		ws_json_stream_free(&s);
	}
}

Test(json_stream, values_are_passed_over_in_pieces_of_any_size)
{
	static const char text[] = "[\"]\\\"\", {\"a\\\\\": \"}\"}, []] 12 \"x\\\"y\" !";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct source source = {text, sizeof(text) - 1, piece};
		struct ws_json_stream s;
		int bad;

		ws_json_stream_init(&s, read_piece, &source);
		for (int i = 0; i < 3; i++) {
			cr_assert(eq(int, ws_json_stream_skip(&s, &bad, NULL), WS_OK));
			cr_assert(eq(int, bad, 0), "value %d in pieces of %zu", i, piece);
		}
		cr_assert(eq(int, ws_json_stream_skip(&s, &bad, NULL), WS_OK));
		cr_assert(eq(int, bad, 1));
		ws_json_stream_free(&s);
	}
}

Test(json_stream, an_array_larger_than_the_window_is_passed_over_in_the_window_as_it_is)
{
	const size_t len = (size_t)5 << 20;
	char *text = malloc(len);
	struct source source = {text, len, len};
	struct ws_json_stream s;
	int bad;

	memset(text, '1', len);
	text[0] = '[';
	text[len - 2] = ']';
	text[len - 1] = '7';
	ws_json_stream_init(&s, read_piece, &source);
	cr_assert(eq(int, ws_json_stream_skip(&s, &bad, NULL), WS_OK));
	cr_assert(eq(int, bad, 0));
	cr_assert(eq(chr, *s.j.pos, '7'));
	cr_assert(le(sz, s.capacity, (size_t)1 << 20), "nothing of it was kept");
	ws_json_stream_free(&s);
	free(text);
}

Test(json_stream, a_value_over_the_limit_is_refused_without_reading_it_all)
{
	const size_t len = WS_JSON_MAX_WINDOW + 100;
	char *text = malloc(len);
	struct source source = {text, len, len};
	struct ws_json_stream s;
	struct ws_json_value v;
	int full = 0;

	memset(text, 'x', len);
	text[0] = '"';
	ws_json_stream_init(&s, read_piece, &source);
	while (!full) {
		const char *from = s.j.pos;

		cr_assert(eq(int, ws_json_value(&s.j, &v), WS_JSON_MORE));
		cr_assert(eq(int, ws_json_stream_fill(&s, from, &full, NULL), WS_OK));
	}
	cr_assert(eq(sz, s.capacity, WS_JSON_MAX_WINDOW));
	ws_json_stream_free(&s);
	free(text);
}
