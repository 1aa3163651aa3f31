/* What a comparison shows of both sides: the same parts of their models, and what their colours
 * say. */
#include "report/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/strtab.h"
#include "formats/base/xalloc.h"
#include "report/base/stat.h"

/* Parts are the same where their paths are. */
void ws_pages_match(struct ws_page *a, struct ws_page *b)
{
	struct ws_strtab paths = {0};
	size_t *of_path = ws_xarray(a->nnodes + 1, sizeof(*of_path)); /* from 1 */

	for (size_t i = 0; i < a->nnodes; i++)
		/* "(3 more)" are not the same things on both sides */
		if (!a->node[i].is_rest)
			of_path[ws_strtab_add(&paths, a->node[i].path, strlen(a->node[i].path))] =
			        i;
	for (size_t i = 0; i < b->nnodes; i++) {
		const char *path = b->node[i].path;
		const uint64_t id = ws_strtab_find(&paths, path, strlen(path));

		if (!id || b->node[i].is_rest || a->node[of_path[id]].counterpart != WS_PAGE_ROOT)
			continue;
		a->node[of_path[id]].counterpart = i;
		b->node[i].counterpart = of_path[id];
	}
	free(of_path);
	ws_strtab_free(&paths);
}

double ws_pages_ratio(const struct ws_page *of, const struct ws_page *other, size_t node, bool is_b)
{
	const struct ws_page_node *n = &of->node[node];
	double own, theirs;

	if (n->counterpart == WS_PAGE_ROOT)
		return NAN;
	own = (double)n->inclusive_ns / of->samples;
	theirs = (double)other->node[n->counterpart].inclusive_ns / other->samples;
	return is_b ? ws_stat_ratio(own, theirs) : ws_stat_ratio(theirs, own);
}

#define CHANGE_LEAST 1.03

enum ws_change_colour ws_change_colour(double ratio)
{
	return isnan(ratio)               ? WS_CHANGE_ALONE
	       : ratio > CHANGE_LEAST     ? WS_CHANGE_COSTS
	       : ratio < 1 / CHANGE_LEAST ? WS_CHANGE_SAVES
	                                  : WS_CHANGE_NONE;
}
