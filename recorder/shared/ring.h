/*
 * A ring of bytes in shared memory: one producer, one consumer, whole
 * records. Positions count up for ever; a byte at position p lies at
 * p mod size. A record may wrap around the end, so both sides copy through
 * the functions below.
 *
 * The producer writes beyond `head` and then moves `head` (release), so the
 * consumer never sees half a record, whatever kills the producer. The
 * consumer moves `tail` when the bytes before it may be overwritten.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct ws_ring {
	_Alignas(64) _Atomic uint64_t head; /* written by the producer */
	uint64_t limit;                     /* where the producer must look at tail again */
	_Alignas(64) _Atomic uint64_t tail; /* written by the consumer */
};

/* --- producer --- */

/*
 * Position to write size bytes at, when size bytes and `keep` more are free;
 * else UINT64_MAX. ring_size is a power of two; of it the first `ready` bytes
 * may be written so far.
 */
static inline uint64_t ws_ring_claim(struct ws_ring *ring, uint32_t ring_size, uint32_t ready,
                                     uint64_t size, uint64_t keep)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head + size + keep > ring->limit) {
		ring->limit = ready;
		if (ready == ring_size)
			ring->limit += atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (head + size + keep > ring->limit)
			return UINT64_MAX;
	}
	return head;
}

/* Copy len bytes to position pos. Returns the position after them. */
static inline uint64_t ws_ring_put(uint8_t *bytes, uint32_t ring_size, uint64_t pos,
                                   const void *src, uint32_t len)
{
	uint32_t at = (uint32_t)(pos & (ring_size - 1));
	uint32_t first = ring_size - at;

	if (len <= first) {
		memcpy(bytes + at, src, len);
	} else {
		memcpy(bytes + at, src, first);
		memcpy(bytes, (const uint8_t *)src + first, len - first);
	}
	return pos + len;
}

/* Everything before pos is a whole record now. */
static inline void ws_ring_publish(struct ws_ring *ring, uint64_t pos)
{
	atomic_store_explicit(&ring->head, pos, memory_order_release);
}

/* --- consumer --- */

static inline uint64_t ws_ring_head(const struct ws_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_acquire);
}

/* Copy len bytes from position pos. */
static inline void ws_ring_get(const uint8_t *bytes, uint32_t ring_size, uint64_t pos, void *dst,
                               uint32_t len)
{
	uint32_t at = (uint32_t)(pos & (ring_size - 1));
	uint32_t first = ring_size - at;

	if (len <= first) {
		memcpy(dst, bytes + at, len);
	} else {
		memcpy(dst, bytes + at, first);
		memcpy((uint8_t *)dst + first, bytes, len - first);
	}
}

/* The producer may overwrite everything before pos. */
static inline void ws_ring_release(struct ws_ring *ring, uint64_t pos)
{
	atomic_store_explicit(&ring->tail, pos, memory_order_release);
}
