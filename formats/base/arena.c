#include "formats/base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/base/own_file.h"
#include "formats/base/xalloc.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define ALIGNMENT   _Alignof(max_align_t)

struct ws_arena_chunk {
	struct ws_arena_chunk *next;
	size_t used, size;
	bool is_file;
	max_align_t data[];
};

/*
 * Zero bytes in a file without a name: where memory is short they lie on the
 * disk. The room is taken now, as a full disk would end the program when a
 * page is written. NULL without that.
 */
static struct ws_arena_chunk *map_file(size_t bytes)
{
	void *map = MAP_FAILED;
	int fd;

	if (ws_own_file_unnamed(&fd, NULL) != WS_OK)
		return NULL;
	if (posix_fallocate(fd, 0, (off_t)bytes) == 0)
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return NULL;
	((struct ws_arena_chunk *)map)->is_file = true;
	return map;
}

static struct ws_arena_chunk *new_chunk(size_t room)
{
	struct ws_arena_chunk *chunk = NULL;
	const size_t bytes = sizeof(*chunk) + room;

	if (room >= WS_ARENA_FILE_BYTES)
		chunk = map_file(bytes);
	if (!chunk)
		chunk = ws_xarray(1, bytes);
	chunk->size = room;
	return chunk;
}

/* A chunk of its own for what is large; it goes behind the one that still has room. */
static struct ws_arena_chunk *add_chunk(struct ws_arena *arena, size_t size)
{
	size_t room = size > CHUNK_BYTES / 4 ? size : CHUNK_BYTES;
	struct ws_arena_chunk *chunk = new_chunk(room);
	struct ws_arena_chunk **at = &arena->chunks;

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

	if (size > SIZE_MAX / 2)
		ws_out_of_memory(size);
	rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (!chunk || chunk->size - chunk->used < rounded)
		chunk = add_chunk(arena, rounded);
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

	if (len)
		memcpy(copy, bytes, len);
	return copy;
}

char *ws_arena_vformat(struct ws_arena *arena, const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len < 0)
		ws_out_of_memory(strlen(fmt));
	text = ws_arena_alloc(arena, (size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, fmt, again);
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

void ws_arena_free(struct ws_arena *arena)
{
	while (arena->chunks) {
		struct ws_arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		if (chunk->is_file)
			munmap(chunk, sizeof(*chunk) + chunk->size);
		else
			free(chunk);
	}
}
