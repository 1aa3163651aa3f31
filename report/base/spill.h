/*
 * An array in an unnamed temporary file, of which only a window is mapped, so that large arrays do
 * not count as memory of this program.
 */
#pragma once

#include <string.h>

#include "formats/base/status.h"
#include "formats/base/system/system.h"

/* Arrays up to this size are kept in memory. */
#define WS_SPILL_SMALL_BYTES ((size_t)8 << 20)

/* All zeros: no array. */
struct ws_spill {
	void *data; /* most_bytes of addresses, of which reserved_bytes can be used */
	size_t most_bytes, reserved_bytes, touched_bytes;
	size_t last_part, part_before; /* units of WS_SPILL_AROUND_BYTES that were accessed last */
	bool is_file;
	struct ws_region region;
	/* for a file: recently stored rows, which are written together; they begin at window_at */
	char *window;
	size_t window_at, window_bytes;
};

/* If there is no room for the file, now or when it grows, the program ends with IO_WRITE. */
void ws_spill_open(struct ws_spill *s, size_t most_bytes);
void ws_spill_close(struct ws_spill *s);
/* Makes the first `bytes` (at most most_bytes) usable; new ones are 0. */
void ws_spill_reserve(struct ws_spill *s, size_t bytes);
/* Tells the system after this many accessed bytes that their pages may leave memory. */
#define WS_SPILL_LET_GO_BYTES ((size_t)2 << 20)
void ws_spill_let_go(struct ws_spill *s);
static inline void ws_spill_used(struct ws_spill *s, size_t bytes)
{
	s->touched_bytes += bytes;
	if (s->touched_bytes >= WS_SPILL_LET_GO_BYTES && s->is_file)
		ws_spill_let_go(s);
}
/* Row i of an array of written rows; valid until the next call. Access to another part maps the
 * pages around it, as many as Linux maps per fault. */
#define WS_SPILL_AROUND_BYTES ((size_t)65536)
static inline void *ws_spill_row(struct ws_spill *s, size_t row_bytes, size_t i)
{
	const size_t at = i * row_bytes;
	const size_t part = at / WS_SPILL_AROUND_BYTES;

	if (at - s->window_at < s->window_bytes) /* false for rows before the window */
		return s->window + (at - s->window_at);
	if (part != s->last_part) {
		if (part !=
		    s->part_before) /* rows are often accessed alternately with one far away */
			ws_spill_used(s, WS_SPILL_AROUND_BYTES);
		s->part_before = s->last_part;
		s->last_part = part;
	}
	return (char *)s->data + at;
}
/* Row i for writing; may be new. Rows that are stored in sequence, or nearly so, are written in
 * batches, which takes a third of the time of mapping and changing each page. */
#define WS_SPILL_WINDOW_BYTES ((size_t)256 << 10)
void ws_spill_put_elsewhere(struct ws_spill *s, size_t row_bytes, size_t i, const void *row);
static inline void ws_spill_put(struct ws_spill *s, size_t row_bytes, size_t i, const void *row)
{
	const size_t at =
	        i * row_bytes - s->window_at; /* wraps to a huge number before the window */

	if (!s->window || at > WS_SPILL_WINDOW_BYTES - row_bytes ||
	    (i + 1) * row_bytes > s->reserved_bytes) {
		ws_spill_put_elsewhere(s, row_bytes, i, row);
		return;
	}
	memcpy(s->window + at, row, row_bytes);
	if (at + row_bytes > s->window_bytes)
		s->window_bytes = at + row_bytes;
}
/* Writes pending rows to s->data. Needed only before reading s->data directly instead of by
 * ws_spill_row. */
void ws_spill_flush(struct ws_spill *s);

/* Groups n rows by key: rows of key 0 first, rows of one key in their original order. */
struct ws_spill_key {
	size_t n; /* keys are below this */
	uint32_t (*key)(const void *ctx, const void *row);
	const void *ctx;
};
void ws_spill_partition(struct ws_spill *s, size_t row_bytes, size_t n,
                        const struct ws_spill_key *key);
/* Sorts n rows; compare is as for qsort_r, and never returns 0 for two different rows. */
void ws_spill_sort(struct ws_spill *s, size_t row_bytes, size_t n,
                   int (*compare)(const void *, const void *, void *), void *ctx);
