#include "report/model/paths.h"

#include <stdlib.h>

#include "formats/base/grow.h"

static enum ws_status reserve(struct ws_path_table *t, struct ws_err *err)
{
	size_t capacity = t->capacity;

	WS_FORWARD(WS_GROW(t->next, t->npaths + 1, capacity, err));
	return WS_GROW(t->paths, t->npaths + 1, t->capacity, err);
}

enum ws_status ws_path_intern(struct ws_path_table *t, const struct ws_path *path, uint32_t *out,
                              struct ws_err *err)
{
	/* WS_NONE + 1 wraps to 0: no parent */
	uint64_t key = (uint64_t)(uint32_t)(path->parent + 1) << 32 | path->name;
	uint32_t first = ws_idmap_get(&t->first, key), at;

	for (at = first; at != WS_NONE; at = t->next[at])
		if (t->paths[at].domain == path->domain && t->paths[at].style == path->style)
			break;
	if (at == WS_NONE) {
		WS_FORWARD(reserve(t, err));
		at = (uint32_t)t->npaths++;
		t->paths[at] = *path;
		t->next[at] = first;
		WS_FORWARD(ws_idmap_put(&t->first, key, at, err));
	}
	if (path->first_ns < t->paths[at].first_ns)
		t->paths[at].first_ns = path->first_ns;
	*out = at;
	return WS_OK;
}

void ws_path_table_give(struct ws_path_table *t, struct ws_path **paths, size_t *npaths)
{
	*paths = t->paths;
	*npaths = t->npaths;
	t->paths = NULL;
	ws_path_table_free(t);
}

void ws_path_table_free(struct ws_path_table *t)
{
	free(t->paths);
	free(t->next);
	ws_idmap_free(&t->first);
	*t = (struct ws_path_table){0};
}
