/* Makes the page of a report: the step as a bar, the parts of the model, operations, roofline and
 * kernels. */
#include "report/base/elementary.h"
#include "report/page/private.h"
#include "report/analysis/digest.h"
#include "report/analysis/steps.h"
#include "report/model/load.h"
#include "report/names/names.h"

/* Maximum number of boxes of a timeline. If there are more, short ones are merged. */
#define WS_PAGE_BOXES 150000

/* --- the step as a bar ----------------------------------------------------------------------- */

/* Position in the time of one device, and the sums so far. */
struct walk {
	struct ws_page_making *p;
	int64_t *class_ns, graph_ns; /* by text */
	int64_t until_ns;            /* time before this is already counted */
	size_t window;               /* index of the first window that ends after until_ns */
	struct ws_spans
	        overlapping;       /* times of communication, then times of copies, on the device */
	int64_t overlapping_ns[2]; /* sums over all devices: communication, copies */
};

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Adds to *ns the time of [start, end] that is inside the windows and not yet counted. */
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

/* Counts graphs that were recorded as a whole and begin before `start`. */
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

/* Returns the total time of the spans in w->overlapping inside the windows, and empties the
 * list. */
static int64_t take_overlapping(struct walk *w)
{
	const struct ws_windows *windows = w->p->windows;
	int64_t ns = 0;

	ws_spans_merge(&w->overlapping);
	for (size_t i = 0; i < windows->n; i++)
		ns += ws_spans_inside(&w->overlapping, windows->window[i].start_ns,
		                      windows->window[i].end_ns);
	ws_spans_release(&w->overlapping);
	w->overlapping = (struct ws_spans){0};
	return ns;
}

/* --- segments ------------------------------------------------------------------------------- */

/* A segment with the colour of a cause of idle time is drawn as idle. */
static void add_segment(struct ws_page_making *p, struct ws_page_segment segment)
{
	segment.percent = ws_stat_percent((double)segment.ns, (double)p->page->whole_ns);
	if (segment.ns || segment.hidden_ns)
		p->page->segment[p->page->nsegments++] = segment;
}

/* Name and colour of communication, copies and causes of idle time. */
static struct ws_page_segment segment_of_use(enum ws_use use, int64_t ns)
{
	return (struct ws_page_segment){.name = use == WS_USE_COLLECTIVE ? "communication"
	                                        : use == WS_USE_COPY     ? "memcpy"
	                                                                 : ws_use_defs[use].name,
	                                .ns = ns,
	                                .is_idle = use > WS_USE_COPY,
	                                .colour = ws_page_use_colour(use)};
}

/* The strip of all measured steps; the rest of the page is about the median one. */
static void add_steps(struct ws_page_making *p)
{
	const struct ws_windows *w = ws_windows_in_scope(p->m, p->whole->sel);
	struct ws_page *page = p->page;
	struct ws_stat stat;

	if (!page->has_steps || w->n < 2)
		return;
	int64_t *ns = ws_arena_array(p->tab->temp, w->n, sizeof(*ns));
	WS_NEW(p->texts, page->step, w->n);
	for (size_t i = 0; i < w->n; i++)
		ns[i] = w->window[i].end_ns - w->window[i].start_ns;
	ws_stat_of(ns, w->n, &stat);
	page->longest_step_ns = stat.max;
	for (size_t i = 0; i < w->n; i++)
		page->step[page->nsteps++] =
		        (struct ws_page_step){p->m->steps[w->window[i].step].number, ns[i],
		                              ws_stat_is_outlier(&stat, ns[i])};
}

