/*
 * Texts of several traces as numbers, so that equal texts are equal numbers
 * whatever trace they come from.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "formats/base/bytes.h"
#include "formats/base/strtab.h"
#include "formats/base/xalloc.h"
#include "formats/schema/schema.h"

/* Starts as all zeros: number 0 is the empty text. Free with ws_texts_release. */
struct ws_texts {
	struct ws_strtab known;
	struct ws_bytes *text; /* of `known`, by number, [0] unused; read with ws_texts_get */
	size_t n, capacity;
	uint32_t *recent; /* of ws_texts_add_often, by hint; 0 */
};

/* The number of this text. */
uint32_t ws_texts_add(struct ws_texts *t, struct ws_bytes text);
/* The same of what is mostly there: first it is compared with what came last with this hint. */
#define WS_TEXTS_RECENT_BITS 13
static inline uint32_t ws_texts_add_often(struct ws_texts *t, struct ws_bytes text, uint32_t hint)
{
	/* hints that count up have slots of their own: Fibonacci hashing */
	const size_t at = hint * UINT32_C(2654435769) >> (32 - WS_TEXTS_RECENT_BITS);
	uint32_t number;

	if (!t->recent)
		t->recent = ws_xarray((size_t)1 << WS_TEXTS_RECENT_BITS, sizeof(*t->recent));
	number = t->recent[at];
	if (!number || t->text[number].len != text.len ||
	    memcmp(t->text[number].ptr, text.ptr, text.len))
		number = t->recent[at] = ws_texts_add(t, text);
	return number;
}
uint32_t ws_texts_add_str(struct ws_texts *t, const char *text);
struct ws_bytes ws_texts_get(const struct ws_texts *t, uint32_t number);
void ws_texts_release(struct ws_texts *t);
