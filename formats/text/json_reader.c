#include "formats/text/json_reader.h"

#include "formats/base/memory.h"

#define FIRST_WINDOW ((size_t)1 << 18)

/* --- scanning --- */

#define ONES  0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

/* Non-zero when a byte of v is zero; the lowest marked byte is right, higher ones may be wrong. */
static inline uint64_t zero_bytes(uint64_t v)
{
	return (v - ONES) & ~v & HIGHS;
}

/* The next quote, backslash or control character; eight bytes at a time. */
static const char *string_stop(const char *p, const char *end)
{
	while (end - p >= 8) {
		uint64_t v = ws_load_u64(p);
		uint64_t stop = zero_bytes(v ^ (ONES * '"')) | zero_bytes(v ^ (ONES * '\\')) |
		                ((v - ONES * 0x20) & ~v & HIGHS);

		if (stop)
			return p + (__builtin_ctzll(stop) >> 3);
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
		p++;
	return p;
}

static inline bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline void skip_space(struct ws_json_reader *j)
{
	while (j->pos < j->end && is_space(*j->pos))
		j->pos++;
}

/* Read a string from behind its opening quote to behind the closing one. */
static enum ws_json_result string_rest(struct ws_json_reader *j, struct ws_json_value *v)
{
	const char *p = j->pos;
	int control = 0, bad = 0;

	v->type = WS_JSON_STRING;
	v->escaped = 0;
	v->text = p;
	for (;;) {
		p = string_stop(p, j->end);
		if (p == j->end)
			return WS_JSON_MORE;
		if (*p == '"')
			break;
		if (*p != '\\') {
			control = 1;
			p++;
			continue;
		}
		if (p + 1 == j->end)
			return WS_JSON_MORE;
		v->escaped = 1;
		bad |= !memchr("\"\\/bfnrtu", p[1], 9);
		p += 2;
	}
	v->len = (size_t)(p - v->text);
	j->pos = p + 1;
	j->faults->control_chars += (uint64_t)control;
	j->faults->bad_escapes += (uint64_t)bad;
	return WS_JSON_OK;
}

/* The most brackets open in one value. Traces have a handful; more are damage, and without a limit
 * the end of each unclosed bracket would be searched through the whole text. */
#define MAX_DEPTH 100u

/* The state of skipping a value. */
struct skipper {
	unsigned depth; /* MAX_DEPTH: too deep */
	uint8_t in_string, after_backslash;
};

/* The end of the array or object that p is inside of, or `end` if it does not end before that. */
static const char *skip_nested(struct skipper *s, const char *p, const char *end)
{
	while (p < end) {
		char c = *p;

		if (s->after_backslash) {
			s->after_backslash = 0;
			p++;
			continue;
		}
		if (s->in_string) {
			p = string_stop(p, end);
			if (p == end)
				return end;
			s->in_string = *p != '"';
			s->after_backslash = *p == '\\';
			p++;
			continue;
		}
		p++;
		if (c == '"') {
			s->in_string = 1;
		} else if (c == '[' || c == '{') {
			if (++s->depth == MAX_DEPTH)
				return p;
		} else if ((c == ']' || c == '}') && --s->depth == 0) {
			return p;
		}
	}
	return end;
}

/* Values without quotes that are not numbers. */
static const struct {
	const char *word;
	uint8_t type;
} words[] = {
        {"true", WS_JSON_TRUE},         {"false", WS_JSON_FALSE},
        {"null", WS_JSON_NULL},         {"True", WS_JSON_TRUE},
        {"False", WS_JSON_FALSE},       {"None", WS_JSON_NULL},
        {"NaN", WS_JSON_NOT_A_NUMBER},  {"nan", WS_JSON_NOT_A_NUMBER},
        {"-nan", WS_JSON_NOT_A_NUMBER}, {"Infinity", WS_JSON_NOT_A_NUMBER},
        {"inf", WS_JSON_NOT_A_NUMBER},  {"-Infinity", WS_JSON_NOT_A_NUMBER},
        {"-inf", WS_JSON_NOT_A_NUMBER},
};

enum ws_json_result ws_json_value(struct ws_json_reader *j, struct ws_json_value *v)
{
	struct skipper s = {1, 0, 0};
	const char *end;

	skip_space(j);
	if (j->pos == j->end)
		return WS_JSON_MORE;
	switch (*j->pos) {
	case '"':
		j->pos++;
		return string_rest(j, v);
	case '[':
	case '{':
		end = skip_nested(&s, j->pos + 1, j->end);
		if (s.depth)
			return s.depth == MAX_DEPTH ? WS_JSON_BAD : WS_JSON_MORE;
		v->type = *j->pos == '[' ? WS_JSON_ARRAY : WS_JSON_OBJECT;
		break;
	default: /* a number, or one of the words */
		for (end = j->pos; end < j->end &&
		                   ((*end >= '0' && *end <= '9') || (*end >= 'a' && *end <= 'z') ||
		                    (*end >= 'A' && *end <= 'Z') || *end == '+' || *end == '-' ||
		                    *end == '.' || *end == '_');)
			end++;
		if (end == j->end && !j->complete)
			return WS_JSON_MORE;
		const char *text = j->pos;
		const size_t len = (size_t)(end - text);

		v->type = WS_JSON_ABSENT;
		if (len && ((*text >= '0' && *text <= '9') ||
		            (*text == '-' && len > 1 && text[1] >= '0' && text[1] <= '9')))
			v->type = WS_JSON_NUMBER;
		for (size_t i = 0; v->type == WS_JSON_ABSENT && i < sizeof(words) / sizeof(*words);
		     i++)
			if (len == strlen(words[i].word) && memcmp(text, words[i].word, len) == 0)
				v->type = words[i].type;
		if (v->type == WS_JSON_ABSENT)
			return WS_JSON_BAD;
		j->faults->not_numbers += v->type == WS_JSON_NOT_A_NUMBER;
	}
	v->escaped = 0;
	v->text = j->pos;
	v->len = (size_t)(end - j->pos);
	j->pos = end;
	return WS_JSON_OK;
}

enum ws_json_result ws_json_open(struct ws_json_reader *j, char bracket)
{
	skip_space(j);
	if (j->pos == j->end)
		return WS_JSON_MORE;
	if (*j->pos != bracket)
		return WS_JSON_BAD;
	j->pos++;
	return WS_JSON_OK;
}

/* Go to the next item or the end, over any number of commas: a missing or doubled one loses
 * nothing. */
static enum ws_json_result next_item(struct ws_json_reader *j, char close)
{
	while (j->pos < j->end && (is_space(*j->pos) || *j->pos == ','))
		j->pos++;
	if (j->pos == j->end)
		return WS_JSON_MORE;
	if (*j->pos != close)
		return WS_JSON_OK;
	j->pos++;
	return WS_JSON_END;
}

enum ws_json_result ws_json_member(struct ws_json_reader *j, struct ws_json_value *key)
{
	enum ws_json_result r = next_item(j, '}');

	if (r != WS_JSON_OK)
		return r;
	if (*j->pos != '"')
		return WS_JSON_BAD;
	j->pos++;
	r = string_rest(j, key);
	if (r != WS_JSON_OK)
		return r;
	skip_space(j);
	if (j->pos == j->end)
		return WS_JSON_MORE;
	if (*j->pos != ':')
		return WS_JSON_BAD;
	j->pos++;
	return WS_JSON_OK;
}

enum ws_json_result ws_json_element(struct ws_json_reader *j)
{
	return next_item(j, ']');
}

void ws_json_items_begin(struct ws_json_items *items, const struct ws_json_value *v, char bracket)
{
	const uint8_t type = bracket == '{' ? WS_JSON_OBJECT : WS_JSON_ARRAY;

	*items = (struct ws_json_items){.j = ws_json_inside(v, NULL)};
	items->j.faults = &items->faults;
	if (v->type != type || ws_json_open(&items->j, bracket) != WS_JSON_OK)
		items->j.pos = items->j.end;
}

bool ws_json_next_member(struct ws_json_items *items, struct ws_json_value *key,
                         struct ws_json_value *v)
{
	return ws_json_member(&items->j, key) == WS_JSON_OK &&
	       ws_json_value(&items->j, v) == WS_JSON_OK;
}

bool ws_json_next_element(struct ws_json_items *items, struct ws_json_value *v)
{
	return ws_json_element(&items->j) == WS_JSON_OK &&
	       ws_json_value(&items->j, v) == WS_JSON_OK;
}

/* --- numbers --- */

/* Ten to the power of n, n + 1 … n + 4, of ten to the n. */
#define FIVE_POWERS(p) (p), (p)*10, (p)*100, (p)*1000, (p)*10000
static const uint64_t powers[] = {FIVE_POWERS(UINT64_C(1)), FIVE_POWERS(UINT64_C(100000)),
                                  FIVE_POWERS(UINT64_C(10000000000)),
                                  FIVE_POWERS(UINT64_C(1000000000000000))};
#define MAX_POWER    19
#define MAX_EXPONENT 100000 /* larger ones mean 0 or no fit alike */

/* mantissa * 10^exponent, rounded half up; 0 when it does not fit. */
static bool apply_exponent(uint64_t mantissa, int exponent, uint64_t *out)
{
	if (exponent >= 0) {
		if (mantissa && exponent > MAX_POWER)
			return 0;
		*out = 0;
		return !mantissa || !__builtin_mul_overflow(mantissa, powers[exponent], out);
	}
	if (exponent < -MAX_POWER) {
		*out = 0;
		return 1;
	}
	uint64_t power = powers[-exponent];
	uint64_t rest = mantissa % power;
	*out = mantissa / power + (rest >= power - rest);
	return 1;
}

bool ws_decimal(const char *text, size_t len, int scale, int64_t *out)
{
	const char *p = text, *end = text + len;
	const int negative = len && *p == '-';
	int point = 0, digits = 0, exponent = 0;
	uint64_t mantissa = 0, value;

	/* Digits and a point: a mantissa of at most 19 digits, and the power of ten to multiply it
	 * by. */
	for (p += negative; p < end; p++) {
		if (*p == '.' && !point) {
			point = 1;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		digits++;
		if (mantissa < powers[18]) {
			mantissa = mantissa * 10 + (uint64_t)(*p - '0');
			exponent -= point;
		} else if (!point && exponent < MAX_EXPONENT) {
			exponent++;
		}
	}
	if (digits && p < end && (*p == 'e' || *p == 'E')) {
		int minus = 0, power = 0;

		p++;
		if (p < end && (*p == '+' || *p == '-'))
			minus = *p++ == '-';
		for (digits = 0; p < end && *p >= '0' && *p <= '9'; p++, digits++)
			if (power < MAX_EXPONENT)
				power = power * 10 + (*p - '0');
		exponent += minus ? -power : power;
	}
	if (!digits || p != end || !apply_exponent(mantissa, exponent + scale, &value) ||
	    value > (uint64_t)INT64_MAX + (uint64_t)negative)
		return 0;
	*out = (int64_t)(negative ? 0 - value : value);
	return 1;
}

bool ws_json_scaled(const struct ws_json_value *v, int scale, int64_t *out)
{
	return (v->type == WS_JSON_NUMBER || v->type == WS_JSON_STRING) &&
	       ws_decimal(v->text, v->len, scale, out);
}

/* --- text --- */

static bool hex4(const char *p, const char *end, uint32_t *out)
{
	*out = 0;
	if (end - p < 4)
		return 0;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		uint32_t digit;

		if (c >= '0' && c <= '9')
			digit = (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return 0;
		*out = *out << 4 | digit;
	}
	return 1;
}

/* Write the character of a \u escape, of which p is behind the u, with the second half of a
 * surrogate pair if it has one. Returns how many bytes of text that took. */
static size_t unicode_escape(const char *p, const char *end, char *to, size_t *put)
{
	uint32_t c, low;

	if (!hex4(p, end, &c))
		return 0;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 10 && p[4] == '\\' && p[5] == 'u' &&
	    hex4(p + 6, end, &low) && low >= 0xdc00 && low < 0xe000) {
		*put = ws_utf8_put(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), to);
		return 10;
	}
	if (c >= 0xd800 && c < 0xe000)
		c = WS_UTF8_REPLACEMENT;
	*put = ws_utf8_put(c, to);
	return 4;
}