static void add_bar(struct ws_page_making *p)
{
	const struct ws_model *m = p->m;
	const struct ws_selection *sel = p->sel;
	struct ws_page *page = p->page;
	struct walk w = {.p = p};

	page->bar_title = page->has_steps ? "Where the step goes" : "Where the time goes";
	if (!p->sel->rows->nkernels && !p->m->nwork) {
		add_steps(p); /* operations and ranges of the host have steps, too */
		return;
	}
	p->idle = ws_idle_find_in_scope(p->m, p->sel);
	p->windows = ws_windows_in_scope(p->m, p->sel);
	page->whole_ns = p->idle->all.window_ns;
	page->step_ns = ws_stat_ratio((double)p->idle->wall_ns, (double)p->windows->n);
	WS_NEW(p->tab->temp, w.class_ns, p->m->ntexts);
	for (uint32_t d = 0; d < m->ndevices; d++) {
		const size_t end = ws_first_kernel_of(m, sel, d + 1);
		size_t work = 0;

		w.until_ns = INT64_MIN;
		w.window = 0;
		if (m->has_comm)
			ws_spans_open(&w.overlapping, sel->rows->nkernels);
		for (size_t i = ws_first_kernel_of(m, sel, d); i < end; i++) {
			const struct ws_joined_kernel *k = ws_joined_rows_kernel(sel->rows, i);

			if (!ws_kernel_ran(sel, k, i))
				continue;
			if (k->kind->class == WS_TEXT_COMM) {
				ws_spans_cover(&w.overlapping, k->start_ns,
				               k->start_ns + k->dur_ns);
				continue;
			}
			give_graphs(&w, d, &work, k->start_ns);
			give(&w, k->start_ns, k->start_ns + k->dur_ns, &w.class_ns[k->kind->class]);
		}
		give_graphs(&w, d, &work, INT64_MAX);
		w.overlapping_ns[0] += take_overlapping(&w);

		/* copies and fills */
		ws_spans_open(&w.overlapping, m->nwork);
		for (size_t i = 0; i < m->nwork; i++)
			if (m->work[i].device == d && m->work[i].kind != WS_WORK_GRAPH &&
			    ws_work_ran(sel, m, i))
				ws_spans_cover(&w.overlapping, m->work[i].start_ns,
				               m->work[i].start_ns + m->work[i].dur_ns);
		w.overlapping_ns[1] += take_overlapping(&w);
	}
	WS_NEW(p->texts, page->segment, p->m->ntexts + WS_USES + 1);
	size_t n = 0;

	struct ws_row_key *order = ws_arena_array(p->tab->temp, p->m->ntexts, sizeof(*order));
	for (uint32_t i = 0; i < p->m->ntexts; i++)
		if (w.class_ns[i])
			order[n++] = (struct ws_row_key){.number = {WS_DESCENDING(w.class_ns[i])},
			                                 .text = {p->m->texts[i]},
			                                 .row = i};
	ws_row_keys_sort(order, n);
	for (size_t i = 0; i < n; i++) {
		const uint32_t class = (uint32_t)order[i].row;

		add_segment(p,
		            (struct ws_page_segment){.name = ws_page_class_of(p, class),
		                                     .ns = w.class_ns[class],
		                                     .is_class = true,
		                                     .colour = ws_page_colour_of_class(p, class)});
	}
	add_segment(p, (struct ws_page_segment){.name = "CUDA graphs",
	                                        .ns = w.graph_ns,
	                                        .colour = WS_PAGE_GREY});

	/* Adds the exposed time of communication and copies, then idle time by cause. */
	const int64_t *ns = p->idle->all.ns;
	enum ws_use by_time[WS_USES];

	for (int use = WS_USE_COLLECTIVE; use <= WS_USE_COPY; use++) {
		struct ws_page_segment s = segment_of_use((enum ws_use)use, ns[use]);

		s.hidden_ns = w.overlapping_ns[use - WS_USE_COLLECTIVE] - s.ns;
		/* page migrations are copies too, but have their own segment */
		if (s.hidden_ns < 0 || (use == WS_USE_COPY && ns[WS_USE_PAGING]))
			s.hidden_ns = 0;
		add_segment(p, s);
	}
	ws_uses_by_time(&p->idle->all, by_time);
	for (int i = 0; i < WS_USES; i++)
		if (by_time[i] > WS_USE_COPY)
			add_segment(p, segment_of_use(by_time[i], ns[by_time[i]]));

	/* With several devices, adds one bar per device: some may wait for the others. */
	if (p->idle->nworked > 1)
		WS_NEW(p->texts, p->page->devices, p->idle->ndevices);
	for (uint32_t d = 0; d < p->idle->ndevices && p->idle->nworked > 1; d++) {
		const struct ws_device_use *use = &p->idle->device[d];
		struct ws_page_device *out = &p->page->devices[p->page->ndevices];

		if (!use->window_ns)
			continue;
		p->page->ndevices++;
		out->name = ws_arena_format(p->texts, "GPU %" PRIu64, p->m->devices[d].id);
		WS_NEW(p->texts, out->segment, WS_USES);
		for (int u = 0; u < WS_USES; u++) {
			struct ws_page_segment s = segment_of_use((enum ws_use)u, use->ns[u]);

			s.percent = ws_stat_percent((double)s.ns, (double)use->window_ns);
			if (s.ns)
				out->segment[out->nsegments++] = s;
		}
	}
	add_steps(p);
}

/* --- how long kernels take -------------------------------------------------------------------- */

/* Bins: less than 100 ns, then three per decade (100, 200, 500 ns …), up to some hours. */
#define DURATION_BINS  40
#define DURATION_LEAST 2 /* the power of ten of the first bin */

/* --- where in the model ---------------------------------------------------------------------- */

#define LEAST_PERCENT 0.1  /* smaller boxes are merged with their neighbours */
#define WHOLE_SHARE   0.97 /* of a box's time; see page->whole \ */

enum kind { KIND_RANGE, KIND_NONE, KIND_OP, KIND_CLASS, KIND_KERNEL };

/* A box before the layout. */
struct box {
	uint32_t parent; /* WS_NONE */
	uint32_t name;   /* index of a text; for a range the text of its first path */
	uint32_t path;   /* first path of a range; WS_NONE for other boxes */
	bool is_step;
	const char *rolled;
	uint64_t folded, calls, kernels;
	int64_t inclusive_ns, exclusive_ns, flops; /* flops: -1 if no operation has a number */
	int64_t backward_ns; /* part of inclusive_ns: backward work of its forward operations */
	int64_t colour_ns[WS_PAGE_NCOLOURS];
};

struct tree {
	struct ws_page_making *p;
	struct box *box;
	size_t n, capacity;
	struct ws_strtab known; /* parent, kind and name -> box, from 1 */
	uint32_t *of_path;      /* path -> box */
	uint8_t *is_elsewhere;  /* by path: 1 if the box of the range, or of a range around it, is
	                           not below the parent of its path */
	bool has_ranges;
};

/* The box of a key; it is added if it is new. The key begins with the parent. */
static struct box *box_of(struct tree *t, const void *key, size_t len, uint32_t *number)
{
	const uint64_t id = ws_strtab_add(&t->known, key, len);

	*number = (uint32_t)id - 1;
	if (id > t->n) {
		WS_GROW(t->box, id, t->capacity);
		t->box[t->n++] = (struct box){.parent = *(const uint32_t *)key,
		                              .path = WS_NONE,
		                              .flops = -1};
	}
	return &t->box[*number];
}

/* The box of an operation, class or kernel with this text. */
static uint32_t box_of_text(struct tree *t, uint32_t parent, enum kind kind, uint32_t text)
{
	const uint32_t key[] = {parent, kind, text};
	uint32_t number;
	struct box *b = box_of(t, key, sizeof(key), &number);

	if (b->rolled)
		return number;
	b->name = text;
	b->rolled = kind == KIND_CLASS  ? ws_page_class_of(t->p, text)
	            : kind == KIND_NONE ? "(in no range)"
	                                : ws_page_name_of(t->p, text);
	return number;
}

static uint32_t make_range_box(struct tree *t, uint32_t i, uint32_t parent)
{
	const struct ws_path *path = &t->p->m->ranges.paths[i];
	char *rolled;
	/* Numbers are replaced only after a separator, as in the rule for a whole path. */
	char **out = &rolled;
	struct ws_bytes text = t->p->m->texts[path->name];
	char *slash = ws_arena_alloc(t->p->tab->temp, text.len + 1);

	slash[0] = '/';
	memcpy(slash + 1, text.ptr, text.len);
	*out = ws_arena_alloc(t->p->tab->temp, text.len + 1);
	size_t len = ws_name_roll_up((struct ws_bytes){slash, text.len + 1}, *out);
	char *key = ws_arena_alloc(t->p->tab->temp, 4 + len);

	memcpy(key, &parent, 4);
	memcpy(key + 4, rolled, len);
	struct box *box = box_of(t, key, 4 + len, &t->of_path[i]);
	if (!box->folded) {
		box->path = i;
		box->name = path->name;
		box->rolled = ws_page_copy(t->p->texts, rolled + 1, len - 1);
	}
	t->is_elsewhere[i] = (path->parent == WS_NONE) != (parent == WS_NONE) ||
	                     (path->parent != WS_NONE && t->is_elsewhere[path->parent]);
	box->folded += t->is_elsewhere[i] ==
	               t->is_elsewhere[box->path]; /* otherwise it is not a repeated layer */
	return t->of_path[i];
}

