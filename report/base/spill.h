/*
 * An array that may be larger than memory should be: it lies in a file without
 * a name, and what is not at hand does not count as memory of this program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/base/status.h"
#include "formats/base/system/system.h"

/* Arrays up to this size lie in memory. */
#define WS_SPILL_SMALL_BYTES ((size_t)8 << 20)

/* All zero is none. */
struct ws_spill {
	void *data; /* most_bytes of addresses, of which reserved_bytes can be used */
	size_t most_bytes, reserved_bytes, touched_bytes;
	size_t last_part, part_before; /* of WS_SPILL_AROUND_BYTES: where rows were used last */
	bool is_file;
	struct ws_region region;
	/* of a file: what was put last, and is written at once; from window_at on */
	char *window;
	size_t window_at, window_bytes;
};

/* Where there is no room for the file the program ends (IO_WRITE), now or when it grows. */
void ws_spill_open(struct ws_spill *s, size_t most_bytes);
void ws_spill_close(struct ws_spill *s);
/* The first bytes, at most most_bytes, can be used from now on; new ones are 0. */
void ws_spill_reserve(struct ws_spill *s, size_t bytes);
/* So many bytes were used since the last call: once they are many, none stays in memory. */
#define WS_SPILL_LET_GO_BYTES ((size_t)2 << 20)
void ws_spill_let_go(struct ws_spill *s);
static inline void ws_spill_used(struct ws_spill *s, size_t bytes)
{
	s->touched_bytes += bytes;
	if (s->touched_bytes >= WS_SPILL_LET_GO_BYTES && s->is_file)
		ws_spill_let_go(s);
}
/* Row i of an array of rows that were written, to be used now. One in another part than the last
 * brings the pages around it: as many as Linux maps with a fault. */
#define WS_SPILL_AROUND_BYTES ((size_t)65536)
static inline void *ws_spill_row(struct ws_spill *s, size_t row_bytes, size_t i)
{
	const size_t at = i * row_bytes;
	const size_t part = at / WS_SPILL_AROUND_BYTES;

	if (at - s->window_at < s->window_bytes) /* never of one before it */
		return s->window + (at - s->window_at);
	if (part != s->last_part) {
		if (part != s->part_before) /* rows are often used in turn with one far away */
			ws_spill_used(s, WS_SPILL_AROUND_BYTES);
		s->part_before = s->last_part;
		s->last_part = part;
	}
	return (char *)s->data + at;
}
/* Row i, whose room may be new. Rows that are put behind each other, or nearly, are written many at
 * a time, which takes a third of what it takes to bring and change each page. */
#define WS_SPILL_WINDOW_BYTES ((size_t)256 << 10)
void ws_spill_put_elsewhere(struct ws_spill *s, size_t row_bytes, size_t i, const void *row);
static inline void ws_spill_put(struct ws_spill *s, size_t row_bytes, size_t i, const void *row)
{
	const size_t at = i * row_bytes - s->window_at; /* huge before the window */

	if (!s->window || at > WS_SPILL_WINDOW_BYTES - row_bytes ||
	    (i + 1) * row_bytes > s->reserved_bytes) {
		ws_spill_put_elsewhere(s, row_bytes, i, row);
		return;
	}
	memcpy(s->window + at, row, row_bytes);
	if (at + row_bytes > s->window_bytes)
		s->window_bytes = at + row_bytes;
}
/* What was put is in s->data: for who reads that, and not by ws_spill_row. */
void ws_spill_flush(struct ws_spill *s);

/* An array of n rows, by a key of each: those of key 0 first, of one key as they stood. */
struct ws_spill_key {
	size_t n; /* keys are below this */
	uint32_t (*key)(const void *ctx, const void *row);
	const void *ctx;
};
void ws_spill_partition(struct ws_spill *s, size_t row_bytes, size_t n,
                        const struct ws_spill_key *key);
/* Sorts n rows; compare is that of qsort_r, and tells any two rows apart. */
void ws_spill_sort(struct ws_spill *s, size_t row_bytes, size_t n,
                   int (*compare)(const void *, const void *, void *), void *ctx);
