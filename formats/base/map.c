#include "formats/base/map.h"

#include <stdlib.h>

#include "formats/base/xalloc.h"

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
	const struct ws_map_entry *slot;

	if (!key)
		return m->has_zero ? &m->zero : NULL;
	if (!m->nslots)
		return NULL;
	slot = slot_of(m->slots, m->nslots, key);
	return slot->key ? &slot->value : NULL;
}

/* Room for one more key: at most three quarters full, so that probes stay short. */
static void make_room(struct ws_map *m)
{
	size_t nslots = m->nslots ? m->nslots * 2 : FIRST_SLOTS;
	struct ws_map_entry *slots;

	if ((m->n + 1) * 4 <= m->nslots * 3)
		return;
	slots = ws_xarray(nslots, sizeof(*slots));
	for (size_t i = 0; i < m->nslots; i++)
		if (m->slots[i].key)
			*slot_of(slots, nslots, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->nslots = nslots;
}

void ws_map_put(struct ws_map *m, uint64_t key, uint64_t value)
{
	struct ws_map_entry *slot;

	if (!key) {
		m->n += !m->has_zero;
		m->has_zero = true;
		m->zero = value;
		return;
	}
	make_room(m);
	slot = slot_of(m->slots, m->nslots, key);
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