/* --- names ------------------------------------------------------------------------------------ */

/* Length of the name without the number at its end and the separator before it. */
static size_t without_number(const char *name, size_t len)
{
	size_t at = len;

	while (at && ((name[at - 1] >= '0' && name[at - 1] <= '9') || name[at - 1] == '*'))
		at--;
	if (at == len || !at || !strchr("_ .#:-", name[at - 1]))
		return len;
	while (at && strchr("_ .#:-", name[at - 1]))
		at--;
	return at ? at : len;
}

/* --- in the order of the page ----------------------------------------------------------------- */

struct laying {
	const struct tree *t;
	struct ws_row_key *order; /* by parent, then longest first */
	size_t *first;            /* by box + 1: its first child in `order`; [0]: outermost boxes */
	int64_t least_ns;
};

static void set_node(const struct tree *t, size_t parent, const struct box *b)
{
	struct ws_page *page = t->p->page;
	struct ws_page_node *up = parent == WS_PAGE_ROOT ? NULL : &page->node[parent];
	const char *label = b->rolled;
	size_t len = strlen(label);
	int most = 0; /* the colour with the most time */

	if (b->path != WS_NONE && b->folded > 1) {
		label = ws_arena_format(t->p->texts, "%.*s ×%llu", (int)without_number(label, len),
		                        label, (unsigned long long)b->folded);
	} else if (b->path != WS_NONE) {
		/* a number stays if it is the same in all boxes */
		label = ws_page_text_of(t->p, b->name);
		len = strlen(label);
		if (t->p->m->ranges.paths[b->path].domain == WS_TEXT_MODULE_DOMAIN ||
		    (len > 2 && label[len - 1] == '*'))
			len = without_number(label, len);
		label = ws_arena_copy(t->p->texts, label, len);
	}
	for (int c = 1; c < WS_PAGE_NCOLOURS; c++)
		if (b->colour_ns[c] > b->colour_ns[most])
			most = c;
	page->node[page->nnodes++] = (struct ws_page_node){
	        .parent = parent,
	        .label = label,
	        .path = up ? ws_arena_format(t->p->texts, "%s/%s", up->path, b->rolled) : b->rolled,
	        .depth = up ? up->depth + 1 : 0,
	        .folded = b->folded ? b->folded : 1,
	        .inclusive_ns = b->inclusive_ns,
	        .backward_ns = b->backward_ns,
	        .exclusive_ns = b->exclusive_ns,
	        .calls = b->calls,
	        .kernels = b->kernels,
	        .flops = b->flops,
	        .colour = (enum ws_page_colour)most,
	        .is_step = b->is_step,
	        .is_range = b->path != WS_NONE,
	        .counterpart = WS_PAGE_ROOT,
	        .whole = WS_PAGE_ROOT};
	if (up && (double)b->inclusive_ns >= WHOLE_SHARE * (double)up->inclusive_ns)
		up->whole = page->nnodes - 1;
}

/* Lays out the children of a box (WS_NONE: outermost boxes). Recursion depth is at most 512, the
 * limit of nested ranges. */
static void lay(const struct laying *l, uint32_t of, size_t parent)
{
	const struct tree *t = l->t;
	struct box rest = {.flops = -1};
	size_t nrest = 0;

	for (size_t i = l->first[(uint32_t)(of + 1)]; i < l->first[(uint32_t)(of + 1) + 1]; i++) {
		const uint32_t number = (uint32_t)l->order[i].row;
		const struct box *b = &t->box[number];

		if (!b->inclusive_ns)
			continue;
		if (b->inclusive_ns < l->least_ns) {
			rest.inclusive_ns += b->inclusive_ns;
			rest.exclusive_ns += b->inclusive_ns;
			rest.kernels += b->kernels;
			for (int c = 0; c < WS_PAGE_NCOLOURS; c++)
				rest.colour_ns[c] += b->colour_ns[c];
			nrest++;
			continue;
		}
		set_node(t, parent, b);
		lay(l, number, t->p->page->nnodes - 1);
	}
	if (nrest) {
		/* Adds one box for all that are too small. */
		struct box b = rest;

		b.path = WS_NONE;
		b.parent = of;
		b.rolled = ws_arena_format(t->p->texts, "(%zu more)", nrest);
		set_node(t, parent, &b);
		t->p->page->node[t->p->page->nnodes - 1].is_rest = true;
	}
}

/* Graphs that were traced as a whole are GPU time of which no part is known. */
static void add_graphs(const struct tree *t)
{
	struct ws_page *page = t->p->page;
	const struct box b = {.path = WS_NONE,
	                      .parent = WS_NONE,
	                      .rolled = "CUDA graphs",
	                      .inclusive_ns = page->graph_ns,
	                      .exclusive_ns = page->graph_ns,
	                      .flops = -1};

	set_node(t, WS_PAGE_ROOT, &b);
	page->node[page->nnodes - 1].label = b.rolled;
	page->node[page->nnodes - 1].colour = WS_PAGE_GREY;
	page->node[page->nnodes - 1].is_rest = true;
}

