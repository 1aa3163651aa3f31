#include "formats/text/json_writer.h"

#include <locale.h>

#include "formats/base/bytes.h"

const char *ws_number_real(char buf[WS_NUMBER_BYTES], double value)
{
	const char *point = localeconv()->decimal_point;

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, WS_NUMBER_BYTES, "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
	/* snprintf writes the decimal point of the locale, which may be several bytes */
	char *at = strcmp(point, ".") ? strstr(buf, point) : NULL;
	if (at) {
		*at = '.';
		memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
	}
	return buf;
}

void ws_json_begin(struct ws_json_writer *j, FILE *f)
{
	memset(j, 0, sizeof(*j));
	j->f = f;
}

static void misuse(struct ws_json_writer *j, const char *what)
{
	if (!j->misuse)
		j->misuse = what;
}

/* --- output, without locks: a lock for each comma takes a third of the time --- */

static void put_char(FILE *f, char c)
{
	putc_unlocked(c, f);
}

static void put_text(FILE *f, const char *text, size_t len)
{
	fwrite_unlocked(text, 1, len, f);
}

/* With leading zeros up to this many digits, at most 20. */
static void put_number(FILE *f, uint64_t v, unsigned digits)
{
	char text[20];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + v % 10);
	while (v /= 10);
	while (sizeof(text) - at < digits)
		text[--at] = '0';
	put_text(f, text + at, sizeof(text) - at);
}