struct ws_bytes ws_json_text(const struct ws_json_value *v, struct ws_buf *scratch)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *p = v->text, *end = p + v->len;

	if (v->type != WS_JSON_STRING || !v->escaped)
		return (struct ws_bytes){v->text, v->len};
	scratch->len = 0;
	ws_buf_reserve(scratch, v->len);
	while (p < end) {
		const char *stop = memchr(p, '\\', (size_t)(end - p));
		size_t plain = (size_t)((stop ? stop : end) - p);

		memcpy(scratch->data + scratch->len, p, plain);
		scratch->len += plain;
		p += plain;
		if (p == end)
			break;
		/* One escape at its backslash; the character takes no more bytes than it. */
		const char *known = p + 1 < end && p[1] ? strchr(from, p[1]) : NULL;
		char *to = (char *)scratch->data + scratch->len;
		size_t used = 0, put = 1;

		if (!known && p + 1 < end && p[1] == 'u')
			used = unicode_escape(p + 2, end, to, &put);
		if (!used)
			*to = known ? into[known - from] : *p;
		p += used ? 2 + used : known ? 2 : 1;
		scratch->len += put;
	}
	return (struct ws_bytes){scratch->data, scratch->len};
}

struct ws_bytes ws_json_compact(const struct ws_json_value *v, struct ws_buf *scratch)
{
	bool in_string = 0;

