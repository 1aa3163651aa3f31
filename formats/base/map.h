/* A hash map from 64-bit keys to 64-bit values, such as ids in files to indices of our arrays. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_map_entry {
	uint64_t key, value;
};

/* All zero is an empty map. Free with ws_map_free. */
struct ws_map {
	struct ws_map_entry *slots; /* open addressing; key 0 = free */
	size_t nslots;              /* a power of two, or 0 */
	size_t n;                   /* keys in the map */
	bool has_zero;              /* key 0 has no slot */
	uint64_t zero;              /* its value */
};

/* NULL if the key is not in the map; borrowed until the map changes. */
const uint64_t *ws_map_get(const struct ws_map *m, uint64_t key);
/* Add a key; if it is in the map already, its value stays. */
void ws_map_add(struct ws_map *m, uint64_t key, uint64_t value);
/* Set the value of a key. */
void ws_map_put(struct ws_map *m, uint64_t key, uint64_t value);
void ws_map_free(struct ws_map *m); /* empties it */
