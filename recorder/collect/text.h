/*
 * Text as a program hands it to NVTX, on its way into the segment: bytes are
 * kept as they are, wide characters become UTF-8. No allocation, any length.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum ws_text_kind {
	WS_TEXT_BYTES, /* char */
	WS_TEXT_UTF16, /* uint16_t */
	WS_TEXT_UTF32, /* uint32_t, and wchar_t on Linux */
};

/* NUL-terminated text in the program's memory. ptr NULL: none. */
struct ws_event_text {
	const void *ptr;
	enum ws_text_kind kind;
	uint32_t size; /* bytes in UTF-8 after ws_text_measure(), without NUL */
};

/* Set text->size, at most max, never cutting a character. 1 when it had to be cut. */
bool ws_text_measure(struct ws_event_text *text, uint32_t max);

/* Copy of a measured text, piece by piece. */
struct ws_text_cursor {
	const void *ptr;
	enum ws_text_kind kind;
	uint32_t rest; /* bytes still to come */
};
/* The next piece, at most cap (>= 4) bytes, in buf; 0 at the end. */
uint32_t ws_text_next(struct ws_text_cursor *cursor, char *buf, uint32_t capacity);
