#include "formats/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define ALIGNMENT   _Alignof(max_align_t)

struct ws_arena_chunk {
	struct ws_arena_chunk *next;
	size_t used, size;
	max_align_t data[];
};

/* A chunk of its own for what is large; it goes behind the one that still has room. */
static struct ws_arena_chunk *add_chunk(struct ws_arena *arena, size_t size)
{
	size_t room = size > CHUNK_BYTES / 4 ? size : CHUNK_BYTES;
	struct ws_arena_chunk *chunk = calloc(1, sizeof(*chunk) + room);
	struct ws_arena_chunk **at = &arena->chunks;

	if (!chunk)
		return NULL;
	chunk->size = room;
	if (room == size && *at)
		at = &(*at)->next;
	chunk->next = *at;
	*at = chunk;
	return chunk;
}

void *ws_arena_alloc(struct ws_arena *arena, size_t size)
{
	struct ws_arena_chunk *chunk = arena->chunks;
	size_t rounded;

	if (size > SIZE_MAX / 2) {
		arena->failed = true;
		return NULL;
	}
	rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (!chunk || chunk->size - chunk->used < rounded)
		chunk = add_chunk(arena, rounded);
	if (!chunk) {
		arena->failed = true;
		return NULL;
	}
	chunk->used += rounded;
	return (char *)chunk->data + chunk->used - rounded;
}

void *ws_arena_array(struct ws_arena *arena, size_t n, size_t item_bytes)
{
	size_t size;

	if (__builtin_mul_overflow(n, item_bytes, &size))
		size = SIZE_MAX;
	return ws_arena_alloc(arena, size ? size : 1);
}

char *ws_arena_copy(struct ws_arena *arena, const void *bytes, size_t len)
{
	char *copy = ws_arena_alloc(arena, len < SIZE_MAX ? len + 1 : len);

	if (copy && len)
		memcpy(copy, bytes, len);
	return copy;
}

char *ws_arena_vformat(struct ws_arena *arena, const char *fmt, va_list ap)
{
	char *text = NULL;
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len >= 0)
		text = ws_arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	else
		arena->failed = true;
	va_end(again);
	return text;
}

char *ws_arena_format(struct ws_arena *arena, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = ws_arena_vformat(arena, fmt, ap);
	va_end(ap);
	return text;
}

enum ws_status ws_arena_check(const struct ws_arena *arena, const char *what, struct ws_err *err)
{
	return arena->failed ? WS_FAIL(err, NO_MEMORY, "out of memory for %s", what) : WS_OK;
}

void ws_arena_free(struct ws_arena *arena)
{
	while (arena->chunks) {
		struct ws_arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	arena->failed = false;
}
