#include "report/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"

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

/* inside[p]: path p is named by the pattern, or lies in one that is. */
static enum ws_status match_paths(const struct ws_model *m, const char *nvtx, uint8_t *inside,
                                  struct ws_err *err)
{
	const struct ws_ranges *r = &m->ranges;
	struct ws_bytes pattern = {nvtx, strlen(nvtx)};

	for (uint32_t p = 0; p < r->npaths; p++) {
		struct ws_bytes path;
		char *text;
		size_t len;

		inside[p] = r->paths[p].parent != WS_NONE && inside[r->paths[p].parent];
		if (inside[p])
			continue;
		WS_FORWARD(ws_path_text(r, p, m->texts, &text, &len, err));
		path = (struct ws_bytes){text, len};
		inside[p] = (uint8_t)ws_filter_matches(pattern, path, m->texts[r->paths[p].domain]);
		free(text);
	}
	return WS_OK;
}

static int kernel_inside(const struct ws_model *m, const uint8_t *inside, size_t k)
{
	const struct ws_kernels *kernels = &m->kernels;
	uint32_t range = kernels->range[k];

	if (range != WS_NONE && inside[m->ranges.path[range]])
		return 1;
	for (uint32_t c = kernels->crossing ? kernels->crossing[k] : WS_NONE; c != WS_NONE;
	     c = m->attribution.crossings[c].next)
		if (inside[m->ranges.path[m->attribution.crossings[c].range]])
			return 1;
	return 0;
}

int ws_step_selected(const struct ws_model *m, const struct ws_selection *s, uint32_t step)
{
	return ws_step_is_measured(m, step) && m->steps[step].index >= s->step_first &&
	       m->steps[step].index <= s->step_last;
}

static enum ws_status say(struct ws_selection *s, const struct ws_filter *f, struct ws_err *err)
{
	char steps[80] = "", device[48] = "";
	const char *nvtx = f && f->nvtx ? f->nvtx : "";
	int ok;

	if (s->has_steps && f->step_last < 0)
		snprintf(steps, sizeof(steps), "measured steps %" PRId64 " and later",
		         s->step_first);
	else if (s->has_steps)
		snprintf(steps, sizeof(steps), "measured steps %" PRId64 " to %" PRId64,
		         s->step_first, s->step_last);
	if (s->has_device)
		snprintf(device, sizeof(device), "device %" PRId64, f->device);
	ok = asprintf(&s->words, "%s%s%s%s%s%s%s",
	              s->has_nvtx ? "kernels launched in ranges that match \"" : "", nvtx,
	              s->has_nvtx ? "\"" : "", s->has_nvtx && *steps ? ", " : "", steps,
	              (s->has_nvtx || *steps) && *device ? ", " : "", device) >= 0;
	if (ok)
		return WS_OK;
	s->words = NULL;
	return WS_FAIL(err, NO_MEMORY, "no memory for a filter");
}

static void select_all(const struct ws_model *m, const struct ws_filter *f, const uint8_t *inside,
                       struct ws_selection *s)
{
	for (uint32_t i = 0; i < m->ranges.n; i++)
		s->range[i] = (!inside || inside[m->ranges.path[i]]) &&
		              (!s->has_steps || ws_step_selected(m, s, m->range_step[i]));
	for (size_t k = 0; k < m->kernels.n; k++) {
		s->kernel[k] = (!inside || kernel_inside(m, inside, k)) &&
		               (!s->has_steps || ws_step_selected(m, s, ws_kernel_step(m, k))) &&
		               (!s->has_device ||
		                m->devices[ws_kernel_device(m, k)].id == (uint64_t)f->device);
		if (s->kernel[k]) {
			s->kernels++;
			s->gpu_ns += m->kernels.dur_ns[k];
		}
	}
	for (uint32_t i = 0; i < m->nsteps; i++)
		s->measured += (size_t)ws_step_selected(m, s, i);
}

enum ws_status ws_select(const struct ws_model *m, const struct ws_filter *f,
                         struct ws_selection *out, struct ws_err *err)
{
	uint8_t *inside = NULL;
	enum ws_status status = WS_OK;

	*out = (struct ws_selection){.step_last = INT64_MAX};
	out->has_nvtx = f && f->nvtx;
	out->has_steps = f && (f->step_first >= 0 || f->step_last >= 0);
	out->has_device = f && f->device >= 0;
	if (out->has_steps) {
		out->step_first = f->step_first > 0 ? f->step_first : 0;
		out->step_last = f->step_last >= 0 ? f->step_last : INT64_MAX;
	}
	out->kernel = calloc(m->kernels.n ? m->kernels.n : 1, 1);
	out->range = calloc(m->ranges.n ? m->ranges.n : 1, 1);
	if (out->has_nvtx)
		inside = calloc(m->ranges.npaths ? m->ranges.npaths : 1, 1);
	if (!out->kernel || !out->range || (out->has_nvtx && !inside))
		status = WS_FAIL(err, NO_MEMORY, "no memory to select %zu kernels", m->kernels.n);
	if (status == WS_OK && inside)
		status = match_paths(m, f->nvtx, inside, err);
	if (status == WS_OK)
		status = say(out, f, err);
	if (status == WS_OK)
		select_all(m, f, inside, out);
	free(inside);
	return status;
}

void ws_selection_release(struct ws_selection *s)
{
	free(s->kernel);
	free(s->range);
	free(s->words);
	*s = (struct ws_selection){0};
}