static void add_tree(struct ws_page_making *p)
{
	struct tree t = {.p = p};
	struct laying l = {.t = &t};
	struct ws_page *page = p->page;
	const struct ws_model *m = p->m;
	uint8_t *is_step;  /* by path */
	uint32_t *of_step; /* by step: its path or WS_NONE */
	struct ws_joined_rows *rows = p->sel->rows;

	WS_NEW(p->tab->temp, t.of_path, m->ranges.npaths);
	WS_NEW(p->tab->temp, t.is_elsewhere, m->ranges.npaths);
	WS_NEW(p->tab->temp, is_step, m->ranges.npaths);
	WS_NEW(p->tab->temp, of_step, m->nsteps + 1);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		const struct ws_joined_range *r =
		        ws_joined_rows_range(p->sel->rows, m->steps[s].range);

		of_step[s] = r ? r->context->path : WS_NONE;
		if (r)
			is_step[r->context->path] = 1;
	}
	/* Make the boxes of ranges, parents before children. In a report about steps all work is
	 * shown below the steps. So outermost ranges that cross a step's end or belong to another
	 * thread become children of the steps, and so do steps that began in such a range. */
	const struct ws_ranges *ranges = &m->ranges;
	uint32_t root = WS_NONE;
	bool some = false;

	for (uint32_t i = 0; i < ranges->npaths; i++)
		some |= is_step[i] && ranges->paths[i].parent == WS_NONE;
	some &= p->sel->scope == WS_SCOPE_STEPS && !p->page->has_host_ranges;
	for (uint32_t i = 0; i < ranges->npaths && some; i++)
		if (is_step[i])
			root = make_range_box(&t, i, WS_NONE);
	if (t.n > 1)
		root = WS_NONE; /* steps with different names */
	for (uint32_t i = 0; i < ranges->npaths; i++)
		if (!some || !is_step[i])
			make_range_box(&t, i,
			               ranges->paths[i].parent == WS_NONE
			                       ? root
			                       : t.of_path[ranges->paths[i].parent]);
	for (uint32_t i = 0; i < m->ranges.npaths; i++)
		t.box[t.of_path[i]].is_step |= is_step[i];
	t.has_ranges = t.n > 0;
	p->page->gpu_ns = p->sel->gpu_ns;
	for (size_t i = 0; i < m->nwork; i++)
		if (m->work[i].kind == WS_WORK_GRAPH && ws_work_ran(p->sel, m, i))
			p->page->graph_ns += m->work[i].dur_ns;
	if (p->page->has_host_ranges) {
		/* Adds the host's time of each range, and the number of ranges. Own time is the
		 * time outside its inner ranges. */
		WS_EACH_RANGE(rows, i, r) {
			const uint32_t path = r->context->path, up = m->ranges.paths[path].parent;
			const int64_t ns = r->end_ns - r->start_ns;

			if (!ws_range_selected(m, p->sel, r, i))
				continue;
			page->host_ranges++;
			t.box[t.of_path[path]].exclusive_ns += ns;
			t.box[t.of_path[path]].colour_ns[WS_PAGE_GREY] += ns;
			if (up == WS_NONE)
				page->gpu_ns += ns;
			else
				t.box[t.of_path[up]].exclusive_ns -= ns;
		}
	} else {
		const struct ws_selection *sel = p->sel;

		WS_EACH_KERNEL(sel->rows, i, k) {
			if (!k->kind->timed || !ws_kernel_selected(m, sel, k, i))
				continue;
			uint32_t path = k->range != WS_NONE ? k->kind->path : WS_NONE, at;

			if (path == WS_NONE && k->step != WS_NONE)
				path = of_step[k->step]; /* by another thread */
			at = path == WS_NONE ? WS_NONE : t.of_path[path];
			if (at == WS_NONE && t.has_ranges)
				at = box_of_text(&t, WS_NONE, KIND_NONE, 0);
			if (k->cpu_op != WS_NONE && m->cpu_ops.tree.n)
				at = box_of_text(&t, at, KIND_OP, m->cpu_ops.tree.name[k->cpu_op]);
			else if (path == WS_NONE || is_step[path]) {
				at = box_of_text(&t, at, KIND_CLASS, k->kind->class);
				at = box_of_text(&t, at, KIND_KERNEL,
				                 m->configs[k->kind->config].name);
			}
			t.box[at].exclusive_ns += k->dur_ns;
			/* Whether an operation is the backward pass of another. It is shown in the
			 * ranges of that other operation. */
			if (k->cpu_op != WS_NONE && k->cpu_op < m->cpu_ops.tree.n &&
			    m->cpu_ops.phase && m->cpu_ops.phase[k->cpu_op] == WS_PHASE_BACKWARD)
				t.box[at].backward_ns += k->dur_ns;
			t.box[at].kernels++;
			t.box[at].colour_ns[ws_page_colour_of_class(p, k->kind->class)] +=
			        k->dur_ns;
		}
	}
	WS_EACH_RANGE(rows, i, r)
		if (ws_range_selected(m, p->sel, r, i))
			t.box[t.of_path[r->context->path]].calls++;
	struct ws_cost_ops *costs = ws_cost_ops_find(m, p->sel);

	for (size_t i = 0; i < costs->n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(costs, i);
		int64_t *flops = op.path == WS_NONE ? NULL : &t.box[t.of_path[op.path]].flops;

		if (flops && op.flops >= 0)
			*flops = op.flops + (*flops < 0 ? 0 : *flops);
	}
	/* children come after their parents */
	for (size_t i = 0; i < t.n; i++)
		t.box[i].inclusive_ns = t.box[i].exclusive_ns;
	for (size_t i = t.n; i-- > 0;) {
		const struct box *b = &t.box[i];
		struct box *up = b->parent == WS_NONE ? NULL : &t.box[b->parent];

		if (!up)
			continue;
		up->inclusive_ns += b->inclusive_ns;
		up->backward_ns += b->backward_ns;
		up->kernels += b->kernels;
		if (b->flops >= 0)
			up->flops = b->flops + (up->flops < 0 ? 0 : up->flops);
		for (int c = 0; c < WS_PAGE_NCOLOURS; c++)
			up->colour_ns[c] += b->colour_ns[c];
	}
	l.least_ns = (int64_t)ceil((double)p->page->gpu_ns * LEAST_PERCENT / 100);
	size_t n = 0;

	WS_NEW(p->tab->temp, l.order, t.n);
	WS_NEW(p->tab->temp, l.first, t.n + 2);
	for (size_t i = 0; i < t.n; i++) {
		const struct box *b = &t.box[i];

		l.order[n++] = (struct ws_row_key){.number = {(uint64_t)(uint32_t)(b->parent + 1),
		                                              WS_DESCENDING(b->inclusive_ns)},
		                                   .text = {ws_bytes_of(b->rolled)},
		                                   .tie = {i},
		                                   .row = i};
		l.first[(uint32_t)(b->parent + 1) + 1]++;
	}
	for (size_t i = 1; i < t.n + 2; i++)
		l.first[i] += l.first[i - 1];
	ws_row_keys_sort(l.order, n);
	WS_NEW(p->texts, p->page->node, 2 * t.n + 2);
	if (p->page->graph_ns > p->page->gpu_ns)
		add_graphs(&t);
	lay(&l, WS_NONE, WS_PAGE_ROOT);
	if (p->page->graph_ns && p->page->graph_ns <= p->page->gpu_ns)
		add_graphs(&t);
	/* titles */
	bool modules = false, layers = false;

	for (size_t i = 0; i < page->nnodes; i++)
		layers |= page->node[i].folded > 1;
	for (size_t i = 0; i < m->ranges.npaths; i++)
		modules |= m->ranges.paths[i].domain == WS_TEXT_MODULE_DOMAIN;
	page->tree_title = t.has_ranges && !page->has_host_ranges ? "Where in the model"
	                                                          : "Where in the program";
	if (t.has_ranges && page->lost_events)
		page->tree_title = ws_arena_format(
		        p->texts, "Where in the model (incomplete: %s range events were lost)",
		        ws_say_number(p->texts, (double)page->lost_events));
	page->tree_what =
	        ws_arena_format(p->texts, "%s time%s by %s%s; click to zoom", ws_page_work(page),
	                        page->ndevices > 1
	                                ? ws_arena_format(p->texts, " summed over %zu GPUs",
	                                                  page->ndevices)
	                                : "",
	                        modules             ? "module"
	                        : t.has_ranges      ? "range"
	                        : m->cpu_ops.tree.n ? "operation"
	                                            : "class and kernel",
	                        layers ? "; equal layers are one" : "");
	ws_strtab_free(&t.known);
	free(t.box);
}

