/* Names as bytes: comparison, patterns. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <stddef.h>

#include "formats/schema/schema.h"

/*
 * Does text match the shell-like pattern? '*' stands for any bytes, '/' too,
 * '?' for one byte; everything else for itself.
 */
bool ws_name_matches(struct ws_bytes pattern, struct ws_bytes text);
/* … one of the patterns, or names? list: an array of texts. */
#define WS_NAME_IS_ONE_OF(text, list) ws_name_is_one_of(text, list, sizeof(list) / sizeof(*(list)))
bool ws_name_is_one_of(struct ws_bytes text, const char *const *patterns, size_t n);

/* Is it the batch of a server of language models, with its sizes: step[DECODE bs=16]? */
bool ws_name_is_batch(struct ws_bytes name);

/* Is it warm-up, in any case and spelling: "warm-up", "Warmup", "warm_up 3", "Warm-up Step 1"? */
bool ws_name_is_warm_up(struct ws_bytes name);

/* < 0, 0 or > 0 by bytes, as memcmp; a shorter text comes before its continuations. */
int ws_name_compare(struct ws_bytes a, struct ws_bytes b);

/* Is it part of an identifier of C? */
static inline bool ws_name_is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Do the bytes from p to before end begin so? */
static inline bool ws_name_begins(const char *p, const char *end, const char *what)
{
	const size_t n = strlen(what);

	return (size_t)(end - p) >= n && !memcmp(p, what, n);
}

/* "fp32-r1" of "runs/fp32-r1.wtrace": without folders and the endings of traces. */
struct ws_bytes ws_name_of_file(struct ws_bytes path);

/* Equality with a C string. */
bool ws_name_is(struct ws_bytes name, const char *text);
