/*
 * Texts of several traces as numbers, so that equal texts are equal numbers
 * whatever trace they come from.
 */
#pragma once

#include "formats/base/bytes.h"
#include "formats/base/strtab.h"
#include "formats/schema/schema.h"

/* Starts as all zeros: number 0 is the empty text. Free with ws_texts_release. */
struct ws_texts {
	struct ws_strtab known;
	struct ws_bytes *text; /* by number, [0] unused; read with ws_texts_get */
	size_t n, capacity;
};

enum ws_status ws_texts_add(struct ws_texts *t, struct ws_bytes text, uint32_t *number,
                            struct ws_err *err);
enum ws_status ws_texts_add_str(struct ws_texts *t, const char *text, uint32_t *number,
                                struct ws_err *err);
struct ws_bytes ws_texts_get(const struct ws_texts *t, uint32_t number);
void ws_texts_release(struct ws_texts *t);
