/*
 * The pool of buffers that CUPTI fills. A slot that has memory is free (its bit
 * is set), in CUPTI's hands (bit clear, done 0) or done (done is its number). Taking one is
 * a few instructions without a lock, from any thread; the launcher reads what
 * is done and gives it back, zeroed, once its rows are committed.
 *
 * A launcher that is killed between clearing `done` and setting the bit leaves
 * the slot in nobody's hands: one buffer less until the program ends.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "recorder/shared/clock.h"
#include "recorder/shared/segment.h"

/*
 * In a record, instead of a pointer to text: id of the text in the definition
 * log; instead of the system's id of a thread: its id in the trace. The
 * collector puts them there while the pointers are alive. No address has the
 * first bit, no thread of Linux the second.
 */
#define WS_SLOT_TEXT_ID   (UINT64_C(1) << 63)
#define WS_SLOT_THREAD_ID (UINT32_C(1) << 31)

/* --- producer --- */

/* Get memory for one more slot, which nobody has then. -1: there are no more, or no room. */
static inline int ws_slot_grow(struct ws_seg_header *seg)
{
	for (uint32_t i = 0; i < seg->activity.count; i++) {
		_Atomic uint32_t *room = &ws_seg_slot(seg, i)->room;
		uint32_t none = WS_ROOM_NONE;
		int failed;

		if (!atomic_compare_exchange_strong(room, &none, WS_ROOM_COMING))
			continue;
		failed = ws_seg_populate(seg, ws_slot_bytes(seg, i), seg->activity.stride);
		atomic_store(&seg->slots_no_room, failed != 0);
		atomic_store(room, failed ? WS_ROOM_NONE : WS_ROOM_READY);
		return failed ? -1 : (int)i;
	}
	atomic_store(&seg->slots_no_room, 1);
	return -1;
}

/* A slot that is free, now the caller's, or -1. */
static inline int ws_slot_take_free(struct ws_seg_header *seg)
{
	for (uint32_t w = 0; w < WS_SEG_MAX_SLOTS / 64; w++) {
		uint64_t bits = atomic_load_explicit(&seg->slots_free[w], memory_order_relaxed);

		while (bits) {
			uint64_t lowest = bits & -bits;
			uint64_t before = atomic_fetch_and_explicit(&seg->slots_free[w], ~lowest,
			                                            memory_order_acquire);

			if (before & lowest)
				return (int)w * 64 + __builtin_ctzll(lowest);
			bits = before & ~lowest;
		}
	}
	return -1;
}

/*
 * A slot, now the caller's, or -1. When none is free one more is made, which
 * takes time, but not at each launch when there was no room for it.
 */
static inline int ws_slot_take(struct ws_seg_header *seg, uint32_t image)
{
	int i = ws_slot_take_free(seg);

	if (i < 0 && !atomic_load_explicit(&seg->slots_no_room, memory_order_relaxed))
		i = ws_slot_grow(seg);
	if (i < 0)
		return -1;
	ws_seg_slot(seg, (uint32_t)i)->image = image;
	ws_seg_slot(seg, (uint32_t)i)->taken_ns = ws_clock_ns(CLOCK_MONOTONIC);
	return i;
}

/* How many are free. */
static inline uint32_t ws_slots_free(const struct ws_seg_header *seg)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < WS_SEG_MAX_SLOTS / 64; w++)
		n += (uint32_t)__builtin_popcountll(
		        atomic_load_explicit(&seg->slots_free[w], memory_order_relaxed));
	return n;
}

/* Hand a slot of which nothing was used back. */
static inline void ws_slot_put_back(struct ws_seg_header *seg, uint32_t i)
{
	atomic_fetch_or_explicit(&seg->slots_free[i / 64], UINT64_C(1) << (i % 64),
	                         memory_order_release);
}

/* Its first `valid` bytes are records: the launcher's now. */
static inline void ws_slot_finish(struct ws_seg_header *seg, uint32_t i, uint64_t valid)
{
	struct ws_slot *slot = ws_seg_slot(seg, i);

	slot->valid = valid;
	slot->done_ns = ws_clock_ns(CLOCK_MONOTONIC);
	atomic_store_explicit(&slot->done, atomic_fetch_add(&seg->slots_done, 1) + 1,
	                      memory_order_release);
}

static inline int ws_slot_is_free(const struct ws_seg_header *seg, uint32_t i)
{
	return (int)(atomic_load(&seg->slots_free[i / 64]) >> (i % 64) & 1);
}

/* It is there, and CUPTI's or done. */
static inline bool ws_slot_is_used(const struct ws_seg_header *seg, uint32_t i)
{
	return atomic_load(&ws_seg_slot(seg, i)->room) == WS_ROOM_READY && !ws_slot_is_free(seg, i);
}

/*
 * What CUPTI had in hand when its process or image ended becomes done, as far
 * as it was written. Only when nobody can write into it any more.
 */
static inline void ws_slots_give_up(struct ws_seg_header *seg)
{
	for (uint32_t i = 0; i < seg->activity.count; i++) {
		struct ws_slot *slot = ws_seg_slot(seg, i);
		uint32_t coming = WS_ROOM_COMING;

		atomic_compare_exchange_strong(&slot->room, &coming, WS_ROOM_NONE);
		if (!ws_slot_is_used(seg, i) || atomic_load(&slot->done))
			continue;
		slot->unfinished = 1;
		ws_slot_finish(seg, i, seg->activity.stride);
	}
}

/* --- consumer --- */

/* Its bytes with records: read once, as the program can write there at any time. */
static inline uint64_t ws_slot_valid(const struct ws_seg_header *seg, uint32_t i)
{
	const uint64_t valid = *(const volatile uint64_t *)&ws_seg_slot(seg, i)->valid;

	return valid < seg->activity.stride ? valid : seg->activity.stride;
}

/* Its rows are in the file: zeroed, as CUPTI was promised, and free again. */
static inline void ws_slot_return(struct ws_seg_header *seg, uint32_t i)
{
	struct ws_slot *slot = ws_seg_slot(seg, i);
	const uint64_t used = ws_slot_valid(seg, i);

	memset(ws_slot_bytes(seg, i), 0, used);
	slot->valid = 0;
	slot->unfinished = 0;
	slot->done_ns = 0;
	atomic_store_explicit(&slot->done, 0, memory_order_relaxed);
	ws_slot_put_back(seg, i);
}
