/*
 * Where in the model: GPU time by ranges, equal layers in one box, and below them by operation of
 * the framework. Kernels in no range: by operation, else by class and kernel.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/strtab.h"
#include "report/analysis/cost_ops.h"
#include "report/base/order.h"
#include "report/names/names.h"
#include "report/page/private.h"

#define LEAST_PERCENT 0.1 /* boxes under this are one with their neighbours */

enum kind { KIND_RANGE, KIND_NONE, KIND_OP, KIND_CLASS, KIND_KERNEL };

/* A box in the making. */
struct box {
	uint32_t parent; /* WS_NONE */
	uint32_t name;   /* text; of a range that of its first path */
	uint32_t path;   /* of a range: the first; else WS_NONE */
	bool is_step;
	const char *rolled;
	uint64_t folded, calls, kernels;
	int64_t inclusive_ns, exclusive_ns, flops; /* flops: -1 = none tells */
	int64_t backward_ns; /* of inclusive_ns: backward work that counts where its forward ran */
	int64_t colour_ns[WS_PAGE_NCOLOURS];
};

struct tree {
	struct ws_page_making *p;
	struct box *box;
	size_t n, capacity;
	struct ws_strtab known; /* parent, kind and name -> box, from 1 */
	uint32_t *of_path;      /* path -> box */
	uint8_t *is_elsewhere;  /* path -> does it, or what it is in, stand elsewhere than it began?
	                         */
	bool has_ranges;
};

/* The box of a key that begins with its parent; it is made where there is none. */
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

/* Of an operation, class or kernel, by its text. */
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

/* A number counts behind a mark only, as in the whole path. */
static size_t roll_up(const struct tree *t, uint32_t name, char **out)
{
	struct ws_bytes text = t->p->m->texts[name];
	char *slash = ws_arena_alloc(t->p->tab->temp, text.len + 1);

	slash[0] = '/';
	memcpy(slash + 1, text.ptr, text.len);
	*out = ws_arena_alloc(t->p->tab->temp, text.len + 1);
	return ws_name_roll_up((struct ws_bytes){slash, text.len + 1}, *out);
}

static uint32_t make_range_box(struct tree *t, uint32_t i, uint32_t parent)
{
	const struct ws_path *path = &t->p->m->ranges.paths[i];
	char *rolled;
	size_t len = roll_up(t, path->name, &rolled);
	char *key = ws_arena_alloc(t->p->tab->temp, 4 + len);
	struct box *box;

	memcpy(key, &parent, 4);
	memcpy(key + 4, rolled, len);
	box = box_of(t, key, 4 + len, &t->of_path[i]);
	if (!box->folded) {
		box->path = i;
		box->name = path->name;
		box->rolled = ws_page_copy(t->p->texts, rolled + 1, len - 1);
	}
	t->is_elsewhere[i] = (path->parent == WS_NONE) != (parent == WS_NONE) ||
	                     (path->parent != WS_NONE && t->is_elsewhere[path->parent]);
	box->folded +=
	        t->is_elsewhere[i] == t->is_elsewhere[box->path]; /* else it is no other layer */
	return t->of_path[i];
}

/* Parents stand before their children. All work of a report of steps is in them: outermost ranges
 * that cross a step's end, or are another thread's, stand below the steps, and so do steps that
 * began in such a range. */
static void make_range_boxes(struct tree *t, const uint8_t *is_step)
{
	const struct ws_ranges *r = &t->p->m->ranges;
	uint32_t root = WS_NONE;
	bool some = false;

	for (uint32_t i = 0; i < r->npaths; i++)
		some |= is_step[i] && r->paths[i].parent == WS_NONE;
	some &= t->p->sel->scope == WS_SCOPE_STEPS;
	for (uint32_t i = 0; i < r->npaths && some; i++)
		if (is_step[i])
			root = make_range_box(t, i, WS_NONE);
	if (t->n > 1)
		root = WS_NONE; /* steps of several names */
	for (uint32_t i = 0; i < r->npaths; i++)
		if (!some || !is_step[i])
			make_range_box(t, i,
			               r->paths[i].parent == WS_NONE
			                       ? root
			                       : t->of_path[r->paths[i].parent]);
}

/* --- kernels, calls and FLOPs --------------------------------------------------------------- */

struct placing {
	struct tree *t;
	uint8_t *is_step;  /* by path */
	uint32_t *of_step; /* step -> its path, WS_NONE */
};

static void find_step_paths(struct placing *g)
{
	const struct ws_model *m = g->t->p->m;

	WS_NEW(g->t->p->tab->temp, g->is_step, m->ranges.npaths);
	WS_NEW(g->t->p->tab->temp, g->of_step, m->nsteps + 1);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		const struct ws_joined_range *r =
		        ws_joined_rows_range(g->t->p->sel->rows, m->steps[s].range);

		g->of_step[s] = r ? r->context->path : WS_NONE;
		if (r)
			g->is_step[r->context->path] = 1;
	}
}

