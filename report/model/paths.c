#include "report/model/paths.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/base/names.h"

uint32_t ws_path_intern(struct ws_path_table *t, const struct ws_path *path)
{
	/* WS_NONE + 1 wraps to 0: no parent */
	uint64_t key = (uint64_t)(uint32_t)(path->parent + 1) << 32 | path->name;
	uint32_t first = ws_idmap_get(&t->first, key), at;

	for (at = first; at != WS_NONE; at = t->next[at])
		if (t->paths[at].domain == path->domain && t->paths[at].style == path->style)
			break;
	if (at == WS_NONE) {
		size_t capacity = t->capacity;

		WS_GROW(t->next, t->npaths + 1, capacity);
		WS_GROW(t->paths, t->npaths + 1, t->capacity);
		at = (uint32_t)t->npaths++;
		t->paths[at] = *path;
		t->next[at] = first;
		ws_idmap_put(&t->first, key, at);
	}
	if (path->first_ns < t->paths[at].first_ns)
		t->paths[at].first_ns = path->first_ns;
	return at;
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

/* --- paths as people read them ------------------------------------------------ */

struct path_context {
	const struct ws_path *paths;
	const struct ws_bytes *texts;
};

static int compare_paths(const void *pa, const void *pb, void *arg)
{
	const struct path_context *ctx = arg;
	const struct ws_path *a = &ctx->paths[*(const uint32_t *)pa];
	const struct ws_path *b = &ctx->paths[*(const uint32_t *)pb];
	int c;

	WS_ORDER_BY(a->first_ns, b->first_ns);
	c = ws_name_compare(ctx->texts[a->name], ctx->texts[b->name]);
	if (!c)
		c = ws_name_compare(ctx->texts[a->domain], ctx->texts[b->domain]);
	return c ? c : a->style - b->style;
}

void ws_paths_order(const struct ws_ranges *r, const struct ws_bytes *texts, uint32_t *order)
{
	struct path_context ctx = {r->paths, texts};
	size_t n = r->npaths, at = 0, height = 0;
	uint32_t *child, *sibling, *stack;
	uint32_t *all = ws_xarray(4 * n + 1, sizeof(*all));

	child = all; /* of path p at p + 1; of no parent at 0 */
	sibling = child + n + 1;
	stack = sibling + n;
	memset(child, 0xff, (n + 1) * sizeof(*child));

	/* the last in order is put in front first, so each list of children ends up sorted */
	ws_order_identity(stack, n);
	if (n)
		qsort_r(stack, n, sizeof(*stack), compare_paths, &ctx);
	for (size_t i = n; i-- > 0;) {
		uint32_t p = stack[i];
		uint32_t *head = &child[(uint32_t)(r->paths[p].parent + 1)];

		sibling[p] = *head;
		*head = p;
	}

	if (child[0] != WS_NONE)
		stack[height++] = child[0];
	while (height) {
		uint32_t p = stack[--height];

		order[at++] = p;
		if (sibling[p] != WS_NONE)
			stack[height++] = sibling[p];
		if (child[p + 1] != WS_NONE)
			stack[height++] = child[p + 1];
	}
	free(all);
}

void ws_path_text(const struct ws_ranges *r, uint32_t path, const struct ws_bytes *texts,
                  char **out, size_t *len)
{
	size_t n = 1;
	char *text, *to;

	for (uint32_t p = path; p != WS_NONE; p = r->paths[p].parent) {
		struct ws_bytes name = texts[r->paths[p].name];

		n += name.len + (r->paths[p].parent != WS_NONE);
		for (size_t i = 0; i < name.len; i++)
			n += ((const char *)name.ptr)[i] == '/';
	}
	text = ws_xmalloc(n);
	/* from the end backwards: the innermost name comes first along the parents */
	to = text + n;
	*--to = '\0';
	for (uint32_t p = path; p != WS_NONE; p = r->paths[p].parent) {
		const char *name = texts[r->paths[p].name].ptr;

		for (size_t i = texts[r->paths[p].name].len; i-- > 0;) {
			*--to = name[i];
			if (name[i] == '/')
				*--to = '\\';
		}
		if (r->paths[p].parent != WS_NONE)
			*--to = '/';
	}
	*out = text;
	*len = n - 1;
}
