#include "report/pass/launches.h"
#include "formats/base/grow.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct ws_launch_waiting) == 32, "two of them are a line of the cache");

#define PAGE_BYTES ((size_t)1 << (WS_LAUNCH_PAGE_BITS - 2)) /* two bits an id */

/* --- ids --------------------------------------------------------------------------------- */

static enum ws_status add_page(struct ws_launch_ids *ids, uint64_t key, struct ws_err *err)
{
	uint8_t *page;

	WS_FAIL_IF(ids->npages == WS_LAUNCH_MAX_PAGES && !ids->is_dense, err, NO_MEMORY,
	           "correlation ids are scattered over more than %u pages", WS_LAUNCH_MAX_PAGES);
	WS_FORWARD(WS_GROW(ids->pages, ids->npages + 1, ids->capacity, err));
	page = calloc(PAGE_BYTES, 1);
	if (!page)
		return WS_FAIL_MEMORY(err, "joining launches");
	ids->pages[ids->npages] = page;
	ids->last_key = key;
	ids->last_page = page;
	return ws_idmap_put(&ids->page_of, key, (uint32_t)ids->npages++, err);
}

enum ws_status ws_launch_ids_turn(struct ws_launch_ids *ids, uint64_t key, bool add,
                                  struct ws_err *err)
{
	uint32_t at = ws_idmap_get(&ids->page_of, key);

	ids->last_key = key;
	ids->last_page = at == WS_NONE ? NULL : ids->pages[at];
	return ids->last_page || !add ? WS_OK : add_page(ids, key, err);
}

void ws_launch_ids_free(struct ws_launch_ids *ids)
{
	for (size_t i = 0; i < ids->npages; i++)
		free(ids->pages[i]);
	free(ids->pages);
	ws_idmap_free(&ids->page_of);
	*ids = (struct ws_launch_ids){0};
}

/* --- waiting calls ----------------------------------------------------------------------- */

/* The same in a table of 2^slot_bits slots. */
static enum ws_status move(struct ws_launches_waiting *w, unsigned slot_bits, bool is_scattered,
                           struct ws_err *err)
{
	struct ws_launches_waiting to = {.nslots = (size_t)1 << slot_bits,
	                                 .slot_bits = slot_bits,
	                                 .is_scattered = is_scattered};
	enum ws_status status = WS_OK;

	to.slots = aligned_alloc(64, to.nslots * sizeof(*to.slots));
	if (!to.slots)
		return WS_FAIL_MEMORY(err, "joining launches");
	memset(to.slots, 0, to.nslots * sizeof(*to.slots));
	for (size_t i = 0; i < w->nslots && status == WS_OK; i++) {
		const struct ws_launch_waiting *was = &w->slots[i];
		struct ws_launch_waiting *slot;

		if (!was->used)
			continue;
		status = ws_launches_put(&to, was->process, was->correlation, &slot, err);
		if (status == WS_OK)
			*slot = *was;
	}
	if (status != WS_OK) {
		free(to.slots);
		return status;
	}
	free(w->slots);
	*w = to;
	return WS_OK;
}

enum ws_status ws_launches_grow(struct ws_launches_waiting *w, struct ws_err *err)
{
	return move(w, w->slots ? w->slot_bits + 1 : 8, w->is_scattered, err);
}

enum ws_status ws_launches_scatter(struct ws_launches_waiting *w, struct ws_err *err)
{
	return move(w, w->slot_bits, true, err);
}

/* What stands behind moves up, so that no search stops at the hole. */
void ws_launches_close_hole(struct ws_launches_waiting *w, struct ws_launch_waiting *slot)
{
	size_t mask = w->nslots - 1, hole = (size_t)(slot - w->slots), at = hole;

	for (;;) {
		size_t home;

		at = (at + 1) & mask;
		if (!w->slots[at].used)
			break;
		home = ws_launches_home(w, w->slots[at].process, w->slots[at].correlation);
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		w->slots[hole] = w->slots[at];
		hole = at;
	}
	w->slots[hole].used = 0;
}

void ws_launches_free(struct ws_launches_waiting *w)
{
	free(w->slots);
	*w = (struct ws_launches_waiting){0};
}
