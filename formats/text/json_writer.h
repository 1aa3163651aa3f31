/*
 * Strict JSON (RFC 8259) to a FILE, value by value. Commas, escapes and
 * nesting are the writer's business; errors are told once, by
 * ws_json_finish.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

#define WS_JSON_MAX_DEPTH 32u

struct ws_json_writer {
	FILE *f; /* borrowed */
	unsigned depth;
	struct {
		uint8_t is_object, has_values;
	} open[WS_JSON_MAX_DEPTH]; /* open[depth - 1] is the innermost */
	uint8_t after_key;         /* a value must come next */
	uint8_t break_line;        /* before the next key, value or end */
	uint8_t done;              /* the one value is complete */
	const char *misuse;        /* the first call that would not make JSON */
};

void ws_json_begin(struct ws_json_writer *j, FILE *f);

void ws_json_object_begin(struct ws_json_writer *j);
void ws_json_object_end(struct ws_json_writer *j);
void ws_json_array_begin(struct ws_json_writer *j);
void ws_json_array_end(struct ws_json_writer *j);
/* The name of the next value of an object; NUL-terminated UTF-8. Returns j, for that value. */
struct ws_json_writer *ws_json_key(struct ws_json_writer *j, const char *key);

/* Any bytes: control characters escaped, what is no UTF-8 as U+FFFD. */
void ws_json_string(struct ws_json_writer *j, const void *bytes, size_t len);
void ws_json_str(struct ws_json_writer *j, const char *text); /* NUL-terminated; NULL is null */
/*
 * A text that is a JSON array, as that array; any other text as a string. Arrays, strings of
 * printable ASCII and numbers, at most 16 levels deep, are taken for JSON: recorded shapes are so.
 */
void ws_json_array_text(struct ws_json_writer *j, const void *bytes, size_t len);
void ws_json_i64(struct ws_json_writer *j, int64_t value);
void ws_json_u64(struct ws_json_writer *j, uint64_t value);
/* Reads back equal; NaN and infinity, which JSON lacks, are null. */
void ws_json_f64(struct ws_json_writer *j, double value);
/* value / 10^digits, exactly: 1234 with 3 digits is 1.234. */
void ws_json_decimal(struct ws_json_writer *j, int64_t value, unsigned digits);
void ws_json_bool(struct ws_json_writer *j, int value);
void ws_json_null(struct ws_json_writer *j);

/* What comes next begins a line: for people and for diff. */
void ws_json_break(struct ws_json_writer *j);

/*
 * End with a newline. IO_WRITE when f has an error, BUG when the calls did not
 * make one complete value.
 */
enum ws_status ws_json_finish(struct ws_json_writer *j, struct ws_err *err);
