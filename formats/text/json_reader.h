/*
 * JSON as it comes: a pull parser over a window of text, and the window.
 *
 * It reads more than JSON allows, because PyTorch writes more: raw control
 * characters and unknown escapes in strings, NaN and infinities. Such places
 * are counted, not refused; commas may be missing or too many. What cannot be
 * read at all is WS_JSON_BAD, and the caller decides where to go on.
 *
 * Values are slices of the text. Nothing is copied or converted before
 * somebody asks: most of a trace is never asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/bytes.h"
#include "formats/schema/schema.h"
#include "formats/base/status.h"

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

/* Borrowed from the window: gone when the window moves. */
struct ws_json_value {
	uint8_t type;     /* enum ws_json_type */
	uint8_t escaped;  /* a string with backslashes */
	const char *text; /* strings: without the quotes; arrays and objects: with the brackets */
	size_t len;
};

/* Departures from JSON that were read all the same. */
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

/* Any value; arrays and objects are passed over and given as their text. BAD over 100 levels. */
enum ws_json_result ws_json_value(struct ws_json_reader *j, struct ws_json_value *v);
/* Consume this bracket, '{' or '['. */
enum ws_json_result ws_json_open(struct ws_json_reader *j, char bracket);
/* The next member of an object: its key; the value comes next. END consumes the '}'. */
enum ws_json_result ws_json_member(struct ws_json_reader *j, struct ws_json_value *key);
/* The next element of an array comes next. END consumes the ']'. */
enum ws_json_result ws_json_element(struct ws_json_reader *j);

/* A window on the text of an array or object value; an empty one for no value. */
static inline struct ws_json_reader ws_json_inside(const struct ws_json_value *v,
                                                   struct ws_json_faults *faults)
{
	const char *text = v->text ? v->text : "";

	return (struct ws_json_reader){text, text + v->len, 1, faults};
}

static inline bool ws_json_is(const struct ws_json_value *v, const char *text, size_t len)
{
	return v->len == len && memcmp(v->text, text, len) == 0;
}
/* The key or string is this literal. */
#define WS_JSON_IS(v, literal) ws_json_is((v), "" literal, sizeof(literal) - 1)

/*
 * The text times 10^scale, as an integer: exact where it is one, else rounded
 * half away from zero. Returns 0 when the text is no decimal number or the
 * result does not fit.
 */
bool ws_decimal(const char *text, size_t len, int scale, int64_t *out);

/* A number, or a string that holds one, times 10^scale. 0 when it is neither. */
bool ws_json_scaled(const struct ws_json_value *v, int scale, int64_t *out);
static inline bool ws_json_i64(const struct ws_json_value *v, int64_t *out)
{
	return ws_json_scaled(v, 0, out);
}

/*
 * The bytes of a string without its escapes; other values as written.
 * Borrowed from the text or, where something had to be replaced, from scratch.
 * \u escapes become UTF-8, lone surrogates U+FFFD; a bad escape stays as it is.
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
	uint64_t offset; /* of buf in the text */
};

void ws_json_stream_init(struct ws_json_stream *s, ws_json_read_fn read, void *ctx);
void ws_json_stream_free(struct ws_json_stream *s); /* empties it */
/* Bytes of text before this place of the window. */
static inline uint64_t ws_json_stream_offset(const struct ws_json_stream *s, const char *at)
{
	return s->offset + (uint64_t)(at - s->buf);
}
/*
 * Read more text. What stands from `keep` on stays, and is where j.pos points
 * afterwards. *full: the window is at its limit and nothing could be read.
 */
enum ws_status ws_json_stream_fill(struct ws_json_stream *s, const char *keep, int *full,
                                   struct ws_err *err);
/*
 * Pass over one array or object of any size, or one scalar that fits the
 * window. *bad: there was no such whole value.
 */
enum ws_status ws_json_stream_skip(struct ws_json_stream *s, int *bad, struct ws_err *err);
