#include "formats/base/bytes.h"
#include "formats/base/memory.h"

#define FIRST_SLOTS 64

/* splitmix64's mixer: neighbouring ids must not share slots. Source: S. Vigna, public domain. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* The slot of the key, or the free slot for it. */
static struct ws_map_entry *slot_of(struct ws_map_entry *slots, size_t nslots, uint64_t key)
{
	size_t i = mix(key) & (nslots - 1);

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

const uint64_t *ws_map_get(const struct ws_map *m, uint64_t key)
{
	if (!key)
		return m->has_zero ? &m->zero : NULL;
	if (!m->nslots)
		return NULL;
	const struct ws_map_entry *slot = slot_of(m->slots, m->nslots, key);
	return slot->key ? &slot->value : NULL;
}

void ws_map_put(struct ws_map *m, uint64_t key, uint64_t value)
{
	if (!key) {
		m->n += !m->has_zero;
		m->has_zero = true;
		m->zero = value;
		return;
	}
	/* room for one more key: at most three quarters full, so that probes stay short */
	if ((m->n + 1) * 4 > m->nslots * 3) {
		size_t nslots = m->nslots ? m->nslots * 2 : FIRST_SLOTS;
		struct ws_map_entry *slots = ws_xarray(nslots, sizeof(*slots));

		for (size_t i = 0; i < m->nslots; i++)
			if (m->slots[i].key)
				*slot_of(slots, nslots, m->slots[i].key) = m->slots[i];
		free(m->slots);
		m->slots = slots;
		m->nslots = nslots;
	}
	struct ws_map_entry *slot = slot_of(m->slots, m->nslots, key);
	m->n += !slot->key;
	*slot = (struct ws_map_entry){key, value};
}

void ws_map_add(struct ws_map *m, uint64_t key, uint64_t value)
{
	if (!ws_map_get(m, key))
		ws_map_put(m, key, value);
}

void ws_map_free(struct ws_map *m)
{
	free(m->slots);
	*m = (struct ws_map){0};
}

/* --- strtab --- */

#define FIRST_TEXT_SLOTS 256u

/* The slot of these bytes, or the free slot for them. */
static struct ws_strtab_entry *slot_of_text(const struct ws_strtab *t, uint64_t hash,
                                            const void *bytes, size_t len)
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

uint64_t ws_strtab_find(const struct ws_strtab *t, const void *bytes, size_t len)
{
	if (!t->nslots)
		return 0;
	return slot_of_text(t, ws_checksum(bytes, len), bytes, len)->id;
}

/* Add bytes with this id, if they are not in the table. */
static const struct ws_strtab_entry *put_entry(struct ws_strtab *t, const void *bytes, size_t len,
                                               uint64_t id)
{
	uint64_t hash = ws_checksum(bytes, len);

	/* keep at least a third of the slots free */
	if (t->used + 1 > t->nslots / 3 * 2) {
		struct ws_strtab old = *t;

		t->nslots = old.nslots ? old.nslots * 2 : FIRST_TEXT_SLOTS;
		t->slots = ws_xarray(t->nslots, sizeof(*t->slots));
		for (size_t i = 0; i < old.nslots; i++)
			if (old.slots[i].id)
				*slot_of_text(t, old.slots[i].hash, old.slots[i].bytes,
				              old.slots[i].len) = old.slots[i];
		free(old.slots);
	}
	struct ws_strtab_entry *e = slot_of_text(t, hash, bytes, len);
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
	put_entry(t, bytes, len, id);
	if (id >= t->next_id)
		t->next_id = id + 1;
	return WS_OK;
}

const struct ws_strtab_entry *ws_strtab_put(struct ws_strtab *t, const void *bytes, size_t len)
{
	return put_entry(t, bytes, len, t->next_id ? t->next_id : 1);
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
