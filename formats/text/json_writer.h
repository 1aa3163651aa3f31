/*
 * Writes strict JSON (RFC 8259) to a FILE, value by value. The writer adds commas and escapes, and
 * checks nesting; ws_json_finish reports errors.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

#define WS_NUMBER_BYTES 32
/* A finite value as text, the same in every locale, with the fewest digits from 15 to 17 that read
 * back equal. Returns buf. */
const char *ws_number_real(char buf[WS_NUMBER_BYTES], double value);

#define WS_JSON_MAX_DEPTH 32u

struct ws_json_writer {
	FILE *f; /* borrowed */
	unsigned depth;
	struct {
		uint8_t is_object, has_values;
	} open[WS_JSON_MAX_DEPTH]; /* open[depth - 1] is the innermost */
	uint8_t after_key;         /* a value must follow */
	uint8_t break_line;        /* break the line before the next key, value or end */
	uint8_t done;              /* the document is complete */
	const char *misuse;        /* the first call that does not fit, or NULL */
};

void ws_json_begin(struct ws_json_writer *j, FILE *f);

void ws_json_object_begin(struct ws_json_writer *j);
void ws_json_object_end(struct ws_json_writer *j);
void ws_json_array_begin(struct ws_json_writer *j);
void ws_json_array_end(struct ws_json_writer *j);
/* The name of the next value of an object; NUL-terminated UTF-8. Returns j, for that value. */
struct ws_json_writer *ws_json_key(struct ws_json_writer *j, const char *key);

/*
 * Write an array: the statement behind them writes its item i, for each i below n; of an array of
 * objects or of arrays it writes what is in them. name: the key of the array; NULL: none.
 * `continue` is legal in the statement, `break` is not.
 */
#define WS_JSON_EACH(j, name, i, n) \
	for (size_t i = ws_json_array_of(j, name); ws_json_array_goes_on(j, i < (size_t)(n)); i++)
#define WS_JSON_EACH_OBJECT(j, name, i, n)                                              \
	for (size_t i = ws_json_array_of(j, name);                                      \
	     ws_json_array_goes_on(j, i < (size_t)(n)) && (ws_json_object_begin(j), 1); \
	     ws_json_object_end(j), i++)
#define WS_JSON_EACH_ARRAY(j, name, i, n)                                              \
	for (size_t i = ws_json_array_of(j, name);                                     \
	     ws_json_array_goes_on(j, i < (size_t)(n)) && (ws_json_array_begin(j), 1); \
	     ws_json_array_end(j), i++)
static inline size_t ws_json_array_of(struct ws_json_writer *j, const char *name)
{
	ws_json_array_begin(name ? ws_json_key(j, name) : j);
	return 0;
}
static inline int ws_json_array_goes_on(struct ws_json_writer *j, int has_next)
{
	if (!has_next)
		ws_json_array_end(j);
	return has_next;
}

/* Any bytes: control characters are escaped, invalid UTF-8 becomes U+FFFD. */
void ws_json_string(struct ws_json_writer *j, const void *bytes, size_t len);
void ws_json_str(struct ws_json_writer *j, const char *text); /* NUL-terminated; NULL is null */
/*
 * Write a text as the JSON array that it is; any other text as a string. Only arrays of arrays,
 * numbers and strings of printable ASCII count, at most 16 levels deep: recorded shapes are such.
 */
void ws_json_array_text(struct ws_json_writer *j, const void *bytes, size_t len);
void ws_json_i64(struct ws_json_writer *j, int64_t value);
void ws_json_u64(struct ws_json_writer *j, uint64_t value);
/* NaN and infinity, which JSON lacks, become null; other values read back equal. */
void ws_json_f64(struct ws_json_writer *j, double value);
/* value / 10^digits, exactly: 1234 with 3 digits is 1.234. */
void ws_json_decimal(struct ws_json_writer *j, int64_t value, unsigned digits);
void ws_json_bool(struct ws_json_writer *j, int value);
void ws_json_null(struct ws_json_writer *j);

/* Begin a line before the next item: for people and for diff. */
void ws_json_break(struct ws_json_writer *j);

/* End the document with a newline. BUG if the calls did not make one complete value. Whoever closes
 * the file sees whether it was written. */
enum ws_status ws_json_finish(struct ws_json_writer *j, struct ws_err *err);
