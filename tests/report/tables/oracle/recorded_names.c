/*
 * Ranges that are looked for by their names as recorded, one by one: up from each to the outermost.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "report/analysis/filter.h"
#include "tests/report/tables/oracle/compare.h"

/* Is a range named? The names of these tests have no '/' in them. */
static bool is_named(const struct ws_model *m, struct ws_joined_rows *rows, uint32_t range,
                     const char *pattern, bool recorded)
{
	const uint32_t path = ws_joined_rows_range(rows, range)->path;
	const struct ws_bytes domain = m->texts[m->ranges.paths[path].domain];
	char text[1024], *at = text + sizeof(text);

	while (range != WS_NONE) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, range);
		const struct ws_bytes name = m->texts[recorded ? r->recorded : r->name];

		cr_assert(gt(sz, (size_t)(at - text), name.len + 1));
		if (at < text + sizeof(text))
			*--at = '/';
		at -= name.len;
		memcpy(at, name.ptr, name.len);
		range = r->parent;
	}
	return ws_filter_matches((struct ws_bytes){pattern, strlen(pattern)},
	                         (struct ws_bytes){at, (size_t)(text + sizeof(text) - at)}, domain);
}

unsigned oracle_compare_recorded(const struct ws_trace_reader *r, const char *pattern,
                                 const char *where)
{
	struct ws_joined_rows rows = {0};
	struct ws_model *m;
	struct ws_err err;
	uint8_t *found, *inside;
	unsigned by_path = 0, named = 0;

	cr_assert(eq(int, ws_joined_rows_read(&rows, r, where, NULL, &m, &err), WS_OK), "%s: %s",
	          where, err.text);
	found = calloc(rows.nranges + 1, 1);
	inside = calloc(rows.nranges + 1, 1);
	for (uint32_t i = 0; i < rows.nranges; i++)
		by_path += is_named(m, &rows, i, pattern, false);
	for (uint32_t i = 0; i < rows.nranges; i++) {
		const uint32_t parent = ws_joined_rows_range(&rows, i)->parent;
		const bool is = is_named(m, &rows, i, pattern, !by_path);

		named += is;
		inside[i] = is || (parent != WS_NONE && inside[parent]);
	}
	cr_assert(eq(int, ws_filter_ranges(m, &rows, pattern, found, &err), WS_OK));
	for (uint32_t i = 0; i < rows.nranges; i++)
		cr_assert(eq(u8, found[i], inside[i]), "%s, %s: range %u", where, pattern, i);
	free(found);
	free(inside);
	ws_joined_rows_free(&rows);
	ws_model_free(m);
	return by_path ? 0 : named;
}
