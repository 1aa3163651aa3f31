/*
 * Which ranges a --nvtx pattern names.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/analysis/filter.h"
#include "report/base/names.h"

/* Whole path, or what follows a '/' that separates names ("\/" stands inside a name). */
static bool matches_path(struct ws_bytes pattern, struct ws_bytes path)
{
	const char *p = path.ptr;

	if (pattern.len && *(const char *)pattern.ptr == '/') {
		pattern.ptr = (const char *)pattern.ptr + 1;
		pattern.len--;
		return ws_name_matches(pattern, path);
	}
	if (ws_name_matches(pattern, path))
		return 1;
	for (size_t i = 0; i < path.len; i++) {
		struct ws_bytes rest = {p + i + 1, path.len - i - 1};

		if (p[i] == '/' && !(i && p[i - 1] == '\\') && ws_name_matches(pattern, rest))
			return 1;
	}
	return 0;
}

bool ws_filter_matches(struct ws_bytes pattern, struct ws_bytes path, struct ws_bytes domain)
{
	const char *p = pattern.ptr;
	const char *colon = pattern.len ? memchr(p, ':', pattern.len) : NULL;
	size_t before = colon ? (size_t)(colon - p) : 0;

	/* names may hold colons themselves ("aten::mm"), so both readings count */
	if (matches_path(pattern, path))
		return 1;
	return colon && ws_name_matches((struct ws_bytes){p, before}, domain) &&
	       matches_path((struct ws_bytes){colon + 1, pattern.len - before - 1}, path);
}

struct matcher {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	uint8_t *named; /* range -> the pattern names it */
	bool any;       /* some are named */
	struct ws_arena temp;
};

/* By path. */
static enum ws_status match_paths(struct matcher *c, struct ws_bytes pattern, struct ws_err *err)
{
	const struct ws_model *m = c->m;
	const struct ws_ranges *r = &m->ranges;
	uint8_t *path_named;

	WS_NEW(&c->temp, path_named, r->npaths);
	WS_FORWARD(ws_arena_check(&c->temp, "the paths of ranges", err));
	for (uint32_t p = 0; p < r->npaths; p++) {
		struct ws_bytes path;
		char *text;
		size_t len;

		WS_FORWARD(ws_path_text(r, p, m->texts, &text, &len, err));
		path = (struct ws_bytes){text, len};
		path_named[p] =
		        (uint8_t)ws_filter_matches(pattern, path, m->texts[r->paths[p].domain]);
		free(text);
	}
	for (uint32_t i = 0; i < c->rows->nranges; i++) {
		c->named[i] = path_named[ws_joined_rows_range(c->rows, i)->path];
		c->any |= c->named[i];
	}
	return WS_OK;
}

/* The path of a range by the names as recorded, appended to out. */
static enum ws_status put_recorded_path(const struct ws_model *m, uint32_t range,
                                        struct ws_buf *out, struct ws_err *err)
{
	uint32_t chain[WS_RANGE_MAX_DEPTH];
	size_t n = 0;

	for (; range != WS_NONE && n < WS_RANGE_MAX_DEPTH; range = m->ranges.parent[range])
		chain[n++] = range;
	while (n--) {
		struct ws_bytes name = m->texts[m->ranges.recorded[chain[n]]];
		const char *text = name.ptr;

		for (size_t i = 0; i < name.len; i++) {
			if (text[i] == '/')
				WS_FORWARD(ws_buf_put(out, "\\", 1, err));
			WS_FORWARD(ws_buf_put(out, &text[i], 1, err));
		}
		if (n)
			WS_FORWARD(ws_buf_put(out, "/", 1, err));
	}
	return WS_OK;
}

/*
 * The same by the names as recorded, for what paths leave out of them:
 * "ProfilerStep#7" is the step of that number, not the eighth.
 */
static enum ws_status match_recorded(struct matcher *c, struct ws_bytes pattern, struct ws_err *err)
{
	const struct ws_model *m = c->m;
	const struct ws_ranges *r = &m->ranges;
	struct ws_buf path = {0};
	enum ws_status status = WS_OK;
	uint8_t *differs;

	WS_NEW(&c->temp, differs, r->n);
	WS_FORWARD(ws_arena_check(&c->temp, "the names of ranges", err));
	for (uint32_t i = 0; i < r->n && status == WS_OK; i++) {
		differs[i] = r->recorded[i] != r->name[i] ||
		             (r->parent[i] != WS_NONE && differs[r->parent[i]]);
		if (!differs[i])
			continue;
		path.len = 0;
		status = put_recorded_path(m, i, &path, err);
		c->named[i] = status == WS_OK &&
		              ws_filter_matches(pattern, (struct ws_bytes){path.data, path.len},
		                                m->texts[r->paths[r->path[i]].domain]);
		c->any |= c->named[i];
	}
	ws_buf_free(&path);
	return status;
}

