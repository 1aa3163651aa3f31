#include "formats/base/idset.h"

#include <stdlib.h>
#include <string.h>

/* The slot that holds id, or the free one where it would go. */
static uint64_t *slot_of(uint64_t *slots, size_t nslots, uint64_t id)
{
	/* the top bits of a product with 2^64 over the golden ratio are well mixed */
	size_t i = (size_t)((id * 0x9e3779b97f4a7c15u) >> 32) & (nslots - 1);

	while (slots[i] && slots[i] != id)
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static enum ws_status make_room(struct ws_idset *set, struct ws_err *err)
{
	size_t nslots = set->nslots ? set->nslots * 2 : 64;
	uint64_t *slots;

	if (set->used < set->nslots / 2)
		return WS_OK;
	slots = calloc(nslots, sizeof(*slots));
	WS_FAIL_IF(!slots, err, NO_MEMORY, "out of memory for a set of %zu ids", nslots);
	for (size_t i = 0; i < set->nslots; i++)
		if (set->slots[i])
			*slot_of(slots, nslots, set->slots[i]) = set->slots[i];
	free(set->slots);
	set->slots = slots;
	set->nslots = nslots;
	return WS_OK;
}

enum ws_status ws_idset_add(struct ws_idset *set, uint64_t id, struct ws_err *err)
{
	uint64_t *slot;

	if (id > set->highest)
		set->highest = id;
	if (id == 0) {
		set->has_zero = 1;
		return WS_OK;
	}
	if (id == set->dense + 1) {
		set->dense = id;
		return WS_OK;
	}
	if (id <= set->dense)
		return WS_OK;
	WS_FORWARD(make_room(set, err));
	slot = slot_of(set->slots, set->nslots, id);
	set->used += !*slot;
	*slot = id;
	return WS_OK;
}

int ws_idset_has(const struct ws_idset *set, uint64_t id)
{
	if (id == 0)
		return set->has_zero;
	if (id <= set->dense)
		return 1;
	return set->nslots && *slot_of(set->slots, set->nslots, id) == id;
}

void ws_idset_free(struct ws_idset *set)
{
	free(set->slots);
	memset(set, 0, sizeof(*set));
}
