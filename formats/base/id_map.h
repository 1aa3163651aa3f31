/*
 * 64-bit keys to 64-bit values, for ids that a foreign file chose.
 */
#ifndef WS_FORMATS_BASE_ID_MAP_H
#define WS_FORMATS_BASE_ID_MAP_H

#include "formats/base/status.h"
#include "formats/base/strtab.h"

/* All zero is an empty map. Free with ws_id_map_free. */
struct ws_id_map {
	struct ws_strtab keys;
	uint64_t *values; /* of the key with id i + 1 */
	size_t n, cap;
};

/* NULL when the key is not in the map; borrowed until the next put. */
const uint64_t *ws_id_map_get(const struct ws_id_map *m, uint64_t key);
/* The first value of a key stays. */
enum ws_status ws_id_map_put(struct ws_id_map *m, uint64_t key, uint64_t value, struct ws_err *err);
/* The last value of a key stays. */
enum ws_status ws_id_map_set(struct ws_id_map *m, uint64_t key, uint64_t value, struct ws_err *err);
void ws_id_map_free(struct ws_id_map *m); /* empties it */

#endif