/* At most 9 digits; 0 when there is none. */
static int take_number(const char **at, const char *end, uint32_t *out)
{
	const char *from = *at;

	*out = 0;
	while (*at < end && **at >= '0' && **at <= '9' && *at - from < 9)
		*out = *out * 10 + (uint32_t)(*(*at)++ - '0');
	return *at > from;
}

/* Do paths leave something out of the names of their ranges? */
static enum ws_status find_left_out(struct matcher *c, bool *any, struct ws_err *err)
{
	const struct ws_model *m = c->m;
	uint8_t *is_name;

	*any = false;
	WS_NEW(&c->temp, is_name, m->ntexts);
	WS_FORWARD(ws_arena_check(&c->temp, "the names of ranges", err));
	for (size_t p = 0; p < m->ranges.npaths; p++)
		is_name[m->ranges.paths[p].name] = 1;
	for (uint32_t i = 0; i < m->ntexts; i++)
		*any |= m->steady_of[i] && m->steady_of[i] != i && is_name[m->steady_of[i]];
	return WS_OK;
}

/* "…#3" or "…#2..5": cuts it off. 0 when the pattern does not end so. */
static bool take_instances(struct ws_bytes *pattern, uint32_t *first, uint32_t *last)
{
	const char *text = pattern->ptr, *end = text + pattern->len;
	const char *hash = pattern->len ? memrchr(text, '#', pattern->len) : NULL;
	const char *at = hash ? hash + 1 : end;

	if (!hash || !take_number(&at, end, first))
		return 0;
	*last = *first;
	if (end - at > 2 && at[0] == '.' && at[1] == '.') {
		at += 2;
		if (!take_number(&at, end, last))
			return 0;
	}
	if (at != end || *last < *first)
		return 0;
	pattern->len = (size_t)(hash - text);
	return 1;
}

/* Keeps what is named, and what lies in it; n: how many are named and lie in no other. */
static void keep_named(struct matcher *c, uint8_t *inside, size_t *n)
{
	*n = 0;
	for (uint32_t i = 0; i < c->rows->nranges; i++) {
		const uint32_t parent = ws_joined_rows_range(c->rows, i)->parent;
		const bool under = parent != WS_NONE && inside[parent];

		inside[i] = c->named[i] || under;
		*n += c->named[i] && !under;
	}
}

/* Of those that are kept, the instances first to last by begin; then what lies in them. */
static enum ws_status keep_instances(struct matcher *c, uint32_t first, uint32_t last,
                                     uint8_t *inside, size_t n, struct ws_err *err)
{
	struct ws_joined_rows *rows = c->rows;
	struct ws_range_begin *order;

	WS_NEW(&c->temp, order, n);
	WS_FORWARD(ws_arena_check(&c->temp, "the order of ranges", err));
	n = 0;
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);

		if (c->named[i] && (r->parent == WS_NONE || !inside[r->parent]))
			order[n++] = (struct ws_range_begin){r->start_ns, r->thread, i};
	}
	ws_sort(order, n, sizeof(*order), ws_range_begin_compare);
	memset(inside, 0, rows->nranges);
	for (size_t i = first; i < n && i <= last; i++)
		inside[order[i].number] = 1;
	for (uint32_t i = 0; i < rows->nranges; i++) {
		const uint32_t parent = ws_joined_rows_range(rows, i)->parent;

		inside[i] |= parent != WS_NONE && inside[parent];
	}
	return WS_OK;
}

static enum ws_status match(struct matcher *c, struct ws_bytes pattern, uint8_t *inside,
                            const char **declined, struct ws_err *err)
{
	uint32_t first = 0, last = UINT32_MAX;
	bool by_number = false, left_out = false;
	size_t n;

	WS_NEW(&c->temp, c->named, c->rows->nranges);
	WS_FORWARD(ws_arena_check(&c->temp, "the ranges of a filter", err));
	WS_FORWARD(match_paths(c, pattern, err));
	if (!c->any && c->rows->loaded)
		WS_FORWARD(match_recorded(c, pattern, err));
	else if (!c->any)
		WS_FORWARD(find_left_out(c, &left_out, err));
	if (left_out)
		*declined = "names of ranges as they were recorded are looked for";
	by_number = !c->any && take_instances(&pattern, &first, &last);
	if (by_number)
		WS_FORWARD(match_paths(c, pattern, err));
	keep_named(c, inside, &n);
	return by_number ? keep_instances(c, first, last, inside, n, err) : WS_OK;
}

enum ws_status ws_filter_ranges(const struct ws_model *m, struct ws_joined_rows *rows,
                                const char *nvtx, uint8_t *inside, const char **declined,
                                struct ws_err *err)
{
	struct matcher c = {.m = m, .rows = rows};
	enum ws_status status =
	        match(&c, (struct ws_bytes){nvtx, strlen(nvtx)}, inside, declined, err);

	ws_arena_free(&c.temp);
	return status;
}