	scratch->len = 0;
	ws_buf_reserve(scratch, v->len);
	for (size_t i = 0; i < v->len; i++) {
		char c = v->text[i];

		if (!in_string && is_space(c))
			continue;
		scratch->data[scratch->len++] = (uint8_t)c;
		if (c == '"')
			in_string = !in_string;
		else if (c == '\\' && in_string && i + 1 < v->len)
			scratch->data[scratch->len++] = (uint8_t)v->text[++i];
	}
	return (struct ws_bytes){scratch->data, scratch->len};
}

/* --- the window --- */

void ws_json_stream_init(struct ws_json_stream *s, ws_json_read_fn read, void *ctx)
{
	*s = (struct ws_json_stream){.read = read, .ctx = ctx, .capacity = FIRST_WINDOW};
	s->buf = ws_xmalloc(s->capacity);
	s->j = (struct ws_json_reader){s->buf, s->buf, 0, &s->faults};
}

void ws_json_stream_free(struct ws_json_stream *s)
{
	free(s->buf);
	*s = (struct ws_json_stream){0};
}

enum ws_status ws_json_stream_fill(struct ws_json_stream *s, const char *keep, int *full,
                                   struct ws_err *err)
{
	size_t got = 0, kept = (size_t)(s->j.end - keep);

