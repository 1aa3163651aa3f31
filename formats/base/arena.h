/* Memory that is freed all at once. Nothing in it moves. Without memory the program ends
 * (xalloc.h). */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct ws_arena_chunk;

/* All zero is an empty arena. Free with ws_arena_free. */
struct ws_arena {
	struct ws_arena_chunk *chunks;
};

/* Pieces of this size or more lie in files without names (in $TMPDIR or /tmp), if there is space:
 * so the arrays of an hour's trace need not fit into memory. */
#define WS_ARENA_FILE_BYTES ((size_t)32 << 20)

/* size zero bytes, aligned for any type. */
void *ws_arena_alloc(struct ws_arena *arena, size_t size) __attribute__((returns_nonnull));
/* n items of zeros; n = 0 is not NULL. */
void *ws_arena_array(struct ws_arena *arena, size_t n, size_t item_bytes)
        __attribute__((returns_nonnull));
/* p = n zero items of what p points to. */
#define WS_NEW(arena, p, n) ((p) = ws_arena_array((arena), (n), sizeof(*(p))))
/* A copy of len bytes, followed by a NUL. */
char *ws_arena_copy(struct ws_arena *arena, const void *bytes, size_t len)
        __attribute__((returns_nonnull));
char *ws_arena_format(struct ws_arena *arena, const char *fmt, ...)
        __attribute__((format(printf, 2, 3), returns_nonnull));
char *ws_arena_vformat(struct ws_arena *arena, const char *fmt, va_list ap)
        __attribute__((format(printf, 2, 0), returns_nonnull));

void ws_arena_free(struct ws_arena *arena); /* empties it */
