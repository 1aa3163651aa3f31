#include "formats/base/id_map.h"

#include <stdlib.h>

const uint64_t *ws_id_map_get(const struct ws_id_map *m, uint64_t key)
{
	uint64_t id = ws_strtab_find(&m->keys, &key, sizeof(key));

	return id ? &m->values[id - 1] : NULL;
}

static enum ws_status add(struct ws_id_map *m, uint64_t key, uint64_t value, struct ws_err *err)
{
	uint64_t id;

	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 256;
		uint64_t *grown = reallocarray(m->values, cap, sizeof(*grown));

		WS_FAIL_IF(!grown, err, NO_MEMORY, "no memory for %zu ids", cap);
		m->values = grown;
		m->cap = cap;
	}
	WS_FORWARD(ws_strtab_add(&m->keys, &key, sizeof(key), &id, err));
	m->values[m->n++] = value;
	return WS_OK;
}

enum ws_status ws_id_map_put(struct ws_id_map *m, uint64_t key, uint64_t value, struct ws_err *err)
{
	return ws_id_map_get(m, key) ? WS_OK : add(m, key, value, err);
}

enum ws_status ws_id_map_set(struct ws_id_map *m, uint64_t key, uint64_t value, struct ws_err *err)
{
	uint64_t id = ws_strtab_find(&m->keys, &key, sizeof(key));

	if (!id)
		return add(m, key, value, err);
	m->values[id - 1] = value;
	return WS_OK;
}

void ws_id_map_free(struct ws_id_map *m)
{
	ws_strtab_free(&m->keys);
	free(m->values);
	*m = (struct ws_id_map){0};
}