	s->offset += (uint64_t)(keep - s->buf);
	if (keep != s->buf)
		memmove(s->buf, keep, kept);
	/* half of the window or more is for new text: else the kept text moves too often */
	if (kept > s->capacity / 2 && s->capacity < WS_JSON_MAX_WINDOW)
		WS_GROW(s->buf, s->capacity * 2, s->capacity);
	s->j.pos = s->buf;
	s->j.end = s->buf + kept;
	*full = kept == s->capacity;
	if (*full || s->j.complete)
		return WS_OK;
	WS_FORWARD(s->read(s->ctx, s->buf + kept, s->capacity - kept, &got, err));
	s->j.end += got;
	s->j.complete = !got;
	return WS_OK;
}

enum ws_status ws_json_stream_skip(struct ws_json_stream *s, int *bad, struct ws_err *err)
{
	struct skipper scan = {0, 0, 0};
	struct ws_json_reader *j = &s->j;
	struct ws_json_value v;
	int full = 0;

	for (;;) {
		const char *from = j->pos;
		enum ws_json_result r = WS_JSON_MORE;

		if (!scan.depth)
			skip_space(j);
		if (!scan.depth && j->pos < j->end && (*j->pos == '[' || *j->pos == '{')) {
			scan.depth = 1;
			j->pos++;
		} else if (!scan.depth && j->pos < j->end) {
			r = ws_json_value(j, &v);
		}
		if (scan.depth) {
			j->pos = skip_nested(&scan, j->pos, j->end);
			r = !scan.depth               ? WS_JSON_OK
			    : scan.depth == MAX_DEPTH ? WS_JSON_BAD
			                              : WS_JSON_MORE;
		}
		*bad = r != WS_JSON_OK;
		if (r != WS_JSON_MORE || j->complete || full)
			return WS_OK;
		/* a scalar starts again from its first byte */
		WS_FORWARD(ws_json_stream_fill(s, scan.depth ? j->pos : from, &full, err));
	}
}