/* The box of a kernel, below that of its range. */
static uint32_t box_of_kernel(const struct placing *g, const struct ws_joined_kernel *k)
{
	struct tree *t = g->t;
	const struct ws_model *m = t->p->m;
	const uint32_t step = k->step;
	uint32_t path = k->range != WS_NONE ? k->kind->path : WS_NONE, at;

	if (path == WS_NONE && step != WS_NONE)
		path = g->of_step[step]; /* another thread launched it in the step's time */
	at = path == WS_NONE ? WS_NONE : t->of_path[path];
	if (at == WS_NONE && t->has_ranges)
		at = box_of_text(t, WS_NONE, KIND_NONE, 0);
	if (k->cpu_op != WS_NONE && m->cpu_ops.tree.n)
		return box_of_text(t, at, KIND_OP, m->cpu_ops.tree.name[k->cpu_op]);
	if (path != WS_NONE && !g->is_step[path])
		return at;
	at = box_of_text(t, at, KIND_CLASS, k->kind->class);
	return box_of_text(t, at, KIND_KERNEL, m->configs[k->kind->config].name);
}

/* An operation that is the backward of another is in the ranges of that one. */
static bool is_backward(const struct ws_model *m, const struct ws_joined_kernel *k)
{
	return k->cpu_op != WS_NONE && k->cpu_op < m->cpu_ops.tree.n && m->cpu_ops.phase &&
	       m->cpu_ops.phase[k->cpu_op] == WS_PHASE_BACKWARD;
}

static void add_kernels(const struct placing *g)
{
	struct tree *t = g->t;
	const struct ws_selection *sel = t->p->sel;

	for (size_t i = 0; i < sel->rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(sel->rows, i);
		uint32_t at;

		if (!k->kind->timed || !ws_kernel_selected(t->p->m, sel, k, i))
			continue;
		at = box_of_kernel(g, k);
		t->box[at].exclusive_ns += k->dur_ns;
		if (is_backward(t->p->m, k))
			t->box[at].backward_ns += k->dur_ns;
		t->box[at].kernels++;
		t->box[at].colour_ns[ws_page_colour_of_class(t->p, k->kind->class)] += k->dur_ns;
	}
}

static void count_calls(struct tree *t)
{
	struct ws_joined_rows *rows = t->p->sel->rows;

	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);

		if (ws_range_selected(t->p->m, t->p->sel, r, i))
			t->box[t->of_path[r->context->path]].calls++;
	}
}

static void add_flops(struct tree *t)
{
	struct ws_cost_ops *costs;

	costs = ws_cost_ops_find(t->p->m, t->p->sel);
	for (size_t i = 0; i < costs->n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(costs, i);
		int64_t *flops = op.path == WS_NONE ? NULL : &t->box[t->of_path[op.path]].flops;

		if (flops && op.flops >= 0)
			*flops = op.flops + (*flops < 0 ? 0 : *flops);
	}
}