/* --- operations ------------------------------------------------------------------------------ */

#define MOST_OPERATIONS 10

struct operation {
	uint64_t calls;
	int64_t self_ns, total_ns; /* total: with the operations inside it, as its FLOPs are */
	int64_t flops;
	bool flops_unknown;
	uint32_t class;
};

struct operations {
	struct ws_page_making *p;
	struct operation *by_name; /* by text */
	int64_t *self_ns;          /* by operation */
	int64_t all_ns;
};

/* Mean time of the measured steps. Without steps: the time from the first record to the last. */
static double find_step_ns(const struct ws_page_making *p)
{
	int64_t sum = 0;

	if (!p->page->has_steps)
		return (double)(p->m->end_ns - p->m->begin_ns);
	for (uint32_t i = 0; i < p->m->nsteps; i++)
		if (ws_step_selected(p->m, p->sel, i))
			sum += p->m->steps[i].total_ns;
	return (double)sum / p->page->samples;
}

/* Adds operations. They are shown instead of kernels if no kernel was recorded. */
static void add_operations(struct ws_page_making *p)
{
	const struct ws_model *m = p->m;
	struct operations s = {.p = p};
	size_t n = 0;

	WS_NEW(p->tab->temp, s.by_name, m->ntexts);
	WS_NEW(p->tab->temp, s.self_ns, m->cpu_ops.tree.n);
	struct ws_row_key *order = ws_arena_array(p->tab->temp, m->ntexts, sizeof(*order));
	WS_NEW(p->texts, p->page->kernel, MOST_OPERATIONS);
	/* Own time of operations, without the operations inside them. Parents come before
	 * children. */
	const struct ws_op_tree *tree = &s.p->m->cpu_ops.tree;

	for (size_t i = 0; i < tree->n; i++) {
		const int64_t ns = tree->end_ns[i] - tree->start_ns[i];

		s.self_ns[i] += ns;
		if (tree->parent[i] != WS_NONE)
			s.self_ns[tree->parent[i]] -= ns;
	}
	for (uint32_t i = 0; i < tree->n; i++) {
		const struct ws_op_config *config = ws_cpu_op_config(m, i);
		struct operation *to = &s.by_name[tree->name[i]];

		if (p->page->has_steps &&
		    !ws_step_selected(m, p->sel, ws_step_of_op(m, p->sel->rows, i)))
			continue;
		to->calls++;
		to->self_ns += s.self_ns[i];
		to->total_ns += tree->end_ns[i] - tree->start_ns[i];
		to->class = config->kind;
		to->flops_unknown |= config->flops < 0;
		to->flops += config->flops > 0 ? config->flops : 0;
		s.all_ns += s.self_ns[i];
	}
	for (uint32_t i = 0; i < m->ntexts; i++)
		if (s.all_ns > 0 && s.by_name[i].calls)
			order[n++] =
			        (struct ws_row_key){.number = {WS_DESCENDING(s.by_name[i].self_ns)},
			                            .text = {m->texts[i]},
			                            .row = i};
	ws_row_keys_sort(order, n);
	for (size_t i = 0; i < n && i < MOST_OPERATIONS; i++) {
		const uint32_t name = order[i].row;
		struct ws_page *page = s.p->page;
		const struct operation *from = &s.by_name[name];
		const char *text = ws_page_text_of(s.p, name);

		page->kernel[page->nkernels++] = (struct ws_page_kernel){
		        .name = text,
		        .full_name = text,
		        .class = ws_page_class_of(s.p, from->class),
		        .colour = ws_page_colour_of_class(s.p, from->class),
		        .calls = from->calls,
		        .ns = from->self_ns,
		        .percent = ws_stat_percent((double)from->self_ns, (double)s.all_ns),
		        .mean_ns = ws_stat_ratio((double)from->self_ns, (double)from->calls),
		        .flops_per_s = from->flops_unknown || !from->flops
		                               ? NAN
		                               : 1e9 * ws_stat_ratio((double)from->flops,
		                                                     (double)from->total_ns),
		        .attained = NAN};
	}
	p->page->more_kernels = n > MOST_OPERATIONS ? n - MOST_OPERATIONS : 0;
	p->page->has_operations = n > 0;
	p->page->step_ns = find_step_ns(p);
}

