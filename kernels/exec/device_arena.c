#include "kernels/exec/device_arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"

/* Rounded up to the alignment; 0: too large for that. */
static uint64_t place_bytes(uint64_t size_bytes)
{
	return size_bytes > UINT64_MAX - WS_DEVICE_ALIGN
	               ? 0
	               : (size_bytes + WS_DEVICE_ALIGN - 1) / WS_DEVICE_ALIGN * WS_DEVICE_ALIGN;
}

void ws_device_arena_close(struct ws_device_arena *arena)
{
	free(arena->gaps);
	memset(arena, 0, sizeof(*arena));
}

static void remove_gap(struct ws_device_arena *arena, size_t i)
{
	memmove(&arena->gaps[i], &arena->gaps[i + 1],
	        (arena->gap_count - i - 1) * sizeof(*arena->gaps));
	arena->gap_count--;
}

/*
 * The gap that reaches the end of the block counts as the largest, as it is when a block without an
 * end is planned: else the places in a block of the planned size were others, and did not suffice.
 */
static uint64_t size_to_compare(const struct ws_device_arena *arena,
                                const struct ws_device_gap *gap)
{
	return gap->offset + gap->size_bytes == arena->size_bytes ? UINT64_MAX : gap->size_bytes;
}

enum ws_status ws_device_arena_take(struct ws_device_arena *arena, uint64_t size_bytes,
                                    uint64_t *offset, struct ws_err *err)
{
	uint64_t wanted_bytes = place_bytes(size_bytes);
	struct ws_device_gap *best = NULL;

	for (size_t i = 0; i < arena->gap_count && wanted_bytes; i++) {
		struct ws_device_gap *gap = &arena->gaps[i];

		if (gap->size_bytes >= wanted_bytes &&
		    (!best || size_to_compare(arena, gap) < size_to_compare(arena, best)))
			best = gap;
	}
	WS_FAIL_IF(!best, err, NO_MEMORY,
	           "%" PRIu64 " bytes more than the %" PRIu64 " in use do not fit the %" PRIu64
	           " of the device's arena, whose largest gap is %" PRIu64,
	           size_bytes, arena->used_bytes, arena->size_bytes,
	           ws_device_arena_largest(arena));
	*offset = best->offset;
	best->offset += wanted_bytes;
	best->size_bytes -= wanted_bytes;
	if (!best->size_bytes)
		remove_gap(arena, (size_t)(best - arena->gaps));
	arena->used_bytes += wanted_bytes;
	if (arena->used_bytes > arena->peak_bytes)
		arena->peak_bytes = arena->used_bytes;
	if (*offset + wanted_bytes > arena->high_bytes)
		arena->high_bytes = *offset + wanted_bytes;
	return WS_OK;
}

/* The first gap at or after an offset. */
static size_t gap_after(const struct ws_device_arena *arena, uint64_t offset)
{
	size_t at;

	WS_COUNT_FIRST(at, arena->gap_count, arena->gaps[at].offset < offset);
	return at;
}

static void insert_gap(struct ws_device_arena *arena, size_t at, struct ws_device_gap gap)
{
	WS_GROW(arena->gaps, arena->gap_count + 1, arena->gap_capacity);
	memmove(&arena->gaps[at + 1], &arena->gaps[at],
	        (arena->gap_count - at) * sizeof(*arena->gaps));
	arena->gaps[at] = gap;
	arena->gap_count++;
}

void ws_device_arena_open(struct ws_device_arena *arena, uint64_t size_bytes)
{
	memset(arena, 0, sizeof(*arena));
	arena->size_bytes = size_bytes / WS_DEVICE_ALIGN * WS_DEVICE_ALIGN;
	if (arena->size_bytes)
		insert_gap(arena, 0, (struct ws_device_gap){0, arena->size_bytes});
}

void ws_device_arena_give(struct ws_device_arena *arena, uint64_t offset, uint64_t size_bytes)
{
	struct ws_device_gap gap = {offset, place_bytes(size_bytes)};
	size_t next = gap_after(arena, offset);
	bool joins_next =
	        next < arena->gap_count && arena->gaps[next].offset == offset + gap.size_bytes;
	bool joins_previous =
	        next > 0 &&
	        arena->gaps[next - 1].offset + arena->gaps[next - 1].size_bytes == offset;

	if (!joins_next && !joins_previous)
		insert_gap(arena, next, gap);
	if (joins_next) {
		arena->gaps[next].offset = offset;
		arena->gaps[next].size_bytes += gap.size_bytes;
		gap = arena->gaps[next];
	}
	if (joins_previous) {
		arena->gaps[next - 1].size_bytes += gap.size_bytes;
		if (joins_next)
			remove_gap(arena, next);
	}
	arena->used_bytes -= place_bytes(size_bytes);
}

uint64_t ws_device_arena_largest(const struct ws_device_arena *arena)
{
	uint64_t largest_bytes = 0;

	for (size_t i = 0; i < arena->gap_count; i++)
		if (arena->gaps[i].size_bytes > largest_bytes)
			largest_bytes = arena->gaps[i].size_bytes;
	return largest_bytes;
}
