/* Have the passes so far seen everything that is in the segment now? */
#pragma once

#include "recorder/drain/private.h"
#include "recorder/shared/segment.h"

static inline int drain_has_all(const struct ws_drain *d)
{
	const uint64_t defs = atomic_load(&d->seg->defs_head), size = d->seg->defs_size;

	for (uint32_t i = 0; i < d->seg->thread_buffer_count; i++)
		if (ws_ring_head(&ws_seg_thread_buffer(d->seg, i)->ring) != d->tails[i])
			return 0;
	for (uint32_t i = 0; i < d->seg->activity.count; i++) {
		uint64_t done = atomic_load(&ws_seg_slot(d->seg, i)->done);

		if (done && done != d->slots_read[i])
			return 0;
	}
	return d->defs_pos == (defs < size ? defs : size);
}
