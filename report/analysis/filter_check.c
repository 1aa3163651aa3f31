/*
 * The error message if nothing passes a filter, with the nearest names.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/options.h"
#include "formats/base/memory.h"
#include "report/analysis/filter.h"
#include "report/model/model.h"

/* Texts of the trace that a pattern may mean. */
struct names {
	char **text;
	size_t n;
};

static const char *name_at(const void *ctx, size_t i)
{
	const struct names *names = ctx;

	return i < names->n ? names->text[i] : NULL;
}

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->text[i]);
	free(names->text);
}

static void add_name(struct names *names, struct ws_bytes text)
{
	names->text[names->n] = ws_xstrndup(text.ptr, text.len);
	names->n++;
}

static enum ws_status unknown(const char *what, const char *word, const struct names *names,
                              const char *cure, struct ws_err *err)
{
	return names->n ? ws_opt_unknown_name(what, word, name_at, names, cure, err)
	                : WS_FAIL(err, USAGE, "the trace has no %ss", what);
}

static enum ws_status unknown_range(const struct ws_model *m, const char *pattern,
                                    struct names *names, struct ws_err *err)
{
	char word[128];

	for (size_t p = 0; p < m->ranges.npaths; p++)
		add_name(names, m->texts[m->ranges.paths[p].name]);

	/* The last part of a pattern without domain and instances, which may be misspelt. */
	const char *slash = strrchr(pattern, '/'), *colon = strchr(pattern, ':');
	const char *from = slash ? slash + 1 : colon ? colon + 1 : pattern;

	snprintf(word, 128, "%.*s", (int)strcspn(from, "#"), from);
	return unknown("range", word, names,
	               "warpsheet report TRACE --table ranges --scope all lists the ranges", err);
}

/* Does any kernel pass this filter, or for --nvtx any range? */
static bool passes(const struct ws_model *m, struct ws_joined_rows *rows,
                   const struct ws_filter *only)
{
	struct ws_selection sel;
	bool any;

	ws_select_rows(m, rows, only, &sel);
	any = sel.kernels > 0;
	for (size_t i = 0; only->nvtx && i < rows->nranges; i++)
		any |= sel.in_pattern[i];
	ws_selection_release(&sel);
	return any;
}

static enum ws_status check_kernel(const struct ws_model *m, struct ws_joined_rows *rows,
                                   const char *kernel, struct names *names, struct ws_err *err)
{
	struct ws_filter only = WS_FILTER_ALL;

	only.kernel = kernel;
	if (passes(m, rows, &only))
		return WS_OK;
	for (size_t i = 1; i < m->nconfigs; i++)
		add_name(names, ws_model_short_name(m, m->configs[i].name));
	return unknown("kernel", kernel, names,
	               "warpsheet report TRACE --table kernel-summary lists the kernels", err);
}

static enum ws_status check_device(const struct ws_model *m, int64_t device, struct ws_err *err)
{
	char list[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < m->ndevices && len + 24 < sizeof(list); i++) {
		if (m->devices[i].id == (uint64_t)device)
			return WS_OK;
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%" PRIu64,
		                        len ? ", " : "", m->devices[i].id);
	}
	return WS_FAIL(err, USAGE, "the trace has no device %" PRId64 "; it has: %s", device,
	               len ? list : "none");
}

static enum ws_status explain_empty(const struct ws_model *m, const struct ws_filter *f,
                                    const struct ws_selection *sel, struct names *names,
                                    struct ws_err *err)
{
	if (f->nvtx) {
		const char *nvtx = f->nvtx;
		struct ws_filter only = WS_FILTER_ALL;

		only.nvtx = nvtx;
		WS_FORWARD(passes(m, sel->rows, &only) ? WS_OK
		                                       : unknown_range(m, nvtx, names, err));
	}
	if (f->kernel) {
		names_release(names);
		names->n = 0;
		names->text = ws_xarray(m->nconfigs + 1, sizeof(*names->text));
		WS_FORWARD(check_kernel(m, sel->rows, f->kernel, names, err));
	}
	if (f->device >= 0)
		WS_FORWARD(check_device(m, f->device, err));
	return WS_FAIL(err, USAGE, "nothing passes the filter: %s%sscope %s: %s%s", sel->words,
	               *sel->words ? "; " : "", ws_scope_name(sel->scope), sel->scope_words,
	               sel->scope == WS_SCOPE_ALL ? "" : "; --scope all looks at the whole trace");
}

static bool any_step(const struct ws_model *m, const char *pattern)
{
	uint8_t is_step = 0;

	for (uint32_t i = 0; i < m->ranges.npaths && !is_step; i++)
		ws_step_is_path(m, &m->ranges, i, pattern, &is_step);
	return is_step;
}

enum ws_status ws_filter_check(const struct ws_model *m, const struct ws_selection *sel,
                               const struct ws_filter *filter, const char *step, struct ws_err *err)
{
	struct names names = {.text = ws_xarray(m->ranges.npaths + 1, sizeof(*names.text))};
	enum ws_status status = WS_OK;

	if (status == WS_OK && step && !any_step(m, step))
		status = unknown_range(m, step, &names, err);
	if (status == WS_OK && sel->is_empty)
		status = explain_empty(m, filter, sel, &names, err);
	names_release(&names);
	return status;
}
