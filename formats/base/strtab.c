#include "formats/base/strtab.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/checksum.h"
#include "formats/base/xalloc.h"

#define FIRST_SLOTS 256u

/* The slot of these bytes, or the free slot for them. */
static struct ws_strtab_entry *slot_of(const struct ws_strtab *t, uint64_t hash, const void *bytes,
                                       size_t len)
{
	size_t mask = t->nslots - 1;

	for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
		struct ws_strtab_entry *e = &t->slots[i];

		if (!e->id)
			return e;
		if (e->hash == hash && e->len == len && (!len || !memcmp(e->bytes, bytes, len)))
			return e;
	}
}

/* Keep at least a third of the slots free. */
static void make_room(struct ws_strtab *t)
{
	size_t nslots = t->nslots ? t->nslots * 2 : FIRST_SLOTS;
	struct ws_strtab old = *t;

	if (t->used + 1 <= t->nslots / 3 * 2)
		return;
	t->slots = ws_xarray(nslots, sizeof(*t->slots));
	t->nslots = nslots;
	for (size_t i = 0; i < old.nslots; i++) {
		const struct ws_strtab_entry *e = &old.slots[i];

		if (e->id)
			*slot_of(t, e->hash, e->bytes, e->len) = *e;
	}
	free(old.slots);
}

uint64_t ws_strtab_find(const struct ws_strtab *t, const void *bytes, size_t len)
{
	if (!t->nslots)
		return 0;
	return slot_of(t, ws_checksum(bytes, len), bytes, len)->id;
}

/* Add bytes with this id, if they are not in the table. */
static const struct ws_strtab_entry *put(struct ws_strtab *t, const void *bytes, size_t len,
                                         uint64_t id)
{
	uint64_t hash = ws_checksum(bytes, len);
	struct ws_strtab_entry *e;

	make_room(t);
	e = slot_of(t, hash, bytes, len);
	if (e->id)
		return e;
	*e = (struct ws_strtab_entry){hash, id, ws_arena_copy(&t->arena, bytes, len), len};
	t->used++;
	t->next_id = id >= t->next_id ? id + 1 : t->next_id;
	return e;
}

enum ws_status ws_strtab_load(struct ws_strtab *t, const void *bytes, size_t len, uint64_t id,
                              struct ws_err *err)
{
	WS_FAIL_IF(id == 0 || id == UINT64_MAX, err, CORRUPT, "%llu is not the id of a text",
	           (unsigned long long)id);
	put(t, bytes, len, id);
	if (id >= t->next_id)
		t->next_id = id + 1;
	return WS_OK;
}

const struct ws_strtab_entry *ws_strtab_put(struct ws_strtab *t, const void *bytes, size_t len)
{
	return put(t, bytes, len, t->next_id ? t->next_id : 1);
}

uint64_t ws_strtab_add(struct ws_strtab *t, const void *bytes, size_t len)
{
	return ws_strtab_put(t, bytes, len)->id;
}

void ws_strtab_free(struct ws_strtab *t)
{
	ws_arena_free(&t->arena);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}
