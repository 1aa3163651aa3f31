#include "formats/base/strtab.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/checksum.h"

#define FIRST_SLOTS 256u

/* The slot that holds these bytes, or the free one where they would go. */
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
static enum ws_status make_room(struct ws_strtab *t, struct ws_err *err)
{
	size_t nslots = t->nslots ? t->nslots * 2 : FIRST_SLOTS;
	struct ws_strtab old = *t;

	if (t->used + 1 <= t->nslots / 3 * 2)
		return WS_OK;
	t->slots = calloc(nslots, sizeof(*t->slots));
	if (!t->slots) {
		t->slots = old.slots;
		return WS_FAIL_MEMORY(err, "%zu interned texts", nslots);
	}
	t->nslots = nslots;
	for (size_t i = 0; i < old.nslots; i++) {
		const struct ws_strtab_entry *e = &old.slots[i];

		if (e->id)
			*slot_of(t, e->hash, e->bytes, e->len) = *e;
	}
	free(old.slots);
	return WS_OK;
}

uint64_t ws_strtab_find(const struct ws_strtab *t, const void *bytes, size_t len)
{
	if (!t->nslots)
		return 0;
	return slot_of(t, ws_checksum(bytes, len), bytes, len)->id;
}

/* Bytes that are not in the table get this id. */
static enum ws_status put(struct ws_strtab *t, const void *bytes, size_t len, uint64_t id,
                          const struct ws_strtab_entry **out, struct ws_err *err)
{
	uint64_t hash = ws_checksum(bytes, len);
	struct ws_strtab_entry *e;
	const void *copy;

	WS_FORWARD(make_room(t, err));
	*out = e = slot_of(t, hash, bytes, len);
	if (e->id)
		return WS_OK;
	copy = ws_arena_copy(&t->arena, bytes, len);
	WS_FAIL_IF(!copy, err, NO_MEMORY, "out of memory for a text of %zu bytes", len);
	*e = (struct ws_strtab_entry){hash, id, copy, len};
	t->used++;
	t->next_id = id >= t->next_id ? id + 1 : t->next_id;
	return WS_OK;
}

enum ws_status ws_strtab_load(struct ws_strtab *t, const void *bytes, size_t len, uint64_t id,
                              struct ws_err *err)
{
	const struct ws_strtab_entry *e;

	WS_FAIL_IF(id == 0 || id == UINT64_MAX, err, CORRUPT, "%llu is not the id of a text",
	           (unsigned long long)id);
	WS_FORWARD(put(t, bytes, len, id, &e, err));
	if (id >= t->next_id)
		t->next_id = id + 1;
	return WS_OK;
}

enum ws_status ws_strtab_put(struct ws_strtab *t, const void *bytes, size_t len,
                             const struct ws_strtab_entry **out, struct ws_err *err)
{
	return put(t, bytes, len, t->next_id ? t->next_id : 1, out, err);
}

enum ws_status ws_strtab_add(struct ws_strtab *t, const void *bytes, size_t len, uint64_t *id,
                             struct ws_err *err)
{
	const struct ws_strtab_entry *e;

	WS_FORWARD(ws_strtab_put(t, bytes, len, &e, err));
	*id = e->id;
	return WS_OK;
}

void ws_strtab_free(struct ws_strtab *t)
{
	ws_arena_free(&t->arena);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}
