/* Unicode for writers: names in traces may be any bytes, because other programs chose them. Broken
 * sequences become U+FFFD. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WS_UTF8_REPLACEMENT 0xfffdu
#define WS_UTF8_MAX_BYTES   4u

/*
 * The code point at p, of which len >= 1 bytes can be read. Returns the 1..4 bytes that it takes. A
 * broken sequence is U+FFFD and takes its longest well-formed beginning, at least one byte (Unicode
 * 15, section 3.9, "maximal subpart"). Surrogates, overlong forms and values over U+10FFFF are
 * broken.
 */
unsigned ws_utf8_get(const void *p, size_t len, uint32_t *code_point);

/* Write a code point. Returns the bytes that it takes. */
unsigned ws_utf8_put(uint32_t code_point, char out[WS_UTF8_MAX_BYTES]);
