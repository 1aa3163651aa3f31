/*
 * Names in traces are bytes of foreign programs: any bytes. Writers see them
 * as Unicode through this, broken sequences as U+FFFD.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WS_UTF8_REPLACEMENT 0xfffdu
#define WS_UTF8_MAX_BYTES   4u

/*
 * The code point at p, which has len >= 1 bytes left, and the 1..4 bytes it
 * takes. A broken sequence gives U+FFFD and takes its longest well-formed
 * beginning, at least one byte (Unicode 15, section 3.9, "maximal subpart").
 * Surrogates, overlong forms and values over U+10FFFF are broken.
 */
unsigned ws_utf8_get(const void *p, size_t len, uint32_t *code_point);

/* Write a code point; the bytes it took. */
unsigned ws_utf8_put(uint32_t code_point, char out[WS_UTF8_MAX_BYTES]);
