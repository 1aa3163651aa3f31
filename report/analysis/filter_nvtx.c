/*
 * Finds the ranges that match a --nvtx pattern.
 */

#include "report/analysis/filter.h"
#include "report/base/names.h"

/* Matches the whole path, or its end after a '/' that separates names ("\/" is part of a name). */
static bool matches_path(struct ws_bytes pattern, struct ws_bytes path)
{
	const char *p = path.ptr;

	if (pattern.len && *(const char *)pattern.ptr == '/') {
		pattern.ptr = (const char *)pattern.ptr + 1;
		pattern.len--;
		return ws_name_matches(pattern, path);
	}
	if (ws_name_matches(pattern, path))
		return true;
	for (size_t i = 0; i < path.len; i++) {
		struct ws_bytes rest = {p + i + 1, path.len - i - 1};

		if (p[i] == '/' && !(i && p[i - 1] == '\\') && ws_name_matches(pattern, rest))
			return true;
	}
	return false;
}

/*
 * Does a --nvtx pattern name this range? The pattern matches the whole path,
 * or its end after any '/' between names (so a bare name finds the range
 * wherever it stands); a leading '/' ties it to the outermost range. In
 * "domain:path" the domain must match too.
 */
static bool names_range(struct ws_bytes pattern, struct ws_bytes path, struct ws_bytes domain)
{
	const char *p = pattern.ptr;
	const char *colon = pattern.len ? memchr(p, ':', pattern.len) : NULL;
	size_t before = colon ? (size_t)(colon - p) : 0;

	/* names may contain colons ("aten::mm"), so both interpretations are tried */
	if (matches_path(pattern, path))
		return true;
	return colon && ws_name_matches((struct ws_bytes){p, before}, domain) &&
	       matches_path((struct ws_bytes){colon + 1, pattern.len - before - 1}, path);
}

struct matcher {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	uint8_t *named; /* by range: the pattern matches */
	bool has_names; /* some match */
	struct ws_arena temp;
};

/* Matches by path. */
static void match_paths(struct matcher *c, struct ws_bytes pattern)
{
	const struct ws_model *m = c->m;
	const struct ws_ranges *r = &m->ranges;

	uint8_t *path_named = ws_arena_array(&c->temp, r->npaths, sizeof(*path_named));
	for (uint32_t p = 0; p < r->npaths; p++) {
		char *text;
		size_t len;

		ws_path_text(r, p, m->texts, &text, &len);
		struct ws_bytes path = {text, len};
		path_named[p] = (uint8_t)names_range(pattern, path, m->texts[r->paths[p].domain]);
		free(text);
	}
	for (uint32_t i = 0; i < c->rows->nranges; i++) {
		c->named[i] = path_named[ws_joined_rows_range(c->rows, i)->context->path];
		c->has_names |= c->named[i];
	}
}

/* The ranges of a thread that began last, by depth: the parents of the next range. */
struct open_names {
	struct open_name {
		uint32_t recorded; /* text */
		bool differs;      /* the path to it differs from that in m->ranges.paths */
	} * of_depth;
	size_t capacity;
};

/* Reads at most 9 digits; 0 if there is none. */
static int take_number(const char **at, const char *end, uint32_t *out)
{
	const char *from = *at;

	*out = 0;
	while (*at < end && **at >= '0' && **at <= '9' && *at - from < 9)
		*out = *out * 10 + (uint32_t)(*(*at)++ - '0');
	return *at > from;
}

/* Removes a suffix "#3" or "#2..5". False if there is none. */
static bool take_instances(struct ws_bytes *pattern, uint32_t *first, uint32_t *last)
{
	const char *text = pattern->ptr, *end = text + pattern->len;
	const char *hash = pattern->len ? ws_last_byte(text, '#', pattern->len) : NULL;
	const char *at = hash ? hash + 1 : end;

	if (!hash || !take_number(&at, end, first))
		return false;
	*last = *first;
	if (end - at > 2 && at[0] == '.' && at[1] == '.') {
		at += 2;
		if (!take_number(&at, end, last))
			return false;
	}
	if (at != end || *last < *first)
		return false;
	pattern->len = (size_t)(hash - text);
	return true;
}

