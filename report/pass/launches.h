/*
 * The join of kernels to the calls that launched them, by process and
 * correlation id, for streams of both.
 *
 * A first look at the ids of kernels tells which calls launch one at all: two
 * bits an id that is in use, and two when its call comes. After that, what waits
 * is what is in flight: calls whose kernel has not come yet.
 */
#pragma once

#include <stdbool.h>

#include "report/base/order.h"

enum ws_launch_use {
	WS_LAUNCH_ONCE = 1u << 0,
	WS_LAUNCH_AGAIN = 1u << 1, /* for a second one */
};

/* Which ids are used. Starts as all zeros; free with ws_launch_ids_free. */
struct ws_launch_ids {
	struct ws_idmap page_of; /* process and upper part of the id -> page */
	uint8_t **pages;
	size_t npages, capacity;
	bool is_dense;     /* they count up, however many there are */
	uint64_t last_key; /* ids come in runs */
	uint8_t *last_page;
};

/* Ids far apart need a page each; more pages than this are no ordinary trace. */
#define WS_LAUNCH_MAX_PAGES 4096u

/* Ids of a page. */
#define WS_LAUNCH_PAGE_BITS 16

/* The page of ids with this key is not the last one: look for it, and add it where asked to; NULL =
 * it is not there. NO_MEMORY also past WS_LAUNCH_MAX_PAGES, unless they are dense. */
enum ws_status ws_launch_ids_turn(struct ws_launch_ids *ids, uint64_t key, bool add,
                                  struct ws_err *err);

static inline uint64_t ws_launch_page_key(uint32_t process, uint64_t correlation)
{
	return (uint64_t)process << (64 - WS_LAUNCH_PAGE_BITS) | correlation >> WS_LAUNCH_PAGE_BITS;
}

/* Note a use. process < 2^16. ONCE is for one, and AGAIN for any other. */
static inline enum ws_status ws_launch_ids_note(struct ws_launch_ids *ids, uint32_t process,
                                                uint64_t correlation, enum ws_launch_use use,
                                                struct ws_err *err)
{
	uint64_t key = ws_launch_page_key(process, correlation);
	unsigned shift = 2 * (correlation & 3);
	uint8_t *byte;

	if (!ids->last_page || ids->last_key != key)
		WS_FORWARD(ws_launch_ids_turn(ids, key, true, err));
	byte = &ids->last_page[(correlation & ((1u << WS_LAUNCH_PAGE_BITS) - 1)) >> 2];
	/* a second ONCE is AGAIN */
	*byte |= (uint8_t)(((unsigned)use << (*byte >> shift & use & WS_LAUNCH_ONCE)) << shift);
	return WS_OK;
}

/* What was noted: bits of enum ws_launch_use. */
static inline unsigned ws_launch_ids_get(struct ws_launch_ids *ids, uint32_t process,
                                         uint64_t correlation)
{
	uint64_t key = ws_launch_page_key(process, correlation);

	if ((!ids->last_page || ids->last_key != key) &&
	    ws_launch_ids_turn(ids, key, false, NULL) != WS_OK)
		return 0;
	if (!ids->last_page)
		return 0;
	return ids->last_page[(correlation & ((1u << WS_LAUNCH_PAGE_BITS) - 1)) >> 2] >>
	               2 * (correlation & 3) &
	       3;
}
void ws_launch_ids_free(struct ws_launch_ids *ids);

/* Calls that wait for their kernel. Starts as all zeros; free with ws_launches_free. */
struct ws_launches_waiting {
	struct ws_launch_waiting {
		uint64_t correlation;
		uint32_t range;      /* innermost range around the call, WS_NONE = in none */
		uint32_t step;       /* number of the step that the call is in, WS_NONE */
		uint32_t step_range; /* of that step where the call is in it by time, WS_NONE */
		uint32_t call;       /* what a sink of rows made of it */
		uint16_t process;
		uint8_t used;
		uint8_t stays; /* for more than one kernel */
		uint8_t scope; /* enum ws_scope */
	} * slots;             /* each in one line of the cache */
	size_t nslots, n;      /* nslots: 2^slot_bits, or 0 */
	unsigned slot_bits;
	bool is_scattered; /* two ids met in one slot: from then on they are hashed */
};
/* A table with more slots, or one that is scattered. */
enum ws_status ws_launches_grow(struct ws_launches_waiting *w, struct ws_err *err);
enum ws_status ws_launches_scatter(struct ws_launches_waiting *w, struct ws_err *err);
void ws_launches_close_hole(struct ws_launches_waiting *w, struct ws_launch_waiting *slot);

/* Ids count up: those in flight mostly have a slot each by their last bits, side by side. Else
 * Fibonacci hashing spreads them evenly. Source: Knuth, TAOCP 3, 6.4. */
static inline size_t ws_launches_home(const struct ws_launches_waiting *w, uint32_t process,
                                      uint64_t correlation)
{
	uint64_t h = (correlation + ((uint64_t)process << 40)) * 0x9e3779b97f4a7c15u;

	return w->is_scattered ? (size_t)(h >> (64 - w->slot_bits))
	                       : (size_t)correlation & (w->nslots - 1);
}

/* A slot for a call, of which the rest is not written yet. */
static inline enum ws_status ws_launches_put(struct ws_launches_waiting *w, uint32_t process,
                                             uint64_t correlation, struct ws_launch_waiting **slot,
                                             struct ws_err *err)
{
	size_t at;

	if (w->n * 2 >= w->nslots)
		WS_FORWARD(ws_launches_grow(w, err));
	at = ws_launches_home(w, process, correlation);
	if (w->slots[at].used && !w->is_scattered) {
		WS_FORWARD(ws_launches_scatter(w, err));
		at = ws_launches_home(w, process, correlation);
	}
	while (w->slots[at].used)
		at = (at + 1) & (w->nslots - 1);
	*slot = &w->slots[at];
	(*slot)->correlation = correlation;
	(*slot)->process = (uint16_t)process;
	(*slot)->used = 1;
	w->n++;
	return WS_OK;
}

/* The slot of this id will be asked for soon. */
static inline void ws_launches_ahead(const struct ws_launches_waiting *w, uint64_t correlation)
{
	if (w->nslots)
		__builtin_prefetch(&w->slots[ws_launches_home(w, 0, correlation)]);
}

/* The call's slot, NULL = it has not come. Valid until the next put or take. */
static inline struct ws_launch_waiting *ws_launches_find(const struct ws_launches_waiting *w,
                                                         uint32_t process, uint64_t correlation)
{
	size_t at;

	if (!w->nslots)
		return NULL;
	at = ws_launches_home(w, process, correlation);
	for (; w->slots[at].used; at = (at + 1) & (w->nslots - 1))
		if (w->slots[at].correlation == correlation && w->slots[at].process == process)
			return &w->slots[at];
		else if (!w->is_scattered)
			break;
	return NULL;
}

static inline void ws_launches_take(struct ws_launches_waiting *w, struct ws_launch_waiting *slot)
{
	size_t next = ((size_t)(slot - w->slots) + 1) & (w->nslots - 1);

	w->n--;
	slot->used = 0;
	/* before that each has its own slot */
	if (w->is_scattered && w->slots[next].used)
		ws_launches_close_hole(w, slot);
}
void ws_launches_free(struct ws_launches_waiting *w);
