#include "report/page/make.h"

#include <inttypes.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "report/analysis/missing.h"
#include "report/base/names.h"
#include "report/model/columns.h"
#include "report/page/private.h"

/* --- the grey line --------------------------------------------------------------------------- */

/* "2 × NVIDIA H100": those that ran kernels, equal ones together. NULL: nobody says. */
static const char *devices_of(const struct ws_page_making *p)
{
	const struct ws_model *m = p->m;
	const char *all = NULL;

	for (size_t i = 0; i < m->ndevices; i++) {
		const uint32_t name = m->devices[i].name;
		const char *one = ws_page_text_of(p, name);
		size_t n = 0, before = 0;

		for (size_t k = 0; k < m->ndevices; k++) {
			n += m->devices[k].kernels && m->devices[k].name == name;
			before += k < i && m->devices[k].kernels && m->devices[k].name == name;
		}
		if (!m->devices[i].kernels || before || !*one)
			continue;
		if (n > 1)
			one = ws_arena_format(p->texts, "%zu × %s", n, one);
		all = all ? ws_arena_format(p->texts, "%s, %s", all, one) : one;
	}
	return all;
}

/* "train.py": the script that Python ran, the first argument that is one; else empty. */
static struct ws_bytes script_of(struct ws_bytes arguments)
{
	const char *word = arguments.ptr, *end = word + arguments.len, *stop;

	for (; word < end; word = stop + 1) {
		stop = memchr(word, ' ', (size_t)(end - word));
		stop = stop ? stop : end;
		if (stop - word > 3 && !memcmp(stop - 3, ".py", 3))
			return ws_name_of_file((struct ws_bytes){word, (size_t)(stop - word)});
	}
	return (struct ws_bytes){"", 0};
}

/* What ran, else who recorded it. */
static const char *source_of(const struct ws_page_making *p)
{
	const struct ws_bytes model = ws_model_fact(p->m, "model"),
	                      dtype = ws_model_fact(p->m, "dtype");
	struct ws_bytes source = ws_meta_value(&p->m->meta, "import.source");

	if (model.len)
		return ws_arena_format(p->texts, "%.*s%s%.*s", (int)model.len,
		                       (const char *)model.ptr, dtype.len ? " " : "",
		                       (int)dtype.len, (const char *)dtype.ptr);
	if (!source.len)
		source = script_of(ws_meta_value(&p->m->meta, "program.arguments"));
	if (!source.len)
		source = ws_meta_value(&p->m->meta, "program.path");
	return source.len ? ws_arena_copy(p->texts, source.ptr, source.len) : NULL;
}

/* "6 measured steps; device 0" */
static const char *scope_of(const struct ws_page_making *p)
{
	const struct ws_selection *sel = p->sel;
	const char *behind = sel->words[0] ? ws_arena_format(p->texts, "; %s", sel->words) : "";

	if (sel->scope == WS_SCOPE_STEPS && sel->measured)
		return ws_arena_format(p->texts, "%zu measured %s%s", sel->measured,
		                       sel->measured == 1 ? "step" : "steps", behind);
	if (sel->scope == WS_SCOPE_ALL && !sel->measured)
		return ws_arena_format(p->texts, "the whole trace: no steps found%s", behind);
	return ws_arena_format(p->texts, "%s%s", sel->scope_words, behind);
}

struct lost {
	uint64_t causes, most_events;
	struct ws_bytes cause; /* that of most_events */
	uint64_t events;       /* of ranges and marks, for which there was no room */
	uint64_t unknown;      /* records of a kind that is not known */
	bool is_killed;
	const char *uncounted; /* who counts none; NULL */
};

static void count_lost(void *ctx, const struct ws_missing *missing)
{
	struct lost *lost = ctx;

	if (!missing->count)
		return;
	if (ws_bytes_begin(missing->cause, "processes killed"))
		lost->is_killed = true;
	else if (ws_bytes_begin(missing->cause, "profiles without a loss counter"))
		lost->uncounted = "the profiler counts no losses";
	else if (ws_bytes_begin(missing->cause, "recordings without a loss counter"))
		lost->uncounted = "losses are not counted";
	else if (strcmp(missing->source, "join") !=
	         0) { /* those are in the report, if in no range */
		if (missing->count > lost->most_events) {
			lost->most_events = missing->count;
			lost->cause = missing->cause;
		}
		lost->causes++;
	}
	if (ws_name_is(missing->cause, "import_unknown_kind"))
		lost->unknown = missing->count;
	if (ws_name_is(missing->cause, "ring_overflow") ||
	    ws_name_is(missing->cause, "thread_without_ring"))
		lost->events += missing->count;
}