static uint64_t put_sign(FILE *f, int64_t v)
{
	if (v < 0)
		put_char(f, '-');
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* --- commas and brackets --- */

static void break_line(struct ws_json_writer *j)
{
	if (j->break_line)
		put_char(j->f, '\n');
	j->break_line = 0;
}

/* The comma before a further key of an object or value of an array. */
static void separate(struct ws_json_writer *j)
{
	if (j->depth) {
		if (j->open[j->depth - 1].has_values)
			put_char(j->f, ',');
		j->open[j->depth - 1].has_values = 1;
	}
	break_line(j);
}

static void before_value(struct ws_json_writer *j, const char *call)
{
	if (j->done)
		misuse(j, call);
	if (j->depth && j->open[j->depth - 1].is_object) {
		if (!j->after_key)
			misuse(j, call);
		j->after_key = 0;
		break_line(j);
		return;
	}
	separate(j);
}

static void after_value(struct ws_json_writer *j)
{
	if (!j->depth)
		j->done = 1;
}

static void open_one(struct ws_json_writer *j, int is_object, const char *call)
{
	before_value(j, call);
	put_char(j->f, is_object ? '{' : '[');
	if (j->depth == WS_JSON_MAX_DEPTH) {
		misuse(j, call);
		return;
	}
	j->open[j->depth].is_object = is_object != 0;
	j->open[j->depth].has_values = 0;
	j->depth++;
}

static void close_one(struct ws_json_writer *j, int is_object, const char *call)
{
	if (!j->depth || j->open[j->depth - 1].is_object != is_object || j->after_key) {
		misuse(j, call);
		return;
	}
	break_line(j);
	put_char(j->f, is_object ? '}' : ']');
	j->depth--;
	after_value(j);
}

void ws_json_object_begin(struct ws_json_writer *j)
{
	open_one(j, 1, "object begin");
}

void ws_json_object_end(struct ws_json_writer *j)
{
	close_one(j, 1, "object end");
}

void ws_json_array_begin(struct ws_json_writer *j)
{
	open_one(j, 0, "array begin");
}

void ws_json_array_end(struct ws_json_writer *j)
{
	close_one(j, 0, "array end");
}

/* Control characters must be escaped; DEL and C1 are too, as a terminal would obey them. */
static void put_code_point(FILE *f, uint32_t c)
{
	static const char short_escapes[][2] = {
	        {'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
	        {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'},
	};
	char utf8[WS_UTF8_MAX_BYTES];

	for (size_t i = 0; i < sizeof(short_escapes) / sizeof(*short_escapes); i++)
		if (c == (uint32_t)short_escapes[i][0]) {
			put_char(f, '\\');
			put_char(f, short_escapes[i][1]);
			return;
		}
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		fprintf(f, "\\u%04" PRIx32, c);
	else
		put_text(f, utf8, ws_utf8_put(c, utf8));
}

static void put_string(FILE *f, const void *bytes, size_t len)
{
	const char *p = bytes;

	put_char(f, '"');
	while (len) {
		/* Bytes from the front that stand for themselves: most of nearly all names. */
		size_t took = 0;

		while (took < len && p[took] >= 0x20 && p[took] < 0x7f && p[took] != '"' &&
		       p[took] != '\\')
			took++;
		uint32_t c;

		if (took) {
			put_text(f, p, took);
		} else {
			took = ws_utf8_get(p, len, &c);
			put_code_point(f, c);
		}
		p += took;
		len -= took;
	}
	put_char(f, '"');
}

struct ws_json_writer *ws_json_key(struct ws_json_writer *j, const char *key)
{
	if (!j->depth || !j->open[j->depth - 1].is_object || j->after_key)
		misuse(j, "key");
	separate(j);
	put_string(j->f, key, strlen(key));
	put_text(j->f, ": ", 2);
	j->after_key = 1;
	return j;
}

void ws_json_string(struct ws_json_writer *j, const void *bytes, size_t len)
{
	before_value(j, "string");
	put_string(j->f, bytes, len);
	after_value(j);
}

/* A value that is printed unchanged. */
static void literal(struct ws_json_writer *j, const char *text)
{
	before_value(j, text);
	put_text(j->f, text, strlen(text));
	after_value(j);
}

void ws_json_str(struct ws_json_writer *j, const char *text)
{
	if (text)
		ws_json_string(j, text, strlen(text));
	else
		ws_json_null(j);
}

/* --- a text that is already JSON --- */

#define MAX_ARRAY_TEXT_DEPTH 16u

static size_t digits(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && p[n] >= '0' && p[n] <= '9')
		n++;
	return n;
}

/* Each of these gives the end of the token at p, NULL where there is none. */
static const char *past_number(const char *p, const char *end)
{
	p += p < end && *p == '-';
	size_t n = digits(p, end);
	if (!n || (n > 1 && *p == '0'))
		return NULL;
	p += n;
	if (p < end && *p == '.') {
		n = digits(p + 1, end);
		if (!n)
			return NULL;
		p += n + 1;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		n = digits(p, end);
		return n ? p + n : NULL;
	}
	return p;
}

static const char *past_value(const char *p, const char *end, unsigned depth)
{
	if (p == end)
		return NULL;
	if (*p == '"') {
		for (p++; p < end && *p != '"'; p++) {
			if (*p < 0x20 || *p > 0x7e)
				return NULL;
			if (*p != '\\')
				continue;
			p++;
			/* texts with \u are not parsed and stay strings */
			if (p == end || !memchr("\"\\/bfnrt", *p, 8))
				return NULL;
		}
		return p < end ? p + 1 : NULL;
	}
	if (*p != '[')
		return past_number(p, end);
	if (depth == MAX_ARRAY_TEXT_DEPTH)
		return NULL;
	p++;
	if (p < end && *p == ']')
		return p + 1;
	for (;;) {
		p = past_value(p, end, depth + 1);
		if (!p || p == end || (*p != ',' && *p != ']'))
			return NULL;
		if (*p++ == ']')
			return p;
	}
}

void ws_json_array_text(struct ws_json_writer *j, const void *bytes, size_t len)
{
	const char *text = bytes, *end = text + len;

	if (!len || *text != '[' || past_value(text, end, 0) != end) {
		ws_json_string(j, bytes, len);
		return;
	}
	before_value(j, "array");
	put_text(j->f, text, len);
	after_value(j);
}

void ws_json_i64(struct ws_json_writer *j, int64_t value)
{
	before_value(j, "number");
	put_number(j->f, put_sign(j->f, value), 1);
	after_value(j);
}

void ws_json_u64(struct ws_json_writer *j, uint64_t value)
{
	before_value(j, "number");
	put_number(j->f, value, 1);
	after_value(j);
}

void ws_json_f64(struct ws_json_writer *j, double value)
{
	char buf[WS_NUMBER_BYTES];

	if (!isfinite(value)) {
		ws_json_null(j);
		return;
	}
	before_value(j, "number");
	fputs(ws_number_real(buf, value), j->f);
	after_value(j);
}

void ws_json_decimal(struct ws_json_writer *j, int64_t value, unsigned digits)
{
	uint64_t magnitude, scale = 1;

	for (unsigned i = 0; i < digits; i++)
		scale *= 10;
	before_value(j, "number");
	magnitude = put_sign(j->f, value);
	put_number(j->f, magnitude / scale, 1);
	put_char(j->f, '.');
	put_number(j->f, magnitude % scale, digits);
	after_value(j);
}

void ws_json_bool(struct ws_json_writer *j, int value)
{
	literal(j, value ? "true" : "false");
}

void ws_json_null(struct ws_json_writer *j)
{
	literal(j, "null");
}

void ws_json_break(struct ws_json_writer *j)
{
	j->break_line = 1;
}

enum ws_status ws_json_finish(struct ws_json_writer *j, struct ws_err *err)
{
	WS_FAIL_IF(j->misuse, err, BUG, "%s does not fit here in JSON", j->misuse);
	WS_FAIL_IF(j->depth || !j->done, err, BUG, "JSON ended before its value did");
	put_char(j->f, '\n');
	return WS_OK;
}
