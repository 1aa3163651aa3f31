/*
 * An arena: places in one block of memory, by offset alone. It never touches the
 * memory, so the same arena plans a device's memory before there is any and hands
 * it out afterwards.
 *
 * Best fit, the lowest place among equals, the end of the block last; neighbours that are
 * free become one. The same requests in the same order always get the same places, in a
 * block of any size that suffices: so a plan holds, and a step that is run again finds its
 * tensors where they were, which recorded CUDA graphs need.
 */
#pragma once

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"

#define WS_DEVICE_ALIGN 256 /* of each place, as cudaMalloc() aligns */

struct ws_device_gap {
	uint64_t offset, size_bytes;
};

struct ws_device_arena {
	struct ws_device_gap *gaps; /* free, in the order of their offsets, never adjacent */
	size_t gap_count, gap_capacity;
	uint64_t size_bytes; /* of the block */
	uint64_t used_bytes; /* taken now, each place rounded up to the alignment */
	uint64_t peak_bytes; /* the most that were taken at once */
	uint64_t high_bytes; /* the end of the highest place so far: what the block must have */
};

/* size_bytes: of the block; UINT64_MAX for planning. */
void ws_device_arena_open(struct ws_device_arena *arena, uint64_t size_bytes);
void ws_device_arena_close(struct ws_device_arena *arena);
/* size_bytes > 0. NO_MEMORY when no gap is large enough; the arena is then as before. */
enum ws_status ws_device_arena_take(struct ws_device_arena *arena, uint64_t size_bytes,
                                    uint64_t *offset, struct ws_err *err);
/* The same size that the place was taken with. */
void ws_device_arena_give(struct ws_device_arena *arena, uint64_t offset, uint64_t size_bytes);
/* Largest size that ws_device_arena_take() would find a place for. */
uint64_t ws_device_arena_largest(const struct ws_device_arena *arena);
