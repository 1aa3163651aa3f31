/* Slots of CUPTI's buffers, in the order in which they were done, record by record. */
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "recorder/drain/activity.h"
#include "recorder/shared/segment_slots.h"

/* --- slots --- */

static uint64_t read_records(struct ws_drain *d, const struct ws_activity_slot *slot,
                             const uint8_t *buffer, size_t valid)
{
	struct ws_activity *a = d->activity;
	size_t at = 0, size;
	uint64_t n = 0;

	for (; (size = ws_cupti_record_size(&a->steps, buffer, valid, at)); at += size, n++) {
		switch (ws_activity_record(d, slot, buffer + at, size)) {
		case WS_ACTIVITY_ROW:
			break;
		case WS_ACTIVITY_UNKNOWN:
			d->counted[WS_DROPPED_activity_unknown]++;
			break;
		case WS_ACTIVITY_DAMAGED:
			/* of an unfinished slot too: others of its thread may be whole behind it */
			d->counted[WS_DROPPED_activity_damaged]++;
			break;
		}
	}
	/* a buffer that CUPTI still had in hand ends in zeros, which are no record either */
	if (at != valid && !slot->unfinished)
		d->counted[WS_DROPPED_activity_damaged]++;
	return n;
}

static uint64_t read_buffer(struct ws_drain *d, const struct ws_slot *s, int unfinished,
                            const uint8_t *buffer, uint64_t valid)
{
	const uint32_t image = s->image;
	struct ws_activity_slot slot = {
	        .image = image,
	        .unfinished = unfinished,
	        .taken_ns = s->taken_ns,
	        .done_ns = s->done_ns,
	};

	/* how many records it holds nobody can tell */
	if (!ws_cupti_steps_take(&d->activity->steps, &d->seg->gpu, image)) {
		d->counted[WS_DROPPED_activity_unknown]++;
		return 1;
	}
	ws_activity_note_runtime_calls(d->activity, buffer, valid);
	return read_records(d, &slot, buffer, valid);
}

static uint64_t read_slot(struct ws_drain *d, uint32_t i)
{
	const struct ws_slot *s = ws_seg_slot(d->seg, i);

	return read_buffer(d, s, s->unfinished != 0, ws_slot_bytes(d->seg, i),
	                   ws_slot_valid(d->seg, i));
}

/* --- passes --- */

void ws_activity_look(struct ws_drain *d)
{
	for (uint32_t i = 0; i < d->seg->activity.count; i++)
		d->activity->looked[i] =
		        atomic_load_explicit(&ws_seg_slot(d->seg, i)->done, memory_order_acquire);
}

struct todo {
	uint64_t done;
	uint32_t slot;
};

static int by_number(const void *a, const void *b)
{
	const struct todo *x = a, *y = b;

	return x->done < y->done ? -1 : x->done > y->done;
}

uint64_t ws_activity_pass(struct ws_drain *d)
{
	struct todo todo[WS_SEG_MAX_SLOTS];
	size_t ntodo = 0;
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->seg->activity.count; i++)
		if (d->activity->looked[i] && d->activity->looked[i] != d->slots_read[i])
			todo[ntodo++] = (struct todo){d->activity->looked[i], i};
	qsort(todo, ntodo, sizeof(*todo), by_number);
	for (size_t k = 0; k < ntodo; k++) {
		n += read_slot(d, todo[k].slot);
		d->slots_read[todo[k].slot] = todo[k].done;
	}
	return n;
}

/*
 * CUPTI writes on meanwhile, so it is a copy that is read. A slot that it finished
 * while it was copied is read as one that is done.
 */
void ws_activity_pass_in_hand(struct ws_drain *d)
{
	const uint64_t stride = d->seg->activity.stride;
	uint8_t *copy = ws_xmalloc(stride);

	for (uint32_t i = 0; i < d->seg->activity.count; i++) {
		const struct ws_slot *s = ws_seg_slot(d->seg, i);

		if (!ws_slot_is_used(d->seg, i) ||
		    (d->slots_read[i] && atomic_load(&s->done) == d->slots_read[i]))
			continue;
		memcpy(copy, ws_slot_bytes(d->seg, i), stride);
		if (atomic_load_explicit(&s->done, memory_order_acquire))
			read_slot(d, i);
		else
			read_buffer(d, s, 1, copy, stride);
	}
	free(copy);
}