/* "lost: 2,657 (ring overflow) and 1 more kind, see Losses" */
static const char *losses_of(const struct ws_page_making *p)
{
	struct lost lost = {0};
	const char *killed, *more = "";
	char *cause;

	ws_missing_each(p->m, count_lost, &lost);
	p->page->lost_events = lost.events;
	p->page->unknown_records = lost.unknown;
	killed = lost.is_killed ? "the program was killed; " : "";
	if (!lost.causes)
		return ws_arena_format(p->texts, "%s%s", killed,
		                       lost.uncounted ? lost.uncounted : "nothing lost");
	cause = ws_arena_copy(p->texts, lost.cause.ptr, lost.cause.len);
	for (char *c = cause; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	if (lost.causes > 1)
		more = ws_arena_format(p->texts, " and %" PRIu64 " more %s", lost.causes - 1,
		                       lost.causes == 2 ? "kind" : "kinds");
	return ws_arena_format(p->texts, "%slost: %s (%s)%s, see Losses", killed, cause,
	                       ws_say_number(p->texts, (double)lost.most_events), more);
}

static void add_grey_line(struct ws_page_making *p)
{
	const struct ws_selection *sel = p->sel;
	struct ws_page *page = p->page;
	const struct ws_bytes name = ws_name_of_file(ws_bytes_of(p->m->name ? p->m->name : ""));

	page->title = ws_arena_copy(p->texts, name.ptr, name.len);
	page->device = devices_of(p);
	page->source = source_of(p);
	page->scope = scope_of(p);
	page->losses = losses_of(p);
	page->has_steps = sel->measured > 0;
	page->samples = page->has_steps ? (double)sel->measured : 1;
	page->on_cpu = ws_model_on_cpu(p->m) == 1;
}

/* Both sides stand on one page. */
#define SIDE_BOXES (WS_PAGE_BOXES / 2)

struct ws_page *ws_page_make_side(const struct ws_model *m, struct ws_joined_rows *rows)
{
	struct ws_arena temp = {0};
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_selection sel = {0};
	const struct ws_table_context tab = {.m = m, .sel = &sel, .temp = &temp};
	struct ws_page *page = ws_xarray(1, sizeof(*page));
	struct ws_page_making p = {&tab, m, &sel, page, &page->arena, SIDE_BOXES, NULL, NULL};

	filter.scope = WS_SCOPE_STEPS;
	ws_select_rows(m, rows, &filter, &sel);
	add_grey_line(&p);
	ws_page_add_bar(&p);
	ws_page_add_tree(&p);
	if (p.windows && p.windows->n) /* of no step that is asked for, so there is one */
		ws_page_add_timeline(&p, -1, NULL);
	ws_arena_free(&temp);
	ws_selection_release(&sel);
	return page;
}

/* Operations, and no call of a GPU's API: with one, kernels may be missing. */
static bool ran_on_the_cpu(const struct ws_page_making *p)
{
	return !ws_model_has_kernels(p->m) && !p->m->nwork && !p->sel->rows->ncalls &&
	       p->m->cpu_ops.tree.n;
}

enum ws_status ws_page_make(const struct ws_table_context *tab, struct ws_page **out,
                            struct ws_err *err)
{
	struct ws_arena temp = {0};
	struct ws_table_context with_temp = *tab;
	struct ws_page *page = ws_xarray(1, sizeof(*page));
	struct ws_page_making p = {&with_temp,   tab->m,        tab->sel, page,
	                           &page->arena, WS_PAGE_BOXES, NULL,     NULL};
	enum ws_status status = WS_OK;

	with_temp.temp = &temp;
	add_grey_line(&p);
	ws_page_add_bar(&p);
	ws_page_add_tree(&p);
	ws_page_add_roofline(&p);
	if (ran_on_the_cpu(&p))
		ws_page_add_operations(&p);
	else
		ws_page_add_kernels(&p);
	ws_page_find_rate_unit(page);
	ws_page_add_findings(&p);
	ws_page_add_headline(&p);
	if (tab->sel->has_timeline && p.windows && p.windows->n)
		status = ws_page_add_timeline(&p, tab->sel->timeline, err);
	ws_arena_free(&temp);
	*out = NULL;
	if (status == WS_OK)
		*out = page;
	else
		ws_page_free(page);
	return status;
}
