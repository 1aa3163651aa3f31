/*
 * Which ranges a --nvtx pattern names.
 */
#include <stdlib.h>
#include <string.h>

#include "report/analysis/filter.h"
#include "report/base/names.h"

/* Whole path, or what follows a '/' that separates names ("\/" stands inside a name). */
static int matches_path(struct ws_bytes pattern, struct ws_bytes path)
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

int ws_filter_matches(struct ws_bytes pattern, struct ws_bytes path, struct ws_bytes domain)
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

/* named[p] = 1 for the paths that the pattern names; returns in *any whether there is one. */
static enum ws_status match_paths(const struct ws_model *m, struct ws_bytes pattern, uint8_t *named,
                                  int *any, struct ws_err *err)
{
	const struct ws_ranges *r = &m->ranges;

	*any = 0;
	for (uint32_t p = 0; p < r->npaths; p++) {
		struct ws_bytes path;
		char *text;
		size_t len;

		WS_FORWARD(ws_path_text(r, p, m->texts, &text, &len, err));
		path = (struct ws_bytes){text, len};
		named[p] = (uint8_t)ws_filter_matches(pattern, path, m->texts[r->paths[p].domain]);
		*any |= named[p];
		free(text);
	}
	return WS_OK;
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

/* "…#3" or "…#2..5": cuts it off. 0 when the pattern does not end so. */
static int take_instances(struct ws_bytes *pattern, uint32_t *first, uint32_t *last)
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

/* Of the ranges that are named and lie in no other named one, keep those numbered first to last by
 * begin; then what lies in them. */
static enum ws_status keep_instances(const struct ws_model *m, const uint8_t *named, uint32_t first,
                                     uint32_t last, uint8_t *inside, struct ws_err *err)
{
	const struct ws_ranges *r = &m->ranges;
	uint32_t *order = calloc(r->n ? r->n : 1, sizeof(*order));
	enum ws_status status = WS_OK;
	size_t n = 0;

	if (!order)
		return WS_FAIL(err, NO_MEMORY, "no memory for %zu ranges", r->n);
	for (uint32_t i = 0; i < r->n; i++) {
		int under = r->parent[i] != WS_NONE && inside[r->parent[i]];

		inside[i] = named[r->path[i]] || under;
		if (named[r->path[i]] && !under)
			order[n++] = i;
	}
	status = ws_order_by(order, r->start_ns, n, err);
	memset(inside, 0, r->n);
	for (size_t i = first; i < n && i <= last && status == WS_OK; i++)
		inside[order[i]] = 1;
	for (uint32_t i = 0; i < r->n; i++)
		inside[i] |= r->parent[i] != WS_NONE && inside[r->parent[i]];
	free(order);
	return status;
}

enum ws_status ws_filter_ranges(const struct ws_model *m, const char *nvtx, uint8_t *inside,
                                struct ws_err *err)
{
	struct ws_bytes pattern = {nvtx, strlen(nvtx)};
	uint8_t *named = calloc(m->ranges.npaths ? m->ranges.npaths : 1, 1);
	uint32_t first = 0, last = UINT32_MAX;
	enum ws_status status = WS_OK;
	int any = 0;

	if (!named)
		return WS_FAIL(err, NO_MEMORY, "no memory for %zu paths", m->ranges.npaths);
	status = match_paths(m, pattern, named, &any, err);
	if (status == WS_OK && !any && take_instances(&pattern, &first, &last))
		status = match_paths(m, pattern, named, &any, err);
	if (status == WS_OK)
		status = keep_instances(m, named, first, last, inside, err);
	free(named);
	return status;
}