/* --- the roofline ---------------------------------------------------------------------------- */

#define LEAST_ROOF_PERCENT 0.5
#define LABELS             6
#define MOST_ROOFS         4

/* Adds one line for each peak rate that the shown operations can reach. */
static void add_roof(struct ws_page_making *p, double flops_per_s, double bytes_per_s,
                     const char *name)
{
	struct ws_page *page = p->page;

	for (size_t i = 0; i < page->nroofs; i++)
		if (page->roof[i].flops_per_s == flops_per_s &&
		    page->roof[i].bytes_per_s == bytes_per_s)
			return;
	if (page->nroofs < MOST_ROOFS)
		page->roof[page->nroofs++] = (struct ws_page_roof){name, flops_per_s, bytes_per_s};
}

/* --- kernels that cost most ------------------------------------------------------------------ */

#define MOST_KERNELS 10

static void add_kernels(struct ws_page_making *p)
{
	const struct ws_model *m = p->m;
	struct ws_page *page = p->page;
	struct ws_ranking by_name;
	uint32_t *class, *config_of; /* those of the cell with the largest time */

	WS_NEW(p->tab->temp, class, m->ntexts);
	WS_NEW(p->tab->temp, config_of, m->ntexts);
	int64_t *most_ns = ws_arena_array(p->tab->temp, m->ntexts, sizeof(*most_ns));
	WS_NEW(p->texts, page->kernel, MOST_KERNELS);
	ws_digest_rank(p->tab, ws_digest_name, &by_name);
	const struct ws_digest *d = p->tab->digest;

	for (size_t i = 0; i < d->ncells; i++) {
		const struct ws_digest_cell *cell = &d->cells[i];
		const struct ws_config *config = &m->configs[cell->config];

		if (cell->total_ns < most_ns[config->name] && config_of[config->name])
			continue;
		most_ns[config->name] = cell->total_ns;
		config_of[config->name] = cell->config;
		class[config->name] = ws_digest_class(m, cell);
	}
	for (size_t i = 0; i < by_name.n && i < MOST_KERNELS; i++) {
		const uint32_t name = (uint32_t)by_name.order[i].row;
		const struct ws_group *g = &by_name.groups[name];
		const struct ws_config *largest = &m->configs[config_of[name]];
		double rate = NAN, attained = NAN;

		if (d->flops && !d->flops_unknown[name] && !g->without_time)
			rate = 1e9 * ws_stat_ratio((double)d->flops[name], (double)g->time.sum);
		if (ws_class_is_product(class[name])) {
			/* Percent of the roof of the dtype. The bytes of other kernels are not
			 * known. */
			struct ws_roof roof;

			ws_roof_find(m, largest->device, class[name], largest -> name_dtype,
			             largest -> tensor, &roof);
			attained = 100 * ws_stat_ratio(rate, roof.flops_per_s);
			attained = attained > 100 ? NAN : attained;
		}

		page->kernel[page->nkernels++] = (struct ws_page_kernel){
		        .name = ws_page_name_of(p, name),
		        .full_name = ws_page_text_of(p, name),
		        .class = ws_page_class_of(p, class[name]),
		        .colour = ws_page_colour_of_class(p, class[name]),
		        .calls = g->time.n + g->without_time,
		        .ns = g->time.sum,
		        .percent = ws_stat_percent((double)g->time.sum, ws_page_gpu_ns(page)),
		        .mean_ns = ws_stat_ratio((double)g->time.sum, (double)g->time.n),
		        .flops_per_s = rate,
		        .attained = attained};
	}
	page->more_kernels = by_name.n > MOST_KERNELS ? by_name.n - MOST_KERNELS : 0;
}

/* --- the grey line --------------------------------------------------------------------------- */

struct lost {
	uint64_t causes, most_events;
	struct ws_bytes cause; /* cause of most_events */
	uint64_t events;       /* lost ranges and marks */
	uint64_t unknown;      /* records of an unknown kind */
	uint64_t merged;       /* device work whose process is not known */
	uint64_t most_records; /* largest loss by one cause among records that a report needs */
	struct ws_bytes most_records_cause;
	bool is_killed;
	const char *uncounted; /* name of a source that does not count its losses, or NULL */
};

static void count_lost(void *ctx, const struct ws_missing *missing)
{
	struct lost *lost = ctx;

	if (!missing->count)
		return;
	if (ws_bytes_begin(missing->cause, "processes killed"))
		lost->is_killed = true;
	else if (ws_bytes_begin(missing->cause, "profiles without a loss counter"))
		lost->uncounted = "losses unknown: the profiler does not count them";
	else if (ws_bytes_begin(missing->cause, "recordings without a loss counter"))
		lost->uncounted = "losses are not counted";
	else if (strcmp(missing->source, "join") !=
	         0) { /* this work is in the report, only without a range */
		if (missing->count > lost->most_events) {
			lost->most_events = missing->count;
			lost->cause = missing->cause;
		}
		lost->causes++;
		if (ws_missing_is_of_records(missing) && missing->count > lost->most_records) {
			lost->most_records = missing->count;
			lost->most_records_cause = missing->cause;
		}
	}
	if (ws_name_is(missing->cause, "import_unknown_kind"))
		lost->unknown = missing->count;
	if (ws_name_is(missing->cause, "import_merged_ranks"))
		lost->merged = missing->count;
	if (ws_name_is(missing->cause, "ring_overflow") ||
	    ws_name_is(missing->cause, "thread_without_ring"))
		lost->events += missing->count;
}