/* Children stand behind their parents. */
static void add_up(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->box[i].inclusive_ns = t->box[i].exclusive_ns;
	for (size_t i = t->n; i-- > 0;) {
		const struct box *b = &t->box[i];
		struct box *up = b->parent == WS_NONE ? NULL : &t->box[b->parent];

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
}

/* --- names ------------------------------------------------------------------------------------ */

/* Without the number at its end and the mark before it. */
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

static const char *label_of(const struct tree *t, const struct box *b)
{
	const struct ws_model *m = t->p->m;
	const char *name = b->rolled;
	size_t len = strlen(name);

	if (b->path == WS_NONE)
		return name;
	if (b->folded > 1)
		return ws_arena_format(t->p->texts, "%.*s ×%llu", (int)without_number(name, len),
		                       name, (unsigned long long)b->folded);
	name = ws_page_text_of(t->p, b->name); /* a number that nothing differs in stays */
	len = strlen(name);
	if (m->ranges.paths[b->path].domain == WS_TEXT_MODULE_DOMAIN ||
	    (len > 2 && name[len - 1] == '*'))
		len = without_number(name, len);
	return ws_arena_copy(t->p->texts, name, len);
}

static enum ws_page_colour colour_of(const struct box *b)
{
	int most = 0;

	for (int c = 1; c < WS_PAGE_NCOLOURS; c++)
		if (b->colour_ns[c] > b->colour_ns[most])
			most = c;
	return (enum ws_page_colour)most;
}

/* --- in the order of the page ----------------------------------------------------------------- */

struct laying {
	const struct tree *t;
	struct ws_row_key *order; /* by parent, then longest first */
	size_t *first;            /* box + 1 -> its first child in there; [0]: outermost ones */
	int64_t least_ns;
};

static void sort_boxes(struct laying *l)
{
	const struct tree *t = l->t;
	size_t n = 0;

	WS_NEW(t->p->tab->temp, l->order, t->n);
	WS_NEW(t->p->tab->temp, l->first, t->n + 2);
	for (size_t i = 0; i < t->n; i++) {
		const struct box *b = &t->box[i];

		l->order[n++] = (struct ws_row_key){.number = {(uint64_t)(uint32_t)(b->parent + 1),
		                                               WS_DESCENDING(b->inclusive_ns)},
		                                    .text = {ws_bytes_of(b->rolled)},
		                                    .tie = {i},
		                                    .row = i};
		l->first[(uint32_t)(b->parent + 1) + 1]++;
	}
	for (size_t i = 1; i < t->n + 2; i++)
		l->first[i] += l->first[i - 1];
	ws_row_keys_sort(l->order, n);
}

static void set_node(const struct tree *t, size_t parent, const struct box *b)
{
	struct ws_page *page = t->p->page;
	struct ws_page_node *up = parent == WS_PAGE_ROOT ? NULL : &page->node[parent];

	page->node[page->nnodes++] = (struct ws_page_node){
	        .parent = parent,
	        .label = label_of(t, b),
	        .path = up ? ws_arena_format(t->p->texts, "%s/%s", up->path, b->rolled) : b->rolled,
	        .depth = up ? up->depth + 1 : 0,
	        .folded = b->folded ? b->folded : 1,
	        .inclusive_ns = b->inclusive_ns,
	        .backward_ns = b->backward_ns,
	        .exclusive_ns = b->exclusive_ns,
	        .calls = b->calls,
	        .kernels = b->kernels,
	        .flops = b->flops,
	        .colour = colour_of(b),
	        .is_step = b->is_step,
	        .is_range = b->path != WS_NONE,
	        .counterpart = WS_PAGE_ROOT};
}

/* What is too little for a box of its own, in one. */
static void add_rest(const struct tree *t, size_t parent, uint32_t of, const struct box *rest,
                     size_t n)
{
	struct box b = *rest;

	b.path = WS_NONE;
	b.parent = of;
	b.rolled = ws_arena_format(t->p->texts, "(%zu more)", n);
	set_node(t, parent, &b);
	t->p->page->node[t->p->page->nnodes - 1].is_rest = true;
}

/* The children of a box (WS_NONE: outermost ones). As deep as ranges nest at most: 512. */
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
	if (nrest)
		add_rest(t, parent, of, &rest, nrest);
}

static void name_tree(const struct tree *t)
{
	struct ws_page *page = t->p->page;
	const struct ws_model *m = t->p->m;
	bool modules = false, layers = false;

	for (size_t i = 0; i < page->nnodes; i++)
		layers |= page->node[i].folded > 1;
	for (size_t i = 0; i < m->ranges.npaths; i++)
		modules |= m->ranges.paths[i].domain == WS_TEXT_MODULE_DOMAIN;
	page->tree_title = t->has_ranges ? "Where in the model" : "Where in the program";
	if (t->has_ranges && page->lost_events)
		page->tree_title = ws_arena_format(
		        t->p->texts, "Where in the model (incomplete: %s range events were lost)",
		        ws_say_number(t->p->texts, (double)page->lost_events));
	page->tree_what =
	        ws_arena_format(t->p->texts, "%s time by %s%s; click to zoom", ws_page_work(page),
	                        modules             ? "module"
	                        : t->has_ranges     ? "range"
	                        : m->cpu_ops.tree.n ? "operation"
	                                            : "class and kernel",
	                        layers ? "; equal layers are one" : "");
}

static void make(struct tree *t)
{
	struct ws_page_making *p = t->p;
	struct placing g = {.t = t};
	struct laying l = {.t = t};

	WS_NEW(p->tab->temp, t->of_path, p->m->ranges.npaths);
	WS_NEW(p->tab->temp, t->is_elsewhere, p->m->ranges.npaths);
	find_step_paths(&g);
	make_range_boxes(t, g.is_step);
	for (uint32_t i = 0; i < p->m->ranges.npaths; i++)
		t->box[t->of_path[i]].is_step |= g.is_step[i];
	t->has_ranges = t->n > 0;
	add_kernels(&g);
	count_calls(t);
	add_flops(t);
	add_up(t);
	l.least_ns = (int64_t)ceil((double)p->sel->gpu_ns * LEAST_PERCENT / 100);
	sort_boxes(&l);
	WS_NEW(p->texts, p->page->node, 2 * t->n + 1);
	lay(&l, WS_NONE, WS_PAGE_ROOT);
	p->page->gpu_ns = p->sel->gpu_ns;
	name_tree(t);
}

void ws_page_add_tree(struct ws_page_making *p)
{
	struct tree t = {.p = p};

	make(&t);
	ws_strtab_free(&t.known);
	free(t.box);
}
