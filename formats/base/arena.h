/*
 * Memory that is freed all at once. Nothing in it moves. A failure stays: who
 * fills an arena goes on without looking, and asks once at the end.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

struct ws_arena_chunk;

/* All zero is an empty arena. Free with ws_arena_free. */
struct ws_arena {
	struct ws_arena_chunk *chunks;
	bool failed; /* something could not be had: what is there is incomplete */
};

/* Pieces from this size on lie in files without names (in $TMPDIR or /tmp), where there is room: so
 * the arrays of a trace of an hour need not fit into memory. */
#define WS_ARENA_FILE_BYTES ((size_t)32 << 20)

/* size zero bytes, aligned for any type. NULL when memory is out, and failed is set. */
void *ws_arena_alloc(struct ws_arena *arena, size_t size);
/* n items of zeros; a product that no memory can have is out of memory. n = 0 is not NULL. */
void *ws_arena_array(struct ws_arena *arena, size_t n, size_t item_bytes);
/* p = n zero items of what p points to; for several of them, one ws_arena_check behind the last. */
#define WS_NEW(arena, p, n) ((p) = ws_arena_array((arena), (n), sizeof(*(p))))
/* A copy of len bytes with a NUL behind. */
char *ws_arena_copy(struct ws_arena *arena, const void *bytes, size_t len);
char *ws_arena_format(struct ws_arena *arena, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
char *ws_arena_vformat(struct ws_arena *arena, const char *fmt, va_list ap)
        __attribute__((format(printf, 2, 0)));

/* NO_MEMORY, "out of memory for WHAT", when something failed. */
enum ws_status ws_arena_check(const struct ws_arena *arena, const char *what, struct ws_err *err);
void ws_arena_free(struct ws_arena *arena); /* empties it */
