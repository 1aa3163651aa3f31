/* Names as bytes: comparison, patterns. */
#pragma once

#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/schema/schema.h"

/*
 * For the initialiser of an array from a list LIST(X), X(first, second, …): what an entry gives.
 */
#define WS_LIST_SECOND(first, second, ...)      second,
#define WS_LIST_SECOND_NAME(first, second, ...) #second,
#define WS_LIST_REST(first, ...)                {__VA_ARGS__},
#define WS_LIST_ROW(...)                        {__VA_ARGS__},

/*
 * Numbers for texts of several traces: equal texts have equal numbers in all traces.
 */

/* Starts as all zeros: number 0 is the empty text. Free with ws_texts_release. */
struct ws_texts {
	struct ws_strtab known;
	struct ws_bytes *text; /* of `known`, by number, [0] unused; read with ws_texts_get */
	size_t n, capacity;
	uint32_t *recent; /* last result of ws_texts_add_often for each hint; 0: none */
};

/* The number of this text. */
uint32_t ws_texts_add(struct ws_texts *t, struct ws_bytes text);
/* The same for texts that mostly exist already: first compares with the last text of this hint. */
#define WS_TEXTS_RECENT_BITS 13
static inline uint32_t ws_texts_add_often(struct ws_texts *t, struct ws_bytes text, uint32_t hint)
{
	/* Fibonacci hashing gives consecutive hints different slots */
	const size_t at = hint * UINT32_C(2654435769) >> (32 - WS_TEXTS_RECENT_BITS);

	if (!t->recent)
		t->recent = ws_xarray((size_t)1 << WS_TEXTS_RECENT_BITS, sizeof(*t->recent));
	uint32_t number = t->recent[at];
	if (!number || t->text[number].len != text.len ||
	    memcmp(t->text[number].ptr, text.ptr, text.len))
		number = t->recent[at] = ws_texts_add(t, text);
	return number;
}
uint32_t ws_texts_add_str(struct ws_texts *t, const char *text);
struct ws_bytes ws_texts_get(const struct ws_texts *t, uint32_t number);
void ws_texts_release(struct ws_texts *t);

/*
 * Does text match the shell-like pattern? '*' stands for any bytes, '/' too, '?' for one byte;
 * every other byte for itself.
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

static inline bool ws_name_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Does it contain the part? */
static inline bool ws_name_has(struct ws_bytes name, const char *part)
{
	return name.len && memmem(name.ptr, name.len, part, strlen(part)) != NULL;
}

/* Do the bytes from p to end begin with `what`? */
static inline bool ws_name_begins(const char *p, const char *end, const char *what)
{
	const size_t n = strlen(what);

	return (size_t)(end - p) >= n && !memcmp(p, what, n);
}

/* "fp32-r1" of "runs/fp32-r1.wtrace": without folders and the endings of traces. */
struct ws_bytes ws_name_of_file(struct ws_bytes path);

/* Equality with a C string. */
bool ws_name_is(struct ws_bytes name, const char *text);

/* POSIX's extended regular expressions of names. */

struct ws_expression;
/* USAGE: the pattern is none, and why. Free with ws_expression_free. */
enum ws_status ws_expression_new(struct ws_expression **out, const char *pattern,
                                 struct ws_err *err);
/* Call it before each text that is matched: without memory the library says no match. */
void ws_expression_reserve(void);
bool ws_expression_matches(const struct ws_expression *expression, const char *text);
void ws_expression_free(struct ws_expression *expression); /* NULL is legal */

/* Demangled names of C++ functions: return type, name, template arguments, parameters. */

/*
 * The function's name with its template arguments, without return type and parameters:
 * "std::enable_if<true>::type ns::f<float>(int)" gives "ns::f<float>". Returns a name that is not a
 * C++ signature unchanged.
 */
struct ws_bytes ws_name_signature(struct ws_bytes name);

/*
 * The same without template arguments: "void at::native::reduce_kernel<512, 1>(T1)" is
 * "at::native::reduce_kernel". Writes at most name.len bytes; returns their number.
 */
size_t ws_name_function(struct ws_bytes name, char *out);

/* The part after the last '::'. */
struct ws_bytes ws_name_last_part(struct ws_bytes name);

/* Kernels that run a function named by their template arguments. */
enum ws_name_frame {
	WS_NAME_NO_FRAME,
	WS_NAME_FRAME,   /* elementwise_kernel, reduce_kernel: a loop around a function */
	WS_NAME_WRAPPER, /* device_kernel: an entry point without a meaning of its own */
};
/* function: as ws_name_function gives it. */
enum ws_name_frame ws_name_frame(struct ws_bytes function);