static void add_grey_line(struct ws_page_making *p)
{
	const struct ws_selection *sel = p->sel;
	struct ws_page *page = p->page;
	const struct ws_model *m = p->m;
	const struct ws_bytes file = ws_name_of_file(ws_bytes_of(m->name ? m->name : ""));

	page->title = ws_arena_copy(p->texts, file.ptr, file.len);
	/* "2 × NVIDIA H100": the devices that ran kernels, equal ones counted together. NULL:
	 * unknown. */
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
	page->device = all;
	/* The program; if unknown, the recorder. */
	const struct ws_bytes model = ws_model_fact(m, "model"), dtype = ws_model_fact(m, "dtype");
	const struct ws_bytes arguments = ws_meta_value(&m->meta, "program.arguments");
	struct ws_bytes source = ws_meta_value(&m->meta, "import.source");
	const char *word = arguments.ptr, *end = word + arguments.len, *stop;

	if (model.len)
		page->source = ws_arena_format(p->texts, "%.*s%s%.*s", WS_SHOWN(model),
		                               dtype.len ? " " : "", WS_SHOWN(dtype));
	/* "train.py": the Python script, which is the first argument that ends in ".py" */
	for (; word < end && !source.len; word = stop + 1) {
		stop = memchr(word, ' ', (size_t)(end - word));
		stop = stop ? stop : end;
		if (stop - word > 3 && !memcmp(stop - 3, ".py", 3))
			source = ws_name_of_file((struct ws_bytes){word, (size_t)(stop - word)});
	}
	if (!source.len)
		source = ws_meta_value(&m->meta, "program.path");
	if (!model.len)
		page->source = source.len ? ws_arena_copy(p->texts, source.ptr, source.len) : NULL;
	/* "6 measured steps; device 0" */
	const char *apart = ws_steps_apart_words(m, p->texts);
	const char *behind = sel->words[0] ? ws_arena_format(p->texts, "; %s", sel->words) : "";
	const size_t nrepeating = ws_steps_repeating(m);
	const char *out = "", *repeating = "";
	const char *cut = "";               /* ", without step 7, which was cut off" */
	size_t unsound = 0, unfinished = 0; /* unsound: with impossible times */
	uint32_t number = 0;

	for (size_t i = 0; i < m->nsteps; i++) {
		const struct ws_model_step *step = &m->steps[i];

		unsound += step->unsound && !step->warm_up;
		unfinished += step->unfinished && !step->warm_up;
		number = step->unfinished && !step->warm_up ? step->number : number;
	}
	if (unfinished == 1 && !sel->has_steps)
		cut = ws_arena_format(p->texts, ", without step %" PRIu32 ", which was cut off",
		                      number);
	else if (unfinished && !sel->has_steps)
		cut = ws_arena_format(p->texts, ", without %zu that were cut off", unfinished);
	if (unsound)
		out = ws_arena_format(p->texts, ", %zu left out", unsound);
	if (nrepeating)
		repeating = ws_arena_format(p->texts, ", %zu with the operations of another step",
		                            nrepeating);
	if (sel->scope == WS_SCOPE_STEPS && sel->measured)
		page->scope = ws_arena_format(p->texts, "%s measured %s%s%s%s%s%s%s",
		                              ws_say_number(p->texts, (double)sel->measured),
		                              sel->measured == 1 ? "step" : "steps", cut, out,
		                              repeating, *apart ? "; " : "", apart, behind);
	else if (sel->scope == WS_SCOPE_ALL && !sel->measured)
		page->scope = ws_arena_format(p->texts, "the whole trace: no steps %s%s",
		                              unsound || unfinished ? "measured" : "found", behind);
	else
		page->scope = ws_arena_format(p->texts, "%s%s", sel->scope_words, behind);
	/* "lost: 2,657 (ring overflow) and 1 more kind, see Losses" */
	struct lost lost = {0};
	const char *more = "";

	ws_missing_each(m, count_lost, &lost);
	page->lost_events = lost.events;
	page->unknown_records = lost.unknown;
	page->merged_records = lost.merged;
	page->lost_records = lost.most_records;
	page->most_lost = lost.most_records ? ws_page_copy(p->texts, lost.most_records_cause.ptr,
	                                                   lost.most_records_cause.len)
	                                    : NULL;
	const char *killed = lost.is_killed ? "the program was killed; " : "";
	page->losses = ws_arena_format(p->texts, "%s%s", killed,
	                               lost.uncounted ? lost.uncounted : "nothing lost");
	if (lost.causes) {
		char *cause = ws_arena_copy(p->texts, lost.cause.ptr, lost.cause.len);
		for (char *c = cause; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		if (lost.causes > 1)
			more = ws_arena_format(p->texts, " and %" PRIu64 " more %s",
			                       lost.causes - 1,
			                       lost.causes == 2 ? "kind" : "kinds");
		page->losses =
		        ws_arena_format(p->texts, "%slost: %s (%s)%s, see Losses", killed, cause,
		                        ws_say_number(p->texts, (double)lost.most_events), more);
	}
	page->has_steps = sel->measured > 0 && !ws_is_of_all(sel);
	page->samples = page->has_steps ? (double)sel->measured : 1;
	page->on_cpu = ws_model_on_cpu(m) == 1;
}

/* Both sides of a comparison are on one page. */
#define SIDE_BOXES (WS_PAGE_BOXES / 2)

struct ws_page *ws_page_make_side(const struct ws_model *m, struct ws_joined_rows *rows)
{
	struct ws_arena temp = {0};
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_selection sel = {0};
	const struct ws_table_context tab = {.m = m, .sel = &sel, .temp = &temp};
	struct ws_page *page = ws_xarray(1, sizeof(*page));
	struct ws_page_making p = {&tab, &tab, m, &sel, page, &page->arena, SIDE_BOXES, NULL, NULL};

	filter.scope = WS_SCOPE_STEPS;
	ws_select_rows(m, rows, &filter, &sel);
	const struct ws_windows *windows = ws_windows(m, &sel); /* released with sel */
	const size_t nsteps = windows->n;
	const struct ws_time_window *median = nsteps ? ws_windows_median(windows) : NULL;
	if (median && median->step != WS_NONE) {
		/* all parts of the page are about this step and add up to it */
		filter.step_first = filter.step_last = m->steps[median->step].number;
		ws_selection_release(&sel);
		sel = (struct ws_selection){0};
		ws_select_rows(m, rows, &filter, &sel);
	}
	add_grey_line(&p);
	add_bar(&p);
	add_tree(&p);
	if (p.windows && p.windows->n) { /* of device work: there is one window */
		ws_page_add_timeline(&p, -1, NULL);
		if (page->timeline && nsteps > 1)
			page->timeline->title =
			        ws_arena_format(&page->timeline->arena,
			                        "%s, the median of %zu measured steps",
			                        page->timeline->title, nsteps);
	}
	ws_arena_free(&temp);
	ws_selection_release(&sel);
	return page;
}

enum ws_status ws_page_make(const struct ws_table_context *tab, struct ws_page **out,
                            struct ws_err *err)
{
	struct ws_arena temp = {0};
	struct ws_table_context with_temp = *tab;
	struct ws_page *page = ws_xarray(1, sizeof(*page));
	struct ws_page_making p = {tab,          &with_temp,    tab->m, tab->sel, page,
	                           &page->arena, WS_PAGE_BOXES, NULL,   NULL};
	enum ws_status status = WS_OK;

	with_temp.temp = &temp;
	add_grey_line(&p);

	/* The page is about one step, so that its parts add up. */
	const struct ws_table_context *median =
	        page->has_steps ? ws_median_step(&with_temp) : &with_temp;

	if (median != &with_temp) {
		with_temp.sel = p.sel = median->sel;
		with_temp.digest = median->digest;
		page->samples = 1;
	}
	add_bar(&p);
	/* Whether a trace has only ranges: no device work and no operations of a framework. */
	page->has_host_ranges = !ws_model_has_kernels(p.m) && !p.m->nwork && !p.m->cpu_ops.tree.n &&
	                        p.sel->rows->nranges;
	if (page->has_host_ranges)
		page->step_ns = find_step_ns(&p);
	add_tree(&p);

	/* the roofline */
	const struct ws_cost_groups *groups = ws_cost_groups_find(p.m, p.sel);

	struct ws_row_key *order = ws_arena_array(p.tab->temp, groups->n, sizeof(*order));
	WS_NEW(p.texts, p.page->point, groups->n);
	WS_NEW(p.texts, p.page->roof, MOST_ROOFS);
	size_t n = ws_cost_groups_order(p.m, groups, order);
	for (size_t i = 0; i < n; i++) {
		const struct ws_cost_group *g = &groups->group[order[i].row];
		const double percent = ws_stat_percent((double)g->gpu_ns, ws_page_gpu_ns(page));
		const char *dtype = ws_page_text_of(&p, g->dtype);
		const struct ws_attained a = ws_cost_group_attained(p.m, g);

		if (!(percent >= LEAST_ROOF_PERCENT) || !(a.intensity > 0) || !(a.seconds > 0))
			continue;
		const bool tensor = ws_class_is_product(g->class) && g->tensor != WS_TENSOR_NO;

		if (a.roof.flops_per_s > 0 && a.roof.bytes_per_s > 0) {
			const char *flops = ws_say_si(p.texts, a.roof.flops_per_s, "FLOP/s");
			const char *bytes = ws_say_si(p.texts, a.roof.bytes_per_s, "B/s");

			/* work other than matrix products is bound by memory */
			if (ws_class_is_product(g->class))
				add_roof(&p, a.roof.flops_per_s, 0,
				         ws_arena_format(p.texts, "%s %s%s%s", flops,
				                         tensor ? "dense " : "", dtype,
				                         a.roof.unconfirmed ? " (not confirmed)"
				                                            : ""));
			add_roof(&p, 0, a.roof.bytes_per_s,
			         ws_arena_format(p.texts, "%s memory", bytes));
		}
		page->point[page->npoints] = (struct ws_page_point){
		        .name = ws_page_name_of(&p, g->name ? g->name : g->class),
		        .dtype = dtype,
		        .intensity = a.intensity,
		        .flops_per_s = a.flops / a.seconds,
		        .gpu_ns = g->gpu_ns,
		        .percent = percent,
		        /* above the roof: data came from a cache, or an error */
		        .attained = a.percent > 100 ? NAN : a.percent,
		        .is_labelled = page->npoints < LABELS,
		        .colour = ws_page_colour_of_class(&p, g->class)};
		page->npoints++;
	}

	/* how long kernels take */
	static const double digit[] = {1, 2, 5};
	struct ws_page_durations bin[DURATION_BINS] = {{0}};
	size_t begin = DURATION_BINS, end = 0;

	for (size_t i = 1; i < DURATION_BINS; i++)
		bin[i].from_ns =
		        ws_power_of_ten(DURATION_LEAST + (int)((i - 1) / 3)) * digit[(i - 1) % 3];
	for (size_t i = 0; i < DURATION_BINS; i++)
		bin[i].to_ns = i + 1 < DURATION_BINS ? bin[i + 1].from_ns : INFINITY;
	WS_EACH_KERNEL(p.sel->rows, i, k) {
		size_t at = 0;

		if (!k->kind->timed || !ws_kernel_selected(p.m, p.sel, k, i))
			continue;
		while ((double)k->dur_ns >= bin[at].to_ns)
			at++;
		bin[at].kernels++;
		bin[at].ns += k->dur_ns;
		begin = at < begin ? at : begin;
		end = at + 1 > end ? at + 1 : end;
	}
	if (begin < end) {
		page->ndurations = end - begin;
		WS_NEW(p.texts, page->durations, page->ndurations);
		memcpy(page->durations, &bin[begin], page->ndurations * sizeof(*bin));
	}

	/* Whether the program ran on the CPU: it has operations, and no GPU API calls. With such
	 * calls, kernels may be missing. */
	if (!ws_model_has_kernels(p.m) && !p.m->nwork && !p.sel->rows->ncalls &&
	    p.m->cpu_ops.tree.n)
		add_operations(&p);
	else
		add_kernels(&p);
	/* One unit for the rates of both sides; the largest rate has 1 to 999 of it. */
	double most = 0;

	for (size_t i = 0; i < page->nkernels; i++)
		most = fmax(most, page->kernel[i].flops_per_s);
	page->rate_unit = most >= 1e12 ? 1e12 : most >= 1e9 ? 1e9 : most > 0 ? 1e6 : 0;
	page->rate_name = most >= 1e12 ? "TFLOP/s" : most >= 1e9 ? "GFLOP/s" : "MFLOP/s";
	ws_page_add_findings(&p);
	ws_page_add_headline(&p);
	p.sel = tab->sel; /* the timeline can show any step */
	if (p.windows)
		p.windows = ws_windows(tab->m, tab->sel);
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
