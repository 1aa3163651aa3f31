/*
 * Texts of several traces as numbers, so that equal texts are equal numbers
 * whatever trace they come from.
 */
#pragma once

#include <string.h>

#include "formats/base/bytes.h"
#include "formats/base/strtab.h"
#include "formats/schema/schema.h"

#define WS_TEXTS_RECENT 64u

/* Starts as all zeros: number 0 is the empty text. Free with ws_texts_release. */
struct ws_texts {
	struct ws_strtab known;
	struct ws_bytes *text; /* by number, [0] unused; read with ws_texts_get */
	size_t n, capacity;
	uint32_t recent[WS_TEXTS_RECENT]; /* of ws_texts_add_often, by hint; 0 */
};

enum ws_status ws_texts_add(struct ws_texts *t, struct ws_bytes text, uint32_t *number,
                            struct ws_err *err);
/* The same of what is mostly there: first it is compared with what came last with this hint. */
static inline enum ws_status ws_texts_add_often(struct ws_texts *t, struct ws_bytes text,
                                                uint32_t hint, uint32_t *number, struct ws_err *err)
{
	uint32_t *recent = &t->recent[hint % WS_TEXTS_RECENT];

	if (!*recent || t->text[*recent].len != text.len ||
	    memcmp(t->text[*recent].ptr, text.ptr, text.len) != 0)
		WS_FORWARD(ws_texts_add(t, text, recent, err));
	*number = *recent;
	return WS_OK;
}
enum ws_status ws_texts_add_str(struct ws_texts *t, const char *text, uint32_t *number,
                                struct ws_err *err);
struct ws_bytes ws_texts_get(const struct ws_texts *t, uint32_t number);
void ws_texts_release(struct ws_texts *t);
