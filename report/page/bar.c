/*
 * Where the step goes: each moment of a device's window once. Computing time is that of the table
 * `idle`, and here belongs to the class of the kernel that began first of those that run.
 */

#include "report/base/order.h"
#include "report/base/stat.h"
#include "report/page/private.h"

/* Where the walk over one device is. */
struct walk {
	struct ws_page_making *p;
	int64_t *class_ns, graph_ns; /* by text */
	int64_t until_ns;            /* what is before this belongs to somebody */
	size_t window;               /* the first that ends behind that */
};

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Gives what [start, end] has of the windows, and nobody has yet, to *ns. */
static void give(struct walk *w, int64_t start_ns, int64_t end_ns, int64_t *ns)
{
	const struct ws_windows *windows = w->p->windows;
	int64_t from = later(start_ns, w->until_ns);

	while (w->window < windows->n && windows->window[w->window].end_ns <= from)
		w->window++;
	for (size_t i = w->window; i < windows->n && windows->window[i].start_ns < end_ns; i++) {
		int64_t first = later(from, windows->window[i].start_ns);
		int64_t last =
		        windows->window[i].end_ns < end_ns ? windows->window[i].end_ns : end_ns;

		*ns += last > first ? last - first : 0;
	}
	w->until_ns = later(w->until_ns, end_ns);
}

/* Graphs that are traced as a whole, of those that begin before `start`. */
static void give_graphs(struct walk *w, uint32_t device, size_t *next, int64_t start_ns)
{
	const struct ws_model *m = w->p->m;

	for (; *next < m->nwork; ++*next) {
		const struct ws_work *work = &m->work[*next];

		if (work->device > device || (work->device == device && work->start_ns >= start_ns))
			return;
		if (work->device == device && work->kind == WS_WORK_GRAPH &&
		    ws_work_ran(w->p->sel, m, *next))
			give(w, work->start_ns, work->start_ns + work->dur_ns, &w->graph_ns);
	}
}

static void walk_device(struct walk *w, uint32_t device)
{
	const struct ws_selection *sel = w->p->sel;
	const size_t end = ws_first_kernel_of(w->p->m, sel, device + 1);
	size_t work = 0;

	w->until_ns = INT64_MIN;
	w->window = 0;
	for (size_t i = ws_first_kernel_of(w->p->m, sel, device); i < end; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(sel->rows, i);

		if (!ws_kernel_ran(sel, k, i) || k->kind->class == WS_TEXT_COMM)
			continue;
		give_graphs(w, device, &work, k->start_ns);
		give(w, k->start_ns, k->start_ns + k->dur_ns, &w->class_ns[k->kind->class]);
	}
	give_graphs(w, device, &work, INT64_MAX);
}

/* --- segments ------------------------------------------------------------------------------- */

/* In the colour of idle time it is idle. */
static void add_segment(struct ws_page_making *p, const char *name, int64_t ns,
                        enum ws_page_colour colour)
{
	if (ns)
		p->page->segment[p->page->nsegments++] = (struct ws_page_segment){
		        .name = name,
		        .ns = ns,
		        .percent = ws_stat_percent((double)ns, (double)p->page->whole_ns),
		        .is_idle = colour == WS_PAGE_IDLE,
		        .colour = colour};
}

static void add_classes(struct ws_page_making *p, const struct walk *w)
{
	struct ws_row_key *order;
	size_t n = 0;

	WS_NEW(p->tab->temp, order, p->m->ntexts);
	for (uint32_t i = 0; i < p->m->ntexts; i++)
		if (w->class_ns[i])
			order[n++] = (struct ws_row_key){.number = {WS_DESCENDING(w->class_ns[i])},
			                                 .text = {p->m->texts[i]},
			                                 .row = i};
	ws_row_keys_sort(order, n);
	for (size_t i = 0; i < n; i++)
		add_segment(p, ws_page_class_of(p, (uint32_t)order[i].row),
		            w->class_ns[order[i].row],
		            ws_page_colour_of_class(p, (uint32_t)order[i].row));
	add_segment(p, "CUDA graphs", w->graph_ns, WS_PAGE_GREY);
}

static void add_waits(struct ws_page_making *p)
{
	const int64_t *ns = p->idle->all.ns;
	enum ws_use order[WS_USES];

	add_segment(p, "communication", ns[WS_USE_COLLECTIVE], WS_PAGE_PINK);
	add_segment(p, "copies", ns[WS_USE_COPY], WS_PAGE_OCHRE);
	ws_uses_by_time(&p->idle->all, order);
	for (int i = 0; i < WS_USES; i++)
		if (order[i] > WS_USE_COPY)
			add_segment(p, ws_use_defs[order[i]].name, ns[order[i]], WS_PAGE_IDLE);
}

void ws_page_add_bar(struct ws_page_making *p)
{
	struct ws_page *page = p->page;
	struct walk w = {.p = p};

	page->bar_title = page->has_steps ? "Where the step goes" : "Where the time goes";
	if (!p->sel->rows->nkernels && !p->m->nwork)
		return;
	p->idle = ws_idle_find(p->m, p->sel);
	p->windows = ws_windows(p->m, p->sel);
	page->whole_ns = p->idle->all.window_ns;
	page->step_ns = ws_stat_ratio((double)p->idle->wall_ns, (double)p->windows->n);
	WS_NEW(p->tab->temp, w.class_ns, p->m->ntexts);
	for (uint32_t d = 0; d < p->m->ndevices; d++)
		walk_device(&w, d);
	WS_NEW(p->texts, page->segment, p->m->ntexts + WS_USES + 1);
	add_classes(p, &w);
	add_waits(p);
}
