/*
 * A pull parser for JSON over a window of text, and the window.
 *
 * It accepts more than JSON, because PyTorch writes more: raw control characters and unknown
 * escapes in strings, NaN and infinities, which are counted; missing commas, and too many. Text
 * that it cannot read even so is WS_JSON_BAD, and the caller decides where to go on.
 *
 * Values are slices of the text. They are converted or copied only on request: most values of a
 * trace are never used.
 */
#pragma once

#include "formats/schema/schema.h"

enum ws_json_result {
	WS_JSON_MORE = -2, /* the window ends inside it */
	WS_JSON_BAD = -1,  /* no JSON, even by the rules above */
	WS_JSON_END = 0,   /* the object or array ends here */
	WS_JSON_OK = 1,
};

enum ws_json_type {
	WS_JSON_ABSENT, /* no value: what a zeroed struct ws_json_value means */
	WS_JSON_NULL,
	WS_JSON_FALSE,
	WS_JSON_TRUE,
	WS_JSON_NUMBER,
	WS_JSON_NOT_A_NUMBER, /* NaN, Infinity, inf … */
	WS_JSON_STRING,
	WS_JSON_ARRAY,
	WS_JSON_OBJECT,
};

/* Borrowed from the window; invalid once the window moves. */
struct ws_json_value {
	uint8_t type;     /* enum ws_json_type */
	uint8_t escaped;  /* a string with backslashes */
	const char *text; /* strings: without the quotes; arrays and objects: with the brackets */
	size_t len;
};

/* Departures from JSON that were accepted. */
struct ws_json_faults {
	uint64_t control_chars; /* strings with raw control characters */
	uint64_t bad_escapes;   /* strings with a backslash before anything else than JSON allows */
	uint64_t not_numbers;   /* NaN and infinities */
};

/* A window on JSON text. */
struct ws_json_reader {
	const char *pos, *end;
	int complete; /* the text ends at end: numbers and the like end there too */
	struct ws_json_faults *faults;
};

/* Any value; an array or object is skipped and returned as its text. BAD over 100 levels. */
enum ws_json_result ws_json_value(struct ws_json_reader *j, struct ws_json_value *v);
/* Consume this bracket, '{' or '['. */
enum ws_json_result ws_json_open(struct ws_json_reader *j, char bracket);
/* Read the key of an object's next member, up to its value. END consumes the '}'. */
enum ws_json_result ws_json_member(struct ws_json_reader *j, struct ws_json_value *key);
/* Go to an array's next element. END consumes the ']'. */
enum ws_json_result ws_json_element(struct ws_json_reader *j);

/* A window on the text of an array or object value; an empty one for no value. */
static inline struct ws_json_reader ws_json_inside(const struct ws_json_value *v,
                                                   struct ws_json_faults *faults)
{
	const char *text = v->text ? v->text : "";

	return (struct ws_json_reader){text, text + v->len, 1, faults};
}

/* The members of an object, or the elements of an array, that is a value read before. Faults in it
 * were counted then. */
struct ws_json_items {
	struct ws_json_reader j;
	struct ws_json_faults faults;
};
/* bracket: '{' or '['. A value of another type has no items. */
void ws_json_items_begin(struct ws_json_items *items, const struct ws_json_value *v, char bracket);
bool ws_json_next_member(struct ws_json_items *items, struct ws_json_value *key,
                         struct ws_json_value *v);
bool ws_json_next_element(struct ws_json_items *items, struct ws_json_value *v);

static inline bool ws_json_is(const struct ws_json_value *v, const char *text, size_t len)
{
	return v->len == len && memcmp(v->text, text, len) == 0;
}
/* The key or string is this literal. */
#define WS_JSON_IS(v, literal) ws_json_is((v), "" literal, sizeof(literal) - 1)

/*
 * *out = the decimal number `text` times 10^scale, rounded to an integer, halves away from zero.
 * Returns 0 when the text is not a decimal number or the result does not fit.
 */
bool ws_decimal(const char *text, size_t len, int scale, int64_t *out);

/* A number, or a string that holds one, times 10^scale. Returns 0 for other values. */
bool ws_json_scaled(const struct ws_json_value *v, int scale, int64_t *out);
static inline bool ws_json_i64(const struct ws_json_value *v, int64_t *out)
{
	return ws_json_scaled(v, 0, out);
}

/*
 * The bytes of a string with its escapes resolved; other values as written. Borrowed from the text
 * or, if the string has escapes, from scratch. \u escapes become UTF-8, lone surrogates U+FFFD; a
 * bad escape stays as it is.
 */
struct ws_bytes ws_json_text(const struct ws_json_value *v, struct ws_buf *scratch);
/* The text of a value without white space between tokens, in scratch. */
struct ws_bytes ws_json_compact(const struct ws_json_value *v, struct ws_buf *scratch);

/* --- the window --- */

/* Read up to size bytes; *got = 0 at the end of the text. */
typedef enum ws_status (*ws_json_read_fn)(void *ctx, void *buf, size_t size, size_t *got,
                                          struct ws_err *err);

#define WS_JSON_MAX_WINDOW ((size_t)64 << 20) /* bytes: a longer value is passed over */

struct ws_json_stream {
	struct ws_json_reader j; /* parse here */
	struct ws_json_faults faults;
	ws_json_read_fn read;
	void *ctx;
	char *buf;
	size_t capacity;
	uint64_t offset; /* of buf in the whole text */
};

void ws_json_stream_init(struct ws_json_stream *s, ws_json_read_fn read, void *ctx);
void ws_json_stream_free(struct ws_json_stream *s); /* empties it */
/* The offset in the whole text of a place in the window. */
static inline uint64_t ws_json_stream_offset(const struct ws_json_stream *s, const char *at)
{
	return s->offset + (uint64_t)(at - s->buf);
}
/*
 * Read more text. The window keeps its text from `keep` on, and j.pos points to that afterwards.
 * *full: the window has its greatest size and is full, so nothing was read.
 */
enum ws_status ws_json_stream_fill(struct ws_json_stream *s, const char *keep, int *full,
                                   struct ws_err *err);
/* Skip one array or object of any size, or one scalar that fits the window. *bad: there was no
 * whole value. */
enum ws_status ws_json_stream_skip(struct ws_json_stream *s, int *bad, struct ws_err *err);