void ws_filter_ranges(const struct ws_model *m, struct ws_joined_rows *rows, const char *nvtx,
                      uint8_t *inside)
{
	struct matcher c = {.m = m, .rows = rows};
	struct ws_bytes pattern = {nvtx, strlen(nvtx)};
	uint32_t first = 0, last = UINT32_MAX;
	size_t n = 0; /* outermost matches */

	WS_NEW(&c.temp, c.named, c.rows->nranges);
	match_paths(&c, pattern);
	if (!c.has_names) {
		/*
		 * The same by recorded names, including the parts that paths leave out:
		 * "ProfilerStep#7" is the step with that number, not the eighth.
		 */
		struct ws_buf path = {0};
		struct open_names *open; /* by thread */

		WS_NEW(&c.temp, open, c.m->nthreads);
		for (uint32_t i = 0; i < c.rows->nranges; i++) {
			const struct ws_joined_range *r = ws_joined_rows_range(c.rows, i);
			struct open_names *of_thread = &open[r->context->thread];
			const size_t depth = (size_t)r->context->depth + 1,
			             kept = depth < WS_RANGE_MAX_DEPTH ? depth : WS_RANGE_MAX_DEPTH;

			WS_GROW(of_thread->of_depth, depth, of_thread->capacity);
			struct open_name *names = of_thread->of_depth + depth - kept;
			names[kept - 1] = (struct open_name){
			        r->recorded,
			        r->recorded != r->context->name ||
			                (depth > 1 && of_thread->of_depth[depth - 2].differs)};
			if (!names[kept - 1].differs)
				continue;
			/* their path, like ws_path_text */
			path.len = 0;
			for (size_t k = 0; k < kept; k++) {
				const struct ws_bytes name = c.m->texts[names[k].recorded];
				const char *at = name.ptr, *end = at + name.len, *slash;

				if (k)
					ws_buf_put(&path, "/", 1);
				for (; at < end && (slash = memchr(at, '/', (size_t)(end - at)));
				     at = slash + 1) {
					ws_buf_put(&path, at, (size_t)(slash - at));
					ws_buf_put(&path, "\\/", 2);
				}
				ws_buf_put(&path, at, (size_t)(end - at));
			}
			c.named[i] =
			        names_range(pattern, (struct ws_bytes){path.data, path.len},
			                    c.m->texts[c.m->ranges.paths[r->context->path].domain]);
			c.has_names |= c.named[i];
		}
		for (size_t t = 0; t < c.m->nthreads; t++)
			free(open[t].of_depth);
		ws_buf_free(&path);
	}
	bool by_number = !c.has_names && take_instances(&pattern, &first, &last);
	if (by_number)
		match_paths(&c, pattern);

	/* Matching ranges, and ranges inside them. */

	for (uint32_t i = 0; i < c.rows->nranges; i++) {
		const uint32_t parent = ws_joined_rows_range(c.rows, i)->parent;
		const bool under = parent != WS_NONE && inside[parent];

		inside[i] = c.named[i] || under;
		n += c.named[i] && !under;
	}
	if (by_number) {
		/* Of the kept ranges, instances first to last by begin, and ranges in them. */
		struct ws_range_begin *order = ws_arena_array(&c.temp, n, sizeof(*order));
		n = 0;
		WS_EACH_RANGE(rows, i, r)
			if (c.named[i] && (r->parent == WS_NONE || !inside[r->parent]))
				order[n++] =
				        (struct ws_range_begin){r->start_ns, r->context->thread, i};
		ws_sort(order, n, sizeof(*order), ws_range_begin_compare);
		memset(inside, 0, rows->nranges);
		for (size_t i = first; i < n && i <= last; i++)
			inside[order[i].number] = 1;
		for (uint32_t i = 0; i < rows->nranges; i++) {
			const uint32_t parent = ws_joined_rows_range(rows, i)->parent;

			inside[i] |= parent != WS_NONE && inside[parent];
		}
	}
	ws_arena_free(&c.temp);
}
